//! Parts of an HTML text that have a form in markdown.

/// An element that contains leaves and other containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// `<blockquote>`.
    Quote,
    /// A list: numbered from this number, or with bullets.
    List(Option<u16>),
    /// An item of a list.
    Item,
    /// A table of data.
    Table,
    /// A row of a table.
    Row,
    /// A cell of a row; it contains text only.
    Cell,
}

/// An element that contains text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leaf {
    /// The text of an item or a cell, without an element of its own.
    Bare,
    Paragraph,
    /// A heading of level 1 to 6.
    Heading(u8),
    /// Code, with the name of its language.
    Code(String),
}

/// An inline format of a run of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inline {
    /// `<strong>`.
    Strong,
    /// `<em>`.
    Emphasis,
    /// `<code>`.
    Code,
    /// `<del>`.
    Deleted,
    /// A link to an allowed address.
    Link(String),
}

impl Inline {
    /// Returns the element's name in HTML.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Emphasis => "em",
            Self::Code => "code",
            Self::Deleted => "del",
            Self::Link(_) => "a",
        }
    }

    /// Returns whether both are the same format, whatever their addresses.
    pub(super) fn is_same_format(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}
