//! Facts about an HTML document that must be known before its first word is written.

use html5gum::{StartTag, Token};

use super::metadata::Metadata;
use super::reader::Piece;
use super::{is_one_of, text};

/// Elements that make the surrounding table a layout, unless it has headings of its own.
const LAYOUT: [&str; 6] = ["table", "h1", "h2", "h3", "blockquote", "hr"];
/// Elements that make a table with one row a layout.
const BLOCKS: [&str; 3] = ["ul", "ol", "pre"];

/// Facts about a document.
#[derive(Default)]
pub(super) struct Survey {
    /// What the document states about itself.
    pub(super) metadata: Metadata,
    /// The text of the title.
    pub(super) title: String,
    /// Whether the title is open.
    in_title: bool,
    /// Whether the document has a title.
    has_title: bool,
    /// The tables, in the order of their beginnings.
    pub(super) tables: Vec<TableFacts>,
    open: Vec<OpenTable>,
    /// The lists, in the order of their beginnings.
    pub(super) lists: Vec<ListFacts>,
    open_lists: Vec<usize>,
}

/// Facts about a table.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TableFacts {
    /// Whether it is a table of data: with more than one column, and no layout of a page.
    pub(super) is_data: bool,
    /// Whether its first row has the headings of its columns.
    pub(super) has_head: bool,
}

/// Facts about a list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ListFacts {
    /// Number of its items.
    pub(super) items: i64,
    /// Whether an item states its number.
    pub(super) has_values: bool,
}

/// An open table.
struct OpenTable {
    /// The index among all tables.
    table: usize,
    /// Number of rows.
    rows: usize,
    /// Number of cells of the current row.
    cells: usize,
    /// The largest number of cells of a row.
    columns: usize,
    /// Whether it has headings or a caption.
    has_headings: bool,
    /// Whether it contains what only a layout has.
    is_layout: bool,
    /// Whether it contains lists or code.
    has_blocks: bool,
}

impl Survey {
    /// Reads a piece of the document.
    pub(super) fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Token(token) => self.token(token),
            Piece::Data("application/ld+json", json) => self.metadata.data(json),
            _ => {}
        }
    }

    fn token(&mut self, token: &Token) {
        match token {
            Token::String(string) if self.in_title => self.title.push_str(&text(string)),
            Token::StartTag(tag) => self.start(tag),
            Token::EndTag(tag) if is_one_of(&tag.name, &["title"]) => self.in_title = false,
            Token::EndTag(tag) if is_one_of(&tag.name, &["table"]) => {
                self.open.pop();
            }
            Token::EndTag(tag) if is_one_of(&tag.name, &["ul", "ol", "menu"]) => {
                self.open_lists.pop();
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        self.metadata.start(tag);
        if name == b"title" && !self.has_title {
            (self.in_title, self.has_title) = (true, true);
        }
        if let Some(open) = self.open.last_mut() {
            let facts = self.tables.get_mut(open.table);
            match name {
                b"tr" => {
                    open.rows += 1;
                    open.cells = 0;
                }
                b"td" | b"th" => {
                    open.cells += 1;
                    open.columns = open.columns.max(open.cells);
                    open.has_headings |= name == b"th";
                    if let Some(facts) = facts
                        && open.rows <= 1
                    {
                        // A heading of the row alone, at its beginning, is none of a column.
                        facts.has_head = name == b"th";
                    }
                }
                b"caption" | b"thead" => open.has_headings = true,
                _ => {
                    open.is_layout |= is_one_of(name, &LAYOUT);
                    open.has_blocks |= is_one_of(name, &BLOCKS);
                }
            }
            if let Some(facts) = self.tables.get_mut(open.table) {
                let is_layout = open.is_layout || open.has_blocks && open.rows <= 1;
                facts.is_data = open.columns > 1 && (open.has_headings || !is_layout);
            }
        }
        match name {
            b"table" => {
                let is_layout = tag
                    .attributes
                    .get(&b"role"[..])
                    .is_some_and(|v| is_one_of(&v.value, &["presentation", "none"]));
                self.open.push(OpenTable {
                    table: self.tables.len(),
                    rows: 0,
                    cells: 0,
                    columns: 0,
                    has_headings: false,
                    is_layout,
                    has_blocks: false,
                });
                self.tables.push(TableFacts::default());
            }
            b"ul" | b"ol" | b"menu" => {
                self.open_lists.push(self.lists.len());
                self.lists.push(ListFacts::default());
            }
            b"li" => {
                if let Some(list) = self.open_lists.last().and_then(|at| self.lists.get_mut(*at)) {
                    list.items += 1;
                    list.has_values |= tag.attributes.contains_key(&b"value"[..]);
                }
            }
            _ => {}
        }
    }
}
