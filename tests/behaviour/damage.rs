//! Damage of the store: no interface returns a damaged text as the page. Errors name the remedy.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;

use brain_tests::TestHome;
use serde_json::Value;

const PAGES: usize = 120;
const DAMAGED_BYTES: usize = 100;

/// Returns a generator of random numbers, the same in each run.
fn seeded(mut state: u64) -> impl FnMut() -> usize {
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 1).unwrap()
    }
}

fn text(n: usize, round: usize) -> String {
    let line = format!("walrus text of page {n} in round {round}\n");
    format!("---\nnote: frontmatter of page {n} in round {round}\n---\n{}", line.repeat(600))
}

/// Returns whether the page is served unchanged. If it is not, asserts that the error names it.
fn is_served_whole(ran: &brain_tests::Run, keys: &[&str], whole: &Value, slug: &str) -> bool {
    let answer = ran.json();
    if ran.code == 0 {
        for key in keys {
            assert_eq!(answer[key], whole[key], "{slug}: {key}");
        }
        return true;
    }
    let error = &answer["error"];
    assert_eq!(error["code"], "store_damaged", "{slug}: {error}");
    assert!(error["message"].as_str().unwrap().contains(slug), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("brain "), "{error}");
    false
}

#[test]
fn damaged_pages_are_never_served() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_STORE_CACHE_MB".into(), "1".into()));
    let slug = |n: usize| format!("area/note-{n}");
    let daemon = home.daemon();
    for round in 0..2 {
        for n in 0..PAGES {
            home.put(&slug(n), &text(n, round));
        }
    }
    let backup = home.outside().join("good.redb");
    home.json(["backup", backup.to_str().unwrap()]);
    let whole: Vec<Value> = (0..PAGES).map(|n| home.get(&slug(n))).collect();
    let former: Vec<Value> =
        (0..PAGES).map(|n| home.json(["get", &slug(n), "--version", "1"])).collect();
    assert!(daemon.terminate().0.success());
    let store = home.path().join("brain.redb");
    let good = fs::read(&store).unwrap();
    let text_offsets: Vec<usize> = (0..good.len())
        .filter(|at| {
            good[at.saturating_sub(30)..].starts_with(b"walrus text of")
                || good[at.saturating_sub(20)..].starts_with(b"frontmatter of page")
        })
        .collect();
    let _daemon = home.daemon();
    // Damage the store under the running daemon, because debug builds reject such a file at their
    // start.
    let mut random = seeded(4);
    let file = fs::File::options().write(true).open(&store).unwrap();
    for _ in 0..DAMAGED_BYTES {
        let at = text_offsets[random() % text_offsets.len()];
        file.write_all_at(&[good[at] ^ (1 << (random() % 8))], at as u64).unwrap();
    }
    let keys = ["title", "tags", "content", "frontmatter", "body", "content_hash", "version"];
    let (mut damaged, mut damaged_versions) = (Vec::new(), 0);
    for n in 0..PAGES {
        let name = slug(n);
        if !is_served_whole(&home.brain(["get", &name, "--json"]), &keys, &whole[n], &name) {
            damaged.push(n);
        }
        let version = home.brain(["get", &name, "--version", "1", "--json"]);
        damaged_versions += usize::from(!is_served_whole(&version, &keys, &former[n], &name));
    }
    assert!(damaged.len() > 10 && damaged_versions > 10, "{damaged:?}, {damaged_versions}");
    let hits = home.json(["search", "walrus text", "--limit", "200"]);
    for hit in hits["hits"].as_array().unwrap() {
        let n: usize = hit["slug"].as_str().unwrap().rsplit('-').next().unwrap().parse().unwrap();
        assert!(!damaged.contains(&n), "{hit}");
        let body = whole[n]["body"].as_str().unwrap().replace('\n', " ");
        let snippet = hit["snippet"].as_str().unwrap().replace('\n', " ");
        assert!(body.contains(snippet.trim_matches('…').trim()), "{snippet}");
    }
    assert!(
        hits["degraded"].as_str().unwrap().contains("is damaged in the store"),
        "{}",
        hits["degraded"]
    );
    let out = home.outside().join("out");
    let exported = home.brain(["export", out.to_str().unwrap(), "--json"]).expect(1).json();
    assert_eq!(exported["failed_total"], damaged.len(), "{exported}");
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for entry in fs::read_dir(out.join("area")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        files.insert(name, fs::read_to_string(entry.path()).unwrap());
    }
    for (n, page) in whole.iter().enumerate() {
        match files.get(&format!("note-{n}.md")) {
            Some(text) => assert_eq!(page["content"], *text),
            None => assert!(damaged.contains(&n), "page {n}"),
        }
    }
    for &n in damaged.iter().take(5) {
        let name = slug(n);
        let tagged = home.brain(["tags", &name, "--add", "x", "--json"]);
        assert_eq!(
            tagged.json()["error"]["code"],
            "store_damaged",
            "an edit would hide the damage: {tagged:?}"
        );
        let call = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\
             \"params\":{{\"name\":\"get_page\",\"arguments\":{{\"slug\":\"{name}\"}}}}}}\n"
        );
        let initialize = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\
                     \"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\
                     \"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n";
        let output = home.brain_with(["mcp"], format!("{initialize}{call}").as_bytes());
        assert!(output.stdout.contains("is damaged in the store"), "{output:?}");
        assert!(!output.stdout.contains("walrus text"), "{output:?}");
    }
    let doctor = home.brain(["doctor", "--json"]).expect(1).json();
    let check = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["name"] == "store integrity")
        .unwrap();
    assert_eq!(check["status"], "fail", "{check}");
    let refused = home.fault(["backup", home.outside().join("bad.redb").to_str().unwrap()], 1);
    assert_eq!(refused["code"], "store_damaged", "{refused}");
    // The page can be restored from its file.
    for &n in &damaged {
        let file = home.page_file(&slug(n));
        home.json(["put", &slug(n), "--file", file.to_str().unwrap()]);
        assert_eq!(home.get(&slug(n))["body"], whole[n]["body"]);
    }
}

