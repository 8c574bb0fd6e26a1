//! Converts the content of a note of Gnote or Tomboy to markdown, while its XML is read.

use brain_convert_base::{link, literal_part};

use super::titles::Titles;
use crate::lists::List;
use crate::markdown::{Blocks, LINE_BREAK, code, guarded, marked, web_link};

/// Elements of formats, and the marks of markdown.
const MARKS: [(&str, &str, &str); 5] = [
    ("bold", "**", "**"),
    ("italic", "*", "*"),
    ("strikethrough", "~~", "~~"),
    ("highlight", "==", "=="),
    ("underline", "<u>", "</u>"),
];

/// A text with the same formats.
struct Run {
    text: String,
    formats: Vec<String>,
}

/// Writes the content of a note.
pub(super) struct Content<'a> {
    titles: &'a Titles,
    title: &'a str,
    out: Blocks,
    /// The lines of the open paragraph, in markdown.
    lines: Vec<String>,
    /// The open line.
    runs: Vec<Run>,
    /// The open elements.
    open: Vec<String>,
    list: Option<List>,
    /// How many lists are open.
    depth: usize,
    /// Whether the open line begins an item.
    is_item: bool,
    /// Whether nothing was written.
    is_first: bool,
}

impl<'a> Content<'a> {
    pub(super) fn new(title: &'a str, titles: &'a Titles) -> Self {
        Self {
            titles,
            title,
            out: Blocks::default(),
            lines: Vec::new(),
            runs: Vec::new(),
            open: Vec::new(),
            list: None,
            depth: 0,
            is_item: false,
            is_first: true,
        }
    }

    pub(super) fn start(&mut self, name: &str) {
        match name {
            "list" => {
                self.end_line();
                self.end_paragraph();
                self.depth += 1;
                self.list.get_or_insert_default();
            }
            "list-item" => {
                self.end_line();
                self.is_item = true;
            }
            _ => {}
        }
        self.open.push(name.to_owned());
    }

    pub(super) fn end(&mut self) {
        match self.open.pop().as_deref() {
            Some("list-item") => self.end_line(),
            Some("list") => {
                self.end_line();
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.out.push(&self.list.take().unwrap_or_default().finish());
                }
            }
            _ => {}
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        for (n, piece) in text.split('\n').enumerate() {
            if n > 0 {
                self.end_line();
                // A blank line ends a paragraph.
                if self.depth == 0 && self.lines.last().is_some_and(String::is_empty) {
                    self.end_paragraph();
                }
            }
            if piece.is_empty() {
                continue;
            }
            let is_format =
                |name: &&String| !["note-content", "list", "list-item"].contains(&name.as_str());
            let formats: Vec<String> = self.open.iter().filter(is_format).cloned().collect();
            match self.runs.last_mut() {
                Some(run) if run.formats == formats => run.text.push_str(piece),
                _ => self.runs.push(Run { text: piece.to_owned(), formats }),
            }
        }
    }

    /// Returns the whole text.
    pub(super) fn finish(mut self) -> String {
        self.end_line();
        if let Some(list) = self.list.take() {
            self.out.push(&list.finish());
        }
        self.end_paragraph();
        self.out.finish()
    }

    fn end_paragraph(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        self.out.push(&lines.join(LINE_BREAK));
    }

    fn end_line(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        let plain: String = runs.iter().map(|run| run.text.as_str()).collect();
        if self.is_first && !plain.trim().is_empty() {
            self.is_first = false;
            // The first line repeats the title.
            if plain.trim() == self.title.trim() {
                return;
            }
        }
        if self.depth > 0 {
            return self.end_item(&runs, &plain);
        }
        let blank = plain.len() - plain.trim_start_matches([' ', '\t']).len();
        let shown: String = runs.iter().map(|run| self.shown(run)).collect();
        let size = |name: &str| {
            let is_large = |run: &Run| run.formats.iter().any(|format| format == name);
            !plain.trim().is_empty()
                && runs.iter().all(|run| is_large(run) || run.text.trim().is_empty())
        };
        if size("size:huge") || size("size:large") {
            self.end_paragraph();
            let mark = if size("size:huge") { "##" } else { "###" };
            self.out.push(&format!("{mark} {}", shown.trim()));
            return;
        }
        let indent = plain.get(..blank).unwrap_or_default().replace('\t', "    ").len();
        let shown = guarded(&shown);
        let indent = if shown.is_empty() { 0 } else { indent };
        self.lines.push(format!("{}{shown}", "\u{a0}".repeat(indent)));
    }

    fn end_item(&mut self, runs: &[Run], plain: &str) {
        let is_item = std::mem::take(&mut self.is_item);
        if plain.trim().is_empty() {
            self.is_item = is_item;
            return;
        }
        let shown: String = runs.iter().map(|run| self.shown(run)).collect();
        let shown = guarded(&shown);
        let list = self.list.get_or_insert_default();
        match is_item {
            true => list.item(self.depth, "-", &shown),
            false => list.line(&shown),
        }
    }

    /// Returns a run in markdown.
    fn shown(&self, run: &Run) -> String {
        let has = |name: &str| run.formats.iter().any(|format| format == name);
        let text: String = run.text.chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
        if has("link:internal") {
            return match self.titles.path(&text) {
                Some(path) => link(path, text.trim()),
                None => literal_part(&text),
            };
        }
        if has("link:url") {
            let is_web = ["http://", "https://", "ftp://", "mailto:"]
                .iter()
                .any(|scheme| text.trim().starts_with(scheme));
            let is_mail = text.contains('@') && !text.contains([' ', '/']);
            return match () {
                () if is_web => web_link(&text, ""),
                () if is_mail => web_link(&format!("mailto:{}", text.trim()), &literal_part(&text)),
                () if text.trim().starts_with("www.") => {
                    web_link(&format!("http://{}", text.trim()), &literal_part(&text))
                }
                () => code(&text),
            };
        }
        let mut shown = if has("monospace") { code(&text) } else { literal_part(&text) };
        for (name, open, close) in MARKS {
            if has(name) {
                shown = marked(open, &shown, close);
            }
        }
        shown
    }
}
