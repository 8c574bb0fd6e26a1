//! Tests of the search index through its public interface.

#![allow(clippy::unwrap_used)]

use std::{path::Path, sync::Arc, time::Duration};

use brain_protocol::{Slug, SourceId};
use proptest::prelude::*;

use super::*;

pub(super) fn page(id: u64, seq: u64, title: &str, body: &str) -> IndexPage {
    IndexPage {
        days: Vec::new(),
        id,
        seq,
        source: SourceId::default(),
        slug: Slug::parse(format!("p/{id}")).unwrap(),
        title: title.into(),
        file_name: id.to_string(),
        fields: Vec::new(),
        aliases: Vec::new(),
        tags: Vec::new(),
        page_type: "note".into(),
        body: body.into(),
        updated_at: i64::try_from(id).unwrap() * 1000,
    }
}

pub(super) fn put(page: IndexPage) -> IndexChange {
    IndexChange::Put(Arc::new(page))
}

pub(super) fn note(id: u64, body: &str) -> IndexChange {
    put(page(id, id, &format!("Note {id}"), body))
}

/// Returns options with which the index commits only on request.
pub(super) fn no_commit_options() -> Options {
    let hour = Duration::from_secs(3600);
    Options { commit_after: hour, commit_when_idle: hour, ..Options::default() }
}

pub(super) fn open(dir: &Path) -> Index {
    Index::open(dir, "store", 1_000_000, no_commit_options()).unwrap().0
}

pub(super) fn question(text: &str) -> Question {
    Question { query: Query::parse(text), limit: 20, ..Question::default() }
}

pub(super) fn ids(index: &Index, text: &str) -> Vec<u64> {
    index.search(&question(text)).unwrap().hits.iter().map(|h| h.id).collect()
}

pub(super) fn sorted_ids(index: &Index, text: &str) -> Vec<u64> {
    let mut ids = ids(index, text);
    ids.sort_unstable();
    ids
}

/// Runs `check` with the pages in the overlay, on disk, and on disk after reopening.
pub(super) fn at_every_stage(changes: &[IndexChange], mut check: impl FnMut(&Index)) {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(changes.to_vec());
    check(&index);
    index.flush().unwrap();
    assert_eq!(index.uncommitted_count(), 0);
    check(&index);
    drop(index);
    check(&open(dir.path()));
}

fn corpus() -> Vec<IndexChange> {
    let mut alice = page(
        1,
        1,
        "Alice Smith",
        "Alice runs the latency team at Acme. She likes running marathons.",
    );
    alice.aliases = vec!["Al".into(), "Lady Latency".into()];
    alice.tags = vec!["person".into(), "Machine Learning".into()];
    alice.page_type = "person".into();
    let mut acme = page(
        2,
        2,
        "Acme",
        "Acme builds rockets; the rocket team met on 2026-11-20 about version 1.0.21.",
    );
    acme.source = SourceId::parse("work").unwrap();
    acme.slug = Slug::parse("companies/acme-corp").unwrap();
    vec![
        put(alice),
        put(acme),
        note(
            3,
            "Das Café in München ist schön, und die Straßen sind voll mit Menschen, die nicht \
             nach Hause gehen.",
        ),
        note(4, "東京都庁は新宿区にある。会議は大阪。"),
        note(5, "ภาษาไทยไม่มีช่องว่างระหว่างคำ"),
        note(
            6,
            "Write to bob@example.com about the snake_case names; don't forget Alice's rockets.",
        ),
        note(7, "서울에서 혈당에 대한 회의가 있었다"),
        note(
            8,
            "Компания занимается разработкой программ для банков, и она работает в этой стране \
             уже много лет.",
        ),
    ]
}

