//! What became of a page, step by step, and which steps count.

use std::collections::HashSet;

use brain_protocol::{Fault, is_door_of_owner};
use brain_store::{
    Origin, PageRecord, Reader, StepKind, StepRecord, StoreError, VersionRecord, unless_damaged,
};

use super::select::{Steps, is_by_act};

/// What a step is to an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepRole {
    /// It is to be taken back.
    Selected,
    /// It is taken back, or it is what took something back. Both cancel out.
    Cancelled,
    /// Somebody's move or merge of another page turned links.
    LinkTurn,
    /// It stands.
    Stands,
}

/// A step of a page.
pub(super) struct PastStep {
    pub(super) seq: u64,
    pub(super) step: StepRecord,
    pub(super) role: StepRole,
    /// The version before it; `None` if the page was created.
    pub(super) parent: Option<u32>,
}

impl PastStep {
    /// Whether the step wrote a text.
    pub(super) fn is_write(&self) -> bool {
        matches!(self.step.kind, StepKind::Created | StepKind::Written)
    }

    /// Whether a text of somebody stands.
    pub(super) fn is_standing_write(&self) -> bool {
        self.is_write() && self.role == StepRole::Stands
    }

    /// Returns for people who did it.
    pub(super) fn who(&self) -> String {
        match self.step.actor.door.as_str() {
            door if is_door_of_owner(door) => "owner".to_owned(),
            "" => "somebody".to_owned(),
            _ => self.step.actor.client.clone(),
        }
    }
}

/// Returns the steps of a page, oldest first. `revived` are steps that stand again.
pub(super) fn past_steps(
    reader: &Reader,
    record: &PageRecord,
    selected: &Steps,
    revived: &HashSet<u64>,
) -> Result<Vec<PastStep>, StoreError> {
    let mut steps = reader.steps_back(record.seq)?;
    steps.reverse();
    let mut parent = None;
    let mut out = Vec::with_capacity(steps.len());
    for (seq, step) in steps {
        let role = if selected.contains_key(&seq) {
            StepRole::Selected
        } else if !revived.contains(&seq) && (is_by_act(&step) || reader.is_taken_back(seq)?) {
            StepRole::Cancelled
        } else if is_link_turn(reader, seq, &step)? {
            StepRole::LinkTurn
        } else {
            StepRole::Stands
        };
        let version = step.version;
        out.push(PastStep { seq, step, role, parent });
        parent = Some(version);
    }
    Ok(out)
}

/// Whether a move or a merge of another page turned links in this one, and nothing else.
pub(super) fn is_link_turn(
    reader: &Reader,
    seq: u64,
    step: &StepRecord,
) -> Result<bool, StoreError> {
    // Writes of many pages, such as syncs, have a run.
    if step.kind != StepKind::Written || step.write == seq || step.actor.run.is_some() {
        return Ok(false);
    }
    let Some(first) = reader.step(step.write)? else { return Ok(false) };
    Ok(first.kind == StepKind::Moved || merged_page(reader, step.write, &first)?.is_some())
}

/// Returns the id of the page that the step appended to its page, if it is the first of a merge.
pub(super) fn merged_page(
    reader: &Reader,
    seq: u64,
    step: &StepRecord,
) -> Result<Option<u64>, StoreError> {
    let [Origin::Page { id, .. }] = step.made_from.as_slice() else { return Ok(None) };
    if step.write != seq {
        return Ok(None);
    }
    let steps = reader.steps_of_write(seq)?;
    let is_deleted =
        steps.iter().any(|(_, other)| other.page == *id && other.kind == StepKind::Deleted);
    Ok(is_deleted.then_some(*id))
}

/// Returns a version of a page that can be read.
pub(super) fn version(
    reader: &Reader,
    record: &PageRecord,
    number: u32,
) -> Result<Option<VersionRecord>, Fault> {
    let found = match number == record.version {
        true => unless_damaged(reader.content(record))?
            .map(|content| VersionRecord { record: record.clone(), content }),
        false => unless_damaged(reader.version(record.id, number))?.flatten(),
    };
    Ok(found)
}
