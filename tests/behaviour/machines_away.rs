//! A shared brain while its server is away, and after it came back: reads go on, captures and
//! ingested items wait on this machine, other writes are refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brain_base::caller::Visibility;
use brain_fakes::Proxy;
use brain_protocol::WriteStatus;
use brain_tests::mcp::mcp;
use brain_tests::{Daemon, TestHome, expect_reply, http};
use serde_json::json;

use crate::machines::{MachineStatus, Shared, VISIBLE, server, wait_for_state, wait_until};
use crate::machines_fixture::{open_store, pages_with_files, stop_and_compare, wait_until_settled};
use crate::machines_kills::writers::EndOnDrop;

/// Two machines whose server can go away. The daemons are children of the test, which can kill
/// them.
struct Pair {
    proxy: Proxy,
    laptop: TestHome,
    desktop: TestHome,
    daemons: Option<[Daemon; 2]>,
    _shared: Shared,
}

impl Pair {
    fn new(env: &[(&str, &str)]) -> Option<Self> {
        let (proxy, through) = Proxy::before(&server()?);
        let (shared, mut laptop, desktop) = Shared::two_machines(through);
        for home in [&laptop, &desktop] {
            home.brain(["stop"]).expect(0);
        }
        laptop.env.extend(env.iter().map(|(k, v)| ((*k).into(), (*v).into())));
        let daemons = Some([laptop.daemon(), desktop.daemon()]);
        let pair = Self { proxy, laptop, desktop, daemons, _shared: shared };
        pair.settle();
        Some(pair)
    }

    fn go_away(&self) {
        self.proxy.close();
        wait_for_state(&self.laptop, "away");
    }

    fn come_back(&self) {
        self.proxy.open();
        self.settle();
    }

    fn settle(&self) {
        wait_until_settled(&[&self.laptop, &self.desktop]);
    }

    /// Kills the daemon of the laptop and starts it again.
    fn kill_laptop(&mut self) {
        let [laptop, desktop] = self.daemons.take().unwrap();
        laptop.kill();
        self.daemons = Some([self.laptop.daemon(), desktop]);
    }

    /// Stops both daemons, and checks that the stores are equal.
    fn compare(&mut self) {
        let [laptop, desktop] = self.daemons.take().unwrap();
        stop_and_compare(vec![(&self.laptop, laptop), (&self.desktop, desktop)]);
    }
}

/// Captures a text, and returns the status.
fn capture(home: &TestHome, text: &str) -> WriteStatus {
    let request = brain_tests::capture(text);
    expect_reply!(home.connect().unwrap().ask(&request), Write).status
}

#[test]
fn reads_say_how_old_they_are() {
    // A record of the calls is written when the server is back, and again at the end.
    let off = [("BRAIN_HISTORY_SEEN", "off")];
    let Some(mut pair) = Pair::new(&off) else { return };
    let home = &pair.laptop;
    let mcp = mcp(home, &home.token("reader", "read", &[]));
    pair.settle();
    pair.go_away();
    assert!(home.get("first")["body"].as_str().unwrap().contains("quokka"));
    let degraded = home.json(["search", "quokka"])["degraded"].as_str().unwrap().to_owned();
    assert!(degraded.contains("away") && degraded.contains("ago"), "{degraded}");
    let status = home.json(["status"]).to_string();
    assert!(status.contains("ago"), "{status}");
    let page = mcp.call("get_page", json!({ "slug": "first" }));
    assert!(page.to_string().contains("quokka"), "{page}");
    let age = mcp.call("brain_status", json!({}))["age"].as_str().unwrap().to_owned();
    assert!(age.contains("ago"), "{age}");
    let found = mcp.call("query", json!({ "query": "quokka" }));
    assert_eq!(found["results"][0]["slug"], "first");
    let note = found["note"].as_str().unwrap_or_default();
    assert!(note.contains("ago"), "a model is told that pages are old: {found}");
    pair.come_back();
    assert!(mcp.call("brain_status", json!({}))["age"].is_null());
    assert!(pair.laptop.json(["search", "quokka"])["degraded"].is_null());
    pair.compare();
}

