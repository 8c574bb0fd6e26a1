//! Takes one version's changes back from a later text, line by line. No I/O.
//!
//! Lines that the version added and that are unchanged are removed, also where somebody moved
//! them. Lines that it removed come back. Everything else in the later text stays: a line that
//! somebody else wrote is another line, although it has the same text (see [`super::identity`]).

use std::collections::HashSet;

use brain_page::{ChangedLines, changed_lines};
use brain_pages::provenance::PROVENANCE_KEYS;
use brain_store::{Author, Content, LineMark, PageRecord};

/// Maximum number of marks of a page, as in the store.
const MAX_MARKS: usize = 200;
/// Maximum number of characters of a line that a message has.
const MAX_SHOWN: usize = 80;

/// A line of a page, without the lines that brain writes about its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The line with its end.
    pub(super) text: String,
    /// The line without its end. A line of the frontmatter begins with [`HEAD`].
    pub(super) key: String,
    /// The same for a line in all versions of the page that have it.
    pub(super) id: u32,
    /// Who wrote it, if that was not the page's author, and when.
    mark: Option<(Author, i64)>,
}

/// Begins the keys of lines of the frontmatter, so that they differ from those of the body.
const HEAD: char = '\0';
/// Begins the first line of TOML, which belongs to it. The first `---` does not belong to the YAML.
const TOML_FENCE: &str = "+++";

impl Line {
    pub(super) fn is_head(&self) -> bool {
        self.key.starts_with(HEAD)
    }

    /// Whether it is a line of the body, and not an empty one.
    pub(super) fn is_text(&self) -> bool {
        !self.is_head() && !self.key.trim().is_empty()
    }

    /// Gives a line of the body another text. Returns whether it had another one.
    pub(super) fn set_text(&mut self, text: &str) -> bool {
        let is_other = self.key != without_end(text);
        if is_other {
            without_end(text).clone_into(&mut self.key);
            text.clone_into(&mut self.text);
        }
        is_other
    }
}

/// Returns the lines of a text. The marks are those of `record`.
pub(super) fn lines(record: &PageRecord, content: &Content) -> Vec<Line> {
    numbered(record, content).into_iter().map(|(_, line)| line).collect()
}

/// Returns the lines of a text with their numbers in the page's file.
fn numbered(record: &PageRecord, content: &Content) -> Vec<(u32, Line)> {
    let (head, body) =
        (content.frontmatter.split_inclusive('\n'), content.body.split_inclusive('\n'));
    let all = content.file_text().lines().count();
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let head_at = number(if content.frontmatter.starts_with(TOML_FENCE) { 1 } else { 2 });
    let body_at = number(all.saturating_sub(content.body.lines().count()) + 1);
    let head = (head_at..).zip(head).filter_map(|(number, line)| {
        let key = without_end(line);
        let name = key.split_once([':', '=']).map_or(key, |(name, _)| name.trim_end());
        (!PROVENANCE_KEYS.contains(&name)).then(|| (number, line, format!("{HEAD}{key}")))
    });
    let body =
        (body_at..).zip(body).map(|(number, line)| (number, line, without_end(line).to_owned()));
    head.chain(body)
        .map(|(number, line, key)| {
            let mark = record.marks.iter().find(|mark| (mark.first..=mark.last).contains(&number));
            let mark = mark.map(|mark| (mark.author.clone(), mark.at));
            (number, Line { text: line.to_owned(), key, id: 0, mark })
        })
        .collect()
}

fn without_end(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

/// Returns whether both have the same text.
pub(super) fn are_equal(a: &[Line], b: &[Line]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.key == b.key)
}

/// Returns the places where two versions of a page have other lines.
fn changed(a: &[Line], b: &[Line]) -> Vec<ChangedLines> {
    let ids =
        |lines: &[Line]| lines.iter().map(|line| format!("{}\n", line.id)).collect::<String>();
    changed_lines(&ids(a), &ids(b))
}

/// Returns frontmatter and body of lines. Each line but the last one ends.
pub(super) fn join(lines: &[Line]) -> (String, String) {
    let (mut head, mut body) = (String::new(), String::new());
    for line in lines {
        let text = if line.is_head() { &mut head } else { &mut body };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line.text);
    }
    (head, body)
}

pub(super) fn keys(lines: &[Line]) -> String {
    lines.iter().flat_map(|line| [line.key.as_str(), "\n"]).collect()
}

/// Returns the number of lines with text in `after` that `before` does not have.
pub(super) fn added_lines(before: &[Line], after: &[Line]) -> u64 {
    let changes = changed_lines(&keys(before), &keys(after)).into_iter();
    let added = changes.flat_map(|change| after.get(change.new).unwrap_or_default());
    added.filter(|line| !line.text.trim().is_empty()).count() as u64
}

/// Returns the marks of a text that has `lines`, and perhaps lines about its origin.
pub(super) fn marks(lines: &[Line], content: &Content) -> Vec<LineMark> {
    let written = numbered(&PageRecord::default(), content);
    let texts: Vec<Line> = written.iter().map(|(_, line)| line.clone()).collect();
    let mut marks: Vec<LineMark> = Vec::new();
    let mut add = |line: &Line, number: u32| {
        let Some((author, time)) = &line.mark else { return };
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
    let (mut at, mut place) = (0, 0);
    let end = ChangedLines { old: lines.len()..lines.len(), new: texts.len()..texts.len() };
    for change in changed_lines(&keys(lines), &keys(&texts)).into_iter().chain([end]) {
        let same = lines.get(at..change.old.start).unwrap_or_default().iter();
        for (line, (number, _)) in same.zip(written.get(place..).unwrap_or_default()) {
            add(line, *number);
        }
        (at, place) = (change.old.end, change.new.end);
    }
    match (marks.first().cloned(), marks.last().cloned()) {
        (Some(first), Some(last)) if marks.len() > MAX_MARKS => {
            vec![LineMark { first: first.first, ..last }]
        }
        _ => marks,
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
    let ids = |lines: &[Line]| lines.iter().map(|line| line.id).collect::<HashSet<u32>>();
    let (in_parent, others) = (ids(parent), changed(written, &now));
    let elsewhere =
        others.iter().flat_map(|change| now.get(change.new.clone()).unwrap_or_default());
    let mut reversal = Reversal {
        written,
        parent,
        added: ids(written).difference(&in_parent).copied().collect(),
        moved: elsewhere.map(|line| line.id).filter(|id| in_parent.contains(id)).collect(),
        hunks: changed(written, parent),
        kept: Vec::new(),
        turns_links,
        out: Reversed::default(),
        others,
        now,
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
    /// The lines that the version added.
    added: HashSet<u32>,
    /// Lines of `parent` that others put in another place.
    moved: HashSet<u32>,
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
        let mut lines = self.parent.get(hunk.new.clone()).unwrap_or_default().to_vec();
        lines.retain(|line| !self.moved.contains(&line.id));
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
            if self.added.contains(&line.id) {
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
        for line in lines.iter().filter(|line| !line.text.trim().is_empty()) {
            let shown: String = without_end(&line.text).chars().take(MAX_SHOWN).collect();
            self.out.conflicts.push(format!("\"{shown}\" {problem}"));
        }
    }
}

/// Returns the part of two lines that differs, up to the ends of its link.
pub(super) fn differing_link<'a>(new: &'a str, old: &'a str) -> Option<(&'a str, &'a str)> {
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
#[allow(clippy::unwrap_used)]
#[path = "text_tests.rs"]
mod tests;
