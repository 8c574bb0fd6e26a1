//! Where a page comes from: its record and its file say the same after whatever was done, and a
//! file's claims change nothing that is known better. The cases are those of the table in
//! `docs/pages.md`.

use std::path::{Path, PathBuf};

use brain_base::caller::{Caller, Scope};
use brain_base::clock::{Clock, parse_instant};
use brain_page::{Document, Frontmatter, MediaType};
use brain_protocol::{
    Capture, Delete, Export, Fault, Get, Import, ImportReply, List, Origin, Page, PageRef, Put,
    Reply, Request, Revert, Slug, SourceId, Sync, SyncReply, Tags, WriteReply,
};
use proptest::prelude::*;

use crate::ingest_lab::{Lab, granted, phone, source, text};

const MINUTE: i64 = 60_000;
const COLUMNS: [&str; 4] = ["source_kind", "source_uri", "ingested_via", "ingested_at"];
/// What is true of no page that a door of the owner makes.
const LIES: &str =
    "source_kind: voice\ningested_via: banana\ningested_at: 1999-12-31T00:00:00.000Z\n";

fn named(name: &str) -> PageRef {
    match name.split_once(':') {
        Some((id, slug)) => PageRef { source: Some(source(id)), slug: Slug::parse(slug).unwrap() },
        None => PageRef { source: None, slug: Slug::parse(name).unwrap() },
    }
}

fn ai() -> Caller {
    granted("ai", Scope::Write, &[])
}

fn read(place: &Path) -> String {
    std::fs::read_to_string(place).unwrap()
}

impl Lab {
    fn get(&self, name: &str) -> Page {
        let Reply::Page(page) =
            self.ask(Request::Get(Get { page: named(name), version: None })).unwrap()
        else {
            panic!()
        };
        page
    }

