//! The content of a batch: format 1, the schema of the store as 4 bytes, then the store's changes,
//! compressed.

use crate::SCHEMA;
use crate::compression::{pack, unpack};

const FORMAT: u8 = 1;
const HEADER: usize = 5;
/// The largest changes of a batch: 1 GiB.
const MAX_CHANGES: usize = 1 << 30;

/// Why a payload cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The bytes are not a payload of this format.
    Format,
    /// The changes are of a store with this schema.
    Schema(u32),
}

/// Returns the payload of changes.
pub(crate) fn encode(changes: &[u8]) -> Vec<u8> {
    let mut payload = vec![FORMAT];
    payload.extend_from_slice(&SCHEMA.to_be_bytes());
    payload.append(&mut pack(changes));
    payload
}

/// Returns the changes of a payload.
pub(crate) fn decode(payload: &[u8]) -> Result<Vec<u8>, Problem> {
    let schema = payload.get(1..HEADER).and_then(|bytes| bytes.try_into().ok());
    let (Some(FORMAT), Some(schema)) = (payload.first().copied(), schema) else {
        return Err(Problem::Format);
    };
    match u32::from_be_bytes(schema) {
        SCHEMA => unpack(&payload[HEADER..], MAX_CHANGES).ok_or(Problem::Format),
        other => Err(Problem::Schema(other)),
    }
}
