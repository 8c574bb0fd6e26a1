//! Spooled jobs after kills and failures, and with backups and restores.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;

use brain_base::caller::Visibility;
use brain_protocol::{FaultCode, Slug, SourceId};

use super::jobs_tests::{job, open};
use super::spool_tests::Op::{Item, Page, Panics, Refuses};
use super::spool_tests::{
    Answers, CONTINUE, Op, is_sound, items, numbered, options, send, send_and_kill, spool_of,
    store_path, texts, without_spool,
};
use super::*;

#[test]
fn a_killed_store_has_each_acknowledged_job_once() {
    let (_dir, path) = store_path();
    let (_elsewhere, killed) = store_path();
    let store = open(&path);
    let groups: &[&[Op]] =
        &[&[Item("a"), Item("b"), Item("c")], &[Item("d")], &[Item("e"), Item("f")]];
    let answers = send_and_kill(&store, groups, &killed);
    assert_eq!(answers, (1..=6).map(Ok).collect::<Answers>());
    assert_eq!(without_spool(&killed), [], "the jobs are only in the spool");
    let expected = numbered(&["a", "b", "c", "d", "e", "f"]);
    let spooled = fs::read(spool_of(&killed)).unwrap();
    let opened = open(&killed);
    assert_eq!(items(&opened), expected);
    for (id, body) in expected.clone() {
        let key = brain_page::content_digest(&body);
        let found = opened.write(move |transaction| transaction.latest_job_with_key(&key)).unwrap();
        assert_eq!(found.map(|(id, record)| (id, record.content.body)), Some((id, body.into())));
    }
    drop(opened);
    assert!(!spool_of(&killed).exists(), "the store has everything");
    is_sound(&killed);
    assert_eq!(items(&open(&killed)), expected, "each item is stored once");
    // Killed between the import and the removal of the spool.
    fs::write(spool_of(&killed), &spooled).unwrap();
    let again = open(&killed);
    assert_eq!(items(&again), expected, "each item is stored once");
    assert_eq!(send(&again, &[&[Item("g")]], || ()), [Ok(7)]);
    drop(again);
    // Killed after more than one transaction.
    assert_eq!(send(&store, &[&[Item("g"), Item("h")]], || ()), [Ok(7), Ok(8)]);
    drop(store.read_queue().unwrap());
    let (_elsewhere, later) = store_path();
    assert_eq!(send_and_kill(&store, &[&[Item("i")]], &later), [Ok(9)]);
    assert_eq!(without_spool(&later).len(), 8);
    assert_eq!(items(&open(&later)), numbered(&["a", "b", "c", "d", "e", "f", "g", "h", "i"]));
    drop(store);
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1,
        "a clean shutdown leaves no spool"
    );
    assert_eq!(without_spool(&path).len(), 9);
}

#[test]
fn an_unwritable_spool_loses_no_job() {
    /// Gets the path of the spool.
    type Change = fn(&Path);
    let obstacles: [(&str, Change, Change); 3] = [
        (
            "a full disk",
            |spool| fs::write(spool.with_extension("spool.full"), "").unwrap(),
            |spool| fs::remove_file(spool.with_extension("spool.full")).unwrap(),
        ),
        (
            "a foreign file",
            |spool| std::os::unix::fs::symlink("/dev/full", spool).unwrap(),
            |spool| fs::remove_file(spool).unwrap(),
        ),
        ("a directory", |spool| fs::create_dir(spool).unwrap(), |_| ()),
    ];
    for (obstacle, obstruct, clear) in obstacles {
        let (_dir, path) = store_path();
        let (_elsewhere, killed) = store_path();
        let store = open(&path);
        obstruct(&spool_of(&path));
        let groups: &[&[Op]] = &[&[Item("a"), Item("b")], &[Item("c")]];
        assert_eq!(send_and_kill(&store, groups, &killed), [Ok(1), Ok(2), Ok(3)], "{obstacle}");
        assert_eq!(
            items(&open(&killed)),
            numbered(&["a", "b", "c"]),
            "{obstacle}: answers follow the commit"
        );
        assert_eq!(send(&store, &[&[Item("d")]], || ()), [Ok(4)], "{obstacle}");
        drop(store);
        clear(&spool_of(&path));
        assert_eq!(items(&open(&path)), numbered(&["a", "b", "c", "d"]), "{obstacle}");
        is_sound(&path);
    }
}

#[test]
fn jobs_too_large_for_the_spool_are_committed_first() {
    let (_dir, path) = store_path();
    let store = open(&path);
    let groups: &[&[&[Op]]] = &[
        &[&[Page("p/alone")]],
        &[&[Item("a")], &[Item("b"), Page("p/behind"), Item("c")]],
        &[&[Item("d"), Item("e")], &[Page("p/last")]],
    ];
    let mut pages = Vec::new();
    for groups in groups {
        let (_elsewhere, killed) = store_path();
        let answers = send_and_kill(&store, groups, &killed);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        pages.extend(groups.iter().copied().flatten().filter_map(|op| match op {
            Page(name) => Some(*name),
            _ => None,
        }));
        let _ = fs::remove_file(spool_of(&killed));
        let alone = open(&killed);
        let reader = alone.read(Visibility::All).unwrap();
        for name in &pages {
            let found = reader.page(&SourceId::default(), &Slug::parse(*name).unwrap()).unwrap();
            assert_eq!(found.map(|page| page.title).as_deref(), Some(*name));
        }
        drop(reader);
        assert_eq!(items(&alone), items(&store), "the items before the page are stored, too");
    }
    assert_eq!(items(&store), numbered(&["a", "b", "c", "d", "e"]));
    drop(store);
    is_sound(&path);
}

