//! A brain with a few pages and a language model over loopback that costs 3 USD a million tokens
//! in, and 15 out.

use std::fs;

use brain_tests::TestHome;
use brain_tests::model::{Asked, FakeModel};
use serde_json::Value;

/// Passages, as the model got them.
pub(crate) fn passages(asked: &Asked) -> Vec<Value> {
    between(asked).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines between the marks.
pub(crate) fn between(asked: &Asked) -> Vec<String> {
    let mut lines = asked.text.lines();
    let first = lines.next().unwrap();
    let mark =
        first.strip_prefix("[passages ").and_then(|rest| rest.strip_suffix(']')).expect("a mark");
    let end = format!("[end of passages {mark}]");
    lines.take_while(|line| *line != end).map(str::to_owned).collect()
}

/// The number of the passage that is from `slug`.
pub(crate) fn number(asked: &Asked, slug: &str) -> u64 {
    let found = passages(asked).into_iter().find(|passage| passage["page"] == slug);
    found.unwrap_or_else(|| panic!("{slug} was not sent: {}", asked.text))["number"]
        .as_u64()
        .unwrap()
}

/// A home that asks this model, in the shape of OpenAI.
pub(crate) fn home(model: &FakeModel) -> TestHome {
    let mut home = TestHome::new();
    let settings = [
        ("BRAIN_LLM_PROVIDER", "openai".to_owned()),
        ("BRAIN_LLM_BASE_URL", model.openai()),
        ("BRAIN_LLM_MODEL", "small".to_owned()),
        ("BRAIN_LLM_PRICE_IN", "3".to_owned()),
        ("BRAIN_LLM_PRICE_OUT", "15".to_owned()),
        ("BRAIN_LLM_SILENCE", "1s".to_owned()),
        ("BRAIN_EMBEDDING_PROVIDER", "none".to_owned()),
    ];
    home.env.extend(settings.map(|(key, value)| (key.to_owned(), value)));
    home
}

/// A home that asks this model in `shape`: `openai` or `anthropic`.
pub(crate) fn home_in(shape: &str, model: &FakeModel) -> TestHome {
    let mut home = home(model);
    if shape == "anthropic" {
        set(&mut home, "BRAIN_LLM_PROVIDER", shape);
        set(&mut home, "BRAIN_LLM_BASE_URL", &model.anthropic());
    }
    home
}

/// Changes a key.
pub(crate) fn set(home: &mut TestHome, key: &str, value: &str) {
    home.env.retain(|(known, _)| known != key);
    home.env.push((key.to_owned(), value.to_owned()));
}

/// Pages about an engine.
pub(crate) fn fill(home: &TestHome) {
    home.put(
        "people/ada",
        "---\ntitle: Ada Lovelace\n---\n# Work\n\nAda wrote the first program for the analytical engine.\n",
    );
    home.put(
        "people/babbage",
        "---\ntitle: Charles Babbage\n---\nBabbage drew the analytical engine and never built it.\n",
    );
    home.put("food/soup", "Leek and potato.\n");
}

/// The ledger's lines; none when there is no ledger.
pub(crate) fn ledger(home: &TestHome) -> Vec<Value> {
    let text = fs::read_to_string(home.path().join("costs.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
