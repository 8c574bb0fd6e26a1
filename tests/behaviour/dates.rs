//! The dates of a note are those that it states, else those of git or of its file. The date changes
//! only if the text changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use brain_base::clock::{Clock, SystemClock, day};
use brain_tests::{TestHome, run, slugs};
use serde_json::Value;

/// Files of a vault, a Hugo site and a Jekyll site: path, content, and the days on which the note
/// was created and last changed. Each file was last changed on 2022-06-01.
const FILES: [(&str, &str, &str, &str); 11] = [
    ("bare.md", "x\n", "2022-06-01", "2022-06-01"),
    ("obsidian.md", "---\ncreated: 2019-02-03\n---\nx\n", "2019-02-03", "2022-06-01"),
    (
        "linter.md",
        "---\ndate created: 2019-02-03 08:30\ndate modified: 2020-04-05 09:15\n---\nx\n",
        "2019-02-03",
        "2020-04-05",
    ),
    (
        "linked.md",
        "---\ncreated: \"[[2018-01-02]]\"\nupdated: 2018-01-05\n---\nx\n",
        "2018-01-02",
        "2018-01-05",
    ),
    (
        "hugo.md",
        "---\ntitle: H\ndate: 2017-05-06T07:08:09+02:00\nlastmod: 2017-06-07\n---\nx\n",
        "2017-05-06",
        "2017-06-07",
    ),
    (
        "jekyll.md",
        "---\ndate: 2016-03-04 23:30:00 -0500\nlast_modified_at: '2016-03-09'\n---\nx\n",
        "2016-03-05",
        "2016-03-09",
    ),
    ("posts/2015-07-08-walk.md", "x\n", "2015-07-08", "2015-07-08"),
    ("appointment.md", "---\ndate: 2999-01-01\n---\nx\n", "2022-06-01", "2022-06-01"),
    ("unset.md", "---\ndate: 0001-01-01T00:00:00Z\n---\nx\n", "2022-06-01", "2022-06-01"),
    ("odd.md", "---\ncreated: last week\nupdated: [1, 2]\n---\nx\n", "2022-06-01", "2022-06-01"),
    ("far.md", "---\ncreated: 99999-01-01\n---\nx\n", "2022-06-01", "2022-06-01"),
];

/// 2022-06-01, in Unix seconds.
const CHANGED: u64 = 1_654_084_800;
const DAY: u64 = 86_400;

/// Writes a file whose modification time is `at`, in Unix seconds.
fn write(dir: &Path, name: &str, content: &str, at: u64) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(at)).unwrap();
}

fn write_files(home: &TestHome) -> PathBuf {
    let dir = home.outside().join("Vault");
    for (path, content, ..) in FILES {
        write(&dir, path, content, CHANGED);
    }
    dir
}

fn add_source(home: &TestHome, dir: &Path) {
    home.json(["sources", "add", "vault", "--path", dir.to_str().unwrap()]);
    home.json(["sync", "--source", "vault", "--no-pull"]);
}

/// Returns a home with a synced source, and the directory of its files.
fn vault() -> (TestHome, PathBuf) {
    let home = TestHome::new();
    let dir = write_files(&home);
    add_source(&home, &dir);
    (home, dir)
}

/// Returns the days on which a note was created and last changed.
fn days(home: &TestHome, slug: &str) -> (String, String) {
    let page = home.get(slug);
    let day = |field: &str| page[field].as_str().unwrap()[..10].to_owned();
    assert!(day("ingested_at").as_str() > "2025", "{page}");
    (day("created_at"), day("updated_at"))
}

fn date_pair(created: &str, updated: &str) -> (String, String) {
    (created.to_owned(), updated.to_owned())
}

fn slug_of(path: &str) -> &str {
    path.trim_end_matches(".md")
}

fn listed(home: &TestHome, args: &[&str]) -> Vec<String> {
    slugs(&home.json([&["list"], args].concat())["pages"])
}

