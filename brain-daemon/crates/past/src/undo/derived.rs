//! Pages that were made from what is taken back.
//!
//! A page goes if every source of every text of it is taken back and nobody else wrote it.
//! Otherwise it stays, and its lines are marked as not to be trusted until somebody writes the page
//! again.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use brain_page::changed_lines;
use brain_pages::write_page::{build_new_page, stored_document};
use brain_protocol::{Fault, UndoEffect};
use brain_store::{Author, LineChange, LineMark, Origin, Reader, StoreError};

use super::past::{Moment, Part, moments, version};
use super::plan::{Change, PagePlan};
use crate::why::doer;

/// The kind of the author of lines that are to be made again.
const UNDONE: &str = "undone";
/// Maximum number of sources that a mark names.
const MAX_NAMED: usize = 3;

/// A page that was made from others.
struct Child {
    past: Vec<Moment>,
    /// Whether it goes. Otherwise it stays and is marked.
    goes: bool,
}

/// What is known of the pages by id.
struct Family<'a> {
    reader: &'a Reader,
    plans: &'a BTreeMap<u64, PagePlan>,
    children: BTreeMap<u64, Child>,
}

/// Adds plans of the pages that were made from the pages in `plans`, in all generations.
pub(super) fn add_derived(
    reader: &Reader,
    author: &Author,
    plans: &mut BTreeMap<u64, PagePlan>,
    now: i64,
) -> Result<(), Fault> {
    let mut family = Family { reader, plans, children: BTreeMap::new() };
    family.find_children()?;
    while family.decide()? {}
    let mut found = Vec::new();
    for (id, child) in &family.children {
        if let Some(plan) = family.plan(author, *id, child, now)? {
            found.push((*id, plan));
        }
    }
    plans.extend(found);
    Ok(())
}

