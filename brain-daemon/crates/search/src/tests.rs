//! The search index through its public interface.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, sync::Arc, time::Duration};

use brain_protocol::{Slug, SourceId};
use proptest::prelude::*;

use super::*;

fn page(id: u64, seq: u64, title: &str, body: &str) -> IndexPage {
    IndexPage {
        id,
        seq,
        source: SourceId::default(),
        slug: Slug::parse(format!("p/{id}")).unwrap(),
        title: title.into(),
        aliases: Vec::new(),
        tags: Vec::new(),
        page_type: "note".into(),
        body: body.into(),
        updated_at: i64::try_from(id).unwrap() * 1000,
    }
}

fn put(page: IndexPage) -> Change {
    Change::Put(Arc::new(page))
}

fn note(id: u64, body: &str) -> Change {
    put(page(id, id, &format!("Note {id}"), body))
}

/// Options without automatic commits.
fn patient() -> Options {
    let hour = Duration::from_secs(3600);
    Options { commit_after: hour, commit_when_idle: hour, ..Options::default() }
}

fn open(dir: &Path) -> Index {
    Index::open(dir, "store", 1_000_000, patient()).unwrap().0
}

fn ask(text: &str) -> Question {
    Question { text: text.into(), limit: 20, ..Question::default() }
}

fn ids(index: &Index, text: &str) -> Vec<u64> {
    index.search(&ask(text)).unwrap().hits.iter().map(|h| h.id).collect()
}

fn sorted(index: &Index, text: &str) -> Vec<u64> {
    let mut ids = ids(index, text);
    ids.sort_unstable();
    ids
}

/// Runs `check` with the pages in the overlay, on disk, and on disk after reopening.
fn everywhere(changes: &[Change], check: impl Fn(&Index)) {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(changes.to_vec());
    check(&index);
    index.flush().unwrap();
    assert_eq!(index.behind(), 0);
    check(&index);
    drop(index);
    check(&open(dir.path()));
}

fn corpus() -> Vec<Change> {
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
            "Das Café in München ist schön, und die Straßen sind voll mit Menschen, die nicht nach Hause gehen.",
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
            "Компания занимается разработкой программ для банков, и она работает в этой стране уже много лет.",
        ),
    ]
}

#[test]
fn all_query_forms_are_answered() {
    everywhere(&corpus(), |index| {
        // Words rank and need not all be there.
        assert_eq!(ids(index, "latency team unicorn")[0], 1);
        assert_eq!(sorted(index, "team"), [1, 2]);
        // Stems, accents, compounds, possessives.
        assert_eq!(sorted(index, "rocket"), [2, 6]);
        assert_eq!(ids(index, "marathon"), [1]);
        assert_eq!(ids(index, "munchen"), [3]);
        assert_eq!(ids(index, "strasse"), [3]);
        assert_eq!(ids(index, "1.0.21"), [2]);
        assert_eq!(ids(index, "2026-11-20")[0], 2);
        assert_eq!(ids(index, "bob@example.com"), [6]);
        assert_eq!(ids(index, "snake_case"), [6]);
        assert_eq!(ids(index, "example"), [6]);
        assert_eq!(sorted(index, "alice"), [1, 6]);
        // Phrases, with stems; not over the end of an alias.
        assert_eq!(ids(index, "\"latency team\""), [1]);
        assert_eq!(ids(index, "\"team latency\""), Vec::<u64>::new());
        assert_eq!(ids(index, "\"smith al\""), Vec::<u64>::new());
        assert_eq!(ids(index, "\"rockets team\""), [2]);
        // What must not be there.
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
        // Nothing asked, nothing found.
        for nothing in ["", "  ", "?!", "\"\"", "***", "-", "-tag:x"] {
            assert_eq!(ids(index, nothing), Vec::<u64>::new(), "{nothing}");
        }
        assert_eq!(sorted(index, "-rocket"), [2, 6]);
        assert_eq!(index.doc_count(), 8);
    });
}

