//! Everything dated, newest first.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use brain_core::Brain;
use brain_protocol::{
    Fault, FaultCode, SourceId, Timeline, TimelineReply, TimelineRow, TrustLevel,
};
use maud::{Markup, html};

use crate::layout::{self, Screen};
use crate::page_path::page_path;
use crate::results::day;
use crate::session::Session;
use crate::text::Text;

/// The path of the screen.
pub(crate) const PATH: &str = "/web/timeline";
/// Entries on one screen.
const LIMIT: u32 = 100;

/// The part of the timeline that an address names.
#[derive(Default)]
struct Period {
    source: String,
    since: String,
    until: String,
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
                "page" => period.page = value.parse::<u32>().unwrap_or(1).clamp(1, 10_000),
                _ => {}
            }
        }
        period
    }

    fn path(&self, page: u32) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let fields = [("source", &self.source), ("since", &self.since), ("until", &self.until)];
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        query.append_pair("page", &page.to_string());
        format!("{PATH}?{}", query.finish())
    }

    fn request(&self) -> Result<Timeline, Fault> {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let source = given(&self.source).map(|text| {
            SourceId::parse(&text)
                .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))
        });
        Ok(Timeline {
            source: source.transpose()?,
            slug: None,
            since: given(&self.since),
            until: given(&self.until),
            limit: LIMIT,
            skip: (self.page - 1) * LIMIT,
        })
    }
}

/// `GET /web/timeline?source=…&since=…&until=…&page=N`
pub(crate) async fn show(State(brain): State<Arc<Brain>>, uri: Uri, session: Session) -> Response {
    let period = Period::parse(uri.query().unwrap_or_default());
    let work = async { session.ask(&brain, period.request()?).await };
    match work.await {
        Ok(reply) => {
            let body = screen(&period, &reply);
            Screen { path: PATH, ..Screen::new(&session, "Timeline", body) }.respond()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

fn screen(period: &Period, reply: &TimelineReply) -> Markup {
    html! {
        h1 { "Timeline" }
        form class="row period" action=(PATH) {
            label { "From " input type="date" name="since" value=(Text(&period.since)); }
            label { "to " input type="date" name="until" value=(Text(&period.until)); }
            @if !period.source.is_empty() {
                input type="hidden" name="source" value=(Text(&period.source));
            }
            button { "Show" }
        }
        @if reply.entries.is_empty() { p { "Nothing is dated here." } }
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

fn row(entry: &TimelineRow, is_new_day: bool) -> Markup {
    let name = format!("{}:{}", entry.source_id, entry.slug);
    html! {
        li class={ "entry" @if !is_new_day { " same" } } {
            span class="date" { (day(&entry.date)) }
            div {
                span dir="auto" { (Text(&entry.text)) } " "
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
    fn a_period_survives_its_address() {
        let period = Period::parse("since=2026-01-01&until=&source=a%20b&page=3");
        assert_eq!(period.path(4), "/web/timeline?source=a+b&since=2026-01-01&page=4");
        assert!(period.request().is_err(), "no such source");
        let period = Period::parse("page=0");
        assert_eq!(period.page, 1);
    }
}
