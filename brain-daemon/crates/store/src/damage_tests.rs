//! A damaged store reports damage with the file's name, wherever the damage is.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use brain_base::caller::Visibility;
use brain_protocol::{Fault, FaultCode, Slug, SourceId};

use super::tests::{open, options, page, slug};
use super::*;

/// Size of a redb page in bytes.
const BLOCK: usize = 4096;
const PAGES: usize = 300;

#[test]
#[allow(clippy::too_many_lines)]
fn a_damaged_block_is_reported_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    let all: Vec<_> = (0..PAGES)
        .map(|n| {
            (
                slug(&format!("area/note-{n}")),
                page(&format!("words of {n} ").repeat(40), &["tag"], None),
            )
        })
        .collect();
    let write = move |transaction: &mut Transaction<'_>| {
        all.iter().try_for_each(|(slug, new)| {
            transaction.write_page(&SourceId::default(), slug, new, 1).map(drop)
        })
    };
    store.write(write).unwrap();
    drop(store);
    let good = fs::read(&path).unwrap();
    let (mut open_failures, mut read_failures, mut partly_readable) = (0, 0, 0);
    let check_message = |error: StoreError, block| {
        assert!(error.is_damage(), "block {block}: {error:?}");
        let message = error.to_string();
        // The message names the file, or the page in it.
        assert!(
            message.contains("bad.redb") || message.contains("is damaged in the store"),
            "block {block}: {message}"
        );
    };
    for block in 1..good.len() / BLOCK {
        // Each block has a separate file: a child process of another test may still hold the lock
        // of the previous file.
        let copy_store = |name: &str| {
            let bad = dir.path().join(format!("{name}-{block}-bad.redb"));
            fs::write(&bad, &good).unwrap();
            bad
        };
        let damage = |bad: &Path| {
            let file = fs::File::options().write(true).open(bad).unwrap();
            file.write_all_at(&[0xA5; BLOCK], (block * BLOCK) as u64).unwrap();
        };
        let bad = copy_store("before");
        damage(&bad);
        if let Err(error) = Store::open(&bad, &options(), Box::new(|_| {})) {
            open_failures += 1;
            check_message(error, block);
        }
        fs::remove_file(bad).unwrap();
        // A debug build of redb checks every block when it opens the file. So the damage follows
        // the opening, and there is no cache that would hide it.
        let bad = copy_store("after");
        let uncached = StoreOptions { cache_bytes: 0, ..options() };
        let store = Store::open(&bad, &uncached, Box::new(|_| {})).unwrap();
        damage(&bad);
        let mut read = 0;
        let outcome = store.read_through(|reader| {
            reader.newest_pages(u64::MAX, |(_, _, record)| {
                read += usize::from(reader.content(&record)?.body.starts_with("words of "));
                Ok(true)
            })
        });
        match outcome {
            Ok(()) => assert_eq!(read, PAGES, "block {block}"),
            Err(error) => {
                read_failures += 1;
                check_message(error, block);
                let first = store.read_through(|reader| {
                    Ok(reader
                        .page_even_deleted(&SourceId::default(), &slug("area/note-0"))?
                        .is_some())
                });
                partly_readable += usize::from(first.is_ok_and(|is_found| is_found));
                let copy = dir.path().join("copy.redb");
                check_message(store.back_up(&copy, 1, &|_, _| true).unwrap_err(), block);
                assert!(!copy.exists());
            }
        }
        drop(store);
        fs::remove_file(bad).unwrap();
    }
    assert!(
        open_failures > 0 && read_failures > 20 && partly_readable > 20,
        "{open_failures} cannot be opened, {read_failures} not read, {partly_readable} partly read"
    );
}

