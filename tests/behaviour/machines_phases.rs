//! Connections of a machine that are cut in a known phase of a commit: while they are made, before
//! the statement arrived, before its answer, and during the answer. A proxy knows the connection of
//! the commit by its size, and asks the server whether it has the batch.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brain_fakes::{Chunk, Decision, Direction, Proxy};
use brain_tests::{Daemon, TestHome, report};

use crate::crash::{Rng, rare_word};
use crate::machines::{Shared, server};
use crate::machines_cuts::{Fate, write};
use crate::machines_fixture::{pages_with_files, stop_and_compare, wait_until_settled};

/// The size of a text that the server stores in more than twice [`SENT`] bytes.
const TEXT: usize = 60_000;
/// A connection with this many bytes to the server carries the statement, and not yet all of it.
const SENT: usize = 12_000;
/// How long new connections are cut.
const CONNECTING: Duration = Duration::from_millis(300);
/// How long a rule waits for the server.
const LIMIT: Duration = Duration::from_secs(4);

/// The phase in which a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// The connection is made.
    Connecting,
    /// A part of the statement was sent.
    Sending,
    /// The server has the batch, and no byte of its answer was forwarded.
    Waiting,
    /// The server has the batch, and a part of its answer was forwarded.
    Answering,
}

/// Where a cut happens: the phase, the direction while connecting, and the bytes that are still
/// forwarded.
type Cut = (Phase, Direction, usize);

const CUTS: [Cut; 12] = [
    (Phase::Connecting, Direction::ToServer, 0),
    (Phase::Connecting, Direction::ToServer, 5),
    (Phase::Connecting, Direction::ToServer, 100),
    (Phase::Connecting, Direction::ToClient, 0),
    (Phase::Connecting, Direction::ToClient, 1),
    (Phase::Connecting, Direction::ToClient, 600),
    (Phase::Sending, Direction::ToServer, 0),
    (Phase::Sending, Direction::ToServer, 1_000),
    (Phase::Waiting, Direction::ToClient, 0),
    (Phase::Answering, Direction::ToClient, 1),
    (Phase::Answering, Direction::ToClient, 40),
    (Phase::Answering, Direction::ToClient, usize::MAX),
];

/// What a cut met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Outcome {
    phase: Phase,
    /// Whether the server had the batch at the cut.
    has_batch: bool,
    fate: Fate,
}

/// Two machines; the connections of the laptop go through the proxy.
struct World {
    shared: Shared,
    direct_url: String,
    laptop: TestHome,
    desktop: TestHome,
    daemons: [Daemon; 2],
    proxy: Proxy,
}

impl World {
    fn new() -> Option<Self> {
        let direct_url = server()?;
        let mut shared = Shared::new(direct_url.clone());
        let (laptop, desktop) = (TestHome::new(), TestHome::new());
        desktop.put("first", "The first page.");
        let words = shared.init(&desktop, "desktop", &[])["words"].as_str().unwrap().to_owned();
        let (proxy, through) = Proxy::before(&shared.url);
        shared.url = through;
        shared.join(&laptop, "laptop", &words);
        for home in [&laptop, &desktop] {
            home.brain(["stop"]).expect(0);
        }
        let daemons = [laptop.daemon(), desktop.daemon()];
        wait_until_settled(&[&laptop, &desktop]);
        Some(Self { shared, direct_url, laptop, desktop, daemons, proxy })
    }

    /// Returns what counts the large batches on the server.
    fn counter(&self) -> impl Fn() -> usize + Send + Sync + 'static {
        let query = format!(
            "SELECT count(*) FROM \"{}\".batches WHERE octet_length(payload) > {SENT}",
            self.shared.namespace
        );
        let url = self.direct_url.clone();
        move || {
            let mut psql = Command::new("psql");
            let output = psql.args(["-X", "-q", "-A", "-t", "-c", &query, &url]).output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            let count = String::from_utf8_lossy(&output.stdout);
            count.trim().parse().unwrap_or_else(|_| panic!("{query}: {error}"))
        }
    }

    /// Cuts the laptop's connections in a phase. Returns what receives whether the server had the
    /// batch.
    fn cut(&self, (phase, direction, rest): Cut, refuses: bool) -> Arc<Mutex<Option<bool>>> {
        let has_batch = Arc::new(Mutex::new(None));
        let (at_cut, count) = (has_batch.clone(), self.counter());
        let (before, began) = (count(), Instant::now());
        let is_over = AtomicBool::new(false);
        let decide = move |bytes| match refuses {
            true => Decision::CutAndClose(bytes),
            false => Decision::Cut(bytes),
        };
        self.proxy.set_rule(move |chunk: &Chunk| {
            if is_over.load(Ordering::SeqCst) || chunk.direction != direction {
                return Decision::Forward;
            }
            let is_met = match phase {
                Phase::Connecting => chunk.is_new,
                _ => chunk.to_server > SENT,
            };
            if !is_met || (phase != Phase::Connecting && is_over.swap(true, Ordering::SeqCst)) {
                return Decision::Forward;
            }
            if phase == Phase::Connecting {
                let bytes = match direction {
                    Direction::ToServer => chunk.to_server,
                    Direction::ToClient => chunk.to_client,
                };
                if began.elapsed() > CONNECTING || bytes <= rest {
                    return Decision::Forward;
                }
            }
            // The answer waits until the server has the batch.
            let must_wait = matches!(phase, Phase::Waiting | Phase::Answering);
            while must_wait && count() == before && began.elapsed() < LIMIT {
                std::thread::yield_now();
            }
            at_cut.lock().unwrap().get_or_insert_with(|| count() > before);
            decide(rest)
        });
        if phase == Phase::Connecting {
            self.proxy.cut_all();
        }
        has_batch
    }
}

