//! The timeline screen: a calendar of one year, then dated entries, newest first.

mod calendar;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use brain_base::clock::day as today;
use brain_core::Door;
use brain_page::plain_sentence;
use brain_protocol::{
    Fault, FaultCode, SourceId, Timeline, TimelineDays, TimelineDaysReply, TimelineReply,
    TimelineRow, TrustLevel,
};
use maud::{Markup, html};

use crate::layout::{self, Screen};
use crate::navigation::TIMELINE;
use crate::page_path::page_path;
use crate::results::day;
use crate::session::Session;
use crate::text::{MAX_LINE, Text};
use calendar::calendar;

/// Maximum number of entries on one screen.
const LIMIT: u32 = 100;

/// Returns the path of the timeline of a day.
fn day_path(day: &str, source: &str) -> String {
    query_path(&[("day", day), ("source", source)])
}

/// Returns the path of the timeline of a year.
fn year_path(year: &str, source: &str) -> String {
    let (since, until) = (format!("{year}-01-01"), format!("{year}-12-31"));
    query_path(&[("since", &since), ("until", &until), ("source", source)])
}

fn query_path(fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
    format!("{TIMELINE}?{}", query.finish())
}

/// The part of the timeline that a URL selects.
#[derive(Default)]
struct Period {
    /// The id of the source; empty for all.
    source: String,
    /// The first day, `YYYY-MM-DD`, or empty.
    since: String,
    /// The last day, `YYYY-MM-DD`, or empty.
    until: String,
    /// The part of the list, from 1.
    page: u32,
}

impl Period {
    fn parse(query: &str) -> Self {
        let mut period = Self { page: 1, ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.trim().to_owned();
            match &*name {
                "source" => period.source = value,
                "since" => period.since = value,
                "until" => period.until = value,
                "day" => (period.since, period.until) = (value.clone(), value),
                "page" => period.page = value.parse::<u32>().unwrap_or(1).clamp(1, 10_000),
                _ => {}
            }
        }
        period
    }

    fn path(&self, page: u32) -> String {
        query_path(&[
            ("source", &self.source),
            ("since", &self.since),
            ("until", &self.until),
            ("page", &page.to_string()),
        ])
    }

    /// Returns the year of the calendar: of the end of the period, else of its start, else of
    /// `today`.
    fn year(&self, today: &str) -> i16 {
        let days = [self.until.as_str(), self.since.as_str(), today];
        let years = days.iter().filter_map(|day| day.get(..4)?.parse().ok());
        years.into_iter().next().unwrap_or(0)
    }

    /// Returns the day, if the period is a single day.
    fn single_day(&self) -> Option<&str> {
        Some(self.since.as_str()).filter(|since| !since.is_empty() && *since == self.until)
    }

    fn heading(&self) -> String {
        match (self.since.as_str(), self.until.as_str()) {
            ("", "") => "Newest first".into(),
            (since, until) if since == until => since.into(),
            (since, "") => format!("Since {since}"),
            ("", until) => format!("Until {until}"),
            (since, until) => format!("{since} to {until}"),
        }
    }

    fn source_id(&self) -> Result<Option<SourceId>, Fault> {
        let source = Some(&self.source).filter(|text| !text.is_empty());
        let parse = |text: &String| {
            SourceId::parse(text)
                .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))
        };
        source.map(parse).transpose()
    }

    fn request(&self) -> Result<Timeline, Fault> {
        let non_empty = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Ok(Timeline {
            source: self.source_id()?,
            slug: None,
            since: non_empty(&self.since),
            until: non_empty(&self.until),
            limit: LIMIT,
            skip: (self.page - 1) * LIMIT,
        })
    }
}

/// `GET /web/timeline?source=…&since=…&until=…&page=N`, or with `day=…` for a single day.
pub(crate) async fn show(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
    let period = Period::parse(uri.query().unwrap_or_default());
    let year = period.year(&today(brain.now()));
    let work = async {
        let entries = session.run(&brain, period.request()?).await?;
        let days = TimelineDays {
            source: period.source_id()?,
            since: Some(format!("{year:04}-01-01")),
            until: Some(format!("{year:04}-12-31")),
        };
        Ok((entries, session.run(&brain, days).await?))
    };
    match work.await {
        Ok((entries, days)) => {
            let body = screen(&period, year, &entries, &days);
            Screen { path: TIMELINE, ..Screen::new(&session, "Timeline", body) }.respond()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

fn screen(period: &Period, year: i16, reply: &TimelineReply, days: &TimelineDaysReply) -> Markup {
    html! {
        div class="full" {
            h1 { "Timeline" }
            form class="row period" action=(TIMELINE) {
                label { "From " input type="date" name="since" value=(Text(&period.since)); }
                label { "to " input type="date" name="until" value=(Text(&period.until)); }
                @if !period.source.is_empty() {
                    input type="hidden" name="source" value=(Text(&period.source));
                }
                button { "Show" }
            }
            (calendar(year, &period.source, period.single_day(), days))
            h2 { (Text(&period.heading())) }
            @if reply.entries.is_empty() {
                p {
                    "Nothing is dated here. Lines such as " code { "- 2026-01-31 | It began" }
                    " in a page appear in the timeline."
                }
             }
            ol class="hits" {
                @for (at, entry) in reply.entries.iter().enumerate() {
                    @let is_new = at == 0 || reply.entries[at - 1].date != entry.date;
                    (row(entry, is_new))
                }
            }
            p class="row" {
                @if period.page > 1 { a href=(Text(&period.path(period.page - 1))) { "Newer" } }
                @if reply.truncated { a href=(Text(&period.path(period.page + 1))) { "Older" } }
            }
        }
    }
}

fn row(entry: &TimelineRow, is_new_day: bool) -> Markup {
    let name = format!("{}:{}", entry.source_id, entry.slug);
    html! {
        li class={ "entry" @if !is_new_day { " same" } } {
            span class="date" { (day(&entry.date)) }
            div {
                span dir="auto" { (Text(&plain_sentence(&entry.text, MAX_LINE))) } " "
                span class="facts" {
                    a href=(Text(&page_path(&name))) { (Text(entry.slug.as_str())) }
                    @if let Some(source) = &entry.source { " · " bdi { (Text(source)) } }
                    @if entry.trust == TrustLevel::Outside {
                        " · " span class="outside" { "from outside" }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_round_trips_through_its_url() {
        let period = Period::parse("since=2026-01-01&until=&source=a%20b&page=3");
        assert_eq!(period.path(4), "/web/timeline?source=a+b&since=2026-01-01&page=4");
        assert!(period.request().is_err(), "no such source");
        let period = Period::parse("page=0");
        assert_eq!(period.page, 1);
        assert_eq!((period.year("2026-11-25"), period.single_day()), (2026, None));
        let period = Period::parse("day=2024-02-29");
        assert_eq!((period.year("2026-11-25"), period.single_day()), (2024, Some("2024-02-29")));
        assert_eq!(Period::parse("since=%3Cb%3E").year("2026-11-25"), 2026);
        assert_eq!(day_path("2024-02-29", ""), "/web/timeline?day=2024-02-29");
    }
}
