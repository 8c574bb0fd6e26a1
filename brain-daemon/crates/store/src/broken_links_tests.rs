//! Stored counts of broken links agree with counts from reading every page.

use brain_base::caller::Visibility;
use brain_protocol::{Slug, SourceId};
use proptest::prelude::*;
use redb::ReadableTable;

use super::migrate_tests::golden;
use super::tests::{open, page, slug};
use super::*;
use crate::tables as t;
use brain_page::normalize_name;

const SOURCES: [&str; 3] = ["default", "s", "t"];
const SLUGS: [&str; 8] = ["a", "p/a", "b", "q/b", "whats-up", "q/c", "x/q/b", "y/p/a"];
const NAMES: [&str; 5] = ["a", "b", "c", "/a", "t:a"];

#[derive(Debug, Clone)]
enum Step {
    /// Writes a page: source, slug, alias (each an index), and a bit for each link.
    Put(u8, u8, u8, u16),
    /// Source and slug.
    Delete(u8, u8),
    /// Source and slug.
    Restore(u8, u8),
    /// Gives a page another slug and other links: source, former slug, new slug.
    Rename(u8, u8, u8),
    Purge,
    RemoveSource,
}

/// The steps of one transaction, and the number of pages in each round of a link check after it. No
/// check follows if it is `None`.
type Steps = (Vec<Step>, Option<usize>);

fn step() -> impl Strategy<Value = Step> {
    let of = || 0..SOURCES.len() as u8;
    let p = || 0..SLUGS.len() as u8;
    let alias = || 0..=NAMES.len() as u8;
    prop_oneof![
        8 => (of(), p(), alias(), any::<u16>()).prop_map(|(of, p, a, l)| Step::Put(of, p, a, l)),
        3 => (of(), p()).prop_map(|(of, p)| Step::Delete(of, p)),
        2 => (of(), p()).prop_map(|(of, p)| Step::Restore(of, p)),
        3 => (of(), p(), p()).prop_map(|(of, p, q)| Step::Rename(of, p, q)),
        1 => Just(Step::Purge),
        1 => Just(Step::RemoveSource),
    ]
}

fn steps() -> impl Strategy<Value = Steps> {
    (proptest::collection::vec(step(), 1..5), proptest::option::of(1..4_usize))
}

fn source(of: u8) -> SourceId {
    SourceId::parse(SOURCES[usize::from(of)]).unwrap()
}

/// Returns the links whose bits are set; together, they have every form that a text can contain.
fn links(link_bits: u16) -> Vec<LinkRecord> {
    let link = |source: Option<&str>, slugs: &[&str], name: Option<&str>, raw: &str| LinkRecord {
        source: source.map(Into::into),
        slugs: slugs.iter().map(|&slug| slug.into()).collect(),
        name: name.map(Into::into),
        kind: "mentions".into(),
        raw: raw.into(),
    };
    let all = [
        link(None, &["a"], Some("a"), "A"),
        link(None, &["p/a"], None, "p/a"),
        link(None, &["b", "q/b"], None, "b"),
        link(None, &["b"], Some("b"), "B"),
        link(None, &[], Some("c"), "C"),
        link(Some("t"), &["a"], Some("t:a"), "t:a"),
        link(Some("s"), &["q/b"], Some("s:q/b"), "s:q/b"),
        link(Some("default"), &["b"], Some("default:b"), "default:b"),
        link(Some("gone"), &["a"], Some("gone:a"), "gone:a"),
        link(None, &[], Some("what's up?"), "What's up?"),
        link(None, &["files/data.csv"], None, "files/data.csv"),
        link(None, &["a"], Some("/a"), "/a"),
    ];
    all.into_iter()
        .enumerate()
        .filter(|(bit, _)| link_bits >> bit & 1 == 1)
        .map(|(_, link)| link)
        .collect()
}

