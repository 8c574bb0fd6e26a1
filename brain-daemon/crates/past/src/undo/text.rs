//! Takes one version's changes back from a later text, line by line. No I/O.
//!
//! Lines that the version added and that are unchanged are removed, also where somebody moved
//! them. Lines that it removed come back. Everything else in the later text stays.

use std::collections::HashMap;

use brain_page::{ChangedLines, changed_lines};
use brain_pages::provenance::PROVENANCE_KEYS;
use brain_store::{Author, Content, LineMark, PageRecord};

/// Maximum number of marks of a page, as in the store.
const MAX_MARKS: usize = 200;
/// Maximum number of characters of a line that a message has.
const MAX_SHOWN: usize = 80;

/// A line of a page's file, without the lines that brain writes about its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The line with its end.
    pub(super) text: String,
    /// What is compared: the line without its end, and with its links as they were when the
    /// version was written.
    pub(super) key: String,
    /// Who wrote it, if that was not the page's author, and when.
    mark: Option<(Author, i64)>,
}

/// Returns the lines of a text. The marks are those of `record`.
pub(super) fn lines(record: &PageRecord, content: &Content) -> Vec<Line> {
    let head = match content.frontmatter.is_empty() {
        true => 0,
        false => content.frontmatter.lines().count() + 2,
    };
    let text = content.file_text();
    let mut out = Vec::new();
    for (number, line) in (1_u32..).zip(text.split_inclusive('\n')) {
        let key = line.trim_end_matches(['\r', '\n']);
        let name = key.split_once([':', '=']).map(|(name, _)| name.trim_end());
        if (number as usize) <= head && name.is_some_and(|name| PROVENANCE_KEYS.contains(&name)) {
            continue;
        }
        let mark = record.marks.iter().find(|mark| (mark.first..=mark.last).contains(&number));
        out.push(Line {
            text: line.to_owned(),
            key: key.to_owned(),
            mark: mark.map(|mark| (mark.author.clone(), mark.at)),
        });
    }
    out
}

/// Returns whether both have the same lines.
pub(super) fn are_equal(a: &[Line], b: &[Line]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.key == b.key)
}

/// Returns the text of lines. Each but the last one ends.
pub(super) fn join(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line.text);
    }
    text
}

fn keys(lines: &[Line]) -> String {
    lines.iter().flat_map(|line| [line.key.as_str(), "\n"]).collect()
}

/// Returns the number of lines with text in `after` that `before` does not have.
pub(super) fn added_lines(before: &[Line], after: &[Line]) -> u64 {
    let changes = changed_lines(&keys(before), &keys(after)).into_iter();
    let added = changes.flat_map(|change| after.get(change.new).unwrap_or_default());
    added.filter(|line| !line.key.trim().is_empty()).count() as u64
}

/// Returns the marks of `text`, which has `lines` and perhaps lines about its origin.
pub(super) fn marks(lines: &[Line], text: &str) -> Vec<LineMark> {
    let mut marks: Vec<LineMark> = Vec::new();
    let mut at = 0;
    let mut add = |line: &Line, number: usize| {
        let Some((author, time)) = &line.mark else { return };
        let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        match marks.last_mut() {
            Some(last) if last.last + 1 == number && (&last.author, &last.at) == (author, time) => {
                last.last = number;
            }
            _ => marks.push(LineMark {
                first: number,
                last: number,
                author: author.clone(),
                at: *time,
            }),
        }
    };
    let kept: String =
        lines.iter().flat_map(|line| [line.text.trim_end_matches(['\r', '\n']), "\n"]).collect();
    let mut number = 0;
    for change in changed_lines(&kept, text) {
        for line in lines.get(at..change.old.start).unwrap_or_default() {
            add(line, number);
            number += 1;
        }
        at = change.old.end;
        number = change.new.end;
    }
    for line in lines.get(at..).unwrap_or_default() {
        add(line, number);
        number += 1;
    }
    match (marks.first().cloned(), marks.last().cloned()) {
        (Some(first), Some(last)) if marks.len() > MAX_MARKS => {
            vec![LineMark { first: first.first, ..last }]
        }
        _ => marks,
    }
}

