//! What depends on time: 24 hours of duplicates, 72 hours of recovery. The clock is ours, the brain
//! is the real one.

use std::fs;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::{Clock, rfc3339};
use brain_core::{Brain, Silent};
use brain_protocol::{
    Capture, Doctor, Fault, FaultCode, Get, Link, List, Origin, PageRef, Put, Reply, Request,
    Search, Slug, SourceAdd, SourceId, SourceRemove, Sync, WriteReply, WriteStatus,
};

use crate::hands::{HOUR, Hands};

struct Lab {
    dir: tempfile::TempDir,
    clock: Hands,
    brain: Option<Arc<Brain>>,
}

impl Lab {
    fn new(instant: &str) -> Self {
        let mut lab =
            Self { dir: tempfile::tempdir().unwrap(), clock: Hands::at(instant), brain: None };
        lab.reopen();
        lab
    }

    fn reopen(&mut self) {
        self.brain = None;
        self.brain = Some(self.clock.open(self.dir.path(), 7));
    }

    fn ask(&self, request: Request) -> Result<Reply, Fault> {
        self.brain.as_ref().unwrap().answer(&Caller::local(0), request, &Silent)
    }

    fn capture(&self, text: &str) -> WriteReply {
        let capture = Capture {
            content: text.into(),
            origin: Origin::Argument,
            source: None,
            slug: None,
            page_type: None,
            title: None,
            tags: Vec::new(),
        };
        let Reply::Write(written) = self.ask(Request::Capture(capture)).unwrap() else { panic!() };
        written
    }

    fn put(&self, slug: &str, text: &str) -> WriteReply {
        let put = Put {
            page: page(slug),
            content: text.into(),
            origin: Origin::Stdin,
            allow_empty: false,
            expect: None,
        };
        let Reply::Write(written) = self.ask(Request::Put(put)).unwrap() else { panic!() };
        written
    }

    fn get(&self, slug: &str) -> Result<String, FaultCode> {
        match self.ask(Request::Get(Get { page: page(slug), version: None })) {
            Ok(Reply::Page(page)) => Ok(page.body),
            Ok(other) => panic!("{other:?}"),
            Err(fault) => Err(fault.code),
        }
    }

    fn delete(&self, slug: &str) -> String {
        let Reply::Delete(deleted) = self.ask(Request::Delete(page(slug).into())).unwrap() else {
            panic!()
        };
        deleted.recoverable_until
    }

    fn restore(&self, slug: &str) -> Result<(), FaultCode> {
        self.ask(Request::Restore(page(slug).into())).map(drop).map_err(|fault| fault.code)
    }

    fn purge(&self) -> usize {
        self.brain.as_ref().unwrap().pages.purge_due().unwrap()
    }

    fn deleted(&self) -> usize {
        let list = List { deleted: true, limit: 100, ..List::default() };
        let Reply::Pages(pages) = self.ask(Request::List(list)).unwrap() else { panic!() };
        pages.pages.len()
    }

    fn search(&self, search: Search) -> Vec<String> {
        let Reply::Hits(hits) = self.ask(Request::Search(search)).unwrap() else { panic!() };
        hits.hits.into_iter().map(|hit| hit.slug.to_string()).collect()
    }

    fn trash(&self, slug: &str) -> std::path::PathBuf {
        self.dir.path().join(format!("home/pages/.trash/{slug}.md"))
    }
}

fn page(slug: &str) -> PageRef {
    PageRef { source: None, slug: Slug::parse(slug).unwrap() }
}

