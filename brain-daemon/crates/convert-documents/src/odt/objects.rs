//! Frames of an ODT: pictures, text boxes and objects.

use super::body::Reader;
use crate::container::resolve;
use crate::math::formula;
use crate::model::{Inline, Style};
use crate::xml::Element;

impl Reader<'_> {
    /// Reads a drawing. Its text becomes paragraphs of their own.
    pub(super) fn drawing(&mut self, element: Element<'_>, out: &mut Vec<Inline>) {
        match element.name() {
            "draw:frame" => self.frame(element, out),
            "draw:g" | "draw:a" => {
                for child in element.children().filter(|it| it.name().starts_with("draw:")) {
                    self.drawing(child, out);
                }
            }
            "draw:control" => {
                let id = element.attribute("draw:control").unwrap_or_default();
                out.extend(self.controls.get(id).map(Inline::plain));
            }
            // Shapes have paragraphs.
            _ => {
                let blocks = self.blocks(element);
                self.boxes.extend(blocks);
            }
        }
    }

    /// Reads a frame. It has several forms of one content; the first that is understood counts.
    fn frame(&mut self, frame: Element<'_>, out: &mut Vec<Inline>) {
        let text = |name: &str| frame.child(name).map(Element::text).unwrap_or_default();
        let description = match text("svg:desc") {
            empty if empty.is_empty() => text("svg:title"),
            text => text,
        };
        for content in frame.children() {
            let target = content.attribute("xlink:href").unwrap_or_default();
            let is_done = match content.name() {
                "draw:text-box" => {
                    let blocks = self.blocks(content);
                    self.boxes.extend(blocks);
                    true
                }
                "draw:object" => self.object(content, target, out),
                "draw:image" if target.contains("://") => {
                    let address = brain_page::single_line(target);
                    self.draft.lost(format!("its picture {address} is not in the file"));
                    true
                }
                "draw:image" if !target.is_empty() => {
                    let path = resolve("", target);
                    out.extend(self.draft.picture(self.container, &path, &description));
                    true
                }
                "draw:image" if content.child("office:binary-data").is_some() => {
                    self.draft.lost("a picture within its text is only in the kept file");
                    true
                }
                _ => false,
            };
            if is_done {
                return;
            }
        }
    }

    /// Reads an object. Only formulas have text. Returns whether this was one.
    fn object(&mut self, object: Element<'_>, target: &str, out: &mut Vec<Inline>) -> bool {
        let inner = object.child("math");
        let path = resolve("", &format!("{target}/content.xml"));
        let xml = match inner {
            None if self.container.has(&path) => self.container.optional_xml(&path),
            _ => crate::xml::Xml::default(),
        };
        let root = inner.unwrap_or(xml.root());
        let is_formula = root.local_name() == "math";
        if is_formula {
            let annotation = root.descendants().find(|it| it.local_name() == "annotation");
            let text = annotation.map_or_else(|| formula(root), Element::text);
            let style = Style { code: true, ..Style::default() };
            let text = crate::model::Text { text, style, link: None };
            out.push(Inline::Text(text));
        } else {
            self.draft.lost("an object such as a chart is only in the kept file");
        }
        is_formula
    }
}