impl Family<'_> {
    /// Finds the pages that were made from versions that are taken back, and those made from them.
    fn find_children(&mut self) -> Result<(), Fault> {
        let mut waiting: Vec<u64> = self.plans.keys().copied().collect();
        let mut seen: BTreeSet<u64> = waiting.iter().copied().collect();
        while let Some(parent) = waiting.pop() {
            for id in self.reader.made_from(parent)? {
                if seen.contains(&id) {
                    continue;
                }
                let Some((_, _, record)) = self.reader.by_id_including_deleted(id)? else {
                    continue;
                };
                if record.deleted_at.is_some() {
                    continue;
                }
                let past = moments(self.reader, &record, &Default::default())?;
                if past.iter().any(|moment| self.is_spoiled(moment)) {
                    seen.insert(id);
                    self.children.insert(id, Child { past, goes: false });
                    waiting.push(id);
                }
            }
        }
        Ok(())
    }

    /// Whether a standing text was made from something that is taken back, or to be made again.
    fn is_spoiled(&self, moment: &Moment) -> bool {
        moment.is_standing_write()
            && moment.step.made_from.iter().any(|origin| {
                let Origin::Page { id, version } = origin else { return false };
                self.is_taken_version(*id, *version)
            })
    }

    /// Whether this version of a page has something that is taken back, or is to be made again.
    fn is_taken_version(&self, id: u64, version: u32) -> bool {
        let of_plan = || self.plans.get(&id)?.versions.iter().min().copied();
        let of_child = || {
            let past = &self.children.get(&id)?.past;
            Some(past.iter().find(|moment| self.is_spoiled(moment))?.step.version)
        };
        of_plan().or_else(of_child).is_some_and(|first| version >= first)
    }

    /// Whether nothing of this source is left.
    fn is_gone(&self, origin: &Origin) -> Result<bool, StoreError> {
        let Origin::Page { id, version } = origin else { return Ok(false) };
        if let Some(plan) = self.plans.get(id) {
            let is_taken = plan.row.effect == UndoEffect::TakenBack || plan.row.deleted;
            return Ok(is_taken && self.is_taken_version(*id, *version));
        }
        if let Some(child) = self.children.get(id) {
            return Ok(child.goes && self.is_taken_version(*id, *version));
        }
        let found = self.reader.by_id_including_deleted(*id)?;
        Ok(found.is_none_or(|(_, _, record)| record.deleted_at.is_some()))
    }

    /// Lets the pages go of which nothing would be left. Returns whether there is a new one.
    fn decide(&mut self) -> Result<bool, Fault> {
        let mut gone = Vec::new();
        for (id, child) in self.children.iter().filter(|(_, child)| !child.goes) {
            let mut goes = true;
            for moment in child.past.iter().filter(|moment| moment.is_standing_write()) {
                let origins = &moment.step.made_from;
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

    fn plan(
        &self,
        author: &Author,
        id: u64,
        child: &Child,
        now: i64,
    ) -> Result<Option<PagePlan>, Fault> {
        let Some(entry) = self.reader.by_id_including_deleted(id)? else { return Ok(None) };
        let mut plan = PagePlan::untouched(entry, None);
        let made: Vec<&Moment> =
            child.past.iter().filter(|moment| self.is_spoiled(moment)).collect();
        if let Some(last) = made.last() {
            plan.row.by = doer(last.seq, &last.step, None);
        }
        if child.goes {
            plan.change = Change::Delete;
            plan.row.deleted = true;
            plan.row.effect = UndoEffect::TakenBack;
            plan.steps = child
                .past
                .iter()
                .filter(|moment| moment.part == Part::Stands)
                .map(|moment| moment.seq)
                .collect();
            plan.versions = made.iter().map(|moment| moment.step.version).collect();
            plan.row.reason = Some("it was made from pages that are taken back".to_owned());
            return Ok(Some(plan));
        }
        let reason = self.reason(&made)?;
        plan.row.effect = UndoEffect::ToBeMadeAgain;
        plan.row.reason = Some(reason.clone());
        self.mark(author, &mut plan, &made, (reason, now))?;
        Ok(Some(plan))
    }

    /// Returns why a page is to be made again: the sources that are taken back.
    fn reason(&self, made: &[&Moment]) -> Result<String, Fault> {
        let mut names = BTreeSet::new();
        for origin in made.iter().flat_map(|moment| &moment.step.made_from) {
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

    /// Marks the lines that were made from what is taken back.
    fn mark(
        &self,
        author: &Author,
        plan: &mut PagePlan,
        made: &[&Moment],
        (reason, now): (String, i64),
    ) -> Result<(), Fault> {
        let record = &plan.record;
        if record.marks.iter().any(|mark| mark.author.kind == UNDONE && mark.author.uri == reason) {
            return Ok(());
        }
        let Some(current) = version(self.reader, record, record.version)? else { return Ok(()) };
        let text = current.content.file_text();
        let mut spoiled = vec![false; text.lines().count()];
        for moment in made {
            let Some(written) = version(self.reader, record, moment.step.version)? else {
                continue;
            };
            let before = match moment.parent {
                Some(number) => version(self.reader, record, number)?,
                None => None,
            };
            let before = before.map(|it| it.content.file_text()).unwrap_or_default();
            let written = written.content.file_text();
            let added = added(&before, &written);
            for (line, is_spoiled) in text.lines().zip(&mut spoiled) {
                *is_spoiled |= added.contains(line.trim());
            }
        }
        let made_by = Author { kind: UNDONE.to_owned(), uri: reason };
        let mut marks = other_marks(&record.marks, &spoiled);
        marks.extend(runs(&spoiled).map(|(first, last)| LineMark {
            first,
            last,
            author: made_by.clone(),
            at: now,
        }));
        marks.sort_by_key(|mark| mark.first);
        let has_outside_title = record.has_outside_title || plan.versions_create(made);
        let change = LineChange::OfVersion { marks, has_outside_title };
        let document = stored_document(&current.content)?;
        let provenance = record.provenance.clone();
        let page =
            build_new_page(&plan.slug, document, provenance, None, (author.clone(), change))?;
        plan.change = Change::Write { page: Box::new(page), deletes: false };
        Ok(())
    }
}

impl PagePlan {
    /// Whether one of these steps created the page, and so gave it its title.
    fn versions_create(&self, made: &[&Moment]) -> bool {
        made.iter().any(|moment| moment.parent.is_none())
    }
}

/// Returns the lines with text that `after` has and `before` has not.
fn added<'a>(before: &str, after: &'a str) -> HashSet<&'a str> {
    let lines: Vec<&str> = after.lines().collect();
    let changes = changed_lines(before, after).into_iter();
    let added = changes.flat_map(|change| lines.get(change.new).unwrap_or_default().to_vec());
    added.map(str::trim).filter(|line| !line.is_empty() && *line != "---").collect()
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
