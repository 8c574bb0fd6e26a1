//! Dated lines of one page or of all pages.

use brain_protocol::{
    Fault, FaultCode, PageRef, Slug, SourceId, Timeline, TimelineReply, TimelineRow,
};

use crate::{Caller, PageService};
use brain_base::clock::parse_day;
use brain_store::{PageRecord, TimelineRecord};

const MAX_LIMIT: u32 = 1000;
/// Days are compared as text. These are before and after all others.
const FIRST_DAY: &str = "0000-01-01";
const LAST_DAY: &str = "9999-12-31";

impl PageService {
    pub(crate) fn timeline(
        &self,
        caller: &Caller,
        request: &Timeline,
    ) -> Result<TimelineReply, Fault> {
        let since = check_day(request.since.as_deref(), FIRST_DAY)?;
        let until = check_day(request.until.as_deref(), LAST_DAY)?;
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let reader = self.store.read(caller.visibility())?;
        let mut entries = Vec::new();
        if let Some(slug) = &request.slug {
            let page = PageRef { source: request.source.clone(), slug: slug.clone() };
            let (source, record) = self.active(caller, &reader, &page)?;
            let mut found = reader.derived(record.id)?.timeline;
            found.retain(|entry| (since..=until).contains(&entry.date.as_str()));
            found.sort_by(|a, b| b.date.cmp(&a.date));
            entries.extend(
                found.into_iter().map(|entry| row(entry, slug.clone(), source.clone(), &record)),
            );
        } else {
            let only = match &request.source {
                Some(_) => {
                    Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0)
                }
                None => None,
            };
            // The dated lines of a page are read once, not once for each line.
            let mut last: Option<(u64, Vec<TimelineRecord>)> = None;
            reader.timeline(since, until, |(source, slug, record), position| {
                if only.as_ref().is_some_and(|s| s != source) {
                    return Ok(true);
                }
                if last.as_ref().is_none_or(|(id, _)| *id != record.id) {
                    last = Some((record.id, reader.derived(record.id)?.timeline));
                }
                let entry = last.as_ref().and_then(|(_, lines)| lines.get(position)).cloned();
                entries.extend(entry.map(|entry| row(entry, slug.clone(), source.clone(), record)));
                Ok(entries.len() <= limit)
            })?;
        }
        let truncated = entries.len() > limit;
        entries.truncate(limit);
        Ok(TimelineReply { entries, truncated })
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

fn row(entry: TimelineRecord, slug: Slug, source_id: SourceId, page: &PageRecord) -> TimelineRow {
    let source_kind = page.provenance.source_kind.clone();
    TimelineRow {
        date: entry.date,
        text: entry.text,
        source: entry.source,
        slug,
        source_id,
        source_kind,
    }
}
