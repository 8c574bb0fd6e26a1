//! Backups contain every row of every table, byte for byte.

use std::path::Path;

use brain_protocol::{GrantType, JobState, Scope, Slug, SourceId, TokenKind};
use redb::{Key, ReadableDatabase, ReadableTable, TableDefinition, TableHandle, Value};

use super::tables as t;
use super::*;

pub(super) const CONTINUE: &dyn Fn(u64, u64) -> bool = &|_, _| true;

pub(super) fn options(new_store_id: u64) -> StoreOptions {
    StoreOptions { new_store_id, ..super::tests::options() }
}

/// Creates a store with rows in every table.
#[allow(clippy::too_many_lines)]
pub(super) fn store(path: &Path) -> Store {
    let store = Store::open(path, &options(7), Box::new(|_| {})).unwrap();
    let source = SourceId::default();
    for n in 0..40_u32 {
        let body = format!("body {n} {}", "words and more words ".repeat(20 * n as usize));
        let slug = Slug::parse(format!("p/{}", n % 30)).unwrap();
        let link = LinkRecord {
            source: None,
            slugs: vec!["p/1".into()],
            name: None,
            kind: "mentions".into(),
            raw: "p/1".into(),
        };
        let entry = brain_page::TimelineEntry {
            date: "2026-11-21".into(),
            text: "opened".into(),
            source: None,
        };
        let new = NewPage {
            page_type: "note".into(),
            title: Some(format!("Title {n}")),
            aliases: vec![],
            content_hash: brain_page::content_digest(&body),
            content: Content { frontmatter: "a: 1\n".into(), body: body.into() },
            chunks: 1,
            derived: DerivedRows {
                links: vec![link.clone(), LinkRecord { slugs: vec!["nowhere".into()], ..link }],
                names: vec![format!("name {n}")],
                tags: vec!["harbour".into()],
                timeline: vec![entry],
            },
            provenance: Provenance { source_kind: Some("import".into()), ..Provenance::default() },
            author: None,
            line_change: LineChange::SameMarks,
            dates: brain_page::NoteDates::default(),
            replaces: None,
            is_capture: true,
            file: FilePlan::Write,
        };
        let source_id = source.clone();
        store
            .write(move |transaction| transaction.write_page(&source_id, &slug, &new, i64::from(n)))
            .unwrap();
    }
    store.check_links(&|| true).unwrap();
    store
        .write(move |transaction| {
            let slug = Slug::parse("p/3").unwrap();
            let record = transaction.page(&source, &slug)?.unwrap();
            transaction.soft_delete(&source, &slug, record, 90)?;
            let (size, mtime_ns, ctime_ns) = (1, 2, 3);
            let digest = [4; 32];
            let file =
                FileRecord { size, mtime_ns, ctime_ns, digest, page: None, seq: 5, problem: None };
            let settings = SourceSettingsRecord {
                exclude: vec!["drafts/".into()],
                ..SourceSettingsRecord::default()
            };
            transaction.put_source_settings(&source, &settings)?;
            transaction.put_file(&source, "p/7.md", &file)
        })
        .unwrap();
    store.write(add_http_rows).unwrap();
    store.write(add_review_rows).unwrap();
    let hash = store.write_attachment(b"a picture").unwrap();
    let file = AttachmentRecord { hash, bytes: 9, attached_at: 1, removed_at: None };
    store.write(move |transaction| transaction.put_attachment(1, "p.png", &file, 1)).unwrap();
    store
}

/// Adds a citation, a question of the test set, and a settled contradiction.
fn add_review_rows(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    let citation =
        CitationRecord { page: 2, version: 1, span: "cited".into(), ..CitationRecord::default() };
    transaction.set_citations(1, &[citation])?;
    let question =
        RecallRecord::Question { text: "where?".into(), page: 2, was_missed: false, at: 99 };
    transaction.set_recall(1, Some(&question))?;
    let settled = SettledRecord { kept: (1, 1), other: (2, 1), is_none: false, at: 99 };
    transaction.settle("3f2a9c01", Some(&settled))
}

