//! Spool: acknowledged jobs survive any kill, and no others appear.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use brain_base::caller::Visibility;
use brain_protocol::{Fault, FaultCode, Slug, SourceId};
use proptest::prelude::*;

use super::jobs_tests::{job, open};
use super::record::{from_bytes, to_bytes};
use super::spool::{Spool, UnstoredJobs, parse_spool};
use super::tests::page;
use super::*;

const HEARD: &dyn Fn(u64, u64) -> bool = &|_, _| true;

fn options(fresh_id: u64) -> StoreOptions {
    StoreOptions { fresh_id, ..super::tests::options() }
}

/// A directory with the place of a store in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    (dir, path)
}

fn spool_of(path: &Path) -> PathBuf {
    path.with_extension("redb.spool")
}

/// What somebody sends to the writer without waiting for it.
#[derive(Clone, Copy)]
enum Op {
    Item(&'static str),
    Page(&'static str),
    /// Adds an item and refuses then.
    Refuses(&'static str),
    /// Adds an item and is a defect.
    Panics(&'static str),
}
use Op::{Item, Page, Panics, Refuses};

impl Op {
    fn run(self, draft: &mut Draft<'_>) -> Result<u64, StoreError> {
        match self {
            Item(body) => draft.add_job(&job(body, 5)),
            Page(name) => {
                let slug = Slug::parse(name).unwrap();
                draft.write_page(&SourceId::default(), &slug, page(name, &[], None), 5)?;
                Ok(0)
            }
            Refuses(body) => {
                draft.add_job(&job(body, 5))?;
                Err(Fault::new(FaultCode::InvalidRequest, "thought better of it").into())
            }
            Panics(body) => {
                draft.add_job(&job(body, 5))?;
                panic!("a defect, on purpose")
            }
        }
    }
}

type Answers = Vec<Result<u64, FaultCode>>;

/// Sends groups, each of which is a batch of its own; what each was answered. The writer is never
/// left alone between them, so they share a transaction if the store lets them, and `then` runs
/// when all are answered and before the writer does anything else.
fn send(store: &Store, groups: &[&[Op]], then: impl FnOnce() + Send + 'static) -> Answers {
    let (enter, entered) = channel();
    let (leave, wait) = channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let hold = || {
        let (enter, wait) = (enter.clone(), Arc::clone(&wait));
        move |held: Result<(), StoreError>| {
            enter.send(held.is_ok()).unwrap();
            let _ = wait.lock().unwrap().recv();
        }
    };
    let (tell, hear) = channel();
    store.write_then(|_| Ok(()), hold());
    for (n, group) in groups.iter().enumerate() {
        assert!(entered.recv().unwrap());
        for (m, op) in group.iter().copied().enumerate() {
            let tell = tell.clone();
            store.write_then(
                move |draft| op.run(draft),
                move |result| {
                    tell.send(((n, m), result.map_err(|error| Fault::from(error).code))).unwrap();
                },
            );
        }
        if n + 1 < groups.len() {
            store.write_then(|_| Ok(()), hold());
            leave.send(()).unwrap();
        }
    }
    let (end, ended) = channel();
    store.write_then(
        |_| Ok(()),
        move |_| {
            then();
            end.send(()).unwrap();
        },
    );
    leave.send(()).unwrap();
    ended.recv().unwrap();
    drop(tell);
    let mut answers: Vec<_> = hear.iter().collect();
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The same, and what SIGKILL would have left when all were answered is at `killed`.
fn send_and_kill(store: &Store, groups: &[&[Op]], killed: &Path) -> Answers {
    let (from, to) = (store.path().to_owned(), killed.to_owned());
    send(store, groups, move || {
        fs::copy(&from, &to).unwrap();
        if spool_of(&from).is_file() {
            fs::copy(spool_of(&from), spool_of(&to)).unwrap();
        }
    })
}

/// Number and text of every item in a snapshot.
fn items(store: &Store) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    let reader = store.read(Visibility::All).unwrap();
    let each = |id, job: JobRecord| {
        all.push((id, job.content.body));
        Ok(true)
    };
    reader.newest_jobs(u64::MAX, |_, _| true, each).unwrap();
    all.reverse();
    all
}

fn texts(store: &Store) -> Vec<String> {
    items(store).into_iter().map(|(_, body)| body).collect()
}

fn numbered(bodies: &[&str]) -> Vec<(u64, String)> {
    (1..).zip(bodies).map(|(id, body)| (id, (*body).to_owned())).collect()
}

/// What the store's own file has.
fn without_spool(path: &Path) -> Vec<(u64, String)> {
    let (_dir, alone) = place();
    fs::copy(path, &alone).unwrap();
    items(&open(&alone))
}

fn is_sound(path: &Path) {
    verify(path, HEARD).unwrap();
}

fn bytes(records: &[JobRecord]) -> Vec<Vec<u8>> {
    records.iter().map(|record| to_bytes(record).unwrap()).collect()
}

/// How a disk can leave what was being written when the power went.
#[derive(Debug, Clone)]
enum Harm {
    /// The file ends at this byte of what was used of it.
    Cut(prop::sample::Index),
    /// These sectors of the last record were not written.
    Sectors(Vec<bool>),
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Harm::Cut),
        prop::collection::vec(any::<bool>(), 1..120).prop_map(Harm::Sectors),
        (0..120_usize, 1..120_usize)
            .prop_map(|(n, of)| Harm::Sectors((0..of).map(|i| i == n).collect())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn complete_records_are_read_and_no_damaged_or_old_ones(
        rounds in prop::collection::vec(
            prop::collection::vec(prop::collection::vec((0..9000_usize, any::<char>()), 1..6), 1..5),
            1..4,
        ),
        harm in harm(),
    ) {
        const SECTOR: usize = 512;
        let (_dir, path) = place();
        let mut spool = Spool::create(&path, 7).unwrap();
        let (mut id, mut first_of_round) = (3, 3);
        // Where each record of the last round begins, where its last byte is and what is in it.
        let mut records: Vec<(usize, usize, Vec<JobRecord>)> = Vec::new();
        let mut before = Vec::new();
        for (n, round) in rounds.into_iter().enumerate() {
            if n > 0 {
                spool.restart();
                records.clear();
            }
            first_of_round = id;
            for record in round {
                let jobs: Vec<JobRecord> = (id as i64..)
                    .zip(record)
                    .map(|(n, (size, c))| job(&format!("{n} {}", c.to_string().repeat(size / c.len_utf8())), n))
                    .collect();
                let items = bytes(&jobs);
                before = fs::read(spool_of(&path)).unwrap();
                let begin = spool.len() as usize;
                spool.append(id, &items).unwrap();
                let end = begin + 40 + items.iter().map(|item| 8 + item.len()).sum::<usize>();
                id += jobs.len() as u64;
                records.push((begin, end, jobs));
            }
        }
        let used = spool.len() as usize;
        drop(spool);
        let written = fs::read(spool_of(&path)).unwrap();
        let all: Vec<JobRecord> = records.iter().flat_map(|(_, _, jobs)| jobs.clone()).collect();
        let known = |items| UnstoredJobs { first: first_of_round, items, others: false };
        let read = |bytes: &[u8], next| parse_spool(bytes, 7, next, from_bytes, |_, _| Ok(true)).unwrap();
        prop_assert_eq!(read(&written, first_of_round), known(all), "nothing has happened to it");
        let nothing = UnstoredJobs { first: id, items: vec![], others: false };
        prop_assert_eq!(read(&written, id), nothing, "the store has everything");

        let mut harmed = written.clone();
        match harm {
            Harm::Cut(at) => harmed.truncate(at.index(used + 1)),
            Harm::Sectors(lost) => {
                before.resize(written.len().max(before.len()), 0);
                let begin = records.last().unwrap().0;
                for at in (begin..used).step_by(SECTOR).zip(lost.iter().cycle()).filter(|(_, l)| **l).map(|(at, _)| at) {
                    harmed[at..at + SECTOR].copy_from_slice(&before[at..at + SECTOR]);
                }
            }
        }
        let whole = records
            .iter()
            .take_while(|(begin, end, _)| harmed.get(*begin..*end) == Some(&written[*begin..*end]))
            .flat_map(|(_, _, jobs)| jobs.clone())
            .collect();
        prop_assert_eq!(read(&harmed, first_of_round), known(whole));
    }
}

#[test]
fn jobs_of_another_store_or_after_a_gap_are_reported() {
    let jobs: Vec<JobRecord> = (0..3).map(|n| job(&format!("job {n}"), n)).collect();
    let of = |store_id, appended: &[(u64, usize)], next_job| {
        let (_dir, path) = place();
        let mut spool = Spool::create(&path, store_id).unwrap();
        for &(first, count) in appended {
            spool.append(first, &bytes(&jobs[..count])).unwrap();
        }
        let written = fs::read(spool_of(&path)).unwrap();
        let is_there = |id: u64, item: &JobRecord| Ok(jobs.get(id as usize - 1) == Some(item));
        let left = parse_spool(&written, 7, next_job, from_bytes, is_there);
        let left = left.unwrap();
        assert_eq!(left.first, next_job);
        (left.items, left.others)
    };
    let left = |items: &[JobRecord], others| (items.to_vec(), others);
    assert_eq!(of(8, &[(3, 2)], 3), left(&[], true), "another store's");
    assert_eq!(of(8, &[(1, 2)], 3), left(&[], true), "another store's, whatever its number");
    assert_eq!(of(7, &[(4, 2)], 3), left(&[], true), "beyond a gap");
    assert_eq!(of(7, &[(3, 2), (6, 1)], 3), left(&jobs[..2], true), "as far as they go on");
    assert_eq!(of(7, &[(1, 3)], 3), left(&jobs[2..], false), "the store has the first two");
    assert_eq!(of(7, &[(1, 2)], 3), left(&[], false), "the store has both");
    assert_eq!(of(7, &[(1, 2), (3, 1), (4, 3)], 3), left(&[&jobs[..1], &jobs[..]].concat(), false));
    assert_eq!(of(7, &[(2, 3)], 5), left(&[], true), "other items have these numbers in the store");
    assert_eq!(
        of(7, &[(3, 2), (3, 1)], 3),
        left(&jobs[..2], false),
        "what is of former times counts for nothing"
    );
}

#[test]
fn a_foreign_file_is_kept() {
    for content in [&b"brainsp2 and what it says"[..], b"somebody's notes"] {
        let (_dir, path) = place();
        drop(open(&path));
        fs::write(spool_of(&path), content).unwrap();
        assert_eq!(items(&open(&path)), []);
        assert_eq!(fs::read(path.with_extension("redb.spool-1")).unwrap(), content);
        assert!(!spool_of(&path).exists());
    }
}

#[test]
fn a_removed_empty_spool_is_created_again() {
    let (_dir, path) = place();
    let (_elsewhere, killed) = place();
    let store = open(&path);
    assert_eq!(send(&store, &[&[Item("a")]], || ()), [Ok(1)]);
    store.write(|_| Ok(())).unwrap();
    fs::rename(spool_of(&path), path.with_extension("moved")).unwrap();
    assert_eq!(send_and_kill(&store, &[&[Item("b")]], &killed), [Ok(2)]);
    assert_eq!(items(&open(&killed)), numbered(&["a", "b"]));
}

#[test]
fn a_store_with_an_unreadable_spool_does_not_open() {
    let (_dir, path) = place();
    drop(open(&path));
    let nowhere = path.with_extension("loop");
    std::os::unix::fs::symlink(&nowhere, spool_of(&path)).unwrap();
    std::os::unix::fs::symlink(spool_of(&path), &nowhere).unwrap();
    let refused = Store::open(&path, &options(7), Box::new(|_| {})).err().unwrap();
    assert!(refused.to_string().contains("brain.redb.spool"), "{refused}");
}

#[test]
fn a_damaged_job_is_reported_with_its_file() {
    let (_dir, path) = place();
    let id = open(&path).id();
    for (store_id, starts) in [(id, false), (id + 1, true)] {
        let _ = fs::remove_file(spool_of(&path));
        Spool::create(&path, store_id).unwrap().append(1, &[b"what?".to_vec()]).unwrap();
        let before = fs::read(spool_of(&path)).unwrap();
        match Store::open(&path, &options(7), Box::new(|_| {})) {
            Ok(_) => {
                assert!(starts && fs::read(path.with_extension("redb.spool-1")).unwrap() == before);
            }
            Err(error) => {
                let fault = Fault::from(error);
                assert!(!starts && fault.message.contains("brain.redb.spool"), "{fault:?}");
                assert!(fs::read(spool_of(&path)).unwrap() == before, "it is as it was");
            }
        }
    }
}

#[test]
fn reused_job_numbers_differ_from_spooled_jobs() {
    let (_dir, path) = place();
    let (_elsewhere, killed) = place();
    let store = open(&path);
    assert_eq!(send_and_kill(&store, &[&[Item("a"), Item("b")]], &killed), [Ok(1), Ok(2)]);
    let spooled = fs::read(spool_of(&killed)).unwrap();
    // It does not look at the spool.
    fs::remove_file(spool_of(&killed)).unwrap();
    let older = open(&killed);
    older.write(|draft| draft.add_job(&job("other", 6))).unwrap();
    older.write(|draft| draft.add_job(&job("b", 5))).unwrap();
    drop(older);
    fs::write(spool_of(&killed), &spooled).unwrap();
    assert_eq!(texts(&open(&killed)), ["other", "b"]);
    assert!(fs::read(killed.with_extension("redb.spool-1")).unwrap() == spooled, "it is kept");
}

#[test]
fn a_removed_spool_stops_writes_and_is_named() {
    let (_dir, path) = place();
    let store = Arc::new(open(&path));
    let (spool, sender) = (spool_of(&path), Arc::clone(&store));
    let (tell, hear) = channel();
    let answers = send(&store, &[&[Item("a"), Item("b")]], move || {
        fs::remove_file(&spool).unwrap();
        // The transaction that has them comes to nothing.
        sender.write_then(
            |draft| Refuses("bad").run(draft),
            move |result| tell.send(result).unwrap(),
        );
    });
    assert_eq!(answers, [Ok(1), Ok(2)]);
    assert_eq!(Fault::from(hear.recv().unwrap().unwrap_err()).code, FaultCode::InvalidRequest);
    let refused = store.write(|draft| Item("c").run(draft)).map(|_| ());
    for refused in [refused, store.read_queue().map(|_| ())] {
        let fault = Fault::from(refused.unwrap_err());
        assert_eq!(fault.code, FaultCode::StoreDamaged);
        assert!(
            fault.message.contains("brain.redb.spool") && fault.message.contains("1 to 2"),
            "{fault:?}"
        );
    }
    assert_eq!(store.read(Visibility::All).unwrap().job_counts().unwrap().waiting, 2);
}

#[test]
fn a_killed_store_has_each_acknowledged_job_once() {
    let (_dir, path) = place();
    let (_elsewhere, killed) = place();
    let store = open(&path);
    let groups: &[&[Op]] =
        &[&[Item("a"), Item("b"), Item("c")], &[Item("d")], &[Item("e"), Item("f")]];
    let answers = send_and_kill(&store, groups, &killed);
    assert_eq!(answers, (1..=6).map(Ok).collect::<Answers>());
    assert_eq!(without_spool(&killed), [], "they are in the spool and nowhere else");
    let said = numbered(&["a", "b", "c", "d", "e", "f"]);
    let spooled = fs::read(spool_of(&killed)).unwrap();
    let opened = open(&killed);
    assert_eq!(items(&opened), said);
    for (id, body) in said.clone() {
        let key = brain_page::content_digest(&body);
        let found = opened.write(move |draft| draft.seen_job(&key)).unwrap();
        assert_eq!(found.map(|(id, record)| (id, record.content.body)), Some((id, body)));
    }
    drop(opened);
    assert!(!spool_of(&killed).exists(), "the store has everything");
    is_sound(&killed);
    assert_eq!(items(&open(&killed)), said, "once");
    // Killed after it was taken over, before it was removed.
    fs::write(spool_of(&killed), &spooled).unwrap();
    let again = open(&killed);
    assert_eq!(items(&again), said, "once");
    assert_eq!(send(&again, &[&[Item("g")]], || ()), [Ok(7)]);
    drop(again);
    // Killed with more than one transaction behind it.
    assert_eq!(send(&store, &[&[Item("g"), Item("h")]], || ()), [Ok(7), Ok(8)]);
    drop(store.read_queue().unwrap());
    let (_elsewhere, later) = place();
    assert_eq!(send_and_kill(&store, &[&[Item("i")]], &later), [Ok(9)]);
    assert_eq!(without_spool(&later).len(), 8);
    assert_eq!(items(&open(&later)), numbered(&["a", "b", "c", "d", "e", "f", "g", "h", "i"]));
    drop(store);
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1,
        "a clean end leaves no spool"
    );
    assert_eq!(without_spool(&path).len(), 9);
}

#[test]
fn an_unwritable_spool_loses_no_job() {
    type Spoil = fn(&Path);
    let spoils: [(&str, Spoil, Spoil); 3] = [
        (
            "a full disk",
            |spool| fs::write(spool.with_extension("spool.full"), "").unwrap(),
            |spool| fs::remove_file(spool.with_extension("spool.full")).unwrap(),
        ),
        (
            "another's file",
            |spool| std::os::unix::fs::symlink("/dev/full", spool).unwrap(),
            |spool| fs::remove_file(spool).unwrap(),
        ),
        ("a directory", |spool| fs::create_dir(spool).unwrap(), |_| ()),
    ];
    for (what, spoil, mend) in spoils {
        let (_dir, path) = place();
        let (_elsewhere, killed) = place();
        let store = open(&path);
        spoil(&spool_of(&path));
        let groups: &[&[Op]] = &[&[Item("a"), Item("b")], &[Item("c")]];
        assert_eq!(send_and_kill(&store, groups, &killed), [Ok(1), Ok(2), Ok(3)], "{what}");
        assert_eq!(
            items(&open(&killed)),
            numbered(&["a", "b", "c"]),
            "{what}: nobody was answered before"
        );
        assert_eq!(send(&store, &[&[Item("d")]], || ()), [Ok(4)], "{what}");
        drop(store);
        mend(&spool_of(&path));
        assert_eq!(items(&open(&path)), numbered(&["a", "b", "c", "d"]), "{what}");
        is_sound(&path);
    }
}

#[test]
fn jobs_too_large_for_the_spool_are_committed_first() {
    let (_dir, path) = place();
    let store = open(&path);
    let groups: &[&[&[Op]]] = &[
        &[&[Page("p/alone")]],
        &[&[Item("a")], &[Item("b"), Page("p/behind"), Item("c")]],
        &[&[Item("d"), Item("e")], &[Page("p/last")]],
    ];
    let mut pages = Vec::new();
    for groups in groups {
        let (_elsewhere, killed) = place();
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
        assert_eq!(items(&alone), items(&store), "so are the items before it");
    }
    assert_eq!(items(&store), numbered(&["a", "b", "c", "d", "e"]));
    drop(store);
    is_sound(&path);
}

#[test]
fn a_job_that_fails_after_writing_affects_no_other() {
    for bad in [Refuses("bad"), Panics("bad")] {
        let (_dir, path) = place();
        let (_elsewhere, killed) = place();
        let store = open(&path);
        let groups: &[&[Op]] =
            &[&[Item("a"), Item("b")], &[Item("c"), bad, Item("d")], &[Item("e")]];
        let answers = send_and_kill(&store, groups, &killed);
        let code = match bad {
            Refuses(_) => FaultCode::InvalidRequest,
            _ => FaultCode::Internal,
        };
        assert_eq!(answers, [Ok(1), Ok(2), Ok(3), Err(code), Ok(4), Ok(5)]);
        let said = numbered(&["a", "b", "c", "d", "e"]);
        assert_eq!(items(&open(&killed)), said);
        drop(store.read_queue().unwrap());
        assert_eq!(items(&store), said);
        // Nobody waits under the key of what came to nothing.
        let key = brain_page::content_digest("bad");
        assert_eq!(store.write(move |draft| draft.seen_job(&key)).unwrap(), None);
        let key = brain_page::content_digest("a");
        let first = store.write(move |draft| draft.seen_job(&key)).unwrap();
        assert_eq!(first.map(|(id, _)| id), Some(1));
        drop(store);
        is_sound(&path);
        assert_eq!(items(&open(&path)), said);
    }
}

#[test]
fn the_queue_shows_all_acknowledged_jobs() {
    let (dir, path) = place();
    let store = open(&path);
    for n in 1..=3_u64 {
        let readers = store.reader_factory();
        let (tell, hear) = channel();
        let answers = send(&store, &[&[Item("a")]], move || {
            tell.send(readers.read(Visibility::All).unwrap().job(n).unwrap().is_some()).unwrap();
        });
        assert_eq!(answers, [Ok(n)]);
        assert!(!hear.recv().unwrap(), "the transaction is open");
        let shown = match n {
            1 => store.read_queue().unwrap().job(n).unwrap(),
            2 => {
                let copy = dir.path().join("copy.redb");
                store.back_up(&copy, 4711, HEARD).unwrap();
                let copied = open(&copy);
                copied.read(Visibility::All).unwrap().job(n).unwrap()
            }
            _ => {
                assert_eq!(store.write(|draft| draft.add_job(&job("b", 6))).unwrap(), n + 1);
                store.read(Visibility::All).unwrap().job(n).unwrap()
            }
        };
        assert_eq!(shown.map(|record| record.content.body).as_deref(), Some("a"));
    }
    assert_eq!(texts(&store), ["a", "a", "a", "b"]);
}

#[test]
fn a_spool_beside_an_older_store_copy_is_set_aside() {
    let (dir, path) = place();
    let (_elsewhere, killed) = place();
    let backup = dir.path().join("backup.redb");
    let store = open(&path);
    assert_eq!(send(&store, &[&[Item("a"), Item("b")]], || ()), [Ok(1), Ok(2)]);
    store.back_up(&backup, 4711, HEARD).unwrap();
    assert_eq!(send(&store, &[&[Item("c"), Item("d")]], || ()), [Ok(3), Ok(4)]);
    drop(store.read_queue().unwrap());
    assert_eq!(send_and_kill(&store, &[&[Item("e"), Item("f")]], &killed), [Ok(5), Ok(6)]);
    let spooled = fs::read(spool_of(&killed)).unwrap();

    fs::copy(&backup, &killed).unwrap();
    for (n, bodies) in [(1, &["a", "b"][..]), (2, &["a", "b", "new"])] {
        fs::write(spool_of(&killed), &spooled).unwrap();
        let older = open(&killed);
        assert_eq!(items(&older), numbered(bodies));
        assert!(!spool_of(&killed).exists(), "it is out of the way");
        let aside = killed.with_extension(format!("redb.spool-{n}"));
        assert!(fs::read(aside).unwrap() == spooled, "it is kept");
        if n == 1 {
            assert_eq!(
                send(&older, &[&[Item("new")]], || ()),
                [Ok(3)],
                "the store goes on where it ends"
            );
        }
    }
}

#[test]
fn a_restored_store_ignores_the_former_spool() {
    let (dir, path) = place();
    let (_elsewhere, home) = place();
    let backup = dir.path().join("backup.redb");
    let store = open(&path);
    assert_eq!(send(&store, &[&[Item("a"), Item("b")]], || ()), [Ok(1), Ok(2)]);
    store.back_up(&backup, 4711, HEARD).unwrap();
    assert_eq!(send_and_kill(&store, &[&[Item("c")]], &home), [Ok(3)]);
    // Its first item would go on where the backup ends.
    fs::remove_file(&home).unwrap();
    let spooled = fs::read(spool_of(&home)).unwrap();
    restore(&backup, &home, &options(9), &mut |_, _, _| true, HEARD).unwrap();
    let restored = open(&home);
    assert_eq!((restored.id(), texts(&restored)), (9, vec!["a".to_owned(), "b".to_owned()]));
    assert!(!spool_of(&home).exists());
    assert!(fs::read(home.with_extension("redb.spool-1")).unwrap() == spooled, "it is kept");
}

#[test]
fn a_restore_from_a_killed_store_has_its_spooled_jobs() {
    let (_dir, path) = place();
    let (_elsewhere, killed) = place();
    let store = open(&path);
    assert_eq!(send(&store, &[&[Page("p/kept"), Item("a")]], || ()), [Ok(0), Ok(1)]);
    let groups: &[&[Op]] = &[&[Item("b"), Item("c")], &[Item("d")]];
    assert_eq!(send_and_kill(&store, groups, &killed), [Ok(2), Ok(3), Ok(4)]);
    assert_eq!(without_spool(&killed), numbered(&["a"]));
    let before = (fs::read(&killed).unwrap(), fs::read(spool_of(&killed)).unwrap());
    let (_home, to) = place();
    restore(&killed, &to, &options(9), &mut |_, _, _| true, HEARD).unwrap();
    let after = (fs::read(&killed).unwrap(), fs::read(spool_of(&killed)).unwrap());
    assert!(before == after, "what it was restored from is as it was");
    is_sound(&to);
    let restored = open(&to);
    assert_eq!(items(&restored), numbered(&["a", "b", "c", "d"]));
    assert_eq!(restored.read(Visibility::All).unwrap().job_counts().unwrap().waiting, 4);
    assert_eq!(restored.id(), 9);
    assert_eq!(send(&restored, &[&[Item("e")]], || ()), [Ok(5)]);
}

#[test]
fn a_spool_placed_beside_an_open_store_is_kept() {
    let (_other_dir, other) = place();
    let (_elsewhere, killed) = place();
    let theirs = Store::open(&other, &options(9), Box::new(|_| {})).unwrap();
    assert_eq!(send_and_kill(&theirs, &[&[Item("theirs")]], &killed), [Ok(1)]);
    let spooled = fs::read(spool_of(&killed)).unwrap();

    let (_dir, path) = place();
    let store = open(&path);
    assert_eq!(send(&store, &[&[Item("a")]], || ()), [Ok(1)]);
    drop(store.read_queue().unwrap());
    fs::rename(spool_of(&killed), spool_of(&path)).unwrap();
    assert_eq!(send(&store, &[&[Item("b")]], || ()), [Ok(2)]);
    let aside = |n: u32| fs::read(path.with_extension(format!("redb.spool-{n}"))).unwrap();
    assert!(aside(1) == spooled, "it is put aside");
    assert_eq!(store.set_aside_spools().unwrap(), [path.with_extension("redb.spool-1")]);
    assert_eq!(send(&store, &[&[Item("c")]], || ()), [Ok(3)]);
    drop(store.read_queue().unwrap());

    // Nor does one that ends take it away.
    fs::copy(path.with_extension("redb.spool-1"), spool_of(&path).with_extension("new")).unwrap();
    fs::rename(spool_of(&path).with_extension("new"), spool_of(&path)).unwrap();
    drop(store);
    let again = open(&path);
    assert!(aside(2) == spooled, "it is put aside");
    assert_eq!(items(&again), numbered(&["a", "b", "c"]));
    for other in ["redb.spool-1.bak", "redb.spool-"] {
        fs::write(path.with_extension(other), "somebody else's").unwrap();
    }
    assert_eq!(again.set_aside_spools().unwrap().len(), 2);
}

#[test]
fn the_copy_before_a_migration_includes_the_spool() {
    let (_dir, path) = place();
    let (_elsewhere, killed) = place();
    let store = open(&path);
    assert_eq!(send_and_kill(&store, &[&[Item("a"), Item("b")]], &killed), [Ok(1), Ok(2)]);
    {
        let db = redb::Database::open(&killed).unwrap();
        let txn = db.begin_write().unwrap();
        txn.open_table(tables::META).unwrap().insert(tables::META_SCHEMA, 83).unwrap();
        txn.commit().unwrap();
    }
    let migrated = open(&killed);
    assert_eq!(items(&migrated), numbered(&["a", "b"]));
    let (_home, to) = place();
    restore(&killed.with_extension("redb.v83"), &to, &options(9), &mut |_, _, _| true, HEARD)
        .unwrap();
    assert_eq!(items(&open(&to)), numbered(&["a", "b"]), "the way back has them too");
}
