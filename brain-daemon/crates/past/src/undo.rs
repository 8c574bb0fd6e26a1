//! `undo` and `redo`: take back writes of one's own, of a client or of a run.
//!
//! What others wrote since stays. The text of each page is computed from a snapshot; one
//! transaction then writes all pages, if none changed meanwhile. What was taken back is recorded
//! beside the steps, so that a second undo goes further back, and a call after a kill goes on.

mod apply;
mod derived;
mod identity;
mod merges;
mod moves;
mod new_text;
mod past_steps;
mod plan;
mod select;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use brain_base::caller::{Caller, Visibility};
use brain_pages::pages::moved_pages::MovedPages;
use brain_pages::pages::rename::MAX_ATTEMPTS;
use brain_pages::provenance::author_of_change;
use brain_protocol::{
    Fault, FaultCode, LifeEvent, PageRef, Redo, Undo, UndoEffect, UndoReply, UndonePage,
};
use brain_service::batch::map_in_parallel;
use brain_store::Reader;

use crate::PastService;
use crate::steps::hide_numbers;
use apply::{ActTemplate, Written};
use moves::MoveBack;
use plan::{Change, PagePlan, plan_page};
use select::{
    OwnActor, Selection, newer_writes, own_last_undo, own_last_write, purged_fault, writes_of,
};

/// Maximum number of pages in a reply.
const MAX_ROWS: usize = 10_000;
/// Maximum number of warnings about files in a reply.
const MAX_WARNINGS: usize = 20;

/// How an undo or a redo is done.
#[derive(Clone, Copy, Default)]
struct Options {
    is_redo: bool,
    is_dry_run: bool,
    with_derived: bool,
    /// Whether it takes back one write of the caller. Then it fails if the former text is gone.
    is_single: bool,
}

/// The plans of all pages, by id.
type Plans = BTreeMap<u64, PagePlan>;

/// What was done so far.
#[derive(Default)]
struct Progress {
    /// Rows of pages that were moved back, and of those with links to them, by id.
    rows: BTreeMap<u64, UndonePage>,
    warnings: Vec<String>,
    /// The first part of the act.
    first: Option<u64>,
}

impl PastService {
    /// Takes back the caller's last write, or the writes that the request names.
    ///
    /// # Errors
    /// `not_found` if there is no such write; `purged` for a purge, or if the text before is gone;
    /// `conflict` for a merge on which another one stands; `usage`; `busy`; or the store fails.
    /// Pages that were moved back before an error stay so; the same call goes on.
    pub fn undo(&self, caller: &Caller, request: &Undo) -> Result<UndoReply, Fault> {
        let _one = self.undoing.lock();
        let reader = self.read(caller.visibility())?;
        let own = OwnActor::of(caller, &reader)?;
        if request.since.is_some() && request.client.is_none() {
            return Err(Fault::new(FaultCode::Usage, "\"since\" needs a client")
                .hint("name the client whose writes are to be taken back"));
        }
        let is_single = request.is_of_caller();
        let selection = match (&request.page, is_single) {
            (_, false) => writes_of(&reader, request)?,
            (None, true) => own_last_write(&reader, &own, None)?,
            (Some(page), true) => {
                let (_, _, record) = self.pages.find_past(caller, &reader, page)?;
                own_last_write(&reader, &own, Some(record.id))?
            }
        };
        let last = selection.steps.keys().next_back().copied();
        let newer = match last.filter(|_| is_single) {
            Some(last) => newer_writes(&reader, &own, last)?,
            None => Default::default(),
        };
        drop(reader);
        let options = Options {
            is_redo: false,
            is_dry_run: request.dry_run,
            with_derived: request.derived,
            is_single,
        };
        let mut reply = self.take_back(caller, selection, options)?;
        (reply.newer, reply.newer_total) = newer;
        Ok(without_numbers(caller, reply))
    }

    /// Writes again what the caller's last undo took back.
    ///
    /// # Errors
    /// As [`Self::undo`].
    pub fn redo(&self, caller: &Caller, request: &Redo) -> Result<UndoReply, Fault> {
        let _one = self.undoing.lock();
        let reader = self.read(caller.visibility())?;
        let selection = own_last_undo(&reader, &OwnActor::of(caller, &reader)?)?;
        drop(reader);
        let options = Options { is_redo: true, is_dry_run: request.dry_run, ..Options::default() };
        Ok(without_numbers(caller, self.take_back(caller, selection, options)?))
    }

