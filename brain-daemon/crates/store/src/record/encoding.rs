//! Encodes and decodes records: a format byte, bincode, and a checksum of both.

use bincode::Options;
use brain_protocol::JobState;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    AttachmentRecord, AuditPage, CitationRecord, ClientRecord, Content, DerivedRows, FileRecord,
    JobRecord, OutboxRow, PageRecord, RecallRecord, SettledRecord, SourceRecord,
    SourceSettingsRecord, StepHead, StepRecord, TokenRecord, UndoneRecord, VersionRecord,
};
use crate::StoreError;
use crate::ledger_records::{LeftRecord, SeenRecord};

/// A value with a format number and an encoding.
pub(crate) trait StoredValue: Serialize + DeserializeOwned {
    /// The format byte.
    const FORMAT: u8;
    /// Name of the value, for errors.
    const NAME: &'static str;
}

macro_rules! stored {
    ($($type:ty = $format:literal, $name:literal;)*) => {
        $(impl StoredValue for $type {
            const FORMAT: u8 = $format;
            const NAME: &'static str = $name;
        })*
    };
}

stored! {
    PageRecord = 4, "page";
    Content = 1, "text of a page";
    DerivedRows = 1, "derived rows of a page";
    VersionRecord = 4, "version of a page";
    SourceRecord = 2, "source";
    SourceSettingsRecord = 1, "settings of a source";
    FileRecord = 1, "file of a source";
    OutboxRow = 1, "outbox row";
    JobRecord = 1, "job";
    ClientRecord = 1, "client";
    TokenRecord = 1, "token";
    AuditPage<'_> = 1, "page of the audit";
    LeftRecord = 1, "request that left";
    SeenRecord = 1, "call of an AI client";
    AttachmentRecord = 1, "attachment";
    CitationRecord = 1, "citation";
    RecallRecord = 1, "row of the test set";
    SettledRecord = 1, "settled contradiction";
    StepRecord = 1, "step of a page";
    UndoneRecord = 1, "undo";
}

fn options() -> impl Options {
    bincode::DefaultOptions::new()
}

/// The bit of the format byte that marks a checksum.
const CHECKSUM_FLAG: u8 = 0x80;
/// Length of the checksum in bytes.
const CHECKSUM_BYTES: usize = 4;

/// Decodes the value, if there is one.
pub(crate) fn read<T: StoredValue>(bytes: Option<&[u8]>) -> Result<Option<T>, StoreError> {
    bytes.map(from_bytes).transpose()
}

/// Encodes a value.
pub(crate) fn to_bytes<T: StoredValue>(value: &T) -> Result<Vec<u8>, StoreError> {
    // Bincode writes a few bytes at a time; most values fit without reallocation.
    let mut out = Vec::with_capacity(1024);
    out.push(T::FORMAT);
    options()
        .serialize_into(&mut out, value)
        .map_err(|e| StoreError::damaged(format!("a {} cannot be stored: {e}", T::NAME)))?;
    add_checksum(&mut out);
    Ok(out)
}

/// Adds the checksum to an encoded value that has none.
pub(crate) fn add_checksum(bytes: &mut Vec<u8>) {
    if let Some(format) = bytes.first_mut().filter(|format| **format & CHECKSUM_FLAG == 0) {
        *format |= CHECKSUM_FLAG;
        let sum = crc32fast::hash(bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
    }
}

/// Returns the format of an encoded value; 0 for no bytes.
pub(crate) fn format_of(bytes: &[u8]) -> u8 {
    bytes.first().copied().unwrap_or_default() & !CHECKSUM_FLAG
}

/// Checks checksum and format, and returns the bincode.
fn checked_value<T: StoredValue>(expected: u8, bytes: &[u8]) -> Result<&[u8], StoreError> {
    let format = bytes.first().copied().unwrap_or_default();
    let value = match format & CHECKSUM_FLAG {
        0 => bytes,
        _ => match bytes.split_last_chunk::<CHECKSUM_BYTES>() {
            Some((value, sum)) if crc32fast::hash(value).to_le_bytes() == *sum => value,
            _ => {
                return Err(StoreError::damaged(format!(
                    "a {} does not match its checksum",
                    T::NAME
                )));
            }
        },
    };
    match value.split_first() {
        Some((_, rest)) if format & !CHECKSUM_FLAG == expected => Ok(rest),
        _ => Err(StoreError::damaged(format!(
            "a {} has format {}, expected {expected}",
            T::NAME,
            format & !CHECKSUM_FLAG,
        ))),
    }
}

/// Decodes the page of an encoded [`VersionRecord`] without its text.
pub(crate) fn record_of_version(bytes: &[u8]) -> Result<PageRecord, StoreError> {
    // The record is the first field.
    first_field::<VersionRecord, _>(bytes)
}

/// Decodes the state of an encoded [`JobRecord`] without its text.
pub(crate) fn state_of_job(bytes: &[u8]) -> Result<JobState, StoreError> {
    // The state is the first field.
    first_field::<JobRecord, _>(bytes)
}

/// Decodes the first fields of an encoded [`StepRecord`].
pub(crate) fn head_of_step(bytes: &[u8]) -> Result<StepHead, StoreError> {
    first_field::<StepRecord, _>(bytes)
}

/// Decodes the first field of a value of type `T`.
fn first_field<T: StoredValue, F: DeserializeOwned>(bytes: &[u8]) -> Result<F, StoreError> {
    options()
        .allow_trailing_bytes()
        .deserialize(checked_value::<T>(T::FORMAT, bytes)?)
        .map_err(|e| StoreError::damaged(format!("a {} cannot be read: {e}", T::NAME)))
}

/// Decodes a value.
pub(crate) fn from_bytes<T: StoredValue>(bytes: &[u8]) -> Result<T, StoreError> {
    from_format::<T, T>(T::FORMAT, bytes)
}

/// Decodes a `T` that was stored in the format `format`, as `F`.
pub(crate) fn from_format<T: StoredValue, F: DeserializeOwned>(
    format: u8,
    bytes: &[u8],
) -> Result<F, StoreError> {
    options()
        .deserialize(checked_value::<T>(format, bytes)?)
        .map_err(|e| StoreError::damaged(format!("a {} cannot be read: {e}", T::NAME)))
}
