//! Measures whole processes: commands of the client, and starts of the daemon.

use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brain_protocol::{Request, Status};
use brain_tests::{Client, TEST_TIMEOUT, TestHome, program};

use crate::baselines::{self, Disk, Echo, Redb, Tantivy};
use crate::imports::FilledHome;
use crate::notes::Rng;
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, write};

impl Bench {
    /// Measures commands of the client, in turn with their baselines: an empty process, a round
    /// trip, a commit of redb, a search of tantivy.
    pub(crate) fn processes(
        &mut self,
        few: &FilledHome,
        many: &FilledHome,
        tantivy: [&Tantivy; 2],
        redb: &Redb,
    ) {
        let (disk, mut echo) = (Disk::new(self.dir.path()), Echo::new());
        let [mut version, mut capture, mut get, mut search_few, mut search_many] =
            std::array::from_fn(|_| Samples::default());
        let [mut sync, mut round_trip, mut commit, mut tantivy_few, mut tantivy_many] =
            std::array::from_fn(|_| Samples::default());
        let mut empty_process = Samples::default();
        let mut rng = Rng(1);
        for n in 0..self.scale.processes {
            let note = self.notes.note(rng.below(self.scale.few));
            let thought =
                format!("A thought of today, number {n}: {} {}", self.notes.question(n), note.name);
            let question = self.notes.question(rng.below(1000));
            // Each command has each position about equally often.
            for turn in 0..11 {
                match (turn + n) % 11 {
                    0 => empty_process.time(run_time(&mut Command::new(program("brain-nothing")))),
                    1 => version.time(time_brain(&few.home, ["--version"])),
                    2 => capture.time(time_brain(&few.home, ["capture", &thought])),
                    3 => get.time(time_brain(&few.home, ["get", note.slug()])),
                    4 => search_few.time(time_brain(&few.home, ["search", &question])),
                    5 => search_many.time(time_brain(&many.home, ["search", &question])),
                    6 => sync.time(disk.sync(n)),
                    7 => round_trip.time(echo.round_trip()),
                    8 => commit.time(redb.commit(&[(1 << 40 | n as u64, thought.as_bytes())])),
                    9 => tantivy_few.time(tantivy[0].search(&question)),
                    _ => tantivy_many.time(tantivy[1].search(&question)),
                }
            }
        }
        self.nothing = empty_process;
        let process_ms = self.nothing.median();
        let mut add = |description: &str,
                       goal: f64,
                       samples: &Samples,
                       parts: &[(&str, &Samples)]| {
            let baseline = process_ms + parts.iter().map(|(_, part)| part.median()).sum::<f64>();
            let process = format!("an empty process {}", short(process_ms));
            let names: Vec<String> = std::iter::once(process)
                .chain(parts.iter().map(|(name, part)| format!("{name} {}", short(part.median()))))
                .collect();
            self.table.add(Row {
                order: 10,
                description: description.into(),
                goal: Goal::Below(goal, "ms"),
                value: samples.median(),
                measured: samples.text("ms"),
                baseline: Some((
                    Some(baseline),
                    format!("{} ms: {}", short(baseline), names.join(" + ")),
                )),
            });
        };
        add("`brain --version`, whole process", 2.0, &version, &[]);
        add(
            "`brain capture \"…\"`, whole process, durable",
            4.0,
            &capture,
            &[("a round trip", &round_trip), ("a redb commit", &commit)],
        );
        add(
            "`brain get` on 10,000 pages, whole process",
            3.0,
            &get,
            &[("a round trip", &round_trip)],
        );
        add(
            "`brain search` on 10,000 pages, whole process",
            4.0,
            &search_few,
            &[("a round trip", &round_trip), ("tantivy", &tantivy_few)],
        );
        add(
            "`brain search` on 100,000 pages, whole process",
            6.0,
            &search_many,
            &[("a round trip", &round_trip), ("tantivy", &tantivy_many)],
        );
        self.table.add(Row {
            order: 90,
            description: "one fsync of 4 KB on this disk".into(),
            goal: Goal::None,
            value: sync.median(),
            measured: sync.text("ms"),
            baseline: None,
        });
    }

    /// Measures the time from the start of the daemon to its first answer, after a clean end and
    /// after SIGKILL right after 200 writes.
    pub(crate) fn starts(&mut self, filled: FilledHome) {
        let FilledHome { mut daemon, home, .. } = filled;
        let [mut clean, mut killed, mut redb_open] = std::array::from_fn(|_| Samples::default());
        for n in 0..self.scale.starts {
            assert!(daemon.terminate().0.success(), "{}", home.log());
            // A copy is opened, because opening and closing may reorganise the file.
            let copy = self.dir.path().join("reopened.redb");
            std::fs::copy(home.path().join("brain.redb"), &copy).unwrap();
            std::fs::File::open(&copy).unwrap().sync_all().unwrap();
            redb_open.time(baselines::reopen(&copy));
            let (child, took) = start(&home);
            clean.time(took);
            let mut writers: Vec<Client> = (0..4).map(|_| home.connect().unwrap()).collect();
            std::thread::scope(|scope| {
                for (w, client) in writers.iter_mut().enumerate() {
                    let notes = &self.notes;
                    scope.spawn(move || {
                        for i in 0..50 {
                            write(client, &format!("killed/{n}-{w}-{i}"), &notes.note(i).content());
                        }
                    });
                }
            });
            kill(child);
            let (child, took) = start(&home);
            killed.time(took);
            kill(child);
            daemon = home.daemon();
        }
        drop(daemon);
        let baseline = redb_open.median() + self.nothing.median();
        let name = format!(
            "{} ms: an empty process {} + redb's open {}",
            short(baseline),
            short(self.nothing.median()),
            short(redb_open.median())
        );
        for (event, samples) in [("a clean end", clean), ("SIGKILL right after writes", killed)] {
            self.table.add(Row {
                order: 80,
                description: format!(
                    "time from the start of the daemon with 100,000 pages to its first answer, \
                     after {event}"
                ),
                goal: Goal::Below(200.0, "ms"),
                value: samples.quantile(1.0),
                measured: format!(
                    "{}, maximum {}",
                    samples.text("ms"),
                    short(samples.quantile(1.0))
                ),
                baseline: Some((Some(baseline), name.clone())),
            });
        }
    }
}

/// Starts a daemon. Returns it with the time until it answered a request.
// A panic ends the benchmark; otherwise the caller ends the daemon.
#[allow(clippy::zombie_processes)]
fn start(home: &TestHome) -> (Child, Duration) {
    let mut command = home.command("brain-daemon");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let child = command.spawn().unwrap();
    loop {
        // Until the daemon listens, the socket file of the killed one refuses connections.
        if let Some(mut client) = home.connect() {
            assert_eq!(client.hello.pid, child.id());
            client.ask(&Request::Status(Status)).unwrap();
            return (child, began.elapsed());
        }
        assert!(began.elapsed() < TEST_TIMEOUT, "the daemon does not answer");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Kills a daemon with SIGKILL.
fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Returns the time from before the start of a process until after its end.
pub(crate) fn run_time(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().unwrap();
    let took = began.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    took
}

/// Returns the time of a run of `brain` with these arguments.
pub(crate) fn time_brain<S: AsRef<OsStr>>(
    home: &TestHome,
    args: impl IntoIterator<Item = S>,
) -> Duration {
    run_time(home.command("brain").args(args))
}
