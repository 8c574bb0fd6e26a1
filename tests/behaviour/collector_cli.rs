//! `brain collector …` with the real programs and a fake platform on loopback.

mod archive;
mod setup;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use brain_tests::platform::{
    APP_TOKEN, Fault, Platform, PlatformServer, Time, USER_TOKEN, endpoint,
};
use brain_tests::{Run, TEST_TIMEOUT, TestHome, run, wait_for};
use serde_json::{Value, json};

use crate::terminal::on_a_terminal;

/// A home whose collector uses a fake platform.
struct Fixture {
    home: TestHome,
    platform: Platform,
    _server: PlatformServer,
    /// The account's id.
    ada: String,
}

impl Fixture {
    /// Creates a home whose account is Ada. She has written two posts; Eve has mentioned her once.
    fn new(settings: &str) -> Self {
        let platform = Platform::new(Time::System);
        let ada = platform.create_account("ada");
        let eve = platform.create_account("eve");
        platform.post(&ada, "On latency");
        platform.post(&ada, "On \u{1b}[31mred\u{202e}\nlines");
        platform.post(&eve, "Look at @ada");
        let server = PlatformServer::start(&platform, false);
        let mut home = TestHome::new();
        home.env.push(("BRAIN_COLLECTOR_PLATFORM_API".into(), server.url()));
        fs::create_dir_all(home.path()).unwrap();
        // Nothing runs by schedule during a test: the only scheduled time is at least a quarter of
        // an hour away.
        let minute = (platform.time().now() / 60_000) % 60;
        let schedule = format!("every = \"24h\"\nat = {}", if minute < 30 { 45 } else { 15 });
        fs::write(
            home.path().join("config.toml"),
            format!("[collector]\n{schedule}\n{settings}\n"),
        )
        .unwrap();
        Self { home, platform, _server: server, ada }
    }

    /// Creates a home that is set up with an app token.
    fn with_setup(settings: &str) -> Self {
        let fixture = Self::new(settings);
        fixture.setup(APP_TOKEN, &["--handle", "ada"]).expect(0);
        fixture
    }

    /// Runs `brain collector setup` with this token on standard input.
    fn setup(&self, token: &str, more: &[&str]) -> Run {
        let args = ["--json", "collector", "setup", "--token-file", "-"];
        self.home.brain_with(args.iter().chain(more), format!("{token}\n").as_bytes())
    }

    fn token_file(&self) -> PathBuf {
        self.home.path().join("secrets/platform-bearer-token")
    }

    fn own_posts_dir(&self) -> PathBuf {
        self.home.path().join("collector/data/tweets/own")
    }

    fn heartbeats(&self) -> Vec<Value> {
        let path = self.home.path().join("integrations/collector/heartbeat.jsonl");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Asserts that neither these texts nor the log contain a token.
    fn assert_no_token(&self, texts: &[&str]) {
        let log = self.home.log();
        for text in texts.iter().copied().chain([log.as_str()]) {
            for token in [APP_TOKEN, USER_TOKEN] {
                assert!(!text.contains(token), "{text}");
            }
        }
    }
}

/// Returns `name status` of each step.
fn steps(report: &Value) -> Vec<String> {
    let steps = report["steps"].as_array().unwrap().iter();
    steps
        .map(|s| format!("{} {}", s["name"].as_str().unwrap(), s["status"].as_str().unwrap()))
        .collect()
}

#[test]
fn collect_prints_only_event_lines() {
    let fixture = Fixture::with_setup("");
    fixture.platform.post(&fixture.ada, "A third one");
    let ran = fixture.home.brain(["collector", "collect"]).expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ran.stdout);
    assert!(lines[0].starts_with("RUN_START:20") && lines[0].ends_with('Z'), "{lines:?}");
    assert_eq!(lines[1..3], ["OWN_TWEETS:3 (1 new)", "MENTIONS:1 (0 new)"]);
    assert!(
        lines[3].starts_with("RUN_COMPLETE:20")
            && lines[3].ends_with(":tweets_stored=4:deletions=0:velocity_alerts=0")
    );

