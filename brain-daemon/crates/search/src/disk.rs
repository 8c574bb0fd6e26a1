//! The index on disk: opens an intact index of this store, or creates an empty one.

use std::{fs, panic::AssertUnwindSafe, path::Path};

use serde::{Deserialize, Serialize};
use tantivy::{
    Index as Tantivy, IndexReader, IndexSettings, ReloadPolicy, Searcher,
    directory::{MmapDirectory, RamDirectory},
    tokenizer::TextAnalyzer,
};

use super::{
    IndexError,
    schema::{EncodedTokenizer, FORMAT, Fields, TOKENIZER, schema},
};

/// A file that marks the index as damaged.
const DAMAGED: &str = "brain-damaged";

/// Metadata of every commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommitMetadata {
    /// The id of the store that the index is derived from.
    pub(super) store: String,
    /// The sequence number of the last change in the commit.
    pub(super) seq: u64,
    /// [`FORMAT`] of the program that wrote the commit.
    pub(super) format: u32,
}

/// A readable index.
pub(super) struct Disk {
    pub(super) tantivy: Tantivy,
    pub(super) reader: IndexReader,
    pub(super) fields: Fields,
    /// The sequence number of the last change in the index.
    pub(super) seq: u64,
    /// Why an earlier index was replaced, if one was.
    pub(super) rebuilt: Option<String>,
    /// The files of an index in memory, and why it is there.
    pub(super) memory: Option<InMemory>,
}

/// An index in memory, because its directory cannot be written.
pub(super) struct InMemory {
    files: RamDirectory,
    /// Why the index is in memory only.
    pub(super) problem: String,
}

/// Opens the index of `store` in `dir`; `store_seq` is the store's last change.
///
/// # Errors
/// [`IndexError::Stopped`] when not even an index in memory can be created.
pub(super) fn open(dir: &Path, store: &str, store_seq: u64) -> Result<Disk, IndexError> {
    let reason = match catch_panic(|| existing(dir, store, store_seq)) {
        Ok(Some(disk)) => return Ok(disk),
        Ok(None) => None,
        Err(reason) => Some(reason),
    };
    match catch_panic(|| empty(dir)) {
        Ok(disk) => Ok(Disk { rebuilt: reason, ..disk }),
        Err(problem) => {
            // An index that must be filled at every start is better than none.
            let problem = format!("{}: {problem}", dir.display());
            let rebuilt = Some(reason.unwrap_or_else(|| problem.clone()));
            let disk = catch_panic(|| in_memory(&problem)).map_err(IndexError::Stopped)?;
            Ok(Disk { rebuilt, ..disk })
        }
    }
}

/// Returns the sequence number of the last change that the index in `dir` contains; `None` if it is
/// not an index of the store `store`.
#[must_use]
pub fn known_changes(dir: &Path, store: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Meta {
        payload: String,
    }
    let meta: Meta = serde_json::from_slice(&fs::read(dir.join("meta.json")).ok()?).ok()?;
    let payload: CommitMetadata = serde_json::from_str(&meta.payload).ok()?;
    (payload.store == store).then_some(payload.seq)
}

/// Marks the index in `dir` as damaged, so that the next [`open`] replaces it.
pub(super) fn mark_damaged(dir: &Path) {
    if let Err(error) = fs::write(dir.join(DAMAGED), b"") {
        tracing::warn!(%error, "cannot mark the search index as damaged");
    }
}

/// Runs `f` and converts a panic of the library over damaged files to an error.
pub(super) fn catch_panic<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
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