#[test]
fn lists_leave_out_a_damaged_record_and_name_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    let all: Vec<_> = (0..5)
        .map(|n| (slug(&format!("note-{n}")), page(&format!("text {n}"), &[], None)))
        .collect();
    let write = move |transaction: &mut Transaction<'_>| {
        all.iter().try_for_each(|(slug, new)| {
            transaction.write_page(&SourceId::default(), slug, new, 1).map(drop)
        })
    };
    store.write(write).unwrap();
    drop(store);
    let uncached = StoreOptions { cache_bytes: 0, ..options() };
    let store = Store::open(&path, &uncached, Box::new(|_| {})).unwrap();
    // The record has the path of the file. Other tables have it, too, but lists do not read them.
    let good = fs::read(&path).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let text = b"note-2.md";
    for at in (0..good.len() - text.len()).filter(|at| good[*at..].starts_with(text)) {
        file.write_all_at(b"N", at as u64).unwrap();
    }
    let reader = store.read(Visibility::All).unwrap();
    let failed = reader.pages_in_order(("", ""), |_| Ok(true)).unwrap_err();
    assert!(matches!(failed, StoreError::DamagedPage(_)), "{failed}");
    let reader = reader.leaving_out_damage();
    let (mut by_slug, mut by_date) = (Vec::new(), Vec::new());
    let mut add_by_slug = |(_, slug, _): PageEntry| {
        by_slug.push(slug.to_string());
        Ok(true)
    };
    reader.pages_in_order(("", ""), &mut add_by_slug).unwrap();
    let mut add_by_date = |(_, slug, _): PageEntry| {
        by_date.push(slug.to_string());
        Ok(true)
    };
    reader.latest(None, LATEST, &mut add_by_date).unwrap();
    by_date.sort();
    assert_eq!(by_slug, ["note-0", "note-1", "note-3", "note-4"]);
    assert_eq!(by_date, by_slug);
    let left_out = reader.damaged_pages();
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(left_out[0].message.contains("page \"note-2\" is damaged"), "{left_out:?}");
    assert!(left_out[0].hint.as_ref().unwrap().to_string().contains("brain "), "{left_out:?}");
}

/// Returns a generator of random numbers, the same in each run.
fn random_numbers(mut state: u64) -> impl FnMut() -> usize {
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 1).unwrap()
    }
}

/// All data of a page that a reader returns.
#[derive(Debug, PartialEq)]
struct PageData {
    record: PageRecord,
    content: Content,
    derived: DerivedRows,
    versions: Vec<VersionRecord>,
}

fn read_page(reader: &Reader, name: &Slug) -> Result<Option<PageData>, StoreError> {
    let Some(record) = reader.page(&SourceId::default(), name)? else { return Ok(None) };
    let mut versions = Vec::new();
    for former in reader.versions(record.id)? {
        versions.extend(reader.version(record.id, former.version)?);
    }
    Ok(Some(PageData {
        content: reader.content(&record)?,
        derived: reader.derived(record.id)?,
        versions,
        record,
    }))
}

