//! Encoding of a vector file's header and records. Damaged bytes decode to nothing.
//!
//! A record has four parts: the length of kind and fields (4 bytes), the kind (1 byte), the fields,
//! and a checksum: the first 8 bytes of the SHA-256 of the other parts. Numbers are little-endian.

use std::io::{self, ErrorKind, Read};

use sha2::{Digest, Sha256};

use super::Key;
use super::rows::VectorRow;

/// First bytes of a vector file.
const MAGIC: &[u8; 8] = b"brainvec";
/// Format number.
pub(super) const FORMAT: u32 = 1;
/// Length of a checksum.
const CHECKSUM_BYTES: usize = 8;
/// Maximum bytes of a record: more windows than a page can have, with the longest vectors.
const MAX_RECORD_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a window besides its numbers: start, end and scale.
const WINDOW_HEADER_BYTES: usize = 12;
/// Kind of [`VectorRecord::Put`].
const PUT: u8 = 1;
/// Kind of [`VectorRecord::Remove`].
const REMOVE: u8 = 2;
/// Kind of [`VectorRecord::LastChange`].
const LAST_CHANGE: u8 = 3;
/// Kind of [`VectorRecord::Part`].
const PART: u8 = 4;
/// The position after the last window in a [`VectorRecord::Part`] that completes its page.
const END: u32 = u32::MAX;

/// A record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum VectorRecord {
    /// Replaces the vectors of the page with this id. Has the key of the new vectors.
    Put(u64, Key, Vec<VectorRow>),
    /// Removes the vectors of the page with this id.
    Remove(u64),
    /// The records before include all changes of the store up to this sequence number.
    LastChange(u64),
    /// Adds vectors of the next windows of the page with this id and key; replaces vectors of
    /// another key. The last field is the position in the body, in bytes, of the first window
    /// without a vector; `None` if the page is complete.
    Part(u64, Key, Vec<VectorRow>, Option<u32>),
}

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeaderMismatch {
    /// The header is damaged, or the file is not a vector file.
    Damaged,
    /// The file has this other format; 0 if it has none.
    Format(u32),
    /// The file belongs to another store.
    Store,
    /// The file belongs to another vector space.
    VectorSpace,
}

impl std::fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damaged => f.write_str("its beginning is damaged"),
            Self::Format(found) => write!(f, "it has format {found}, this program writes {FORMAT}"),
            Self::Store => f.write_str("it belongs to another store"),
            Self::VectorSpace => f.write_str("it is of another model"),
        }
    }
}

/// Returns the header of a file.
pub(super) fn header(store: &str, identity: &str, dimensions: usize) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&(dimensions as u32).to_le_bytes());
    for text in [store, identity] {
        // Hashes, because the texts can have any length.
        out.extend_from_slice(&Sha256::digest(text.as_bytes()));
    }
    let checksum = checksum(&out);
    out.extend_from_slice(&checksum);
    out
}

