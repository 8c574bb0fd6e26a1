//! States of the past: what brain had recorded at a time, by a clock that tests set.

use brain_core::{AnsweredCall, RecordedReply};
use brain_protocol::{
    AnswerSave, AsOf, AsOfReply, Backlinks, Changes, ChangesReply, CitedPage, Export, Fault,
    FaultCode, Get, Graph, LinkRow, Links, List, PastRequest, Purge, Rename, Reply, Request,
    Search, SeenOutcome, Timeline,
};
use brain_tests::expect_reply;

use super::{Fixture, page};
use crate::mock_clock::HOUR;

const MINUTE: i64 = 60 * 1000;

impl Fixture {
    fn as_of(&self, at: &str, request: impl Into<PastRequest>) -> Result<AsOfReply, Fault> {
        let request = AsOf { at: at.to_owned(), request: request.into() };
        match self.ask(Request::AsOf(request))? {
            Reply::AsOf(reply) => Ok(reply),
            other => panic!("{other:?}"),
        }
    }

    /// Returns name and body of a page at a time.
    fn page_at(&self, slug: &str, at: &str) -> Result<(String, String), FaultCode> {
        let reply = self.as_of(at, Get { page: page(slug), version: None });
        let reply = reply.map_err(|fault| fault.code)?;
        let found = expect_reply!(Ok::<_, Fault>(*reply.reply), Page);
        Ok((found.slug.to_string(), found.body))
    }

    /// Returns the slugs that a search found at a time, in order of the slugs.
    fn found_at(&self, query: &str, at: &str) -> Vec<String> {
        let search = Search { query: query.into(), limit: 50, ..Search::default() };
        let reply = self.as_of(at, search).unwrap();
        let hits = expect_reply!(Ok::<_, Fault>(*reply.reply), Hits);
        assert!(hits.note.unwrap().contains("by words"), "the part without vectors is named");
        let mut slugs: Vec<String> = hits.hits.iter().map(|hit| hit.slug.to_string()).collect();
        slugs.sort();
        slugs
    }

    fn listed_at(&self, tag: Option<&str>, at: &str) -> Vec<String> {
        let list = List { tag: tag.map(str::to_owned), limit: 50, ..List::default() };
        let reply = self.as_of(at, list).unwrap();
        let pages = expect_reply!(Ok::<_, Fault>(*reply.reply), Pages);
        let mut slugs: Vec<String> = pages.pages.iter().map(|page| page.slug.to_string()).collect();
        slugs.sort();
        slugs
    }

    /// Records a call of an AI client that was given the page.
    fn give_to_an_ai_client(&self, slug: &str) {
        let reply = self.ask(Request::Get(Get { page: page(slug), version: None }));
        let seen = &self.brain.as_ref().unwrap().seen;
        seen.record(AnsweredCall {
            client: "helm".into(),
            tool: "get_page".into(),
            request: Some("{}".into()),
            outcome: SeenOutcome::Answered,
            code: String::new(),
            form: 1,
            hash: [0; 16],
            bytes: 2,
            default_source: None,
            local_address: None,
            age: None,
            replies: vec![RecordedReply::of(&reply)],
        });
        seen.write().unwrap();
    }

    /// Saves an answer that cites the page.
    fn cite(&self, slug: &str) {
        let citations = vec![CitedPage { number: 1, page: page(slug), line: 1 }];
        let save = AnswerSave { question: "Which?".into(), answer: "This [1].".into(), citations };
        self.ask(Request::AnswerSave(save)).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        let request = Rename { page: page(from), to: page(to).slug };
        self.ask(Request::Rename(request)).unwrap();
    }

    fn changes(&self, since: &str, until: Option<&str>) -> ChangesReply {
        let request = Changes {
            since: since.into(),
            until: until.map(str::to_owned),
            limit: 100,
            ..Changes::default()
        };
        expect_reply!(self.ask(Request::Changes(request)), Changes)
    }
}

