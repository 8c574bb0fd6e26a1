//! Reads a chapter of XHTML. It is XML: `<title/>` and `<i/>` are empty.

mod css;
mod inline;
mod notes;

use std::collections::{HashMap, HashSet};

use crate::container::Container;
use crate::draft::Draft;
use crate::flow::{Flow, Kind, is_blank};
use crate::model::{Block, Inline, List, plain_text};
use crate::xml::{Element, Xml};
pub(crate) use css::Looks;
use inline::Inlines;
pub(crate) use notes::Notes;

/// Maximum number of columns that one cell covers.
const MAX_SPAN: usize = 200;

/// A chapter and its surroundings.
pub(crate) struct Chapter<'a> {
    pub(crate) container: &'a Container,
    /// The path of the file in the archive.
    pub(crate) path: &'a str,
    /// The titles that the table of contents gives to places in the file.
    pub(crate) toc: Option<&'a HashMap<String, String>>,
    /// The title of the file.
    pub(crate) title: Option<&'a str>,
    /// The looks of classes.
    pub(crate) looks: &'a Looks,
}

/// Reads the blocks of a chapter. A chapter without headings has those of the table of contents.
pub(crate) fn blocks(
    xml: &Xml,
    chapter: &Chapter<'_>,
    notes: &mut Notes,
    draft: &mut Draft,
) -> Vec<Block> {
    let body = xml.root().child("body").unwrap_or(xml.root());
    let has_heading = body.descendants().any(|it| heading_level(it.name()).is_some());
    let mut reader = Reader {
        inlines: Inlines { chapter, draft, notes },
        headed: if has_heading { HashSet::new() } else { places(chapter) },
        is_titled: has_heading,
        ids: Vec::new(),
    };
    let mut flow = Flow::default();
    if let Some(title) = chapter.title.filter(|_| !has_heading) {
        reader.headed.remove("");
        flow.block(Block::Heading(1, vec![Inline::plain(title)]));
    }
    reader.fill(body, &mut flow);
    let mut blocks = flow.finish();
    if !has_heading {
        drop_repeated(&mut blocks);
    }
    blocks
}

/// Removes paragraphs that only repeat the heading from the table of contents before them.
fn drop_repeated(blocks: &mut Vec<Block>) {
    let mut heading = String::new();
    blocks.retain(|block| {
        let before = std::mem::take(&mut heading);
        match block {
            Block::Heading(_, content) => heading = plain_text(content),
            Block::Paragraph(content) => {
                return before.is_empty() || plain_text(content) != before;
            }
            _ => {}
        }
        true
    });
}

fn places(chapter: &Chapter<'_>) -> HashSet<String> {
    chapter.toc.into_iter().flat_map(HashMap::keys).cloned().collect()
}

pub(super) struct Reader<'a, 'd> {
    inlines: Inlines<'a, 'd>,
    /// The ids at which a heading is missing.
    headed: HashSet<String>,
    is_titled: bool,
    /// The ids of elements that begin before the next heading.
    ids: Vec<String>,
}

impl Reader<'_, '_> {
    /// Reads the blocks in an element. Text beside them makes paragraphs.
    fn fill(&mut self, parent: Element<'_>, flow: &mut Flow) {
        let mut open = Vec::new();
        for element in parent.children() {
            if self.inlines.is_hidden(element) {
                continue;
            }
            if element.is_text() || !is_block(element) {
                self.missing_headings(element, &mut open, flow);
                self.inlines.read(element, &mut open);
                continue;
            }
            self.end_paragraph(&mut open, flow);
            self.block(element, flow);
        }
        self.end_paragraph(&mut open, flow);
    }

    fn end_paragraph(&mut self, open: &mut Vec<Inline>, flow: &mut Flow) {
        if !is_blank(open) {
            self.ids.clear();
        }
        flow.paragraph(Kind::Plain, std::mem::take(open));
    }