#[test]
fn a_page_with_the_question_as_a_phrase_is_first() {
    let scattered = "The captain of the boat is old. In the garden the boat of the old captain is \
                     in the sun, and the captain is in the garden of the old boat.";
    let filler = "A day passes and then another one comes with new plans. ".repeat(6);
    let changes = [
        note(1, scattered),
        note(2, &format!("{filler} The old captain of the boat is in the garden. {filler}")),
        note(3, &format!("{filler} Wo ist der alte Mann aus dem Norden? {filler}")),
        note(4, "Der Mann ist alt. Aus dem Norden kommt der Mann, der Norden ist alt."),
        note(5, &format!("{scattered} 船長は庭で古い船を見た。")),
        note(6, "庭で船長は船を見た。古い船は庭で見た。"),
    ];
    at_every_stage(&changes, |index| {
        let first = |text: &str| ids(index, text)[0];
        assert_eq!(first("old captain of the boat is in"), 2);
        assert_eq!(first("of the boat is in the"), 2, "mostly stop words");
        assert_eq!(first("der alte Mann aus dem Norden"), 3);
        assert_eq!(first("船長は庭で古い船"), 5);
        let explained = Question { explain: true, ..question("old captain of the boat is in") };
        let hits = index.search(&explained).unwrap().hits;
        let phrase = |hit: &RankedPage| {
            hit.explain
                .iter()
                .find(|part| part.reason == "phrase: old captain of the boat is in")
                .map(|part| part.score)
        };
        assert!(phrase(&hits[0]).is_some_and(|score| score > 0.0), "{hits:?}");
        assert!(hits[1..].iter().all(|hit| phrase(hit).is_none()), "{hits:?}");
        // A part of a longer question counts as well.
        let longer = Question { explain: true, ..question("Zoe: old captain of the boat is in") };
        let hits_of_longer = index.search(&longer).unwrap().hits;
        assert!(hits_of_longer.iter().any(|hit| hit.id == 2 && phrase(hit).is_some()));
        let sum: f32 = hits[0].explain.iter().map(|part| part.score).sum();
        assert!((sum - hits[0].score).abs() < 1e-3, "{hits:?}");
        // Callers who can see only some sources get the same result.
        let view = Some(vec![SourceId::default()]);
        let limited = Question { view, ..explained };
        assert_eq!(index.search(&limited).unwrap().hits[0].id, 2);
    });
}

#[test]
fn all_query_forms_are_answered() {
    at_every_stage(&corpus(), |index| {
        // Words rank, and a page need not have all of them.
        assert_eq!(ids(index, "latency team unicorn")[0], 1);
        assert_eq!(sorted_ids(index, "team"), [1, 2]);
        // Stems, accents, compounds, possessives.
        assert_eq!(sorted_ids(index, "rocket"), [2, 6]);
        assert_eq!(ids(index, "marathon"), [1]);
        assert_eq!(ids(index, "munchen"), [3]);
        assert_eq!(ids(index, "strasse"), [3]);
        assert_eq!(ids(index, "1.0.21"), [2]);
        assert_eq!(ids(index, "2026-11-20")[0], 2);
        assert_eq!(ids(index, "bob@example.com"), [6]);
        assert_eq!(ids(index, "snake_case"), [6]);
        assert_eq!(ids(index, "example"), [6]);
        assert_eq!(sorted_ids(index, "alice"), [1, 6]);
        // Phrases, with stems; not over the end of an alias.
        assert_eq!(ids(index, "\"latency team\""), [1]);
        assert_eq!(ids(index, "\"team latency\""), Vec::<u64>::new());
        assert_eq!(ids(index, "\"smith al\""), Vec::<u64>::new());
        assert_eq!(ids(index, "\"rockets team\""), [2]);
        // Excluded words.
        assert_eq!(ids(index, "rocket -acme"), [6]);
        assert_eq!(ids(index, "team -\"rocket team\""), [1]);
        assert_eq!(ids(index, "team -rock*"), [1]);
        // Prefixes of words and of unstemmed forms.
        assert_eq!(ids(index, "marat*"), [1]);
        assert_eq!(ids(index, "runnin*"), [1]);
        assert_eq!(ids(index, "2026-1*"), [2]);
        // Fields.
        assert_eq!(ids(index, "title:acme"), [2]);
        assert_eq!(ids(index, "title:\"lady latency\""), [1]);
        assert_eq!(ids(index, "title:ali*"), [1]);
        assert_eq!(ids(index, "tag:person"), [1]);
        assert_eq!(ids(index, "tag:\"machine learning\" team"), [1]);
        assert_eq!(ids(index, "team -tag:person"), [2]);
        assert_eq!(ids(index, "type:person"), [1]);
        assert_eq!(ids(index, "source:work"), [2]);
        assert_eq!(ids(index, "source:nowhere team"), Vec::<u64>::new());
        // Tags and slugs are words too.
        assert_eq!(ids(index, "learning"), [1]);
        assert_eq!(ids(index, "corp"), [2]);
        // An empty question has no results.
        for text in ["", "  ", "?!", "\"\"", "***", "-"] {
            assert_eq!(ids(index, text), Vec::<u64>::new(), "{text}");
        }
        // Exclusions alone leave the other pages.
        assert_eq!(sorted_ids(index, "-rocket"), [1, 3, 4, 5, 7, 8]);
        assert_eq!(sorted_ids(index, "-rocket -tag:person -\"東京\""), [3, 5, 7, 8]);
        assert_eq!(ids(index, "-tag:x").len(), 8);
        assert_eq!(index.doc_count(), 8);
    });
}

