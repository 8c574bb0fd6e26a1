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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Answer, Capture, Origin, Request, Search, read_frame, write_frame};

    fn any_capture() -> impl Strategy<Value = Request> {
        let texts = || proptest::option::of(".{0,40}");
        (any::<Vec<u8>>(), texts(), texts(), proptest::collection::vec(".{0,20}", 0..5)).prop_map(
            |(content, page_type, title, tags)| {
                let file = || Origin::File("/ü".into());
                let origin = title.as_ref().map_or_else(file, |_| Origin::Stdin);
                let (source, slug) = (None, None);
                Capture { content, origin, source, slug, page_type, title, tags }.into()
            },
        )
    }

    proptest! {
        #[test]
        fn any_capture_survives_encoding(request in any_capture()) {
            let bytes = encode(&request).unwrap();
            let mut wire = Vec::new();
            write_frame(&mut wire, &bytes).unwrap();
            let read = read_frame(&mut wire.as_slice()).unwrap();
            prop_assert_eq!(decode::<Request>(&read).unwrap(), request);
            for length in 0..bytes.len() {
                prop_assert!(decode::<Request>(&bytes[..length]).is_err(), "cut at {}", length);
            }
            prop_assert!(decode::<Request>(&[bytes, vec![0]].concat()).is_err());
        }

        #[test]
        fn any_search_survives_encoding(query in ".*", limit: u32, tags: Vec<String>) {
            let search = Search { query, limit, tags, explain: limit > 9, ..Search::default() };
            let request = Request::Search(search);
            prop_assert_eq!(decode::<Request>(&encode(&request).unwrap()).unwrap(), request);
        }

        #[test]
        fn values_decoded_from_any_bytes_survive_encoding(bytes: Vec<u8>, variant in 0_u8..100) {
            let mut bytes = bytes;
            bytes.insert(0, variant);
            if let Ok(request) = decode::<Request>(&bytes) {
                prop_assert_eq!(decode::<Request>(&encode(&request).unwrap()).unwrap(), request);
            }
            if let Ok(answer) = decode::<Answer>(&bytes) {
                // A score may be NaN, which equals nothing, so compare bytes.
                let again = encode(&answer).unwrap();
                prop_assert_eq!(encode(&decode::<Answer>(&again).unwrap()).unwrap(), again);
            }
        }
    }
}
