//! Transcripts of commands that use models: vectors, answers, costs.

use brain_tests::TestHome;
use brain_tests::model::{FakeModel, ModelOptions, ModelResponse};
use brain_tests::tiny_model;

use super::transcript::Transcript;
use crate::ask_fixture;
use crate::meaning_endpoint::wait_for_vectors;

#[test]
fn models_and_vectors() {
    let mut user = Transcript::new();
    tiny_model::write(&user.directory().join("tiny"), 7);
    user.home.put("notes/harbour", "# Harbour\n\nThe ship is at the sea.\n");
    user.home.put("notes/kitchen", "# Kitchen\n\nThe bread is in the house.\n");
    user.run(
        r#"
        brain model
        brain embed --dry-run
        brain embed
        brain model install none
        brain model install ./tiny
        "#,
    );
    wait_for_vectors(&user.home);
    user.run(
        r#"
        brain model list
        brain embed --stale
        brain embed --all
        brain model install ./tiny
        brain search boat
        "#,
    );
    user.compare("models_and_vectors");
}

#[test]
fn ask_and_costs() {
    let model = FakeModel::new(ModelOptions::default(), |question| {
        let number = ask_fixture::passage_number(question, "people/ada");
        ModelResponse::Text(format!("Ada Lovelace did [{number}].\n\nUNKNOWN: in which year"))
    });
    let mut user = Transcript::with(ask_fixture::home(&model));
    ask_fixture::fill(&user.home);
    user.run(
        r#"
        brain ask "who wrote for the analytical engine?" --estimate
        brain ask "who wrote for the analytical engine?"
        brain ask "who wrote for the analytical engine?" --max-cost 0.000001
        brain ask "xyzzy"
        brain costs
        brain costs --until 2020
        "#,
    );
    user.compare("ask_and_costs");
}

#[test]
fn without_models() {
    let mut user = Transcript::with(TestHome::new());
    ask_fixture::fill(&user.home);
    user.run(
        r#"
        brain ask "who wrote for the analytical engine?"
        brain brainstorm "How do we halve latency?"
        brain brainstorm "Who drew the engine?" | sed -n 1,3p
        brain lsd "Who drew the engine?" | sed -n 1,3p
        brain brainstorm --list-runs
        brain costs
        "#,
    );
    user.compare("without_models");
}
