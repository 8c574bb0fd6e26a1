//! Migrations: the real program opens a store of each older schema and keeps a copy of it. Nothing
//! is lost, even if the program is killed during the migration.
//!
//! Before the schema's number is raised, make the golden store of the current schema: `capture`,
//! `put` twice, `delete`, `brain stop`, then copy `brain.redb` to `tests/fixtures/v<number>.redb`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use brain_tests::{TEST_TIMEOUT, TestHome, slugs};
use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition, TableHandle,
};
use serde_json::json;

const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
const SOURCES: TableDefinition<&str, &[u8]> = TableDefinition::new("sources");
const LINKS_IN: TableDefinition<(&str, &str, u64), ()> = TableDefinition::new("links_in");

/// Replaces the home with one that has only the golden store of a schema.
fn use_golden_store(home: &TestHome, schema: u64) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    replace_home(home, &fixtures.join(format!("v{schema}.redb")));
}

/// Replaces the home with one that has only a copy of `store`.
fn replace_home(home: &TestHome, store: &Path) {
    let _ = fs::remove_dir_all(home.path());
    fs::create_dir_all(home.path()).unwrap();
    fs::copy(store, home.path().join("brain.redb")).unwrap();
}

fn schema_of(store: &Path) -> u64 {
    let db = Database::open(store).unwrap();
    let meta = db.begin_read().unwrap().open_table(META).unwrap();
    meta.get("schema").unwrap().unwrap().value()
}

/// Checks the contents of the golden store of schema 80.
fn check_schema_80(home: &TestHome) {
    let mut all = slugs(&home.json(["list"])["pages"]);
    all.sort();
    assert_eq!(all, ["old/one", "old/two"]);
    let one = home.get("old/one");
    assert_eq!(
        (&one["body"], &one["version"], &one["title"]),
        // The page has no title, so its title is the name of its file, old/1.md.
        (&"One\n".into(), &1.into(), &"1".into())
    );
    let two = home.get("old/two");
    assert_eq!(two["content"], "---\ntags: [old]\n---\n\nTwo, übung\n");
    assert_eq!((&two["version"], &two["source_path"]), (&2.into(), &"old/2.md".into()));
    for field in ["source_kind", "source_uri", "ingested_via", "ingested_at"] {
        assert!(two[field].is_null(), "schema 80 had no {field}: {two}");
    }
    let before = home.json(["get", "old/two", "--version", "1"]);
    assert_eq!((&before["body"], &before["title"]), (&"before\n".into(), &"Two, before".into()));
    assert_eq!(home.json(["history", "old/two"])["versions"].as_array().unwrap().len(), 2);
    assert_eq!(home.json(["tags"])["tags"][0]["pages"], 2);
    let mut found = home.search("tag:old");
    found.sort();
    assert_eq!(found, ["old/one", "old/two"]);
}

/// Checks the contents of the golden store of schema 81.
fn check_schema_81(home: &TestHome) {
    let mut all = slugs(&home.json(["list"])["pages"]);
    all.sort();
    assert_eq!(all, ["companies/acme", "inbox/2026-11-21-92755830", "places/harbour"]);
    let lines = "See [[companies/acme]].\n\n- 2026-01-02 | Opened [Source: paper]\n";
    let harbour = home.get("places/harbour");
    assert_eq!(harbour["body"], format!("# Harbour\n\nSecond words. {lines}"));
    let raw = harbour["frontmatter"].as_str().unwrap();
    assert!(raw.starts_with("title: Harbour\ntags: [port, Übung]\naliases: [The Port]\n"), "{raw}");
    assert_eq!((&harbour["version"], &harbour["source_kind"]), (&2.into(), &"put_page".into()));
    let first = home.json(["get", "places/harbour", "--version", "1"]);
    assert_eq!(first["body"], format!("# Harbour\n\nFirst words. {lines}"));
    assert_eq!(home.json(["history", "places/harbour"])["versions"].as_array().unwrap().len(), 2);
    let thought = home.get("inbox/2026-11-21-92755830");
    assert_eq!(
        (&thought["body"], &thought["source_kind"]),
        (&"a thought kept".into(), &"capture-cli".into())
    );
    assert_eq!(home.json(["backlinks", "companies/acme"])["links"][0]["slug"], "places/harbour");
    assert_eq!(home.json(["timeline"])["entries"][0]["date"], "2026-01-02");
    assert_eq!(home.search("second words"), ["places/harbour"]);
}

/// Checks the contents of the golden store of schema 82: the pages of schema 81 and the record of a
/// sync.
fn check_schema_82(home: &TestHome) {
    check_schema_81(home);
    let sources = home.json(["sources", "list"])["sources"].clone();
    assert!(sources[0]["synced_at"].is_string(), "{sources}");
}