fn events(reply: &ChangesReply, slug: &str) -> Vec<String> {
    let is_it = |name: &Option<brain_protocol::Slug>| {
        name.as_ref().is_some_and(|name| name.as_str() == slug)
    };
    let found = reply.pages.iter().find(|page| is_it(&page.slug)).unwrap();
    found.steps.iter().map(|step| format!("{} {}", step.event, &step.by.at[11..16])).collect()
}

#[test]
fn a_day_is_its_end_as_of_and_its_start_since() {
    let f = Fixture::new("2027-03-15T09:00:00Z");
    f.put("plan", "morning\n");
    f.clock.advance(8 * HOUR);
    let at = |day: &str| f.page_at("plan", day).map(|found| found.1);
    assert_eq!(at("2027-03-15"), Ok("morning\n".into()), "the day counts in full");
    assert_eq!(at("2027-03-14"), Err(FaultCode::NotFound));
    assert_eq!(f.listed_at(None, "2027-03-14"), Vec::<String>::new());
    assert_eq!(events(&f.changes("2027-03-15", None), "plan"), ["created 09:00"]);
    // The end of today is now, and a later write changes no earlier answer.
    let reply = f.as_of("2027-03-15", Get { page: page("plan"), version: None }).unwrap();
    assert_eq!(reply.past.at, "2027-03-15T17:00:00.000Z");
    f.clock.advance(10 * HOUR);
    f.put("plan", "next day\n");
    assert_eq!(at("2027-03-15"), Ok("morning\n".into()));
    assert_eq!(f.changes("2027-03-15", Some("2027-03-15")).total, 1);
    assert_eq!(events(&f.changes("2027-03-16", None), "plan"), ["written 03:00"]);
}

#[test]
fn a_clock_that_goes_back_reorders_nothing() {
    let f = Fixture::new("2027-03-15T12:00:00Z");
    f.put("p", "v1\n");
    f.clock.advance(-HOUR);
    f.put("p", "v2\n");
    f.clock.advance(HOUR + 10 * MINUTE);
    f.put("p", "v3\n");
    let at = |time: &str| f.page_at("p", time).map(|found| found.1);
    assert_eq!(at("2027-03-15T11:30:00Z"), Err(FaultCode::NotFound));
    assert_eq!(at("2027-03-15T12:05:00Z"), Ok("v2\n".into()), "v2 counts as 12:00");
    assert_eq!(at("2027-03-15T12:10:00Z"), Ok("v3\n".into()));
    let changes = f.changes("2027-03-15T11:30:00Z", None);
    assert_eq!(events(&changes, "p"), ["created 12:00", "written 12:00", "written 12:10"]);
    let clock = changes.pages[0].steps[1].by.clock.as_deref();
    assert_eq!(clock, Some("2027-03-15T11:00:00.000Z"), "what the clock said is told");
    assert_eq!(f.found_at("v2", "2027-03-15T12:05:00Z"), ["p"]);
}

