//! The styles of an ODT: how text looks, which paragraphs are quotes or code, which lists have
//! numbers.

use std::collections::HashMap;

use crate::flow::Kind;
use crate::model::{Position, Style};
use crate::xml::{Element, Xml};

/// Maximum number of styles that are based on each other.
const MAX_BASED: usize = 20;

/// The styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    /// By family and name.
    styles: HashMap<(String, String), Entry>,
    /// The first number of each level of each list style; `None` for bullets.
    lists: HashMap<String, HashMap<u32, Option<u32>>>,
}

#[derive(Debug, Default)]
struct Entry {
    parent: String,
    bold: Option<bool>,
    italic: Option<bool>,
    strike: Option<bool>,
    position: Option<Position>,
    list: Option<String>,
    is_hidden: Option<bool>,
}

impl Styles {
    /// Reads styles. Those of later files count.
    pub(super) fn of<'a>(files: impl IntoIterator<Item = &'a Xml>) -> Self {
        let mut styles = Self::default();
        for element in files.into_iter().flat_map(Xml::elements) {
            let value = |name: &str| element.attribute(name).unwrap_or_default().to_owned();
            match element.name() {
                "style:style" => {
                    let key = (value("style:family"), value("style:name"));
                    styles.styles.insert(key, entry(element));
                }
                "text:list-style" => {
                    styles.lists.insert(value("style:name"), levels(element));
                }
                _ => {}
            }
        }
        styles
    }

    /// Returns a style and those that it is based on, with their names.
    fn chain<'a>(&'a self, family: &str, name: &str) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        let find = move |family: &str, name: &str| {
            let key = (family.to_owned(), name.to_owned());
            self.styles.get_key_value(&key)
        };
        let first = find(family, name);
        let next =
            move |found: &(&'a (String, String), &'a Entry)| find(&found.0.0, &found.1.parent);
        let chain = std::iter::successors(first, next).take(MAX_BASED);
        chain.map(|((_, name), entry)| (name.as_str(), entry))
    }

    /// Returns how text of a style looks, within text that looks like `outer`.
    pub(super) fn look(&self, name: &str, outer: Style) -> Style {
        let mut style = outer;
        let (mut bold, mut italic, mut strike, mut position) = (None, None, None, None);
        for (name, entry) in self.chain("text", name) {
            bold = bold.or(entry.bold);
            italic = italic.or(entry.italic);
            strike = strike.or(entry.strike);
            position = position.or(entry.position);
            style.code |= matches!(name, "Source_20_Text" | "Teletype" | "Verbatim_20_Char");
        }
        // pandoc names its style so, and defines nothing.
        style.code |= matches!(name, "Source_20_Text" | "Source_Text" | "Teletype");
        style.bold = bold.unwrap_or(style.bold);
        style.italic = italic.unwrap_or(style.italic);
        style.strike = strike.unwrap_or(style.strike);
        style.position = position.unwrap_or(style.position);
        style
    }

    /// Returns whether a style of this family hides its text; `None` if it does not say it.
    pub(super) fn is_hidden(&self, family: &str, name: &str) -> Option<bool> {
        self.chain(family, name).find_map(|(_, entry)| entry.is_hidden)
    }

    /// Returns what a paragraph of a style is.
    pub(super) fn kind(&self, name: &str) -> Kind {
        let by_name = |name: &str| match name {
            "Title" => Some(Kind::Title),
            "Quotations" => Some(Kind::Quote),
            "Preformatted_20_Text" => Some(Kind::Code),
            _ => None,
        };
        let chain = self.chain("paragraph", name).map(|(name, _)| name);
        std::iter::once(name).chain(chain).find_map(by_name).unwrap_or(Kind::Plain)
    }

    /// Returns the list style of a paragraph style.
    pub(super) fn list_of(&self, name: &str) -> Option<&str> {
        self.chain("paragraph", name).find_map(|(_, entry)| entry.list.as_deref())
    }

    /// Returns the first number of a level, from 1; `None` for bullets.
    pub(super) fn first_number(&self, list: &str, level: u32) -> Option<u32> {
        self.lists.get(list)?.get(&level).copied().flatten()
    }
}

fn entry(style: Element<'_>) -> Entry {
    let text = style.child("style:text-properties");
    let value = |name: &str| text.and_then(|it| it.attribute(name));
    let is_bold = |it: &str| it == "bold" || it.parse::<u32>().is_ok_and(|it| it >= 600);
    let line = value("style:text-line-through-style").or(value("style:text-line-through-type"));
    Entry {
        parent: style.attribute("style:parent-style-name").unwrap_or_default().to_owned(),
        bold: value("fo:font-weight").map(is_bold),
        italic: value("fo:font-style").map(|it| matches!(it, "italic" | "oblique")),
        strike: line.map(|it| it != "none"),
        position: value("style:text-position").map(position),
        list: style.attribute("style:list-style-name").map(str::to_owned),
        is_hidden: value("text:display").map(|it| it == "none"),
    }
}

/// Returns the position of text: `super 58%`, or a part of the height such as `-33% 58%`.
fn position(text: &str) -> Position {
    let height = text.split_whitespace().next().unwrap_or_default();
    match (height, height.trim_end_matches('%').parse::<f32>()) {
        ("super", _) => Position::Raised,
        ("sub", _) => Position::Lowered,
        (_, Ok(height)) if height > 0.0 => Position::Raised,
        (_, Ok(height)) if height < 0.0 => Position::Lowered,
        _ => Position::Normal,
    }
}

fn levels(list: Element<'_>) -> HashMap<u32, Option<u32>> {
    let mut levels = HashMap::new();
    for level in list.children() {
        let number = |name: &str| level.attribute(name).and_then(|it| it.parse().ok());
        let has_numbers = level.name() == "text:list-level-style-number"
            && level.attribute("style:num-format").is_some_and(|it| !it.is_empty());
        let first = has_numbers.then(|| number("text:start-value").unwrap_or(1));
        levels.extend(number("text:level").map(|level| (level, first)));
    }
    levels
}
