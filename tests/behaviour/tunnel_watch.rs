//! The tunnel as the brain keeps it: the time is turned by the test, and agents, programs, the
//! public address and the telephony provider are fakes behind the daemon's own traits.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use brain_base::caller::Caller;
use brain_base::clock::parse_instant;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_core::{Brain, Outside, Silent, StandardOutput};
use brain_protocol::{
    CheckStatus, ClientRegister, Doctor, FaultCode, GrantType, Reply, Request, Scopes, Step,
    TunnelSetup, TunnelSetupReply, TunnelStart, TunnelStatus, TunnelStatusReply, TunnelStop,
};
use brain_tests::platform::Time;
use brain_tests::tunnel::{Net, Number, Programs, healthy, impostor, ngrok_tunnel};
use serde_json::{Value, json};

const API: &str = "http://127.0.0.1:4040/api/tunnels";
const LOCAL: &str = "http://127.0.0.1:8765/health";
const OLD: &str = "https://old.ngrok.app/voice";

struct Lab {
    net: Net,
    programs: Programs,
    time: Time,
    brain: Option<Arc<Brain>>,
    dir: tempfile::TempDir,
}

impl Lab {
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
        let net = Net::new(Number::leading_to(OLD));
        net.answers.put(LOCAL, 200, &healthy());
        let time = Time::at(parse_instant("2026-11-21T10:00:00Z", false).unwrap());
        let mut lab = Self { net, programs: Programs::default(), time, brain: None, dir };
        lab.reopen();
        lab
    }

    /// The daemon ends and starts again.
    fn reopen(&mut self) {
        if let Some(brain) = self.brain.take() {
            brain.tunnel.stop_tunnel_agent();
        }
        let home = Home::at(self.dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let outside = Outside {
            random: Arc::new(SystemRandom),
            variables: Box::new(|_| None),
            net: Arc::new(self.net.clone()),
            lines: Arc::new(StandardOutput::default()),
        };
        let brain =
            Brain::open_with(home, config, Arc::new(self.time.clone()), 7, outside).unwrap();
        brain.tunnel.set_starter(Arc::new(self.programs.clone()));
        let brain = Arc::new(brain);
        let listening = Arc::downgrade(&brain);
        let listener =
            move |host: &str, question: &str| listening.upgrade()?.tunnel.proof(host, question);
        *self.net.listener.lock().unwrap() = Some(Arc::new(listener));
        self.brain = Some(brain);
    }

    fn brain(&self) -> &Arc<Brain> {
        self.brain.as_ref().unwrap()
    }

    fn ask(&self, request: Request) -> Result<Reply, FaultCode> {
        self.brain().answer(&Caller::local(0), request, &Silent).map_err(|fault| fault.code)
    }

    fn status(&self, request: Request) -> TunnelStatusReply {
        match self.ask(request) {
            Ok(Reply::TunnelStatus(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    fn state(&self) -> String {
        self.status(Request::TunnelStatus(TunnelStatus)).state
    }

    fn setup(&self) -> TunnelSetupReply {
        match self.ask(Request::TunnelSetup(TunnelSetup)) {
            Ok(Reply::TunnelSetup(setup)) => setup,
            other => panic!("{other:?}"),
        }
    }

    /// Looks, lets the time pass until the next look, and gives how long that is.
    fn watch(&self) -> u64 {
        let ms = self.brain().tunnel.check_tunnel().unwrap();
        self.time.pass(i64::try_from(ms).unwrap());
        ms
    }

    fn up(&self, url: &str) {
        self.net.answers.put(API, 200, &ngrok_tunnel(url, 8765));
        self.net.answers.put(&format!("{url}/health"), 200, &healthy());
    }

    fn number(&self) -> String {
        self.net.number.voice_url()
    }
}

fn with_number(rest: &str) -> String {
    let (account, number) = (format!("AC{}", "0".repeat(32)), format!("PN{}", "1".repeat(32)));
    format!(
        "[tunnel]\nprovider = \"ngrok\"\n{rest}\n[voice]\naccount_sid = \"{account}\"\nnumber_sid = \"{number}\"\napi = \"http://127.0.0.1:9\"\n"
    )
}

fn names(steps: &[Step]) -> Vec<(&str, &str)> {
    steps.iter().map(|step| (step.name.as_str(), step.status.as_str())).collect()
}

#[test]
fn without_a_tunnel_nothing_is_done_and_the_way_to_one_is_told() {
    let lab = Lab::new("");
    assert_eq!(lab.brain().tunnel.check_tunnel(), None);
    let status = lab.status(Request::TunnelStatus(TunnelStatus));
    assert_eq!((status.state.as_str(), status.url), ("off", None));
    assert!(status.hint.unwrap().contains("tunnel.provider"));
    assert_eq!(lab.ask(Request::TunnelStart(TunnelStart)).unwrap_err(), FaultCode::NotSetUp);
    assert_eq!(lab.setup().steps[0].status, "failed");
    assert!(lab.programs.started().is_empty());
}

#[test]
fn it_is_started_by_itself_and_its_address_is_the_brains() {
    let lab = Lab::new("[tunnel]\nprovider = \"ngrok\"\n");
    assert_eq!(lab.brain().tunnel.public_address(), None);
    assert_eq!(lab.watch(), 5_000);
    assert_eq!(lab.programs.started(), ["ngrok http 8765 --log stdout --log-format logfmt"]);
    assert_eq!(
        lab.programs.variables(),
        [("NGROK_AUTHTOKEN".to_owned(), "t0ken-of-tunnel".to_owned())]
    );
    lab.up("https://a.ngrok.app");
    assert_eq!(lab.watch(), 120_000);
    assert_eq!(lab.brain().tunnel.public_address().as_deref(), Some("https://a.ngrok.app"));
    let status = lab.status(Request::TunnelStatus(TunnelStatus));
    assert_eq!((status.state.as_str(), status.starts, status.adopted), ("up", 1, false));
    assert_eq!(status.up_since.as_deref(), Some("2026-11-21T10:00:05.000Z"));
    assert_eq!(status.next_at.as_deref(), Some("2026-11-21T10:02:05.000Z"));
    // Its name does not go when the agent does not answer for a moment.
    lab.net.answers.gone(API);
    lab.watch();
    assert_ne!(lab.state(), "up");
    assert_eq!(lab.brain().tunnel.public_address().as_deref(), Some("https://a.ngrok.app"));
}

#[test]
fn a_fixed_name_or_a_configured_address_is_the_brains_before_anything_is_up() {
    let fixed = Lab::new("[tunnel]\nprovider = \"ngrok\"\ndomain = \"https://B.ngrok.app/\"\n");
    assert_eq!(fixed.brain().tunnel.public_address().as_deref(), Some("https://b.ngrok.app"));
    fixed.watch();
    assert!(fixed.programs.started()[0].contains("--url https://b.ngrok.app"));
    let own = Lab::new(
        "[http]\nbase_url = \"https://brain.example.org\"\n[tunnel]\nprovider = \"ngrok\"\ndomain = \"b.ngrok.app\"\n",
    );
    assert_eq!(own.brain().tunnel.public_address().as_deref(), Some("https://brain.example.org"));
}

#[test]
fn the_number_follows_the_address_and_is_left_alone_while_it_is_the_same() {
    let mut lab = Lab::new(&with_number(""));
    lab.watch();
    assert_eq!((lab.number(), lab.net.number.changes()), (OLD.into(), 0), "nothing is up yet");
    lab.up("https://a.ngrok.app");
    lab.watch();
    assert_eq!(lab.number(), "https://a.ngrok.app/voice");
    for _ in 0..3 {
        assert_eq!(lab.watch(), 120_000);
    }
    lab.reopen();
    lab.watch();
    assert_eq!(lab.net.number.changes(), 1);
    // Another address; the provider does not answer at first.
    lab.up("https://b.ngrok.app");
    lab.net.number.refuse(3);
    let pauses: Vec<u64> = (0..4).map(|_| lab.watch()).collect();
    assert_eq!(pauses, [5_000, 10_000, 20_000, 120_000]);
    assert_eq!((lab.number().as_str(), lab.net.number.changes()), ("https://b.ngrok.app/voice", 2));
    lab.watch();
    assert_eq!(
        lab.status(Request::TunnelStatus(TunnelStatus)).telephone.as_deref(),
        Some("https://b.ngrok.app/voice")
    );
}

#[test]
fn a_number_that_somebody_changed_is_led_back_at_the_next_start() {
    let mut lab = Lab::new(&with_number("domain = \"b.ngrok.app\""));
    lab.up("https://b.ngrok.app");
    lab.watch();
    assert_eq!((lab.number().as_str(), lab.net.number.changes()), ("https://b.ngrok.app/voice", 1));
    lab.net.number.lead(OLD);
    lab.reopen();
    assert_eq!(
        lab.status(Request::TunnelStatus(TunnelStatus)).telephone,
        None,
        "nobody has asked yet"
    );
    lab.watch();
    assert_eq!((lab.number().as_str(), lab.net.number.changes()), ("https://b.ngrok.app/voice", 2));
}

#[test]
fn another_address_does_not_wait_for_what_failed_with_the_former_one() {
    let lab = Lab::new(&with_number(""));
    lab.up("https://a.ngrok.app");
    lab.net.number.refuse(100);
    for _ in 0..8 {
        lab.watch();
    }
    let status = lab.status(Request::TunnelStatus(TunnelStatus));
    assert!(
        status
            .telephone
            .unwrap()
            .starts_with("not changed: the provider rejects the request (status 503")
    );
    // The next try is minutes away.
    lab.net.number.refuse(0);
    lab.watch();
    assert_eq!(lab.number(), OLD);
    lab.up("https://b.ngrok.app");
    lab.watch();
    assert_eq!(lab.number(), "https://b.ngrok.app/voice");
}

#[test]
fn an_agent_that_lies_is_not_believed() {
    let lab = Lab::new(&with_number(""));
    lab.watch();
    // Somebody answers there as brain does, and it is not this one.
    lab.up("https://evil.example");
    lab.net.answers.put("https://evil.example/health", 200, &impostor());
    lab.watch();
    let status = lab.status(Request::TunnelStatus(TunnelStatus));
    assert_eq!(
        (status.state.as_str(), status.url.as_deref()),
        ("unreachable", Some("https://evil.example"))
    );
    assert!(status.message.contains("not proved"), "{}", status.message);
    assert_eq!(lab.brain().tunnel.public_address(), None, "requests to that name are not accepted");
    assert_eq!((lab.number().as_str(), lab.net.number.changes()), (OLD, 0));
    let setup = lab.setup();
    assert_eq!(names(&setup.steps).last(), Some(&("reachable", "failed")), "{setup:#?}");
    // One that was proved stays the brain's while its agent lies.
    lab.up("https://a.ngrok.app");
    lab.watch();
    assert_eq!(lab.brain().tunnel.public_address().as_deref(), Some("https://a.ngrok.app"));
    lab.up("https://evil.example");
    lab.net.answers.put("https://evil.example/health", 200, &impostor());
    lab.watch();
    assert_eq!(lab.brain().tunnel.public_address().as_deref(), Some("https://a.ngrok.app"));
    assert_eq!(lab.number(), "https://a.ngrok.app/voice");
    // Nobody else is answered: the question is asked once, and is over.
    assert_eq!(lab.brain().tunnel.proof("a.ngrok.app", ""), None);
}

#[test]
fn an_address_that_changes_is_told_with_the_clients_that_must_know_even_after_a_restart() {
    let mut lab = Lab::new("[tunnel]\nprovider = \"ngrok\"\n");
    let register = ClientRegister {
        name: "claude".into(),
        scopes: Scopes::READ_WRITE,
        sources: Vec::new(),
        grant_types: vec![GrantType::ClientCredentials],
        redirect_uris: Vec::new(),
        token_ttl: None,
        public: false,
    };
    lab.ask(Request::ClientRegister(register)).unwrap();
    lab.up("https://a.ngrok.app");
    assert!(
        told(|| assert!(lab.watch() > 0))
            .contains("[watchdog] the public address is https://a.ngrok.app")
    );
    lab.reopen();
    lab.up("https://b.ngrok.app");
    let text = told(|| assert!(lab.watch() > 0));
    let line = "[watchdog] the public address has changed from https://a.ngrok.app to https://b.ngrok.app; \
                these clients must be told: \"claude\"";
    assert!(text.contains(line), "{text}");
}

/// What is logged meanwhile.
fn told(act: impl FnOnce()) -> String {
    let log: Arc<Mutex<Vec<u8>>> = Arc::default();
    let written = Arc::clone(&log);
    let writer = move || Written(Arc::clone(&written));
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = log.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What `doctor` says of the tunnel: its status, its message, the command that helps.
fn checked(lab: &Lab) -> (CheckStatus, String, Option<String>) {
    let Ok(Reply::Doctor(doctor)) = lab.ask(Request::Doctor(Doctor { fix: false })) else {
        panic!("doctor")
    };
    let check = doctor.checks.into_iter().find(|check| check.name == "tunnel").unwrap();
    (check.status, check.message, check.hint)
}

#[test]
fn doctor_tells_how_the_tunnel_is() {
    use CheckStatus::{Fail, Ok, Warn};
    assert_eq!(checked(&Lab::new("")), (Ok, "off (`tunnel.provider`)".into(), None));
    let lab = Lab::new(&with_number(""));
    assert_eq!(checked(&lab), (Ok, "not checked yet".into(), None));
    lab.watch();
    let (status, message, hint) = checked(&lab);
    assert_eq!((status, hint.as_deref()), (Warn, Some("brain tunnel status")), "{message}");
    assert!(message.starts_with("agent_down: "), "{message}");
    lab.up("https://a.ngrok.app");
    lab.net.number.refuse(1);
    lab.watch();
    lab.watch();
    let up = "up: https://a.ngrok.app/health answers";
    assert_eq!(checked(&lab), (Ok, up.into(), None));
    lab.up("https://b.ngrok.app");
    lab.net.number.refuse(2);
    lab.watch();
    lab.watch();
    let (status, message, _) = checked(&lab);
    assert!(status == Warn && message.contains("the telephone number is not changed"), "{message}");
    // A watchdog that does not look is no tunnel that is up.
    lab.watch();
    lab.time.pass(60 * 60 * 1000);
    let (status, message, hint) = checked(&lab);
    assert!(status == Warn && message.contains("has not run since 2026-11-21T10:"), "{message}");
    assert_eq!(hint.as_deref(), Some("brain tunnel start"));
    lab.status(Request::TunnelStop(TunnelStop));
    lab.net.answers.gone(API);
    lab.watch();
    let (status, message, hint) = checked(&lab);
    assert!(status == Warn && message.starts_with("stopped: "), "{message}");
    assert_eq!(hint.as_deref(), Some("brain tunnel start"));
    let path = lab.dir.path().join("home/secrets/tunnel-authtoken");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(checked(&lab).0, Fail);
}

#[test]
fn what_was_stopped_stays_down_after_a_restart_until_it_is_started() {
    let mut lab = Lab::new("[tunnel]\nprovider = \"ngrok\"\n");
    lab.watch();
    let status = lab.status(Request::TunnelStop(TunnelStop));
    assert_eq!((status.state.as_str(), lab.programs.stopped()), ("stopped", 1));
    lab.reopen();
    for _ in 0..3 {
        assert_eq!(lab.watch(), 120_000);
    }
    assert_eq!((lab.state().as_str(), lab.programs.started().len()), ("stopped", 1));
    lab.programs.fate(Some(("it ended with exit status 1", &["ERR_NGROK_108"])));
    lab.up("https://a.ngrok.app");
    assert_eq!(lab.status(Request::TunnelStart(TunnelStart)).state, "up");
    // That one is somebody else's, so stopping leaves it.
    let status = lab.status(Request::TunnelStop(TunnelStop));
    assert_eq!((status.state.as_str(), status.adopted, lab.programs.stopped()), ("up", true, 1));
}

#[test]
fn the_daemons_end_ends_its_own_agent_and_starts_none() {
    let lab = Lab::new("[tunnel]\nprovider = \"ngrok\"\n");
    lab.watch();
    lab.brain().begin_stop();
    lab.brain().tunnel.stop_tunnel_agent();
    assert_eq!(lab.programs.stopped(), 1);
    lab.watch();
    assert_eq!(lab.programs.started().len(), 1);
}

#[test]
fn setting_up_walks_seven_steps_and_leaves_a_heartbeat() {
    let lab = Lab::new(&with_number("domain = \"brain.ngrok-free.app\""));
    lab.up("https://brain.ngrok-free.app");
    let setup = lab.setup();
    assert_eq!(
        names(&setup.steps),
        [
            ("provider", "warned"),
            ("agent", "passed"),
            ("authtoken", "passed"),
            ("start", "passed"),
            ("reachable", "passed"),
            ("telephone", "passed"),
            ("heartbeat", "passed")
        ],
        "{setup:#?}"
    );
    assert_eq!(setup.status, "passed");
    assert_eq!(lab.number(), "https://brain.ngrok-free.app/voice");
    let text = fs::read_to_string(lab.dir.path().join("home/integrations/tunnel/heartbeat.jsonl"))
        .unwrap();
    let line: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(
        line,
        json!({"ts": "2026-11-21T10:00:00Z", "event": "setup_complete", "source_version": "0.7.0", "status": "ok",
            "details": {"domain": "brain.ngrok-free.app", "tier": "free"}})
    );
}

#[test]
fn a_token_that_the_agent_was_not_given_is_not_called_good() {
    let lab = Lab::new("[tunnel]\nprovider = \"cloudflared\"\n");
    lab.watch();
    assert!(lab.programs.variables().is_empty());
    let agent = "http://127.0.0.1:20241";
    lab.net.answers.put(
        &format!("{agent}/ready"),
        200,
        &json!({"status": 200, "readyConnections": 4}),
    );
    lab.net.answers.put(
        &format!("{agent}/quicktunnel"),
        200,
        &json!({"hostname": "a.trycloudflare.com"}),
    );
    lab.net.answers.put("https://a.trycloudflare.com/health", 200, &healthy());
    let setup = lab.setup();
    let step = setup.steps.iter().find(|step| step.name == "authtoken").unwrap();
    assert_eq!(step.status, "warned", "{step:?}");
    assert!(step.message.contains("is not used"), "{step:?}");
    assert_eq!(setup.status, "passed", "{setup:?}");
}

#[test]
fn setting_up_ends_at_the_step_that_fails_with_the_way_out() {
    let lab = Lab::new("[tunnel]\nprovider = \"ngrok\"\n");
    lab.programs.missing(true);
    let setup = lab.setup();
    assert_eq!(names(&setup.steps).last(), Some(&("agent", "failed")));
    lab.programs.missing(false);
    lab.programs.fate(Some((
        "it ended with exit status 1",
        &["the token t0ken-of-tunnel is invalid: ERR_NGROK_107"],
    )));
    let setup = lab.setup();
    assert_eq!(
        (setup.status.as_str(), names(&setup.steps).last()),
        ("failed", Some(&("authtoken", "failed")))
    );
    let step = setup.steps.last().unwrap();
    assert!(step.message.contains("ERR_NGROK_107") && step.hint.is_some(), "{step:?}");
    assert!(!format!("{setup:?}").contains("t0ken-of-tunnel"));
    lab.programs.fate(Some(("it ended with exit status 1", &["ERR_NGROK_320"])));
    let setup = lab.setup();
    assert_eq!(names(&setup.steps)[2..], [("authtoken", "warned"), ("start", "failed")]);
    assert!(setup.steps[2].message.contains("is good is not known"), "{:?}", setup.steps[2]);
    lab.up("https://a.ngrok.app");
    lab.net.answers.put(LOCAL, 503, &json!({}));
    assert_eq!(names(&lab.setup().steps).last(), Some(&("reachable", "failed")));
    assert!(!lab.dir.path().join("home/integrations/tunnel/heartbeat.jsonl").exists());
    let off = Lab::new("[http]\npublic = \"off\"\n[tunnel]\nprovider = \"ngrok\"\n");
    assert_eq!(names(&off.setup().steps), [("provider", "failed")]);
}

#[test]
fn a_token_that_others_can_read_is_not_used() {
    let lab = Lab::new("[tunnel]\nprovider = \"ngrok\"\n");
    let path = lab.dir.path().join("home/secrets/tunnel-authtoken");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(lab.watch(), 120_000);
    assert!(lab.programs.started().is_empty());
    assert_eq!(lab.ask(Request::TunnelStatus(TunnelStatus)).unwrap_err(), FaultCode::Forbidden);
}