#[test]
fn notes_have_the_dates_in_their_frontmatter_and_name() {
    let (home, _) = vault();
    for (path, _, created, updated) in FILES {
        assert_eq!(days(&home, slug_of(path)), date_pair(created, updated), "{path}");
    }
    let all = listed(&home, &[]);
    assert_eq!(all[6..], ["linter", "linked", "hugo", "jekyll", "posts/2015-07-08-walk"]);
    let period = ["--since", "2018-01-01", "--until", "2021-01-01"];
    assert_eq!(listed(&home, &period), ["linter", "linked"]);
    assert_eq!(listed(&home, &[&["--type", "note"][..], &period].concat()), ["linter", "linked"]);
    assert_eq!(listed(&home, &[&["--prefix", "l"][..], &period].concat()), ["linter", "linked"]);
    assert_eq!(listed(&home, &["--since", "2023-01-01"]), [""; 0]);
    let found = home.json(["search", "x", "--since", "2017-01-01", "--until", "2018-12-31"]);
    let mut found = slugs(&found["hits"]);
    found.sort();
    assert_eq!(found, ["hugo", "linked"]);
    // Results show the day of the note.
    for printed in [home.brain(["search", "x"]), home.brain(["list"])] {
        let printed = printed.expect(0).stdout;
        assert!(printed.contains("2017-06-07") && !printed.contains("2026-"), "{printed}");
    }
}

#[test]
fn imported_notes_have_the_dates_of_their_files() {
    let home = TestHome::new();
    let dir = write_files(&home);
    home.json(["import", dir.to_str().unwrap()]);
    for (path, _, created, updated) in FILES {
        assert_eq!(days(&home, slug_of(path)), date_pair(created, updated), "{path}");
    }
    // The same directory again changes nothing.
    assert_eq!(home.json(["import", dir.to_str().unwrap()])["unchanged"], FILES.len());
    assert_eq!(days(&home, "bare"), date_pair("2022-06-01", "2022-06-01"));
}

