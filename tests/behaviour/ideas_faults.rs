//! Ideas when the budget, the model, the daemon or the disk fails: paid results are kept, and
//! nothing is paid twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brain_base::caller::{Caller, Scopes, Visibility};
use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, ExternalDependencies, NoProgress, StandardOutput};
use brain_net::Client;
use brain_protocol::{
    FaultCode, IdeaProfile, IdeaRuns, Ideas, IdeasReply, Origin, PageRef, Put, Reply, Request,
    Slug, SourceAdd, SourceId,
};
use brain_tests::ideas_model::{IdeaQuestion, parse_question, valid_response};
use brain_tests::model::{FakeModel, ModelOptions, ModelResponse};
use brain_tests::{HTTP_ON_FREE_PORT, TEST_TIMEOUT, program, run};
use serde_json::{Value, json};

use crate::ask_fixture;
use crate::ideas_fixture::{QUESTION, crosses, expected_cost, fill, json, judge_sizes, millionths};
use crate::terminal::on_a_terminal;

#[test]
fn runs_stop_before_the_budget_is_exceeded() {
    let model = FakeModel::new(ModelOptions::default(), valid_response);
    let mut home = ask_fixture::home(&model);
    // By the estimate, a cross costs 4.05 cents and judging its three ideas 2.43 cents.
    ask_fixture::set_variable(&mut home, "BRAIN_LLM_PRICE_IN", "6");
    ask_fixture::set_variable(&mut home, "BRAIN_LLM_PRICE_OUT", "30");
    fill(&home);
    let (reply, output) = json(&home, &["brainstorm", QUESTION, "--max-cost", "0.30"]);
    assert_eq!((output.code, reply["status"].as_str()), (1, Some("stopped")), "{output:?}");
    assert!(output.stderr.contains("may cost more than its budget of $0.30"), "{output:?}");
    let paid = crosses(&model).len();
    assert!((1..24).contains(&paid), "{paid}");
    assert_eq!(
        millionths(&reply["cost"]["actual_usd"]),
        2 * expected_cost(&reply),
        "the prices are twice those of `expected_cost`"
    );
    assert!(millionths(&reply["cost"]["actual_usd"]) <= 300_000, "{reply}");
    let ideas = reply["ideas"].as_array().unwrap();
    assert_eq!(ideas.len(), 3 * paid);
    assert!(
        ideas.iter().all(|idea| idea["judge"].is_object()),
        "the cost of the judge was reserved"
    );
    let problem = reply["problem"].as_str().unwrap();
    let id = reply["run_id"].as_str().unwrap();
    assert!(
        problem.starts_with("crosses: ")
            && problem.contains(&format!("{paid} of 24 crosses are done")),
        "{problem}"
    );
    assert!(problem.contains(&format!("brain brainstorm --resume {id} --max-cost ")), "{problem}");
    assert_eq!(reply["saved_slug"], Value::Null, "an incomplete run is not saved automatically");

    // The budget applies to the whole run, so a budget below its former cost allows nothing more.
    let (limited, _) = json(&home, &["brainstorm", "--resume", id, "--max-cost", "0.0001"]);
    assert_eq!((limited["status"].as_str(), crosses(&model).len()), (Some("stopped"), paid));
    let enough = problem.rsplit(' ').next().unwrap();
    let (resumed, output) = json(&home, &["brainstorm", "--resume", id, "--max-cost", enough]);
    assert_eq!((output.code, resumed["status"].as_str()), (0, Some("done")), "{output:?}");
    assert!(
        output
            .stderr
            .contains(&format!("({} of 4×6 = 24 crosses left × 3 ideas + judge)", 24 - paid)),
        "{output:?}"
    );
    let all = crosses(&model);
    assert_eq!(
        (all.len(), all.iter().collect::<BTreeSet<_>>().len()),
        (24, 24),
        "no cross was sent twice"
    );
    assert_eq!(judge_sizes(&model).iter().sum::<usize>(), 72);
    let row = &home.json(["brainstorm", "--list-runs"])["runs"][0];
    assert_eq!(
        (row["status"].as_str(), row["crosses_done"].as_u64()),
        (Some("done"), Some(24)),
        "{row}"
    );
    let sum = millionths(&reply["cost"]["actual_usd"]) + millionths(&resumed["cost"]["actual_usd"]);
    assert_eq!(millionths(&row["cost"]["actual_usd"]), sum);
    let calls = model.call_count();
    let (finished, _) = json(&home, &["brainstorm", "--resume", id]);
    assert_eq!((finished["ideas"].as_array().unwrap().len(), model.call_count()), (72, calls));
}

