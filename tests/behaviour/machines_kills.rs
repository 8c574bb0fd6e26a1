//! SIGKILL for both daemons of a shared brain, the pooler, the server and its standby, while 64
//! clients write. Acknowledged writes are there once on both machines, other writes at most once,
//! and the stores are equal row by row.
//!
//! `BRAIN_KILLS` is the number of kills (40; a full run has 1,000). `BRAIN_SEED` repeats the random
//! choices of a run, except for the moments of kills.

pub(crate) mod writers;

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brain_protocol::Page;
use brain_tests::postgres::{Cluster, Part};
use brain_tests::{Daemon, TestHome, report};

use crate::crash::Rng;
use crate::machines::Shared;
use crate::machines_fixture::{
    check_doctor, check_searches, pages_with_files, stop_and_compare, wait_until_settled,
};
use writers::{Counts, EndOnDrop, Write, Writer};

/// Clients that write at the same time.
const WRITERS: usize = 64;
/// Kills without `BRAIN_KILLS`.
const DEFAULT_KILLS: u64 = 40;
/// The time after which a run without `BRAIN_KILLS` kills no more.
const TIME_LIMIT: Duration = Duration::from_secs(75);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("not a number"))
}

#[test]
fn acknowledged_writes_of_two_machines_survive_kills() {
    let Some(mut cluster) = Cluster::start() else { return };
    cluster.add_standby();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number("BRAIN_SEED").unwrap_or(now);
    report(&format!("machines: BRAIN_SEED={seed}"));
    let mut rng = Rng::from_seed(seed);
    let mut homes = [TestHome::new(), TestHome::new()];
    for home in &mut homes {
        home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
    }
    let [laptop, desktop] = &homes;
    // One machine writes through the pooler, the other one directly.
    let mut shared = Shared::new(cluster.url(Part::Pooler));
    let words = shared.init(laptop, "laptop", &[])["words"].as_str().unwrap().to_owned();
    shared.url = cluster.url(Part::Server);
    shared.join(desktop, "desktop", &words);
    for home in &homes {
        home.brain(["stop"]).expect(0);
    }
    let began = Instant::now();
    let mut machines = Machines {
        daemons: [Some(laptop.daemon()), Some(desktop.daemon())],
        homes: [laptop, desktop],
        cluster,
        kills: BTreeMap::new(),
    };
    let token = laptop.token("posting", "read write", &[]);
    wait_until_settled(&[laptop, desktop]);

    let is_over = AtomicBool::new(false);
    let kills = number("BRAIN_KILLS");
    // A long run has less dense writes, so that it does not end with a million pages.
    let max_pause_ms = if kills.is_some_and(|kills| kills > 200) { 2_000 } else { 500 };
    let mut writers: Vec<Writer> =
        (0..WRITERS).map(|n| Writer::new(n, rng.split(), max_pause_ms)).collect();
    std::thread::scope(|scope| {
        for writer in &mut writers {
            let home = [laptop, desktop][writer.number / 4 % 2];
            let (token, is_over) = (&token, &is_over);
            scope.spawn(move || writer.write_until(is_over, home, token));
        }
        // The writers end, also if a part does not start again.
        let _end = EndOnDrop(&is_over);
        while machines.count() < kills.unwrap_or(DEFAULT_KILLS)
            && (kills.is_some() || began.elapsed() < TIME_LIMIT)
        {
            machines.kill_some(&mut rng);
            std::thread::sleep(Duration::from_millis(rng.below(900)));
        }
    });
    let writing_time = began.elapsed();
    let Machines { daemons, kills, cluster: _cluster, .. } = machines;
    check_machines([laptop, desktop], daemons.map(Option::unwrap), &writers);
    let counts = Counts::of(&writers);
    report(&format!(
        "machines: {kills:?}, {counts:?}, {writing_time:.0?} and {:.0?}",
        began.elapsed() - writing_time
    ));
    assert!(counts.acknowledged > 0, "no write succeeded");
}

