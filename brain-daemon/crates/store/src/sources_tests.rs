//! The tables agree about pages with files after any sequence of syncs, file changes and commands.

use std::collections::{BTreeMap, BTreeSet};

use brain_protocol::{Slug, SourceId};
use proptest::prelude::*;
use redb::{ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition};

use super::record::{DerivedRows, StoredValue, from_bytes};
use super::*;
use crate::tables as t;
use brain_page as page;

/// A change of pages. Numbers select a page and its text.
#[derive(Debug, Clone)]
enum Step {
    /// Imports the page from its file.
    Import(u8, u8),
    /// A command writes the page.
    Put(u8, u8),
    /// The file of the first page gets the name of the second page.
    Rename(u8, u8),
    /// The page's file disappears.
    Vanish(u8),
    /// The page's file reappears.
    Return(u8),
    Delete(u8),
    Restore(u8),
    Purge,
    RemoveSource,
}

fn step() -> impl Strategy<Value = Step> {
    let p = || 0..6_u8;
    prop_oneof![
        6 => (p(), any::<u8>()).prop_map(|(p, b)| Step::Import(p, b)),
        3 => (p(), any::<u8>()).prop_map(|(p, b)| Step::Put(p, b)),
        4 => (p(), p()).prop_map(|(p, q)| Step::Rename(p, q)),
        3 => p().prop_map(Step::Vanish),
        2 => p().prop_map(Step::Return),
        3 => p().prop_map(Step::Delete),
        2 => p().prop_map(Step::Restore),
        2 => Just(Step::Purge),
        1 => Just(Step::RemoveSource),
    ]
}

fn slug(p: u8) -> Slug {
    Slug::parse(format!("p/{p}")).unwrap()
}

fn path(p: u8) -> String {
    format!("P/{p}.md")
}

fn derived(p: u8) -> (Vec<String>, Vec<LinkRecord>) {
    let to = format!("p/{}", (p + 1) % 6);
    let link = LinkRecord {
        source: None,
        slugs: vec![to.clone()],
        name: None,
        kind: "mentions".into(),
        raw: to,
    };
    (vec![p.to_string()], vec![link])
}

fn page(p: u8, body: u8, file: FilePlan) -> NewPage {
    let body = format!("body {body}");
    let (names, links) = derived(p);
    NewPage {
        page_type: "note".into(),
        title: Some(body.clone()),
        aliases: vec![],
        content_hash: page::content_digest(&body),
        content: Content { body: body.into(), ..Content::default() },
        chunks: 1,
        derived: DerivedRows { links, names, tags: vec!["t".into()], timeline: vec![] },
        provenance: Provenance::default(),
        author: None,
        line_change: LineChange::SameMarks,
        dates: brain_page::NoteDates::default(),
        replaces: None,
        is_capture: false,
        file,
    }
}

/// Runs the step if it is possible in the current state.
#[allow(clippy::too_many_lines)]
fn apply(
    transaction: &mut Transaction<'_>,
    of: &SourceId,
    step: &Step,
    now: i64,
) -> Result<(), StoreError> {
    let found = |transaction: &Transaction<'_>,
                 p: u8,
                 active: bool|
     -> Result<Option<PageRecord>, StoreError> {
        Ok(transaction.page(of, &slug(p))?.filter(|page| page.deleted_at.is_none() == active))
    };
    let file_record = |record: &PageRecord| FileRecord {
        size: 1,
        mtime_ns: 2,
        ctime_ns: 3,
        digest: [4; 32],
        page: Some(record.id),
        seq: record.seq,
        problem: None,
    };
    match *step {
        Step::Import(p, body) => {
            let new = page(p, body, FilePlan::Keep(path(p)));
            let former = transaction.page(of, &slug(p))?.map(|former| former.source_path);
            let record = transaction.write_page(of, &slug(p), &new, now)?.record;
            if let Some(former) = former.filter(|former| *former != path(p)) {
                transaction.remove_file_record(of, &former)?;
            }
            transaction.put_file(of, &path(p), &file_record(&record))?;
        }
        Step::Put(p, body) => {
            _ = transaction.write_page(of, &slug(p), &page(p, body, FilePlan::Write), now)?;
        }
        Step::Rename(p, q) => {
            let is_free = transaction.page(of, &slug(q))?.is_none()
                && transaction.page_at(of, &path(q))?.is_none();
            if let Some(record) = found(transaction, p, true)?.filter(|_| is_free) {
                let (former, dates) = (record.source_path.clone(), (record.created_at, now));
                let (new_slug, new_path) = (slug(q), path(q));
                let to = (&new_slug, new_path.as_str());
                let record =
                    transaction.rename_page(of, &slug(p), record, to, derived(q), dates)?;
                transaction.remove_file_record(of, &former)?;
                transaction.put_file(of, &path(q), &file_record(&record))?;
            }
        }
        Step::Vanish(p) => {
            if let Some(record) = found(transaction, p, true)? {
                transaction.remove_file_record(of, &record.source_path)?;
                transaction.soft_delete_without_file(of, &slug(p), record, now)?;
            }
        }
        Step::Return(p) => {
            if let Some(record) = found(transaction, p, false)? {
                let record = transaction.restore_without_file(of, &slug(p), record)?;
                transaction.put_file(of, &record.source_path, &file_record(&record))?;
            }
        }
        Step::Delete(p) => {
            if let Some(record) = found(transaction, p, true)? {
                transaction.soft_delete(of, &slug(p), record, now)?;
            }
        }
        Step::Restore(p) => {
            if let Some(record) = found(transaction, p, false)? {
                transaction.restore(of, &slug(p), record)?;
            }
        }
        Step::Purge => _ = transaction.purge(now + RECOVERY_MS, 100)?,
        Step::RemoveSource => {
            for (slug, record) in transaction.active_pages(of, "", 100)? {
                transaction.soft_delete_without_file(of, &slug, record, now)?;
            }
            transaction.remove_source(of)?;
        }
    }
    Ok(())
}

