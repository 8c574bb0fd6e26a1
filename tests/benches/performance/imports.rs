//! Imports of few notes and of many, in turns: how fast, how much memory, what they leave for a
//! quiet moment.

use std::path::Path;
use std::time::{Duration, Instant};

use brain_protocol::{Import, ImportReply, Reply, Request};
use brain_tests::{Client, Daemon, TestHome};

use crate::process::{memory, rest};
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, search};

/// How often many notes are imported.
const ROUNDS: usize = 3;

/// A home with notes in it, and a daemon.
pub(crate) struct Filled {
    pub(crate) daemon: Daemon,
    pub(crate) home: TestHome,
    pub(crate) reply: ImportReply,
    /// From the request until the last note was found.
    pub(crate) took: Duration,
    pub(crate) peak_mb: f64,
    /// Seconds of processor time for what it did when it was left alone after that.
    pub(crate) left: f64,
}

impl Filled {
    pub(crate) fn client(&self) -> Client {
        self.home.connect().unwrap()
    }

    /// Notes a second, and the peak of the daemon's memory in MB.
    fn figures(&self) -> (f64, f64) {
        (self.reply.files as f64 / self.took.as_secs_f64(), self.peak_mb)
    }
}

/// Two imports of few notes before each of many and two at the end: rates in notes a second and
/// peaks in MB.
#[derive(Default)]
struct Imports {
    few: Vec<[(f64, f64); 2]>,
    many: Vec<(f64, f64)>,
}

impl Bench {
    /// Imports `few` and `many` notes in turns; `alone` is what tantivy and redb take for few, if
    /// that is known. Three homes: of few, of many, of few. The others are left in `homes`, to be
    /// removed after the last import: ext4 without a journal passes over the inodes of files that
    /// were removed in the last minutes, one by one, and making files takes several times as long.
    pub(crate) fn imports(
        &mut self,
        [few, many]: [&Path; 2],
        alone: Option<Duration>,
        homes: &mut Vec<TestHome>,
    ) -> [Filled; 3] {
        self.step("importing");
        let mut runs = Imports::default();
        // A rate is worth something beside the other rate of the same minute; of few notes it
        // differs by half from one import to the next.
        let two = |runs: &mut Imports, homes: &mut Vec<TestHome>| {
            let [one, other] = [few, few].map(|dir| self.import(dir, self.scale.few));
            runs.few.push([one.figures(), other.figures()]);
            homes.push(one.home);
            other
        };
        let (small, large) = loop {
            let small = two(&mut runs, homes);
            let large = self.import(many, self.scale.many);
            runs.many.push(large.figures());
            if runs.many.len() == ROUNDS {
                break (small, large);
            }
            homes.extend([small.home, large.home]);
        };
        let last = two(&mut runs, homes);
        self.report_import(&runs, alone);
        self.table.add(Row {
            place: 63,
            what: "background work after importing 100,000 notes: the daemon's processor time"
                .into(),
            goal: Goal::None,
            value: large.left,
            measured: format!("{} s", short(large.left)),
            floor: None,
        });
        [small, large, last]
    }

    pub(crate) fn import(&self, dir: &Path, count: usize) -> Filled {
        let mut home = TestHome::new();
        // Clients of `/mcp` are measured here, not limited.
        home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
        let daemon = home.daemon();
        let mut client = home.connect().unwrap();
        client.stream.set_read_timeout(Some(Duration::from_secs(600))).unwrap();
        let request = Request::Import(Import {
            path: dir.display().to_string(),
            source: None,
            dry_run: false,
        });
        let last = self.notes.note(count - 1);
        // What was written before is not to be written back meanwhile.
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
        // What is left for a quiet moment is not to disturb what comes next.
        let left = rest(&daemon, &home);
        eprintln!(
            "  {count} notes in {took:.2?}, peak {peak_mb:.0} MB; {left:.1} s of processor time later"
        );
        Filled { daemon, home, reply, took, peak_mb, left }
    }

    /// Times and peaks of few notes; the rate of many beside that of the few around them.
    fn report_import(&mut self, runs: &Imports, alone: Option<Duration>) {
        let [mut seconds, mut peaks, mut few, mut many, mut ratio] =
            std::array::from_fn(|_| Samples::default());
        let mut peak_of_many: f64 = 0.0;
        for &(rate, peak) in runs.few.iter().flatten() {
            seconds.push(self.scale.few as f64 / rate);
            peaks.push(peak);
            few.push(rate);
        }
        for (&(rate, peak), beside) in runs.many.iter().zip(runs.few.windows(2)) {
            many.push(rate);
            peak_of_many = peak_of_many.max(peak);
            let mut near = Samples::default();
            beside.iter().flatten().for_each(|(rate, _)| near.push(*rate));
            ratio.push(rate / near.median());
        }
        let alone = alone.map(|alone| alone.as_secs_f64());
        self.table.add(Row {
            place: 60,
            what: "import of 10,000 notes of 1.2 KB, until the last one is found".into(),
            goal: Goal::Below(3.0, "s"),
            value: seconds.median(),
            measured: seconds.text("s"),
            floor: alone
                .map(|alone| (Some(alone), format!("{} s: tantivy and redb alone", short(alone)))),
        });
        self.table.add(Row {
            place: 61,
            what: "the daemon's peak memory during that (VmHWM)".into(),
            goal: Goal::Below(200.0, "MB"),
            value: peaks.at(1.0),
            measured: format!(
                "{} MB maximum ({} MB with 100,000)",
                short(peaks.at(1.0)),
                short(peak_of_many)
            ),
            floor: None,
        });
        self.table.add(Row {
            place: 62,
            what: "import of 100,000: its rate as a part of the rate of 10,000, the two imports before it and the two \
                   after"
                .into(),
            goal: Goal::AtLeast(0.8, "times"),
            value: ratio.median(),
            measured: format!(
                "{} ({:.0} notes/s against {:.0})",
                ratio.text("times"),
                many.median(),
                few.median()
            ),
            floor: None,
        });
    }
}
