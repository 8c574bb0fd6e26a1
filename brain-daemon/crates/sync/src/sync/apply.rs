//! Carries out decisions. Pages and the rows of their files are written in one transaction for each
//! batch, so a killed sync can continue later.

use std::collections::HashMap;
use std::sync::Arc;

use brain_protocol::{Fault, SourceId};

use super::compare::MissingPage;
use super::decide::{FileVerdict, Observations, SyncContext};
use super::listing::files_to_remove;
use super::renames::Move;
use super::tally::Tally;
use crate::sync::SyncService;
use brain_base::caller::Visibility;
use brain_files::{IgnoreRules, RootDir};
use brain_pages::files::read::{FileText, ReadFile};
use brain_service::batch::BATCH;
use brain_store::{FileRecord, SourceRecord, StoreError, SyncResult, Transaction};

/// The maximum number of attempts for a file whose page changes during the sync.
const MAX_OBSERVATIONS: usize = 3;

impl SyncService {
    /// Returns the context for decisions, from the present state.
    pub(super) fn context(
        &self,
        source: &SourceId,
        record: &SourceRecord,
        rules: &Arc<IgnoreRules>,
        files: Option<&Arc<RootDir>>,
    ) -> SyncContext {
        SyncContext {
            rules: rules.clone(),
            source: source.clone(),
            registered_path: record.path.clone(),
            root: self.sources.source_dir(record),
            files: files.cloned(),
            finished_rows: self.store.finished_outbox_rows(),
            recovering_pages: self.pages.files.recovering_ids(),
            files_to_remove: HashMap::new(),
            freed_slugs: std::collections::HashSet::new(),
            observations: Observations::default(),
        }
    }

    /// Moves pages to the new paths of their files. Returns the moves that were not possible. Calls
    /// `check_cancelled` before each batch, with the number of moves that were tried.
    pub(super) fn move_pages(
        &self,
        context: &SyncContext,
        moves: Vec<Move>,
        dry_run: bool,
        check_cancelled: &dyn Fn(u64) -> Result<(), Fault>,
    ) -> Result<Vec<Move>, Fault> {
        if dry_run {
            let reader = self.store.read(Visibility::All)?;
            let mut context = context.clone();
            context.observe_files(moves.iter().map(|page_move| page_move.path.clone()));
            return Ok(retry_moves(moves, |page_move| {
                let is_free = page_move.is_free(&reader, &context)?;
                if is_free {
                    context.freed_slugs.insert(page_move.from.clone());
                }
                Ok(is_free)
            })?);
        }
        let now = self.env.clock.now();
        let mut not_moved = Vec::new();
        for (n, batch) in moves.chunks(BATCH).enumerate() {
            check_cancelled((n * BATCH) as u64)?;
            let (mut context, batch) = (context.clone(), batch.to_vec());
            context.observe_files(batch.iter().map(|page_move| page_move.path.clone()));
            not_moved.extend(self.store.write(move |transaction| {
                transaction.mark_as_bulk();
                context.check(transaction)?;
                retry_moves(batch.clone(), |page_move| {
                    let is_free = page_move.is_free(&*transaction, &context)?;
                    if is_free {
                        page_move.move_page(transaction, &context, now)?;
                    }
                    Ok(is_free)
                })
            })?);
            self.index.wait_for_backlog();
        }
        Ok(not_moved)
    }

    /// Stores a batch of files, or counts the effects in a dry run.
    pub(super) fn store_files(
        &self,
        mut context: SyncContext,
        files: Vec<ReadFile>,
        dry_run: bool,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        let mut files: Vec<Arc<ReadFile>> = files.into_iter().map(Arc::new).collect();
        for attempt in 1..=MAX_OBSERVATIONS {
            // The finished outbox rows are read before the files are observed. So the observation
            // sees the file of each finished row. The row of a file that is written later is not
            // finished for `decide`.
            context.finished_rows = self.store.finished_outbox_rows();
            let reader = self.store.read(Visibility::All)?;
            context.files_to_remove = files_to_remove(&reader, &context)?;
            let paths = context.observe_pages(&reader, files.iter().map(Arc::as_ref))?;
            drop(reader);
            context.observe_files(paths);
            let verdicts = match dry_run {
                true => {
                    let reader = self.store.read(Visibility::All)?;
                    files
                        .iter()
                        .map(|file| context.decide(&reader, file))
                        .collect::<Result<_, _>>()?
                }
                false => self.decide_and_store(context.clone(), files.clone())?,
            };
            let mut to_retry = Vec::new();
            for (file, verdict) in files.into_iter().zip(&verdicts) {
                // Retry now: if only the page has changed, no file event starts another sync.
                let is_unchanged = context.is_as_observed(&file.path, file.stat);
                match verdict {
                    FileVerdict::Differing(id) if !dry_run => {
                        let merged = self.pages.files.merge_and_write(*id);
                        tally.count_merge(&file.path, &file.slug, merged);
                    }
                    FileVerdict::Changed if is_unchanged && attempt < MAX_OBSERVATIONS => {
                        to_retry.push(file);
                    }
                    _ => tally.count(&file.path, verdict),
                }
            }
            files = to_retry;
            if files.is_empty() {
                break;
            }
        }
        if !dry_run {
            self.index.wait_for_backlog();
        }
        Ok(())
    }