#[test]
#[allow(clippy::too_many_lines)]
fn damaged_text_is_reported_and_never_returned() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let names: Vec<_> = (0..40).map(|n| slug(&format!("area/note-{n}"))).collect();
    let store = open(&path);
    for round in 0..2 {
        let all = names.clone();
        store
            .write(move |transaction| {
                for (n, name) in all.iter().enumerate() {
                    let mut new =
                        page(&format!("the words of {n} in {round} ").repeat(60), &["tag"], None);
                    new.content.frontmatter =
                        format!("note: frontmatter of {n} in {round}\n").repeat(10).into();
                    new.derived.timeline = vec![brain_page::TimelineEntry {
                        date: "2026-11-23".into(),
                        text: format!("the event of {n} in {round}"),
                        source: None,
                    }];
                    transaction.write_page(&SourceId::default(), name, &new, round)?;
                }
                Ok(())
            })
            .unwrap();
    }
    let whole: Vec<_> = {
        let reader = store.read(Visibility::All).unwrap();
        names.iter().map(|name| read_page(&reader, name).unwrap().unwrap()).collect()
    };
    drop(store);
    let good = fs::read(&path).unwrap();
    // Offsets near words of texts, frontmatter, versions, titles and dated lines.
    let word_offsets: Vec<usize> = (0..good.len())
        .filter(|at| {
            let from = at.saturating_sub(16);
            good[from..good.len().min(at + 16)].windows(4).any(|four| four == b" of ")
        })
        .collect();
    let uncached = StoreOptions { cache_bytes: 0, ..options() };
    let store = Store::open(&path, &uncached, Box::new(|_| {})).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let (mut random, mut reported) = (random_numbers(21), 0);
    for _ in 0..100 {
        let at = word_offsets[random() % word_offsets.len()];
        let flipped = good[at] ^ (1 << (random() % 8));
        file.write_all_at(&[flipped], at as u64).unwrap();
        let reader = store.read(Visibility::All).unwrap();
        let mut damaged = 0;
        for (name, whole) in names.iter().zip(&whole) {
            match read_page(&reader, name) {
                Ok(Some(data)) => assert_eq!(data, *whole, "byte {at}"),
                Ok(None) => panic!("byte {at}: page {name} is missing"),
                Err(error) => {
                    damaged += 1;
                    assert!(
                        error.is_damage() && error.to_string().contains(name.as_str()),
                        "{error}"
                    );
                }
            }
        }
        reported += usize::from(damaged > 0);
        let changes = reader.changes_after(0, 100).unwrap();
        assert_eq!(changes.len(), names.len());
        for page in changes.into_iter().filter_map(|change| change.page) {
            let whole = whole.iter().find(|whole| whole.record.id == page.record.id).unwrap();
            assert_eq!((&page.record, &page.content), (&whole.record, &whole.content), "byte {at}");
        }
        drop(reader);
        file.write_all_at(&good[at..=at], at as u64).unwrap();
    }
    // Some of the words are in unused blocks.
    assert!(reported > 50, "{reported} of 100 damaged bytes were reported");
}

#[test]
fn a_damaged_page_names_its_backup_and_a_put_repairs_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let uncached = StoreOptions { cache_bytes: 0, ..options() };
    let store = Store::open(&path, &uncached, Box::new(|_| {})).unwrap();
    let backups = dir.path().join("backups");
    fs::create_dir(&backups).unwrap();
    store.set_backup_dir(backups.clone());
    let name = slug("area/note");
    let put = |body: &str| {
        let (name, new) =
            (name.clone(), NewPage { title: Some("Note".into()), ..page(body, &[], None) });
        store
            .write(move |transaction| transaction.write_page(&SourceId::default(), &name, &new, 1))
            .unwrap()
    };
    put("the first words\n");
    store.back_up(&backups.join("one.redb"), 86_400_000, &|_, _| true).unwrap();
    store.back_up(&backups.join("two.redb"), 2 * 86_400_000, &|_, _| true).unwrap();
    fs::write(backups.join("torn.redb"), b"no backup").unwrap();
    let record = put("the present words\n").record;
    let good = fs::read(&path).unwrap();
    let text = b"the present words\n";
    let file = fs::File::options().write(true).open(&path).unwrap();
    for at in (0..good.len() - text.len()).filter(|at| good[*at..].starts_with(text)) {
        file.write_all_at(b"T", at as u64).unwrap();
    }
    let read = |view| store.read(view).unwrap().content(&record).map_err(Fault::from).unwrap_err();
    let fault = read(Visibility::All);
    assert_eq!(fault.code, FaultCode::StoreDamaged);
    for part in ["\"area/note\"", "two.redb", "1970-01-03"] {
        assert!(fault.message.contains(part), "{fault}");
    }
    assert!(fault.hint.unwrap().to_string().contains("brain put area/note"));
    let limited_fault = read(Visibility::Only(vec![SourceId::default()]));
    assert!(
        !limited_fault.message.contains("two.redb"),
        "only callers who see everything get local paths: {limited_fault}"
    );
    let again = put("the present words\n").record;
    assert_eq!(
        store.read(Visibility::All).unwrap().content(&again).unwrap().body,
        "the present words\n"
    );
    let former = store.read(Visibility::All).unwrap().versions(record.id).unwrap();
    assert_eq!(
        former.iter().map(|row| row.version).collect::<Vec<_>>(),
        [1],
        "no damaged version is kept"
    );
}
