//! Tables, code, pictures and files in the text of a node.

use brain_convert_base::{Page, literal_part};

use super::parts::{Attributes, value};
use crate::files::reference;
use crate::markdown::{fenced, table, web_link};

/// The name that CherryTree gives a formula.
const FORMULA: &str = "__ct_special.tex";

/// What an object is.
#[derive(Debug)]
pub(super) enum ObjectKind {
    /// A place for links.
    Anchor,
    /// A picture, a file or a formula, or why the page cannot have it.
    File(Result<Vec<u8>, String>),
    /// Code, or text in a box.
    Code(String),
    /// The rows of a table.
    Table(Vec<Vec<String>>),
}

/// An object in the text.
#[derive(Debug)]
pub(super) struct Object {
    kind: ObjectKind,
    attributes: Attributes,
}

/// An object in markdown.
pub(super) enum Shown {
    /// A part of a line.
    Inline(String),
    /// A block of its own.
    Block(String),
}

/// A file of a page: its name in the page, its name for people, and its bytes or why they are
/// missing.
pub(super) type PageFile = (String, String, Result<Vec<u8>, String>);

impl Object {
    pub(super) fn new(kind: ObjectKind, attributes: Attributes) -> Self {
        Self { kind, attributes }
    }

    /// Returns its place in the text, in characters. Each object before it counts as one.
    pub(super) fn place(&self) -> usize {
        value(&self.attributes, "char_offset").trim().parse().unwrap_or(usize::MAX)
    }

    /// Returns the object in markdown. A file is attached to the page and added to `files`.
    pub(super) fn shown(self, page: &mut Page, files: &mut Vec<PageFile>) -> Shown {
        let attribute = |name: &str| value(&self.attributes, name);
        match self.kind {
            ObjectKind::Anchor => Shown::Inline(String::new()),
            ObjectKind::Code(text) => {
                let language = attribute("syntax_highlighting");
                let language = if language == "plain-text" { "" } else { language };
                Shown::Block(fenced(language, &text))
            }
            ObjectKind::Table(rows) => Shown::Block(rows_shown(rows, attribute("head_front"))),
            ObjectKind::File(Ok(bytes)) if attribute("filename") == FORMULA => {
                Shown::Block(formula(&String::from_utf8_lossy(&bytes)))
            }
            ObjectKind::File(bytes) => {
                let wish = match attribute("filename") {
                    "" => "picture.png",
                    name => name,
                };
                let name = page.attach(wish);
                let mut shown = reference(&name, wish);
                if let Some(address) = attribute("link").strip_prefix("webs ") {
                    shown = format!("{shown} {}", web_link(address, ""));
                }
                files.push((name, wish.to_owned(), bytes));
                Shown::Inline(shown)
            }
        }
    }
}

/// Returns a table. CherryTree writes the head last, unless it says otherwise.
fn rows_shown(mut rows: Vec<Vec<String>>, head_front: &str) -> String {
    if !matches!(head_front, "1" | "True" | "true") {
        let head = rows.pop();
        rows.splice(0..0, head);
    }
    let cell =
        |text: String| text.trim().split('\n').map(literal_part).collect::<Vec<_>>().join("<br>");
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
    table(&rows)
}

/// Returns a formula, which CherryTree writes as a document of LaTeX.
fn formula(document: &str) -> String {
    let inner = document.split_once("\\begin{document}").map_or(document, |(_, inner)| inner);
    let inner = inner.split_once("\\end{document}").map_or(inner, |(inner, _)| inner).trim();
    match inner.contains("$$") {
        true => fenced("latex", inner),
        false => format!("$$\n{inner}\n$$"),
    }
}
