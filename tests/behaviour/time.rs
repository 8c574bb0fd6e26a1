//! Time limits with a mock clock: duplicates are recognised for 24 hours, and deleted pages can be
//! restored for 72 hours. Submodules: purges, and states of the past.

mod as_of;
mod purge;

use std::fs;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::{Clock, rfc3339};
use brain_core::{Brain, NoProgress};
use brain_protocol::{
    Capture, Doctor, Fault, FaultCode, Get, Link, List, Origin, PageRef, Put, Reply, Request,
    Search, Slug, SourceAdd, SourceId, SourceRemove, Sync, WriteReply, WriteStatus,
};

use crate::mock_clock::{HOUR, MockClock};
use brain_tests::expect_reply;

struct Fixture {
    dir: tempfile::TempDir,
    clock: MockClock,
    brain: Option<Arc<Brain>>,
}

impl Fixture {
    fn new(instant: &str) -> Self {
        let mut fixture =
            Self { dir: tempfile::tempdir().unwrap(), clock: MockClock::at(instant), brain: None };
        fixture.reopen();
        fixture
    }

    /// Closes the brain and opens it again.
    fn reopen(&mut self) {
        self.brain = None;
        self.brain = Some(self.clock.open_brain(self.dir.path(), 7));
    }

    fn ask(&self, request: Request) -> Result<Reply, Fault> {
        self.brain.as_ref().unwrap().answer(&Caller::local(0), request, &NoProgress)
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
        let written = expect_reply!(self.ask(Request::Capture(capture)), Write);
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
        let written = expect_reply!(self.ask(Request::Put(put)), Write);
        written
    }

    fn get(&self, slug: &str) -> Result<String, FaultCode> {
        match self.ask(Request::Get(Get { page: page(slug), version: None })) {
            Ok(Reply::Page(page)) => Ok(page.body),
            Ok(other) => panic!("{other:?}"),
            Err(fault) => Err(fault.code),
        }
    }

    /// Deletes a page. Returns the time until which it can be restored.
    fn delete(&self, slug: &str) -> String {
        let deleted = expect_reply!(self.ask(Request::Delete(page(slug).into())), Delete);
        deleted.recoverable_until
    }

    fn restore(&self, slug: &str) -> Result<(), FaultCode> {
        self.ask(Request::Restore(page(slug).into())).map(drop).map_err(|fault| fault.code)
    }

    /// Purges the pages that are due. Returns their number.
    fn purge(&self) -> usize {
        self.brain.as_ref().unwrap().pages.purge_due().unwrap()
    }

    fn deleted_count(&self) -> usize {
        let list = List { deleted: true, limit: 100, ..List::default() };
        let pages = expect_reply!(self.ask(Request::List(list)), Pages);
        pages.pages.len()
    }

    fn search(&self, search: Search) -> Vec<String> {
        let hits = expect_reply!(self.ask(Request::Search(search)), Hits);
        hits.hits.into_iter().map(|hit| hit.slug.to_string()).collect()
    }

    fn trash_file(&self, slug: &str) -> std::path::PathBuf {
        self.dir.path().join(format!("home/pages/.trash/{slug}.md"))
    }
}

fn page(slug: &str) -> PageRef {
    PageRef { source: None, slug: Slug::parse(slug).unwrap() }
}

#[test]
fn the_same_text_keeps_its_slug_across_midnight_for_24_hours() {
    let fixture = Fixture::new("2026-11-21T23:59:30Z");
    let first = fixture.capture("night thought");
    assert!(first.slug.as_str().starts_with("inbox/2026-11-21-"), "{}", first.slug);
    fixture.clock.advance(60_000);
    let after_midnight = fixture.capture("night thought");
    assert_eq!(
        (after_midnight.status, &after_midnight.slug),
        (WriteStatus::Unchanged, &first.slug)
    );
    assert_eq!(after_midnight.captured_at, first.captured_at);
    fixture.clock.advance(24 * HOUR - 60_000 - 1);
    assert_eq!(
        fixture.capture("night thought").slug,
        first.slug,
        "one millisecond before the 24 hours are over"
    );
    fixture.clock.advance(1);
    let next = fixture.capture("night thought");
    assert_eq!(next.status, WriteStatus::Created, "24 hours later it is a new page");
    assert!(next.slug.as_str().starts_with("inbox/2026-11-22-"), "{}", next.slug);
    assert_eq!(fixture.get(first.slug.as_str()).unwrap(), "night thought", "the first page stays");
}

#[test]
fn duplicates_are_recognised_after_a_restart() {
    let mut fixture = Fixture::new("2026-11-21T23:00:00Z");
    let first = fixture.capture("remembered");
    fixture.clock.advance(2 * HOUR);
    fixture.reopen();
    let duplicate = fixture.capture("remembered");
    assert_eq!(
        (duplicate.status, &duplicate.slug),
        (WriteStatus::Unchanged, &first.slug),
        "a copy of the next day is no new page"
    );
    fixture.clock.advance(23 * HOUR);
    fixture.reopen();
    let late = fixture.capture("remembered");
    assert_eq!(late.status, WriteStatus::Created);
    assert_ne!(late.slug, first.slug);
}

#[test]
fn a_changed_capture_is_no_duplicate() {
    let fixture = Fixture::new("2026-11-21T10:00:00Z");
    let first = fixture.capture("to be edited");
    fixture.put(first.slug.as_str(), "edited since");
    let second = fixture.capture("to be edited");
    assert_ne!(second.slug, first.slug, "nothing is overwritten by accident");
    assert_eq!(fixture.get(first.slug.as_str()).unwrap(), "edited since");
    assert_eq!(fixture.get(second.slug.as_str()).unwrap(), "to be edited");
}