#[test]
fn a_listing_by_date_continues_after_its_cursor() {
    let (home, _) = vault();
    for filter in [&[][..], &["--type", "note"], &["--prefix", ""]] {
        let (whole, mut pages, mut after) = (listed(&home, filter), Vec::new(), None::<String>);
        assert_eq!(whole.len(), FILES.len());
        loop {
            let mut args = [&["list", "--limit", "2"], filter].concat();
            args.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
            let reply = home.json(args);
            pages.extend(slugs(&reply["pages"]));
            match reply["next"].as_str() {
                Some(next) => after = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(pages, whole, "{filter:?}");
    }
}

#[test]
fn only_a_changed_text_changes_the_date_of_a_note() {
    let (home, dir) = vault();
    let before = days(&home, "bare");
    home.json(["tags", "bare", "--add", "kept"]);
    home.json(["sync", "--source", "vault"]);
    home.json(["sync", "--source", "vault", "--full"]);
    assert_eq!(days(&home, "bare"), before);
    assert_eq!(home.get("bare")["version"], 2);
    // The history tells when each version was written.
    let history = home.json(["history", "bare"]);
    for version in history["versions"].as_array().unwrap() {
        assert!(version["written_at"].as_str().unwrap() > "2025", "{version}");
    }
    // Touching a file does not change the date of its note. Changing its text does.
    write(&dir, "odd.md", FILES[9].1, CHANGED + DAY);
    // A new tag in the file does not change the date either.
    write(&dir, "bare.md", "---\ntags: [x]\n---\nx\n", CHANGED + DAY);
    write(&dir, "obsidian.md", "---\ncreated: 2019-02-03\n---\ny\n", CHANGED + 2 * DAY);
    home.json(["sync", "--source", "vault"]);
    assert_eq!(days(&home, "odd").1, "2022-06-01");
    assert_eq!(days(&home, "bare"), before);
    assert_eq!(listed(&home, &["--tag", "x"]), ["bare"]);
    assert_eq!(days(&home, "obsidian"), date_pair("2019-02-03", "2022-06-03"));
    assert_eq!(listed(&home, &[])[0], "obsidian");
    // A change by brain has the current date, unless the note states another one.
    home.json(["append", "bare", "more"]);
    assert_eq!(listed(&home, &[])[0], "bare");
    assert!(days(&home, "bare").1.as_str() > "2025");
    home.json(["append", "linter", "more"]);
    assert_eq!(days(&home, "linter"), date_pair("2019-02-03", "2020-04-05"));
}

#[test]
fn pages_without_a_file_have_the_time_of_their_capture() {
    let home = TestHome::new();
    let slug = home.json(["capture", "a thought"])["slug"].as_str().unwrap().to_owned();
    let page = home.get(&slug);
    assert_eq!(page["created_at"], page["ingested_at"]);
    assert_eq!(page["updated_at"], page["ingested_at"]);
    home.put("old", "---\ncreated: 2001-02-03\nupdated: 2002-03-04\n---\nx\n");
    assert_eq!(days(&home, "old"), date_pair("2001-02-03", "2002-03-04"));
    assert_eq!(listed(&home, &[]), [slug.as_str(), "old"]);
    // A tag does not change the date of the capture.
    home.put("new", "x\n");
    home.json(["tags", &slug, "--add", "kept"]);
    assert_eq!(listed(&home, &[]), ["new", &slug, "old"]);
}

#[test]
fn tasks_of_the_latest_notes_come_first() {
    let home = TestHome::new();
    home.put("later", "---\nupdated: 2020-01-02\n---\n- [ ] second\n");
    home.put("earlier", "---\nupdated: 2020-01-01\n---\n- [ ] first\n");
    let todos = home.json(["todos"]);
    assert_eq!(slugs(&todos["todos"]), ["later", "earlier"]);
}

#[test]
fn dates_are_days_of_the_local_time_zone() {
    for (zone, hours) in [("EST5", -5), ("YST12", -12), ("JST-9", 9), ("XST-14", 14)] {
        let mut home = TestHome::new();
        home.env.push(("TZ".into(), zone.into()));
        let days_ago = |days: i64| day(SystemClock.now() + (hours - 24 * days) * 3_600_000);
        let (yesterday, before) = (days_ago(1), days_ago(2));
        home.put("yesterday", &format!("---\nupdated: {yesterday}\n---\nx\n"));
        home.put("before", &format!("---\nupdated: {before} 23:30\n---\nx\n"));
        let period = ["--since", "yesterday", "--until", "yesterday"];
        assert_eq!(listed(&home, &period), ["yesterday"], "{zone}");
        let printed = home.brain(["list"]).expect(0).stdout;
        let line = |slug: &str| printed.lines().find(|line| line.contains(slug)).unwrap();
        assert!(line("yesterday").contains(&yesterday), "{printed}");
        assert!(line("before").contains(&before), "{printed}");
    }
}

/// Runs git in `dir` as of `day`.
fn git(dir: &Path, day: &str, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=Test", "-c", "user.email=test@example.org"]);
    let at = format!("{day}T12:00:00Z");
    command.args(args).env("GIT_AUTHOR_DATE", &at).env("GIT_COMMITTER_DATE", &at);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    run(command, b"").expect(0);
}

fn commit(dir: &Path, day: &str) {
    git(dir, day, &["add", "-A"]);
    git(dir, day, &["commit", "-q", "-m", day]);
}

/// Makes a repository with a history of two years. The times of its files are unrelated to it.
fn repository(home: &TestHome) -> PathBuf {
    let dir = home.outside().join("repository");
    fs::create_dir_all(&dir).unwrap();
    git(&dir, "2019-01-01", &["init", "-q", "-b", "main"]);
    write(&dir, "notes/first.md", "one\n", CHANGED);
    write(&dir, "notes/draft.md", "moved\n", CHANGED);
    commit(&dir, "2019-01-01");
    write(&dir, "notes/a b/secönd.md", "two\n", CHANGED);
    write(&dir, "notes/said.md", "---\ncreated: 2018-05-05\n---\nthree\n", CHANGED);
    commit(&dir, "2020-02-02");
    write(&dir, "notes/first.md", "one more\n", CHANGED);
    git(&dir, "2021-03-03", &["mv", "notes/draft.md", "notes/done.md"]);
    commit(&dir, "2021-03-03");
    write(&dir, "notes/fresh.md", "not committed\n", CHANGED);
    dir
}

#[test]
fn notes_of_a_repository_have_the_dates_of_its_commits() {
    let home = TestHome::new();
    let dir = repository(&home).join("notes");
    add_source(&home, &dir);
    for (slug, created, updated) in [
        ("first", "2019-01-01", "2021-03-03"),
        ("a-b/secönd", "2020-02-02", "2020-02-02"),
        ("said", "2018-05-05", "2020-02-02"),
        ("done", "2019-01-01", "2021-03-03"),
        ("fresh", "2022-06-01", "2022-06-01"),
    ] {
        assert_eq!(days(&home, slug), date_pair(created, updated), "{slug}");
    }
    // A changed note has the date of its commit, or that of its file if it is not committed.
    write(&dir, "a b/secönd.md", "two, changed\n", CHANGED + DAY);
    commit(&dir, "2022-01-01");
    write(&dir, "first.md", "one, changed\n", CHANGED + DAY);
    home.json(["sync", "--source", "vault", "--no-pull"]);
    assert_eq!(days(&home, "a-b/secönd"), date_pair("2020-02-02", "2022-01-01"));
    assert_eq!(days(&home, "first"), date_pair("2019-01-01", "2022-06-02"));
    // If the file did not change, a sync does not change the dates, even after a new commit.
    commit(&dir, "2025-01-01");
    home.json(["sync", "--source", "vault", "--no-pull"]);
    assert_eq!(days(&home, "first").1, "2022-06-02");
}

#[test]
fn imported_notes_of_a_repository_have_commit_dates() {
    let home = TestHome::new();
    let dir = repository(&home);
    home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(days(&home, "notes/first"), date_pair("2019-01-01", "2021-03-03"));
    assert_eq!(days(&home, "notes/done"), date_pair("2019-01-01", "2021-03-03"));
}

/// A repository's own configuration can name programs. They must not run.
#[test]
fn the_history_of_a_repository_runs_no_program() {
    let home = TestHome::new();
    let dir = repository(&home);
    let marker = home.outside().join("ran");
    let program = format!("touch {}; false", marker.display());
    for key in ["log.showSignature", "gpg.program", "core.fsmonitor", "core.pager", "diff.external"]
    {
        let value = if key == "log.showSignature" { "true" } else { &program };
        git(&dir, "2022-01-01", &["config", key, value]);
    }
    git(&dir, "2022-01-01", &["config", "diff.trap.textconv", &program]);
    git(&dir, "2022-01-01", &["config", "filter.trap.clean", &program]);
    fs::write(dir.join(".gitattributes"), "*.md diff=trap filter=trap\n").unwrap();
    write(&dir, "notes/done.md", "moved\n", CHANGED + DAY);
    add_source(&home, &dir);
    assert_eq!(days(&home, "notes/first"), date_pair("2019-01-01", "2021-03-03"));
    assert!(!marker.exists());
    // The configuration works: git's own comparison of the file runs the program.
    git(&dir, "2022-01-01", &["config", "--remove-section", "core"]);
    git(&dir, "2022-01-01", &["diff", "--no-ext-diff", "--no-textconv", "--name-only", "HEAD"]);
    assert!(marker.exists());
}

#[test]
fn a_file_that_was_changed_since_its_commit_has_its_own_time() {
    let home = TestHome::new();
    let dir = repository(&home);
    git(&dir, "2022-01-01", &["config", "log.showRoot", "false"]);
    write(&dir, "notes/said.md", "---\ncreated: 2018-05-05\n---\nfour\n", CHANGED + DAY);
    write(&dir, "notes/first.md", "one less\n", CHANGED + 2 * DAY);
    // Only its modification time differs.
    write(&dir, "notes/a b/secönd.md", "two\n", CHANGED + 3 * DAY);
    add_source(&home, &dir.join("notes"));
    for (slug, created, updated) in [
        ("first", "2019-01-01", "2022-06-03"),
        ("said", "2018-05-05", "2022-06-02"),
        ("a-b/secönd", "2020-02-02", "2020-02-02"),
        ("done", "2019-01-01", "2021-03-03"),
    ] {
        assert_eq!(days(&home, slug), date_pair(created, updated), "{slug}");
    }
}

#[test]
fn a_clone_without_its_history_invents_no_dates() {
    let home = TestHome::new();
    let origin = repository(&home);
    let clone = |name: &str, depth: &str| {
        let dir = home.outside().join(name);
        let url = format!("file://{}", origin.display());
        git(&origin, "2022-01-01", &["clone", "-q", depth, &url, dir.to_str().unwrap()]);
        for (path, text) in [("first.md", "one more\n"), ("done.md", "moved\n")] {
            write(&dir, &format!("notes/{path}"), text, CHANGED);
        }
        dir
    };
    let dir = clone("shallow", "--depth=1");
    write(&dir, "notes/first.md", "one, changed\n", CHANGED);
    commit(&dir, "2022-01-01");
    add_source(&home, &dir);
    assert_eq!(days(&home, "notes/done"), date_pair("2022-06-01", "2022-06-01"));
    assert_eq!(days(&home, "notes/first").1, "2022-01-01");
    // In a partial clone, git would fetch missing objects from its origin. brain does not let it.
    let dir = clone("partial", "--no-tags");
    git(&dir, "2022-01-01", &["config", "extensions.partialClone", "origin"]);
    home.json(["import", dir.join("notes").to_str().unwrap()]);
    assert_eq!(days(&home, "first").1, "2022-06-01");
}

#[test]
fn a_history_that_cannot_be_read_is_tried_once() {
    let home = TestHome::new();
    let dir = repository(&home);
    let (objects, lost) = (dir.join(".git/objects"), dir.join(".git/lost"));
    fs::rename(&objects, &lost).unwrap();
    fs::create_dir(&objects).unwrap();
    let _daemon = home.daemon();
    add_source(&home, &dir);
    assert_eq!(days(&home, "notes/first"), date_pair("2022-06-01", "2022-06-01"));
    let failures = || home.log().matches("the history of git cannot be read").count();
    assert_eq!(failures(), 1, "{}", home.log());
    write(&dir, "notes/new.md", "new\n", CHANGED);
    home.json(["sync", "--source", "vault", "--no-pull"]);
    assert_eq!(failures(), 1, "{}", home.log());
    // The next commit is the next attempt.
    fs::remove_dir(&objects).unwrap();
    fs::rename(&lost, &objects).unwrap();
    write(&dir, "notes/newer.md", "newer\n", CHANGED);
    commit(&dir, "2022-01-01");
    home.json(["sync", "--source", "vault", "--no-pull"]);
    assert_eq!(days(&home, "notes/newer"), date_pair("2022-01-01", "2022-01-01"));
    assert_eq!(failures(), 1, "{}", home.log());
}

#[test]
fn a_renamed_note_has_the_day_in_its_new_name() {
    let (home, dir) = vault();
    write(&dir, "2021-01-01-tagged.md", "---\ntags: [x]\n---\ntagged\n", CHANGED);
    home.json(["sync", "--source", "vault"]);
    assert_eq!(days(&home, "2021-01-01-tagged"), date_pair("2021-01-01", "2021-01-01"));
    for (from, to) in [("2021-01-01", "2019-03-03"), ("2019-03-03", "2022-04-04")] {
        let path = |day: &str| dir.join(format!("{day}-tagged.md"));
        fs::rename(path(from), path(to)).unwrap();
        assert_eq!(home.json(["sync", "--source", "vault"])["sources"][0]["renamed"], 1);
        assert_eq!(days(&home, &format!("{to}-tagged")).0, to);
    }
    let period = ["--tag", "x", "--since", "2022-04-04", "--until", "2022-04-04"];
    assert_eq!(listed(&home, &period), ["2022-04-04-tagged"]);
}

#[test]
fn the_json_of_a_page_keeps_its_fields() {
    let (home, _) = vault();
    let page = home.get("linter");
    for field in ["created_at", "updated_at", "ingested_at"] {
        let text = page[field].as_str().unwrap();
        assert!(text.ends_with('Z') && text.len() == 24, "{field}: {text}");
    }
    let row: Value = home.json(["list", "--prefix", "linter"])["pages"][0].clone();
    for field in ["created_at", "updated_at"] {
        assert_eq!(row[field], page[field]);
    }
}
