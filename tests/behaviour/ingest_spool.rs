//! The ingest spool on a full disk and under SIGKILL: every item accepted with 202 becomes one
//! page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use brain_page::content_digest;
use brain_protocol::{Get, JobState, List, PageRef, Request, Sort, SourceId};
use brain_store::{Content, JobOptions, JobRecord, Store, StoreError, StoreOptions, verify};
use brain_tests::http::{call, ingest};
use brain_tests::{TEST_TIMEOUT, TestHome, expect_reply, texts};

use crate::faults::{fill, small_home};
use crate::ingest_crash::wait_for_queue;

/// Returns a unique text of about 100 KB.
fn big_text(n: usize) -> String {
    format!("item{n} {}", format!("words of number {n} ").repeat(100_000 / 19))
}

/// Waits until the queue is empty and asserts that every accepted item is one page. `accepted` has
/// the first word and the job id of each item.
fn assert_pages_once(home: &TestHome, accepted: &BTreeMap<String, String>) {
    wait_for_queue(home);
    let mut client = home.connect().unwrap();
    let mut page_counts = BTreeMap::<String, usize>::new();
    let mut after = None;
    loop {
        let list = List { sort: Sort::Slug, limit: 1000, after, ..List::default() };
        let pages = expect_reply!(client.ask(&Request::List(list)), Pages);
        for row in pages.pages {
            let page = PageRef { source: None, slug: row.slug };
            let page = expect_reply!(client.ask(&Request::Get(Get { page, version: None })), Page);
            let first_word = page.body.split_whitespace().next().unwrap().to_owned();
            *page_counts.entry(first_word).or_default() += 1;
        }
        match pages.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    for (word, job) in accepted {
        assert_eq!(page_counts.get(word), Some(&1), "{word}, accepted as {job}: {}", home.log());
    }
    assert!(page_counts.values().all(|n| *n == 1), "{page_counts:?}");
}

#[test]
fn items_accepted_on_a_full_disk_become_pages_once() {
    for kill in [false, true] {
        let Some(mut home) = small_home("60m") else { return };
        home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
        let mut daemon = home.daemon();
        let (token, address) = (home.token("posting", "read write", &[]), home.http_local());
        let filler = fill(&home.path(), 6_000_000);
        let mut accepted = BTreeMap::new();
        let mut refusals = BTreeMap::<String, usize>::new();
        for n in 0..120 {
            let answer = ingest(address, &token, &big_text(n));
            match answer.status {
                202 => {
                    let job = answer.json()["job_id"].as_str().unwrap().to_owned();
                    assert!(accepted.insert(format!("item{n}"), job).is_none());
                }
                503 => {
                    assert!(answer.header("retry-after").is_some(), "{answer:?}");
                    *refusals.entry(answer.error()).or_default() += 1;
                }
                _ => panic!("{} {}: {}", answer.status, answer.text(), home.log()),
            }
            assert!(daemon.is_running(), "{}", home.log());
        }
        assert!(
            !accepted.is_empty() && !refusals.is_empty(),
            "{} accepted, {refusals:?}",
            accepted.len()
        );
        assert!(refusals.keys().all(|code| code == "disk_full"), "{refusals:?}");
        let _daemon = match kill {
            true => {
                daemon.kill();
                fs::remove_file(filler).unwrap();
                home.daemon()
            }
            false => {
                fs::remove_file(filler).unwrap();
                daemon
            }
        };
        let answer = ingest(home.http_local(), &token, "room again for one");
        let job = answer.expect(202).json()["job_id"].as_str().unwrap().to_owned();
        accepted.insert("room".into(), job);
        assert_pages_once(&home, &accepted);
    }
}

fn open(path: &Path) -> Result<Store, StoreError> {
    let options = StoreOptions {
        cache_bytes: 4 << 20,
        min_free_bytes: 0,
        now: 1000,
        new_store_id: 7,
        min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
    };
    retry_while_locked(|| Store::open(path, &options, Box::new(|_| {})))
}

fn assert_sound(path: &Path) {
    retry_while_locked(|| verify(path, &|_, _| true)).unwrap();
}

/// Retries an operation on a store that this process has closed. A program started by another test
/// may briefly hold copies of the descriptors and their locks.
fn retry_while_locked<T>(work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        match work() {
            Err(StoreError::Locked(_)) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

fn job(body: &str) -> JobRecord {
    JobRecord {
        state: JobState::Queued,
        client: "phone".into(),
        source: SourceId::default(),
        content_hash: content_digest(body),
        content_type: "text/plain".into(),
        bytes: body.len() as u64,
        options: JobOptions::default(),
        content: Content { body: body.into(), ..Content::default() },
        received_at: 5,
        finished_at: None,
        attempts: 0,
        due_at: 5,
        slug: None,
        error: None,
        duplicate_keys: vec![content_digest(body)],
    }
}

/// A daemon keeps a reserve of free space. This test uses the store without the reserve.
#[test]
fn a_store_that_fills_the_disk_keeps_accepted_items() {
    let mut home = TestHome::new();
    let home_path = home.path();
    if !home.mount(&home_path, "size=32m,mode=700") {
        return;
    }
    let path = home_path.join("brain.redb");
    for (size, burst) in [(100_000, 1), (100_000, 8), (700, 40)] {
        for entry in fs::read_dir(&home_path).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let store = open(&path).unwrap();
        let filler = fill(&home_path, 3_500_000);
        let mut accepted = BTreeMap::new();
        let (mut refusals, mut sent, mut refused_in_a_row) = (0, 0, 0);
        while refused_in_a_row < 100 && sent < 20_000 {
            let (sender, receiver) = channel();
            for _ in 0..burst {
                let (sender, text) = (sender.clone(), format!("{sent} {}", "x".repeat(size)));
                let record = job(&text);
                sent += 1;
                store.write_then(
                    move |draft| draft.add_job(&record),
                    move |result| sender.send((text, result.map_err(|e| e.to_string()))).unwrap(),
                );
            }
            drop(sender);
            for (text, answer) in receiver {
                match answer {
                    Ok(id) => {
                        refused_in_a_row = 0;
                        assert_eq!(accepted.insert(id, text), None, "{id} was returned twice");
                    }
                    Err(error) => {
                        (refusals, refused_in_a_row) = (refusals + 1, refused_in_a_row + 1);
                        assert!(error.contains("full") || error.contains("space"), "{error}");
                    }
                }
            }
        }
        assert!(
            !accepted.is_empty() && refusals >= 100,
            "{} accepted, {refusals} refused",
            accepted.len()
        );
        let assert_has_all = |store: &Store| {
            let mut found = BTreeMap::new();
            let each = |id, record: JobRecord| {
                assert_eq!(found.insert(id, String::from(record.content.body)), None);
                Ok(true)
            };
            let reader = store.read_queue().unwrap();
            reader.newest_jobs(u64::MAX, |_, _| true, each).unwrap();
            for (id, text) in &accepted {
                assert!(
                    found.get(id) == Some(text),
                    "job {id} of {} does not have the text of its item",
                    accepted.len()
                );
            }
            let texts: std::collections::BTreeSet<_> = found.values().collect();
            assert_eq!(texts.len(), found.len(), "an item is stored twice");
        };
        // Copy the files, as SIGKILL would leave them, to a disk with free space.
        let copy_dir = home.outside().join(format!("{size}-{burst}"));
        fs::create_dir_all(&copy_dir).unwrap();
        for entry in fs::read_dir(&home_path).unwrap() {
            let name = entry.unwrap().file_name();
            if name != "filler" {
                fs::copy(home_path.join(&name), copy_dir.join(&name)).unwrap();
            }
        }
        let copied_store = open(&copy_dir.join("brain.redb")).unwrap();
        assert_has_all(&copied_store);
        drop(copied_store);
        assert_sound(&copy_dir.join("brain.redb"));
        fs::remove_file(filler).unwrap();
        let record = job("room again");
        let id = store.write(move |draft| draft.add_job(&record)).unwrap();
        assert!(accepted.keys().all(|known| *known < id), "{id} was already used");
        assert_has_all(&store);
        drop(store);
        assert_sound(&path);
        assert_has_all(&open(&path).unwrap());
    }
}

/// Stores items in one batch. Copies to `target` the store file from before the batch and the spool
/// from after it, as a kill on a full disk would leave them.
fn copy_as_after_kill(store: &Store, items: usize, target: &Path) {
    let (spool, mut unanswered) = (store.path().with_extension("redb.spool"), items);
    let spool_copy = target.join("brain.redb.spool");
    fs::copy(store.path(), target.join("brain.redb")).unwrap();
    // The first write blocks the writer until all items are queued, so that they are one batch.
    let (send_blocked, blocked) = channel();
    let (send_release, release) = channel::<()>();
    store.write_then(
        |_| Ok(()),
        move |_| {
            send_blocked.send(()).unwrap();
            let _ = release.recv();
        },
    );
    blocked.recv().unwrap();
    let (sender, receiver) = channel();
    for n in 0..items {
        let (sender, record) = (sender.clone(), job(&format!("{n} {}", "x".repeat(28_000))));
        store.write_then(
            move |draft| draft.add_job(&record),
            move |id| sender.send(id.unwrap()).unwrap(),
        );
    }
    let (send_unanswered, final_unanswered) = channel();
    store.write_then(
        |_| Ok(()),
        move |_| {
            unanswered -= receiver.try_iter().count();
            fs::copy(spool, spool_copy).unwrap();
            send_unanswered.send(unanswered).unwrap();
        },
    );
    send_release.send(()).unwrap();
    assert_eq!(final_unanswered.recv().unwrap(), 0, "some items were not answered");
}

#[test]
fn items_survive_sigkill_on_a_full_disk() {
    let Some(home) = small_home("60m") else { return };
    let mut daemon = home.daemon();
    home.put("kept/page", "walrus\n");
    let _ = home.token("posting", "read write", &[]);
    assert!(daemon.terminate().0.success());
    let outside_store = home.outside().join("brain.redb");
    fs::copy(home.path().join("brain.redb"), &outside_store).unwrap();
    copy_as_after_kill(&open(&outside_store).unwrap(), 250, &home.path());
    let filler = fill(&home.path(), 0);
    daemon = home.daemon();
    for _ in 0..3 {
        assert_eq!(home.status().jobs.waiting, 250);
        assert_eq!(home.get("kept/page")["body"], "walrus\n", "reads still work");
        assert_eq!(home.search("walrus"), ["kept/page"]);
        assert_eq!(texts(&home.json(["token", "list"])["tokens"], "name"), ["posting"]);
        assert_eq!(
            home.fault(["jobs", "list"], 1)["code"],
            "disk_full",
            "the unknown queue is not shown as empty"
        );
        assert_eq!(home.fault_with(["put", "new"], b"no room\n", 1)["code"], "disk_full");
    }
    assert!(home.path().join("brain.redb.spool").is_file() && daemon.is_running());
    fs::remove_file(filler).unwrap();
    assert_eq!(home.put("new", "room again\n")["status"], "created");
    let accepted = (0..250).map(|n: u64| (n.to_string(), format!("{}", n + 1)));
    let mut accepted: BTreeMap<String, String> = accepted.collect();
    accepted.insert("walrus".into(), "a page of its own".into());
    assert_pages_once(&home, &accepted);
}

#[test]
fn items_accepted_before_sigkill_keep_their_id() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
    let mut daemon = home.daemon();
    let token = home.token("posting", "read write", &[]);
    let bearer = format!("Bearer {token}");
    let mut accepted = BTreeMap::new();
    // Repeat until a kill came before the worker's commit, so that the item was only in the spool.
    let was_imported = |home: &TestHome| home.log().contains("imported ingest jobs from the spool");
    for n in 0..100 {
        if n >= 20 && was_imported(&home) {
            break;
        }
        let address = home.http_local();
        let answer = ingest(address, &token, &format!("item{n} sent just before the end"));
        daemon.kill();
        let job = answer.expect(202).json()["job_id"].as_str().unwrap().to_owned();
        daemon = home.daemon();
        let path = format!("/ingest/{job}");
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let job_reply =
                call(home.http_local(), "GET", &path, &[("Authorization", &bearer)], b"");
            let job_reply = job_reply.expect(200).json();
            match job_reply["status"].as_str() {
                Some("stored") => break,
                Some("queued" | "processing") => {}
                _ => panic!("{job_reply}"),
            }
            assert!(Instant::now() < deadline, "{job_reply}");
            std::thread::sleep(Duration::from_millis(5));
        }
        accepted.insert(format!("item{n}"), job);
    }
    let ids: std::collections::BTreeSet<_> = accepted.values().collect();
    assert_eq!(ids.len(), accepted.len(), "the job ids are unique: {accepted:?}");
    assert_pages_once(&home, &accepted);
    assert!(was_imported(&home), "no item needed the spool: {}", home.log());
}

#[test]
fn doctor_reports_items_of_another_store() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("kept/page", "walrus\n");
    assert!(daemon.terminate().0.success());
    let [other, killed] = ["other", "killed"].map(|name| home.outside().join(name));
    for dir in [&other, &killed] {
        fs::create_dir_all(dir).unwrap();
    }
    copy_as_after_kill(&open(&other.join("brain.redb")).unwrap(), 3, &killed);
    let spooled = fs::read(killed.join("brain.redb.spool")).unwrap();
    fs::write(home.path().join("brain.redb.spool"), &spooled).unwrap();

    let _daemon = home.daemon();
    let check = || {
        let doctor = home.json(["doctor"]);
        doctor["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["name"] == "spool")
            .unwrap()
            .clone()
    };
    let (renamed_spool, spool_check) = (home.path().join("brain.redb.spool-1"), check());
    assert!(fs::read(&renamed_spool).unwrap() == spooled, "the spool of another store is kept");
    assert_eq!(spool_check["status"], "warn");
    let message = spool_check["message"].as_str().unwrap();
    assert!(message.starts_with(renamed_spool.to_str().unwrap()), "{spool_check}");
    assert!(spool_check["hint"].as_str().unwrap().contains("brain.redb.spool"), "{spool_check}");
    assert_eq!(home.get("kept/page")["body"], "walrus\n");
    // In their own store, the items are queued.
    fs::rename(&renamed_spool, killed.join("brain.redb.spool")).unwrap();
    assert_eq!(check()["status"], "ok");
    let other_store = open(&killed.join("brain.redb")).unwrap();
    assert_eq!(other_store.read_queue().unwrap().job_counts().unwrap().waiting, 3);
}
