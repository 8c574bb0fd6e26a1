//! The form for ideas: an estimate with the chosen pages first, then a run, and stored runs.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse as _, Response};
use brain_core::Door;
use brain_protocol::{
    Fault, FaultCode, IdeaProfile, IdeaRunRow, IdeaRuns, IdeaRunsReply, IdeaStatus, Ideas,
    IdeasReply, usd,
};
use maud::{Markup, html};

use super::ideas_result::{estimate_view, prompts_text, result_view};
use super::{IDEAS, IDEAS_RUN, budget, budget_field, default_budget, fault_view, number, respond};
use crate::event_stream;
use crate::extract::FormPost;
use crate::layout::{self, csrf, status_of};
use crate::page_path::page_path;
use crate::session::Session;
use crate::table::{table, text, time};
use crate::text::Text;

/// `GET /web/ideas`
pub(super) async fn show(State(brain): State<Door>, session: Session) -> Response {
    let fields = [("budget", default_budget(&brain))];
    let field = |name: &str| {
        fields.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.as_str())
    };
    let form = screen(&brain, &session, &field).await;
    respond(&session, IDEAS, "Ideas", StatusCode::OK, &form, &html! {})
}

/// `POST /web/ideas/run`: runs if the form's action is `run`, and otherwise shows an estimate. A
/// stored run that is already complete costs nothing, so its result is shown instead.
pub(super) async fn run(State(brain): State<Door>, form_post: FormPost) -> Response {
    let work = async {
        let request = request(&form_post)?;
        if form_post.field("action") == "run" {
            return event_stream::run(&brain, &form_post.session, request).await;
        }
        let estimate = Ideas { estimate: true, ..request.clone() };
        let estimated = form_post.session.run(&brain, estimate).await?;
        match estimated.status {
            // Without a language model, the prompts of a stored run are shown immediately.
            IdeaStatus::Prompts if request.resume.is_some() => {
                event_stream::run(&brain, &form_post.session, request).await
            }
            IdeaStatus::Done => event_stream::run(&brain, &form_post.session, request).await,
            _ => Ok(estimated),
        }
    };
    let (status, result) = match work.await {
        Ok(reply) => (StatusCode::OK, view(&form_post, &reply)),
        Err(fault) => (status_of(&fault), fault_view(&fault)),
    };
    let form = screen(&brain, &form_post.session, &|name| form_post.field(name)).await;
    respond(&form_post.session, IDEAS, "Ideas", status, &form, &result)
}

/// `POST /web/ideas/stream`: a run with its progress.
pub(super) async fn stream(State(brain): State<Door>, form_post: FormPost) -> Response {
    event_stream::respond(&brain, move |brain, sender| {
        let work = || brain.run(&form_post.session.caller, request(&form_post)?, sender);
        match work() {
            Ok(reply) => view(&form_post, &reply),
            Err(fault) => fault_view(&fault),
        }
    })
}