#[test]
fn a_clock_that_was_ahead_once_dates_only_what_it_saw() {
    let f = Fixture::new("2027-03-15T12:00:00Z");
    f.put("p", "v1\n");
    let year = 365 * 24 * HOUR;
    f.clock.advance(3 * year);
    f.put("p", "v2\n");
    f.clock.advance(-3 * year + HOUR);
    f.put("p", "v3\n");
    f.put("q", "new\n");
    f.clock.advance(HOUR);
    f.put("p", "v4\n");
    f.clock.advance(HOUR);
    let at = |time: &str| f.page_at("p", time).map(|found| found.1);
    assert_eq!(at("2027-03-15T12:30:00Z"), Ok("v1\n".into()));
    assert_eq!(at("2027-03-15T13:30:00Z"), Ok("v3\n".into()));
    assert_eq!(at("2027-03-15T14:30:00Z"), Ok("v4\n".into()));
    assert_eq!(f.found_at("v1", "2027-03-15T12:30:00Z"), ["p"]);
    assert_eq!(f.found_at("v3", "2027-03-15T13:30:00Z"), ["p"]);
    assert_eq!(f.listed_at(None, "2027-03-15T13:30:00Z"), ["p", "q"]);
    let changes = f.changes("2027-03-15T13:30:00Z", None);
    assert_eq!((changes.total, events(&changes, "p")), (1, vec!["written 14:00".into()]));
    let changes = f.changes("2027-03-15", None);
    let expected = ["created 12:00", "written 13:00", "written 13:00", "written 14:00"];
    assert_eq!(events(&changes, "p"), expected);
    let page = changes.pages.iter().find(|page| page.slug.as_ref().unwrap().as_str() == "p");
    let clocks: Vec<_> = page.unwrap().steps.iter().map(|step| step.by.clock.clone()).collect();
    let ahead = Some("2030-03-14T12:00:00.000Z".to_owned());
    assert_eq!(clocks, [None, ahead, None, None], "the date in the future is named");
    // When the time has come, the order still is that of the changes.
    f.clock.advance(4 * year);
    assert_eq!(at("2027-03-15T12:30:00Z"), Ok("v1\n".into()));
    assert_eq!(at("2031-01-01"), Ok("v4\n".into()));
}

/// What the brain answers now or at a time: hits with their titles, pages with a tag, and links to
/// a page, all sorted.
fn answers(f: &Fixture, at: Option<&str>) -> Vec<String> {
    let ask = |request: PastRequest| match at {
        Some(at) => f.as_of(at, request).map(|reply| *reply.reply),
        None => f.ask(match request {
            PastRequest::Search(search) => Request::Search(search),
            PastRequest::List(list) => Request::List(list),
            PastRequest::Backlinks(links) => Request::Backlinks(links),
            other => panic!("{other:?}"),
        }),
    };
    let mut found = Vec::new();
    for query in ["tide", "harbour", "n7", "what links to n3?"] {
        let search = Search { query: query.into(), limit: 200, ..Search::default() };
        let hits = expect_reply!(ask(search.into()), Hits).hits;
        let mut hits: Vec<_> = hits
            .iter()
            .map(|hit| format!("{query}: {} {} {}", hit.slug, hit.title, hit.snippet))
            .collect();
        hits.sort();
        found.extend(hits);
    }
    let list = List { tag: Some("odd".into()), limit: 200, ..List::default() };
    let pages = expect_reply!(ask(list.into()), Pages).pages;
    found.extend(pages.iter().map(|page| format!("odd: {} {:?}", page.slug, page.tags)));
    for slug in ["n3", "n5"] {
        let links = ask(Backlinks { page: page(slug) }.into()).map_err(|fault| fault.code);
        let links = links.map(|reply| expect_reply!(Ok::<_, Fault>(reply), Links).links);
        let slugs = |links: Vec<LinkRow>| {
            links.into_iter().filter_map(|link| link.slug).map(String::from).collect()
        };
        found.push(format!("to {slug}: {:?}", links.map(slugs) as Result<Vec<String>, FaultCode>));
    }
    found
}

