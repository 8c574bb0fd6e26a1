//! Rewrites a text, and keeps all of it that no rule changes.

use brain_page::{Body, Document, Frontmatter};
use brain_protocol::Fault;

use crate::write_page::frontmatter_fault;

/// The text of an open document in its two parts.
pub(super) struct SplitText<'a> {
    text: &'a str,
    /// The parsed document.
    pub(super) document: Document,
}

impl<'a> SplitText<'a> {
    /// Splits the text of the document `name`.
    ///
    /// # Errors
    /// `invalid_frontmatter`.
    pub(super) fn parse(name: &str, text: &'a str) -> Result<Self, Fault> {
        let document = Document::parse(text).map_err(|error| frontmatter_fault(name, &error))?;
        Ok(Self { text, document })
    }

    /// Returns the text with another frontmatter and body. Line ends, blank lines between the two,
    /// and all that is the same in both stay as they are. The frontmatter of a document with other
    /// line ends stays, too.
    pub(super) fn with(&self, frontmatter: &Frontmatter, body: &Body) -> String {
        let head = &self.text[..self.text.len() - self.document.body.len()];
        let (old, new) = (self.document.frontmatter.raw(), frontmatter.raw());
        let head = if old == new { head.to_owned() } else { head.replacen(old, new, 1) };
        format!("{head}{}", &**body)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_change_stays_byte_for_byte() {
        for text in [
            "---\ntitle: A\n---\nbody\n",
            "---\r\ntitle: A\r\n---\r\n\r\nbody\r\n",
            "\u{FEFF}body",
            "---\n---\n\n\n\nbody",
            "",
        ] {
            let split = SplitText::parse("a", text).unwrap();
            let Document { frontmatter, body } = &split.document;
            assert_eq!(split.with(frontmatter, body), text);
            assert!(split.with(frontmatter, &"other".to_owned().into()).ends_with("other"));
        }
    }
}
