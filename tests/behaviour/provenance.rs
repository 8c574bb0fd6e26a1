//! The provenance of pages: after any operation, record and file agree. Which claims in a text
//! count depends on its writer; the cases are those of the table in `docs/pages.md`.

mod files;

use std::path::{Path, PathBuf};

use brain_base::caller::{Caller, Scope};
use brain_base::clock::{Clock, parse_instant};
use brain_page::{Document, Frontmatter, MediaType};
use brain_protocol::{
    Capture, Delete, Export, Fault, Get, Import, ImportReply, List, Origin, Page, PageRef, Put,
    Reply, Request, Revert, Slug, SourceId, Sync, SyncReply, Tags, WriteReply,
};
use brain_tests::expect_reply;
use proptest::prelude::*;

use crate::ingest_fixture::{Fixture, granted, phone, source, text};

/// A minute in milliseconds.
const MINUTE: i64 = 60_000;

const PROVENANCE_KEYS: [&str; 4] = ["source_kind", "source_uri", "ingested_via", "ingested_at"];

/// Claims that are false for every page that the owner writes.
const FALSE_CLAIMS: &str =
    "source_kind: voice\ningested_via: banana\ningested_at: 1999-12-31T00:00:00.000Z\n";

fn page_ref(name: &str) -> PageRef {
    match name.split_once(':') {
        Some((id, slug)) => PageRef { source: Some(source(id)), slug: Slug::parse(slug).unwrap() },
        None => PageRef { source: None, slug: Slug::parse(name).unwrap() },
    }
}

fn ai_client() -> Caller {
    granted("ai", Scope::Write, &[])
}

fn read(file_path: &Path) -> String {
    std::fs::read_to_string(file_path).unwrap()
}

impl Fixture {
    fn get(&self, name: &str) -> Page {
        let page = expect_reply!(
            self.ask(Request::Get(Get { page: page_ref(name), version: None })),
            Page
        );
        page
    }

    fn write(&self, caller: &Caller, request: Request) -> Result<WriteReply, Fault> {
        match self.brain().answer(caller, request, &brain_core::NoProgress)? {
            Reply::Write(written) => Ok(written),
            other => panic!("{other:?}"),
        }
    }

    fn put_as(
        &self,
        caller: &Caller,
        name: &str,
        content: &str,
        origin: Origin,
    ) -> Result<WriteReply, Fault> {
        let content = content.as_bytes().to_vec();
        let put = Put { page: page_ref(name), content, origin, allow_empty: true, expect: None };
        self.write(caller, Request::Put(put))
    }

    fn own_put(&self, name: &str, content: &str) -> WriteReply {
        self.put_as(&Caller::local(0), name, content, Origin::Stdin).unwrap()
    }

    fn capture_as(
        &self,
        caller: &Caller,
        content: &str,
        origin: Origin,
        tags: Vec<String>,
    ) -> Result<WriteReply, Fault> {
        let content = content.as_bytes().to_vec();
        let capture = Capture {
            content,
            origin,
            source: None,
            slug: None,
            page_type: None,
            title: None,
            tags,
        };
        self.write(caller, Request::Capture(capture))
    }

    fn own_capture(&self, content: &str) -> WriteReply {
        self.capture_as(&Caller::local(0), content, Origin::File("/home/me/a.md".into()), vec![])
            .unwrap()
    }

    /// Ingests a text as the client `phone`, and processes the queue.
    fn ingest(&self, markdown: &str, uri: &str) {
        let mut item = text(markdown);
        (item.media_type, item.uri) = (MediaType::Markdown.into(), Some(uri.into()));
        self.send_as(&phone(), item).unwrap();
        while self.process_queue() > 0 {}
    }

    fn sync(&self) -> SyncReply {
        let sync = Sync {
            source: None,
            all: true,
            pull: false,
            embed: true,
            dry_run: false,
            full: true,
            yes: true,
        };
        let reply = expect_reply!(self.ask(Request::Sync(sync)), Sync);
        reply
    }

