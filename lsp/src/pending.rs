//! Renames that wait for the client, and those that are done.

use std::path::Path;
use std::time::{Duration, Instant};

use brain_protocol::{FileMove, OpenDocument, Refactoring};
use lsp_server::RequestId;

use crate::document::Documents;

/// The time for the client to open a moved document again. Then a sync may find the moved file.
const MAX_REOPEN: Duration = Duration::from_millis(80);
/// Maximum number of renames that can be turned back.
const MAX_DONE: usize = 50;

/// A rename that the client has to accept.
pub(crate) struct Pending {
    pub(crate) done: Done,
    /// Whether it turns the last rename back.
    pub(crate) is_back: bool,
    /// The request by which the client was asked to apply the edit, if it was asked.
    pub(crate) request: Option<RequestId>,
    /// The documents that the client has still to change, with their new texts.
    pub(crate) expected: Vec<OpenDocument>,
    /// The files that the client moves, as absolute paths.
    pub(crate) files: Vec<FileMove>,
    /// The new paths of documents that are open while their files move.
    pub(crate) reopened: Vec<String>,
    /// When all files were found at their new paths.
    pub(crate) moved_at: Option<Instant>,
    pub(crate) deadline: Instant,
}

impl Pending {
    /// Returns the new path of a document whose file the client moves.
    pub(crate) fn moved(&self, path: &str) -> Option<String> {
        self.files.iter().find_map(|file| file.moved(path))
    }

    /// Returns whether the client has moved its files, and opened them again.
    pub(crate) fn has_moved(&mut self, documents: &Documents) -> bool {
        let is_moved =
            |file: &FileMove| !Path::new(&file.from).exists() && Path::new(&file.to).exists();
        if !self.files.iter().all(is_moved) {
            return false;
        }
        let moved_at = *self.moved_at.get_or_insert_with(Instant::now);
        self.reopened.iter().all(|path| documents.get(path).is_some())
            || moved_at.elapsed() > MAX_REOPEN
    }
}

/// A rename, with what is needed to turn it back.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) change: Refactoring,
    /// The document and the index of a renamed heading.
    pub(crate) heading: Option<(String, usize)>,
}

/// The renames of a session.
#[derive(Default)]
pub(crate) struct Renames {
    pub(crate) pending: Vec<Pending>,
    pub(crate) done: Vec<Done>,
    /// Documents that the client has changed and not saved, with the changes since they were saved.
    pub(crate) unsaved: Vec<(String, Refactoring)>,
}

impl Renames {
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Notes the text that a document has now.
    pub(crate) fn seen(&mut self, path: &str, text: &str) {
        for pending in &mut self.pending {
            let mut expected = std::mem::take(&mut pending.expected);
            let is_it = |new: &OpenDocument| {
                new.file == path || pending.moved(&new.file).as_deref() == Some(path)
            };
            expected.retain(|new| !(is_it(new) && new.text == text));
            pending.expected = expected;
        }
    }

    pub(crate) fn saved(&mut self, path: &str) {
        self.unsaved.retain(|(unsaved, _)| unsaved != path);
    }

    /// Notes that the daemon has done its half, while the documents `open` were open.
    pub(crate) fn finished(&mut self, pending: Pending, open: Vec<String>) {
        for (path, _) in &mut self.unsaved {
            *path = pending.moved(path).unwrap_or_else(|| std::mem::take(path));
        }
        for path in open {
            let path = pending.moved(&path).unwrap_or(path);
            let mut known = self.unsaved.iter_mut().filter(|it| it.0 == path).map(|it| &mut it.1);
            if !known.any(|known| has_joined(known, &pending.done.change)) {
                self.unsaved.push((path, pending.done.change.clone()));
            }
        }
        if pending.is_back {
            self.done.pop();
            return;
        }
        self.done.push(pending.done);
        let excess = self.done.len().saturating_sub(MAX_DONE);
        self.done.drain(..excess);
    }
}

/// Makes one change of two moves of files, if they can be one: from A to B, and from B to C.
fn has_joined(change: &mut Refactoring, later: &Refactoring) -> bool {
    let (
        Refactoring::Files { source, moves },
        Refactoring::Files { source: later_source, moves: later },
    ) = (change, later)
    else {
        return false;
    };
    if source != later_source {
        return false;
    }
    for next in later {
        let mut is_new = true;
        for it in moves.iter_mut() {
            if let Some(to) = next.moved(&it.to) {
                is_new &= it.to != next.from;
                it.to = to;
            }
        }
        if is_new {
            moves.push(next.clone());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::SourceId;

    #[test]
    fn moves_that_follow_each_other_are_one() {
        let moves = |pairs: &[(&str, &str)]| Refactoring::Files {
            source: SourceId::default(),
            moves: pairs
                .iter()
                .map(|(a, b)| FileMove { from: (*a).into(), to: (*b).into() })
                .collect(),
        };
        let mut change = moves(&[("a.md", "w/b.md")]);
        assert!(has_joined(&mut change, &moves(&[("w", "v"), ("x.md", "y.md")])));
        assert_eq!(change, moves(&[("a.md", "v/b.md"), ("w", "v"), ("x.md", "y.md")]));
        assert!(has_joined(&mut change, &moves(&[("y.md", "z.md")])));
        assert_eq!(change, moves(&[("a.md", "v/b.md"), ("w", "v"), ("x.md", "z.md")]));
        let tag = Refactoring::Tag { from: "a".into(), to: "b".into() };
        assert!(!has_joined(&mut change, &tag));
    }
}
