//! The enrichment rules: what comes into which page, once, and what never does.

use brain_base::caller::Visibility;
use brain_base::caller::{Caller, Scopes};
use brain_collector::{JournalEvent, Stream};
use brain_core::Silent;
use brain_protocol::{
    CollectorEnrich, CollectorEnrichReply, FaultCode, HistoryReply, Reply, Request, SourceId,
};
use serde_json::{Value, json};

use crate::collector_lab::{ANN, BOB, DAY, EVE, Lab, Who, named, post, tagged};

const PAGE: &str = "---\ntype: person\ntitle: Ann Lee\nx: \"@ann_lee\"\n---\n\nKnows compilers.\n\n## Timeline\n\n- 2026-01-01 | Met her\n";

fn lines(enriched: &CollectorEnrichReply) -> Vec<&str> {
    enriched.pages.iter().flat_map(|page| page.lines.iter().map(String::as_str)).collect()
}

#[test]
fn a_known_person_gets_a_dated_line_once() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    lab.collect(Stream::Mentions, tagged(post(101, ANN, "I like #Rust a lot"), &["Rust"]));
    let enriched = lab.enrich();
    let line = "- 2026-11-21 | Tweeted about Rust [Source: X, @ann_lee, 2026-11-21]";
    assert_eq!(lines(&enriched), [line]);
    assert_eq!(
        (enriched.failures.len(), enriched.below_gate, enriched.pages[0].created),
        (0, 0, false)
    );
    let page = lab.page("people/ann-lee");
    let expected = format!("Knows compilers.\n\n## Timeline\n\n{line}\n- 2026-01-01 | Met her\n");
    assert_eq!(page.body, expected);
    // Its words are not only the owner's any more, and the page says so.
    assert_eq!(page.source_kind.as_deref(), Some("collector"));
    assert_eq!(page.source_uri.as_deref(), Some("https://x.com/ann_lee"));
    let file = std::fs::read_to_string(lab.file("people/ann-lee")).unwrap();
    assert!(file.contains(line) && file.contains("source_kind: collector"), "{file}");
    let Ok(Reply::History(HistoryReply { versions, .. })) =
        lab.ask(Request::History(named("people/ann-lee").into()))
    else {
        panic!("no history");
    };
    assert_eq!(versions.len(), 2);

    let again = lab.enrich();
    assert_eq!(lines(&again), Vec::<&str>::new());
    assert_eq!(lab.page("people/ann-lee"), page);
    // What the owner takes out stays out.
    lab.put("people/ann-lee", PAGE);
    assert_eq!(lines(&lab.enrich()), Vec::<&str>::new());
    assert!(!lab.page("people/ann-lee").body.contains("Tweeted"));
}

#[test]
fn the_topic_is_a_page_then_what_was_recognised_then_a_tag_then_words() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    lab.put("companies/forge", "---\ntype: company\ntitle: Forge\nx: forgehq\n---\n\nTools.\n");
    let recognised = |mut post: Value| {
        post["entities"]["annotations"] = json!([{ "normalized_text": "Zürich" }]);
        post
    };
    let posts = [
        recognised(tagged(post(1, ANN, "Forge opens in Zürich #news"), &["news"])),
        recognised(tagged(post(2, ANN, "Off to Zürich #news"), &["news"])),
        tagged(post(3, ANN, "#news of today"), &["news"]),
        post(4, ANN, "@me I think that nobody reads more than eight words"),
        post(5, ANN, "Thank you, @forgehq!"),
        post(6, ANN, "https://t.co/abc"),
    ];
    for post in posts {
        lab.collect(Stream::Searches, post);
    }
    let enriched = lab.enrich();
    let dated = lines(&enriched).into_iter().filter(|line| line.contains("Tweeted"));
    let told: Vec<&str> = dated.map(|line| line.split_once("about ").unwrap().1).collect();
    let source = " [Source: X, @ann_lee, 2026-11-21]";
    let expected = [
        "Forge",
        "Zürich",
        "news",
        "\"I think that nobody reads more than eight…\"",
        "something without words",
    ];
    // The fifth says the same as the first, on the same day.
    assert_eq!(told, expected.map(|topic| format!("{topic}{source}")));
    let page = lab.page("companies/forge");
    assert_eq!((page.version, page.body.as_str()), (1, "Tools.\n"));
}