#[test]
fn scripts_without_spaces_are_found() {
    at_every_stage(&corpus(), |index| {
        for (text, id) in [
            ("東京", 4),
            ("京都庁", 4),
            ("新宿区", 4),
            ("庁", 4),
            ("阪", 4),
            ("\"都庁は\"", 4),
            ("\"宿\"", 4),
            ("ไม่มีช่อง", 5),
            ("혈당", 7),
            ("разработка программы", 8),
        ] {
            assert_eq!(ids(index, text).first(), Some(&id), "{text}");
        }
        assert_eq!(ids(index, "\"庁都\""), Vec::<u64>::new());
    });
}

#[test]
fn exact_names_rank_first_and_matched_fields_are_listed() {
    let mut changes = corpus();
    changes.push(note(20, &"acme ".repeat(300)));
    at_every_stage(&changes, |index| {
        let found = index.search(&Question { explain: true, ..question("acme") }).unwrap();
        assert_eq!((found.hits[0].id, found.hits[0].tier), (2, 6));
        assert_eq!(found.hits[0].matched, ["title", "text"]);
        let sum: f32 = found.hits[0].explain.iter().map(|p| p.score).sum();
        assert!((sum - found.hits[0].score).abs() < 0.01, "{:?}", found.hits[0].explain);
        assert!(found.hits[0].explain.iter().any(|p| p.reason == "exact title"));
        let alias = index.search(&question("lady latency")).unwrap();
        assert_eq!((alias.hits[0].id, alias.hits[0].tier), (1, 5));
        let slug = index.search(&question("companies/acme-corp")).unwrap();
        assert_eq!((slug.hits[0].id, slug.hits[0].tier), (2, 4));
        assert_eq!(index.search(&question("person")).unwrap().hits[0].matched, ["tag"]);
        // An exclusion applies to names too.
        assert_eq!(ids(index, "acme -rockets"), [20, 1]);
    });
}

