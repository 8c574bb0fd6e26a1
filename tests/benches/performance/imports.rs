//! Measures alternating imports of few and many notes: speed, memory, and the work that is left for
//! later.

use std::path::Path;
use std::time::{Duration, Instant};

use brain_protocol::{Import, ImportReply, Reply, Request};
use brain_tests::{Client, Daemon, TestHome};

use crate::process::{memory, wait_until_idle};
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, search};

/// Number of imports of many notes.
const ROUNDS: usize = 3;

/// A home with imported notes, and its daemon.
pub(crate) struct FilledHome {
    pub(crate) daemon: Daemon,
    pub(crate) home: TestHome,
    pub(crate) reply: ImportReply,
    /// Duration from the request until a search finds the last note.
    pub(crate) took: Duration,
    /// Peak memory of the daemon until then, in MB.
    pub(crate) peak_mb: f64,
    /// Processor time for background work after that search, in seconds.
    pub(crate) background_seconds: f64,
}

impl FilledHome {
    pub(crate) fn client(&self) -> Client {
        self.home.connect().unwrap()
    }

    /// Returns notes a second, and the daemon's peak memory in MB.
    fn rate_and_peak(&self) -> (f64, f64) {
        (self.reply.files as f64 / self.took.as_secs_f64(), self.peak_mb)
    }
}

/// Pairs of the rate in notes a second and the peak in MB. Two imports of few notes precede each
/// import of many, and two end the measurement.
#[derive(Default)]
struct Imports {
    few: Vec<[(f64, f64); 2]>,
    many: Vec<(f64, f64)>,
}

impl Bench {
    /// Imports `few` and `many` notes alternately. `baseline` is the time of tantivy and redb alone
    /// for few notes, if known. Returns three homes: few, many, few. The others stay in `homes`
    /// until the last import, because ext4 without a journal creates files several times more
    /// slowly for some minutes after many were removed.
    pub(crate) fn imports(
        &mut self,
        [few, many]: [&Path; 2],
        baseline: Option<Duration>,
        homes: &mut Vec<TestHome>,
    ) -> [FilledHome; 3] {
        self.step("importing");
        let mut runs = Imports::default();
        // Only rates of the same minute are comparable: the rates of few notes differ by half
        // between distant imports.
        let import_twice = |runs: &mut Imports, homes: &mut Vec<TestHome>| {
            let [one, other] = [few, few].map(|dir| self.import(dir, self.scale.few));
            runs.few.push([one.rate_and_peak(), other.rate_and_peak()]);
            homes.push(one.home);
            other
        };
        let (small, large) = loop {
            let small = import_twice(&mut runs, homes);
            let large = self.import(many, self.scale.many);
            runs.many.push(large.rate_and_peak());
            if runs.many.len() == ROUNDS {
                break (small, large);
            }
            homes.extend([small.home, large.home]);
        };
        let last = import_twice(&mut runs, homes);
        self.report_import(&runs, baseline);
        self.table.add(Row {
            order: 63,
            description: "background work after importing 100,000 notes: the daemon's processor \
                time"
                .into(),
            goal: Goal::None,
            value: large.background_seconds,
            measured: format!("{} s", short(large.background_seconds)),
            baseline: None,
        });
        [small, large, last]
    }

    /// Imports the `count` notes in `dir` into a new home.
    pub(crate) fn import(&self, dir: &Path, count: usize) -> FilledHome {
        let mut home = TestHome::new();
        // Measurements of `/mcp` must not reach the rate limit.
        home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
        let daemon = home.daemon();
        let mut client = home.connect().unwrap();
        client.stream.set_read_timeout(Some(Duration::from_secs(600))).unwrap();
        let request = Request::Import(Import {
            path: dir.display().to_string(),
            source: None,
            format: None,
            since: None,
            dry_run: false,
            scrub: false,
        });
        let last = self.notes.note(count - 1);
        // Earlier writes must not be written back during the measurement.
        rustix::fs::sync();
        let began = Instant::now();
        let Ok(Reply::Import(reply)) = client.ask(&request) else { panic!("no import") };
        let hits = search(&mut client, &last.name);
        let took = began.elapsed();
        assert_eq!((reply.created, reply.failed_total), (count as u64, 0), "{:?}", reply.failed);
        assert!(
            hits.iter().any(|hit| hit.slug.as_str() == last.slug()),
            "{} is not found",
            last.slug()
        );
        let peak_mb = memory(daemon.pid(), "VmHWM");
        // Background work must not disturb the next measurement.
        let background_seconds = wait_until_idle(daemon.pid(), &home);
        eprintln!(
            "  {count} notes in {took:.2?}, peak {peak_mb:.0} MB; {background_seconds:.1} s of \
             processor time later"
        );
        FilledHome { daemon, home, reply, took, peak_mb, background_seconds }
    }

    /// Adds rows with the times and peaks of few notes, and with the rate of many compared with the
    /// imports of few before and after.
    fn report_import(&mut self, runs: &Imports, baseline: Option<Duration>) {
        let [mut seconds, mut peaks, mut few, mut many, mut ratio] =
            std::array::from_fn(|_| Samples::default());
        let mut peak_of_many: f64 = 0.0;
        for &(rate, peak) in runs.few.iter().flatten() {
            seconds.push(self.scale.few as f64 / rate);
            peaks.push(peak);
            few.push(rate);
        }
        for (&(rate, peak), neighbours) in runs.many.iter().zip(runs.few.windows(2)) {
            many.push(rate);
            peak_of_many = peak_of_many.max(peak);
            let mut neighbour_rates = Samples::default();
            neighbours.iter().flatten().for_each(|(rate, _)| neighbour_rates.push(*rate));
            ratio.push(rate / neighbour_rates.median());
        }
        let baseline = baseline.map(|duration| duration.as_secs_f64());
        self.table.add(Row {
            order: 60,
            description: "import of 10,000 notes of 1.2 KB, until the last one is found".into(),
            goal: Goal::Below(3.0, "s"),
            value: seconds.median(),
            measured: seconds.text("s"),
            baseline: baseline
                .map(|value| (Some(value), format!("{} s: tantivy and redb alone", short(value)))),
        });
        self.table.add(Row {
            order: 61,
            description: "the daemon's peak memory during this import (VmHWM)".into(),
            goal: Goal::Below(200.0, "MB"),
            value: peaks.quantile(1.0),
            measured: format!(
                "{} MB maximum ({} MB with 100,000)",
                short(peaks.quantile(1.0)),
                short(peak_of_many)
            ),
            baseline: None,
        });
        self.table.add(Row {
            order: 62,
            description: "import of 100,000: rate relative to 10,000, the median of two imports \
                before and two after"
                .into(),
            goal: Goal::AtLeast(0.8, "times"),
            value: ratio.median(),
            measured: format!(
                "{} ({:.0} notes/s against {:.0})",
                ratio.text("times"),
                many.median(),
                few.median()
            ),
            baseline: None,
        });
    }
}
