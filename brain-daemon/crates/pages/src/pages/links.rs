//! Links, backlinks and the neighbourhood of a page.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use brain_protocol::{
    Fault, FaultCode, Graph, GraphEdge, GraphNode, GraphReply, LinkRow, LinksReply, PageRef,
    TargetStatus, TrustLevel,
};

use crate::pages::PageService;
use crate::provenance::trust_of_row;
use brain_base::caller::Caller;
use brain_page::{MENTIONS, each_link, plain_sentence};
use brain_store::{
    LinkRecord, PageEntry, PageRecord, Reader, Resolution, StoreError, unless_damaged,
};

const MAX_DEPTH: u32 = 5;
const MAX_NODES: u32 = 1000;
const MAX_ROWS: usize = 10_000;
/// Maximum number of backlinks with a sentence: each sentence needs the text of its page.
const MAX_SENTENCES: usize = 200;
/// Maximum length of a sentence, in characters.
const MAX_SENTENCE: usize = 240;

impl PageService {
    /// Lists the links of a page.
    pub fn links(&self, caller: &Caller, request: &PageRef) -> Result<LinksReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, slug, record) = self.find(caller, &reader, request)?;
        let mut links = Vec::new();
        let found = reader.derived(record.id)?.links;
        let truncated = found.len() > MAX_ROWS;
        for link in found.into_iter().take(MAX_ROWS) {
            let resolution = reader.resolve(&link, (&source, &slug))?;
            if matches!(resolution, Resolution::Missing)
                && reader.is_file_of(record.id, &link.raw)?
            {
                continue;
            }
            links.push(self.link_row(caller, link, resolution));
        }
        Ok(LinksReply { slug, source_id: source, direction: "links".into(), links, truncated })
    }

    /// Lists the links to a page.
    pub fn backlinks(&self, caller: &Caller, request: &PageRef) -> Result<LinksReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, slug, found, exists) = match self.active(caller, &reader, request) {
            Ok((source, record)) => {
                let page = (source, request.slug.clone(), record);
                let found = reader.backlinks(&page)?;
                (page.0, page.1, found, true)
            }
            // A page that does not exist yet can be linked to already.
            Err(fault) if fault.code == FaultCode::NotFound => {
                let (source, _) =
                    crate::sources::resolve(caller, &reader, request.source.as_ref())?;
                let found = reader.links_to_missing(&source, &request.slug)?;
                // For a deleted page, the fault says that it is deleted.
                if reader.page_even_deleted(&source, &request.slug)?.is_some() {
                    return Err(fault);
                }
                if found.is_empty() {
                    let page = self.find(caller, &reader, request)?;
                    let found = reader.backlinks(&page)?;
                    (page.0, page.1, found, true)
                } else {
                    (source, request.slug.clone(), found, false)
                }
            }
            Err(fault) => return Err(fault),
        };
        let truncated = found.len() > MAX_ROWS;
        let mut links = Vec::with_capacity(found.len().min(MAX_ROWS));
        for (from, link) in found.into_iter().take(MAX_ROWS) {
            let sentence = match links.len() < MAX_SENTENCES {
                true => sentence(&reader, &from.2, &link)?,
                false => None,
            };
            let row = self.link_row(caller, link, Resolution::Page(Box::new(from)));
            // The row describes the page with the link, which exists. The status is that of the
            // link's target.
            let status = if exists { row.status } else { TargetStatus::Missing };
            links.push(LinkRow { status, sentence, ..row });
        }
        Ok(LinksReply { slug, source_id: source, direction: "backlinks".into(), links, truncated })
    }

    fn link_row(&self, caller: &Caller, link: LinkRecord, resolution: Resolution) -> LinkRow {
        let mut row = LinkRow {
            slug: None,
            source_id: None,
            title: None,
            target: link.raw,
            kind: link.kind,
            status: TargetStatus::Missing,
            source_kind: None,
            trust: TrustLevel::default(),
            path: None,
            sentence: None,
        };
        match resolution {
            Resolution::Page(page) => {
                let (source, slug, record) = *page;
                row.status = TargetStatus::Live;
                row.trust = trust_of_row(&record);
                row.path = self.files.visible_path(caller, &source, &record);
                row.slug = Some(slug);
                row.source_id = Some(source);
                row.title = Some(record.title);
                row.source_kind = record.provenance.source_kind;
            }
            Resolution::Missing => {}
            Resolution::Ambiguous => row.status = TargetStatus::Ambiguous,
        }
        row
    }

    /// Lists the pages around a page.
    pub fn graph(&self, caller: &Caller, request: &Graph) -> Result<GraphReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let Neighbourhood { pages, edges, truncated } =
            self.neighbourhood(caller, &reader, &request.page, request.depth, request.limit)?;
        let nodes = pages
            .into_iter()
            .map(|((source, slug, record), depth)| node(source, slug, record, depth))
            .collect();
        Ok(GraphReply { nodes, edges, truncated })
    }

    /// Returns the neighbourhood of a page: a breadth-first walk over links in both directions.
    /// Limits `depth` to 1 to `MAX_DEPTH` links, and `limit` to 1 to `MAX_NODES` pages.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn neighbourhood(
        &self,
        caller: &Caller,
        reader: &Reader,
        page: &PageRef,
        depth: u32,
        limit: u32,
    ) -> Result<Neighbourhood, Fault> {
        let centre = self.find(caller, reader, page)?;
        let limit = limit.clamp(1, MAX_NODES) as usize;
        let depth = depth.clamp(1, MAX_DEPTH);
        let mut position = HashMap::from([(centre.2.id, 0_u32)]);
        let mut pages = vec![(centre, 0)];
        let mut truncated = false;
        let mut next = 0;
        while next < pages.len() {
            let (page, distance) = pages[next].clone();
            next += 1;
            if distance == depth {
                continue;
            }
            let mut neighbours = Vec::new();
            for link in reader.derived(page.2.id)?.links {
                if let Resolution::Page(target) = reader.resolve(&link, (&page.0, &page.1))? {
                    neighbours.push(*target);
                }
            }
            neighbours.extend(reader.backlinks(&page)?.into_iter().map(|(from, _)| from));
            for neighbour in neighbours {
                if position.contains_key(&neighbour.2.id) {
                    continue;
                }
                if pages.len() == limit {
                    truncated = true;
                    break;
                }
                position.insert(neighbour.2.id, pages.len() as u32);
                pages.push((neighbour, distance + 1));
            }
        }
        let edges = edges_between(reader, &pages, &position)?;
        Ok(Neighbourhood { pages, edges, truncated })
    }
}

