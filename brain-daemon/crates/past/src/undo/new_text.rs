//! The text of a page without the versions that are taken back.

use std::collections::{BTreeSet, HashMap, HashSet};

use brain_pages::pages::moved_pages::MovedPages;
use brain_protocol::Fault;
use brain_store::{PageEntry, PageRecord, Reader, StepKind, VersionRecord};

use super::identity::{LineIds, TurnedLink, VersionKind, turn_links};
use super::past_steps::{PastStep, StepRole, is_link_turn, version};
use super::select::is_by_act;
use super::text::{Line, join, lines, reverse};

/// The text of a page after versions of it are taken back.
pub(super) struct NewText {
    pub(super) lines: Vec<Line>,
    /// The version whose text it is, if it is one.
    pub(super) same_as: Option<VersionRecord>,
    /// Whether a version was taken back that created the page.
    pub(super) from_nothing: bool,
    pub(super) conflicts: Vec<String>,
    /// The steps that stay, because the text before them is purged or pruned.
    pub(super) stay: Vec<u64>,
    /// The versions that have a line of it.
    pub(super) sharing: BTreeSet<u32>,
}

/// Takes the selected versions back from the current text, the newest first, each against the
/// version before it.
pub(super) fn new_text(
    reader: &Reader,
    own: &PageEntry,
    current: &VersionRecord,
    past: &[PastStep],
    moved: Option<&MovedPages>,
) -> Result<NewText, Fault> {
    let record = &own.2;
    let lineage = Lineage::of(reader, record, past)?;
    let mut text = NewText {
        lines: lineage.lines(record.version, current),
        same_as: None,
        from_nothing: false,
        conflicts: Vec::new(),
        stay: Vec::new(),
        sharing: BTreeSet::new(),
    };
    // The version that the text is, while nobody else changed it.
    let mut standing = Some(current.clone());
    for (index, past_step) in past.iter().enumerate().rev().filter(|it| is_taken_write(it.1)) {
        let number = past_step.step.version;
        let written = version(reader, record, number)?;
        let parent = match past_step.parent {
            Some(number) => version(reader, record, number)?,
            None => None,
        };
        let (Some(written), true) = (written, parent.is_some() || past_step.parent.is_none())
        else {
            text.stay.push(past_step.seq);
            text.conflicts.push(format!(
                "version {number} stays, because the text before it is purged or pruned"
            ));
            continue;
        };
        let before = match (&parent, past_step.parent) {
            (Some(parent), Some(number)) => lineage.lines(number, parent),
            _ => Vec::new(),
        };
        text.from_nothing |= past_step.parent.is_none();
        if standing.as_ref().is_some_and(|standing| is_same(standing, &written)) {
            text.lines = before;
            text.same_as.clone_from(&parent);
            standing = parent;
            continue;
        }
        (text.same_as, standing) = (None, None);
        let (mut before, written) = (before, lineage.lines(number, &written));
        turn_links(&mut before, &lineage.turned_after(index));
        let turns_links = is_link_turn(reader, past_step.seq, &past_step.step)?;
        let done = reverse(&written, &before, std::mem::take(&mut text.lines), turns_links);
        text.lines = done.lines;
        text.conflicts.extend(done.conflicts);
    }
    text.sharing = lineage.sharing(&text.lines);
    let now: HashSet<u32> =
        lineage.ids.get(&record.version).into_iter().flatten().copied().collect();
    if let Some(moved) = moved
        && turn_to_moved(reader, moved, own, &mut text.lines, |line| !now.contains(&line.id))?
    {
        text.same_as = None;
    }
    Ok(text)
}

/// Returns the versions of a page, from the step `from` on, that have a line of the current text.
pub(super) fn sharing_now(
    reader: &Reader,
    record: &PageRecord,
    past: &[PastStep],
    from: usize,
) -> Result<BTreeSet<u32>, Fault> {
    let lineage = Lineage::since(reader, record, past, from)?;
    let Some(current) = version(reader, record, record.version)? else {
        return Ok(BTreeSet::new());
    };
    Ok(lineage.sharing(&lineage.lines(record.version, &current)))
}

