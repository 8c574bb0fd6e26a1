//! `brain backup restore --from-home`: makes the store of a home from what the home has: the kept
//! copy, the files of pages, and accepted items in the spool.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use brain_base::caller::Visibility;
use brain_base::clock::{Clock, rfc3339};
use brain_base::home::Home;
use brain_base::write_fault;
use brain_config::Config;
use brain_protocol::{BackupReply, BackupStatus, Command, Fault, FaultCode, SyncedSource, hint};
use brain_store::{self as store, SCHEMA, StoreError, StoreOptions, VerifyReport};

use crate::environment::store_options;
use crate::open::home_fault;
use crate::{Brain, store_identity};
use brain_sync::backup::home_remains::HomeRemains;
use brain_sync::backup::unknown_attachments::UnknownAttachments;
use brain_sync::backup::{backup_fault, reply};

/// Makes the store of `home` from its kept copy, or an empty one if there is no copy. Then stores
/// the files in `pages/` that are newer than the copy or unknown to it, and queues the items in the
/// spool. A former store is renamed. `new_store_id` is a random number.
///
/// # Errors
/// `store_locked` if a daemon runs, `conflict` if the store is intact, `store_damaged` if there is
/// nothing to restore from, and faults of the disk. After an error, the former store is in place.
pub fn restore_from_home(
    home: &Home,
    config: Config,
    clock: Arc<dyn Clock>,
    new_store_id: u64,
) -> Result<BackupReply, Fault> {
    check_needs_restore(home)?;
    let remains = HomeRemains::of(home);
    let mut warnings = Vec::new();
    let kept = verified_copy(&remains, &mut warnings)?;
    if kept.is_none() && remains.files.is_empty() {
        return Err(nothing_to_restore(home));
    }
    home.prepare().map_err(|e| home_fault(home, &e))?;
    let options = store_options(&config, clock.now(), new_store_id);
    let aside = FormerStore::set_aside(home, clock.now())?;
    let attachments = UnknownAttachments::preserve(home, &aside.attachments_name());
    let attachments = attachments.map_err(|error| {
        warnings.push(format!(
            "files of pages that were attached after the copy was made are removed after an hour: \
             they cannot be preserved: {error}"
        ));
    });
    // If this is interrupted, the next start continues with the files of pages.
    store_identity::record_restore(home);
    if let Err(fault) = create_store(home, &options, &remains, kept.is_some()) {
        aside.put_back();
        return Err(fault);
    }
    let first_job = remains.kept.as_ref().filter(|_| kept.is_some()).map_or(0, |it| it.next_job);
    warnings.extend(aside.notices());
    // The record belongs to the former store.
    let _ = std::fs::remove_file(home.shutdown_record());
    let brain = Brain::open(home.clone(), config, clock, new_store_id)?;
    if let Some(taken_in) = brain.taken_in.get() {
        warnings.extend(describe(taken_in.as_ref().map_err(Clone::clone)?));
    }
    queue_former_items(&brain, &aside, first_job, &mut warnings)?;
    let reader = brain.store.read(Visibility::All)?;
    let known = reader.attached_files()?;
    let unknown = attachments.ok().and_then(|files| files.forget_known(&known));
    warnings.extend(unknown.map(|dir| {
        format!(
            "files of pages that were attached after the copy was made are in {}: `{}` attaches \
             them again",
            dir.display(),
            Command::Attach { page: None }
        )
    }));
    let failing =
        brain.files.failing_files().map(|(why, _)| format!("a page's file is not written: {why}"));
    warnings.extend(failing);
    let pages = reader.counts()?;
    drop(reader);
    brain.flush();
    let (path, report) = match kept {
        Some(report) => (remains.kept_path.clone(), report),
        None => (home.pages(), empty_report()),
    };
    let restored = reply(
        BackupStatus::Restored,
        &path,
        &VerifyReport { pages: pages.active, deleted: pages.deleted, ..report },
    );
    Ok(BackupReply { warnings: [restored.warnings, warnings].concat(), ..restored })
}

fn nothing_to_restore(home: &Home) -> Fault {
    let message = format!(
        "{} has neither a usable copy of the store nor files of pages",
        home.root().display()
    );
    Fault::new(FaultCode::StoreDamaged, message)
        .hint(hint!("restore a backup: {}", Command::BackupRestore { file: None }))
}

/// Returns the report of the kept copy; `None` if there is no usable one.
fn verified_copy(
    remains: &HomeRemains,
    warnings: &mut Vec<String>,
) -> Result<Option<VerifyReport>, Fault> {
    if remains.kept.is_none() {
        return Ok(None);
    }
    match store::verify(&remains.kept_path, &|_, _| true) {
        Ok(report) => Ok(Some(report)),
        Err(error) if error.is_damage() => {
            warnings.push(format!("the kept copy was not used: {error}"));
            Ok(None)
        }
        Err(error) => Err(backup_fault(error)),
    }
}

/// Queues the items in the spool of the former store, from `first_job` on.
fn queue_former_items(
    brain: &Brain,
    aside: &FormerStore,
    first_job: u64,
    warnings: &mut Vec<String>,
) -> Result<(), Fault> {
    let jobs = store::spooled_jobs(&aside.store, first_job).unwrap_or_else(|error| {
        warnings.push(format!("items in the former spool were not read: {error}"));
        Vec::new()
    });
    if jobs.is_empty() {
        return Ok(());
    }
    warnings.push(format!("items of the former spool in the queue: {}", jobs.len()));
    Ok(brain.store.write(move |transaction| {
        jobs.iter().try_for_each(|job| transaction.add_job(job).map(drop))
    })?)
}

