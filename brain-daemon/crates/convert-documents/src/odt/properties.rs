//! The metadata of an ODT, `meta.xml`, and its headers and footers.

use std::collections::HashSet;
use std::path::Path;

use jiff::tz::TimeZone;

use crate::container::Container;
use crate::draft::Draft;
use crate::facts::{file_time, time};
use crate::xml::{Element, Xml};

/// Reads the metadata. A document without times has those of its file.
pub(super) fn read(container: &Container, path: &Path, draft: &mut Draft) {
    let xml = container.optional_xml("meta.xml");
    let facts = &mut draft.facts;
    // Times have no zone: they are local.
    let moment = |text: &str| time(text, &TimeZone::system());
    let mut last_author = String::new();
    for element in xml.find("office:meta").into_iter().flat_map(Element::children) {
        let text = element.text();
        match element.name() {
            "dc:title" => facts.set_title(&text),
            "meta:initial-creator" => facts.add_authors(&text),
            "dc:creator" => last_author = text,
            "meta:creation-date" => facts.created = moment(&text),
            "dc:date" => facts.updated = moment(&text),
            "meta:keyword" => facts.add_tags(&text),
            "dc:subject" => facts.add_field("subject", &text),
            "dc:description" => facts.add_field("description", &text),
            _ => {}
        }
    }
    if facts.authors.is_empty() {
        facts.add_authors(&last_author);
    }
    if facts.created.is_none() && facts.updated.is_none() {
        facts.created = file_time(path);
        facts.updated = facts.created;
    }
}

/// Reports the headers and footers, which belong to no place of the text.
pub(super) fn report_headers(styles: &Xml, draft: &mut Draft) {
    let mut seen = HashSet::new();
    for element in styles.elements() {
        let kind = match element.name() {
            "style:header" | "style:header-left" | "style:header-first" => "header",
            "style:footer" | "style:footer-left" | "style:footer-first" => "footer",
            _ => continue,
        };
        let text = brain_page::single_line(&element.text());
        if text.chars().any(char::is_alphabetic) && seen.insert(text.clone()) {
            let text: String = text.chars().take(200).collect();
            draft.lost(format!("its {kind} \"{text}\" is only in the kept file"));
        }
    }
}
