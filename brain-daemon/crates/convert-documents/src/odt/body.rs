//! The paragraphs of an ODT and their text.

use std::collections::HashMap;

use brain_convert_base::count_words;

use super::controls;
use super::list_place::ListPlace;
use super::styles::Styles;
use crate::container::Container;
use crate::draft::Draft;
use crate::flow::{Flow, Kind};
use crate::label::comment_label;
use crate::model::{Block, Inline, Link, Style, Text, plain_text};
use crate::xml::{Element, Xml};

/// Maximum number of blanks that one element stands for.
const MAX_BLANKS: usize = 200;

/// Reads a document.
pub(super) struct Reader<'a> {
    pub(super) container: &'a Container,
    pub(super) draft: &'a mut Draft,
    pub(super) styles: Styles,
    /// The next number of each list, by its id.
    pub(super) lists: HashMap<String, u32>,
    /// Size of all copies of cells, in bytes.
    pub(super) copied: usize,
    /// The blocks of text boxes in the paragraph.
    pub(super) boxes: Vec<Block>,
    /// Bookmarks in the paragraph.
    places: Vec<String>,
    /// What the fields of forms show, by their ids.
    pub(super) controls: HashMap<String, String>,
    is_note: bool,
    /// Whether the paragraph is code, where all blanks count.
    is_code: bool,
    /// Whether the text is hidden.
    is_hidden: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(container: &'a Container, styles: Styles, draft: &'a mut Draft) -> Self {
        Self {
            container,
            draft,
            styles,
            lists: HashMap::new(),
            copied: 0,
            boxes: Vec::new(),
            places: Vec::new(),
            controls: HashMap::new(),
            is_note: false,
            is_code: false,
            is_hidden: false,
        }
    }

    /// Reads `content.xml`.
    pub(super) fn document(&mut self, xml: &Xml) -> Vec<Block> {
        self.controls = controls::read(xml);
        let body = xml.find("office:text").or_else(|| xml.find("office:body"));
        self.blocks(body.unwrap_or(xml.root()))
    }

    /// Reads the paragraphs, lists and tables in an element.
    pub(super) fn blocks(&mut self, parent: Element<'_>) -> Vec<Block> {
        let mut flow = Flow::default();
        self.fill(parent, ListPlace::default(), &mut flow);
        flow.finish()
    }

    /// Reads into `flow`. Lists in it are at `place`.
    pub(super) fn fill<'x>(&mut self, parent: Element<'x>, place: ListPlace<'x>, flow: &mut Flow) {
        for element in parent.children() {
            match element.name() {
                "text:p" => {
                    let style = element.attribute("text:style-name").unwrap_or_default();
                    let kind = self.styles.kind(style);
                    self.paragraph(element, kind, flow);
                }
                "text:h" => {
                    let level = element.attribute("text:outline-level");
                    let level = level.and_then(|it| it.parse().ok()).unwrap_or(1);
                    self.paragraph(element, Kind::Heading(level), flow);
                }
                "text:list" => self.list(element, place, flow),
                "table:table" => {
                    let rows = self.rows(element);
                    flow.block(Block::Table(rows));
                }
                "draw:frame" | "draw:g" | "draw:custom-shape" | "draw:rect" | "draw:control" => {
                    self.free_drawing(element, flow);
                }
                name if is_left_out(name) => {}
                "text:section" if is_hidden_part(element) => self.hide(element),
                // Sections, indexes, numbered paragraphs.
                _ => self.fill(element, place, flow),
            }
        }
    }

    /// Counts the words of a hidden element.
    fn hide(&mut self, element: Element<'_>) {
        self.draft.hide(count_words(&element.text()));
    }

    fn paragraph(&mut self, paragraph: Element<'_>, kind: Kind, flow: &mut Flow) {
        let by_field = |it: Element<'_>| it.name() == "text:hidden-paragraph" && is_hidden_part(it);
        if paragraph.children().any(by_field) {
            return self.hide(paragraph);
        }
        let style = paragraph.attribute("text:style-name").unwrap_or_default();
        let is_hidden = self.styles.is_hidden("paragraph", style).unwrap_or(false);
        let outer = std::mem::replace(&mut self.is_hidden, is_hidden);
        let boxes = std::mem::take(&mut self.boxes);
        let is_code = std::mem::replace(&mut self.is_code, kind == Kind::Code);
        let mut content = Vec::new();
        self.inlines(paragraph, Style::default(), None, &mut content);
        self.is_code = is_code;
        self.is_hidden = outer;
        let boxes = std::mem::replace(&mut self.boxes, boxes);
        let places = std::mem::take(&mut self.places);
        if let Kind::Heading(_) | Kind::Title = kind {
            let heading = plain_text(&content);
            places.iter().for_each(|id| self.draft.add_place(id, &heading));
            // Links to headings name their text: `1.The weir|outline`.
            self.draft.add_place(&format!("{heading}|outline"), &heading);
        }
        flow.paragraph(kind, content);
        flow.extend(boxes);
    }

    /// A drawing beside the paragraphs.
    fn free_drawing(&mut self, element: Element<'_>, flow: &mut Flow) {
        let boxes = std::mem::take(&mut self.boxes);
        let mut content = Vec::new();
        self.drawing(element, &mut content);
        let boxes = std::mem::replace(&mut self.boxes, boxes);
        flow.paragraph(Kind::Plain, content);
        flow.extend(boxes);
    }

    /// Reads the text in an element.
    pub(super) fn inlines(
        &mut self,
        parent: Element<'_>,
        style: Style,
        link: Option<&Link>,
        out: &mut Vec<Inline>,
    ) {
        for element in parent.children() {
            let text = |text: String| Inline::Text(Text { text, style, link: link.cloned() });
            match element.name() {
                "" if self.is_hidden => self.hide(element),
                "" => out.push(text(collapsed(element.own_text()))),
                "text:span" => {
                    let name = element.attribute("text:style-name").unwrap_or_default();
                    let inner = self.styles.look(name, style);
                    let is_hidden = self.styles.is_hidden("text", name).unwrap_or(self.is_hidden);
                    let outer = std::mem::replace(&mut self.is_hidden, is_hidden);
                    self.inlines(element, inner, link, out);
                    self.is_hidden = outer;
                }
                "text:hidden-text" if is_hidden_part(element) => {
                    let text = element.attribute("text:string-value").unwrap_or_default();
                    self.draft.hide(count_words(text));
                }
                "text:s" | "text:tab" | "text:line-break" | "text:note" | "office:annotation"
                    if self.is_hidden => {}
                "text:a" => {
                    let target = target(element.attribute("xlink:href").unwrap_or_default());
                    self.inlines(element, style, target.as_ref().or(link), out);
                }
                "text:s" => {
                    let count = element.attribute("text:c").and_then(|it| it.parse().ok());
                    out.push(text(" ".repeat(count.unwrap_or(1).min(MAX_BLANKS))));
                }
                "text:tab" => out.push(text(if self.is_code { "\t" } else { " " }.to_owned())),
                "text:line-break" => out.push(Inline::Break),
                "text:note" => self.note(element, out),
                "office:annotation" => self.comment(element, out),
                "text:bookmark" | "text:bookmark-start" | "text:reference-mark" => {
                    self.places.extend(element.attribute("text:name").map(str::to_owned));
                }
                "text:ruby" => {
                    self.inlines(element, style, link, out);
                }
                "text:ruby-text" => {
                    out.push(text(format!("({})", element.text())));
                }
                name if name.starts_with("draw:") => {
                    if name == "draw:a" {
                        self.inlines(element, style, link, out);
                    } else {
                        self.drawing(element, out);
                    }
                }
                name if is_left_out(name) => {}
                // Fields hold the text that they show.
                _ => self.inlines(element, style, link, out),
            }
        }
    }

    fn note(&mut self, note: Element<'_>, out: &mut Vec<Inline>) {
        if let Some(body) = note.child("text:note-body") {
            self.add_note(out, |reader| reader.blocks(body));
        }
    }

    fn comment(&mut self, comment: Element<'_>, out: &mut Vec<Inline>) {
        let value = |name: &str| comment.child(name).map(Element::text).unwrap_or_default();
        let label = comment_label(&value("dc:creator"), &value("dc:date"));
        self.add_note(out, |reader| {
            let mut blocks = reader.blocks(comment);
            match blocks.first_mut() {
                Some(Block::Paragraph(content)) => {
                    content.splice(0..0, [label, Inline::plain(" ")]);
                }
                _ => blocks.insert(0, Block::Paragraph(vec![label])),
            }
            blocks
        });
    }

    /// Adds a note, unless it is in one.
    fn add_note(&mut self, out: &mut Vec<Inline>, read: impl FnOnce(&mut Self) -> Vec<Block>) {
        if self.is_note {
            return;
        }
        let number = self.draft.add_note();
        out.push(Inline::Note(number));
        let (boxes, places) = (std::mem::take(&mut self.boxes), std::mem::take(&mut self.places));
        self.is_note = true;
        let blocks = read(self);
        self.is_note = false;
        (self.boxes, self.places) = (boxes, places);
        self.draft.set_note(number, blocks);
    }
}

