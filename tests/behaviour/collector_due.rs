//! Runs by schedule, as the timer asks for them: what is due, what is made up, what is quietly off.
//! The time is turned by the test.

use std::fs;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::parse_instant;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, EventLines, Outside, Silent};
use brain_protocol::{
    CollectorCollect, CollectorSetup, CollectorStatus, FaultCode, Reply, Request, Secret,
};
use brain_tests::lines::Kept;
use brain_tests::platform::{APP_TOKEN, Fault, InProcess, Platform, Time, endpoint};

const MINUTE: i64 = 60_000;

struct Lab {
    platform: Platform,
    lines: Arc<Kept>,
    brain: Option<Arc<Brain>>,
    dir: tempfile::TempDir,
}

impl Lab {
    /// It is 10:00 and twelve seconds.
    fn new(settings: &str) -> Self {
        let platform =
            Platform::new(Time::at(parse_instant("2026-11-21T10:00:12Z", false).unwrap()));
        let ada = platform.account("ada");
        platform.post(&ada, "On latency");
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        let settings = format!("[collector]\nplatform_api = \"http://127.0.0.1:9\"\n{settings}\n");
        fs::write(dir.path().join("home/config.toml"), settings).unwrap();
        let mut lab = Self { platform, lines: Arc::default(), brain: None, dir };
        lab.reopen();
        lab
    }

    fn reopen(&mut self) {
        self.brain = None;
        let home = Home::at(self.dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let outside = Outside {
            random: Arc::new(SystemRandom),
            variables: Box::new(|_| None),
            net: Arc::new(InProcess(self.platform.clone())),
            lines: Arc::clone(&self.lines) as Arc<dyn EventLines>,
        };
        let clock = Arc::new(self.platform.time().clone());
        self.brain = Some(Arc::new(Brain::open_with(home, config, clock, 7, outside).unwrap()));
    }

    fn brain(&self) -> &Arc<Brain> {
        self.brain.as_ref().unwrap()
    }

    fn ask(&self, request: Request) -> Reply {
        self.brain().answer(&Caller::local(0), request, &Silent).unwrap()
    }

    fn setup(&self) {
        let request =
            CollectorSetup { handle: Some("ada".into()), token: Some(Secret::new(APP_TOKEN)) };
        let Reply::CollectorSetup(report) = self.ask(Request::CollectorSetup(request)) else {
            panic!("no report")
        };
        assert_eq!(report.status, "passed", "{report:#?}");
    }

    /// Whether a run was due, which then was made and is complete.
    fn due(&self) -> bool {
        self.brain().collector.collect_due().unwrap().is_some_and(|run| run.status == "complete")
    }

    fn pass(&self, minutes: i64) {
        self.platform.time().pass(minutes * MINUTE);
    }
}

#[test]
fn what_is_not_set_up_or_switched_off_is_quietly_left_alone() {
    let lab = Lab::new("");
    for _ in 0..3 {
        assert!(!lab.due());
        lab.pass(30);
    }
    let off = Lab::new("enabled = false");
    off.setup();
    off.lines.0.lock().unwrap().clear();
    for _ in 0..3 {
        off.pass(30);
        assert!(!off.due());
    }
    assert!(lab.lines.0.lock().unwrap().is_empty() && off.lines.0.lock().unwrap().is_empty());
    assert_eq!(lab.platform.requests(), 0);
    // By hand it runs all the same.
    off.ask(Request::CollectorCollect(CollectorCollect));
    assert!(off.lines.0.lock().unwrap().last().unwrap().starts_with("RUN_COMPLETE:"));
}

#[test]
fn an_account_that_is_lost_with_a_damaged_state_is_told_each_time() {
    let lab = Lab::new("");
    lab.setup();
    let state = lab.dir.path().join("home/collector/data/state.json");
    assert!(state.exists());
    fs::write(&state, "{").unwrap();
    // Who only looks leaves it for the next run.
    lab.ask(Request::CollectorStatus(CollectorStatus));
    assert!(state.exists());
    for _ in 0..2 {
        lab.pass(30);
        let fault = lab.brain().collector.collect_due().unwrap_err();
        assert_eq!(fault.code, FaultCode::NotSetUp);
        assert!(fault.message.contains("state.json is damaged"), "{fault:?}");
    }
}

#[test]
fn it_runs_once_at_each_half_hour_whoever_asks_how_often() {
    let lab = Lab::new("");
    lab.setup();
    let mut ran = Vec::new();
    for minute in 1..=91 {
        lab.pass(1);
        for _ in 0..2 {
            if lab.due() {
                ran.push(minute);
            }
        }
    }
    assert_eq!(ran, [30, 60, 90]);
    // One by hand is none by schedule.
    lab.pass(10);
    lab.ask(Request::CollectorCollect(CollectorCollect));
    assert!(!lab.due());
    lab.pass(20);
    assert!(lab.due());
}

#[test]
fn a_night_of_sleep_is_made_up_once_also_by_a_new_daemon() {
    let mut lab = Lab::new("");
    lab.setup();
    lab.pass(7 * 60 + 13);
    assert!(lab.due() && !lab.due());
    lab.pass(24 * 60);
    lab.reopen();
    assert!(lab.due() && !lab.due());
    let complete =
        lab.lines.0.lock().unwrap().iter().filter(|line| line.starts_with("RUN_COMPLETE:")).count();
    assert_eq!(complete, 3, "with that of the setup");
}

#[test]
fn the_first_run_waits_for_its_minute() {
    let lab = Lab::new("every = \"1h\"\nat = 5\nuser_id = \"1500000000000000001\"");
    let secrets = lab.dir.path().join("home/secrets");
    fs::create_dir_all(&secrets).unwrap();
    fs::write(secrets.join("platform-bearer-token"), APP_TOKEN).unwrap();
    fs::set_permissions(
        secrets.join("platform-bearer-token"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    assert!(!lab.due(), "10:00");
    lab.pass(5);
    assert!(lab.due(), "10:05");
}

#[test]
fn a_run_that_fails_is_a_fault_with_the_way_out_and_the_next_one_is_tried() {
    let lab = Lab::new("");
    lab.setup();
    lab.platform.fault(endpoint::TIMELINE, Fault::CreditsDepleted, 1);
    lab.pass(30);
    let fault = lab.brain().collector.collect_due().unwrap_err();
    assert_eq!(fault.code, FaultCode::ServiceFailed);
    assert!(
        fault.message.contains("credits") && fault.hint.unwrap().contains("brain collector status")
    );
    assert!(lab.lines.0.lock().unwrap().last().unwrap().ends_with(":payment_required"));
    assert!(!lab.due(), "once");
    lab.pass(30);
    assert!(lab.due());
}
