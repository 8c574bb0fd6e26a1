//! What an undo makes of one page.

use std::collections::BTreeSet;

use brain_page::{Document, Frontmatter};
use brain_pages::pages::moved_pages::MovedPages;
use brain_pages::write_page::{build_new_page, stored_document};
use brain_protocol::{Doer, Fault, PageRef, Slug, SourceId, UndoEffect, UndonePage};
use brain_store::{
    Author, LineChange, NewPage, PageEntry, PageRecord, Provenance, Reader, StepKind, VersionRecord,
};

use super::new_text::{NewText, is_same, new_text};
use super::past_steps::{PastStep, StepRole, past_steps, version};
use super::select::Selection;
use super::text::{added_lines, are_equal, join, lines, marks};
use crate::steps::{doer, event};

/// How a page changes.
pub(super) enum Change {
    /// It stays as it is.
    Nothing,
    /// It is deleted.
    Delete,
    /// It is restored with the text that it has.
    Restore,
    /// It gets this text, and is then perhaps deleted.
    Write { page: Box<NewPage>, deletes: bool },
}

/// What becomes of a page.
pub(super) struct PagePlan {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    pub(super) record: PageRecord,
    pub(super) change: Change,
    /// The steps that are taken back with it.
    pub(super) steps: Vec<u64>,
    /// The versions that are taken back.
    pub(super) versions: Vec<u32>,
    /// The versions that have a line of the page's new text; `None` if it is not computed.
    pub(super) sharing: Option<BTreeSet<u32>>,
    /// Whether a former text is not there any more.
    pub(super) lacks_text: bool,
    pub(super) row: UndonePage,
}

impl PagePlan {
    /// Returns a plan that changes nothing.
    pub(super) fn untouched(
        (source, slug, record): (SourceId, Slug, PageRecord),
        reason: Option<String>,
    ) -> Self {
        let row = UndonePage {
            page: PageRef::new(&source, &slug),
            effect: UndoEffect::Untouched,
            event: None,
            by: Doer::default(),
            deleted: record.deleted_at.is_some(),
            kept_lines: 0,
            kept_by: Vec::new(),
            conflicts: Vec::new(),
            reason,
        };
        let (steps, versions) = (Vec::new(), Vec::new());
        let change = Change::Nothing;
        let (sharing, lacks_text) = (None, false);
        Self { source, slug, record, change, steps, versions, sharing, lacks_text, row }
    }
}

/// Plans what becomes of the page `id` without the selected steps. `author` writes the new version.
/// Links in lines that come back are turned to pages that `moved` knows. Returns `None` if the page
/// is purged.
pub(super) fn plan_page(
    reader: &Reader,
    author: &Author,
    id: u64,
    selection: &Selection,
    moved: Option<&MovedPages>,
) -> Result<Option<PagePlan>, Fault> {
    let Some(entry) = reader.by_id_including_deleted(id)? else { return Ok(None) };
    let (source, _, record) = &entry;
    let past = past_steps(reader, record, &selection.steps, &selection.revived)?;
    let mut plan = PagePlan::untouched(entry.clone(), None);
    let taken: Vec<&PastStep> =
        past.iter().filter(|past_step| past_step.role == StepRole::Selected).collect();
    let (Some(first), Some(last)) = (taken.first(), taken.last()) else { return Ok(Some(plan)) };
    plan.row.event = Some(event(first.step.kind));
    plan.row.by = doer(last.seq, &last.step, None);
    plan.versions = taken
        .iter()
        .filter(|past_step| past_step.is_write())
        .map(|past_step| past_step.step.version)
        .collect();
    if reader.sources()?.iter().all(|(id, _)| id != source) {
        plan.row.reason = Some(format!("its source \"{source}\" was removed"));
        return Ok(Some(plan));
    }
    let deletion = past.iter().rev().find(|past_step| past_step.step.kind == StepKind::Deleted);
    if record.deleted_at.is_some()
        && let Some(by_other) = deletion.filter(|past_step| past_step.role == StepRole::Stands)
    {
        plan.row.reason = Some(format!("it was deleted since by {}", by_other.who()));
        return Ok(Some(plan));
    }
    plan.steps = taken.iter().map(|past_step| past_step.seq).collect();
    let is_written = past.iter().any(PastStep::is_standing_write);
    if !is_written {
        // Nobody else wrote it.
        (plan.change, plan.row.effect) = match record.deleted_at {
            None => (Change::Delete, UndoEffect::TakenBack),
            Some(_) => (Change::Nothing, UndoEffect::Untouched),
        };
        plan.row.deleted = true;
        return Ok(Some(plan));
    }
    plan_text(reader, author, &mut plan, &entry, (&past, moved))?;
    Ok(Some(plan))
}