/// Returns a text in which line ends and several blanks are one (ODF 1.3, 6.1.2).
fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' | '\t' | '\r' | '\n' if out.ends_with(' ') => {}
            ' ' | '\t' | '\r' | '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn target(address: &str) -> Option<Link> {
    match address.strip_prefix('#') {
        Some("") => None,
        Some(place) => {
            let place = crate::container::percent_decoded(place);
            Some(Link::Place(
                place.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').into(),
            ))
        }
        None if address.is_empty() => None,
        None => Some(Link::Address(address.into())),
    }
}

/// Returns whether a section or a field is hidden.
fn is_hidden_part(element: Element<'_>) -> bool {
    element.attribute("text:display") == Some("none")
        || element.attribute("text:is-hidden") == Some("true")
}

/// Returns whether an element has no text of the document: declarations, and what was deleted.
pub(super) fn is_left_out(name: &str) -> bool {
    matches!(
        name,
        "text:tracked-changes"
            | "text:note-citation"
            | "text:script"
            | "text:variable-decls"
            | "text:sequence-decls"
            | "text:user-field-decls"
            | "text:dde-connection-decls"
            | "text:alphabetical-index-auto-mark-file"
            | "office:forms"
            | "office:annotation-end"
            | "dc:creator"
            | "dc:date"
            | "meta:date-string"
            | "meta:creator-initials"
            | "svg:title"
            | "svg:desc"
            | "table:table-column"
            | "table:table-columns"
    ) || (name.starts_with("text:") && name.ends_with("-source"))
}
