//! Pages that were made from what is taken back.
//!
//! A page goes if every source of every text of it is taken back and nobody else wrote it.
//! Otherwise it stays, and its lines are marked as not to be trusted until somebody writes the page
//! again.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use brain_page::changed_lines;
use brain_pages::write_page::{build_new_page, stored_document};
use brain_protocol::{Fault, UndoEffect};
use brain_store::{Author, LineChange, LineMark, Origin, PageRecord, Reader};

use super::new_text::sharing_now;
use super::past_steps::{PastStep, StepRole, past_steps, version};
use super::plan::{Change, PagePlan};
use super::select::Steps;
use crate::steps::doer;

/// The author of lines that are to be made again. It names no source: whoever reads the page need
/// not see it, and a purge must not find its name here.
const UNDONE: &str = "undone";
const TO_BE_MADE_AGAIN: &str = "to be made again: a source of it was undone";
/// Maximum number of sources that a mark names.
const MAX_NAMED: usize = 3;

/// A page that was made from others.
struct Child {
    past: Vec<PastStep>,
    /// The first version that was made from something that is taken back or to be made again.
    first: u32,
    /// Whether it goes. Otherwise it stays and is marked.
    goes: bool,
}

/// What is known of the pages by id.
struct Family<'a> {
    reader: &'a Reader,
    plans: &'a BTreeMap<u64, PagePlan>,
    /// Pages that an earlier undo changed, with the first version that it took back.
    done: &'a BTreeMap<u64, u32>,
    children: BTreeMap<u64, Child>,
}

/// Lines that are to be made again.
struct Mark {
    reason: String,
    /// The lines, without white space at their ends.
    lines: HashSet<String>,
    /// Whether the title is among them.
    has_title: bool,
}

/// Adds plans of the pages that were made from the pages in `plans` and `done`, in all
/// generations. `author` writes the new versions.
pub(super) fn add_derived(
    reader: &Reader,
    author: &Author,
    plans: &mut BTreeMap<u64, PagePlan>,
    done: &BTreeMap<u64, u32>,
    now: i64,
) -> Result<(), Fault> {
    let mut family = Family { reader, plans, done, children: BTreeMap::new() };
    family.find_children()?;
    while family.decide()? {}
    let (mut gone, mut marked) = (Vec::new(), Vec::new());
    for (id, child) in &family.children {
        match child.goes {
            true => gone.extend(family.plan_deletion(*id, child)?.map(|plan| (*id, plan))),
            false => marked.push((*id, family.mark(*id, child)?)),
        }
    }
    let last: BTreeMap<u64, _> = family
        .children
        .iter()
        .filter_map(|(id, child)| Some((*id, child.past.last()?)))
        .map(|(id, last)| (id, doer(last.seq, &last.step, None)))
        .collect();
    plans.extend(gone);
    for (id, mark) in marked {
        if let std::collections::btree_map::Entry::Vacant(place) = plans.entry(id)
            && let Some(entry) = reader.by_id_including_deleted(id)?
        {
            let plan = place.insert(PagePlan::untouched(entry, None));
            plan.row.by = last.get(&id).cloned().unwrap_or_default();
        }
        if let Some(plan) = plans.get_mut(&id) {
            apply_mark(reader, author, plan, mark, now)?;
        }
    }
    Ok(())
}