#[test]
fn scripts_without_spaces_are_found() {
    everywhere(&corpus(), |index| {
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
fn exact_names_rank_first_and_matches_are_named() {
    let mut changes = corpus();
    changes.push(note(20, &"acme ".repeat(300)));
    everywhere(&changes, |index| {
        let found = index.search(&Question { explain: true, ..ask("acme") }).unwrap();
        assert_eq!((found.hits[0].id, found.hits[0].tier), (2, 3));
        assert_eq!(found.hits[0].matched, ["title", "text"]);
        let sum: f32 = found.hits[0].explain.iter().map(|p| p.score).sum();
        assert!((sum - found.hits[0].score).abs() < 0.01, "{:?}", found.hits[0].explain);
        assert!(found.hits[0].explain.iter().any(|p| p.reason == "exact title"));
        let alias = index.search(&ask("lady latency")).unwrap();
        assert_eq!((alias.hits[0].id, alias.hits[0].tier), (1, 2));
        let slug = index.search(&ask("companies/acme-corp")).unwrap();
        assert_eq!((slug.hits[0].id, slug.hits[0].tier), (2, 1));
        assert_eq!(index.search(&ask("person")).unwrap().hits[0].matched, ["tag"]);
        // A filter holds for names too.
        assert_eq!(ids(index, "acme -rockets"), [20, 1]);
    });
}

#[test]
fn filters_limit_the_results() {
    everywhere(&corpus(), |index| {
        let with = |question: Question| -> Vec<u64> {
            let mut ids: Vec<u64> =
                index.search(&question).unwrap().hits.iter().map(|h| h.id).collect();
            ids.sort_unstable();
            ids
        };
        let team = || ask("team acme rockets");
        let work = SourceId::parse("work").unwrap();
        assert_eq!(with(team()), [1, 2, 6]);
        assert_eq!(with(Question { sources: Some(vec![work.clone()]), ..team() }), [2]);
        assert_eq!(
            with(Question { sources: Some(vec![work, SourceId::default()]), ..team() }),
            [1, 2, 6]
        );
        assert_eq!(with(Question { sources: Some(Vec::new()), ..team() }), Vec::<u64>::new());
        assert_eq!(with(Question { page_type: Some("Person".into()), ..team() }), [1]);
        assert_eq!(
            with(Question { tags: vec!["machine-learning".into(), "person".into()], ..team() }),
            [1]
        );
        assert_eq!(
            with(Question { tags: vec!["person".into(), "x".into()], ..team() }),
            Vec::<u64>::new()
        );
        assert_eq!(with(Question { since: Some(2000), until: Some(5000), ..team() }), [2]);
        // A source that may not be seen cannot be asked for either.
        assert_eq!(
            with(Question { sources: Some(vec![SourceId::default()]), ..ask("source:work") }),
            Vec::<u64>::new()
        );
        let some = index.search(&Question { limit: 1, ..team() }).unwrap();
        assert!(some.truncated && some.hits.len() == 1);
        assert!(!index.search(&team()).unwrap().truncated);
        assert!(index.search(&Question { limit: 0, ..team() }).unwrap().hits.is_empty());
    });
}

#[test]
fn updates_and_removals_apply_at_every_stage() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![put(page(1, 1, "One", "apple")), put(page(2, 2, "Two", "apple"))]);
    assert_eq!(sorted(&index, "apple"), [1, 2]);
    // In the overlay over the overlay.
    index.push(vec![put(page(1, 3, "One", "pear"))]);
    assert_eq!(ids(&index, "apple"), [2]);
    index.flush().unwrap();
    assert_eq!(
        (ids(&index, "apple"), ids(&index, "pear"), index.doc_count()),
        (vec![2], vec![1], 2)
    );
    // In the overlay over the disk.
    index.push(vec![put(page(2, 4, "Two", "plum")), Change::Remove { id: 1, seq: 5 }]);
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
    // Back again, and gone again in one batch.
    index.push(vec![
        put(page(1, 6, "One", "fig")),
        Change::Remove { id: 1, seq: 7 },
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
        index.search(&ask(text)).unwrap().hits.iter().map(|h| (h.id, h.score)).collect()
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

/// Pages with many words of a prefix are no better than one, and must not crowd out the best.
#[test]
fn a_prefix_counts_once_when_candidates_are_chosen() {
    let many = "sand sea shell ship shore sky snow song star stone storm sun";
    let mut changes: Vec<Change> = (2..=500).map(|id| note(id, many)).collect();
    changes.push(note(501, "salt"));
    everywhere(&changes, |index| assert_eq!(ids(index, "s*")[0], 501));
}

#[test]
fn uncommitted_changes_are_requested_again() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![note(1, "one"), note(2, "two")]);
    index.flush().unwrap();
    index.push(vec![note(3, "three")]);
    assert_eq!((index.committed_seq(), index.behind()), (2, 1));
    drop(index);
    let (index, opened) = Index::open(dir.path(), "store", 3, patient()).unwrap();
    assert_eq!(opened, OpenReport { seq: 2, rebuilt: None });
    assert_eq!(ids(&index, "three"), Vec::<u64>::new());
    // Pushing too much again does no harm.
    index.push(vec![note(2, "two"), note(3, "three")]);
    assert_eq!((ids(&index, "three"), index.doc_count()), (vec![3], 3));
    index.close().unwrap();
    assert_eq!(
        Index::open(dir.path(), "store", 3, patient()).unwrap().1,
        OpenReport { seq: 3, rebuilt: None }
    );
}

#[test]
fn commits_happen_automatically() {
    let dir = tempfile::tempdir().unwrap();
    let soon = Options { commit_when_idle: Duration::from_millis(30), ..Options::default() };
    let (index, _) = Index::open(dir.path(), "store", 9, soon).unwrap();
    index.push(vec![note(1, "one")]);
    await_that("it is committed", || index.behind() == 0);
    assert_eq!((index.committed_seq(), ids(&index, "one")), (1, vec![1]));
}

/// An index with a page, its files changed by `harm`.
fn harmed(harm: impl Fn(&Path), store: &str, store_seq: u64) -> OpenReport {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![note(1, "one")]);
    index.flush().unwrap();
    drop(index);
    fs::write(dir.path().join("mine.txt"), "keep").unwrap();
    harm(dir.path());
    let (index, opened) = Index::open(dir.path(), store, store_seq, patient()).unwrap();
    // Whatever happened, it works, and nobody else's files are gone.
    index.push(vec![note(2, "two")]);
    assert_eq!(ids(&index, "two"), [2]);
    index.flush().unwrap();
    assert_eq!(ids(&index, "two"), [2]);
    assert_eq!(fs::read(dir.path().join("mine.txt")).unwrap(), b"keep");
    opened
}

fn files(dir: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let all = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    all.filter(|p| p.to_string_lossy().ends_with(ending)).collect()
}

#[test]
fn an_unusable_index_is_replaced() {
    let sound = harmed(|_| (), "store", 5);
    assert_eq!(sound, OpenReport { seq: 1, rebuilt: None });
    let meta =
        |text: &'static str| move |dir: &Path| fs::write(dir.join("meta.json"), text).unwrap();
    let replaced = [
        harmed(meta(""), "store", 5),
        harmed(meta("{\"segments\":"), "store", 5),
        harmed(meta("[1,2,3]"), "store", 5),
        harmed(|dir| fs::remove_file(dir.join("meta.json")).unwrap(), "store", 5),
        harmed(
            |dir| {
                fs::remove_file(dir.join(".managed.json")).unwrap();
                fs::write(dir.join("meta.json"), "x").unwrap();
            },
            "store",
            5,
        ),
        harmed(
            |dir| files(dir, ".term").iter().for_each(|p| fs::remove_file(p).unwrap()),
            "store",
            5,
        ),
        harmed(
            |dir| files(dir, ".idx").iter().for_each(|p| fs::write(p, "garbage").unwrap()),
            "store",
            5,
        ),
        harmed(
            |dir| files(dir, ".fast").iter().for_each(|p| fs::write(p, "").unwrap()),
            "store",
            5,
        ),
        harmed(|_| (), "other", 5),
        harmed(|_| (), "store", 0),
    ];
    for opened in replaced {
        assert_eq!(opened.seq, 0);
        assert!(opened.rebuilt.is_some());
    }
    // Deleted altogether: nothing to say.
    let gone = |dir: &Path| {
        for path in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
            if !path.ends_with("mine.txt") {
                fs::remove_file(path).unwrap();
            }
        }
    };
    assert_eq!(harmed(gone, "store", 5), OpenReport { seq: 0, rebuilt: None });
}

