//! The start screen: a search whose results appear as the owner types.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse as _, Response};
use brain_base::clock::rfc3339;
use brain_core::Brain;
use brain_protocol::{
    Complete, CompletionKind, Fault, Hits, List, Pages, Search, SourceId, TagCounts, Tags,
    TagsReply,
};
use maud::{Markup, html};

use crate::layout::{self, Screen, csrf};
use crate::results;
use crate::session::Session;
use crate::text::Text;

/// Maximum number of results on one screen.
const LIMIT: u32 = 30;
/// Maximum number of tags that a search without words offers.
const TAGS: usize = 24;
/// Maximum number of completions of a link.
const COMPLETIONS: usize = 12;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The periods of the date filter: value, name and days.
pub(crate) const PERIODS: [(&str, &str, i64); 4] = [
    ("day", "Past day", 1),
    ("week", "Past week", 7),
    ("month", "Past month", 30),
    ("year", "Past year", 365),
];

/// A search with its filters, as the URL contains it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SearchQuery {
    pub(crate) text: String,
    pub(crate) page_type: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) tags: Vec<String>,
    /// A value of [`PERIODS`].
    pub(crate) period: Option<String>,
    /// The first day, `YYYY-MM-DD`. It replaces the period.
    pub(crate) since: Option<String>,
    /// The last day, `YYYY-MM-DD`.
    pub(crate) until: Option<String>,
    /// Whether the results have scores.
    pub(crate) explain: bool,
    /// Whether the text is still being typed.
    pub(crate) is_typing: bool,
}

impl SearchQuery {
    /// Parses the query of a URL. Unknown fields are ignored.
    pub(crate) fn parse(query: &str) -> Self {
        let mut question = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.trim().to_owned();
            match &*name {
                "q" => question.text = value,
                _ if value.is_empty() => {}
                "type" => question.page_type = Some(value),
                "source" => question.source = Some(value),
                "tag" if !question.tags.contains(&value) => question.tags.push(value),
                "when" => question.period = Some(value),
                "since" => question.since = Some(value),
                "until" => question.until = Some(value),
                "explain" => question.explain = true,
                "typing" => question.is_typing = true,
                _ => {}
            }
        }
        question
    }

    /// Returns the fields and values, apart from the text.
    pub(crate) fn filters(&self) -> Vec<(&'static str, &str)> {
        let mut filters: Vec<(&'static str, &str)> = Vec::new();
        filters.extend(self.page_type.iter().map(|value| ("type", value.as_str())));
        filters.extend(self.source.iter().map(|value| ("source", value.as_str())));
        filters.extend(self.tags.iter().map(|value| ("tag", value.as_str())));
        filters.extend(self.period.iter().map(|value| ("when", value.as_str())));
        filters.extend(self.since.iter().map(|value| ("since", value.as_str())));
        filters.extend(self.until.iter().map(|value| ("until", value.as_str())));
        filters.extend(self.explain.then_some(("explain", "1")));
        filters
    }

    /// Returns the URL of this search.
    pub(crate) fn path(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.text.is_empty() {
            query.append_pair("q", &self.text);
        }
        query.extend_pairs(self.filters());
        match query.finish() {
            empty if empty.is_empty() => "/".to_owned(),
            query => format!("/?{query}"),
        }
    }

    /// Returns the first day, or else the start of the period.
    fn start_time(&self, now: i64) -> Option<String> {
        if self.since.is_some() {
            return self.since.clone();
        }
        let period = self.period.as_deref()?;
        let (_, _, days) = PERIODS.iter().find(|(value, _, _)| *value == period)?;
        Some(rfc3339(now - days * DAY_MS))
    }

    fn source_id(&self) -> Result<Option<SourceId>, Fault> {
        let parse = |text: &String| {
            SourceId::parse(text).map_err(|error| {
                Fault::new(brain_protocol::FaultCode::InvalidSource, error.message)
            })
        };
        self.source.as_ref().map(parse).transpose()
    }
}

/// The results of a search.
pub(crate) enum Results {
    /// The best pages for the words.
    Hits(Hits),
    /// For a search without words: the recently changed pages, and tags.
    Recent(Pages, TagCounts),
}

/// `GET /`: the whole screen.
pub(crate) async fn home(State(brain): State<Arc<Brain>>, uri: Uri, session: Session) -> Response {
    let question = SearchQuery::parse(uri.query().unwrap_or_default());
    let found = find(&brain, &session, &question).await;
    let title = if question.text.is_empty() { "Search" } else { &question.text };
    let body = html! {
        h1 class="hidden" { "Search" }
        form id="search" role="search" action="/" {
            input id="q" type="search" name="q" value=(Text(&question.text)) autofocus
                placeholder="Search your brain" aria-label="Search your brain"
                autocomplete="off" autocapitalize="off" spellcheck="false"
                aria-controls="results" dir="auto";
            @for (name, value) in question.filters() {
                // The form has visible fields for these.
                @if !matches!(name, "since" | "until") {
                    input type="hidden" name=(name) value=(Text(value));
                }
            }
            button { "Search" }
            (dates(&question))
            button class="plain" form="today" { "Today’s note" }
        }
        form method="post" action="/web/today" id="today" { (csrf(&session)) }
        div id="results" { (view(&question, found)) }
    };
    Screen { path: "/", ..Screen::new(&session, title, body) }.respond()
}