/// `POST /web/ideas/prompts`: the prompts of a run as a text file. Asks no model.
pub(super) async fn prompts(State(brain): State<Door>, form_post: FormPost) -> Response {
    let work = async {
        let request = Ideas { prompts_only: true, save: Some(false), ..request(&form_post)? };
        form_post.session.run(&brain, request).await
    };
    match work.await {
        Ok(reply) => {
            let name = format!("{}-{}.txt", reply.profile.as_str(), reply.run_id);
            let headers = [
                (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
                (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
                (CACHE_CONTROL, "no-store".to_owned()),
                (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
            ];
            (headers, prompts_text(&reply.prompts)).into_response()
        }
        Err(fault) => layout::fault(&form_post.session, &fault),
    }
}

fn view(form_post: &FormPost, reply: &IdeasReply) -> Markup {
    let is_estimate = reply.status == IdeaStatus::Estimated
        || reply.status == IdeaStatus::Prompts
            && reply.prompts.is_empty()
            && reply.run_id.is_empty();
    match is_estimate {
        true => estimate_view(form_post, reply),
        false => result_view(&form_post.session, reply),
    }
}

/// Returns the run that the form describes.
fn request(form_post: &FormPost) -> Result<Ideas, Fault> {
    let profile = match form_post.field("profile") {
        "lsd" => IdeaProfile::Lsd,
        _ => IdeaProfile::Brainstorm,
    };
    let resume = Some(form_post.field("resume").to_owned()).filter(|run| !run.is_empty());
    let save = match form_post.field("save") {
        "" => None,
        text => Some(text == "yes"),
    };
    if resume.is_none() && form_post.field("question").trim().is_empty() {
        return Err(Fault::new(FaultCode::Usage, "the question is empty"));
    }
    Ok(Ideas {
        profile,
        question: match resume {
            Some(_) => String::new(),
            None => form_post.field("question").trim().to_owned(),
        },
        limit: number(form_post, "limit")?,
        save,
        max_cost: budget(form_post)?,
        model: None,
        judge_model: None,
        close: if resume.is_some() { None } else { number(form_post, "close")? },
        far: if resume.is_some() { None } else { number(form_post, "far")? },
        resume,
        estimate: false,
        prompts_only: false,
    })
}

async fn screen<'f>(
    brain: &Door,
    session: &Session,
    field: &(impl Fn(&str) -> &'f str + Sync),
) -> Markup {
    let form = form(session, field);
    let runs = session.run(brain, IdeaRuns).await;
    html! {
        (form)
        @match &runs {
            Ok(runs) => (stored_runs(session, runs)),
            Err(fault) => (fault_view(fault)),
        }
    }
}

fn form<'f>(session: &Session, field: &impl Fn(&str) -> &'f str) -> Markup {
    let numeric = |name: &str, label: &str, max: &str| {
        html! {
            div {
                label for=(name) { (label) }
                input id=(name) name=(name) type="number" min="1" max=(max)
                    value=(Text(field(name)));
            }
        }
    };
    html! {
        form id="ask" class="ask" method="post" action=(IDEAS_RUN) {
            (csrf(session))
            label for="question" { "Question" }
            textarea id="question" name="question" rows="2" required dir="auto" {
                (field("question"))
            }
            fieldset {
                legend { "Kind" }
                @for (value, name, description) in [
                    ("brainstorm", "Brainstorm", "grounded ideas from few distant pages"),
                    ("lsd", "LSD", "surprising ideas from many distant pages"),
                ] {
                    @let is_chosen = field("profile") == value
                        || value == "brainstorm" && field("profile").is_empty();
                    label {
                        input type="radio" name="profile" value=(value) checked[is_chosen];
                        " " (name) ": " (description)
                    }
                }
            }
            div class="row fields" {
                (budget_field(field("budget")))
                div {
                    label for="save" { "Save as a page" }
                    select id="save" name="save" {
                        @for (value, name) in [
                            ("", "brainstorm: yes, LSD: no"), ("yes", "yes"), ("no", "no"),
                        ] { option value=(value) selected[field("save") == value] { (name) } }
                    }
                }
            }
            details {
                summary { "Numbers of pages and ideas" }
                div class="row fields" {
                    (numeric("close", "Pages close to the question", "12"))
                    (numeric("far", "Distant pages", "24"))
                    (numeric("limit", "Ideas to show", "200"))
                }
            }
            p { button name="action" value="estimate" { "Choose pages and estimate" } }
        }
    }
}

fn stored_runs(session: &Session, reply: &IdeaRunsReply) -> Markup {
    let rows: Vec<Vec<Markup>> = reply.runs.iter().map(|run| run_row(session, run)).collect();
    let headings = ["Started (UTC)", "Kind", "Question", "State", "Crosses", "Cost", "Page", ""];
    html! {
        @if !rows.is_empty() {
            details class="runs" {
                summary { "Earlier runs (" (rows.len()) ")" }
                (table("Runs", &headings, &rows, ""))
            }
        }
        @if !reply.damaged.is_empty() {
            div class="notice" role="note" {
                @for damaged in &reply.damaged { p { (text(damaged)) } }
            }
        }
    }
}

fn run_row(session: &Session, run: &IdeaRunRow) -> Vec<Markup> {
    vec![
        time(&run.started_at),
        html! { (run.profile.as_str()) },
        text(&run.question),
        html! { (run.status) },
        html! { (run.crosses_done) " of " (run.crosses) },
        html! { "$" (usd(run.cost.actual)) },
        html! {
            @if let Some(slug) = &run.saved_slug {
                a href=(Text(&page_path(slug.as_str()))) { (Text(slug.as_str())) }
            }
        },
        html! {
            form method="post" action=(IDEAS_RUN) {
                (csrf(session))
                input type="hidden" name="profile" value=(run.profile.as_str());
                input type="hidden" name="resume" value=(Text(&run.run_id));
                button class="plain" {
                    "Show or continue" span class="hidden" { " the run " (Text(&run.run_id)) }
                }
            }
        },
    ]
}
