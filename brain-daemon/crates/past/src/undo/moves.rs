//! Moves pages back, with the links to them. Each is a transaction of its own.

use std::sync::Arc;

use brain_base::caller::Caller;
use brain_pages::pages::rename::AroundMove;
use brain_protocol::{Doer, Fault, PageRef, Rename, Slug, SourceId, UndoEffect, UndonePage};
use brain_store::{Reader, StepKind, StoreError, Transaction};
use parking_lot::Mutex;

use super::apply::ActTemplate;
use super::select::Selection;
use crate::PastService;
use crate::steps::{doer, event};

/// A move to take back.
pub(super) struct MoveBack {
    pub(super) page: u64,
    source: SourceId,
    /// Where the page is now.
    slug: Slug,
    /// Where it was, with its file.
    to: Slug,
    to_path: String,
    /// The steps of the move, those in pages with turned links among them.
    pub(super) steps: Vec<u64>,
    by: Doer,
    /// Why it stays where it is.
    problem: Option<String>,
}

/// Records the act in the transaction of the move.
struct RecordMove {
    act: ActTemplate,
    taken_back: Vec<u64>,
    number: Mutex<u64>,
}

impl AroundMove for RecordMove {
    fn before(&self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        *self.number.lock() = self.act.begin(transaction)?;
        Ok(())
    }

    fn after(&self, transaction: &mut Transaction<'_>, steps: Vec<u64>) -> Result<(), StoreError> {
        let number = *self.number.lock();
        self.act.end(transaction, number, (self.taken_back.clone(), steps))
    }
}

/// Returns whether a move is selected.
pub(super) fn has_moves(reader: &Reader, selection: &Selection) -> Result<bool, StoreError> {
    for seq in selection.steps.keys() {
        if reader.step(*seq)?.is_some_and(|step| step.kind == StepKind::Moved) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the selected moves, newest first. `goes` tells whether a page is deleted anyway.
pub(super) fn moves(
    reader: &Reader,
    selection: &Selection,
    goes: impl Fn(u64) -> bool,
) -> Result<Vec<MoveBack>, Fault> {
    let mut found = Vec::new();
    for seq in selection.steps.keys().rev().copied() {
        let Some(step) = reader.step(seq)?.filter(|step| step.kind == StepKind::Moved) else {
            continue;
        };
        let Some((source, slug, record)) = reader.by_id_including_deleted(step.page)? else {
            continue;
        };
        let former = reader.step(step.previous)?.filter(|_| !goes(step.page));
        let Some(former) = former else { continue };
        let to_path = former.file_path();
        let Ok(to) = Slug::parse(former.slug) else { continue };
        let is_of_move = |steps: &(u64, _)| selection.steps.contains_key(&steps.0);
        let steps = reader.steps_of_write(step.write)?;
        // Several moves of the page: each starts where the newer one ends.
        let newer = found.iter().rev().find(|it: &&MoveBack| it.page == step.page);
        let here = newer.map_or(&slug, |it| &it.to);
        let problem = if record.deleted_at.is_some() {
            Some("it stays moved, because it is deleted".to_owned())
        } else if here.as_str() != step.slug {
            Some(format!("it stays at \"{slug}\", because it was moved again since"))
        } else {
            let taken = reader.page_even_deleted(&source, &to)?;
            let is_other = taken.is_some_and(|taken| taken.id != step.page);
            is_other.then(|| format!("it stays moved, because \"{to}\" is another page now"))
        };
        found.push(MoveBack {
            page: step.page,
            source,
            slug: here.clone(),
            to,
            to_path,
            steps: steps.iter().filter(|it| is_of_move(it)).map(|(seq, _)| *seq).collect(),
            by: doer(seq, &step, None),
            problem,
        });
    }
    Ok(found)
}

impl MoveBack {
    /// Whether the page can be moved back.
    pub(super) fn is_possible(&self) -> bool {
        self.problem.is_none()
    }

    /// Returns the row of a page that was moved and not written.
    pub(super) fn row(&self) -> UndonePage {
        let slug = if self.is_possible() { &self.to } else { &self.slug };
        UndonePage {
            page: PageRef::new(&self.source, slug),
            effect: match self.is_possible() {
                true => UndoEffect::TakenBack,
                false => UndoEffect::KeptInPart,
            },
            event: Some(event(StepKind::Moved)),
            by: self.by.clone(),
            deleted: false,
            kept_lines: 0,
            kept_by: Vec::new(),
            conflicts: self.problem.iter().cloned().collect(),
            reason: None,
        }
    }
}

impl PastService {
    /// Moves a page back. Returns the number of the act and warnings. If the move fails because of
    /// this page, notes why.
    pub(super) fn move_back(
        &self,
        caller: &Caller,
        back: &mut MoveBack,
        act: &ActTemplate,
    ) -> Result<(Option<u64>, Vec<String>), Fault> {
        let recorder = Arc::new(RecordMove {
            // The undos that a redo takes back are recorded with the last part.
            act: ActTemplate { redo_of: Vec::new(), ..act.clone() },
            taken_back: back.steps.clone(),
            number: Mutex::new(0),
        });
        let around: Arc<dyn AroundMove> = recorder.clone();
        let page = PageRef::new(&back.source, &back.slug);
        let request = Rename { page, to: back.to.clone() };
        match self.pages.rename_around(caller, (&request, Some(&back.to_path)), Some(&around)) {
            Ok(reply) => {
                let left =
                    reply.left.iter().map(|link| format!("a link was not turned back: {link}"));
                Ok((
                    Some(*recorder.number.lock()),
                    reply.warnings.into_iter().chain(left).collect(),
                ))
            }
            Err(fault) if is_of_page(&fault) => {
                back.problem = Some(format!("it stays moved: {}", fault.message));
                Ok((None, Vec::new()))
            }
            Err(fault) => Err(fault),
        }
    }
}

/// Whether the fault is about one page, so that others can go on.
fn is_of_page(fault: &Fault) -> bool {
    use brain_protocol::FaultCode as F;
    matches!(fault.code, F::Conflict | F::NotFound | F::Busy | F::TooLarge | F::InvalidFrontmatter)
}
