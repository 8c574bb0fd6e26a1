//! Scheduled collector runs with a mock clock: when a run is due, missed runs, and disabled
//! collectors.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::parse_instant;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, EventLines, ExternalDependencies, NoProgress};
use brain_protocol::{
    CollectorCollect, CollectorSetup, CollectorStatus, FaultCode, Reply, Request, Secret,
};
use brain_tests::lines::RecordedLines;
use brain_tests::platform::{APP_TOKEN, Fault, InProcess, Platform, Time, endpoint};

const MINUTE: i64 = 60_000;

struct Fixture {
    platform: Platform,
    lines: Arc<RecordedLines>,
    brain: Option<Arc<Brain>>,
    dir: tempfile::TempDir,
}

impl Fixture {
    /// Opens a brain with these settings of `[collector]`. The clock starts at 10:00:12.
    fn new(settings: &str) -> Self {
        let platform = Platform::new(Time::at(parse_instant("2026-11-21T10:00:12Z").unwrap()));
        let ada = platform.create_account("ada");
        platform.post(&ada, "On latency");
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        let settings = format!("[collector]\nplatform_api = \"http://127.0.0.1:9\"\n{settings}\n");
        fs::write(dir.path().join("home/config.toml"), settings).unwrap();
        let mut fixture = Self { platform, lines: Arc::default(), brain: None, dir };
        fixture.reopen();
        fixture
    }

    fn reopen(&mut self) {
        self.brain = None;
        let home = Home::at(self.dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let outside = ExternalDependencies {
            random: Arc::new(SystemRandom),
            variables: Box::new(|_| None),
            net: Arc::new(InProcess(self.platform.clone())),
            lines: Arc::clone(&self.lines) as Arc<dyn EventLines>,
            converter: PathBuf::new(),
        };
        let clock = Arc::new(self.platform.time().clone());
        self.brain = Some(Arc::new(Brain::open_with(home, config, clock, 7, outside).unwrap()));
    }

    fn brain(&self) -> &Arc<Brain> {
        self.brain.as_ref().unwrap()
    }

    fn answer(&self, request: Request) -> Reply {
        self.brain().answer(&Caller::local(0), request, &NoProgress).unwrap()
    }

    fn setup(&self) {
        let request =
            CollectorSetup { handle: Some("ada".into()), token: Some(Secret::new(APP_TOKEN)) };
        let Reply::CollectorSetup(report) = self.answer(Request::CollectorSetup(request)) else {
            panic!("no report")
        };
        assert_eq!(report.status.as_str(), "passed", "{report:#?}");
    }

    /// Runs the collector if a run is due. Returns whether a run was complete.
    fn run_if_due(&self) -> bool {
        self.brain()
            .collector
            .collect_due()
            .unwrap()
            .is_some_and(|run| run.status.as_str() == "complete")
    }

    fn advance(&self, minutes: i64) {
        self.platform.time().advance(minutes * MINUTE);
    }
}

#[test]
fn disabled_collectors_never_run() {
    let fixture = Fixture::new("");
    for _ in 0..3 {
        assert!(!fixture.run_if_due());
        fixture.advance(30);
    }
    let enabled = Fixture::new("");
    enabled.setup();
    enabled.advance(30);
    assert!(enabled.run_if_due(), "an enabled collector runs then");
    let disabled = Fixture::new("enabled = false");
    disabled.setup();
    disabled.lines.0.lock().unwrap().clear();
    for _ in 0..3 {
        disabled.advance(30);
        assert!(!disabled.run_if_due());
    }
    for fixture in [&fixture, &disabled] {
        assert!(fixture.lines.0.lock().unwrap().is_empty());
    }
    assert_eq!(fixture.platform.requests(), 0);
    // A manual run works nevertheless.
    disabled.answer(Request::CollectorCollect(CollectorCollect));
    assert!(disabled.lines.0.lock().unwrap().last().unwrap().starts_with("RUN_COMPLETE:"));
}

#[test]
fn a_damaged_state_without_account_is_reported_each_time() {
    let fixture = Fixture::new("");
    fixture.setup();
    let state = fixture.dir.path().join("home/collector/data/state.json");
    assert!(state.exists());
    fs::write(&state, "{").unwrap();
    // Reading the status leaves the damaged state for the next run.
    fixture.answer(Request::CollectorStatus(CollectorStatus));
    assert!(state.exists());
    for _ in 0..2 {
        fixture.advance(30);
        let fault = fixture.brain().collector.collect_due().unwrap_err();
        assert_eq!(fault.code, FaultCode::NotSetUp);
        assert!(fault.message.contains("state.json is damaged"), "{fault:?}");
    }
}

#[test]
fn runs_happen_once_every_half_hour() {
    let fixture = Fixture::new("");
    fixture.setup();
    let mut run_minutes = Vec::new();
    for minute in 1..=91 {
        fixture.advance(1);
        for _ in 0..2 {
            if fixture.run_if_due() {
                run_minutes.push(minute);
            }
        }
    }
    assert_eq!(run_minutes, [30, 60, 90]);
    // A manual run does not replace a scheduled one.
    fixture.advance(10);
    fixture.answer(Request::CollectorCollect(CollectorCollect));
    assert!(!fixture.run_if_due());
    fixture.advance(20);
    assert!(fixture.run_if_due());
}

#[test]
fn missed_runs_are_made_up_once() {
    let mut fixture = Fixture::new("");
    fixture.setup();
    fixture.advance(7 * 60 + 13);
    assert!(fixture.run_if_due() && !fixture.run_if_due());
    fixture.advance(24 * 60);
    fixture.reopen();
    assert!(fixture.run_if_due() && !fixture.run_if_due());
    let complete = fixture
        .lines
        .0
        .lock()
        .unwrap()
        .iter()
        .filter(|line| line.starts_with("RUN_COMPLETE:"))
        .count();
    assert_eq!(complete, 3, "two scheduled runs and the run of the setup");
}

#[test]
fn the_first_run_waits_for_its_scheduled_minute() {
    let fixture = Fixture::new("every = \"1h\"\nat = 5\nuser_id = \"1500000000000000001\"");
    let secrets = fixture.dir.path().join("home/secrets");
    fs::create_dir_all(&secrets).unwrap();
    fs::write(secrets.join("platform-bearer-token"), APP_TOKEN).unwrap();
    fs::set_permissions(
        secrets.join("platform-bearer-token"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    assert!(!fixture.run_if_due(), "not due at 10:00");
    fixture.advance(5);
    assert!(fixture.run_if_due(), "due at 10:05");
}

#[test]
fn failed_runs_have_a_hint_and_do_not_stop_later_runs() {
    let fixture = Fixture::new("");
    fixture.setup();
    fixture.platform.fault(endpoint::TIMELINE, Fault::CreditsDepleted, 1);
    fixture.advance(30);
    let fault = fixture.brain().collector.collect_due().unwrap_err();
    assert_eq!(fault.code, FaultCode::ServiceFailed);
    assert!(
        fault.message.contains("credits")
            && fault.hint.unwrap().to_string().contains("brain collector status")
    );
    assert!(fixture.lines.0.lock().unwrap().last().unwrap().ends_with(":payment_required"));
    assert!(!fixture.run_if_due(), "a failed run is not repeated at once");
    fixture.advance(30);
    assert!(fixture.run_if_due());
}