/// Turns links that lead nowhere, in lines that come back, to pages that moved since the lines were
/// removed. Returns whether there was one.
fn turn_to_moved(
    reader: &Reader,
    moved: &MovedPages,
    (source, slug, record): &PageEntry,
    lines: &mut [Line],
    comes_back: impl Fn(&Line) -> bool,
) -> Result<bool, Fault> {
    let may_turn =
        |line: &Line| line.is_text() && line.text.contains([']', '>']) && comes_back(line);
    if !lines.iter().any(may_turn) {
        return Ok(false);
    }
    let (_, body) = join(lines);
    let place = (source, slug, record.source_path.as_str());
    let turned = moved.turn_links(reader, place, &body)?;
    let mut is_turned = false;
    // A link that is turned stays in its line.
    let of_body = lines.iter_mut().filter(|line| !line.is_head());
    for (line, text) in of_body.zip(turned.split_inclusive('\n')) {
        is_turned |= may_turn(line) && line.set_text(text);
    }
    Ok(is_turned)
}

/// Whether both have the same text, by the same authors.
pub(super) fn is_same(a: &VersionRecord, b: &VersionRecord) -> bool {
    a.content == b.content
        && a.record.marks == b.record.marks
        && a.record.provenance == b.record.provenance
}

fn is_taken_write(past_step: &PastStep) -> bool {
    past_step.is_write() && past_step.role == StepRole::Selected
}

/// The lines of a page through its versions.
#[derive(Default)]
struct Lineage {
    /// Ids of the lines of each version.
    ids: HashMap<u32, Vec<u32>>,
    /// Links that moves turned, with the index of the step, oldest first.
    turned: Vec<(usize, TurnedLink)>,
}

impl Lineage {
    /// Follows the lines from the version before the first one that is taken back.
    fn of(reader: &Reader, record: &PageRecord, past: &[PastStep]) -> Result<Self, Fault> {
        match past.iter().position(is_taken_write) {
            Some(first) => Self::since(reader, record, past, first),
            None => Ok(Self::default()),
        }
    }

    /// Follows the lines from the version before the step `first`.
    fn since(
        reader: &Reader,
        record: &PageRecord,
        past: &[PastStep],
        first: usize,
    ) -> Result<Self, Fault> {
        let mut lineage = Self::default();
        let (mut ids, mut last) = (LineIds::default(), None);
        let parent = past.get(first).and_then(|step| step.parent);
        let parent = parent.map(|number| (first, number, VersionKind::Written));
        let later = past.iter().enumerate().skip(first);
        let later = later.map(|(index, step)| (index, step.step.version, kind(step)));
        for (index, number, kind) in parent.into_iter().chain(later) {
            if last.replace(number) == Some(number) {
                continue;
            }
            let Some(version) = version(reader, record, number)? else { continue };
            let mut lines = lines(&version.record, &version.content);
            let turned = ids.follow(&mut lines, kind);
            lineage.turned.extend(turned.into_iter().map(|link| (index, link)));
            lineage.ids.insert(number, lines.iter().map(|line| line.id).collect());
        }
        Ok(lineage)
    }

    /// Returns the lines of a version with their ids.
    fn lines(&self, number: u32, version: &VersionRecord) -> Vec<Line> {
        let mut lines = lines(&version.record, &version.content);
        for (line, id) in lines.iter_mut().zip(self.ids.get(&number).into_iter().flatten()) {
            line.id = *id;
        }
        lines
    }

    /// Returns the versions that have a line of these.
    fn sharing(&self, lines: &[Line]) -> BTreeSet<u32> {
        let ids: HashSet<u32> = lines.iter().filter(|it| it.is_text()).map(|it| it.id).collect();
        let has_one = |of_version: &&Vec<u32>| of_version.iter().any(|id| ids.contains(id));
        let sharing = self.ids.iter().filter(|(_, of_version)| has_one(of_version));
        sharing.map(|(number, _)| *number).collect()
    }

    fn turned_after(&self, index: usize) -> Vec<TurnedLink> {
        let later = self.turned.iter().filter(|(at, _)| *at > index);
        later.map(|(_, link)| link.clone()).collect()
    }
}

fn kind(past_step: &PastStep) -> VersionKind {
    // A page that moved got its own links turned.
    let is_own_move = past_step.step.kind == StepKind::Moved;
    if is_own_move || past_step.role == StepRole::LinkTurn {
        VersionKind::LinkTurn
    } else if is_by_act(&past_step.step) {
        VersionKind::Act
    } else {
        VersionKind::Written
    }
}
