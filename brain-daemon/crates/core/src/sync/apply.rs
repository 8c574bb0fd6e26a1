//! Carrying out what was decided, a batch in one transaction: pages and what is noted of their
//! files together, so that a sync that is killed goes on where it was.

use std::sync::Arc;

use brain_protocol::{Fault, SourceId};

use super::compare::Missing;
use super::decide::{Ground, Looks, Verdict};
use super::read::{ReadFile, Text};
use super::renames::Move;
use super::tally::Tally;
use crate::SyncService;
use crate::batch::BATCH;
use brain_base::caller::Visibility;
use brain_store::{Draft, FileRecord, NewPage, SourceRecord, StoreError, SyncResult};

/// How often a file is looked at whose page changes meanwhile.
const LOOKS: usize = 3;

impl SyncService {
    /// What decisions look at now.
    pub(super) fn ground(&self, source: &SourceId, record: &SourceRecord) -> Ground {
        Ground {
            source: source.clone(),
            registered: record.path.clone(),
            root: self.sources.source_dir(record),
            done: self.store.done_rows(),
            failing: self.files.failing_ids(),
            recovering: self.files.recovering_ids(),
            freed: std::collections::HashSet::new(),
            looks: Looks::default(),
        }
    }

    /// Lets pages follow their files; gives back those that may not. `go_on` is asked before each
    /// batch, with the number of moves that were looked at.
    pub(super) fn follow(
        &self,
        ground: &Ground,
        moves: Vec<Move>,
        dry_run: bool,
        go_on: &dyn Fn(u64) -> Result<(), Fault>,
    ) -> Result<Vec<Move>, Fault> {
        if dry_run {
            let reader = self.store.read(Visibility::All)?;
            let mut ground = ground.clone();
            ground.look(moves.iter().map(|one| one.path.clone()));
            return Ok(in_turn(moves, |one| {
                let free = one.is_free(&reader, &ground)?;
                if free {
                    ground.freed.insert(one.from.clone());
                }
                Ok(free)
            })?);
        }
        let mut left = Vec::new();
        for (n, batch) in moves.chunks(BATCH).enumerate() {
            go_on((n * BATCH) as u64)?;
            let (mut ground, batch) = (ground.clone(), batch.to_vec());
            ground.look(batch.iter().map(|one| one.path.clone()));
            left.extend(self.store.write(move |draft| {
                draft.in_bulk();
                ground.check(draft)?;
                in_turn(batch.clone(), |one| {
                    let free = one.is_free(&*draft, &ground)?;
                    if free {
                        one.follow(draft, &ground)?;
                    }
                    Ok(free)
                })
            })?);
            self.index.wait();
        }
        Ok(left)
    }

    /// Stores a batch of files that were read, or says what that would do.
    pub(super) fn take_in(
        &self,
        mut ground: Ground,
        files: Vec<ReadFile>,
        dry_run: bool,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        let mut files: Vec<Arc<ReadFile>> = files.into_iter().map(Arc::new).collect();
        for look in 1..=LOOKS {
            // In this order: what is done to a file by then is seen by the look, and what comes
            // later by the writer.
            ground.done = self.store.done_rows();
            let paths =
                ground.stand(&self.store.read(Visibility::All)?, files.iter().map(Arc::as_ref))?;
            ground.look(paths);
            let verdicts = match dry_run {
                true => {
                    let reader = self.store.read(Visibility::All)?;
                    files
                        .iter()
                        .map(|file| ground.decide(&reader, file))
                        .collect::<Result<_, _>>()?
                }
                false => self.store_looked_at(ground.clone(), files.clone())?,
            };
            let mut again = Vec::new();
            for (file, verdict) in files.into_iter().zip(&verdicts) {
                // Its page may have changed, and not the file: nothing would bring anybody here
                // again.
                let same = look < LOOKS && ground.was(&file.path, file.stat);
                match verdict {
                    Verdict::Moving if same => again.push(file),
                    _ => tally.count(&file.path, &file.slug, verdict),
                }
            }
            files = again;
            if files.is_empty() {
                break;
            }
        }
        if !dry_run {
            self.index.wait();
        }
        Ok(())
    }

