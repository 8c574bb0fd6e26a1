//! `sync` under faults: missing or unreadable directories, unwritable files, concurrent writers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brain_protocol::{
    Get, Origin, PageRef, Put, Reply, Request, Slug, SourceId, Sync, SyncedSource,
};
use brain_tests::{Client, TestHome};
use serde_json::json;

use crate::sync::{
    assert_changes, get_note, home_with_notes, listed_slugs, sync, sync_with, write,
};

#[test]
fn a_directory_that_is_gone_removes_nothing() {
    let (home, _daemon, notes) = home_with_notes();
    for n in 0..5 {
        write(&notes, &format!("n{n}.md"), format!("Number {n}.\n"));
    }
    sync(&home);
    let away = home.outside().join("away");
    fs::rename(&notes, &away).unwrap();
    let assert_problem = |status: &str, text: &str| {
        for flags in [&["--yes"][..], &["--dry-run"]] {
            let report = sync_with(&home, flags, 1);
            assert_changes(&report, &[]);
            assert_eq!((&report["status"], listed_slugs(&home).len()), (&json!(status), 5));
            let problem = report["problem"].as_str().unwrap();
            assert!(
                problem.contains(notes.to_str().unwrap()) && problem.contains(text),
                "{problem}"
            );
        }
        let plain = home.brain(["sync", "--source", "notes"]).expect(1);
        assert!(plain.stderr.contains(text), "{plain:?}");
        assert!(plain.stderr.contains(&format!("brain: {status}: notes: ")), "{plain:?}");
    };
    assert_problem("away", "is not there");
    fs::write(&notes, "a file where the directory was").unwrap();
    assert_problem("failed", "ot a directory");
    let listed = home.json(["sources", "list"]).to_string();
    assert!(listed.contains(&format!("{} is no directory", notes.display())), "{listed}");
    fs::remove_file(&notes).unwrap();
    fs::rename(&away, &notes).unwrap();
    assert_changes(&sync(&home), &[]);
    // The other sources are synced.
    fs::rename(&notes, &away).unwrap();
    home.put("here", "In the home.\n");
    let all = home.brain(["sync", "--all", "--json"]).expect(1).json();
    let states: Vec<&str> = all["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["status"].as_str().unwrap())
        .collect();
    assert_eq!((states, &all["status"]), (vec!["done", "away"], &json!("away")));
}

#[test]
fn an_unmounted_disk_removes_no_pages() {
    let (home, _daemon, notes) = home_with_notes();
    for n in 0..30 {
        write(&notes, &format!("n{n}.md"), format!("Number {n}.\n"));
    }
    sync(&home);
    let away = home.outside().join("away");
    fs::rename(&notes, &away).unwrap();
    fs::create_dir(&notes).unwrap();
    let report = sync_with(&home, &[], 1);
    assert_changes(&report, &[]);
    assert_eq!((&report["status"], listed_slugs(&home).len()), (&json!("away"), 30));
    fs::remove_dir(&notes).unwrap();
    fs::rename(&away, &notes).unwrap();
    let report = sync(&home);
    assert_changes(&report, &[]);
    assert_eq!(report["unchanged"], 30);
}

#[test]
fn unreadable_files_are_reported_and_not_removed() {
    let Some(home) = TestHome::that_obeys_modes() else { return };
    let _daemon = home.daemon();
    let notes = home.outside().join("notes");
    write(&notes, "open.md", "Open.\n");
    write(&notes, "closed/in.md", "Inside.\n");
    write(&notes, "closed/deep/er.md", "Deeper.\n");
    write(&notes, "alone.md", "Alone.\n");
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    assert_changes(&sync(&home), &[("added", 4)]);
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&notes.join("closed"), 0o000);
    mode(&notes.join("alone.md"), 0o000);
    fs::remove_file(notes.join("open.md")).unwrap();
    for _ in 0..2 {
        let report = sync_with(&home, &["--full"], 1);
        assert_eq!(
            (&report["failed_total"], &report["status"]),
            (&json!(2), &json!("partial")),
            "{report}"
        );
        let failed = report["failed"].to_string();
        assert!(failed.contains("\"closed\"") && failed.contains("alone.md"), "{failed}");
        assert!(failed.contains("ermission denied"), "{failed}");
        assert_eq!(listed_slugs(&home), ["alone", "closed/deep/er", "closed/in"]);
    }
    mode(&notes, 0o000);
    let report = sync_with(&home, &[], 1);
    mode(&notes, 0o755);
    assert_eq!((&report["status"], listed_slugs(&home).len()), (&json!("failed"), 3), "{report}");
    mode(&notes.join("closed"), 0o755);
    mode(&notes.join("alone.md"), 0o644);
    assert_changes(&sync(&home), &[]);
    fs::remove_dir_all(notes.join("closed")).unwrap();
    assert_changes(&sync(&home), &[("removed", 2)]);
}