#[test]
fn damage_inside_a_file_does_not_panic() {
    for ending in [".term", ".idx", ".pos", ".fast", ".fieldnorm"] {
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        index.push(
            (1..200).map(|id| note(id, &format!("common word{id} and more common text"))).collect(),
        );
        index.flush().unwrap();
        drop(index);
        for path in files(dir.path(), ending) {
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.len() / 2;
            bytes[..end].iter_mut().for_each(|b| *b ^= 0x5A);
            fs::write(&path, bytes).unwrap();
        }
        let (index, opened) = Index::open(dir.path(), "store", 1000, patient()).unwrap();
        let failed =
            ["common", "\"more common\"", "com*", "word7"].map(|q| index.search(&ask(q)).is_err());
        drop(index);
        // Found at the opening, or at the first question that meets it, and then replaced at the
        // next opening.
        if failed.contains(&true) {
            assert_eq!(opened.rebuilt, None);
            assert!(
                Index::open(dir.path(), "store", 1000, patient()).unwrap().1.rebuilt.is_some(),
                "{ending}"
            );
        }
    }
}

#[test]
fn an_unwritable_directory_uses_memory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    // A directory below a file cannot be made.
    let (index, opened) = Index::open(&file.join("index"), "store", 5, patient()).unwrap();
    assert!(opened.rebuilt.is_some() && index.problem().is_some());
    index.push(vec![note(1, "one")]);
    assert_eq!(ids(&index, "one"), [1]);
    index.flush().unwrap();
    assert_eq!(ids(&index, "one"), [1]);
}

