//! A store whose file is damaged inside says so with its name, wherever it is damaged; whoever reads is not blamed.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use brain_protocol::SourceId;

use super::tests::{open, options, page, slug};
use super::*;

/// What redb calls a page, in bytes.
const BLOCK: usize = 4096;
const PAGES: usize = 300;

#[test]
fn a_damaged_block_is_told_as_damage_to_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    let all: Vec<_> = (0..PAGES)
        .map(|n| {
            (slug(&format!("area/note-{n}")), page(&format!("words of {n} ").repeat(40), &["tag"], None))
        })
        .collect();
    let write = move |draft: &mut Draft<'_>| {
        all.iter().try_for_each(|(slug, new)| {
            draft.write_page(&SourceId::default(), slug, new.clone(), 1).map(drop)
        })
    };
    store.write(write).unwrap();
    drop(store);
    let good = fs::read(&path).unwrap();
    let (mut not_opened, mut not_read, mut read_on) = (0, 0, 0);
    let named = |error: StoreError, block| match error {
        StoreError::Damaged(what) => assert!(what.contains("bad.redb"), "block {block}: {what}"),
        other => panic!("block {block}: {other:?}"),
    };
    for block in 1..good.len() / BLOCK {
        // A file of its own for each: a program that another test starts may still hold the lock of the last one.
        let fresh = |name: &str| {
            let bad = dir.path().join(format!("{name}-{block}-bad.redb"));
            fs::write(&bad, &good).unwrap();
            bad
        };
        let damage = |bad: &Path| {
            let file = fs::File::options().write(true).open(bad).unwrap();
            file.write_all_at(&[0xA5; BLOCK], (block * BLOCK) as u64).unwrap();
        };
        let bad = fresh("before");
        damage(&bad);
        if let Err(error) = Store::open(&bad, &options(), Box::new(|_| {})) {
            not_opened += 1;
            named(error, block);
        }
        fs::remove_file(bad).unwrap();
        // Built for debugging redb looks at every block when it opens the file, so that the damage has to come after that; and no
        // cache may hide it.
        let bad = fresh("after");
        let uncached = StoreOptions { cache_bytes: 0, ..options() };
        let store = Store::open(&bad, &uncached, Box::new(|_| {})).unwrap();
        damage(&bad);
        let mut read = 0;
        let looked = store.read_through(|reader| {
            reader.newest(u64::MAX, |(_, _, record)| {
                read += usize::from(reader.content(record.id)?.body.starts_with("words of "));
                Ok(true)
            })
        });
        match looked {
            Ok(()) => assert_eq!(read, PAGES, "block {block}"),
            Err(error) => {
                not_read += 1;
                named(error, block);
                let first = store.read_through(|reader| {
                    Ok(reader.page_even_deleted(&SourceId::default(), &slug("area/note-0"))?.is_some())
                });
                read_on += usize::from(first.is_ok_and(|there| there));
                let copy = dir.path().join("copy.redb");
                named(store.back_up(&copy, 1, &|_, _| true).unwrap_err(), block);
                assert!(!copy.exists());
            }
        }
        drop(store);
        fs::remove_file(bad).unwrap();
    }
    assert!(not_opened > 0 && not_read > 20 && read_on > 20, "{not_opened}, {not_read}, {read_on}");
}