fn names(slug: &Slug, alias: u8) -> Vec<String> {
    let mut names = vec![normalize_name(slug.name())];
    names.extend(NAMES.get(usize::from(alias)).map(|&alias| alias.into()));
    names.sort();
    names.dedup();
    names
}

/// Applies the step if it is possible in the current state.
fn apply(transaction: &mut Transaction<'_>, step: &Step, now: i64) -> Result<(), StoreError> {
    let named = |p: u8| slug(SLUGS[usize::from(p)]);
    let found =
        |transaction: &Transaction<'_>, of: u8, p: u8, active: bool| -> Result<_, StoreError> {
            Ok(transaction
                .page(&source(of), &named(p))?
                .filter(|page| page.deleted_at.is_none() == active))
        };
    // A source is registered before its first page, as `sources add` does.
    if let Step::Put(of, ..) | Step::Restore(of, _) = *step
        && transaction.source(&source(of))?.is_none()
    {
        transaction.put_source(&source(of), &SourceRecord::new(Some("/notes".into()), now))?;
    }
    match *step {
        Step::Put(of, p, alias, link_bits) => {
            let names = names(&named(p), alias);
            let mut new = page("text", &[], None);
            new.derived = DerivedRows { links: links(link_bits), names, ..DerivedRows::default() };
            transaction.write_page(&source(of), &named(p), &new, now)?;
        }
        Step::Delete(of, p) => {
            if let Some(record) = found(transaction, of, p, true)? {
                transaction.soft_delete(&source(of), &named(p), record, now)?;
            }
        }
        Step::Restore(of, p) => {
            if let Some(record) = found(transaction, of, p, false)? {
                transaction.restore(&source(of), &named(p), record)?;
            }
        }
        Step::Rename(of, p, q) => {
            let path = format!("{}.md", named(q));
            let source = source(of);
            let is_free = transaction.page(&source, &named(q))?.is_none()
                && transaction.page_at(&source, &path)?.is_none();
            if let Some(record) = found(transaction, of, p, true)?.filter(|_| is_free) {
                let derived = (names(&named(q), p), links(u16::from(q) * 731));
                let (to, dates) = (named(q), (record.created_at, record.updated_at));
                transaction.rename_page(
                    &source,
                    &named(p),
                    record,
                    (&to, &path),
                    derived,
                    dates,
                )?;
            }
        }
        Step::Purge => _ = transaction.purge(now + RECOVERY_MS, 100)?,
        Step::RemoveSource => {
            for (slug, record) in transaction.active_pages(&source(2), "", 100)? {
                transaction.soft_delete(&source(2), &slug, record, now)?;
            }
            transaction.remove_source(&source(2))?;
        }
    }
    Ok(())
}

/// Checks that every caller gets the same broken links as from reading every page.
fn check_answers(store: &Store) {
    let only = |of: &[u8]| Visibility::Only(of.iter().map(|&of| source(of)).collect());
    for view in
        [Visibility::All, only(&[0]), only(&[1]), only(&[2, 0]), only(&[0, 1, 2]), only(&[])]
    {
        let reader = store.read(view.clone()).unwrap();
        for named in [None, Some(source(0)), Some(source(2))] {
            for limit in [0, 1, 2, 5, 1000] {
                let expected = reader.broken_links_of_every_page(named.as_ref(), limit).unwrap();
                let found = reader.broken_links(named.as_ref(), limit).unwrap();
                assert_eq!(found, Some(expected), "{view:?} asks {named:?} for {limit}");
            }
        }
    }
}