/// Checks that `found`, the first bytes of a file, is the header `expected`.
pub(super) fn compare(found: &[u8], expected: &[u8]) -> Result<(), HeaderMismatch> {
    let number = |bytes: &[u8]| bytes.get(8..12)?.try_into().ok().map(u32::from_le_bytes);
    if found.len() < MAGIC.len() + 4 || !found.starts_with(MAGIC) {
        return Err(HeaderMismatch::Damaged);
    }
    match number(found) {
        Some(FORMAT) => {}
        other => return Err(HeaderMismatch::Format(other.unwrap_or_default())),
    }
    let is_intact = found.len() == expected.len()
        && found
            .split_last_chunk::<CHECKSUM_BYTES>()
            .is_some_and(|(head, sum)| checksum(head) == *sum);
    match () {
        () if found == expected => Ok(()),
        () if !is_intact => Err(HeaderMismatch::Damaged),
        // The hash of the store.
        () if found.get(16..48) != expected.get(16..48) => Err(HeaderMismatch::Store),
        () => Err(HeaderMismatch::VectorSpace),
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    Sha256::digest(bytes).first_chunk().copied().unwrap_or_default()
}

impl VectorRecord {
    /// Appends the record to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Put(page, key, rows) => put(*page, *key, rows, out),
            Self::Part(page, key, rows, next) => part(*page, *key, rows, *next, out),
            Self::Remove(page) => remove(*page, out),
            Self::LastChange(seq) => framed(out, |out| {
                out.push(LAST_CHANGE);
                out.extend_from_slice(&seq.to_le_bytes());
            }),
        }
    }

    /// Decodes a record's kind and fields; `None` if they are damaged.
    fn read(bytes: &[u8], dimensions: usize) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        // The page's id, or the sequence number.
        let number = u64::from_le_bytes(*number);
        match *kind {
            PUT => {
                let (key, rest) = rest.split_first_chunk::<16>()?;
                Some(Self::Put(number, Key(*key), rows(rest, dimensions)?))
            }
            PART => {
                let (key, rest) = rest.split_first_chunk::<16>()?;
                let (next, rest) = rest.split_first_chunk::<4>()?;
                let next = Some(u32::from_le_bytes(*next)).filter(|next| *next != END);
                Some(Self::Part(number, Key(*key), rows(rest, dimensions)?, next))
            }
            REMOVE if rest.is_empty() => Some(Self::Remove(number)),
            LAST_CHANGE if rest.is_empty() => Some(Self::LastChange(number)),
            _ => None,
        }
    }
}

/// Appends a record of a page's vectors to `out`.
pub(super) fn put(page: u64, key: Key, rows: &[VectorRow], out: &mut Vec<u8>) {
    framed(out, |out| {
        out.push(PUT);
        out.extend_from_slice(&page.to_le_bytes());
        out.extend_from_slice(&key.0);
        write_rows(rows, out);
    });
}

/// Appends a record of a part of a page's vectors to `out`; see [`VectorRecord::Part`].
pub(super) fn part(page: u64, key: Key, rows: &[VectorRow], next: Option<u32>, out: &mut Vec<u8>) {
    framed(out, |out| {
        out.push(PART);
        out.extend_from_slice(&page.to_le_bytes());
        out.extend_from_slice(&key.0);
        out.extend_from_slice(&next.unwrap_or(END).to_le_bytes());
        write_rows(rows, out);
    });
}

fn write_rows(rows: &[VectorRow], out: &mut Vec<u8>) {
    for row in rows {
        out.extend_from_slice(&row.start.to_le_bytes());
        out.extend_from_slice(&row.end.to_le_bytes());
        out.extend_from_slice(&row.scale.to_le_bytes());
        out.extend(row.numbers.iter().map(|number| number.cast_unsigned()));
    }
}

/// Appends the removal of a page's vectors to `out`.
pub(super) fn remove(page: u64, out: &mut Vec<u8>) {
    framed(out, |out| {
        out.push(REMOVE);
        out.extend_from_slice(&page.to_le_bytes());
    });
}

/// Returns the size in bytes of a [`VectorRecord::Put`] with this number of rows. A
/// [`VectorRecord::Part`] is a little larger.
pub(super) fn size(rows: usize, dimensions: usize) -> u64 {
    (4 + 1 + 8 + 16 + CHECKSUM_BYTES + rows * (WINDOW_HEADER_BYTES + dimensions)) as u64
}

/// Decodes rows; `None` if their length is wrong.
fn rows(bytes: &[u8], dimensions: usize) -> Option<Vec<VectorRow>> {
    let width = WINDOW_HEADER_BYTES + dimensions;
    if !bytes.len().is_multiple_of(width) {
        return None;
    }
    bytes.chunks_exact(width).map(row).collect()
}

/// Decodes a row.
fn row(bytes: &[u8]) -> Option<VectorRow> {
    let (start, rest) = bytes.split_first_chunk()?;
    let (end, rest) = rest.split_first_chunk()?;
    let (scale, numbers) = rest.split_first_chunk()?;
    Some(VectorRow {
        start: u32::from_le_bytes(*start),
        end: u32::from_le_bytes(*end),
        scale: f32::from_le_bytes(*scale),
        numbers: numbers.iter().map(|byte| byte.cast_signed()).collect(),
    })
}

