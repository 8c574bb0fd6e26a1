//! The elements and texts of an XML file.
//!
//! Names are `prefix:name`, where the prefix is the usual one of a known namespace, whatever the
//! file calls it. `quick-xml` splits a text at each reference, so texts are put together here, for
//! all formats. Names of entities that a DTD declares are never resolved.

mod names;

use std::collections::{BTreeSet, HashMap};

use quick_xml::Reader;
use quick_xml::escape::{resolve_html5_entity, resolve_xml_entity};
use quick_xml::events::{BytesStart, Event};

use names::Prefixes;

/// Maximum size of an XML file, in bytes.
pub(crate) const MAX_XML: usize = 64 * 1024 * 1024;
/// Maximum number of elements and texts.
const MAX_NODES: usize = 4_000_000;
/// Maximum depth of elements. Deeper ones belong to the last one at this depth.
pub(crate) const MAX_DEPTH: usize = 150;
/// Maximum number of unknown names of entities that are kept for the report.
const MAX_UNKNOWN: usize = 20;
/// No node.
const NONE: u32 = u32::MAX;

/// A parsed XML file.
#[derive(Debug, Default)]
pub(crate) struct Xml {
    nodes: Vec<Node>,
    attributes: Vec<(u32, u32, u32)>,
    /// The texts, and the values of attributes.
    text: String,
    names: Vec<String>,
    /// Why the file is not read to its end. What is before that is here.
    pub(crate) error: Option<String>,
    /// Names of entities that stay as they are.
    pub(crate) unknown: BTreeSet<String>,
    /// Whether elements are deeper than [`MAX_DEPTH`].
    pub(crate) is_too_deep: bool,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    /// The number of its name; [`NONE`] for a text.
    name: u32,
    /// The first child, or where the text begins.
    first: u32,
    /// The last child, or where the text ends.
    last: u32,
    next: u32,
    /// The range of attributes.
    attributes: (u32, u32),
}

/// An element or text of an [`Xml`].
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    xml: &'a Xml,
    at: u32,
}

impl Xml {
    /// Parses a file.
    pub(crate) fn parse(text: &str) -> Self {
        let mut builder = Builder::default();
        let result = builder.read(text).and_then(|()| builder.end_text());
        if let Err(reason) = result {
            // The text before the error counts, too.
            let _ = builder.end_text();
            builder.xml.error = Some(reason);
        }
        builder.xml
    }

    /// The element of the whole file. A file without one has an empty element.
    pub(crate) fn root(&self) -> Element<'_> {
        let document = Element { xml: self, at: 0 };
        document.children().find(|child| !child.is_text()).unwrap_or(document)
    }

    /// Returns the element with a number from [`Element::number`].
    pub(crate) fn element(&self, number: u32) -> Element<'_> {
        Element { xml: self, at: number }
    }

    /// Returns the first element of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Element<'_>> {
        self.elements().find(|element| element.name() == name)
    }

    /// All elements, in order.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Element<'_>> {
        let count = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        (0..count).map(|at| Element { xml: self, at }).filter(|element| !element.is_text())
    }
}

impl<'a> Element<'a> {
    fn node(self) -> Node {
        const EMPTY: Node = Node { name: NONE, first: 0, last: 0, next: NONE, attributes: (0, 0) };
        self.xml.nodes.get(self.at as usize).copied().unwrap_or(EMPTY)
    }

    /// Its number in the file.
    pub(crate) fn number(self) -> u32 {
        self.at
    }

    /// Its name; empty for a text.
    pub(crate) fn name(self) -> &'a str {
        self.xml.names.get(self.node().name as usize).map_or("", String::as_str)
    }

    /// Its name without a prefix.
    pub(crate) fn local_name(self) -> &'a str {
        let name = self.name();
        name.split_once(':').map_or(name, |(_, local)| local)
    }

    /// Returns whether this is a text.
    pub(crate) fn is_text(self) -> bool {
        self.node().name == NONE
    }

    /// The text itself; empty for an element.
    pub(crate) fn own_text(self) -> &'a str {
        let node = self.node();
        if node.name != NONE {
            return "";
        }
        self.xml.text.get(node.first as usize..node.last as usize).unwrap_or_default()
    }

    /// All texts in it.
    pub(crate) fn text(self) -> String {
        let mut out = String::new();
        self.collect(&mut out);
        out
    }

    fn collect(self, out: &mut String) {
        out.push_str(self.own_text());
        self.children().for_each(|child| child.collect(out));
    }

    /// Returns the value of an attribute.
    pub(crate) fn attribute(self, name: &str) -> Option<&'a str> {
        let (start, end) = self.node().attributes;
        let attributes = self.xml.attributes.get(start as usize..end as usize)?;
        let is_it = |it: &&(u32, u32, u32)| {
            self.xml.names.get(it.0 as usize).is_some_and(|known| known == name)
        };
        let (_, start, end) = attributes.iter().find(is_it)?;
        self.xml.text.get(*start as usize..*end as usize)
    }

    /// Its elements and texts.
    pub(crate) fn children(self) -> impl Iterator<Item = Element<'a>> {
        let node = self.node();
        let first = if node.name == NONE { NONE } else { node.first };
        let child = |at: u32| (at != NONE).then_some(Element { xml: self.xml, at });
        std::iter::successors(child(first), move |it| child(it.node().next))
    }

    /// Returns the first child of this name.
    pub(crate) fn child(self, name: &str) -> Option<Element<'a>> {
        self.children().find(|child| child.name() == name)
    }

    /// All elements and texts below it, in order.
    pub(crate) fn descendants(self) -> impl Iterator<Item = Element<'a>> {
        let mut stack: Vec<Element<'a>> = self.children().collect();
        stack.reverse();
        std::iter::from_fn(move || {
            let next = stack.pop()?;
            let from = stack.len();
            stack.extend(next.children());
            stack[from..].reverse();
            Some(next)
        })
    }
}

