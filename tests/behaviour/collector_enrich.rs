//! The enrichment rules: which lines are added to which pages, and that each is added once.

use brain_base::caller::{Caller, Scopes, Visibility};
use brain_collector::{JournalEvent, Stream};
use brain_core::NoProgress;
use brain_protocol::{
    Append, CollectorEnrich, CollectorEnrichReply, FaultCode, HistoryReply, Origin, Reply, Request,
    SourceId, TrustLevel,
};
use serde_json::{Value, json};

use crate::collector_fixture::{ANN, Author, BOB, DAY, EVE, Fixture, page_ref, post, tagged};

const PAGE: &str = "---\ntype: person\ntitle: Ann Lee\nx: \"@ann_lee\"\n---\n\nKnows \
    compilers.\n\n## Timeline\n\n- 2026-01-01 | Met her\n";

fn lines(enriched: &CollectorEnrichReply) -> Vec<&str> {
    enriched.pages.iter().flat_map(|page| page.lines.iter().map(String::as_str)).collect()
}

#[test]
fn known_people_get_a_dated_line_once() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    fixture.add_post(Stream::Mentions, tagged(post(101, ANN, "I like #Rust a lot"), &["Rust"]));
    let enriched = fixture.enrich();
    let line = "- 2026-11-21 | Tweeted about Rust [Source: X, @ann_lee, 2026-11-21]";
    assert_eq!(lines(&enriched), [line]);
    assert_eq!(
        (enriched.failures.len(), enriched.people_below_threshold, enriched.pages[0].created),
        (0, 0, false)
    );
    let page = fixture.page("people/ann-lee");
    let expected = format!("Knows compilers.\n\n## Timeline\n\n{line}\n- 2026-01-01 | Met her\n");
    assert_eq!(page.body, expected);
    // The page is still the owner's; the line is marked as outside text.
    assert_eq!(page.source_kind.as_deref(), Some("put_page"));
    assert_eq!((page.trust, page.outside_lines.len()), (TrustLevel::Mixed, 1));
    let mark = &page.outside_lines[0];
    assert_eq!(mark.source_kind, "collector");
    assert_eq!(mark.source_uri, "https://x.com/ann_lee");
    let marked = page.content.lines().nth(mark.first as usize - 1);
    assert_eq!((marked, mark.last), (Some(line), mark.first));
    let file = std::fs::read_to_string(fixture.file("people/ann-lee")).unwrap();
    assert!(file.contains(line), "{file}");
    let Ok(Reply::History(HistoryReply { versions, .. })) =
        fixture.ask(Request::History(page_ref("people/ann-lee").into()))
    else {
        panic!("no history");
    };
    assert_eq!(versions.len(), 2);

    let again = fixture.enrich();
    assert_eq!(lines(&again), Vec::<&str>::new());
    assert_eq!(fixture.page("people/ann-lee"), page);
    // Lines that the owner removed are not added again.
    fixture.put("people/ann-lee", PAGE);
    assert_eq!(lines(&fixture.enrich()), Vec::<&str>::new());
    assert!(!fixture.page("people/ann-lee").body.contains("Tweeted"));
}

#[test]
fn topics_prefer_pages_then_entities_then_tags_then_words() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    fixture.put("companies/forge", "---\ntype: company\ntitle: Forge\nx: forgehq\n---\n\nTools.\n");
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
        fixture.add_post(Stream::Searches, post);
    }
    let enriched = fixture.enrich();
    let dated = lines(&enriched).into_iter().filter(|line| line.contains("Tweeted"));
    let topic_texts: Vec<&str> = dated.map(|line| line.split_once("about ").unwrap().1).collect();
    let source = " [Source: X, @ann_lee, 2026-11-21]";
    let expected = [
        "Forge",
        "Zürich",
        "news",
        "\"I think that nobody reads more than eight…\"",
        "something without words",
    ];
    // The fifth post has the same text and day as the first.
    assert_eq!(topic_texts, expected.map(|topic| format!("{topic}{source}")));
    let page = fixture.page("companies/forge");
    assert_eq!((page.version, page.body.as_str()), (1, "Tools.\n"));
}