    fn take_back(
        &self,
        caller: &Caller,
        mut selection: Selection,
        options: Options,
    ) -> Result<UndoReply, Fault> {
        let now = self.clock.now();
        let mut act = ActTemplate {
            actor: brain_pages::provenance::actor_of(caller),
            redo_of: selection.redo_of.clone(),
            is_redo: options.is_redo,
            part_of: None,
        };
        let mut progress = Progress::default();
        let mut ids = selection.pages();
        for _ in 0..MAX_ATTEMPTS {
            self.read_files(&ids)?;
            let reader = self.read(caller.visibility())?;
            let mut plans = self.plan(&reader, caller, &selection, options)?;
            let goes = |id| plans.get(&id).is_some_and(|it| matches!(it.change, Change::Delete));
            let backs = moves::moves(&reader, &selection, goes)?;
            if !backs.is_empty() && !options.is_dry_run {
                drop(reader);
                self.move_all(caller, backs, &plans, (&mut selection, &mut progress, &mut act))?;
                continue;
            }
            self.add_derived(&reader, caller, &mut plans, (&selection, options, now))?;
            let known = ids.len();
            ids.extend(plans.keys());
            if ids.len() > known {
                // The files of derived pages are read before these change.
                continue;
            }
            if options.is_dry_run {
                add_moves(&mut progress, &backs, &plans);
                return self.reply(&reader, &selection, rows_of(&plans), progress, options);
            }
            if plans.values().all(|plan| plan.steps.is_empty() && is_nothing(plan))
                && act.redo_of.is_empty()
            {
                return self.reply(&reader, &selection, rows_of(&plans), progress, options);
            }
            drop(reader);
            let rows = rows_of(&plans);
            let plans = Arc::new(plans.into_values().collect());
            let template = act.clone();
            let written = self.store.write(move |it| apply::write(it, &plans, &template, now))?;
            if let Some(written) = written {
                progress.first.get_or_insert(written.act);
                progress.warnings.extend(self.write_files(&written));
                let reader = self.read(caller.visibility())?;
                return self.reply(&reader, &selection, rows, progress, options);
            }
        }
        Err(Fault::new(FaultCode::Busy, "the pages change again and again; nothing was taken back")
            .hint("try again when the import or sync has ended"))
    }

    /// Takes in what other programs saved in the files of the pages.
    fn read_files(&self, ids: &BTreeSet<u64>) -> Result<(), Fault> {
        let reader = self.store.read(Visibility::All)?;
        let mut pages = Vec::new();
        for id in ids {
            pages.extend(reader.by_id_including_deleted(*id)?);
        }
        drop(reader);
        map_in_parallel(&pages, |(source, slug, _)| self.pages.files.read_file_of(source, slug));
        Ok(())
    }

    fn plan(
        &self,
        reader: &Reader,
        caller: &Caller,
        selection: &Selection,
        options: Options,
    ) -> Result<Plans, Fault> {
        merges::check_later_merges(reader, &selection.steps)?;
        let (author, _) = author_of_change(caller);
        let ids: Vec<u64> = selection.pages().into_iter().collect();
        // The moves are taken back first, and turn the links; then this runs again.
        let moved = (!moves::has_moves(reader, selection)?).then(MovedPages::default);
        let planned = map_in_parallel(&ids, |id| {
            plan_page(reader, &author, *id, selection, moved.as_ref()).map(|plan| (*id, plan))
        });
        let mut plans = Plans::new();
        for plan in planned {
            let (id, plan) = plan?;
            let Some(plan) = plan else { continue };
            if options.is_single && plan.lacks_text {
                let name = PageRef::new(&plan.source, &plan.slug);
                return Err(purged_fault(&format!("the text of {name} before it is purged")));
            }
            plans.insert(id, plan);
        }
        Ok(plans)
    }

    fn add_derived(
        &self,
        reader: &Reader,
        caller: &Caller,
        plans: &mut Plans,
        (selection, options, now): (&Selection, Options, i64),
    ) -> Result<(), Fault> {
        if !options.with_derived {
            return Ok(());
        }
        derived::add_derived(reader, &author_of_change(caller).0, plans, &selection.done, now)
    }

    /// Moves pages back, one after the other, and takes their steps out of the selection.
    fn move_all(
        &self,
        caller: &Caller,
        backs: Vec<MoveBack>,
        plans: &Plans,
        (selection, progress, act): (&mut Selection, &mut Progress, &mut ActTemplate),
    ) -> Result<(), Fault> {
        for mut back in backs {
            if back.is_possible() {
                let (number, warnings) = self.move_back(caller, &mut back, act)?;
                progress.warnings.extend(warnings);
                if let Some(number) = number {
                    progress.first.get_or_insert(number);
                    act.part_of = progress.first;
                }
            }
            for step in &back.steps {
                selection.steps.remove(step);
            }
            add_moves(progress, std::slice::from_ref(&back), plans);
        }
        Ok(())
    }

