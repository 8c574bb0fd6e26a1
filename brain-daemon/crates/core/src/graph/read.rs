//! Reads all pages and their links.

use std::collections::HashMap;

use brain_protocol::{Fault, FaultCode, SourceId};
use tokio_util::sync::CancellationToken;

use super::packed_graph::{GraphBuilder, PackedGraph};
use brain_store::{LinkRecord, Reader, Resolution, StoreError};

/// Returns the graph of all pages that the reader shows.
///
/// # Errors
/// When the store cannot be read, or the daemon stops.
pub(super) fn read(reader: &Reader, stop: &CancellationToken) -> Result<PackedGraph, Fault> {
    let stopping = || Fault::new(FaultCode::Stopping, "the daemon is stopping");
    let mut builder = GraphBuilder::default();
    let mut pages = Vec::new();
    reader.in_order(("", ""), |page| {
        builder.add(&page);
        pages.push((page.0, page.1, page.2.id));
        Ok(!stop.is_cancelled())
    })?;
    let links = Links { reader, indices: builder.indices_by_id(), builder: &builder };
    let mut edges = Vec::new();
    for (from, (source, slug, id)) in (0..).zip(&pages) {
        if stop.is_cancelled() {
            return Err(stopping());
        }
        let first = edges.len();
        for link in reader.derived(*id)?.links {
            let to = links.target(&link, source, slug)?.filter(|to| *to != from);
            edges.extend(to.map(|to| (from, to)));
        }
        edges[first..].sort_unstable();
        edges.dedup();
    }
    drop(pages);
    Ok(builder.finish(edges))
}

/// Resolves links to pages.
struct Links<'a> {
    reader: &'a Reader,
    builder: &'a GraphBuilder,
    /// The index of each page, by its id.
    indices: HashMap<u64, u32>,
}

impl Links<'_> {
    /// Returns the index of the page that a link leads to.
    fn target(
        &self,
        link: &LinkRecord,
        source: &SourceId,
        slug: &brain_protocol::Slug,
    ) -> Result<Option<u32>, StoreError> {
        // `Reader::resolve` also prefers an exact path, but reads more of the store.
        let named = link.source.as_deref().unwrap_or(source.as_str());
        let exact = link.slugs.iter().find_map(|slug| self.builder.index_of(named, slug));
        if exact.is_some() {
            return Ok(exact);
        }
        match self.reader.resolve(link, (source, slug))? {
            Resolution::Page(page) => Ok(self.indices.get(&page.2.id).copied()),
            Resolution::Missing | Resolution::Ambiguous => Ok(None),
        }
    }
}