#[test]
fn filters_limit_the_results() {
    at_every_stage(&corpus(), |index| {
        let ids_of = |question: Question| -> Vec<u64> {
            let mut ids: Vec<u64> =
                index.search(&question).unwrap().hits.iter().map(|h| h.id).collect();
            ids.sort_unstable();
            ids
        };
        let team = || question("team acme rockets");
        let work = SourceId::parse("work").unwrap();
        assert_eq!(ids_of(team()), [1, 2, 6]);
        assert_eq!(ids_of(Question { sources: Some(vec![work.clone()]), ..team() }), [2]);
        assert_eq!(
            ids_of(Question { sources: Some(vec![work, SourceId::default()]), ..team() }),
            [1, 2, 6]
        );
        assert_eq!(ids_of(Question { sources: Some(Vec::new()), ..team() }), Vec::<u64>::new());
        assert_eq!(ids_of(Question { page_type: Some("Person".into()), ..team() }), [1]);
        assert_eq!(
            ids_of(Question { tags: vec!["Machine Learning".into(), "person".into()], ..team() }),
            [1]
        );
        assert_eq!(
            ids_of(Question { tags: vec!["machine-learning".into()], ..team() }),
            Vec::<u64>::new(),
            "another tag"
        );
        assert_eq!(
            ids_of(Question { tags: vec!["person".into(), "x".into()], ..team() }),
            Vec::<u64>::new()
        );
        assert_eq!(ids_of(Question { since: Some(2000), until: Some(5000), ..team() }), [2]);
        // A `source:` filter in the text does not extend the filter `sources`.
        assert_eq!(
            ids_of(Question {
                sources: Some(vec![SourceId::default()]),
                ..question("source:work")
            }),
            Vec::<u64>::new()
        );
        let limited = index.search(&Question { limit: 1, ..team() }).unwrap();
        assert!(limited.truncated && limited.hits.len() == 1);
        assert!(!index.search(&team()).unwrap().truncated);
        assert!(index.search(&Question { limit: 0, ..team() }).unwrap().hits.is_empty());
    });
}

#[test]
fn updates_and_removals_apply_at_every_stage() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![put(page(1, 1, "One", "apple")), put(page(2, 2, "Two", "apple"))]);
    assert_eq!(sorted_ids(&index, "apple"), [1, 2]);
    // The new version replaces one in the overlay.
    index.push(vec![put(page(1, 3, "One", "pear"))]);
    assert_eq!(ids(&index, "apple"), [2]);
    index.flush().unwrap();
    assert_eq!(
        (ids(&index, "apple"), ids(&index, "pear"), index.doc_count()),
        (vec![2], vec![1], 2)
    );
    // The new version replaces one on disk.
    index.push(vec![put(page(2, 4, "Two", "plum")), IndexChange::Remove { id: 1, seq: 5 }]);
    assert_eq!(
        (ids(&index, "apple"), ids(&index, "pear"), ids(&index, "plum")),
        (vec![], vec![], vec![2])
    );
    assert_eq!(ids(&index, "title:one"), Vec::<u64>::new());
    assert_eq!(ids(&index, "type:note"), [2]);
    assert_eq!(index.doc_count(), 1);
    index.flush().unwrap();
    assert_eq!(
        (ids(&index, "apple"), ids(&index, "pear"), ids(&index, "plum")),
        (vec![], vec![], vec![2])
    );
    assert_eq!(index.doc_count(), 1);
    // Added, removed and added again in one batch.
    index.push(vec![
        put(page(1, 6, "One", "fig")),
        IndexChange::Remove { id: 1, seq: 7 },
        put(page(1, 8, "One", "kiwi")),
    ]);
    assert_eq!((ids(&index, "fig"), ids(&index, "kiwi")), (vec![], vec![1]));
    index.flush().unwrap();
    assert_eq!((ids(&index, "fig"), ids(&index, "kiwi"), index.doc_count()), (vec![], vec![1], 2));
}

#[test]
fn a_page_ranks_the_same_on_disk_and_in_the_overlay() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let words = [
        "rust", "search", "index", "brain", "latency", "page", "store", "daemon", "team", "rocket",
    ];
    let body = |id: u64| -> String {
        (0..60 + id % 90)
            .map(|i| words[((id * 7 + i * (id % 9 + 1)) % 10) as usize])
            .collect::<Vec<_>>()
            .join(" ")
    };
    index.push((1..=45).map(|id| note(id, &body(id))).collect());
    index.flush().unwrap();
    index.push((46..=90).map(|id| note(id, &body(id))).collect());
    let questions =
        ["rust search", "latency rocket daemon", "\"search index\" team", "bra* store", "note 77"];
    let scores = |text: &str| -> Vec<(u64, f32)> {
        index.search(&question(text)).unwrap().hits.iter().map(|h| (h.id, h.score)).collect()
    };
    let before: Vec<_> = questions.iter().map(|q| scores(q)).collect();
    assert!(before.iter().all(|hits| !hits.is_empty()));
    index.flush().unwrap();
    for (question, before) in questions.iter().zip(before) {
        let after = scores(question);
        assert_eq!(before.len(), after.len());
        for ((id, a), (other, b)) in before.iter().zip(&after) {
            assert_eq!(id, other, "{question}");
            assert!((a - b).abs() < 0.001, "{question}: {a} {b}");
        }
    }
}

