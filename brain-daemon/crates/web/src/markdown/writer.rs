//! Writes HTML elements with constant names. No I/O.

use maud::Render as _;

use crate::text::Text;

/// Writes elements with constant names, and text that it escapes.
pub(super) struct HtmlWriter {
    pub(super) html: String,
    /// The open elements.
    pub(super) open: Vec<&'static str>,
}

impl HtmlWriter {
    /// Begins an element without attributes.
    pub(super) fn start(&mut self, name: &'static str) {
        self.start_with(name, &[]);
    }

    /// Begins an element with attributes.
    pub(super) fn start_with(&mut self, name: &'static str, attributes: &[(&'static str, &str)]) {
        self.html.push('<');
        self.html.push_str(name);
        for (attribute, value) in attributes {
            self.html.push(' ');
            self.html.push_str(attribute);
            self.html.push_str("=\"");
            self.text(value);
            self.html.push('"');
        }
        self.html.push('>');
        if matches!(name, "blockquote" | "ul" | "ol" | "table" | "br" | "hr") {
            self.html.push('\n');
        }
        if !matches!(name, "br" | "hr" | "img") {
            self.open.push(name);
        }
    }

    /// Ends the innermost element.
    pub(super) fn end(&mut self) {
        let Some(name) = self.open.pop() else { return };
        self.html.push_str("</");
        self.html.push_str(name);
        self.html.push('>');
        let is_line = matches!(name, "p" | "pre" | "blockquote" | "ul" | "ol" | "li" | "div")
            || matches!(name, "table" | "tr" | "h2" | "h3" | "h4" | "h5" | "h6");
        if is_line {
            self.html.push('\n');
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        Text(text).render_to(&mut self.html);
    }

    /// Writes an element with a text.
    pub(super) fn element(&mut self, name: &'static str, text: &str) {
        self.start(name);
        self.text(text);
        self.end();
    }
}

/// Returns the element of a heading at `depth`: 1 for a heading outside all other sections. The
/// page's title is `h1`.
pub(super) fn heading_element(depth: usize) -> &'static str {
    match depth {
        0 | 1 => "h2",
        2 => "h3",
        3 => "h4",
        4 => "h5",
        _ => "h6",
    }
}