/// Plans the text of a page that somebody else wrote, too.
fn plan_text(
    reader: &Reader,
    author: &Author,
    plan: &mut PagePlan,
    entry: &PageEntry,
    (past, moved): (&[PastStep], Option<&MovedPages>),
) -> Result<(), Fault> {
    let (_, slug, record) = entry;
    let Some(current) = version(reader, record, record.version)? else {
        plan.row.reason = Some("its text is damaged".to_owned());
        plan.steps.clear();
        return Ok(());
    };
    let mut text = new_text(reader, entry, &current, past, moved)?;
    plan.sharing = Some(std::mem::take(&mut text.sharing));
    plan.lacks_text = !text.stay.is_empty();
    plan.steps.retain(|step| !text.stay.contains(step));
    let from_nothing = text.from_nothing;
    let is_empty = |page: &NewPage| from_nothing && is_blank(page);
    add_kept(reader, record, &mut plan.row, past, &text)?;
    let page = new_page(reader, author, slug, &current, past, text, &mut plan.row)?;
    let is_there = is_active_without(past) && page.as_ref().is_none_or(|page| !is_empty(page));
    plan.row.deleted = !is_there;
    plan.change = match (page, record.deleted_at.is_some(), is_there) {
        (None, false, true) | (None, true, false) => Change::Nothing,
        (None, true, true) => Change::Restore,
        (None, false, false) => Change::Delete,
        (Some(page), _, _) if is_empty(&page) => Change::Delete,
        (Some(page), _, is_there) => Change::Write { page: Box::new(page), deletes: !is_there },
    };
    let is_same = matches!(plan.change, Change::Nothing);
    let is_kept = plan.row.kept_lines > 0 && !is_same || !plan.row.conflicts.is_empty();
    plan.row.effect = match (is_same, is_kept) {
        (_, true) => UndoEffect::KeptInPart,
        (true, false) => UndoEffect::Untouched,
        (false, false) => UndoEffect::TakenBack,
    };
    Ok(())
}

fn is_blank(page: &NewPage) -> bool {
    let frontmatter = page.content.frontmatter.parsed().map(brain_page::Frontmatter::is_empty);
    page.content.body.trim().is_empty() && frontmatter.unwrap_or(false)
}

/// Whether the page would be active without the selected steps.
fn is_active_without(past: &[PastStep]) -> bool {
    let mut is_active = false;
    for past_step in past.iter().filter(|past_step| past_step.role == StepRole::Stands) {
        match past_step.step.kind {
            StepKind::Created | StepKind::Written | StepKind::Restored => is_active = true,
            StepKind::Deleted | StepKind::Purged => is_active = false,
            StepKind::Moved | StepKind::TextKept | StepKind::FileReplaced => {}
        }
    }
    is_active
}

