//! The sources: directories of markdown files. Each source has its own slugs.
//!
//! Registering a source reads none of its files. Removing one changes no file: its pages are
//! hidden, and return when the source is registered and synced again.

mod health;
mod row;
pub mod settings;
pub mod watch_state;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_protocol::{
    ChangeStatus, Command, Fault, FaultCode, SourceAdd, SourceDefault, SourceId, SourceRemove,
    SourceReply, SourcesReply, SymbolicLinks, hint, io_reason,
};
use parking_lot::Mutex;
use rustix::fs::{Access, access};
use tokio_util::sync::CancellationToken;

use crate::files::FileService;
use crate::index::IndexFollower;
use crate::preferred_source::preferred;
use crate::presence::CheckDepth;
use crate::sources::watch_state::WatcherStatus;
use brain_base::caller::Caller;
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_config::SourcesConfig;
use brain_store::{Reader, SourceRecord, Store, StoreError, Transaction};

/// The maximum number of pages that one transaction hides, so that other writers do not wait long.
const BATCH: usize = 500;

/// The registered sources.
pub struct SourceService {
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) home: Home,
    pub(crate) files: Arc<FileService>,
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) stop: CancellationToken,
    pub(crate) watcher: WatcherStatus,
    pub(crate) config: SourcesConfig,
    /// The symbolic links that the last sync of each whole source found.
    links: Mutex<HashMap<SourceId, SymbolicLinks>>,
}