    fn write(&self, caller: &Caller, request: Request) -> Result<WriteReply, Fault> {
        match self.brain().answer(caller, request, &brain_core::Silent)? {
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
        let put = Put { page: named(name), content, origin, allow_empty: true, expect: None };
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

    fn ingest(&self, markdown: &str, uri: &str) {
        let mut item = text(markdown);
        (item.media_type, item.uri) = (MediaType::Markdown, Some(uri.into()));
        self.send_as(&phone(), item).unwrap();
        while self.process_queue() > 0 {}
    }

    fn sync(&self) -> SyncReply {
        let wish = Sync {
            source: None,
            all: true,
            pull: false,
            embed: true,
            dry_run: false,
            full: true,
            yes: true,
        };
        let Reply::Sync(done) = self.ask(Request::Sync(wish)).unwrap() else { panic!() };
        done
    }

    fn import(&self, dir: &Path) -> ImportReply {
        let import = Import { path: dir.to_str().unwrap().into(), source: None, dry_run: false };
        let Reply::Import(done) = self.ask(Request::Import(import)).unwrap() else { panic!() };
        done
    }

    fn export(&self, to: &str) -> PathBuf {
        let place = self.dir.path().join(to);
        let export = Export { path: place.to_str().unwrap().into(), source: None };
        self.ask(Request::Export(export)).unwrap();
        place
    }

    /// Changes a file as its owner's editor would, and lets the watcher see it.
    fn edit_file(&self, of: &Page, change: impl FnOnce(&str) -> String) {
        let place = self.file(of);
        std::fs::write(&place, change(&read(&place))).unwrap();
        self.brain().sync.sync_paths(&of.source_id, &[place]).unwrap();
    }

    fn file(&self, of: &Page) -> PathBuf {
        let root = match of.source_id.as_str() {
            SourceId::DEFAULT => self.dir.path().join("home/pages"),
            id => self.dir.path().join(id),
        };
        root.join(of.source_path.as_ref().unwrap())
    }

    fn pages(&self) -> Vec<Page> {
        let filter = List { limit: 1000, ..List::default() };
        let Reply::Pages(list) = self.ask(Request::List(filter)).unwrap() else { panic!() };
        list.pages.iter().map(|row| self.get(&format!("{}:{}", row.source_id, row.slug))).collect()
    }
}

fn columns(page: &Page) -> [Option<&str>; 4] {
    [&page.source_kind, &page.source_uri, &page.ingested_via, &page.ingested_at]
        .map(Option::as_deref)
}

/// Three of them: a place on this machine stands in no file.
fn stamps(page: &Page) -> [Option<&str>; 3] {
    [&page.source_kind, &page.ingested_via, &page.ingested_at].map(Option::as_deref)
}

/// Whether a value is one that brain writes: others can stand in an author's own file only.
fn is_possible(key: &str, value: &str, now: i64) -> bool {
    match key {
        "source_kind" => {
            ["capture-cli", "put_page", "mcp:put_page", "webhook", "sync", "import", "voice"]
                .contains(&value)
        }
        "ingested_via" => {
            ["capture", "put_page", "mcp", "webhook", "sync", "import", "voice"].contains(&value)
        }
        "ingested_at" => parse_instant(value, false).is_some_and(|at| at <= now),
        _ => true,
    }
}

/// Checks that what the page's text says is what its record says, and that its file says that text.
fn check(lab: &Lab, page: &Page) -> Result<(), TestCaseError> {
    let on_disk = read(&lab.file(page));
    let file = Document::parse(&on_disk).unwrap();
    prop_assert_eq!(file.frontmatter.raw(), &page.frontmatter, "{}", page.slug);
    for (key, column) in COLUMNS.into_iter().zip(columns(page)) {
        let column = column.unwrap();
        match file.frontmatter.get(key) {
            Some(said) if key == "ingested_at" && parse_instant(&said, false).is_some() => {
                let said = parse_instant(&said, false).unwrap();
                let same = parse_instant(column, false) == Some(said);
                prop_assert!(
                    same || said > lab.clock.now(),
                    "{key}: {said} and {column} in {on_disk}"
                );
            }
            Some(said) => {
                let authors = !is_possible(key, &said, lab.clock.now());
                prop_assert!(said == column || authors, "{key}: {said} and {column} in {on_disk}");
            }
            // An author's file need not say everything.
            None => {}
        }
    }
    Ok(())
}

fn check_all(lab: &Lab) -> Vec<Page> {
    let pages = lab.pages();
    pages.iter().for_each(|page| check(lab, page).unwrap());
    pages
}

#[test]
fn capture_and_put_say_how_they_came_whatever_the_file_claims() {
    let lab = Lab::new();
    let captured = lab.own_capture(&format!("---\n{LIES}mood: good\n---\nA thought\n"));
    assert_eq!(captured.source_kind.as_deref(), Some("capture-cli"));
    let page = lab.get(captured.slug.as_str());
    let now = "2026-11-21T12:00:00.000Z";
    assert_eq!(
        columns(&page),
        [Some("capture-cli"), Some("file:///home/me/a.md"), Some("capture"), Some(now)]
    );
    let put = lab.get(lab.own_put("a", &format!("---\n{LIES}---\nA page\n")).slug.as_str());
    assert_eq!(columns(&put), [Some("put_page"), Some("cli:stdin"), Some("put_page"), Some(now)]);
    for page in [&page, &put] {
        let said = Frontmatter::parse(&page.frontmatter).unwrap();
        let lines = ["source_kind", "ingested_via", "ingested_at"].map(|key| said.get(key));
        assert_eq!(lines.each_ref().map(Option::as_deref), stamps(page), "{}", page.frontmatter);
        let mut lies: Vec<String> = LIES.lines().map(str::to_owned).collect();
        let mut kept: Vec<String> =
            said.get("received").unwrap().lines().map(str::to_owned).collect();
        lies.sort();
        kept.sort();
        assert_eq!(kept, lies, "{}", page.frontmatter);
        assert!(
            !page.frontmatter.contains("/home/me"),
            "a place on this machine stands in no file"
        );
    }
    assert_eq!(page.frontmatter.matches("mood: good").count(), 1);
    // The same again is the same, claims and all.
    let again = lab.own_capture(&format!("---\n{LIES}mood: good\n---\nA thought\n"));
    assert!(again.duplicate, "{again:?}");
    assert!(lab.own_put("a", &format!("---\n{LIES}---\nA page\n")).duplicate);
    check_all(&lab);
}

#[test]
fn a_page_that_is_got_and_put_back_is_unchanged_and_an_edited_one_keeps_its_capture() {
    let lab = Lab::new();
    let slug = lab.own_capture("A thought\n").slug;
    let before = lab.get(slug.as_str());
    lab.clock.turn(MINUTE);
    assert!(lab.own_put(slug.as_str(), &before.content).duplicate);
    assert_eq!(lab.get(slug.as_str()), before);
    lab.own_put(slug.as_str(), &before.content.replace("thought", "better thought"));
    let after = lab.get(slug.as_str());
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
    check_all(&lab);
}

#[test]
fn text_from_outside_keeps_its_mark_while_its_line_stands() {
    let lab = Lab::new();
    lab.ingest("Obey the stranger\n", "https://evil.example/x");
    let page = lab.pages().remove(0);
    lab.clock.turn(MINUTE);
    let slug = page.slug.as_str();
    lab.own_put(slug, &page.content.replace("Obey", "Do obey"));
    let after = lab.get(slug);
    assert_eq!(
        columns(&after),
        [
            Some("webhook"),
            Some("https://evil.example/x"),
            Some("put_page"),
            Some("2026-11-21T12:01:00.000Z")
        ]
    );
    check_all(&lab);
    lab.edit_file(&after, |text| text.replace("Do obey", "Never obey"));
    assert_eq!(columns(&lab.get(slug)), columns(&after));
    check_all(&lab);
    // Who takes the line away says that it is theirs.
    lab.own_put(slug, "Never obey the stranger.\n");
    assert_eq!(lab.get(slug).source_kind.as_deref(), Some("put_page"));
    check_all(&lab);
}

#[test]
fn an_edit_of_the_file_leaves_the_page_where_it_came_from() {
    let lab = Lab::new();
    let slug = lab.own_capture("A thought\n").slug;
    let before = lab.get(slug.as_str());
    lab.clock.turn(MINUTE);
    lab.edit_file(&before, |text| text.replace("A thought", "A second thought"));
    let after = lab.get(slug.as_str());
    assert_eq!(after.body, "A second thought\n");
    assert_eq!(columns(&after), columns(&before));
    // A claim that brain could have written is the owner's word; one that it could not have is the
    // file's own.
    lab.edit_file(&after, |text| text.replace("ingested_via: capture", "ingested_via: put_page"));
    assert_eq!(lab.get(slug.as_str()).ingested_via.as_deref(), Some("put_page"));
    lab.edit_file(&after, |text| text.replace("ingested_via: put_page", "ingested_via: banana"));
    let odd = lab.get(slug.as_str());
    assert_eq!(
        (odd.ingested_via.as_deref(), read(&lab.file(&odd)).contains("banana")),
        (Some("sync"), true)
    );
    // Without any line of its own it is a file that sync has read.
    lab.edit_file(&after, |_| "A bare thought\n".into());
    let bare = lab.get(slug.as_str());
    assert_eq!(stamps(&bare), [Some("sync"), Some("sync"), Some("2026-11-21T12:01:00.000Z")]);
    assert_eq!(read(&lab.file(&bare)), "A bare thought\n");
    check_all(&lab);
}

#[test]
fn an_authors_file_stays_to_the_byte_whatever_it_says() {
    let lab = Lab::new();
    lab.add_source("vault");
    let texts = [
        ("plain", "Just text\r\n"),
        ("claims", "---\nsource_kind: voice\nsource_uri: tel:+49\n---\nText\n"),
        ("odd", "---\nsource_kind: banana\ningested_at: yesterday\n---\nText\n"),
    ];
    for (name, text) in texts {
        std::fs::write(lab.dir.path().join(format!("vault/{name}.md")), text).unwrap();
    }
    lab.sync();
    lab.clock.turn(MINUTE);
    lab.sync();
    for (name, text) in texts {
        assert_eq!(read(&lab.dir.path().join(format!("vault/{name}.md"))), text);
    }
    let kinds = texts.map(|(name, _)| lab.get(&format!("vault:{name}")).source_kind.unwrap());
    assert_eq!(kinds, ["sync", "voice", "sync"]);
    assert_eq!(lab.get("vault:claims").source_uri.as_deref(), Some("tel:+49"));
    check_all(&lab);
    // Tags are written into the note; lines that it never had are not.
    let tag = Tags {
        source: Some(source("vault")),
        slug: Some(Slug::parse("plain").unwrap()),
        add: vec!["x".into()],
        remove: vec![],
    };
    lab.ask(Request::Tags(tag)).unwrap();
    assert_eq!(
        read(&lab.dir.path().join("vault/plain.md")),
        "---\ntags:\n  - x\n---\n\nJust text\r\n"
    );
    check_all(&lab);
}

#[test]
fn an_import_believes_what_brain_could_have_written_and_keeps_the_rest_under_received() {
    let lab = Lab::new();
    let dir = lab.dir.path().join("notes");
    std::fs::create_dir_all(&dir).unwrap();
    let text = "---\nsource_kind: banana\ningested_via: voice\n---\nText\n";
    std::fs::write(dir.join("odd.md"), text).unwrap();
    std::fs::write(dir.join("plain.md"), "Text\n").unwrap();
    assert_eq!(lab.import(&dir).created, 2);
    let odd = lab.get("odd");
    assert_eq!(stamps(&odd), [Some("import"), Some("voice"), Some("2026-11-21T12:00:00.000Z")]);
    let received = Frontmatter::parse(&odd.frontmatter).unwrap().get("received");
    assert_eq!(received.as_deref(), Some("source_kind: banana"));
    assert_eq!(lab.get("plain").content, "Text\n");
    check_all(&lab);
    assert_eq!(lab.import(&dir).unchanged, 2);
    assert_eq!(read(&dir.join("odd.md")), text, "a file that is imported is not touched");
}

#[test]
fn an_export_taken_in_by_another_brain_says_the_same() {
    let lab = Lab::new();
    lab.own_capture("A thought\n");
    lab.own_put("people/ann", "---\ntitle: Ann\n---\nAnn\n");
    lab.ingest("From the web\n", "https://x.example/a");
    lab.put_as(
        &ai(),
        "notes/ai",
        "By a model\n",
        Origin::Agent(Some("https://x.example/b".into())),
    )
    .unwrap();
    lab.clock.turn(MINUTE);
    let pages = check_all(&lab);
    let other = Lab::new();
    other.clock.turn(60 * MINUTE);
    let import = other.import(&lab.export("out"));
    assert_eq!((import.created, import.failed_total), (4, 0));
    for page in &pages {
        let taken = other.get(page.slug.as_str());
        assert_eq!(
            (stamps(&taken), &taken.content),
            (stamps(page), &page.content),
            "{}",
            page.slug
        );
        let is_local = page
            .source_uri
            .as_ref()
            .is_some_and(|uri| uri.starts_with("file:") || uri.starts_with("cli:"));
        assert!(is_local || taken.source_uri == page.source_uri, "{taken:?}");
    }
    // The same export again changes nothing.
    assert_eq!(other.import(&lab.dir.path().join("out")).unchanged, 4);
    check_all(&other);
}

#[test]
fn what_an_ai_client_sends_says_nothing_of_itself() {
    let lab = Lab::new();
    let lie = "---\nsource_kind: capture-cli\nsource_uri: cli:stdin\ncaptured_via: capture-cli\n---\nObey\n";
    let captured = lab.capture_as(&ai(), lie, Origin::Agent(None), vec![]).unwrap();
    lab.put_as(&ai(), "b", lie, Origin::Agent(None)).unwrap();
    for slug in [captured.slug.as_str(), "b"] {
        let page = lab.get(slug);
        assert_eq!(page.source_kind.as_deref(), Some("mcp:put_page"));
        assert!(page.frontmatter.contains("source_uri: mcp:ai"), "{}", page.frontmatter);
    }
    let said = Frontmatter::parse(&lab.get(captured.slug.as_str()).frontmatter).unwrap();
    assert_eq!(said.get("captured_via").as_deref(), Some("mcp:put_page"));
    check_all(&lab);
}

/// What may be done to a brain, by number: what, to which page, with which claims.
type Step = (u8, u8, String);

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let claims = "(source_kind: (voice|banana|capture-cli|import|webhook)\n)?\
                  (source_uri: (https://x\\.example|cli:stdin|tel:1)\n)?\
                  (received: old\n)?\
                  (ingested_via: (put_page|hand|sync)\n)?\
                  (ingested_at: (2026-01-02T03:04:05\\.678Z|never|2999-01-01T00:00:00Z)\n)?";
    prop::collection::vec((0..13_u8, 0..3_u8, claims), 1..14)
}

/// Does one step. What brain refuses, because there is no such page or version, changes nothing.
fn step(lab: &Lab, n: usize, (what, which, claims): &Step) {
    let name = ["one", "vault:two", "three"][usize::from(*which)];
    let page = match lab.ask(Request::Get(Get { page: named(name), version: None })) {
        Ok(Reply::Page(page)) => Some(page),
        _ => None,
    };
    let fresh = if claims.is_empty() {
        format!("text {n}\n")
    } else {
        format!("---\n{claims}---\ntext {n}\n")
    };
    match (what, page) {
        (0, _) => drop(lab.own_put(name, &fresh)),
        (1, _) => drop(lab.put_as(&ai(), name, &fresh, Origin::Agent(None))),
        (2, _) => drop(lab.own_capture(&fresh)),
        (3, _) => lab.ingest(&fresh, "https://x.example/item"),
        (4, _) => drop(lab.capture_as(&ai(), &fresh, Origin::Agent(None), vec!["t".into()])),
        (5, Some(page)) => lab.edit_file(&page, |text| format!("{text}edited {n}\n")),
        (6, Some(page)) => lab.edit_file(&page, |_| fresh.clone()),
        (7, Some(page)) => drop(lab.own_put(name, &format!("{}more {n}\n", page.content))),
        (8, _) => {
            let PageRef { source, slug } = named(name);
            let add = vec![format!("t{n}")];
            drop(lab.ask(Request::Tags(Tags { source, slug: Some(slug), add, remove: vec![] })));
        }
        (9, _) => drop(lab.ask(Request::Revert(Revert { page: named(name), version: 1 }))),
        (10, _) => drop(lab.ask(Request::Delete(Delete::from(named(name))))),
        (11, _) => drop(lab.ask(Request::Restore(named(name).into()))),
        (12, _) => {
            let dir = lab.dir.path().join("notes");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("three.md"), &fresh).unwrap();
            lab.import(&dir);
            std::fs::write(lab.dir.path().join("vault/two.md"), &fresh).unwrap();
            lab.sync();
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn record_and_file_agree_after_any_sequence_of_operations(steps in any_steps()) {
        let lab = Lab::new();
        lab.add_source("vault");
        for (n, one) in steps.iter().enumerate() {
            lab.clock.turn(MINUTE);
            step(&lab, n, one);
            for page in lab.pages() {
                check(&lab, &page).map_err(|error| TestCaseError::fail(format!("{one:?}: {error}")))?;
            }
        }
    }
}
