//! The names of pages, and the texts of blocks that others refer to.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use brain_convert_base::Paths;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::outline::label_of;
use crate::vault::key;

/// Maximum depth of blocks.
pub(super) const MAX_DEPTH: usize = 100;
/// Maximum length of the id of a block.
const MAX_ID: usize = 40;

/// A page as in the file. Its blocks are read level by level, so that deep ones need no recursion.
#[derive(Deserialize)]
pub(super) struct RoamPage<'a> {
    #[serde(borrow, default)]
    pub(super) title: Cow<'a, str>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(rename = "create-time", default)]
    create_time: Option<f64>,
    #[serde(rename = "edit-time", default)]
    edit_time: Option<f64>,
    #[serde(rename = "create-email", borrow, default)]
    pub(super) author: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) children: Option<&'a RawValue>,
}

/// A block as in the file.
#[derive(Deserialize)]
pub(super) struct RoamBlock<'a> {
    #[serde(borrow, default)]
    pub(super) string: Cow<'a, str>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(default)]
    pub(super) heading: Option<u8>,
    #[serde(rename = ":children/view-type", borrow, default)]
    view: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) children: Option<&'a RawValue>,
}

impl RoamPage<'_> {
    pub(super) fn created(&self) -> Option<Timestamp> {
        time(self.create_time)
    }

    pub(super) fn updated(&self) -> Option<Timestamp> {
        time(self.edit_time)
    }

    /// Returns the day of a daily note, whose id is `09-08-2023`.
    fn day(&self) -> Option<Date> {
        let parts: Vec<&str> = self.uid.split('-').collect();
        let [month, day, year] = parts.as_slice() else { return None };
        let is_day = month.len() == 2 && day.len() == 2 && year.len() == 4;
        let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        date.ok().filter(|_| is_day)
    }
}

impl RoamBlock<'_> {
    /// Returns whether the items below it are numbered.
    pub(super) fn is_numbered(&self) -> bool {
        self.view.is_some_and(|view| view.get().contains("numbered"))
    }
}

fn time(milliseconds: Option<f64>) -> Option<Timestamp> {
    let at = milliseconds.filter(|at| at.is_finite() && at.abs() < 9e15 && *at != 0.0)?;
    #[allow(clippy::cast_possible_truncation)]
    Timestamp::from_millisecond(at as i64).ok()
}

/// Returns the blocks of a list.
pub(super) fn blocks(list: Option<&RawValue>) -> Result<Vec<RoamBlock<'_>>, serde_json::Error> {
    list.map_or_else(
        || Ok(Vec::new()),
        |list| {
            Ok(serde_json::from_str::<Option<Vec<RoamBlock<'_>>>>(list.get())?.unwrap_or_default())
        },
    )
}

/// The names of a graph.
#[derive(Default)]
pub(super) struct Graph {
    paths: Paths,
    /// The paths of pages, by their numbers and by their titles.
    pages: Vec<String>,
    titles: HashMap<String, usize>,
    /// Ids of blocks that others refer to.
    references: HashSet<String>,
    /// Numbers of pages and labels, by the ids of the blocks.
    blocks: HashMap<String, (usize, String)>,
}

impl Graph {
    /// Adds the name of a page, and the ids to which its blocks refer.
    pub(super) fn add_page(&mut self, number: usize, json: &str) {
        let page = serde_json::from_str::<RoamPage<'_>>(json).ok();
        let title = page.as_ref().map_or("", |page| &page.title);
        let path = match page.as_ref().and_then(RoamPage::day) {
            Some(day) => self.paths.add([], &day.to_string()),
            None => self.paths.add([], title),
        };
        self.titles.entry(key(title)).or_insert(number);
        self.pages.push(path);
        let mut rest = json;
        while let Some((_, after)) = rest.split_once("((") {
            let end = after.find("))").filter(|end| *end <= MAX_ID);
            let id = end.and_then(|end| after.get(..end)).map(|id| id.trim_start_matches('('));
            if let Some(id) = id.filter(|id| is_id(id)) {
                self.references.insert(id.to_owned());
            }
            rest = after;
        }
    }

    pub(super) fn has_references(&self) -> bool {
        !self.references.is_empty()
    }

    /// Adds the texts of the blocks of a page to which others refer.
    pub(super) fn add_blocks(&mut self, number: usize, json: &str) {
        let Ok(page) = serde_json::from_str::<RoamPage<'_>>(json) else { return };
        let mut lists = vec![(page.children, 0)];
        while let Some((list, depth)) = lists.pop() {
            for block in blocks(list).unwrap_or_default() {
                if self.references.contains(&*block.uid) {
                    let label = label_of(&block.string);
                    self.blocks.entry(block.uid.into_owned()).or_insert((number, label));
                }
                if block.children.is_some() && depth < MAX_DEPTH {
                    lists.push((block.children, depth + 1));
                }
            }
        }
    }

    pub(super) fn path(&self, number: usize) -> Option<&str> {
        self.pages.get(number).map(String::as_str)
    }

    /// Returns the path of the page with a title.
    pub(super) fn find(&self, title: &str) -> Option<&str> {
        self.titles.get(&key(title)).and_then(|number| self.path(*number))
    }

    /// Returns the path of the page of a block, and the text of the block on one line.
    pub(super) fn block(&self, id: &str) -> Option<(&str, &str)> {
        let (number, label) = self.blocks.get(id)?;
        Some((self.path(*number)?, label))
    }
}

/// Returns whether a text can be the id of a block.
pub(super) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}