    let quiet = fixture.home.brain(["collector", "collect", "--quiet"]).expect(0);
    assert_eq!(quiet.stdout.lines().count(), 1);
    assert!(quiet.stdout.starts_with("RUN_COMPLETE:") && quiet.stderr.is_empty(), "{quiet:?}");
    let report = fixture.home.json(["collector", "collect"]);
    assert_eq!(
        (&report["status"], &report["tweets_stored"]),
        (&json!("complete"), &json!(4)),
        "{report:#}"
    );
    let beat = fixture.heartbeats().pop().unwrap();
    assert_eq!((&beat["event"], &beat["status"]), (&json!("collect"), &json!("ok")));
    assert_eq!(
        (&beat["details"]["user_id"], &beat["details"]["tweets_stored"]),
        (&json!(fixture.ada), &json!(4))
    );
}

#[test]
fn the_daemon_prints_the_lines_of_every_run() {
    let fixture = Fixture::with_setup("");
    fixture.home.brain(["stop"]).expect(0);
    let out = fixture.home.outside().join("stdout");
    let mut command = fixture.home.command("brain-daemon");
    let mut daemon =
        command.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while fixture.home.connect().is_none() {
        assert!(Instant::now() < deadline, "the daemon does not answer");
        std::thread::sleep(Duration::from_millis(2));
    }
    let printed = fixture.home.brain(["collector", "collect"]).expect(0).stdout;
    fixture.home.brain(["collector", "setup"]).expect(0);
    fixture.home.brain(["stop"]).expect(0);
    daemon.wait().unwrap();
    let daemon_output = fs::read_to_string(out).unwrap();
    assert!(daemon_output.starts_with(&printed), "{daemon_output}");
    let kinds: Vec<&str> =
        daemon_output.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(kinds, ["RUN_START", "OWN_TWEETS", "MENTIONS", "RUN_COMPLETE"].repeat(2));
}

