//! The index on disk: opened when it is sound and belongs to this store, else replaced by an empty one.

use std::{fs, panic::AssertUnwindSafe, path::Path};

use serde::{Deserialize, Serialize};
use tantivy::{
    Index as Tantivy, IndexReader, IndexSettings, ReloadPolicy, Searcher, directory::MmapDirectory,
    tokenizer::TextAnalyzer,
};

use super::{
    IndexError,
    schema::{Encoded, FORMAT, Fields, TOKENIZER, schema},
};

/// A file that says the index must not be used again.
const DAMAGED: &str = "brain-damaged";

/// What every commit carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Payload {
    /// The store the index is derived from.
    pub(super) store: String,
    /// The last change in it.
    pub(super) seq: u64,
    /// [`FORMAT`] of the program that wrote it.
    pub(super) format: u32,
}

/// An index that can be read.
pub(super) struct Disk {
    pub(super) tantivy: Tantivy,
    pub(super) reader: IndexReader,
    pub(super) fields: Fields,
    /// The last change in it.
    pub(super) seq: u64,
    /// Why an earlier one was replaced.
    pub(super) rebuilt: Option<String>,
    /// Why it is in memory only.
    pub(super) problem: Option<String>,
}

/// Opens the index of `store` in `dir`, whose last change is `store_seq`.
pub(super) fn open(dir: &Path, store: &str, store_seq: u64) -> Result<Disk, IndexError> {
    let why = match guarded(|| existing(dir, store, store_seq)) {
        Ok(Some(disk)) => return Ok(disk),
        Ok(None) => None,
        Err(why) => Some(why),
    };
    match guarded(|| empty(dir)) {
        Ok(disk) => Ok(Disk { rebuilt: why, ..disk }),
        Err(problem) => {
            // Better a search that must be filled at every start than none.
            let disk = guarded(in_memory).map_err(IndexError::Stopped)?;
            let problem = format!("{}: {problem}; searching in memory", dir.display());
            Ok(Disk {
                rebuilt: Some(why.unwrap_or_else(|| problem.clone())),
                problem: Some(problem),
                ..disk
            })
        }
    }
}

/// How many changes of the store `store` the index in `dir` says it has; `None` when there is none, or it is another store's.
#[must_use]
pub fn known_changes(dir: &Path, store: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Meta {
        payload: String,
    }
    let meta: Meta = serde_json::from_slice(&fs::read(dir.join("meta.json")).ok()?).ok()?;
    let payload: Payload = serde_json::from_str(&meta.payload).ok()?;
    (payload.store == store).then_some(payload.seq)
}

/// Marks the index in `dir` as damaged: the next [`open`] replaces it.
pub(super) fn condemn(dir: &Path) {
    if let Err(error) = fs::write(dir.join(DAMAGED), b"") {
        tracing::warn!(%error, "cannot mark the search index as damaged");
    }
}

/// Runs `f`; a panic of the library on a damaged file is an error like others.
pub(super) fn guarded<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    match std::panic::catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("panic");
            Err(text.to_owned())
        }
    }
}

/// The index that is there. `None` when there is none; an error when it is of no use.
fn existing(dir: &Path, store: &str, store_seq: u64) -> Result<Option<Disk>, String> {
    if !dir.join("meta.json").exists() {
        return if dir.join(".managed.json").exists() {
            Err("its list of files is missing".into())
        } else {
            Ok(None)
        };
    }
    if dir.join(DAMAGED).exists() {
        return Err("it was found damaged".into());
    }
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let directory = MmapDirectory::open(dir).map_err(|e| text(&e))?;
    let tantivy = Tantivy::open(directory).map_err(|e| text(&e))?;
    let (schema, fields) = schema();
    if tantivy.schema() != schema {
        return Err("it is of another version".into());
    }
    let meta = tantivy.load_metas().map_err(|e| text(&e))?;
    let seq = match &meta.payload {
        Some(payload) => {
            let payload: Payload =
                serde_json::from_str(payload).map_err(|e| format!("its mark is broken: {e}"))?;
            if payload.format != FORMAT {
                return Err(format!("it is of version {}, not {FORMAT}", payload.format));
            }
            if payload.store != store {
                return Err("it belongs to another store".into());
            }
            if payload.seq > store_seq {
                return Err(format!(
                    "it is ahead of the store ({} after {store_seq})",
                    payload.seq
                ));
            }
            payload.seq
        }
        None if meta.segments.is_empty() => 0,
        None => return Err("it has no mark".into()),
    };
    let disk = finish(tantivy, fields)?;
    check(&disk.reader.searcher(), fields).map_err(|e| text(&e))?;
    Ok(Some(Disk { seq, ..disk }))
}

/// Touches every part of every segment.
fn check(searcher: &Searcher, fields: Fields) -> tantivy::Result<()> {
    for reader in searcher.segment_readers() {
        for field in [fields.body, fields.title, fields.words, fields.keys] {
            let index = reader.inverted_index(field)?;
            let mut terms = index.terms().range().into_stream()?;
            terms.advance();
        }
        for field in [fields.body, fields.title] {
            reader.get_fieldnorms_reader(field)?;
        }
        reader.fast_fields().u64("id")?;
        reader.fast_fields().i64("updated_at")?;
    }
    Ok(())
}

/// A new index, in place of whatever index there is.
fn empty(dir: &Path) -> Result<Disk, String> {
    fs::create_dir_all(dir).map_err(|e| e.to_string())?;
    clear(dir).map_err(|e| e.to_string())?;
    let directory = MmapDirectory::open(dir).map_err(|e| e.to_string())?;
    let (schema, fields) = schema();
    let tantivy =
        Tantivy::create(directory, schema, IndexSettings::default()).map_err(|e| e.to_string())?;
    finish(tantivy, fields)
}

fn in_memory() -> Result<Disk, String> {
    let (schema, fields) = schema();
    finish(Tantivy::create_in_ram(schema), fields)
}

fn finish(tantivy: Tantivy, fields: Fields) -> Result<Disk, String> {
    tantivy.tokenizers().register(TOKENIZER, TextAnalyzer::builder(Encoded::default()).build());
    let reader = tantivy
        .reader_builder()
        .reload_policy(ReloadPolicy::Manual)
        .doc_store_cache_num_blocks(1)
        .try_into()
        .map_err(|e| e.to_string())?;
    Ok(Disk { tantivy, reader, fields, seq: 0, rebuilt: None, problem: None })
}

/// Deletes the index's own files in `dir`, and nothing else.
fn clear(dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_some_and(is_ours) && !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether tantivy, or this file, names a file so.
fn is_ours(name: &str) -> bool {
    let segment = |stem: &str| stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit());
    matches!(name, "meta.json" | ".managed.json" | DAMAGED)
        || (name.starts_with(".tantivy-") && name.ends_with(".lock"))
        || name.split_once('.').is_some_and(|(stem, _)| segment(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_files_are_deleted() {
        assert!(is_ours("meta.json") && is_ours(".tantivy-writer.lock"));
        assert!(is_ours("0123456789abcdef0123456789abcdef.term"));
        assert!(is_ours("0123456789abcdef0123456789abcdef.42.del"));
        assert!(!is_ours("notes.md") && !is_ours("brain.redb") && !is_ours("metaXjson"));
    }
}
