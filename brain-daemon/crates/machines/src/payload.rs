//! The content of a batch: format 1, the schema of the store as 4 bytes, then the store's changes.

use crate::SCHEMA;

const FORMAT: u8 = 1;
const HEADER: usize = 5;

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
    let mut payload = Vec::with_capacity(changes.len() + HEADER);
    payload.push(FORMAT);
    payload.extend_from_slice(&SCHEMA.to_be_bytes());
    payload.extend_from_slice(changes);
    payload
}

/// Returns the changes of a payload.
pub(crate) fn decode(mut payload: Vec<u8>) -> Result<Vec<u8>, Problem> {
    let schema = payload.get(1..HEADER).and_then(|bytes| bytes.try_into().ok());
    let (Some(FORMAT), Some(schema)) = (payload.first().copied(), schema) else {
        return Err(Problem::Format);
    };
    match u32::from_be_bytes(schema) {
        SCHEMA => {
            payload.drain(..HEADER);
            Ok(payload)
        }
        other => Err(Problem::Schema(other)),
    }
}
