//! Definition, references, hover and document links.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use brain_page::{LinkSpan, heading_of_anchor};
use brain_protocol::{
    Backlinks, EditorPage, Fault, FaultCode, Get, List, PageRef, TargetStatus, WrittenLink,
};
use gen_lsp_types::{DocumentLink, Location, Position, Range as LspRange};
use serde_json::{Value, json};

use crate::document::Outline;
use crate::server::{Answer, OfDocument, Place, Server};
use crate::uri::uri_of;

/// Maximum number of different links of a document that are resolved at once.
pub(crate) const MAX_LINKS: usize = 10_000;
/// Maximum number of pages that a tag leads to.
const MAX_TAGGED: u32 = 200;
/// The number of lines of a page that a hover shows.
const HOVER_LINES: usize = 8;

/// What stands at a position.
pub(crate) enum Element {
    Link(LinkSpan),
    /// A tag, without `#`.
    Tag(Range<usize>),
    /// A heading, by its index.
    Heading(usize),
}

impl Outline {
    /// Returns what stands at a byte.
    pub(crate) fn element_at(&self, byte: usize) -> Option<Element> {
        if let Some(link) = self.link_at(byte) {
            return Some(Element::Link(link.clone()));
        }
        let tag = self.tags.iter().find(|tag| tag.start <= byte + 1 && byte <= tag.end);
        if let Some(tag) = tag {
            return Some(Element::Tag(tag.clone()));
        }
        let is_here = |lines: &Range<usize>| lines.start <= byte && byte <= lines.end;
        let heading = self.headings.iter().position(|heading| is_here(&heading.lines));
        heading.map(Element::Heading)
    }
}

/// Returns a link as the daemon resolves it.
pub(crate) fn written(link: &LinkSpan) -> WrittenLink {
    WrittenLink { target: link.raw.clone(), is_wiki: link.is_wiki }
}

impl Server {
    pub(crate) fn definition(&mut self, place: &Place) -> Answer {
        let (path, document) = self.open_document(&place.text_document)?;
        let outline = document.outline();
        let byte = document.text.byte(place.position);
        Ok(match outline.element_at(byte) {
            Some(Element::Link(link)) if link.path().is_empty() => {
                let anchor = link.anchor().unwrap_or_default();
                json!(self.location(&path, Some((anchor, link.is_wiki))))
            }
            Some(Element::Link(link)) => {
                let anchor = link.anchor().map(|anchor| (anchor, link.is_wiki));
                let found = self.resolve_one(&path, written(&link), false)?;
                let files = found.into_iter().flat_map(|it| it.pages).filter_map(|it| it.file);
                let locations: Vec<Location> =
                    files.map(|file| self.location(&file, anchor)).collect();
                json!(locations)
            }
            Some(Element::Tag(tag)) => {
                json!(self.tagged(&document.text.as_str()[tag.clone()])?)
            }
            _ => Value::Null,
        })
    }

    /// Returns the place of a heading or a block in a file, or its beginning.
    pub(crate) fn location(&self, path: &str, anchor: Option<(&str, bool)>) -> Location {
        let uri = self.uri(path).into();
        let found = anchor.and_then(|(anchor, is_wiki)| {
            let (text, outline) = self.read(path)?;
            if let Some(block) = anchor.strip_prefix('^') {
                let end = format!(" ^{block}");
                let at = text.as_str().find(&end)?;
                return Some(text.range(text.line_at(at).1));
            }
            let index = heading_of_anchor(&outline.heading_texts(), anchor, is_wiki)?;
            Some(text.range(outline.headings[index].lines.clone()))
        });
        let start = Position { line: 0, character: 0 };
        Location { uri, range: found.unwrap_or(LspRange { start, end: start }) }
    }

    pub(crate) fn references(&mut self, place: &Place) -> Answer {
        let (path, document) = self.open_document(&place.text_document)?;
        let outline = document.outline();
        let byte = document.text.byte(place.position);
        let page = match outline.element_at(byte) {
            Some(Element::Tag(tag)) => {
                return Ok(json!(self.tagged(&document.text.as_str()[tag.clone()])?));
            }
            Some(Element::Link(link)) if !link.path().is_empty() => {
                let found = self.resolve_one(&path, written(&link), false)?;
                found.and_then(|found| found.pages.into_iter().next()).map(|page| page.page)
            }
            _ => self.resolve(&path, Vec::new(), false)?.page,
        };
        match page {
            Some(page) if page.source.is_some() => Ok(json!(self.links_to(page)?)),
            _ => Ok(json!([])),
        }
    }

    /// Returns the places of the links to a page.
    fn links_to(&self, page: PageRef) -> Result<Vec<Location>, Fault> {
        let reply = match self.daemon.run(Backlinks { page }) {
            // A document that is not stored yet.
            Err(fault) if fault.code == FaultCode::NotFound => return Ok(Vec::new()),
            reply => reply?,
        };
        let mut targets: BTreeMap<String, HashSet<String>> = BTreeMap::new();
        for row in reply.links {
            if let Some(path) = row.path {
                targets.entry(path).or_default().insert(row.target);
            }
        }
        let mut found = Vec::new();
        for (path, targets) in targets {
            let Some((text, outline)) = self.read(&path) else { continue };
            // The stored page has each target once, as it was written first.
            let paths: HashSet<&str> =
                targets.iter().map(|it| it.split(['#', '|']).next().unwrap_or_default()).collect();
            let links = outline.links.iter().filter(|link| paths.contains(link.path()));
            found.extend(links.map(|link| Location {
                uri: self.uri(&path).into(),
                range: text.range(link.range.clone()),
            }));
        }
        Ok(found)
    }

