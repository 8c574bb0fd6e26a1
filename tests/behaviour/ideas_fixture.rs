//! Test pages for ideas, and functions that parse the questions that the fake model received.

use brain_tests::ideas_model::{IdeaQuestion, parse_question};
use brain_tests::model::FakeModel;
use brain_tests::{Run, TestHome, run};
use serde_json::Value;

/// The question of most tests: the four pages below `speed/` are about it.
pub(crate) const QUESTION: &str = "How do we halve latency?";

/// Writes four pages near the question and twelve far from it.
pub(crate) fn fill(home: &TestHome) {
    for (name, text) in [
        ("cache", "A cache halves latency when the same latency question comes again."),
        ("queue", "Latency grows with the queue before the server."),
        ("disk", "A flush to the disk is most of the latency of a write."),
        ("network", "A round trip over the network is latency that nobody sees."),
    ] {
        home.put(&format!("speed/{name}"), &format!("---\ntitle: The {name}\n---\n{text}\n"));
    }
    for kind in ["garden", "kitchen", "harbour"] {
        for name in ["one", "two", "three", "four"] {
            home.put(
                &format!("{kind}/{name}"),
                &format!("What happens in the {kind}, part {name}.\n"),
            );
        }
    }
}

/// Runs `brain --json <args>` and accepts any exit status.
pub(crate) fn json(home: &TestHome, args: &[&str]) -> (Value, Run) {
    let mut command = home.command("brain");
    command.arg("--json").args(args);
    let output = run(command, b"");
    (serde_json::from_str(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}")), output)
}

/// Returns the close page and the far page of each question that combines two pages, in order.
pub(crate) fn crosses(model: &FakeModel) -> Vec<(String, String)> {
    let parts = model.questions().iter().map(parse_question).collect::<Vec<_>>();
    let cross = |part| match part {
        IdeaQuestion::Cross { close, far, .. } => Some((close, far)),
        IdeaQuestion::Judge(_) => None,
    };
    parts.into_iter().filter_map(cross).collect()
}

/// Returns the number of ideas in each judge question.
pub(crate) fn judge_sizes(model: &FakeModel) -> Vec<usize> {
    let parts = model.questions().iter().map(parse_question).collect::<Vec<_>>();
    let judge = |part| match part {
        IdeaQuestion::Judge(ideas) => Some(ideas),
        IdeaQuestion::Cross { .. } => None,
    };
    parts.into_iter().filter_map(judge).collect()
}

/// Returns the cost of the counted tokens in millionths of a dollar, at 3 USD per million input
/// tokens and 15 USD per million output tokens.
pub(crate) fn expected_cost(reply: &Value) -> u64 {
    let tokens = |name: &str| reply["cost"][name].as_u64().unwrap();
    tokens("input_tokens") * 3 + tokens("output_tokens") * 15
}

/// Converts dollars to millionths.
pub(crate) fn millionths(dollars: &Value) -> u64 {
    (dollars.as_f64().unwrap() * 1e6).round() as u64
}