impl SourceService {
    /// Creates the service.
    pub fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        home: Home,
        files: Arc<FileService>,
        index: Arc<IndexFollower>,
        stop: CancellationToken,
        config: SourcesConfig,
    ) -> Self {
        let watcher = WatcherStatus::new(config.watch);
        let links = Mutex::default();
        Self { store, clock, home, files, index, stop, watcher, config, links }
    }

    /// Lists the sources that the caller can see.
    pub fn list(&self, caller: &Caller) -> Result<SourcesReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let all = reader.sources()?;
        let default_source = preferred(&all);
        let sources = all
            .iter()
            .map(|(id, record)| self.source_row(&reader, id, record, *id == default_source))
            .collect::<Result<_, _>>()?;
        Ok(SourcesReply { sources })
    }

    /// Registers a directory as a source.
    pub fn add(&self, caller: &Caller, request: &SourceAdd) -> Result<SourceReply, Fault> {
        let now = self.clock.now();
        let dir = directory(&request.path)?;
        if request.id.as_str() == SourceId::DEFAULT && is_same_dir(&dir, &self.home.pages()) {
            return self.accept_default_directory(caller);
        }
        let home = self.home.root().canonicalize().unwrap_or_else(|_| self.home.root().to_owned());
        if do_overlap(&dir, &home) {
            let relation = if dir.starts_with(&home) { "is inside" } else { "contains" };
            let message =
                format!("{} {relation} brain's own home, {}", dir.display(), home.display());
            return Err(Fault::new(FaultCode::Conflict, message).hint(hint!(
                "give the directory of your notes; {} copies them instead",
                Command::Import
            )));
        }
        let Some(path) = dir.to_str().map(str::to_owned) else {
            let message = format!("the path {} is not UTF-8", dir.display());
            return Err(Fault::new(FaultCode::Io, message).hint("give that directory another name"));
        };
        let id = request.id.clone();
        let settings = request.settings.clone();
        self.check_patterns(&dir, &settings)?;
        let source = id.clone();
        let (is_new, has_changed) = self.store.write(move |transaction| {
            let is_new = register(transaction, &id, &path, now)?;
            Ok((is_new, settings::change_settings(transaction, &id, &settings)?))
        })?;
        // The owner names the directory that is there now.
        let _ = self.files.presence.open(&source, &dir, CheckDepth::Accept);
        self.watcher.notify_sources_changed();
        let mut warnings = Vec::new();
        if access(&dir, Access::WRITE_OK).is_err() {
            warnings.push(format!(
                "{} cannot be written: pages can be read from it, not kept in it",
                dir.display()
            ));
        }
        let status = match (is_new, has_changed) {
            (true, _) => ChangeStatus::Added,
            (false, true) => ChangeStatus::Changed,
            (false, false) => ChangeStatus::Unchanged,
        };
        self.source_reply(caller, &request.id, status, warnings)
    }

    /// Takes the directory in the home as it is now, after it was away.
    fn accept_default_directory(&self, caller: &Caller) -> Result<SourceReply, Fault> {
        let (id, dir) = (SourceId::default(), self.home.pages());
        self.files.presence.open(&id, &dir, CheckDepth::Accept).map_err(|e| {
            Fault::new(FaultCode::Io, format!("cannot use {}: {}", dir.display(), io_reason(&e)))
        })?;
        self.watcher.notify_sources_changed();
        self.source_reply(caller, &id, ChangeStatus::Unchanged, Vec::new())
    }

    /// Unregisters a source. Its directory stays as it is.
    pub fn remove(&self, caller: &Caller, request: &SourceRemove) -> Result<SourceReply, Fault> {
        let id = &request.id;
        let reader = self.store.read(caller.visibility())?;
        let (_, record) = crate::sources::resolve(caller, &reader, Some(id))?;
        if id.as_str() == SourceId::DEFAULT {
            return Err(Fault::new(
                FaultCode::Protected,
                "the source \"default\" cannot be removed",
            )
            .hint(hint!("to use another source by default: {}", Command::SourcesDefault)));
        }
        let row = self.source_row(&reader, id, &record, preferred(&reader.sources()?) == *id)?;
        let unwritten_count = self.count_unwritten(&reader, id)?;
        drop(reader);
        let mut warnings = Vec::new();
        if unwritten_count > 0 {
            warnings.push(format!(
                "the files of {} were not written: their content is lost after 72 hours; see `{}`",
                count(unwritten_count, "page"),
                Command::Doctor
            ));
        }
        if !request.yes {
            let more = warnings.pop().map_or_else(String::new, |warning| format!("; {warning}"));
            let message = format!(
                "removing the source \"{id}\" hides its {}; the files in {} stay as they are{more}",
                count(row.pages, "page"),
                row.path
            );
            return Err(Fault::new(FaultCode::ConfirmationNeeded, message).hint(hint!(
                "to do it: {}",
                Command::SourcesRemove { source: Some(id.to_string()) }
            )));
        }
        self.unregister(id)?;
        if row.default {
            warnings.push("the default source is \"default\" again".into());
        }
        Ok(SourceReply { status: ChangeStatus::Removed, source: row, warnings })
    }

    /// Returns the source of requests that name none. If `caller` may not use it, they must name a
    /// source.
    pub fn usual_source(&self, caller: &Caller) -> Result<SourceId, Fault> {
        Ok(preferred(&self.store.read(caller.visibility())?.sources()?))
    }

    /// Sets the source that requests without one use.
    pub fn source_default(
        &self,
        caller: &Caller,
        request: &SourceDefault,
    ) -> Result<SourceReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = crate::sources::resolve(caller, &reader, request.id.as_ref())?;
        drop(reader);
        let has_changed = match &request.id {
            None => true,
            Some(_) => {
                let id = source.clone();
                self.store.write(move |transaction| prefer(transaction, &id))?
            }
        };
        let status = if has_changed { ChangeStatus::Default } else { ChangeStatus::Unchanged };
        self.source_reply(caller, &source, status, Vec::new())
    }

    /// Hides the pages of a source, and removes its registration.
    fn unregister(&self, id: &SourceId) -> Result<(), Fault> {
        let mut after = String::new();
        loop {
            let (source, from, now) = (id.clone(), after.clone(), self.clock.now());
            let last = self
                .store
                .write(move |transaction| hide_pages(transaction, &source, &from, now))?;
            self.index.wait_for_backlog();
            match last {
                Some(slug) => after = slug,
                // Pages that were written meanwhile may have slugs before the last one.
                None if !after.is_empty() => after.clear(),
                None => break,
            }
            if self.stop.is_cancelled() {
                return Err(Fault::new(
                    FaultCode::Cancelled,
                    format!("the removal of \"{id}\" ended early"),
                )
                .hint(hint!(
                    "to continue: {}",
                    Command::SourcesRemove { source: Some(id.to_string()) }
                )));
            }
        }
        self.files.presence.forget(id);
        self.links.lock().remove(id);
        self.watcher.notify_sources_changed();
        self.files.forget_failures();
        Ok(())
    }

    /// Returns the number of pages of a source whose file could not be written.
    fn count_unwritten(&self, reader: &Reader, id: &SourceId) -> Result<u64, Fault> {
        let mut count = 0;
        for page in reader.outbox()?.into_iter().filter(|&page| self.files.is_failing(page)) {
            count +=
                u64::from(reader.outbox_row(page)?.is_some_and(|row| row.source == id.as_str()));
        }
        Ok(count)
    }

    pub(super) fn source_reply(
        &self,
        caller: &Caller,
        id: &SourceId,
        status: ChangeStatus,
        warnings: Vec<String>,
    ) -> Result<SourceReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (_, record) = crate::sources::resolve(caller, &reader, Some(id))?;
        let source = self.source_row(&reader, id, &record, preferred(&reader.sources()?) == *id)?;
        Ok(SourceReply { status, source, warnings })
    }
}

