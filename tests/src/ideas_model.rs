//! Responses of [`crate::model::FakeModel`] to questions of `brainstorm` and `lsd`. No I/O.

use serde_json::{Value, json};

use crate::model::{ModelResponse, Question};

/// A question of `brainstorm` or `lsd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdeaQuestion {
    /// The model is to combine two pages.
    Cross {
        /// The close page's slug.
        close: String,
        /// The far page's slug.
        far: String,
        /// The number of ideas to return.
        ideas: usize,
    },
    /// The model is to judge this many ideas.
    Judge(usize),
}

/// Returns the delimiter that separates data from instructions in a question.
#[must_use]
pub fn delimiter(question: &Question) -> String {
    let position =
        question.system.find("=== end of ").expect("the instructions name the delimiter");
    let line = question.system[position..].split(" ===").next().unwrap();
    line.rsplit(' ').next().unwrap().to_owned()
}

/// Returns the text of a page in a question. `which` is `close` or `far`.
#[must_use]
pub fn page_between_delimiters(question: &Question, which: &str) -> String {
    let delimiter = delimiter(question);
    let (from, to) =
        (format!("=== {which} page {delimiter} ===\n"), format!("=== end of page {delimiter} ==="));
    let rest = question
        .text
        .split_once(&from)
        .unwrap_or_else(|| panic!("no {which} page: {}", question.text))
        .1;
    rest.split_once(&to).unwrap().0.to_owned()
}

/// Parses a question of `brainstorm` or `lsd`.
#[must_use]
pub fn parse_question(question: &Question) -> IdeaQuestion {
    if question.system.starts_with("You judge") {
        // Each idea is between two lines that end with the delimiter.
        return IdeaQuestion::Judge(
            question.text.matches(&format!(" {} ===\n", delimiter(question))).count() / 2,
        );
    }
    // The first line of a page is its title with its slug.
    let slug = |which| {
        let page = page_between_delimiters(question, which);
        let line = page.lines().next().unwrap();
        line.rsplit_once(" (").unwrap().1.trim_end_matches(')').to_owned()
    };
    let ideas =
        question.system.split("with exactly ").nth(1).and_then(|rest| rest.split(' ').next());
    IdeaQuestion::Cross {
        close: slug("close"),
        far: slug("far"),
        ideas: ideas.unwrap().parse().unwrap(),
    }
}

/// Returns a verdict on one idea, with `score` on every axis.
#[must_use]
pub fn verdict(id: usize, score: f64) -> Value {
    json!({ "id": id, "originality": score, "resistance": score, "thesis": score,
        "grounding": score,
        "load_bearing": score, "note": format!("because of {id}") })
}

/// Returns ideas that name their pages, or verdicts with scores of which every third passes.
#[must_use]
pub fn valid_response(question: &Question) -> ModelResponse {
    match parse_question(question) {
        IdeaQuestion::Cross { close, far, ideas } => {
            let ideas: Vec<String> =
                (1..=ideas).map(|n| format!("Zebrafish {n} of {close} and {far}.")).collect();
            ModelResponse::Text(json!({ "ideas": ideas }).to_string())
        }
        IdeaQuestion::Judge(ideas) => {
            let scores: Vec<Value> =
                (1..=ideas).map(|id| verdict(id, if id % 3 == 0 { 4.25 } else { 3.0 })).collect();
            ModelResponse::Text(json!({ "scores": scores }).to_string())
        }
    }
}