#[test]
fn a_deletion_is_noted_on_the_page_of_who_deleted() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    for id in [1, 2, 3, 4] {
        lab.collect_written(
            Stream::Searches,
            post(id, ANN, &format!("Words no {id}\nof mine")),
            lab.now() - DAY,
        );
    }
    lab.collect(Stream::Searches, post(5, EVE, "of somebody else"));
    lab.gone(1, "not_found_404", false);
    lab.gone(2, "not_authorized", false);
    lab.gone(3, "not_found", true);
    lab.gone(5, "no_data", false);
    let enriched = lab.enrich();
    let deleted: Vec<&str> =
        lines(&enriched).into_iter().filter(|line| line.contains("Deleted")).collect();
    assert_eq!(
        deleted,
        [
            "- 2026-11-21 | Deleted tweet: Words no 1 of mine [Source: X deletion, detected 2026-11-21]"
        ]
    );
    assert!(!lab.page("people/ann-lee").body.contains("no 3"), "it was redacted");
    assert_eq!(lines(&lab.enrich()), Vec::<&str>::new());

    lab.hands.turn(DAY);
    lab.collect(Stream::Searches, post(6, ANN, &"long ".repeat(100)));
    lab.enrich();
    lab.gone(6, "not_found_404", false);
    let enriched = lab.enrich();
    let line = lines(&enriched)[0];
    let content = line.split_once("Deleted tweet: ").unwrap().1.split_once(" [Source").unwrap().0;
    assert!(content.chars().count() <= 280 && content.ends_with('…'), "{content}");
}

#[test]
fn a_topic_that_comes_back_is_noted_above_the_timeline_once_a_week() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    let note = |count: u32, first: &str, last: &str| {
        format!(
            "- Posts about Rust again and again: {count} posts from {first} to {last} [Source: X, @ann_lee]"
        )
    };
    for id in 1..=2 {
        lab.collect(Stream::Searches, tagged(post(id, ANN, "#Rust"), &["Rust"]));
        lab.hands.turn(DAY);
    }
    assert!(!lab.enrich().pages[0].lines.iter().any(|line| line.contains("again and again")));
    lab.collect(Stream::Mentions, tagged(post(3, ANN, "#rust"), &["rust"]));
    lab.enrich();
    let first = note(3, "2026-11-21", "2026-11-23");
    let body = lab.page("people/ann-lee").body;
    let top = format!("Knows compilers.\n\n## Patterns\n\n{first}\n\n## Timeline\n\n");
    assert!(body.starts_with(&top), "{body}");
    assert_eq!(lines(&lab.enrich()), Vec::<&str>::new());

    lab.hands.turn(DAY);
    lab.collect(Stream::Searches, tagged(post(4, ANN, "more #rust"), &["rust"]));
    lab.enrich();
    let body = lab.page("people/ann-lee").body;
    assert!(
        body.contains(&note(4, "2026-11-21", "2026-11-24")) && !body.contains(&first),
        "{body}"
    );
    assert_eq!(body.matches("again and again").count(), 1);

    // The owner does not want it: it does not come back while it is about the same days.
    lab.put("people/ann-lee", PAGE);
    lab.hands.turn(DAY);
    lab.collect(Stream::Searches, tagged(post(5, ANN, "still #rust"), &["rust"]));
    lab.enrich();
    assert!(!lab.page("people/ann-lee").body.contains("again and again"));

    lab.hands.turn(8 * DAY);
    for id in 6..=8 {
        lab.collect(Stream::Searches, tagged(post(id, ANN, "#Rust"), &["Rust"]));
    }
    lab.enrich();
    let body = lab.page("people/ann-lee").body;
    assert!(body.contains(&note(3, "2026-12-03", "2026-12-03")), "{body}");
}