#[test]
fn a_job_that_fails_after_writing_affects_no_other() {
    for failing in [Refuses("bad"), Panics("bad")] {
        let (_dir, path) = store_path();
        let (_elsewhere, killed) = store_path();
        let store = open(&path);
        let groups: &[&[Op]] =
            &[&[Item("a"), Item("b")], &[Item("c"), failing, Item("d")], &[Item("e")]];
        let answers = send_and_kill(&store, groups, &killed);
        let code = match failing {
            Refuses(_) => FaultCode::InvalidRequest,
            _ => FaultCode::Internal,
        };
        assert_eq!(answers, [Ok(1), Ok(2), Ok(3), Err(code), Ok(4), Ok(5)]);
        let expected = numbered(&["a", "b", "c", "d", "e"]);
        assert_eq!(items(&open(&killed)), expected);
        drop(store.read_queue().unwrap());
        assert_eq!(items(&store), expected);
        // No job waits under the key of the failed task.
        let key = brain_page::content_digest("bad");
        assert_eq!(
            store.write(move |transaction| transaction.latest_job_with_key(&key)).unwrap(),
            None
        );
        let key = brain_page::content_digest("a");
        let first = store.write(move |transaction| transaction.latest_job_with_key(&key)).unwrap();
        assert_eq!(first.map(|(id, _)| id), Some(1));
        drop(store);
        is_sound(&path);
        assert_eq!(items(&open(&path)), expected);
    }
}

#[test]
fn the_queue_shows_all_acknowledged_jobs() {
    let (dir, path) = store_path();
    let store = open(&path);
    for n in 1..=3_u64 {
        let readers = store.reader_factory();
        let (sender, receiver) = channel();
        let answers = send(&store, &[&[Item("a")]], move || {
            sender.send(readers.read(Visibility::All).unwrap().job(n).unwrap().is_some()).unwrap();
        });
        assert_eq!(answers, [Ok(n)]);
        assert!(!receiver.recv().unwrap(), "the transaction is open");
        let found = match n {
            1 => store.read_queue().unwrap().job(n).unwrap(),
            2 => {
                let copy = dir.path().join("copy.redb");
                store.back_up(&copy, 4711, CONTINUE).unwrap();
                let copied = open(&copy);
                copied.read(Visibility::All).unwrap().job(n).unwrap()
            }
            _ => {
                assert_eq!(
                    store.write(|transaction| transaction.add_job(&job("b", 6))).unwrap(),
                    n + 1
                );
                store.read(Visibility::All).unwrap().job(n).unwrap()
            }
        };
        assert_eq!(found.map(|record| record.content.body).as_deref(), Some("a"));
    }
    assert_eq!(texts(&store), ["a", "a", "a", "b"]);
}

#[test]
fn a_spool_beside_an_older_store_copy_is_set_aside() {
    let (dir, path) = store_path();
    let (_elsewhere, killed) = store_path();
    let backup = dir.path().join("backup.redb");
    let store = open(&path);
    assert_eq!(send(&store, &[&[Item("a"), Item("b")]], || ()), [Ok(1), Ok(2)]);
    store.back_up(&backup, 4711, CONTINUE).unwrap();
    assert_eq!(send(&store, &[&[Item("c"), Item("d")]], || ()), [Ok(3), Ok(4)]);
    drop(store.read_queue().unwrap());
    assert_eq!(send_and_kill(&store, &[&[Item("e"), Item("f")]], &killed), [Ok(5), Ok(6)]);
    let spooled = fs::read(spool_of(&killed)).unwrap();

    fs::copy(&backup, &killed).unwrap();
    for (n, bodies) in [(1, &["a", "b"][..]), (2, &["a", "b", "new"])] {
        fs::write(spool_of(&killed), &spooled).unwrap();
        let older = open(&killed);
        assert_eq!(items(&older), numbered(bodies));
        assert!(!spool_of(&killed).exists(), "the spool was renamed");
        let aside = killed.with_extension(format!("redb.spool-{n}"));
        assert!(fs::read(aside).unwrap() == spooled, "the spool is set aside");
        if n == 1 {
            assert_eq!(
                send(&older, &[&[Item("new")]], || ()),
                [Ok(3)],
                "job numbers continue where the store ends"
            );
        }
    }
}