#[test]
fn a_failing_disk_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("index");
    let index = Index::open(&place, "store", 5, patient()).unwrap().0;
    index.push(vec![note(1, "one")]);
    fs::rename(&place, dir.path().join("away")).unwrap();
    assert!(matches!(index.flush(), Err(IndexError::Unwritable(_))));
    assert!(index.problem().is_some());
    index.push(vec![note(2, "two")]);
    index.wait_below(1);
    assert_eq!((ids(&index, "one"), ids(&index, "two")), (vec![1], vec![2]));
    fs::rename(dir.path().join("away"), &place).unwrap();
    index.flush().unwrap();
    assert_eq!((index.problem(), index.committed_seq()), (None, 2));
    assert_eq!((ids(&index, "one"), ids(&index, "two")), (vec![1], vec![2]));
}

#[test]
fn a_failing_disk_does_not_fill_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("index");
    let options = Options { overlay_bytes: 200_000, ..patient() };
    let index = Index::open(&place, "store", 0, options).unwrap().0;
    index.push(vec![note(1, "first")]);
    fs::rename(&place, dir.path().join("away")).unwrap();
    assert!(index.flush().is_err());
    index.push((2..=900).map(|id| note(id, "later")).collect());
    await_that("the first is let go of", || ids(&index, "first").is_empty());
    assert_eq!(ids(&index, "900"), [900]);
    fs::rename(dir.path().join("away"), &place).unwrap();
    index.flush().unwrap();
    assert_eq!(ids(&index, "900"), [900]);
    // It does not claim what it let go of, and says that something is amiss.
    assert!(index.problem().is_some() && index.committed_seq() == 0 && index.behind() == 900);
    drop(index);
    assert_eq!(
        Index::open(&place, "store", 900, patient()).unwrap().1,
        OpenReport { seq: 0, rebuilt: None }
    );
}