#[test]
fn queued_captures_become_pages_once_and_in_order() {
    let Some(mut pair) = Pair::new(&[]) else { return };
    assert_eq!(capture(&pair.laptop, "zebra 0 before"), WriteStatus::Created);
    pair.go_away();
    for number in 1..=5 {
        let status = capture(&pair.laptop, &format!("zebra {number} while the server is away"));
        assert_eq!(status, WriteStatus::Queued);
    }
    pair.kill_laptop();
    wait_for_state(&pair.laptop, "away");
    assert_eq!(pair.laptop.json_status()["queued"], 5, "after a kill");
    for number in 6..=10 {
        let status = capture(&pair.laptop, &format!("zebra {number} after a kill"));
        assert_eq!(status, WriteStatus::Queued);
    }
    assert_eq!(pair.laptop.json_status()["queued"], 10);
    pair.kill_laptop();
    let text = pair.laptop.brain(["capture", "zebra 11 of the command"]).expect(0).stdout;
    assert!(text.contains("queued"), "{text}");
    pair.proxy.open();
    // It may be killed while it sends.
    std::thread::sleep(Duration::from_millis(700));
    pair.kill_laptop();
    pair.settle();
    for home in [&pair.laptop, &pair.desktop] {
        let texts: Vec<String> = pages_with_files(home).into_iter().map(|page| page.body).collect();
        for number in 0..=11 {
            let start = format!("zebra {number} ");
            let count = texts.iter().filter(|text| text.starts_with(&start)).count();
            assert_eq!(count, 1, "{start}: {texts:?}");
        }
        assert_eq!(texts.len(), 13);
    }
    let home = pair.laptop.path();
    pair.compare();
    let reader = open_store(&home).read(Visibility::All).unwrap();
    let changes = reader.changes_after(0, 1_000).unwrap();
    let bodies = changes.iter().filter_map(|change| change.page.as_ref());
    let order: Vec<u32> = bodies
        .filter_map(|page| page.content.body.strip_prefix("zebra "))
        .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(order, (0..=11).collect::<Vec<_>>(), "in the order of the captures");
}

#[test]
fn other_writes_name_the_way_out() {
    let Some(mut pair) = Pair::new(&[]) else { return };
    pair.go_away();
    for args in [&["put", "second"][..], &["rm", "first"]] {
        let error = pair.laptop.fault_with(args, b"text", 1);
        assert_eq!(error["code"], "server_away", "{error}");
        assert!(!error["hint"].as_str().unwrap_or_default().is_empty(), "{error}");
    }
    pair.come_back();
    pair.laptop.put("second", "text");
    pair.settle();
    pair.compare();
}

#[test]
fn ingested_items_keep_their_id() {
    let Some(mut pair) = Pair::new(&[]) else { return };
    let token = pair.laptop.token("phone", "write", &[]);
    pair.settle();
    pair.go_away();
    let address = pair.laptop.http_local();
    let reply = http::ingest(address, &token, "walrus over HTTP").expect(202).json();
    let id = reply["job_id"].as_str().map_or_else(|| reply["job_id"].to_string(), str::to_owned);
    let job = |home: &TestHome| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str())];
        let path = format!("/ingest/{id}");
        http::call(home.http_local(), "GET", &path, &headers, b"")
    };
    let waiting = job(&pair.laptop).expect(200).json();
    assert_eq!(waiting["status"], "queued", "{waiting}");
    pair.kill_laptop();
    assert_eq!(job(&pair.laptop).expect(200).json()["status"], "queued", "after a kill");
    pair.come_back();
    for home in [&pair.laptop, &pair.desktop] {
        let stored = job(home).expect(200).json();
        assert_eq!(stored["status"], "stored", "{stored}");
        let slug = stored["slug"].as_str().unwrap();
        assert_eq!(home.search("walrus"), [slug]);
    }
    pair.compare();
}

#[test]
fn remote_tokens_are_refused_while_revocations_may_be_missing() {
    let limit = [("BRAIN_MACHINES_MAX_TOKEN_AGE", "2s"), ("BRAIN_HTTP_PUBLIC", "127.0.0.1:0")];
    let Some(mut pair) = Pair::new(&limit) else { return };
    let token = pair.laptop.token("phone", "read write", &[]);
    pair.settle();
    let post = |address, text: &str| http::ingest(address, &token, text);
    let (public, local) = (pair.laptop.http_public(), pair.laptop.http_local());
    assert_eq!(post(public, "first item").status, 202);
    pair.go_away();
    wait_until("the limit", VISIBLE, || post(public, "second item").status == 503);
    let refused = post(public, "third item");
    assert_eq!((refused.status, refused.error().as_str()), (503, "server_away"));
    assert_eq!(post(local, "fourth item").status, 202, "this machine's own listener");
    pair.come_back();
    wait_until("the end of the refusal", VISIBLE, || post(public, "fifth item").status == 202);
    pair.settle();
    pair.compare();
}

#[test]
fn an_absence_is_one_warning_in_the_log() {
    let Some(mut pair) = Pair::new(&[("BRAIN_INGEST_RATE", "off")]) else { return };
    let token = pair.laptop.token("phone", "write", &[]);
    pair.settle();
    let (address, before) = (pair.laptop.http_local(), pair.laptop.log().len());
    // Items arrive all the time, so pages are being written when the server goes away.
    let is_away = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                // An item whose write has an unknown outcome is refused.
                let _ = http::ingest(address, &token, &format!("walrus {number}"));
                std::thread::sleep(Duration::from_millis(5));
                if is_away.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        // The sender ends, also if the server does not stop.
        let _end = EndOnDrop(&is_away);
        std::thread::sleep(Duration::from_millis(500));
        pair.go_away();
    });
    // The worker has tried to write pages again.
    std::thread::sleep(Duration::from_secs(8));
    let log = pair.laptop.log().split_off(before);
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("commit log away"), "{warnings:#?}");
    pair.come_back();
    pair.compare();
}
