//! `brain backup restore`: everything is restored, existing files stay, and a kill leaves either no
//! store or a complete one.

use std::fs;
use std::path::Path;

use brain_tests::{Run, TestHome};

use crate::backup::{bodies_by_slug, file_names, files_below, restore};

/// Runs `brain backup restore` and allows it to write into the directories of `sources`.
fn restore_into_sources(home: &TestHome, file: &Path, sources: &[&str]) -> Run {
    let mut arguments = vec!["backup", "restore", file.to_str().unwrap(), "--json"];
    sources.iter().for_each(|source| arguments.extend(["--write-source", source]));
    home.brain(arguments)
}

#[test]
fn verify_and_restore_are_commands_that_need_no_daemon() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("a", "walrus\n");
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    assert!(daemon.terminate().0.success());
    let new_home = TestHome::new();
    let verified = new_home.json(["backup", "verify", file.to_str().unwrap()]);
    assert_eq!((&verified["status"], &verified["pages"]), (&"sound".into(), &1.into()));
    assert!(!new_home.path().exists(), "verifying a backup creates no home");
    let restored = new_home.brain(["backup", "restore", file.to_str().unwrap()]).expect(0);
    assert!(restored.stdout.starts_with("restored "), "{restored:?}");
    let status = new_home.brain(["status", "--no-start"]);
    assert_eq!(status.code, 6, "no daemon was started: {status:?}");
    let fault = new_home.fault(["backup", "restore", file.to_str().unwrap()], 1);
    assert_eq!(fault["code"], "conflict", "{fault}");
    let _daemon = new_home.daemon();
    assert_eq!(new_home.get("a")["body"], "walrus\n");
    assert!(new_home.page_file("a").exists());
    fs::write(&file, "no store").unwrap();
    for command in ["verify", "restore"] {
        let error = TestHome::new().fault(["backup", command, file.to_str().unwrap()], 1);
        assert_eq!(error["code"], "store_damaged", "{command}: {error}");
    }
}

#[test]
fn a_restored_brain_is_complete_and_usable() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put(
        "people/ann",
        "---\ntitle: Ann Lee\ntags: [friend, Übung]\naliases: [A]\n---\nfirst words\n",
    );
    home.put(
        "people/ann",
        "---\ntitle: Ann Lee\ntags: [friend]\n# a comment\n---\nsecond [[places/harbour]]\n",
    );
    home.put("places/harbour", "A harbour.\n\n- 2026-01-02 | Opened [Source: paper]\n");
    let thought = home.json(["capture", "a thought about walruses"]);
    home.put("old/gone", "deleted words\n");
    home.json(["delete", "old/gone"]);
    home.json(["tags", "places/harbour", "--add", "port"]);
    let commands: &[&[&str]] = &[
        &["list", "--all", "--sort", "slug"],
        &["list", "--deleted"],
        &["get", "people/ann"],
        &["get", "people/ann", "--version", "1"],
        &["get", "places/harbour"],
        &["get", thought["slug"].as_str().unwrap()],
        &["history", "people/ann"],
        &["history", "places/harbour"],
        &["tags"],
        &["backlinks", "places/harbour"],
        &["timeline"],
        &["search", "walruses"],
    ];
    let replies = |home: &TestHome| -> Vec<serde_json::Value> {
        commands
            .iter()
            .map(|args| {
                let mut reply = home.json(*args);
                // The duration differs between runs.
                reply.as_object_mut().unwrap().remove("took_us");
                reply.as_object_mut().unwrap().remove("took_ms");
                let text = reply.to_string().replace(home.path().to_str().unwrap(), "HOME");
                serde_json::from_str(&text).unwrap()
            })
            .collect()
    };
    let before = replies(&home);
    let file = home.outside().join("all.redb");
    let backup = home.json(["backup", file.to_str().unwrap()]);
    assert_eq!(
        (&backup["pages"], &backup["deleted"], &backup["versions"]),
        (&3.into(), &1.into(), &2.into())
    );
    let made_at = backup["made_at"].as_str().unwrap();
    assert_eq!(home.json(["backup", "verify", file.to_str().unwrap()])["made_at"], made_at);

    let new_home = TestHome::new();
    let restored = restore(&new_home, &file).expect(0).json();
    assert_eq!(
        (&restored["made_at"], &restored["warnings"]),
        (&made_at.into(), &serde_json::json!([]))
    );
    let pages = |home: &TestHome| {
        let mut files = files_below(&home.path().join("pages"));
        files.retain(|path, _| !path.starts_with(".trash"));
        files
    };
    assert_eq!(pages(&new_home), pages(&home), "every active page has its file, to the byte");
    let daemon = new_home.daemon();
    assert_eq!(replies(&new_home), before);
    assert_eq!(new_home.json(["status"])["degraded"], serde_json::json!([]));
    assert_eq!(new_home.json(["doctor"])["status"], "healthy");
    // The restored brain works: the deleted page can be restored with its file, and new pages get
    // new ids.
    new_home.json(["restore", "old/gone"]);
    assert_eq!(
        fs::read_to_string(new_home.page_file("old/gone")).unwrap(),
        new_home.get("old/gone")["content"]
    );
    assert_eq!(new_home.put("people/ann", "third\n")["status"], "updated");
    assert_eq!(new_home.json(["history", "people/ann"])["versions"].as_array().unwrap().len(), 3);
    assert_eq!(new_home.json(["capture", "a thought about walruses"])["status"], "unchanged");
    assert!(daemon.terminate().0.success());
    let _daemon = new_home.daemon();
    assert_eq!(new_home.get("people/ann")["body"], "third\n");
    assert_eq!(
        file_names(&new_home.path()),
        ["brain.redb", "index", "pages", "run", "secrets"],
        "no temporary file of the restore is left"
    );
}