#[test]
fn the_same_text_keeps_its_slug_across_midnight_for_24_hours() {
    let lab = Lab::new("2026-11-21T23:59:30Z");
    let first = lab.capture("night thought");
    assert!(first.slug.as_str().starts_with("inbox/2026-11-21-"), "{}", first.slug);
    lab.clock.turn(60_000);
    let after_midnight = lab.capture("night thought");
    assert_eq!(
        (after_midnight.status, &after_midnight.slug),
        (WriteStatus::Unchanged, &first.slug)
    );
    assert_eq!(after_midnight.captured_at, first.captured_at);
    lab.clock.turn(24 * HOUR - 60_000 - 1);
    assert_eq!(
        lab.capture("night thought").slug,
        first.slug,
        "one millisecond before the 24 hours are over"
    );
    lab.clock.turn(1);
    let next = lab.capture("night thought");
    assert_eq!(next.status, WriteStatus::Created, "24 hours later it is a thought of its own");
    assert!(next.slug.as_str().starts_with("inbox/2026-11-22-"), "{}", next.slug);
    assert_eq!(lab.get(first.slug.as_str()).unwrap(), "night thought", "the first one stays");
}

#[test]
fn the_24_hours_are_known_again_after_a_start() {
    let mut lab = Lab::new("2026-11-21T23:00:00Z");
    let first = lab.capture("remembered");
    lab.clock.turn(2 * HOUR);
    lab.reopen();
    let again = lab.capture("remembered");
    assert_eq!(
        (again.status, &again.slug),
        (WriteStatus::Unchanged, &first.slug),
        "refilled across midnight"
    );
    lab.clock.turn(23 * HOUR);
    lab.reopen();
    let late = lab.capture("remembered");
    assert_eq!(late.status, WriteStatus::Created);
    assert_ne!(late.slug, first.slug);
}

#[test]
fn a_captured_page_that_was_changed_since_is_not_taken_for_the_text() {
    let lab = Lab::new("2026-11-21T10:00:00Z");
    let first = lab.capture("to be edited");
    lab.put(first.slug.as_str(), "edited since");
    let again = lab.capture("to be edited");
    assert_ne!(again.slug, first.slug, "nothing is overwritten by accident");
    assert_eq!(lab.get(first.slug.as_str()).unwrap(), "edited since");
    assert_eq!(lab.get(again.slug.as_str()).unwrap(), "to be edited");
}

#[test]
fn restore_works_until_72_hours_are_over_and_not_after() {
    let lab = Lab::new("2026-11-21T10:00:00Z");
    lab.put("a", "text\n");
    let until = lab.delete("a");
    assert_eq!(until, rfc3339(lab.clock.now() + 72 * HOUR));
    lab.clock.turn(72 * HOUR - 1);
    assert_eq!(lab.purge(), 0, "not a moment early");
    assert_eq!(lab.restore("a"), Ok(()));
    assert_eq!(lab.get("a").unwrap(), "text\n");
    lab.delete("a");
    lab.clock.turn(72 * HOUR);
    assert_eq!(lab.restore("a"), Err(FaultCode::NotFound), "refused even before the purge came by");
}

#[test]
fn the_purge_takes_page_versions_links_and_file_and_frees_the_slug() {
    let lab = Lab::new("2026-11-21T10:00:00Z");
    lab.put("a", "version one\n");
    lab.put("a", "---\ntags: [gone]\n---\nversion two [[b]]\n\n- 2024-01-01 | dated\n");
    lab.put("b", "[[a]]\n");
    lab.delete("a");
    assert!(lab.trash("a").exists());
    lab.clock.turn(72 * HOUR + 1);
    assert_eq!(lab.purge(), 1);
    assert!(!lab.trash("a").exists(), "its file is gone too");
    assert_eq!(lab.deleted(), 0);
    assert_eq!(lab.get("a"), Err(FaultCode::NotFound));
    assert_eq!(lab.restore("a"), Err(FaultCode::NotFound));
    let Reply::Links(back) = lab.ask(Request::Backlinks(page("b").into())).unwrap() else {
        panic!()
    };
    assert!(back.links.is_empty(), "{back:?}");
    let Reply::Links(links) = lab.ask(Request::Links(page("b").into())).unwrap() else { panic!() };
    assert_eq!(links.links[0].status, "missing");
    assert_eq!(lab.put("a", "a new life\n").status, WriteStatus::Created);
    let Reply::History(history) = lab.ask(Request::History(page("a").into())).unwrap() else {
        panic!()
    };
    assert_eq!(history.versions.len(), 1, "no version of the former page: {history:?}");
}