/// Checks pages, files, indexes and rows of both machines after all writes. Stops the daemons.
pub(crate) fn check_machines(homes: [&TestHome; 2], daemons: [Daemon; 2], writers: &[Writer]) {
    wait_until_settled(&homes);
    let writes: Vec<&Write> = writers.iter().flat_map(|writer| &writer.writes).collect();
    let pages = homes.map(|home| check_pages(home, &writes));
    assert_eq!(pages[0], pages[1], "the machines have the same pages");
    for home in homes {
        check_doctor(home);
    }
    stop_and_compare(homes.into_iter().zip(daemons).collect());
}

/// Checks pages, files and index of a machine: every acknowledged write is there once, others at
/// most once. Returns the pages by the words of their texts.
fn check_pages(home: &TestHome, writes: &[&Write]) -> BTreeMap<String, Page> {
    let mut found: BTreeMap<String, Page> = BTreeMap::new();
    for page in pages_with_files(home) {
        let word = page.body.split_whitespace().next().unwrap().to_owned();
        let slug = page.slug.clone();
        if let Some(other) = found.insert(word.clone(), page) {
            panic!("{word} is stored as {} and as {slug}", other.slug);
        }
    }
    for write in writes {
        match found.get(&write.word) {
            Some(page) => assert!(page.body.contains(&write.text), "{write:?}: {}", page.body),
            None => assert!(write.answer.is_none(), "an acknowledged write is lost: {write:?}"),
        }
    }
    let sent: std::collections::BTreeSet<&String> =
        writes.iter().map(|write| &write.word).collect();
    for word in found.keys() {
        assert!(sent.contains(word), "{word} was never sent");
    }
    check_searches(home, &found);
    found
}

/// The processes that are killed and started again.
struct Machines<'a> {
    homes: [&'a TestHome; 2],
    daemons: [Option<Daemon>; 2],
    cluster: Cluster,
    kills: BTreeMap<String, u64>,
}

/// A process to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Daemon(usize),
    Part(Part),
}

impl Machines<'_> {
    fn count(&self) -> u64 {
        self.kills.values().sum()
    }

    /// Kills one or more processes, and starts them again after a moment.
    fn kill_some(&mut self, rng: &mut Rng) {
        let mut victims = vec![Self::victim(rng)];
        while rng.one_in(4) {
            let more = Self::victim(rng);
            if !victims.contains(&more) {
                victims.push(more);
            }
        }
        for victim in &victims {
            self.kill(*victim);
            if rng.one_in(2) {
                std::thread::sleep(Duration::from_millis(rng.below(60)));
            }
        }
        std::thread::sleep(Duration::from_millis(rng.below(500)));
        for victim in victims {
            match victim {
                Victim::Daemon(index) => {
                    if rng.one_in(5) {
                        self.kill_during_start(index, rng);
                    }
                    self.daemons[index] = Some(self.homes[index].daemon());
                }
                Victim::Part(part) => self.cluster.start_part(part),
            }
        }
    }

    fn victim(rng: &mut Rng) -> Victim {
        match rng.below(10) {
            0..3 => Victim::Daemon(0),
            3..6 => Victim::Daemon(1),
            6..8 => Victim::Part(Part::Server),
            8 => Victim::Part(Part::Pooler),
            _ => Victim::Part(Part::Standby),
        }
    }

    fn kill(&mut self, victim: Victim) {
        match victim {
            Victim::Daemon(index) => self.daemons[index].take().unwrap().kill(),
            Victim::Part(part) => self.cluster.kill(part),
        }
        *self.kills.entry(format!("{victim:?}")).or_default() += 1;
    }

    /// Starts a daemon and kills it before, or just after, it is ready.
    fn kill_during_start(&mut self, index: usize, rng: &mut Rng) {
        let mut command = self.homes[index].command("brain-daemon");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(rng.below(300)));
        assert!(child.try_wait().unwrap().is_none(), "the daemon ended before the kill");
        child.kill().unwrap();
        child.wait().unwrap();
        *self.kills.entry(format!("Daemon({index}) during start")).or_default() += 1;
    }
}
