//! Directories as people have them, synchronised as sources: which titles, dates and links their
//! notes get, and what is left out.

use std::path::Path;

use brain_tests::{TestHome, slugs, texts};
use serde_json::{Value, json};

use crate::real_input_trees::{
    make_git_history, write_hugo_site, write_jekyll_site, write_obsidian_vault, write_project,
};

/// The expected slug, title, beginnings of `created_at` and `updated_at`, number of links that
/// resolve, and number of broken links.
type Row = (&'static str, &'static str, &'static str, &'static str, usize, usize);

/// The time of files without another date.
const FILE_TIME: &str = "2024-06-01T08:00:00";

/// Registers `dir` as a source and synchronises it. Returns the report.
fn sync_source(home: &TestHome, name: &str, dir: &Path) -> Value {
    home.json(["sources", "add", name, "--path", dir.to_str().unwrap()]);
    let report = home.json(["sync", "--source", name])["sources"][0].clone();
    assert_eq!(report["status"], "done", "{report}");
    assert_eq!(report["failed_total"], 0, "{report}");
    report
}

/// Asserts titles, dates and links of the pages in `rows`.
fn assert_notes(home: &TestHome, source: &str, rows: &[Row]) {
    for (slug, title, created, updated, live, broken) in rows {
        let name = format!("{source}:{slug}");
        let page = home.json(["get", name.as_str()]);
        assert_eq!(page["title"], *title, "{name}");
        for (field, expected) in [("created_at", created), ("updated_at", updated)] {
            let at = page[field].as_str().unwrap();
            assert!(at.starts_with(expected), "{name}: {field} is {at}, not {expected}");
        }
        let ingested = page["ingested_at"].as_str().unwrap();
        assert!(!ingested.starts_with(&created[..10]), "{name} was ingested at {ingested}");
        let links = home.json(["links", name.as_str()]);
        let states = texts(&links["links"], "status");
        let resolved = states.iter().filter(|state| *state == "live").count();
        assert_eq!((resolved, states.len() - resolved), (*live, *broken), "{name}: {links}");
    }
}

/// Asserts the number of new pages, the numbers of files and directories that were left out, and
/// their paths.
fn assert_report(report: &Value, added: u64, files: u64, directories: u64, paths: &[&str]) {
    assert_eq!(report["added"], added, "{report}");
    let left_out = &report["left_out"];
    assert_eq!(left_out["files"], files, "{report}");
    assert_eq!(left_out["directories"], directories, "{report}");
    let mut found: Vec<&str> =
        left_out["paths"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, paths, "{report}");
}

/// Returns the numbers of missing and of ambiguous links.
fn count_broken(home: &TestHome, source: &str) -> (u64, u64) {
    let report = home.json(["links", "--broken", "--source", source, "--limit", "1"]);
    (report["missing"].as_u64().unwrap(), report["ambiguous"].as_u64().unwrap())
}

#[test]
fn an_obsidian_vault_is_synced_as_expected() {
    let home = TestHome::new();
    let dir = home.outside().join("My Vault");
    write_obsidian_vault(&dir);
    let report = sync_source(&home, "vault", &dir);
    assert_report(&report, 242, 0, 1, &[".obsidian/"]);
    let rows: [Row; 10] = [
        ("people/amara-böhm", "Amara Böhm", "2020-08-20", "2022-04-13T10:00", 6, 0),
        ("people/felix-castell", "Felix Castell", "2020-07-19", "2023-01-22T10:00", 6, 1),
        ("companies/amber", "Amber+", "2020-07-19", "2022-08-17T10:00", 5, 0),
        ("companies/dunlin--sons", "Dunlin & Sons", "2019-06-06", "2021-12-09T10:00", 3, 1),
        ("companies/dunlin--freight", "Dunlin- Freight", "2019-10-10", "2022-01-10T10:00", 4, 1),
        (
            "meetings/amber--sons-board-meeting-q2-2025",
            "Amber & Sons Board Meeting Q2 2025",
            "2020-05-17",
            "2022-01-10T10:00",
            4,
            0,
        ),
        (
            "meetings/1-1-amara-böhm--felix-castell",
            "1-1 Amara Böhm + Felix Castell",
            "2020-07-19",
            "2022-03-12T10:00",
            3,
            1,
        ),
        (
            "concepts/bakery--a-plan-for-winter",
            "Bakery- A Plan for Winter",
            "2019-11-11",
            "2020-08-20T10:00",
            3,
            1,
        ),
        ("daily/2025-01-15", "2025-01-15", "2025-01-15", "2025-01-15", 4, 1),
        ("scratch", "Scratch", FILE_TIME, FILE_TIME, 0, 0),
    ];
    assert_notes(&home, "vault", &rows);
    assert_eq!(count_broken(&home, "vault"), (72, 0));
    let backlinks = home.json(["backlinks", "vault:meetings/1-1-amara-böhm--felix-castell"]);
    assert_eq!(slugs(&backlinks["links"]), ["daily/2025-01-15"], "a link by alias is a backlink");
    // Lists use the dates of the notes, not the day of the sync.
    let since = ["list", "--source", "vault", "--since", "2026-06-01", "--limit", "1000"];
    assert_eq!(slugs(&home.json(since)["pages"]), [""; 0]);
    let second_report = home.json(["sync", "--source", "vault"])["sources"][0].clone();
    assert_eq!(second_report["unchanged"], 242, "{second_report}");
}

