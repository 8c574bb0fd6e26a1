//! `diff --since`: what changed in the whole brain in a period.
//!
//! A change belongs to the period by the time of its step, which never is before that of the step
//! before on its machine. Changes are listed in the order of their numbers, whatever the clocks
//! said.

use std::cmp::Reverse;
use std::collections::HashMap;

use brain_base::caller::Caller;
use brain_base::clock::{end_instant_argument, instant_argument, rfc3339};
use brain_page::unified_diff;
use brain_protocol::{
    ChangeStep, Changes, ChangesReply, Fault, FaultCode, PageChanges, Slug, SourceId,
};
use brain_service::NumberCipher;
use brain_store::{Reader, StepKind, StepRecord, StoreError, unless_damaged};

use crate::PastService;
use crate::steps::{doer, event, hide_numbers};

/// Maximum number of pages in a reply.
const MAX_PAGES: u32 = 1000;
/// Maximum bytes of differences in a reply. Pages after that have counts of lines only.
const MAX_DIFF_BYTES: usize = 1_000_000;

impl PastService {
    /// Returns the pages that changed in a period, that with the newest change first. The cursors
    /// of restricted callers are encrypted, because they count the changes of all sources.
    ///
    /// # Errors
    /// `usage` if a time cannot be read, the period ends before it begins, or `before` is no
    /// cursor; `unknown_source`; the store cannot be read.
    pub fn changes(&self, caller: &Caller, request: &Changes) -> Result<ChangesReply, Fault> {
        if caller.sees_all() {
            return self.changes_before(caller, request, request.before);
        }
        let cipher = NumberCipher::of(self.store.number_key());
        let bad_cursor = || Fault::new(FaultCode::Usage, "\"before\" is no cursor of a list");
        let before = request.before.map(|it| cipher.decrypt(it).ok_or_else(bad_cursor));
        let mut reply = self.changes_before(caller, request, before.transpose()?)?;
        reply.next = reply.next.map(|next| cipher.encrypt(next));
        for page in &mut reply.pages {
            hide_numbers(caller, page.steps.iter_mut().map(|step| &mut step.by));
        }
        Ok(reply)
    }

    fn changes_before(
        &self,
        caller: &Caller,
        request: &Changes,
        before: Option<u64>,
    ) -> Result<ChangesReply, Fault> {
        let now = self.clock.now();
        let since = instant_argument(Some(&request.since))?.unwrap_or(i64::MIN);
        let until = end_instant_argument(request.until.as_deref())?.unwrap_or(now).min(now);
        // Until now, changes of a machine whose clock is ahead count, too.
        let last_step = if until == now { i64::MAX } else { until };
        if since > until {
            let message =
                format!("the period begins on {}, which is after its end", rfc3339(since));
            return Err(Fault::new(FaultCode::Usage, message).hint("choose an earlier time"));
        }
        let reader = self.read(caller.visibility())?;
        let source = match &request.source {
            Some(named) => Some(brain_pages::sources::resolve(caller, &reader, Some(named))?.0),
            None => None,
        };
        let (mut pages, total) = changed_pages(&reader, (since, last_step), source.as_ref())?;
        pages.sort_unstable_by_key(|numbers| Reverse(numbers.last().copied()));
        let limit = request.limit.clamp(1, MAX_PAGES) as usize;
        pages.retain(|numbers| {
            before.is_none_or(|before| numbers.last().is_some_and(|last| *last < before))
        });
        let has_more = pages.len() > limit;
        pages.truncate(limit);
        let next = pages.last().and_then(|numbers| numbers.last().copied()).filter(|_| has_more);
        let mut budget = MAX_DIFF_BYTES;
        let pages = pages
            .iter()
            .map(|numbers| page_changes(&reader, numbers, &mut budget))
            .collect::<Result<_, Fault>>()?;
        Ok(ChangesReply { since: rfc3339(since), until: rfc3339(until), pages, total, next })
    }
}

