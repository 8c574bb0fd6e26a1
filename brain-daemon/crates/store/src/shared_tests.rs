//! Two stores of a shared brain over a log in memory: equal rows after every history of writes,
//! refusals, crashes and times without the log.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use brain_base::caller::Visibility;
use brain_protocol::{SourceId, WriteStatus};

use super::fake_log::{FakeLog, LogFault, ServerState};
use super::jobs_tests::job;
use super::tests::{options, page, put, slug};
use super::*;

/// A machine of the test: its store, and the number of its changes that the hook got.
pub(super) struct Machine {
    pub(super) store: Option<Store>,
    pub(super) path: std::path::PathBuf,
    pub(super) log: Arc<FakeLog>,
    pub(super) has_hooked: Arc<AtomicBool>,
}

impl Machine {
    fn open(path: &Path, log: Arc<FakeLog>) -> Self {
        let mut machine =
            Self { store: None, path: path.to_owned(), log, has_hooked: Arc::default() };
        machine.start();
        machine
    }

    fn start(&mut self) {
        let flag = Arc::clone(&self.has_hooked);
        let hook = Box::new(move |changes: Vec<Change>| {
            assert!(changes.is_sorted_by_key(|change| change.seq));
            flag.store(true, Ordering::Release);
        });
        let store = Store::open(&self.path, &options(), hook).unwrap();
        store.attach_log(self.log.clone());
        self.store = Some(store);
    }

    /// Ends the store as a kill does, as far as one process can, and opens it again.
    pub(super) fn restart(&mut self) {
        self.store = None;
        self.start();
    }

    pub(super) fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn text(&self, name: &str) -> Option<String> {
        let reader = self.store().read(Visibility::All).unwrap();
        let record = reader.page(&SourceId::default(), &slug(name)).unwrap()?;
        let record = (record.deleted_at.is_none()).then_some(record)?;
        Some(reader.content(&record).unwrap().body.into())
    }

    fn outbox(&self) -> Vec<OutboxRow> {
        let reader = self.store().read(Visibility::All).unwrap();
        let ids = reader.outbox().unwrap();
        ids.into_iter().map(|id| reader.outbox_row(id).unwrap().unwrap()).collect()
    }
}

/// Makes two machines of one brain: the first shares a store with a page, the second joins from a
/// snapshot.
pub(super) fn two_machines(dir: &Path) -> (Machine, Machine, Arc<Mutex<ServerState>>) {
    let server = Arc::new(Mutex::new(ServerState::default()));
    let log = |machine| Arc::new(FakeLog::of(machine, server.clone()));
    let one = Machine::open(&dir.join("one/brain.redb"), log(1));
    put(one.store(), "first", page("the first page", &["a"], None), 1000);
    one.store().share(one.log.clone(), 1).unwrap();
    let snapshot = dir.join("snapshot.redb");
    one.store().back_up(&snapshot, 2000, &|_, _| true).unwrap();
    let path = dir.join("two/brain.redb");
    let joined = StoreOptions { new_store_id: 8, ..options() };
    let position = restore_replica(&snapshot, &path, &joined, 2, &|_, _| true).unwrap();
    assert_eq!(Some(position), one.store().log_position().unwrap());
    (one, Machine::open(&path, log(2)), server)
}

pub(super) fn dirs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    dir
}

pub(super) fn assert_equal(one: &Machine, two: &Machine) {
    for machine in [one, two] {
        machine.store().follow().unwrap();
        verify_copy(machine);
    }
    one.store().follow().unwrap();
    assert_eq!(one.store().log_position().unwrap(), two.store().log_position().unwrap());
    assert_eq!(one.store().shared_digest().unwrap(), two.store().shared_digest().unwrap());
}

/// Verifies all invariants of the store, in a backup.
fn verify_copy(machine: &Machine) {
    let copy = machine.path.with_file_name("copy.redb");
    machine.store().back_up(&copy, 3000, &|_, _| true).unwrap();
    std::fs::remove_file(copy).unwrap();
}

