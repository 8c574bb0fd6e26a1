//! The only place on the wire's side that names bincode; the daemon's store has the other.
//!
//! bincode 1.3.3 with `DefaultOptions`: variable-length integers, little endian, trailing bytes
//! refused, and a size limit on both directions. A hostile length prefix is an error and allocates
//! nothing. No type on the wire is recursive and none is zero-sized, because either would defeat the
//! limit.

use bincode::Options;
use serde::{Serialize, de::DeserializeOwned};

use crate::MAX_FRAME;

/// A value that does not fit the wire, or bytes that are not the value they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecError(String);

impl std::fmt::Display for CodecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CodecError {}

fn options() -> impl Options {
    bincode::DefaultOptions::new().with_limit(MAX_FRAME as u64)
}

/// The bytes of `value`, at most [`MAX_FRAME`] of them.
///
/// # Errors
/// When the value would take more than [`MAX_FRAME`] bytes.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    options().serialize(value).map_err(|e| CodecError(e.to_string()))
}

/// The value that `bytes` hold, and nothing beside it.
///
/// # Errors
/// When the bytes are truncated, have something left over, or break a rule of the type.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    options().deserialize(bytes).map_err(|e| CodecError(e.to_string()))
}
