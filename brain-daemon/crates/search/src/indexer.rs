//! The one thread that writes the index on disk: takes changes in their order, hands them to tantivy, commits when
//! enough has gathered, and tries again when the disk does not take it.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use tantivy::{
    Index as Tantivy, IndexReader, IndexWriter, TantivyDocument, Term,
    index::{SegmentId, SegmentMeta},
    indexer::{IndexWriterOptions, LogMergePolicy, MergeCandidate, MergePolicy},
};

use brain_base::threads::yield_to_callers;

use super::{
    disk::{Disk, Payload, guarded},
    document::{Analyzer, Document},
    index::{Op, Shared, languages},
    schema::{FORMAT, Fields},
};

/// So many changes are taken from the line at once, so that who waits for a shorter line sees it shrink.
const TAKE: usize = 256;
/// How long the indexer lets changes gather before it looks at them.
const GATHER: Duration = Duration::from_millis(20);
/// The longest pause between two tries to write.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// While changes pour in, so many segments may stand side by side before they are merged.
const MAX_UNMERGED: usize = 100;
/// An index that is opened with more segments than this is tidied when it is quiet.
const UNTIDY: usize = 8;
/// When it is quiet, a segment is merged with all smaller ones unless it is so many times as large as they are together.
const MUCH_LARGER: u64 = 4;
/// How long after a commit the indexer first looks whether segments were merged; each look doubles it.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// After a pause of this length there is no further look: nothing takes so long to merge.
const LAST_LOOK: Duration = Duration::from_secs(1024);
/// An arena, given back after every commit. The larger it is, the fewer segments a bulk load leaves to merge.
const ARENA_BYTES: usize = 32_000_000;

pub(super) struct Indexer {
    shared: Arc<Shared>,
    tantivy: Tantivy,
    reader: IndexReader,
    fields: Fields,
    store: String,
    writer: Option<IndexWriter>,
    analyzer: Analyzer,
    /// Taken, not committed; the first `fed` of them are with the writer.
    queue: VecDeque<Op>,
    fed: usize,
    /// Memory of the queue, about.
    bytes: usize,
    /// When the first of the queue came.
    since: Option<Instant>,
    /// No page on disk has a greater number: a new page need not be looked for.
    max_id: Option<u64>,
    pause: Duration,
    retry_at: Option<Instant>,
    /// After changes were let go of: what the index may claim to have.
    frozen: Option<u64>,
    /// Whether changes have poured in since it was last tidied.
    untidy: bool,
    /// When to look for merged segments, and the pause before that.
    look: Option<(Instant, Duration)>,
}

/// What the indexer does next.
enum Task {
    /// Hand over what was taken.
    Feed,
    /// That, and commit.
    Commit(Pace),
    /// Merge what was left while changes poured in.
    Tidy,
    /// Let searches see merged segments.
    Look,
}

/// How fast changes come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Faster than they are indexed: merging can wait, it costs as much as indexing.
    Pouring,
    /// Now and then.
    Steady,
    /// They came fast, and have stopped: now is the time to merge.
    Quiet,
}

impl Indexer {
    pub(super) fn new(shared: Arc<Shared>, disk: Disk, store: String) -> Self {
        let searcher = disk.reader.searcher();
        let segments = searcher.segment_readers();
        let ids =
            segments.iter().filter_map(|r| Some(r.fast_fields().u64("id").ok()?.max_value())).max();
        Self {
            analyzer: Analyzer::new(shared.default_language()),
            shared,
            tantivy: disk.tantivy,
            reader: disk.reader,
            fields: disk.fields,
            store,
            writer: None,
            queue: VecDeque::new(),
            fed: 0,
            bytes: 0,
            since: None,
            max_id: ids,
            pause: Duration::ZERO,
            retry_at: None,
            frozen: None,
            untidy: segments.len() > UNTIDY,
            look: None,
        }
    }

