//! The usual prefixes of known namespaces.

use std::collections::HashMap;

/// Namespaces and their usual prefixes. Those of ISO 29500 Strict have the ones of Transitional.
const KNOWN: [(&str, &str); 33] = [
    ("http://schemas.openxmlformats.org/wordprocessingml/2006/main", "w"),
    ("http://purl.oclc.org/ooxml/wordprocessingml/main", "w"),
    ("http://schemas.openxmlformats.org/officeDocument/2006/relationships", "r"),
    ("http://purl.oclc.org/ooxml/officeDocument/relationships", "r"),
    ("http://schemas.openxmlformats.org/officeDocument/2006/math", "m"),
    ("http://purl.oclc.org/ooxml/officeDocument/math", "m"),
    ("http://schemas.openxmlformats.org/markup-compatibility/2006", "mc"),
    ("http://schemas.openxmlformats.org/drawingml/2006/main", "a"),
    ("http://purl.oclc.org/ooxml/drawingml/main", "a"),
    ("http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing", "wp"),
    ("http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing", "wp"),
    ("http://schemas.openxmlformats.org/drawingml/2006/picture", "pic"),
    ("http://schemas.openxmlformats.org/drawingml/2006/chart", "c"),
    ("http://schemas.openxmlformats.org/drawingml/2006/diagram", "dgm"),
    ("http://schemas.microsoft.com/office/word/2010/wordprocessingShape", "wps"),
    ("http://schemas.microsoft.com/office/word/2010/wordml", "w14"),
    ("urn:schemas-microsoft-com:vml", "v"),
    ("http://schemas.openxmlformats.org/package/2006/metadata/core-properties", "cp"),
    ("http://purl.org/dc/elements/1.1/", "dc"),
    ("http://purl.org/dc/terms/", "dcterms"),
    ("urn:oasis:names:tc:opendocument:xmlns:office:1.0", "office"),
    ("urn:oasis:names:tc:opendocument:xmlns:text:1.0", "text"),
    ("urn:oasis:names:tc:opendocument:xmlns:table:1.0", "table"),
    ("urn:oasis:names:tc:opendocument:xmlns:drawing:1.0", "draw"),
    ("urn:oasis:names:tc:opendocument:xmlns:form:1.0", "form"),
    ("urn:oasis:names:tc:opendocument:xmlns:style:1.0", "style"),
    ("urn:oasis:names:tc:opendocument:xmlns:meta:1.0", "meta"),
    ("urn:oasis:names:tc:opendocument:xmlns:manifest:1.0", "manifest"),
    ("urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0", "fo"),
    ("urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0", "svg"),
    ("http://www.w3.org/1999/xlink", "xlink"),
    ("http://www.idpf.org/2007/ops", "epub"),
    ("http://www.w3.org/XML/1998/namespace", "xml"),
];
/// The unusual prefixes of a file that are kept at most.
const MAX_PREFIXES: usize = 1000;

/// The prefixes that a file declares. A later declaration counts for the rest of the file: no
/// program gives a prefix two meanings.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    /// The usual prefix of each declared one.
    usual: HashMap<String, String>,
    /// The usual prefix of names without one.
    default: &'static str,
}

impl Prefixes {
    /// Reads an attribute that may declare a namespace.
    pub(super) fn declare(&mut self, key: &str, namespace: &str) {
        let usual = KNOWN.iter().find(|(known, _)| *known == namespace).map(|(_, usual)| *usual);
        if key == "xmlns" {
            self.default = usual.unwrap_or_default();
        } else if let Some(prefix) = key.strip_prefix("xmlns:")
            && (self.usual.len() < MAX_PREFIXES || self.usual.contains_key(prefix))
        {
            // An unknown namespace must not look like a known one.
            let is_taken = || KNOWN.iter().any(|(_, known)| *known == prefix);
            let usual = match usual {
                Some(usual) => usual.to_owned(),
                None if is_taken() => format!("other-{prefix}"),
                None => prefix.to_owned(),
            };
            self.usual.insert(prefix.to_owned(), usual);
        }
    }

    /// Returns the usual name of an element.
    pub(super) fn element(&self, name: &str) -> String {
        if !name.contains(':') && !self.default.is_empty() {
            return format!("{}:{name}", self.default);
        }
        self.attribute(name)
    }

    /// Returns the usual name of an attribute, which has no default namespace.
    pub(super) fn attribute(&self, name: &str) -> String {
        match name.split_once(':') {
            Some((prefix, local)) => {
                format!("{}:{local}", self.usual.get(prefix).map_or(prefix, String::as_str))
            }
            None => name.to_owned(),
        }
    }
}