#[test]
fn failed_runs_exit_with_1_and_the_reason() {
    let fixture = Fixture::with_setup("");
    fixture.platform.fault(endpoint::MENTIONS, Fault::CreditsDepleted, 2);
    let ran = fixture.home.brain(["collector", "collect"]).expect(1);
    let last = ran.stdout.lines().last().unwrap();
    assert!(
        last.starts_with("RUN_FAILED:20") && last.ends_with(":payment_required"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("RUN_COMPLETE"));
    assert!(
        ran.stderr.contains("brain: failed: ") && ran.stderr.contains("credit"),
        "{}",
        ran.stderr
    );
    let mut command = fixture.home.command("brain");
    command.args(["collector", "collect", "--json"]);
    let report = run(command, b"").expect(1).json();
    assert_eq!(
        (&report["status"], &report["reason"]),
        (&json!("failed"), &json!("payment_required"))
    );
    let beat = fixture.heartbeats().pop().unwrap();
    assert_eq!(
        (&beat["status"], &beat["details"]["reason"]),
        (&json!("failed"), &json!("payment_required"))
    );
    let shown = fixture.home.brain(["collector", "status"]).expect(0).stdout;
    assert!(shown.contains("last run  failed 20"), "{shown}");
    // A skipped stream is no failure.
    fixture.platform.fault(endpoint::MENTIONS, Fault::Server(503), 1);
    let ran = fixture.home.brain(["collector", "collect"]).expect(0);
    assert!(ran.stdout.contains("\nSTREAM_SKIPPED:mentions:server_error\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("mentions was skipped"), "{}", ran.stderr);
    fixture.assert_no_token(&[&ran.stdout, &ran.stderr, &shown, &report.to_string()]);
}

#[test]
fn runs_fail_if_the_platform_is_unreachable() {
    let fixture = Fixture::with_setup("searches = [\"latency\"]");
    for at in [endpoint::TIMELINE, endpoint::MENTIONS, endpoint::SEARCH] {
        fixture.platform.fault(at, Fault::Close, 4);
    }
    let ran = fixture.home.brain(["collector", "collect"]).expect(1);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines[1..4],
        ["own", "mentions", "searches"].map(|s| format!("STREAM_SKIPPED:{s}:unreachable"))
    );
    assert!(
        lines[4].starts_with("RUN_FAILED:20") && lines[4].ends_with(":unreachable"),
        "{lines:?}"
    );
    assert!(ran.stderr.contains("no stream had an answer: "), "{}", ran.stderr);
    let beat = fixture.heartbeats().pop().unwrap();
    assert_eq!(
        (&beat["status"], &beat["details"]["reason"]),
        (&json!("failed"), &json!("unreachable"))
    );
    let status = fixture.home.json(["collector", "status"]);
    assert_eq!(
        (&status["last_run"]["status"], &status["last_run"]["reason"]),
        (&json!("failed"), &json!("unreachable"))
    );
}

#[test]
fn status_shows_a_stored_token_at_once() {
    let fixture = Fixture::new("stream = true");
    let _daemon = fixture.home.daemon();
    let stream = || fixture.home.json(["collector", "status"])["stream"].clone();
    let deadline = Instant::now() + Duration::from_secs(30);
    while stream()["state"] != "off" {
        assert!(Instant::now() < deadline, "{}", stream());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(stream()["message"].as_str().unwrap().contains("no bearer token"), "{}", stream());
    fixture.setup(APP_TOKEN, &["--handle", "ada"]).expect(0);
    assert!(!stream()["message"].as_str().unwrap().contains("no bearer token"), "{}", stream());
}

#[test]
fn commands_report_a_missing_setup() {
    let fixture = Fixture::new("");
    let fault = fixture.home.fault(["collector", "collect"], 1);
    assert_eq!(fault["code"], "not_set_up");
    assert!(
        fault["hint"].as_str().unwrap().contains("brain collector setup --token-file FILE"),
        "{fault}"
    );
    let shown = fixture.home.brain(["collector"]).expect(0).stdout;
    assert!(shown.starts_with("off       there is no bearer token"), "{shown}");
    assert!(shown.contains("last run  none yet\n"), "{shown}");
    let status = fixture.home.json(["collector", "status"]);
    assert_eq!((&status["enabled"], &status["next_run"]), (&json!(false), &Value::Null));
    assert_eq!(fixture.platform.requests(), 0, "no request was sent");
    fs::create_dir_all(fixture.token_file().parent().unwrap()).unwrap();
    fs::write(fixture.token_file(), APP_TOKEN).unwrap();
    // The file is readable by other users.
    fs::set_permissions(fixture.token_file(), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    assert_eq!(fixture.home.fault(["collector", "collect"], 3)["code"], "forbidden");
    fs::set_permissions(fixture.token_file(), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    let fault = fixture.home.fault(["collector", "collect"], 1);
    assert!(fault["hint"].as_str().unwrap().contains("--handle NAME"), "{fault}");
}

#[test]
fn status_fits_60_columns() {
    let fixture = Fixture::with_setup("searches = [\"latency\"]");
    let status = fixture.home.json(["collector", "status"]);
    assert_eq!(
        (&status["enabled"], &status["off_because"]),
        (&json!(true), &Value::Null),
        "{status:#}"
    );
    assert_eq!((&status["handle"], &status["user_id"]), (&json!("ada"), &json!(fixture.ada)));
    assert_eq!((&status["stored"]["own"], &status["stored"]["mentions"]), (&json!(2), &json!(1)));
    let next = status["next_run"].as_str().unwrap();
    assert!(next.ends_with("T00:15:00.000Z") || next.ends_with("T00:45:00.000Z"), "{next}");
    assert_eq!(status["last_run"]["streams"].as_array().unwrap().len(), 3);
    let limits = status["rate_limits"].as_array().unwrap();
    assert!(
        limits
            .iter()
            .any(|limit| limit["endpoint"] == endpoint::TIMELINE && limit["held"] == false),
        "{limits:?}"
    );
    if let Some((code, text)) =
        on_a_terminal(&fixture.home, 60, &[("NO_COLOR", "1")], &["collector", "status"])
    {
        assert_eq!(code, 0, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 60, "{line}");
        }
        assert!(
            text.starts_with("on        the next run is at ") && text.contains("\nlimits    /2/"),
            "{text}"
        );
    }
    assert_eq!(fixture.home.brain(["collector", "status", "-q"]).expect(0).stdout, "on\n");
}

#[test]
fn deleted_posts_are_listed_once_and_cleaned() {
    let fixture = Fixture::with_setup("");
    let hostile = fixture.platform.post(&fixture.ada, "gone \u{1b}[2J\u{202e}soon\nand more");
    fixture.home.brain(["collector", "collect"]).expect(0);
    fixture.platform.delete(&hostile);
    let ran = fixture.home.brain(["collector", "collect"]).expect(0);
    let line =
        ran.stdout.lines().find(|line| line.starts_with("DELETION_DETECTED:")).unwrap().to_owned();
    assert!(line.starts_with(&format!("DELETION_DETECTED:{hostile}:ada:gone ")), "{line}");
    fixture.home.brain(["collector", "collect"]).expect(0);

    let deletions = fixture.home.json(["collector", "deletions"]);
    assert_eq!(deletions["deletions"].as_array().unwrap().len(), 1, "{deletions:#}");
    let one = &deletions["deletions"][0];
    assert_eq!((&one["id"], &one["author"]), (&json!(hostile), &json!("ada")));
    let alerts = fixture.home.json(["collector", "alerts", "--since", "2020-01-01"]);
    assert_eq!(
        (&alerts["alerts"][0]["kind"], &alerts["alerts"][0]["message"]),
        (&json!("deletion"), &json!(line))
    );
    assert_eq!(
        fixture.home.brain(["collector", "alerts", "-q"]).expect(0).stdout,
        format!("{line}\n")
    );
    for action in ["deletions", "alerts"] {
        let shown = fixture.home.brain(["collector", action]).expect(0);
        assert!(
            shown.stdout.contains(&hostile) && !shown.stdout.contains(['\u{1b}', '\u{202e}']),
            "{}",
            shown.stdout
        );
        let later = fixture.home.brain(["collector", action, "--since", "2100-01-01"]).expect(0);
        assert!(
            later.stdout.is_empty() && later.stderr.contains(&format!("no {action}")),
            "{later:?}"
        );
        assert_eq!(
            fixture.home.fault(["collector", action, "--since", "soon"], 2)["code"],
            "usage"
        );
        fixture.home.fault(["collector", action, "--limit", "0"], 2);
        fixture.home.fault(["collector", action, "--after", "x"], 2);
    }
}

#[test]
fn curves_fit_the_terminal_width() {
    let fixture = Fixture::with_setup("");
    let post = fixture.platform.post(&fixture.ada, "It grows");
    for likes in [0, 10, 40, 90, 160] {
        fixture.platform.set_likes(&post, likes);
        fixture.home.brain(["collector", "collect"]).expect(0);
    }
    let curve = fixture.home.json(["collector", "plot", &post]);
    let likes: Vec<u64> = curve["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["metrics"]["like_count"].as_u64().unwrap())
        .collect();
    assert_eq!(likes, [0, 10, 40, 90, 160], "{curve:#}");
    let text = fixture.home.brain(["collector", "plot", &post]).expect(0).stdout;
    assert!(text.starts_with(&format!("{post} ada\nIt grows\nlikes 0 -> 160\n160 ┤")), "{text}");
    assert!(text.contains("reposts 0 -> 0\n") && text.contains("replies 0 -> 0\n"), "{text}");
    if let Some((_, text)) =
        on_a_terminal(&fixture.home, 60, &[("NO_COLOR", "1")], &["collector", "plot", &post])
    {
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }
    // The status shows the curve, and the command that plots it.
    let shown = fixture.home.brain(["collector", "status"]).expect(0).stdout;
    assert!(
        shown.contains("0 -> 160  ada It grows")
            && shown.contains(&format!("brain collector plot {post}")),
        "{shown}"
    );

    assert_eq!(fixture.home.fault(["collector", "plot", "17"], 4)["code"], "unknown_post");
    assert_eq!(fixture.home.fault(["collector", "plot", "../state"], 2)["code"], "usage");
    fixture.home.fault(["collector", "plot"], 2);
    fixture.home.fault(["collector", "status", "17"], 2);
}

#[test]
fn runs_never_overlap_and_survive_their_client() {
    let fixture = Fixture::with_setup("");
    let _daemon = fixture.home.daemon();
    fixture.platform.post(&fixture.ada, "A third one");
    fixture.platform.fault(endpoint::MENTIONS, Fault::Slow(3000), 1);
    let mut command = fixture.home.command("brain");
    command
        .args(["collector", "collect"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut first = command.spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap());
    let mut line = String::new();
    // Lines are printed during the run.
    while !line.starts_with("OWN_TWEETS:") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the run is over already");
    }
    let fault = fixture.home.fault(["collector", "collect"], 1);
    assert_eq!(fault["code"], "busy");
    assert!(
        fault["message"].as_str().unwrap().contains("a requested run has been running since 20"),
        "{fault}"
    );
    assert_eq!(fixture.home.fault(["collector", "setup"], 1)["code"], "busy");
    let status = fixture.home.json(["collector", "status"]);
    assert_eq!(status["enabled"], true, "the status is available during the run");
    let before = status["last_run"]["finished_at"].as_str().unwrap().to_owned();

    first.kill().unwrap();
    first.wait().unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("RUN_COMPLETE"), "{rest}");
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let status = fixture.home.json(["collector", "status"]);
        if status["last_run"]["finished_at"] != before.as_str() {
            assert_eq!(
                (&status["last_run"]["status"], &status["stored"]["own"]),
                (&json!("complete"), &json!(3))
            );
            break;
        }
        assert!(Instant::now() < deadline, "the run did not continue");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_closed_output_pipe_is_no_failure() {
    let fixture = Fixture::with_setup("");
    fixture.platform.fault(endpoint::TIMELINE, Fault::Slow(500), 1);
    let before = fixture.platform.count(endpoint::TIMELINE);
    let mut command = fixture.home.command("brain");
    command
        .args(["collector", "collect"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    wait_for("no request was made", || fixture.platform.count(endpoint::TIMELINE) > before);
}

#[test]
fn the_help_lists_all_actions() {
    let home = TestHome::new();
    let help = home.brain(["collector", "--help"]).expect(0).stdout;
    for action in ["setup", "collect", "status", "deletions", "alerts", "digest", "enrich", "plot"]
    {
        assert!(help.contains(&format!("- {action}:")), "{action}: {help}");
    }
    assert!(home.brain(["--help"]).expect(0).stdout.contains("\nCollecting:\n  collector "));
}

#[test]
fn doctor_reports_collector_problems() {
    let fixture = Fixture::new("");
    let check = || {
        let doctor = fixture.home.brain(["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "collector").unwrap().clone()
    };
    let assert_check = |status: &str, words: &str| {
        let check = check();
        assert_eq!(check["status"], status, "{check}");
        assert!(check["message"].as_str().unwrap().contains(words), "{check}");
    };
    assert_check("ok", "off: there is no token");
    fixture.setup(APP_TOKEN, &["--handle", "ada"]).expect(0);
    assert_check("ok", "on; the last run was at ");
    fixture.platform.fault(endpoint::MENTIONS, Fault::Unauthorized, 1);
    assert_eq!(fixture.home.brain(["collector", "collect"]).code, 1);
    assert_check("warn", "failed (unauthorized)");
    // With and without authors' names.
    fixture.platform.fault(endpoint::MENTIONS, Fault::Forbidden, 2);
    fixture.home.brain(["collector", "collect"]).expect(0);
    assert_check("warn", " skipped mentions: ");
    fixture.home.brain(["collector", "collect"]).expect(0);
    assert_check("ok", "on; the last run was at ");
    fs::set_permissions(fixture.token_file(), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    assert_check("fail", "others can read the secret");
}
