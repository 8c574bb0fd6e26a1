//! What a language model says to `brainstorm` and `lsd`, when it does as it is asked: for
//! [`crate::model::FakeModel`]. Pure.

use serde_json::{Value, json};

use crate::model::{Asked, Said};

/// What a question of idea making is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A cross of these two pages.
    Cross {
        /// The close page's slug.
        close: String,
        /// The far page's slug.
        far: String,
        /// How many ideas are wanted.
        ideas: usize,
    },
    /// Judging so many ideas.
    Judge(usize),
}

/// The mark that parts data from words in a question.
#[must_use]
pub fn mark(asked: &Asked) -> String {
    let at = asked.system.find("=== end of ").expect("the system's words name the mark");
    let line = asked.system[at..].split(" ===").next().unwrap();
    line.rsplit(' ').next().unwrap().to_owned()
}

/// The text between the marks of a page, `close` or `far`.
#[must_use]
pub fn between(asked: &Asked, which: &str) -> String {
    let mark = mark(asked);
    let (from, to) =
        (format!("=== {which} page {mark} ===\n"), format!("=== end of page {mark} ==="));
    let rest =
        asked.text.split_once(&from).unwrap_or_else(|| panic!("no {which} page: {}", asked.text)).1;
    rest.split_once(&to).unwrap().0.to_owned()
}

/// What a question asks.
#[must_use]
pub fn part(asked: &Asked) -> Part {
    if asked.system.starts_with("You judge") {
        return Part::Judge(asked.text.matches(&format!(" {} ===\n", mark(asked))).count() / 2);
    }
    // The first line of a page is its title with its slug.
    let slug = |which| {
        let page = between(asked, which);
        let line = page.lines().next().unwrap();
        line.rsplit_once(" (").unwrap().1.trim_end_matches(')').to_owned()
    };
    let ideas = asked.system.split("with exactly ").nth(1).and_then(|rest| rest.split(' ').next());
    Part::Cross { close: slug("close"), far: slug("far"), ideas: ideas.unwrap().parse().unwrap() }
}

/// The verdict on one idea: with `score` on every axis.
#[must_use]
pub fn verdict(id: usize, score: f64) -> Value {
    json!({ "id": id, "originality": score, "resistance": score, "thesis": score, "grounding": score,
        "load_bearing": score, "note": format!("because of {id}") })
}

/// Ideas that name their pages, or verdicts of which every third passes.
#[must_use]
pub fn obedient(asked: &Asked) -> Said {
    match part(asked) {
        Part::Cross { close, far, ideas } => {
            let ideas: Vec<String> =
                (1..=ideas).map(|n| format!("Zebrafish {n} of {close} and {far}.")).collect();
            Said::Text(json!({ "ideas": ideas }).to_string())
        }
        Part::Judge(ideas) => {
            let scores: Vec<Value> =
                (1..=ideas).map(|id| verdict(id, if id % 3 == 0 { 4.25 } else { 3.0 })).collect();
            Said::Text(json!({ "scores": scores }).to_string())
        }
    }
}
