//! Steps as replies show them.

use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_pages::provenance::{author_name, author_of};
use brain_protocol::{Doer, LifeEvent};
use brain_store::{StepKind, StepRecord, VersionRecord};

/// Returns what a step did, as replies name it.
pub(crate) fn event(kind: StepKind) -> LifeEvent {
    match kind {
        StepKind::Created => LifeEvent::Created,
        StepKind::Written => LifeEvent::Written,
        StepKind::Deleted => LifeEvent::Deleted,
        StepKind::Restored => LifeEvent::Restored,
        StepKind::Moved => LifeEvent::Moved,
        StepKind::TextKept => LifeEvent::TextKept,
        StepKind::FileReplaced => LifeEvent::FileReplaced,
        StepKind::Purged => LifeEvent::Purged,
    }
}

/// Returns who made a step. `version` is the version that it wrote, if it wrote one.
pub(crate) fn doer(seq: u64, step: &StepRecord, version: Option<&VersionRecord>) -> Doer {
    let author = version.and_then(|version| author_of(&version.record));
    Doer {
        change: seq,
        at: rfc3339(step.at),
        clock: (step.clock != step.at).then(|| rfc3339(step.clock)),
        door: step.actor.door.clone(),
        client: step.actor.client.clone(),
        run: step.actor.run.clone(),
        machine: step.machine.map(|id| format!("{id:032x}")),
        author: author.as_ref().map(author_name),
    }
}

/// Whether a run is an undo or a redo.
pub(crate) fn is_run_of_act(run: &str) -> bool {
    run.starts_with("undo-") || run.starts_with("redo-")
}

/// Removes the numbers that count changes or undos of the whole brain, unless the caller sees all
/// of it: they would tell how much is written elsewhere.
pub(crate) fn hide_numbers<'a>(caller: &Caller, doers: impl IntoIterator<Item = &'a mut Doer>) {
    if caller.sees_all() {
        return;
    }
    for by in doers {
        by.change = 0;
        by.run = by.run.take().filter(|run| !is_run_of_act(run));
    }
}
