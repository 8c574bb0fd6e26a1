//! A brain with a platform of its own, both in this process and with a time that the test turns:
//! seven days pass at once. What it is judged by is what a user sees: files and event lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, EventLines, Outside, Silent};
use brain_protocol::{CollectorCollect, CollectorRun, Fault, Reply, Request};
use brain_tests::lines::Kept;
use brain_tests::platform::{APP_TOKEN, InProcess, Platform, Time};
use serde_json::Value;

/// `2026-11-21T11:00:45.123Z`.
pub(crate) const NOW: i64 = 1_795_258_845_123;
pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

/// A brain that collects for the account `ada`; `bob` is somebody else.
pub(crate) struct Lab {
    pub(crate) platform: Platform,
    pub(crate) ada: String,
    pub(crate) bob: String,
    lines: Arc<Kept>,
    /// Before the directory, which it is in.
    brain: Arc<Brain>,
    dir: tempfile::TempDir,
}

impl Lab {
    /// Without searches.
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With further keys of `[collector]`, as `("max_pages", "3")`.
    pub(crate) fn with(settings: &[(&'static str, &str)]) -> Self {
        let platform = Platform::new(Time::at(NOW));
        let (ada, bob) = (platform.account("ada"), platform.account("bob"));
        let mut all = vec![
            ("platform_api", "http://127.0.0.1:9".to_owned()),
            ("handle", "ada".to_owned()),
            ("user_id", ada.clone()),
        ];
        all.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let dir = tempfile::Builder::new().prefix("brain").tempdir().unwrap();
        let lines: Arc<Kept> = Arc::default();
        let home = Home::at(dir.path().join("home"));
        let config = Config::load(&home.config(), |name| {
            let key = name.strip_prefix("BRAIN_COLLECTOR_")?.to_lowercase();
            all.iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone())
        });
        let outside = Outside {
            random: Arc::new(SystemRandom),
            variables: Box::new(|name| {
                (name == "BRAIN_PLATFORM_BEARER_TOKEN").then(|| APP_TOKEN.to_owned())
            }),
            net: Arc::new(InProcess(platform.clone())),
            lines: Arc::clone(&lines) as Arc<dyn EventLines>,
        };
        let clock = Arc::new(platform.time().clone());
        let brain = Arc::new(Brain::open_with(home, config.unwrap(), clock, 1, outside).unwrap());
        Self { platform, ada, bob, lines, brain, dir }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// What a home may have beside it.
    pub(crate) fn outside(&self) -> &Path {
        self.dir.path()
    }

    /// `collector/data`.
    pub(crate) fn data(&self) -> PathBuf {
        self.home().join("collector/data")
    }

    pub(crate) fn now(&self) -> i64 {
        self.platform.time().now()
    }

    /// Now, as files and lines have it.
    pub(crate) fn stamp(&self) -> String {
        rfc3339(self.now())
    }

    pub(crate) fn pass(&self, ms: i64) {
        self.platform.time().pass(ms);
    }

    pub(crate) fn ask(&self, request: Request) -> Result<Reply, Fault> {
        let owner = Caller::local(rustix::process::getuid().as_raw());
        self.brain.answer(&owner, request, &Silent)
    }

    /// A run; its report, whatever became of it.
    pub(crate) fn run(&self) -> CollectorRun {
        match self.ask(Request::CollectorCollect(CollectorCollect)) {
            Ok(Reply::CollectorRun(run)) => run,
            other => panic!("no run: {other:?}"),
        }
    }

    /// A run that is complete, and its lines.
    pub(crate) fn collect(&self) -> Vec<String> {
        self.lines();
        let run = self.run();
        assert_eq!(run.status, "complete", "{run:?}");
        self.lines()
    }

    /// The lines since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.0.lock().unwrap())
    }

    /// A JSON file below `data/`, if it is there.
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

    /// The snapshots of a post; none when it has no file.
    pub(crate) fn snapshots(&self, id: &str) -> Vec<Value> {
        let found = self.json(&format!("engagement/{id}.json"));
        found.map(|list| list.as_array().expect("a list").clone()).unwrap_or_default()
    }

    pub(crate) fn state(&self) -> Value {
        self.json("state.json").expect("there is a state")
    }

    /// The ids that the next run compares a stream with.
    pub(crate) fn former(&self, stream: &str) -> Vec<String> {
        let ids = self.state()["streams"][stream]["ids"].clone();
        serde_json::from_value(ids).unwrap_or_default()
    }

    /// Every file below `data/`, by its path there.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(&self.data())
    }
}

/// Every file below a directory, by its path there.
pub(crate) fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut next) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(dir) = next.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                next.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                // A file that is being written may go meanwhile.
                found.extend(std::fs::read(&path).ok().map(|bytes| (name, bytes)));
            }
        }
    }
    found
}

/// The paths of files.
pub(crate) fn names(files: &BTreeMap<String, Vec<u8>>) -> Vec<&str> {
    files.keys().map(String::as_str).collect()
}

/// The lines that begin with this word.
pub(crate) fn with<'a>(lines: &'a [String], word: &str) -> Vec<&'a str> {
    lines.iter().map(String::as_str).filter(|line| line.starts_with(word)).collect()
}
