//! `graph --all`: all pages, or those around a page, with their positions in a drawing.
//!
//! The graph of all pages is cached until the store changes or the graph is unused for three
//! minutes. It is built from the pages that its caller can see, so positions do not depend on
//! hidden pages.

mod layout;
mod packed_graph;
mod read;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use brain_protocol::{
    Fault, FaultCode, GraphLayout, GraphLayoutReply, LayoutEdge, LayoutNode, Slug, SourceId,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use brain_base::caller::{Caller, Visibility};
use brain_base::clock::{Clock, parse_day};
use brain_page::normalize_tag;
use brain_pages::pages::PageService;
use brain_pages::pages::links::Neighbourhood;
use brain_store::{LATEST, PageLabel, Reader, Store};
use packed_graph::{GraphBuilder, PackedGraph};

/// How long an unused graph stays in the cache, in milliseconds.
const CACHE_MS: i64 = 3 * 60 * 1000;
/// Maximum number of pages around a page.
const MAX_AROUND: u32 = 500;
/// The index of a page that is not in the reply.
const NONE: u32 = u32::MAX;

/// The graph of all pages that a caller can see.
struct CachedGraph {
    /// The store's sequence number when the graph was read.
    seq: u64,
    visibility: Visibility,
    graph: Arc<PackedGraph>,
    /// The time of the last use, in Unix milliseconds.
    used_at: i64,
}

/// Serves `graph --all`.
pub struct GraphService {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    pages: Arc<PageService>,
    stop: CancellationToken,
    cached: Mutex<Option<CachedGraph>>,
}

/// Selects the pages of a request.
struct PageFilter {
    source: Option<SourceId>,
    page_type: Option<String>,
    /// The ids of the pages with the requested tag.
    ids_with_tag: Option<HashSet<u64>>,
    /// The last day on which an admitted page was created, counted from 1970-01-01.
    last_day: i32,
}

impl GraphService {
    /// Creates the service with an empty cache.
    pub fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        pages: Arc<PageService>,
        stop: CancellationToken,
    ) -> Self {
        Self { store, clock, pages, stop, cached: Mutex::new(None) }
    }

    /// Returns the requested part of the graph, with positions.
    ///
    /// # Errors
    /// `invalid_request` for an invalid day; `stopping` if the daemon stops; otherwise the fault of
    /// finding the page or source, or of reading the store.
    pub fn layout(
        &self,
        caller: &Caller,
        request: &GraphLayout,
    ) -> Result<GraphLayoutReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let filter = PageFilter::of(caller, &reader, request)?;
        let (graph, truncated) = match &request.page {
            Some(page) => {
                let limit = MAX_AROUND;
                let around =
                    self.pages.neighbourhood(caller, &reader, page, request.depth, limit)?;
                let truncated = around.truncated;
                (Arc::new(pack_neighbourhood(&around)), truncated)
            }
            None => (self.full_graph(caller, &reader)?, false),
        };
        let matching: Vec<u32> =
            (0..graph.pages.len() as u32).filter(|&page| filter.admits(&graph, page)).collect();
        let limit = request.limit.map_or(usize::MAX, |limit| limit as usize);
        let skip = request.skip as usize;
        let selected: Vec<u32> = matching.iter().copied().skip(skip).take(limit).collect();
        Ok(GraphLayoutReply { truncated, ..reply(&graph, &selected, matching.len() as u64)? })
    }

    /// Removes the cached graph if it is unused for three minutes. For a timer.
    pub fn drop_when_idle(&self) {
        // A locked cache is in use.
        if let Some(mut cached) = self.cached.try_lock() {
            let now = self.clock.now();
            cached.take_if(|cached| (cached.used_at - now).abs() > CACHE_MS);
        }
    }

    /// Returns the graph of all pages that the caller can see.
    fn full_graph(&self, caller: &Caller, reader: &Reader) -> Result<Arc<PackedGraph>, Fault> {
        let (seq, visibility) = (reader.counts()?.seq, caller.visibility());
        let mut cached = self.cached.lock();
        let used_at = self.clock.now();
        if let Some(cached) = cached.as_mut()
            && (cached.seq, &cached.visibility) == (seq, &visibility)
        {
            cached.used_at = used_at;
            return Ok(cached.graph.clone());
        }
        *cached = None;
        let graph = Arc::new(read::read(reader, &self.stop)?);
        *cached = Some(CachedGraph { seq, visibility, graph: graph.clone(), used_at });
        Ok(graph)
    }
}

