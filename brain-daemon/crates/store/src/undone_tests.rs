//! Undone steps: what is recorded, what a redo clears, what a purge leaves.

use brain_base::caller::Visibility;
use brain_protocol::SourceId;

use super::tests::{open, page, put, slug};
use super::*;

fn act(taken_back: Vec<u64>, redo_of: &[u64]) -> UndoAct {
    UndoAct {
        actor: Actor { door: "cli".into(), client: "uid 1000".into(), run: None },
        machine: None,
        after: 0,
        taken_back,
        made: Vec::new(),
        redo_of: redo_of.to_vec(),
        is_redone: false,
        part_of: 0,
        is_redo: !redo_of.is_empty(),
    }
}

fn record(store: &Store, act: UndoAct) -> u64 {
    store
        .write(move |transaction| {
            let number = transaction.next_act()?;
            transaction.record_act(number, act.clone())?;
            Ok(number)
        })
        .unwrap()
}

#[test]
fn a_redo_lets_the_steps_stand_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    put(&store, "a", page("one", &[], None), 10);
    put(&store, "a", page("two", &[], None), 20);
    let taken = |steps: [u64; 2]| {
        steps.map(|step| store.read(Visibility::All).unwrap().is_taken_back(step).unwrap())
    };
    assert_eq!(record(&store, act(vec![2], &[])), 1);
    assert_eq!(taken([1, 2]), [false, true]);
    assert_eq!(record(&store, act(vec![3], &[1])), 2);
    assert_eq!(taken([2, 3]), [false, true]);
    let mut acts = Vec::new();
    let reader = store.read(Visibility::All).unwrap();
    reader
        .each_act_back(|number, act| {
            acts.push((number, act.redo_of, act.is_redone));
            true
        })
        .unwrap();
    assert_eq!(acts, [(2, vec![1], false), (1, vec![], true)]);
}

#[test]
fn a_purge_removes_the_rows_of_its_steps() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    put(&store, "a", page("one", &[], None), 10);
    put(&store, "b", page("two", &[], None), 20);
    record(&store, act(vec![1, 2], &[]));
    let source = SourceId::default();
    let read = || store.read(Visibility::All).unwrap();
    let found = read().page(&source, &slug("a")).unwrap().unwrap();
    store.write(move |t| t.purge_page(&source, &slug("a"), found.clone(), 30)).unwrap();
    assert_eq!([1, 2].map(|step| read().is_taken_back(step).unwrap()), [false, true]);
}

#[test]
fn the_steps_of_one_write_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    put(&store, "a", page("zero", &[], None), 5);
    store
        .write(|transaction| {
            for name in ["b", "c"] {
                transaction.write_page(
                    &SourceId::default(),
                    &slug(name),
                    &page("x", &[], None),
                    10,
                )?;
            }
            Ok(())
        })
        .unwrap();
    put(&store, "d", page("y", &[], None), 20);
    let reader = store.read(Visibility::All).unwrap();
    let slugs = |first| {
        let found = reader.steps_of_write(first).unwrap();
        found.into_iter().map(|(_, step)| step.slug).collect::<Vec<_>>()
    };
    assert_eq!(slugs(2), ["b", "c"]);
    assert_eq!(slugs(4), ["d"]);
    assert!(slugs(3).is_empty());
}
