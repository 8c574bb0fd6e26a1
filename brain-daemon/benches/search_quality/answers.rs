//! Asks the questions of a vault without a language model, and checks the answers.

use brain_protocol::{Ask, AskReply, Reply, Request};

use crate::brain_home::{BrainHome, OpenBrain};
use crate::sets::ask::{AskSet, Kind, RightAnswer};

/// How many pages are read for a question: the default of the command.
const LIMIT: u32 = 8;

/// The figures of a set of questions to `ask`.
pub(crate) struct AnswerRow {
    pub(crate) name: String,
    /// The number of documents.
    pub(crate) docs: usize,
    pub(crate) questions: usize,
    /// The share of right answers.
    pub(crate) right: f64,
    /// The share of questions with an answer that is not right. The others have no answer.
    pub(crate) wrong: f64,
}

/// Measures `set`. With `prints_misses`, prints each question without a right answer on standard
/// error.
pub(crate) fn measure(set: &AskSet, prints_misses: bool) -> AnswerRow {
    let home = BrainHome::with(&set.vault);
    let open = home.open(None);
    let (mut right, mut wrong) = (0, 0);
    for question in &set.questions {
        let reply = ask(&open, &question.text);
        if is_right(set, &question.text, &question.answer, &reply) {
            right += 1;
            continue;
        }
        wrong += usize::from(reply.answer.is_some());
        if prints_misses {
            let (text, expected, answer) = (&question.text, &question.answer, &reply.answer);
            eprintln!("  {text} | expected {expected:?} | answer {answer:?}");
        }
    }
    let share = |count: usize| count as f64 / set.questions.len().max(1) as f64;
    let row = AnswerRow {
        name: set.vault.name.clone(),
        docs: set.vault.docs.len(),
        questions: set.questions.len(),
        right: share(right),
        wrong: share(wrong),
    };
    eprintln!("{}: right {:.3}, wrong {:.3}", row.name, row.right, row.wrong);
    row
}

fn ask(open: &OpenBrain, question: &str) -> AskReply {
    let request = Request::Ask(Ask {
        question: question.to_owned(),
        limit: LIMIT,
        source: None,
        model: None,
        max_cost: None,
        estimate: false,
    });
    let Reply::Ask(reply) = open.ask(request) else { panic!("no answer") };
    reply
}

/// Returns whether a reply is right, and no line of it has a day twice.
fn is_right(set: &AskSet, question: &str, expected: &RightAnswer, reply: &AskReply) -> bool {
    let answer = reply.answer.as_deref().unwrap_or_default();
    if answer.lines().any(has_a_day_twice) {
        return false;
    }
    let has_only = |kind: Kind, names: &[String]| {
        let mut others = names_of(set, kind).iter().filter(|name| !names.contains(name));
        !others.any(|name| answer.contains(name.as_str()) && !question.contains(name.as_str()))
    };
    match expected {
        RightAnswer::Names(kind, names) => {
            names.iter().all(|name| answer.contains(name.as_str())) && has_only(*kind, names)
        }
        RightAnswer::Count(kind, names) => {
            let first_line = answer.lines().next().unwrap_or_default();
            let mut words = first_line.split(|c: char| !c.is_alphanumeric());
            words.any(|word| word == names.len().to_string()) && has_only(*kind, names)
        }
        RightAnswer::NoList(kind) => has_only(*kind, &[]),
        RightAnswer::Which(names) => {
            let hint = reply.hint.as_ref().map(ToString::to_string).unwrap_or_default();
            let is_named = |name: &String| answer.contains(name) || hint.contains(name);
            names.iter().all(is_named) && has_only(Kind::Meeting, &[])
        }
    }
}

fn names_of(set: &AskSet, kind: Kind) -> &[String] {
    let found = set.names.iter().find(|(other, _)| *other == kind);
    found.map_or(&[], |(_, names)| names)
}

/// Returns whether a day such as `2024-03-05` occurs twice in a line.
fn has_a_day_twice(line: &str) -> bool {
    let is_day = |word: &&str| {
        let parts: Vec<usize> = word.split('-').map(str::len).collect();
        parts == [4, 2, 2] && word.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    };
    let words = line.split(|c: char| !c.is_ascii_digit() && c != '-');
    let mut days: Vec<&str> = words.filter(is_day).collect();
    let count = days.len();
    days.sort_unstable();
    days.dedup();
    days.len() < count
}
