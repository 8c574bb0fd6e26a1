//! Ingest jobs in the store: tables agree, callbacks run after the commit, a full queue refuses.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brain_base::caller::Visibility;
use brain_protocol::{Fault, FaultCode, JobState, SourceId};
use proptest::prelude::*;
use redb::{Database, DatabaseError};

use super::jobs::{FAILED_JOB_RETENTION_MS, STORED_JOB_RETENTION_MS};
use super::record::{state_of_job, to_bytes};
use super::*;
use crate::tables as t;

/// Opens a store; waits while it is locked. A child process of another test inherits every
/// descriptor, and with it the lock of a closed store, until it executes its program.
pub(super) fn open(path: &std::path::Path) -> Store {
    let options = super::tests::options();
    loop {
        match Store::open(path, &options, Box::new(|_| {})) {
            Err(StoreError::Locked(_)) => std::thread::sleep(Duration::from_millis(50)),
            opened => return opened.unwrap(),
        }
    }
}

/// Opens the file of a closed store; waits as [`open`] does.
pub(super) fn open_file(path: &std::path::Path) -> Database {
    loop {
        match Database::open(path) {
            Err(DatabaseError::DatabaseAlreadyOpen) => {
                std::thread::sleep(Duration::from_millis(50));
            }
            opened => return opened.unwrap(),
        }
    }
}

pub(super) fn job(body: &str, now: i64) -> JobRecord {
    JobRecord {
        state: JobState::Queued,
        client: "phone".into(),
        source: SourceId::default(),
        content_hash: brain_page::content_digest(body),
        content_type: "text/plain".into(),
        bytes: body.len() as u64,
        options: JobOptions::default(),
        content: Content { body: body.into(), ..Content::default() },
        received_at: now,
        finished_at: None,
        attempts: 0,
        due_at: now,
        slug: None,
        error: None,
        duplicate_keys: vec![brain_page::content_digest(body)],
    }
}

fn add(store: &Store, body: &str, now: i64) -> u64 {
    let record = job(body, now);
    store.write(move |transaction| transaction.add_job(&record)).unwrap()
}

/// Changes a job and returns its former record.
fn change(store: &Store, id: u64, edit: impl Fn(&mut JobRecord) + Send + 'static) -> JobRecord {
    store
        .write(move |transaction| {
            let from = transaction.job(id)?.unwrap();
            let mut to = from.clone();
            edit(&mut to);
            transaction.change_job(id, &from, &to)?;
            Ok(from)
        })
        .unwrap()
}

#[test]
fn the_state_of_a_job_is_read_without_its_text() {
    for state in JobState::ALL {
        let bytes = to_bytes(&JobRecord { state, ..job("text", 5) }).unwrap();
        assert_eq!(state_of_job(&bytes).unwrap(), state);
    }
    assert!(state_of_job(&[9, 0]).is_err());
}

#[test]
fn a_callback_runs_after_its_commit_and_may_panic() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&dir.path().join("brain.redb")));
    let (sender, receiver) = channel();
    let callback_sender = sender.clone();
    let record = job("seen at once", 5);
    store.write_then(
        move |transaction| transaction.add_job(&record),
        move |added| callback_sender.send(added.unwrap() == 1).unwrap(),
    );
    assert!(receiver.recv().unwrap());
    let found = store.read_queue().unwrap().job(1).unwrap();
    assert!(found.is_some(), "a reader sees the job when its callback runs");
    let refused = |_: &mut Transaction<'_>| -> Result<(), StoreError> {
        Err(Fault::new(FaultCode::QueueFull, "full").into())
    };
    let callback_sender = sender.clone();
    store.write_then(refused, move |result| {
        callback_sender.send(
            matches!(result, Err(StoreError::Refused(fault)) if fault.code == FaultCode::QueueFull),
        )
        .unwrap();
    });
    assert!(receiver.recv().unwrap());
    store.write_then(|_| Ok(()), |_| panic!("a defect of the callback"));
    assert_eq!(add(&store, "the writer continues", 6), 2);
    // A store that closes completes its queued writes first.
    let record = job("last", 7);
    store.write_then(
        move |transaction| transaction.add_job(&record),
        move |added| sender.send(added.unwrap() == 3).unwrap(),
    );
    drop(Arc::into_inner(store).unwrap());
    assert!(receiver.recv().unwrap());
}