#[test]
fn a_failed_restore_leaves_no_directories() {
    let home = TestHome::new();
    let file = home.outside().join("no-store");
    fs::write(&file, "no store").unwrap();
    assert_eq!(restore(&home, &file).expect(1).json()["error"]["code"], "store_damaged");
    assert!(!home.path().exists(), "a failed restore creates no home");
    // Existing directories and files stay.
    fs::create_dir_all(home.path().join("pages")).unwrap();
    fs::write(home.path().join("config.toml"), "").unwrap();
    restore(&home, &file).expect(1);
    assert_eq!(file_names(&home.path()), ["config.toml", "pages"]);
}

#[test]
fn a_home_with_a_store_is_not_overwritten() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("a", "mine\n");
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    home.put("a", "newer\n");
    for is_running in [true, false] {
        let refused = restore(&home, &file).expect(1).json();
        let (message, hint) =
            (&refused["error"]["message"], refused["error"]["hint"].as_str().unwrap());
        assert_eq!(refused["error"]["code"], "conflict");
        assert!(
            message.as_str().unwrap().contains(home.path().join("brain.redb").to_str().unwrap()),
            "{refused}"
        );
        assert!(hint.contains("BRAIN_HOME") && hint.contains("mv "), "{hint}");
        if is_running {
            home.json(["stop"]);
        }
    }
    drop(daemon);
    let _daemon = home.daemon();
    assert_eq!(home.get("a")["body"], "newer\n");
}

#[test]
fn a_restore_leaves_existing_files_alone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("mine", "from the backup\n");
    home.put("same", "from the backup\n");
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    let same = fs::read(home.page_file("same")).unwrap();

    let new_home = TestHome::new();
    fs::create_dir_all(new_home.path().join("pages/.trash")).unwrap();
    fs::create_dir_all(new_home.path().join("index")).unwrap();
    fs::write(new_home.page_file("mine"), "written since\n").unwrap();
    fs::write(new_home.page_file("same"), &same).unwrap();
    fs::write(new_home.page_file("other"), "no page at all\n").unwrap();
    fs::write(new_home.path().join("pages/.trash/x.md"), "thrown away\n").unwrap();
    fs::write(new_home.path().join("index/meta.json"), "an index of something else").unwrap();
    let restored = restore(&new_home, &file).expect(0).json();
    let warning = restored["warnings"][0].as_str().unwrap();
    assert!(warning.contains(new_home.page_file("mine").to_str().unwrap()), "{restored}");
    let _daemon = new_home.daemon();
    let read = |name: &str| fs::read_to_string(new_home.path().join("pages").join(name)).unwrap();
    assert_eq!(read("mine.md"), "written since\n");
    assert_eq!(read("same.md").as_bytes(), same);
    assert_eq!(
        (read("other.md"), read(".trash/x.md")),
        ("no page at all\n".into(), "thrown away\n".into())
    );
    assert_eq!(new_home.get("mine")["body"], "from the backup\n");
    assert_eq!(new_home.search("backup").len(), 2);
    let doctor = new_home.json(["doctor"]);
    let outbox =
        doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == "outbox").unwrap();
    assert_eq!(outbox["status"], "warn", "{doctor}");
    new_home.json(["put", "mine", "--file", new_home.page_file("mine").to_str().unwrap()]);
    assert_eq!(new_home.get("mine")["body"], "written since\n");
    assert_eq!(new_home.json(["doctor"])["status"], "healthy");
}

