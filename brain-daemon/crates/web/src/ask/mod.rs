//! Questions to the brain: answers with citations, and ideas from distant pages.
//!
//! Both can cost money, so an estimate comes first and a budget limits them. Without JavaScript, a
//! form waits for the result; with it, `assets/ask.js` shows the text as it arrives, and opens
//! cited pages beside the answer. Text from models is escaped like text from pages.

mod answer;
mod ideas;
mod ideas_result;
mod part;
mod question;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use brain_core::Door;
use brain_protocol::{Fault, FaultCode, parse_usd, usd};
use maud::{Markup, html};

use crate::extract::FormPost;
use crate::layout::Screen;
use crate::navigation::ASK;
use crate::session::Session;
use crate::text::Text;

/// The path that returns a complete answer.
pub(crate) const ANSWER: &str = "/web/ask/answer";
/// The path that streams an answer while it is written.
pub(crate) const STREAM: &str = "/web/ask/stream";
/// The path of the form for ideas.
pub(crate) const IDEAS: &str = "/web/ideas";
/// The path that estimates or performs a run.
pub(crate) const IDEAS_RUN: &str = "/web/ideas/run";
/// The path that performs a run and streams its progress.
pub(crate) const IDEAS_STREAM: &str = "/web/ideas/stream";
/// The path of the prompts of a run, as a file.
pub(crate) const PROMPTS: &str = "/web/ideas/prompts";
/// The path of the text of a page, without the rest of the screen.
pub(crate) const PAGE_TEXT: &str = "/web/part/{*name}";

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route(ASK, get(question::show))
        .route(ANSWER, post(question::answer))
        .route(STREAM, post(question::stream))
        .route(IDEAS, get(ideas::show))
        .route(IDEAS_RUN, post(ideas::run))
        .route(IDEAS_STREAM, post(ideas::stream))
        .route(PROMPTS, post(ideas::prompts))
        .route(PAGE_TEXT, get(part::show))
}

/// Shows one of these screens: a form, and below it a result with a panel for cited pages.
fn respond(
    session: &Session,
    path: &str,
    title: &str,
    status: StatusCode,
    form: &Markup,
    result: &Markup,
) -> Response {
    let body = html! {
        nav class="tabs" aria-label="Questions" {
            @for (target, name) in [(ASK, "Ask"), (IDEAS, "Ideas")] {
                a href=(target) aria-current=[(target == path).then_some("page")] { (name) }
            }
        }
        div class="full" {
            h1 { (title) }
            (form)
            div class="answering" {
                div id="answer" { (result) }
                aside id="panel" hidden tabindex="-1" aria-label="A cited page" {
                    button id="panel-close" class="plain" type="button" { "Close" }
                    div id="panel-page" {}
                }
            }
        }
    };
    Screen { path: ASK, status, ..Screen::new(session, title, body) }.respond()
}

/// Shows a fault instead of a result.
fn fault_view(fault: &Fault) -> Markup {
    let hint = match fault.code {
        FaultCode::OverBudget => Some("Raise the budget, or let it read fewer pages.".into()),
        _ => fault.hint.as_ref().map(ToString::to_string),
    };
    html! {
        div class="notice bad" role="alert" {
            p { bdi { (Text(&fault.message)) } }
            @if let Some(hint) = hint { p { bdi { (Text(&hint)) } } }
        }
    }
}

fn budget_field(value: &str) -> Markup {
    html! {
        div {
            label for="budget" { "Budget in US dollars" }
            input id="budget" name="budget" inputmode="decimal" autocomplete="off"
                pattern="[0-9]{1,6}([.][0-9]{1,6})?" value=(Text(value));
        }
    }
}

/// Returns the configured budget in the form of the field's value.
fn default_budget(brain: &Door) -> String {
    usd(brain.config().llm.max_cost.millionths())
}

/// Returns the budget in the form, in millionths of a dollar; `None` if the field is empty.
///
/// # Errors
/// `usage` when the field has no amount of US dollars.
fn budget(form_post: &FormPost) -> Result<Option<u64>, Fault> {
    match form_post.field("budget").trim() {
        "" => Ok(None),
        text => parse_usd(text).map(Some).ok_or_else(|| {
            Fault::new(FaultCode::Usage, "the budget is not an amount of US dollars such as 0.50")
        }),
    }
}

/// Returns a number in the form; `None` if the field is empty.
///
/// # Errors
/// `usage` when the field has no whole number from 0 to 4294967295.
fn number(form_post: &FormPost, name: &str) -> Result<Option<u32>, Fault> {
    match form_post.field(name).trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            Fault::new(FaultCode::Usage, format!("the field \"{name}\" is not a number"))
        }),
    }
}

/// Shows what was paid, for how many tokens, and the estimate.
fn cost_view(actual: u64, estimated: u64, tokens: u64) -> Markup {
    html! {
        "$" (usd(actual)) " for " (tokens) " tokens"
        @if estimated > 0 { " (estimated $" (usd(estimated)) ")" }
    }
}
