//! Which steps an undo or a redo takes back.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use brain_base::caller::Caller;
use brain_base::clock::{instant_argument, local_minute};
use brain_pages::provenance::actor_of;
use brain_protocol::{
    Command, Fault, FaultCode, NewerWrite, PageRef, Slug, SourceId, Undo, hint, is_hand_of_owner,
};
use brain_store::{Actor, Reader, StepKind, StepRecord, StoreError};

use crate::steps::{doer, event, is_run_of_act};

/// Maximum number of newer writes in a reply.
const MAX_NEWER: usize = 20;

/// Numbers of steps, with the ids of their pages.
pub(super) type Steps = BTreeMap<u64, u64>;

/// Steps to take back.
#[derive(Default)]
pub(super) struct Selection {
    pub(super) steps: Steps,
    /// Pages with steps that would be selected, but are taken back already, with the first version
    /// that was.
    pub(super) done: BTreeMap<u64, u32>,
    /// The undos that a redo takes back.
    pub(super) redo_of: Vec<u64>,
    /// The steps that they took back, and that stand again afterwards.
    pub(super) revived: HashSet<u64>,
}

impl Selection {
    /// Returns the ids of the pages with steps to take back.
    pub(super) fn pages(&self) -> BTreeSet<u64> {
        self.steps.values().copied().collect()
    }
}

/// The actor whose writes are the caller's own. The owner is known by the door, on one machine;
/// everybody else by door and name.
pub(super) struct OwnActor {
    pub(super) actor: Actor,
    machine: Option<u128>,
}

impl OwnActor {
    pub(super) fn of(caller: &Caller, reader: &Reader) -> Result<Self, StoreError> {
        Ok(Self { actor: actor_of(caller), machine: reader.machine()? })
    }

    fn is(&self, actor: &Actor, machine: Option<u128>) -> bool {
        let is_owner = |actor: &Actor| is_hand_of_owner(&actor.door);
        match is_owner(&self.actor) {
            // Steps from before the brain was shared have no machine.
            true => is_owner(actor) && (machine == self.machine || machine.is_none()),
            false => (&actor.door, &actor.client) == (&self.actor.door, &self.actor.client),
        }
    }
}

/// Whether an undo or a redo made the step.
pub(super) fn is_by_act(step: &StepRecord) -> bool {
    step.actor.run.as_deref().is_some_and(is_run_of_act)
}

/// Whether the step changed the page itself.
fn is_change(kind: StepKind) -> bool {
    !matches!(kind, StepKind::TextKept | StepKind::FileReplaced)
}

/// Returns the fault about a purge that an undo would have to take back.
pub(super) fn purged_fault(what: &str) -> Fault {
    Fault::new(FaultCode::Purged, format!("{what}; a purge cannot be taken back, and nothing was"))
        .hint(hint!(
            "name a page to take back the last write to it: {}; or see {}",
            Command::UndoPage { page: None },
            Command::History { page: None }
        ))
}

/// Selects the caller's last write that stands: all its steps. `page` is the id of the page that
/// it must have changed.
pub(super) fn own_last_write(
    reader: &Reader,
    own: &OwnActor,
    page: Option<u64>,
) -> Result<Selection, Fault> {
    let mut found = None;
    reader.each_step_back(u64::MAX, |seq, step| {
        let is_own = own.is(&step.actor, step.machine) && !is_by_act(&step);
        let is_it = is_own && is_change(step.kind) && page.is_none_or(|id| id == step.page);
        if is_it && !reader.is_taken_back(seq)? {
            found = Some(step);
        }
        Ok(found.is_none())
    })?;
    let Some(last) = found else {
        return Err(Fault::new(FaultCode::NotFound, "there is no write of yours to take back")
            .hint(hint!("{} shows who wrote a page", Command::History { page: None })));
    };
    if last.kind == StepKind::Purged {
        let what = format!("your last write is the purge of {}", local_minute(last.at));
        return Err(purged_fault(&what));
    }
    let mut selection = Selection::default();
    for (seq, step) in reader.steps_of_write(last.write)? {
        let is_same = step.actor == last.actor && is_change(step.kind);
        if is_same && !reader.is_taken_back(seq)? {
            selection.steps.insert(seq, step.page);
        }
    }
    Ok(selection)
}

