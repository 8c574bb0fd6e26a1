//! SIGKILL at random moments of a purge: after the next start, no file of the home has the secret.
//!
//! `BRAIN_CRASH_ROUNDS` sets the number of kills (default 6), and `BRAIN_CRASH_SEED` repeats the
//! choices of a failed run.

use std::time::{Duration, Instant};

use brain_protocol::{PageRef, Purge, PurgeReply, Reply, Request, Slug};
use brain_tests::{TEST_TIMEOUT, TestHome, http};
use serde_json::Value;

use crate::crash::{Run, settle};
use crate::purge::files_with;

/// Waits until `doctor` finds no unfinished purge.
fn wait_until_finished(home: &TestHome) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let check = purge_check(home);
        if check["status"] == "ok" {
            return;
        }
        assert!(Instant::now() < deadline, "{check}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the check "purge" of `doctor`.
pub(crate) fn purge_check(home: &TestHome) -> Value {
    let output = home.brain(["doctor", "--json"]).json();
    let checks = output["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "purge").unwrap().clone()
}

/// Makes a page whose every part has the secret: text, two versions, title, alias, tag and slug.
fn make_page(home: &TestHome, token: &str, round: usize, secret: &str) -> String {
    let slug = format!("notes/{secret}");
    let page = |text: &str| {
        format!(
            "---\ntitle: About {secret}\naliases: [alias {secret}]\ntags: [t{secret}]\n---\n\n{text} {secret}\n"
        )
    };
    if round % 3 == 1 {
        let sent = http::call(
            home.http_local(),
            "POST",
            "/ingest",
            &[
                ("Authorization", &format!("Bearer {token}")),
                ("Content-Type", "text/plain"),
                ("X-Brain-Slug", &slug),
                ("X-Brain-Title", &format!("Posted {secret}")),
                ("X-Brain-Source-Uri", &format!("https://e.example/{secret}")),
            ],
            format!("posted {secret}").as_bytes(),
        );
        let _ = sent.expect(202);
        let deadline = Instant::now() + TEST_TIMEOUT;
        while !home.page_file(&slug).exists() {
            assert!(Instant::now() < deadline, "the item does not become a page");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    home.put(&slug, &page("first"));
    home.put(&slug, &page("second"));
    if round % 4 == 3 {
        home.json(["delete", &slug]);
    }
    slug
}

/// Asks for a purge again, of a page that may be gone.
fn ask_again(home: &TestHome, slug: &str, round: usize) {
    let again = home.brain(["purge", slug, "--now", "--yes", "--json"]);
    match again.code {
        4 => assert_eq!(again.json()["error"]["code"], "not_found", "round {round}"),
        _ => assert_eq!(again.expect(0).json()["status"], "purged", "round {round}"),
    }
}

#[test]
fn a_killed_purge_leaves_nothing_after_the_next_start() {
    let run = Run::new(6);
    let mut rng = run.rng();
    let mut home = TestHome::new();
    home.env.push(("BRAIN_BACKUP_KEPT_EVERY".into(), "1s".into()));
    let mut daemon = home.daemon();
    let token = home.token("phone", "write", &[]);
    for n in 0..30 {
        home.put(&format!("other/{n}"), &format!("Another page, number {n}. [[notes/{n}]]\n"));
    }
    settle(&home);
    let (mut interrupted, mut finished_alone) = (0, 0);
    let mut duration = Duration::from_millis(300);
    for round in 0..run.rounds.max(1) {
        let secret = format!("hunter{round}x{:08x}", rng.below(1 << 32));
        let slug = make_page(&home, &token, round, &secret);
        assert!(!files_with(&home.path(), &secret).is_empty());
        let moment = Duration::from_micros(rng.below(duration.as_micros() as u64));
        let page = PageRef { source: None, slug: Slug::parse(&slug).unwrap() };
        let request = Request::Purge(Purge { page, version: None });
        let began = Instant::now();
        let answer: Option<PurgeReply> = std::thread::scope(|scope| {
            let purge = scope.spawn(|| match home.connect()?.try_ask(&request)? {
                Ok(Reply::Purge(reply)) => Some((reply, began.elapsed())),
                _ => None,
            });
            std::thread::sleep(moment);
            daemon.kill();
            let answer = purge.join().expect("the purge panicked");
            answer.map(|(reply, took)| {
                duration = took.max(Duration::from_millis(50));
                reply
            })
        });
        daemon = home.daemon();
        // If the page is gone, the next start finishes the purge. Asking again works, whether or not
        // the page was removed before the kill. If only the answer was lost, there is no page any
        // more.
        if answer.is_none() {
            duration = duration.mul_f64(1.1);
            interrupted += 1;
            let found = home.brain(["get", &slug, "--json"]).json();
            if found["error"]["code"] == "not_found" && round % 2 == 1 {
                finished_alone += 1;
            } else {
                ask_again(&home, &slug, round);
            }
        }
        wait_until_finished(&home);
        let left = files_with(&home.path(), &secret);
        assert!(left.is_empty(), "round {round}, killed after {moment:?}: {left:?}");
        assert_eq!(home.fault(["get", &slug], 4)["code"], "not_found");
    }
    run.report(&format!(
        "{interrupted} of {} purges were interrupted; {finished_alone} were not asked for again",
        run.rounds
    ));
}
