//! Applies planned enrichments to a page's text. No I/O.

use std::collections::HashSet;

use super::pattern::{NoteResult, Pattern};
use brain_page::{self as page, TimelineEntry};

/// A timeline entry and its journal key.
#[derive(Debug, Clone)]
pub(super) struct DatedLine {
    pub(super) entry: TimelineEntry,
    /// `tweet <page> <post>` or `deletion <page> <post>`.
    pub(super) key: String,
}

/// The enrichments of one page.
#[derive(Debug, Clone, Default)]
pub(super) struct PageEdit {
    /// Dated lines, oldest first.
    pub(super) dated_lines: Vec<DatedLine>,
    /// Pattern notes.
    pub(super) patterns: Vec<Pattern>,
}

/// The result of an edit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EditResult {
    /// The page's text, if it changed.
    pub(super) body: Option<String>,
    /// The added or replaced lines.
    pub(super) lines: Vec<String>,
    /// Keys to add to the journal.
    pub(super) keys: Vec<String>,
    /// Descriptions of enrichments that failed.
    pub(super) failures: Vec<String>,
}

impl PageEdit {
    /// Returns whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.dated_lines.is_empty() && self.patterns.is_empty()
    }

    /// Applies the enrichments to `body`, the text of `page`. A line whose key is in `done_keys` is
    /// not added again, even if the owner removed it.
    pub(super) fn apply(&self, body: &str, page: &str, done_keys: &HashSet<String>) -> EditResult {
        let mut outcome = EditResult::default();
        let mut new_body = body.to_owned();
        for DatedLine { entry, key } in &self.dated_lines {
            if done_keys.contains(key) {
                continue;
            }
            match page::add_timeline_entry(&new_body, entry) {
                Ok(added) => {
                    outcome.keys.push(key.clone());
                    if let Some(body) = added {
                        new_body = body;
                        outcome.lines.push(timeline_line(entry));
                    }
                }
                Err(error) => outcome.failures.push(error.to_string()),
            }
        }
        for pattern in &self.patterns {
            match pattern.put(&new_body, page, done_keys) {
                Ok(result) => {
                    let key = pattern.key(page);
                    if result != NoteResult::RemovedByOwner && !done_keys.contains(&key) {
                        outcome.keys.push(key);
                    }
                    if let NoteResult::Written(body) = result {
                        new_body = body;
                        outcome.lines.push(pattern.line());
                    }
                }
                Err(error) => outcome.failures.push(error),
            }
        }
        outcome.body = (!outcome.lines.is_empty()).then_some(new_body);
        outcome
    }
}

/// Formats an entry as a line of the timeline.
fn timeline_line(entry: &TimelineEntry) -> String {
    let source =
        entry.source.as_ref().map(|source| format!(" [Source: {source}]")).unwrap_or_default();
    format!("- {} | {}{source}", entry.date, entry.text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn edit(text: &str) -> PageEdit {
        let source = Some("X, @ann, 2026-11-01".into());
        let entry = TimelineEntry { date: "2026-11-01".into(), text: text.into(), source };
        let line = DatedLine { entry, key: "tweet p 1".into() };
        PageEdit { dated_lines: vec![line], patterns: Vec::new() }
    }

    #[test]
    fn a_line_is_written_once() {
        let edit = edit("Tweeted about Rust");
        let first = edit.apply("Hi.\n", "p", &HashSet::new());
        let line = "- 2026-11-01 | Tweeted about Rust [Source: X, @ann, 2026-11-01]";
        assert_eq!(first.lines, [line]);
        let body = first.body.unwrap();
        assert_eq!(body, format!("Hi.\n\n## Timeline\n\n{line}\n"));
        // The line is there, but a crash prevented its journal entry.
        let again = edit.apply(&body, "p", &HashSet::new());
        assert_eq!((again.body, again.keys), (None, vec!["tweet p 1".to_owned()]));
        // The owner removed the line.
        assert_eq!(
            edit.apply("Hi.\n", "p", &HashSet::from(["tweet p 1".into()])),
            EditResult::default()
        );
    }

    #[test]
    fn a_failed_line_is_reported_and_gets_no_key() {
        let result = edit("a [Source: forged]").apply("Hi.\n", "p", &HashSet::new());
        assert_eq!((result.failures.len(), result.keys.len(), result.body), (1, 0, None));
    }
}