#[test]
fn a_file_and_a_directory_can_replace_each_other() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "dir.md/inner.md", "Inner.\n");
    write(&notes, "file.md", "File.\n");
    assert_changes(&sync(&home), &[("added", 2)]);
    fs::remove_dir_all(notes.join("dir.md")).unwrap();
    write(&notes, "dir.md", "A file now.\n");
    fs::remove_file(notes.join("file.md")).unwrap();
    write(&notes, "file.md/inner.md", "A directory now.\n");
    assert_changes(&sync(&home), &[("added", 2), ("removed", 2)]);
    assert_eq!(listed_slugs(&home), ["dir", "file.md/inner"]);
}

// Other systems take only names in UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn a_file_name_without_utf8_is_reported_and_others_sync() {
    use std::os::unix::ffi::OsStrExt;
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "good.md", "Good.\n");
    let odd = notes.join(std::ffi::OsStr::from_bytes(b"caf\xe9.md"));
    fs::write(&odd, "odd\n").unwrap();
    let report = sync_with(&home, &[], 1);
    assert_changes(&report, &[("added", 1), ("failed_total", 1)]);
    assert!(report["failed"].to_string().contains("not UTF-8"), "{report}");
}

#[test]
fn a_full_disk_ends_a_sync_and_a_later_one_continues() {
    let mut home = TestHome::new();
    if !home.mount(&home.path(), "size=64m") {
        return;
    }
    let _daemon = home.daemon();
    let notes = home.outside().join("notes");
    for n in 0..40 {
        write(
            &notes,
            &format!("n{n}.md"),
            format!("Number {n}. {}\n", "Water and money. ".repeat(100)),
        );
    }
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    let ballast = home.path().join("ballast");
    let free = rustix::fs::statvfs(home.path()).map(|s| s.f_bavail * s.f_frsize).unwrap();
    fs::write(&ballast, vec![0_u8; (free - 1_000_000) as usize]).unwrap();
    assert_eq!(home.fault(["sync", "--source", "notes"], 1)["code"], "disk_full");
    assert_eq!(listed_slugs(&home), Vec::<String>::new());
    fs::remove_file(&ballast).unwrap();
    assert_changes(&sync(&home), &[("added", 40)]);
}

#[test]
fn two_syncs_at_once_take_turns() {
    let (home, _daemon, notes) = home_with_notes();
    for n in 0..400 {
        write(&notes, &format!("n{n}.md"), format!("Number {n}.\n"));
    }
    let reports: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| sync(&home))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let added: u64 = reports.iter().map(|report| report["added"].as_u64().unwrap()).sum();
    let unchanged: u64 = reports.iter().map(|report| report["unchanged"].as_u64().unwrap()).sum();
    assert_eq!((added, unchanged), (400, 1200), "{reports:?}");
}