    /// Works until it is told to stop.
    pub(super) fn run(mut self) {
        // Its threads, and those of tantivy that it starts, step back behind whoever waits for an answer.
        yield_to_callers();
        while let Some(task) = self.take() {
            let result = guarded(|| match task {
                Task::Feed => self.feed(),
                Task::Commit(pace) => {
                    self.feed()?;
                    self.commit(pace)
                }
                Task::Tidy => {
                    // The index is whole without.
                    if let Err(problem) = guarded(|| self.tidy()) {
                        tracing::debug!(problem, "the index is not tidied");
                    }
                    Ok(())
                }
                Task::Look => {
                    self.look();
                    Ok(())
                }
            });
            if let Err(problem) = result {
                self.fail(problem);
            }
        }
        // The writer's threads end with it.
        drop(self.writer.take());
        self.shared.ended();
    }

    /// Waits for work and takes it. `None` at the end.
    fn take(&mut self) -> Option<Task> {
        let shared = Arc::clone(&self.shared);
        let options = &shared.options;
        let mut state = shared.state();
        let mut gathered = false;
        loop {
            if state.stop {
                return None;
            }
            let now = Instant::now();
            let flushing = state.flush > state.committed;
            let retrying = self.retry_at.is_some_and(|at| at > now) && !flushing;
            if !state.feed.is_empty() && (gathered || flushing || state.feed.len() >= TAKE) {
                let count = state.feed.len().min(TAKE);
                self.since.get_or_insert(now);
                let taken: Vec<Op> = state.feed.drain(..count).collect();
                let bulk = !state.feed.is_empty();
                drop(state);
                shared.got_on();
                self.bytes += taken.iter().map(Op::weight).sum::<usize>();
                self.queue.extend(taken);
                if retrying && self.bytes > options.overlay_bytes {
                    self.let_go();
                }
                let commit = bulk && self.queue.len() >= options.commit_changes_bulk && !retrying;
                return Some(if commit { Task::Commit(Pace::Pouring) } else { Task::Feed });
            }
            let mut due = None;
            let sooner =
                |due: &mut Option<Instant>, at: Instant| *due = Some(due.map_or(at, |d| d.min(at)));
            if !state.feed.is_empty() {
                sooner(&mut due, now + GATHER);
                gathered = true;
            } else if self.queue.is_empty() {
                if flushing {
                    // Everything pushed is on disk, or has been let go of.
                    state.flush = 0;
                    shared.got_on();
                }
                if let Some((at, _)) = self.look {
                    if at <= now {
                        return Some(Task::Look);
                    }
                    sooner(&mut due, at);
                }
                if self.untidy {
                    let at = state.last_push + options.commit_when_idle;
                    if at <= now {
                        return Some(Task::Tidy);
                    }
                    sooner(&mut due, at);
                }
            } else {
                let idle = now.saturating_duration_since(state.last_push);
                let oldest =
                    self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
                let enough = self.queue.len() >= options.commit_changes && idle >= GATHER * 10
                    || self.queue.len() >= options.commit_changes_bulk;
                if flushing
                    || (!retrying
                        && (enough
                            || oldest >= options.commit_after
                            || idle >= options.commit_when_idle))
                {
                    let quiet = idle >= options.commit_when_idle;
                    // What poured in is merged by `Task::Tidy`, which comes next when it is quiet, and not beside it.
                    let pouring = if quiet {
                        self.untidy
                    } else {
                        self.queue.len() >= options.commit_changes
                    };
                    let pace = if pouring && !flushing { Pace::Pouring } else { Pace::Steady };
                    return Some(Task::Commit(pace));
                }
                sooner(&mut due, now + (GATHER * 10).min(options.commit_when_idle));
            }
            if let (true, Some(at)) = (retrying, self.retry_at) {
                due = Some(at.min(now + Duration::from_millis(500)));
            }
            state = shared.wait(state, due);
        }
    }

