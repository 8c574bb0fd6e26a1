//! Writes a node as a page.

use std::collections::BTreeSet;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_convert_base::{Output, Page, link, literal_part, literal_text};
use jiff::Timestamp;

use super::NodePaths;
use super::lines::Lines;
use super::node::{Node, Run};
use super::objects::{Object, PageFile, Shown};
use crate::markdown::{code, fenced, marked, web_link};

/// Formats, their value, and the marks of markdown.
const MARKS: [(&str, &str, &str, &str); 6] = [
    ("weight", "heavy", "**", "**"),
    ("style", "italic", "*", "*"),
    ("strikethrough", "true", "~~", "~~"),
    ("underline", "single", "<u>", "</u>"),
    ("scale", "sub", "<sub>", "</sub>"),
    ("scale", "sup", "<sup>", "</sup>"),
];
/// The kinds of a node that has no code: with formats, and without.
const RICH: &str = "custom-colors";
const PLAIN: &str = "plain-text";

/// A part of a line: text, or an object in markdown.
enum Piece {
    Text(Run),
    Markdown(String),
}

/// Writes a node as the page at `path`, with its files.
///
/// # Errors
/// If the output cannot be written.
pub(super) fn write_node(
    mut node: Node,
    file: &str,
    path: &str,
    paths: &NodePaths,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let mut page =
        Page::new(&format!("{file}, {path}"), path, &brain_page::single_line(&node.name));
    page.created = time(node.attribute("ts_creation"));
    page.updated = time(node.attribute("ts_lastsave"));
    let tags = node.attribute("tags").split([' ', ',', ';']);
    page.tags = tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
    let mut writer = Writer { paths, losses: BTreeSet::new(), files: Vec::new() };
    let objects = std::mem::take(&mut node.objects);
    let is_empty = node.runs.is_empty() && objects.is_empty();
    page.body = match node.attribute("prog_lang") {
        // A shared node has the content of another one.
        _ if is_empty => {
            let master = paths.of_id(node.attribute("master_id")).filter(|master| *master != path);
            master.map(|master| link(master, &node.name)).unwrap_or_default()
        }
        RICH | "" => writer.rich_text(&node.runs, objects, &mut page),
        PLAIN => literal_text(&plain_text(&node)),
        language => fenced(language, &plain_text(&node)),
    };
    let from = page.from.clone();
    out.page(&page)?;
    for (name, wish, bytes) in writer.files {
        match bytes {
            Ok(bytes) => out.file(&page, &name, &bytes)?,
            Err(reason) => out.lost(&format!("{from}, {wish}"), &reason)?,
        }
    }
    writer.losses.iter().try_for_each(|reason| out.lost(&from, reason))
}

/// Returns a time in Unix seconds. 0 is none; older versions wrote a fraction.
fn time(text: &str) -> Option<Timestamp> {
    let seconds = text.split('.').next()?.trim().parse().ok().filter(|it: &i64| *it > 0)?;
    Timestamp::from_second(seconds).ok()
}

fn plain_text(node: &Node) -> String {
    node.runs.iter().map(|run| run.text.as_str()).collect()
}

/// Writes the text of a node.
struct Writer<'a> {
    paths: &'a NodePaths,
    /// What is not in the page.
    losses: BTreeSet<String>,
    files: Vec<PageFile>,
}

