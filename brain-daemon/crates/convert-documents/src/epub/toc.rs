//! The table of contents of an EPUB: the titles of chapters.

use std::collections::HashMap;

use super::package::Package;
use crate::container::{Container, target};
use crate::facts::is_title;
use crate::xml::Element;

/// The titles of places, by file and id.
#[derive(Debug, Default)]
pub(super) struct Toc(HashMap<String, HashMap<String, String>>);

impl Toc {
    /// Reads the table of contents. The one of EPUB 3 counts.
    pub(super) fn read(container: &Container, package: &Package) -> Self {
        let mut toc = Self::default();
        if let Some(path) = &package.nav {
            let xml = container.optional_xml(path);
            let navs = || xml.elements().filter(|it| it.local_name() == "nav");
            let is_toc = |it: &Element<'_>| it.attribute("epub:type") == Some("toc");
            let nav = navs().find(is_toc).or_else(|| navs().next());
            for link in nav.into_iter().flat_map(Element::descendants) {
                if link.local_name() == "a" {
                    toc.add(path, link.attribute("href"), &link.text());
                }
            }
        }
        if let Some(path) = package.ncx.as_ref().filter(|_| toc.0.is_empty()) {
            let xml = container.optional_xml(path);
            for point in xml.elements().filter(|it| it.local_name() == "navPoint") {
                let named = |name: &str| point.children().find(|it| it.local_name() == name);
                let label = named("navLabel").map(Element::text).unwrap_or_default();
                toc.add(path, named("content").and_then(|it| it.attribute("src")), &label);
            }
        }
        toc
    }

    fn add(&mut self, path: &str, reference: Option<&str>, label: &str) {
        let label = brain_page::single_line(label);
        let Some(reference) = reference.filter(|_| is_title(&label)) else { return };
        let (file, id) = target(path, reference);
        self.0.entry(file).or_default().entry(id).or_insert(label);
    }

    /// Returns the title of a file.
    pub(super) fn title(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.get("").map(String::as_str)
    }

    /// Returns the titles of places in a file, by their ids.
    pub(super) fn places(&self, path: &str) -> Option<&HashMap<String, String>> {
        self.0.get(path)
    }
}
