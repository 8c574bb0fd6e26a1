//! `why`: a page's life in order, and who changed which line last.

use std::collections::HashMap;

use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_page::changed_lines;
use brain_pages::provenance::{author_name, author_of};
use brain_protocol::{Doer, Fault, LifeStep, LineOrigin, PageRef, Slug, Why, WhyReply};
use brain_store::{
    Origin, PageRecord, Reader, StepKind, StepRecord, StoreError, VersionRecord, unless_damaged,
};

use crate::PastService;
use crate::steps::{doer, event, hide_numbers, is_run_of_act};

/// Maximum number of lines in a reply.
const MAX_LINES: usize = 2000;
/// Maximum bytes of text that one request compares. The versions before have no counts, and their
/// lines count as those of the oldest version that is compared.
const MAX_COMPARED: usize = 32 << 20;

/// A version of the page, with what is known of its writing.
struct Version {
    number: u32,
    /// Its text, if it is compared.
    text: Option<String>,
    by: Doer,
    /// Whether the page had this text. Otherwise it was kept beside it: the text of a merged page,
    /// or of a conflict.
    was_current: bool,
}

impl PastService {
    /// Returns the life of a page.
    ///
    /// # Errors
    /// `not_found`, `purged`, `ambiguous_slug`, or the store fails.
    pub fn why(&self, caller: &Caller, request: &Why) -> Result<WhyReply, Fault> {
        let reader = self.read(caller.visibility())?;
        let (source, slug, record) = self.pages.find_past(caller, &reader, &request.page)?;
        let mut steps = reader.steps_back(record.seq)?;
        steps.reverse();
        let versions = versions(&reader, &record, &steps)?;
        let (counts, blame) = compare(&versions);
        let life = steps
            .iter()
            .map(|(seq, step)| life_step(&reader, *seq, step, &versions, &counts))
            .collect::<Result<_, Fault>>()?;
        let made = reader.made_from(record.id)?.into_iter();
        let made = made
            .filter_map(|id| reader.by_id_including_deleted(id).transpose())
            .map(|found| found.map(|(source, slug, _)| PageRef::new(&source, &slug)))
            .collect::<Result<_, StoreError>>()?;
        let wanted = request.line.as_deref().map(str::to_lowercase);
        let last = versions.last().and_then(|last| last.text.as_deref());
        let lines = last.map(str::lines).into_iter().flatten();
        let lines = lines
            .zip(blame)
            .zip(1..)
            .filter(|((text, _), _)| {
                wanted.as_ref().is_none_or(|wanted| text.to_lowercase().contains(wanted))
            })
            .take(MAX_LINES)
            .filter_map(|((text, index), line)| {
                let Version { number, by, .. } = versions.get(index)?;
                Some(LineOrigin { line, text: text.to_owned(), version: *number, by: by.clone() })
            })
            .collect();
        let deleted = record.deleted_at.is_some();
        let mut reply = WhyReply { slug, source_id: source, deleted, steps: life, lines, made };
        hide_numbers(caller, reply.steps.iter_mut().map(|step| &mut step.by));
        hide_numbers(caller, reply.lines.iter_mut().map(|line| &mut line.by));
        Ok(reply)
    }
}

/// Returns all versions of the page that can be read, oldest first. Only as many of the newest ones
/// as are compared have their texts.
fn versions(
    reader: &Reader,
    record: &PageRecord,
    steps: &[(u64, StepRecord)],
) -> Result<Vec<Version>, Fault> {
    let wrote: HashMap<u32, (u64, &StepRecord)> = steps
        .iter()
        .filter(|(_, step)| {
            matches!(step.kind, StepKind::Created | StepKind::Written | StepKind::Moved)
        })
        .rev()
        .map(|(seq, step)| (step.version, (*seq, step)))
        .collect();
    let mut numbers: Vec<u32> =
        reader.versions(record.id)?.iter().map(|version| version.version).collect();
    numbers.insert(0, record.version);
    let mut out = Vec::with_capacity(numbers.len());
    let mut budget = Some(MAX_COMPARED);
    for number in numbers {
        let Some(version) = unless_damaged(reader.any_version(record.id, number))?.flatten() else {
            continue;
        };
        let by = wrote.get(&number).map_or_else(
            || doer_of_version(&version),
            |(seq, step)| doer(*seq, step, Some(&version)),
        );
        let was_current = wrote.contains_key(&number);
        let text = version.content.file_text();
        budget = budget.and_then(|budget| budget.checked_sub(text.len()));
        out.push(Version { number, text: budget.map(|_| text), by, was_current });
    }
    out.reverse();
    Ok(out)
}

