//! `brain ask` when the model is too dear, stalls, breaks off, limits, or talks nonsense; and what
//! each of these costs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use brain_tests::PATIENCE;
use brain_tests::model::{FakeModel, Manner, Said};
use serde_json::Value;

use crate::ask_lab::{fill, home, home_in, ledger, set};
use crate::terminal::on_a_terminal;

const QUESTION: &str = "who drew the analytical engine?";

fn states(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["step"].as_str().unwrap()).collect()
}

fn paid(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["micro_usd"].as_u64().unwrap()).collect()
}

#[test]
fn what_may_be_too_dear_is_not_asked() {
    let model = FakeModel::new(Manner::default(), |_| Said::Text("Babbage [1].".into()));
    let mut home = home(&model);
    set(&mut home, "BRAIN_LLM_MAX_COST", "0.001");
    let daemon = home.daemon();
    fill(&home);
    let refused = home.fault(["ask", QUESTION], 3);
    assert_eq!(refused["code"], "over_budget");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("of 0.001 USD"), "{message}");
    assert!(refused["hint"].as_str().unwrap().contains("--max-cost"), "{refused}");
    assert_eq!((model.called(), ledger(&home).len()), (0, 0), "not even tried");
    assert_eq!(home.fault(["ask", QUESTION, "--max-cost", "0"], 3)["code"], "over_budget");
    assert_eq!(model.called(), 0);
    assert_eq!(home.json(["ask", QUESTION, "--max-cost", "0.50"])["answer"], "Babbage [1].");
    assert_eq!(home.fault(["ask", QUESTION, "--max-cost", "much"], 2)["code"], "usage");
    // What costs nothing needs no budget.
    assert!(daemon.terminate().0.success());
    set(&mut home, "BRAIN_LLM_PRICE_IN", "0");
    set(&mut home, "BRAIN_LLM_PRICE_OUT", "0");
    let _daemon = home.daemon();
    assert_eq!(home.json(["ask", QUESTION, "--max-cost", "0"])["cost"]["actual_usd"], 0.0);
}

#[test]
fn an_answer_that_ends_in_the_middle_is_kept_and_is_a_failure() {
    type Way = fn(String) -> Said;
    let ways: [(Way, &str); 3] = [
        (Said::Stalls, "within 1 seconds"),
        (Said::Breaks, "connection lost"),
        (Said::GivesUp, "stopped in the middle"),
    ];
    for (way, why) in ways {
        let model = FakeModel::new(Manner::default(), move |_| way("Babbage [1] and ".into()));
        for shape in ["openai", "anthropic"] {
            let home = home_in(shape, &model);
            let _daemon = home.daemon();
            fill(&home);
            let before = model.called();
            let asked = home.brain(["ask", "--json", QUESTION]).expect(1).json();
            assert_eq!(
                (asked["answer"].as_str(), &asked["partial"]),
                (Some("Babbage [1] and"), &true.into())
            );
            assert_eq!(asked["citations"].as_array().map(Vec::len), Some(1), "{asked}");
            let hint = asked["hint"].as_str().unwrap();
            assert!(hint.contains("not whole") && hint.contains(why), "{shape}: {hint}");
            assert_eq!(model.called(), before + 1, "not asked again after text came");
            let lines = ledger(&home);
            assert_eq!(states(&lines), ["enter", "failed"]);
            assert_eq!(paid(&lines)[0], paid(&lines)[1], "at its worst");
            assert_eq!(asked["cost"]["actual_usd"], asked["cost"]["estimated_usd"]);
        }
    }
}