/// Adds to the row what stays of later edits by others.
fn add_kept(
    reader: &Reader,
    record: &PageRecord,
    row: &mut UndonePage,
    past: &[PastStep],
    text: &NewText,
) -> Result<(), Fault> {
    row.conflicts.clone_from(&text.conflicts);
    let Some(first) = past.iter().position(|past_step| past_step.role == StepRole::Selected) else {
        return Ok(());
    };
    let later: Vec<&PastStep> =
        past.iter().skip(first).filter(|past_step| past_step.is_standing_write()).collect();
    if later.is_empty() || !text.stay.is_empty() {
        return Ok(());
    }
    let before = match past.get(first).and_then(|past_step| past_step.parent) {
        Some(number) => version(reader, record, number)?,
        None => None,
    };
    let before = before.map(|it| lines(&it.record, &it.content)).unwrap_or_default();
    row.kept_lines = added_lines(&before, &text.lines);
    for past_step in later {
        let who = past_step.who();
        if row.kept_lines > 0 && !row.kept_by.contains(&who) {
            row.kept_by.push(who);
        }
    }
    Ok(())
}

/// Builds the page with the new text; `None` if it is the one that the page has.
fn new_page(
    reader: &Reader,
    author: &Author,
    slug: &Slug,
    current: &VersionRecord,
    past: &[PastStep],
    text: NewText,
    row: &mut UndonePage,
) -> Result<Option<NewPage>, Fault> {
    if let Some(version) = text.same_as {
        return match is_same(&version, current) {
            true => Ok(None),
            false => page_of_version(author, slug, version).map(Some),
        };
    }
    if are_equal(&text.lines, &lines(&current.record, &current.content)) {
        return Ok(None);
    }
    let (head, body) = join(&text.lines);
    let Ok(frontmatter) = Frontmatter::parse(&head) else {
        row.conflicts.push("all stays, because the frontmatter would be malformed".to_owned());
        return Ok(None);
    };
    let body = if text.from_nothing { body.trim_start_matches(['\r', '\n']) } else { &body };
    let document = Document { frontmatter, body: body.into() };
    let mut standing = past.iter().filter(|past_step| past_step.is_standing_write());
    let is_of_owner = text.from_nothing
        && row.conflicts.is_empty()
        && standing.all(|past_step| past_step.who() == "owner");
    let provenance = standing_provenance(reader, current, past, is_of_owner)?;
    let change = (author.clone(), LineChange::SameMarks);
    let mut page = build_new_page(slug, document, provenance, None, change)?;
    let has_outside_title = current.record.has_outside_title
        && page.title.as_ref().is_none_or(|title| *title == current.record.title);
    let marks = marks(&text.lines, &page.content);
    page.line_change = LineChange::OfVersion { marks, has_outside_title };
    Ok(Some(page))
}

/// Returns a version as the page to write.
fn page_of_version(author: &Author, slug: &Slug, version: VersionRecord) -> Result<NewPage, Fault> {
    let PageRecord { provenance, marks, has_outside_title, .. } = version.record;
    let document = stored_document(&version.content)?;
    let change = LineChange::OfVersion { marks, has_outside_title };
    build_new_page(slug, document, provenance, None, (author.clone(), change))
}

/// Returns the provenance of the newest text that stands. If the page was created by what is taken
/// back, and the owner alone wrote what stays, the page is the owner's.
fn standing_provenance(
    reader: &Reader,
    current: &VersionRecord,
    past: &[PastStep],
    is_of_owner: bool,
) -> Result<Provenance, Fault> {
    let newest = past.iter().rev().find(|past_step| past_step.is_standing_write());
    let found = match newest {
        Some(past_step) => version(reader, &current.record, past_step.step.version)?,
        None => None,
    };
    let record = found.map_or_else(|| current.record.clone(), |it| it.record);
    match record.author.clone().filter(|_| is_of_owner) {
        Some(author) => Ok(Provenance {
            source_kind: Some(author.kind.clone()),
            source_uri: Some(author.uri),
            ingested_via: Some(author.kind),
            ingested_at: Some(record.written_at),
        }),
        None => Ok(record.provenance),
    }
}