impl Family<'_> {
    /// Finds the pages that were made from versions that are taken back, and those made from them.
    fn find_children(&mut self) -> Result<(), Fault> {
        let mut waiting: Vec<u64> = self.plans.keys().chain(self.done.keys()).copied().collect();
        while let Some(parent) = waiting.pop() {
            for id in self.reader.made_from(parent)? {
                let known = self.children.remove(&id);
                let former = known.as_ref().map(|child| child.first);
                let past = match known {
                    Some(child) => child.past,
                    None => match self.reader.by_id_including_deleted(id)? {
                        Some((_, _, record)) if record.deleted_at.is_none() => {
                            past_steps(self.reader, &record, &self.selected(id), &HashSet::new())?
                        }
                        _ => continue,
                    },
                };
                let first = past.iter().find(|past_step| self.is_spoiled(past_step));
                let first =
                    first.map(|past_step| past_step.step.version).into_iter().chain(former).min();
                let Some(first) = first else { continue };
                self.children.insert(id, Child { past, first, goes: false });
                // An earlier version of it may have spoiled more pages than were known.
                if former != Some(first) {
                    waiting.push(id);
                }
            }
        }
        Ok(())
    }

    /// Returns the steps of a page that its plan takes back.
    fn selected(&self, id: u64) -> Steps {
        let steps = self.plans.get(&id).map(|plan| plan.steps.as_slice()).unwrap_or_default();
        steps.iter().map(|step| (*step, id)).collect()
    }

    /// Whether a standing text was made from something that is taken back, or to be made again.
    fn is_spoiled(&self, past_step: &PastStep) -> bool {
        past_step.is_standing_write()
            && past_step.step.made_from.iter().any(|origin| {
                let Origin::Page { id, version } = origin else { return false };
                self.is_taken_version(*id, *version)
            })
    }

    /// Whether this version of a page has something that is taken back, or is to be made again.
    fn is_taken_version(&self, id: u64, version: u32) -> bool {
        let of_plan = self.plans.get(&id).and_then(|plan| plan.versions.iter().min());
        let of_child = self.children.get(&id).map(|child| &child.first);
        let firsts = of_plan.into_iter().chain(of_child).chain(self.done.get(&id));
        firsts.min().is_some_and(|first| version >= *first)
    }

    /// Whether nothing of this source is left: its page goes, or has no line of the version any
    /// more.
    fn is_gone(&self, origin: &Origin) -> Result<bool, Fault> {
        let Origin::Page { id, version } = origin else { return Ok(false) };
        let is_taken = self.is_taken_version(*id, *version);
        if let Some(child) = self.children.get(id).filter(|_| !self.plans.contains_key(id)) {
            return Ok(is_taken && child.goes);
        }
        let entry = self.reader.by_id_including_deleted(*id)?;
        let Some((_, _, record)) = entry.filter(|it| it.2.deleted_at.is_none()) else {
            return Ok(true);
        };
        let plan = self.plans.get(id);
        if !is_taken || plan.is_some_and(|plan| plan.row.deleted) {
            return Ok(is_taken);
        }
        if let Some(sharing) = plan.and_then(|plan| plan.sharing.as_ref()) {
            return Ok(!sharing.contains(version));
        }
        let past = past_steps(self.reader, &record, &Steps::new(), &HashSet::new())?;
        let from = past.iter().position(|it| it.is_write() && it.step.version == *version);
        let Some(from) = from else { return Ok(true) };
        Ok(!sharing_now(self.reader, &record, &past, from)?.contains(version))
    }

    /// Lets the pages go of which nothing would be left. Returns whether there is a new one.
    fn decide(&mut self) -> Result<bool, Fault> {
        let mut gone = Vec::new();
        for (id, child) in &self.children {
            if child.goes || self.plans.contains_key(id) {
                continue;
            }
            let mut goes = true;
            for past_step in child.past.iter().filter(|past_step| past_step.is_standing_write()) {
                let origins = &past_step.step.made_from;
                goes &= !origins.is_empty();
                for origin in origins {
                    goes = goes && self.is_gone(origin)?;
                }
            }
            if goes {
                gone.push(*id);
            }
        }
        for id in &gone {
            if let Some(child) = self.children.get_mut(id) {
                child.goes = true;
            }
        }
        Ok(!gone.is_empty())
    }

    fn plan_deletion(&self, id: u64, child: &Child) -> Result<Option<PagePlan>, Fault> {
        let Some(entry) = self.reader.by_id_including_deleted(id)? else { return Ok(None) };
        let reason = "it was made from pages that are taken back".to_owned();
        let mut plan = PagePlan::untouched(entry, Some(reason));
        let standing = child.past.iter().filter(|past_step| past_step.role == StepRole::Stands);
        plan.steps = standing.map(|past_step| past_step.seq).collect();
        plan.versions = vec![child.first];
        plan.change = Change::Delete;
        plan.row.deleted = true;
        plan.row.effect = UndoEffect::TakenBack;
        if let Some(last) = child.past.iter().rev().find(|past_step| past_step.is_standing_write())
        {
            plan.row.by = doer(last.seq, &last.step, None);
        }
        Ok(Some(plan))
    }

    /// Returns what is to be marked in a page that stays.
    fn mark(&self, id: u64, child: &Child) -> Result<Mark, Fault> {
        let mut mark = Mark { reason: String::new(), lines: HashSet::new(), has_title: false };
        let Some((_, _, record)) = self.reader.by_id_including_deleted(id)? else {
            return Ok(mark);
        };
        let made: Vec<&PastStep> =
            child.past.iter().filter(|past_step| self.is_spoiled(past_step)).collect();
        mark.reason = self.reason(&made)?;
        for past_step in made {
            mark.has_title |= past_step.parent.is_none();
            let before = match past_step.parent {
                Some(number) => self.text(&record, number)?,
                None => None,
            };
            let Some(written) = self.text(&record, past_step.step.version)? else { continue };
            add_lines(&mut mark.lines, &before.unwrap_or_default(), &written);
        }
        Ok(mark)
    }

    fn text(&self, record: &PageRecord, number: u32) -> Result<Option<String>, Fault> {
        Ok(version(self.reader, record, number)?.map(|version| version.content.file_text()))
    }

    /// Returns why a page is to be made again: the sources that are taken back.
    fn reason(&self, made: &[&PastStep]) -> Result<String, Fault> {
        let mut names = BTreeSet::new();
        for origin in made.iter().flat_map(|past_step| &past_step.step.made_from) {
            if let Origin::Page { id, version } = origin
                && self.is_taken_version(*id, *version)
                && let Some((_, slug, _)) = self.reader.by_id_including_deleted(*id)?
            {
                names.insert(slug.to_string());
            }
        }
        let more = names.len().saturating_sub(MAX_NAMED);
        let named: Vec<String> = names.into_iter().take(MAX_NAMED).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (word, verb) = if named.len() > 1 { ("sources", "were") } else { ("source", "was") };
        Ok(format!("to be made again: {word} {}{more} {verb} undone", named.join(", ")))
    }
}

