//! Compression of batches and chunks, before their encryption.
//!
//! Packed bytes are: 0 and the bytes, or 1, their length as 4 bytes, and the LZ4 block.

use lz4_flex::block::{compress_prepend_size, decompress_size_prepended};

const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// Shorter bytes are not compressed.
const MIN_LENGTH: usize = 128;

pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len() + 1);
    if bytes.len() >= MIN_LENGTH {
        let compressed = compress_prepend_size(bytes);
        if compressed.len() < bytes.len() {
            packed.push(LZ4);
            packed.extend_from_slice(&compressed);
            return packed;
        }
    }
    packed.push(PLAIN);
    packed.extend_from_slice(bytes);
    packed
}

/// Unpacks bytes of at most `max` bytes. `None` if they are not packed bytes, or more.
pub(crate) fn unpack(packed: &[u8], max: usize) -> Option<Vec<u8>> {
    match packed.split_first()? {
        (&PLAIN, bytes) => (bytes.len() <= max).then(|| bytes.to_vec()),
        (&LZ4, bytes) => {
            let (length, _) = bytes.split_first_chunk::<4>()?;
            // The length decides how much memory is used, so it is checked first.
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            if length > max {
                return None;
            }
            decompress_size_prepended(bytes).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        let random: Vec<u8> =
            (0..5_000_u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        for bytes in [b"".to_vec(), b"short".to_vec(), vec![7; 100_000], random] {
            let packed = pack(&bytes);
            assert!(packed.len() <= bytes.len() + 1);
            assert_eq!(unpack(&packed, bytes.len()).unwrap(), bytes);
            assert!(bytes.is_empty() || unpack(&packed, bytes.len() - 1).is_none());
        }
        assert!(pack(&[7; 100_000]).len() < 1_000);
    }

    #[test]
    fn other_bytes_are_refused() {
        for packed in [&b""[..], &[2, 1], &[1, 9], &[1, 255, 255, 255, 255, 0], &[1, 9, 0, 0, 0]] {
            assert!(unpack(packed, 1_000).is_none(), "{packed:?}");
        }
    }
}
