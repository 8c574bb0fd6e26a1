//! Estimates and ideas as HTML, and prompts as a text file.

use brain_protocol::{ClosePage, FarPage, Idea, IdeaPrompt, IdeaStatus, IdeasReply, usd};
use maud::{Markup, html};

use super::{IDEAS_RUN, IDEAS_STREAM, PAGE_TEXT, PROMPTS, cost_view};
use crate::extract::FormPost;
use crate::layout::csrf;
use crate::page_path::{encoded_path, page_path};
use crate::session::Session;
use crate::table::table;
use crate::text::Text;

/// Maximum number of ideas that are shown uncollapsed if they were judged and none passes.
const MAX_FAILING: usize = 5;

/// The fields of the form that a run needs again after its estimate.
const FIELDS: [&str; 8] =
    ["profile", "question", "budget", "limit", "save", "close", "far", "resume"];

/// Shows the chosen pages and the expected cost, and starts the run.
pub(super) fn estimate_view(form_post: &FormPost, reply: &IdeasReply) -> Markup {
    let has_model = reply.status == IdeaStatus::Estimated;
    let estimated = reply.cost.estimated;
    let label = match has_model {
        true if estimated > 0 => format!("Start (about ${})", usd(estimated)),
        true => "Start".into(),
        false => "Show the crosses".into(),
    };
    html! {
        section aria-labelledby="answer-title" {
            h2 id="answer-title" tabindex="-1" { "Estimate" }
            p class="estimate" {
                (reply.close_set.len()) " close and " (reply.far_set.len()) " distant pages make "
                (reply.crosses) " crosses with " (reply.ideas_per_cross) " ideas each. "
                @if !has_model {
                    "No language model is configured: the crosses are shown with prompts for "
                    "another model, at no cost."
                } @else if estimated == 0 { "No price is configured." }
                @else { "The estimated cost is " strong { "$" (usd(estimated)) } "." }
            }
            (notes(reply))
            @if reply.crosses > 0 { (start_form(form_post, reply, &label)) }
            @else { p { "No pages match the question." } }
            (pages(reply))
        }
    }
}

/// Returns the form that starts the estimated run.
fn start_form(form_post: &FormPost, reply: &IdeasReply, label: &str) -> Markup {
    let session = &form_post.session;
    html! {
        form method="post" action=(IDEAS_RUN) data-stream=(IDEAS_STREAM) {
            (csrf(session))
            input type="hidden" name="action" value="run";
            @for name in FIELDS {
                @let value = match name {
                    "profile" => reply.profile.as_str(),
                    _ => form_post.field(name),
                };
                @if !value.is_empty() {
                    input type="hidden" name=(name) value=(value);
                }
            }
            p { button { (Text(label)) } }
        }
    }
}

/// Shows ideas; without a language model, the crosses.
pub(super) fn result_view(session: &Session, reply: &IdeasReply) -> Markup {
    let cost = &reply.cost;
    html! {
        section aria-labelledby="answer-title" {
            h2 id="answer-title" tabindex="-1" {
                @if reply.prompts.is_empty() { "Ideas" } @else { "Crosses" }
            }
            @for problem in [&reply.problem, &reply.save_problem].into_iter().flatten() {
                p class="notice bad" role="alert" { bdi { (Text(problem)) } }
            }
            @if let Some(reason) = &reply.degraded { p class="notice" { (Text(reason)) } }
            @if let Some(slug) = &reply.saved_slug {
                p {
                    "Saved as " a href=(Text(&page_path(slug.as_str()))) { (Text(slug.as_str())) }
                    "."
                }
            }
            @if cost.calls > 0 {
                p class="facts" {
                    "Written and judged by a language model. "
                    (cost_view(cost.actual, cost.estimated, cost.tokens_in + cost.tokens_out)) "."
                }
            }
            (notes(reply))
            (ideas(&reply.ideas))
            (crosses(session, reply))
            (pages(reply))
            @if !reply.run_id.is_empty() {
                p class="facts" { "Run " code { (Text(&reply.run_id)) } }
            }
        }
    }
}

fn notes(reply: &IdeasReply) -> Markup {
    html! {
        @for note in &reply.notes { p class="notice" role="note" { bdi { (Text(note)) } } }
        @if reply.short_of_target {
            p class="notice" role="note" {
                "There are few pages far from the question, so some of the distant ones are near."
            }
        }
        @if reply.judge_failed {
            p class="notice" role="note" { "The ideas could not be judged." }
        }
        @if reply.failed_crosses > 0 {
            p class="notice" role="note" { (reply.failed_crosses) " crosses failed." }
        }
    }
}