/// Checks the contents of the golden store of schema 83: links by name, alias, slug and file.
fn check_schema_83(home: &TestHome) {
    let mut all = slugs(&home.json(["list"])["pages"]);
    all.sort();
    assert_eq!(all, ["companies/acme", "inbox/2026-11-22-a3c61148", "places/old-harbour"]);
    let backlinks = |slug: &str| -> Vec<(String, String)> {
        let links = home.json(["backlinks", slug])["links"].clone();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        links
            .as_array()
            .unwrap()
            .iter()
            .map(|link| (text(&link["slug"]), text(&link["target"])))
            .collect()
    };
    let acme_link = |raw: &str| ("companies/acme".to_owned(), raw.to_owned());
    assert_eq!(
        backlinks("places/old-harbour"),
        [
            acme_link("The Port"),
            acme_link("old-harbour"),
            acme_link("places/old-harbour"),
            ("inbox/2026-11-22-a3c61148".into(), "Old Harbour".into()),
        ]
    );
    assert_eq!(
        backlinks("companies/acme"),
        [("places/old-harbour".into(), "../companies/acme.md".into())]
    );
    let broken = home.json(["links", "--broken"]);
    assert_eq!(
        (&broken["links"][0]["target"], broken["links"].as_array().unwrap().len()),
        (&"Größe & Co".into(), 1)
    );
    assert_eq!(home.json(["graph", "places/old-harbour"])["edges"].as_array().unwrap().len(), 3);
    assert_eq!(
        home.json(["history", "places/old-harbour"])["versions"].as_array().unwrap().len(),
        2
    );
}

/// Checks the contents of the golden store of schema 84: pages by tag and by type, in the order of
/// their last changes.
fn check_schema_84(home: &TestHome) {
    let listed = |args: &[&str]| slugs(&home.json([&["list"], args].concat())["pages"]);
    assert_eq!(listed(&[]), ["ships/mary", "places/harbour", "inbox/2026-11-23-92755830"]);
    assert_eq!(listed(&["--tag", "port"]), ["ships/mary", "places/harbour"]);
    assert_eq!(listed(&["--tag", "wood"]), ["ships/mary"]);
    assert_eq!(listed(&["--tag", "port", "--sort", "slug"]), ["places/harbour", "ships/mary"]);
    assert_eq!(listed(&["--type", "place"]), ["places/harbour"]);
    assert_eq!(listed(&["--type", "note"]), ["inbox/2026-11-23-92755830"]);
    assert_eq!(listed(&["--tag", "former"]), [""; 0]);
    let tags = home.json(["tags"])["tags"].clone();
    let counts = [("port", 2), ("sea", 1), ("wood", 1)]
        .map(|(tag, pages)| json!({"tag": tag, "pages": pages}));
    assert_eq!(tags, json!(counts));
    assert_eq!(home.json(["history", "places/harbour"])["versions"].as_array().unwrap().len(), 2);
}

/// Checks the contents of the golden store of schema 85: pages and versions without authors.
fn check_schema_85(home: &TestHome) {
    let mut all = slugs(&home.json(["list"])["pages"]);
    all.sort();
    assert_eq!(all, ["companies/acme", "inbox/2026-11-23-1dd325fe", "places/harbour"]);
    let harbour = home.get("places/harbour");
    assert_eq!(harbour["body"], "# Harbour\n\nSecond words. See [[companies/acme]].\n");
    assert_eq!((&harbour["source_kind"], &harbour["trust"]), (&"put_page".into(), &"owner".into()));
    assert_eq!(harbour["outside_lines"], json!([]));
    let history = home.json(["history", "places/harbour"]);
    let versions = history["versions"].as_array().unwrap();
    assert!(versions.len() == 2 && versions[1]["written_by"] == "owner", "{history}");
}

/// Checks the contents of the golden store of schema 86, whose pages were dated by their writes.
fn check_schema_86(home: &TestHome) {
    let listed = |args: &[&str]| slugs(&home.json([&["list"], args].concat())["pages"]);
    let all = ["inbox/2026-11-23-b517b86e", "journal/2020-05-06", "places/harbour"];
    assert_eq!(listed(&[]), all);
    assert_eq!(listed(&["--tag", "port"]), ["journal/2020-05-06", "places/harbour"]);
    assert_eq!(listed(&["--type", "note", "--until", "2026-01-01"]), ["places/harbour"]);
    let harbour = home.get("places/harbour");
    assert_eq!(harbour["created_at"], "2019-02-03T00:00:00.000Z");
    assert_eq!(harbour["updated_at"], "2020-04-05T06:07:08.000Z");
    assert!(harbour["ingested_at"].as_str().unwrap() > "2026", "{harbour}");
    let day = home.get("journal/2020-05-06");
    assert_eq!(day["created_at"], "2020-05-06T00:00:00.000Z");
    assert!(day["updated_at"].as_str().unwrap() > "2026", "{day}");
    let history = home.json(["history", "places/harbour"]);
    let versions = history["versions"].as_array().unwrap();
    assert!(versions.len() == 2 && versions[0]["written_at"].as_str().unwrap() > "2026");
    assert_eq!(home.search("harbour"), ["places/harbour"]);
}

