//! The spool: reading complete records, and foreign, missing and damaged spools.

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

pub(super) const CONTINUE: &dyn Fn(u64, u64) -> bool = &|_, _| true;

pub(super) fn options(new_store_id: u64) -> StoreOptions {
    StoreOptions { new_store_id, ..super::tests::options() }
}

/// Returns a directory and the path of a store in it.
pub(super) fn store_path() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    (dir, path)
}

pub(super) fn spool_of(path: &Path) -> PathBuf {
    path.with_extension("redb.spool")
}

/// A task for the writer.
#[derive(Clone, Copy)]
pub(super) enum Op {
    /// Adds a job with this text.
    Item(&'static str),
    /// Writes the page with this slug.
    Page(&'static str),
    /// Adds a job, then fails with an error.
    Refuses(&'static str),
    /// Adds a job, then panics.
    Panics(&'static str),
}
use Op::{Item, Page, Panics, Refuses};

impl Op {
    fn run(self, transaction: &mut Transaction<'_>) -> Result<u64, StoreError> {
        match self {
            Item(body) => transaction.add_job(&job(body, 5)),
            Page(name) => {
                let slug = Slug::parse(name).unwrap();
                transaction.write_page(&SourceId::default(), &slug, &page(name, &[], None), 5)?;
                Ok(0)
            }
            Refuses(body) => {
                transaction.add_job(&job(body, 5))?;
                Err(Fault::new(FaultCode::InvalidRequest, "refused on purpose").into())
            }
            Panics(body) => {
                transaction.add_job(&job(body, 5))?;
                panic!("a defect, on purpose")
            }
        }
    }
}

/// The numbers of added jobs (0 for a page), or the codes of errors.
pub(super) type Answers = Vec<Result<u64, FaultCode>>;

/// Sends each group as one batch, and returns the answers in the order of the tasks. The groups
/// follow each other without a pause, so they can share a transaction. `then` runs after all
/// answers, before the writer does anything else.
pub(super) fn send(
    store: &Store,
    groups: &[&[Op]],
    then: impl FnOnce() + Send + 'static,
) -> Answers {
    let (blocked_sender, blocked) = channel();
    let (release_sender, release) = channel::<()>();
    let release = Arc::new(Mutex::new(release));
    let block_writer = || {
        let (sender, release) = (blocked_sender.clone(), Arc::clone(&release));
        move |result: Result<(), StoreError>| {
            sender.send(result.is_ok()).unwrap();
            let _ = release.lock().unwrap().recv();
        }
    };
    let (sender, receiver) = channel();
    store.write_then(|_| Ok(()), block_writer());
    for (n, group) in groups.iter().enumerate() {
        assert!(blocked.recv().unwrap());
        for (m, op) in group.iter().copied().enumerate() {
            let sender = sender.clone();
            store.write_then(
                move |transaction| op.run(transaction),
                move |result| {
                    sender.send(((n, m), result.map_err(|error| Fault::from(error).code))).unwrap();
                },
            );
        }
        if n + 1 < groups.len() {
            store.write_then(|_| Ok(()), block_writer());
            release_sender.send(()).unwrap();
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
    release_sender.send(()).unwrap();
    ended.recv().unwrap();
    drop(sender);
    let mut answers: Vec<_> = receiver.iter().collect();
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Like [`send`]; copies the files to `killed` after the answers, as SIGKILL would leave them.
pub(super) fn send_and_kill(store: &Store, groups: &[&[Op]], killed: &Path) -> Answers {
    let (from, to) = (store.path().to_owned(), killed.to_owned());
    send(store, groups, move || {
        fs::copy(&from, &to).unwrap();
        if spool_of(&from).is_file() {
            fs::copy(spool_of(&from), spool_of(&to)).unwrap();
        }
    })
}

/// Returns number and text of every job in a snapshot.
pub(super) fn items(store: &Store) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    let reader = store.read(Visibility::All).unwrap();
    let each = |id, job: JobRecord| {
        all.push((id, job.content.body.into()));
        Ok(true)
    };
    reader.newest_jobs(u64::MAX, |_, _| true, each).unwrap();
    all.reverse();
    all
}

pub(super) fn texts(store: &Store) -> Vec<String> {
    items(store).into_iter().map(|(_, body)| body).collect()
}

pub(super) fn numbered(bodies: &[&str]) -> Vec<(u64, String)> {
    (1..).zip(bodies).map(|(id, body)| (id, (*body).to_owned())).collect()
}

/// Returns number and text of every job in the store file, without its spool.
pub(super) fn without_spool(path: &Path) -> Vec<(u64, String)> {
    let (_dir, alone) = store_path();
    fs::copy(path, &alone).unwrap();
    items(&open(&alone))
}

pub(super) fn is_sound(path: &Path) {
    verify(path, CONTINUE).unwrap();
}

fn encode_all(records: &[JobRecord]) -> Vec<Vec<u8>> {
    records.iter().map(|record| to_bytes(record).unwrap()).collect()
}

/// The damage that a power loss leaves in a spool.
#[derive(Debug, Clone)]
enum PowerLoss {
    /// The file ends at this place in its used part.
    Cut(prop::sample::Index),
    /// These sectors of the last record were not written.
    Sectors(Vec<bool>),
}

fn power_loss() -> impl Strategy<Value = PowerLoss> {
    prop_oneof![
        any::<prop::sample::Index>().prop_map(PowerLoss::Cut),
        prop::collection::vec(any::<bool>(), 1..120).prop_map(PowerLoss::Sectors),
        (0..120_usize, 1..120_usize)
            .prop_map(|(n, of)| PowerLoss::Sectors((0..of).map(|i| i == n).collect())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn complete_records_are_read_and_no_damaged_or_old_ones(
        rounds in prop::collection::vec(
            prop::collection::vec(
                prop::collection::vec((0..9000_usize, any::<char>()), 1..6),
                1..5,
            ),
            1..4,
        ),
        power_loss in power_loss(),
    ) {
        const SECTOR: usize = 512;
        let (_dir, path) = store_path();
        let mut spool = Spool::create(&path, 7).unwrap();
        let (mut id, mut first_of_round) = (3, 3);
        // Beginning, end and jobs of each record of the last round.
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
                    .map(|(n, (size, c))| {
                        let text = c.to_string().repeat(size / c.len_utf8());
                        job(&format!("{n} {text}"), n)
                    })
                    .collect();
                let encoded_jobs = encode_all(&jobs);
                before = fs::read(spool_of(&path)).unwrap();
                let begin = spool.len() as usize;
                spool.append(id, &encoded_jobs).unwrap();
                let end =
                    begin + 40 + encoded_jobs.iter().map(|bytes| 8 + bytes.len()).sum::<usize>();
                id += jobs.len() as u64;
                records.push((begin, end, jobs));
            }
        }
        let used = spool.len() as usize;
        drop(spool);
        let written = fs::read(spool_of(&path)).unwrap();
        let all: Vec<JobRecord> = records.iter().flat_map(|(_, _, jobs)| jobs.clone()).collect();
        let unstored = |jobs| UnstoredJobs { first: first_of_round, jobs,
            has_foreign_jobs: false };
        let read = |bytes: &[u8], next| {
            parse_spool(bytes, 7, next, from_bytes, |_, _| Ok(true)).unwrap()
        };
        prop_assert_eq!(read(&written, first_of_round), unstored(all), "an intact spool");
        let nothing = UnstoredJobs { first: id, jobs: vec![], has_foreign_jobs: false };
        prop_assert_eq!(read(&written, id), nothing, "the store has everything");

        let mut damaged = written.clone();
        match power_loss {
            PowerLoss::Cut(at) => damaged.truncate(at.index(used + 1)),
            PowerLoss::Sectors(lost_sectors) => {
                before.resize(written.len().max(before.len()), 0);
                let begin = records.last().unwrap().0;
                let sectors = (begin..used).step_by(SECTOR).zip(lost_sectors.iter().cycle());
                for (at, _) in sectors.filter(|(_, is_lost)| **is_lost) {
                    damaged[at..at + SECTOR].copy_from_slice(&before[at..at + SECTOR]);
                }
            }
        }
        let whole = records
            .iter()
            .take_while(|(begin, end, _)| damaged.get(*begin..*end) == Some(&written[*begin..*end]))
            .flat_map(|(_, _, jobs)| jobs.clone())
            .collect();
        prop_assert_eq!(read(&damaged, first_of_round), unstored(whole));
    }
}

#[test]
fn jobs_of_another_store_or_after_a_gap_are_reported() {
    let jobs: Vec<JobRecord> = (0..3).map(|n| job(&format!("job {n}"), n)).collect();
    let read_spool = |store_id, appended: &[(u64, usize)], next_job| {
        let (_dir, path) = store_path();
        let mut spool = Spool::create(&path, store_id).unwrap();
        for &(first, count) in appended {
            spool.append(first, &encode_all(&jobs[..count])).unwrap();
        }
        let written = fs::read(spool_of(&path)).unwrap();
        let is_stored = |id: u64, item: &JobRecord| Ok(jobs.get(id as usize - 1) == Some(item));
        let unstored = parse_spool(&written, 7, next_job, from_bytes, is_stored).unwrap();
        assert_eq!(unstored.first, next_job);
        (unstored.jobs, unstored.has_foreign_jobs)
    };
    let expected = |items: &[JobRecord], has_foreign_jobs| (items.to_vec(), has_foreign_jobs);
    for first in [3, 1] {
        let other_store = read_spool(8, &[(first, 2)], 3);
        assert_eq!(other_store, expected(&[], true), "the spool of another store");
    }
    assert_eq!(read_spool(7, &[(4, 2)], 3), expected(&[], true), "beyond a gap");
    assert_eq!(read_spool(7, &[(3, 2), (6, 1)], 3), expected(&jobs[..2], true), "up to the gap");
    assert_eq!(read_spool(7, &[(1, 3)], 3), expected(&jobs[2..], false), "two are stored");
    assert_eq!(read_spool(7, &[(1, 2)], 3), expected(&[], false), "the store has both");
    let unstored = [&jobs[..1], &jobs[..]].concat();
    assert_eq!(read_spool(7, &[(1, 2), (3, 1), (4, 3)], 3), expected(&unstored, false));
    assert_eq!(read_spool(7, &[(2, 3)], 5), expected(&[], true), "other jobs have these numbers");
    let repeated = read_spool(7, &[(3, 2), (3, 1)], 3);
    assert_eq!(repeated, expected(&jobs[..2], false), "repeated jobs are ignored");
}

#[test]
fn a_foreign_file_is_kept() {
    for content in [&b"brainsp2 and its content"[..], b"another program's notes"] {
        let (_dir, path) = store_path();
        drop(open(&path));
        fs::write(spool_of(&path), content).unwrap();
        assert_eq!(items(&open(&path)), []);
        assert_eq!(fs::read(path.with_extension("redb.spool-1")).unwrap(), content);
        assert!(!spool_of(&path).exists());
    }
}

#[test]
fn a_removed_empty_spool_is_created_again() {
    let (_dir, path) = store_path();
    let (_elsewhere, killed) = store_path();
    let store = open(&path);
    assert_eq!(send(&store, &[&[Item("a")]], || ()), [Ok(1)]);
    store.write(|_| Ok(())).unwrap();
    fs::rename(spool_of(&path), path.with_extension("moved")).unwrap();
    assert_eq!(send_and_kill(&store, &[&[Item("b")]], &killed), [Ok(2)]);
    assert_eq!(items(&open(&killed)), numbered(&["a", "b"]));
}

#[test]
fn a_store_with_an_unreadable_spool_does_not_open() {
    let (_dir, path) = store_path();
    drop(open(&path));
    let link = path.with_extension("loop");
    std::os::unix::fs::symlink(&link, spool_of(&path)).unwrap();
    std::os::unix::fs::symlink(spool_of(&path), &link).unwrap();
    let error = Store::open(&path, &options(7), Box::new(|_| {})).err().unwrap();
    assert!(error.to_string().contains("brain.redb.spool"), "{error}");
}

#[test]
fn a_damaged_job_is_reported_with_its_file() {
    let (_dir, path) = store_path();
    let id = open(&path).id();
    for (store_id, should_open) in [(id, false), (id + 1, true)] {
        let _ = fs::remove_file(spool_of(&path));
        Spool::create(&path, store_id).unwrap().append(1, &[b"what?".to_vec()]).unwrap();
        let before = fs::read(spool_of(&path)).unwrap();
        match Store::open(&path, &options(7), Box::new(|_| {})) {
            Ok(_) => {
                let aside = fs::read(path.with_extension("redb.spool-1")).unwrap();
                assert!(should_open && aside == before);
            }
            Err(error) => {
                let fault = Fault::from(error);
                assert!(!should_open && fault.message.contains("brain.redb.spool"), "{fault:?}");
                assert!(fs::read(spool_of(&path)).unwrap() == before, "the spool is unchanged");
            }
        }
    }
}

#[test]
fn reused_job_numbers_differ_from_spooled_jobs() {
    let (_dir, path) = store_path();
    let (_elsewhere, killed) = store_path();
    let store = open(&path);
    assert_eq!(send_and_kill(&store, &[&[Item("a"), Item("b")]], &killed), [Ok(1), Ok(2)]);
    let spooled = fs::read(spool_of(&killed)).unwrap();
    // Without the spool, the store gives the same numbers to other jobs.
    fs::remove_file(spool_of(&killed)).unwrap();
    let older = open(&killed);
    older.write(|transaction| transaction.add_job(&job("other", 6))).unwrap();
    older.write(|transaction| transaction.add_job(&job("b", 5))).unwrap();
    drop(older);
    fs::write(spool_of(&killed), &spooled).unwrap();
    assert_eq!(texts(&open(&killed)), ["other", "b"]);
    assert!(
        fs::read(killed.with_extension("redb.spool-1")).unwrap() == spooled,
        "the spool is set aside"
    );
}

#[test]
fn errors_name_a_removed_spool_with_unstored_jobs() {
    let (_dir, path) = store_path();
    let store = Arc::new(open(&path));
    let (spool, writer) = (spool_of(&path), Arc::clone(&store));
    let (sender, receiver) = channel();
    let answers = send(&store, &[&[Item("a"), Item("b")]], move || {
        fs::remove_file(&spool).unwrap();
        // The transaction with the jobs is rolled back.
        writer.write_then(
            |transaction| Refuses("bad").run(transaction),
            move |result| sender.send(result).unwrap(),
        );
    });
    assert_eq!(answers, [Ok(1), Ok(2)]);
    assert_eq!(Fault::from(receiver.recv().unwrap().unwrap_err()).code, FaultCode::InvalidRequest);
    let refused = store.write(|transaction| Item("c").run(transaction)).map(|_| ());
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