/// Opens the existing index; `None` when there is none.
fn existing(dir: &Path, store: &str, store_seq: u64) -> Result<Option<Disk>, String> {
    if !dir.join("meta.json").exists() {
        return if dir.join(".managed.json").exists() {
            Err("its list of files is missing".into())
        } else {
            Ok(None)
        };
    }
    if dir.join(DAMAGED).exists() {
        return Err("it is marked as damaged".into());
    }
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let directory = MmapDirectory::open(dir).map_err(|e| text(&e))?;
    let tantivy = Tantivy::open(directory).map_err(|e| text(&e))?;
    let (schema, fields) = schema();
    if tantivy.schema() != schema {
        return Err("it has another schema".into());
    }
    let meta = tantivy.load_metas().map_err(|e| text(&e))?;
    let seq = match &meta.payload {
        Some(payload) => {
            let payload: CommitMetadata = serde_json::from_str(payload)
                .map_err(|e| format!("its metadata is invalid: {e}"))?;
            if payload.format != FORMAT {
                return Err(format!("it has format {}, not {FORMAT}", payload.format));
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
        None => return Err("it has no metadata".into()),
    };
    let disk = finish(tantivy, fields)?;
    check(&disk.reader.searcher(), fields).map_err(|e| text(&e))?;
    Ok(Some(Disk { seq, ..disk }))
}

/// Checks that each kind of data of every segment can be opened.
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

/// Creates an empty index in place of any existing one.
fn empty(dir: &Path) -> Result<Disk, String> {
    fs::create_dir_all(dir).map_err(|e| e.to_string())?;
    clear(dir, &[]).map_err(|e| e.to_string())?;
    let directory = MmapDirectory::open(dir).map_err(|e| e.to_string())?;
    let (schema, fields) = schema();
    let tantivy =
        Tantivy::create(directory, schema, IndexSettings::default()).map_err(|e| e.to_string())?;
    finish(tantivy, fields)
}

fn in_memory(problem: &str) -> Result<Disk, String> {
    let (schema, fields) = schema();
    let files = RamDirectory::create();
    let tantivy = Tantivy::create(files.clone(), schema, IndexSettings::default())
        .map_err(|e| e.to_string())?;
    let problem = format!("{problem}; searching in memory");
    Ok(Disk { memory: Some(InMemory { files, problem }), ..finish(tantivy, fields)? })
}

/// Writes an index in memory to `dir`, in place of any index there, and opens it. Nothing may
/// write to it meanwhile. An index that was written only in part counts as damaged.
pub(super) fn write_to_disk(memory: &InMemory, dir: &Path) -> Result<Disk, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    fs::create_dir_all(dir).map_err(|e| text(&e))?;
    fs::write(dir.join(DAMAGED), b"").map_err(|e| text(&e))?;
    clear(dir, &[DAMAGED]).map_err(|e| text(&e))?;
    let directory = MmapDirectory::open(dir).map_err(|e| text(&e))?;
    memory.files.persist(&directory).map_err(|e| text(&e))?;
    let disk = finish(Tantivy::open(directory).map_err(|e| text(&e))?, schema().1)?;
    fs::remove_file(dir.join(DAMAGED)).map_err(|e| text(&e))?;
    Ok(disk)
}

/// Registers the tokenizer and opens a reader.
fn finish(tantivy: Tantivy, fields: Fields) -> Result<Disk, String> {
    tantivy
        .tokenizers()
        .register(TOKENIZER, TextAnalyzer::builder(EncodedTokenizer::default()).build());
    let reader = tantivy
        .reader_builder()
        .reload_policy(ReloadPolicy::Manual)
        .doc_store_cache_num_blocks(1)
        .try_into()
        .map_err(|e| e.to_string())?;
    Ok(Disk { tantivy, reader, fields, seq: 0, rebuilt: None, memory: None })
}

/// Deletes the index's own files in `dir`, except those with the names in `except`.
fn clear(dir: &Path, except: &[&str]) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_old = |name: &str| is_index_file(name) && !except.contains(&name);
        if name.to_str().is_some_and(is_old) && !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns whether tantivy or this module uses the file name.
fn is_index_file(name: &str) -> bool {
    let is_segment_id =
        |stem: &str| stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit());
    matches!(name, "meta.json" | ".managed.json" | DAMAGED)
        || (name.starts_with(".tantivy-") && name.ends_with(".lock"))
        || name.split_once('.').is_some_and(|(stem, _)| is_segment_id(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_index_files_are_deleted() {
        assert!(is_index_file("meta.json") && is_index_file(".tantivy-writer.lock"));
        assert!(is_index_file("0123456789abcdef0123456789abcdef.term"));
        assert!(is_index_file("0123456789abcdef0123456789abcdef.42.del"));
        assert!(
            !is_index_file("notes.md")
                && !is_index_file("brain.redb")
                && !is_index_file("metaXjson")
        );
    }
}