#[test]
fn deletions_are_recorded_on_the_authors_page() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    for id in [1, 2, 3, 4] {
        fixture.add_post_written_at(
            Stream::Searches,
            post(id, ANN, &format!("Words no {id}\nof mine")),
            fixture.now() - DAY,
        );
    }
    fixture.add_post(Stream::Searches, post(5, EVE, "of somebody else"));
    fixture.delete_post(1, "not_found_404", false);
    fixture.delete_post(2, "not_authorized", false);
    fixture.delete_post(3, "not_found", true);
    fixture.delete_post(5, "no_data", false);
    let enriched = fixture.enrich();
    let deleted: Vec<&str> =
        lines(&enriched).into_iter().filter(|line| line.contains("Deleted")).collect();
    assert_eq!(
        deleted,
        ["- 2026-11-21 | Deleted tweet: Words no 1 of mine [Source: X deletion, detected \
                2026-11-21]"]
    );
    assert!(
        !fixture.page("people/ann-lee").body.contains("no 3"),
        "a redacted post is not in the page"
    );
    assert_eq!(lines(&fixture.enrich()), Vec::<&str>::new());

    fixture.clock.advance(DAY);
    fixture.add_post(Stream::Searches, post(6, ANN, &"long ".repeat(100)));
    fixture.enrich();
    fixture.delete_post(6, "not_found_404", false);
    let enriched = fixture.enrich();
    let line = lines(&enriched)[0];
    let content = line.split_once("Deleted tweet: ").unwrap().1.split_once(" [Source").unwrap().0;
    assert!(content.chars().count() <= 280 && content.ends_with('…'), "{content}");
}

#[test]
fn recurring_topics_are_recorded_once_a_week() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    let pattern_line = |count: u32, first: &str, last: &str| {
        format!(
            "- Posts about Rust again and again: {count} posts from {first} to {last} [Source: X, \
                @ann_lee]"
        )
    };
    for id in 1..=2 {
        fixture.add_post(Stream::Searches, tagged(post(id, ANN, "#Rust"), &["Rust"]));
        fixture.clock.advance(DAY);
    }
    assert!(!fixture.enrich().pages[0].lines.iter().any(|line| line.contains("again and again")));
    fixture.add_post(Stream::Mentions, tagged(post(3, ANN, "#rust"), &["rust"]));
    fixture.enrich();
    let first = pattern_line(3, "2026-11-21", "2026-11-23");
    let body = fixture.page("people/ann-lee").body;
    let top = format!("Knows compilers.\n\n## Patterns\n\n{first}\n\n## Timeline\n\n");
    assert!(body.starts_with(&top), "{body}");
    assert_eq!(lines(&fixture.enrich()), Vec::<&str>::new());

    fixture.clock.advance(DAY);
    fixture.add_post(Stream::Searches, tagged(post(4, ANN, "more #rust"), &["rust"]));
    fixture.enrich();
    let body = fixture.page("people/ann-lee").body;
    assert!(
        body.contains(&pattern_line(4, "2026-11-21", "2026-11-24")) && !body.contains(&first),
        "{body}"
    );
    assert_eq!(body.matches("again and again").count(), 1);

    // A line that the owner removed is not added again for the same days.
    fixture.put("people/ann-lee", PAGE);
    fixture.clock.advance(DAY);
    fixture.add_post(Stream::Searches, tagged(post(5, ANN, "still #rust"), &["rust"]));
    fixture.enrich();
    assert!(!fixture.page("people/ann-lee").body.contains("again and again"));

    fixture.clock.advance(8 * DAY);
    for id in 6..=8 {
        fixture.add_post(Stream::Searches, tagged(post(id, ANN, "#Rust"), &["Rust"]));
    }
    fixture.enrich();
    let body = fixture.page("people/ann-lee").body;
    assert!(body.contains(&pattern_line(3, "2026-12-03", "2026-12-03")), "{body}");
}