#[test]
fn a_past_state_answers_as_the_present_did() {
    let f = Fixture::new("2027-03-15T12:00:00Z");
    let text = |n: usize, round: usize| {
        let word = if (n + round).is_multiple_of(3) { "tide" } else { "harbour" };
        let tag = if (n + round) % 2 == 1 { "odd" } else { "even" };
        let to = (n * 7 + round) % 20;
        format!(
            "---\ntags: [{tag}]\n---\n# Title {n} {round}\n\nThe {word} of n{to}, see [[n{to}]].\n"
        )
    };
    for n in 0..210 {
        f.put(&format!("n{n}"), &text(n, 0));
    }
    f.clock.advance(HOUR);
    let (time, before) = ("2027-03-15T12:30:00Z", answers(&f, None));
    assert!(before.len() > 150, "{}", before.len());
    // Few pages change: the state is made from a copy of the present.
    for n in (0..40).step_by(3) {
        f.put(&format!("n{n}"), &text(n, 1));
    }
    f.delete("n1");
    f.delete("n4");
    f.rename("n7", "moved");
    f.put("new", "tide harbour [[n3]]\n");
    f.put("n7", "---\ntags: [odd]\n---\nAnother tide.\n");
    f.clock.advance(HOUR);
    let (later, between) = ("2027-03-15T13:30:00Z", answers(&f, None));
    assert_eq!(answers(&f, Some(time)), before);
    assert_ne!(between, before);
    // All pages change: the state is made from the versions.
    for n in (0..210).filter(|n| ![1, 4].contains(n)) {
        f.put(&format!("n{n}"), &text(n, 2));
    }
    f.clock.advance(HOUR);
    assert_eq!(answers(&f, Some(time)), before);
    assert_eq!(answers(&f, Some(later)), between);
}

#[test]
fn deletions_words_tags_and_links_are_those_of_the_time() {
    let f = Fixture::new("2027-03-10T12:00:00Z");
    f.put("p1", "---\ntags: [sea]\n---\nThe tide comes. See [[target]].\n");
    f.put("p2", "# Former title\n\nThe tide goes. See [[target]].\n");
    f.put("p3", "Nothing wet.\n");
    f.put("target", "---\ntags: [sea]\n---\n- 2019-01-02 | an old day\n");
    let march = "2027-03-15";
    f.clock.advance(30 * 24 * HOUR);
    f.put("p2", "# Later title\n\nDry land.\n");
    f.clock.advance(30 * 24 * HOUR);
    f.delete("p1");
    f.put("p3", "The tide is here, too. [[target]]\n");
    f.put("target", "untagged\n");
    assert_eq!(f.found_at("tide", march), ["p1", "p2"]);
    assert_eq!(f.found_at("former title", march), ["p2"], "the title of that time");
    assert_eq!(f.listed_at(None, march), ["p1", "p2", "p3", "target"]);
    assert_eq!(f.listed_at(Some("sea"), march), ["p1", "target"]);
    let now = "2027-06-01";
    assert_eq!(f.found_at("tide", now), ["p3"]);
    assert_eq!(f.listed_at(Some("sea"), now), Vec::<String>::new());

    let links = |at: &str, request: PastRequest| {
        let reply = f.as_of(at, request).unwrap();
        let found = expect_reply!(Ok::<_, Fault>(*reply.reply), Links);
        let slugs = found.links.iter().filter_map(|link| link.slug.as_ref());
        let mut slugs: Vec<String> = slugs.map(ToString::to_string).collect();
        slugs.sort();
        slugs
    };
    assert_eq!(links(march, Backlinks { page: page("target") }.into()), ["p1", "p2"]);
    assert_eq!(links(now, Backlinks { page: page("target") }.into()), ["p3"]);
    assert_eq!(links(march, Links { page: page("p2") }.into()), ["target"]);
    let graph = Graph { page: page("target"), depth: 1, limit: 100 };
    let reply = f.as_of(march, graph).unwrap();
    let graph = expect_reply!(Ok::<_, Fault>(*reply.reply), Graph);
    assert_eq!(graph.nodes.len(), 3);
    let timeline =
        Timeline { source: None, slug: None, since: None, until: None, limit: 10, skip: 0 };
    let reply = f.as_of(march, timeline.clone()).unwrap();
    let lines = expect_reply!(Ok::<_, Fault>(*reply.reply), Timeline);
    assert_eq!(lines.entries.len(), 1, "what the page says of 2019 was recorded in March");
    let reply = f.as_of(now, timeline).unwrap();
    let lines = expect_reply!(Ok::<_, Fault>(*reply.reply), Timeline);
    assert_eq!(lines.entries.len(), 0);
    assert!(matches!(f.page_at("p1", now), Err(FaultCode::NotFound)), "it is deleted at that time");
}