#[test]
fn a_write_on_one_machine_is_on_the_other_with_its_file() {
    let dir = dirs();
    let (one, two, _server) = two_machines(dir.path());
    assert_eq!(two.text("first").as_deref(), Some("the first page"));
    put(one.store(), "second", page("from one", &["b"], Some("first")), 2000);
    assert_eq!(two.text("second"), None);
    let followed = two.store().follow().unwrap();
    assert_eq!(followed.batches, 1);
    assert!(two.has_hooked.load(Ordering::Acquire), "the index learns of the page");
    assert_eq!(two.text("second").as_deref(), Some("from one"));
    let files: Vec<_> = two.outbox().into_iter().map(|row| row.path).collect();
    assert!(files.contains(&"second.md".to_owned()), "{files:?}");
    // Each machine writes after the other, without following before.
    put(one.store(), "third", page("one again", &[], None), 3000);
    let written = put(two.store(), "third", page("two", &[], None), 3001);
    assert_eq!((written.status, written.record.version), (WriteStatus::Updated, 2));
    assert_equal(&one, &two);
}

#[test]
fn machines_that_both_write_take_turns() {
    let dir = dirs();
    let (one, two, server) = two_machines(dir.path());
    for round in 0..5 {
        put(one.store(), "page", page(&format!("one {round}"), &[], None), 2000 + round);
        put(two.store(), "page", page(&format!("two {round}"), &[], None), 2000 + round);
    }
    // Each was refused once, and then waited for the other.
    assert_eq!(server.lock().unwrap().refusals, 2);
    assert_equal(&one, &two);
}

#[test]
fn a_notification_of_a_known_batch_reads_nothing() {
    let dir = dirs();
    let (one, _two, server) = two_machines(dir.path());
    put(one.store(), "second", page("from one", &[], None), 2000);
    let position = one.store().log_position().unwrap().unwrap();
    server.lock().unwrap().fault = Some(LogFault::Away);
    let followed = one.store().follow_to(position.number).unwrap();
    assert_eq!(followed, FollowResult { batches: 0, position });
    assert!(one.store().follow_to(position.number + 1).is_err(), "the log has to be read");
}

#[test]
fn a_deleted_moved_or_purged_page_takes_its_file_on_the_other_machine() {
    let dir = dirs();
    let (one, two, _server) = two_machines(dir.path());
    for name in ["deleted", "moved", "purged"] {
        put(one.store(), name, page(name, &[], None), 2000);
    }
    two.store().follow().unwrap();
    for row in two.outbox() {
        let reader = two.store().read(Visibility::All).unwrap();
        let record = reader.page(&SourceId::default(), &slug(row.path.trim_end_matches(".md")));
        two.store().mark_file_written(record.unwrap().unwrap().id, row.seq);
    }
    two.store().flush_done_files(|| Ok(())).unwrap();
    assert_eq!(two.outbox(), []);
    one.store()
        .write(|transaction| {
            let source = SourceId::default();
            let record =
                |transaction: &Transaction<'_>, name| transaction.page(&source, &slug(name));
            let deleted = record(transaction, "deleted")?.unwrap();
            transaction.soft_delete(&source, &slug("deleted"), deleted, 3000)?;
            let moved = record(transaction, "moved")?.unwrap();
            let new = page("moved", &[], None);
            transaction.move_page(
                &source,
                (&slug("moved"), (&slug("target"), None)),
                &moved,
                &new,
                3000,
            )?;
            let purged = record(transaction, "purged")?.unwrap();
            transaction.purge_page(&source, &slug("purged"), purged, 3000).map(|_| ())
        })
        .unwrap();
    two.store().follow().unwrap();
    let mut wanted: Vec<_> =
        two.outbox().into_iter().map(|row| (row.path, row.target_state)).collect();
    wanted.sort_by(|one, two| one.0.cmp(&two.0));
    let expected = [
        ("deleted.md", FileState::Trashed),
        ("moved.md", FileState::Purged),
        ("purged.md", FileState::Purged),
        ("target.md", FileState::Present),
    ];
    let expected = expected.map(|(path, state)| (path.to_owned(), state));
    assert_eq!(wanted, expected);
    let own = two.outbox().into_iter().filter(|row| row.own_digests.is_empty()).count();
    assert_eq!(own, 0, "each file may be changed if it has the text that brain wrote");
    assert_equal(&one, &two);
}