    /// Returns the places of a tag in the pages that have it.
    fn tagged(&self, tag: &str) -> Result<Vec<Location>, Fault> {
        let tag = brain_page::normalize_tag(tag);
        let list = newest(Some(tag.clone()), MAX_TAGGED);
        let mut found = Vec::new();
        for path in self.daemon.run(list)?.pages.into_iter().filter_map(|page| page.path) {
            let Some((text, outline)) = self.read(&path) else { continue };
            let is_tag = |range: &&Range<usize>| {
                brain_page::normalize_tag(&text.as_str()[(*range).clone()]) == tag
            };
            let places: Vec<Location> = outline
                .tags
                .iter()
                .filter(is_tag)
                .map(|range| {
                    let (uri, range) = (self.uri(&path).into(), text.range(range.clone()));
                    Location { uri, range }
                })
                .collect();
            // The tag may be in the frontmatter.
            match places.is_empty() {
                true => found.push(self.location(&path, None)),
                false => found.extend(places),
            }
        }
        Ok(found)
    }

    pub(crate) fn hover(&mut self, place: &Place) -> Answer {
        let (path, document) = self.open_document(&place.text_document)?;
        let byte = document.text.byte(place.position);
        let Some(Element::Link(link)) = document.outline().element_at(byte) else {
            return Ok(Value::Null);
        };
        if link.path().is_empty() {
            return Ok(Value::Null);
        }
        let range = document.text.range(link.range.clone());
        let Some(found) = self.resolve_one(&path, written(&link), false)? else {
            return Ok(Value::Null);
        };
        let text = match (found.status, found.pages.as_slice()) {
            (TargetStatus::Missing, []) => format!("There is no page \"{}\" yet.", link.path()),
            (TargetStatus::Ambiguous, pages) => format!(
                "Several pages have this name: {}",
                pages.iter().map(|it| it.path.as_str()).collect::<Vec<_>>().join(", ")
            ),
            (_, [page, ..]) if page.page.source.is_some() => self.describe(page)?,
            _ => return Ok(Value::Null),
        };
        Ok(json!({ "contents": { "kind": "markdown", "value": text }, "range": range }))
    }

    /// Describes a page: title, dates, the number of links to it, and its first lines.
    fn describe(&self, page: &EditorPage) -> Result<String, Fault> {
        let stored = self.daemon.run(Get { page: page.page.clone(), version: None })?;
        let links = self.daemon.run(Backlinks { page: page.page.clone() })?;
        let from: HashSet<_> = links.links.iter().map(|row| (&row.source_id, &row.slug)).collect();
        let day = |time: &str| time.get(..10).unwrap_or(time).to_owned();
        let pages = match from.len() {
            1 => "1 page links here".to_owned(),
            count => format!("{count} pages link here"),
        };
        let (created, updated) = (day(&stored.created_at), day(&stored.updated_at));
        let heading = format!("# {}", stored.title);
        let lines = stored.body.lines().filter(|line| line.trim_end() != heading);
        let lines: Vec<&str> =
            lines.skip_while(|line| line.trim().is_empty()).take(HOVER_LINES).collect();
        Ok(format!(
            "**{}**\n\n{} · created {created}, changed {updated} · {pages}\n\n---\n\n{}",
            stored.title,
            page.path,
            lines.join("\n")
        ))
    }

    pub(crate) fn document_links(&mut self, of: &OfDocument) -> Answer {
        let (path, document) = self.open_document(&of.text_document)?;
        let outline = document.outline();
        let files = self.files_of_links(&path, &outline)?;
        let links = outline.links.iter().filter_map(|link| {
            let (file, title) = files.get(&written(link))?;
            Some(DocumentLink {
                range: document.text.range(link.range.clone()),
                target: Some(uri_of(file).into()),
                tooltip: Some(title.clone()),
                ..DocumentLink::default()
            })
        });
        Ok(json!(links.collect::<Vec<_>>()))
    }

    /// Returns the files and titles to which links lead.
    fn files_of_links(
        &self,
        path: &str,
        outline: &Outline,
    ) -> Result<HashMap<WrittenLink, (String, String)>, Fault> {
        let links = distinct(outline);
        let reply = self.resolve(path, links.clone(), false)?;
        let found = links.into_iter().zip(reply.links).filter_map(|(link, found)| {
            let is_clear = found.status != TargetStatus::Ambiguous;
            let page = found.pages.into_iter().next().filter(|_| is_clear)?;
            Some((link, (page.file?, page.title)))
        });
        Ok(found.collect())
    }
}

/// Returns the request for the pages that changed last, or for those with a tag.
pub(crate) fn newest(tag: Option<String>, limit: u32) -> List {
    List { tag, limit, ..List::default() }
}

/// Returns the different links of a document that can lead to pages, at most [`MAX_LINKS`].
pub(crate) fn distinct(outline: &Outline) -> Vec<WrittenLink> {
    let mut known = HashSet::new();
    let links = outline.links.iter().filter(|link| !link.path().is_empty()).map(written);
    links.filter(|link| known.insert(link.clone())).take(MAX_LINKS).collect()
}