#[test]
fn a_zero_budget_calls_no_model() {
    let model = FakeModel::new(ModelOptions::default(), valid_response);
    let home = ask_fixture::home(&model);
    fill(&home);
    let (reply, output) = json(&home, &["lsd", QUESTION, "--max-cost", "0"]);
    assert_eq!(
        (output.code, model.call_count(), reply["ideas"].as_array().unwrap().len()),
        (1, 0, 0),
        "{output:?}"
    );
    assert_eq!(reply["cost"]["actual_usd"], json!(0.0));
    assert!(output.stderr.contains("more than its budget of $0.00"), "{output:?}");
}

#[test]
fn failed_crosses_are_retried_by_resume() {
    let is_repaired = Arc::new(AtomicBool::new(false));
    let repaired = Arc::clone(&is_repaired);
    let failed_pages = Mutex::new(Vec::new());
    // The crosses of one close page with the first two distant pages fail.
    let fails = move |far: &String| {
        let mut failed = failed_pages.lock().unwrap();
        if failed.len() < 2 && !failed.contains(far) {
            failed.push(far.clone());
        }
        failed.iter().position(|known| known == far)
    };
    let model =
        FakeModel::new(ModelOptions::default(), move |question| match parse_question(question) {
            IdeaQuestion::Cross { close, far, .. }
                if close == "speed/disk"
                    && !repaired.load(SeqCst)
                    && let Some(nth) = fails(&far) =>
            {
                match nth == 0 {
                    true => ModelResponse::Status(
                        400,
                        json!({ "error": { "message": "cannot" } }).to_string(),
                        None,
                    ),
                    false => ModelResponse::Text("I would rather not.".into()),
                }
            }
            _ => valid_response(question),
        });
    let home = ask_fixture::home(&model);
    fill(&home);
    let (reply, output) = json(&home, &["brainstorm", QUESTION]);
    assert_eq!((output.code, &reply["status"]), (0, &json!("done")), "{output:?}");
    let failed = reply["failed_crosses"].as_u64().unwrap() as usize;
    assert_eq!((failed, reply["ideas"].as_array().unwrap().len()), (2, 66));
    let slug = reply["saved_slug"].as_str().unwrap();

    is_repaired.store(true, SeqCst);
    let before = model.call_count();
    let id = reply["run_id"].as_str().unwrap();
    let (resumed, _) = json(&home, &["brainstorm", "--resume", id]);
    assert_eq!(
        (&resumed["failed_crosses"], resumed["ideas"].as_array().unwrap().len()),
        (&json!(0), 72)
    );
    assert_eq!(model.call_count() - before, 3, "two crosses and one judge are sent again");
    let other = resumed["saved_slug"].as_str().unwrap();
    assert!(
        other != slug && home.page_file(other).exists() && home.page_file(slug).exists(),
        "{other}"
    );
}