#[test]
fn a_full_queue_refuses_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let (blocked_sender, blocked) = channel();
    let (release_sender, release) = channel::<()>();
    let release = Mutex::new(release);
    // Blocks the writer until the queue behind it is full.
    let block_writer = move |_: &mut Transaction<'_>| {
        let _ = blocked_sender.send(());
        let _ = release.lock().unwrap().recv();
        Ok(())
    };
    store.write_then(block_writer, |_| {});
    blocked.recv().unwrap();
    let (sender, receiver) = channel();
    for n in 0..1100 {
        let (sender, record) = (sender.clone(), job(&format!("job {n}"), 5));
        store.write_then(
            move |transaction| transaction.add_job(&record),
            move |added| {
                let code = added.map_err(|error| Fault::from(error).code);
                sender.send(code).unwrap();
            },
        );
    }
    drop(sender);
    release_sender.send(()).unwrap();
    let results: Vec<_> = receiver.iter().collect();
    let busy = results.iter().filter(|result| **result == Err(FaultCode::Busy)).count();
    let added = results.iter().filter(|result| result.is_ok()).count();
    assert!(busy > 0 && busy + added == 1100, "{busy} busy, {added} added");
    assert_eq!(store.read_queue().unwrap().job_counts().unwrap().waiting as usize, added);
}

#[test]
fn registered_sources_are_cached_and_current() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let names = |store: &Store| -> Vec<String> {
        store.sources().unwrap().iter().map(|(id, _)| id.to_string()).collect()
    };
    assert_eq!(names(&store), ["default"]);
    let first = store.sources().unwrap();
    add(&store, "changes no source", 5);
    assert!(Arc::ptr_eq(&first, &store.sources().unwrap()));
    let work = SourceId::parse("work").unwrap();
    let id = work.clone();
    store
        .write(move |transaction| transaction.put_source(&id, &SourceRecord::new(None, 5)))
        .unwrap();
    assert_eq!(names(&store), ["default", "work"]);
    store.write(move |transaction| transaction.remove_source(&work)).unwrap();
    assert_eq!(names(&store), ["default"]);
}

#[test]
fn verify_finds_job_rows_that_disagree() {
    type Damage = fn(&redb::WriteTransaction);
    let damage: [(&str, Damage); 5] = [
        ("it waits, but has no due time", |txn| {
            txn.open_table(t::JOBS_DUE).unwrap().retain(|_, _| false).unwrap();
        }),
        ("it is finished, but has no expiry time", |txn| {
            txn.open_table(t::FINISHED_JOBS_BY_EXPIRY).unwrap().retain(|_, _| false).unwrap();
        }),
        ("2 jobs with a due time, and should have 1", |txn| {
            txn.open_table(t::JOBS_DUE).unwrap().insert((9, 9), ()).unwrap();
        }),
        ("counted waiting jobs", |txn| {
            txn.open_table(t::META).unwrap().insert(t::META_WAITING, 5).unwrap();
        }),
        ("job_2 does not have the duplicate key that refers to it", |txn| {
            txn.open_table(t::JOBS_SEEN).unwrap().insert(&[7; 32], 2).unwrap();
        }),
    ];
    for (message, apply_damage) in damage {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("brain.redb");
        let store = open(&path);
        add(&store, "waits", 5);
        let failed = add(&store, "failed", 5);
        change(&store, failed, |job| (job.state, job.finished_at) = (JobState::Failed, Some(9)));
        drop(store);
        verify(&path, &|_, _| true).unwrap();
        let db = open_file(&path);
        let txn = db.begin_write().unwrap();
        apply_damage(&txn);
        txn.commit().unwrap();
        drop(db);
        let found = verify(&path, &|_, _| true).unwrap_err().to_string();
        assert!(found.contains(message), "{message}: {found}");
    }
}