    /// Writes the files of the pages. Returns warnings.
    fn write_files(&self, written: &Written) -> Vec<String> {
        let reports = map_in_parallel(&written.pages, |(source, record)| {
            self.pages.files.update_file(source, record, None).warnings()
        });
        let mut warnings: Vec<String> = reports.into_iter().flatten().collect();
        let more = warnings.len().saturating_sub(MAX_WARNINGS);
        warnings.truncate(MAX_WARNINGS);
        if more > 0 {
            warnings.push(format!("{more} more files were not written"));
        }
        warnings
    }

    fn reply(
        &self,
        reader: &Reader,
        selection: &Selection,
        planned: BTreeMap<u64, UndonePage>,
        progress: Progress,
        options: Options,
    ) -> Result<UndoReply, Fault> {
        let Progress { rows: mut moved, warnings, first } = progress;
        let mut rows = Vec::new();
        let done = selection.done.keys().filter(|id| !planned.contains_key(id));
        let done: Vec<u64> = done.copied().collect();
        for (id, row) in planned {
            rows.push(match moved.remove(&id) {
                Some(of_move) => join_rows(row, of_move),
                None => row,
            });
        }
        rows.extend(moved.into_values());
        for id in done {
            if let Some(entry) = reader.by_id_including_deleted(id)? {
                let reason = Some("it is taken back already".to_owned());
                rows.push(PagePlan::untouched(entry, reason).row);
            }
        }
        let order = |row: &UndonePage| UndoEffect::ALL.iter().position(|it| *it == row.effect);
        rows.sort_by_cached_key(|row| (order(row), row.page.to_string()));
        let number = |effect| rows.iter().filter(|row| row.effect == effect).count() as u64;
        let [taken_back, kept_in_part, to_be_made_again, untouched] = UndoEffect::ALL.map(number);
        let prefix = if options.is_redo { "redo" } else { "undo" };
        rows.truncate(MAX_ROWS);
        Ok(UndoReply {
            redo: options.is_redo,
            dry_run: options.is_dry_run,
            run: first.map(|number| format!("{prefix}-{number}")),
            pages: rows,
            taken_back,
            kept_in_part,
            to_be_made_again,
            untouched,
            newer: Vec::new(),
            newer_total: 0,
            warnings,
        })
    }
}

/// Removes what tells a restricted caller how much is written elsewhere.
fn without_numbers(caller: &Caller, mut reply: UndoReply) -> UndoReply {
    hide_numbers(caller, reply.pages.iter_mut().map(|row| &mut row.by));
    hide_numbers(caller, reply.newer.iter_mut().map(|write| &mut write.by));
    reply.run = reply.run.filter(|_| caller.sees_all());
    reply
}

fn rows_of(plans: &Plans) -> BTreeMap<u64, UndonePage> {
    plans.iter().map(|(id, plan)| (*id, plan.row.clone())).collect()
}

fn is_nothing(plan: &PagePlan) -> bool {
    matches!(plan.change, Change::Nothing)
}

/// Adds the rows of moved pages, and of pages with links to them that have nothing else to take
/// back.
fn add_moves(progress: &mut Progress, backs: &[MoveBack], plans: &Plans) {
    for back in backs {
        let row = back.row();
        // Of several moves of a page, the oldest one is the last that is taken back.
        let row = match progress.rows.remove(&back.page) {
            Some(newer) if !back.is_possible() => UndonePage { conflicts: row.conflicts, ..newer },
            _ => row,
        };
        progress.rows.insert(back.page, row);
        for (id, plan) in plans {
            let is_turned = plan.steps.iter().any(|step| back.steps.contains(step));
            if *id != back.page && is_turned && back.is_possible() {
                let mut row = plan.row.clone();
                if row.effect == UndoEffect::Untouched {
                    row.effect = UndoEffect::TakenBack;
                }
                progress.rows.entry(*id).or_insert(row);
            }
        }
    }
}

/// Joins the row of a page's text with that of its move, or of a move that turned its links.
fn join_rows(text: UndonePage, moved: UndonePage) -> UndonePage {
    if text.effect == UndoEffect::Untouched {
        return UndonePage { deleted: text.deleted, ..moved };
    }
    let mut joined = text;
    if moved.event == Some(LifeEvent::Moved) {
        joined.page = moved.page;
        joined.conflicts.extend(moved.conflicts);
    }
    if !joined.conflicts.is_empty() {
        joined.effect = UndoEffect::KeptInPart;
    }
    joined
}