/// Refuses a machine of a shared brain, a store that a daemon uses, and one that is intact.
fn check_needs_restore(home: &Home) -> Result<(), Fault> {
    if home.machines().exists() {
        let message = format!("{} is a machine of a shared brain", home.root().display());
        return Err(Fault::new(FaultCode::Conflict, message)
            .hint("the other machines have its pages: join again, see docs/machines.md"));
    }
    let path = home.store();
    if std::fs::symlink_metadata(&path).is_err() {
        return Ok(());
    }
    match store::verify(&path, &|_, _| true) {
        Err(StoreError::Locked(_)) => {
            let message = format!("{} is the store of a running brain", path.display());
            Err(Fault::new(FaultCode::StoreLocked, message).hint(Command::Stop))
        }
        Err(error) if error.is_damage() => Ok(()),
        Err(error) => Err(backup_fault(error)),
        Ok(report) => {
            let message = format!(
                "{} is intact, with {} pages: nothing was restored",
                path.display(),
                report.pages
            );
            Err(Fault::new(FaultCode::Conflict, message).hint(hint!(
                "start it: {}; to use the kept copy nevertheless, first move that file away: `mv \
                 {} {}.old`",
                Command::Status,
                path.display().to_string(),
                path.display().to_string()
            )))
        }
    }
}

/// Creates the store. Its first start compares it with the files of pages.
fn create_store(
    home: &Home,
    options: &StoreOptions,
    remains: &HomeRemains,
    has_kept: bool,
) -> Result<(), Fault> {
    if has_kept {
        let from = &remains.kept_path;
        store::restore(from, &home.store(), options, &mut |_, _, _| false, &|_, _| true)
            .map_err(backup_fault)?;
    } else {
        store::create_store(&home.store(), options)?;
    }
    Ok(())
}

/// Says what the files of pages changed in the restored store.
fn describe(synced: &SyncedSource) -> Vec<String> {
    let mut out = Vec::new();
    let counts = [
        (synced.added, "new"),
        (synced.updated, "changed"),
        (synced.restored, "restored"),
        (synced.renamed, "renamed"),
        (synced.removed, "deleted"),
    ];
    let changes: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !changes.is_empty() {
        out.push(format!("pages by the files in {}: {}", synced.path, changes.join(", ")));
    }
    out.extend(synced.problem.clone());
    out.extend(synced.failed.iter().map(|it| format!("{}: {}", it.path, it.reason)));
    out
}

fn empty_report() -> VerifyReport {
    VerifyReport {
        bytes: 0,
        schema: SCHEMA,
        pages: 0,
        deleted: 0,
        versions: 0,
        rows: 0,
        made_at: None,
        directories: Vec::new(),
        attachments: 0,
        missing_attachments: 0,
    }
}

/// The former store and its spool under their new names.
struct FormerStore {
    /// The path of the former store, even if there was none.
    store: PathBuf,
    /// What was renamed: the former path and the new one.
    renamed: Vec<(PathBuf, PathBuf)>,
}

impl FormerStore {
    /// Renames the store and its spool to names that are free.
    fn set_aside(home: &Home, now: i64) -> Result<Self, Fault> {
        let store = home.store();
        let time: String = rfc3339(now).chars().take(19).filter(|c| c.is_alphanumeric()).collect();
        let name = |n: u32| {
            let mut name = OsString::from(&store);
            name.push(format!(".torn-{time}Z"));
            name.push(if n == 1 { String::new() } else { format!("-{n}") });
            PathBuf::from(name)
        };
        let is_free = |path: &PathBuf| {
            [path.clone(), store::spool_path(path)]
                .iter()
                .all(|path| path.symlink_metadata().is_err())
        };
        let aside = (1..).map(name).find(is_free).unwrap_or_else(|| name(1));
        let mut former = Self { store: aside.clone(), renamed: Vec::new() };
        for (from, to) in [(store::spool_path(&store), store::spool_path(&aside)), (store, aside)] {
            if from.symlink_metadata().is_err() {
                continue;
            }
            if let Err(error) = std::fs::rename(&from, &to) {
                former.put_back();
                return Err(write_fault(&to, error));
            }
            former.renamed.push((from, to));
        }
        Ok(former)
    }

    /// Returns the name of the directory for attachments that the new store does not know.
    fn attachments_name(&self) -> String {
        let name = self.store.file_name().unwrap_or_default().to_string_lossy();
        name.replace("brain.redb", "attachments")
    }

    /// Undoes the renames.
    fn put_back(&self) {
        for (from, to) in &self.renamed {
            if let Err(error) = std::fs::rename(to, from) {
                tracing::error!(%error, file = %to.display(), "former store not renamed back");
            }
        }
    }

    /// Says where the former files are.
    fn notices(&self) -> Vec<String> {
        let notice = |(from, to): &(PathBuf, PathBuf)| {
            format!("the former {} is now {}", from.display(), to.display())
        };
        self.renamed.iter().map(notice).collect()
    }
}
