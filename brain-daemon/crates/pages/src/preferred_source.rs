//! The source of requests that name none.

use brain_protocol::SourceId;
use brain_store::SourceRecord;

/// Returns the source of a request that names none: the preferred one of `sources`, else the only
/// one, else `default`. `sources` are the sources that the caller can see.
pub fn preferred(sources: &[(SourceId, SourceRecord)]) -> SourceId {
    let chosen = sources.iter().find(|(_, record)| record.is_default);
    match (chosen, sources) {
        (Some((id, _)), _) | (None, [(id, _)]) => id.clone(),
        (None, _) => SourceId::default(),
    }
}
