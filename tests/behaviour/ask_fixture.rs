//! A home with a few pages and a fake language model that costs 3 USD per million input tokens and
//! 15 USD per million output tokens.

use std::fs;

use brain_tests::TestHome;
use brain_tests::model::{FakeModel, Question};
use serde_json::Value;

/// Returns the passages in a question.
pub(crate) fn passages(question: &Question) -> Vec<Value> {
    passage_lines(question).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the lines between the delimiters of the passages.
pub(crate) fn passage_lines(question: &Question) -> Vec<String> {
    let mut lines = question.text.lines();
    let first = lines.next().unwrap();
    let delimiter = first.strip_prefix("[passages ").and_then(|rest| rest.strip_suffix(']'));
    let end = format!("[end of passages {}]", delimiter.expect("no delimiter"));
    lines.take_while(|line| *line != end).map(str::to_owned).collect()
}

/// Returns the number of the passage from `slug`.
pub(crate) fn passage_number(question: &Question, slug: &str) -> u64 {
    let found = passages(question).into_iter().find(|passage| passage["page"] == slug);
    found.unwrap_or_else(|| panic!("{slug} was not sent: {}", question.text))["number"]
        .as_u64()
        .unwrap()
}

/// Returns a home that uses this model with the API of OpenAI.
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

/// Returns a home that uses this model with the API `api`: `openai` or `anthropic`.
pub(crate) fn home_with_api(api: &str, model: &FakeModel) -> TestHome {
    let mut home = home(model);
    if api == "anthropic" {
        set_variable(&mut home, "BRAIN_LLM_PROVIDER", api);
        set_variable(&mut home, "BRAIN_LLM_BASE_URL", &model.anthropic());
    }
    home
}

/// Sets an environment variable of the home's programs.
pub(crate) fn set_variable(home: &mut TestHome, key: &str, value: &str) {
    home.env.retain(|(known, _)| known != key);
    home.env.push((key.to_owned(), value.to_owned()));
}

/// Writes two pages about an engine and one about soup.
pub(crate) fn fill(home: &TestHome) {
    home.put(
        "people/ada",
        "---\ntitle: Ada Lovelace\n---\n# Work\n\nAda wrote the first program for the analytical \
            engine.\n",
    );
    home.put(
        "people/babbage",
        "---\ntitle: Charles Babbage\n---\nBabbage drew the analytical engine and never built \
            it.\n",
    );
    home.put("food/soup", "Leek and potato.\n");
}

/// Returns the lines of the cost ledger, which may be missing.
pub(crate) fn ledger(home: &TestHome) -> Vec<Value> {
    let text = fs::read_to_string(home.path().join("costs.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
