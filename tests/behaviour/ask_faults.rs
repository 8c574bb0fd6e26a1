//! `brain ask` when the model is too expensive, stalls, disconnects, limits requests, or returns
//! garbage; and the recorded costs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use brain_tests::TEST_TIMEOUT;
use brain_tests::model::{FakeModel, ModelOptions, ModelResponse};
use serde_json::Value;

use crate::ask_fixture::{fill, home, home_with_api, ledger, set_variable};
use crate::terminal::on_a_terminal;

const QUESTION: &str = "who drew the analytical engine?";

fn states(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["step"].as_str().unwrap()).collect()
}

fn costs(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["micro_usd"].as_u64().unwrap()).collect()
}

#[test]
fn questions_over_the_budget_are_not_asked() {
    let model =
        FakeModel::new(ModelOptions::default(), |_| ModelResponse::Text("Babbage [1].".into()));
    let mut home = home(&model);
    set_variable(&mut home, "BRAIN_LLM_MAX_COST", "0.001");
    let daemon = home.daemon();
    fill(&home);
    let refused = home.fault(["ask", QUESTION], 3);
    assert_eq!(refused["code"], "over_budget");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("of 0.001 USD"), "{message}");
    assert!(refused["hint"].as_str().unwrap().contains("--max-cost"), "{refused}");
    assert_eq!((model.call_count(), ledger(&home).len()), (0, 0), "the model is not called");
    assert_eq!(home.fault(["ask", QUESTION, "--max-cost", "0"], 3)["code"], "over_budget");
    assert_eq!(model.call_count(), 0);
    assert_eq!(home.json(["ask", QUESTION, "--max-cost", "0.50"])["answer"], "Babbage [1].");
    assert_eq!(home.fault(["ask", QUESTION, "--max-cost", "much"], 2)["code"], "usage");
    // A free model needs no budget.
    assert!(daemon.terminate().0.success());
    set_variable(&mut home, "BRAIN_LLM_PRICE_IN", "0");
    set_variable(&mut home, "BRAIN_LLM_PRICE_OUT", "0");
    let _daemon = home.daemon();
    assert_eq!(home.json(["ask", QUESTION, "--max-cost", "0"])["cost"]["actual_usd"], 0.0);
}

#[test]
fn partial_answers_are_returned_as_failures() {
    type ResponseKind = fn(String) -> ModelResponse;
    let cases: [(ResponseKind, &str); 3] = [
        (ModelResponse::Stall, "within 1 seconds"),
        (ModelResponse::Disconnect, "connection lost"),
        (ModelResponse::StreamError, "stopped in the middle"),
    ];
    for (response, reason) in cases {
        let model =
            FakeModel::new(ModelOptions::default(), move |_| response("Babbage [1] and ".into()));
        for api in ["openai", "anthropic"] {
            let home = home_with_api(api, &model);
            let _daemon = home.daemon();
            fill(&home);
            let before = model.call_count();
            let reply = home.brain(["ask", "--json", QUESTION]).expect(1).json();
            assert_eq!(
                (reply["answer"].as_str(), &reply["partial"]),
                (Some("Babbage [1] and"), &true.into())
            );
            assert_eq!(reply["citations"].as_array().map(Vec::len), Some(1), "{reply}");
            let hint = reply["hint"].as_str().unwrap();
            assert!(hint.contains("incomplete") && hint.contains(reason), "{api}: {hint}");
            assert_eq!(model.call_count(), before + 1, "no retry after text arrived");
            let lines = ledger(&home);
            assert_eq!(states(&lines), ["enter", "failed"]);
            assert_eq!(
                costs(&lines)[0],
                costs(&lines)[1],
                "an interrupted call costs its estimate"
            );
            assert_eq!(reply["cost"]["actual_usd"], reply["cost"]["estimated_usd"]);
        }
    }
}

#[test]
fn partial_answers_are_printed_once() {
    let model = FakeModel::new(ModelOptions::default(), |_| {
        ModelResponse::Disconnect("Babbage drew the engine [1] and then he".into())
    });
    let home = home(&model);
    let _daemon = home.daemon();
    fill(&home);
    let Some((code, shown)) = on_a_terminal(&home, 60, &[("NO_COLOR", "1")], &["ask", QUESTION])
    else {
        return;
    };
    assert_eq!(code, 1, "{shown}");
    assert_eq!(shown.matches("Babbage drew the engine [1] and then he").count(), 1, "{shown}");
    assert!(
        shown.contains("failed: the answer is incomplete") && shown.contains("[1] people/"),
        "{shown}"
    );
}