#[test]
fn an_empty_store_with_a_full_index_is_rejected() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("kept", "walrus\n");
    assert!(daemon.terminate().0.success());
    let store = home.path().join("brain.redb");
    let good = fs::read(&store).unwrap();
    let db = redb::Database::open(&store).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(redb::TableDefinition::<&str, u64>::new("meta"))
        .unwrap()
        .insert("seq", 0)
        .unwrap();
    txn.commit().unwrap();
    drop(db);
    let ran = home.brain(["list"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    for part in ["opened without any page", "index knows of", "restore a backup"] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    fs::write(&store, good).unwrap();
    let _daemon = home.daemon();
    assert_eq!(home.get("kept")["body"], "walrus\n");
}

#[test]
fn a_file_size_limit_does_not_stop_the_daemon() {
    let home = TestHome::new();
    let mut daemon = home.daemon();
    home.put("kept", "walrus\n");
    let pid = i32::try_from(home.json(["status"])["pid"].as_i64().unwrap()).unwrap();
    let limit = rustix::process::Rlimit { current: Some(6_000_000), maximum: Some(6_000_000) };
    let pid = rustix::process::Pid::from_raw(pid);
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    let large = "An enormous page about nothing at all. ".repeat(50_000);
    let mut refused = 0;
    for n in 0..8 {
        let ran = home
            .brain_with(["put", &format!("large/{n}"), "--json", "--no-start"], large.as_bytes());
        if ran.code != 0 {
            refused += 1;
            assert_eq!(ran.json()["error"]["code"], "disk_full", "{ran:?}");
        }
        assert!(daemon.is_running(), "the daemon has ended");
    }
    assert!(refused > 0, "no write reached the limit");
    assert_eq!(home.json(["get", "kept", "--no-start"])["body"], "walrus\n");
}

#[test]
fn damaged_old_versions_are_reported_and_not_restored() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_STORE_CACHE_MB".into(), "1".into()));
    let daemon = home.daemon();
    let notes = home.outside().join("notes");
    fs::create_dir(&notes).unwrap();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    let page =
        |round: usize| format!("walrus in round {round}\n{}", "words of the page\n".repeat(3000));
    for round in 1..=3 {
        home.json_with(["put", "area/note", "--source", "notes"], page(round).as_bytes());
    }
    // More than fits into the store's cache.
    let filler = |n: usize| format!("filler/{n}");
    for n in 0..40 {
        home.put(&filler(n), &format!("number {n}\n{}", "words of another page\n".repeat(4000)));
    }
    home.put("other", "quiet\n");
    assert!(daemon.terminate().0.success());
    let store = home.path().join("brain.redb");
    let _daemon = home.daemon();
    for n in 0..40 {
        let _ = home.get(&filler(n));
    }
    let good = fs::read(&store).unwrap();
    let text = b"walrus in round 2\n";
    let file = fs::File::options().write(true).open(&store).unwrap();
    for at in (0..good.len() - text.len()).filter(|at| good[*at..].starts_with(text)) {
        file.write_all_at(b"W", at as u64).unwrap();
    }
    let source_args = ["--source", "notes", "--json"];
    let refused = |args: &[&str]| {
        let ran = home.brain([args, &source_args].concat()).expect(1);
        let error = ran.json()["error"].clone();
        assert_eq!(error["code"], "store_damaged", "{args:?}: {error}");
        let (message, hint) = (error["message"].as_str().unwrap(), error["hint"].as_str().unwrap());
        assert!(
            message.contains("version 2 of page \"area/note\" of source \"notes\" is damaged"),
            "{message}"
        );
        // A put would repair nothing here, and other versions are readable.
        assert!(!hint.contains("brain put"), "{hint}");
        for remedy in ["`brain get notes:area/note --version N`", "brain backup restore"] {
            assert!(hint.contains(remedy), "{remedy}: {hint}");
        }
        assert!(!ran.stdout.contains("alrus in round"), "{ran:?}");
    };
    refused(&["revert", "area/note", "2"]);
    refused(&["history", "area/note"]);
    refused(&["get", "area/note", "--version", "2"]);
    let brain = |args: &[&str]| home.brain([args, &source_args].concat());
    let get = |version: &str| brain(&["get", "area/note", "--version", version]);
    let body = |version: &str| get(version).expect(0).json()["body"].as_str().unwrap().to_owned();
    assert_eq!((body("1"), body("3")), (page(1), page(3)), "the hint names a command that works");
    assert_eq!(
        fs::read_to_string(notes.join("area/note.md")).unwrap().matches("round 3").count(),
        1
    );
    // Intact versions can be restored, and the page can be changed again.
    let reverted = brain(&["revert", "area/note", "1"]).expect(0).json();
    assert_eq!(reverted["status"], "updated", "{reverted}");
    assert_eq!(brain(&["get", "area/note"]).json()["body"], page(1));
    refused(&["revert", "area/note", "2"]);
    assert_eq!(home.json(["history", "other"])["versions"].as_array().unwrap().len(), 1);
}
