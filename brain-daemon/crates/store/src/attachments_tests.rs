//! Attachments: rows follow texts, files stay while a row names them, and backups contain both.

use std::fs;
use std::path::Path;

use brain_base::caller::Visibility;
use brain_protocol::{JobState, SourceId};

use super::tests::{open, options, page, slug};
use super::*;
use crate::tables as t;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Writes the page `name` with this body, and returns its id.
fn write(store: &Store, name: &str, body: &str, now: i64) -> u64 {
    let (name, new) = (slug(name), page(body, &[], None));
    store
        .write(move |transaction| {
            Ok(transaction.write_page(&SourceId::default(), &name, &new, now)?.record.id)
        })
        .unwrap()
}

/// Attaches `content` to the page, and returns its hash.
fn attach(store: &Store, id: u64, name: &'static str, content: &[u8]) -> Hash {
    let _guard = store.attachments().block_removal();
    let hash = store.write_attachment(content).unwrap();
    let bytes = content.len() as u64;
    let record = AttachmentRecord { hash, bytes, attached_at: 1, removed_at: None };
    store.write(move |transaction| transaction.put_attachment(id, name, &record, 1)).unwrap();
    hash
}

/// Returns the names of the page's attachments.
fn attachment_names(store: &Store, id: u64) -> Vec<String> {
    let reader = store.read(Visibility::All).unwrap();
    reader.attachments_of(id, false).unwrap().into_iter().map(|(name, _)| name).collect()
}

/// Purges pages and attachments whose recovery window has ended at `now`, and then all files
/// without a row, whatever their age.
fn purge(store: &Store, now: i64) {
    store
        .write(move |transaction| {
            transaction.purge(now, 100)?;
            transaction.expire_attachments(now)
        })
        .unwrap();
    store.sweep_attachments(i64::MAX).unwrap();
}

#[test]
fn an_attachment_outlives_its_last_name_by_the_recovery_window() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let id = write(&store, "a", "![[p.png]]", 1);
    let hash = attach(&store, id, "p.png", b"picture");
    write(&store, "a", "nothing", 10);
    assert_eq!(attachment_names(&store, id), Vec::<String>::new());
    purge(&store, 10 + RECOVERY_MS - 1);
    assert_eq!(store.read_attachment(&hash).unwrap(), b"picture");
    // A former version comes back.
    write(&store, "a", "![[p.png]] again", 20);
    assert_eq!(attachment_names(&store, id), ["p.png"]);
    purge(&store, 100 * DAY);
    assert_eq!(attachment_names(&store, id), ["p.png"]);
    write(&store, "a", "nothing", 100 * DAY);
    purge(&store, 100 * DAY + RECOVERY_MS);
    let error = store.read_attachment(&hash).unwrap_err();
    assert!(matches!(error, StoreError::DamagedAttachment { .. }), "{error}");
    assert!(!store.attachments().path(&hash).exists());
}

#[test]
fn purging_the_last_page_removes_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let ids = ["a", "b"].map(|name| write(&store, name, "![[p.png]]", 1));
    let hash = attach(&store, ids[0], "p.png", b"picture");
    assert_eq!(attach(&store, ids[1], "p.png", b"picture"), hash);
    let delete = |name: &'static str, now: i64| {
        store
            .write(move |transaction| {
                let source = SourceId::default();
                let record = transaction.page(&source, &slug(name))?.unwrap();
                transaction.soft_delete(&source, &slug(name), record, now)
            })
            .unwrap();
    };
    delete("a", 1);
    purge(&store, RECOVERY_MS);
    assert!(store.read_attachment(&hash).is_ok());
    purge(&store, RECOVERY_MS + 1);
    assert_eq!(attachment_names(&store, ids[0]), Vec::<String>::new());
    assert!(store.read_attachment(&hash).is_ok(), "another page names the file");
    delete("b", 2);
    purge(&store, RECOVERY_MS + 2);
    assert!(store.read_attachment(&hash).is_err());
}

#[test]
fn a_file_without_a_row_is_removed_after_an_hour_only() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let id = write(&store, "a", "![[p.png]]", 1);
    let named = attach(&store, id, "p.png", b"picture");
    let orphan = store.write_attachment(b"orphan").unwrap();
    let written = fs::metadata(store.attachments().path(&orphan)).unwrap().modified().unwrap();
    let at = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    assert_eq!(store.sweep_attachments(at + 60 * 60 * 1000).unwrap(), 0);
    let guard = store.attachments().block_removal();
    assert_eq!(
        store.sweep_attachments(at + 61 * 60 * 1000).unwrap(),
        0,
        "while a guard is held, a row may follow"
    );
    drop(guard);
    assert_eq!(store.sweep_attachments(at + 61 * 60 * 1000).unwrap(), 1);
    assert!(store.read_attachment(&orphan).is_err());
    assert!(store.read_attachment(&named).is_ok());
}