#[test]
fn a_restored_brain_works_without_the_directory_of_a_source() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let (existing_dir, missing_dir) = (home.outside().join("there"), home.outside().join("gone"));
    for (id, dir) in [("there", &existing_dir), ("gone", &missing_dir)] {
        fs::create_dir_all(dir.join("sub")).unwrap();
        home.json(["sources", "add", id, "--path", dir.to_str().unwrap()]);
        for slug in ["sub/lost", "sub/changed"] {
            home.json_with(["put", slug, "--source", id], format!("walrus of {id}\n").as_bytes());
        }
    }
    home.put("mine", "walrus of the default source\n");
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    home.json(["stop"]);
    fs::remove_dir_all(&missing_dir).unwrap();
    fs::remove_file(existing_dir.join("sub/lost.md")).unwrap();
    fs::write(existing_dir.join("sub/changed.md"), "written since\n").unwrap();

    let new_home = TestHome::new();
    let restored = restore_into_sources(&new_home, &file, &["there"]).expect(0).json();
    let warnings = restored["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{restored}");
    let notice = warnings[0].as_str().unwrap();
    assert!(
        notice.contains(missing_dir.to_str().unwrap())
            && notice.contains("export DIR --source gone"),
        "{notice}"
    );
    assert!(!missing_dir.exists(), "a missing directory of a source is not created");
    let daemon = new_home.daemon();
    let restored_text = fs::read_to_string(existing_dir.join("sub/lost.md")).unwrap();
    assert!(restored_text.ends_with("walrus of there\n"), "{restored_text}");
    assert_eq!(fs::read_to_string(existing_dir.join("sub/changed.md")).unwrap(), "written since\n");
    assert!(new_home.page_file("mine").exists());
    let page = new_home.json(["get", "sub/lost", "--source", "gone"]);
    assert_eq!(page["body"], "walrus of gone\n");
    assert_eq!(new_home.search("walrus").len(), 5);
    let doctor = new_home.brain(["doctor", "--json"]).json();
    let check = |name: &str| {
        doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap()
    };
    assert_eq!(check("sources")["status"], "fail", "{doctor}");
    assert_eq!(check("outbox")["status"], "ok", "{doctor}");
    assert!(daemon.terminate().0.success());
    let _daemon = new_home.daemon();
    assert_eq!(new_home.json(["status"])["pages"], 5, "the next start has all pages, too");
    let out = new_home.outside().join("out");
    assert_eq!(new_home.json(["export", out.to_str().unwrap(), "--source", "gone"])["files"], 2);
    assert!(!missing_dir.exists());
}