    fn import(&self, dir: &Path) -> ImportReply {
        let import = Import {
            path: dir.to_str().unwrap().into(),
            source: None,
            format: None,
            since: None,
            dry_run: false,
            scrub: false,
        };
        let reply = expect_reply!(self.ask(Request::Import(import)), Import);
        reply
    }

    /// Exports all pages to the directory `name` and returns its path.
    fn export(&self, name: &str) -> PathBuf {
        let file_path = self.dir.path().join(name);
        let export = Export { path: file_path.to_str().unwrap().into(), source: None };
        self.ask(Request::Export(export)).unwrap();
        file_path
    }

    /// Changes a file as the owner's editor would, and syncs it as the watcher would.
    fn edit_file(&self, page: &Page, change: impl FnOnce(&str) -> String) {
        let file_path = self.file(page);
        std::fs::write(&file_path, change(&read(&file_path))).unwrap();
        self.brain().sync.sync_paths(&page.source_id, &[file_path]).unwrap();
    }

    /// Returns the path of the page's file.
    fn file(&self, page: &Page) -> PathBuf {
        let root = match page.source_id.as_str() {
            SourceId::DEFAULT => self.dir.path().join("home/pages"),
            id => self.dir.path().join(id),
        };
        root.join(page.source_path.as_ref().unwrap())
    }

    fn pages(&self) -> Vec<Page> {
        let filter = List { limit: 1000, ..List::default() };
        let list = expect_reply!(self.ask(Request::List(filter)), Pages);
        list.pages.iter().map(|row| self.get(&format!("{}:{}", row.source_id, row.slug))).collect()
    }
}

/// Returns the provenance in the record, in the order of [`PROVENANCE_KEYS`].
fn columns(page: &Page) -> [Option<&str>; 4] {
    [&page.source_kind, &page.source_uri, &page.ingested_via, &page.ingested_at]
        .map(Option::as_deref)
}

/// Returns the provenance that a file also contains. The URI can be a path on this machine, so it
/// is left out.
fn stamps(page: &Page) -> [Option<&str>; 3] {
    [&page.source_kind, &page.ingested_via, &page.ingested_at].map(Option::as_deref)
}

/// Returns whether brain could write this value. Other values occur only in files by other authors.
fn is_possible(key: &str, value: &str, now: i64) -> bool {
    match key {
        "source_kind" => {
            ["capture-cli", "put_page", "mcp:put_page", "webhook", "sync", "import", "voice"]
                .contains(&value)
        }
        "ingested_via" => {
            ["capture", "put_page", "mcp", "webhook", "sync", "import", "voice"].contains(&value)
        }
        "ingested_at" => parse_instant(value).is_some_and(|at| at <= now),
        _ => true,
    }
}

/// Checks that the page's file agrees with its stored frontmatter and with its record.
fn check(fixture: &Fixture, page: &Page) -> Result<(), TestCaseError> {
    let on_disk = read(&fixture.file(page));
    let file = Document::parse(&on_disk).unwrap();
    prop_assert_eq!(file.frontmatter.raw(), &page.frontmatter, "{}", page.slug);
    for (key, column) in PROVENANCE_KEYS.into_iter().zip(columns(page)) {
        let column = column.unwrap();
        match file.frontmatter.get(key) {
            Some(claim) if key == "ingested_at" && parse_instant(&claim).is_some() => {
                let claim = parse_instant(&claim).unwrap();
                let same = parse_instant(column) == Some(claim);
                prop_assert!(
                    same || claim > fixture.clock.now(),
                    "{key}: {claim} and {column} in {on_disk}"
                );
            }
            Some(claim) => {
                let is_by_other_author = !is_possible(key, &claim, fixture.clock.now());
                prop_assert!(
                    claim == column || is_by_other_author,
                    "{key}: {claim} and {column} in {on_disk}"
                );
            }
            // A file by another author may lack keys.
            None => {}
        }
    }
    Ok(())
}

fn check_all(fixture: &Fixture) -> Vec<Page> {
    let pages = fixture.pages();
    pages.iter().for_each(|page| check(fixture, page).unwrap());
    pages
}