impl PageFilter {
    fn of(caller: &Caller, reader: &Reader, request: &GraphLayout) -> Result<Self, Fault> {
        let source = brain_pages::sources::resolve_named(caller, reader, request.source.as_ref())?;
        let ids_with_tag = request.tag.as_deref().map(|tag| {
            let (tag, mut ids) = (normalize_tag(tag), HashSet::new());
            let all =
                reader.latest_with_label(PageLabel::Tag(&tag), source.as_ref(), LATEST, |page| {
                    ids.insert(page.2.id);
                    Ok(true)
                });
            all.map(|()| ids)
        });
        Ok(Self {
            ids_with_tag: ids_with_tag.transpose()?,
            page_type: request.page_type.as_deref().map(|text| text.trim().to_lowercase()),
            last_day: request.until.as_deref().map_or(Ok(i32::MAX), day_number)?,
            source,
        })
    }

    fn admits(&self, graph: &PackedGraph, index: u32) -> bool {
        let page = &graph.pages[index as usize];
        let is_source_of_page = |source: &SourceId| graph.sources[page.source as usize] == *source;
        self.source.as_ref().is_none_or(is_source_of_page)
            && self.page_type.as_ref().is_none_or(|it| graph.types[page.page_type as usize] == *it)
            && self.ids_with_tag.as_ref().is_none_or(|ids| ids.contains(&page.id))
            && page.created_day <= self.last_day
    }
}

/// Returns the number of a day, counted from 1970-01-01.
///
/// # Errors
/// `invalid_request` if `text` is not a day.
fn day_number(text: &str) -> Result<i32, Fault> {
    let day = parse_day(text).ok_or_else(|| {
        Fault::new(FaultCode::InvalidRequest, format!("\"{text}\" is not a day"))
            .hint("write a day as YYYY-MM-DD")
    })?;
    let first = jiff::civil::date(1970, 1, 1);
    Ok(day.since(first).map_or(0, |span| span.get_days()))
}

/// Packs the neighbourhood of a page.
fn pack_neighbourhood(around: &Neighbourhood) -> PackedGraph {
    let mut builder = GraphBuilder::default();
    for (page, _) in &around.pages {
        builder.add(page);
    }
    let mut edges: Vec<(u32, u32)> = around.edges.iter().map(|it| (it.from, it.to)).collect();
    edges.retain(|(from, to)| from != to);
    edges.sort_unstable();
    edges.dedup();
    builder.finish(edges)
}

/// Returns the `selected` pages of the graph and the links between them.
fn reply(graph: &PackedGraph, selected: &[u32], total: u64) -> Result<GraphLayoutReply, Fault> {
    // The index in the reply of each page of the graph.
    let mut node_of = vec![NONE; graph.pages.len()];
    let mut nodes = Vec::with_capacity(selected.len());
    for (node, &index) in selected.iter().enumerate() {
        node_of[index as usize] = node as u32;
        let page = &graph.pages[index as usize];
        let (slug, title) = graph.names_of(index);
        let slug = Slug::parse(slug)
            .map_err(|error| Fault::new(FaultCode::Internal, error.message.clone()))?;
        nodes.push(LayoutNode {
            slug,
            source: page.source,
            title: title.to_owned(),
            page_type: page.page_type,
            links: page.links,
            created_day: page.created_day,
            x: page.x,
            y: page.y,
            trust: page.trust,
        });
    }
    let edges = graph.edges.iter().filter_map(|&(from, to)| {
        let (from, to) = (node_of[from as usize], node_of[to as usize]);
        (from != NONE && to != NONE).then_some(LayoutEdge { from, to })
    });
    Ok(GraphLayoutReply {
        sources: graph.sources.clone(),
        types: graph.types.clone(),
        edges: edges.collect(),
        nodes,
        total,
        truncated: false,
    })
}