    /// Hands to the writer what it does not have yet.
    fn feed(&mut self) -> Result<(), String> {
        if self.retry_at.is_some_and(|at| at > Instant::now()) && self.shared.state().flush == 0 {
            return Ok(());
        }
        if self.fed == self.queue.len() {
            return Ok(());
        }
        if self.writer.is_none() {
            self.writer = Some(open_writer(&self.tantivy).map_err(|e| e.to_string())?);
            self.fed = 0;
        }
        let Some(writer) = &self.writer else { return Ok(()) };
        while let Some(op) = self.queue.get(self.fed) {
            let id = op.id();
            if self.max_id.is_some_and(|max| id <= max) {
                writer.delete_term(Term::from_field_u64(self.fields.id, id));
            }
            if let Op::Put(entry) = op {
                let document = entry.document(&mut self.analyzer);
                writer
                    .add_document(for_tantivy(document, self.fields))
                    .map_err(|e| e.to_string())?;
                self.max_id = Some(self.max_id.map_or(id, |max| max.max(id)));
            }
            self.fed += 1;
        }
        Ok(())
    }

    fn commit(&mut self, pace: Pace) -> Result<(), String> {
        let Some(last) = self.queue.iter().map(Op::seq).max() else { return Ok(()) };
        let Some(writer) = &mut self.writer else { return Err("it could not be opened".into()) };
        let seq = self.frozen.unwrap_or(last);
        commit(writer, pace, &self.store, seq).map_err(|e| e.to_string())?;
        self.untidy |= pace == Pace::Pouring;
        self.reader.reload().map_err(|e| e.to_string())?;
        let searcher = self.reader.searcher();
        let languages = languages(&searcher, self.fields);
        self.queue.clear();
        self.queue.shrink_to(1024);
        self.fed = 0;
        self.bytes = 0;
        self.since = None;
        self.pause = Duration::ZERO;
        self.retry_at = None;
        self.look = Some((Instant::now() + FIRST_LOOK, FIRST_LOOK));
        self.shared.committed(searcher, languages, last, seq);
        Ok(())
    }

    /// Has segments merged that were left side by side while changes poured in. Tried once: the next pour, or the next
    /// start, tries again.
    fn tidy(&mut self) -> Result<(), String> {
        self.untidy = false;
        if !self.shared.has_room() {
            return Err("the disk has little room".into());
        }
        let claimed = self.shared.state().claimed;
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => open_writer(&self.tantivy).map_err(|e| e.to_string())?,
        };
        commit(&mut writer, Pace::Quiet, &self.store, claimed).map_err(|e| e.to_string())?;
        self.writer = Some(writer);
        self.look = Some((Instant::now() + FIRST_LOOK, FIRST_LOOK));
        Ok(())
    }

    /// Lets searches see the segments that were merged since the last commit: fewer are searched faster, and the old
    /// ones can go.
    fn look(&mut self) {
        let Some((_, pause)) = self.look.take() else { return };
        let seen: HashSet<_> = self
            .reader
            .searcher()
            .segment_readers()
            .iter()
            .map(tantivy::SegmentReader::segment_id)
            .collect();
        let merged = match self.tantivy.searchable_segment_ids() {
            Ok(ids) if ids.iter().copied().collect::<HashSet<_>>() == seen => Ok(false),
            Ok(_) => self.reader.reload().map(|()| true),
            Err(error) => Err(error),
        };
        let pause = match merged {
            Ok(true) => {
                self.shared.merged(self.reader.searcher());
                FIRST_LOOK
            }
            Ok(false) => pause * 2,
            Err(error) => {
                tracing::debug!(%error, "no look at the index");
                pause * 2
            }
        };
        if pause <= LAST_LOOK {
            self.look = Some((Instant::now() + pause, pause));
        }
    }

    /// Takes the writer away and tries again later with a new one.
    fn fail(&mut self, problem: String) {
        let writer = self.writer.take();
        let ended = guarded(|| match &writer {
            // What could not be finished is not to keep the disk full.
            Some(writer) => {
                writer.garbage_collect_files().wait().map(drop).map_err(|e| e.to_string())
            }
            None => Ok(()),
        });
        let ended = ended.and(guarded(|| {
            drop(writer);
            Ok(())
        }));
        if let Err(problem) = ended {
            tracing::warn!(problem, "the index writer ended badly");
        }
        self.fed = 0;
        self.pause = (self.pause * 2).clamp(Duration::from_secs(1), MAX_PAUSE);
        self.retry_at = Some(Instant::now() + self.pause);
        self.shared.failed(problem);
    }

    /// Lets go of the older half of the queue.
    fn let_go(&mut self) {
        if self.frozen.is_none() {
            let mut state = self.shared.state();
            self.frozen = Some(state.claimed);
            state.standing = Some(
                "changes were let go of while it could not be written; the next start takes them in".into(),
            );
        }
        let gone: Vec<Op> = self.queue.drain(..self.queue.len().div_ceil(2)).collect();
        self.fed = 0;
        self.bytes /= 2;
        tracing::error!(
            changes = gone.len(),
            "the search index cannot be written: changes are let go of"
        );
        self.shared.let_go(&gone);
    }
}