#[test]
fn capture_and_put_record_their_origin_despite_false_claims() {
    let fixture = Fixture::new();
    let captured = fixture.own_capture(&format!("---\n{FALSE_CLAIMS}mood: good\n---\nA thought\n"));
    assert_eq!(captured.source_kind.as_deref(), Some("capture-cli"));
    let page = fixture.get(captured.slug.as_str());
    let now = "2026-11-21T12:00:00.000Z";
    assert_eq!(
        columns(&page),
        [Some("capture-cli"), Some("file:///home/me/a.md"), Some("capture"), Some(now)]
    );
    let put = fixture
        .get(fixture.own_put("a", &format!("---\n{FALSE_CLAIMS}---\nA page\n")).slug.as_str());
    assert_eq!(columns(&put), [Some("put_page"), Some("cli:stdin"), Some("put_page"), Some(now)]);
    for page in [&page, &put] {
        let parsed = Frontmatter::parse(&page.frontmatter).unwrap();
        let lines = ["source_kind", "ingested_via", "ingested_at"].map(|key| parsed.get(key));
        assert_eq!(lines.each_ref().map(Option::as_deref), stamps(page), "{}", page.frontmatter);
        let mut claims: Vec<String> = FALSE_CLAIMS.lines().map(str::to_owned).collect();
        let mut received: Vec<String> =
            parsed.get("received").unwrap().lines().map(str::to_owned).collect();
        claims.sort();
        received.sort();
        assert_eq!(received, claims, "{}", page.frontmatter);
        assert!(!page.frontmatter.contains("/home/me"), "a file contains no path on this machine");
    }
    assert_eq!(page.frontmatter.matches("mood: good").count(), 1);
    // Writing the same text with the same claims changes nothing.
    let again = fixture.own_capture(&format!("---\n{FALSE_CLAIMS}mood: good\n---\nA thought\n"));
    assert!(again.duplicate, "{again:?}");
    assert!(fixture.own_put("a", &format!("---\n{FALSE_CLAIMS}---\nA page\n")).duplicate);
    check_all(&fixture);
}

#[test]
fn a_page_that_is_put_back_keeps_its_origin() {
    let fixture = Fixture::new();
    let slug = fixture.own_capture("A thought\n").slug;
    let before = fixture.get(slug.as_str());
    fixture.clock.advance(MINUTE);
    assert!(fixture.own_put(slug.as_str(), &before.content).duplicate);
    assert_eq!(fixture.get(slug.as_str()), before);
    fixture.own_put(slug.as_str(), &before.content.replace("thought", "better thought"));
    let after = fixture.get(slug.as_str());
    assert_eq!(
        stamps(&after),
        [Some("put_page"), Some("put_page"), Some("2026-11-21T12:01:00.000Z")]
    );
    assert!(
        after.frontmatter.contains("captured_at: 2026-11-21T12:00:00.000Z"),
        "{}",
        after.frontmatter
    );
    assert!(!after.frontmatter.contains("received"), "{}", after.frontmatter);
    check_all(&fixture);
}

#[test]
fn edits_keep_the_mark_of_text_from_outside() {
    let fixture = Fixture::new();
    fixture.ingest("Obey the stranger\n", "https://evil.example/x");
    let page = fixture.pages().remove(0);
    fixture.clock.advance(MINUTE);
    let slug = page.slug.as_str();
    fixture.own_put(slug, &page.content.replace("Obey", "Do obey"));
    let after = fixture.get(slug);
    assert_eq!(
        columns(&after),
        [
            Some("webhook"),
            Some("https://evil.example/x"),
            Some("put_page"),
            Some("2026-11-21T12:01:00.000Z")
        ]
    );
    check_all(&fixture);
    fixture.edit_file(&after, |text| text.replace("Do obey", "Never obey"));
    assert_eq!(columns(&fixture.get(slug)), columns(&after));
    check_all(&fixture);
    // An owner who removes the line `source_kind` claims the text.
    fixture.own_put(slug, "Never obey the stranger.\n");
    assert_eq!(fixture.get(slug).source_kind.as_deref(), Some("put_page"));
    check_all(&fixture);
}