#[test]
fn both_names_of_a_moved_page_find_it() {
    let f = Fixture::new("2027-03-01T12:00:00Z");
    f.put("notes/alpha", "v1\n");
    f.clock.advance(24 * HOUR);
    f.put("notes/alpha", "v2\n");
    f.clock.advance(24 * HOUR);
    f.rename("notes/alpha", "notes/beta");
    f.clock.advance(24 * HOUR);
    f.put("notes/beta", "v3\n");
    let (name, first) = ("notes/alpha".to_owned(), "2027-03-01");
    assert_eq!(f.page_at("notes/alpha", first), Ok((name.clone(), "v1\n".into())));
    assert_eq!(f.page_at("notes/beta", first), Ok((name.clone(), "v1\n".into())));
    let state = |slug: &str, at: &str| {
        let reply = f.as_of(at, Get { page: page(slug), version: None }).unwrap();
        let name = |name: Option<brain_protocol::PageRef>| name.map(|name| name.to_string());
        (name(reply.past.then_called), name(reply.past.now_called))
    };
    assert_eq!(state("notes/beta", first), (Some("notes/alpha".into()), None));
    assert_eq!(state("notes/alpha", first), (None, Some("notes/beta".into())));
    assert_eq!(f.page_at("notes/beta", "2027-03-03").unwrap().0, "notes/beta");
    assert_eq!(f.page_at("notes/beta", "2027-03-04").unwrap().1, "v3\n");
    assert_eq!(f.listed_at(None, first), ["notes/alpha"]);

    // A new page with the old name does not hide that which had it then.
    f.put("notes/alpha", "another page\n");
    assert_eq!(f.page_at("notes/alpha", first), Ok((name, "v1\n".into())));
    assert_eq!(f.page_at("notes/alpha", "2027-03-04").unwrap().1, "another page\n");
    let changes = f.changes("2027-03-03", None);
    let moved = changes.pages.iter().find(|page| page.former_slug.is_some()).unwrap();
    assert_eq!(moved.slug.as_ref().unwrap().as_str(), "notes/beta");
    // The text, and the time at which it came.
    assert_eq!((moved.added, moved.removed), (Some(2), Some(2)), "{moved:?}");
}

#[test]
fn a_purged_page_is_named_and_nothing_of_it_is_shown() {
    let f = Fixture::new("2027-03-01T12:00:00Z");
    f.put("x/key", "pin 4471\n");
    f.put("other", "kept\n");
    f.clock.advance(24 * HOUR);
    f.put("x/key", "no number\n");
    f.clock.advance(24 * HOUR);
    // A view with the text exists when it is purged.
    assert_eq!(f.found_at("4471", "2027-03-01"), ["x/key"]);
    f.ask(Request::Purge(Purge { page: page("x/key"), version: None })).unwrap();
    let views = f.dir.path().join("home/run/past");
    let left = std::fs::read_dir(views).map_or(0, Iterator::count);
    assert_eq!(left, 0, "copies of past states are removed");
    assert_eq!(f.page_at("x/key", "2027-03-01"), Err(FaultCode::Purged));
    assert_eq!(f.found_at("4471", "2027-03-01"), Vec::<String>::new());
    let reply = f.as_of("2027-03-01", List { limit: 9, ..List::default() }).unwrap();
    assert_eq!(reply.past.purged_since, 1);
    let changes = f.changes("2027-03-01", None);
    let text = format!("{changes:?}");
    assert!(!text.contains("4471") && !text.contains("x/key"), "{text}");
    assert!(changes.pages.iter().any(|page| page.slug.is_none()), "{text}");
}

