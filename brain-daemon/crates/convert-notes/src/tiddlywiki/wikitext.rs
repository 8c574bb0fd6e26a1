//! Converts wikitext to markdown (rules of `TiddlyWiki` 5.4.1).
//!
//! Linear in the length of the text. Macros, widgets and filters stay as code, because only the
//! program can run them.

mod address;
mod escape;
mod html;
mod inline;
mod list;
mod spans;
mod table;

use super::links::Links;
use brain_convert_base::fenced;
use escape::paragraph;
use inline::{Place, inline};
use spans::Spans;

/// Maximum nesting of quotes and styled blocks. Deeper ones are part of the text around them.
const MAX_DEPTH: usize = 10;
/// What begins a line with an instruction at the top of a text.
const PRAGMAS: [&str; 9] = [
    "define",
    "procedure",
    "function",
    "widget",
    "rules",
    "whitespace",
    "import",
    "parsermode",
    "parameters",
];
/// Elements that are converted with their content, if that is HTML alone.
const ELEMENTS: [(&str, &str); 6] = [
    ("<table", "</table>"),
    ("<ul", "</ul>"),
    ("<ol", "</ol>"),
    ("<dl", "</dl>"),
    ("<pre", "</pre>"),
    ("<blockquote", "</blockquote>"),
];

/// What shows that HTML has wikitext in it.
const WIKITEXT: [&str; 12] =
    ["[[", "[img", "[ext[", "{{", "<<", "<$", "''", "__", "~~", "^^", ",,", "@@"];
/// Maximum length of the styles and the class at the beginning of a styled text, in bytes.
const MAX_STYLE: usize = 1000;

/// Returns the text as markdown.
pub(super) fn markdown(text: &str, links: &mut Links<'_>) -> String {
    let (pragmas, rest) = pragmas(text);
    let mut blocks = Blocks::default();
    if !pragmas.trim().is_empty() {
        links.has_macros = true;
        blocks.push(&fenced("", pragmas.trim()));
    }
    blocks.read(rest, 0, links);
    blocks.out
}

/// Splits the instructions at the top from the text.
fn pragmas(text: &str) -> (&str, &str) {
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        let start = at + rest.len() - trimmed.len();
        let line = trimmed.lines().next().unwrap_or_default();
        let word = line
            .strip_prefix('\\')
            .map(|line| line.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default());
        let Some(word) = word.filter(|word| PRAGMAS.contains(word)) else {
            return text.split_at_checked(at).unwrap_or(("", text));
        };
        at = (start + line.len() + 1).min(text.len());
        let has_body = ["define", "procedure", "function", "widget"].contains(&word);
        if has_body && line.trim_end().ends_with(')') {
            for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
                at += line.len();
                if line.trim_start().starts_with("\\end") {
                    break;
                }
            }
        }
    }
}

/// Returns the length of `css: value;` and `.class` at the beginning of a styled text.
fn style_length(content: &str) -> usize {
    let window = content.get(..content.floor_char_boundary(MAX_STYLE)).unwrap_or_default();
    let line = window.lines().next().unwrap_or_default();
    let mut length = 0;
    while let Some((rule, _)) = line.get(length..).and_then(|rest| rest.split_once(';')) {
        let is_rule = rule.split_once(':').is_some_and(|(name, _)| {
            !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '.')
        });
        if !is_rule {
            break;
        }
        length += rule.len() + 1;
    }
    match line.get(length..).and_then(|rest| rest.strip_prefix('.')) {
        Some(rest) => {
            let class = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let after = rest.get(class..).unwrap_or_default();
            length + 1 + class + (after.len() - after.trim_start().len())
        }
        None => length,
    }
}

/// Returns whether HTML has wikitext in it.
fn has_wikitext(html: &str) -> bool {
    let is_italic = |(at, _)| !html.get(..at).is_some_and(|before| before.ends_with(':'));
    WIKITEXT.iter().any(|mark| html.contains(mark))
        || html.contains('`')
        || html.match_indices("//").any(is_italic)
}

/// Returns the text after the classes of a heading or an item: `.name `.
fn without_classes(text: &str) -> &str {
    let is_class = text.starts_with('.') && !text.starts_with(". ") && !text.starts_with("..");
    let rest = match is_class {
        true => text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest),
        false => text,
    };
    rest.trim_start_matches([' ', '\t'])
}

