//! What an HTML text consists of, as far as markdown has a form for it.

/// What holds leaves and other containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// `<blockquote>`.
    Quote,
    /// Numbered from the number, or with bullets.
    List(Option<u16>),
    /// Of a list.
    Item,
    /// Of data.
    Table,
    /// Of a table.
    Row,
    /// Of a row; it holds text only.
    Cell,
}

/// What holds text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leaf {
    /// The text of an item or a cell itself, without an element of its own.
    Bare,
    Paragraph,
    /// Level 1 to 6.
    Heading(u8),
    /// Code, with the name of its language.
    Code(String),
}

/// What marks a run of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inline {
    /// `<strong>`.
    Strong,
    /// `<em>`.
    Emphasis,
    /// `<code>`.
    Code,
    /// To an address that may be linked to.
    Link(String),
}

impl Inline {
    /// Its name in HTML.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Emphasis => "em",
            Self::Code => "code",
            Self::Link(_) => "a",
        }
    }

    /// Whether both are the same mark, wherever they lead.
    pub(super) fn like(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}
