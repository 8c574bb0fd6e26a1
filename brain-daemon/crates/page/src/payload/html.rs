//! Converts HTML to markdown.
//!
//! A tokenizer reads the HTML, and [`Flow`] writes the parts that have a form in markdown as plain,
//! well nested HTML for the converter. The converter builds a tree and walks it by recursion,
//! copies a text once a level, and pads tables. Untrusted HTML could make it run for hours or
//! crash; the output of `Flow` cannot.

use std::sync::LazyLock;

use htmd::element_handler::Handlers;
use htmd::options::{BulletListMarker, Options};
use htmd::{Element, HtmlToMarkdown};
use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

use super::flow::{Flow, Joint};
use super::parts::{Container, Inline, Leaf};
use crate::title;

/// Maximum nesting of lists, quotes and tables. Deeper ones become paragraphs.
const MAX_DEPTH: usize = 12;
/// Maximum length of an address, in bytes.
const MAX_ADDRESS: usize = 4096;
/// Elements that are dropped with their content.
const DROPPED_ELEMENTS: [&str; 18] = [
    "script", "style", "noscript", "iframe", "template", "svg", "math", "canvas", "object",
    "embed", "audio", "video", "noframes", "noembed", "select", "textarea", "datalist", "applet",
];
/// The dropped elements that never have content.
const VOID_ELEMENTS: [&str; 1] = ["embed"];
/// Elements that separate the text before them from the text after them.
const BLOCKS: [&str; 36] = [
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
    "tbody",
    "thead",
    "tfoot",
];
/// Elements that make the surrounding table a layout rather than a table of data.
const LAYOUT: [&str; 9] = ["table", "h1", "h2", "h3", "ul", "ol", "pre", "blockquote", "hr"];
/// Allowed schemes of a link. Others can run a program where the page is shown.
const SCHEMES: [&str; 10] =
    ["http", "https", "mailto", "tel", "sms", "ftp", "geo", "magnet", "xmpp", "cid"];

/// Returns title and text of an HTML document, in time linear to its length.
pub(super) fn markdown(html: &str) -> (Option<String>, String) {
    let mut survey = Survey::default();
    read(html, |token| survey.token(token));
    let title = title::shorten_line(&survey.title, title::MAX_TITLE);
    let write = |max_depth| {
        let mut page = FlowWriter::new(Flow::new(max_depth, html.len()), &survey.tables);
        let (mut out, mut joint) = (String::new(), Joint::Block);
        read(html, |token| {
            page.token(token);
            if let Some((part, next)) = page.flow.take_part() {
                join(&mut out, &convert(&part), joint);
                joint = next;
            }
        });
        let last = convert(&page.flow.finish());
        if out.is_empty() {
            last
        } else {
            join(&mut out, &last, joint);
            out
        }
    };
    let text = write(MAX_DEPTH);
    // Every line repeats the prefixes of its containers. HTML nested to inflate the text becomes
    // paragraphs.
    let text = if text.len() > 2 * html.len() + 4096 { write(0) } else { text };
    (title, text)
}

/// Appends the markdown of a part to the preceding parts.
fn join(out: &mut String, part: &str, joint: Joint) {
    let part = part.trim_matches('\n');
    if part.is_empty() {
        return;
    }
    // The list or the table may have ended at the end of the preceding part.
    let continues = match joint {
        Joint::Block => false,
        Joint::Item => part.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
        Joint::Row => part.starts_with('|'),
    };
    let gap = match (out.is_empty(), continues) {
        (true, _) => "",
        (_, false) => "\n\n",
        (_, true) => "\n",
    };
    out.push_str(gap);
    match (joint, part.split_once('\n')) {
        // Continued rows have no head.
        (Joint::Row, Some((first, rest))) if rest.starts_with("| ---") => {
            out.extend([first, rest.find('\n').map_or("", |end| &rest[end..])]);
        }
        _ => out.push_str(part),
    }
}

