//! Rewrites the flow of an HTML text: only elements with a form in markdown, well nested, with
//! limited depth, and without foreign attributes. So the converter's time and stack are bounded.
//!
//! Containers (lists, quotes, tables) nest; they contain leaves (paragraphs, headings, code), and
//! those contain inline elements. A leaf and its inline elements are written with the first text of
//! the leaf, so nothing empty is written.

mod cells;
mod containers;
mod literal;
mod raised;

use super::parts::{Container, Inline, Leaf};
use containers::end_tag;

pub(super) use cells::CellStart;
pub use literal::is_entity;
pub(super) use literal::with_backslashes;
pub use raised::raised_text;
pub(super) use raised::{RaisedForm, RaisedPosition, form};

/// Maximum number of consecutive line ends within code.
const MAX_LINE_ENDS: usize = 8;

/// Writes the flow.
pub(super) struct Flow {
    out: String,
    /// Maximum number of open quotes, lists and tables.
    max_depth: usize,
    containers: Vec<Container>,
    leaf: Option<Leaf>,
    /// Kind of the next leaf.
    next: Leaf,
    /// The open inline elements.
    inline: Vec<Inline>,
    /// How many of the open inline elements are written.
    written_inline: usize,
    /// Whether white space precedes the next text of the leaf.
    has_space: bool,
    /// What else separates the next text of the leaf from the text before it.
    gap: Gap,
    /// The last character of the leaf, unless a line break follows it.
    last: Option<char>,
    /// The box of the item that begins, if it is a task: whether it is checked.
    task: Option<bool>,
    /// Remaining bytes for cells that are repeated.
    repeated_bytes: usize,
    /// Number of parts that were taken.
    parts: usize,
    /// Whether the current item has content already.
    has_content: bool,
    /// Number of line ends at the end of code.
    line_ends: usize,
    /// Remaining bytes for the URLs of links. A link across several paragraphs is written in each.
    link_bytes: usize,
    /// Whether nothing was written since the last link began.
    is_empty_link: bool,
    /// Number of elements written since a part was taken.
    elements: usize,
    /// Number of elements written within the open leaf.
    leaf_elements: usize,
    /// Number of the next item of each open list, by its index in `containers`.
    numbers: Vec<(usize, u16)>,
}

/// Approximate maximum number of elements in a part. The converter's tree for a part takes a few
/// MB.
const MAX_PART_ELEMENTS: usize = 1 << 12;

/// What separates a text from the text before it, apart from white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    /// Nothing.
    None,
    /// A blank between two words or numbers.
    Words,
    /// A semicolon, in a cell: the text is another part of it.
    Part,
}

/// How a part continues the preceding one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// The part begins a new block.
    Block,
    /// The part begins with the next item of the list.
    Item,
    /// The part begins with the next row of the table.
    Row,
}

impl Flow {
    /// Creates a flow with at most `max_depth` open quotes, lists and tables, and `link_bytes`
    /// bytes of addresses.
    pub(super) fn new(max_depth: usize, link_bytes: usize) -> Self {
        Self {
            out: String::new(),
            max_depth,
            containers: Vec::new(),
            leaf: None,
            next: Leaf::Paragraph,
            inline: Vec::new(),
            written_inline: 0,
            has_space: false,
            gap: Gap::None,
            last: None,
            task: None,
            repeated_bytes: link_bytes,
            parts: 0,
            has_content: false,
            line_ends: 0,
            link_bytes,
            is_empty_link: false,
            elements: 0,
            leaf_elements: 0,
            numbers: Vec::new(),
        }
    }

    /// Takes the output if it can be converted by itself, and returns how the next part continues
    /// it. A long part ends between two items of a list, rows of a table or blocks of a quote. A
    /// part of twice that length ends between any two leaves.
    pub(super) fn take_part(&mut self) -> Option<(String, Joint)> {
        // A paragraph of thousands of elements is split, at white space if there is some.
        let is_at_space = self.has_space
            || self.out.ends_with("<br>")
            || self.leaf_elements > 2 * MAX_PART_ELEMENTS;
        let is_long = self.leaf.is_some() && self.leaf_elements > MAX_PART_ELEMENTS && is_at_space;
        if is_long && !self.in_cell() && !self.in_code() {
            self.end_leaf();
        }
        let joint = match self.containers.as_slice() {
            [] => Joint::Block,
            [Container::List(_)] => Joint::Item,
            [Container::Table] => Joint::Row,
            open if open.iter().all(|container| *container == Container::Quote) => Joint::Block,
            _ if self.elements > 2 * MAX_PART_ELEMENTS => Joint::Block,
            _ => return None,
        };
        if self.leaf.is_some() || self.elements <= MAX_PART_ELEMENTS {
            return None;
        }
        let open = std::mem::take(&mut self.containers);
        let numbers = std::mem::take(&mut self.numbers);
        open.iter().rev().for_each(|container| self.out.push_str(end_tag(*container)));
        let part = std::mem::take(&mut self.out);
        self.parts += 1;
        self.elements = 0;
        for (index, container) in open.into_iter().enumerate() {
            let number = numbers.iter().find(|(at, _)| *at == index).map(|(_, number)| *number);
            let container = match (container, number) {
                (Container::List(Some(_)), Some(next)) => Container::List(Some(next)),
                _ => container,
            };
            self.write_start(container);
            self.containers.push(container);
        }
        Some((part, joint))
    }

