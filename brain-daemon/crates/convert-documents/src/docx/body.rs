//! The paragraphs and tables of a DOCX.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::fields::{self, Fields};
use super::numbering::Numbering;
use super::package::{Package, Relationships};
use super::styles::{ListPlace, Styles, list_place};
use crate::draft::Draft;
use crate::flow::{Flow, Kind, is_blank};
use crate::math::formula;
use crate::model::{Block, FlatItem, Inline, plain_text};
use crate::xml::{Element, Xml};

/// Reads the parts of a document.
pub(super) struct Reader<'a> {
    pub(super) package: &'a Package<'a>,
    pub(super) draft: &'a mut Draft,
    pub(super) notes: Vec<NotePart>,
    styles: Styles,
    numbering: Numbering,
    /// The state of the part that is read.
    pub(super) part: PartState,
    /// The numbers of notes and comments, by kind and id.
    pub(super) noted: HashMap<(&'static str, String), usize>,
}

/// A part with notes or comments.
pub(super) struct NotePart {
    /// The name of its elements without a prefix: `footnote`, `endnote`, `comment`.
    pub(super) kind: &'static str,
    pub(super) xml: Rc<Xml>,
    pub(super) relationships: Rc<Relationships>,
    pub(super) has_whole_fields: bool,
    /// The numbers of its elements by their ids.
    pub(super) ids: HashMap<String, u32>,
}

impl NotePart {
    fn of(package: &Package<'_>, part: &str, kind: &'static str) -> Self {
        let path = package.part_path(part);
        let xml = package.container.optional_xml(&path);
        let mut ids = HashMap::new();
        for note in xml.root().children().filter(|it| it.local_name() == kind) {
            let id = note.attribute("w:id").unwrap_or_default();
            ids.entry(id.to_owned()).or_insert(note.number());
        }
        Self {
            kind,
            has_whole_fields: fields::is_whole(&xml),
            relationships: Rc::new(package.relationships(&path)),
            xml: Rc::new(xml),
            ids,
        }
    }
}

/// What belongs to the part that is read.
#[derive(Debug, Default)]
pub(super) struct PartState {
    pub(super) relationships: Rc<Relationships>,
    pub(super) fields: Fields,
    /// The blocks of text boxes in the paragraph.
    pub(super) boxes: Vec<Block>,
    /// The names of bookmarks that stand before the next heading.
    pub(super) places: Vec<String>,
    /// The style of the paragraph.
    pub(super) style: String,
    /// Text of a paragraph whose end was deleted.
    pub(super) joined: Vec<Inline>,
    /// Whether it is a note, which has no notes.
    pub(super) is_note: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(package: &'a Package<'a>, draft: &'a mut Draft) -> Self {
        let notes = [("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment")]
            .map(|(part, kind)| NotePart::of(package, part, kind));
        Self {
            package,
            draft,
            notes: notes.into(),
            styles: Styles::of(&package.part("styles")),
            numbering: Numbering::of(&package.part("numbering")),
            part: PartState::default(),
            noted: HashMap::new(),
        }
    }

    /// Reads the main part.
    pub(super) fn document(&mut self, xml: &Xml) -> Vec<Block> {
        self.part = PartState {
            relationships: Rc::new(self.package.relationships(&self.package.document)),
            fields: Fields::new(fields::is_whole(xml)),
            ..PartState::default()
        };
        let body = xml.root().child("w:body").unwrap_or(xml.root());
        self.blocks(body)
    }

    /// Reads the paragraphs and tables in an element.
    pub(super) fn blocks(&mut self, parent: Element<'_>) -> Vec<Block> {
        let joined = std::mem::take(&mut self.part.joined);
        let mut flow = Flow::default();
        self.fill(parent, &mut flow);
        let rest = std::mem::replace(&mut self.part.joined, joined);
        flow.paragraph(Kind::Plain, rest);
        flow.finish()
    }

    fn fill(&mut self, parent: Element<'_>, flow: &mut Flow) {
        for element in parent.children() {
            match element.name() {
                "w:p" => self.paragraph(element, flow),
                "w:tbl" => {
                    let rows = self.rows(element);
                    flow.block(Block::Table(rows));
                }
                "w:bookmarkStart" => self.place(element),
                "mc:AlternateContent" => {
                    if let Some(choice) = alternative(element) {
                        self.fill(choice, flow);
                    }
                }
                "w:altChunk" => self
                    .draft
                    .lost("a document inserted into it as a whole is only in the kept file"),
                "m:oMathPara" | "m:oMath" => {
                    flow.paragraph(Kind::Plain, vec![Inline::plain(formula(element))]);
                }
                _ if is_left_out(element) => {}
                // All others are wrappers.
                _ => self.fill(element, flow),
            }
        }
    }