/// Returns the numbers of the steps of each page that changed in the period, in order, and the
/// number of such pages.
fn changed_pages(
    reader: &Reader,
    (since, until): (i64, i64),
    source: Option<&SourceId>,
) -> Result<(Vec<Vec<u64>>, u64), StoreError> {
    let mut steps: HashMap<u64, Vec<u64>> = HashMap::new();
    reader.each_step_head(0, |number, step| {
        if (since..=until).contains(&step.at) {
            steps.entry(step.page).or_default().push(number);
        }
        true
    })?;
    let mut pages = Vec::with_capacity(steps.len());
    for numbers in steps.into_values() {
        let last = numbers.last().copied().unwrap_or_default();
        // Only pages of sources that the caller can see.
        if let Some(step) = reader.step(last)?
            && source.is_none_or(|source| source.as_str() == step.source)
        {
            pages.push(numbers);
        }
    }
    let total = pages.len() as u64;
    Ok((pages, total))
}

/// Returns what the steps with these numbers, of one page, did.
fn page_changes(
    reader: &Reader,
    numbers: &[u64],
    budget: &mut usize,
) -> Result<PageChanges, Fault> {
    let missing = || StoreError::Damaged("a step is missing".to_owned());
    let mut steps = Vec::with_capacity(numbers.len());
    for number in numbers {
        steps.push((*number, reader.step(*number)?.ok_or_else(missing)?));
    }
    let (Some((_, first)), Some((_, last))) = (steps.first(), steps.last()) else {
        return Err(missing().into());
    };
    let name = |text: &str| {
        Slug::parse(text).map_err(|e| StoreError::Damaged(format!("name of a step: {e}")))
    };
    let source_id = SourceId::parse(last.source.clone())
        .map_err(|e| StoreError::Damaged(format!("source of a step: {e}")))?;
    let former = reader.step(first.previous)?;
    let is_purged = last.kind == StepKind::Purged;
    let slug = if is_purged { None } else { Some(name(&last.slug)?) };
    let former_slug = former.as_ref().filter(|former| former.slug != last.slug);
    let former_slug = former_slug.map(|former| name(&former.slug)).transpose()?;
    let mut changes = PageChanges {
        slug,
        source_id,
        former_slug,
        steps: steps.iter().map(|(number, step)| change_step(*number, step)).collect(),
        added: None,
        removed: None,
        diff: String::new(),
    };
    let is_deleted = reader.deleted_at_step(last)?.is_some();
    if !is_deleted && !is_purged {
        compare(reader, former.as_ref(), last, &mut changes, budget)?;
    }
    Ok(changes)
}

fn change_step(number: u64, step: &StepRecord) -> ChangeStep {
    ChangeStep { event: event(step.kind), by: doer(number, step, None), version: step.version }
}

/// Compares the text before the period with that after it, if both are kept.
fn compare(
    reader: &Reader,
    former: Option<&StepRecord>,
    last: &StepRecord,
    changes: &mut PageChanges,
    budget: &mut usize,
) -> Result<(), Fault> {
    let text = |step: Option<&StepRecord>| -> Result<Option<String>, StoreError> {
        let Some(step) = step else { return Ok(Some(String::new())) };
        let version = unless_damaged(reader.any_version(step.page, step.version))?.flatten();
        Ok(version.map(|version| version.content.file_text()))
    };
    let (Some(before), Some(after)) = (text(former)?, text(Some(last))?) else { return Ok(()) };
    let version = |step: &StepRecord| format!("{}@{}", step.slug, step.version);
    let names = (former.map_or_else(|| "/dev/null".to_owned(), version), version(last));
    let Some(diff) = unified_diff(&before, &after, (&names.0, &names.1)) else { return Ok(()) };
    (changes.added, changes.removed) = (Some(diff.added), Some(diff.removed));
    if let Some(left) = budget.checked_sub(diff.text.len()) {
        (*budget, changes.diff) = (left, diff.text);
    }
    Ok(())
}
