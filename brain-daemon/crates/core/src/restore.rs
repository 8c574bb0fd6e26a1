//! `brain backup restore`: creates the store of a home from a backup, while no brain is open.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use brain_protocol::{BackupReply, BackupStatus, Command, Fault, FaultCode, SourceId, hint};

use crate::environment::store_options;
use crate::open::home_fault;
use crate::{Brain, store_identity};
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_config::Config;
use brain_files::{IgnoreRules, markdown_files};
use brain_pages::provenance::SYNC;
use brain_store::{self as store, PageRecord, SourceRecord};
use brain_sync::backup::{backup_fault, reply};

/// Creates the store of `home` from the backup `file`, then writes the files of pages. Existing
/// files are not changed.
///
/// The backup decides where the directories of sources are. So missing files outside of the home
/// are written only for sources in `write_sources`. `new_store_id` is a random number.
///
/// # Errors
/// `conflict` if the home has a store, `unknown_source` if the backup has no source of that name
/// with a directory, `store_damaged` or `store_newer` if the backup cannot be used, and faults of
/// the disk. After an error, no new store and no new empty directory is left.
pub fn restore(
    home: Home,
    config: Config,
    file: &Path,
    write_sources: &[SourceId],
    clock: Arc<dyn Clock>,
    new_store_id: u64,
) -> Result<BackupReply, Fault> {
    if std::fs::symlink_metadata(home.store()).is_ok() {
        return Err(store_exists(&home));
    }
    let file = file.canonicalize().map_err(|e| {
        Fault::new(FaultCode::Io, format!("cannot read {}: {e}", file.display()))
            .hint(hint!("name a file that {} wrote", Command::BackupCreate { file: None }))
    })?;
    let new_dirs = home.missing_directories();
    let result = home
        .prepare()
        .map_err(|e| home_fault(&home, &e))
        .and_then(|()| restore_prepared(home, config, &file, write_sources, clock, new_store_id));
    if result.is_err() {
        // A directory in which another program has created a file stays.
        new_dirs.iter().for_each(|dir| _ = std::fs::remove_dir(dir));
    }
    result
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
    let options = store_options(&config, clock.now(), new_store_id);
    check_sources(file, write_sources)?;
    let mut dirs = SourceDirs { write_sources, ..SourceDirs::default() };
    let mut should_write_file = |source: &str, record: &SourceRecord, page: &PageRecord| {
        dirs.should_write_file(source, record, page)
    };
    let report =
        store::restore(file, &home.store(), &options, &mut should_write_file, &|_, _| true)
            .map_err(|e| {
                match e {
                    // Another process created the store after the check above.
                    store::StoreError::TargetExists(_) => store_exists(&home),
                    error => backup_fault(error),
                }
            })?;
    // The owner chose this store, so files in `pages/` that differ from it stay as they are.
    store_identity::record(&home);
    let mut restored = reply(BackupStatus::Restored, file, &report);
    restored.warnings.extend(dirs.warnings());
    restored.warnings.extend(open_restored(home, config, clock, new_store_id));
    Ok(restored)
}

/// The directories of sources during a restore.
#[derive(Default)]
struct SourceDirs<'a> {
    /// The sources whose directories may get files.
    write_sources: &'a [SourceId],
    /// Sources whose directory does not exist, with the directory.
    absent: Vec<(String, String)>,
    /// By source that is not in `write_sources`: its directory, and the number of missing files.
    untouched: BTreeMap<String, (String, u64)>,
    /// By source: whether its directory has markdown files.
    has_files: HashMap<String, bool>,
}

impl SourceDirs<'_> {
    /// Returns whether the restore writes the file of `page`.
    fn should_write_file(
        &mut self,
        source: &str,
        record: &SourceRecord,
        page: &PageRecord,
    ) -> bool {
        let root = match &record.path {
            None => return true,
            Some(root) => Path::new(root),
        };
        if !root.is_dir() {
            if !self.absent.iter().any(|(known, _)| known == source) {
                self.absent.push((source.to_owned(), root.display().to_string()));
            }
            return false;
        }
        let is_missing = std::fs::symlink_metadata(root.join(&page.source_path)).is_err();
        if !self.write_sources.iter().any(|named| named.as_str() == source) {
            let none_missing = || (root.display().to_string(), 0);
            let (_, missing) = self.untouched.entry(source.to_owned()).or_insert_with(none_missing);
            *missing += u64::from(is_missing);
            return false;
        }
        // An existing file stays: the next sync reads it. If the directory has other files, a
        // missing file that sync once read may be renamed or removed on purpose, so it is not
        // written. An empty directory gets all files.
        let is_from_sync = page.provenance.ingested_via.as_deref() == Some(SYNC.via);
        is_missing && !(is_from_sync && self.has_files(source, root))
    }

    fn has_files(&mut self, source: &str, root: &Path) -> bool {
        let has_files = || !markdown_files(root, "", &IgnoreRules::off(), None).files.is_empty();
        *self.has_files.entry(source.to_owned()).or_insert_with(has_files)
    }

    /// Returns the warnings about pages without a file.
    fn warnings(self) -> impl Iterator<Item = String> {
        let absent = self.absent.into_iter().map(|(source, root)| {
            format!(
                "the directory {root} of source \"{source}\" is not there: its pages are in the \
                 store, their files are not written; `{}` writes them elsewhere",
                Command::ExportSource { directory: None, source: Some(source.to_string()) }
            )
        });
        let incomplete = self.untouched.into_iter().filter(|(_, (_, missing))| *missing > 0);
        absent.chain(incomplete.map(|(source, (root, missing))| {
            format!(
                "the directory {root} of source \"{source}\" was left as it is, and {missing} \
                 pages have no file in it: `{}` writes them elsewhere; a restore with \
                 `--write-source {source}` would have written them there",
                Command::ExportSource { directory: None, source: Some(source.to_string()) }
            )
        }))
    }
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
        Err(fault) => {
            return vec![format!("the next start writes the files of pages: {fault}")];
        }
    };
    let failing =
        brain.files.failing_files().map(|(why, _)| format!("a page's file is not written: {why}"));
    let summary = brain.access.summary();
    let (clients, tokens) = (summary.clients, summary.tokens);
    brain.flush();
    let access = (clients + tokens > 0).then(|| {
        format!(
            "access over HTTP is as in the backup, so later revocations are undone: personal \
             tokens: {tokens}, `{}`; clients: {clients}, `{}`; clients ask for new tokens",
            Command::TokenList,
            Command::ClientsList
        )
    });
    failing.into_iter().chain(access).collect()
}

/// Refuses sources that the backup does not have, or has without a directory.
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
                .hint(format!("its sources with a directory: {}", known.join(", "))))
        }
        None => Ok(()),
    }
}

fn store_exists(home: &Home) -> Fault {
    let store = home.store();
    let message = format!("{} is already there: nothing was restored", store.display());
    Fault::new(FaultCode::Conflict, message).hint(hint!(
        "restore into another home: {}; or stop the daemon ({}) and move that file away first: `mv \
         {} {}.old`",
        Command::BackupRestore { file: None }.in_other_home(),
        Command::Stop,
        store.display().to_string(),
        store.display().to_string()
    ))
}