#[test]
fn runs_stop_if_the_service_rejects_them() {
    let options = ModelOptions { key: Some("right".into()), ..ModelOptions::default() };
    let model = FakeModel::new(options, valid_response);
    let mut home = ask_fixture::home(&model);
    ask_fixture::set_variable(&mut home, "BRAIN_LLM_API_KEY", "wrong");
    fill(&home);
    let (reply, output) = json(&home, &["brainstorm", QUESTION]);
    assert_eq!((output.code, reply["status"].as_str()), (1, Some("stopped")), "{output:?}");
    assert!(model.call_count() <= 4, "{}", model.call_count());
    let problem = reply["problem"].as_str().unwrap();
    assert!(
        problem.starts_with("crosses: ") && problem.contains("401") && problem.contains("--resume"),
        "{problem}"
    );
    assert!(problem.contains("0 of 24 crosses") && problem.contains("$0.00"), "{problem}");
    assert!(!output.stdout.contains("wrong"), "the output does not contain the key");
}

#[test]
fn after_a_kill_only_missing_crosses_are_paid() {
    /// The number of questions that the model answers before the gate opens.
    const BEFORE_GATE: usize = 9;
    let (is_gate_open, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (gate, count) = (Arc::clone(&is_gate_open), Arc::clone(&started));
    let model = FakeModel::new(ModelOptions::default(), move |question| {
        let number = count.fetch_add(1, SeqCst);
        let deadline = Instant::now() + TEST_TIMEOUT;
        while number >= BEFORE_GATE && !gate.load(SeqCst) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        valid_response(question)
    });
    let mut home = ask_fixture::home(&model);
    ask_fixture::set_variable(&mut home, "BRAIN_LLM_SILENCE", "60s");
    let daemon = home.daemon();
    fill(&home);
    let mut command = home.command("brain");
    command.args(["--json", "--no-start", "brainstorm", QUESTION]);
    let client = std::thread::spawn(move || brain_tests::run(command, b""));
    let runs = || home.json(["brainstorm", "--list-runs"])["runs"].clone();
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let row = runs()[0].clone();
        if row["crosses_done"].as_u64() == Some(BEFORE_GATE as u64)
            && started.load(SeqCst) == BEFORE_GATE + 4
        {
            assert_eq!(row["status"], "running");
            break;
        }
        assert!(Instant::now() < deadline, "{row}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = runs()[0]["run_id"].as_str().unwrap().to_owned();
    let busy = home.fault(["brainstorm", "--resume", &id], 1);
    assert!(busy["message"].as_str().unwrap().contains("already running"), "{busy}");
    daemon.kill();
    assert_ne!(client.join().unwrap().code, 0);
    is_gate_open.store(true, SeqCst);

    let _daemon = home.daemon();
    assert_eq!(runs()[0]["status"], "stopped");
    let before = crosses(&model).len();
    let (resumed, output) = json(&home, &["brainstorm", "--resume", &id]);
    assert_eq!((output.code, resumed["status"].as_str()), (0, Some("done")), "{output:?}");
    let resent = &crosses(&model)[before..];
    assert_eq!(resent.len(), 24 - BEFORE_GATE);
    let first: BTreeSet<_> = crosses(&model)[..BEFORE_GATE].iter().cloned().collect();
    assert!(
        resent.iter().all(|cross| !first.contains(cross)),
        "a finished cross is not sent again"
    );
    assert_eq!(resumed["ideas"].as_array().unwrap().len(), 72);
    assert_eq!(millionths(&resumed["cost"]["actual_usd"]), expected_cost(&resumed));
    // The four crosses in progress are paid, whatever their result. The run's budget counts them,
    // as the ledger does.
    let ledger_cost = millionths(&home.json(["costs"])["total"]["actual_usd"]);
    assert!(
        millionths(&runs()[0]["cost"]["actual_usd"]) >= ledger_cost,
        "{} of {ledger_cost}",
        runs()[0]
    );
}

#[test]
fn damaged_runs_are_reported_and_others_still_work() {
    let model = FakeModel::new(ModelOptions::default(), valid_response);
    let home = ask_fixture::home(&model);
    fill(&home);
    let small = ["lsd", QUESTION, "--close", "1", "--far", "1"];
    let (one, _) = json(&home, &small);
    let (two, _) = json(&home, &small);
    let id = one["run_id"].as_str().unwrap();
    let path = home.path().join(format!("ideas/{id}.json"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    let fault = home.fault(["lsd", "--resume", id], 1);
    assert!(
        fault["message"].as_str().unwrap().contains(&format!("{id}.json is damaged")),
        "{fault}"
    );
    let runs = home.json(["lsd", "--list-runs"]);
    assert_eq!(
        (runs["runs"].as_array().unwrap().len(), runs["damaged"].as_array().unwrap().len()),
        (1, 1)
    );
    let other = home.fault(["brainstorm", "--resume", two["run_id"].as_str().unwrap()], 2);
    assert!(other["hint"].as_str().unwrap().contains("brain lsd --resume"), "{other}");
}

#[test]
fn ideas_that_cannot_be_saved_are_shown() {
    let model = FakeModel::new(ModelOptions::default(), valid_response);
    let mut home = ask_fixture::home(&model);
    let daemon = home.daemon();
    fill(&home);
    drop(daemon);
    // The disk counts as full, so the store accepts no page.
    ask_fixture::set_variable(&mut home, "BRAIN_STORE_MIN_FREE_MB", "1000000");
    let _daemon = home.daemon();
    let (reply, output) = json(&home, &["brainstorm", QUESTION, "--close", "1", "--far", "2"]);
    assert_eq!((output.code, reply["ideas"].as_array().unwrap().len()), (1, 6), "{output:?}");
    assert_eq!((&reply["saved_slug"], &reply["status"]), (&Value::Null, &json!("done")));
    let problem = reply["save_problem"].as_str().unwrap();
    assert!(problem.contains("could not be saved") && problem.contains("--resume"), "{problem}");
    let output =
        home.brain(["brainstorm", "--resume", reply["run_id"].as_str().unwrap()]).expect(1);
    assert!(output.stdout.contains("Zebrafish") && output.stderr.contains("failed:"), "{output:?}");
    assert!(!output.stderr.contains("saved as ideas"), "{output:?}");
}

#[test]
fn ctrl_c_on_a_terminal_cancels_before_any_cost() {
    // A shell without job control lets background programs ignore Ctrl-C, and their children
    // inherit that.
    const SEND_CTRL_C: &str = "import os, pty, signal, sys\n\
        pid, fd = pty.fork()\nif pid == 0:\n    \
        signal.signal(signal.SIGINT, signal.SIG_DFL)\n    os.execv(sys.argv[1], sys.argv[1:])\n\
        out = b''\nwhile b'Ctrl-C cancels' not in out:\n    out += os.read(fd, \
        65536)\nos.write(fd, b'\\x03')\n\
        status = os.waitpid(pid, 0)[1]\nsys.stdout.buffer.write(out)\nsys.exit(128 + \
        os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status))\n";
    let model = FakeModel::new(ModelOptions::default(), valid_response);
    let home = ask_fixture::home(&model);
    let _daemon = home.daemon();
    fill(&home);
    let env: Vec<(&str, &str)> = home.env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    // Check that a terminal can be created. With --yes, the program does not wait for Ctrl-C.
    let args = ["brainstorm", QUESTION, "--yes", "--close", "1", "--far", "2", "--no-save"];
    let Some((code, terminal_output)) = on_a_terminal(&home, 60, &env, &args) else { return };
    assert_eq!(code, 0, "{terminal_output}");
    assert!(
        terminal_output.contains("[brainstorm] actual cost: $")
            && !terminal_output.contains("Ctrl-C"),
        "{terminal_output}"
    );
    let called = model.call_count();

    let mut command = Command::new("python3");
    command.args(["-c", SEND_CTRL_C]).arg(program("brain")).args(["brainstorm", QUESTION]);
    command.env("BRAIN_HOME", home.path()).envs(HTTP_ON_FREE_PORT).envs(env.iter().copied());
    let output = run(command, b"");
    assert_eq!(output.code, 130, "{output:?}");
    assert!(output.stdout.contains("[brainstorm] estimated cost: $0.78 "), "{output:?}");
    assert_eq!(model.call_count(), called);
    assert_eq!(home.json(["brainstorm", "--list-runs"])["runs"].as_array().unwrap().len(), 1);
}

fn ideas_request(question: &str) -> Ideas {
    Ideas {
        profile: IdeaProfile::Brainstorm,
        question: question.into(),
        limit: None,
        save: None,
        max_cost: None,
        model: None,
        judge_model: None,
        close: Some(2),
        far: Some(12),
        resume: None,
        estimate: false,
        prompts_only: false,
    }
}

fn generate_ideas(brain: &Arc<Brain>, caller: &Caller, question: &str) -> IdeasReply {
    match brain.answer(caller, Request::Ideas(ideas_request(question)), &NoProgress) {
        Ok(Reply::Ideas(reply)) => reply,
        other => panic!("no ideas: {other:?}"),
    }
}

#[test]
fn pages_that_the_caller_cannot_see_are_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let dependencies = ExternalDependencies {
        random: Arc::new(SystemRandom),
        variables: Box::new(|_| None),
        net: Arc::new(Client::new()),
        lines: Arc::new(StandardOutput::default()),
        converter: PathBuf::new(),
    };
    let home = Home::at(dir.path().join("home"));
    let config = Config::load(&home.config(), |_| None).unwrap();
    let brain =
        Arc::new(Brain::open_with(home, config, Arc::new(SystemClock), 7, dependencies).unwrap());
    let owner = Caller::local(0);
    let work = SourceId::parse("work").unwrap();
    let path = dir.path().join("work");
    fs::create_dir(&path).unwrap();
    let add = SourceAdd {
        id: work.clone(),
        path: path.display().to_string(),
        settings: Default::default(),
    };
    brain.answer(&owner, Request::SourceAdd(add), &NoProgress).unwrap();
    for (source, slug) in [
        (None, "speed/own"),
        (None, "garden/own"),
        (None, "kitchen/own"),
        (Some(&work), "speed/secret"),
        (Some(&work), "harbour/secret"),
    ] {
        let put = Put {
            page: PageRef { source: source.cloned(), slug: Slug::parse(slug).unwrap() },
            content: format!("Latency and {slug}.\n").into_bytes(),
            origin: Origin::Stdin,
            allow_empty: false,
            expect: None,
        };
        brain.answer(&owner, Request::Put(put), &NoProgress).unwrap();
    }
    let owners = generate_ideas(&brain, &owner, "latency");
    assert!(format!("{owners:?}").contains("secret"), "{owners:?}");
    let only = Visibility::Only(vec![SourceId::default()]);
    let guest = Caller::granted("guest", Scopes::ADMIN, only);
    let guests = generate_ideas(&brain, &guest, "latency");
    // The guest cannot reach hidden pages by resuming the owner's run either.
    let resume = |caller: &Caller, run_id: &str| {
        let resumed = Ideas { resume: Some(run_id.into()), ..ideas_request("") };
        brain.answer(caller, Request::Ideas(resumed), &NoProgress)
    };
    assert_eq!(resume(&guest, &owners.run_id).unwrap_err().code, FaultCode::NotFound);
    assert!(resume(&guest, &guests.run_id).is_ok() && resume(&owner, &guests.run_id).is_ok());
    let runs =
        |caller: &Caller| match brain.answer(caller, Request::IdeaRuns(IdeaRuns), &NoProgress) {
            Ok(Reply::IdeaRuns(runs)) => runs.runs.len(),
            other => panic!("no runs: {other:?}"),
        };
    assert_eq!((runs(&owner), runs(&guest)), (2, 1));
    assert_eq!(
        (guests.close_set.len(), guests.far_set.len(), guests.short_of_target),
        (2, 1, true)
    );
    assert!(!format!("{guests:?}").contains("secret"), "{guests:?}");
}