fn text(word: &str) -> String {
    let mut rng = Rng::from_seed(word.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)));
    let digits: Vec<String> = (0..TEXT / 5).map(|_| format!("{:04x}", rng.below(65_536))).collect();
    format!("{word} {}", digits.join(" "))
}

/// Writes while connections are cut in each phase. `refuses` says that no new connection is
/// possible until the write is answered.
fn cut_in_each_phase(cuts: &[Cut], refuses: bool) {
    let Some(world) = World::new() else { return };
    let mut client = world.laptop.connect().unwrap();
    let mut writes: Vec<(String, Outcome)> = Vec::new();
    for (number, cut) in cuts.iter().enumerate() {
        // A queued text of the last cut must not meet the next one.
        wait_until_settled(&[&world.laptop, &world.desktop]);
        let word = rare_word(usize::from(refuses), number);
        let text = text(&word);
        let has_batch = world.cut(*cut, refuses);
        let fate = write(&mut client, text);
        world.proxy.remove_rule();
        world.proxy.open();
        let has_batch = has_batch.lock().unwrap().unwrap_or_else(|| panic!("{cut:?} was not met"));
        writes.push((word, Outcome { phase: cut.0, has_batch, fate }));
    }
    wait_until_settled(&[&world.laptop, &world.desktop]);
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for home in [&world.laptop, &world.desktop] {
        let pages = pages_with_files(home);
        for (word, outcome) in &writes {
            let count = pages.iter().filter(|page| page.body.starts_with(word.as_str())).count();
            let expected = match outcome.fate {
                Fate::Stored | Fate::Queued => 1,
                Fate::Away => 0,
                // Nothing was sent after the cut.
                Fate::Unknown => usize::from(outcome.has_batch),
            };
            assert_eq!(count, expected, "{word} {outcome:?}");
        }
    }
    for (_, outcome) in &writes {
        *counts.entry(*outcome).or_default() += 1;
    }
    report(&format!("machines: cuts by phase, refusing {refuses}: {counts:?}"));
    for phase in [Phase::Connecting, Phase::Sending, Phase::Waiting, Phase::Answering] {
        let of_phase: Vec<&Outcome> = counts.keys().filter(|it| it.phase == phase).collect();
        assert!(!of_phase.is_empty(), "{phase:?} was not met");
        let has_batch = matches!(phase, Phase::Waiting | Phase::Answering);
        assert!(of_phase.iter().all(|it| it.has_batch == has_batch), "{of_phase:?}");
        for outcome in of_phase {
            let is_right = match (refuses, phase) {
                // The next connection succeeds, and the batch is found or sent again.
                (false, _) => outcome.fate == Fate::Stored,
                (true, Phase::Connecting) => outcome.fate == Fate::Queued,
                (true, Phase::Sending | Phase::Waiting) => outcome.fate == Fate::Unknown,
                (true, Phase::Answering) => {
                    matches!(outcome.fate, Fate::Unknown | Fate::Stored)
                }
            };
            assert!(is_right, "refusing {refuses}: {outcome:?}");
        }
    }
    let World { laptop, desktop, daemons, .. } = world;
    stop_and_compare([&laptop, &desktop].into_iter().zip(daemons).collect());
}

#[test]
fn a_cut_in_each_phase_is_repaired() {
    cut_in_each_phase(&CUTS, false);
}

#[test]
fn a_cut_in_each_phase_without_a_new_connection_is_named() {
    // Each of these takes as long as a write tries.
    let cuts: Vec<Cut> = CUTS.into_iter().filter(|(_, _, rest)| [0, 40].contains(rest)).collect();
    cut_in_each_phase(&cuts, true);
}
