//! `today`, `random`, `orphans` and `todos`.

use std::collections::BTreeSet;
use std::fs;

use brain_base::clock::{Clock, SystemClock, day};
use brain_tests::{TestHome, run, slugs};
use serde_json::Value;

#[test]
fn the_daily_note_is_created_on_first_use() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let slug = format!("daily/{}", day(SystemClock.now()));
    let first = home.brain(["today"]).expect(0);
    assert!(first.stdout.contains(&format!("# {}", &slug[6..])), "{first:?}");
    assert!(first.stderr.contains(&format!("created {slug}")), "{first:?}");
    assert_eq!(home.json(["get", &slug])["type"], "daily");

    home.put(&slug, "# Changed\n");
    let again = home.brain(["today"]).expect(0);
    assert!(again.stdout.ends_with("# Changed\n") && again.stderr.is_empty(), "{again:?}");
    assert_eq!(home.brain(["today", "-q"]).expect(0).stdout, format!("{slug}\n"));
    assert_eq!(home.json(["today"])["version"], 2);
    let other = home.brain(["today", "2024-02-29", "-q"]).expect(0);
    assert_eq!(other.stdout, "daily/2024-02-29\n");
}

#[test]
fn the_daily_note_uses_the_local_day() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let slug_in = |zone: &str| {
        let mut command = home.command("brain");
        command.env("TZ", zone).args(["today", "-q"]);
        run(command, b"").expect(0).stdout.trim().to_owned()
    };
    // These zones are 26 hours apart.
    let (east, west) = (slug_in("XST-14"), slug_in("YST12"));
    assert!(west.starts_with("daily/20") && west < east, "{west} {east}");
}

#[test]
fn the_slug_pattern_of_daily_notes_can_be_configured() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("config.toml"), "[pages]\ndaily = \"journal/%Y/%m/%d-%A\"\n")
        .unwrap();
    let daemon = home.daemon();
    let note = home.brain(["today", "2026-11-21", "-q"]).expect(0);
    assert_eq!(note.stdout, "journal/2026/11/21-saturday\n");
    drop(daemon);
    for bad in ["daily", "%Q", "a b/%d", ""] {
        fs::write(home.path().join("config.toml"), format!("[pages]\ndaily = \"{bad}\"\n"))
            .unwrap();
        let refused = home.brain(["today"]);
        assert_ne!(refused.code, 0, "{bad}");
        assert!(refused.stderr.contains("pages.daily"), "{bad}: {refused:?}");
    }
}

#[test]
fn a_random_page_matches_the_filters() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    assert_eq!(home.fault(["random"], 4)["code"], "not_found");
    for slug in ["a", "b", "c"] {
        home.put(slug, &format!("---\ntags: [{slug}]\n---\n{slug}\n"));
    }
    let random_slugs: BTreeSet<String> =
        (0..60).map(|_| home.brain(["random", "-q"]).expect(0).stdout.trim().to_owned()).collect();
    assert_eq!(random_slugs, BTreeSet::from(["a", "b", "c"].map(str::to_owned)));
    assert_eq!(home.json(["random", "--tag", "b"])["slug"], "b");
    assert_eq!(home.fault(["random", "--type", "idea"], 4)["code"], "not_found");
}

#[test]
fn orphans_have_no_links_to_or_from_another_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("from", "see [[to]]\n");
    home.put("to", "linked\n");
    home.put("alone", "no links\n");
    home.put("self", "see [[self]]\n");
    home.put("broken", "see [[nowhere]]\n");
    let orphans = || slugs(&home.json(["orphans"])["pages"]);
    assert_eq!(orphans(), ["alone", "broken", "self"]);
    home.put("nowhere", "now it exists\n");
    assert_eq!(orphans(), ["alone", "self"]);
    home.json(["delete", "from"]);
    assert_eq!(orphans(), ["alone", "self", "to"]);
    let first_row = home.json(["orphans", "--limit", "1"]);
    assert_eq!(
        (slugs(&first_row["pages"]), &first_row["truncated"]),
        (vec!["alone".into()], &true.into())
    );
}

/// Returns the line of the file to which a row of `todos` points.
fn line_of(row: &Value) -> String {
    let file = fs::read_to_string(row["path"].as_str().unwrap()).unwrap();
    file.lines().nth(row["line"].as_u64().unwrap() as usize - 1).unwrap().to_owned()
}