/// Appends a record: its length, the kind and fields that `write_fields` appends, its checksum.
fn framed(out: &mut Vec<u8>, write_fields: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write_fields(out);
    let length = (out.len() - start - 4) as u32;
    if let Some(header) = out.get_mut(start..start + 4) {
        header.copy_from_slice(&length.to_le_bytes());
    }
    let checksum = checksum(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&checksum);
}

/// Reads the next record and its length in the file. Returns `None` at the end, and at a damaged
/// record. `buffer` is scratch space.
///
/// # Errors
/// [`io::Error`] when the file cannot be read.
pub(super) fn next(
    from: &mut impl Read,
    dimensions: usize,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<(VectorRecord, u64)>> {
    let mut head = [0; 4];
    if !fill(from, &mut head)? {
        return Ok(None);
    }
    let length = u32::from_le_bytes(head) as usize;
    if length == 0 || length > MAX_RECORD_BYTES {
        return Ok(None);
    }
    buffer.clear();
    buffer.extend_from_slice(&head);
    // Not allocated at once: a damaged length takes no more memory than the file is long.
    let rest_length = (length + CHECKSUM_BYTES) as u64;
    let got = Read::take(&mut *from, rest_length).read_to_end(buffer)? as u64;
    let is_intact = got == rest_length
        && buffer
            .split_last_chunk::<CHECKSUM_BYTES>()
            .is_some_and(|(record, sum)| checksum(record) == *sum);
    if !is_intact {
        return Ok(None);
    }
    let record =
        buffer.get(4..4 + length).and_then(|fields| VectorRecord::read(fields, dimensions));
    Ok(record.map(|record| (record, 4 + rest_length)))
}

/// Fills `out`; returns `false` at the end of the file.
fn fill(from: &mut impl Read, out: &mut [u8]) -> std::io::Result<bool> {
    match from.read_exact(out) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_mismatch_has_a_reason() {
        let ours = header("store", "model", 384);
        assert_eq!(compare(&ours, &ours), Ok(()));
        assert_eq!(compare(&header("other", "model", 384), &ours), Err(HeaderMismatch::Store));
        assert_eq!(
            compare(&header("store", "other", 384), &ours),
            Err(HeaderMismatch::VectorSpace)
        );
        assert_eq!(
            compare(&header("store", "model", 383), &ours),
            Err(HeaderMismatch::VectorSpace)
        );
        let mut newer = ours.clone();
        newer[8] = 2;
        assert_eq!(compare(&newer, &ours), Err(HeaderMismatch::Format(2)));
        for at in 0..ours.len() {
            let mut damaged = ours.clone();
            damaged[at] ^= 0x40;
            assert!(compare(&damaged, &ours).is_err(), "{at}");
            assert!(compare(&ours[..at], &ours).is_err(), "{at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(),
            0..200), dimensions in 1usize..9) {
            let _ = next(&mut bytes.as_slice(), dimensions, &mut Vec::new()).unwrap();
            let _ = VectorRecord::read(&bytes, dimensions);
        }

        #[test]
        fn written_records_are_read_back(page in any::<u64>(), key in any::<[u8; 16]>(),
            position in proptest::option::of(0..u32::MAX),
            numbers in proptest::collection::vec(any::<[i8; 3]>(), 0..5)) {
            let rows: Vec<VectorRow> = numbers.iter()
                .map(|n| VectorRow { start: 1, end: u32::MAX, scale: 0.5, numbers: n.to_vec() })
                    .collect();
            let records = [VectorRecord::Put(page, Key(key), rows.clone()),
                VectorRecord::Part(page, Key(key), rows, position),
                VectorRecord::Remove(page),
                VectorRecord::LastChange(page)];
            let mut bytes = Vec::new();
            records.iter().for_each(|record| record.write(&mut bytes));
            let mut from = bytes.as_slice();
            for record in &records {
                prop_assert_eq!(&next(&mut from, 3, &mut Vec::new()).unwrap().unwrap().0, record);
            }
            prop_assert!(from.is_empty());
            let mut first = Vec::new();
            records[0].write(&mut first);
            prop_assert_eq!(first.len() as u64, size(numbers.len(), 3));
        }
    }
}
