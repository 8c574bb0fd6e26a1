//! The text of a document, as all formats have it.

use std::rc::Rc;

/// A block of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    /// A heading with its level, from 1.
    Heading(u8, Vec<Inline>),
    Paragraph(Vec<Inline>),
    List(List),
    Quote(Vec<Block>),
    /// Code with line ends.
    Code(String),
    /// Rows of cells. The first row is the header.
    Table(Vec<Vec<Cell>>),
    Rule,
    /// Text that is markdown already.
    Markdown(String),
}

/// The blocks of a cell.
pub(crate) type Cell = Vec<Block>;

/// A list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List {
    /// The first number; `None` for bullets.
    pub(crate) first: Option<u32>,
    /// The blocks of each item.
    pub(crate) items: Vec<Vec<Block>>,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Inline {
    Text(Text),
    /// A line break.
    Break,
    /// The place of a note, by its number from 0.
    Note(usize),
    /// A file of the page, with what it shows.
    Picture {
        name: String,
        description: String,
    },
}

/// A text of one look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) style: Style,
    pub(crate) link: Option<Link>,
}

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    pub(crate) bold: bool,
    pub(crate) italic: bool,
    pub(crate) strike: bool,
    pub(crate) code: bool,
}

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// An address.
    Address(Rc<str>),
    /// A place in the document, by its id.
    Place(Rc<str>),
}

impl Inline {
    /// Makes a plain text.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), ..Text::default() })
    }
}

/// Returns the words of a line, without their look.
pub(crate) fn plain_text(content: &[Inline]) -> String {
    let mut out = String::new();
    for inline in content {
        match inline {
            Inline::Text(text) => out.push_str(&text.text),
            Inline::Break => out.push(' '),
            Inline::Note(_) | Inline::Picture { .. } => {}
        }
    }
    brain_page::single_line(&out)
}

/// An item of a list that is not nested yet.
#[derive(Debug)]
pub(crate) struct FlatItem {
    /// Its level, from 0.
    pub(crate) level: u32,
    /// Its number; `None` for a bullet.
    pub(crate) number: Option<u32>,
    pub(crate) blocks: Vec<Block>,
}

/// Nests consecutive items by their level.
pub(crate) fn nested_lists(items: Vec<FlatItem>) -> Vec<Block> {
    let mut items = items.into_iter().peekable();
    let mut lists = Vec::new();
    while let Some(first) = items.peek() {
        let level = first.level;
        lists.push(Block::List(list_at(&mut items, level, 0)));
    }
    lists
}

/// Maximum nesting of lists. Deeper items are items of the deepest list.
const MAX_LEVELS: usize = 9;

fn list_at(
    items: &mut std::iter::Peekable<std::vec::IntoIter<FlatItem>>,
    level: u32,
    depth: usize,
) -> List {
    let mut list = List { first: items.peek().and_then(|item| item.number), items: Vec::new() };
    let mut next = list.first;
    while let Some(item) = items.peek() {
        if item.level < level && depth > 0 {
            break;
        }
        if item.level > level
            && depth < MAX_LEVELS
            && let Some(last) = list.items.last_mut()
        {
            let level = item.level;
            last.push(Block::List(list_at(items, level, depth + 1)));
            continue;
        }
        // Another kind or another count is another list.
        if !list.items.is_empty() && (item.level < level || item.number != next) {
            break;
        }
        if let Some(item) = items.next() {
            next = item.number.map(|number| number.saturating_add(1));
            list.items.push(item.blocks);
        }
    }
    list
}