/// Adds a waiting and a failed job, a client, two tokens and an audited call.
#[allow(clippy::too_many_lines)]
fn add_http_rows(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    let queued = JobRecord {
        state: JobState::Queued,
        client: "phone".into(),
        source: SourceId::default(),
        content_hash: brain_page::content_digest("taken in"),
        content_type: "text/plain".into(),
        bytes: 8,
        options: JobOptions::default(),
        content: Content { body: "taken in".into(), ..Content::default() },
        received_at: 95,
        finished_at: None,
        attempts: 0,
        due_at: 95,
        slug: None,
        error: None,
        duplicate_keys: vec![[5; 32]],
    };
    transaction.add_job(&queued)?;
    let failed = JobRecord {
        state: JobState::Failed,
        finished_at: Some(99),
        duplicate_keys: vec![[6; 32]],
        ..queued
    };
    transaction.add_job(&failed)?;
    let client = ClientRecord {
        name: "Phone".into(),
        secret: Some([6; 32]),
        scopes: Scope::Write.into(),
        sources: vec!["default".into()],
        grant_types: vec![GrantType::ClientCredentials],
        redirect_uris: Vec::new(),
        token_ttl: 3600,
        registered_by: "admin".into(),
        created_at: 96,
        last_used_at: None,
        revoked_at: None,
    };
    let token = TokenRecord {
        kind: TokenKind::Access,
        client: Some("phone".into()),
        name: String::new(),
        scopes: Scope::Write.into(),
        sources: Vec::new(),
        resource: None,
        family: 1,
        created_at: 97,
        expires_at: Some(99),
        used_at: None,
        revoked_at: None,
    };
    // Of the two tokens, a restore keeps only the personal one.
    let personal = TokenRecord { kind: TokenKind::Personal, client: None, ..token.clone() };
    transaction.change_grants(&GrantUpdate {
        clients: vec![("phone".into(), Some(client))],
        tokens: vec![([7; 32], Some(token)), ([8; 32], Some(personal))],
        only_reduces_access: false,
    })?;
    let call = AuditRecord {
        at: 98,
        client: "phone".into(),
        operation: "POST /ingest".into(),
        status: 202,
        took_us: 400,
        parameters: vec![("body".into(), 8)],
    };
    transaction.add_calls(98, &[call])
}

/// Table, key and value of a row.
pub(super) type Row = (String, Vec<u8>, Vec<u8>);

/// Returns every row of every table.
pub(super) fn rows(path: &Path) -> Vec<Row> {
    fn table<K: Key + 'static, V: Value + 'static>(
        txn: &redb::ReadTransaction,
        definition: TableDefinition<'static, K, V>,
    ) -> Vec<Row> {
        let table = txn.open_table(definition).unwrap();
        let rows = table.iter().unwrap();
        rows.map(|row| {
            let (key, value) = row.unwrap();
            let key = K::as_bytes(&key.value()).as_ref().to_vec();
            (definition.to_string(), key, V::as_bytes(&value.value()).as_ref().to_vec())
        })
        .collect()
    }
    let db = super::jobs_tests::open_file(path);
    let txn = db.begin_read().unwrap();
    let mut all = Vec::new();
    macro_rules! gather {
        ($($table:ident),*) => {$(
            let found = table(&txn, t::$table);
            // Only a backup has the bytes of files, and only a shared brain has machines. The
            // last ones are filled by the tests of their own files.
            let may_be_empty = [
                t::ATTACHMENT_PARTS.name(),
                t::SOURCE_MACHINES.name(),
                t::SEEN.name(),
                t::LEFT.name(),
                t::CITATIONS.name(),
                t::RECALL.name(),
                t::SETTLED.name(),
                t::UNDONE.name(),
                t::MADE_FROM.name(),
            ]
            .contains(&TableHandle::name(&t::$table));
            assert!(may_be_empty || !found.is_empty(), "{} is empty", stringify!($table));
            all.extend(found);
        )*};
    }
    t::every_table!(gather);
    all
}

/// Returns the rows without those that a backup adds.
fn without_backup_time(mut rows: Vec<Row>) -> Vec<Row> {
    let parts = t::ATTACHMENT_PARTS.to_string();
    rows.retain(|(table, key, _)| key != t::META_MADE_AT.as_bytes() && *table != parts);
    rows
}

