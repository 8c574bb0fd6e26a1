//! `doctor`: looks at everything that can be wrong, and says what helps.
//!
//! Each check runs on a thread of its own with a deadline, so that one that hangs is a finding and not a hang.
//! A hint is a command that exists, or says what to do by hand.

use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use brain_protocol::{
    Check, CheckStatus, Doctor, DoctorReply, Fault, JobId, JobState, SourceId, WorkerFailure,
    WorkerState, WorkerStatus,
};

use super::scheduled::{self, Standing};
use super::{Brain, Caller, WatchState, collector as collecting, tunnel as tunnelling};
use brain_access::AccessSummary;
use brain_base::caller::Visibility;
use brain_base::clock::rfc3339;
use brain_base::home::free_bytes;
use brain_store::{RECOVERY_MS, SCHEMA, StoreOptions, Usage};

/// How long one check may take.
const DEADLINE: Duration = Duration::from_secs(3);
/// Less free room than this is worth a look, in bytes.
const LOW_ROOM: u64 = 500_000_000;
/// How many of the newest pages are read back, and how long at the most: a disk may be slow, and a page large.
const READ_BACK: u64 = 2000;
const READ_FOR: Duration = Duration::from_secs(1);
/// How long to wait until it is counted how much of the store is in use.
const COUNT_FOR: Duration = Duration::from_secs(2);
/// Of a larger store it is not counted how much is in use: all of it would have to be read.
const MAX_COUNTED: u64 = 4_000_000_000;
/// How late a purge may be: the timer comes by every ten minutes.
const PURGE_GRACE_MS: i64 = 60 * 60 * 1000;
/// How long an item may wait for its page: much has come in, or the disk was full.
const QUEUE_GRACE_MS: i64 = 10 * 60 * 1000;

type Finding = (CheckStatus, String, Option<String>);
type Look = fn(&Brain) -> Result<Finding, Fault>;

const CHECKS: &[(&str, Look)] = &[
    ("daemon", daemon),
    ("http", http),
    ("socket permissions", socket),
    ("store integrity", store),
    ("store size", size),
    ("schema version", schema),
    ("index", index),
    ("outbox", outbox),
    ("queue", queue),
    ("spool", spool),
    ("purge", purge),
    ("sources", sources),
    ("watcher", watcher),
    ("disk space", disk),
    ("backup", backup),
    ("clients", clients),
    ("embedding", embedding),
    ("collector", collector),
    ("tunnel", tunnel),
    ("language model", language_model),
    ("workers", workers),
    ("clock", clock),
];