    /// Decides about observed files and carries the decisions out, in one transaction.
    fn decide_and_store(
        &self,
        context: SyncContext,
        batch: Vec<Arc<ReadFile>>,
    ) -> Result<Vec<FileVerdict>, StoreError> {
        let now = self.env.clock.now();
        self.store.write(move |transaction| {
            transaction.mark_as_bulk();
            context.check(transaction)?;
            let mut verdicts = Vec::with_capacity(batch.len());
            for file in &batch {
                let verdict = context.decide(&*transaction, file)?;
                carry_out(transaction, &context.source, file, &verdict, now)?;
                verdicts.push(verdict);
            }
            Ok(verdicts)
        })
    }

    /// Soft-deletes pages whose files are gone. Returns their number.
    pub(super) fn delete_missing(
        &self,
        context: &SyncContext,
        missing: &[MissingPage],
        check_cancelled: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let now = self.env.clock.now();
        let mut removed = 0;
        for batch in missing.chunks(BATCH) {
            check_cancelled()?;
            let (context, batch) = (context.clone(), batch.to_vec());
            removed += self.store.write(move |transaction| {
                context.check(transaction)?;
                let mut removed = 0;
                for page in &batch {
                    let Some(record) = transaction.page(&context.source, &page.slug)? else {
                        continue;
                    };
                    // The page was written meanwhile, and so was its file.
                    if record.id != page.record.id || record.seq != page.record.seq {
                        continue;
                    }
                    transaction.remove_file_record(&context.source, &record.source_path)?;
                    transaction.soft_delete_without_file(
                        &context.source,
                        &page.slug,
                        record,
                        now,
                    )?;
                    removed += 1;
                }
                Ok(removed)
            })?;
            self.index.wait_for_backlog();
        }
        Ok(removed)
    }

    /// Removes the rows of files that are gone and had no page, and records the result of the sync.
    pub(super) fn record_result(
        &self,
        context: &SyncContext,
        stale: Vec<String>,
        result: Option<SyncResult>,
    ) -> Result<(), Fault> {
        let context = context.clone();
        Ok(self.store.write(move |transaction| {
            context.check(transaction)?;
            for path in &stale {
                transaction.remove_file_record(&context.source, path)?;
            }
            if let (Some(result), Some(record)) = (&result, transaction.source(&context.source)?) {
                transaction.put_source(
                    &context.source,
                    &SourceRecord { last_sync: Some(result.clone()), ..record },
                )?;
            }
            Ok(())
        })?)
    }
}

/// Tries the moves repeatedly until none succeeds any more, because a move may need the slug that
/// another one frees. Returns the moves that failed.
fn retry_moves(
    mut moves: Vec<Move>,
    mut try_move: impl FnMut(&Move) -> Result<bool, StoreError>,
) -> Result<Vec<Move>, StoreError> {
    loop {
        let (before, mut failed) = (moves.len(), Vec::new());
        for page_move in moves {
            if !try_move(&page_move)? {
                failed.push(page_move);
            }
        }
        if failed.is_empty() || failed.len() == before {
            return Ok(failed);
        }
        moves = failed;
    }
}

/// Carries out the decision about a file, and stores the row of the file. Runs in the writer.
fn carry_out(
    transaction: &mut Transaction<'_>,
    source: &SourceId,
    file: &ReadFile,
    verdict: &FileVerdict,
    now: i64,
) -> Result<(), StoreError> {
    let row = match (verdict, &file.text) {
        (FileVerdict::Unchanged { id, seq }, _) => file.row(Some(*id), *seq, None),
        (FileVerdict::Restore(record), _) => {
            let record =
                transaction.restore_without_file(source, &file.slug, (**record).clone())?;
            file.row(Some(record.id), record.seq, None)
        }
        (FileVerdict::Write { former, .. }, FileText::Page(page)) => {
            let record = transaction.write_page(source, &file.slug, page, now)?.record;
            if let Some(former) = former.as_ref().filter(|former| **former != file.path) {
                transaction.remove_file_record(source, former)?;
            }
            file.row(Some(record.id), record.seq, None)
        }
        (FileVerdict::Refused { reason, note: Some((page, seq)) }, _) => {
            file.row(*page, *seq, Some(reason.clone()))
        }
        _ => return Ok(()),
    };
    put_file_row(transaction, source, &file.path, &row)
}

/// Stores the row of a file, unless it is stored already.
fn put_file_row(
    transaction: &mut Transaction<'_>,
    source: &SourceId,
    path: &str,
    row: &FileRecord,
) -> Result<(), StoreError> {
    match transaction.file(source, path)? {
        Some(known) if known == *row => Ok(()),
        _ => transaction.put_file(source, path, row),
    }
}