/// Marks lines of a page that stays, in the text that it gets or has.
fn apply_mark(
    reader: &Reader,
    author: &Author,
    plan: &mut PagePlan,
    mark: Mark,
    now: i64,
) -> Result<(), Fault> {
    if matches!(plan.change, Change::Delete) || plan.row.deleted {
        return Ok(());
    }
    plan.row.effect = UndoEffect::ToBeMadeAgain;
    plan.row.reason = Some(mark.reason);
    let made_by = Author { kind: UNDONE.to_owned(), uri: TO_BE_MADE_AGAIN.to_owned() };
    let record = &plan.record;
    if let Change::Write { page, .. } = &mut plan.change {
        if let LineChange::OfVersion { marks, has_outside_title } = &mut page.line_change {
            let text = page.content.file_text();
            *marks = with_mark(marks, &text, &mark.lines, (&made_by, now));
            *has_outside_title |= mark.has_title;
        }
        return Ok(());
    }
    let Some(current) = version(reader, record, record.version)? else { return Ok(()) };
    let text = current.content.file_text();
    let is_marked = |number: &u32| {
        let mut of_undo = record.marks.iter().filter(|mark| mark.author == made_by);
        of_undo.any(|mark| (mark.first..=mark.last).contains(number))
    };
    let mut spoiled = (1_u32..).zip(text.lines()).filter(|it| mark.lines.contains(it.1.trim()));
    if spoiled.all(|(number, _)| is_marked(&number)) {
        return Ok(());
    }
    let marks = with_mark(&record.marks, &text, &mark.lines, (&made_by, now));
    let has_outside_title = record.has_outside_title || mark.has_title;
    let change = LineChange::OfVersion { marks, has_outside_title };
    let document = stored_document(&current.content)?;
    let provenance = record.provenance.clone();
    let page = build_new_page(&plan.slug, document, provenance, None, (author.clone(), change))?;
    plan.change = Change::Write { page: Box::new(page), deletes: false };
    Ok(())
}

/// Adds the lines with text that `after` has and `before` has not.
fn add_lines(lines: &mut HashSet<String>, before: &str, after: &str) {
    let texts: Vec<&str> = after.lines().collect();
    for change in changed_lines(before, after) {
        let added = texts.get(change.new).unwrap_or_default().iter().map(|line| line.trim());
        lines.extend(added.filter(|line| !line.is_empty() && *line != "---").map(str::to_owned));
    }
}

/// Returns `marks` with a mark of `made_by` on the lines of `text` that are in `lines`.
fn with_mark(
    marks: &[LineMark],
    text: &str,
    lines: &HashSet<String>,
    (made_by, now): (&Author, i64),
) -> Vec<LineMark> {
    let spoiled: Vec<bool> = text.lines().map(|line| lines.contains(line.trim())).collect();
    let mut out = other_marks(marks, &spoiled);
    out.extend(runs(&spoiled).map(|(first, last)| LineMark {
        first,
        last,
        author: made_by.clone(),
        at: now,
    }));
    out.sort_by_key(|mark| mark.first);
    out
}

/// Returns the first and last lines, from 1, of the runs of `true`.
fn runs(lines: &[bool]) -> impl Iterator<Item = (u32, u32)> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (number, _) in (1_u32..).zip(lines).filter(|(_, line)| **line) {
        match found.last_mut().filter(|run| run.1 + 1 == number) {
            Some(run) => run.1 = number,
            None => found.push((number, number)),
        }
    }
    found.into_iter()
}

/// Returns the parts of marks that cover no spoiled line.
fn other_marks(marks: &[LineMark], spoiled: &[bool]) -> Vec<LineMark> {
    let mut out = Vec::new();
    for mark in marks {
        let covered: Vec<bool> = (1_u32..)
            .zip(spoiled)
            .map(|(number, is_spoiled)| (mark.first..=mark.last).contains(&number) && !is_spoiled)
            .collect();
        out.extend(runs(&covered).map(|(first, last)| LineMark { first, last, ..mark.clone() }));
    }
    out
}