/// Selects all writes of a client or a run.
///
/// # Errors
/// `not_found` if there is none, `purged` if one of them is a purge.
pub(super) fn writes_of(reader: &Reader, request: &Undo) -> Result<Selection, Fault> {
    let since = instant_argument(request.since.as_deref())?.unwrap_or(i64::MIN);
    let mut names: HashSet<String> = request.client.iter().cloned().collect();
    if let Some(client) = &request.client {
        let clients = reader.clients()?.into_iter();
        names.extend(clients.filter(|(_, record)| record.name == *client).map(|(id, _)| id));
        names.insert(format!("token:{client}"));
    }
    let (mut selection, mut purge, mut is_known) = (Selection::default(), None, false);
    reader.each_step_back(u64::MAX, |seq, step| {
        let is_of_client = names.is_empty() || names.contains(&step.actor.client);
        let is_of_run = request.run.is_none() || step.actor.run == request.run;
        if !is_of_client || !is_of_run || (is_by_act(&step) && request.run.is_none()) {
            return Ok(true);
        }
        is_known = true;
        if step.at < since || !is_change(step.kind) {
            return Ok(true);
        }
        match (step.kind, reader.is_taken_back(seq)?) {
            (StepKind::Purged, _) => purge = Some(step.at),
            // From the newest to the oldest.
            (_, true) => _ = selection.done.insert(step.page, step.version),
            (_, false) => _ = selection.steps.insert(seq, step.page),
        }
        Ok(purge.is_none())
    })?;
    if let Some(at) = purge {
        return Err(purged_fault(&format!(
            "among these writes is the purge of {}",
            local_minute(at)
        )));
    }
    if !is_known {
        let (kind, name) = match (&request.client, &request.run) {
            (Some(client), _) => ("client", client.as_str()),
            (None, run) => ("run", run.as_deref().unwrap_or_default()),
        };
        let message = format!("no write of the {kind} \"{}\" is known", name.escape_debug());
        return Err(Fault::new(FaultCode::NotFound, message)
            .hint(hint!("{} shows who wrote a page", Command::History { page: None })));
    }
    let pages = selection.pages();
    selection.done.retain(|id, _| !pages.contains(id));
    Ok(selection)
}

/// Selects what the caller's last undo made.
///
/// # Errors
/// `not_found` if there is no undo since the caller's last write, `purged` if a page is gone.
pub(super) fn own_last_undo(reader: &Reader, own: &OwnActor) -> Result<Selection, Fault> {
    let mut acts = Vec::new();
    reader.each_act_back(|number, act| {
        let is_it = own.is(&act.actor, act.machine) && !act.is_redo && !act.is_redone;
        match acts.first() {
            None if is_it => acts.push((number, act)),
            // The other parts of one undo.
            Some((_, first)) if first.part_of == act.part_of => acts.push((number, act)),
            Some(_) => return false,
            None => {}
        }
        true
    })?;
    let Some(after) = acts.iter().map(|(_, act)| act.after).max() else {
        return Err(nothing_to_redo("there is no undo of yours to take back"));
    };
    let mut newer = None;
    reader.each_step_back(u64::MAX, |seq, step| {
        let is_own = own.is(&step.actor, step.machine);
        let is_newer = is_own && seq > after && is_change(step.kind) && !is_by_act(&step);
        newer = is_newer.then_some(step.kind);
        Ok(seq > after && !is_newer)
    })?;
    match newer {
        None => {}
        Some(StepKind::Purged) => {
            return Err(purged_fault("you purged a page since your last undo"));
        }
        Some(_) => return Err(nothing_to_redo("you wrote something since your last undo")),
    }
    let mut selection = Selection::default();
    for (number, act) in acts {
        selection.redo_of.push(number);
        selection.revived.extend(act.taken_back);
        for seq in act.made {
            match reader.step(seq)? {
                None => return Err(purged_fault("a page of your last undo was purged since")),
                Some(_) if reader.is_taken_back(seq)? => {}
                Some(step) => _ = selection.steps.insert(seq, step.page),
            }
        }
    }
    Ok(selection)
}

fn nothing_to_redo(message: &str) -> Fault {
    Fault::new(FaultCode::NotFound, message)
        .hint(hint!("{} has the former texts of a page", Command::History { page: None }))
}

/// Returns the writes of others after the step `after`, newest first, and their number.
pub(super) fn newer_writes(
    reader: &Reader,
    own: &OwnActor,
    after: u64,
) -> Result<(Vec<NewerWrite>, u64), Fault> {
    let (mut rows, mut total) = (Vec::new(), 0);
    reader.each_step_back(u64::MAX, |seq, step| {
        if seq <= after {
            return Ok(false);
        }
        if own.is(&step.actor, step.machine) || !is_change(step.kind) {
            return Ok(true);
        }
        total += 1;
        // A purged page has no name any more.
        if rows.len() < MAX_NEWER && step.kind != StepKind::Purged {
            rows.extend(page_of(&step).map(|page| NewerWrite {
                page,
                event: event(step.kind),
                by: doer(seq, &step, None),
            }));
        }
        Ok(true)
    })?;
    Ok((rows, total))
}

fn page_of(step: &StepRecord) -> Option<PageRef> {
    let source = SourceId::parse(&step.source).ok()?;
    Some(PageRef::new(&source, &Slug::parse(step.slug.clone()).ok()?))
}
