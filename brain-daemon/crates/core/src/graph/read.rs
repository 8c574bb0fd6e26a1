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
    let links = Links { reader, positions: builder.positions_by_id(), builder: &builder };
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

/// Finds the pages that links lead to.
struct Links<'a> {
    reader: &'a Reader,
    builder: &'a GraphBuilder,
    /// The position of each page, by its id.
    positions: HashMap<u64, u32>,
}

impl Links<'_> {
    /// Returns the position of the page that a link leads to.
    fn target(
        &self,
        link: &LinkRecord,
        source: &SourceId,
        slug: &brain_protocol::Slug,
    ) -> Result<Option<u32>, StoreError> {
        // An exact path comes first in `Reader::resolve`, too, which reads more of the store.
        let named = link.source.as_deref().unwrap_or(source.as_str());
        let exact = link.slugs.iter().find_map(|slug| self.builder.position(named, slug));
        if exact.is_some() {
            return Ok(exact);
        }
        match self.reader.resolve(link, (source, slug))? {
            Resolution::Page(page) => Ok(self.positions.get(&page.2.id).copied()),
            Resolution::Missing | Resolution::Ambiguous => Ok(None),
        }
    }
}