/// Returns the sources whose files this machine has.
pub fn own_sources(reader: &Reader) -> Result<Vec<(SourceId, SourceRecord)>, StoreError> {
    let mut own = Vec::new();
    for (id, record) in reader.sources()? {
        if reader.has_files_of(&id)? {
            own.push((id, record));
        }
    }
    Ok(own)
}

/// Registers the source. Returns `false` if it is registered already. Runs in the store's writer.
fn register(
    transaction: &mut Transaction<'_>,
    id: &SourceId,
    path: &str,
    now: i64,
) -> Result<bool, StoreError> {
    if let Some(existing) = transaction.source(id)? {
        return match existing.path.clone() {
            // The machine that has the directory can take it over from one that is gone.
            Some(known) if known == path && !transaction.has_files_of(id.as_str())? => {
                transaction.claim_source(id).map(|()| true)
            }
            Some(known) if known == path => Ok(false),
            // The directory was moved, and a link to it is in its place. The owner accepts that.
            Some(known) if is_same_dir(Path::new(path), Path::new(&known)) => {
                let record = SourceRecord { path: Some(path.to_owned()), ..existing };
                transaction.put_source(id, &record).map(|()| true)
            }
            Some(known) => {
                let message = format!("the source \"{id}\" has the directory {known} already");
                Err(Fault::new(FaultCode::Conflict, message)
                    .hint(hint!(
                        "choose another name, or remove that source first (its files stay): {}",
                        Command::SourcesRemove { source: Some(id.to_string()) }
                    ))
                    .into())
            }
            None => {
                let message = format!("the source \"{id}\" is in brain's own home");
                Err(Fault::new(FaultCode::Conflict, message)
                    .hint(hint!(
                        "choose another name: {}",
                        Command::SourcesAdd { source: None, path: None }
                    ))
                    .into())
            }
        };
    }
    for (other, record) in transaction.all_sources()? {
        let Some(known) = record.path.filter(|known| do_overlap(Path::new(path), Path::new(known)))
        else {
            continue;
        };
        let relation = match path {
            _ if path == known => "is",
            _ if Path::new(path).starts_with(&known) => "is inside",
            _ => "contains",
        };
        let message = format!("{path} {relation} the directory of the source \"{other}\", {known}");
        return Err(Fault::new(FaultCode::Conflict, message)
            .hint(hint!("a file belongs to one source: {} shows them", Command::SourcesList))
            .into());
    }
    transaction.put_source(id, &SourceRecord::new(Some(path.to_owned()), now))?;
    Ok(true)
}