#[test]
fn the_tables_agree_when_a_name_gets_other_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let id = write(&store, "a", "![[p.png]]", 1);
    let first = attach(&store, id, "p.png", b"one");
    let second = attach(&store, id, "p.png", b"two");
    let reader = store.read(Visibility::All).unwrap();
    let mut both = [first, second];
    both.sort();
    assert_eq!(reader.attached_files().unwrap().into_keys().collect::<Vec<_>>(), both);
    assert_eq!(attachment_names(&store, id), ["p.png"]);
    assert!(reader.pages_with(&first).unwrap().is_empty());
    assert_eq!(reader.pages_with(&second).unwrap().len(), 1);
    drop(reader);
    assert_eq!(store.purge_attachments(&both).unwrap(), 0, "no row is past the recovery window");
    purge(&store, 2 + RECOVERY_MS);
    assert!(store.read_attachment(&first).is_err());
    assert!(store.read_attachment(&second).is_ok());
}

/// Makes a store with attachments of several lengths, and a backup of it. Returns the hashes of the
/// attachments and the path of the backup.
fn make_backup(dir: &Path) -> (Vec<Hash>, std::path::PathBuf) {
    let store = open(&dir.join("brain.redb"));
    let id = write(&store, "a", "![[empty]] ![[small]] ![[large]] ![[whole]]", 1);
    let files: [(&'static str, Vec<u8>); 4] = [
        ("empty", Vec::new()),
        ("small", b"x".to_vec()),
        ("large", (0..3_000_000_u32).map(|n| (n % 251) as u8).collect()),
        ("whole", vec![7; 1 << 20]),
    ];
    let hashes = files.iter().map(|(name, content)| attach(&store, id, name, content)).collect();
    let target = dir.join("backup.redb");
    let report = store.back_up(&target, 5, &|_, _| true).unwrap();
    assert_eq!((report.attachments, report.missing_attachments), (4, 0));
    (hashes, target)
}

#[test]
fn a_backup_has_the_files_and_a_restored_store_writes_them() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (hashes, backup) = make_backup(from.path());
    let home = to.path().join("brain.redb");
    restore(&backup, &home, &options(), &mut |_, _, _| false, &|_, _| true).unwrap();
    let store = open(&home);
    for hash in &hashes {
        assert!(store.read_attachment(hash).is_ok());
    }
    let mut found: Vec<_> =
        fs::read_dir(to.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    found.sort();
    assert_eq!(found, ["attachments", "brain.redb"]);
    assert_eq!(count_packed_files(&store), 0, "the store has no copy of the files");
    // Another backup of it is complete, too.
    let again = to.path().join("again.redb");
    assert_eq!(store.back_up(&again, 6, &|_, _| true).unwrap().attachments, 4);
}

/// Returns the number of attachments whose bytes are in the store file.
fn count_packed_files(store: &Store) -> usize {
    let snapshot = store.snapshot().unwrap();
    let table = snapshot.open_table(t::ATTACHMENT_PARTS).unwrap();
    let mut files = 0;
    packed_attachments::for_each_packed(&table, |_, _| {
        files += 1;
        Ok(())
    })
    .unwrap();
    files
}

#[test]
fn a_missing_file_is_reported_and_the_rest_is_backed_up() {
    let dir = tempfile::tempdir().unwrap();
    let (hashes, backup) = make_backup(dir.path());
    fs::remove_file(&backup).unwrap();
    let store = open(&dir.path().join("brain.redb"));
    fs::remove_file(store.attachments().path(&hashes[1])).unwrap();
    fs::write(store.attachments().path(&hashes[2]), "damaged").unwrap();
    let report = store.back_up(&backup, 5, &|_, _| true).unwrap();
    assert_eq!((report.attachments, report.missing_attachments), (2, 2));
    assert_eq!(verify(&backup, &|_, _| true).unwrap(), report);
}

#[test]
fn the_file_of_a_queued_document_stays_until_its_job_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let hash = store.write_attachment(b"%PDF").unwrap();
    let job = JobRecord {
        content_type: "application/pdf".into(),
        content_hash: hash,
        content: Content::default(),
        ..super::jobs_tests::job("", 1)
    };
    let id = store.write(move |transaction| transaction.add_job(&job)).unwrap();
    let reader = store.read_queue().unwrap();
    assert!(reader.due_jobs(JobKind::Text, 5, 10, 1000).unwrap().is_empty());
    assert_eq!(reader.due_jobs(JobKind::Document, 5, 10, 1000).unwrap()[0].0, id);
    assert_eq!(reader.next_due_job(JobKind::Text, 5).unwrap(), None);
    assert_eq!(reader.next_due_job(JobKind::Document, 5).unwrap(), Some(1));
    drop(reader);
    assert_eq!(store.purge_attachments(&[hash]).unwrap(), 0);
    let backup = dir.path().join("backup.redb");
    let report = store.back_up(&backup, 5, &|_, _| true).unwrap();
    assert_eq!((report.attachments, report.missing_attachments), (1, 0));
    assert_eq!(verify(&backup, &|_, _| true).unwrap(), report);
    let home = dir.path().join("other").join("brain.redb");
    fs::create_dir(dir.path().join("other")).unwrap();
    restore(&backup, &home, &options(), &mut |_, _, _| false, &|_, _| true).unwrap();
    assert_eq!(open(&home).read_attachment(&hash).unwrap(), b"%PDF");

    for (state, removed) in [(JobState::Failed, 0), (JobState::Stored, 1)] {
        let changed = store.write(move |transaction| {
            let former = transaction.job(id)?.unwrap();
            let new = JobRecord { state, finished_at: Some(9), ..former.clone() };
            transaction.change_job(id, &former, &new)
        });
        changed.unwrap();
        assert_eq!(store.purge_attachments(&[hash]).unwrap(), removed, "{state:?}");
    }
}

