//! Measures how long a search takes while an import or a first sync runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brain_protocol::{Import, Request, SourceId, Sync};
use brain_tests::TestHome;

use crate::process::wait_until_idle;
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, search};

/// Pause after each search.
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum duration of an import or a sync.
const MAX_IMPORT_TIME: Duration = Duration::from_secs(1200);

impl Bench {
    /// Searches again and again during an import of few notes, an import of many, and a first sync
    /// of many. The baseline is the same searches on an idle daemon.
    pub(crate) fn searches_during_imports(&mut self, [few, many]: [&Path; 2]) {
        self.step("searches during imports");
        for (n, (work_name, dir, is_sync)) in [
            ("an import of 10,000 notes", few, false),
            ("an import of 100,000 notes", many, false),
            ("a first sync of 100,000 files", many, true),
        ]
        .into_iter()
        .enumerate()
        {
            let home = TestHome::new();
            let daemon = home.daemon();
            let path = dir.display().to_string();
            let request = if is_sync {
                home.json(["sources", "add", "notes", "--path", &path]);
                let source = SourceId::parse("notes").ok();
                Request::Sync(Sync { source, ..Sync::default() })
            } else {
                Request::Import(Import {
                    path,
                    source: None,
                    format: None,
                    since: None,
                    dry_run: false,
                    scrub: false,
                })
            };
            let is_finished = AtomicBool::new(false);
            let (busy_samples, duration) = std::thread::scope(|scope| {
                let work = scope.spawn(|| {
                    let mut client = home.connect().unwrap();
                    client.stream.set_read_timeout(Some(MAX_IMPORT_TIME)).unwrap();
                    let began = Instant::now();
                    let reply = client.ask(&request);
                    is_finished.store(true, Ordering::Relaxed);
                    reply.map(|_| began.elapsed())
                });
                let busy_samples =
                    self.search_repeatedly(&home, |_| !is_finished.load(Ordering::Relaxed));
                (busy_samples, work.join().unwrap().unwrap())
            });
            wait_until_idle(daemon.pid(), &home);
            let idle_samples = self.search_repeatedly(&home, |n| n < 200);
            for (quantile, name, goal) in [(0.5, "median", 20.0), (0.99, "p99", 150.0)] {
                let value = busy_samples.quantile(quantile);
                let idle_value = idle_samples.quantile(quantile);
                self.table.add(Row {
                    order: 64 + n as u8,
                    description: format!("a search during {work_name}, {name}"),
                    goal: Goal::Below(goal, "ms"),
                    value,
                    measured: format!(
                        "{} ms (the slowest of {} in {:.1} s: {} ms)",
                        short(value),
                        busy_samples.count(),
                        duration.as_secs_f64(),
                        short(busy_samples.quantile(1.0))
                    ),
                    baseline: Some((
                        Some(idle_value),
                        format!("{} ms: the same when the daemon is idle", short(idle_value)),
                    )),
                });
            }
        }
    }

    /// Searches, with a pause after each search, while `should_continue` returns `true` for the
    /// number of finished searches. Returns the durations.
    fn search_repeatedly(
        &self,
        home: &TestHome,
        should_continue: impl Fn(usize) -> bool,
    ) -> Samples {
        let (mut client, mut samples) = (home.connect().unwrap(), Samples::default());
        for n in (0..).take_while(|&n| should_continue(n)) {
            let question = self.notes.question(n);
            let began = Instant::now();
            search(&mut client, &question);
            samples.time(began.elapsed());
            std::thread::sleep(PAUSE);
        }
        samples
    }
}
