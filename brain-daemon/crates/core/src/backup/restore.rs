//! `brain backup restore`: creates the store of a home from a backup, while no brain is open.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use brain_protocol::{BackupReply, Fault, FaultCode, SourceId};

use crate::Brain;
use crate::backup::{backup_fault, reply};
use crate::open::home_fault;
use crate::provenance::SYNC;
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_config::Config;
use brain_store::files::{IgnoreRules, markdown_files};
use brain_store::{self as store, PageRecord, SourceRecord, StoreOptions};

/// Creates the store of `home` from the backup `file`, then writes the files of pages. Existing
/// files are not changed.
///
/// The backup decides where the directories of sources are. So missing files outside of the home
/// are written only for sources in `write_sources`. `new_store_id` is a random number.
///
/// # Errors
/// `conflict` if the home has a store, `unknown_source` if the backup has no source of that name,
/// `store_damaged`, `store_newer`, and faults of the disk. The home then has no store, and no
/// directory that was created for it.
pub fn restore(
    home: Home,
    config: Config,
    file: &Path,
    write_sources: &[SourceId],
    clock: Arc<dyn Clock>,
    new_store_id: u64,
) -> Result<BackupReply, Fault> {
    if std::fs::symlink_metadata(home.store()).is_ok() {
        return Err(has_a_store(&home));
    }
    let file = file.canonicalize().map_err(|e| {
        Fault::new(FaultCode::Io, format!("cannot read {}: {e}", file.display()))
            .hint("name a file that `brain backup` wrote")
    })?;
    let created = home.missing_directories();
    let restored = home
        .prepare()
        .map_err(|e| home_fault(&home, &e))
        .and_then(|()| restore_prepared(home, config, &file, write_sources, clock, new_store_id));
    if restored.is_err() {
        // Directories with files of others stay.
        created.iter().for_each(|dir| _ = std::fs::remove_dir(dir));
    }
    restored
}

/// Does the work of [`restore`] in a home that has its directories.
fn restore_prepared(
    home: Home,
    config: Config,
    file: &Path,
    write_sources: &[SourceId],
    clock: Arc<dyn Clock>,
    new_store_id: u64,
) -> Result<BackupReply, Fault> {
    let options = StoreOptions {
        cache_bytes: config.store.cache_mb * 1_000_000,
        min_free_bytes: config.store.min_free_mb * 1_000_000,
        now: clock.now(),
        new_store_id,
        min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
    };
    check_sources(file, write_sources)?;
    let mut absent = Vec::new();
    let mut untouched: BTreeMap<String, (String, u64)> = BTreeMap::new();
    let mut in_use: HashMap<String, bool> = HashMap::new();
    let mut wants_file = |source: &str, kept: &SourceRecord, page: &PageRecord| {
        let root = match &kept.path {
            None => return true,
            Some(root) => Path::new(root),
        };
        if !root.is_dir() {
            if !absent.iter().any(|(known, _)| known == source) {
                absent.push((source.to_owned(), root.display().to_string()));
            }
            return false;
        }
        if !write_sources.iter().any(|named| named.as_str() == source) {
            let file_path = || (root.display().to_string(), 0);
            let missing = std::fs::symlink_metadata(root.join(&page.source_path)).is_err();
            untouched.entry(source.to_owned()).or_insert_with(file_path).1 += u64::from(missing);
            return false;
        }
        // An existing file stays: the next sync reads it. If the directory has other files, a
        // missing file that sync once read may be renamed or removed on purpose, so it is not
        // written. An empty directory gets all files.
        let is_from_sync = page.provenance.ingested_via.as_deref() == Some(SYNC.via);
        let mut has_other_files = || {
            *in_use.entry(source.to_owned()).or_insert_with(|| {
                !markdown_files(root, "", &IgnoreRules::off(), None).files.is_empty()
            })
        };
        let is_missing = std::fs::symlink_metadata(root.join(&page.source_path)).is_err();
        is_missing && !(is_from_sync && has_other_files())
    };
    let report = store::restore(file, &home.store(), &options, &mut wants_file, &|_, _| true)
        .map_err(|e| {
            match e {
                // Another process created the store meanwhile.
                store::StoreError::TargetExists(_) => has_a_store(&home),
                other => backup_fault(other),
            }
        })?;
    let mut restored = reply("restored", file, &report);
    restored.warnings.extend(absent.into_iter().map(|(source, root)| {
        format!(
            "the directory {root} of source \"{source}\" is not there: its pages are in the store, \
             their files are not written; `brain export DIR --source {source}` writes them \
             elsewhere"
        )
    }));
    let incomplete = untouched.into_iter().filter(|(_, (_, missing))| *missing > 0);
    restored.warnings.extend(incomplete.map(|(source, (root, missing))| {
        format!(
            "the directory {root} of source \"{source}\" was left as it is, and {missing} \
                 pages have no file in it: `brain export DIR --source {source}` writes them \
                 elsewhere; a restore with `--write-source {source}` would have written them there"
        )
    }));
    restored.warnings.extend(open_restored(home, config, clock, new_store_id));
    Ok(restored)
}

/// Opens the restored brain once, to write the files of pages. Returns warnings about files that
/// were not written, and about restored access.
fn open_restored(
    home: Home,
    config: Config,
    clock: Arc<dyn Clock>,
    new_store_id: u64,
) -> Vec<String> {
    let brain = match Brain::open(home, config, clock, new_store_id) {
        Ok(brain) => brain,
        Err(fault) => return vec![format!("the pages' files are left to the next start: {fault}")],
    };
    let waiting =
        brain.files.failing_files().map(|(why, _)| format!("a page's file is not written: {why}"));
    let summary = brain.access.summary();
    let (clients, tokens) = (summary.clients, summary.tokens);
    brain.settle();
    let access = (clients + tokens > 0).then(|| {
        format!(
            "access over HTTP is as it was in the backup, what was revoked since included: \
             personal tokens: {tokens}, `brain token list`; clients: {clients}, \
             `brain clients list`; clients ask for new tokens"
        )
    });
    waiting.into_iter().chain(access).collect()
}

/// Refuses names of sources that are not in the backup.
fn check_sources(file: &Path, write_sources: &[SourceId]) -> Result<(), Fault> {
    if write_sources.is_empty() {
        return Ok(());
    }
    let directories = store::verify(file, &|_, _| true).map_err(backup_fault)?.directories;
    let is_known = |named: &&SourceId| directories.iter().any(|(id, _)| id == named.as_str());
    match write_sources.iter().find(|named| !is_known(named)) {
        Some(named) => {
            let known: Vec<&str> = directories.iter().map(|(id, _)| id.as_str()).collect();
            let message = format!("{} has no source \"{named}\" with a directory", file.display());
            Err(Fault::new(FaultCode::UnknownSource, message)
                .hint(format!("it has: {}", known.join(", "))))
        }
        None => Ok(()),
    }
}

fn has_a_store(home: &Home) -> Fault {
    let store = home.store();
    let message = format!("{} is already there: nothing was restored", store.display());
    Fault::new(FaultCode::Conflict, message).hint(format!(
        "restore into another home: `BRAIN_HOME=<new directory> brain backup restore FILE`; \
             or stop the daemon (`brain stop`) and move that file away first: `mv {0} {0}.old`",
        store.display()
    ))
}