/// Checks the contents of the golden store of schema 87: a page names a file that brain lacks.
fn check_schema_87(home: &TestHome) {
    assert_eq!(slugs(&home.json(["list"])["pages"]).len(), 2);
    let harbour = home.get("places/harbour");
    assert_eq!(harbour["version"], 2);
    assert_eq!(home.json(["attachments"]), json!({"attachments": []}));
}

type CheckStore = fn(&TestHome);

/// Each schema that has a golden store, and the check of its contents.
const GOLDEN_STORES: &[(u64, CheckStore)] = &[
    (80, check_schema_80),
    (81, check_schema_81),
    (82, check_schema_82),
    (83, check_schema_83),
    (84, check_schema_84),
    (85, check_schema_85),
    (86, check_schema_86),
    (87, check_schema_87),
];

#[test]
fn a_store_of_each_older_schema_opens_and_a_copy_is_kept() {
    for &(schema, check_store) in GOLDEN_STORES {
        let home = TestHome::new();
        use_golden_store(&home, schema);
        let daemon = home.daemon();
        check_store(&home);
        let current_schema = home.json(["status"])["schema"].as_u64().unwrap();
        assert!(current_schema >= 88);
        let no_jobs = serde_json::json!({"waiting": 0, "failed": 0, "stored": 0});
        assert_eq!(home.json(["status"])["jobs"], no_jobs);
        // The migrated store can be written, checked, backed up and restored.
        assert_eq!(home.put("new/page", "written since\n")["status"], "created");
        let doctor = home.json(["doctor"]);
        assert!(
            doctor["checks"].as_array().unwrap().iter().all(|c| c["status"] == "ok"),
            "{doctor}"
        );
        let file = home.outside().join("after.redb");
        assert_eq!(home.json(["backup", file.to_str().unwrap()])["schema"], current_schema);
        let copy = home.path().join(format!("brain.redb.v{schema}"));
        let verified = home.json(["backup", "verify", copy.to_str().unwrap()]);
        assert_eq!((&verified["schema"], &verified["status"]), (&schema.into(), &"sound".into()));
        assert!(
            verified["warnings"][0].as_str().unwrap().contains(&schema.to_string()),
            "{verified}"
        );
        assert!(daemon.terminate().0.success());
        // A second start migrates nothing and needs no copy.
        let before = fs::metadata(&copy).unwrap().modified().unwrap();
        let _daemon = home.daemon();
        check_without_new_page(&home, check_store);
        assert_eq!(fs::metadata(&copy).unwrap().modified().unwrap(), before);
        // The copy can be restored.
        let restored_home = TestHome::new();
        let mut command = restored_home.command("brain-daemon");
        command.arg("--restore").arg(&copy);
        brain_tests::run(command, b"").expect(0);
        let _restored_daemon = restored_home.daemon();
        check_store(&restored_home);
    }
}

/// Checks and deletes the new page, then checks the contents of the golden store.
fn check_without_new_page(home: &TestHome, check_store: CheckStore) {
    assert_eq!(home.get("new/page")["body"], "written since\n");
    home.json(["delete", "new/page"]);
    check_store(home);
}