/// Gives `lines` of `after`, a version in which somebody's move turned links, the keys that they
/// have in `before`, the version before it.
pub(super) fn turn_back(lines: &mut [Line], before: &[Line], after: &[Line]) {
    let mut turned: HashMap<&str, &str> = HashMap::new();
    for ChangedLines { old, new } in changed_lines(&keys(before), &keys(after)) {
        if old.len() == new.len() {
            let pairs = before.get(old).unwrap_or_default().iter();
            let pairs = pairs.zip(after.get(new).unwrap_or_default());
            turned.extend(pairs.map(|(old, new)| (new.key.as_str(), old.key.as_str())));
        }
    }
    for line in lines {
        if let Some(key) = turned.get(line.key.as_str()) {
            line.key = (*key).to_owned();
        }
    }
}

/// A text from which the changes of a version are taken back.
#[derive(Debug, Default)]
pub(super) struct Reversed {
    pub(super) lines: Vec<Line>,
    /// Lines that stay, or that do not come back, because somebody else changed them since.
    pub(super) conflicts: Vec<String>,
}

/// Takes the changes from `parent` to `written` back from `now`. `turns_links` says that the
/// version only turned links: then a link is turned back in a line that changed since, too.
pub(super) fn reverse(
    written: &[Line],
    parent: &[Line],
    now: Vec<Line>,
    turns_links: bool,
) -> Reversed {
    if are_equal(written, &now) {
        return Reversed { lines: parent.to_vec(), conflicts: Vec::new() };
    }
    let (text, now_text) = (keys(written), keys(&now));
    let mut reversal = Reversal {
        written,
        parent,
        now,
        hunks: changed_lines(&text, &keys(parent)),
        others: changed_lines(&text, &now_text),
        kept: Vec::new(),
        moved: HashMap::new(),
        turns_links,
        out: Reversed::default(),
    };
    reversal.match_lines();
    for at in 0..=written.len() {
        reversal.step(at);
    }
    reversal.out
}

/// The state of [`reverse`].
struct Reversal<'a> {
    written: &'a [Line],
    parent: &'a [Line],
    now: Vec<Line>,
    /// Lines of `written`, and the lines of `parent` that they replaced.
    hunks: Vec<ChangedLines>,
    /// Lines of `written`, and the lines of `now` that replaced them.
    others: Vec<ChangedLines>,
    /// For each line of `written`, the line of `now` that it still is.
    kept: Vec<Option<usize>>,
    /// Lines that the version added and that are not at their place any more, with their number.
    moved: HashMap<String, usize>,
    turns_links: bool,
    out: Reversed,
}

