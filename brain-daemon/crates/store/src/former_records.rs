//! Records as former schemas wrote them.

use bincode::Options;
use serde::Deserialize;

use super::StoreError;
use super::record::{
    Author, Content, Hash, LineMark, PageRecord, Provenance, SourceRecord, VersionRecord,
    format_of, from_bytes, from_format,
};

/// A page of schema 80: without provenance.
#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(super) struct PageRecord80 {
    pub(super) id: u64,
    pub(super) seq: u64,
    pub(super) version: u32,
    pub(super) page_type: String,
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    pub(super) aliases: Vec<String>,
    pub(super) content_hash: Hash,
    pub(super) chunks: u32,
    pub(super) bytes: u64,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) content_at: i64,
    pub(super) deleted_at: Option<i64>,
    pub(super) source_path: String,
}

/// A version of schema 80.
#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(super) struct VersionRecord80 {
    pub(super) record: PageRecord80,
    pub(super) content: Content,
}

impl From<PageRecord80> for PageRecord {
    fn from(old: PageRecord80) -> Self {
        Self {
            id: old.id,
            seq: old.seq,
            version: old.version,
            page_type: old.page_type,
            title: old.title,
            tags: old.tags,
            aliases: old.aliases,
            content_hash: old.content_hash,
            chunks: old.chunks,
            bytes: old.bytes,
            created_at: old.created_at,
            updated_at: old.updated_at,
            content_at: old.content_at,
            written_at: old.updated_at,
            deleted_at: old.deleted_at,
            source_path: old.source_path,
            ..Self::default()
        }
    }
}

/// A page of schemas 81 to 85: without author and marks.
#[derive(Deserialize)]
pub(super) struct PageRecord81 {
    first: PageRecord80,
    provenance: Provenance,
}

/// A version of schemas 81 to 85.
#[derive(Deserialize)]
pub(super) struct VersionRecord81 {
    record: PageRecord81,
    content: Content,
}

impl From<PageRecord81> for PageRecord {
    fn from(old: PageRecord81) -> Self {
        Self { provenance: old.provenance, ..old.first.into() }
    }
}

/// A page of schema 86: without the time at which its version was written.
#[derive(Deserialize)]
pub(super) struct PageRecord86 {
    first: PageRecord81,
    author: Option<Author>,
    marks: Vec<LineMark>,
    has_outside_title: bool,
}

/// A version of schema 86.
#[derive(Deserialize)]
pub(super) struct VersionRecord86 {
    record: PageRecord86,
    content: Content,
}

impl From<PageRecord86> for PageRecord {
    fn from(old: PageRecord86) -> Self {
        let PageRecord86 { first, author, marks, has_outside_title } = old;
        Self { author, marks, has_outside_title, ..first.into() }
    }
}

/// A source of schemas 80 and 81.
#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(super) struct SourceRecord81 {
    pub(super) path: Option<String>,
    pub(super) created_at: i64,
}

/// Decodes a page of schema `schema`.
pub(super) fn page_of(schema: u64, bytes: &[u8]) -> Result<PageRecord, StoreError> {
    if schema >= 87 { from_bytes(bytes) } else { any_page(bytes) }
}

/// Decodes a version of schema `schema`.
pub(super) fn version_of(schema: u64, bytes: &[u8]) -> Result<VersionRecord, StoreError> {
    if schema >= 87 { from_bytes(bytes) } else { any_version(bytes) }
}

/// Decodes a page of any format. Migrations write the current format.
pub(super) fn any_page(bytes: &[u8]) -> Result<PageRecord, StoreError> {
    match format_of(bytes) {
        1 => from_first::<PageRecord80>(bytes, "page").map(PageRecord::from),
        2 => from_format::<PageRecord, PageRecord81>(2, bytes).map(PageRecord::from),
        3 => from_format::<PageRecord, PageRecord86>(3, bytes).map(PageRecord::from),
        _ => from_bytes(bytes),
    }
}

/// Decodes a version of any format.
pub(super) fn any_version(bytes: &[u8]) -> Result<VersionRecord, StoreError> {
    match format_of(bytes) {
        1 => {
            let old: VersionRecord80 = from_first(bytes, "version of a page")?;
            Ok(VersionRecord { record: old.record.into(), content: old.content })
        }
        2 => {
            let old: VersionRecord81 = from_format::<VersionRecord, _>(2, bytes)?;
            Ok(VersionRecord { record: old.record.into(), content: old.content })
        }
        3 => {
            let old: VersionRecord86 = from_format::<VersionRecord, _>(3, bytes)?;
            Ok(VersionRecord { record: old.record.into(), content: old.content })
        }
        _ => from_bytes(bytes),
    }
}

/// Decodes a source of schema `schema`.
pub(super) fn source_of(schema: u64, bytes: &[u8]) -> Result<SourceRecord, StoreError> {
    if schema > 81 {
        return from_bytes(bytes);
    }
    let old: SourceRecord81 = from_first(bytes, "source")?;
    Ok(SourceRecord::new(old.path, old.created_at))
}

/// Decodes a value in its first format: format byte 1.
pub(super) fn from_first<T: for<'de> Deserialize<'de>>(
    bytes: &[u8],
    name: &str,
) -> Result<T, StoreError> {
    let rest = match bytes.split_first() {
        Some((1, rest)) => rest,
        _ => return Err(StoreError::damaged(format!("a {name} is not in its first format"))),
    };
    bincode::DefaultOptions::new().deserialize(rest).map_err(|e| {
        StoreError::damaged(format!("a {name} in its first format cannot be read: {e}"))
    })
}