    fn paragraph(&mut self, paragraph: Element<'_>, flow: &mut Flow) {
        let properties = paragraph.child("w:pPr");
        let style = properties.and_then(|it| it.child("w:pStyle")?.attribute("w:val"));
        let style = style.unwrap_or_default();
        let boxes = std::mem::take(&mut self.part.boxes);
        let outer = std::mem::replace(&mut self.part.style, style.to_owned());
        let mut content = std::mem::take(&mut self.part.joined);
        self.runs(paragraph, None, &mut content);
        self.part.style = outer;
        let boxes = std::mem::replace(&mut self.part.boxes, boxes);
        let mark = properties.and_then(|it| it.child("w:rPr"));
        let is_joined =
            |it: Element<'_>| it.child("w:del").is_some() || it.child("w:moveFrom").is_some();
        if mark.is_some_and(is_joined) {
            self.part.joined = content;
            flow.extend(boxes);
            return;
        }
        let kind = self.styles.kind(style, properties);
        let own = properties.map(list_place).unwrap_or_default();
        let place = self.styles.list(style, own);
        self.add(kind, place, content, flow);
        flow.extend(boxes);
    }

    fn add(&mut self, kind: Kind, place: ListPlace, content: Vec<Inline>, flow: &mut Flow) {
        if let Kind::Heading(_) | Kind::Title = kind {
            let heading = plain_text(&content);
            for id in std::mem::take(&mut self.part.places) {
                self.draft.add_place(&id, &heading);
            }
        } else {
            self.part.places.clear();
        }
        let list = place.number.filter(|number| number != "0");
        match (kind, list) {
            (Kind::Plain | Kind::Quote, Some(list)) => {
                let level = place.level.unwrap_or(0);
                let number = self.numbering.next(&list, level);
                if !is_blank(&content) {
                    let blocks = vec![Block::Paragraph(content)];
                    flow.item(FlatItem { level, number, blocks });
                }
            }
            (kind, _) => flow.paragraph(kind, content),
        }
    }

    /// Remembers a bookmark.
    pub(super) fn place(&mut self, bookmark: Element<'_>) {
        const MAX_PLACES: usize = 100;
        if self.part.places.len() < MAX_PLACES {
            self.part.places.extend(bookmark.attribute("w:name").map(str::to_owned));
        }
    }

    /// Returns how text with these properties looks.
    pub(super) fn look(&self, properties: Option<Element<'_>>) -> crate::model::Style {
        self.styles.look(properties)
    }

    /// Returns whether text with these properties is hidden.
    pub(super) fn is_hidden(&self, properties: Option<Element<'_>>) -> bool {
        self.styles.is_hidden(properties, &self.part.style)
    }

    /// Reports the headers and footers, which belong to no place of the text.
    pub(super) fn report_headers(&mut self) {
        let relationships = self.package.relationships(&self.package.document);
        let mut seen = HashSet::new();
        for kind in ["header", "footer"] {
            for path in relationships.of_kind(kind) {
                let xml = self.package.container.optional_xml(path);
                let texts = xml.elements().filter(|it| matches!(it.name(), "w:t" | "w:tab"));
                let texts: Vec<String> = texts.map(Element::text).collect();
                let text = brain_page::single_line(&texts.concat());
                if text.chars().any(char::is_alphabetic) && seen.insert(text.clone()) {
                    let text: String = text.chars().take(200).collect();
                    self.draft.lost(format!("its {kind} \"{text}\" is only in the kept file"));
                }
            }
        }
    }
}

/// Returns the variant of a content that is stored several times: the first that is understood.
pub(super) fn alternative(element: Element<'_>) -> Option<Element<'_>> {
    const KNOWN: [&str; 10] =
        ["wps", "wpg", "wpc", "wpi", "wp14", "w14", "w15", "w16se", "a14", "v"];
    let is_known = |choice: &Element<'_>| {
        let requires = choice.attribute("Requires").unwrap_or_default();
        choice.name() == "mc:Choice"
            && requires.split_whitespace().all(|name| KNOWN.contains(&name))
    };
    let first = |name: &str| element.child(name);
    element
        .children()
        .find(is_known)
        .or_else(|| first("mc:Fallback"))
        .or_else(|| first("mc:Choice"))
}

/// Returns whether an element has no text of the document: properties, and what was deleted.
pub(super) fn is_left_out(element: Element<'_>) -> bool {
    let name = element.name();
    if name == "w:sdt" {
        let properties = element.child("w:sdtPr");
        return properties
            .and_then(|it| it.child("w:showingPlcHdr"))
            .is_some_and(super::styles::is_on);
    }
    matches!(name, "w:del" | "w:moveFrom" | "w:delText" | "w:delInstrText" | "w:tblGrid")
        || (name.ends_with("Pr") && name.starts_with("w:"))
}