#[test]
fn concurrent_writes_and_searches_agree() {
    let dir = tempfile::tempdir().unwrap();
    let quick = Options {
        commit_changes: 16,
        commit_when_idle: Duration::from_millis(5),
        ..Options::default()
    };
    let (index, _) = Index::open(dir.path(), "store", 0, quick).unwrap();
    let seq = std::sync::Mutex::new(0_u64);
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let (index, seq) = (&index, &seq);
            scope.spawn(move || {
                for round in 0..60_u64 {
                    let id = writer * 1000 + round;
                    let word = format!("w{writer}r{round}x");
                    {
                        // As the store: pushed in the order of commits.
                        let mut seq = seq.lock().unwrap();
                        *seq += 1;
                        index.push(vec![put(page(id, *seq, "T", &format!("common {word}")))]);
                    }
                    assert_eq!(ids(index, &word), [id]);
                    if round % 3 == 0 {
                        let mut seq = seq.lock().unwrap();
                        *seq += 1;
                        index.push(vec![Change::Remove { id, seq: *seq }]);
                        drop(seq);
                        assert_eq!(ids(index, &word), Vec::<u64>::new());
                    }
                }
            });
        }
    });
    index.wait_below(1);
    index.flush().unwrap();
    assert_eq!(index.doc_count(), 160);
    let all = index.search(&Question { limit: 500, ..ask("common") }).unwrap();
    assert_eq!(all.hits.len(), 160);
}

#[test]
fn snippets_show_the_best_passage() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let filler = "Nothing of interest happens in this sentence at all. ".repeat(20);
    let body = format!(
        "# Heading\n\n{filler}\n\nThe rockets of   Acme fly high.\nThey land too. {filler}"
    );
    index.push(vec![note(1, &body), note(2, "東京都庁は新宿区にある")]);
    let found = index.search(&ask("acme rocket")).unwrap();
    let middle = body.find("The rockets").unwrap();
    let snippet = found.snippets.snippet(&body, &[0..middle, middle..body.len()]);
    assert_eq!((snippet.chunk, snippet.line), (1, 5), "the line of the first match");
    assert!(snippet.text.chars().count() <= MAX_SNIPPET_CHARS && !snippet.text.contains('\n'));
    let lit: Vec<&str> =
        snippet.highlights.iter().map(|&(a, b)| &snippet.text[a as usize..b as usize]).collect();
    assert_eq!(lit, ["rockets", "Acme"]);
    assert!(snippet.text.contains("rockets of Acme fly"), "{}", snippet.text);
    // Nothing matches: the beginning, without the mark of a heading.
    let other = index.search(&ask("unicorn")).unwrap().snippets.snippet(&body, &[]);
    assert!(
        other.text.starts_with("Heading Nothing")
            && other.highlights.is_empty()
            && other.chunk == 0
    );
    let tokyo =
        index.search(&ask("新宿区")).unwrap().snippets.snippet("東京都庁は新宿区にある", &[]);
    let (a, b) = tokyo.highlights[0];
    assert_eq!(&tokyo.text[a as usize..b as usize], "新宿区");
    assert_eq!(found.snippets.snippet("", &[]), Snippet { line: 1, ..Snippet::default() });
    // Ranges that are not of this body do no harm.
    let backwards = std::ops::Range { start: 7, end: 2 };
    let _ = found.snippets.snippet("rocket é", &[3..900, backwards, 8..8]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_text_can_be_indexed_and_searched(
        bodies in proptest::collection::vec("\\PC{0,60}|[a-e '\"*:.@東京かไé\u{301}-]{0,80}", 1..5),
        questions in proptest::collection::vec("\\PC{0,40}|[-a-e*:\"“é東京かไ tagleypsourc]{0,40}", 1..8),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        index.push(bodies.iter().enumerate().map(|(i, b)| {
            let mut page = page(i as u64, i as u64 + 1, b, b);
            page.aliases = bodies.clone();
            page.tags = bodies.clone();
            put(page)
        }).collect());
        for question in questions.iter().chain(&bodies) {
            let before = index.search(&ask(question)).unwrap();
            for body in &bodies {
                let snippet = before.snippets.snippet(body, &[]);
                prop_assert!(snippet.text.chars().count() <= MAX_SNIPPET_CHARS);
                for (a, b) in snippet.highlights {
                    prop_assert!(a < b && snippet.text.get(a as usize..b as usize).is_some());
                }
            }
        }
        let before: Vec<Vec<u64>> = questions.iter().map(|q| sorted(&index, q)).collect();
        index.flush().unwrap();
        let after: Vec<Vec<u64>> = questions.iter().map(|q| sorted(&index, q)).collect();
        prop_assert_eq!(before, after);
    }
}

