//! Dated lines of one page or of all pages.

use brain_protocol::{
    DayCount, Fault, FaultCode, PageRef, Slug, SourceId, Timeline, TimelineDays, TimelineDaysReply,
    TimelineReply, TimelineRow, TrustLevel,
};

use crate::pages::PageService;
use crate::provenance::{marked_lines, trust_of};
use brain_base::caller::Caller;
use brain_base::clock::parse_day;
use brain_page::{TimelineEntry, split_marked, timeline};
use brain_store::{PageRecord, Reader, StoreError};

const MAX_LIMIT: u32 = 1000;
/// The first and the last possible day. Days are compared as text.
const FIRST_DAY: &str = "0000-01-01";
const LAST_DAY: &str = "9999-12-31";

impl PageService {
    /// Lists the dated lines of a page, or of all pages.
    pub fn timeline(&self, caller: &Caller, request: &Timeline) -> Result<TimelineReply, Fault> {
        let since = check_day(request.since.as_deref(), FIRST_DAY)?;
        let until = check_day(request.until.as_deref(), LAST_DAY)?;
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let mut to_skip = request.skip as usize;
        let reader = self.store.read(caller.visibility())?;
        let mut entries = Vec::new();
        if let Some(slug) = &request.slug {
            let page = PageRef { source: request.source.clone(), slug: slug.clone() };
            let (source, slug, record) = self.find(caller, &reader, &page)?;
            let mut found = reader.derived(record.id)?.timeline;
            found.retain(|entry| (since..=until).contains(&entry.date.as_str()));
            found.sort_by(|a, b| b.date.cmp(&a.date));
            let outside = outside_entries(&reader, &record)?;
            let path = self.files.visible_path(caller, &source, &record);
            entries.extend(found.into_iter().skip(to_skip).map(|entry| {
                let row = row(entry, slug.clone(), source.clone(), &record, &outside);
                TimelineRow { path: path.clone(), ..row }
            }));
        } else {
            let only_source = match &request.source {
                Some(_) => {
                    Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0)
                }
                None => None,
            };
            // Successive lines of the same page need one read of its dated lines.
            let mut last: Option<(u64, Vec<TimelineEntry>, Vec<TimelineEntry>)> = None;
            reader.timeline(since, until, |(source, slug, record), position| {
                if only_source.as_ref().is_some_and(|only| only != source) {
                    return Ok(true);
                }
                if to_skip > 0 {
                    to_skip -= 1;
                    return Ok(true);
                }
                if last.as_ref().is_none_or(|(id, ..)| *id != record.id) {
                    let outside = outside_entries(&reader, record)?;
                    last = Some((record.id, reader.derived(record.id)?.timeline, outside));
                }
                if let Some((_, lines, outside)) = &last
                    && let Some(entry) = lines.get(position).cloned()
                {
                    let row = row(entry, slug.clone(), source.clone(), record, outside);
                    let path = self.files.visible_path(caller, source, record);
                    entries.push(TimelineRow { path, ..row });
                }
                Ok(entries.len() <= limit)
            })?;
        }
        let truncated = entries.len() > limit;
        entries.truncate(limit);
        Ok(TimelineReply { entries, truncated })
    }
}

impl PageService {
    /// Counts the dated lines of each day. Reads no text.
    pub fn timeline_days(
        &self,
        caller: &Caller,
        request: &TimelineDays,
    ) -> Result<TimelineDaysReply, Fault> {
        let since = check_day(request.since.as_deref(), FIRST_DAY)?;
        let until = check_day(request.until.as_deref(), LAST_DAY)?;
        let reader = self.store.read(caller.visibility())?;
        let only_source = match &request.source {
            Some(_) => Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0),
            None => None,
        };
        if since > until {
            let none = TimelineDaysReply { days: Vec::new(), before: None, after: None };
            return Ok(none);
        }
        let found = reader.timeline_days(since, until, |(source, _, _)| {
            only_source.as_ref().is_none_or(|only| only == source)
        })?;
        let days = found.days.into_iter().map(|(date, entries)| DayCount { date, entries });
        let (before, after) = (found.before, found.after);
        Ok(TimelineDaysReply { days: days.collect(), before, after })
    }
}

fn check_day<'a>(day: Option<&'a str>, default: &'a str) -> Result<&'a str, Fault> {
    match day {
        None => Ok(default),
        Some(text) if parse_day(text).is_some() => Ok(text),
        Some(text) => {
            Err(Fault::new(FaultCode::Usage, format!("\"{}\" is not a day", text.escape_debug()))
                .hint("write it as YYYY-MM-DD"))
        }
    }
}

/// Returns the dated entries in the lines of a page that are marked as being from outside.
pub(super) fn outside_entries(
    reader: &Reader,
    page: &PageRecord,
) -> Result<Vec<TimelineEntry>, StoreError> {
    if page.marks.is_empty() {
        return Ok(Vec::new());
    }
    let content = reader.content(page)?;
    let (text, marks) = (content.file_text(), marked_lines(&page.marks));
    let parts = split_marked(&text, 1, &marks).into_iter();
    Ok(parts.filter(|(mark, _)| mark.is_some()).flat_map(|(_, part)| timeline(part)).collect())
}

/// Returns a dated line as a row of a reply, without the path of its file. `outside` has the
/// entries of the page that are from outside.
pub(super) fn row(
    entry: TimelineEntry,
    slug: Slug,
    source_id: SourceId,
    page: &PageRecord,
    outside: &[TimelineEntry],
) -> TimelineRow {
    let source_kind = page.provenance.source_kind.clone();
    let is_outside = outside.iter().any(|it| it.date == entry.date && it.text == entry.text);
    let trust = match trust_of(page) {
        TrustLevel::Mixed if is_outside => TrustLevel::Outside,
        TrustLevel::Mixed => TrustLevel::Owner,
        other => other,
    };
    TimelineRow {
        date: entry.date,
        text: entry.text,
        source: entry.source,
        slug,
        source_id,
        source_kind,
        trust,
        path: None,
    }
}
