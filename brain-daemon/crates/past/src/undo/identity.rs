//! Which line of a version is which line of the next one. No I/O.
//!
//! A line keeps its id while it stays, moves within one change, or has only a link turned by the
//! move of another page. A line that somebody removes and somebody types again later is a new line.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use brain_page::{ChangedLines, changed_lines};

use super::text::{Line, differing_link, keys};

/// What made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionKind {
    /// Somebody wrote it.
    Written,
    /// The move or the merge of another page turned links, and nothing else.
    LinkTurn,
    /// An undo or a redo: lines that come back are the former ones.
    Act,
}

/// The target of a link, before and after a move turned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnedLink {
    old: String,
    new: String,
}

/// Gives the lines of a page's versions their ids, from the oldest version to the newest.
#[derive(Debug, Default)]
pub(super) struct LineIds {
    last: Vec<Line>,
    next: u32,
    /// Ids of lines that were removed, by text.
    removed: HashMap<String, Vec<u32>>,
}

impl LineIds {
    /// Gives the lines of the next version their ids. Returns the links that it turned.
    pub(super) fn follow(&mut self, lines: &mut [Line], kind: VersionKind) -> Vec<TurnedLink> {
        let changes = changed_lines(&keys(&self.last), &keys(lines));
        let mut turned = Vec::new();
        let (mut gone, mut added) = (BTreeSet::new(), BTreeSet::new());
        for ChangedLines { old, new } in self.equal_lines(lines, &changes) {
            // Fences and empty lines alone do not say that it is the same place.
            if self.last[old.clone()].iter().any(has_word) {
                self.carry(lines, old, new);
            } else {
                gone.extend(old);
                added.extend(new);
            }
        }
        for ChangedLines { old, new } in changes {
            if kind == VersionKind::LinkTurn && old.len() == new.len() {
                let pairs = self.last[old.clone()].iter().zip(&lines[new.clone()]);
                turned.extend(pairs.filter_map(|(old, new)| turned_link(&old.key, &new.key)));
                self.carry(lines, old, new);
            } else {
                gone.extend(old);
                added.extend(new);
            }
        }
        self.carry_moved(lines, &mut gone, &mut added);
        for index in added {
            let former = match kind {
                VersionKind::Act => self.removed.get_mut(&lines[index].key).and_then(Vec::pop),
                VersionKind::Written | VersionKind::LinkTurn => None,
            };
            lines[index].id = former.unwrap_or_else(|| {
                self.next += 1;
                self.next
            });
        }
        for index in gone.into_iter().rev() {
            let Line { key, id, .. } = &self.last[index];
            self.removed.entry(key.clone()).or_default().push(*id);
        }
        self.last = lines.to_vec();
        turned
    }

    fn carry(&self, lines: &mut [Line], old: Range<usize>, new: Range<usize>) {
        for (from, to) in self.last[old].iter().zip(&mut lines[new]) {
            to.id = from.id;
        }
    }

    /// Returns the places between the differences.
    fn equal_lines(&self, lines: &[Line], changes: &[ChangedLines]) -> Vec<ChangedLines> {
        let ends = changes.iter().map(|change| (change.old.start, change.new.start));
        let starts = changes.iter().map(|change| (change.old.end, change.new.end));
        let starts = std::iter::once((0, 0)).chain(starts);
        starts
            .zip(ends.chain([(self.last.len(), lines.len())]))
            .map(|(start, end)| ChangedLines { old: start.0..end.0, new: start.1..end.1 })
            .collect()
    }

    /// Finds the lines that the version moved: a removed line with a word, and its neighbours, such
    /// as the fences of code, in the same order elsewhere. Takes them from `gone` and `added`.
    fn carry_moved(
        &self,
        lines: &mut [Line],
        gone: &mut BTreeSet<usize>,
        added: &mut BTreeSet<usize>,
    ) {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for index in gone.iter().rev().filter(|index| has_word(&self.last[**index])) {
            places.entry(&self.last[*index].key).or_default().push(*index);
        }
        for new in added.clone() {
            let places = places.get_mut(lines[new].key.as_str());
            let Some(old) = places.and_then(Vec::pop).filter(|_| added.contains(&new)) else {
                continue;
            };
            let mut carry = |old: usize, new: usize| {
                let is_same = gone.contains(&old)
                    && added.contains(&new)
                    && self.last[old].key == lines[new].key;
                if is_same {
                    gone.remove(&old);
                    added.remove(&new);
                    lines[new].id = self.last[old].id;
                }
                is_same
            };
            if carry(old, new) {
                let _ = (1..=old.min(new)).take_while(|by| carry(old - by, new - by)).count();
                let _ = (1..).take_while(|by| carry(old + by, new + by)).count();
            }
        }
    }
}

/// Whether the line says something by itself, unlike a rule, a fence or an empty line.
fn has_word(line: &Line) -> bool {
    let text = line.text.trim_start();
    let is_fence = text.starts_with("```") || text.starts_with("~~~");
    !is_fence && text.contains(char::is_alphanumeric)
}

fn turned_link(old: &str, new: &str) -> Option<TurnedLink> {
    let (new, old) = differing_link(new, old)?;
    Some(TurnedLink { old: old.to_owned(), new: new.to_owned() })
}

/// Turns the links of lines that come back as later moves turned those of the page.
pub(super) fn turn_links(lines: &mut [Line], turned: &[TurnedLink]) {
    for line in lines {
        for TurnedLink { old, new } in turned {
            for (start, end) in [("[", "]"), ("[", "|"), ("[", "#"), ("(", ")"), ("(", "#")] {
                let (old, new) = (format!("{start}{old}{end}"), format!("{start}{new}{end}"));
                line.text = line.text.replace(&old, &new);
                line.key = line.key.replace(&old, &new);
            }
        }
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