#[test]
fn a_restored_store_ignores_the_former_spool() {
    let (dir, path) = store_path();
    let (_elsewhere, home) = store_path();
    let backup = dir.path().join("backup.redb");
    let store = open(&path);
    assert_eq!(send(&store, &[&[Item("a"), Item("b")]], || ()), [Ok(1), Ok(2)]);
    store.back_up(&backup, 4711, CONTINUE).unwrap();
    assert_eq!(send_and_kill(&store, &[&[Item("c")]], &home), [Ok(3)]);
    // The number of its first item follows the last number of the backup.
    fs::remove_file(&home).unwrap();
    let spooled = fs::read(spool_of(&home)).unwrap();
    restore(&backup, &home, &options(9), &mut |_, _, _| true, CONTINUE).unwrap();
    let restored = open(&home);
    assert_eq!((restored.id(), texts(&restored)), (9, vec!["a".to_owned(), "b".to_owned()]));
    assert!(!spool_of(&home).exists());
    assert!(
        fs::read(home.with_extension("redb.spool-1")).unwrap() == spooled,
        "the spool is set aside"
    );
}

#[test]
fn a_restore_from_a_killed_store_has_its_spooled_jobs() {
    let (_dir, path) = store_path();
    let (_elsewhere, killed) = store_path();
    let store = open(&path);
    assert_eq!(send(&store, &[&[Page("p/kept"), Item("a")]], || ()), [Ok(0), Ok(1)]);
    let groups: &[&[Op]] = &[&[Item("b"), Item("c")], &[Item("d")]];
    assert_eq!(send_and_kill(&store, groups, &killed), [Ok(2), Ok(3), Ok(4)]);
    assert_eq!(without_spool(&killed), numbered(&["a"]));
    let before = (fs::read(&killed).unwrap(), fs::read(spool_of(&killed)).unwrap());
    let (_home, to) = store_path();
    restore(&killed, &to, &options(9), &mut |_, _, _| true, CONTINUE).unwrap();
    let after = (fs::read(&killed).unwrap(), fs::read(spool_of(&killed)).unwrap());
    assert!(before == after, "the original files are unchanged");
    is_sound(&to);
    let restored = open(&to);
    assert_eq!(items(&restored), numbered(&["a", "b", "c", "d"]));
    assert_eq!(restored.read(Visibility::All).unwrap().job_counts().unwrap().waiting, 4);
    assert_eq!(restored.id(), 9);
    assert_eq!(send(&restored, &[&[Item("e")]], || ()), [Ok(5)]);
}

#[test]
fn a_spool_placed_beside_an_open_store_is_kept() {
    let (_other_dir, other) = store_path();
    let (_elsewhere, killed) = store_path();
    let other_store = Store::open(&other, &options(9), Box::new(|_| {})).unwrap();
    assert_eq!(send_and_kill(&other_store, &[&[Item("theirs")]], &killed), [Ok(1)]);
    let spooled = fs::read(spool_of(&killed)).unwrap();

    let (_dir, path) = store_path();
    let store = open(&path);
    assert_eq!(send(&store, &[&[Item("a")]], || ()), [Ok(1)]);
    drop(store.read_queue().unwrap());
    fs::rename(spool_of(&killed), spool_of(&path)).unwrap();
    assert_eq!(send(&store, &[&[Item("b")]], || ()), [Ok(2)]);
    let aside = |n: u32| fs::read(path.with_extension(format!("redb.spool-{n}"))).unwrap();
    assert!(aside(1) == spooled, "the spool is set aside");
    assert_eq!(store.quarantined_spools().unwrap(), [path.with_extension("redb.spool-1")]);
    assert_eq!(send(&store, &[&[Item("c")]], || ()), [Ok(3)]);
    drop(store.read_queue().unwrap());

    // A store that closes does not remove it either.
    fs::copy(path.with_extension("redb.spool-1"), spool_of(&path).with_extension("new")).unwrap();
    fs::rename(spool_of(&path).with_extension("new"), spool_of(&path)).unwrap();
    drop(store);
    let again = open(&path);
    assert!(aside(2) == spooled, "the spool is set aside");
    assert_eq!(items(&again), numbered(&["a", "b", "c"]));
    for other in ["redb.spool-1.bak", "redb.spool-"] {
        fs::write(path.with_extension(other), "another file").unwrap();
    }
    assert_eq!(again.quarantined_spools().unwrap().len(), 2);
}

#[test]
fn the_copy_before_a_migration_includes_the_spool() {
    let (_dir, path) = store_path();
    let (_elsewhere, killed) = store_path();
    let store = open(&path);
    assert_eq!(send_and_kill(&store, &[&[Item("a"), Item("b")]], &killed), [Ok(1), Ok(2)]);
    {
        let db = super::jobs_tests::open_file(&killed);
        let txn = db.begin_write().unwrap();
        txn.open_table(tables::META).unwrap().insert(tables::META_SCHEMA, 83).unwrap();
        txn.commit().unwrap();
    }
    let migrated = open(&killed);
    assert_eq!(items(&migrated), numbered(&["a", "b"]));
    let (_home, to) = store_path();
    restore(&killed.with_extension("redb.v83"), &to, &options(9), &mut |_, _, _| true, CONTINUE)
        .unwrap();
    assert_eq!(
        items(&open(&to)),
        numbered(&["a", "b"]),
        "the copy of the older store has the jobs, too"
    );
}
