//! The purge of pages 72 hours after they were deleted.

use std::path::Path;

use brain_protocol::SyncedSource;

use super::*;

/// Registers a directory as the source `vault`.
fn add_vault(fixture: &Fixture, dir: &Path) -> SourceId {
    let id = SourceId::parse("vault").unwrap();
    let path = dir.to_str().unwrap().to_owned();
    let settings = Default::default();
    fixture.ask(Request::SourceAdd(SourceAdd { id: id.clone(), path, settings })).unwrap();
    id
}

/// Synchronises a source. With `full`, reads all its files.
fn sync(fixture: &Fixture, id: &SourceId, full: bool) -> SyncedSource {
    let source = Some(id.clone());
    let (all, pull, embed, dry_run, yes) = (false, false, false, false, false);
    let sync = Sync { source, all, pull, embed, dry_run, full, yes };
    let reply = expect_reply!(fixture.ask(Request::Sync(sync)), Sync);
    reply.sources[0].clone()
}

#[test]
fn the_purge_removes_page_versions_links_and_file() {
    let fixture = Fixture::new("2026-11-21T10:00:00Z");
    fixture.put("a", "version one\n");
    fixture.put("a", "---\ntags: [gone]\n---\nversion two [[b]]\n\n- 2024-01-01 | dated\n");
    fixture.put("b", "[[a]]\n");
    fixture.delete("a");
    assert!(fixture.trash_file("a").exists());
    fixture.clock.advance(72 * HOUR + 1);
    assert_eq!(fixture.purge(), 1);
    assert!(!fixture.trash_file("a").exists(), "the file of the page is gone, too");
    assert_eq!(fixture.deleted_count(), 0);
    assert_eq!(fixture.get("a"), Err(FaultCode::NotFound));
    assert_eq!(fixture.restore("a"), Err(FaultCode::NotFound));
    let backlinks = expect_reply!(fixture.ask(Request::Backlinks(page("b").into())), Links);
    assert!(backlinks.links.is_empty(), "{backlinks:?}");
    let links = expect_reply!(fixture.ask(Request::Links(page("b").into())), Links);
    assert_eq!(links.links[0].status.as_str(), "missing");
    assert_eq!(fixture.put("a", "a new life\n").status, WriteStatus::Created);
    let history = expect_reply!(fixture.ask(Request::History(page("a").into())), History);
    assert_eq!(history.versions.len(), 1, "no version of the former page: {history:?}");
}

#[test]
fn a_start_purges_pages_that_became_due_meanwhile() {
    let mut fixture = Fixture::new("2026-11-21T10:00:00Z");
    fixture.put("old", "x\n");
    fixture.put("new", "y\n");
    fixture.delete("old");
    fixture.clock.advance(10 * HOUR);
    fixture.delete("new");
    fixture.clock.advance(65 * HOUR);
    fixture.reopen();
    assert_eq!(fixture.deleted_count(), 1, "only one page is due");
    assert!(!fixture.trash_file("old").exists());
    assert_eq!(fixture.restore("new"), Ok(()));
}

#[test]
fn the_purge_leaves_an_edited_file_in_the_trash() {
    let fixture = Fixture::new("2026-11-21T10:00:00Z");
    fixture.put("a", "x\n");
    fixture.delete("a");
    fs::write(fixture.trash_file("a"), "my own words").unwrap();
    fixture.clock.advance(73 * HOUR);
    assert_eq!(fixture.purge(), 1);
    assert_eq!(fs::read_to_string(fixture.trash_file("a")).unwrap(), "my own words");
}

#[test]
fn the_purge_leaves_a_file_that_was_moved_back() {
    let fixture = Fixture::new("2026-11-21T10:00:00Z");
    let file_path = fixture.dir.path().join("home/pages/a.md");
    fixture.put("a", "x\n");
    let text = fs::read(&file_path).unwrap();
    fixture.delete("a");
    fixture.brain.as_ref().unwrap().files.flush_outbox().unwrap();
    fs::write(&file_path, &text).unwrap();
    fixture.clock.advance(73 * HOUR);
    assert_eq!(fixture.purge(), 1);
    assert_eq!(fs::read(&file_path).unwrap(), text, "a file written after the delete is kept");
    assert!(!fixture.trash_file("a").exists());
}

