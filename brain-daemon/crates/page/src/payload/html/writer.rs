//! Passes the elements of an HTML document to the flow.

mod raised;

use std::borrow::Cow;

use html5gum::{StartTag, Token};
use url::Url;

use super::super::flow::{Flow, Gap, Joint};
use super::super::parts::{Container, Inline, Leaf};
use super::math::{self, Formula, Math};
use super::reader::Piece;
use super::survey::{DocumentFacts, ListFacts, Lists, TableFacts};
use super::tables::WriterTable;
use super::{MAX_OPEN, address, is_one_of, text};
use raised::RaisedText;

/// Elements that separate the text before them from the text after them.
const BLOCKS: [&str; 33] = [
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frameset",
    "header",
    "hgroup",
    "head",
    "html",
    "legend",
    "main",
    "menuitem",
    "nav",
    "optgroup",
    "option",
    "p",
    "search",
    "section",
    "summary",
];
/// Elements that end a formula that was not closed, apart from [`BLOCKS`].
const NO_MATH: [&str; 16] = [
    "table",
    "tr",
    "td",
    "th",
    "li",
    "ul",
    "ol",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "blockquote",
    "hr",
];
/// Elements that are shown as boxes beside the text around them.
const BOXES: [&str; 5] = ["button", "input", "output", "progress", "meter"];
/// Ways to display an element that separate it from the text around it.
const SEPARATE: [&str; 6] = ["block", "inline-block", "flex", "inline-flex", "grid", "table-cell"];
/// Numbers of lists that the converter writes.
const LIST_NUMBERS: std::ops::RangeInclusive<i64> = 1..=9999;

/// Passes the elements of a document to the flow.
pub(super) struct FlowWriter<'a> {
    flow: Flow,
    base: Option<Url>,
    /// The facts about each following table.
    tables: std::slice::Iter<'a, TableFacts>,
    lists: &'a Lists,
    /// Number of lists that have begun.
    begun_lists: u32,
    /// The open tables.
    open: Vec<WriterTable>,
    /// The open lists. A list that does not count by ones has its next number and its step.
    numbers: Vec<Option<(i64, i64)>>,
    /// Numbers of open lists and tables beyond [`MAX_OPEN`].
    deep_lists: usize,
    deep_tables: usize,
    /// The open formula.
    math: Option<Math>,
    /// The open raised or lowered text.
    raised: RaisedText,
    /// Whether the text belongs to the title, not the page.
    in_title: bool,
    /// Whether line ends of the text count: code in a cell.
    has_lines: bool,
    /// Whether the last token ended a link.
    ended_link: bool,
    /// What the open link shows if it has no text.
    link_text: Option<String>,
}

fn attribute<'t>(tag: &'t StartTag<()>, name: &str) -> Option<Cow<'t, str>> {
    tag.attributes.get(name.as_bytes()).map(|value| text(&value.value))
}

/// Returns how many rows or columns a cell covers.
fn span(tag: &StartTag<()>, attribute_name: &str) -> usize {
    attribute(tag, attribute_name).and_then(|number| number.trim().parse().ok()).unwrap_or(1)
}

/// Returns whether an element is shown apart from the text before it.
fn is_separate(tag: &StartTag<()>) -> bool {
    let has_separate_style = attribute(tag, "style").is_some_and(|style| {
        style.split(';').filter_map(|rule| rule.split_once(':')).any(|(name, value)| {
            name.trim().eq_ignore_ascii_case("display") && SEPARATE.contains(&value.trim())
        })
    });
    has_separate_style || is_one_of(&tag.name, &BOXES)
}

impl<'a> FlowWriter<'a> {
    /// Creates a writer. Relative links start from `base`.
    pub(super) fn new(flow: Flow, survey: &'a DocumentFacts, base: Option<Url>) -> Self {
        Self {
            flow,
            base,
            tables: survey.tables.iter(),
            lists: &survey.lists,
            begun_lists: 0,
            deep_lists: 0,
            deep_tables: 0,
            open: Vec::new(),
            numbers: Vec::new(),
            math: None,
            raised: RaisedText::default(),
            in_title: false,
            has_lines: false,
            ended_link: false,
            link_text: None,
        }
    }