/// The blocks that are written.
#[derive(Default)]
struct Blocks {
    out: String,
    /// What begins each line.
    prefix: String,
    spans: Spans,
}

impl Blocks {
    /// Writes a block.
    fn push(&mut self, block: &str) {
        if block.trim().is_empty() {
            return;
        }
        if !self.out.is_empty() {
            self.out.push_str(self.prefix.trim_end());
            self.out.push('\n');
        }
        for line in block.lines() {
            let is_blank = line.is_empty();
            self.out.push_str(if is_blank { self.prefix.trim_end() } else { &self.prefix });
            self.out.push_str(line);
            self.out.push('\n');
        }
    }

    /// Writes a text with its blocks.
    fn read(&mut self, text: &str, depth: usize, links: &mut Links<'_>) {
        let spans = std::mem::take(&mut self.spans);
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.trim_start().is_empty()) {
            at += rest.len() - rest.trim_start().len();
            let length = self.block(text, at, depth, links);
            at += length.max(1);
            while at < text.len() && !text.is_char_boundary(at) {
                at += 1;
            }
        }
        self.spans = spans;
    }

    /// Writes the block at `at`. Returns its length.
    fn block(&mut self, text: &str, at: usize, depth: usize, links: &mut Links<'_>) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default();
        let found = match rest.as_bytes() {
            [b'`', b'`', b'`', ..] => self.code(rest, line),
            [b'$', b'$', b'$', ..] => self.typed(rest, line),
            [b'!', ..] => Some(self.heading(text, at, links)),
            [b'-', b'-', b'-', ..] if line.trim_end().bytes().all(|b| b == b'-') => {
                self.push("---");
                Some(line.len())
            }
            [b'<', b'<', b'<', ..] if depth < MAX_DEPTH => {
                Some(self.quote(rest, line, depth, links))
            }
            [b'@', b'@', ..] if depth < MAX_DEPTH => self.styled(rest, line, depth, links),
            [b'*' | b'#' | b';' | b':' | b'>', ..] => {
                let (block, length) = list::list(text, at, &mut self.spans, links);
                self.push(&block);
                Some(length)
            }
            [b'|', ..] => table::table(rest, links).map(|(block, length)| {
                self.push(&block);
                length
            }),
            [b'<', b'!', b'-', b'-', ..] => self.spans.after(text, at, "-->").map(|end| end - at),
            [b'{', b'{', ..] | [b'<', b'<', ..] => self.lone(text, at, links),
            [b'<', ..] => self.element(text, at, links),
            _ => None,
        };
        found.unwrap_or_else(|| {
            let end = self.spans.run(text, at, "\n\n");
            let shown = inline(text.get(at..end).unwrap_or_default(), Place::Paragraph, links);
            self.push(&paragraph(&shown));
            end - at
        })
    }

    /// Three backquotes and a language.
    fn code(&mut self, rest: &str, line: &str) -> Option<usize> {
        let language = line.get(3..)?.trim_end();
        if !language.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return None;
        }
        Some(self.fence(rest, line, language, "```"))
    }

    /// `$$$text/x-lisp` or `$$$.lisp`, and how it is shown.
    fn typed(&mut self, rest: &str, line: &str) -> Option<usize> {
        let name = line.get(3..)?.split(['>', ' ']).next()?;
        let name = name.rsplit(['/', '.']).next().unwrap_or(name);
        let language = name.strip_prefix("x-").unwrap_or(name);
        Some(self.fence(rest, line, language, "$$$"))
    }

    fn fence(&mut self, rest: &str, line: &str, language: &str, mark: &str) -> usize {
        let start = (line.len() + 1).min(rest.len());
        let mut end = start;
        let body = rest.get(start..).unwrap_or_default();
        for line in body.split_inclusive('\n') {
            if line.trim_end() == mark {
                self.push(&fenced(language, rest.get(start..end).unwrap_or_default()));
                return end + line.len();
            }
            end += line.len();
        }
        self.push(&fenced(language, body));
        rest.len()
    }

    fn heading(&mut self, text: &str, at: usize, links: &mut Links<'_>) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        let level = rest.bytes().take_while(|b| *b == b'!').count().min(6);
        let end = self.spans.run(text, at + level, "\n");
        let content = without_classes(text.get(at + level..end).unwrap_or_default());
        let shown = inline(content, Place::Line, links).replace('\n', " ");
        self.push(&format!("{} {}", "#".repeat(level), shown.trim()));
        end - at
    }

    /// `<<<`, blocks, `<<<` and who said it.
    fn quote(&mut self, rest: &str, line: &str, depth: usize, links: &mut Links<'_>) -> usize {
        let mark = line.bytes().take_while(|b| *b == b'<').count();
        let mut cite = without_classes(line.get(mark..).unwrap_or_default()).trim();
        let start = (line.len() + 1).min(rest.len());
        let (mut end, mut length) = (rest.len(), rest.len());
        let mut at = start;
        for inner in rest.get(start..).unwrap_or_default().split_inclusive('\n') {
            let trimmed = inner.trim_start();
            if trimmed.bytes().take_while(|b| *b == b'<').count() == mark {
                (end, length) = (at, at + inner.len());
                let after = trimmed.get(mark..).unwrap_or_default().trim();
                cite = if after.is_empty() { cite } else { after };
                break;
            }
            at += inner.len();
        }
        let cite = inline(cite, Place::Line, links);
        if !self.out.is_empty() {
            self.out.push_str(self.prefix.trim_end());
            self.out.push('\n');
        }
        let mut inner = Self { prefix: format!("{}> ", self.prefix), ..Self::default() };
        inner.read(rest.get(start..end).unwrap_or_default(), depth + 1, links);
        if !cite.trim().is_empty() {
            inner.push(&format!("— {}", cite.trim()));
        }
        self.out.push_str(&inner.out);
        length
    }

    /// `@@.class`, blocks, `@@`.
    fn styled(
        &mut self,
        rest: &str,
        line: &str,
        depth: usize,
        links: &mut Links<'_>,
    ) -> Option<usize> {
        let style = line.get(2..)?;
        if style_length(style) < style.trim_end().len() {
            return None;
        }
        let start = (line.len() + 1).min(rest.len());
        let mut end = start;
        let mut length = rest.len();
        for inner in rest.get(start..)?.split_inclusive('\n') {
            // More than one style begins with a line each.
            if inner.trim_end() == "@@" {
                length = end + inner.len();
                break;
            }
            end += inner.len();
        }
        self.read(rest.get(start..end)?, depth + 1, links);
        Some(length)
    }

    /// A transclusion or macro that is alone on its line ends there.
    fn lone(&mut self, text: &str, at: usize, links: &mut Links<'_>) -> Option<usize> {
        let end = self.spans.end(text, at)?;
        let after = text.get(end..)?;
        if !(after.is_empty() || after.starts_with('\n')) {
            return None;
        }
        let shown = inline(text.get(at..end)?, Place::Paragraph, links);
        self.push(&paragraph(&shown));
        Some(end - at)
    }

    /// Elements of HTML that are blocks.
    fn element(&mut self, text: &str, at: usize, links: &mut Links<'_>) -> Option<usize> {
        let rest = text.get(at..)?;
        let is_named = |name: &str| {
            rest.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '>', '\n']))
        };
        if let Some((open, close)) = ELEMENTS.iter().find(|(name, _)| is_named(name)) {
            let end = self.spans.after(text, at, close)?;
            let html = text.get(at..end)?;
            if html.get(1..)?.contains(open) || has_wikitext(html) {
                return None;
            }
            let payload = brain_page::payload(brain_page::MediaType::Html, html.as_bytes()).ok()?;
            links.hidden_words += payload.hidden_words;
            self.push(&payload.document.body);
            return Some(end - at);
        }
        // A tag before a blank line contains blocks.
        let end = self.spans.after(text, at, ">")?;
        let tag = text.get(at..end)?;
        let is_plain = ["<div", "</div", "<p", "</p", "<section", "</section", "<details"]
            .iter()
            .chain(&["</details", "<center", "</center", "<article", "</article", "<span"])
            .chain(&["</span"])
            .any(|name| {
                tag.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '>', '\n']))
            });
        (is_plain && text.get(end..)?.starts_with('\n')).then_some(end - at)
    }
}
