//! Facts about an HTML document that must be known before its first word is written.

use html5gum::{StartTag, Token};

use super::metadata::Metadata;
use super::reader::Piece;
use super::{MAX_OPEN, is_one_of, text};

/// Elements that make the surrounding table a layout, unless it has headings of its own.
const LAYOUT: [&str; 6] = ["table", "h1", "h2", "h3", "blockquote", "hr"];
/// Elements that make a table with one row a layout.
const BLOCKS: [&str; 3] = ["ul", "ol", "pre"];

/// Facts about a document.
#[derive(Default)]
pub(super) struct DocumentFacts {
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
    /// Number of open tables beyond [`MAX_OPEN`].
    deep_tables: usize,
    pub(super) lists: Lists,
    open_lists: Vec<OpenList>,
    /// Number of open lists beyond [`MAX_OPEN`].
    deep_lists: usize,
    /// Number of lists that have begun.
    begun_lists: u32,
}

/// The lists that do not count up from their first number, by their number in the document.
#[derive(Default)]
pub(super) struct Lists(Vec<(u32, ListFacts)>);

impl Lists {
    /// Returns the facts about a list.
    pub(super) fn of(&self, list: u32) -> ListFacts {
        let at = self.0.binary_search_by_key(&list, |(number, _)| *number);
        at.ok().and_then(|at| self.0.get(at)).map(|(_, facts)| *facts).unwrap_or_default()
    }
}

struct OpenList {
    number: u32,
    is_reversed: bool,
    facts: ListFacts,
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
    pub(super) items: u32,
    /// Whether an item states its number.
    pub(super) has_values: bool,
}

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

impl DocumentFacts {
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
            Token::EndTag(tag) if is_one_of(&tag.name, &["table"]) => match self.deep_tables {
                0 => _ = self.open.pop(),
                _ => self.deep_tables -= 1,
            },
            Token::EndTag(tag) if is_one_of(&tag.name, &["ul", "ol", "menu"]) => {
                match self.deep_lists {
                    0 => self.end_list(),
                    _ => self.deep_lists -= 1,
                }
            }
            _ => {}
        }
    }

    /// Ends the document.
    pub(super) fn finish(&mut self) {
        while !self.open_lists.is_empty() {
            self.end_list();
        }
        self.lists.0.sort_unstable_by_key(|(number, _)| *number);
    }

    fn end_list(&mut self) {
        if let Some(OpenList { number, is_reversed, facts }) = self.open_lists.pop()
            && (is_reversed || facts.has_values)
        {
            self.lists.0.push((number, facts));
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        self.metadata.start(tag);
        if name == b"title" && !self.has_title {
            (self.in_title, self.has_title) = (true, true);
        }
        self.describe_table(name);
        match name {
            b"table" => self.begin_table(tag),
            b"ul" | b"ol" | b"menu" => self.begin_list(tag),
            b"li" => {
                if self.deep_lists == 0
                    && let Some(OpenList { facts, .. }) = self.open_lists.last_mut()
                {
                    facts.items = facts.items.saturating_add(1);
                    facts.has_values |= tag.attributes.contains_key(&b"value"[..]);
                }
            }
            _ => {}
        }
    }

    /// Notes what an element within the innermost table says about it.
    fn describe_table(&mut self, element: &[u8]) {
        if self.deep_tables > 0 {
            return;
        }
        let Some(open) = self.open.last_mut() else { return };
        let facts = self.tables.get_mut(open.table);
        match element {
            b"tr" => {
                open.rows += 1;
                open.cells = 0;
            }
            b"td" | b"th" => {
                open.cells += 1;
                open.columns = open.columns.max(open.cells);
                open.has_headings |= element == b"th";
                if let Some(facts) = facts
                    && open.rows <= 1
                {
                    // A heading of the row alone, at its beginning, is none of a column.
                    facts.has_head = element == b"th";
                }
            }
            b"caption" | b"thead" => open.has_headings = true,
            _ => {
                open.is_layout |= is_one_of(element, &LAYOUT);
                open.has_blocks |= is_one_of(element, &BLOCKS);
            }
        }
        if let Some(facts) = self.tables.get_mut(open.table) {
            let is_layout = open.is_layout || open.has_blocks && open.rows <= 1;
            facts.is_data = open.columns > 1 && (open.has_headings || !is_layout);
        }
    }

    fn begin_table(&mut self, tag: &StartTag<()>) {
        let is_layout = tag
            .attributes
            .get(&b"role"[..])
            .is_some_and(|v| is_one_of(&v.value, &["presentation", "none"]));
        let open = OpenTable {
            table: self.tables.len(),
            rows: 0,
            cells: 0,
            columns: 0,
            has_headings: false,
            is_layout,
            has_blocks: false,
        };
        match self.open.len() < MAX_OPEN {
            true => self.open.push(open),
            false => self.deep_tables += 1,
        }
        self.tables.push(TableFacts::default());
    }

    fn begin_list(&mut self, tag: &StartTag<()>) {
        let number = self.begun_lists;
        self.begun_lists += 1;
        let is_reversed = tag.attributes.contains_key(&b"reversed"[..]);
        let facts = ListFacts::default();
        match self.open_lists.len() < MAX_OPEN {
            true => self.open_lists.push(OpenList { number, is_reversed, facts }),
            false => self.deep_lists += 1,
        }
    }
}
