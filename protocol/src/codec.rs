//! Encodes and decodes wire types with bincode.
//!
//! bincode 1.3.3 with `DefaultOptions`: variable-length integers, little endian, no trailing bytes,
//! and a size limit in both directions. A hostile length prefix is an error and allocates nothing.
//! No wire type is recursive, and no sequence has zero-sized elements, because either would defeat
//! the limit.

use bincode::Options;
use serde::{Serialize, de::DeserializeOwned};

use crate::MAX_FRAME;

/// A value that is too large to encode, or bytes that do not decode.
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

/// Encodes `value` into at most [`MAX_FRAME`] bytes.
///
/// # Errors
/// When the value takes more than [`MAX_FRAME`] bytes.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    options().serialize(value).map_err(|e| CodecError(e.to_string()))
}

/// Decodes a value that takes all of `bytes`.
///
/// # Errors
/// When the bytes are truncated, have trailing data, or violate a rule of the type.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    options().deserialize(bytes).map_err(|e| CodecError(e.to_string()))
}
