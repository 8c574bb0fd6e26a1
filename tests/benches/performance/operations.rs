//! Measures `doctor`, a sync without changes, and the time until a saved file is found.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use brain_tests::{TEST_TIMEOUT, TestHome};

use crate::baselines::Echo;
use crate::imports::FilledHome;
use crate::processes::{run_time, time_brain};
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, search};

/// Number of files of the synced source.
const FILES: usize = 5000;

impl Bench {
    /// Measures `doctor` and `sync` as processes, and the time until a search finds a saved file.
    pub(crate) fn operations(&mut self, filled: &FilledHome) {
        let files = FILES.min(self.scale.few);
        let notes = self.notes.write(&self.dir.path().join("source"), 0..files).unwrap();
        let home = TestHome::new();
        std::fs::create_dir_all(home.path()).unwrap();
        std::fs::write(home.path().join("config.toml"), "[sources]\nwatch = true\n").unwrap();
        let _daemon = home.daemon();
        home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
        let began = Instant::now();
        home.brain(["sync", "--source", "notes"]).expect(0);
        let first_sync = began.elapsed();
        // The second sync reads files again that were too new at the first. Later syncs do not.
        std::thread::sleep(Duration::from_secs(3));
        home.brain(["sync", "--source", "notes"]).expect(0);

        let mut echo = Echo::new();
        let [mut doctor, mut resync, mut walk, mut round_trip, mut saved] =
            std::array::from_fn(|_| Samples::default());
        for n in 0..self.scale.processes.div_ceil(10) {
            self.nothing.time(run_time(&mut Command::new(brain_tests::program("brain-nothing"))));
            doctor.time(time_brain(&filled.home, ["doctor"]));
            resync.time(time_brain(&home, ["sync", "--source", "notes"]));
            round_trip.time(echo.round_trip());
            walk.time(walk_files(&notes, files));
            saved.time(save_and_find(&home, &notes, n));
        }
        let empty_process = self.nothing.median();
        let baseline = |parts: &[(&str, f64)]| {
            let sum = empty_process + parts.iter().map(|(_, part)| part).sum::<f64>();
            let names: Vec<String> =
                parts.iter().map(|(name, part)| format!(" + {name} {}", short(*part))).collect();
            Some((
                Some(sum),
                format!(
                    "{} ms: an empty process {}{}",
                    short(sum),
                    short(empty_process),
                    names.concat()
                ),
            ))
        };
        self.table.add(Row {
            order: 80,
            description: "`brain doctor` on 10,000 pages, whole process".into(),
            goal: Goal::Below(200.0, "ms"),
            value: doctor.median(),
            measured: doctor.text("ms"),
            baseline: baseline(&[("a round trip", round_trip.median())]),
        });
        self.table.add(Row {
            order: 81,
            description: "`brain sync` of 5,000 files, nothing changed, whole process".into(),
            goal: Goal::Below(150.0, "ms"),
            value: resync.median(),
            measured: format!(
                "{} (the first one {} ms)",
                resync.text("ms"),
                first_sync.as_millis()
            ),
            baseline: baseline(&[
                ("a round trip", round_trip.median()),
                ("walking the directory and checking each file", walk.median()),
            ]),
        });
        self.table.add(Row {
            order: 82,
            description: "time from saving a file beside 5,000 others until a search finds it \
                          (`sources.watch`)"
                .into(),
            goal: Goal::Below(2000.0, "ms"),
            value: saved.quantile(1.0),
            measured: format!("{}, maximum {}", saved.text("ms"), short(saved.quantile(1.0))),
            baseline: Some((None, "150 ms: the delay of the watcher".into())),
        });
    }
}

/// Measures the minimum work of a sync: a walk that reads the metadata of each file. Asserts that
/// there are at least `files` files.
pub(crate) fn walk_files(dir: &Path, files: usize) -> Duration {
    fn walk(dir: &Path) -> usize {
        let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
        entries
            .map(|entry| {
                let meta = entry.metadata().unwrap();
                if meta.is_dir() {
                    walk(&entry.path())
                } else {
                    usize::from(meta.modified().is_ok())
                }
            })
            .sum()
    }
    let began = Instant::now();
    assert!(walk(dir) >= files);
    began.elapsed()
}

/// Writes a file into a watched source. Returns the time until a search finds it.
fn save_and_find(home: &TestHome, dir: &Path, n: usize) -> Duration {
    let word = format!("zqsaved{n}zq");
    let mut client = home.connect().unwrap();
    let began = Instant::now();
    std::fs::write(dir.join(format!("saved-{}.md", n % 3)), format!("# Saved\n\n{word}\n"))
        .unwrap();
    while search(&mut client, &word).is_empty() {
        assert!(began.elapsed() < TEST_TIMEOUT, "{word} is not found");
        std::thread::sleep(Duration::from_millis(2));
    }
    began.elapsed()
}