fn stored<T: StoredValue>(
    txn: &ReadTransaction,
    table: TableDefinition<'static, u64, &'static [u8]>,
) -> BTreeMap<u64, T> {
    let table = txn.open_table(table).unwrap();
    let rows = table.iter().unwrap().map(|row| row.unwrap());
    rows.map(|(key, value)| (key.value(), from_bytes(value.value()).unwrap())).collect()
}

fn pairs<T>(
    txn: &ReadTransaction,
    table: TableDefinition<'static, (&'static str, &'static str), &'static [u8]>,
) -> BTreeMap<(String, String), T>
where
    T: StoredValue,
{
    let table = txn.open_table(table).unwrap();
    let rows = table.iter().unwrap().map(|row| row.unwrap());
    rows.map(|(key, value)| {
        ((key.value().0.into(), key.value().1.into()), from_bytes(value.value()).unwrap())
    })
    .collect()
}

type Index = TableDefinition<'static, (&'static str, &'static str, u64), ()>;
type LabelTable = TableDefinition<'static, super::transaction::LabelKey, ()>;

fn index(txn: &ReadTransaction, table: Index) -> BTreeSet<(String, u64)> {
    let table = txn.open_table(table).unwrap();
    let rows = table.iter().unwrap().map(|row| row.unwrap().0);
    rows.map(|key| (key.value().1.to_owned(), key.value().2)).collect()
}

fn labels(txn: &ReadTransaction, table: LabelTable) -> BTreeSet<(String, i64, u64)> {
    let table = txn.open_table(table).unwrap();
    let rows = table.iter().unwrap().map(|row| row.unwrap().0);
    rows.map(|key| (key.value().1.to_owned(), key.value().2, key.value().3)).collect()
}

