//! Stores runs as files, `<home>/ideas/<run id>.json`.
//!
//! Files are replaced atomically. Old runs are removed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use brain_protocol::{Command, Fault, FaultCode, hint};
use parking_lot::Mutex;
use serde::Deserialize;

use super::run_state::{Cross, FORMAT, IdeaRun};
use brain_base::durable;
use brain_base::home::create_private_dir;

/// Maximum number of stored runs.
const MAX_RUNS: usize = 100;
/// Maximum age of a run since its last change, in milliseconds.
const MAX_AGE_MS: i64 = 90 * 24 * 60 * 60 * 1000;
/// The 32 characters of run ids, without similar-looking ones.
const ID_ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Length of a run id, in characters.
const ID_LENGTH: usize = 8;

/// Encodes random bytes as a run id.
pub(super) fn run_id(random: u64) -> String {
    (0..ID_LENGTH)
        .map(|at| char::from(ID_ALPHABET[(random >> (5 * at)) as usize % ID_ALPHABET.len()]))
        .collect()
}

/// Returns whether a text is a valid run id. Only valid ids become paths.
pub(super) fn is_run_id(text: &str) -> bool {
    text.len() == ID_LENGTH && text.bytes().all(|byte| ID_ALPHABET.contains(&byte))
}

/// The ids of runs that are active in this process.
#[derive(Debug, Default)]
pub(crate) struct ActiveRuns(Mutex<BTreeSet<String>>);

impl ActiveRuns {
    /// Locks a run until the guard is dropped. `None` if it is locked already.
    pub(super) fn lock(&self, run_id: &str) -> Option<RunGuard<'_>> {
        let is_new = self.0.lock().insert(run_id.to_owned());
        is_new.then(|| RunGuard { all: self, run_id: run_id.to_owned() })
    }

    /// Returns whether a run is active.
    pub(super) fn contains(&self, run_id: &str) -> bool {
        self.0.lock().contains(run_id)
    }
}

/// The lock of an active run.
pub(super) struct RunGuard<'a> {
    all: &'a ActiveRuns,
    run_id: String,
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.run_id);
    }
}

/// The directory of runs.
pub(super) struct RunStore {
    dir: PathBuf,
}

impl RunStore {
    /// Creates the store of the runs in `dir`, which may not exist yet.
    pub(super) fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Saves a run durably.
    ///
    /// # Errors
    /// `disk_full`, `read_only` or `io` if the file cannot be written.
    pub(super) fn save(&self, run: &IdeaRun) -> Result<(), Fault> {
        let path = self.path(&run.run_id);
        let write = || {
            create_private_dir(&self.dir)?;
            // Active runs are locked, so there is no other writer.
            durable::replace(&path, &serde_json::to_vec_pretty(run)?)
        };
        write().map_err(|error| io_fault("written", &path, &error))
    }

