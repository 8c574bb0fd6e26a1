//! The start screen: a search whose results appear as the owner types.

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{
    Complete, CompletionKind, Fault, Hits, List, Pages, Search, TagCounts, Tags, TagsReply,
};
use maud::{Markup, html};

use crate::layout::{self, Screen, csrf};
use crate::results;
use crate::search_query::SearchQuery;
use crate::session::Session;
use crate::text::Text;

/// Maximum number of results on one screen.
const LIMIT: u32 = 30;
/// Maximum number of tags that a search without words offers.
const TAGS: usize = 24;
/// Maximum number of completions of a link.
const COMPLETIONS: usize = 12;

/// The results of a search.
pub(crate) enum Results {
    /// The best pages for the words.
    Hits(Hits),
    /// For a search without words: the recently changed pages, and tags.
    Recent(Pages, TagCounts),
}

/// `GET /`: the whole screen.
pub(crate) async fn home(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
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
pub(crate) async fn results(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
    let question = SearchQuery::parse(uri.query().unwrap_or_default());
    let found = find(&brain, &session, &question).await;
    layout::fragment(&view(&question, found))
}

/// `GET /web/complete?text=…`: the pages that a link can name, as pairs of name and title, for
/// `assets/complete.js`. With `kind=tag`, tags and their numbers of pages.
pub(crate) async fn complete(State(brain): State<Door>, uri: Uri, session: Session) -> Response {
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
            layout::json(&pairs)
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
                @if let Some(hint) = &fault.hint { p { bdi { (Text(&hint.to_string())) } } }
            }
        },
    }
}

async fn find(brain: &Door, session: &Session, question: &SearchQuery) -> Result<Results, Fault> {
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