#[test]
fn only_who_is_notable_gets_a_page() {
    let lab = Lab::new();
    let verified: Who = ("44", "kim", "Kim Roe", 5, true);
    let quiet: Who = ("55", "quiet", "Quiet Star", 2_000_000, true);
    for n in 0..3_u32 {
        let id = u64::from(n);
        lab.collect_written(
            Stream::Searches,
            tagged(post(10 + id, BOB, "#AI"), &["AI"]),
            lab.now() - DAY,
        );
        lab.collect(Stream::Mentions, post(20 + id, EVE, "hello"));
        lab.collect(Stream::Mentions, post(30 + id, verified, "hello"));
        lab.collect(Stream::Own, post(50 + id, ("1", "me", "My Self", 99_999, true), "mine"));
    }
    lab.collect(Stream::Mentions, post(40, quiet, "once"));
    lab.collect(Stream::Mentions, post(41, quiet, "twice"));
    let planned = lab.enrich_by(CollectorEnrich { dry_run: true, ..CollectorEnrich::default() });
    let enriched = lab.enrich();
    assert_eq!(planned.pages, enriched.pages);
    assert_eq!(enriched.below_gate, 2);
    let made: Vec<(&str, bool)> =
        enriched.pages.iter().map(|it| (it.slug.as_str(), it.created)).collect();
    assert_eq!(made, [("people/bob-ray", true), ("people/kim-roe", true)]);
    let page = lab.page("people/bob-ray");
    assert_eq!(
        (page.page_type.as_str(), page.title.as_str(), &page.tags[..]),
        ("person", "Bob Ray", &["social".to_owned()][..])
    );
    assert_eq!(
        page.body,
        "Known from X, as [@bobray](https://x.com/bobray).\n\n## Patterns\n\n\
- Posts about AI again and again: 3 posts from 2026-11-20 to 2026-11-20 [Source: X, @bobray]\n\n## Timeline\n\n\
- 2026-11-20 | Tweeted about AI [Source: X, @bobray, 2026-11-20]\n"
    );
    assert_eq!(page.source_kind.as_deref(), Some("collector"));
    assert!(page.frontmatter.contains("x: bobray"), "{}", page.frontmatter);
    assert_eq!(lab.enrich().pages, []);

    // The owner removes it, and it is gone for good.
    for slug in ["people/bob-ray", "people/kim-roe"] {
        lab.ask(Request::Delete(named(slug).into())).unwrap();
    }
    lab.collect(Stream::Searches, post(19, BOB, "me again"));
    assert_eq!(lab.enrich().pages, []);
    lab.hands.turn(10 * DAY);
    lab.brain.pages.purge_due().unwrap();
    for n in 0..3 {
        lab.collect(Stream::Searches, post(60 + n, BOB, "and again"));
    }
    assert_eq!(lab.enrich().pages, []);
    assert!(!lab.has("people/bob-ray"));
}

#[test]
fn a_page_that_is_there_is_no_place_for_another_account() {
    let lab = Lab::new();
    // It says that it is about somebody else on the platform.
    lab.put(
        "people/bob-ray",
        "---\ntype: person\ntitle: Bob Ray\nx: the_real_bob\n---\n\nA friend.\n",
    );
    for n in 0..3 {
        lab.collect(Stream::Searches, post(n, BOB, "I am Bob"));
    }
    let enriched = lab.enrich();
    assert_eq!(enriched.pages.len(), 1);
    assert_eq!(enriched.pages[0].slug.as_str(), "people/bob-ray-bobray");
    assert_eq!(lab.page("people/bob-ray").version, 1);
}