#[test]
fn only_notable_accounts_get_a_page() {
    let fixture = Fixture::new();
    let verified: Author = ("44", "kim", "Kim Roe", 5, true);
    let quiet: Author = ("55", "quiet", "Quiet Star", 2_000_000, true);
    for n in 0..3_u32 {
        let id = u64::from(n);
        fixture.add_post_written_at(
            Stream::Searches,
            tagged(post(10 + id, BOB, "#AI"), &["AI"]),
            fixture.now() - DAY,
        );
        fixture.add_post(Stream::Mentions, post(20 + id, EVE, "hello"));
        fixture.add_post(Stream::Mentions, post(30 + id, verified, "hello"));
        fixture.add_post(Stream::Own, post(50 + id, ("1", "me", "My Self", 99_999, true), "mine"));
    }
    fixture.add_post(Stream::Mentions, post(40, quiet, "once"));
    fixture.add_post(Stream::Mentions, post(41, quiet, "twice"));
    let planned =
        fixture.enrich_with(CollectorEnrich { dry_run: true, ..CollectorEnrich::default() });
    let enriched = fixture.enrich();
    assert_eq!(planned.pages, enriched.pages);
    assert_eq!(enriched.people_below_threshold, 2);
    let made: Vec<(&str, bool)> =
        enriched.pages.iter().map(|it| (it.slug.as_str(), it.created)).collect();
    assert_eq!(made, [("people/bob-ray", true), ("people/kim-roe", true)]);
    let page = fixture.page("people/bob-ray");
    assert_eq!(
        (page.page_type.as_str(), page.title.as_str(), &page.tags[..]),
        ("person", "Bob Ray", &["social".to_owned()][..])
    );
    assert_eq!(
        page.body,
        "Known from X, as [@bobray](https://x.com/bobray).\n\n## Patterns\n\n\
- Posts about AI again and again: 3 posts from 2026-11-20 to 2026-11-20 [Source: X, @bobray]\n\n## \
Timeline\n\n\
- 2026-11-20 | Tweeted about AI [Source: X, @bobray, 2026-11-20]\n"
    );
    assert_eq!(page.source_kind.as_deref(), Some("collector"));
    assert!(page.frontmatter.contains("x: bobray"), "{}", page.frontmatter);
    assert_eq!(fixture.enrich().pages, []);

    // A page that the owner deleted is not created again.
    for slug in ["people/bob-ray", "people/kim-roe"] {
        fixture.ask(Request::Delete(page_ref(slug).into())).unwrap();
    }
    fixture.add_post(Stream::Searches, post(19, BOB, "me again"));
    assert_eq!(fixture.enrich().pages, []);
    fixture.clock.advance(10 * DAY);
    fixture.brain.pages.purge_due().unwrap();
    for n in 0..3 {
        fixture.add_post(Stream::Searches, post(60 + n, BOB, "and again"));
    }
    assert_eq!(fixture.enrich().pages, []);
    assert!(!fixture.has("people/bob-ray"));
}

#[test]
fn pages_of_other_accounts_are_not_changed() {
    let fixture = Fixture::new();
    // The page is about another account.
    fixture.put(
        "people/bob-ray",
        "---\ntype: person\ntitle: Bob Ray\nx: the_real_bob\n---\n\nA friend.\n",
    );
    for n in 0..3 {
        fixture.add_post(Stream::Searches, post(n, BOB, "I am Bob"));
    }
    let enriched = fixture.enrich();
    assert_eq!(enriched.pages.len(), 1);
    assert_eq!(enriched.pages[0].slug.as_str(), "people/bob-ray-bobray");
    assert_eq!(fixture.page("people/bob-ray").version, 1);
}

#[test]
fn enrichment_preserves_the_rest_of_the_page() {
    let texts = [
        "---\n# who she is\ntype:   person   # not a company\nx: 'ann_lee'\nzeta: [b,   a]\nalpha: \
            |\n  two\n    lines\ntitle: \"Ann: Lee\"\n---\n\n\n  Indented.  \n\n<!-- note -->\n",
        "---\ntype: person\naliases:\n- \"@ANN_LEE\"\n---\nNo blank line, no end of line",
        "---\ntype: person\nhandle: https://twitter.com/Ann_Lee?s=20\n---\n## Timeline\n\nwords, \
            not a list\n\n## After\n\nmore\n",
        "---\ntype: person\nx: [other, ann_lee]\n---\n```\n## Timeline\n```\n\ntext\n",
    ];
    for text in texts {
        let fixture = Fixture::new();
        fixture.put("people/ann", text);
        let before = std::fs::read_to_string(fixture.file("people/ann")).unwrap();
        fixture.add_post(Stream::Mentions, tagged(post(1, ANN, "x"), &["Rust"]));
        let enriched = fixture.enrich();
        assert_eq!(
            (lines(&enriched).len(), enriched.failures.len()),
            (1, 0),
            "{text}: {enriched:?}"
        );
        let after = std::fs::read_to_string(fixture.file("people/ann")).unwrap();
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
        assert_eq!(fixture.enrich().pages, []);
    }
}

