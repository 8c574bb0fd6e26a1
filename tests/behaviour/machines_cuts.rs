//! Connections of a machine that are cut in every phase of a commit. Each write succeeds, is kept
//! for later, or fails with a reason that is true; and it is there at most once.

use std::collections::BTreeMap;

use brain_fakes::{Direction, Proxy};
use brain_protocol::{FaultCode, Reply, WriteStatus};
use brain_tests::{Client, TestHome, capture, report};

use crate::crash::rare_word;
use crate::machines::{Shared, server, wait_for_state};
use crate::machines_fixture::{pages_with_files, stop_and_compare, wait_until_settled};

/// How many different numbers of bytes are tried in each direction.
const CUTS: i64 = 30;
/// The bytes that one commit sends in a direction at most, with the head of a new connection.
const SPAN: i64 = 6_000;

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Stored,
    Queued,
    /// Refused: nothing was written.
    Away,
    /// The write is there or not.
    Unknown,
}

pub(crate) fn write(client: &mut Client, text: String) -> Fate {
    match client.ask(&capture(text)) {
        Ok(Reply::Write(reply)) if reply.status == WriteStatus::Queued => Fate::Queued,
        Ok(Reply::Write(reply)) => {
            assert_eq!(reply.status, WriteStatus::Created);
            Fate::Stored
        }
        Err(fault) if fault.code == FaultCode::ServerAway => Fate::Away,
        Err(fault) if fault.code == FaultCode::OutcomeUnknown => Fate::Unknown,
        other => panic!("{other:?}"),
    }
}

/// Writes while connections are cut after a number of bytes. `refuses` says that no new connection
/// is possible after the cut, for a moment: then a commit cannot be repeated.
fn cut_everywhere(refuses: bool) {
    let Some(url) = server() else { return };
    let shared = Shared::new(url);
    let (laptop, desktop) = (TestHome::new(), TestHome::new());
    desktop.put("first", "The first page.");
    let words = shared.init(&desktop, "desktop", &[])["words"].as_str().unwrap().to_owned();
    let (proxy, through) = Proxy::before(&shared.url);
    let behind = Shared { url: through, namespace: shared.namespace.clone() };
    behind.join(&laptop, "laptop", &words);
    for home in [&laptop, &desktop] {
        home.brain(["stop"]).expect(0);
    }
    let daemons = [laptop.daemon(), desktop.daemon()];
    wait_until_settled(&[&laptop, &desktop]);
    let mut client = laptop.connect().unwrap();
    let mut fates: BTreeMap<String, Fate> = BTreeMap::new();
    let mut counts: BTreeMap<Fate, usize> = BTreeMap::new();
    for direction in [Direction::ToServer, Direction::ToClient] {
        for cut in 0..CUTS {
            wait_for_state(&laptop, "ready");
            // The first bytes are tried one by one: they are the phases of a short message.
            let bytes = if cut < CUTS / 3 { cut * 7 } else { SPAN * cut / CUTS };
            proxy.cut_after(direction, bytes);
            let word = rare_word(direction as usize, cut as usize);
            let fate = std::thread::scope(|scope| {
                if refuses {
                    scope.spawn(|| {
                        let end = std::time::Instant::now() + std::time::Duration::from_secs(3);
                        while !proxy.has_cut() && std::time::Instant::now() < end {
                            std::thread::yield_now();
                        }
                        proxy.close();
                    });
                }
                write(&mut client, format!("{word} written at {bytes} bytes {direction:?}."))
            });
            proxy.open();
            proxy.cut_after(direction, -1);
            fates.insert(word, fate);
            *counts.entry(fate).or_default() += 1;
        }
    }
    wait_until_settled(&[&laptop, &desktop]);
    for home in [&laptop, &desktop] {
        let pages = pages_with_files(home);
        for (word, fate) in &fates {
            let count = pages.iter().filter(|page| page.body.starts_with(word.as_str())).count();
            let is_right = match fate {
                Fate::Stored | Fate::Queued => count == 1,
                Fate::Away => count == 0,
                Fate::Unknown => count <= 1,
            };
            assert!(is_right, "{word} {fate:?} is there {count} times");
        }
    }
    let daemons = [&laptop, &desktop].into_iter().zip(daemons).collect();
    stop_and_compare(daemons);
    report(&format!("machines: cuts, refusing {refuses}: {counts:?}"));
    assert!(counts[&Fate::Stored] + counts.get(&Fate::Queued).unwrap_or(&0) > 0);
}

#[test]
fn each_write_survives_a_cut() {
    cut_everywhere(false);
}

#[test]
fn each_write_survives_a_cut_and_a_time_without_server() {
    cut_everywhere(true);
}