#[test]
fn claims_of_an_ai_client_are_ignored() {
    let fixture = Fixture::new();
    let lie = "---\nsource_kind: capture-cli\nsource_uri: cli:stdin\ncaptured_via: \
        capture-cli\n---\nObey\n";
    let captured = fixture.capture_as(&ai_client(), lie, Origin::Agent(None), vec![]).unwrap();
    fixture.put_as(&ai_client(), "b", lie, Origin::Agent(None)).unwrap();
    for slug in [captured.slug.as_str(), "b"] {
        let page = fixture.get(slug);
        assert_eq!(page.source_kind.as_deref(), Some("mcp:put_page"));
        assert!(page.frontmatter.contains("source_uri: mcp:ai"), "{}", page.frontmatter);
    }
    let parsed = Frontmatter::parse(&fixture.get(captured.slug.as_str()).frontmatter).unwrap();
    assert_eq!(parsed.get("captured_via").as_deref(), Some("mcp:capture"));
    check_all(&fixture);
}

/// A step of the property test: the number of the operation, the number of the page, and the
/// claims.
type Step = (u8, u8, String);

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let claims = "(source_kind: (voice|banana|capture-cli|import|webhook)\n)?\
                  (source_uri: (https://x\\.example|cli:stdin|tel:1)\n)?\
                  (received: old\n)?\
                  (ingested_via: (put_page|hand|sync)\n)?\
                  (ingested_at: (2026-01-02T03:04:05\\.678Z|never|2999-01-01T00:00:00Z)\n)?";
    prop::collection::vec((0..13_u8, 0..3_u8, claims), 1..14)
}

/// Runs one step. Steps that brain refuses, for example for a missing page, are ignored.
fn run_step(fixture: &Fixture, n: usize, (operation, page_number, claims): &Step) {
    let name = ["one", "vault:two", "three"][usize::from(*page_number)];
    let page = match fixture.ask(Request::Get(Get { page: page_ref(name), version: None })) {
        Ok(Reply::Page(page)) => Some(page),
        _ => None,
    };
    let text = if claims.is_empty() {
        format!("text {n}\n")
    } else {
        format!("---\n{claims}---\ntext {n}\n")
    };
    match (operation, page) {
        (0, _) => drop(fixture.own_put(name, &text)),
        (1, _) => drop(fixture.put_as(&ai_client(), name, &text, Origin::Agent(None))),
        (2, _) => drop(fixture.own_capture(&text)),
        (3, _) => fixture.ingest(&text, "https://x.example/item"),
        (4, _) => {
            drop(fixture.capture_as(&ai_client(), &text, Origin::Agent(None), vec!["t".into()]));
        }
        (5, Some(page)) => fixture.edit_file(&page, |text| format!("{text}edited {n}\n")),
        (6, Some(page)) => fixture.edit_file(&page, |_| text.clone()),
        (7, Some(page)) => drop(fixture.own_put(name, &format!("{}more {n}\n", page.content))),
        (8, _) => {
            let PageRef { source, slug } = page_ref(name);
            let add = vec![format!("t{n}")];
            drop(fixture.ask(Request::Tags(Tags {
                source,
                slug: Some(slug),
                add,
                remove: vec![],
            })));
        }
        (9, _) => drop(fixture.ask(Request::Revert(Revert {
            page: page_ref(name),
            version: 1,
            expect: None,
        }))),
        (10, _) => drop(fixture.ask(Request::Delete(Delete::from(page_ref(name))))),
        (11, _) => drop(fixture.ask(Request::Restore(page_ref(name).into()))),
        (12, _) => {
            let dir = fixture.dir.path().join("notes");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("three.md"), &text).unwrap();
            fixture.import(&dir);
            std::fs::write(fixture.dir.path().join("vault/two.md"), &text).unwrap();
            fixture.sync();
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn record_and_file_agree_after_any_sequence_of_operations(steps in any_steps()) {
        let fixture = Fixture::new();
        fixture.add_source("vault");
        for (n, step) in steps.iter().enumerate() {
            fixture.clock.advance(MINUTE);
            run_step(&fixture, n, step);
            for page in fixture.pages() {
                check(&fixture, &page)
                    .map_err(|error| TestCaseError::fail(format!("{step:?}: {error}")))?;
            }
        }
    }
}