#[test]
fn concurrent_writers_and_syncs_lose_nothing() {
    const PAGES: usize = 12;
    let (home, _daemon, notes) = home_with_notes();
    for n in 0..PAGES {
        write(&notes, &format!("p{n}.md"), "Begin.\n");
    }
    // These files add time between the reading and the storing of the contested files.
    for n in 0..300 {
        write(
            &notes,
            &format!("z/{n}.md"),
            format!("Number {n}. {}\n", "Water and money. ".repeat(200)),
        );
    }
    sync(&home);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let done_on_drop = SetOnDrop(&is_done);
        let syncs = scope.spawn(|| {
            let mut runs = 0;
            let mut client = home.connect().unwrap();
            while !is_done.load(Ordering::Relaxed) {
                let report = ask_sync(&mut client, true).expect("no answer of the daemon");
                assert_eq!(
                    (report.status.as_str(), report.removed, report.added),
                    ("done", 0, 0),
                    "{report:?}"
                );
                assert!(report.conflicts.is_empty(), "no file is edited: {report:?}");
                runs += 1;
            }
            runs
        });
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let home = &home;
                scope.spawn(move || {
                    let mut client = home.connect().unwrap();
                    for round in 0..40 {
                        for n in (0..PAGES).filter(|n| n % 2 == writer) {
                            put(&mut client, &format!("p{n}"), &format!("Round {round}.\n"));
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        drop(done_on_drop);
        assert!(syncs.join().unwrap() > 1);
    });
    for n in 0..PAGES {
        let page = get_note(&home, &format!("p{n}"));
        assert_eq!(page["body"], "Round 39.\n", "p{n}");
        let history = home.json(["history", &format!("p{n}"), "--source", "notes"]);
        assert_eq!(history["versions"].as_array().unwrap().len(), 41, "only the puts add versions");
        assert!(
            fs::read_to_string(notes.join(format!("p{n}.md"))).unwrap().ends_with("Round 39.\n")
        );
    }
    assert_changes(&sync(&home), &[]);
}

#[test]
fn a_page_that_is_put_while_its_file_is_missing_stays() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "hot.md", "Begin.\n");
    for n in 0..300 {
        write(
            &notes,
            &format!("z/{n}.md"),
            format!("Number {n}. {}\n", "Water and money. ".repeat(200)),
        );
    }
    sync(&home);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let done_on_drop = SetOnDrop(&is_done);
        let syncs = scope.spawn(|| {
            let mut runs = 0;
            let mut client = home.connect().unwrap();
            while !is_done.load(Ordering::Relaxed) {
                ask_sync(&mut client, true).expect("no answer of the daemon");
                runs += 1;
            }
            runs
        });
        let mut client = home.connect().unwrap();
        for round in 0..60 {
            // A sync may see the removal and delete the page; then the put restores it.
            let _ = fs::remove_file(notes.join("hot.md"));
            std::thread::sleep(Duration::from_millis(round % 30));
            let text = format!("Round {round}.\n");
            put(&mut client, "hot", &text);
            // Time for a sync that began before the put.
            std::thread::sleep(Duration::from_millis(30));
            let page = PageRef { source: Some(notes_id()), slug: Slug::parse("hot").unwrap() };
            match client.ask(&Request::Get(Get { page, version: None })) {
                Ok(Reply::Page(page)) => assert_eq!(page.body, text),
                other => panic!("round {round}: {other:?}"),
            }
        }
        drop(done_on_drop);
        assert!(syncs.join().unwrap() > 1);
    });
}

/// Sets the flag when dropped, so that a failing test ends its threads.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_file_of_a_removed_page_is_not_rewritten_after_a_crash() {
    let (home, daemon, notes) = home_with_notes();
    home.json_with(["put", "here", "--source", "notes"], b"Put here.\n");
    fs::remove_file(notes.join("here.md")).unwrap();
    assert_changes(&sync(&home), &[("removed", 1)]);
    daemon.kill();
    let _daemon = home.daemon();
    assert!(!notes.join("here.md").exists(), "a file removed by its author is not written again");
    assert_changes(&sync(&home), &[]);
    assert_eq!(listed_slugs(&home), Vec::<String>::new());
}

#[test]
fn a_page_whose_file_cannot_be_written_is_kept() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "block", "a file where the directory of a page would be");
    let put = home.json_with(["put", "block/page", "--source", "notes"], b"Stored, not written.\n");
    assert_eq!(put["written"], false, "{put}");
    for _ in 0..2 {
        assert_changes(&sync_with(&home, &["--yes"], 0), &[]);
        assert_eq!(listed_slugs(&home), ["block/page"]);
    }
    fs::remove_file(notes.join("block")).unwrap();
    home.json(["doctor", "--fix"]);
    assert_eq!(
        fs::read_to_string(notes.join("block/page.md")).unwrap(),
        get_note(&home, "block/page")["content"]
    );
    assert_changes(&sync(&home), &[]);
}

pub(crate) fn notes_id() -> SourceId {
    SourceId::parse("notes").unwrap()
}

fn put(client: &mut Client, slug: &str, text: &str) {
    let page = PageRef { source: Some(notes_id()), slug: Slug::parse(slug).unwrap() };
    let request =
        Put { page, content: text.into(), origin: Origin::Stdin, allow_empty: false, expect: None };
    match client.ask(&Request::Put(request)) {
        Ok(Reply::Write(written)) => assert!(written.written, "{written:?}"),
        other => panic!("{slug}: {other:?}"),
    }
}

/// Syncs `notes`. Returns `None` if the daemon closes the connection.
pub(crate) fn ask_sync(client: &mut Client, full: bool) -> Option<SyncedSource> {
    let request = Sync { source: Some(notes_id()), full, yes: true, ..Sync::default() };
    match client.try_ask(&Request::Sync(request))? {
        Ok(Reply::Sync(mut reply)) => reply.sources.pop(),
        other => panic!("{other:?}"),
    }
}