    /// Closes all open elements and returns the output.
    pub(super) fn finish(mut self) -> String {
        self.end_leaf();
        self.close_to(0);
        self.out
    }

    /// Returns whether text goes into a block of code.
    pub(super) fn in_code(&self) -> bool {
        matches!(self.leaf, Some(Leaf::Code(_))) || matches!(self.next, Leaf::Code(_))
    }

    /// Writes text with resolved references.
    pub(super) fn text(&mut self, text: &str) {
        if self.in_code() {
            return self.code(text);
        }
        for (n, word) in text.split([' ', '\t', '\n', '\r', '\u{c}']).enumerate() {
            self.has_space |= n > 0;
            if let Some(first) = word.chars().next() {
                let before = self.last.filter(|_| !self.has_space);
                self.begin_run(first);
                self.word(word, before);
                self.last = word.chars().next_back();
            }
        }
    }

    /// Writes an image that may be shown, or its alternative text.
    pub(super) fn image(&mut self, address: Option<&str>, alt: &str) {
        let Some(address) = address.filter(|_| !self.in_code()) else {
            self.gap(Gap::Words);
            self.text(alt);
            return self.gap(Gap::Words);
        };
        self.begin_run('!');
        self.last = None;
        self.elements += 1;
        self.leaf_elements += 1;
        self.out.push_str("<img src=\"");
        self.escape(address);
        self.out.push_str("\" alt=\"");
        self.escape(alt);
        self.out.push_str("\">");
    }

    /// Writes a line break; two of them end a paragraph.
    pub(super) fn line_break(&mut self) {
        match self.leaf {
            _ if self.in_code() => self.code("\n"),
            // A blank between digits would make one number of two.
            _ if self.in_cell() && self.last.is_some_and(char::is_numeric) => self.gap(Gap::Part),
            _ if self.in_cell() => self.has_space = true,
            Some(Leaf::Bare | Leaf::Paragraph) if self.out.ends_with("<br>") => self.boundary(),
            Some(Leaf::Bare | Leaf::Paragraph) => {
                self.out.push_str("<br>");
                self.elements += 1;
                self.leaf_elements += 1;
                (self.has_space, self.gap, self.last) = (false, Gap::None, None);
            }
            _ => self.has_space = true,
        }
    }

    /// Writes a rule between two leaves.
    pub(super) fn rule(&mut self) {
        self.boundary();
        if !self.in_cell() && !self.in_code() {
            self.open_implied();
            self.elements += 1;
            self.out.push_str("<hr>");
        }
    }

    /// Ends the open leaf.
    pub(super) fn boundary(&mut self) {
        if self.in_code() {
            if self.line_ends == 0 && self.leaf.is_some() {
                self.code("\n");
            }
        } else if self.in_cell() {
            self.gap(Gap::Part);
        } else {
            self.end_leaf();
        }
    }

    /// Separates the next text of the leaf from the text before it.
    pub(super) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Begins a heading or code.
    pub(super) fn begin(&mut self, leaf: Leaf) {
        self.boundary();
        if !self.in_cell() && !self.in_code() {
            self.next = leaf;
        }
    }

    /// Sets the language of code that has just begun.
    pub(super) fn language(&mut self, name: &str) {
        if self.leaf.is_none() && self.next == Leaf::Code(String::new()) {
            self.next = Leaf::Code(name.to_owned());
        }
    }

    /// Ends the leaf that [`Flow::begin`] began: code, or a heading.
    pub(super) fn end(&mut self, is_code: bool) {
        if self.in_code() == is_code && !self.in_cell() {
            self.end_leaf();
        } else {
            self.boundary();
        }
    }

    /// Ends a link. If nothing was written since it began, it shows its `address`.
    pub(super) fn close_link(&mut self, address: Option<&str>) {
        let is_open = self.inline.iter().any(|open| matches!(open, Inline::Link(_)));
        if let Some(address) = address.filter(|_| is_open && self.is_empty_link)
            && 2 * address.len() <= self.link_bytes
        {
            self.link_bytes -= address.len();
            self.text(address);
        }
        self.close(&Inline::Link(String::new()));
    }

    /// Begins an inline element, unless one is open already; a link ends another link.
    pub(super) fn open(&mut self, inline: Inline) {
        if matches!(inline, Inline::Link(_)) {
            self.close(&inline);
        }
        // A cell cannot be split. Beyond the limit, its text is written without formats.
        let is_full = self.in_cell() && self.leaf_elements > MAX_PART_ELEMENTS;
        let excludes = |open: &Inline| open.is_same_format(&inline) || *open == Inline::Code;
        if !self.in_code() && !is_full && !self.inline.iter().any(excludes) {
            self.is_empty_link |= matches!(inline, Inline::Link(_));
            self.inline.push(inline);
        }
    }