/// Calls `show` with the tokens of `html`, without the content of dropped elements.
fn read(html: &str, mut show: impl FnMut(&Token)) {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    // The name of the dropped element that is open, and how many elements of this name are open.
    let mut dropped: Option<(HtmlString, usize)> = None;
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        if let Some((name, depth)) = &mut dropped {
            match &token {
                Token::StartTag(tag) if tag.name == *name && !tag.self_closing => *depth += 1,
                Token::EndTag(tag) if tag.name == *name => *depth -= 1,
                _ => {}
            }
            if *depth == 0 {
                dropped = None;
            }
            continue;
        }
        match &token {
            Token::StartTag(tag) if is_one_of(&tag.name, &DROPPED_ELEMENTS) => {
                let is_foreign = is_one_of(&tag.name, &["svg", "math"]);
                let is_void = is_one_of(&tag.name, &VOID_ELEMENTS);
                if !(is_void || is_foreign && tag.self_closing) {
                    dropped = Some((tag.name.clone(), 1));
                }
            }
            token => show(token),
        }
    }
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|n| n.as_bytes() == name)
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Facts about a document that must be known before the first word is written.
#[derive(Default)]
struct Survey {
    title: String,
    /// Whether the title is open.
    in_title: bool,
    /// Whether the document has a title.
    has_title: bool,
    /// For each table, whether it is a table of data: with more than one column, and only text in
    /// its cells.
    tables: Vec<bool>,
    open: Vec<OpenTable>,
}

/// An open table.
struct OpenTable {
    /// The index among all tables.
    table: usize,
    /// Number of cells of the current row.
    cells: usize,
    /// Whether the table contains more than text.
    is_layout: bool,
}

impl Survey {
    fn token(&mut self, token: &Token) {
        match token {
            Token::String(string) if self.in_title => self.title.push_str(&text(string)),
            Token::StartTag(tag) => self.start(&tag.name),
            Token::EndTag(tag) if is_one_of(&tag.name, &["title"]) => self.in_title = false,
            Token::EndTag(tag) if is_one_of(&tag.name, &["table"]) => {
                self.open.pop();
            }
            _ => {}
        }
    }

    fn start(&mut self, name: &[u8]) {
        if name == b"title" && !self.has_title {
            (self.in_title, self.has_title) = (true, true);
        }
        if let Some(open) = self.open.last_mut() {
            match name {
                b"tr" => open.cells = 0,
                b"td" | b"th" => open.cells += 1,
                _ => open.is_layout |= is_one_of(name, &LAYOUT),
            }
            if let Some(data) = self.tables.get_mut(open.table) {
                *data = !open.is_layout && (*data || open.cells > 1);
            }
        }
        if name == b"table" {
            self.open.push(OpenTable { table: self.tables.len(), cells: 0, is_layout: false });
            self.tables.push(false);
        }
    }
}

/// An open table that is written.
struct WriterTable {
    /// Whether it is a table of data.
    is_data: bool,
    /// Whether its first row has begun.
    has_begun: bool,
}

/// Passes the elements of a document to the flow.
struct FlowWriter<'a> {
    flow: Flow,
    /// For each following table, whether it is a table of data.
    tables: std::slice::Iter<'a, bool>,
    /// The open tables.
    open: Vec<WriterTable>,
    /// Whether the text belongs to the title, not the page.
    in_title: bool,
}

impl<'a> FlowWriter<'a> {
    fn new(flow: Flow, tables: &'a [bool]) -> Self {
        Self { flow, tables: tables.iter(), open: Vec::new(), in_title: false }
    }

