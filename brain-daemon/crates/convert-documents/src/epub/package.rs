//! The package document of an EPUB: metadata, files, and the order of chapters.

use std::collections::HashMap;

use jiff::tz::TimeZone;

use crate::container::{Container, folder, resolve};
use crate::draft::Draft;
use crate::facts::time;
use crate::xml::{Element, Xml};

/// The path of the file that names the package.
pub(super) const CONTAINER: &str = "META-INF/container.xml";

/// What the package says.
#[derive(Debug, Default)]
pub(super) struct Package {
    /// The paths of the chapters, in order.
    pub(super) chapters: Vec<String>,
    /// The path of the table of contents of EPUB 3.
    pub(super) nav: Option<String>,
    /// The path of the one of EPUB 2.
    pub(super) ncx: Option<String>,
}

impl Package {
    /// Reads the package, and its metadata into the draft. The error is a reason.
    pub(super) fn read(container: &Container, draft: &mut Draft) -> Result<Self, String> {
        let root = container.optional_xml(CONTAINER);
        let path = root.elements().find(|it| it.local_name() == "rootfile");
        let path = path.and_then(|it| it.attribute("full-path")).unwrap_or("content.opf");
        let path = crate::container::percent_decoded(path);
        let opf = container.xml(&path)?;
        metadata(&opf, draft);
        let mut package = Self::default();
        let mut files = HashMap::new();
        for item in named(&opf, "item") {
            let value = |name: &str| item.attribute(name).unwrap_or_default();
            let file = resolve(folder(&path), value("href"));
            let has = |word: &str| value("properties").split_whitespace().any(|it| it == word);
            if has("nav") {
                package.nav = Some(file.clone());
            }
            if value("media-type") == "application/x-dtbncx+xml" {
                package.ncx = Some(file.clone());
            }
            files.insert(value("id"), (file, value("media-type")));
        }
        for itemref in named(&opf, "itemref") {
            let id = itemref.attribute("idref").unwrap_or_default();
            match files.get(id) {
                Some((file, kind)) if kind.contains("html") || kind.contains("xml") => {
                    if !package.chapters.contains(file) {
                        package.chapters.push(file.clone());
                    }
                }
                Some((file, kind)) => draft.lost(format!(
                    "its chapter {file} is no text ({})",
                    brain_page::single_line(kind)
                )),
                None => draft.lost(format!("its chapter {id} is not in its list of files")),
            }
        }
        match (&opf.error, package.chapters.is_empty()) {
            (Some(reason), _) => Err(format!("{path}: {reason}")),
            (None, true) => Err(format!("{path} names no chapter")),
            (None, false) => Ok(package),
        }
    }
}

fn named<'a>(xml: &'a Xml, name: &'a str) -> impl Iterator<Item = Element<'a>> {
    xml.elements().filter(move |it| it.local_name() == name)
}

fn metadata(opf: &Xml, draft: &mut Draft) {
    let facts = &mut draft.facts;
    let Some(metadata) = named(opf, "metadata").next() else { return };
    let roles = refinements(metadata, "role");
    for element in metadata.descendants() {
        let text = element.text();
        match element.name() {
            "dc:title" => facts.set_title(&text),
            "dc:creator" => {
                let id = element.attribute("id").and_then(|id| roles.get(id));
                let role = element.attribute("opf:role").or(id.map(String::as_str));
                // Others are illustrators, programs, …
                if role.is_none_or(|role| role == "aut") {
                    facts.add_authors(&text);
                }
            }
            "dc:subject" => facts.add_tags(&text),
            "dc:publisher" => facts.add_field("publisher", &text),
            "dc:description" => facts.add_field("description", &without_tags(&text)),
            "dc:date" => date(element, &text, facts),
            _ if element.attribute("property") == Some("dcterms:modified") => {
                facts.updated = time(&text, &TimeZone::UTC);
            }
            _ => {}
        }
    }
}

/// Returns what elements `meta` add to others, by the ids of those.
fn refinements(metadata: Element<'_>, property: &str) -> HashMap<String, String> {
    let metas = metadata.descendants().filter(|it| it.attribute("property") == Some(property));
    let pair = |meta: Element<'_>| {
        let id = meta.attribute("refines")?.strip_prefix('#')?;
        Some((id.to_owned(), meta.text().trim().to_owned()))
    };
    metas.filter_map(pair).collect()
}

/// Reads a date: of the publication, unless its event says otherwise.
fn date(element: Element<'_>, text: &str, facts: &mut crate::facts::Facts) {
    let moment = time(text, &TimeZone::UTC);
    match element.attribute("opf:event") {
        Some("modification") => facts.updated = moment,
        Some("creation") => facts.created = moment,
        _ => {
            // calibre writes the year 101 for none.
            let is_none = text.trim().starts_with('0');
            if !is_none && !facts.fields.iter().any(|(key, _)| *key == "published") {
                facts.add_field("published", text);
            }
            facts.created = facts.created.or(moment);
        }
    }
}

/// Returns a description without the tags of HTML, which calibre writes into it.
fn without_tags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let Some((_, after)) = after.split_once('>') else { break };
        out.push_str(before);
        out.push(' ');
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns whether chapters are encrypted. Obfuscated fonts are no lock.
pub(super) fn is_locked(container: &Container, package: &Package) -> bool {
    let xml = container.optional_xml("META-INF/encryption.xml");
    let mut paths = xml.elements().filter(|it| it.local_name() == "CipherReference");
    paths.any(|it| {
        let path = resolve("", it.attribute("URI").unwrap_or_default());
        package.chapters.contains(&path)
    })
}
