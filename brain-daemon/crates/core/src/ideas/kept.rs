//! Runs as files, `<home>/ideas/<run id>.json`: what was paid for is there before the next step is paid. A file is replaced whole, so after
//! a crash it has the former or the new state. Old runs go.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use brain_protocol::{Fault, FaultCode};
use serde::Deserialize;

use super::state::{Cross, FORMAT, Run};
use brain_base::home::make_private;

/// What a file is called while it is written.
const UNFINISHED: &str = ".tmp";
/// How many runs are kept.
const MOST: usize = 100;
/// How long a run is kept after its last change, in milliseconds.
const AGE_MS: i64 = 90 * 24 * 60 * 60 * 1000;
/// Letters of a run's id. 32 of them, and none that is taken for another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Letters in a run's id.
const LENGTH: usize = 8;

/// An id of these random bytes.
pub(super) fn run_id(random: u64) -> String {
    (0..LENGTH)
        .map(|at| char::from(LETTERS[(random >> (5 * at)) as usize % LETTERS.len()]))
        .collect()
}

/// Whether a text can be the id of a run. Nothing else becomes a path.
pub(super) fn is_run_id(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| LETTERS.contains(&byte))
}

/// Which runs somebody works on in this process.
#[derive(Debug, Default)]
pub(crate) struct AtWork(Mutex<BTreeSet<String>>);

impl AtWork {
    /// Takes a run for as long as the answer lives; `None` when somebody has it.
    pub(super) fn take(&self, run_id: &str) -> Option<Held<'_>> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(run_id.to_owned());
        taken.then(|| Held { all: self, run_id: run_id.to_owned() })
    }

    /// Whether somebody works on it.
    pub(super) fn has(&self, run_id: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(run_id)
    }
}

/// A run that is worked on.
pub(super) struct Held<'a> {
    all: &'a AtWork,
    run_id: String,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run_id);
    }
}

/// The directory of runs.
pub(super) struct Shelf {
    dir: PathBuf,
}