#[test]
fn a_page_can_be_restored_for_72_hours() {
    let fixture = Fixture::new("2026-11-21T10:00:00Z");
    fixture.put("a", "text\n");
    let until = fixture.delete("a");
    assert_eq!(until, rfc3339(fixture.clock.now() + 72 * HOUR));
    fixture.clock.advance(72 * HOUR - 1);
    assert_eq!(fixture.purge(), 0, "no purge before the time limit");
    assert_eq!(fixture.restore("a"), Ok(()));
    assert_eq!(fixture.get("a").unwrap(), "text\n");
    fixture.delete("a");
    fixture.clock.advance(72 * HOUR);
    assert_eq!(
        fixture.restore("a"),
        Err(FaultCode::NotFound),
        "an expired page cannot be restored, even before the purge"
    );
}

#[test]
fn a_second_delete_starts_the_72_hours_again() {
    let fixture = Fixture::new("2026-11-21T10:00:00Z");
    fixture.put("a", "x\n");
    fixture.delete("a");
    fixture.clock.advance(50 * HOUR);
    fixture.restore("a").unwrap();
    fixture.delete("a");
    fixture.clock.advance(50 * HOUR);
    assert_eq!(fixture.purge(), 0);
    assert_eq!(fixture.restore("a"), Ok(()));
}

/// The watcher handles a large removal in small parts.
#[test]
fn many_removals_in_small_parts_wait_for_a_confirmation() {
    let fixture = Fixture::new("2026-01-10T12:00:00Z");
    let dir = fixture.dir.path().join("notes");
    fs::create_dir_all(&dir).unwrap();
    let file_path = |n: usize| dir.join(format!("n{n}.md"));
    for n in 0..60 {
        fs::write(file_path(n), format!("note {n}\n")).unwrap();
    }
    let id = SourceId::parse("notes").unwrap();
    let path = dir.to_str().unwrap().to_owned();
    fixture
        .ask(Request::SourceAdd(SourceAdd { id: id.clone(), path, settings: Default::default() }))
        .unwrap();
    let brain = fixture.brain.as_ref().unwrap();
    assert_eq!(brain.sync.sync_paths(&id, std::slice::from_ref(&dir)).unwrap().added, 60);
    let remove = |numbers: std::ops::Range<usize>| {
        let paths: Vec<_> = numbers.map(file_path).collect();
        paths.iter().for_each(|path| fs::remove_file(path).unwrap());
        let report = brain.sync.sync_paths(&id, &paths).unwrap();
        (report.removed, report.held_back)
    };
    assert_eq!(remove(0..15), (15, 0));
    assert_eq!(remove(15..30), (0, 15));
    fixture.clock.advance(11 * 60 * 1000);
    assert_eq!(
        remove(30..35),
        (5, 15),
        "the removals of another period are counted separately, and held ones stay held"
    );
    let report = brain.sync.sync_paths(&id, std::slice::from_ref(&dir)).unwrap();
    assert_eq!(
        (report.removed, report.held_back),
        (15, 0),
        "a full sync applies them, because their share of all files is small"
    );
}

#[test]
fn search_filters_by_the_time_of_the_last_change() {
    let fixture = Fixture::new("2026-01-10T12:00:00Z");
    fixture.put("january", "common walrus");
    fixture.clock.advance(31 * 24 * HOUR);
    fixture.put("february", "common walrus");
    let search = |since: Option<&str>, until: Option<&str>| {
        let owned = |time: Option<&str>| time.map(str::to_owned);
        let mut found = fixture.search(Search {
            query: "walrus".into(),
            limit: 10,
            since: owned(since),
            until: owned(until),
            ..Search::default()
        });
        found.sort();
        found
    };
    assert_eq!(search(None, None), ["february", "january"]);
    assert_eq!(search(Some("2026-02-01"), None), ["february"]);
    assert_eq!(search(None, Some("2026-01-10")), ["january"], "the whole last day is included");
    assert_eq!(search(Some("2026-01-10"), Some("2026-02-10")), ["february", "january"]);
    assert_eq!(
        search(Some("2026-01-10T12:00:00.001Z"), Some("2026-02-10T11:59:59Z")),
        Vec::<String>::new()
    );
    fixture.clock.advance(31 * 24 * HOUR);
    let link = Link {
        from: page("january"),
        to: Slug::parse("february").unwrap(),
        kind: "related".into(),
        remove: false,
        to_source: None,
    };
    fixture.ask(Request::Link(link)).unwrap();
    assert_eq!(
        search(Some("2026-03-01"), None),
        Vec::<String>::new(),
        "a new link is no change of the text"
    );
    fixture.put("january", "common walrus, again");
    assert_eq!(search(Some("2026-03-01"), None), ["january"]);
}

#[test]
fn the_doctor_reports_a_clock_that_was_set_back() {
    let fixture = Fixture::new("2026-11-21T10:00:00Z");
    fixture.put("a", "x\n");
    let status = |fixture: &Fixture| {
        let reply = expect_reply!(fixture.ask(Request::Doctor(Doctor { fix: false })), Doctor);
        reply.checks.into_iter().find(|c| c.name == "clock").unwrap().status
    };
    assert_eq!(status(&fixture), brain_protocol::CheckStatus::Ok);
    fixture.clock.advance(-48 * HOUR);
    assert_eq!(status(&fixture), brain_protocol::CheckStatus::Warn);
    fixture.put("b", "writing goes on\n");
    assert_eq!(fixture.get("b").unwrap(), "writing goes on\n");
}
