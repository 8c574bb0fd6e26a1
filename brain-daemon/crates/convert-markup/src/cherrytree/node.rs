//! Reads the nodes of a document, one after the other.

use std::io::BufRead;

use super::objects::{Object, ObjectKind};
use super::parts::{Attributes, Part, Parts, value};

/// A piece of text with one format.
#[derive(Debug, Default, Clone)]
pub(super) struct Run {
    pub(super) text: String,
    /// The formats, as in the file: `("weight", "heavy")`.
    pub(super) format: Vec<(String, String)>,
}

impl Run {
    /// Returns the value of a format; empty if the text does not have it.
    pub(super) fn format(&self, name: &str) -> &str {
        value(&self.format, name)
    }
}

/// A node.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// How many nodes it lies in.
    pub(super) depth: usize,
    pub(super) name: String,
    /// Its number, to which links lead.
    pub(super) id: String,
    /// The attributes of the element.
    pub(super) attributes: Attributes,
    pub(super) runs: Vec<Run>,
    pub(super) objects: Vec<Object>,
}

impl Node {
    /// Returns an attribute; empty if there is none.
    pub(super) fn attribute(&self, name: &str) -> &str {
        value(&self.attributes, name)
    }
}

/// Reads the nodes of a document.
pub(super) struct Reader<R> {
    parts: Parts<R>,
    /// How many nodes are open.
    depth: usize,
    /// The start of the next node, which ended the content of the former one.
    next: Option<Attributes>,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { parts: Parts::new(inner), depth: 0, next: None }
    }

    /// Returns the next node, or `None` behind the last one. A node comes before those in it. With
    /// `with_content` false, it has no text and no objects. The second value says why the document
    /// cannot be read on; the node is there up to this place.
    pub(super) fn next_node(&mut self, with_content: bool) -> (Option<Node>, Result<(), String>) {
        let attributes = match self.next.take() {
            Some(attributes) => attributes,
            None => match self.next_start() {
                Ok(Some(attributes)) => attributes,
                Ok(None) => return (None, Ok(())),
                Err(reason) => return (None, Err(reason)),
            },
        };
        let mut node = Node {
            depth: self.depth,
            name: value(&attributes, "name").to_owned(),
            id: value(&attributes, "unique_id").to_owned(),
            attributes,
            ..Node::default()
        };
        self.depth += 1;
        let end = self.content(&mut node, with_content);
        (Some(node), end)
    }

    /// Returns the start of the next node, between nodes.
    fn next_start(&mut self) -> Result<Option<Attributes>, String> {
        let mut others = 0;
        loop {
            match self.parts.next()? {
                Part::Start(name, attributes) if name == "node" => return Ok(Some(attributes)),
                Part::Start(..) => others += 1,
                Part::End if others > 0 => others -= 1,
                Part::End => self.depth = self.depth.saturating_sub(1),
                Part::Text(_) => {}
                Part::Eof => return Ok(None),
            }
        }
    }

    /// Reads the content of a node, up to the first node in it or to its end.
    fn content(&mut self, node: &mut Node, with_content: bool) -> Result<(), String> {
        loop {
            match self.parts.next()? {
                Part::Start(name, attributes) => match name.as_str() {
                    "node" => {
                        self.next = Some(attributes);
                        return Ok(());
                    }
                    "rich_text" => {
                        let text = self.text()?;
                        if with_content {
                            node.runs.push(Run { text, format: attributes });
                        }
                    }
                    name => {
                        let kind = self.object(name, &attributes)?;
                        if let Some(kind) = kind.filter(|_| with_content) {
                            node.objects.push(Object::new(kind, attributes));
                        }
                    }
                },
                Part::End => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(());
                }
                Part::Text(_) => {}
                Part::Eof => return Err("the file ends too early".to_owned()),
            }
        }
    }

    /// Returns the text of the element that has just begun, up to its end.
    fn text(&mut self) -> Result<String, String> {
        let (mut text, mut inner) = (String::new(), 0);
        loop {
            match self.parts.next()? {
                Part::Start(..) => inner += 1,
                Part::End if inner == 0 => return Ok(text),
                Part::End => inner -= 1,
                Part::Text(piece) => text.push_str(&piece),
                Part::Eof => return Err("the file ends too early".to_owned()),
            }
        }
    }

    /// Reads the object that has just begun, up to its end.
    fn object(
        &mut self,
        name: &str,
        attributes: &[(String, String)],
    ) -> Result<Option<ObjectKind>, String> {
        match name {
            "encoded_png" if value(attributes, "anchor").is_empty() => {
                let bytes = self.parts.data()?;
                self.text()?;
                Ok(Some(ObjectKind::File(bytes)))
            }
            "encoded_png" => self.text().map(|_| Some(ObjectKind::Anchor)),
            "codebox" => self.text().map(|text| Some(ObjectKind::Code(text))),
            "table" => self.rows().map(|rows| Some(ObjectKind::Table(rows))),
            _ => self.text().map(|_| None),
        }
    }

    /// Returns the rows of the table that has just begun.
    fn rows(&mut self) -> Result<Vec<Vec<String>>, String> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut inner = 0;
        loop {
            match self.parts.next()? {
                Part::Start(name, _) if name == "cell" => {
                    let cell = self.text()?;
                    if let Some(row) = rows.last_mut() {
                        row.push(cell);
                    }
                }
                Part::Start(name, _) => {
                    inner += 1;
                    if name == "row" {
                        rows.push(Vec::new());
                    }
                }
                Part::End if inner == 0 => return Ok(rows),
                Part::End => inner -= 1,
                Part::Text(_) => {}
                Part::Eof => return Err("the file ends too early".to_owned()),
            }
        }
    }
}
