//! Checks that machines of a shared brain have the same pages, files and indexes, and that their
//! stores are equal row by row.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use brain_protocol::{Doctor, Page, Reply, Request, Status};
use brain_store::{Store, StoreError, StoreOptions, verify};
use brain_tests::{Daemon, TEST_TIMEOUT, TestHome, expect_reply};
use serde_json::Value;

use crate::crash::Check;
use crate::machines::MachineStatus;

/// The longest time until machines are equal after the last fault.
const SETTLED: Duration = Duration::from_secs(300);
/// The most pages that are searched one by one on each machine.
const MAX_SEARCHES: usize = 2_000;

/// Waits until all machines have all batches, and nothing waits on any of them.
pub(crate) fn wait_until_settled(homes: &[&TestHome]) {
    let deadline = Instant::now() + SETTLED;
    loop {
        let problems: Vec<String> = homes.iter().filter_map(|home| unfinished(home)).collect();
        let positions: Vec<Value> =
            homes.iter().map(|home| home.json_status()["position"].clone()).collect();
        let are_equal = positions.iter().all(|position| *position == positions[0]);
        if problems.is_empty() && are_equal {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "not settled: {problems:?}, positions {positions:?}\n{}",
            homes.iter().map(|home| last_lines(home)).collect::<String>()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the end of the log of a home's daemons.
fn last_lines(home: &TestHome) -> String {
    let log = home.log();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n") + "\n"
}

/// Returns what a machine has not finished; `None` if nothing is left.
fn unfinished(home: &TestHome) -> Option<String> {
    let machine = home.json_status();
    if machine["state"] != "ready" || machine["behind"] != 0 || machine["queued"] != 0 {
        return Some(machine.to_string());
    }
    let mut client = home.connect().expect("no answer of the daemon");
    let status = expect_reply!(client.ask(&Request::Status(Status)), Status);
    let is_done = status.jobs.waiting == 0 && status.outbox == 0 && status.degraded.is_empty();
    (!is_done).then(|| {
        let (waiting, outbox) = (status.jobs.waiting, status.outbox);
        format!("{waiting} jobs, {outbox} files, degraded: {:?}", status.degraded)
    })
}

/// Returns all active pages of a machine after checking that each has its file with its text, and
/// that there are no other files.
pub(crate) fn pages_with_files(home: &TestHome) -> Vec<Page> {
    let mut check = Check::new(home);
    let rows = check.list(false);
    let pages: Vec<Page> =
        rows.iter().map(|row| check.page(&row.slug).expect("a listed page is missing")).collect();
    for page in &pages {
        check.assert_file(page);
    }
    let active: Vec<_> = pages.iter().map(|page| page.slug.clone()).collect();
    check.assert_no_other_files(&active, &[]);
    pages
}

/// Checks that a machine finds each page by its word, which no other page has. With many pages, it
/// searches some of them.
pub(crate) fn check_searches(home: &TestHome, pages: &BTreeMap<String, Page>) {
    let step = pages.len().div_ceil(MAX_SEARCHES).max(1);
    let chosen: Vec<_> = pages.iter().step_by(step).collect();
    std::thread::scope(|scope| {
        for part in chosen.chunks(chosen.len().div_ceil(4).max(1)) {
            scope.spawn(move || {
                let mut check = Check::new(home);
                part.iter().for_each(|(word, page)| check.assert_found(word, &page.slug));
            });
        }
    });
}

/// Asserts that `brain doctor` finds nothing wrong, except that a machine of a test has no backup.
pub(crate) fn check_doctor(home: &TestHome) {
    let mut client = home.connect().expect("no answer of the daemon");
    let Ok(Reply::Doctor(reply)) = client.ask(&Request::Doctor(Doctor { fix: false })) else {
        panic!("no answer of doctor");
    };
    for check in reply.checks {
        let status = serde_json::to_value(check.status).unwrap();
        let is_fine = status == "ok" || (status != "fail" && check.name == "backup");
        assert!(is_fine, "{} {status}: {}", check.name, check.message);
    }
}

/// Stops the daemons, and asserts that the stores are intact and have equal rows at the same
/// position of the log.
pub(crate) fn stop_and_compare(machines: Vec<(&TestHome, Daemon)>) {
    let mut found = Vec::new();
    for (home, daemon) in machines {
        assert!(daemon.terminate().0.success(), "{}", home.log());
        found.push(read_store(home));
    }
    assert!(found.iter().all(|store| *store == found[0]), "the stores differ: {found:?}");
}

/// Stops the daemons of homes, compares as [`stop_and_compare`] does, and lets the next command
/// start them again.
pub(crate) fn compare_running(homes: &[&TestHome]) {
    let found: Vec<_> = homes
        .iter()
        .map(|home| {
            home.brain(["stop"]).expect(0);
            read_store(home)
        })
        .collect();
    assert!(found.iter().all(|store| *store == found[0]), "the stores differ: {found:?}");
}

/// Returns the position and the digest of the shared rows of a closed store.
pub(crate) fn read_store(home: &TestHome) -> (u64, String) {
    let position_and_digest = {
        let store = open_store(&home.path());
        let position = store.log_position().unwrap().expect("a shared store");
        (position.number, brain_page::hex(&store.shared_digest().unwrap()))
    };
    verify(&home.path().join("brain.redb"), &|_, _| true).unwrap();
    position_and_digest
}

/// Opens the store of a home whose daemon has stopped.
pub(crate) fn open_store(home: &Path) -> Store {
    let options = StoreOptions {
        cache_bytes: 16_000_000,
        min_free_bytes: 0,
        now: 0,
        new_store_id: 1,
        min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
    };
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        match Store::open(&home.join("brain.redb"), &options, Box::new(|_| ())) {
            // The daemon has answered `stop`, and its process still ends.
            Err(StoreError::Locked(_)) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened.unwrap(),
        }
    }
}
