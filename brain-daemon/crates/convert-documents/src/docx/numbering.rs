//! The lists of a DOCX: which levels have bullets, and the number of each item.

use std::collections::{HashMap, HashSet};

use crate::xml::{Element, Xml};

/// Number of levels of a list (ISO 29500-1, 17.9.6).
const LEVELS: usize = 9;

/// The lists of a document.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    lists: HashMap<String, NumberedList>,
    levels: HashMap<String, [Level; LEVELS]>,
    /// The last number of each level of each definition.
    counters: HashMap<String, [Option<u32>; LEVELS]>,
    /// The lists that have begun.
    begun: HashSet<String>,
}

#[derive(Debug)]
struct NumberedList {
    definition: String,
    /// Levels that begin anew, or look another way.
    starts: [Option<u32>; LEVELS],
    levels: [Option<Level>; LEVELS],
}

#[derive(Debug, Clone, Copy)]
struct Level {
    is_bullet: bool,
    start: u32,
}

impl Default for Level {
    fn default() -> Self {
        Self { is_bullet: true, start: 1 }
    }
}

impl Numbering {
    pub(super) fn of(xml: &Xml) -> Self {
        let mut numbering = Self::default();
        for element in xml.elements() {
            let id = |name: &str| element.attribute(name).unwrap_or_default().to_owned();
            match element.name() {
                "w:abstractNum" => {
                    let mut levels = [Level::default(); LEVELS];
                    for level in element.children().filter(|it| it.name() == "w:lvl") {
                        if let Some(slot) = at(level).and_then(|at| levels.get_mut(at)) {
                            *slot = level_of(level);
                        }
                    }
                    numbering.levels.insert(id("w:abstractNumId"), levels);
                }
                "w:num" => {
                    numbering.lists.insert(id("w:numId"), list_of(element));
                }
                _ => {}
            }
        }
        numbering
    }

    /// Counts an item. Returns its number, or `None` for a bullet.
    pub(super) fn next(&mut self, list: &str, level: u32) -> Option<u32> {
        let at = usize::try_from(level).unwrap_or(LEVELS).min(LEVELS - 1);
        let entry = self.lists.get(list)?;
        let defaults = [Level::default(); LEVELS];
        let levels = self.levels.get(&entry.definition).unwrap_or(&defaults);
        let counters = self.counters.entry(entry.definition.clone()).or_default();
        if self.begun.insert(list.to_owned()) {
            for (counter, start) in counters.iter_mut().zip(entry.starts) {
                *counter = start.map_or(*counter, |start| start.checked_sub(1));
            }
        }
        let level = entry.levels.get(at).copied().flatten().or(levels.get(at).copied())?;
        counters.iter_mut().skip(at + 1).for_each(|deeper| *deeper = None);
        let start = entry.starts.get(at).copied().flatten().unwrap_or(level.start);
        let counter = counters.get_mut(at)?;
        let number = counter.map_or(start, |last| last.saturating_add(1));
        *counter = Some(number);
        (!level.is_bullet).then_some(number)
    }
}

fn at(element: Element<'_>) -> Option<usize> {
    element.attribute("w:ilvl")?.parse().ok()
}

fn value<'a>(element: Element<'a>, name: &str) -> Option<&'a str> {
    element.child(name)?.attribute("w:val")
}

fn level_of(element: Element<'_>) -> Level {
    let format = value(element, "w:numFmt").unwrap_or("decimal");
    let start = value(element, "w:start").and_then(|it| it.parse().ok());
    Level { is_bullet: matches!(format, "bullet" | "none"), start: start.unwrap_or(1) }
}

fn list_of(element: Element<'_>) -> NumberedList {
    let mut list = NumberedList {
        definition: value(element, "w:abstractNumId").unwrap_or_default().to_owned(),
        starts: [None; LEVELS],
        levels: [None; LEVELS],
    };
    for change in element.children().filter(|it| it.name() == "w:lvlOverride") {
        let Some(at) = at(change) else { continue };
        if let Some(slot) = list.starts.get_mut(at) {
            *slot = value(change, "w:startOverride").and_then(|it| it.parse().ok());
        }
        if let Some(slot) = list.levels.get_mut(at) {
            *slot = change.child("w:lvl").map(level_of);
        }
    }
    list
}
