//! The styles of a DOCX: which are headings, quotes and code, and how text looks.

use std::collections::HashMap;

use crate::flow::Kind;
use crate::model::{Position, Style};
use crate::xml::{Element, Xml};

/// Maximum number of styles that are based on each other.
const MAX_BASED: usize = 20;

/// The styles of a document by their ids.
#[derive(Debug, Default)]
pub(super) struct Styles {
    by_id: HashMap<String, StyleEntry>,
}

#[derive(Debug, Default)]
struct StyleEntry {
    name: String,
    based_on: String,
    outline: Option<u8>,
    list: ListPlace,
    look: Look,
    is_hidden: Option<bool>,
}

/// The list of a paragraph.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ListPlace {
    /// The id of the numbering; `0` for none.
    pub(super) number: Option<String>,
    /// The level, from 0.
    pub(super) level: Option<u32>,
}

/// What properties of a run say about its look.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Look {
    bold: Option<bool>,
    italic: Option<bool>,
    strike: Option<bool>,
    code: bool,
    position: Option<Position>,
}

impl Look {
    /// Reads the properties of a run.
    pub(super) fn of(properties: Element<'_>) -> Self {
        let flag = |name: &str| properties.child(name).map(is_on);
        Self {
            bold: flag("w:b"),
            italic: flag("w:i"),
            strike: flag("w:strike").or_else(|| flag("w:dstrike")),
            code: false,
            position: properties.child("w:vertAlign").map(|it| match it.attribute("w:val") {
                Some("superscript") => Position::Raised,
                Some("subscript") => Position::Lowered,
                _ => Position::Normal,
            }),
        }
    }

    /// Returns this look, with what it does not say from `base`.
    fn or(self, base: Self) -> Self {
        Self {
            bold: self.bold.or(base.bold),
            italic: self.italic.or(base.italic),
            strike: self.strike.or(base.strike),
            code: self.code || base.code,
            position: self.position.or(base.position),
        }
    }

    fn style(self) -> Style {
        Style {
            bold: self.bold.unwrap_or(false),
            italic: self.italic.unwrap_or(false),
            strike: self.strike.unwrap_or(false),
            code: self.code,
            position: self.position.unwrap_or_default(),
        }
    }
}

/// Returns whether a property that is on or off is on (ISO 29500-1, 17.17.4).
pub(super) fn is_on(property: Element<'_>) -> bool {
    !matches!(property.attribute("w:val"), Some("0" | "false" | "off" | "none"))
}

impl Styles {
    pub(super) fn of(xml: &Xml) -> Self {
        let mut by_id = HashMap::new();
        for style in xml.elements().filter(|it| it.name() == "w:style") {
            let value = |name: &str| style.child(name).and_then(|it| it.attribute("w:val"));
            let paragraph = style.child("w:pPr");
            let entry = StyleEntry {
                name: value("w:name").unwrap_or_default().to_lowercase(),
                based_on: value("w:basedOn").unwrap_or_default().to_owned(),
                outline: paragraph.and_then(outline),
                list: paragraph.map(list_place).unwrap_or_default(),
                look: style.child("w:rPr").map(Look::of).unwrap_or_default(),
                is_hidden: style.child("w:rPr").and_then(hidden),
            };
            by_id.insert(style.attribute("w:styleId").unwrap_or_default().to_owned(), entry);
        }
        Self { by_id }
    }

    /// Returns a style and those that it is based on.
    fn chain<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a StyleEntry> {
        let first = self.by_id.get(id);
        let next = |entry: &&'a StyleEntry| self.by_id.get(&entry.based_on);
        std::iter::successors(first, next).take(MAX_BASED)
    }

    /// Returns what a paragraph of this style is. `properties` are its own.
    pub(super) fn kind(&self, id: &str, properties: Option<Element<'_>>) -> Kind {
        if let Some(level) = properties.and_then(outline) {
            return heading(level);
        }
        for entry in self.chain(id) {
            if let Some(level) = entry.name.strip_prefix("heading ") {
                return level.trim().parse().map_or(Kind::Plain, Kind::Heading);
            }
            match entry.name.as_str() {
                "title" => return Kind::Title,
                "quote" | "intense quote" | "block text" | "quotations" => return Kind::Quote,
                "source code" | "html preformatted" | "preformatted text" => return Kind::Code,
                _ => {}
            }
            if let Some(level) = entry.outline {
                return heading(level);
            }
        }
        Kind::Plain
    }

    /// Returns the list of a paragraph of this style, whose own properties say `own`.
    pub(super) fn list(&self, id: &str, own: ListPlace) -> ListPlace {
        let mut place = own;
        for entry in self.chain(id) {
            place.number = place.number.or_else(|| entry.list.number.clone());
            place.level = place.level.or(entry.list.level);
        }
        place
    }

    /// Returns whether text with these properties is hidden, in a paragraph of this style.
    pub(super) fn is_hidden(&self, properties: Option<Element<'_>>, paragraph: &str) -> bool {
        let id = properties.and_then(|it| it.child("w:rStyle")?.attribute("w:val"));
        let mut styles = id.into_iter().flat_map(|id| self.chain(id)).chain(self.chain(paragraph));
        let own = properties.and_then(hidden);
        own.or_else(|| styles.find_map(|entry| entry.is_hidden)).unwrap_or(false)
    }

    /// Returns how text looks with these properties.
    pub(super) fn look(&self, properties: Option<Element<'_>>) -> Style {
        let Some(properties) = properties else { return Style::default() };
        let id = properties.child("w:rStyle").and_then(|it| it.attribute("w:val"));
        let mut look = Look::of(properties);
        for entry in id.into_iter().flat_map(|id| self.chain(id)) {
            let is_code = matches!(
                entry.name.as_str(),
                "verbatim char" | "html code" | "source text" | "html typewriter" | "code"
            );
            look = look.or(Look { code: is_code || entry.look.code, ..entry.look });
        }
        look.style()
    }
}

/// Returns whether properties of a run hide its text. `w:webHidden` hides it in browsers only.
fn hidden(properties: Element<'_>) -> Option<bool> {
    properties.child("w:vanish").map(is_on)
}

/// Returns the list that properties of a paragraph name.
pub(super) fn list_place(properties: Element<'_>) -> ListPlace {
    let place = properties.child("w:numPr");
    let value = |name: &str| place.and_then(|it| it.child(name)?.attribute("w:val"));
    ListPlace {
        number: value("w:numId").map(str::to_owned),
        level: value("w:ilvl").and_then(|it| it.parse().ok()),
    }
}

/// Returns the level of a heading from 0; 9 is body text.
fn outline(properties: Element<'_>) -> Option<u8> {
    properties.child("w:outlineLvl")?.attribute("w:val")?.parse().ok()
}

fn heading(level: u8) -> Kind {
    if level < 9 { Kind::Heading(level + 1) } else { Kind::Plain }
}
