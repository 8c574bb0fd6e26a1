//! The cost ledger: each call is recorded before it is made, and `brain costs` adds up the calls.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brain_tests::model::{FakeModel, ModelOptions, ModelResponse};
use brain_tests::{TEST_TIMEOUT, TestHome, texts};
use serde_json::Value;

use crate::ask_fixture::{fill, home, ledger, set_variable};

const QUESTION: &str = "who drew the analytical engine?";

/// Returns the doctor's check of the language model.
fn check(home: &TestHome) -> Value {
    let doctor = home.brain(["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "language model").unwrap().clone()
}

#[test]
fn calls_are_recorded_before_they_are_made() {
    // The path of the ledger, and its text at each call of the model.
    let ledger_texts: Arc<Mutex<(std::path::PathBuf, Vec<String>)>> = Arc::default();
    let recorded_texts = Arc::clone(&ledger_texts);
    let model = FakeModel::new(ModelOptions::default(), move |_| {
        let mut texts = recorded_texts.lock().unwrap();
        let text = fs::read_to_string(&texts.0).unwrap_or_default();
        texts.1.push(text);
        ModelResponse::Text("Babbage [1].".into())
    });
    let home = home(&model);
    ledger_texts.lock().unwrap().0 = home.path().join("costs.jsonl");
    let _daemon = home.daemon();
    fill(&home);
    home.json(["ask", QUESTION]);
    let before: Vec<Value> = ledger_texts.lock().unwrap().1[0]
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(before.len(), 1, "{before:?}");
    assert_eq!(
        (before[0]["step"].as_str(), before[0]["purpose"].as_str(), before[0]["model"].as_str()),
        (Some("enter"), Some("ask"), Some("small"))
    );
    let question = model.questions().pop().unwrap();
    assert_eq!(
        before[0]["tokens_out"], question.max_tokens,
        "the reservation is for the maximum output"
    );
    let bytes = (question.text.len() + question.system.len()) as u64;
    assert!(before[0]["tokens_in"].as_u64().unwrap() >= bytes / 2);
    let after = ledger(&home);
    assert_eq!(
        (after.len(), after[1]["step"].as_str(), &after[1]["call"]),
        (2, Some("done"), &before[0]["call"])
    );
    let (tokens_in, tokens_out) =
        ((question.text.len() / 4) as u64, ("Babbage [1].".len() / 4) as u64);
    assert_eq!(
        (&after[1]["tokens_in"], &after[1]["tokens_out"]),
        (&tokens_in.into(), &tokens_out.into())
    );
    assert_eq!(after[1]["micro_usd"], tokens_in * 3 + tokens_out * 15);
    let mode = fs::metadata(home.path().join("costs.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn killed_calls_count_with_their_maximum_cost() {
    let model = FakeModel::new(ModelOptions::default(), |_| ModelResponse::Stall("Bab".into()));
    let mut home = home(&model);
    set_variable(&mut home, "BRAIN_LLM_SILENCE", "10m");
    let daemon = home.daemon();
    fill(&home);
    let mut client = home
        .command("brain")
        .args(["ask", "--no-start", QUESTION])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while model.call_count() == 0 {
        assert!(Instant::now() < deadline, "the model is not called");
        std::thread::sleep(Duration::from_millis(10));
    }
    daemon.kill();
    assert!(!client.wait().unwrap().success());
    let lines = ledger(&home);
    assert_eq!((lines.len(), lines[0]["step"].as_str()), (1, Some("enter")));
    let _daemon = home.daemon();
    let costs = home.json(["costs", "--limit", "10"]);
    assert_eq!(texts(&costs["calls"], "state"), ["open"]);
    let max_cost = lines[0]["micro_usd"].as_u64().unwrap() as f64 / 1e6;
    assert!(max_cost > 0.0);
    assert_eq!(
        (costs["total"]["actual_usd"].as_f64(), &costs["damaged"]),
        (Some(max_cost), &0.into())
    );
    let ran = home.brain(["costs", "--limit", "10"]).expect(0);
    assert!(
        ran.stdout.contains("open") && ran.stderr.contains("1 call without a result"),
        "{ran:?}"
    );
}

#[test]
fn costs_are_added_up_by_purpose_model_and_day() {
    let model =
        FakeModel::new(ModelOptions::default(), |_| ModelResponse::Text("Babbage [1].".into()));
    let home = home(&model);
    let daemon = home.daemon();
    let ran = home.brain(["costs"]).expect(0);
    assert!(ran.stdout.lines().count() <= 1 && ran.stderr.contains("no model was used"), "{ran:?}");
    fill(&home);
    home.json(["ask", QUESTION]);
    home.json(["ask", QUESTION, "--model", "large"]);
    home.json(["ask", QUESTION]);
    let costs = home.json(["costs", "--limit", "2"]);
    assert_eq!(
        (texts(&costs["sums"], "model"), texts(&costs["sums"], "purpose")),
        (vec!["small".into(), "large".into()], vec!["ask".into(), "ask".into()])
    );
    assert_eq!(
        (texts(&costs["calls"], "model"), &costs["total"]["calls"]),
        (vec!["small".into(), "large".into()], &3.into())
    );
    let sum: f64 = costs["sums"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sum| sum["actual_usd"].as_f64().unwrap())
        .sum();
    assert!(
        (sum - costs["total"]["actual_usd"].as_f64().unwrap()).abs() < 1e-9 && sum > 0.0,
        "{costs}"
    );
    assert_eq!(home.json(["costs", "--since", "2100-01-01"])["total"]["calls"], 0);
    assert_eq!(
        home.json(["costs", "--until", "2100-01-01", "--since", "2020-01-01"])["total"]["calls"],
        3
    );
    assert_eq!(home.fault(["costs", "--since", "soon"], 2)["code"], "usage");
    // A crash of the machine may leave half a line.
    assert!(daemon.terminate().0.success());
    let mut file = fs::File::options().append(true).open(home.path().join("costs.jsonl")).unwrap();
    file.write_all(b"{\"step\":\"enter\",\"call\":99").unwrap();
    let _daemon = home.daemon();
    home.json(["ask", QUESTION]);
    let costs = home.json(["costs"]);
    assert_eq!((&costs["total"]["calls"], &costs["damaged"]), (&4.into(), &1.into()));
    assert!(home.brain(["costs"]).expect(0).stderr.contains("1 line of the ledger cannot be read"));
}

#[test]
fn calls_that_cannot_be_recorded_are_not_made() {
    let model =
        FakeModel::new(ModelOptions::default(), |_| ModelResponse::Text("Babbage [1].".into()));
    let mut home = home(&model);
    fs::create_dir_all(home.path().join("costs.jsonl")).unwrap();
    let daemon = home.daemon();
    fill(&home);
    let fault = home.fault(["ask", QUESTION], 1);
    assert_eq!(fault["code"], "io");
    assert!(fault["message"].as_str().unwrap().contains("costs.jsonl"), "{fault}");
    assert_eq!(model.call_count(), 0);
    let found = check(&home);
    assert_eq!(found["status"], "warn", "{found}");
    assert!(found["message"].as_str().unwrap().contains("costs.jsonl"), "{found}");
    assert_eq!(home.fault(["costs"], 1)["code"], "io");
    // A model without a price is called nevertheless.
    assert!(daemon.terminate().0.success());
    set_variable(&mut home, "BRAIN_LLM_PRICE_IN", "0");
    set_variable(&mut home, "BRAIN_LLM_PRICE_OUT", "0");
    let _daemon = home.daemon();
    assert_eq!(home.json(["ask", QUESTION])["answer"], "Babbage [1].");
}

#[test]
fn doctor_checks_the_language_model() {
    let model = FakeModel::new(ModelOptions::default(), |_| ModelResponse::Garbage);
    let without_model = TestHome::new();
    let daemon = without_model.daemon();
    assert_eq!(check(&without_model)["status"], "ok");
    drop(daemon);
    let key = ("BRAIN_LLM_API_KEY", "sk-hush");
    for (settings, status, word) in [
        (vec![], "ok", "small"),
        (vec![("BRAIN_LLM_MODEL", "")], "warn", "llm.model"),
        (vec![("BRAIN_LLM_BASE_URL", "")], "warn", "no key"),
        (vec![("BRAIN_LLM_BASE_URL", ""), key], "ok", "api.openai.com"),
        (
            vec![
                ("BRAIN_LLM_BASE_URL", ""),
                key,
                ("BRAIN_LLM_PRICE_IN", "0"),
                ("BRAIN_LLM_PRICE_OUT", "0"),
            ],
            "warn",
            "llm.price_in",
        ),
    ] {
        let mut home = home(&model);
        for (key, value) in &settings {
            set_variable(&mut home, key, value);
        }
        let _daemon = home.daemon();
        let found = check(&home);
        assert_eq!(found["status"], status, "{settings:?}: {found}");
        assert!(found["message"].as_str().unwrap().contains(word), "{settings:?}: {found}");
        assert!(!found.to_string().contains("sk-hush"), "{found}");
    }
    assert_eq!(model.call_count(), 0, "doctor does not call the model");
}
