//! Steps: identity through moves, clocks that go back, runs, origins, purges, migration.

use brain_base::caller::Visibility;
use brain_protocol::SourceId;

use super::tests::{open, page, put, slug};
use super::*;

fn act(door: &str, at: i64) -> Act {
    let actor = Actor { door: door.into(), client: format!("{door}-1"), run: None };
    Act { actor, at: Some(at), made_from: Vec::new() }
}

fn steps(store: &Store, name: &str) -> Vec<(u64, StepRecord)> {
    let reader = store.read(Visibility::All).unwrap();
    let record = reader.page_even_deleted(&SourceId::default(), &slug(name)).unwrap().unwrap();
    reader.steps_back(record.seq).unwrap()
}

fn text_at(store: &Store, name: &str, at: i64) -> Option<(String, String)> {
    let reader = store.read(Visibility::All).unwrap();
    let record = reader.page_even_deleted(&SourceId::default(), &slug(name)).unwrap().unwrap();
    let (_, step) = reader.step_at(record.seq, at).unwrap()?;
    let version = reader.any_version(step.page, step.version).unwrap().unwrap();
    Some((step.slug, version.content.body.to_string()))
}

#[test]
fn a_page_keeps_its_steps_through_a_move_a_deletion_and_a_restore() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let source = SourceId::default();
    acting(act("cli", 10), || put(&store, "notes/alpha", page("one", &[], None), 10));
    acting(act("mcp", 20), || put(&store, "notes/alpha", page("two", &[], None), 20));
    let record = |name: &str| {
        store.read(Visibility::All).unwrap().page_even_deleted(&source, &slug(name)).unwrap()
    };
    let old = record("notes/alpha").unwrap();
    acting(act("browser", 30), || {
        let new = page("two", &[], None);
        store
            .write(move |transaction| {
                let names = (&slug("notes/alpha"), (&slug("notes/beta"), None));
                transaction.move_page(&SourceId::default(), names, &old, &new, 30)
            })
            .unwrap()
    });
    for (at, is_deletion) in [(40, true), (50, false)] {
        let current = record("notes/beta").unwrap();
        acting(act("cli", at), || {
            store
                .write(move |transaction| {
                    let (source, name) = (SourceId::default(), slug("notes/beta"));
                    match is_deletion {
                        true => transaction.soft_delete(&source, &name, current.clone(), at),
                        false => transaction.restore(&source, &name, current.clone()),
                    }
                })
                .unwrap()
        });
    }
    let found: Vec<_> = steps(&store, "notes/beta")
        .into_iter()
        .map(|(_, step)| (step.kind, step.at, step.actor.door, step.slug))
        .collect();
    let row = |kind, at, door: &str, slug: &str| (kind, at, door.to_owned(), slug.to_owned());
    assert_eq!(
        found,
        [
            row(StepKind::Restored, 50, "cli", "notes/beta"),
            row(StepKind::Deleted, 40, "cli", "notes/beta"),
            row(StepKind::Moved, 30, "browser", "notes/beta"),
            row(StepKind::Written, 20, "mcp", "notes/alpha"),
            row(StepKind::Created, 10, "cli", "notes/alpha"),
        ]
    );
    let at = |at| text_at(&store, "notes/beta", at);
    assert_eq!(at(9), None);
    assert_eq!(at(15), Some(("notes/alpha".into(), "one".into())));
    assert_eq!(at(35), Some(("notes/beta".into(), "two".into())));
}

#[test]
fn a_clock_that_goes_back_reorders_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    for (text, clock) in [("v1", 1200), ("v2", 1100), ("v3", 1210)] {
        acting(act("cli", clock), || put(&store, "a", page(text, &[], None), clock));
    }
    assert_eq!(text_at(&store, "a", 1130), None);
    assert_eq!(text_at(&store, "a", 1205).unwrap().1, "v2");
    assert_eq!(text_at(&store, "a", 1210).unwrap().1, "v3");
    let clocks: Vec<_> = steps(&store, "a").iter().map(|(_, step)| step.clock).collect();
    assert_eq!(clocks, [1210, 1100, 1200]);
}

#[test]
fn a_version_number_means_one_text_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let own = put(&store, "a", page("own", &[], None), 1).record;
    let (id, now) = (own.id, own.clone());
    let number = store
        .write(move |transaction| {
            let (source, name) = (SourceId::default(), slug("a"));
            let theirs = page("theirs", &[], None);
            transaction.store_version(&source, &name, now.clone(), &theirs, 2)
        })
        .unwrap();
    put(&store, "a", page("later", &[], None), 3);
    let reader = store.read(Visibility::All).unwrap();
    let text = |number| {
        reader.any_version(id, number).unwrap().map(|found| found.content.body.to_string())
    };
    assert_eq!((own.version, number), (1, 2));
    let texts: Vec<_> = (1..=4).map(text).collect();
    let expected = ["own", "theirs", "own", "later"].map(|text| Some(text.to_owned()));
    assert_eq!(texts, expected);
}

#[test]
fn origins_are_found_from_both_ends_and_a_purge_leaves_only_its_date() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let source = put(&store, "src", page("source", &[], None), 1).record;
    let origin = Origin::Page { id: source.id, version: 1 };
    let made = Act { made_from: vec![origin.clone()], ..act("mcp", 2) };
    let sum = acting(made, || put(&store, "sum", page("sum", &[], None), 2)).record;
    let reader = store.read(Visibility::All).unwrap();
    assert_eq!(reader.made_from(source.id).unwrap(), [sum.id]);
    assert_eq!(reader.step(sum.seq).unwrap().unwrap().made_from, [origin]);
    drop(reader);
    acting(act("cli", 5), || {
        store
            .write(move |transaction| {
                transaction.purge_page(&SourceId::default(), &slug("src"), source.clone(), 5)
            })
            .unwrap()
    });
    let reader = store.read(Visibility::All).unwrap();
    assert_eq!(reader.made_from(1).unwrap(), [0_u64; 0]);
    let holder = |slug| reader.last_holder("default", slug).unwrap();
    assert_eq!(holder("src"), Some(LastHolder::Purged(5)));
    assert_eq!((holder("sum"), holder("other")), (Some(LastHolder::Page(sum.id)), None));
    let mut left = Vec::new();
    reader
        .each_step_back(u64::MAX, |_, step| {
            left.push((step.kind, step.slug));
            Ok(true)
        })
        .unwrap();
    assert_eq!(
        left,
        [(StepKind::Purged, purged_name("default", "src")), (StepKind::Created, "sum".to_owned()),]
    );
}