/// A change of jobs. An index selects one of the jobs to which the step can apply.
#[derive(Debug, Clone)]
enum Step {
    /// The number in the text of the job.
    Add(u8),
    /// Index.
    Fail(usize),
    /// Index.
    Retry(usize),
    /// Index.
    Store(usize),
    /// Milliseconds.
    Wait(i64),
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_u8).prop_map(Step::Add),
        2 => any::<usize>().prop_map(Step::Fail),
        1 => any::<usize>().prop_map(Step::Retry),
        3 => any::<usize>().prop_map(Step::Store),
        2 => prop_oneof![0..5000_i64, Just(STORED_JOB_RETENTION_MS), Just(FAILED_JOB_RETENTION_MS)]
            .prop_map(Step::Wait),
        1 => Just(Step::Forget),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The tables agree after any sequence of job changes: `verify` checks all of them.
    #[test]
    fn tables_of_jobs_agree(steps in proptest::collection::vec(step(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("brain.redb");
        let store = open(&path);
        let mut now = 1000;
        /// State and end time by job number.
        type Model = std::collections::BTreeMap<u64, (JobState, i64)>;
        let mut model = Model::new();
        let pick = |model: &Model, n: usize, states: &[JobState]| {
            let jobs = model.iter().filter(|(_, (state, _))| states.contains(state));
            let ids: Vec<u64> = jobs.map(|(id, _)| *id).collect();
            (!ids.is_empty()).then(|| ids[n % ids.len()])
        };
        let waiting = [JobState::Queued, JobState::Retrying];
        for step in steps {
            match step {
                Step::Add(n) => {
                    let id = add(&store, &format!("text {n}"), now);
                    model.insert(id, (JobState::Queued, 0));
                }
                Step::Fail(n) => if let Some(id) = pick(&model, n, &waiting) {
                    let to = if n.is_multiple_of(2) { JobState::Failed } else {
                        JobState::Retrying };
                    change(&store, id, move |job| {
                        (job.state, job.due_at) = (to, now + 1000);
                        job.finished_at = (to == JobState::Failed).then_some(now);
                    });
                    model.insert(id, (to, now));
                },
                Step::Retry(n) => if let Some(id) = pick(&model, n, &[JobState::Failed]) {
                    change(&store, id, move |job| {
                        (job.state, job.due_at, job.finished_at) = (JobState::Queued, now, None);
                    });
                    model.insert(id, (JobState::Queued, 0));
                },
                Step::Store(n) => if let Some(id) = pick(&model, n, &waiting) {
                    change(&store, id, move |job| {
                        (job.state, job.finished_at) = (JobState::Stored, Some(now));
                        job.content.body = "".into();
                    });
                    model.insert(id, (JobState::Stored, now));
                },
                Step::Wait(ms) => now += ms,
                Step::Forget => {
                    let removed =
                        store.write(move |transaction| transaction.forget_jobs(now, 1000)).unwrap();
                    let before = model.len();
                    model.retain(|_, (state, at)| match state {
                        JobState::Stored => *at + STORED_JOB_RETENTION_MS > now,
                        JobState::Failed => *at + FAILED_JOB_RETENTION_MS > now,
                        _ => true,
                    });
                    prop_assert_eq!(removed, before - model.len());
                }
            }
        }
        let count = |states: &[JobState]| {
            model.values().filter(|(state, _)| states.contains(state)).count() as u64
        };
        let reader = store.read(Visibility::All).unwrap();
        let counts = reader.job_counts().unwrap();
        prop_assert_eq!(counts.waiting, count(&waiting));
        prop_assert_eq!(counts.failed, count(&[JobState::Failed]));
        prop_assert_eq!(counts.stored, count(&[JobState::Stored]));
        let due = reader.due_jobs(JobKind::Text, i64::MAX - 1, 1000, usize::MAX).unwrap();
        prop_assert_eq!(due.len() as u64, counts.waiting);
        drop(reader);
        drop(store);
        verify(&path, &|_, _| true).unwrap();
    }
}

#[test]
fn finished_jobs_free_the_space_of_their_texts() {
    const JOBS: u64 = 600;
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let text = |n: u64| format!("text {n} ").repeat(250);
    store
        .write(move |transaction| {
            (0..JOBS).try_for_each(|n| transaction.add_job(&job(&text(n), 5)).map(drop))
        })
        .unwrap();
    let in_use = || store.count_space().unwrap().bytes_in_use().unwrap();
    let bytes_waiting = in_use();
    assert!(bytes_waiting > JOBS * 2000, "{bytes_waiting}");
    // A few jobs in each transaction, as the worker processes them.
    for from in (1..=JOBS).step_by(20) {
        store
            .write(move |transaction| {
                (from..from + 20).try_for_each(|id| {
                    let former = transaction.job(id)?.unwrap();
                    let mut finished = JobRecord { state: JobState::Stored, ..former.clone() };
                    finished.finished_at = Some(6);
                    finished.content.body = "".into();
                    transaction.change_job(id, &former, &finished)
                })
            })
            .unwrap();
    }
    let bytes_finished = in_use();
    assert!(
        bytes_finished < bytes_waiting / 4,
        "{bytes_waiting} bytes while waiting, {bytes_finished} when finished"
    );
    let reader = store.read(Visibility::All).unwrap();
    for id in 1..=JOBS {
        assert_eq!(reader.job(id).unwrap().unwrap().state, JobState::Stored);
    }
}
