//! A page as the hit of a search.

use brain_base::clock::rfc3339;
use brain_page as page;
use brain_protocol::{Hit, PageVersion, Slug, SourceId, TrustLevel};
use brain_store::PageRecord;

/// Returns a page as a hit with this score. The passage, the address, the trust and what matched
/// are empty.
#[must_use]
pub fn page_hit(source: SourceId, slug: Slug, record: PageRecord, score: f32) -> Hit {
    Hit {
        page: PageVersion { page: record.id, version: record.version },
        copy_of: page::program_copy(&record.source_path).map(|copy| copy.original),
        slug,
        source_id: source,
        title: record.title,
        page_type: record.page_type,
        score,
        snippet: String::new(),
        highlights: Vec::new(),
        chunk: 0,
        matched: Vec::new(),
        updated_at: rfc3339(record.updated_at),
        explain: Vec::new(),
        line: 0,
        source_kind: record.provenance.source_kind,
        source_uri: record.provenance.source_uri,
        url: None,
        trust: TrustLevel::default(),
        path: None,
        also_in: Vec::new(),
        span: None,
        copies: Vec::new(),
    }
}
