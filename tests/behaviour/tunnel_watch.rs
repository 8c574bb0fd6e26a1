//! The tunnel's watchdog with a mock clock. Agents, programs, the public address and the telephony
//! provider are fakes behind the daemon's own traits.

mod setup;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use brain_base::caller::Caller;
use brain_base::clock::parse_instant;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, ExternalDependencies, NoProgress, StandardOutput};
use brain_protocol::{
    CheckStatus, ClientRegister, Command, Doctor, FaultCode, GrantType, Hint, Reply, Request,
    Scopes, Step, TunnelSetup, TunnelSetupReply, TunnelStart, TunnelState, TunnelStatus,
    TunnelStatusReply, TunnelStop,
};
use brain_tests::expect_reply;
use brain_tests::platform::Time;
use brain_tests::tunnel::{
    FakeNetwork, FakePrograms, PhoneNumber, healthy, impostor, ngrok_tunnel,
};

/// The API of the agent.
const API: &str = "http://127.0.0.1:4040/api/tunnels";

/// The health endpoint of the daemon.
const LOCAL_HEALTH: &str = "http://127.0.0.1:8765/health";

/// The voice URL of the number before brain changes it.
const OLD_VOICE_URL: &str = "https://old.ngrok.app/voice";

struct Fixture {
    net: FakeNetwork,
    programs: FakePrograms,
    time: Time,
    brain: Option<Arc<Brain>>,
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new(settings: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("secrets")).unwrap();
        fs::write(home.join("config.toml"), settings).unwrap();
        for (name, secret) in
            [("tunnel-authtoken", "t0ken-of-tunnel"), ("telephony-auth-token", "hunter2")]
        {
            let path = home.join("secrets").join(name);
            fs::write(&path, secret).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let net = FakeNetwork::new(PhoneNumber::with_voice_url(OLD_VOICE_URL));
        net.answers.put(LOCAL_HEALTH, 200, &healthy());
        let time = Time::at(parse_instant("2026-11-21T10:00:00Z").unwrap());
        let mut fixture = Self { net, programs: FakePrograms::default(), time, brain: None, dir };
        fixture.reopen();
        fixture
    }

