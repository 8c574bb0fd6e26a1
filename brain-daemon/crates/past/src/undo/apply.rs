//! Writes what an undo planned, in one transaction.

use std::sync::Arc;

use brain_pages::provenance::write_as_set;
use brain_protocol::SourceId;
use brain_store::{Actor, PageRecord, StoreError, Transaction, UndoAct};

use super::plan::{Change, PagePlan};

/// An undo or a redo, to be recorded with what it writes.
#[derive(Debug, Clone)]
pub(super) struct ActTemplate {
    /// Who asked for it.
    pub(super) actor: Actor,
    /// The undos that it takes back, if it is a redo.
    pub(super) redo_of: Vec<u64>,
    /// Whether it is a redo.
    pub(super) is_redo: bool,
    /// The first part of the same undo or redo, if this is another part.
    pub(super) part_of: Option<u64>,
}

impl ActTemplate {
    /// Begins the act in a transaction: the steps that follow belong to it. Returns its number.
    pub(super) fn begin(&self, transaction: &mut Transaction<'_>) -> Result<u64, StoreError> {
        let number = transaction.next_act()?;
        transaction.set_actor(Actor { run: Some(self.run(number)), ..self.actor.clone() });
        Ok(number)
    }

    /// Records the act.
    pub(super) fn end(
        &self,
        transaction: &mut Transaction<'_>,
        number: u64,
        (taken_back, made): (Vec<u64>, Vec<u64>),
    ) -> Result<(), StoreError> {
        transaction.record_act(
            number,
            UndoAct {
                actor: self.actor.clone(),
                machine: None,
                after: transaction.last_change(),
                taken_back,
                made,
                redo_of: self.redo_of.clone(),
                is_redone: false,
                part_of: self.part_of.unwrap_or(number),
                is_redo: self.is_redo,
            },
        )
    }

    /// Returns the name of the run of an act.
    pub(super) fn run(&self, number: u64) -> String {
        format!("{}-{number}", if self.is_redo { "redo" } else { "undo" })
    }
}

/// What was written.
pub(super) struct Written {
    /// The number of the act.
    pub(super) act: u64,
    /// The changed pages.
    pub(super) pages: Vec<(SourceId, PageRecord)>,
}

/// Writes the plans. Returns `None`, and writes nothing, if a page changed since it was planned.
pub(super) fn write(
    transaction: &mut Transaction<'_>,
    plans: &Arc<Vec<PagePlan>>,
    act: &ActTemplate,
    now: i64,
) -> Result<Option<Written>, StoreError> {
    for plan in plans.iter() {
        let current = transaction.page(&plan.source, &plan.slug)?;
        if current.is_none_or(|current| current.seq != plan.record.seq) {
            return Ok(None);
        }
    }
    let number = act.begin(transaction)?;
    let (mut pages, mut made, mut taken_back) = (Vec::new(), Vec::new(), Vec::new());
    for plan in plans.iter() {
        taken_back.extend(&plan.steps);
        let (source, slug) = (&plan.source, &plan.slug);
        let record = match &plan.change {
            Change::Nothing => continue,
            Change::Delete => transaction.soft_delete(source, slug, plan.record.clone(), now)?,
            Change::Restore => transaction.restore(source, slug, plan.record.clone())?,
            Change::Write { page, deletes } => {
                let written = write_as_set(transaction, source, slug, page, now)?.record;
                match deletes {
                    true => {
                        made.push(written.seq);
                        transaction.soft_delete(source, slug, written, now)?
                    }
                    false => written,
                }
            }
        };
        made.push(record.seq);
        pages.push((source.clone(), record));
    }
    act.end(transaction, number, (taken_back, made))?;
    Ok(Some(Written { act: number, pages }))
}