#[test]
fn a_hugo_site_is_synced_as_expected() {
    let home = TestHome::new();
    let dir = home.outside().join("site");
    write_hugo_site(&dir);
    let report = sync_source(&home, "hugo", &dir);
    assert_report(&report, 4, 0, 2, &["public/", "resources/_gen/"]);
    let rows: [Row; 4] = [
        (
            "content/posts/first-light",
            "First Light",
            "2021-03-04T09:20:30",
            "2022-05-06T00:00:00",
            1,
            0,
        ),
        (
            "content/posts/harbour-walk",
            "Harbour: a walk",
            "2023-07-08T09:00:00",
            "2023-07-08T09:00:00",
            0,
            1,
        ),
        ("content/posts/storm/index", "storm", "2020-11-12", "2020-11-12", 0, 0),
        ("content/about", "About", FILE_TIME, "2025-02-03T08:00:00", 0, 0),
    ];
    assert_notes(&home, "hugo", &rows);
    assert_eq!(count_broken(&home, "hugo"), (1, 0));
    let post = home.json(["get", "hugo:content/posts/first-light"]);
    assert_eq!(post["tags"], json!(["sea", "night"]));
    assert_eq!(post["body"], "The lamp was lit. See [the walk](harbour-walk.md).\n");
    // A change by brain keeps the language and the other lines of the file.
    home.json(["tags", "hugo:content/posts/first-light", "--add", "lamp"]);
    let file = std::fs::read_to_string(dir.join("content/posts/first-light.md")).unwrap();
    assert!(file.starts_with("+++\ntitle = 'First Light'\ndate = 2021-03-04T10:20:30+01:00\n"));
    assert!(file.contains("\ntags = [\"sea\", \"night\", \"lamp\"]\n"), "{file}");
    assert!(file.contains("\n[params]\nauthor = 'Ann'\n+++\n\nThe lamp was lit."), "{file}");
}

#[test]
fn a_jekyll_site_is_synced_as_expected() {
    let home = TestHome::new();
    let dir = home.outside().join("blog");
    write_jekyll_site(&dir);
    let report = sync_source(&home, "jekyll", &dir);
    assert_report(&report, 4, 0, 3, &[".jekyll-cache/", "_site/", "vendor/"]);
    let rows: [Row; 4] = [
        ("_posts/2024-03-05-first-post", "First post", "2024-03-05", "2024-03-05", 0, 0),
        (
            "_posts/2024-03-07-second",
            "2024-03-07-second",
            "2024-03-07T09:15:00",
            "2024-03-07T09:15:00",
            1,
            0,
        ),
        ("_drafts/an-idea", "An idea", FILE_TIME, FILE_TIME, 0, 1),
        ("index", "index", FILE_TIME, FILE_TIME, 0, 0),
    ];
    assert_notes(&home, "jekyll", &rows);
}

#[test]
fn a_repository_of_five_years_is_synced_as_expected() {
    let mut home = TestHome::new();
    home.env.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()));
    let dir = home.outside().join("repository");
    if !make_git_history(&dir) {
        return;
    }
    let report = sync_source(&home, "git", &dir);
    assert_report(&report, 9, 0, 0, &[]);
    let rows: [Row; 6] = [
        ("docs/plan", "plan", "2020-02-10T12:00:00", "2022-06-10T12:00:00", 1, 0),
        ("notes/clear-name", "Harbour", "2020-05-10T12:00:00", "2024-01-10T12:00:00", 1, 1),
        ("stated", "stated", "2019-12-24", "2021-01-10T12:00:00", 0, 0),
        ("log/2020", "2020", "2020-01-10T12:00:00", "2020-12-10T12:00:00", 0, 0),
        ("log/2024", "2024", "2024-01-10T12:00:00", "2024-12-10T12:00:00", 0, 0),
        ("new", "new", FILE_TIME, FILE_TIME, 0, 0),
    ];
    assert_notes(&home, "git", &rows);
    let years = ["list", "--source", "git", "--since", "2022-01-01", "--until", "2022-12-31"];
    let mut listed = slugs(&home.json(years)["pages"]);
    listed.sort();
    assert_eq!(listed, ["docs/plan", "log/2022"]);
}

#[test]
fn a_project_with_dependencies_is_synced_as_expected() {
    let home = TestHome::new();
    let dir = home.outside().join("tool");
    write_project(&dir);
    let report = sync_source(&home, "tool", &dir);
    let paths = [
        ".github/",
        ".venv/",
        "build/",
        "docs/notes.tmp.md",
        "node_modules/",
        "target/",
        "web/node_modules/",
    ];
    assert_report(&report, 2, 1, 6, &paths);
    let rows: [Row; 2] = [
        ("readme", "The Tool", FILE_TIME, FILE_TIME, 1, 1),
        ("docs/design", "design", FILE_TIME, FILE_TIME, 1, 0),
    ];
    assert_notes(&home, "tool", &rows);
}