    /// Ends an inline element; the elements within it continue after it.
    pub(super) fn close(&mut self, inline: &Inline) {
        if let Some(at) = self.inline.iter().rposition(|open| open.is_same_format(inline)) {
            self.close_written(at);
            self.inline.remove(at);
        }
    }

    /// Begins a leaf unless one is open.
    fn begin_leaf(&mut self) {
        if self.leaf.is_some() {
            return;
        }
        self.open_implied();
        let is_bare = match self.containers.last() {
            Some(Container::Cell) => true,
            Some(Container::Item) => !self.has_content && self.next == Leaf::Paragraph,
            _ => false,
        };
        let leaf =
            if is_bare { Leaf::Bare } else { std::mem::replace(&mut self.next, Leaf::Paragraph) };
        match &leaf {
            Leaf::Bare => {}
            Leaf::Paragraph => self.out.push_str("<p>"),
            Leaf::Heading(level) => self.out.push_str(&format!("<h{level}>")),
            Leaf::Code(language) if language.is_empty() => self.out.push_str("<pre><code>"),
            Leaf::Code(language) => {
                self.out.push_str(&format!("<pre><code class=\"language-{language}\">"));
            }
        }
        self.leaf = Some(leaf);
        self.elements += 1;
        self.leaf_elements = 0;
        (self.has_space, self.gap, self.last) = (false, Gap::None, None);
        self.line_ends = 0;
        if let Some(is_checked) = self.task.take()
            && !self.in_code()
        {
            self.write_raw(if is_checked { "[x]" } else { "[ ]" });
            self.out.push(' ');
        }
    }

    fn end_leaf(&mut self) {
        // A break at the end of a leaf has no effect.
        if self.out.ends_with("<br>") {
            self.out.truncate(self.out.len() - "<br>".len());
        }
        self.close_written(0);
        match self.leaf.take() {
            None => {}
            Some(Leaf::Bare) => self.has_content = true,
            Some(Leaf::Paragraph) => self.out.push_str("</p>"),
            Some(Leaf::Heading(level)) => self.out.push_str(&format!("</h{level}>")),
            Some(Leaf::Code(_)) => self.out.push_str("</code></pre>"),
        }
        self.next = Leaf::Paragraph;
        self.has_space = false;
    }

    /// Begins a run of text that begins with `first`: opens a leaf, and writes pending white space
    /// and inline elements.
    fn begin_run(&mut self, first: char) {
        self.begin_leaf();
        self.is_empty_link = false;
        let has_space = std::mem::take(&mut self.has_space);
        let separator = match (std::mem::replace(&mut self.gap, Gap::None), self.last) {
            (Gap::Part, Some(last)) => match last {
                ';' | ':' | ',' | '.' | '!' | '?' => " ",
                _ => "; ",
            },
            (Gap::Words, Some(last))
                if last.is_alphanumeric() && (first.is_alphabetic() || first.is_ascii_digit()) =>
            {
                " "
            }
            _ if has_space => " ",
            _ => "",
        };
        self.out.push_str(separator);
        while let Some(inline) = self.inline.get(self.written_inline) {
            let name = inline.name();
            match inline {
                Inline::Link(address) if address.len() > self.link_bytes => {
                    self.inline.remove(self.written_inline);
                    continue;
                }
                Inline::Link(address) => {
                    self.link_bytes -= address.len();
                    let address = address.clone();
                    self.out.push_str("<a href=\"");
                    self.escape(&address);
                    self.out.push_str("\">");
                }
                // Adjacent elements of the same kind are joined.
                _ if self.out.ends_with(&format!("</{name}>")) => {
                    self.out.truncate(self.out.len() - name.len() - 3);
                }
                _ => self.out.push_str(&format!("<{name}>")),
            }
            self.elements += 1;
            self.leaf_elements += 1;
            self.written_inline += 1;
        }
    }

    /// Closes the written inline elements except the first `keep`.
    fn close_written(&mut self, keep: usize) {
        while self.written_inline > keep {
            self.written_inline -= 1;
            if let Some(inline) = self.inline.get(self.written_inline) {
                self.out.push_str(&format!("</{}>", inline.name()));
            }
        }
    }

    fn code(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            let (words, end) = line.strip_suffix('\n').map_or((line, false), |words| (words, true));
            let words = words.strip_suffix('\r').unwrap_or(words);
            if !words.is_empty() {
                self.begin_leaf();
                self.line_ends = 0;
                self.escape(words);
            }
            // Blank lines before the first one are dropped.
            if end && self.leaf.is_some() {
                self.line_ends += 1;
                if self.line_ends <= MAX_LINE_ENDS {
                    self.out.push('\n');
                }
            }
        }
    }

    fn escape(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                literal::MARK => {}
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                c => self.out.push(c),
            }
        }
    }
}