#[test]
fn what_came_before_the_end_is_on_the_terminal_once() {
    let model = FakeModel::new(Manner::default(), |_| {
        Said::Breaks("Babbage drew the engine [1] and then he".into())
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
        shown.contains("failed: the answer is not whole") && shown.contains("[1] people/"),
        "{shown}"
    );
}

#[test]
fn nonsense_and_refusals_are_faults_with_a_way_out() {
    for (said, code, state) in [
        (Said::Nonsense, "service_failed", "failed"),
        (Said::Refused, "service_failed", "done"),
        (Said::Text(String::new()), "service_failed", "done"),
        (Said::Text("<think>and never says a word".into()), "service_failed", "done"),
        (Said::Cut("<think>and never ends".into()), "service_failed", "done"),
        (
            Said::Fault(401, "{\"error\":{\"message\":\"bad key\"}}".into(), None),
            "not_set_up",
            "failed",
        ),
        (
            Said::Fault(404, "{\"error\":{\"message\":\"no such model\"}}".into(), None),
            "service_failed",
            "failed",
        ),
    ] {
        let shown = format!("{said:?}");
        let model = FakeModel::new(Manner::default(), move |_| said.clone());
        let home = home(&model);
        let _daemon = home.daemon();
        fill(&home);
        let fault = home.fault(["ask", QUESTION], 1);
        assert_eq!(fault["code"], code, "{shown}: {fault}");
        assert!(fault["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{fault}");
        let lines = ledger(&home);
        assert_eq!(states(&lines), ["enter", state], "{shown}");
        assert_eq!(model.called(), 1);
    }
}

#[test]
fn a_service_that_limits_is_asked_again_when_it_says() {
    let calls = AtomicUsize::new(0);
    let model =
        FakeModel::new(Manner::default(), move |_| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => Said::Fault(429, "{\"error\":{\"message\":\"slow down\"}}".into(), Some(0)),
            1 => Said::Fault(529, "{}".into(), Some(0)),
            _ => Said::Text("Babbage [1].".into()),
        });
    let home = home(&model);
    let _daemon = home.daemon();
    fill(&home);
    let asked = home.json(["ask", QUESTION]);
    assert_eq!(
        (asked["answer"].as_str(), &asked["partial"]),
        (Some("Babbage [1]."), &false.into())
    );
    let lines = ledger(&home);
    assert_eq!(states(&lines), ["enter", "failed", "enter", "failed", "enter", "done"]);
    assert_eq!((paid(&lines)[1], paid(&lines)[3]), (0, 0), "a refusal costs nothing");

    let model = FakeModel::new(Manner::default(), |_| Said::Fault(429, "{}".into(), Some(3600)));
    let home = crate::ask_lab::home(&model);
    let _daemon = home.daemon();
    fill(&home);
    assert_eq!(home.fault(["ask", QUESTION], 1)["code"], "rate_limited");
    assert_eq!(model.called(), 1, "nobody waits an hour for an answer");
}

#[test]
fn a_service_that_is_not_there_costs_nothing() {
    let model = FakeModel::new(Manner::default(), |_| Said::Nonsense);
    let mut home = home(&model);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    set(&mut home, "BRAIN_LLM_BASE_URL", &format!("http://{nobody}/v1"));
    let daemon = home.daemon();
    fill(&home);
    let fault = home.fault(["ask", QUESTION], 1);
    assert!(fault["hint"].as_str().unwrap().contains("llm.base_url"), "{fault}");
    assert_eq!((states(&ledger(&home)), paid(&ledger(&home))[1]), (vec!["enter", "failed"], 0));
    assert!(daemon.terminate().0.success());
    // The provider's own service, without a key: nobody is called at all.
    set(&mut home, "BRAIN_LLM_BASE_URL", "");
    let _daemon = home.daemon();
    let fault = home.fault(["ask", QUESTION], 1);
    assert_eq!(fault["code"], "not_set_up");
    assert!(fault["hint"].as_str().unwrap().contains("secrets/llm-api-key"), "{fault}");
    assert_eq!(ledger(&home).len(), 2);
}

#[test]
fn whoever_goes_away_ends_the_question() {
    let model = FakeModel::new(Manner::default(), |_| Said::Stalls("Bab".into()));
    let mut home = home(&model);
    set(&mut home, "BRAIN_LLM_SILENCE", "10m");
    let _daemon = home.daemon();
    fill(&home);
    let mut asking = home
        .command("brain")
        .args(["ask", QUESTION])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    while model.called() == 0 {
        assert!(Instant::now() < until, "nobody asks");
        std::thread::sleep(Duration::from_millis(10));
    }
    asking.kill().unwrap();
    asking.wait().unwrap();
    while states(&ledger(&home)) != ["enter", "failed"] {
        assert!(Instant::now() < until, "the question goes on: {:?}", ledger(&home));
        std::thread::sleep(Duration::from_millis(50));
    }
}