impl Brain {
    pub(super) fn doctor(
        self: &Arc<Self>,
        _caller: &Caller,
        request: &Doctor,
    ) -> Result<DoctorReply, Fault> {
        if request.fix && self.env.home.is_here() {
            self.files.replay_outbox();
            // What cannot be mended shows in the checks.
            if let Err(fault) = self.pages.purge_due().and_then(|_| self.files.flush_outbox()) {
                tracing::warn!(%fault, "doctor");
            }
            self.index.flush();
            self.close_socket_to_others();
        }
        let checks = self.examine(CHECKS, DEADLINE);
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

    /// Runs checks side by side; each has until `deadline` from now.
    fn examine(
        self: &Arc<Self>,
        checks: &[(&'static str, Look)],
        deadline: Duration,
    ) -> Vec<Check> {
        let until = Instant::now() + deadline;
        let looking: Vec<_> = checks
            .iter()
            .map(|&(name, look)| {
                let (answer, finding) = sync_channel(1);
                let brain = Arc::clone(self);
                let thread = std::thread::Builder::new().name("doctor".into());
                let started = thread.spawn(move || {
                    let found = look(&brain);
                    // Whoever has the answer may close the brain.
                    drop(brain);
                    let _ = answer.send(found);
                });
                (name, started.map(|_| finding))
            })
            .collect();
        looking
            .into_iter()
            .map(|(name, started)| {
                let left = until.saturating_duration_since(Instant::now());
                let found = match started {
                    Ok(finding) => finding.recv_timeout(left).map_err(|e| match e {
                        RecvTimeoutError::Timeout => format!("no answer within {deadline:?}"),
                        RecvTimeoutError::Disconnected => {
                            "a defect in brain ended this check".into()
                        }
                    }),
                    Err(error) => Err(format!("no thread for this check: {error}")),
                };
                check(name, found)
            })
            .collect()
    }

    /// Gives the socket that this daemon made the mode that it was made with.
    fn close_socket_to_others(&self) {
        let path = self.env.config.socket(&self.env.home);
        let ours = std::fs::symlink_metadata(&path).is_ok_and(|meta| {
            meta.file_type().is_socket() && meta.uid() == rustix::process::geteuid().as_raw()
        });
        if ours
            && !self.env.config.socket_is_passed()
            && let Err(error) =
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
        {
            tracing::warn!(%error, "the socket's mode");
        }
    }
}

/// A check's finding; or why there is none.
fn check(name: &str, finding: Result<Result<Finding, Fault>, String>) -> Check {
    let (status, message, hint) = match finding {
        Ok(Ok(finding)) => finding,
        Ok(Err(fault)) => (CheckStatus::Fail, fault.message, fault.hint),
        Err(why) => (CheckStatus::Fail, why, Some("brain status".into())),
    };
    Check { name: name.into(), status, message, hint }
}

/// A path as it is typed into a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
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
    if !brain.env.home.is_here() {
        return fail(crate::home_place::moved_home(&brain.env.home), crate::home_place::way_back());
    }
    ok(format!(
        "version {version}, process {}, up {} s",
        std::process::id(),
        brain.started.elapsed().as_secs()
    ))
}

fn socket(brain: &Brain) -> Result<Finding, Fault> {
    let path = brain.env.config.socket(&brain.env.home);
    let passed = brain.env.config.socket_is_passed();
    let Ok(meta) = std::fs::symlink_metadata(&path) else {
        if passed {
            // A user's manager sets this variable, the system's does not.
            let manager =
                if std::env::var_os("XDG_RUNTIME_DIR").is_some() { " --user" } else { "" };
            let hint = format!("systemctl{manager} restart brain-daemon.socket");
            return fail(format!("{} is not there; systemd made it", path.display()), hint);
        }
        return fail(
            format!("{} is not there", path.display()),
            format!("kill {}", std::process::id()),
        );
    };
    let mode = meta.permissions().mode() & 0o777;
    if passed {
        // Its mode is systemd's business; who comes in is looked at for each connection.
        return ok(format!("{}, mode {mode:04o}, passed in by systemd", path.display()));
    }
    if meta.uid() == rustix::process::geteuid().as_raw() && mode & 0o077 != 0 {
        return fail(
            format!("{} has mode {mode:04o}: others can open it", path.display()),
            format!("chmod 600 {}", quoted(&path)),
        );
    }
    ok(format!("{}, mode {mode:04o}", path.display()))
}

fn store(brain: &Brain) -> Result<Finding, Fault> {
    // A walk of the newest pages: whole rows, whole texts.
    let (mut looked, began) = (0, Instant::now());
    let counts = brain.store.read_through(|reader| {
        reader.newest(u64::MAX, |(_, _, record)| {
            reader.content(&record)?;
            looked += 1;
            Ok(looked < READ_BACK && began.elapsed() < READ_FOR)
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

fn size(brain: &Brain) -> Result<Finding, Fault> {
    let on_disk = brain.store.bytes_on_disk()?;
    let shown = format!("{} MB on the disk", on_disk / 1_000_000);
    if on_disk > MAX_COUNTED {
        return ok(format!(
            "{shown}; more than {} GB are not counted",
            MAX_COUNTED / 1_000_000_000
        ));
    }
    let reader = brain.store.read(Visibility::All)?;
    let (tell, told) = sync_channel(1);
    let counting = std::thread::Builder::new().name("doctor".into()).spawn(move || {
        let _ = tell.send(reader.bytes_in_use());
    });
    let Some(in_use) = counting.ok().and_then(|_| told.recv_timeout(COUNT_FOR).ok()) else {
        return ok(format!("{shown}; it takes too long to count how much of it is in use"));
    };
    let min_returned_bytes = StoreOptions::MIN_RETURNED_BYTES;
    let usage = Usage { on_disk, in_use: in_use?, min_returned_bytes };
    let shown = format!("{shown}, {} MB in use; the rest is used again", usage.in_use / 1_000_000);
    if usage.is_due() {
        return ok(format!("{shown}, and the next start of the daemon gives it back"));
    }
    if usage.is_wasteful() {
        let hint = "brain backup FILE, then `brain backup restore FILE` into an empty home: a copy has no gaps";
        return warn(format!("{shown}, but it is too much for a start to give back"), hint);
    }
    ok(shown)
}

fn http(brain: &Brain) -> Result<Finding, Fault> {
    let addresses = brain.access.http_addresses();
    if let Some(missing) = addresses.missing.first() {
        return warn(missing, "brain config path");
    }
    if !addresses.exposed.is_empty() {
        return warn(addresses.exposed.join("; "), "brain config path");
    }
    let served: Vec<String> =
        [addresses.local, addresses.public].iter().flatten().map(ToString::to_string).collect();
    let message = if served.is_empty() {
        "off".into()
    } else {
        format!("served at {}", served.join(" and "))
    };
    Ok((CheckStatus::Ok, message, None))
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
            format!("brain stop && rm -r {}", quoted(&brain.env.home.index())),
        );
    }
    let rebuilt = brain
        .index
        .rebuilt()
        .map_or_else(String::new, |why| format!("; built anew at this start: {why}"));
    ok(format!("{docs} pages, {} not yet on disk{rebuilt}", index.behind()))
}

fn outbox(brain: &Brain) -> Result<Finding, Fault> {
    let rows = brain.store.read(Visibility::All)?.counts()?.outbox;
    let waiting = brain.waiting_files(rows);
    let failing = brain.files.failing_files();
    if let (None, [.., last]) = (&failing, brain.files.kept_saves().as_slice()) {
        let message = format!(
            "{} saves of other programs came while brain wrote the same file, and are kept as versions: the last one is \
             version {} of {}",
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

fn queue(brain: &Brain) -> Result<Finding, Fault> {
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
            "{} items failed for good, the last one, {id}, because: {why}; `brain jobs retry` tries them again",
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

fn spool(brain: &Brain) -> Result<Finding, Fault> {
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
                "where brain is stopped and has no brain.redb.spool, put it beside its store under that name; or remove it",
            )
        }
    }
}

fn purge(brain: &Brain) -> Result<Finding, Fault> {
    let oldest = brain.store.read(Visibility::All)?.oldest_deletion()?;
    match oldest {
        Some(at) if at + RECOVERY_MS + PURGE_GRACE_MS < brain.env.clock.now() => {
            warn(format!("pages deleted at {} are still there", rfc3339(at)), "brain doctor --fix")
        }
        Some(at) => ok(format!("the next one is due at {}", rfc3339(at + RECOVERY_MS))),
        None => ok("nothing is deleted"),
    }
}

fn sources(brain: &Brain) -> Result<Finding, Fault> {
    let sources = brain.store.read(Visibility::All)?.sources()?;
    let named = |found: Vec<(&SourceId, String)>| -> String {
        let found: Vec<String> = found.iter().map(|(id, why)| format!("{id}: {why}")).collect();
        found.join("; ")
    };
    let unusable: Vec<_> = sources
        .iter()
        .filter_map(|(id, record)| Some((id, brain.sources.unusable(record)?)))
        .collect();
    if !unusable.is_empty() {
        return fail(named(unusable), "brain sources list");
    }
    let unsynced: Vec<_> = sources
        .iter()
        .filter_map(|(id, record)| Some((id, record.synced.clone()?.problem?)))
        .collect();
    if let Some((id, _)) = unsynced.first() {
        let hint = format!("brain sync --source {id}");
        return warn(named(unsynced), hint);
    }
    ok(format!("{} registered, all there", sources.len()))
}

fn watcher(brain: &Brain) -> Result<Finding, Fault> {
    match brain.sources.watched.state() {
        WatchState::Off => ok("off (`sources.watch`)"),
        WatchState::Watching { directories } => ok(format!("{directories} directories")),
        WatchState::Failing(problem) => warn(
            format!("{problem}; the sources are looked through every minute"),
            "brain sync --all",
        ),
    }
}

fn disk(brain: &Brain) -> Result<Finding, Fault> {
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
    } else if free < LOW_ROOM {
        warn(message, hint)
    } else {
        ok(message)
    }
}

fn backup(brain: &Brain) -> Result<Finding, Fault> {
    let Some(dir) = brain.env.config.backup_dir(&brain.env.home) else {
        return ok("none by schedule: backup.dir is not set");
    };
    let by_hand = || {
        format!("brain backup {}", dir.join(scheduled::by_hand(brain.env.clock.now())).display())
    };
    let told = |newest: Option<i64>| {
        newest.map_or_else(
            || "there is none".into(),
            |at| format!("the last one is of {}", rfc3339(at)),
        )
    };
    match brain.copies.backup_standing()? {
        Standing::Off => ok("none by schedule"),
        Standing::Good(None) => ok("the first one is about to be made"),
        Standing::Good(newest) => ok(told(newest)),
        Standing::Failed(at, fault) => {
            let hint = fault.hint.filter(|_| !dir.is_dir()).unwrap_or_else(by_hand);
            warn(format!("the one of {} failed: {}", rfc3339(at), fault.message), hint)
        }
        Standing::Overdue(newest) => warn(format!("overdue: {}", told(newest)), by_hand()),
        Standing::Ahead(at) => warn(
            format!(
                "the newest one is of {}, later than now: the clock was set back, or was ahead",
                rfc3339(at)
            ),
            "date -u",
        ),
    }
}

fn clients(brain: &Brain) -> Result<Finding, Fault> {
    access_finding(brain.access.summary())
}

fn access_finding(access: AccessSummary) -> Result<Finding, Fault> {
    if let Some(fault) = access.admin_token_problem {
        let hint = fault.hint.unwrap_or_else(|| "brain token admin".into());
        return warn(format!("there is no admin token: {}", fault.message), hint);
    }
    if !access.expiring.is_empty() {
        let expiring: Vec<String> = access
            .expiring
            .iter()
            .map(|(name, at)| format!("\"{name}\" at {}", rfc3339(*at)))
            .collect();
        let hint =
            "make new ones: brain token create NAME --scope SCOPES; brain token list has these";
        return warn(format!("tokens end soon: {}", expiring.join(", ")), hint);
    }
    let without_expiry = match access.without_expiry.as_slice() {
        [] => String::new(),
        names => format!("; without an end: {}", names.join(", ")),
    };
    ok(format!("clients: {}, personal tokens: {}{without_expiry}", access.clients, access.tokens))
}

fn embedding(brain: &Brain) -> Result<Finding, Fault> {
    let standing = brain.embedding.meaning_status();
    let Some(model) = standing.model else {
        return ok(
            "none: search goes by words; `brain model install all-minilm-l6-v2` adds what is meant",
        );
    };
    if let Some((problem, hint)) = standing.problem {
        let told = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        return warn(format!("{problem}{told}"), "brain embed --stale");
    }
    let with = format!("{} with {model}", standing.provider);
    let missing = match standing.missing {
        0 => String::new(),
        n => format!(", {n} pages wait for theirs"),
    };
    ok(format!("{with}: {} pages, {} windows{missing}", standing.pages, standing.windows))
}

fn collector(brain: &Brain) -> Result<Finding, Fault> {
    match brain.collector.collector_health()? {
        collecting::CollectorHealth::Healthy(how) => ok(how),
        collecting::CollectorHealth::Unhealthy { problem, hint } => warn(problem, hint),
    }
}

fn tunnel(brain: &Brain) -> Result<Finding, Fault> {
    match brain.tunnel.tunnel_health()? {
        tunnelling::TunnelHealth::Healthy(how) => ok(how),
        tunnelling::TunnelHealth::Unhealthy { problem, hint } => warn(problem, hint),
    }
}

fn language_model(brain: &Brain) -> Result<Finding, Fault> {
    Ok(match brain.models.llm_standing() {
        Ok(how) => (CheckStatus::Ok, how, None),
        Err((problem, hint)) => (CheckStatus::Warn, problem, Some(hint)),
    })
}

fn workers(brain: &Brain) -> Result<Finding, Fault> {
    let workers = brain.workers.list();
    let failing: Vec<String> = workers
        .iter()
        .filter_map(|it| {
            let WorkerFailure { message, at } = it.failure.as_ref()?;
            Some(format!("\"{}\" failed at {at}: {message} (restarts: {})", it.name, it.restarts))
        })
        .collect();
    if !failing.is_empty() {
        let is_down = workers.iter().any(|it| it.state == WorkerState::Restarting);
        let status = if is_down { CheckStatus::Fail } else { CheckStatus::Warn };
        let hint = "it restarts by itself; if it fails again, run `brain stop`, and report the \
                    message with the daemon's log";
        return Ok((status, failing.join("; "), Some(hint.into())));
    }
    let named = |is_configured: bool| -> String {
        let is_chosen =
            |it: &&WorkerStatus| (it.state != WorkerState::NotConfigured) == is_configured;
        let names: Vec<&str> = workers.iter().filter(is_chosen).map(|it| &*it.name).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    };
    ok(format!("at work: {}; not configured: {}", named(true), named(false)))
}

fn clock(brain: &Brain) -> Result<Finding, Fault> {
    let now = brain.env.clock.now();
    let mut newest = None;
    brain.store.read(Visibility::All)?.newest(u64::MAX, |(_, _, record)| {
        newest = Some(record.updated_at);
        Ok(false)
    })?;
    match newest {
        Some(at) if at > now + 60_000 => warn(
            format!("now is {}, but the newest page is of {}", rfc3339(now), rfc3339(at)),
            "date -u",
        ),
        _ => ok(rfc3339(now)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use brain_base::clock::SystemClock;
    use brain_base::home::Home;
    use brain_config::Config;

    #[test]
    fn tokens_that_expire_soon_are_a_warning() {
        let access = AccessSummary {
            clients: 1,
            tokens: 2,
            expiring: vec![("laptop".into(), 0)],
            without_expiry: vec!["ci".into()],
            admin_token_problem: None,
        };
        let (status, message, hint) = access_finding(access.clone()).unwrap();
        assert_eq!(status, CheckStatus::Warn);
        assert_eq!(message, "tokens end soon: \"laptop\" at 1970-01-01T00:00:00.000Z");
        assert!(hint.unwrap().contains("brain token create"));
        let quiet = AccessSummary { expiring: Vec::new(), ..access };
        let (status, message, _) = access_finding(quiet).unwrap();
        assert_eq!(status, CheckStatus::Ok);
        assert_eq!(message, "clients: 1, personal tokens: 2; without an end: ci");
    }

    #[test]
    fn a_failed_worker_is_in_status_and_doctor() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let brain = Arc::new(Brain::open(home, config, Arc::new(SystemClock), 7).unwrap());
        let all = Caller::local(7);
        brain.workers.set("ingest", WorkerState::Running);
        brain.workers.set("tunnel", WorkerState::NotConfigured);
        let (status, message, _) = workers(&brain).unwrap();
        assert_eq!(
            (status, message.as_str()),
            (CheckStatus::Ok, "at work: ingest; not configured: tunnel")
        );
        assert!(brain.status(&all).unwrap().degraded.is_empty());
        brain.workers.record_failure("ingest", "a defect".into(), 1_763_720_000_000);
        let (status, message, hint) = workers(&brain).unwrap();
        assert_eq!(status, CheckStatus::Fail);
        let failed = "\"ingest\" failed at 2025-11-21T10:13:20.000Z";
        assert_eq!(message, format!("{failed}: a defect (restarts: 1)"));
        assert!(hint.unwrap().contains("brain stop"));
        let shown = brain.status(&all).unwrap();
        assert_eq!(shown.workers, brain.workers.list());
        assert!(shown.degraded[0].contains("the worker \"ingest\" failed"), "{shown:?}");
        // It works again, but the failure is not long ago.
        brain.workers.set("ingest", WorkerState::Waiting);
        assert_eq!(workers(&brain).unwrap().0, CheckStatus::Warn);
        brain.workers.clear_failure("ingest");
        assert_eq!(workers(&brain).unwrap().0, CheckStatus::Ok);
        assert_eq!(brain.status(&all).unwrap().workers[0].restarts, 1);
    }

    #[test]
    fn a_check_that_hangs_is_a_finding_and_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let brain = Arc::new(Brain::open(home, config, Arc::new(SystemClock), 7).unwrap());
        let hangs: Look = |_| {
            std::thread::sleep(Duration::from_secs(600));
            ok("never")
        };
        // Long enough for a defect to be told, also on a busy machine.
        let deadline = Duration::from_secs(3);
        let breaks: Look = |_| panic!("a defect");
        let looks = [("slow", hangs), ("slower", hangs), ("broken", breaks), ("clock", clock)];
        let checks = brain.examine(&looks, deadline);
        let states: Vec<_> = checks.iter().map(|c| (c.name.as_str(), c.status)).collect();
        let (fail, ok) = (CheckStatus::Fail, CheckStatus::Ok);
        assert_eq!(states, [("slow", fail), ("slower", fail), ("broken", fail), ("clock", ok)]);
        assert!(checks[2].message.contains("a defect in brain"), "{:?}", checks[2]);
        assert!(checks[0].message.contains("no answer within 3s"), "{:?}", checks[0]);
        assert_eq!(checks[0].hint.as_deref(), Some("brain status"));
    }
}