/// Returns the sums of the pages' counts, the stored sums, and the number of unchecked changes. The
/// sums are those of missing, ambiguous and abroad links.
fn read_sums(path: &std::path::Path) -> ([u64; 3], [u64; 3], usize) {
    let db = super::jobs_tests::open_file(path);
    let txn = redb::ReadableDatabase::begin_read(&db).unwrap();
    let (mut counts, mut sums) = ([0; 3], [0; 3]);
    for row in txn.open_table(t::BROKEN).unwrap().iter().unwrap() {
        let (missing, ambiguous, abroad) = row.unwrap().1.value();
        assert_ne!(
            (missing, ambiguous, abroad),
            (0, 0, 0),
            "a page without broken links has no row"
        );
        for (sum, more) in counts.iter_mut().zip([missing, ambiguous, abroad]) {
            *sum += u64::from(more);
        }
    }
    for row in txn.open_table(t::BROKEN_SUMS).unwrap().iter().unwrap() {
        let (key, sum) = row.unwrap();
        let at = ["missing", "ambiguous", "abroad"]
            .iter()
            .position(|&name| name == key.value().1)
            .unwrap();
        sums[at] += sum.value();
    }
    (counts, sums, txn.open_table(t::UNCHECKED).unwrap().iter().unwrap().count())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn broken_links_agree_with_reading_every_page(
        all in proptest::collection::vec(steps(), 1..16),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("brain.redb");
        let store = open(&path);
        for (now, (steps, round)) in (1..).zip(all) {
            store
                .write(move |transaction| {
                    steps.iter().try_for_each(|step| apply(transaction, step, now))
                })
                .unwrap();
            check_answers(&store);
            if let Some(round) = round {
                store.check_links_in_rounds(round, &|| true).unwrap();
                check_answers(&store);
            }
        }
        store.check_links(&|| true).unwrap();
        check_answers(&store);
        drop(store);
        let (counts, sums, unchecked) = read_sums(&path);
        prop_assert_eq!(counts, sums);
        prop_assert_eq!(unchecked, 0);
    }
}

/// Writes the pages `p/N` for `from..to`, each with links to the pages `other/N` and `hub`.
fn write_pages(store: &Store, from: u32, to: u32) {
    store
        .write(move |transaction| {
            for n in from..to {
                let mut new = page("text", &[], Some("hub"));
                let more = page("", &[], Some(&format!("other/{n}")));
                new.derived.links.extend(more.derived.links);
                transaction.write_page(&SourceId::default(), &slug(&format!("p/{n}")), &new, 1)?;
            }
            Ok(())
        })
        .unwrap();
}

/// Returns the number of links without a page; `None` if a check must come first.
fn count_missing(store: &Store) -> Option<u64> {
    let reader = store.read(Visibility::All).unwrap();
    reader.broken_links(None, 10).unwrap().map(|broken| broken.missing)
}

#[test]
fn many_changes_need_a_check_before_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    write_pages(&store, 0, 1000);
    assert_eq!(count_missing(&store), None, "the links of an import are unchecked");
    store.check_links_in_rounds(300, &|| true).unwrap();
    assert_eq!(count_missing(&store), Some(2000));
    // A few changes need no check. A change of a page with many backlinks does, as `hub` below.
    store
        .write(|transaction| {
            let source = SourceId::default();
            transaction.write_page(&source, &slug("other/7"), &page("x", &[], None), 2)?;
            let record = transaction.page(&source, &slug("p/500"))?.unwrap();
            transaction.soft_delete(&source, &slug("p/500"), record, 2)
        })
        .unwrap();
    assert_eq!(count_missing(&store), Some(1997));
    let set_hub = |store: &Store, should_exist: bool| {
        store
            .write(move |transaction| {
                let (source, hub) = (SourceId::default(), slug("hub"));
                match transaction.page(&source, &hub)? {
                    Some(record) if !should_exist => {
                        transaction.soft_delete(&source, &hub, record, 3).map(drop)
                    }
                    _ => {
                        transaction.write_page(&source, &hub, &page("hub", &[], None), 3).map(drop)
                    }
                }
            })
            .unwrap();
    };
    set_hub(&store, true);
    assert_eq!(count_missing(&store), None);
    store.check_links(&|| true).unwrap();
    assert_eq!(count_missing(&store), Some(998));
    // A change of the text keeps the names of the page, so linking pages need no check.
    set_hub(&store, true);
    assert_eq!(count_missing(&store), Some(998));
    set_hub(&store, false);
    store.check_links(&|| true).unwrap();
    assert_eq!(count_missing(&store), Some(1997));
    write_pages(&store, 1000, 1500);
    store.check_links_in_rounds(200, &|| true).unwrap();
    assert_eq!(count_missing(&store), Some(2997));
    check_answers(&store);
    drop(store);
    assert_eq!(read_sums(&path), ([2997, 0, 0], [2997, 0, 0], 0));
}

