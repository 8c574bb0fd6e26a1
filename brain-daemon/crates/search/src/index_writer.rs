//! Tantivy's index writer: how it is opened, fed and committed.

use tantivy::{Index as Tantivy, IndexWriter, TantivyDocument, indexer::IndexWriterOptions};

use super::{
    disk::CommitMetadata,
    document::PageTerms,
    merge_policy::ChangeRate,
    schema::{FORMAT, Fields},
};

/// Memory of tantivy's writer in bytes, released after every commit. With more memory, a bulk load
/// leaves fewer segments.
const ARENA_BYTES: usize = 32_000_000;

/// Commits `writer` with all changes up to `seq` of the store `store`.
pub(super) fn commit(
    writer: &mut IndexWriter,
    rate: ChangeRate,
    store: &str,
    seq: u64,
) -> tantivy::Result<()> {
    writer.set_merge_policy(rate.policy());
    let payload =
        serde_json::to_string(&CommitMetadata { store: store.to_owned(), seq, format: FORMAT })
            .map_err(|e| tantivy::TantivyError::InternalError(e.to_string()))?;
    let mut prepared = writer.prepare_commit()?;
    prepared.set_payload(&payload);
    prepared.commit()?;
    Ok(())
}

/// Opens a writer with one thread for indexing and one for merging.
pub(super) fn open_writer(tantivy: &Tantivy) -> tantivy::Result<IndexWriter> {
    let options = IndexWriterOptions::builder()
        .num_worker_threads(1)
        .memory_budget_per_thread(ARENA_BYTES)
        .num_merge_threads(1)
        .build();
    let writer: IndexWriter = tantivy.writer_with_options(options)?;
    writer.set_merge_policy(ChangeRate::Steady.policy());
    // Tantivy 0.27 gives a writer's first operation the number of the last commit. A concurrent
    // merge takes that operation for an old one, and a deleted page may stay. So the first
    // operation is empty.
    writer.run([])?;
    Ok(writer)
}

/// Converts a document to tantivy's.
pub(super) fn tantivy_document(document: &PageTerms, fields: Fields) -> TantivyDocument {
    let mut out = TantivyDocument::default();
    out.add_u64(fields.id, document.id);
    out.add_i64(fields.updated_at, document.updated_at);
    out.add_text(fields.body, &document.body.encoded);
    out.add_text(fields.title, &document.title.encoded);
    out.add_text(fields.words, &document.words);
    out.add_text(fields.names, &document.names);
    out.add_text(fields.keys, &document.keys);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tantivy::{
        Term,
        collector::Count,
        doc,
        indexer::NoMergePolicy,
        query::TermQuery,
        schema::{INDEXED, IndexRecordOption, Schema},
    };

    use super::*;

    /// After a kill: a segment with a deletion in its last commit, beside one without deletions.
    /// The first change after the start deletes a page while both are merged.
    #[test]
    fn the_first_deletion_of_a_writer_survives_a_merge() {
        let mut schema = Schema::builder();
        let id = schema.add_u64_field("id", INDEXED);
        let tantivy = Tantivy::create_in_ram(schema.build());
        let term = |number| Term::from_field_u64(id, number);
        let mut writer = open_writer(&tantivy).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let mut segment_of = |numbers: &[u64]| {
            numbers.iter().for_each(|number| _ = writer.add_document(doc!(id => *number)).unwrap());
            let before = tantivy.searchable_segment_ids().unwrap();
            writer.commit().unwrap();
            let after = tantivy.searchable_segment_ids().unwrap();
            after.into_iter().find(|id| !before.contains(id)).unwrap()
        };
        let (deleted_from, whole) = (segment_of(&[1, 2, 3]), segment_of(&[4, 5]));
        writer.delete_term(term(1));
        writer.commit().unwrap();
        drop(writer);

        let mut writer = open_writer(&tantivy).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        writer.delete_term(term(2));
        writer.merge(&[whole, deleted_from]).wait().unwrap();
        writer.commit().unwrap();

        let searcher = tantivy.reader().unwrap().searcher();
        let count = |number| {
            let query = TermQuery::new(term(number), IndexRecordOption::Basic);
            searcher.search(&query, &Count).unwrap()
        };
        assert_eq!([1, 2, 3, 4, 5].map(count), [0, 0, 1, 1, 1]);
    }
}