/// The pages around a page.
pub struct Neighbourhood {
    /// The pages with their distance in links, nearest first.
    pub pages: Vec<(PageEntry, u32)>,
    /// The links between them.
    pub edges: Vec<GraphEdge>,
    /// Whether the limit left out pages.
    pub truncated: bool,
}

/// Returns the links between these pages, each once. `position` has the index of each page in
/// `pages`, by page id.
fn edges_between(
    reader: &Reader,
    pages: &[(PageEntry, u32)],
    position: &HashMap<u64, u32>,
) -> Result<Vec<GraphEdge>, StoreError> {
    let (mut edges, mut edge_keys) = (Vec::new(), HashSet::new());
    for ((source, slug, record), _) in pages {
        for link in reader.derived(record.id)?.links {
            if let Resolution::Page(target) = reader.resolve(&link, (source, slug))?
                && let Some(&to) = position.get(&target.2.id)
            {
                let edge = GraphEdge { from: position[&record.id], to, kind: link.kind };
                if edge_keys.insert((edge.from, edge.to, edge.kind.clone())) {
                    edges.push(edge);
                }
            }
        }
    }
    Ok(edges)
}

/// Returns the sentence of a page with this link, on one line. `None` for a link in the
/// frontmatter, for an empty sentence, and for a damaged page.
pub(super) fn sentence(
    reader: &Reader,
    record: &PageRecord,
    link: &LinkRecord,
) -> Result<Option<String>, StoreError> {
    if link.kind != MENTIONS {
        return Ok(None);
    }
    let Some(content) = unless_damaged(reader.content(record))? else { return Ok(None) };
    let found = OnceCell::new();
    // Reads the sentence of the first link only: a page may have thousands.
    let is_first = |raw: &str| found.get().is_none() && raw == link.raw;
    each_link(&content.body, &is_first, &mut |context| {
        found.get_or_init(|| plain_sentence(context.sentence, MAX_SENTENCE));
    });
    Ok(found.into_inner().filter(|sentence| !sentence.is_empty()))
}

/// Returns a page as a node of the graph.
fn node(
    source: brain_protocol::SourceId,
    slug: brain_protocol::Slug,
    record: PageRecord,
    depth: u32,
) -> GraphNode {
    let trust = trust_of_row(&record);
    GraphNode {
        slug,
        source_id: source,
        title: record.title,
        page_type: record.page_type,
        depth,
        source_kind: record.provenance.source_kind,
        trust,
    }
}