#[test]
fn a_page_that_changes_during_a_check_is_checked_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    write_pages(&store, 0, 3000);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for n in 0..60 {
                store
                    .write(move |transaction| {
                        let (source, name) = (SourceId::default(), slug(&format!("p/{}", n * 50)));
                        let other = slug(&format!("other/{}", n * 50 + 1));
                        transaction.write_page(&source, &other, &page("x", &[], None), 2)?;
                        match (n % 3, transaction.page(&source, &name)?) {
                            (0, Some(record)) => {
                                transaction.soft_delete(&source, &name, record, 2).map(drop)
                            }
                            (1, _) => transaction
                                .write_page(&source, &name, &page("x", &[], None), 2)
                                .map(drop),
                            _ => Ok(()),
                        }
                    })
                    .unwrap();
            }
        });
        while !writing.is_finished() {
            store.check_links_in_rounds(400, &|| true).unwrap();
        }
        writing.join().unwrap();
    });
    store.check_links(&|| true).unwrap();
    check_answers(&store);
}

/// A list of broken links reads only the pages that contain them.
#[test]
fn damage_to_a_page_without_broken_links_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    let put = |name: &str, link: &str| {
        let (name, new) = (slug(name), page("text", &[], Some(link)));
        store
            .write(move |transaction| transaction.write_page(&SourceId::default(), &name, &new, 1))
            .unwrap()
    };
    put("a", "b");
    let id = put("b", "a").record.id;
    put("c", "nowhere");
    store.check_links(&|| true).unwrap();
    drop(store);
    let db = super::jobs_tests::open_file(&path);
    let txn = db.begin_write().unwrap();
    txn.open_table(t::DERIVED).unwrap().insert(id, b"damage".as_slice()).unwrap();
    txn.commit().unwrap();
    drop(db);
    let store = open(&path);
    let reader = store.read(Visibility::All).unwrap();
    assert!(reader.broken_links_of_every_page(None, 10).is_err());
    let broken = reader.broken_links(None, 10).unwrap().unwrap();
    assert_eq!((broken.missing, broken.links[0].slug.as_str()), (1, "c"));
}

#[test]
fn older_stores_answer_before_and_after_a_check() {
    for schema in 80..SCHEMA {
        let dir = tempfile::tempdir().unwrap();
        let path = golden(schema, dir.path());
        let store = open(&path);
        check_answers(&store);
        store.check_links(&|| true).unwrap();
        check_answers(&store);
        drop(store);
        let (counts, sums, unchecked) = read_sums(&path);
        assert_eq!((counts, unchecked), (sums, 0), "schema {schema}");
    }
}

#[test]
fn a_store_of_schema_85_without_the_tables_gets_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    write_pages(&store, 0, 3);
    drop(store);
    let db = super::jobs_tests::open_file(&path);
    let txn = db.begin_write().unwrap();
    txn.delete_table(t::BROKEN).unwrap();
    txn.delete_table(t::BROKEN_SUMS).unwrap();
    txn.delete_table(t::UNCHECKED).unwrap();
    txn.open_table(t::META).unwrap().insert(t::META_SCHEMA, 85).unwrap();
    txn.commit().unwrap();
    drop(db);
    let store = open(&path);
    assert_eq!(count_missing(&store), Some(6));
    store.back_up(&dir.path().join("copy.redb"), 5, &|_, _| true).unwrap();
}