/// Changes a backup with `change`, and returns the message of the failed restore.
fn restore_error(change: impl FnOnce(&redb::WriteTransaction, &[Hash])) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (hashes, backup) = make_backup(dir.path());
    let db = super::jobs_tests::open_file(&backup);
    let txn = db.begin_write().unwrap();
    change(&txn, &hashes);
    txn.commit().unwrap();
    drop(db);
    let home = dir.path().join("other").join("brain.redb");
    fs::create_dir(dir.path().join("other")).unwrap();
    let error =
        restore(&backup, &home, &options(), &mut |_, _, _| false, &|_, _| true).unwrap_err();
    assert!(!home.exists() && !dir.path().join("other/attachments").exists());
    error.to_string()
}

#[test]
fn a_crafted_backup_is_refused() {
    let put_part = |txn: &redb::WriteTransaction, hash: &Hash, number: u32, bytes: &[u8]| {
        txn.open_table(t::ATTACHMENT_PARTS).unwrap().insert((hash, number), bytes).unwrap();
    };
    let text = restore_error(|txn, hashes| put_part(txn, &hashes[1], 0, b"y"));
    assert!(text.contains("do not match its hash"), "{text}");
    let text = restore_error(|txn, hashes| put_part(txn, &hashes[1], 2, b""));
    assert!(text.contains("do not match its hash"), "{text}");
    let text = restore_error(|txn, _| put_part(txn, &brain_files::digest(b"z"), 0, b"z"));
    assert!(text.contains("belongs to no page"), "{text}");
    for name in ["../../evil", "/etc/passwd", "a/b", "..", ".hidden", "a\u{202e}b", "page.md"] {
        let text = restore_error(|txn, hashes| {
            let record =
                AttachmentRecord { hash: hashes[1], bytes: 1, attached_at: 1, removed_at: None };
            let bytes = record::to_bytes(&record).unwrap();
            let id = 1;
            txn.open_table(t::ATTACHMENTS).unwrap().insert((id, name), bytes.as_slice()).unwrap();
            let mut files = txn.open_table(t::ATTACHMENT_FILES).unwrap();
            files.insert((&hashes[1], id, name), ()).unwrap();
        });
        assert!(text.contains("is not that of a file"), "{name}: {text}");
    }
    let text = restore_error(|txn, hashes| {
        let mut files = txn.open_table(t::ATTACHMENT_FILES).unwrap();
        files.remove((&hashes[1], 1, "small")).unwrap();
    });
    assert!(text.contains("the list of files lacks it"), "{text}");
}

#[test]
fn a_full_disk_refuses_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let full = StoreOptions { min_free_bytes: u64::MAX, ..options() };
    let store = Store::open(&dir.path().join("brain.redb"), &full, Box::new(|_| {})).unwrap();
    let error = store.write_attachment(b"picture").unwrap_err();
    assert!(matches!(error, StoreError::DiskFull(_)), "{error}");
    assert!(!store.attachments().root().exists());
}