    /// Stops the daemon and starts it again.
    fn reopen(&mut self) {
        if let Some(brain) = self.brain.take() {
            brain.tunnel.stop_tunnel_agent();
        }
        let home = Home::at(self.dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let dependencies = ExternalDependencies {
            random: Arc::new(SystemRandom),
            variables: Box::new(|_| None),
            net: Arc::new(self.net.clone()),
            lines: Arc::new(StandardOutput::default()),
            converter: PathBuf::new(),
        };
        let brain =
            Brain::open_with(home, config, Arc::new(self.time.clone()), 7, dependencies).unwrap();
        brain.tunnel.set_starter(Arc::new(self.programs.clone()));
        let brain = Arc::new(brain);
        let weak_brain = Arc::downgrade(&brain);
        let prover =
            move |host: &str, challenge: &str| weak_brain.upgrade()?.tunnel.proof(host, challenge);
        *self.net.prover.lock().unwrap() = Some(Arc::new(prover));
        self.brain = Some(brain);
    }

    fn brain(&self) -> &Arc<Brain> {
        self.brain.as_ref().unwrap()
    }

    fn ask(&self, request: Request) -> Result<Reply, FaultCode> {
        self.brain().answer(&Caller::local(0), request, &NoProgress).map_err(|fault| fault.code)
    }

    fn status(&self, request: Request) -> TunnelStatusReply {
        match self.ask(request) {
            Ok(Reply::TunnelStatus(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    fn state(&self) -> TunnelState {
        self.status(Request::TunnelStatus(TunnelStatus)).state
    }

    fn setup(&self) -> TunnelSetupReply {
        match self.ask(Request::TunnelSetup(TunnelSetup)) {
            Ok(Reply::TunnelSetup(setup)) => setup,
            other => panic!("{other:?}"),
        }
    }

    /// Runs one check and advances the clock to the next one; returns the interval in milliseconds.
    fn check_and_advance(&self) -> u64 {
        let ms = self.brain().tunnel.check_tunnel().unwrap();
        self.time.advance(i64::try_from(ms).unwrap());
        ms
    }

    fn set_tunnel_up(&self, url: &str) {
        self.net.answers.put(API, 200, &ngrok_tunnel(url, 8765));
        self.net.answers.put(&format!("{url}/health"), 200, &healthy());
    }

    fn number_voice_url(&self) -> String {
        self.net.number.voice_url()
    }
}

/// Returns a configuration with a tunnel, its further lines `rest`, and a telephone number.
fn config_with_number(rest: &str) -> String {
    let (account, number) = (format!("AC{}", "0".repeat(32)), format!("PN{}", "1".repeat(32)));
    format!(
        "[tunnel]\nprovider = \"ngrok\"\n{rest}\n[voice]\naccount_sid = \"{account}\"\nnumber_sid \
            = \"{number}\"\napi = \"http://127.0.0.1:9\"\n"
    )
}

fn names_and_statuses(steps: &[Step]) -> Vec<(&str, &str)> {
    steps.iter().map(|step| (step.name.as_str(), step.status.as_str())).collect()
}

#[test]
fn without_a_tunnel_nothing_is_done_and_a_hint_is_shown() {
    let fixture = Fixture::new("");
    assert_eq!(fixture.brain().tunnel.check_tunnel(), None);
    let status = fixture.status(Request::TunnelStatus(TunnelStatus));
    assert_eq!((status.state.as_str(), status.url), ("off", None));
    assert!(status.hint.unwrap().to_string().contains("tunnel.provider"));
    assert_eq!(fixture.ask(Request::TunnelStart(TunnelStart)).unwrap_err(), FaultCode::NotSetUp);
    assert_eq!(fixture.setup().steps[0].status.as_str(), "failed");
    assert!(fixture.programs.started().is_empty());
}

#[test]
fn the_agent_is_started_and_its_address_is_published() {
    let fixture = Fixture::new("[tunnel]\nprovider = \"ngrok\"\n");
    assert_eq!(fixture.brain().tunnel.public_address(), None);
    assert_eq!(fixture.check_and_advance(), 5_000);
    assert_eq!(fixture.programs.started(), ["ngrok http 8765 --log stdout --log-format logfmt"]);
    assert_eq!(
        fixture.programs.variables(),
        [("NGROK_AUTHTOKEN".to_owned(), "t0ken-of-tunnel".to_owned())]
    );
    fixture.set_tunnel_up("https://a.ngrok.app");
    assert_eq!(fixture.check_and_advance(), 120_000);
    assert_eq!(fixture.brain().tunnel.public_address().as_deref(), Some("https://a.ngrok.app"));
    let status = fixture.status(Request::TunnelStatus(TunnelStatus));
    assert_eq!((status.state.as_str(), status.starts, status.adopted), ("up", 1, false));
    assert_eq!(status.up_since.as_deref(), Some("2026-11-21T10:00:05.000Z"));
    assert_eq!(status.next_at.as_deref(), Some("2026-11-21T10:02:05.000Z"));
    // The address stays while the agent does not answer for a moment.
    fixture.net.answers.remove(API);
    fixture.check_and_advance();
    assert_ne!(fixture.state(), TunnelState::Up);
    assert_eq!(fixture.brain().tunnel.public_address().as_deref(), Some("https://a.ngrok.app"));
}

#[test]
fn a_configured_address_is_used_before_the_tunnel_is_up() {
    let fixed = Fixture::new("[tunnel]\nprovider = \"ngrok\"\ndomain = \"https://B.ngrok.app/\"\n");
    assert_eq!(fixed.brain().tunnel.public_address().as_deref(), Some("https://b.ngrok.app"));
    fixed.check_and_advance();
    assert!(fixed.programs.started()[0].contains("--url https://b.ngrok.app"));
    let own = Fixture::new(
        "[http]\nbase_url = \"https://brain.example.org\"\n[tunnel]\nprovider = \"ngrok\"\ndomain \
            = \"b.ngrok.app\"\n",
    );
    assert_eq!(own.brain().tunnel.public_address().as_deref(), Some("https://brain.example.org"));
}

#[test]
fn the_number_is_updated_only_when_the_address_changes() {
    let mut fixture = Fixture::new(&config_with_number(""));
    fixture.check_and_advance();
    assert_eq!(
        (fixture.number_voice_url(), fixture.net.number.changes()),
        (OLD_VOICE_URL.into(), 0),
        "the voice URL is unchanged without a tunnel"
    );
    fixture.set_tunnel_up("https://a.ngrok.app");
    fixture.check_and_advance();
    assert_eq!(fixture.number_voice_url(), "https://a.ngrok.app/voice");
    for _ in 0..3 {
        assert_eq!(fixture.check_and_advance(), 120_000);
    }
    fixture.reopen();
    fixture.check_and_advance();
    assert_eq!(fixture.net.number.changes(), 1);
    // The address changes, and the provider does not answer at first.
    fixture.set_tunnel_up("https://b.ngrok.app");
    fixture.net.number.refuse(3);
    let pauses: Vec<u64> = (0..4).map(|_| fixture.check_and_advance()).collect();
    assert_eq!(pauses, [5_000, 10_000, 20_000, 120_000]);
    assert_eq!(
        (fixture.number_voice_url().as_str(), fixture.net.number.changes()),
        ("https://b.ngrok.app/voice", 2)
    );
    fixture.check_and_advance();
    assert_eq!(
        fixture.status(Request::TunnelStatus(TunnelStatus)).telephone.as_deref(),
        Some("https://b.ngrok.app/voice")
    );
}

#[test]
fn a_changed_number_is_corrected_at_the_next_start() {
    let mut fixture = Fixture::new(&config_with_number("domain = \"b.ngrok.app\""));
    fixture.set_tunnel_up("https://b.ngrok.app");
    fixture.check_and_advance();
    assert_eq!(
        (fixture.number_voice_url().as_str(), fixture.net.number.changes()),
        ("https://b.ngrok.app/voice", 1)
    );
    fixture.net.number.set_voice_url(OLD_VOICE_URL);
    fixture.reopen();
    assert_eq!(
        fixture.status(Request::TunnelStatus(TunnelStatus)).telephone,
        None,
        "the provider was not called yet"
    );
    fixture.check_and_advance();
    assert_eq!(
        (fixture.number_voice_url().as_str(), fixture.net.number.changes()),
        ("https://b.ngrok.app/voice", 2)
    );
}

#[test]
fn a_new_address_does_not_wait_for_the_retry_of_the_former() {
    let fixture = Fixture::new(&config_with_number(""));
    fixture.set_tunnel_up("https://a.ngrok.app");
    fixture.net.number.refuse(100);
    for _ in 0..8 {
        fixture.check_and_advance();
    }
    let status = fixture.status(Request::TunnelStatus(TunnelStatus));
    assert!(
        status
            .telephone
            .unwrap()
            .starts_with("not changed: the provider rejects the request (status 503")
    );
    // The next retry is minutes away.
    fixture.net.number.refuse(0);
    fixture.check_and_advance();
    assert_eq!(fixture.number_voice_url(), OLD_VOICE_URL);
    fixture.set_tunnel_up("https://b.ngrok.app");
    fixture.check_and_advance();
    assert_eq!(fixture.number_voice_url(), "https://b.ngrok.app/voice");
}

#[test]
fn a_false_address_of_an_agent_is_refused() {
    let fixture = Fixture::new(&config_with_number(""));
    fixture.check_and_advance();
    // Another brain answers at the address.
    fixture.set_tunnel_up("https://evil.example");
    fixture.net.answers.put("https://evil.example/health", 200, &impostor());
    fixture.check_and_advance();
    let status = fixture.status(Request::TunnelStatus(TunnelStatus));
    assert_eq!(
        (status.state.as_str(), status.url.as_deref()),
        ("unreachable", Some("https://evil.example"))
    );
    assert!(status.message.contains("not proved"), "{}", status.message);
    assert_eq!(
        fixture.brain().tunnel.public_address(),
        None,
        "requests to that name are not accepted"
    );
    assert_eq!(
        (fixture.number_voice_url().as_str(), fixture.net.number.changes()),
        (OLD_VOICE_URL, 0)
    );
    let setup = fixture.setup();
    assert_eq!(
        names_and_statuses(&setup.steps).last(),
        Some(&("reachable", "failed")),
        "{setup:#?}"
    );
    // A proved address stays published while the agent names a false one.
    fixture.set_tunnel_up("https://a.ngrok.app");
    fixture.check_and_advance();
    assert_eq!(fixture.brain().tunnel.public_address().as_deref(), Some("https://a.ngrok.app"));
    fixture.set_tunnel_up("https://evil.example");
    fixture.net.answers.put("https://evil.example/health", 200, &impostor());
    fixture.check_and_advance();
    assert_eq!(fixture.brain().tunnel.public_address().as_deref(), Some("https://a.ngrok.app"));
    assert_eq!(fixture.number_voice_url(), "https://a.ngrok.app/voice");
    // After a check, no challenge is open.
    assert_eq!(fixture.brain().tunnel.proof("a.ngrok.app", ""), None);
}

#[test]
fn a_changed_address_is_reported_with_the_clients_that_use_it() {
    let mut fixture = Fixture::new("[tunnel]\nprovider = \"ngrok\"\n");
    let register = ClientRegister {
        name: "claude".into(),
        scopes: Scopes::READ_WRITE,
        sources: Vec::new(),
        grant_types: vec![GrantType::ClientCredentials],
        redirect_uris: Vec::new(),
        token_ttl: None,
        public: false,
    };
    fixture.ask(Request::ClientRegister(register)).unwrap();
    fixture.set_tunnel_up("https://a.ngrok.app");
    assert!(
        log_of(|| assert!(fixture.check_and_advance() > 0))
            .contains("[watchdog] the public address is https://a.ngrok.app")
    );
    fixture.reopen();
    fixture.set_tunnel_up("https://b.ngrok.app");
    let text = log_of(|| assert!(fixture.check_and_advance() > 0));
    let line = "[watchdog] the public address has changed from https://a.ngrok.app to \
                https://b.ngrok.app; these clients need the new address: \"claude\"";
    assert!(text.contains(line), "{text}");
}

/// Runs `act` and returns its log.
fn log_of(act: impl FnOnce()) -> String {
    let log: Arc<Mutex<Vec<u8>>> = Arc::default();
    let log_of_writer = Arc::clone(&log);
    let writer = move || LogWriter(Arc::clone(&log_of_writer));
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = log.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

struct LogWriter(Arc<Mutex<Vec<u8>>>);

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the status, message and hint of doctor's tunnel check.
fn tunnel_check(fixture: &Fixture) -> (CheckStatus, String, Option<Hint>) {
    let doctor = expect_reply!(fixture.ask(Request::Doctor(Doctor { fix: false })), Doctor);
    let check = doctor.checks.into_iter().find(|check| check.name == "tunnel").unwrap();
    (check.status, check.message, check.hint)
}

#[test]
fn doctor_reports_the_state_of_the_tunnel() {
    use CheckStatus::{Fail, Ok, Warn};
    assert_eq!(tunnel_check(&Fixture::new("")), (Ok, "off (`tunnel.provider`)".into(), None));
    let fixture = Fixture::new(&config_with_number(""));
    assert_eq!(tunnel_check(&fixture), (Ok, "not checked yet".into(), None));
    fixture.check_and_advance();
    let (status, message, hint) = tunnel_check(&fixture);
    assert_eq!((status, hint), (Warn, Some(Command::TunnelStatus.into())), "{message}");
    assert!(message.starts_with("agent_down: "), "{message}");
    fixture.set_tunnel_up("https://a.ngrok.app");
    fixture.net.number.refuse(1);
    fixture.check_and_advance();
    fixture.check_and_advance();
    let up = "up: https://a.ngrok.app/health answers";
    assert_eq!(tunnel_check(&fixture), (Ok, up.into(), None));
    fixture.set_tunnel_up("https://b.ngrok.app");
    fixture.net.number.refuse(2);
    fixture.check_and_advance();
    fixture.check_and_advance();
    let (status, message, _) = tunnel_check(&fixture);
    assert!(status == Warn && message.contains("the telephone number is not changed"), "{message}");
    // Without a recent check, the tunnel does not count as up.
    fixture.check_and_advance();
    fixture.time.advance(60 * 60 * 1000);
    let (status, message, hint) = tunnel_check(&fixture);
    assert!(status == Warn && message.contains("has not run since 2026-11-21T10:"), "{message}");
    assert_eq!(hint, Some(Command::TunnelStart.into()));
    fixture.status(Request::TunnelStop(TunnelStop));
    fixture.net.answers.remove(API);
    fixture.check_and_advance();
    let (status, message, hint) = tunnel_check(&fixture);
    assert!(status == Warn && message.starts_with("stopped: "), "{message}");
    assert_eq!(hint, Some(Command::TunnelStart.into()));
    let path = fixture.dir.path().join("home/secrets/tunnel-authtoken");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(tunnel_check(&fixture).0, Fail);
}

#[test]
fn a_stopped_tunnel_stays_down_after_a_restart() {
    let mut fixture = Fixture::new("[tunnel]\nprovider = \"ngrok\"\n");
    fixture.check_and_advance();
    let status = fixture.status(Request::TunnelStop(TunnelStop));
    assert_eq!((status.state.as_str(), fixture.programs.stopped()), ("stopped", 1));
    fixture.reopen();
    for _ in 0..3 {
        assert_eq!(fixture.check_and_advance(), 120_000);
    }
    assert_eq!((fixture.state().as_str(), fixture.programs.started().len()), ("stopped", 1));
    fixture.programs.exit_at_once(Some(("it ended with exit status 1", &["ERR_NGROK_108"])));
    fixture.set_tunnel_up("https://a.ngrok.app");
    assert_eq!(fixture.status(Request::TunnelStart(TunnelStart)).state.as_str(), "up");
    // A foreign agent is not stopped.
    let status = fixture.status(Request::TunnelStop(TunnelStop));
    assert_eq!(
        (status.state.as_str(), status.adopted, fixture.programs.stopped()),
        ("up", true, 1)
    );
}

#[test]
fn the_daemons_end_stops_its_agent_and_starts_none() {
    let fixture = Fixture::new("[tunnel]\nprovider = \"ngrok\"\n");
    fixture.check_and_advance();
    fixture.brain().begin_stop();
    fixture.brain().tunnel.stop_tunnel_agent();
    assert_eq!(fixture.programs.stopped(), 1);
    fixture.check_and_advance();
    assert_eq!(fixture.programs.started().len(), 1);
}