    fn token(&mut self, token: &Token) {
        match token {
            Token::String(string) if !self.in_title => self.flow.text(&text(string)),
            Token::StartTag(tag) => self.start(tag),
            Token::EndTag(tag) => self.end(&tag.name),
            _ => {}
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let attribute =
            |name: &str| tag.attributes.get(name.as_bytes()).map(|value| text(&value.value));
        match &**tag.name {
            b"br" => self.flow.line_break(),
            b"hr" => self.flow.rule(),
            b"img" => {
                let address = attribute("src").and_then(|src| address(&src));
                self.flow.image(address.as_deref(), &attribute("alt").unwrap_or_default());
            }
            b"a" => {
                let address = attribute("href").and_then(|href| address(&href));
                self.flow.close(&Inline::Link(String::new()));
                if let Some(address) = address {
                    self.flow.open(Inline::Link(address));
                }
            }
            b"pre" => {
                self.flow.begin(Leaf::Code(String::new()));
                self.language(tag);
            }
            b"ul" | b"menu" => self.flow.enter(Container::List(None)),
            b"ol" => {
                let start = attribute("start").and_then(|start| start.trim().parse().ok());
                self.flow.enter(Container::List(Some(
                    start.filter(|n| (1..=9999).contains(n)).unwrap_or(1),
                )));
            }
            b"li" => self.flow.enter(Container::Item),
            b"blockquote" => self.flow.enter(Container::Quote),
            b"table" => {
                self.flow.boundary();
                let is_data = self.tables.next().copied().unwrap_or_default();
                self.open.push(WriterTable { is_data, has_begun: false });
            }
            b"tr" => self.cells(Container::Row),
            b"td" | b"th" => self.cells(Container::Cell),
            [b'h', level @ b'1'..=b'6'] => self.flow.begin(Leaf::Heading(level - b'0')),
            b"title" => self.in_title = true,
            name => match inline(name) {
                Some(Inline::Code) if self.flow.in_code() => self.language(tag),
                Some(inline) => self.flow.open(inline),
                None if is_one_of(name, &BLOCKS) => self.flow.boundary(),
                None => {}
            },
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"a" => self.flow.close(&Inline::Link(String::new())),
            b"pre" => self.flow.end(true),
            b"ul" | b"ol" | b"menu" => self.flow.leave(Container::List(None)),
            b"li" => self.flow.leave(Container::Item),
            b"blockquote" => self.flow.leave(Container::Quote),
            b"table" => match self.open.pop() {
                Some(table) if table.has_begun => self.flow.leave(Container::Table),
                _ => self.flow.boundary(),
            },
            b"tr" if self.in_data() => self.flow.leave(Container::Row),
            b"td" | b"th" if self.in_data() => self.flow.leave(Container::Cell),
            [b'h', b'1'..=b'6'] => self.flow.end(false),
            b"title" => self.in_title = false,
            // In HTML, `</br>` is a line break.
            b"br" => self.flow.line_break(),
            name => match inline(name) {
                Some(inline) => self.flow.close(&inline),
                None if is_one_of(name, &BLOCKS) => self.flow.boundary(),
                None => {}
            },
        }
    }

    /// Handles a row or a cell of the innermost table.
    fn cells(&mut self, container: Container) {
        match self.open.last_mut() {
            Some(table) if table.is_data => {
                if !table.has_begun {
                    table.has_begun = true;
                    self.flow.enter(Container::Table);
                }
                self.flow.enter(container);
            }
            _ => self.flow.boundary(),
        }
    }

    fn in_data(&self) -> bool {
        self.open.last().is_some_and(|table| table.has_begun)
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

/// Returns an address that is allowed in a page: a relative one, or one with an allowed scheme.
fn address(url: &str) -> Option<String> {
    let url: String = url.trim().chars().filter(|c| !c.is_control()).collect();
    let head = url.split(['/', '?', '#']).next().unwrap_or_default();
    let is_allowed = match head.split_once(':') {
        Some((scheme, _)) => SCHEMES.iter().any(|s| scheme.eq_ignore_ascii_case(s)),
        None => true,
    };
    if !is_allowed || url.is_empty() || url.len() > MAX_ADDRESS {
        return None;
    }
    let mut out = String::with_capacity(url.len());
    for c in url.chars() {
        match c {
            ' ' | '<' | '>' | '"' | '\\' | '`' | '|' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    Some(out)
}

/// Converts the flow's output to markdown.
fn convert(html: &str) -> String {
    // The converter reads from memory, so it cannot fail.
    CONVERTER.convert(html).unwrap_or_default()
}

static CONVERTER: LazyLock<HtmlToMarkdown> = LazyLock::new(|| {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    HtmlToMarkdown::builder()
        .options(options)
        .add_handler(vec!["td"], |handlers: &dyn Handlers, element: Element| {
            let content = handlers.walk_children(element.node).content;
            let words: Vec<&str> = content.split_ascii_whitespace().collect();
            Some(format!(" {} |", words.join(" ").replace('|', "\\|")).into())
        })
        .add_handler(vec!["tr"], |handlers: &dyn Handlers, element: Element| {
            Some(
                format!(
                    "\n|{}",
                    handlers.walk_children(element.node).content.trim_start_matches('\n')
                )
                .into(),
            )
        })
        .add_handler(vec!["table"], |handlers: &dyn Handlers, element: Element| {
            Some(table(&handlers.walk_children(element.node).content).into())
        })
        .build()
});

/// Returns the rows of a table, with the first one as its head. The library would pad each cell to
/// the widest of its column.
fn table(rows: &str) -> String {
    let cells = |row: &str| row.matches(" |").count();
    let rows = || rows.lines().filter(|line| line.starts_with('|'));
    let columns = rows().map(cells).max().unwrap_or(0);
    let mut out = String::from("\n\n");
    for (n, row) in rows().enumerate() {
        out.push_str(row);
        if n == 0 {
            out.push_str(&"  |".repeat(columns - cells(row)));
            out.push_str("\n|");
            out.push_str(&" --- |".repeat(columns));
        }
        out.push('\n');
    }
    out.push('\n');
    out
}