/// Commits what `writer` was given: every change up to `seq` of the store named `store`.
fn commit(writer: &mut IndexWriter, pace: Pace, store: &str, seq: u64) -> tantivy::Result<()> {
    writer.set_merge_policy(pace.policy());
    let payload = serde_json::to_string(&Payload { store: store.to_owned(), seq, format: FORMAT })
        .map_err(|e| tantivy::TantivyError::InternalError(e.to_string()))?;
    let mut prepared = writer.prepare_commit()?;
    prepared.set_payload(&payload);
    prepared.commit()?;
    Ok(())
}

impl Pace {
    fn policy(self) -> Box<dyn MergePolicy> {
        let mut steady = LogMergePolicy::default();
        steady.set_min_num_segments(6);
        steady.set_min_layer_size(2_000);
        steady.set_del_docs_ratio_before_merge(0.3);
        match self {
            Self::Pouring => Box::new(Patient(steady)),
            Self::Steady => Box::new(steady),
            Self::Quiet => Box::new(Thorough),
        }
    }
}

/// Merges when it cannot be put off any more.
#[derive(Debug)]
struct Patient(LogMergePolicy);

impl MergePolicy for Patient {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        if segments.len() < MAX_UNMERGED {
            Vec::new()
        } else {
            self.0.compute_merge_candidates(segments)
        }
    }
}

/// Merges the small ones into one, up to a segment that is [`MUCH_LARGER`]: what is large is seldom written anew.
#[derive(Debug)]
struct Thorough;

impl MergePolicy for Thorough {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut smallest: Vec<(u64, SegmentId)> =
            segments.iter().map(|segment| (u64::from(segment.num_docs()), segment.id())).collect();
        smallest.sort_unstable();
        let mut docs = 0;
        let small: Vec<SegmentId> = smallest
            .into_iter()
            .take_while(|&(size, _)| {
                let joins = docs == 0 || size <= docs * MUCH_LARGER;
                docs += size;
                joins
            })
            .map(|(_, id)| id)
            .collect();
        if small.len() < 2 { Vec::new() } else { vec![MergeCandidate(small)] }
    }
}

fn open_writer(tantivy: &Tantivy) -> tantivy::Result<IndexWriter> {
    let options = IndexWriterOptions::builder()
        .num_worker_threads(1)
        .memory_budget_per_thread(ARENA_BYTES)
        .num_merge_threads(1)
        .build();
    let writer: IndexWriter = tantivy.writer_with_options(options)?;
    writer.set_merge_policy(Pace::Steady.policy());
    // tantivy 0.27 gives a writer's first operation the number of the last commit. A merge of what was committed then
    // takes that operation for one of the past, and a page whose deletion it is may stay. So nothing goes first.
    writer.run([])?;
    Ok(writer)
}

fn for_tantivy(document: &Document, fields: Fields) -> TantivyDocument {
    let mut out = TantivyDocument::default();
    out.add_u64(fields.id, document.id);
    out.add_i64(fields.updated_at, document.updated_at);
    out.add_text(fields.body, &document.body.encoded);
    out.add_text(fields.title, &document.title.encoded);
    out.add_text(fields.words, &document.words);
    out.add_text(fields.keys, &document.keys);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tantivy::{
        collector::Count,
        doc,
        indexer::NoMergePolicy,
        query::TermQuery,
        schema::{INDEXED, IndexRecordOption, Schema},
    };

    use super::*;

    /// What a killed daemon leaves: a segment in whose last commit a page was deleted, beside one without deletions.
    /// The first change after the start deletes another page of it while both are merged.
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