/// Makes the source the preferred one. Returns `false` if it is that already. Runs in the writer.
fn prefer(transaction: &mut Transaction<'_>, id: &SourceId) -> Result<bool, StoreError> {
    let all = transaction.all_sources()?;
    if !all.iter().any(|(known, _)| known == id) {
        return Err(Fault::new(
            FaultCode::UnknownSource,
            format!("source \"{id}\" is not registered any more"),
        )
        .hint(hint!("see {}", Command::SourcesList))
        .into());
    }
    if preferred(&all) == *id {
        return Ok(false);
    }
    for (known, mut record) in all {
        let is_preferred = known == *id;
        if record.is_default != is_preferred {
            record.is_default = is_preferred;
            transaction.put_source(&known, &record)?;
        }
    }
    Ok(true)
}

/// Hides up to [`BATCH`] pages after the slug `after`. Returns the slug to continue from, or `None`
/// after the last page. If one call with an empty `after` hides all pages, it also removes the
/// source. Runs in the writer.
fn hide_pages(
    transaction: &mut Transaction<'_>,
    source: &SourceId,
    after: &str,
    now: i64,
) -> Result<Option<String>, StoreError> {
    // Otherwise the machine that has the directory would remove the files.
    transaction.release_source(source)?;
    let found = transaction.active_pages(source, after, BATCH)?;
    let last = found.last().filter(|_| found.len() == BATCH).map(|(slug, _)| slug.to_string());
    for (slug, record) in found {
        // A sync that starts before the end of the removal then stores the file again.
        transaction.remove_file_record(source, &record.source_path)?;
        transaction.soft_delete_without_file(source, &slug, record, now)?;
    }
    if last.is_none() && after.is_empty() {
        transaction.remove_source(source)?;
    }
    Ok(last)
}

/// Returns the directory for a source. Refuses one that is missing or not readable.
fn directory(path: &str) -> Result<PathBuf, Fault> {
    let dir = Path::new(path).canonicalize().map_err(|e| {
        let code = if e.kind() == std::io::ErrorKind::NotFound {
            FaultCode::NotFound
        } else {
            FaultCode::Io
        };
        Fault::new(code, format!("cannot use {path} as a source: {}", io_reason(&e)))
            .hint("give a directory that the daemon can read")
    })?;
    if !dir.is_dir() {
        return Err(Fault::new(FaultCode::Usage, format!("{path} is not a directory"))
            .hint(hint!("for one file: {}", Command::Capture { file: Some(path.to_string()) })));
    }
    std::fs::read_dir(&dir).map_err(|e| {
        Fault::new(FaultCode::Io, format!("cannot read {}: {}", dir.display(), io_reason(&e)))
            .hint("give the daemon's user permission to read it")
    })?;
    Ok(dir)
}

/// Returns whether both paths lead to the same directory.
fn is_same_dir(a: &Path, b: &Path) -> bool {
    b.canonicalize().is_ok_and(|b| a == b)
}

/// Formats a count: "1 page", "2 pages".
fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Returns whether two directories are the same, or one is in the other.
pub fn do_overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Returns the named source, or `None` for a request that names none and means all.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_named(
    caller: &Caller,
    reader: &Reader,
    named: Option<&SourceId>,
) -> Result<Option<SourceId>, Fault> {
    named.map(|named| Ok(resolve(caller, reader, Some(named))?.0)).transpose()
}

/// Returns the registered source that a request means: the named one, else the preferred one.
///
/// # Errors
/// [`FaultCode::UnknownSource`] if the caller cannot see a source of that name.
pub fn resolve(
    caller: &Caller,
    reader: &Reader,
    named: Option<&SourceId>,
) -> Result<(SourceId, SourceRecord), Fault> {
    let sources = reader.sources()?;
    let requested = named.cloned().unwrap_or_else(|| preferred(&sources));
    if let Some(found) = sources.iter().find(|(id, _)| *id == requested) {
        return Ok(found.clone());
    }
    let known: Vec<&str> = sources.iter().map(|(id, _)| id.as_str()).collect();
    tracing::debug!(caller = caller.name, source = requested.as_str(), "unknown source");
    let message = format!("source \"{requested}\" is not registered");
    Err(Fault::new(FaultCode::UnknownSource, message).hint(hint!(
        "register it first: {}; registered: {}",
        Command::SourcesAdd { source: Some(requested.to_string()), path: None },
        known.join(", ")
    )))
}