/// Added and removed lines, by version.
type LineCounts = HashMap<u32, (u64, u64)>;

/// Compares each version with the one before it. Returns the counts, and for each line of the last
/// version the index of the version that has it first. A line that arrives from a text that was
/// kept beside the page is of that text.
fn compare(versions: &[Version]) -> (LineCounts, Vec<usize>) {
    let mut counts = LineCounts::new();
    let compared =
        |index: usize| Some((index, versions.get(index)?, versions[index].text.as_deref()?));
    let mut origins: Vec<usize> = Vec::new();
    let mut text = "";
    let mut beside: HashMap<&str, usize> = HashMap::new();
    for (index, version, new_text) in (0..versions.len()).filter_map(compared) {
        if !version.was_current {
            for line in new_text.lines() {
                beside.entry(line).or_insert(index);
            }
            continue;
        }
        // Lines that an undo brings back are of those who wrote them.
        if version.by.run.as_deref().is_some_and(is_run_of_act) {
            for (index, _, former) in (0..index).filter_map(compared) {
                for line in former.lines() {
                    beside.entry(line).or_insert(index);
                }
            }
        }
        let lines: Vec<&str> = new_text.lines().collect();
        let (mut added, mut removed) = (0, 0);
        // From the end, so that the places of earlier differences stay.
        for change in changed_lines(text, new_text).into_iter().rev() {
            added += change.new.len() as u64;
            removed += change.old.len() as u64;
            let new = lines.get(change.new).unwrap_or_default().iter();
            origins.splice(change.old, new.map(|line| beside.get(line).copied().unwrap_or(index)));
        }
        counts.insert(version.number, (added, removed));
        text = new_text;
        beside.clear();
    }
    (counts, origins)
}

fn life_step(
    reader: &Reader,
    seq: u64,
    step: &StepRecord,
    versions: &[Version],
    counts: &LineCounts,
) -> Result<LifeStep, Fault> {
    let version = versions.iter().find(|version| version.number == step.version);
    let wrote = version.is_some_and(|version| version.by.change == seq);
    let by = match version {
        Some(version) if wrote => version.by.clone(),
        _ => doer(seq, step, None),
    };
    let slug = Slug::parse(step.slug.clone())
        .map_err(|e| StoreError::Damaged(format!("step {seq}: {e}")))?;
    let count = counts.get(&step.version).filter(|_| wrote);
    Ok(LifeStep {
        event: event(step.kind),
        by,
        version: step.version,
        slug,
        made_from: step
            .made_from
            .iter()
            .map(|origin| origin_name(reader, origin))
            .collect::<Result<_, StoreError>>()?,
        added: count.map(|count| count.0),
        removed: count.map(|count| count.1),
    })
}

/// Returns the name of what a text was made from. A page that the caller cannot see, or that was
/// purged, has none.
fn origin_name(reader: &Reader, origin: &Origin) -> Result<String, StoreError> {
    Ok(match origin {
        Origin::Address(address) => address.clone(),
        Origin::Page { id, version } => match reader.by_id_including_deleted(*id)? {
            Some((source, slug, _)) => format!("{}@{version}", PageRef::new(&source, &slug)),
            None => "a page that is not there".to_owned(),
        },
    })
}

/// Returns who wrote a version that no step of the page wrote: a text that was kept, or one of a
/// merged page.
fn doer_of_version(version: &VersionRecord) -> Doer {
    let author = author_of(&version.record);
    Doer {
        at: rfc3339(version.record.written_at),
        door: author.as_ref().map(|author| author.kind.clone()).unwrap_or_default(),
        author: author.as_ref().map(author_name),
        ..Doer::default()
    }
}