/// The fields for a range of days.
fn dates(question: &SearchQuery) -> Markup {
    let value = |day: &Option<String>| day.clone().unwrap_or_default();
    html! {
        details class="dates" open[question.since.is_some() || question.until.is_some()] {
            summary { "Days" }
            label { "Changed from "
                input type="date" name="since" value=(Text(&value(&question.since))); }
            label { "to " input type="date" name="until" value=(Text(&value(&question.until))); }
        }
    }
}

/// `GET /web/results`: the results alone, for `assets/search.js`.
pub(crate) async fn results(
    State(brain): State<Arc<Brain>>,
    uri: Uri,
    session: Session,
) -> Response {
    let question = SearchQuery::parse(uri.query().unwrap_or_default());
    let found = find(&brain, &session, &question).await;
    layout::fragment(&view(&question, found))
}

/// `GET /web/complete?text=…`: the pages that a link can name, as pairs of name and title, for
/// `assets/complete.js`. With `kind=tag`, tags and their numbers of pages.
pub(crate) async fn complete(
    State(brain): State<Arc<Brain>>,
    uri: Uri,
    session: Session,
) -> Response {
    let query = uri.query().unwrap_or_default();
    let text = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "text");
    let text = text.map(|(_, value)| value.into_owned()).unwrap_or_default();
    let kind = match form_urlencoded::parse(query.as_bytes())
        .any(|it| it == ("kind".into(), "tag".into()))
    {
        true => CompletionKind::Tag,
        false => CompletionKind::Page,
    };
    match session.run(&brain, Complete { kind, text }).await {
        Ok(found) => {
            let values = found.values.into_iter().take(COMPLETIONS);
            let pairs: Vec<_> = values.map(|it| (it.value, it.description)).collect();
            Json(pairs).into_response()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

fn view(question: &SearchQuery, found: Result<Results, Fault>) -> Markup {
    match found {
        Ok(Results::Hits(hits)) => results::hits(question, &hits),
        Ok(Results::Recent(pages, tags)) => results::recent(question, &pages, &tags),
        Err(fault) => html! {
            (results::active_filters(question))
            div class="notice" role="alert" {
                p { bdi { (Text(&fault.message)) } }
                @if let Some(hint) = &fault.hint { p { bdi { (Text(hint)) } } }
            }
        },
    }
}

async fn find(
    brain: &Arc<Brain>,
    session: &Session,
    question: &SearchQuery,
) -> Result<Results, Fault> {
    let (source, since) = (question.source_id()?, question.start_time(brain.now()));
    if !question.text.is_empty() {
        let search = Search {
            query: question.text.clone(),
            limit: LIMIT,
            source,
            page_type: question.page_type.clone(),
            tags: question.tags.clone(),
            since,
            until: question.until.clone(),
            explain: question.explain,
            prefix: question.is_typing,
        };
        let hits = session.run(brain, search.clone()).await?;
        let is_word = question.text.ends_with(char::is_alphanumeric);
        if !(hits.hits.is_empty() && question.is_typing && is_word) {
            return Ok(Results::Hits(hits));
        }
        // The last word may be incomplete.
        let query = format!("{}*", question.text);
        let completed = session.run(brain, Search { query, ..search }).await;
        return Ok(Results::Hits(completed.unwrap_or(hits)));
    }
    let list = List {
        source: source.clone(),
        page_type: question.page_type.clone(),
        tag: question.tags.first().cloned(),
        limit: LIMIT,
        updated_since: since,
        updated_until: question.until.clone(),
        ..List::default()
    };
    let pages = session.run(brain, list).await?;
    let lookup = Tags { source, slug: None, add: Vec::new(), remove: Vec::new() };
    let mut tags = match session.run(brain, lookup).await? {
        TagsReply::All(tags) => tags,
        TagsReply::OfPage(_) => TagCounts { tags: Vec::new() },
    };
    tags.tags.truncate(TAGS);
    Ok(Results::Recent(pages, tags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_round_trips_through_its_url() {
        let query = "q=a%26b&type=person&tag=x&tag=x&tag=y&source=work&when=week&other=1\
            &typing=1&since=2026-01-02&until=";
        let question = SearchQuery::parse(query);
        assert_eq!((question.text.as_str(), question.tags.len()), ("a&b", 2));
        let path = question.path();
        let again = SearchQuery::parse(path.strip_prefix("/?").unwrap_or_default());
        assert_eq!(again, SearchQuery { is_typing: false, ..question });
        assert_eq!(SearchQuery::default().path(), "/");
    }
}