#[test]
fn a_backup_has_every_row_of_every_table_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("brain.redb"), dir.path().join("copy.redb"));
    let store = store(&path);
    let report = store.back_up(&copy, 4711, CONTINUE).unwrap();
    assert_eq!((report.pages, report.deleted, report.versions, report.schema), (29, 1, 10, SCHEMA));
    assert_eq!(report.made_at, Some(4711));
    assert_eq!(verify(&copy, CONTINUE).unwrap(), report);
    assert_eq!(store_id(&copy).unwrap(), 7);
    assert!(matches!(verify(&path, CONTINUE), Err(StoreError::Locked(_))), "the store is in use");
    drop(store);
    assert_eq!(without_backup_time(rows(&copy)), rows(&path));
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 3, "store, copy and attachments; no temporary file is left");
}

/// Returns the number of files directly in a directory, which excludes files of attachments.
fn count_files(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().path().is_file()).count()
}

/// A copy can be consistent and still differ from the original.
#[test]
fn a_copy_with_different_rows_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("brain.redb"));
    let target = dir.path().join("copy.redb");
    let damage = |path: &Path| {
        let db = super::jobs_tests::open_file(path);
        let txn = db.begin_write().unwrap();
        {
            // The number of rows stays, and no other table refers to the changed row.
            let mut names = txn.open_table(t::NAMES).unwrap();
            let (source, id) = {
                let (key, _) = names.pop_first().unwrap().unwrap();
                let (source, _, id) = key.value();
                (source.to_owned(), id)
            };
            names.insert((source.as_str(), "zebra", id), ()).unwrap();
        }
        txn.commit().unwrap();
        drop(db);
        assert!(verify(path, CONTINUE).is_ok(), "the copy is consistent");
    };
    match store.back_up_with_hook(&target, 1, CONTINUE, &damage) {
        Err(error @ StoreError::UnequalCopy(_)) => {
            assert!(error.to_string().contains("/copy.redb: "), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(count_files(dir.path()), 1, "the copy is removed");
    store.back_up(&target, 1, CONTINUE).unwrap();
}

#[test]
fn a_cancelled_or_failed_backup_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("brain.redb"));
    let target = dir.path().join("copy.redb");
    for max_rows in [0, 300, 385] {
        let has_rows_left = |done, _| done < max_rows;
        match store.back_up(&target, 1, &has_rows_left) {
            Err(StoreError::Cancelled(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(store.back_up(&dir.path().join("no/such/dir.redb"), 1, CONTINUE).is_err());
    std::fs::write(&target, "another file").unwrap();
    match store.back_up(&target, 1, CONTINUE) {
        Err(StoreError::TargetExists(_)) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "another file");
    assert_eq!(count_files(dir.path()), 2);
}

#[test]
fn a_file_with_an_unknown_table_is_no_backup() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    drop(store(&path));
    let db = super::jobs_tests::open_file(&path);
    let txn = db.begin_write().unwrap();
    txn.open_table(TableDefinition::<u64, u64>::new("newer")).unwrap();
    txn.commit().unwrap();
    drop(db);
    let store = Store::open(&path, &options(1), Box::new(|_| {})).unwrap();
    match store.back_up(&dir.path().join("copy.redb"), 1, CONTINUE) {
        Err(StoreError::UnknownTable(name)) => assert_eq!(name, "newer"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_files_of_killed_copies_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("brain.redb"));
    // No process has the id 2000000000, because it exceeds the kernel's limit.
    let leftover = dir.path().join(".copy.redb.2000000000-0.brain-backup");
    let others = [
        ".copy.redb.2000000000-0.brain-backup.mine",
        ".copy.redb.x-0.brain-backup",
        ".other.redb.2000000000-0.brain-backup",
        ".copy.redb.1-0.brain-backup",
    ];
    std::fs::write(&leftover, "half").unwrap();
    for other in others {
        std::fs::write(dir.path().join(other), "another file").unwrap();
    }
    store.back_up(&dir.path().join("copy.redb"), 1, CONTINUE).unwrap();
    assert!(!leftover.exists());
    for other in others {
        assert!(dir.path().join(other).exists(), "{other}");
    }
}