#[test]
fn files_of_a_source_that_is_in_use_are_not_overwritten() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let notes = home.outside().join("notes");
    fs::create_dir_all(&notes).unwrap();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    for name in ["kept", "renamed", "removed"] {
        fs::write(notes.join(format!("{name}.md")), format!("walrus, {name}\n")).unwrap();
    }
    home.json(["sync", "--source", "notes"]);
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    home.json(["stop"]);
    let note_names = || {
        let mut names: Vec<String> = fs::read_dir(&notes)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    // The author changed the files after the backup.
    fs::rename(notes.join("renamed.md"), notes.join("new name.md")).unwrap();
    fs::remove_file(notes.join("removed.md")).unwrap();
    let new_home = TestHome::new();
    restore_into_sources(&new_home, &file, &["notes"]).expect(0);
    assert_eq!(note_names(), ["kept.md", "new name.md"]);
    let _daemon = new_home.daemon();
    let synced = &new_home.json(["sync", "--source", "notes"])["sources"][0];
    assert_eq!((&synced["renamed"], &synced["removed"]), (&1.into(), &1.into()), "{synced}");
    // The directory becomes empty, as on a new disk.
    for name in note_names() {
        fs::remove_file(notes.join(name)).unwrap();
    }
    let unnamed_home = TestHome::new();
    let restored = restore(&unnamed_home, &file).expect(0).json();
    assert_eq!(
        note_names(),
        Vec::<String>::new(),
        "a restore writes outside of the home only into named directories"
    );
    let notice = restored["warnings"][0].as_str().unwrap();
    assert!(
        notice.contains(notes.to_str().unwrap()) && notice.contains("--write-source notes"),
        "{notice}"
    );
    let refused = restore_into_sources(&TestHome::new(), &file, &["nots"]).json();
    assert_eq!(refused["error"]["code"], "unknown_source", "{refused}");
    let named_home = TestHome::new();
    restore_into_sources(&named_home, &file, &["notes"]).expect(0);
    assert_eq!(note_names(), ["kept.md", "removed.md", "renamed.md"]);
}

#[test]
fn an_index_newer_than_the_restored_store_is_rebuilt() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("early", "walrus early\n");
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    for n in 0..30 {
        home.put(&format!("late/{n}"), "walrus late\n");
    }
    assert!(daemon.terminate().0.success());
    fs::remove_file(home.path().join("brain.redb")).unwrap();
    restore(&home, &file).expect(0);
    let _daemon = home.daemon();
    assert_eq!(home.search("walrus"), ["early"], "the index of the lost store is not used");
    home.put("late/0", "a new walrus\n");
    assert_eq!(home.search("new walrus")[0], "late/0");
    assert!(home.page_file("late/7").exists(), "files without a page are kept");
}

#[test]
fn a_killed_restore_leaves_no_store_or_a_complete_one() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for n in 0..60 {
        home.put(&format!("p/{n}"), &format!("page {n} {}\n", "words ".repeat(2000)));
    }
    let file = home.outside().join("a.redb");
    home.json(["backup", file.to_str().unwrap()]);
    let expected = bodies_by_slug(&home);
    let began = std::time::Instant::now();
    restore(&TestHome::new(), &file).expect(0);
    let usual_duration = began.elapsed();
    let new_home = TestHome::new();
    let mut complete_after_kill = 0;
    // Each kill comes later than the one before. Late rounds allow for a busy machine.
    for round in 0_u32..40 {
        if round >= 12 && complete_after_kill > 0 {
            break;
        }
        let mut command = new_home.command("brain-daemon");
        let quiet = std::process::Stdio::null;
        let mut child =
            command.arg("--restore").arg(&file).stdout(quiet()).stderr(quiet()).spawn().unwrap();
        std::thread::sleep(usual_duration * round / 10);
        child.kill().unwrap();
        child.wait().unwrap();
        if !new_home.path().join("brain.redb").exists() {
            continue;
        }
        complete_after_kill += 1;
        let daemon = new_home.daemon();
        assert_eq!(bodies_by_slug(&new_home), expected);
        for slug in expected.keys() {
            assert!(new_home.page_file(slug).exists(), "the start writes the missing files");
        }
        assert_eq!(new_home.json(["doctor"])["status"], "healthy");
        drop(daemon);
        fs::remove_file(new_home.path().join("brain.redb")).unwrap();
        fs::remove_dir_all(new_home.path().join("pages")).unwrap();
    }
    assert!(complete_after_kill > 0, "no killed restore was complete; usual: {usual_duration:?}");
    restore(&new_home, &file).expect(0);
    let temporary_files: Vec<_> =
        file_names(&new_home.path()).into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(temporary_files, Vec::<String>::new());
}