impl Shelf {
    /// The one at `dir`, which need not be there.
    pub(super) fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Keeps a run as it is now. It is on the disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn keep(&self, run: &Run) -> Result<(), Fault> {
        let path = self.path(&run.run_id);
        let write = || {
            make_private(&self.dir)?;
            let unfinished = path.with_extension(format!("json{UNFINISHED}"));
            // One by one runs are held, so nobody else writes a file of this name; a leftover is written over.
            let mut file = File::options()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&unfinished)?;
            file.write_all(&serde_json::to_vec_pretty(run).map_err(io::Error::other)?)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            File::open(&self.dir)?.sync_all()
        };
        write().map_err(|error| io_fault("written", &path, &error))
    }

    /// The run with this id.
    ///
    /// # Errors
    /// When there is none, or its file cannot be read or understood.
    pub(super) fn run(&self, run_id: &str) -> Result<Run, Fault> {
        if !is_run_id(run_id) {
            return Err(no_run(run_id));
        }
        let path = self.path(run_id);
        match fs::read(&path) {
            Ok(bytes) => read(&bytes, run_id).map_err(|bad| bad.fault(&path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(no_run(run_id)),
            Err(error) => Err(io_fault("read", &path, &error)),
        }
    }

    /// All runs, newest first, and what is wrong with files that are none.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub(super) fn all(&self) -> Result<(Vec<Run>, Vec<String>), Fault> {
        let (mut runs, mut bad) = (Vec::new(), Vec::new());
        for run_id in self.ids().map_err(|error| io_fault("read", &self.dir, &error))? {
            match self.run(&run_id) {
                Ok(run) => runs.push(run),
                Err(fault) => bad.push(fault.message),
            }
        }
        runs.sort_by(|one, other| {
            (other.started_at, &other.run_id).cmp(&(one.started_at, &one.run_id))
        });
        Ok((runs, bad))
    }

    /// Removes runs that are older than they are kept, or more than are kept; never one that `at_work` names, nor one that cannot be read.
    pub(super) fn prune(&self, now: i64, at_work: &AtWork) {
        let Ok((mut runs, _)) = self.all() else { return };
        runs.sort_by_key(|run| std::cmp::Reverse(run.changed_at));
        for (place, run) in runs.iter().enumerate() {
            let old = place >= MOST || now.saturating_sub(run.changed_at) > AGE_MS;
            if old
                && !at_work.has(&run.run_id)
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

/// There is no such run, or none for this caller.
pub(super) fn no_run(run_id: &str) -> Fault {
    Fault::new(FaultCode::NotFound, format!("there is no run \"{}\"", run_id.escape_debug()))
        .hint("see which there are: `brain brainstorm --list-runs`")
}

/// Why bytes are no run that can be gone on with.
enum Bad {
    /// Another program wrote it: one that knows this layout can go on with it.
    Format(u64),
    /// Something happened to it.
    Damaged(String),
}

impl Bad {
    fn fault(self, path: &Path) -> Fault {
        let (message, hint) = match self {
            Self::Format(format) => (
                format!("has format {format}, and this program knows {FORMAT}"),
                "it is left as it is: go on with it by the version of brain that wrote it, or ask anew",
            ),
            Self::Damaged(why) => (
                format!("is damaged: {why}"),
                "it cannot be gone on with: remove the file, and ask anew",
            ),
        };
        Fault::new(FaultCode::Io, format!("the run at {} {message}", path.display())).hint(hint)
    }
}

/// The run `run_id` of these bytes, in which no number points beside a list. What it says of itself becomes a path, so it must be what the file is called.
fn read(bytes: &[u8], run_id: &str) -> Result<Run, Bad> {
    /// What every layout has.
    #[derive(Deserialize)]
    struct Head {
        format: u64,
    }
    let damaged = |error: serde_json::Error| Bad::Damaged(error.to_string());
    let Head { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if format != u64::from(FORMAT) {
        return Err(Bad::Format(format));
    }
    let run: Run = serde_json::from_slice(bytes).map_err(damaged)?;
    if run.run_id != run_id {
        return Err(Bad::Damaged("it is called otherwise than the run in it".into()));
    }
    let fits = |cross: &Cross| cross.close < run.close.len() && cross.far < run.far.len();
    match run.crosses.iter().all(fits) {
        true => Ok(run),
        false => Err(Bad::Damaged("a cross is of a page that is not in it".into())),
    }
}

fn io_fault(what: &str, path: &Path, error: &io::Error) -> Fault {
    let code = match error.kind() {
        ErrorKind::StorageFull => FaultCode::DiskFull,
        ErrorKind::ReadOnlyFilesystem => FaultCode::ReadOnly,
        _ => FaultCode::Io,
    };
    Fault::new(code, format!("{} cannot be {what}: {error}", path.display()))
        .hint("make room there, and see that the brain's own user may write it")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{IdeaProfile, Judged, Slug, SourceId};

    use super::super::state::{Child, ClosePick, CrossState, FarPick, Pick};
    use super::*;

    fn run(id: &str, at: i64) -> Run {
        let pick = |slug: &str| Pick {
            source: SourceId::default(),
            slug: Slug::parse(slug).unwrap(),
            title: slug.into(),
        };
        let mut run = Run::new(id.into(), IdeaProfile::Lsd, "Why?", at);
        run.close = vec![ClosePick { page: pick("a/one"), score: 1.5 }];
        run.far = ["b/one", "c/one"]
            .map(|slug| FarPick { page: pick(slug), distances: vec![0.25], domain: true })
            .into();
        run.cross();
        run
    }

    fn shelf() -> (tempfile::TempDir, Shelf) {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::at(dir.path().join("ideas"));
        (dir, shelf)
    }

    #[test]
    fn a_run_is_read_as_it_was_kept() {
        let (_dir, shelf) = shelf();
        assert_eq!(shelf.all().unwrap(), (vec![], vec![]));
        let mut run = run("abcdefgh", 5);
        let judge = Judged {
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
                Child { text: "知 \"x\"".into(), judge: Some(judge) },
                Child { text: "y".into(), judge: None },
            ],
        };
        run.crosses[0].state = CrossState::Failed { why: "no".into() };
        shelf.keep(&run).unwrap();
        assert_eq!(shelf.run("abcdefgh").unwrap(), run);
        assert_eq!((run.open(), run.unjudged(), run.failed()), (vec![0], 1, 1));
        assert_eq!(
            run.children().map(|(cross, at, _)| (cross, at)).collect::<Vec<_>>(),
            [(1, 0), (1, 1)]
        );
        let row = run.row(false);
        assert_eq!((row.crosses_done, row.crosses, row.status.as_str()), (1, 2, "stopped"));
        assert_eq!(run.row(true).status, "running");
    }

    #[test]
    fn only_ids_become_paths_and_damage_is_said() {
        let (_dir, shelf) = shelf();
        for bad in ["", "../x", "abcdefgh.json", "ABCDEFGH", "abcdefg0", "abcdefghi"] {
            assert_eq!(shelf.run(bad).unwrap_err().code, FaultCode::NotFound, "{bad}");
        }
        shelf.keep(&run("abcdefgh", 5)).unwrap();
        let path = shelf.path("abcdefgh");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let fault = shelf.run("abcdefgh").unwrap_err();
        assert!(fault.message.contains("abcdefgh.json is damaged"), "{fault}");
        let mut newer = run("abcdefgj", 6);
        newer.format = 2;
        shelf.keep(&newer).unwrap();
        // Whatever else another version writes.
        fs::write(shelf.path("abcdefgj"), "{\"format\": 2, \"new\": true}").unwrap();
        let fault = shelf.run("abcdefgj").unwrap_err();
        assert!(
            fault.message.contains("has format 2") && !fault.message.contains("damaged"),
            "{fault}"
        );
        assert!(!fault.hint.unwrap_or_default().contains("remove"), "what was paid for is there");
        let (runs, bad) = shelf.all().unwrap();
        assert_eq!((runs.len(), bad.len()), (0, 2), "{bad:?}");
        shelf.keep(&Run { far: vec![], ..run("abcdefgk", 7) }).unwrap();
        assert!(shelf.run("abcdefgk").unwrap_err().message.contains("a page that is not in it"));
    }

    #[test]
    fn what_a_file_says_of_itself_leads_nowhere_else() {
        let (dir, shelf) = shelf();
        let (elsewhere, now) = (dir.path().join("elsewhere.json"), 3 * AGE_MS);
        fs::write(&elsewhere, "precious").unwrap();
        shelf.keep(&run("abcdefgh", 5)).unwrap();
        let text = fs::read_to_string(shelf.path("abcdefgh")).unwrap();
        // A copy, and one that names a path.
        fs::write(shelf.path("abcdefgj"), &text).unwrap();
        fs::write(shelf.path("abcdefgk"), text.replace("abcdefgh", "../elsewhere")).unwrap();
        for id in ["abcdefgj", "abcdefgk"] {
            assert!(shelf.run(id).unwrap_err().message.contains("called otherwise"), "{id}");
        }
        shelf.prune(now, &AtWork::default());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
        assert_eq!(
            shelf.ids().unwrap(),
            ["abcdefgj", "abcdefgk"],
            "what cannot be read is left alone"
        );
    }

    #[test]
    fn old_runs_go_but_none_that_is_worked_on() {
        let (_dir, shelf) = shelf();
        let now = 2 * AGE_MS;
        let ids: Vec<String> = (0..MOST as u64 + 5).map(|n| run_id((n + 1) * 7919)).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        for (n, id) in ids.iter().enumerate() {
            shelf.keep(&run(id, now - n as i64)).unwrap();
        }
        shelf.keep(&run("aaaaaaaa", now - AGE_MS - 1)).unwrap();
        shelf.keep(&run("bbbbbbbb", now - AGE_MS - 1)).unwrap();
        let at_work = AtWork::default();
        let _held = at_work.take("bbbbbbbb").unwrap();
        assert!(at_work.take("bbbbbbbb").is_none());
        shelf.prune(now, &at_work);
        let left = shelf.ids().unwrap();
        assert_eq!(left.len(), MOST + 1);
        assert!(left.contains(&"bbbbbbbb".into()) && !left.contains(&"aaaaaaaa".into()));
        assert!(!left.contains(&ids[MOST]) && left.contains(&ids[MOST - 1]));
    }

    #[test]
    fn an_id_has_no_letters_that_are_mixed_up() {
        for n in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert!(is_run_id(&run_id(n)), "{}", run_id(n));
        }
        assert_ne!(run_id(1), run_id(2));
    }
}