#[test]
fn nothing_else_of_a_page_changes_however_it_is_written() {
    let odd = [
        "---\n# who she is\ntype:   person   # not a company\nx: 'ann_lee'\nzeta: [b,   a]\nalpha: |\n  two\n    lines\ntitle: \"Ann: Lee\"\n---\n\n\n  Indented.  \n\n<!-- note -->\n",
        "---\ntype: person\naliases:\n- \"@ANN_LEE\"\n---\nNo blank line, no end of line",
        "---\ntype: person\nhandle: https://twitter.com/Ann_Lee?s=20\n---\n## Timeline\n\nwords, not a list\n\n## After\n\nmore\n",
        "---\ntype: person\nx: [other, ann_lee]\n---\n```\n## Timeline\n```\n\ntext\n",
    ];
    for text in odd {
        let lab = Lab::new();
        lab.put("people/ann", text);
        let before = std::fs::read_to_string(lab.file("people/ann")).unwrap();
        lab.collect(Stream::Mentions, tagged(post(1, ANN, "x"), &["Rust"]));
        let enriched = lab.enrich();
        assert_eq!(
            (lines(&enriched).len(), enriched.failures.len()),
            (1, 0),
            "{text}: {enriched:?}"
        );
        let after = std::fs::read_to_string(lab.file("people/ann")).unwrap();
        let mut rest = after.lines().filter(|line| !line.trim().is_empty());
        for line in before.lines().filter(|line| !line.trim().is_empty() && *line != "---") {
            assert!(
                line.starts_with("ingested_")
                    || line.starts_with("source_kind")
                    || rest.any(|it| it == line),
                "{line} of\n{before}\nis not in its place in\n{after}"
            );
        }
        assert_eq!(after.matches("Tweeted about Rust").count(), 1);
        assert_eq!(lab.enrich().pages, []);
    }
}

#[test]
fn whoever_takes_the_name_of_a_page_writes_nothing_into_it() {
    let lab = Lab::new();
    lab.put("people/ann-lee", "---\ntype: person\ntitle: Ann Lee\n---\n\nHello.\n");
    let before = lab.page("people/ann-lee");
    // Alone, verified, with a crowd behind it, and again and again: a name says nothing.
    let impostor: Who = ("66", "ann_1ee", "Ann Lee", 90_000, true);
    for n in 0..4 {
        lab.collect(Stream::Searches, tagged(post(n, impostor, "I am her #scam"), &["scam"]));
    }
    // Nor does a handle that is the slug's last part.
    let squatter: Who = ("67", "zoe", "Zed", 90_000, true);
    lab.put("people/zoe", "---\ntype: person\ntitle: Zoe Poe\n---\n\nHello.\n");
    lab.collect(Stream::Searches, post(10, squatter, "me"));
    lab.gone(10, "not_found", false);
    let enriched = lab.enrich();
    assert_eq!((enriched.pages, enriched.failures.len()), (Vec::new(), 0));
    assert_eq!(enriched.unclaimed.len(), 2, "{:?}", enriched.unclaimed);
    assert!(enriched.unclaimed[0].starts_with("people/ann-lee: may be about @ann_1ee"));
    assert!(enriched.unclaimed[1].contains("write `x: zoe`"));
    assert_eq!(lab.page("people/ann-lee"), before);
    assert!(!lab.has("people/ann-lee-ann_1ee"), "it may be her");
    // What the owner writes is what counts.
    lab.collect(Stream::Searches, post(20, ANN, "and me"));
    lab.put("people/ann-lee", "---\ntype: person\ntitle: Ann Lee\nx: ann_lee\n---\n\nHello.\n");
    let enriched = lab.enrich();
    let body = lab.page("people/ann-lee").body;
    assert!(body.contains("and me") && !body.contains("scam"), "{body}");
    assert_eq!(enriched.unclaimed.len(), 1, "{:?}", enriched.unclaimed);
}

#[test]
fn a_crash_between_page_and_journal_doubles_nothing() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    for id in 1..=3 {
        lab.collect(Stream::Searches, tagged(post(id, ANN, "x"), &["Rust"]));
    }
    for n in 0..3 {
        lab.collect(Stream::Searches, post(10 + n, BOB, &format!("word {n}")));
    }
    lab.gone(1, "not_found", false);
    let before = std::fs::read(lab.journal_file()).unwrap();
    let enriched = lab.enrich();
    assert_eq!((enriched.pages.len(), enriched.failures.len()), (2, 0));
    let pages = ["people/ann-lee", "people/bob-ray"].map(|slug| lab.page(slug));
    // As if it had been killed before the journal was written.
    std::fs::write(lab.journal_file(), &before).unwrap();
    assert_eq!(lab.enrich().pages, []);
    assert_eq!(["people/ann-lee", "people/bob-ray"].map(|slug| lab.page(slug)), pages);
    // And the journal knows again.
    lab.put("people/ann-lee", PAGE);
    assert_eq!(lab.enrich().pages, []);
}