#[test]
fn invalid_answers_and_refusals_are_faults_with_hints() {
    for (response, code, state) in [
        (ModelResponse::Garbage, "service_failed", "failed"),
        (ModelResponse::Refusal, "service_failed", "done"),
        (ModelResponse::Text(String::new()), "service_failed", "done"),
        (ModelResponse::Text("<think>and never says a word".into()), "service_failed", "done"),
        (ModelResponse::Truncated("<think>and never ends".into()), "service_failed", "done"),
        (
            ModelResponse::Status(401, "{\"error\":{\"message\":\"bad key\"}}".into(), None),
            "not_set_up",
            "failed",
        ),
        (
            ModelResponse::Status(404, "{\"error\":{\"message\":\"no such model\"}}".into(), None),
            "service_failed",
            "failed",
        ),
    ] {
        let shown = format!("{response:?}");
        let model = FakeModel::new(ModelOptions::default(), move |_| response.clone());
        let home = home(&model);
        let _daemon = home.daemon();
        fill(&home);
        let fault = home.fault(["ask", QUESTION], 1);
        assert_eq!(fault["code"], code, "{shown}: {fault}");
        assert!(fault["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{fault}");
        let lines = ledger(&home);
        assert_eq!(states(&lines), ["enter", state], "{shown}");
        assert_eq!(model.call_count(), 1);
    }
}

#[test]
fn rate_limited_questions_are_retried() {
    let calls = AtomicUsize::new(0);
    let model = FakeModel::new(ModelOptions::default(), move |_| {
        match calls.fetch_add(1, Ordering::SeqCst) {
            0 => ModelResponse::Status(
                429,
                "{\"error\":{\"message\":\"slow down\"}}".into(),
                Some(0),
            ),
            1 => ModelResponse::Status(529, "{}".into(), Some(0)),
            _ => ModelResponse::Text("Babbage [1].".into()),
        }
    });
    let home = home(&model);
    let _daemon = home.daemon();
    fill(&home);
    let reply = home.json(["ask", QUESTION]);
    assert_eq!(
        (reply["answer"].as_str(), &reply["partial"]),
        (Some("Babbage [1]."), &false.into())
    );
    let lines = ledger(&home);
    assert_eq!(states(&lines), ["enter", "failed", "enter", "failed", "enter", "done"]);
    assert_eq!((costs(&lines)[1], costs(&lines)[3]), (0, 0), "a refusal costs nothing");

    let model = FakeModel::new(ModelOptions::default(), |_| {
        ModelResponse::Status(429, "{}".into(), Some(3600))
    });
    let home = crate::ask_fixture::home(&model);
    let _daemon = home.daemon();
    fill(&home);
    assert_eq!(home.fault(["ask", QUESTION], 1)["code"], "rate_limited");
    assert_eq!(model.call_count(), 1, "a wait of an hour is too long for a retry");
}

#[test]
fn an_unreachable_service_costs_nothing() {
    let model = FakeModel::new(ModelOptions::default(), |_| ModelResponse::Garbage);
    let mut home = home(&model);
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    set_variable(&mut home, "BRAIN_LLM_BASE_URL", &format!("http://{unused}/v1"));
    let daemon = home.daemon();
    fill(&home);
    let fault = home.fault(["ask", QUESTION], 1);
    assert!(fault["hint"].as_str().unwrap().contains("llm.base_url"), "{fault}");
    assert_eq!((states(&ledger(&home)), costs(&ledger(&home))[1]), (vec!["enter", "failed"], 0));
    assert!(daemon.terminate().0.success());
    // Without a key, the provider is not called.
    set_variable(&mut home, "BRAIN_LLM_BASE_URL", "");
    let _daemon = home.daemon();
    let fault = home.fault(["ask", QUESTION], 1);
    assert_eq!(fault["code"], "not_set_up");
    assert!(fault["hint"].as_str().unwrap().contains("secrets/llm-api-key"), "{fault}");
    assert_eq!(ledger(&home).len(), 2);
}

#[test]
fn a_disconnecting_client_cancels_the_question() {
    let model = FakeModel::new(ModelOptions::default(), |_| ModelResponse::Stall("Bab".into()));
    let mut home = home(&model);
    set_variable(&mut home, "BRAIN_LLM_SILENCE", "10m");
    let _daemon = home.daemon();
    fill(&home);
    let mut client = home
        .command("brain")
        .args(["ask", QUESTION])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while model.call_count() == 0 {
        assert!(Instant::now() < deadline, "the model is not called");
        std::thread::sleep(Duration::from_millis(10));
    }
    client.kill().unwrap();
    client.wait().unwrap();
    while states(&ledger(&home)) != ["enter", "failed"] {
        assert!(Instant::now() < deadline, "the question was not cancelled: {:?}", ledger(&home));
        std::thread::sleep(Duration::from_millis(50));
    }
}