#[test]
fn merged_segments_are_searched_without_another_commit() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for id in 1..=6 {
        index.push(vec![note(id, "harbour")]);
        index.flush().unwrap();
    }
    await_that("segments are merged", || index.segments() < 6);
    assert_eq!(sorted(&index, "harbour"), (1..=6).collect::<Vec<_>>());
}

#[test]
fn a_bulk_load_is_merged_when_idle() {
    const PAGES: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let pouring = Options { commit_changes: 4, commit_changes_bulk: 16, ..patient() };
    let (index, _) = Index::open(dir.path(), "store", PAGES + 1, pouring.clone()).unwrap();
    for first in (1..=PAGES).step_by(20) {
        index.push((first..first + 20).map(|n| note(n, &format!("common only{n}"))).collect());
        await_that("it is committed", || index.behind() == 0);
    }
    assert!(index.segments() > 8, "{} segments", index.segments());
    drop(index);

    // An index that was left so is tidied, and so is one that is at work.
    let quick = Options { commit_when_idle: Duration::from_millis(30), ..pouring };
    let (index, opened) = Index::open(dir.path(), "store", PAGES + 1, quick).unwrap();
    assert_eq!(opened, OpenReport { seq: PAGES, rebuilt: None });
    await_that("one segment is left", || index.segments() == 1);
    index.push(vec![put(page(7, PAGES + 1, "Note 7", "changed"))]);
    await_that("it is committed", || index.behind() == 0);
    assert_eq!((ids(&index, "changed"), ids(&index, "only8")), (vec![7], vec![8]));
    let all = index.search(&Question { limit: 500, ..ask("common") }).unwrap();
    assert_eq!((all.hits.len(), index.doc_count()), (PAGES as usize - 1, PAGES));
    drop(index);
    let reopened = Index::open(dir.path(), "store", PAGES + 1, patient()).unwrap().1;
    assert_eq!(reopened, OpenReport { seq: PAGES + 1, rebuilt: None });
}

/// Waits up to half a minute.
fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(std::time::Instant::now() < until, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn only_bulk_pages_wait_for_the_indexer() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let word = |id: u64| format!("zqbulk{id}");
    let bulk = |id: u64| note(id, &format!("{} {}", word(id), "lorem ipsum dolor ".repeat(150)));
    index.push_bulk((1..=4000).map(bulk).collect());
    index.push(vec![note(4001, "urgent"), Change::Remove { id: 4000, seq: 4002 }]);
    assert_eq!(ids(&index, "urgent"), [4001]);
    // The indexer needs seconds for so many; a search that took them apart itself would, too.
    assert!(index.leaves_out(None));
    assert_eq!(ids(&index, &word(3999)), [0; 0]);
    let other = SourceId::parse("work").unwrap();
    assert!(!index.leaves_out(Some(&[other])), "none of them is there");
    index.settle();
    assert!(!index.leaves_out(None));
    assert_eq!((ids(&index, &word(3999)), ids(&index, &word(1))), (vec![3999], vec![1]));
    assert_eq!(ids(&index, &word(4000)), [0; 0], "removed meanwhile");
}

#[test]
fn a_bulk_change_shows_the_old_page_until_analyzed() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![note(1, "former"), note(2, "former")]);
    index.flush().unwrap();
    let filler = (3..=3000).map(|id| note(id, &"lorem ipsum dolor ".repeat(150)));
    let changed = |id: u64, seq: u64| put(page(id, seq, "Changed", "latter"));
    let last = [changed(1, 3001), changed(2, 3002)];
    index.push_bulk(filler.chain(last).collect());
    index.push(vec![put(page(2, 3003, "Changed again", "final"))]);
    assert_eq!(ids(&index, "former"), [1]);
    assert_eq!(ids(&index, "final"), [2]);
    index.settle();
    assert_eq!(
        (ids(&index, "former"), ids(&index, "latter"), ids(&index, "final")),
        (vec![], vec![1], vec![2])
    );
}