    /// Loads the run with this id.
    ///
    /// # Errors
    /// `not_found` if the run does not exist; `io` if its file cannot be read, is damaged, or has
    /// another format.
    pub(super) fn load(&self, run_id: &str) -> Result<IdeaRun, Fault> {
        if !is_run_id(run_id) {
            return Err(no_run(run_id));
        }
        let path = self.path(run_id);
        match fs::read(&path) {
            Ok(bytes) => parse(&bytes, run_id).map_err(|error| error.fault(&path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(no_run(run_id)),
            Err(error) => Err(io_fault("read", &path, &error)),
        }
    }

    /// Returns all runs, newest first, and a message for each unusable file.
    ///
    /// # Errors
    /// `io` if the directory cannot be read.
    pub(super) fn load_all(&self) -> Result<(Vec<IdeaRun>, Vec<String>), Fault> {
        let (mut runs, mut problems) = (Vec::new(), Vec::new());
        for run_id in self.ids().map_err(|error| io_fault("read", &self.dir, &error))? {
            match self.load(&run_id) {
                Ok(run) => runs.push(run),
                Err(fault) => problems.push(fault.message),
            }
        }
        runs.sort_by(|one, other| {
            (other.started_at, &other.run_id).cmp(&(one.started_at, &one.run_id))
        });
        Ok((runs, problems))
    }

    /// Removes runs that are older than [`MAX_AGE_MS`], and the oldest of more than [`MAX_RUNS`].
    /// Keeps active runs and unusable files. `now` is in Unix milliseconds.
    pub(super) fn prune(&self, now: i64, active: &ActiveRuns) {
        let Ok((mut runs, _)) = self.load_all() else { return };
        runs.sort_by_key(|run| std::cmp::Reverse(run.changed_at));
        for (index, run) in runs.iter().enumerate() {
            let is_expired = index >= MAX_RUNS || now.saturating_sub(run.changed_at) > MAX_AGE_MS;
            if is_expired
                && !active.contains(&run.run_id)
                && let Err(error) = fs::remove_file(self.path(&run.run_id))
            {
                tracing::warn!(run = run.run_id, %error, "an old run of ideas cannot be removed");
            }
        }
    }

    fn path(&self, run_id: &str) -> PathBuf {
        self.dir.join(format!("{run_id}.json"))
    }

    fn ids(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
            ids.extend(id.filter(|id| is_run_id(id)).map(str::to_owned));
        }
        ids.sort_unstable();
        Ok(ids)
    }
}

/// Returns the fault for a run that does not exist or that the caller cannot see.
pub(super) fn no_run(run_id: &str) -> Fault {
    Fault::new(FaultCode::NotFound, format!("there is no run \"{}\"", run_id.escape_debug()))
        .hint(hint!("list the runs: {}", Command::IdeasRuns { profile: Some("brainstorm".into()) }))
}

/// The reason why a file is not a usable run.
enum RunFileError {
    /// The file has this format of another program version, which can continue the run.
    Format(u64),
    /// The file is damaged. Has a description.
    Damaged(String),
}

impl RunFileError {
    fn fault(self, path: &Path) -> Fault {
        let (message, hint) = match self {
            Self::Format(format) => (
                format!("has format {format}, and this program knows {FORMAT}"),
                "the file is unchanged: continue the run with the version of brain that wrote it, \
                 or ask again",
            ),
            Self::Damaged(why) => {
                (format!("is damaged: {why}"), "the run cannot be continued; ask again")
            }
        };
        Fault::new(FaultCode::Io, format!("the run at {} {message}", path.display())).hint(hint)
    }
}

/// Parses and validates a run. All indexes must be in range. The id must match the file name,
/// because the id becomes a path.
fn parse(bytes: &[u8], run_id: &str) -> Result<IdeaRun, RunFileError> {
    /// The fields that every format has.
    #[derive(Deserialize)]
    struct RunHead {
        format: u64,
    }
    let damaged = |error: serde_json::Error| RunFileError::Damaged(error.to_string());
    let RunHead { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if format != u64::from(FORMAT) {
        return Err(RunFileError::Format(format));
    }
    let run: IdeaRun = serde_json::from_slice(bytes).map_err(damaged)?;
    if run.run_id != run_id {
        return Err(RunFileError::Damaged("the run in it has another id".into()));
    }
    let fits = |cross: &Cross| cross.close < run.close.len() && cross.far < run.far.len();
    match run.crosses.iter().all(fits) {
        true => Ok(run),
        false => Err(RunFileError::Damaged("a cross refers to a missing page".into())),
    }
}

fn io_fault(action: &str, path: &Path, error: &io::Error) -> Fault {
    let message = format!("{} cannot be {action}: {error}", path.display());
    Fault::new(brain_base::write_code(error), message)
        .hint("check the free space there, and that the daemon's user can read and write the file")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{IdeaProfile, Judgement, Slug, SourceId};

    use super::super::run_state::{Band, ClosePageRef, CrossState, FarPageRef, RunIdea, RunPage};
    use super::*;

    fn run(id: &str, at: i64) -> IdeaRun {
        let pick = |slug: &str| RunPage {
            source: SourceId::default(),
            slug: Slug::parse(slug).unwrap(),
            title: slug.into(),
        };
        let mut run = IdeaRun::new(id.into(), IdeaProfile::Lsd, "Why?", at);
        run.close = vec![ClosePageRef { page: pick("a/one"), score: 1.5 }];
        run.far = ["b/one", "c/one"]
            .map(|slug| FarPageRef { page: pick(slug), distances: vec![0.25], band: Band::Far })
            .into();
        run.cross();
        run
    }

    fn store() -> (tempfile::TempDir, RunStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = RunStore::at(dir.path().join("ideas"));
        (dir, store)
    }

    #[test]
    fn run_survives_a_round_trip() {
        let (_dir, store) = store();
        assert_eq!(store.load_all().unwrap(), (vec![], vec![]));
        let mut run = run("abcdefgh", 5);
        let judge = Judgement {
            scores: brain_protocol::Scores {
                originality: 1.0,
                resistance: 2.0,
                thesis: 3.0,
                grounding: 4.0,
                load_bearing: 5.0,
            },
            weighted: 3.55,
            note: "So.".into(),
        };
        run.crosses[1].state = CrossState::Done {
            ideas: vec![
                RunIdea { text: "知 \"x\"".into(), judge: Some(judge) },
                RunIdea { text: "y".into(), judge: None },
            ],
        };
        run.crosses[0].state = CrossState::Failed { why: "no".into() };
        store.save(&run).unwrap();
        assert_eq!(store.load("abcdefgh").unwrap(), run);
        assert_eq!((run.open_crosses(), run.unjudged_count(), run.failed_count()), (vec![0], 1, 1));
        assert_eq!(
            run.ideas().map(|(cross, at, _)| (cross, at)).collect::<Vec<_>>(),
            [(1, 0), (1, 1)]
        );
        let row = run.row(false);
        assert_eq!((row.crosses_done, row.crosses, row.status.as_str()), (1, 2, "stopped"));
        assert_eq!(run.row(true).status.as_str(), "running");
    }

    #[test]
    fn invalid_ids_and_damaged_files_are_rejected() {
        let (_dir, store) = store();
        for bad in ["", "../x", "abcdefgh.json", "ABCDEFGH", "abcdefg0", "abcdefghi"] {
            assert_eq!(store.load(bad).unwrap_err().code, FaultCode::NotFound, "{bad}");
        }
        store.save(&run("abcdefgh", 5)).unwrap();
        let path = store.path("abcdefgh");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let fault = store.load("abcdefgh").unwrap_err();
        assert!(fault.message.contains("abcdefgh.json is damaged"), "{fault}");
        let mut newer = run("abcdefgj", 6);
        newer.format = 2;
        store.save(&newer).unwrap();
        // Another version may write any other fields.
        fs::write(store.path("abcdefgj"), "{\"format\": 2, \"new\": true}").unwrap();
        let fault = store.load("abcdefgj").unwrap_err();
        assert!(
            fault.message.contains("has format 2") && !fault.message.contains("damaged"),
            "{fault}"
        );
        assert!(
            !fault.hint.unwrap_or_default().to_string().contains("remove"),
            "its ideas were paid for"
        );
        let (runs, bad) = store.load_all().unwrap();
        assert_eq!((runs.len(), bad.len()), (0, 2), "{bad:?}");
        store.save(&IdeaRun { far: vec![], ..run("abcdefgk", 7) }).unwrap();
        assert!(store.load("abcdefgk").unwrap_err().message.contains("a missing page"));
    }

    #[test]
    fn run_id_must_match_the_file_name() {
        let (dir, store) = store();
        let (elsewhere, now) = (dir.path().join("elsewhere.json"), 3 * MAX_AGE_MS);
        fs::write(&elsewhere, "precious").unwrap();
        store.save(&run("abcdefgh", 5)).unwrap();
        let text = fs::read_to_string(store.path("abcdefgh")).unwrap();
        // A copied file, and one whose id is a path.
        fs::write(store.path("abcdefgj"), &text).unwrap();
        fs::write(store.path("abcdefgk"), text.replace("abcdefgh", "../elsewhere")).unwrap();
        for id in ["abcdefgj", "abcdefgk"] {
            assert!(store.load(id).unwrap_err().message.contains("another id"), "{id}");
        }
        store.prune(now, &ActiveRuns::default());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
        assert_eq!(store.ids().unwrap(), ["abcdefgj", "abcdefgk"], "unreadable files are kept");
    }

    #[test]
    fn prune_removes_old_runs_but_keeps_active_ones() {
        let (_dir, store) = store();
        let now = 2 * MAX_AGE_MS;
        let ids: Vec<String> = (0..MAX_RUNS as u64 + 5).map(|n| run_id((n + 1) * 7919)).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        for (n, id) in ids.iter().enumerate() {
            store.save(&run(id, now - n as i64)).unwrap();
        }
        store.save(&run("aaaaaaaa", now - MAX_AGE_MS - 1)).unwrap();
        store.save(&run("bbbbbbbb", now - MAX_AGE_MS - 1)).unwrap();
        let active = ActiveRuns::default();
        let _guard = active.lock("bbbbbbbb").unwrap();
        assert!(active.lock("bbbbbbbb").is_none());
        store.prune(now, &active);
        let remaining = store.ids().unwrap();
        assert_eq!(remaining.len(), MAX_RUNS + 1);
        assert!(remaining.contains(&"bbbbbbbb".into()));
        assert!(!remaining.contains(&"aaaaaaaa".into()));
        assert!(!remaining.contains(&ids[MAX_RUNS]) && remaining.contains(&ids[MAX_RUNS - 1]));
    }

    #[test]
    fn generated_run_ids_are_valid() {
        for n in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert!(is_run_id(&run_id(n)), "{}", run_id(n));
        }
        assert_ne!(run_id(1), run_id(2));
    }
}