#[test]
fn a_start_purges_what_became_due_while_the_daemon_was_away() {
    let mut lab = Lab::new("2026-11-21T10:00:00Z");
    lab.put("old", "x\n");
    lab.put("new", "y\n");
    lab.delete("old");
    lab.clock.turn(10 * HOUR);
    lab.delete("new");
    lab.clock.turn(65 * HOUR);
    lab.reopen();
    assert_eq!(lab.deleted(), 1, "only what is due");
    assert!(!lab.trash("old").exists());
    assert_eq!(lab.restore("new"), Ok(()));
}

#[test]
fn a_second_delete_starts_the_72_hours_anew() {
    let lab = Lab::new("2026-11-21T10:00:00Z");
    lab.put("a", "x\n");
    lab.delete("a");
    lab.clock.turn(50 * HOUR);
    lab.restore("a").unwrap();
    lab.delete("a");
    lab.clock.turn(50 * HOUR);
    assert_eq!(lab.purge(), 0);
    assert_eq!(lab.restore("a"), Ok(()));
}

#[test]
fn a_trashed_file_that_somebody_edited_is_left_to_them_by_the_purge() {
    let lab = Lab::new("2026-11-21T10:00:00Z");
    lab.put("a", "x\n");
    lab.delete("a");
    fs::write(lab.trash("a"), "my own words").unwrap();
    lab.clock.turn(73 * HOUR);
    assert_eq!(lab.purge(), 1);
    assert_eq!(fs::read_to_string(lab.trash("a")).unwrap(), "my own words");
}

#[test]
fn the_purge_leaves_a_file_that_came_back_to_its_place() {
    let lab = Lab::new("2026-11-21T10:00:00Z");
    let place = lab.dir.path().join("home/pages/a.md");
    lab.put("a", "x\n");
    let text = fs::read(&place).unwrap();
    lab.delete("a");
    lab.brain.as_ref().unwrap().files.flush_outbox().unwrap();
    fs::write(&place, &text).unwrap();
    lab.clock.turn(73 * HOUR);
    assert_eq!(lab.purge(), 1);
    assert_eq!(fs::read(&place).unwrap(), text, "somebody put it there after the delete");
    assert!(!lab.trash("a").exists());
}

