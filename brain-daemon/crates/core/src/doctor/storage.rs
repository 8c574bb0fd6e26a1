//! Checks of the store, the index, queues, the disk and backups.

use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use brain_protocol::{Fault, JobId, JobState};

use crate::Brain;
use crate::backup::scheduled::{self, BackupState};
use brain_base::caller::Visibility;
use brain_base::clock::rfc3339;
use brain_base::home::free_bytes;
use brain_store::{RECOVERY_MS, SCHEMA, StoreOptions, Usage};

use super::{Finding, fail, ok, quoted, warn};

/// Free bytes on the disk below which the check warns.
const LOW_FREE_BYTES: u64 = 500_000_000;
/// The number of newest pages that are read back, and the time for it.
const READ_BACK: u64 = 2000;
const READ_BACK_TIME: Duration = Duration::from_secs(1);
/// The time for counting the used part of the store.
const COUNT_TIME: Duration = Duration::from_secs(2);
/// Bytes of a store above which its used part is not counted, since all of it must be read.
const MAX_COUNTED: u64 = 4_000_000_000;
/// How late a purge may be, in milliseconds. Purges run every ten minutes.
const PURGE_GRACE_MS: i64 = 60 * 60 * 1000;
/// How long an item may wait for its page, in milliseconds.
const QUEUE_GRACE_MS: i64 = 10 * 60 * 1000;

pub(super) fn store(brain: &Brain) -> Result<Finding, Fault> {
    // Reads the newest pages with their texts.
    let (mut looked, began) = (0, Instant::now());
    let counts = brain.store.read_through(|reader| {
        reader.newest(u64::MAX, |(_, _, record)| {
            reader.content(&record)?;
            looked += 1;
            Ok(looked < READ_BACK && began.elapsed() < READ_BACK_TIME)
        })?;
        reader.counts()
    })?;
    let size = std::fs::metadata(brain.store.path()).map_or(0, |m| m.len());
    ok(format!(
        "{} pages, {} deleted, {} MB; the newest {looked} read back",
        counts.active,
        counts.deleted,
        size / 1_000_000
    ))
}

pub(super) fn size(brain: &Brain) -> Result<Finding, Fault> {
    let on_disk = brain.store.bytes_on_disk()?;
    let shown = format!("{} MB on the disk", on_disk / 1_000_000);
    if on_disk > MAX_COUNTED {
        return ok(format!(
            "{shown}; more than {} GB are not counted",
            MAX_COUNTED / 1_000_000_000
        ));
    }
    let reader = brain.store.read(Visibility::All)?;
    let (sender, receiver) = sync_channel(1);
    let counting = std::thread::Builder::new().name("doctor".into()).spawn(move || {
        let _ = sender.send(reader.bytes_in_use());
    });
    let Some(in_use) = counting.ok().and_then(|_| receiver.recv_timeout(COUNT_TIME).ok()) else {
        return ok(format!("{shown}; it takes too long to count how much of it is in use"));
    };
    let min_returned_bytes = StoreOptions::MIN_RETURNED_BYTES;
    let usage = Usage { on_disk, in_use: in_use?, min_returned_bytes };
    let shown = format!("{shown}, {} MB in use; the rest is used again", usage.in_use / 1_000_000);
    if usage.is_due() {
        return ok(format!("{shown}, and the next start of the daemon gives it back"));
    }
    if usage.is_wasteful() {
        let hint = "brain backup FILE, then `brain backup restore FILE` into an empty home: \
                    a copy has no gaps";
        return warn(format!("{shown}, but it is too much for a start to give back"), hint);
    }
    ok(shown)
}

pub(super) fn schema(brain: &Brain) -> Result<Finding, Fault> {
    let found = brain.store.read(Visibility::All)?.counts()?.schema;
    if found == SCHEMA {
        ok(format!("{found}"))
    } else {
        fail(format!("{found}, expected {SCHEMA}"), "brain stop")
    }
}

