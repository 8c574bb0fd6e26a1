//! The best documents of a segment are those that scoring all documents finds.

use std::sync::Arc;

use super::*;
use crate::{
    best_docs::{Filter, collect},
    bm25::Stats,
    disk_search::DiskSearch,
    doc_bit_set::DocBitSet,
    plan::Plan,
    terms::Segment,
    tests::{open, page, put, question},
    top_docs::TopDocs,
    view::View,
};

/// Number of pages: many windows.
const PAGES: u64 = 4000;

/// Returns page `id`: its words have numbers with few or many divisors, so they are rare or common.
fn numbered(id: u64) -> IndexPage {
    let words = [3, 4, 5, 7, 11, 40, 101, 333].iter().filter(|n| id.is_multiple_of(**n));
    let words: Vec<String> = words.map(|n| format!("word{n} ").repeat((id % 4) as usize)).collect();
    let filler = "filler ".repeat((id % 23) as usize);
    let title =
        if id.is_multiple_of(50) { format!("Word{} note", id % 8) } else { format!("Note {id}") };
    let mut page = page(id, id, &title, &format!("{} {filler}", words.join(" ")));
    page.tags = id.is_multiple_of(9).then(|| "word5".to_owned()).into_iter().collect();
    page
}

/// Returns the scores of the best `count` documents with one of `docs`, best first.
fn best_scores(
    view: &View,
    fields: crate::schema::Fields,
    (plan, stats): (&Plan, &Stats),
    docs: Option<&Arc<DocBitSet>>,
    count: usize,
) -> Vec<f64> {
    let mut best = TopDocs::new(count);
    for (number, reader) in view.searcher.segment_readers().iter().enumerate() {
        let segment = Segment::open(reader, fields, plan).unwrap();
        let mut admits = |doc| doc % 13 != 0;
        let filter = Filter { docs: docs.cloned(), admits: &mut admits };
        collect((number, &segment), fields, plan, stats, filter, &mut best).unwrap();
    }
    let mut scores: Vec<f64> = best.scores().collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    scores
}

#[test]
fn pruning_finds_the_best_documents() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push((1..=PAGES).map(|id| put(numbered(id))).collect());
    index.flush().unwrap();
    let fields = index.fields();
    let mut few = DocBitSet::empty(PAGES as u32);
    (0..PAGES as u32).step_by(97).for_each(|doc| few.insert(doc));
    let mut many = DocBitSet::full(PAGES as u32);
    (0..PAGES as u32).step_by(5).for_each(|doc| many.remove(doc));
    let (few, many) = (Arc::new(few), Arc::new(many));
    for text in [
        "word333",
        "word3 word101",
        "word5 word7 word333",
        "word3 word4 word5 word7 word11 word40 word101 word333 filler",
        "word1* word40",
        "filler note",
    ] {
        index
            .with_view(None, |view, _, languages, analyzer| {
                let plan = Plan::new(&question(text), languages, analyzer);
                let search = DiskSearch::new(&view.searcher, fields, &plan, &view.overlay)?;
                let stats = search.stats();
                for docs in [None, Some(&few), Some(&many)] {
                    let best = |count| best_scores(view, fields, (&plan, &stats), docs, count);
                    let all = best(PAGES as usize);
                    assert!(docs.is_some() || !all.is_empty(), "{text}");
                    for count in [1, 10, 100] {
                        assert_eq!(best(count), all[..count.min(all.len())], "{text}");
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}