#[test]
fn a_directory_belongs_to_the_machine_that_added_it() {
    let dir = dirs();
    let (one, two, _server) = two_machines(dir.path());
    let notes = SourceId::parse("notes").unwrap();
    let record = SourceRecord::new(Some("/srv/notes".into()), 1000);
    let source = notes.clone();
    one.store().write(move |transaction| transaction.put_source(&source, &record)).unwrap();
    two.store().follow().unwrap();
    let write = |store: &Store, body: &'static str| {
        let source = notes.clone();
        store
            .write(move |transaction| {
                transaction.write_page(&source, &slug("note"), &page(body, &[], None), 2000)
            })
            .unwrap()
    };
    write(two.store(), "from two");
    let of_notes =
        |machine: &Machine| machine.outbox().iter().filter(|row| row.source == "notes").count();
    assert_eq!(of_notes(&two), 0, "the other machine does not write the file");
    one.store().follow().unwrap();
    assert_eq!(of_notes(&one), 1);
    let has_files = |machine: &Machine| {
        machine.store().read(Visibility::All).unwrap().has_files_of(&notes).unwrap()
    };
    assert_eq!((has_files(&one), has_files(&two)), (true, false));
    assert_equal(&one, &two);
}

#[test]
fn without_the_log_jobs_wait_and_other_writes_are_refused() {
    let dir = dirs();
    let (one, mut two, server) = two_machines(dir.path());
    server.lock().unwrap().fault = Some(LogFault::Away);
    let refused = two.store().write(|transaction| {
        transaction
            .write_page(&SourceId::default(), &slug("x"), &page("x", &[], None), 1)
            .map(|_| ())
    });
    assert!(matches!(refused, Err(StoreError::Away(_))), "{refused:?}");
    let add = |store: &Store, body: &'static str, key: i64| {
        let (sender, result) = std::sync::mpsc::sync_channel(1);
        store.write_then(
            move |transaction| transaction.add_job(&job(body, key)),
            move |result| sender.send(result.map(|_| ())).unwrap(),
        );
        result.recv().unwrap()
    };
    for (body, key) in [("a", 1), ("b", 2), ("c", 3)] {
        add(two.store(), body, key).unwrap();
    }
    assert_eq!(two.store().jobs_for_log(), 3);
    two.restart();
    assert_eq!(two.store().jobs_for_log(), 3, "they survive a restart");
    add(two.store(), "d", 4).unwrap();
    let key = brain_page::content_digest("a");
    let known = two.store().write(move |transaction| {
        Err::<(), _>(match transaction.latest_job_with_key(&key)? {
            Some((id, _)) => StoreError::Damaged(id.to_string()),
            None => StoreError::Defect,
        })
    });
    let Err(StoreError::Damaged(id)) = known else { panic!("a repetition is known: {known:?}") };
    let id = id.parse().unwrap();
    assert!(two.store().job_for_log(id).unwrap().is_some());
    server.lock().unwrap().fault = None;
    put(one.store(), "meanwhile", page("m", &[], None), 2000);
    // The answer to the batch with the jobs is lost: they must not be sent twice.
    server.lock().unwrap().fault = Some(LogFault::LostAnswer);
    assert!(two.store().follow().is_err());
    // A job that is spooled after the lost answer must not leave a gap.
    server.lock().unwrap().fault = Some(LogFault::AwayForAppends);
    let _ = two.store().follow();
    add(two.store(), "e", 5).unwrap();
    two.restart();
    server.lock().unwrap().fault = None;
    two.store().follow().unwrap();
    assert_eq!(two.store().jobs_for_log(), 0);
    assert!(two.store().read(Visibility::All).unwrap().job(id).unwrap().is_some(), "same id");
    one.store().follow().unwrap();
    let reader = one.store().read(Visibility::All).unwrap();
    let jobs = reader.due_jobs(JobKind::Text, i64::MAX - 1, 10, 1 << 20).unwrap();
    let bodies: Vec<_> = jobs.into_iter().map(|(_, job)| job.content.body).collect();
    assert_eq!(bodies, ["a", "b", "c", "d", "e"]);
    assert_equal(&one, &two);
}

#[test]
fn a_store_that_leaves_keeps_its_pages_and_jobs() {
    let dir = dirs();
    let (one, mut two, server) = two_machines(dir.path());
    server.lock().unwrap().fault = Some(LogFault::Away);
    let (sender, result) = std::sync::mpsc::sync_channel(1);
    two.store().write_then(
        |transaction| transaction.add_job(&job("waits", 9)),
        move |result| sender.send(result.map(|_| ())).unwrap(),
    );
    result.recv().unwrap().unwrap();
    two.store().unshare().unwrap();
    put(two.store(), "own", page("own", &[], None), 2000);
    two.restart();
    assert!(!two.store().is_shared());
    assert_eq!(two.text("own").as_deref(), Some("own"));
    assert_eq!(two.text("first").as_deref(), Some("the first page"));
    let reader = two.store().read_queue().unwrap();
    assert_eq!(reader.job_counts().unwrap().waiting, 1);
    drop(reader);
    verify_copy(&two);
    server.lock().unwrap().fault = None;
    put(one.store(), "still-shared", page("s", &[], None), 2000);
}