    /// Takes a part of the output, as [`Flow::take_part`].
    pub(super) fn take_part(&mut self) -> Option<(String, Joint)> {
        self.flow.take_part()
    }

    /// Ends the document and returns the last part of the output.
    pub(super) fn finish(mut self) -> String {
        self.end_math();
        self.abandon_raised();
        self.flow.finish()
    }

    /// Writes a piece of the document.
    pub(super) fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Token(token) => self.token(token),
            Piece::Dropped => self.flow.gap(Gap::Words),
            Piece::Data(kind, content) if kind.starts_with("math/tex") => {
                if let Some(tex) = math::tex(content) {
                    self.flow.formula(&tex, kind.contains("mode=display"));
                }
            }
            Piece::Data(..) => {}
        }
    }

    pub(super) fn token(&mut self, token: &Token) {
        if let Some(math) = &mut self.math {
            match token {
                Token::EndTag(tag) if &**tag.name == b"math" => return self.end_math(),
                Token::StartTag(tag) if is_one_of(&tag.name, &BLOCKS) => self.end_math(),
                Token::StartTag(tag) if is_one_of(&tag.name, &NO_MATH) => self.end_math(),
                Token::EndTag(tag) if is_one_of(&tag.name, &BLOCKS) => self.end_math(),
                Token::EndTag(tag) if is_one_of(&tag.name, &NO_MATH) => self.end_math(),
                token => return math.token(token),
            }
        }
        if self.raise(token) {
            return;
        }
        match token {
            Token::String(string) if self.has_lines && self.flow.in_cell() => {
                for line in text(string).split_inclusive('\n') {
                    self.flow.text(line);
                    if line.ends_with('\n') {
                        self.flow.gap(Gap::Part);
                    }
                }
            }
            Token::String(string) if !self.in_title => self.flow.text(&text(string)),
            Token::StartTag(tag) => self.start(tag),
            Token::EndTag(tag) => self.end(&tag.name),
            _ => {}
        }
        self.ended_link = matches!(token, Token::EndTag(tag) if &**tag.name == b"a");
    }

    /// Returns whether an element separates the text before it from the text after it.
    pub(super) fn is_block(name: &[u8]) -> bool {
        is_one_of(name, &BLOCKS) || is_one_of(name, &NO_MATH)
    }

    fn start(&mut self, tag: &StartTag<()>) {
        if is_separate(tag) {
            self.flow.gap(Gap::Words);
        }
        match &**tag.name {
            b"br" => self.flow.line_break(),
            b"hr" => self.flow.rule(),
            b"img" => {
                let address = attribute(tag, "src").and_then(|src| self.address(&src));
                self.flow.image(address.as_deref(), &attribute(tag, "alt").unwrap_or_default());
            }
            b"input" => self.check_box(tag),
            b"math" => self.math = Some(Math::new(tag)),
            b"a" => self.begin_link(tag),
            b"pre" => {
                self.has_lines = self.flow.in_cell();
                self.flow.begin(Leaf::Code(String::new()));
                self.language(tag);
            }
            b"ul" | b"menu" => {
                self.begun_lists += 1;
                self.push_list(None);
                self.flow.enter(Container::List(None));
            }
            b"ol" => {
                let facts = self.lists.of(self.begun_lists);
                self.begun_lists += 1;
                self.begin_list(tag, facts);
            }
            b"li" => self.begin_item(tag),
            b"blockquote" => self.flow.enter(Container::Quote),
            b"table" => self.begin_table(),
            b"tr" => match self.open.last_mut() {
                Some(table) if table.is_data && self.deep_tables == 0 => {
                    table.begin_row(&mut self.flow);
                }
                _ => self.flow.boundary(),
            },
            b"td" | b"th" => self.begin_cell(tag),
            b"thead" | b"tbody" | b"tfoot" => self.end_group(),
            [b'h', level @ b'1'..=b'6'] => self.flow.begin(Leaf::Heading(level - b'0')),
            b"title" => self.in_title = true,
            b"rt" => self.flow.text("("),
            b"rp" => self.in_title = true,
            b"q" => self.flow.text("\""),
            // Numbers before and after a correction are two.
            b"del" | b"s" | b"strike" | b"ins" => {
                self.flow.number_gap();
                self.flow.open_deleted(&tag.name);
            }
            name => match inline(name) {
                Some(Inline::Code) if self.flow.in_code() => self.language(tag),
                Some(inline) => self.flow.open(inline),
                None if is_one_of(name, &BLOCKS) => self.flow.boundary(),
                None => {}
            },
        }
    }

    fn begin_link(&mut self, tag: &StartTag<()>) {
        self.end_link();
        let address = attribute(tag, "href").and_then(|href| self.address(&href));
        // An anchor in the page is no use without a text.
        self.link_text = address.clone().filter(|address| !address.starts_with('#'));
        if self.ended_link {
            self.flow.gap(Gap::Words);
        }
        if let Some(address) = address {
            self.flow.open(Inline::Link(address));
        }
    }

    fn begin_item(&mut self, tag: &StartTag<()>) {
        self.flow.enter(Container::Item);
        if self.deep_lists == 0
            && let Some(Some((next, step))) = self.numbers.last_mut()
        {
            let value = attribute(tag, "value").and_then(|value| value.trim().parse().ok());
            let number: i64 = value.unwrap_or(*next);
            *next = number.saturating_add(*step);
            self.flow.item_number(number);
        }
    }

    fn begin_table(&mut self) {
        self.flow.boundary();
        let facts = self.tables.next().copied().unwrap_or_default();
        // A table within a cell is a part of that cell's text.
        let is_data = facts.is_data && !self.open.iter().any(|table| table.is_data);
        match self.open.len() < MAX_OPEN {
            true => self.open.push(WriterTable::new(is_data, facts.has_head)),
            false => self.deep_tables += 1,
        }
    }

    fn begin_cell(&mut self, tag: &StartTag<()>) {
        match self.open.last_mut() {
            Some(table) if table.is_data && self.deep_tables == 0 => {
                table.begin_cell(&mut self.flow, span(tag, "rowspan"), span(tag, "colspan"));
            }
            _ => self.flow.boundary(),
        }
    }

    fn check_box(&mut self, tag: &StartTag<()>) {
        let kind = attribute(tag, "type").unwrap_or_default();
        if kind.eq_ignore_ascii_case("checkbox") || kind.eq_ignore_ascii_case("radio") {
            self.flow.check_box(attribute(tag, "checked").is_some());
        }
    }

    pub(super) fn end(&mut self, name: &[u8]) {
        match name {
            b"a" => self.end_link(),
            b"pre" => {
                self.has_lines = false;
                self.flow.end(true);
            }
            b"ul" | b"ol" | b"menu" => {
                match self.deep_lists {
                    0 => _ = self.numbers.pop(),
                    _ => self.deep_lists -= 1,
                }
                self.flow.leave(Container::List(None));
            }
            b"li" => self.flow.leave(Container::Item),
            b"blockquote" => self.flow.leave(Container::Quote),
            b"table" if self.deep_tables > 0 => {
                self.deep_tables -= 1;
                self.flow.boundary();
            }
            b"table" => match self.open.pop() {
                Some(mut table) if table.has_begun => {
                    table.end_row(&mut self.flow);
                    self.flow.leave(Container::Table);
                }
                _ => self.flow.boundary(),
            },
            b"tr" => match self.open.last_mut() {
                Some(table) if table.has_begun => table.end_row(&mut self.flow),
                _ => self.flow.boundary(),
            },
            b"td" | b"th" => match self.open.last_mut() {
                Some(table) if table.has_begun => table.end_cell(&mut self.flow),
                _ => self.flow.boundary(),
            },
            b"thead" | b"tbody" | b"tfoot" => self.end_group(),
            [b'h', b'1'..=b'6'] => self.flow.end(false),
            b"title" | b"rp" => self.in_title = false,
            b"rt" => self.flow.text(")"),
            b"q" => self.flow.text("\""),
            b"del" | b"s" | b"strike" | b"ins" => {
                self.flow.close(&Inline::Deleted);
                match name {
                    b"ins" => self.flow.number_gap(),
                    _ => self.flow.gap(Gap::Words),
                }
            }
            // In HTML, `</br>` is a line break.
            b"br" => self.flow.line_break(),
            name => match inline(name) {
                Some(inline) => self.flow.close(&inline),
                None if is_one_of(name, &BLOCKS) => self.flow.boundary(),
                None if is_one_of(name, &BOXES) => self.flow.gap(Gap::Words),
                None => {}
            },
        }
    }

    /// Returns an address that is allowed in a page, in full if the document states its own.
    pub(super) fn address(&self, url: &str) -> Option<String> {
        let address = address(url)?;
        let is_relative = !address.starts_with('#') && Url::parse(&address).is_err();
        match &self.base {
            Some(base) if is_relative => base.join(&address).ok().map(String::from),
            _ => Some(address),
        }
    }

    /// Ends the open link.
    fn end_link(&mut self) {
        let address = self.link_text.take();
        self.flow.close_link(address.as_deref());
    }

    /// Begins a numbered list.
    fn begin_list(&mut self, tag: &StartTag<()>, facts: ListFacts) {
        let is_reversed = attribute(tag, "reversed").is_some();
        let start = attribute(tag, "start").and_then(|start| start.trim().parse::<i64>().ok());
        let start = start.unwrap_or(if is_reversed { facts.items.into() } else { 1 });
        match u16::try_from(start).ok().filter(|_| LIST_NUMBERS.contains(&start)) {
            Some(start) if !is_reversed && !facts.has_values => {
                self.push_list(None);
                self.flow.enter(Container::List(Some(start)));
            }
            _ => {
                self.push_list(Some((start, if is_reversed { -1 } else { 1 })));
                self.flow.enter(Container::List(None));
            }
        }
    }

    fn push_list(&mut self, numbers: Option<(i64, i64)>) {
        match self.numbers.len() < MAX_OPEN {
            true => self.numbers.push(numbers),
            false => self.deep_lists += 1,
        }
    }

    /// Ends a group of rows of the innermost table.
    fn end_group(&mut self) {
        match self.open.last_mut() {
            Some(table) if table.has_begun => table.end_group(&mut self.flow),
            _ => self.flow.boundary(),
        }
    }

    /// Ends the open formula and writes it.
    fn end_math(&mut self) {
        let Some(math) = self.math.take() else { return };
        let is_display = math.is_display;
        match math.finish() {
            Some(Formula::Tex(tex)) => self.flow.formula(&tex, is_display),
            Some(Formula::Text(text)) => {
                if is_display {
                    self.flow.boundary();
                }
                self.flow.gap(Gap::Words);
                self.flow.text(&text);
                self.flow.gap(Gap::Words);
                if is_display {
                    self.flow.boundary();
                }
            }
            None => {}
        }
    }

    /// Reads the language of code from the class that highlighters use.
    fn language(&mut self, tag: &StartTag<()>) {
        let class = tag.attributes.get("class".as_bytes()).map(|value| text(&value.value));
        let name = class
            .as_deref()
            .and_then(|c| c.split_ascii_whitespace().find_map(|c| c.strip_prefix("language-")));
        let is_valid = |name: &&str| {
            name.len() <= 32
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+#_".contains(&b))
        };
        if let Some(name) = name.filter(is_valid) {
            self.flow.language(name);
        }
    }
}

/// Returns the format of an inline element.
fn inline(name: &[u8]) -> Option<Inline> {
    Some(match name {
        b"b" | b"strong" => Inline::Strong,
        b"i" | b"em" | b"cite" | b"dfn" | b"var" => Inline::Emphasis,
        b"code" | b"kbd" | b"samp" | b"tt" => Inline::Code,
        _ => return None,
    })
}
