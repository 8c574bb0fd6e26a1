//! A brain with pages of several kinds, and a language model over loopback that has ideas.

use brain_tests::ideas_model::{Part, part};
use brain_tests::model::FakeModel;
use brain_tests::{Run, TestHome, run};
use serde_json::Value;

/// The question of most tests: the four pages below `speed/` are about it.
pub(crate) const QUESTION: &str = "How do we halve latency?";

/// Pages close to the question, and twelve far from it.
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

/// `brain --json <args>`, whatever its exit status.
pub(crate) fn json(home: &TestHome, args: &[&str]) -> (Value, Run) {
    let mut command = home.command("brain");
    command.arg("--json").args(args);
    let ran = run(command, b"");
    (serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}")), ran)
}

/// The crosses that were asked for, in order.
pub(crate) fn crosses(model: &FakeModel) -> Vec<(String, String)> {
    let parts = model.heard().iter().map(part).collect::<Vec<_>>();
    let cross = |part| match part {
        Part::Cross { close, far, .. } => Some((close, far)),
        Part::Judge(_) => None,
    };
    parts.into_iter().filter_map(cross).collect()
}

/// How many ideas the judge was asked about, call by call.
pub(crate) fn judged(model: &FakeModel) -> Vec<usize> {
    let parts = model.heard().iter().map(part).collect::<Vec<_>>();
    let judge = |part| match part {
        Part::Judge(ideas) => Some(ideas),
        Part::Cross { .. } => None,
    };
    parts.into_iter().filter_map(judge).collect()
}

/// What the fake counted, at 3 USD a million tokens in and 15 out, in millionths.
pub(crate) fn bill(reply: &Value) -> u64 {
    let tokens = |name: &str| reply["cost"][name].as_u64().unwrap();
    tokens("input_tokens") * 3 + tokens("output_tokens") * 15
}

/// Dollars of a reply as millionths.
pub(crate) fn millionths(dollars: &Value) -> u64 {
    (dollars.as_f64().unwrap() * 1e6).round() as u64
}
