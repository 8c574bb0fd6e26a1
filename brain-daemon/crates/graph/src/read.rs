//! Reads all pages and their links as a graph.

use std::collections::HashMap;

use brain_protocol::{Fault, FaultCode, SourceId};
use tokio_util::sync::CancellationToken;

use super::packed_graph::{GraphBuilder, PackedGraph};
use brain_store::{LinkRecord, Reader, Resolution, StoreError};

/// Returns the graph of all pages that the reader shows.
///
/// # Errors
/// `stopping` if the daemon stops; otherwise the fault of reading the store.
pub(super) fn read(reader: &Reader, stop: &CancellationToken) -> Result<PackedGraph, Fault> {
    let stopping = || Fault::new(FaultCode::Stopping, "the daemon is stopping");
    let mut builder = GraphBuilder::default();
    let mut pages = Vec::new();
    reader.pages_in_order(("", ""), |page| {
        builder.add(&page);
        pages.push((page.0, page.1, page.2.id));
        Ok(!stop.is_cancelled())
    })?;
    let resolver = LinkResolver { reader, indices: builder.indices_by_id(), builder: &builder };
    let (mut edges, mut targets) = (Vec::new(), Vec::new());
    for (from, (source, slug, id)) in (0..).zip(&pages) {
        if stop.is_cancelled() {
            return Err(stopping());
        }
        for link in reader.derived(*id)?.links {
            targets.extend(resolver.target(&link, source, slug)?.filter(|to| *to != from));
        }
        targets.sort_unstable();
        targets.dedup();
        edges.extend(targets.drain(..).map(|to| (from, to)));
    }
    drop(pages);
    Ok(builder.finish(edges))
}

/// Resolves links to pages.
struct LinkResolver<'a> {
    reader: &'a Reader,
    builder: &'a GraphBuilder,
    /// The index of each page, by its id.
    indices: HashMap<u64, u32>,
}

impl LinkResolver<'_> {
    /// Returns the index of the page that a link leads to. `None` if there is no such page, or
    /// several. `source` and `slug` name the page with the link.
    fn target(
        &self,
        link: &LinkRecord,
        source: &SourceId,
        slug: &brain_protocol::Slug,
    ) -> Result<Option<u32>, StoreError> {
        // `Reader::resolve` also prefers an exact path, but reads more of the store.
        let target_source = link.source.as_deref().unwrap_or(source.as_str());
        let exact = link.slugs.iter().find_map(|slug| self.builder.index_of(target_source, slug));
        if exact.is_some() {
            return Ok(exact);
        }
        match self.reader.resolve(link, (source, slug))? {
            Resolution::Page(page) => Ok(self.indices.get(&page.2.id).copied()),
            Resolution::Missing | Resolution::Ambiguous => Ok(None),
        }
    }
}
