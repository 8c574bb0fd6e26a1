//! The days of a page for the index: those that it states and mentions, and those on which it was
//! written.

use std::collections::BTreeSet;

use brain_base::clock::zone;
use brain_page::{mentioned_dates, page_dates, page_months};
use brain_protocol::Slug;
use brain_search::{DayRole, PageDays};
use brain_store::{Content, PageRecord};
use jiff::Timestamp;
use jiff::civil::Date;

/// Maximum number of days of a timeline that are indexed.
const MAX_TIMELINE: usize = 1_000;

/// Returns the days of a page. If it states a day of its own, those of its timeline are only
/// mentioned. A day that the page states or lists is not mentioned once more.
pub(super) fn page_days(slug: &Slug, record: &PageRecord, content: &Content) -> Vec<PageDays> {
    let stated = page_dates(slug, &record.title, &content.frontmatter);
    let timeline = content.body.timeline().iter();
    let timeline: BTreeSet<Date> =
        timeline.filter_map(|entry| entry.date.parse().ok()).take(MAX_TIMELINE).collect();
    let of_timeline = match stated.is_empty() {
        true => DayRole::Listed,
        false => DayRole::Mentioned,
    };
    let is_known = |day: &Date| stated.contains(day) || timeline.contains(day);
    let mentioned = mentioned_dates(&content.body).into_iter();
    let mentioned = mentioned.filter(|(first, last)| first != last || !is_known(first));
    let written = [record.created_at, record.updated_at].into_iter().filter_map(local_date);
    let days = |role: DayRole| move |(first, last): (Date, Date)| PageDays { first, last, role };
    let one = |day: Date| (day, day);
    let months = page_months(slug, &record.title).into_iter().map(|day| (day, day.last_of_month()));
    let mut all: Vec<PageDays> =
        stated.iter().copied().map(one).chain(months).map(days(DayRole::Stated)).collect();
    let listed = timeline.iter().filter(|day| !stated.contains(day));
    all.extend(listed.copied().map(one).map(days(of_timeline)));
    all.extend(mentioned.map(days(DayRole::Mentioned)));
    all.extend(written.map(one).map(days(DayRole::Written)));
    all
}

/// Returns the local day of Unix milliseconds.
fn local_date(ms: i64) -> Option<Date> {
    Some(Timestamp::from_millisecond(ms).ok()?.to_zoned(zone()).date())
}