#[test]
fn accounts_with_a_pages_name_cannot_change_the_page() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", "---\ntype: person\ntitle: Ann Lee\n---\n\nHello.\n");
    let before = fixture.page("people/ann-lee");
    // A display name proves nothing, even with a verified account and many followers.
    let impostor: Author = ("66", "ann_1ee", "Ann Lee", 90_000, true);
    for n in 0..4 {
        fixture.add_post(Stream::Searches, tagged(post(n, impostor, "I am her #scam"), &["scam"]));
    }
    // A handle that equals the last part of the slug proves nothing either.
    let squatter: Author = ("67", "zoe", "Zed", 90_000, true);
    fixture.put("people/zoe", "---\ntype: person\ntitle: Zoe Poe\n---\n\nHello.\n");
    fixture.add_post(Stream::Searches, post(10, squatter, "me"));
    fixture.delete_post(10, "not_found", false);
    let enriched = fixture.enrich();
    assert_eq!((enriched.pages, enriched.failures.len()), (Vec::new(), 0));
    assert_eq!(enriched.pages_without_account.len(), 2, "{:?}", enriched.pages_without_account);
    assert!(enriched.pages_without_account[0].starts_with("people/ann-lee: may be about @ann_1ee"));
    assert!(enriched.pages_without_account[1].contains("write `x: zoe`"));
    assert_eq!(fixture.page("people/ann-lee"), before);
    assert!(!fixture.has("people/ann-lee-ann_1ee"), "an account that may be Ann's gets no page");
    // A handle that the owner wrote on the page counts.
    fixture.add_post(Stream::Searches, post(20, ANN, "and me"));
    fixture.put("people/ann-lee", "---\ntype: person\ntitle: Ann Lee\nx: ann_lee\n---\n\nHello.\n");
    let enriched = fixture.enrich();
    let body = fixture.page("people/ann-lee").body;
    assert!(body.contains("and me") && !body.contains("scam"), "{body}");
    assert_eq!(enriched.pages_without_account.len(), 1, "{:?}", enriched.pages_without_account);
}

#[test]
fn a_crash_before_the_journal_duplicates_no_line() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    for id in 1..=3 {
        fixture.add_post(Stream::Searches, tagged(post(id, ANN, "x"), &["Rust"]));
    }
    for n in 0..3 {
        fixture.add_post(Stream::Searches, post(10 + n, BOB, &format!("word {n}")));
    }
    fixture.delete_post(1, "not_found", false);
    let before = std::fs::read(fixture.journal_file()).unwrap();
    let enriched = fixture.enrich();
    assert_eq!((enriched.pages.len(), enriched.failures.len()), (2, 0));
    let pages = ["people/ann-lee", "people/bob-ray"].map(|slug| fixture.page(slug));
    // As after a kill before the journal was written.
    std::fs::write(fixture.journal_file(), &before).unwrap();
    assert_eq!(fixture.enrich().pages, []);
    assert_eq!(["people/ann-lee", "people/bob-ray"].map(|slug| fixture.page(slug)), pages);
    // The journal is complete again.
    fixture.put("people/ann-lee", PAGE);
    assert_eq!(fixture.enrich().pages, []);
}