    /// Writes headings that only the table of contents has.
    fn missing_headings(&mut self, element: Element<'_>, open: &mut Vec<Inline>, flow: &mut Flow) {
        if self.headed.is_empty() {
            return;
        }
        let own = std::iter::once(element).chain(element.descendants());
        let ids: Vec<&str> = own.filter_map(|it| it.attribute("id")).collect();
        for id in ids {
            if self.headed.remove(id)
                && let Some(title) = self.inlines.chapter.toc.and_then(|toc| toc.get(id))
            {
                flow.paragraph(Kind::Plain, std::mem::take(open));
                let level = if self.is_titled { 2 } else { 1 };
                flow.block(Block::Heading(level, vec![Inline::plain(title)]));
            }
        }
    }

    fn block(&mut self, element: Element<'_>, flow: &mut Flow) {
        if let Some(id) = element.attribute("id")
            && self.headed.contains(id)
        {
            self.headed.remove(id);
            let title = self.inlines.chapter.toc.and_then(|toc| toc.get(id));
            flow.extend(
                title.map(|it| Block::Heading(1, vec![Inline::plain(it)])).into_iter().collect(),
            );
        }
        self.ids.extend(element.attribute("id").map(str::to_owned));
        if let Some(level) = heading_level(element.name()) {
            let content = self.inlines.of(element);
            let ids = std::mem::take(&mut self.ids);
            self.inlines.add_places(element, ids, &plain_text(&content));
            flow.paragraph(Kind::Heading(level), content);
            return;
        }
        match element.name() {
            "ul" | "ol" | "menu" | "dir" => self.list(element, flow),
            "table" => self.table(element, flow),
            "hr" => flow.block(Block::Rule),
            "pre" => flow.block(Block::Code(code_text(element))),
            "blockquote" => {
                let mut inner = Flow::default();
                self.fill(element, &mut inner);
                let blocks = inner.finish();
                if !blocks.is_empty() {
                    flow.block(Block::Quote(blocks));
                }
            }
            "dl" => self.definitions(element, flow),
            "script" | "style" | "template" | "head" => {}
            _ => self.block_or_note(element, flow),
        }
    }

    /// Reads the blocks in an element. A note whose place was read is a note of the page.
    fn block_or_note(&mut self, element: Element<'_>, flow: &mut Flow) {
        let path = self.inlines.chapter.path;
        match self.inlines.notes.take_number(path, element) {
            Some(number) => {
                let mut inner = Flow::default();
                self.fill(element, &mut inner);
                let mut blocks = inner.finish();
                if blocks.len() > 1 && blocks.first().is_some_and(is_label) {
                    blocks.remove(0);
                }
                self.inlines.draft.set_note(number, blocks);
            }
            None => self.fill(element, flow),
        }
    }

    fn list(&mut self, list: Element<'_>, flow: &mut Flow) {
        let first = list.attribute("start").and_then(|it| it.parse().ok()).unwrap_or(1);
        let first = (list.name() == "ol").then_some(first);
        let mut items = Vec::new();
        for item in list.children() {
            if self.inlines.is_hidden(item) {
                continue;
            }
            // A list directly in a list belongs to the item before it.
            let is_nested = matches!(item.name(), "ul" | "ol");
            let mut inner = Flow::default();
            match item.name() {
                _ if is_nested => self.list(item, &mut inner),
                "" => continue,
                _ => self.block_or_note(item, &mut inner),
            }
            let blocks = inner.finish();
            match items.last_mut() {
                Some(last) if is_nested => Vec::extend(last, blocks),
                _ if blocks.is_empty() => {}
                _ => items.push(blocks),
            }
        }
        if !items.is_empty() {
            flow.block(Block::List(List { first, items }));
        }
    }

    /// Terms are bold lines, and their definitions paragraphs below.
    fn definitions(&mut self, list: Element<'_>, flow: &mut Flow) {
        for element in list.children() {
            if self.inlines.is_hidden(element) {
                continue;
            }
            if element.name() == "dt" {
                let mut content = self.inlines.of(element);
                for inline in &mut content {
                    if let Inline::Text(text) = inline {
                        text.style.bold = true;
                    }
                }
                flow.paragraph(Kind::Plain, content);
            } else {
                self.fill(element, flow);
            }
        }
    }