    /// Decides about files that were looked at, and carries it out, in one transaction.
    fn store_looked_at(
        &self,
        ground: Ground,
        batch: Vec<Arc<ReadFile>>,
    ) -> Result<Vec<Verdict>, StoreError> {
        let now = self.env.clock.now();
        self.store.write(move |draft| {
            draft.in_bulk();
            ground.check(draft)?;
            let mut verdicts = Vec::with_capacity(batch.len());
            for file in &batch {
                let verdict = ground.decide(&*draft, file)?;
                carry_out(draft, &ground.source, file, &verdict, now)?;
                verdicts.push(verdict);
            }
            Ok(verdicts)
        })
    }

    /// Soft-deletes pages whose files are gone; how many there were.
    pub(super) fn give_up(
        &self,
        ground: &Ground,
        missing: &[Missing],
        go_on: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let now = self.env.clock.now();
        let mut removed = 0;
        for batch in missing.chunks(BATCH) {
            go_on()?;
            let (ground, batch) = (ground.clone(), batch.to_vec());
            removed += self.store.write(move |draft| {
                ground.check(draft)?;
                let mut removed = 0;
                for page in &batch {
                    let Some(record) = draft.page(&ground.source, &page.slug)? else { continue };
                    // Written anew since: then its file is, too.
                    if record.id != page.record.id || record.seq != page.record.seq {
                        continue;
                    }
                    draft.forget_file(&ground.source, &record.source_path)?;
                    draft.soft_delete_fileless(&ground.source, &page.slug, record, now)?;
                    removed += 1;
                }
                Ok(removed)
            })?;
            self.index.wait();
        }
        Ok(removed)
    }

    /// Forgets files that are gone and had no page, and notes how the sync ended.
    pub(super) fn finish(
        &self,
        ground: &Ground,
        stale: Vec<String>,
        mark: Option<SyncResult>,
    ) -> Result<(), Fault> {
        let ground = ground.clone();
        Ok(self.store.write(move |draft| {
            ground.check(draft)?;
            for path in &stale {
                draft.forget_file(&ground.source, path)?;
            }
            if let (Some(mark), Some(record)) = (&mark, draft.source(&ground.source)?) {
                draft.put_source(
                    &ground.source,
                    &SourceRecord { synced: Some(mark.clone()), ..record },
                )?;
            }
            Ok(())
        })?)
    }
}

/// Does what can be done, again and again until nothing more can: one rename may wait for another's
/// slug. What is left.
fn in_turn(
    mut left: Vec<Move>,
    mut try_one: impl FnMut(&Move) -> Result<bool, StoreError>,
) -> Result<Vec<Move>, StoreError> {
    loop {
        let (before, mut still) = (left.len(), Vec::new());
        for one in left {
            if !try_one(&one)? {
                still.push(one);
            }
        }
        if still.is_empty() || still.len() == before {
            return Ok(still);
        }
        left = still;
    }
}

/// In the writer: does what was decided about a file, and notes how the file is.
fn carry_out(
    draft: &mut Draft<'_>,
    source: &SourceId,
    file: &ReadFile,
    verdict: &Verdict,
    now: i64,
) -> Result<(), StoreError> {
    let row = match (verdict, &file.text) {
        (Verdict::Same { id, seq }, _) => file.row(Some(*id), *seq, None),
        (Verdict::Restore(record), _) => {
            let record = draft.restore_fileless(source, &file.slug, (**record).clone())?;
            file.row(Some(record.id), record.seq, None)
        }
        (Verdict::Write { former, .. }, Text::Page(page)) => {
            let page = NewPage::clone(page);
            let record = draft.write_page(source, &file.slug, page, now)?.record;
            if let Some(former) = former.as_ref().filter(|former| **former != file.path) {
                draft.forget_file(source, former)?;
            }
            file.row(Some(record.id), record.seq, None)
        }
        (Verdict::Bad { reason, note: Some((page, seq)) }, _) => {
            file.row(*page, *seq, Some(reason.clone()))
        }
        _ => return Ok(()),
    };
    note(draft, source, &file.path, &row)
}

/// Notes how a file is, unless that is known.
fn note(
    draft: &mut Draft<'_>,
    source: &SourceId,
    path: &str,
    row: &FileRecord,
) -> Result<(), StoreError> {
    match draft.file(source, path)? {
        Some(known) if known == *row => Ok(()),
        _ => draft.put_file(source, path, row),
    }
}