/// Checks each table against its expected rows, computed from the pages.
#[allow(clippy::too_many_lines)]
fn check(txn: &ReadTransaction, is_registered: bool) {
    let pages: BTreeMap<(String, String), PageRecord> = pairs(txn, t::PAGES);
    let table = txn.open_table(t::IDS).unwrap();
    let ids: BTreeMap<u64, (String, String)> = table
        .iter()
        .unwrap()
        .map(|row| row.unwrap())
        .map(|(id, key)| (id.value(), (key.value().0.into(), key.value().1.into())))
        .collect();
    assert_eq!(ids, pages.iter().map(|(key, page)| (page.id, key.clone())).collect());
    let table = txn.open_table(t::PATHS).unwrap();
    let paths: BTreeMap<String, u64> = table
        .iter()
        .unwrap()
        .map(|row| row.unwrap())
        .map(|(key, id)| (key.value().1.into(), id.value()))
        .collect();
    assert_eq!(paths, pages.values().map(|page| (page.source_path.clone(), page.id)).collect());
    let contents: BTreeMap<u64, Content> = stored(txn, t::CONTENTS);
    assert!(contents.keys().eq(ids.keys()));
    let derived: BTreeMap<u64, DerivedRows> = stored(txn, t::DERIVED);
    assert!(derived.keys().eq(ids.keys()));
    let (mut names, mut links) = (BTreeSet::new(), BTreeSet::new());
    let (mut tags, mut types) = (BTreeSet::new(), BTreeSet::new());
    for page in pages.values().filter(|page| page.deleted_at.is_none()) {
        let rows = &derived[&page.id];
        names.extend(rows.names.iter().map(|name| (name.clone(), page.id)));
        let dated = |label: &String| (label.clone(), page.updated_at, page.id);
        tags.extend(rows.tags.iter().map(dated));
        tags.insert(dated(&t::EVERY_PAGE.to_owned()));
        types.insert(dated(&page.page_type));
        links.extend(rows.link_rows("s").into_iter().map(|(_, key)| (key, page.id)));
    }
    assert_eq!(index(txn, t::NAMES), names);
    assert_eq!(labels(txn, t::TAGS), tags);
    assert_eq!(labels(txn, t::TYPES), types);
    assert_eq!(index(txn, t::LINKS_IN), links);
    let changes = txn.open_table(t::CHANGES).unwrap();
    for ((_, slug), page) in &pages {
        assert_eq!(changes.get(page.seq).unwrap().unwrap().value(), page.id);
        assert_eq!(
            derived[&page.id].names,
            [slug.trim_start_matches("p/")],
            "names are those of the slug"
        );
        assert_eq!(page::content_digest(&contents[&page.id].body), page.content_hash);
    }
    let versions = txn.open_table(t::VERSIONS).unwrap();
    let former_versions: Vec<(u64, u32)> =
        versions.iter().unwrap().map(|row| row.unwrap().0.value()).collect();
    let expected: Vec<(u64, u32)> = {
        let by_id: BTreeMap<u64, u32> =
            pages.values().map(|page| (page.id, page.version)).collect();
        by_id.into_iter().flat_map(|(id, version)| (1..version).map(move |n| (id, n))).collect()
    };
    assert_eq!(former_versions, expected, "exactly the former versions of existing pages");
    let by_id: BTreeMap<u64, &PageRecord> = pages.values().map(|page| (page.id, page)).collect();
    for (id, row) in stored::<OutboxRow>(txn, t::OUTBOX) {
        assert!(is_registered, "the outbox has no rows of a removed source");
        match by_id.get(&id) {
            Some(page) => {
                let expected =
                    if page.deleted_at.is_none() { FileState::Present } else { FileState::Trashed };
                assert_eq!(
                    (row.target_state, &row.path, row.seq),
                    (expected, &page.source_path, page.seq)
                );
            }
            None => assert!(matches!(row.target_state, FileState::Purged | FileState::TrashPurged)),
        }
    }
    for ((_, path), file) in pairs::<FileRecord>(txn, t::FILES) {
        assert!(is_registered);
        assert_eq!(paths.get(&path).copied(), file.page, "{path}");
        assert!(file.seq <= by_id[&file.page.unwrap()].seq);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn tables_agree_about_files(steps in proptest::collection::vec(step(), 1..30)) {
        let dir = tempfile::tempdir().unwrap();
        let file_path = dir.path().join("brain.redb");
        let options = StoreOptions { now: 0, ..super::tests::options() };
        let store = Store::open(&file_path, &options, Box::new(|_| {})).unwrap();
        let of = SourceId::parse("s").unwrap();
        let mut is_registered = true;
        for (now, step) in (1..).zip(steps) {
            let (source, step_to_apply) = (of.clone(), step.clone());
            store
                .write(move |transaction| {
                    // A source is registered before its first page, as `sources add` does.
                    if transaction.source(&source)?.is_none()
                        && !matches!(step_to_apply, Step::Purge | Step::RemoveSource)
                    {
                        let record = SourceRecord::new(Some("/notes".into()), now);
                        transaction.put_source(&source, &record)?;
                    }
                    apply(transaction, &source, &step_to_apply, now)
                })
                .unwrap();
            is_registered = match step {
                Step::RemoveSource => false,
                Step::Purge => is_registered,
                _ => true,
            };
        }
        drop(store);
        verify(&file_path, &|_, _| true).unwrap();
        check(&super::jobs_tests::open_file(&file_path).begin_read().unwrap(), is_registered);
    }
}
