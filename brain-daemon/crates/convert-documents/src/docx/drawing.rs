//! Pictures, text boxes and other drawings of a DOCX.

use super::body::{Reader, alternative};
use crate::model::{Block, Inline};
use crate::xml::Element;

impl Reader<'_> {
    /// Reads a drawing. `description` is what the nearest element around it says.
    pub(super) fn drawing(
        &mut self,
        drawing: Element<'_>,
        description: &str,
        out: &mut Vec<Inline>,
    ) {
        let mut description = description.to_owned();
        for element in drawing.children() {
            match element.name() {
                "wp:docPr" | "pic:cNvPr" => {
                    if let Some(text) = element.attribute("descr").filter(|it| !it.is_empty()) {
                        text.clone_into(&mut description);
                    }
                }
                "a:blip" => {
                    let id = element.attribute("r:embed").or(element.attribute("r:link"));
                    self.picture(id, &description, out);
                }
                "v:imagedata" => {
                    let title = element.attribute("o:title").unwrap_or(&description);
                    self.picture(element.attribute("r:id"), title, out);
                }
                "v:textpath" => {
                    let text = element.attribute("string").unwrap_or_default();
                    self.add_box(text.to_owned());
                }
                "w:txbxContent" => {
                    let blocks = self.blocks(element);
                    self.part.boxes.extend(blocks);
                }
                // Text of a shape, as other programs of Office have it.
                "a:p" => {
                    let texts = element.descendants().filter(|it| it.name() == "a:t");
                    self.add_box(texts.map(Element::text).collect());
                }
                "dgm:relIds" => self.diagram(element),
                "c:chart" => self.draft.lost("a chart is only in the kept file"),
                "o:OLEObject" => {
                    let program = element.attribute("ProgID").unwrap_or_default();
                    let program = brain_page::single_line(program);
                    self.draft.lost(format!("an object of {program} is only in the kept file"));
                }
                "mc:AlternateContent" => {
                    if let Some(choice) = alternative(element) {
                        self.drawing(choice, &description, out);
                    }
                }
                // A second form of the same picture.
                "a:extLst" => {}
                _ => self.drawing(element, &description, out),
            }
        }
    }

    fn picture(&mut self, id: Option<&str>, description: &str, out: &mut Vec<Inline>) {
        let Some(found) = id.and_then(|id| self.part.relationships.get(id)) else { return };
        if found.is_external {
            let address = brain_page::single_line(&found.target);
            self.draft.lost(format!("its picture {address} is not in the file"));
            return;
        }
        let path = found.target.clone();
        out.extend(self.draft.picture(self.package.container, &path, description));
    }

    fn add_box(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.part.boxes.push(Block::Paragraph(vec![Inline::plain(text)]));
        }
    }

    /// Reads the words of a diagram (SmartArt), which lie in a part of their own.
    fn diagram(&mut self, element: Element<'_>) {
        let id = element.attribute("r:dm").unwrap_or_default();
        let Some(found) = self.part.relationships.get(id) else { return };
        let xml = self.package.container.optional_xml(&found.target);
        for paragraph in xml.elements().filter(|it| it.name() == "a:p") {
            let texts = paragraph.descendants().filter(|it| it.name() == "a:t");
            self.add_box(texts.map(Element::text).collect());
        }
    }
}