#[derive(Default)]
struct Builder {
    xml: Xml,
    prefixes: Prefixes,
    numbers: HashMap<String, u32>,
    /// The open elements.
    open: Vec<u32>,
    /// Number of open elements beyond [`MAX_DEPTH`].
    deep: usize,
    /// Where the text begins that is not a node yet.
    text_start: usize,
}

impl Builder {
    fn read(&mut self, text: &str) -> Result<(), String> {
        let document = self.number("");
        self.push(Node {
            name: document,
            first: NONE,
            last: NONE,
            next: NONE,
            attributes: (0, 0),
        })?;
        self.open.push(0);
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        // A reference that lacks its `;` is a text.
        reader.config_mut().allow_dangling_amp = true;
        loop {
            let event = reader.read_event().map_err(|error| {
                format!("it is no XML at byte {}: {error}", reader.error_position())
            })?;
            match event {
                Event::Start(tag) => self.start(&tag)?,
                Event::End(_) => self.end()?,
                Event::Text(text) => self.xml.text.push_str(&text.xml10_content()),
                Event::CData(text) => self.xml.text.push_str(&text.xml10_content()),
                Event::GeneralRef(name) => self.reference(&name.xml10_content()),
                Event::Eof if self.open.len() + self.deep > 1 => {
                    return Err("it ends within an element".to_owned());
                }
                Event::Eof => return Ok(()),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
                // A start and an end are read instead.
                Event::Empty(_) => {}
            }
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        self.end_text()?;
        for attribute in tag.attributes().with_checks(false).flatten() {
            self.prefixes.declare(attribute.key.as_ref(), &attribute.value);
        }
        let attributes = self.attributes(tag);
        let name = self.prefixes.element(tag.name().as_ref());
        let name = self.number(&name);
        let node = Node { name, first: NONE, last: NONE, next: NONE, attributes };
        let at = self.push(node)?;
        if self.open.len() < MAX_DEPTH {
            self.open.push(at);
        } else {
            self.deep += 1;
            self.xml.is_too_deep = true;
        }
        Ok(())
    }

    fn attributes(&mut self, tag: &BytesStart<'_>) -> (u32, u32) {
        let start = self.xml.attributes.len();
        for attribute in tag.attributes().with_checks(false).flatten() {
            let name = self.prefixes.attribute(attribute.key.as_ref());
            let name = self.number(&name);
            let from = self.xml.text.len();
            let mut rest: &str = &attribute.value;
            while let Some((before, after)) = rest.split_once('&') {
                self.xml.text.push_str(before);
                rest = match after.split_once(';') {
                    Some((name, after)) => {
                        self.reference(name);
                        after
                    }
                    None => {
                        self.xml.text.push('&');
                        after
                    }
                };
            }
            self.xml.text.push_str(rest);
            self.xml.attributes.push((name, offset(from), offset(self.xml.text.len())));
        }
        self.text_start = self.xml.text.len();
        (offset(start), offset(self.xml.attributes.len()))
    }

    fn end(&mut self) -> Result<(), String> {
        self.end_text()?;
        if self.deep > 0 {
            self.deep -= 1;
        } else if self.open.len() > 1 {
            self.open.pop();
        }
        Ok(())
    }

    /// Makes a node of the text since the last tag.
    fn end_text(&mut self) -> Result<(), String> {
        let (first, last) = (offset(self.text_start), offset(self.xml.text.len()));
        self.text_start = self.xml.text.len();
        if first < last {
            self.push(Node { name: NONE, first, last, next: NONE, attributes: (0, 0) })?;
        }
        Ok(())
    }

    /// Adds a node to the innermost open element.
    fn push(&mut self, node: Node) -> Result<u32, String> {
        if self.xml.nodes.len() >= MAX_NODES {
            return Err(format!("it has more than {MAX_NODES} elements and texts"));
        }
        let at = offset(self.xml.nodes.len());
        self.xml.nodes.push(node);
        let Some(parent) = self.open.last().copied() else { return Ok(at) };
        let nodes = &mut self.xml.nodes;
        let Some(before) = nodes.get_mut(parent as usize).map(|parent| {
            let before = std::mem::replace(&mut parent.last, at);
            if before == NONE {
                parent.first = at;
            }
            before
        }) else {
            return Ok(at);
        };
        if let Some(before) = nodes.get_mut(before as usize) {
            before.next = at;
        }
        Ok(at)
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = offset(self.xml.names.len());
        self.xml.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Writes the text of a reference, given without `&` and `;`.
    fn reference(&mut self, name: &str) {
        let out = &mut self.xml.text;
        if let Some(number) = name.strip_prefix('#') {
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            out.extend(number.ok().and_then(char::from_u32));
        } else if let Some(text) = resolve_xml_entity(name).or_else(|| resolve_html5_entity(name)) {
            out.push_str(text);
        } else {
            out.extend(["&", name, ";"]);
            if self.xml.unknown.len() < MAX_UNKNOWN {
                self.xml.unknown.insert(brain_page::single_line(name));
            }
        }
    }
}

/// Returns a position as 32 bits. [`MAX_XML`] keeps it below the limit.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
