//! `doctor`: looks at everything that can be wrong, and says what helps.
//!
//! Each check runs on a thread of its own with a deadline, so that one that hangs is a finding and not a hang.
//! Every hint is a command that exists.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use brain_protocol::{Check, CheckStatus, Doctor, DoctorReply, Fault};

use super::{Brain, Caller};
use crate::clock::rfc3339;
use crate::store::{RECOVERY_MS, SCHEMA, Visibility};

/// How long one check may take.
const DEADLINE: Duration = Duration::from_secs(3);
/// Less free room than this is worth a look, in bytes.
const LOW_ROOM: u64 = 500_000_000;
/// How late a purge may be: the timer comes by every ten minutes.
const PURGE_GRACE_MS: i64 = 60 * 60 * 1000;

type Finding = (CheckStatus, String, Option<String>);
type Look = fn(&Brain) -> Result<Finding, Fault>;

const CHECKS: &[(&str, Look)] = &[
    ("daemon", daemon),
    ("socket permissions", socket),
    ("store integrity", store),
    ("schema version", schema),
    ("index", index),
    ("outbox", outbox),
    ("purge", purge),
    ("sources", sources),
    ("disk space", disk),
    ("clock", clock),
];

impl Brain {
    pub(super) fn doctor(self: &Arc<Self>, _caller: &Caller, request: &Doctor) -> Result<DoctorReply, Fault> {
        if request.fix {
            self.replay_outbox();
            // What cannot be mended shows in the checks.
            if let Err(fault) = self.purge_due().and_then(|_| self.flush_outbox()) {
                tracing::warn!(%fault, "doctor");
            }
            self.index.flush();
        }
        let looking: Vec<_> = CHECKS
            .iter()
            .map(|&(name, look)| {
                let (answer, finding) = sync_channel(1);
                let brain = Arc::clone(self);
                std::thread::spawn(move || answer.send(look(&brain)));
                (name, finding)
            })
            .collect();
        let checks: Vec<Check> = looking
            .into_iter()
            .map(|(name, finding)| check(name, finding.recv_timeout(DEADLINE).ok()))
            .collect();
        let count = |status| checks.iter().filter(|c| c.status == status).count() as u32;
        let (failed, warned) = (count(CheckStatus::Fail), count(CheckStatus::Warn));
        let status = match (failed, warned) {
            (0, 0) => "healthy",
            (0, _) => "warnings",
            _ => "unhealthy",
        };
        let health_score = 100_u32.saturating_sub(25 * failed + 5 * warned);
        Ok(DoctorReply { status: status.into(), health_score, checks })
    }
}

fn check(name: &str, finding: Option<Result<Finding, Fault>>) -> Check {
    let (status, message, hint) = match finding {
        Some(Ok(finding)) => finding,
        Some(Err(fault)) => (CheckStatus::Fail, fault.message, fault.hint),
        None => (
            CheckStatus::Fail,
            format!("no answer within {} s", DEADLINE.as_secs()),
            Some("brain status".into()),
        ),
    };
    Check { name: name.into(), status, message, hint }
}

fn ok(message: impl Into<String>) -> Result<Finding, Fault> {
    Ok((CheckStatus::Ok, message.into(), None))
}

fn warn(message: impl Into<String>, hint: impl Into<String>) -> Result<Finding, Fault> {
    Ok((CheckStatus::Warn, message.into(), Some(hint.into())))
}

fn fail(message: impl Into<String>, hint: impl Into<String>) -> Result<Finding, Fault> {
    Ok((CheckStatus::Fail, message.into(), Some(hint.into())))
}

fn daemon(brain: &Brain) -> Result<Finding, Fault> {
    let version = brain_protocol::VERSION;
    ok(format!(
        "version {version}, process {}, up {} s",
        std::process::id(),
        brain.started.elapsed().as_secs()
    ))
}

fn socket(brain: &Brain) -> Result<Finding, Fault> {
    let path = brain.config.socket(&brain.home);
    let Ok(meta) = std::fs::symlink_metadata(&path) else {
        return fail(format!("{} is not there", path.display()), format!("kill {}", std::process::id()));
    };
    let mode = meta.permissions().mode() & 0o777;
    if meta.uid() == rustix::process::geteuid().as_raw() && mode & 0o077 != 0 {
        return fail(
            format!("{} has mode {mode:04o}: others can open it", path.display()),
            format!("chmod 600 {}", path.display()),
        );
    }
    ok(format!("{}, mode {mode:04o}", path.display()))
}