/// Shows the ideas that pass; if none passes, the best ones; without a judge, all. The others are
/// in a collapsed element.
fn ideas(ideas: &[Idea]) -> Markup {
    let passing = ideas.iter().take_while(|idea| idea.passes).count();
    let is_judged = ideas.iter().any(|idea| idea.judge.is_some());
    let shown = match passing {
        0 if is_judged => ideas.len().min(MAX_FAILING),
        0 => ideas.len(),
        passing => passing,
    };
    let (best, others) = ideas.split_at(shown);
    html! {
        @if !best.is_empty() { ol class="ideas" { @for idea in best { (idea_row(idea)) } } }
        @if !others.is_empty() {
            details {
                summary { (others.len()) " more that did not pass" }
                ol class="ideas" { @for idea in others { (idea_row(idea)) } }
            }
        }
    }
}

fn idea_row(idea: &Idea) -> Markup {
    let close = format!("{}:{}", idea.close_source_id, idea.close_slug);
    let far = format!("{}:{}", idea.far_source_id, idea.far_slug);
    html! {
        li value=(idea.id) {
            p dir="auto" { (Text(&idea.text)) }
            p class="facts" {
                @if let Some(judge) = &idea.judge {
                    strong { (format!("{:.2}", judge.weighted)) } " of 5 · "
                }
                "from " (page_link(&close, idea.close_slug.as_str())) " × "
                (page_link(&far, idea.far_slug.as_str()))
                (format!(" ({:.2} apart)", idea.distance))
            }
            @if let Some(judge) = &idea.judge {
                @let scores = &judge.scores;
                p class="facts" {
                    "originality " (scores.originality) " · resistance " (scores.resistance)
                    " · thesis " (scores.thesis) " · grounding " (scores.grounding)
                    " · load-bearing " (scores.load_bearing)
                    @if !judge.note.is_empty() { br; bdi { (Text(&judge.note)) } }
                }
            }
        }
    }
}

/// Returns a link to a page; `assets/ask.js` opens the page beside the ideas.
fn page_link(name: &str, text: &str) -> Markup {
    let part = encoded_path(PAGE_TEXT.trim_end_matches("{*name}"), name);
    html! {
        a href=(Text(&page_path(name))) data-part=(Text(&part)) { bdi { (Text(text)) } }
    }
}

fn pages(reply: &IdeasReply) -> Markup {
    let close =
        |page: &ClosePage| page_link(&format!("{}:{}", page.source_id, page.slug), &page.title);
    let far = |page: &FarPage| {
        let link = page_link(&format!("{}:{}", page.source_id, page.slug), &page.title);
        html! { (link) " " span class="facts" { (format!("{:.2}", page.distance)) } }
    };
    html! {
        @if !reply.close_set.is_empty() {
            h3 { "Pages close to the question" }
            ul { @for page in &reply.close_set { li { (close(page)) } } }
            h3 { "Distant pages" }
            ul { @for page in &reply.far_set { li { (far(page)) } } }
        }
    }
}

fn crosses(session: &Session, reply: &IdeasReply) -> Markup {
    let row = |(at, prompt): (usize, &IdeaPrompt)| {
        let close = format!("{}:{}", prompt.close_source_id, prompt.close_slug);
        let far = format!("{}:{}", prompt.far_source_id, prompt.far_slug);
        vec![
            html! { (at + 1) },
            page_link(&close, prompt.close_slug.as_str()),
            page_link(&far, prompt.far_slug.as_str()),
            html! { (format!("{:.2}", prompt.distance)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = reply.prompts.iter().enumerate().map(row).collect();
    html! {
        @if !rows.is_empty() {
            form method="post" action=(PROMPTS) {
                (csrf(session))
                input type="hidden" name="profile" value=(reply.profile.as_str());
                input type="hidden" name="resume" value=(Text(&reply.run_id));
                p { button { "Download the prompts" } }
            }
            (table("Crosses", &["Cross", "Close page", "Distant page", "Apart"], &rows, ""))
        }
    }
}

/// Returns the prompts as a file, in the form of `--prompts FILE`.
pub(super) fn prompts_text(prompts: &[IdeaPrompt]) -> String {
    let total = prompts.len();
    let prompt_text = |(at, prompt): (usize, &IdeaPrompt)| {
        let IdeaPrompt { close_slug, far_slug, close_source_id, far_source_id, text, .. } = prompt;
        let names = format!("{close_source_id}:{close_slug} × {far_source_id}:{far_slug}");
        format!("Prompt {} of {total}: {names}\n\n{}\n\n", at + 1, text.trim_end())
    };
    prompts.iter().enumerate().map(prompt_text).collect()
}