/// A page with many words that begin with a prefix ranks like a page with one. Pages with many such
/// words must not displace the best page.
#[test]
fn a_prefix_counts_once_when_candidates_are_chosen() {
    let many = "sand sea shell ship shore sky snow song star stone storm sun";
    let mut changes: Vec<IndexChange> = (2..=500).map(|id| note(id, many)).collect();
    changes.push(note(501, "salt"));
    at_every_stage(&changes, |index| assert_eq!(ids(index, "s*")[0], 501));
}

#[test]
fn concurrent_writes_and_searches_agree() {
    let dir = tempfile::tempdir().unwrap();
    let frequent_commits = Options {
        commit_changes: 16,
        commit_when_idle: Duration::from_millis(5),
        ..Options::default()
    };
    let (index, _) = Index::open(dir.path(), "store", 0, frequent_commits).unwrap();
    let seq = std::sync::Mutex::new(0_u64);
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let (index, seq) = (&index, &seq);
            scope.spawn(move || {
                for round in 0..60_u64 {
                    let id = writer * 1000 + round;
                    let word = format!("w{writer}r{round}x");
                    {
                        // Like the store, pushes changes in the order of commits.
                        let mut seq = seq.lock().unwrap();
                        *seq += 1;
                        index.push(vec![put(page(id, *seq, "T", &format!("common {word}")))]);
                    }
                    assert_eq!(ids(index, &word), [id]);
                    if round % 3 == 0 {
                        let mut seq = seq.lock().unwrap();
                        *seq += 1;
                        index.push(vec![IndexChange::Remove { id, seq: *seq }]);
                        drop(seq);
                        assert_eq!(ids(index, &word), Vec::<u64>::new());
                    }
                }
            });
        }
    });
    index.wait_for_backlog_below(1);
    index.flush().unwrap();
    // Of 240 pages, every third was removed.
    assert_eq!(index.doc_count(), 160);
    let all = index.search(&Question { limit: 500, ..question("common") }).unwrap();
    assert_eq!(all.hits.len(), 160);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_text_can_be_indexed_and_searched(
        bodies in proptest::collection::vec("\\PC{0,60}|[a-e '\"*:.@東京かไé\u{301}-]{0,80}", 1..5),
        questions in proptest::collection::vec(
            "\\PC{0,40}|[-a-e*:\"“é東京かไ tagleypsourc]{0,40}",
            1..8,
        ),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        index.push(bodies.iter().enumerate().map(|(i, b)| {
            let mut page = page(i as u64, i as u64 + 1, b, b);
            page.aliases = bodies.clone();
            page.tags = bodies.clone();
            put(page)
        }).collect());
        for text in questions.iter().chain(&bodies) {
            let found = index.search(&question(text)).unwrap();
            for body in &bodies {
                let snippet = found.snippets.snippet(body, &[]);
                prop_assert!(snippet.text.chars().count() <= MAX_SNIPPET_CHARS);
                for (start, end) in snippet.highlights {
                    let highlight = snippet.text.get(start as usize..end as usize);
                    prop_assert!(start < end && highlight.is_some());
                }
            }
        }
        let before: Vec<Vec<u64>> = questions.iter().map(|q| sorted_ids(&index, q)).collect();
        index.flush().unwrap();
        let after: Vec<Vec<u64>> = questions.iter().map(|q| sorted_ids(&index, q)).collect();
        prop_assert_eq!(before, after);
    }
}