pub(super) fn index(brain: &Brain) -> Result<Finding, Fault> {
    if let Some(reason) = brain.index.degraded() {
        return warn(reason, "brain status");
    }
    let Some(index) = brain.index.get() else { return fail("not open", "brain stop") };
    let count = || -> Result<(u64, u64), Fault> {
        Ok((index.doc_count(), brain.store.read(Visibility::All)?.counts()?.active))
    };
    let (mut docs, mut pages) = count()?;
    // A write between the two counts is no finding.
    for _ in 0..5 {
        if docs == pages {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        (docs, pages) = count()?;
    }
    if docs != pages {
        return warn(
            format!("the index has {docs} pages, the store {pages}"),
            format!("brain stop && rm -r {}", quoted(&brain.env.home.index())),
        );
    }
    let rebuilt = brain
        .index
        .rebuilt()
        .map_or_else(String::new, |why| format!("; rebuilt at this start: {why}"));
    ok(format!("{docs} pages, {} not yet on disk{rebuilt}", index.behind()))
}

pub(super) fn outbox(brain: &Brain) -> Result<Finding, Fault> {
    let rows = brain.store.read(Visibility::All)?.counts()?.outbox;
    let waiting = brain.waiting_files(rows);
    let failing = brain.files.failing_files();
    if let (None, [.., last]) = (&failing, brain.files.kept_saves().as_slice()) {
        let message = format!(
            "{} saves of other programs came while brain wrote the same file, and are kept as \
             versions: the last one is version {} of {}",
            brain.files.kept_saves().len(),
            last.conflict.kept_version,
            last.conflict.slug
        );
        return warn(
            message,
            format!("brain history {} --source {}", last.conflict.slug, last.source),
        );
    }
    match failing {
        Some(why) => {
            warn(format!("{waiting} files are not as the store says: {why}"), "brain doctor --fix")
        }
        None => ok(format!("{waiting} files waiting")),
    }
}

pub(super) fn queue(brain: &Brain) -> Result<Finding, Fault> {
    let reader = brain.store.read(Visibility::All)?;
    let counts = reader.job_counts()?;
    if counts.failed > 0 {
        let mut last = None;
        reader.newest_jobs(
            u64::MAX,
            |_, state| state == JobState::Failed,
            |id, record| {
                last =
                    Some((JobId(id), record.error.map(|(_, message)| message).unwrap_or_default()));
                Ok(false)
            },
        )?;
        let (id, why) = last.map_or_else(Default::default, |(id, why)| (id.to_string(), why));
        let message = format!(
            "{} items failed for good, the last one, {id}, because: {why}; \
             `brain jobs retry` tries them again",
            counts.failed
        );
        return warn(message, "brain jobs list --state failed");
    }
    match reader.next_due_job(brain.env.clock.now())? {
        Some(at) if at + QUEUE_GRACE_MS < brain.env.clock.now() => {
            let message =
                format!("{} items wait, one of them since {}", counts.waiting, rfc3339(at));
            warn(message, "brain jobs list --state queued")
        }
        _ => ok(format!("{} items waiting", counts.waiting)),
    }
}

pub(super) fn spool(brain: &Brain) -> Result<Finding, Fault> {
    match brain.store.set_aside_spools()?.as_slice() {
        [] => ok("nothing was put aside"),
        [first, others @ ..] => {
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(" (and {} more)", others.len())
            };
            let message = format!(
                "{}{more} was put aside: it may have accepted items that this store does not have",
                first.display()
            );
            warn(
                message,
                "where brain is stopped and has no brain.redb.spool, put it beside its store under \
                 that name; or remove it",
            )
        }
    }
}

pub(super) fn purge(brain: &Brain) -> Result<Finding, Fault> {
    let oldest = brain.store.read(Visibility::All)?.oldest_deletion()?;
    match oldest {
        Some(at) if at + RECOVERY_MS + PURGE_GRACE_MS < brain.env.clock.now() => {
            warn(format!("pages deleted at {} are still there", rfc3339(at)), "brain doctor --fix")
        }
        Some(at) => ok(format!("the next one is due at {}", rfc3339(at + RECOVERY_MS))),
        None => ok("nothing is deleted"),
    }
}

pub(super) fn disk(brain: &Brain) -> Result<Finding, Fault> {
    let free = free_bytes(brain.env.home.root()).map_err(|e| {
        Fault::new(
            brain_protocol::FaultCode::Io,
            format!("{}: {e}", brain.env.home.root().display()),
        )
    })?;
    let message = format!("{} MB free for {}", free / 1_000_000, brain.env.home.root().display());
    if let Some(notice) = brain.files.read_only_notice() {
        return fail(notice, "mount -o remount,rw (as root), or move the home to another disk");
    }
    let hint = format!("df -h {}", quoted(brain.env.home.root()));
    if free < brain.env.config.store.min_free_mb * 1_000_000 {
        fail(format!("{message}: writes are refused"), hint)
    } else if free < LOW_FREE_BYTES {
        warn(message, hint)
    } else {
        ok(message)
    }
}

pub(super) fn backup(brain: &Brain) -> Result<Finding, Fault> {
    let Some(dir) = brain.env.config.backup_dir(&brain.env.home) else {
        return ok("none by schedule: backup.dir is not set");
    };
    let by_hand = || {
        let name = scheduled::manual_file_name(brain.env.clock.now());
        format!("brain backup {}", dir.join(name).display())
    };
    let last_backup = |newest: Option<i64>| {
        newest.map_or_else(
            || "there is none".into(),
            |at| format!("the last one is of {}", rfc3339(at)),
        )
    };
    match brain.copies.backup_state()? {
        BackupState::Off => ok("none by schedule"),
        BackupState::Good(None) => ok("the first one is about to be made"),
        BackupState::Good(newest) => ok(last_backup(newest)),
        BackupState::Failed(at, fault) => {
            let hint = fault.hint.filter(|_| !dir.is_dir()).unwrap_or_else(by_hand);
            warn(format!("the one of {} failed: {}", rfc3339(at), fault.message), hint)
        }
        BackupState::Overdue(newest) => {
            warn(format!("overdue: {}", last_backup(newest)), by_hand())
        }
        BackupState::Ahead(at) => warn(
            format!(
                "the newest one is of {}, later than now: the clock was set back, or was ahead",
                rfc3339(at)
            ),
            "date -u",
        ),
    }
}