#[test]
fn pruning_keeps_the_window_and_the_last_versions_of_days_months_and_years() {
    let mut f = Fixture::new("2026-01-10T12:00:00Z");
    let config = "[history]\nkeep = \"30d\"\n";
    std::fs::write(f.dir.path().join("home/config.toml"), config).unwrap();
    f.reopen();
    let day = 24 * HOUR;
    // Versions 1 and 2 on one day, then one each 20 days.
    f.put("a", "v1\n");
    f.clock.advance(HOUR);
    for version in 2..=30 {
        f.put("a", &format!("v{version}\n"));
        match version {
            4 => f.give_to_an_ai_client("a"),
            6 => f.cite("a"),
            _ => {}
        }
        f.clock.advance(20 * day);
    }
    f.put("made", "once\n");
    let brain = f.brain.as_ref().unwrap();
    // The last version, of 2027-07-26, is 20 days old; the one before it ended 20 days ago.
    let removed = brain.prune_history().unwrap();
    let history = expect_reply!(f.ask(Request::History(page("a").into())), History);
    let kept: Vec<u32> = history.versions.iter().map(|version| version.version).collect();
    // In the window 30 to 28; of 31 days before it each day, of a year before it each month (some
    // have two), and the last one of 2026.
    assert!([30, 29, 28, 27].iter().all(|version| kept.contains(version)), "{kept:?}");
    assert!(!kept.contains(&1) && !kept.contains(&2), "another one is the last of January");
    // Those that are needed to make an answer again, or that a saved answer cites.
    assert_eq!([4, 5, 6, 7].map(|version| kept.contains(&version)), [true, false, true, false]);
    assert_eq!(removed as usize + kept.len(), 30, "{kept:?}");
    let of_2026 = history.versions.iter().filter(|v| v.written_at.starts_with("2026")).count();
    assert!((1..18).contains(&of_2026), "{kept:?}");
    assert_eq!(brain.prune_history().unwrap(), 0, "a second round removes nothing");
    assert_eq!(f.page_at("a", "2026-01-10"), Err(FaultCode::UnknownVersion));
    let reply = f.as_of("2026-01-10", List { limit: 9, ..List::default() }).unwrap();
    assert_eq!(reply.past.not_kept, 1);
    assert_eq!(f.get("a"), Ok("v30\n".into()));
}

#[test]
fn an_export_has_the_pages_of_the_time() {
    let f = Fixture::new("2027-03-01T12:00:00Z");
    f.put("notes/a", "first\n");
    f.put("notes/gone", "was there\n");
    f.clock.advance(24 * HOUR);
    f.put("notes/a", "second\n");
    f.delete("notes/gone");
    f.put("notes/new", "later\n");
    let out = f.dir.path().join("out");
    let export = Export { path: out.display().to_string(), source: None };
    let reply = f.as_of("2027-03-01", export).unwrap();
    let exported = expect_reply!(Ok::<_, Fault>(*reply.reply), Export);
    assert_eq!(exported.files, 2);
    let text = std::fs::read_to_string(out.join("notes/a.md")).unwrap();
    assert!(text.ends_with("\nfirst\n"), "{text}");
    assert!(out.join("notes/gone.md").exists() && !out.join("notes/new.md").exists());
}

#[test]
fn a_view_is_used_again_and_is_right_after_writes() {
    let f = Fixture::new("2027-03-01T12:00:00Z");
    f.put("a", "one\n");
    f.clock.advance(HOUR);
    assert_eq!(f.found_at("one", "2027-03-01T12:30:00Z"), ["a"]);
    f.put("a", "two\n");
    assert_eq!(f.found_at("one", "2027-03-01T12:45:00Z"), ["a"], "the same view");
    f.clock.advance(HOUR);
    assert_eq!(f.found_at("two", "2027-03-01T13:30:00Z"), ["a"]);
    assert_eq!(f.found_at("one", "2027-03-01T13:30:00Z"), Vec::<String>::new());
    f.put("b", "three\n");
    assert_eq!(f.found_at("three", "2027-03-01T13:30:00Z"), Vec::<String>::new());
    assert_eq!(f.found_at("three", "2027-03-02"), ["b"]);
    let views = f.dir.path().join("home/run/past");
    assert_eq!(std::fs::read_dir(views).unwrap().count(), 2, "older views are removed");
}
