//! Minimum costs: the disk, a socket, redb and tantivy, each without brain.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use redb::{Database, TableDefinition};
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, Term, doc};

use super::notes::{Note, Notes};

const TABLE: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("notes");
const DUE: TableDefinition<'static, (u64, u64), ()> = TableDefinition::new("due");
const COUNTS: TableDefinition<'static, &str, u64> = TableDefinition::new("counts");

/// A file of 1 MiB on the measured disk. Measures the duration of flushed writes.
pub(crate) struct Disk(File);

impl Disk {
    pub(crate) fn new(dir: &Path) -> Self {
        let file = File::create(dir.join("fsync-baseline")).unwrap();
        file.write_all_at(&vec![0; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        Self(file)
    }

    /// Writes 4096 bytes at block `n` modulo 256 and flushes them. Returns the duration.
    pub(crate) fn sync(&self, n: usize) -> Duration {
        let block = [n as u8; 4096];
        let began = Instant::now();
        self.0.write_all_at(&block, (n as u64 % 256) * 4096).unwrap();
        self.0.sync_data().unwrap();
        began.elapsed()
    }
}

/// A connection to a thread that sends received bytes back.
pub(crate) struct Echo(UnixStream);

impl Echo {
    pub(crate) fn new() -> Self {
        let (near, mut far) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0_u8; 200];
            while far.read_exact(&mut buffer).and_then(|()| far.write_all(&buffer)).is_ok() {}
        });
        Self(near)
    }

    /// Sends 200 bytes and receives them. Returns the duration.
    pub(crate) fn round_trip(&mut self) -> Duration {
        let mut buffer = [7_u8; 200];
        let began = Instant::now();
        self.0.write_all(&buffer).unwrap();
        self.0.read_exact(&mut buffer).unwrap();
        began.elapsed()
    }
}

/// A redb database, with the cache size of this measurement.
pub(crate) struct Redb(Database);

impl Redb {
    pub(crate) fn new(dir: &Path, name: &str) -> Self {
        Self(Database::builder().set_cache_size(16_000_000).create(dir.join(name)).unwrap())
    }

    /// Commits keys with their values, as durably as brain does. Returns the duration.
    pub(crate) fn commit(&self, values: &[(u64, &[u8])]) -> Duration {
        let began = Instant::now();
        let mut txn = self.0.begin_write().unwrap();
        txn.set_quick_repair(true);
        {
            let mut table = txn.open_table(TABLE).unwrap();
            for (key, value) in values {
                table.insert(key, value).unwrap();
            }
        }
        txn.commit().unwrap();
        began.elapsed()
    }

    /// Commits the minimum data of a durable queue for the items `from..from + count`: the text of
    /// each item, its due time, and the number of items. Returns the duration.
    pub(crate) fn enqueue(&self, from: u64, count: u64, text: &[u8]) -> Duration {
        let began = Instant::now();
        let mut txn = self.0.begin_write().unwrap();
        txn.set_quick_repair(true);
        {
            let (mut items, mut due) =
                (txn.open_table(TABLE).unwrap(), txn.open_table(DUE).unwrap());
            for id in from..from + count {
                items.insert(id, text).unwrap();
                due.insert((id, id), ()).unwrap();
            }
            txn.open_table(COUNTS).unwrap().insert("waiting", from + count).unwrap();
        }
        txn.commit().unwrap();
        began.elapsed()
    }

    /// Stores the first `count` notes, 500 in each commit. Returns the duration of all commits.
    pub(crate) fn fill(&self, notes: &Notes, count: usize) -> Duration {
        let texts: Vec<Vec<u8>> =
            (0..count).map(|n| notes.note(n).content().into_bytes()).collect();
        let rows: Vec<(u64, &[u8])> = (0_u64..).zip(texts.iter().map(Vec::as_slice)).collect();
        rows.chunks(500).map(|rows| self.commit(rows)).sum()
    }
}

/// Opens a store and closes it. Returns the duration of opening.
pub(crate) fn reopen(store: &Path) -> Duration {
    let began = Instant::now();
    let db = Database::builder().set_cache_size(16_000_000).open(store).unwrap();
    let took = began.elapsed();
    drop(db);
    took
}

/// A tantivy index of titles and bodies.
pub(crate) struct Tantivy {
    fields: [Field; 3],
    writer: RefCell<IndexWriter>,
    reader: IndexReader,
    parser: QueryParser,
    /// Duration of indexing all notes, with the commit.
    pub(crate) built: Duration,
}

impl Tantivy {
    /// Indexes the first `count` notes in `dir`.
    pub(crate) fn new(dir: &Path, notes: &Notes, count: usize) -> Self {
        std::fs::create_dir_all(dir).unwrap();
        let mut schema = Schema::builder();
        let indexed = TextFieldIndexing::default()
            .set_tokenizer("default")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexed);
        let slug: Field = schema.add_text_field("slug", STRING | STORED);
        let title: Field = schema.add_text_field("title", text.clone());
        let body: Field = schema.add_text_field("body", text);
        let index = Index::create_in_dir(dir, schema.build()).unwrap();
        let mut built = Duration::ZERO;
        let mut writer = index.writer_with_num_threads::<TantivyDocument>(2, 100_000_000).unwrap();
        let fields = [slug, title, body];
        for part in 0..count.div_ceil(10_000) {
            // The time for generating notes does not count. With at most 10,000 notes, there is one
            // part, so no thread indexes in the meantime.
            let range = part * 10_000..((part + 1) * 10_000).min(count);
            let part_notes: Vec<_> = range.map(|n| notes.note(n)).collect();
            let began = Instant::now();
            for note in part_notes {
                writer.add_document(document(fields, &note)).unwrap();
            }
            built += began.elapsed();
        }
        let began = Instant::now();
        writer.commit().unwrap();
        built += began.elapsed();
        writer.wait_merging_threads().unwrap();
        let writer = RefCell::new(index.writer_with_num_threads(1, 50_000_000).unwrap());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().unwrap();
        let parser = QueryParser::for_index(&index, vec![title, body]);
        Self { fields, writer, reader, parser, built }
    }

    /// Replaces a note, commits and reloads the reader. Returns the duration.
    pub(crate) fn commit(&self, note: &Note) -> Duration {
        let mut writer = self.writer.borrow_mut();
        let began = Instant::now();
        writer.delete_term(Term::from_field_text(self.fields[0], note.slug()));
        writer.add_document(document(self.fields, note)).unwrap();
        writer.commit().unwrap();
        self.reader.reload().unwrap();
        began.elapsed()
    }

    /// Searches and reads up to 20 documents. Returns the duration.
    pub(crate) fn search(&self, question: &str) -> Duration {
        let began = Instant::now();
        let query = self.parser.parse_query(question).unwrap();
        let searcher = self.reader.searcher();
        let found = searcher.search(&query, &TopDocs::with_limit(20).order_by_score()).unwrap();
        for (_, document_address) in &found {
            searcher.doc::<TantivyDocument>(*document_address).unwrap();
        }
        began.elapsed()
    }
}

fn document([slug, title, body]: [Field; 3], note: &Note) -> TantivyDocument {
    doc!(slug => note.slug(), title => note.title.as_str(), body => note.body.as_str())
}
