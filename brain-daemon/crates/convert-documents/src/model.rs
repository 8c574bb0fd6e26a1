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
    pub(crate) position: Position,
}

/// Where a text stands in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Position {
    #[default]
    Normal,
    Raised,
    Lowered,
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

/// Puts texts of the same look together, because programs split a word at each change of its text.
/// Raised and lowered text gets a form that does not join the text before it: `10` and `6` are not
/// 106.
pub(crate) fn merged(content: &[Inline]) -> Vec<Inline> {
    let mut out = joined(content.iter().cloned());
    if !out.iter().any(|inline| matches!(inline, Inline::Text(text) if is_moved(text))) {
        return out;
    }
    for at in 0..out.len() {
        let before = at.checked_sub(1).and_then(|at| text_of(&out, at)?.chars().next_back());
        let after = text_of(&out, at + 1).and_then(|text| text.chars().next());
        let Some(Inline::Text(text)) = out.get_mut(at) else { continue };
        if !is_moved(text) {
            continue;
        }
        let is_raised = text.style.position == Position::Raised;
        text.style.position = Position::Normal;
        let own = text.text.trim();
        if own.is_empty() {
            continue;
        }
        let is_word = |c: &char| !c.is_whitespace();
        let starts = text.text.starts_with(char::is_whitespace);
        let ends = text.text.ends_with(char::is_whitespace);
        let before = before.filter(is_word).filter(|_| !starts);
        let after = after.filter(is_word).filter(|_| !ends);
        let form = match brain_page::raised_text(own, before, after, is_raised) {
            // At the beginning of a link, `^` would make a note of it.
            form if text.link.is_some() && form.starts_with('^') => format!("[{own}]"),
            form => form,
        };
        let blank = |is: bool| if is { " " } else { "" };
        text.text = format!("{}{form}{}", blank(starts), blank(ends));
    }
    joined(out.into_iter())
}

fn is_moved(text: &Text) -> bool {
    text.style.position != Position::Normal
}

fn text_of(content: &[Inline], at: usize) -> Option<&str> {
    match content.get(at)? {
        Inline::Text(text) => Some(&text.text),
        _ => None,
    }
}

fn joined(content: impl Iterator<Item = Inline>) -> Vec<Inline> {
    let mut out: Vec<Inline> = Vec::new();
    for inline in content {
        if let Inline::Text(text) = &inline {
            if text.text.is_empty() {
                continue;
            }
            if let Some(Inline::Text(last)) = out.last_mut()
                && last.style == text.style
                && last.link == text.link
            {
                last.text.push_str(&text.text);
                continue;
            }
        }
        out.push(inline);
    }
    out
}

/// Returns the words of a line, without their look.
pub(crate) fn plain_text(content: &[Inline]) -> String {
    let mut out = String::new();
    for inline in &merged(content) {
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