#[test]
fn the_purge_touches_no_file_of_a_source_that_was_added_again() {
    let fixture = Fixture::new("2026-11-21T10:00:00Z");
    let dir = fixture.dir.path().canonicalize().unwrap().join("work");
    fs::create_dir(&dir).unwrap();
    let id = SourceId::parse("work").unwrap();
    let add = || {
        let path = dir.display().to_string();
        fixture
            .ask(Request::SourceAdd(SourceAdd {
                id: id.clone(),
                path,
                settings: Default::default(),
            }))
            .unwrap();
    };
    add();
    let in_work = PageRef { source: Some(id.clone()), ..page("a") };
    let put = Put {
        page: in_work,
        content: "mine\n".into(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    fixture.ask(Request::Put(put)).unwrap();
    let text = fs::read(dir.join("a.md")).unwrap();
    fixture.ask(Request::SourceRemove(SourceRemove { id: id.clone(), yes: true })).unwrap();
    add();
    fixture.clock.advance(73 * HOUR);
    assert_eq!(fixture.purge(), 1);
    assert_eq!(fs::read(dir.join("a.md")).unwrap(), text);
}

/// Obsidian uses the same directory `.trash` in a vault.
#[test]
fn the_purge_leaves_files_of_other_programs_in_the_trash() {
    let fixture = Fixture::new("2026-01-10T12:00:00Z");
    let dir = fixture.dir.path().join("vault");
    let names = ["by-hand.md", "by-brain.md", "kept.md"];
    fs::create_dir_all(dir.join(".trash")).unwrap();
    for name in names {
        fs::write(dir.join(name), "mine\n").unwrap();
    }
    let id = add_vault(&fixture, &dir);
    let sync = || sync(&fixture, &id, false);
    assert_eq!(sync().added, 3);
    fixture
        .ask(Request::Delete(PageRef { source: Some(id.clone()), ..page("by-brain") }.into()))
        .unwrap();
    fs::rename(dir.join("by-hand.md"), dir.join(".trash/by-hand.md")).unwrap();
    assert_eq!(sync().removed, 1);
    fixture.brain.as_ref().unwrap().files.flush_outbox().unwrap();
    fixture.clock.advance(73 * HOUR);
    assert_eq!(fixture.purge(), 2);
    assert!(
        !dir.join(".trash/by-brain.md").exists(),
        "files that brain moved to the trash are removed"
    );
    assert_eq!(fs::read(dir.join(".trash/by-hand.md")).unwrap(), b"mine\n");
    // A put does not take such a file for the former file of its page.
    fs::copy(dir.join("kept.md"), dir.join(".trash/kept.md")).unwrap();
    let in_vault = PageRef { source: Some(id.clone()), ..page("kept") };
    let put = Put {
        page: in_vault,
        content: "other\n".into(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    fixture.ask(Request::Put(put)).unwrap();
    assert!(fs::read_to_string(dir.join("kept.md")).unwrap().ends_with("other\n"));
    assert_eq!(fs::read(dir.join(".trash/kept.md")).unwrap(), b"mine\n");
}

#[test]
fn the_purge_waits_for_files_that_cannot_be_moved() {
    let fixture = Fixture::new("2026-01-10T12:00:00Z");
    let dir = fixture.dir.path().join("vault");
    fs::create_dir(&dir).unwrap();
    // The first files in the queue, more than one batch of the purge, cannot be moved.
    let stuck: Vec<String> = (0..210).map(|n| format!("n{n}")).collect();
    for slug in &stuck {
        fs::write(dir.join(format!("{slug}.md")), format!("mine {slug}\n")).unwrap();
    }
    let id = add_vault(&fixture, &dir);
    let sync = || sync(&fixture, &id, true).added;
    let in_vault = |slug: &str| PageRef { source: Some(id.clone()), ..page(slug) };
    assert_eq!(sync(), 210);
    fs::write(dir.join(".trash"), "not a directory").unwrap();
    for slug in &stuck {
        let reply = expect_reply!(fixture.ask(Request::Delete(in_vault(slug).into())), Delete);
        assert!(!reply.warnings.is_empty(), "a warning reports that the file stays");
    }
    fixture.clock.advance(1);
    fixture.put("other", "x\n");
    fixture.delete("other");
    fixture.clock.advance(73 * HOUR);
    assert_eq!(fixture.purge(), 1, "files that cannot be moved do not block others");
    assert!(!fixture.trash_file("other").exists());
    assert_eq!(sync(), 0, "no page is restored");
    let get = Get { page: in_vault("n0"), version: None };
    assert!(fixture.ask(Request::Get(get)).is_err());
    assert!(
        fixture.ask(Request::Restore(in_vault("n0").into())).is_err(),
        "the page can no longer be restored"
    );
    assert!(dir.join("n0.md").exists());

    fs::remove_file(dir.join(".trash")).unwrap();
    let brain = fixture.brain.as_ref().unwrap();
    assert_eq!(brain.files.replay_outbox(), 0);
    brain.files.flush_outbox().unwrap();
    assert_eq!(fixture.purge(), 210);
    brain.files.flush_outbox().unwrap();
    assert!(stuck.iter().all(|slug| !dir.join(format!("{slug}.md")).exists()));
    assert!(!dir.join(".trash/n0.md").exists());
    assert_eq!(
        (fixture.deleted_count(), sync(), brain.files.replay_outbox()),
        (0, 0, 0),
        "nothing is left to do"
    );
}