/// Starts the daemon and kills it after `delay`.
fn kill_after(home: &TestHome, delay: Duration) {
    let mut command = home.command("brain-daemon");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn repeated_kills_of_a_migration_lose_nothing() {
    for &(schema, check_store) in GOLDEN_STORES {
        let home = TestHome::new();
        for round in 0_u64..12 {
            use_golden_store(&home, schema);
            // The second start may find a half-migrated store.
            kill_after(&home, Duration::from_micros(500 + 1300 * round));
            kill_after(&home, Duration::from_micros(400 + 700 * (round * 7 % 12)));
            let daemon = home.daemon();
            check_store(&home);
            let copy = home.path().join(format!("brain.redb.v{schema}"));
            assert!(daemon.terminate().0.success());
            assert_eq!(schema_of(&copy), schema, "round {round}");
        }
    }
}

#[test]
fn kills_during_the_migration_of_a_large_store_lose_nothing() {
    const PAGES: usize = 600;
    let old_home = TestHome::new();
    let vault = old_home.outside().join("vault");
    fs::create_dir_all(&vault).unwrap();
    let links = |n: usize| {
        let [a, b, c] = [1, 2, 3].map(|offset| (n + offset) % PAGES);
        format!(
            "See [[p{a}]], [it](p{b}.md), [[default:p{c}]] and [there](/p{c}.md), not [[None \
                Such]]. "
        )
    };
    let body = |n: usize| {
        format!(
            "Page {n}. {}{}\n",
            links(n),
            "Words about pumps, tides and money. ".repeat(300 + n % 7)
        )
    };
    for n in 0..PAGES {
        fs::write(vault.join(format!("p{n}.md")), body(n)).unwrap();
    }
    let daemon = old_home.daemon();
    old_home.json(["import", vault.to_str().unwrap()]);
    assert!(daemon.terminate().0.success());
    let old = old_home.outside().join("v81.redb");
    fs::copy(old_home.path().join("brain.redb"), &old).unwrap();
    convert_to_schema_81(&old);
    assert_eq!(schema_of(&old), 81);

    let home = TestHome::new();
    replace_home(&home, &old);
    let began = Instant::now();
    let daemon = home.daemon();
    let usual_duration = began.elapsed();
    drop(daemon);
    let (mut kills_before_copy, mut kills_after_copy) = (0, 0);
    for round in 0_u32..10 {
        replace_home(&home, &old);
        kill_after(&home, usual_duration * (round + 1) / 7);
        let copy = home.path().join("brain.redb.v81");
        match copy.exists() {
            true => kills_after_copy += 1,
            false => kills_before_copy += 1,
        }
        let daemon = home.daemon();
        wait_until_settled(&home);
        let status = home.json(["status"]);
        assert_eq!(
            (&status["pages"], status["schema"].as_u64() >= Some(84)),
            (&PAGES.into(), true)
        );
        for n in [0, 1, PAGES / 2, PAGES - 1, round as usize * 29] {
            assert_eq!(home.get(&format!("p{n}"))["body"], body(n), "round {round}");
            let mut linking_slugs = slugs(&home.json(["backlinks", &format!("p{n}")])["links"]);
            linking_slugs.sort();
            let mut expected = [PAGES - 1, PAGES - 2, PAGES - 3, PAGES - 3]
                .map(|offset| format!("p{}", (n + offset) % PAGES));
            expected.sort();
            assert_eq!(linking_slugs, expected, "p{n}, round {round}");
        }
        if round % 5 == 4 {
            let file = home.outside().join(format!("{round}.redb"));
            assert_eq!(home.json(["backup", file.to_str().unwrap()])["pages"], PAGES);
            assert_eq!(home.json(["backup", "verify", copy.to_str().unwrap()])["pages"], PAGES);
        }
        drop(daemon);
        assert!(!home.path().join("brain.redb.v81.tmp").exists());
    }
    assert!(
        kills_after_copy > 0,
        "{kills_before_copy} upgrades were killed before the copy was complete, and none after it"
    );
}

fn wait_until_settled(home: &TestHome) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.json(["status"])["degraded"] != serde_json::json!([]) {
        assert!(Instant::now() < deadline, "{}", home.json(["status"]));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Converts a store to schema 81: sources without the result of their last sync, links under other
/// keys, and no later tables.
fn convert_to_schema_81(store: &Path) {
    let db = Database::open(store).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut sources = txn.open_table(SOURCES).unwrap();
        let mut new = sources.get("default").unwrap().unwrap().value().to_vec();
        // Schema 85 appended a checksum to each value and set a bit in its format.
        new.truncate(new.len() - 4);
        new[0] &= 0x7f;
        // Format 2 is format 1 followed by a `false` and an absent result.
        let (old, added) = new.split_at(new.len() - 2);
        assert_eq!((old[0], added), (2, &[0, 0][..]));
        let mut old = old.to_vec();
        old[0] = 1;
        sources.insert("default", old.as_slice()).unwrap();
        // The rows have an old form that today's code cannot read.
        let mut links_in = txn.open_table(LINKS_IN).unwrap();
        assert!(links_in.len().unwrap() > 0);
        links_in.retain(|_, ()| false).unwrap();
        links_in.insert(("default", "s:p1", 1), ()).unwrap();
        txn.open_table(META).unwrap().insert("schema", 81).unwrap();
    }
    let later_tables = [
        "files",
        "jobs",
        "jobs_due",
        "jobs_seen",
        "jobs_over",
        "clients",
        "tokens",
        "audit",
        "tags_by_date",
        "types_by_date",
        "tag_counts",
        "broken_links",
        "broken_link_sums",
        "unchecked_links",
    ];
    let tables: Vec<_> =
        txn.list_tables().unwrap().filter(|table| later_tables.contains(&table.name())).collect();
    assert_eq!(tables.len(), later_tables.len());
    for table in tables {
        assert!(txn.delete_table(table).unwrap());
    }
    txn.commit().unwrap();
}