impl Reversal<'_> {
    fn match_lines(&mut self) {
        let (mut line, mut at) = (0, 0);
        for change in &self.others {
            while line < change.old.start {
                self.kept.push(Some(at));
                (line, at) = (line + 1, at + 1);
            }
            self.kept.extend(change.old.clone().map(|_| None));
            (line, at) = (change.old.end, change.new.end);
        }
        let rest = self.written.len() - line;
        self.kept.extend((at..).take(rest).map(Some));
        for hunk in &self.hunks {
            let restored = self.parent.get(hunk.new.clone()).unwrap_or_default();
            for index in hunk.old.clone() {
                let key = &self.written[index].key;
                let is_added = !restored.iter().any(|line| line.key == *key);
                if self.kept[index].is_none() && is_added && !key.trim().is_empty() {
                    *self.moved.entry(key.clone()).or_default() += 1;
                }
            }
        }
    }

    fn hunk_of(&self, line: usize) -> Option<ChangedLines> {
        self.hunks.iter().find(|hunk| hunk.old.contains(&line)).cloned()
    }

    /// Adds what stands before the line `at` of `written`, and that line.
    fn step(&mut self, at: usize) {
        let other = self.others.iter().find(|change| change.old.start == at).cloned();
        if let Some(change) = other.as_ref().filter(|change| change.old.is_empty()) {
            self.add_others(change);
        }
        if let Some(hunk) = self.hunks.iter().find(|hunk| hunk.old.start == at).cloned() {
            self.restore(&hunk, other.as_ref());
        }
        if let Some(change) = other.filter(|change| !change.old.is_empty()) {
            self.add_others(&change);
        }
        if at == self.written.len() {
            return;
        }
        let hunk = self.hunk_of(at);
        match (self.kept[at], hunk) {
            (Some(now), None) => self.out.lines.push(self.now[now].clone()),
            // A line of the version is replaced by the one that it replaced.
            (Some(_), Some(hunk)) if self.is_paired(&hunk) => {
                let line = self.parent[hunk.new.start + (at - hunk.old.start)].clone();
                self.out.lines.push(line);
            }
            _ => {}
        }
    }

    /// Whether each line of the hunk replaced one line, and somebody changed some of them since.
    fn is_paired(&self, hunk: &ChangedLines) -> bool {
        hunk.old.len() == hunk.new.len() && self.kept[hunk.old.clone()].contains(&None)
    }

    /// Adds the lines that the hunk removed.
    fn restore(&mut self, hunk: &ChangedLines, other: Option<&ChangedLines>) {
        let lines = self.parent.get(hunk.new.clone()).unwrap_or_default().to_vec();
        if lines.is_empty() || self.is_paired(hunk) {
            return;
        }
        let is_gone =
            !hunk.old.is_empty() && self.kept[hunk.old.clone()].iter().all(Option::is_none);
        let has_text = self.others.iter().any(|change| {
            !change.new.is_empty()
                && change.old.start < hunk.old.end
                && hunk.old.start < change.old.end
        });
        if is_gone && !has_text {
            self.conflict("does not come back, because its place was removed since", &lines);
            return;
        }
        let came_back = other.filter(|change| change.old.is_empty()).is_some_and(|change| {
            let added = self.now.get(change.new.clone()).unwrap_or_default();
            added.len() >= lines.len() && are_equal(&added[..lines.len()], &lines)
        });
        if !came_back {
            self.out.lines.extend(lines);
        }
    }

    /// Adds the lines that others wrote in place of lines of the version.
    fn add_others(&mut self, change: &ChangedLines) {
        let hunks: Vec<ChangedLines> =
            change.old.clone().filter_map(|at| self.hunk_of(at)).collect();
        let lines = self.now.get(change.new.clone()).unwrap_or_default().to_vec();
        if lines.is_empty() && hunks.iter().any(|hunk| self.is_paired(hunk)) {
            let restored: Vec<Line> = hunks
                .iter()
                .flat_map(|hunk| self.parent.get(hunk.new.clone()).unwrap_or_default())
                .cloned()
                .collect();
            self.conflict("does not come back, because it was removed since", &restored);
        }
        for (index, mut line) in lines.into_iter().enumerate() {
            if let Some(count) = self.moved.get_mut(&line.key).filter(|count| **count > 0) {
                *count -= 1;
                continue;
            }
            let is_turned = self.turns_links && self.turn(&mut line, change.old.start + index);
            if !hunks.is_empty() && !is_turned {
                self.conflict("stays, because it was changed since", std::slice::from_ref(&line));
            }
            self.out.lines.push(line);
        }
    }

    /// Turns the links back in a line that took the place of the line `at` of `written`.
    fn turn(&self, line: &mut Line, at: usize) -> bool {
        let Some(hunk) = self.hunk_of(at).filter(|hunk| hunk.old.len() == hunk.new.len()) else {
            return false;
        };
        let (new, old) = (&self.written[at], &self.parent[hunk.new.start + (at - hunk.old.start)]);
        let Some((new, old)) = differing_link(&new.key, &old.key) else { return false };
        let is_there = line.text.matches(new).count() == 1;
        if is_there {
            line.text = line.text.replacen(new, old, 1);
            line.key = line.key.replacen(new, old, 1);
        }
        is_there
    }

    fn conflict(&mut self, problem: &str, lines: &[Line]) {
        for line in lines.iter().filter(|line| !line.key.trim().is_empty()) {
            let shown: String = line.key.chars().take(MAX_SHOWN).collect();
            self.out.conflicts.push(format!("\"{shown}\" {problem}"));
        }
    }
}

/// Returns the part of two lines that differs, up to the ends of its link.
fn differing_link<'a>(new: &'a str, old: &'a str) -> Option<(&'a str, &'a str)> {
    let same = |a: char, b: char| a == b;
    let prefix: usize = new
        .chars()
        .zip(old.chars())
        .take_while(|(a, b)| same(*a, *b))
        .map(|(a, _)| a.len_utf8())
        .sum();
    let start = new.get(..prefix)?.rfind(['[', '(']).map_or(0, |at| at + 1);
    let (new_rest, old_rest) = (new.get(start..)?, old.get(start..)?);
    let backwards = new_rest.chars().rev().zip(old_rest.chars().rev());
    let suffix: usize =
        backwards.take_while(|(a, b)| same(*a, *b)).map(|(a, _)| a.len_utf8()).sum();
    let tail = new_rest.get(new_rest.len() - suffix..)?;
    let end = tail.find([']', ')', '|', '#'])?;
    let cut = suffix - end;
    let parts = (new_rest.get(..new_rest.len() - cut)?, old_rest.get(..old_rest.len() - cut)?);
    (!parts.0.is_empty()).then_some(parts)
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