fn store(brain: &Brain) -> Result<Finding, Fault> {
    let reader = brain.store.read(Visibility::All)?;
    let counts = reader.counts()?;
    // A walk of the newest pages: whole rows, whole texts.
    let mut looked = 0;
    reader.newest(u64::MAX, |(_, _, record)| {
        reader.content(record.id)?;
        looked += 1;
        Ok(looked < 200)
    })?;
    let size = std::fs::metadata(brain.store.path()).map_or(0, |m| m.len());
    ok(format!(
        "{} pages, {} deleted, {} MB; the newest {looked} read back",
        counts.active,
        counts.deleted,
        size / 1_000_000
    ))
}

fn schema(brain: &Brain) -> Result<Finding, Fault> {
    let found = brain.store.read(Visibility::All)?.counts()?.schema;
    if found == SCHEMA {
        ok(format!("{found}"))
    } else {
        fail(format!("{found}, expected {SCHEMA}"), "brain stop")
    }
}

fn index(brain: &Brain) -> Result<Finding, Fault> {
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
            format!("brain stop && rm -r {}", brain.home.index().display()),
        );
    }
    let rebuilt =
        brain.index.rebuilt().map_or_else(String::new, |why| format!("; built anew at this start: {why}"));
    ok(format!("{docs} pages, {} not yet on disk{rebuilt}", index.behind()))
}

fn outbox(brain: &Brain) -> Result<Finding, Fault> {
    let rows = brain.store.read(Visibility::All)?.counts()?.outbox;
    let waiting = brain.waiting_files(rows);
    let failing = brain.failing_files();
    match failing {
        Some(why) => warn(format!("{waiting} files are not as the store says: {why}"), "brain doctor --fix"),
        None => ok(format!("{waiting} files waiting")),
    }
}

fn purge(brain: &Brain) -> Result<Finding, Fault> {
    let oldest = brain.store.read(Visibility::All)?.oldest_deletion()?;
    match oldest {
        Some(at) if at + RECOVERY_MS + PURGE_GRACE_MS < brain.clock.now() => {
            warn(format!("pages deleted at {} are still there", rfc3339(at)), "brain doctor --fix")
        }
        Some(at) => ok(format!("the next one is due at {}", rfc3339(at + RECOVERY_MS))),
        None => ok("nothing is deleted"),
    }
}

fn sources(brain: &Brain) -> Result<Finding, Fault> {
    let sources = brain.store.read(Visibility::All)?.sources()?;
    let missing: Vec<String> = sources
        .iter()
        .filter_map(|(id, record)| record.path.as_ref().map(|path| (id, path)))
        .filter(|(_, path)| !std::path::Path::new(path).is_dir())
        .map(|(id, path)| format!("{id} ({path})"))
        .collect();
    if missing.is_empty() {
        return ok(format!("{} registered, all there", sources.len()));
    }
    fail(format!("the directory is gone: {}", missing.join(", ")), "brain status")
}

fn disk(brain: &Brain) -> Result<Finding, Fault> {
    let stat = rustix::fs::statvfs(brain.home.root()).map_err(|e| {
        Fault::new(brain_protocol::FaultCode::Io, format!("{}: {e}", brain.home.root().display()))
    })?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let message = format!("{} MB free for {}", free / 1_000_000, brain.home.root().display());
    let hint = format!("df -h {}", brain.home.root().display());
    if free < brain.config.store_min_free_mb() * 1_000_000 {
        fail(format!("{message}: writes are refused"), hint)
    } else if free < LOW_ROOM {
        warn(message, hint)
    } else {
        ok(message)
    }
}

fn clock(brain: &Brain) -> Result<Finding, Fault> {
    let now = brain.clock.now();
    let mut newest = None;
    brain.store.read(Visibility::All)?.newest(u64::MAX, |(_, _, record)| {
        newest = Some(record.updated_at);
        Ok(false)
    })?;
    match newest {
        Some(at) if at > now + 60_000 => {
            warn(format!("now is {}, but the newest page is of {}", rfc3339(now), rfc3339(at)), "date -u")
        }
        _ => ok(rfc3339(now)),
    }
}