#[test]
fn the_purge_touches_no_file_of_a_source_that_was_removed_and_came_back() {
    let lab = Lab::new("2026-11-21T10:00:00Z");
    let dir = lab.dir.path().canonicalize().unwrap().join("work");
    fs::create_dir(&dir).unwrap();
    let id = SourceId::parse("work").unwrap();
    let add = || {
        let path = dir.display().to_string();
        lab.ask(Request::SourceAdd(SourceAdd { id: id.clone(), path })).unwrap();
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
    lab.ask(Request::Put(put)).unwrap();
    let text = fs::read(dir.join("a.md")).unwrap();
    lab.ask(Request::SourceRemove(SourceRemove { id: id.clone(), yes: true })).unwrap();
    add();
    lab.clock.turn(73 * HOUR);
    assert_eq!(lab.purge(), 1);
    assert_eq!(fs::read(dir.join("a.md")).unwrap(), text);
}

/// Obsidian has a `.trash` in the vault, too.
#[test]
fn the_purge_leaves_what_another_program_put_into_the_trash_of_a_source() {
    let lab = Lab::new("2026-01-10T12:00:00Z");
    let dir = lab.dir.path().join("vault");
    let names = ["by-hand.md", "by-brain.md", "kept.md"];
    fs::create_dir_all(dir.join(".trash")).unwrap();
    for name in names {
        fs::write(dir.join(name), "mine\n").unwrap();
    }
    let id = SourceId::parse("vault").unwrap();
    let path = dir.to_str().unwrap().to_owned();
    lab.ask(Request::SourceAdd(SourceAdd { id: id.clone(), path })).unwrap();
    let sync = || {
        let source = Some(id.clone());
        let (all, pull, embed, dry_run, full, yes) = (false, false, false, false, false, false);
        let sync = Sync { source, all, pull, embed, dry_run, full, yes };
        let Reply::Sync(reply) = lab.ask(Request::Sync(sync)).unwrap() else { panic!() };
        reply.sources[0].clone()
    };
    assert_eq!(sync().added, 3);
    lab.ask(Request::Delete(PageRef { source: Some(id.clone()), ..page("by-brain") }.into()))
        .unwrap();
    fs::rename(dir.join("by-hand.md"), dir.join(".trash/by-hand.md")).unwrap();
    assert_eq!(sync().removed, 1);
    lab.brain.as_ref().unwrap().files.flush_outbox().unwrap();
    lab.clock.turn(73 * HOUR);
    assert_eq!(lab.purge(), 2);
    assert!(!dir.join(".trash/by-brain.md").exists(), "what brain sent there goes");
    assert_eq!(fs::read(dir.join(".trash/by-hand.md")).unwrap(), b"mine\n");
    // Nor is it taken for the former version of a page that is written anew.
    fs::copy(dir.join("kept.md"), dir.join(".trash/kept.md")).unwrap();
    let kept = PageRef { source: Some(id.clone()), ..page("kept") };
    let put = Put {
        page: kept,
        content: "other\n".into(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    lab.ask(Request::Put(put)).unwrap();
    assert!(fs::read_to_string(dir.join("kept.md")).unwrap().ends_with("other\n"));
    assert_eq!(fs::read(dir.join(".trash/kept.md")).unwrap(), b"mine\n");
}

#[test]
fn the_purge_waits_for_a_file_that_cannot_be_moved_to_the_trash() {
    let lab = Lab::new("2026-01-10T12:00:00Z");
    let dir = lab.dir.path().join("vault");
    fs::create_dir(&dir).unwrap();
    // More than one batch of the purge cannot be moved, and they are the first in turn.
    let stuck: Vec<String> = (0..210).map(|n| format!("n{n}")).collect();
    for slug in &stuck {
        fs::write(dir.join(format!("{slug}.md")), format!("mine {slug}\n")).unwrap();
    }
    let id = SourceId::parse("vault").unwrap();
    let path = dir.to_str().unwrap().to_owned();
    lab.ask(Request::SourceAdd(SourceAdd { id: id.clone(), path })).unwrap();
    let sync = || {
        let source = Some(id.clone());
        let (all, pull, embed, dry_run, full, yes) = (false, false, false, false, true, false);
        let sync = Sync { source, all, pull, embed, dry_run, full, yes };
        let Reply::Sync(reply) = lab.ask(Request::Sync(sync)).unwrap() else { panic!() };
        reply.sources[0].added
    };
    let in_vault = |slug: &str| PageRef { source: Some(id.clone()), ..page(slug) };
    assert_eq!(sync(), 210);
    fs::write(dir.join(".trash"), "not a directory").unwrap();
    for slug in &stuck {
        let Reply::Delete(reply) = lab.ask(Request::Delete(in_vault(slug).into())).unwrap() else {
            panic!()
        };
        assert!(!reply.warnings.is_empty(), "its file stays");
    }
    lab.clock.turn(1);
    lab.put("other", "x\n");
    lab.delete("other");
    lab.clock.turn(73 * HOUR);
    assert_eq!(lab.purge(), 1, "those that wait are in nobody's way");
    assert!(!lab.trash("other").exists());
    assert_eq!(sync(), 0, "nothing comes back");
    let get = Get { page: in_vault("n0"), version: None };
    assert!(lab.ask(Request::Get(get)).is_err());
    assert!(
        lab.ask(Request::Restore(in_vault("n0").into())).is_err(),
        "its time is over all the same"
    );
    assert!(dir.join("n0.md").exists());

    fs::remove_file(dir.join(".trash")).unwrap();
    let brain = lab.brain.as_ref().unwrap();
    assert_eq!(brain.files.replay_outbox(), 0);
    brain.files.flush_outbox().unwrap();
    assert_eq!(lab.purge(), 210);
    brain.files.flush_outbox().unwrap();
    assert!(stuck.iter().all(|slug| !dir.join(format!("{slug}.md")).exists()));
    assert!(!dir.join(".trash/n0.md").exists());
    assert_eq!(
        (lab.deleted(), sync(), brain.files.replay_outbox()),
        (0, 0, 0),
        "nothing is left to do"
    );
}

/// The watcher takes in a large removal in small parts.
#[test]
fn many_removals_in_small_parts_wait_for_a_word_too() {
    let lab = Lab::new("2026-01-10T12:00:00Z");
    let dir = lab.dir.path().join("notes");
    fs::create_dir_all(&dir).unwrap();
    let place = |n: usize| dir.join(format!("n{n}.md"));
    for n in 0..60 {
        fs::write(place(n), format!("note {n}\n")).unwrap();
    }
    let id = SourceId::parse("notes").unwrap();
    let path = dir.to_str().unwrap().to_owned();
    lab.ask(Request::SourceAdd(SourceAdd { id: id.clone(), path })).unwrap();
    let brain = lab.brain.as_ref().unwrap();
    assert_eq!(brain.sync.sync_paths(&id, std::slice::from_ref(&dir)).unwrap().added, 60);
    let remove = |numbers: std::ops::Range<usize>| {
        let places: Vec<_> = numbers.map(place).collect();
        places.iter().for_each(|place| fs::remove_file(place).unwrap());
        let report = brain.sync.sync_paths(&id, &places).unwrap();
        (report.removed, report.held_back)
    };
    assert_eq!(remove(0..15), (15, 0));
    assert_eq!(remove(15..30), (0, 15));
    lab.clock.turn(11 * 60 * 1000);
    assert_eq!(
        remove(30..35),
        (5, 15),
        "much later is another matter, and those that waited wait on"
    );
    let report = brain.sync.sync_paths(&id, std::slice::from_ref(&dir)).unwrap();
    assert_eq!(
        (report.removed, report.held_back),
        (15, 0),
        "a look at everything finds them few enough"
    );
}

#[test]
fn search_knows_when_a_page_was_changed() {
    let lab = Lab::new("2026-01-10T12:00:00Z");
    lab.put("january", "common walrus");
    lab.clock.turn(31 * 24 * HOUR);
    lab.put("february", "common walrus");
    let ask = |since: Option<&str>, until: Option<&str>| {
        let text = |t: Option<&str>| t.map(str::to_owned);
        let mut found = lab.search(Search {
            query: "walrus".into(),
            limit: 10,
            since: text(since),
            until: text(until),
            ..Search::default()
        });
        found.sort();
        found
    };
    assert_eq!(ask(None, None), ["february", "january"]);
    assert_eq!(ask(Some("2026-02-01"), None), ["february"]);
    assert_eq!(ask(None, Some("2026-01-10")), ["january"], "the last day counts whole");
    assert_eq!(ask(Some("2026-01-10"), Some("2026-02-10")), ["february", "january"]);
    assert_eq!(
        ask(Some("2026-01-10T12:00:00.001Z"), Some("2026-02-10T11:59:59Z")),
        Vec::<String>::new()
    );
    lab.clock.turn(31 * 24 * HOUR);
    let link = Link {
        from: page("january"),
        to: Slug::parse("february").unwrap(),
        kind: "related".into(),
        remove: false,
    };
    lab.ask(Request::Link(link)).unwrap();
    assert_eq!(ask(Some("2026-03-01"), None), ["january"], "a changed link is a change");
}

#[test]
fn the_doctor_notices_a_clock_that_went_back() {
    let lab = Lab::new("2026-11-21T10:00:00Z");
    lab.put("a", "x\n");
    let status = |lab: &Lab| {
        let Reply::Doctor(reply) = lab.ask(Request::Doctor(Doctor { fix: false })).unwrap() else {
            panic!()
        };
        reply.checks.into_iter().find(|c| c.name == "clock").unwrap().status
    };
    assert_eq!(status(&lab), brain_protocol::CheckStatus::Ok);
    lab.clock.turn(-48 * HOUR);
    assert_eq!(status(&lab), brain_protocol::CheckStatus::Warn);
    lab.put("b", "writing goes on\n");
    assert_eq!(lab.get("b").unwrap(), "writing goes on\n");
}