#[test]
fn a_dry_run_writes_nothing() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    lab.collect(Stream::Searches, post(1, ANN, "hello there"));
    let (page, journal) = (lab.page("people/ann-lee"), std::fs::read(lab.journal_file()).unwrap());
    let dry = lab.enrich_by(CollectorEnrich { dry_run: true, ..CollectorEnrich::default() });
    assert!(dry.dry_run);
    assert_eq!(lab.page("people/ann-lee"), page);
    assert_eq!(std::fs::read(lab.journal_file()).unwrap(), journal);
    assert_eq!(lab.enrich().pages, dry.pages);
}

#[test]
fn two_at_once_write_each_line_once() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    for id in 1..=5 {
        lab.collect(Stream::Searches, post(id, ANN, &format!("word{id} of mine")));
        lab.collect(Stream::Searches, post(10 + id, BOB, &format!("word{id} of his")));
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| lab.enrich());
        }
    });
    for slug in ["people/ann-lee", "people/bob-ray"] {
        let body = lab.page(slug).body;
        assert_eq!(body.matches("Tweeted about").count(), 5, "{body}");
    }
    assert_eq!(lab.enrich().pages, []);
}

#[test]
fn lines_that_a_file_did_not_take_come_later() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    // The owner edits the file, and nobody has read it yet.
    let edited = std::fs::read_to_string(lab.file("people/ann-lee"))
        .unwrap()
        .replace("Met her", "Met her in Bern");
    std::fs::write(lab.file("people/ann-lee"), &edited).unwrap();
    lab.collect(Stream::Searches, post(1, ANN, "hello there"));
    let first = lab.enrich();
    let second = lab.enrich();
    let body = lab.page("people/ann-lee").body;
    assert!(
        body.contains("Met her in Bern") && body.contains("hello there"),
        "{body}\n{first:?}\n{second:?}"
    );
    assert_eq!(body.matches("hello there").count(), 1);
    assert!(std::fs::read_to_string(lab.file("people/ann-lee")).unwrap().contains("hello there"));
    assert_eq!(lab.enrich().pages, []);
}

#[test]
fn who_sees_some_sources_only_is_refused() {
    let lab = Lab::new();
    let view = Visibility::Only(vec![SourceId::default()]);
    let caller = Caller::granted("agent", Scopes::ADMIN, view);
    let refused = lab
        .brain
        .answer(&caller, Request::CollectorEnrich(CollectorEnrich::default()), &Silent)
        .unwrap_err();
    assert_eq!(refused.code, FaultCode::Forbidden);
    assert!(refused.hint.is_some());
}

#[test]
fn posts_of_before_the_span_are_left_alone() {
    let lab = Lab::new();
    lab.put("people/ann-lee", PAGE);
    lab.collect(Stream::Searches, post(1, ANN, "old words"));
    lab.hands.turn(2 * DAY);
    lab.collect(Stream::Searches, post(2, ANN, "new words"));
    // A line before its post's file: the run was killed between them.
    let noted = JournalEvent::Post {
        id: "3".into(),
        stream: "searches".into(),
        author_id: Some("11".into()),
    };
    lab.journal.append(lab.now(), &[noted]).unwrap();
    let since = Some("2026-11-23".to_owned());
    let enriched = lab.enrich_by(CollectorEnrich { since, dry_run: false });
    assert_eq!(lines(&enriched).len(), 1);
    assert!(lines(&enriched)[0].contains("new words"));
    assert_eq!(lines(&lab.enrich()).len(), 1);
}