#[test]
fn a_dry_run_writes_nothing() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    fixture.add_post(Stream::Searches, post(1, ANN, "hello there"));
    let (page, journal) =
        (fixture.page("people/ann-lee"), std::fs::read(fixture.journal_file()).unwrap());
    let planned =
        fixture.enrich_with(CollectorEnrich { dry_run: true, ..CollectorEnrich::default() });
    assert!(planned.dry_run);
    assert_eq!(fixture.page("people/ann-lee"), page);
    assert_eq!(std::fs::read(fixture.journal_file()).unwrap(), journal);
    assert_eq!(fixture.enrich().pages, planned.pages);
}

#[test]
fn concurrent_enrichment_writes_each_line_once() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    for id in 1..=5 {
        fixture.add_post(Stream::Searches, post(id, ANN, &format!("word{id} of mine")));
        fixture.add_post(Stream::Searches, post(10 + id, BOB, &format!("word{id} of his")));
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| fixture.enrich());
        }
    });
    for slug in ["people/ann-lee", "people/bob-ray"] {
        let body = fixture.page(slug).body;
        assert_eq!(body.matches("Tweeted about").count(), 5, "{body}");
    }
    assert_eq!(fixture.enrich().pages, []);
}

#[test]
fn edits_during_an_enrichment_are_kept() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    for id in 1..=20 {
        fixture.add_post(Stream::Searches, post(id, ANN, &format!("word{id} of mine")));
        std::thread::scope(|scope| {
            scope.spawn(|| fixture.enrich());
            for part in 0..5 {
                let content = format!("Edit {id}.{part} of the owner.").into_bytes();
                let page = page_ref("people/ann-lee");
                let append = Append { page, content, origin: Origin::Argument, section: None };
                fixture.ask(Request::Append(append)).unwrap();
            }
        });
    }
    let body = fixture.page("people/ann-lee").body;
    assert_eq!(body.matches("Tweeted about").count(), 20, "{body}");
    assert_eq!(body.matches("of the owner").count(), 100, "{body}");
}

#[test]
fn lines_for_locally_edited_files_are_added_later() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    // The owner has edited the file, and the daemon has not read it yet.
    let edited = std::fs::read_to_string(fixture.file("people/ann-lee"))
        .unwrap()
        .replace("Met her", "Met her in Bern");
    std::fs::write(fixture.file("people/ann-lee"), &edited).unwrap();
    fixture.add_post(Stream::Searches, post(1, ANN, "hello there"));
    let first = fixture.enrich();
    let second = fixture.enrich();
    let body = fixture.page("people/ann-lee").body;
    assert!(
        body.contains("Met her in Bern") && body.contains("hello there"),
        "{body}\n{first:?}\n{second:?}"
    );
    assert_eq!(body.matches("hello there").count(), 1);
    assert!(
        std::fs::read_to_string(fixture.file("people/ann-lee")).unwrap().contains("hello there")
    );
    assert_eq!(fixture.enrich().pages, []);
}

#[test]
fn limited_callers_cannot_enrich() {
    let fixture = Fixture::new();
    let view = Visibility::Only(vec![SourceId::default()]);
    let caller = Caller::granted("agent", Scopes::ADMIN, view);
    let refused = fixture
        .brain
        .answer(&caller, Request::CollectorEnrich(CollectorEnrich::default()), &NoProgress)
        .unwrap_err();
    assert_eq!(refused.code, FaultCode::Forbidden);
    assert!(refused.hint.is_some());
}

#[test]
fn posts_before_the_period_are_ignored() {
    let fixture = Fixture::new();
    fixture.put("people/ann-lee", PAGE);
    fixture.add_post(Stream::Searches, post(1, ANN, "old words"));
    fixture.clock.advance(2 * DAY);
    fixture.add_post(Stream::Searches, post(2, ANN, "new words"));
    // A journal line without its post's file, as after a kill between the two.
    let event = JournalEvent::Post {
        id: "3".into(),
        stream: "searches".into(),
        author_id: Some("11".into()),
    };
    fixture.journal.append(fixture.now(), &[event]).unwrap();
    let since = Some("2026-11-23".to_owned());
    let enriched = fixture.enrich_with(CollectorEnrich { since, dry_run: false });
    assert_eq!(lines(&enriched).len(), 1);
    assert!(lines(&enriched)[0].contains("new words"));
    assert_eq!(lines(&fixture.enrich()).len(), 1);
}