#[test]
fn small_attachments_travel_and_large_ones_stay() {
    let dir = dirs();
    let (one, two, _server) = two_machines(dir.path());
    let id = put(one.store(), "with-files", page("p", &[], None), 2000).record.id;
    let small = b"small".to_vec();
    let large = vec![1; usize::try_from(MAX_SHARED_ATTACHMENT).unwrap() + 1];
    for (name, content) in [("small.bin", &small), ("large.bin", &large)] {
        let hash = one.store().write_attachment(content).unwrap();
        let record = AttachmentRecord {
            hash,
            bytes: content.len() as u64,
            attached_at: 2000,
            removed_at: None,
        };
        let name = name.to_owned();
        one.store()
            .write(move |transaction| transaction.put_attachment(id, &name, &record, 2000))
            .unwrap();
    }
    two.store().follow().unwrap();
    let hash = |content: &[u8]| -> Hash {
        use sha2::Digest as _;
        sha2::Sha256::digest(content).into()
    };
    assert_eq!(two.store().read_attachment(&hash(&small)).unwrap(), small);
    assert!(two.store().read_attachment(&hash(&large)).is_err());
    assert_equal(&one, &two);
}

#[test]
fn a_source_that_another_machine_removes_keeps_its_files() {
    let dir = dirs();
    let (one, two, _server) = two_machines(dir.path());
    let notes = SourceId::parse("notes").unwrap();
    let (source, record) = (notes.clone(), SourceRecord::new(Some("/srv/notes".into()), 1000));
    one.store()
        .write(move |transaction| {
            transaction.put_source(&source, &record)?;
            let (size, mtime_ns, ctime_ns, digest) = (1, 2, 3, [4; 32]);
            let (page, seq, problem) = (None, 5, None);
            let file = FileRecord { size, mtime_ns, ctime_ns, digest, page, seq, problem };
            transaction.put_file(&source, "note.md", &file)
        })
        .unwrap();
    two.store().follow().unwrap();
    let source = notes.clone();
    two.store()
        .write(move |transaction| {
            transaction.write_page(&source, &slug("note"), &page("n", &[], None), 2000).map(|_| ())
        })
        .unwrap();
    one.store().follow().unwrap();
    let source = notes.clone();
    two.store()
        .write(move |transaction| {
            transaction.release_source(&source)?;
            let record = transaction.page(&source, &slug("note"))?.unwrap();
            transaction.soft_delete_without_file(&source, &slug("note"), record, 3000).map(|_| ())
        })
        .unwrap();
    one.store().follow().unwrap();
    let of_notes = |machine: &Machine| {
        machine.outbox().iter().filter(|row| row.source == "notes").cloned().collect::<Vec<_>>()
    };
    assert!(of_notes(&one).iter().all(|row| row.target_state == FileState::Present));
    let source = notes.clone();
    two.store().write(move |transaction| transaction.remove_source(&source)).unwrap();
    one.store().follow().unwrap();
    assert_eq!(of_notes(&one), []);
    let reader = one.store().read(Visibility::All).unwrap();
    assert_eq!(reader.files(&notes, "").unwrap().count(), 0);
    drop(reader);
    assert_equal(&one, &two);
}

#[test]
fn a_store_that_left_does_not_claim_the_directories_of_others() {
    let dir = dirs();
    let (one, two, _server) = two_machines(dir.path());
    let notes = SourceId::parse("notes").unwrap();
    let (source, record) = (notes.clone(), SourceRecord::new(Some("/srv/notes".into()), 1000));
    one.store().write(move |transaction| transaction.put_source(&source, &record)).unwrap();
    two.store().follow().unwrap();
    let has_files = |machine: &Machine| {
        machine.store().read(Visibility::All).unwrap().has_files_of(&notes).unwrap()
    };
    for machine in [&one, &two] {
        machine.store().unshare().unwrap();
    }
    assert_eq!((has_files(&one), has_files(&two)), (true, false));
    let source = notes.clone();
    two.store().write(move |transaction| transaction.claim_source(&source)).unwrap();
    assert!(has_files(&two), "the owner can take it over");
    let server = Arc::new(Mutex::new(ServerState::default()));
    one.store().share(Arc::new(FakeLog::of(9, server)), 9).unwrap();
    assert!(has_files(&one), "also after it is shared again with another id");
}
