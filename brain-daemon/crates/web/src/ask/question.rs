//! The form for questions: estimates, complete answers, and streamed answers.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use brain_core::{Door, NoProgress};
use brain_protocol::{Ask, AskReply, Fault, FaultCode, SourceId, SourceList};
use maud::{Markup, html};

use super::answer::{answer_view, estimate_view};
use super::{ANSWER, STREAM, budget, budget_field, default_budget, fault_view, number, respond};
use crate::event_stream;
use crate::extract::FormPost;
use crate::layout::{csrf, status_of};
use crate::navigation::ASK;
use crate::session::Session;
use crate::text::Text;

/// The number of pages to read for a question, if the form has none.
const PAGES: u32 = 8;

/// The texts of the form's fields.
struct Values {
    question: String,
    budget: String,
    limit: String,
    source: String,
}

impl Values {
    fn of(form_post: &FormPost) -> Self {
        let field = |name: &str| form_post.field(name).to_owned();
        Self {
            question: field("question"),
            budget: field("budget"),
            limit: field("limit"),
            source: field("source"),
        }
    }
}

/// `GET /web/ask`
pub(super) async fn show(State(brain): State<Door>, session: Session) -> Response {
    let values = Values {
        question: String::new(),
        budget: default_budget(&brain),
        limit: PAGES.to_string(),
        source: String::new(),
    };
    let form = form(&brain, &session, &values).await;
    respond(&session, ASK, "Ask", StatusCode::OK, &form, &html! {})
}

/// `POST /web/ask/answer`: an estimate, or the answer when it is complete.
pub(super) async fn answer(State(brain): State<Door>, form_post: FormPost) -> Response {
    let is_estimate = form_post.field("action") == "estimate";
    let work = async {
        let request = Ask { estimate: is_estimate, ..request(&form_post)? };
        let limit = request.max_cost;
        let reply = event_stream::run(&brain, &form_post.session, request).await?;
        Ok((reply, limit))
    };
    let (status, result) = match work.await {
        Ok((reply, limit)) if is_estimate => (StatusCode::OK, estimate_view(&reply, limit)),
        Ok((reply, _)) => (StatusCode::OK, answer_view(&reply)),
        Err(fault) => (status_of(&fault), fault_view(&fault)),
    };
    let form = form(&brain, &form_post.session, &Values::of(&form_post)).await;
    respond(&form_post.session, ASK, "Ask", status, &form, &result)
}

/// `POST /web/ask/stream`: the estimate, the text as it arrives, and the answer.
pub(super) async fn stream(State(brain): State<Door>, form_post: FormPost) -> Response {
    event_stream::respond(&brain, move |brain, sender| {
        let caller = &form_post.session.caller;
        let work = || -> Result<AskReply, Fault> {
            let request = request(&form_post)?;
            let estimate = Ask { estimate: true, ..request.clone() };
            let estimated = brain.run(caller, estimate, &NoProgress)?;
            sender.status(&estimate_view(&estimated, request.max_cost));
            brain.run(caller, request, sender)
        };
        match work() {
            Ok(reply) => answer_view(&reply),
            Err(fault) => fault_view(&fault),
        }
    })
}

/// Returns the question in the form.
///
/// # Errors
/// `usage` if the question is empty; `invalid_source` if the id of the source is invalid. The fault
/// of `number` or `budget` if a number is invalid.
fn request(form_post: &FormPost) -> Result<Ask, Fault> {
    let question = form_post.field("question").trim().to_owned();
    if question.is_empty() {
        return Err(Fault::new(FaultCode::Usage, "the question is empty"));
    }
    let source = match form_post.field("source") {
        "" => None,
        text => Some(
            SourceId::parse(text)
                .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))?,
        ),
    };
    let limit = number(form_post, "limit")?.unwrap_or(PAGES);
    let max_cost = budget(form_post)?;
    Ok(Ask { question, limit, source, model: None, max_cost, estimate: false })
}

async fn form(brain: &Door, session: &Session, values: &Values) -> Markup {
    // Without the list, all sources are searched.
    let sources = session.run(brain, SourceList).await.map(|reply| reply.sources);
    let sources = sources.unwrap_or_default();
    html! {
        form id="ask" class="ask" method="post" action=(ANSWER) data-stream=(STREAM) {
            (csrf(session))
            label for="question" { "Question" }
            textarea id="question" name="question" rows="2" required dir="auto" {
                (values.question)
            }
            div class="row fields" {
                (budget_field(&values.budget))
                div {
                    label for="limit" { "Pages to read" }
                    input id="limit" name="limit" type="number" min="1" max="50"
                        value=(Text(&values.limit));
                }
                @if sources.len() > 1 {
                    div {
                        label for="source" { "Source" }
                        select id="source" name="source" {
                            option value="" { "All" }
                            @for source in &sources {
                                @let id = source.source_id.as_str();
                                option value=(Text(id)) selected[id == values.source] {
                                    (Text(id))
                                }
                            }
                        }
                    }
                }
            }
            p class="row" {
                button name="action" value="ask" { "Ask" }
                button class="button" name="action" value="estimate" { "Estimate only" }
            }
        }
    }
}