    fn table(&mut self, table: Element<'_>, flow: &mut Flow) {
        let mut rows = Vec::new();
        // Columns that cells of rows above cover, with the number of rows.
        let mut covered: Vec<usize> = Vec::new();
        for row in rows_of(table) {
            if self.inlines.is_hidden(row) {
                continue;
            }
            let cells = self.row(row, &mut covered);
            rows.push(cells);
        }
        for caption in table.children().filter(|it| it.name() == "caption") {
            self.fill(caption, flow);
        }
        if !rows.is_empty() {
            flow.block(Block::Table(rows));
        }
    }

    fn row(&mut self, row: Element<'_>, covered: &mut Vec<usize>) -> Vec<Vec<Block>> {
        let mut cells = Vec::new();
        for cell in row.children().filter(|it| matches!(it.name(), "td" | "th")) {
            if self.inlines.is_hidden(cell) {
                continue;
            }
            self.skip_covered(&mut cells, covered);
            let span = |name: &str| {
                let value = cell.attribute(name).and_then(|it| it.parse().ok());
                value.unwrap_or(1).clamp(1, MAX_SPAN)
            };
            let start = cells.len();
            let mut inner = Flow::default();
            self.fill(cell, &mut inner);
            cells.push(inner.finish());
            let beside = self.inlines.draft.cover(span("colspan") - 1);
            cells.extend((0..beside).map(|_| Vec::new()));
            covered.resize(covered.len().max(cells.len()), 0);
            if let Some(columns) = covered.get_mut(start..cells.len()) {
                columns.fill(span("rowspan") - 1);
            }
        }
        self.skip_covered(&mut cells, covered);
        cells
    }

    /// Adds an empty cell for each column that a cell above covers.
    fn skip_covered(&mut self, cells: &mut Vec<Vec<Block>>, covered: &mut [usize]) {
        while let Some(rows) = covered.get_mut(cells.len()).filter(|rows| **rows > 0) {
            if self.inlines.draft.cover(1) == 0 {
                return;
            }
            *rows -= 1;
            cells.push(Vec::new());
        }
    }
}

/// Returns whether a block is only the number of a note.
fn is_label(block: &Block) -> bool {
    match block {
        Block::Paragraph(content) => !plain_text(content).contains(char::is_alphabetic),
        _ => false,
    }
}

/// Returns the rows of a table, without those of tables in its cells.
fn rows_of(table: Element<'_>) -> Vec<Element<'_>> {
    let mut rows = Vec::new();
    for part in table.children() {
        match part.name() {
            "tr" => rows.push(part),
            "thead" | "tbody" | "tfoot" => {
                rows.extend(part.children().filter(|it| it.name() == "tr"));
            }
            _ => {}
        }
    }
    rows
}

fn heading_level(name: &str) -> Option<u8> {
    match name {
        "h1" => Some(1),
        "h2" => Some(2),
        "h3" => Some(3),
        "h4" => Some(4),
        "h5" => Some(5),
        "h6" => Some(6),
        _ => None,
    }
}

/// Returns whether an element is, or contains, a paragraph of its own.
fn is_block(element: Element<'_>) -> bool {
    const BLOCKS: [&str; 40] = [
        "p",
        "div",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "li",
        "menu",
        "table",
        "hr",
        "pre",
        "blockquote",
        "section",
        "article",
        "aside",
        "nav",
        "header",
        "footer",
        "main",
        "figure",
        "figcaption",
        "address",
        "center",
        "form",
        "fieldset",
        "details",
        "summary",
        "body",
        "caption",
        "script",
        "style",
        "template",
        "dir",
    ];
    BLOCKS.contains(&element.name())
        || (matches!(element.name(), "a" | "span" | "ins" | "b" | "i" | "em" | "strong" | "font")
            && element.children().any(is_block))
}

fn code_text(pre: Element<'_>) -> String {
    let mut out = String::new();
    for element in pre.descendants() {
        out.push_str(element.own_text());
        if element.name() == "br" {
            out.push('\n');
        }
    }
    out.trim_matches('\n').to_owned()
}