#[test]
fn tasks_are_listed_with_their_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("projects/x", "- [ ] write\n- [x] read\n");
    home.put("home", "---\ntitle: Home\n---\n\n# Home\n\n- [ ] buy milk\n```\n- [ ] code\n```\n");
    let todos = home.json(["todos"]);
    let rows = todos["todos"].as_array().unwrap();
    let texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["buy milk", "write"], "the page that changed last comes first");
    // The line number counts from the start of the file, so that an editor can jump to it.
    assert_eq!(line_of(&rows[0]), "- [ ] buy milk");

    let printed = home.brain(["todos", "--prefix", "projects/"]).expect(0).stdout;
    assert!(printed.contains("projects/x") && printed.contains("write"), "{printed}");
    assert!(!printed.contains("milk") && !printed.contains("read"), "{printed}");
    let finished_tasks = home.brain(["todos", "--done", "-q"]).expect(0).stdout;
    assert!(
        finished_tasks.starts_with("projects/x:") && finished_tasks.ends_with(": read\n"),
        "{finished_tasks}"
    );
    let none = home.brain(["todos", "--prefix", "nowhere/"]).expect(0);
    assert!(none.stdout.is_empty() && none.stderr.contains("no open tasks"), "{none:?}");
}

#[test]
fn an_empty_timeline_or_todo_list_shows_the_line_syntax() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("projects/x", "2026-11-20 is no dated line.\n\n- nor a task\n");
    let dated = "- 2026-11-20 | text";
    for (args, syntax) in [
        (&["timeline"][..], dated),
        (&["timeline", "--days"], dated),
        (&["timeline", "projects/x"], dated),
        (&["todos"], "- [ ] text"),
        (&["todos", "--done"], "- [x] text"),
    ] {
        let none = home.brain(args).expect(0);
        assert_eq!(none.stdout, "", "{args:?}");
        assert!(none.stderr.ends_with(&format!(": {syntax}\n")), "{none:?}");
    }
    for (command, syntax) in [("timeline", dated), ("todos", "- [ ] text")] {
        assert!(home.brain([command, "--help"]).expect(0).stdout.contains(syntax), "{command}");
    }
    // Lines with this syntax are listed.
    home.put("projects/y", "- 2026-11-20 | text\n- [ ] text\n- [x] text\n");
    for (args, rows) in
        [(&["timeline"][..], "entries"), (&["todos"], "todos"), (&["todos", "--done"], "todos")]
    {
        assert_eq!(home.json(args)[rows].as_array().unwrap().len(), 1, "{args:?}");
    }
}

#[test]
fn the_line_of_a_task_is_right_with_any_frontmatter() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("notes");
    fs::create_dir(&dir).unwrap();
    // brain itself writes a blank line after the frontmatter, and no empty frontmatter.
    for (name, text) in [
        ("blank", "---\ntitle: A\n---\n\n- [ ] blank\n"),
        ("none", "---\ntitle: B\n---\n- [ ] none\n"),
        ("two", "---\ntitle: C\n---\n\n\n- [ ] two\n"),
        ("crlf", "---\r\ntitle: D\r\n---\r\n- [ ] crlf\r\n"),
        ("empty", "---\n---\n- [ ] empty\n"),
    ] {
        fs::write(dir.join(format!("{name}.md")), text).unwrap();
    }
    home.json(["sources", "add", "notes", "--path", dir.to_str().unwrap()]);
    home.json(["sync", "--source", "notes"]);
    let todos = home.json(["todos"]);
    let rows = todos["todos"].as_array().unwrap();
    assert_eq!(rows.len(), 5, "{todos}");
    for row in rows {
        assert_eq!(line_of(row), format!("- [ ] {}", row["slug"].as_str().unwrap()), "{row}");
    }
    // Until a changed file is synced, the line is that of the stored page.
    fs::write(dir.join("none.md"), "- [ ] something else\n").unwrap();
    let todos = home.json(["todos"]);
    let row = todos["todos"].as_array().unwrap().iter().find(|row| row["slug"] == "none");
    assert_eq!(row.unwrap()["line"], 5);
}
