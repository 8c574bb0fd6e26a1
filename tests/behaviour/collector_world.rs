//! A brain with a fake platform in one process, with a virtual clock. Tests check what users see:
//! files and event lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, EventLines, ExternalDependencies, NoProgress};
use brain_protocol::{CollectorCollect, CollectorRun, Fault, Reply, Request};
use brain_tests::lines::RecordedLines;
use brain_tests::platform::{APP_TOKEN, InProcess, Platform, Time};
use serde_json::Value;

/// `2026-11-21T11:00:45.123Z`.
pub(crate) const NOW: i64 = 1_795_258_845_123;
pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

/// A brain that collects for the account `ada`; `bob` is another account.
pub(crate) struct Fixture {
    pub(crate) platform: Platform,
    pub(crate) ada: String,
    pub(crate) bob: String,
    lines: Arc<RecordedLines>,
    /// Declared before `dir`, so that the brain is closed before its directory is removed.
    brain: Arc<Brain>,
    dir: tempfile::TempDir,
}

impl Fixture {
    /// Opens a brain without searches.
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// Opens a brain with more settings of `[collector]`, such as `("max_pages", "3")`.
    pub(crate) fn with(settings: &[(&'static str, &str)]) -> Self {
        let platform = Platform::new(Time::at(NOW));
        let (ada, bob) = (platform.create_account("ada"), platform.create_account("bob"));
        let mut all_settings = vec![
            ("platform_api", "http://127.0.0.1:9".to_owned()),
            ("handle", "ada".to_owned()),
            ("user_id", ada.clone()),
        ];
        all_settings.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let dir = tempfile::Builder::new().prefix("brain").tempdir().unwrap();
        let lines: Arc<RecordedLines> = Arc::default();
        let home = Home::at(dir.path().join("home"));
        let config = Config::load(&home.config(), |name| {
            let key = name.strip_prefix("BRAIN_COLLECTOR_")?.to_lowercase();
            all_settings.iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone())
        });
        let outside = ExternalDependencies {
            random: Arc::new(SystemRandom),
            variables: Box::new(|name| {
                (name == "BRAIN_PLATFORM_BEARER_TOKEN").then(|| APP_TOKEN.to_owned())
            }),
            net: Arc::new(InProcess(platform.clone())),
            lines: Arc::clone(&lines) as Arc<dyn EventLines>,
            converter: PathBuf::new(),
        };
        let clock = Arc::new(platform.time().clone());
        let brain = Arc::new(Brain::open_with(home, config.unwrap(), clock, 1, outside).unwrap());
        Self { platform, ada, bob, lines, brain, dir }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Returns the directory around the home.
    pub(crate) fn outside(&self) -> &Path {
        self.dir.path()
    }

    /// Returns `collector/data`.
    pub(crate) fn data(&self) -> PathBuf {
        self.home().join("collector/data")
    }

    pub(crate) fn now(&self) -> i64 {
        self.platform.time().now()
    }

    /// Returns the current time as files and event lines write it.
    pub(crate) fn stamp(&self) -> String {
        rfc3339(self.now())
    }

    pub(crate) fn advance(&self, ms: i64) {
        self.platform.time().advance(ms);
    }

    pub(crate) fn ask(&self, request: Request) -> Result<Reply, Fault> {
        let owner = Caller::local(rustix::process::getuid().as_raw());
        self.brain.answer(&owner, request, &NoProgress)
    }

    /// Runs the collector and returns its report.
    pub(crate) fn run(&self) -> CollectorRun {
        match self.ask(Request::CollectorCollect(CollectorCollect)) {
            Ok(Reply::CollectorRun(run)) => run,
            other => panic!("no run: {other:?}"),
        }
    }

    /// Runs the collector, asserts that the run is complete, and returns its lines.
    pub(crate) fn collect(&self) -> Vec<String> {
        self.lines();
        let run = self.run();
        assert_eq!(run.status.as_str(), "complete", "{run:?}");
        self.lines()
    }

    /// Returns the lines since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.0.lock().unwrap())
    }

    /// Returns a JSON file below `data/`, if it exists.
    pub(crate) fn json(&self, path: &str) -> Option<Value> {
        let path = self.data().join(path);
        let bytes = std::fs::read(&path).ok()?;
        Some(serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }

    pub(crate) fn own(&self, id: &str) -> Option<Value> {
        self.json(&format!("tweets/own/{id}.json"))
    }

    pub(crate) fn deletion(&self, id: &str) -> Option<Value> {
        self.json(&format!("deletions/{id}.json"))
    }

    /// Returns the snapshots of a post; empty if it has no file.
    pub(crate) fn snapshots(&self, id: &str) -> Vec<Value> {
        let found = self.json(&format!("engagement/{id}.json"));
        found.map(|list| list.as_array().expect("not a list").clone()).unwrap_or_default()
    }

    pub(crate) fn state(&self) -> Value {
        self.json("state.json").expect("no state.json")
    }

    /// Returns the ids that the next run compares a stream with.
    pub(crate) fn former(&self, stream: &str) -> Vec<String> {
        let ids = self.state()["streams"][stream]["ids"].clone();
        serde_json::from_value(ids).unwrap_or_default()
    }

    /// Returns every file below `data/` by its path.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(&self.data())
    }
}

/// Returns every file below a directory by its path.
pub(crate) fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut pending_dirs) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(dir) = pending_dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending_dirs.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                // A temporary file may disappear meanwhile.
                found.extend(std::fs::read(&path).ok().map(|bytes| (name, bytes)));
            }
        }
    }
    found
}

/// Returns the paths of files.
pub(crate) fn names(files: &BTreeMap<String, Vec<u8>>) -> Vec<&str> {
    files.keys().map(String::as_str).collect()
}

/// Returns the lines that begin with this word.
pub(crate) fn lines_with<'a>(lines: &'a [String], word: &str) -> Vec<&'a str> {
    lines.iter().map(String::as_str).filter(|line| line.starts_with(word)).collect()
}
