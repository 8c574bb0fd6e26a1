//! The parts of a document that is a ZIP archive.

use std::collections::HashMap;
use std::path::Path;

use brain_convert_base::{ConvertError, Entry, Tree};

use crate::decode::xml_text;
use crate::xml::{MAX_XML, Xml};

/// The parts of a document, by their paths in any case.
pub(crate) struct Container {
    tree: Tree,
    numbers: HashMap<String, usize>,
}

impl Container {
    /// Opens a document.
    ///
    /// # Errors
    /// If it cannot be read, or is no ZIP archive.
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        let malformed = |reason: String| ConvertError::Malformed { from: file_name(path), reason };
        let tree = match Tree::open(path) {
            Ok(Some(tree)) => tree,
            Ok(None) => return Err(malformed("it is no ZIP archive".to_owned())),
            Err(error) => return Err(malformed(error.to_string())),
        };
        let paths = tree.entries().iter().enumerate();
        let numbers = paths.map(|(n, entry)| (entry.path.to_lowercase(), n)).collect();
        Ok(Self { tree, numbers })
    }

    /// Returns the part at a path.
    pub(crate) fn entry(&self, path: &str) -> Option<&Entry> {
        let path = path.trim_start_matches('/');
        let by_number = || self.tree.entries().get(*self.numbers.get(&path.to_lowercase())?);
        self.tree.entry(path).or_else(by_number)
    }

    /// Reads a part of at most `max` bytes. The error is a reason for the report.
    pub(crate) fn read(&self, path: &str, max: usize) -> Result<Vec<u8>, String> {
        let entry = self.entry(path).ok_or_else(|| format!("{path} is not in the file"))?;
        match self.tree.read(entry, max) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(format!("{path} in it has more than {max} bytes")),
            Err(error) => Err(format!("{path} in it cannot be read: {error}")),
        }
    }

    /// Reads a part of XML. The error is a reason for the report.
    pub(crate) fn xml(&self, path: &str) -> Result<Xml, String> {
        Ok(Xml::parse(&xml_text(&self.read(path, MAX_XML)?)))
    }

    /// Reads a part of XML that may be absent.
    pub(crate) fn optional_xml(&self, path: &str) -> Xml {
        self.xml(path).unwrap_or_default()
    }

    /// Returns whether there is a part at a path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.entry(path).is_some()
    }
}

/// Returns the name of a file.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Returns the path that a reference means in a part of the folder `folder`: `../media/a.png`. The
/// reference may have a query, a fragment, and `%20`.
pub(crate) fn resolve(folder: &str, reference: &str) -> String {
    let reference = reference.split(['#', '?']).next().unwrap_or_default();
    let reference = percent_decoded(reference);
    let mut names: Vec<&str> = match reference.starts_with('/') {
        true => Vec::new(),
        false => folder.split('/').filter(|name| !name.is_empty()).collect(),
    };
    for name in reference.split('/') {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Returns the path in the archive, and the id, that a reference of a file means.
pub(crate) fn target(path: &str, reference: &str) -> (String, String) {
    let (file, id) = reference.split_once('#').unwrap_or((reference, ""));
    let file = if file.is_empty() { path.to_owned() } else { resolve(folder(path), file) };
    (file, percent_decoded(id))
}

/// Returns the folder of a path.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        match digits.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_relative_to_their_folder() {
        for (folder, reference, path) in [
            ("word", "media/a.png", "word/media/a.png"),
            ("word", "/media/a.png", "media/a.png"),
            ("a/b", "../c%20d.xhtml#x", "a/c d.xhtml"),
            ("a", "../../../x?y", "x"),
            ("", "./x%zz%", "x%zz%"),
        ] {
            assert_eq!(resolve(folder, reference), path);
        }
    }
}