impl Writer<'_> {
    /// Returns a text with formats and objects in markdown.
    fn rich_text(&mut self, runs: &[Run], mut objects: Vec<Object>, page: &mut Page) -> String {
        let mut lines = Lines::default();
        let mut line = Vec::new();
        objects.sort_by_key(Object::place);
        let mut objects = objects.into_iter().peekable();
        let mut place = 0;
        for run in runs {
            let mut text = String::new();
            let part = |text: &mut String| {
                let text = std::mem::take(text);
                Piece::Text(Run { text, format: run.format.clone() })
            };
            for c in run.text.chars() {
                while let Some(object) = objects.next_if(|object| object.place() <= place) {
                    line.push(part(&mut text));
                    self.object(object, page, &mut line, &mut lines);
                    place += 1;
                }
                place += 1;
                if c == '\n' {
                    line.push(part(&mut text));
                    self.end_line(&mut line, &mut lines);
                } else {
                    text.push(c);
                }
            }
            line.push(part(&mut text));
        }
        for object in objects {
            self.object(object, page, &mut line, &mut lines);
        }
        self.end_line(&mut line, &mut lines);
        lines.finish()
    }

    /// Adds an object to the line, or after it.
    fn object(
        &mut self,
        object: Object,
        page: &mut Page,
        line: &mut Vec<Piece>,
        lines: &mut Lines,
    ) {
        match object.shown(page, &mut self.files) {
            Shown::Inline(markdown) => line.push(Piece::Markdown(markdown)),
            Shown::Block(markdown) => {
                self.end_line(line, lines);
                lines.block(&markdown);
            }
        }
    }

    fn end_line(&mut self, line: &mut Vec<Piece>, lines: &mut Lines) {
        let pieces = std::mem::take(line);
        let mut plain = String::new();
        for piece in &pieces {
            match piece {
                Piece::Text(run) => plain.push_str(&run.text),
                // It counts as a character that is no blank.
                Piece::Markdown(markdown) if markdown.is_empty() => {}
                Piece::Markdown(_) => plain.push('\u{fffc}'),
            }
        }
        lines.line(&plain, heading(&pieces), |from| self.shown(pieces, from));
    }

    /// Returns the pieces of a line in markdown, from this byte of their text on.
    fn shown(&mut self, pieces: Vec<Piece>, from: usize) -> String {
        let mut left = from;
        let mut out = String::new();
        for piece in pieces {
            match piece {
                Piece::Markdown(markdown) => out.push_str(&markdown),
                Piece::Text(mut run) => {
                    let cut = left.min(run.text.len());
                    left -= cut;
                    run.text = run.text.get(cut..).unwrap_or_default().replace('\t', " ");
                    out.push_str(&self.run(&run));
                }
            }
        }
        out
    }

    /// Returns a piece of text in markdown.
    fn run(&mut self, run: &Run) -> String {
        if run.text.trim().is_empty() {
            return run.text.clone();
        }
        let text: String = run.text.chars().filter(|c| !c.is_control()).collect();
        let has = |name: &str, value: &str| run.format(name) == value;
        let is_code = has("family", "monospace");
        let mut shown = if is_code { code(&text) } else { literal_part(&text) };
        for (name, value, open, close) in MARKS {
            if has(name, value) {
                shown = marked(open, &shown, close);
            }
        }
        if !run.format("background").is_empty() {
            shown = marked("==", &shown, "==");
        }
        match run.format("link").split_once(' ') {
            Some((kind, target)) => self.linked(kind, target, &text, shown),
            None => shown,
        }
    }

    /// Returns a linked text. `shown` is its markdown.
    fn linked(&mut self, kind: &str, target: &str, text: &str, shown: String) -> String {
        match kind {
            "webs" => web_link(target, &shown),
            "node" => {
                let id = target.split(' ').next().unwrap_or_default();
                match self.paths.of_id(id) {
                    Some(path) => link(path, text.trim()),
                    None => {
                        let label = text.trim();
                        self.losses.insert(format!("the link \"{label}\" leads to no node"));
                        shown
                    }
                }
            }
            _ => {
                let path = STANDARD.decode(target).unwrap_or_default();
                let path = String::from_utf8_lossy(&path).into_owned();
                self.losses.insert(format!("{path} is linked, and not in the document"));
                format!("{shown} ({})", code(&path))
            }
        }
    }
}

/// Returns the level of a line that is a heading, or 0.
fn heading(pieces: &[Piece]) -> usize {
    let level = |piece: &Piece| match piece {
        Piece::Text(run) if run.text.trim().is_empty() => None,
        Piece::Text(run) => {
            let digits = run.format("scale").strip_prefix('h');
            Some(digits.and_then(|it| it.parse::<usize>().ok()).unwrap_or(0))
        }
        Piece::Markdown(markdown) if markdown.is_empty() => None,
        Piece::Markdown(_) => Some(0),
    };
    let mut levels = pieces.iter().filter_map(level);
    let first = levels.next().unwrap_or(0);
    if levels.all(|level| level == first) { first } else { 0 }
}
