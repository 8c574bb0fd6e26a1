//! `brain collector …` as a person meets it: the real programs, and a platform behind a loopback
//! port.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use brain_tests::platform::{APP_TOKEN, Fault, Platform, Served, Time, USER_TOKEN, endpoint};
use brain_tests::{PATIENCE, Run, TestHome, run};
use serde_json::{Value, json};

use crate::terminal::on_a_terminal;

/// A home whose collector asks a platform of its own.
struct Lab {
    home: TestHome,
    platform: Platform,
    _served: Served,
    /// The account's id.
    ada: String,
}

impl Lab {
    /// Ada has written twice, Eve has mentioned her once.
    fn new(settings: &str) -> Self {
        let platform = Platform::new(Time::System);
        let ada = platform.account("ada");
        let eve = platform.account("eve");
        platform.post(&ada, "On latency");
        platform.post(&ada, "On \u{1b}[31mred\u{202e}\nlines");
        platform.post(&eve, "Look at @ada");
        let served = Served::start(&platform, false);
        let mut home = TestHome::new();
        home.env.push(("BRAIN_COLLECTOR_PLATFORM_API".into(), served.url()));
        fs::create_dir_all(home.path()).unwrap();
        // Nothing runs by itself while a test looks: the only beginning of a day is a quarter of an
        // hour off, at the least.
        let minute = (platform.time().now() / 60_000) % 60;
        let schedule = format!("every = \"24h\"\nat = {}", if minute < 30 { 45 } else { 15 });
        fs::write(
            home.path().join("config.toml"),
            format!("[collector]\n{schedule}\n{settings}\n"),
        )
        .unwrap();
        Self { home, platform, _served: served, ada }
    }

    /// The same, set up with the token of an app.
    fn ready(settings: &str) -> Self {
        let lab = Self::new(settings);
        lab.setup(APP_TOKEN, &["--handle", "ada"]).expect(0);
        lab
    }

    fn setup(&self, token: &str, more: &[&str]) -> Run {
        let args = ["--json", "collector", "setup", "--token-file", "-"];
        self.home.brain_with(args.iter().chain(more), format!("{token}\n").as_bytes())
    }

    fn token_file(&self) -> PathBuf {
        self.home.path().join("secrets/platform-bearer-token")
    }

    fn own(&self) -> PathBuf {
        self.home.path().join("collector/data/tweets/own")
    }

    fn heartbeats(&self) -> Vec<Value> {
        let path = self.home.path().join("integrations/collector/heartbeat.jsonl");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Nothing that anybody can read has a token in it.
    fn assert_no_token(&self, texts: &[&str]) {
        let log = self.home.log();
        for text in texts.iter().copied().chain([log.as_str()]) {
            for token in [APP_TOKEN, USER_TOKEN] {
                assert!(!text.contains(token), "{text}");
            }
        }
    }
}

/// `name status` of each step.
fn steps(report: &Value) -> Vec<String> {
    let steps = report["steps"].as_array().unwrap().iter();
    steps
        .map(|s| format!("{} {}", s["name"].as_str().unwrap(), s["status"].as_str().unwrap()))
        .collect()
}

/// What the last step saw and what it says to do, when the setup stopped there.
fn stuck<'a>(report: &'a Value, at: &str) -> (&'a str, &'a str) {
    assert_eq!(report["status"], "failed", "{report:#}");
    let last = report["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (last["name"].as_str(), last["status"].as_str()),
        (Some(at), Some("failed")),
        "{report:#}"
    );
    (last["message"].as_str().unwrap(), last["hint"].as_str().unwrap())
}

const STEPS: [&str; 7] =
    ["token", "user", "directories", "collect", "enrichment", "schedule", "heartbeat"];

#[test]
fn setup_walks_seven_steps_and_can_be_walked_again() {
    let lab = Lab::new("searches = [\"latency\"]");
    let _daemon = lab.home.daemon();
    let first = lab.setup(APP_TOKEN, &["--handle", "@Ada"]).expect(0);
    let report = first.json();
    assert_eq!(steps(&report), STEPS.map(|name| format!("{name} passed")), "{report:#}");
    assert_eq!((&report["status"], &report["user_id"]), (&json!("passed"), &json!(lab.ada)));
    let seen = report["steps"][0]["message"].as_str().unwrap();
    assert!(seen.contains("lookup of @Ada was the check"), "{seen}");
    assert_eq!(fs::read_dir(lab.own()).unwrap().count(), 2);
    for dir in ["tweets/mentions", "tweets/searches", "deletions", "engagement"] {
        assert!(lab.home.path().join("collector/data").join(dir).is_dir(), "{dir}");
    }
    let beats = lab.heartbeats();
    let events: Vec<&Value> = beats.iter().map(|beat| &beat["event"]).collect();
    assert_eq!(events, ["collect", "setup_complete"], "{beats:#?}");
    assert_eq!(beats[1]["source_version"], "0.8.1");
    assert_eq!(
        (&beats[1]["status"], &beats[1]["details"]),
        (&json!("ok"), &json!({ "user_id": lab.ada }))
    );

    // Everything is kept now: the second time needs nothing.
    let second = lab.home.brain(["collector", "setup"]).expect(0);
    for name in STEPS {
        assert!(
            second.stdout.lines().any(|line| line.starts_with(&format!("ok   {name} "))),
            "{}",
            second.stdout
        );
    }
    assert!(second.stdout.ends_with("\npassed: the collector is set up\n"), "{}", second.stdout);
    assert_eq!(lab.home.brain(["collector", "setup", "--quiet"]).expect(0).stdout, "passed\n");
    lab.assert_no_token(&[&first.stdout, &first.stderr, &second.stdout]);
}

#[test]
fn a_token_is_kept_only_after_the_platform_took_it() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::ready("");
    assert_eq!(fs::read_to_string(lab.token_file()).unwrap().trim(), APP_TOKEN);
    assert_eq!(fs::metadata(lab.token_file()).unwrap().permissions().mode() & 0o777, 0o600);
    let wrong = lab.setup("AAAAwrong-token", &[]).expect(1);
    let report = wrong.json();
    let (message, hint) = stuck(&report, "token");
    assert!(
        message.contains("does not take the token") && hint.contains("--token-file FILE"),
        "{report:#}"
    );
    assert!(!wrong.stdout.contains("AAAAwrong") && !lab.home.log().contains("AAAAwrong"));
    assert_eq!(fs::read_to_string(lab.token_file()).unwrap().trim(), APP_TOKEN);
    lab.home.brain(["collector", "collect"]).expect(0);
    // One that is a user's says whose it is.
    let report = lab.setup(USER_TOKEN, &[]).expect(0).json();
    assert!(
        report["steps"][0]["message"].as_str().unwrap().contains("acts for @ada"),
        "{report:#}"
    );
    assert_eq!(fs::read_to_string(lab.token_file()).unwrap().trim(), USER_TOKEN);
    // A platform that cannot say is no reason to replace what was good.
    lab.platform.fault(endpoint::ME, Fault::Server(503), 1);
    stuck(&lab.setup(APP_TOKEN, &[]).expect(1).json(), "token");
    assert_eq!(fs::read_to_string(lab.token_file()).unwrap().trim(), USER_TOKEN);
}

#[test]
fn a_token_from_a_better_place_is_told_of() {
    let mut lab = Lab::new("");
    lab.home.env.push(("BRAIN_PLATFORM_BEARER_TOKEN".into(), "AAAA-of-the-variable".into()));
    let report = lab.setup(APP_TOKEN, &["--handle", "ada"]).expect(0).json();
    assert_eq!(report["steps"][0]["status"], "warned");
    assert!(
        report["steps"][0]["hint"].as_str().unwrap().contains("BRAIN_PLATFORM_BEARER_TOKEN"),
        "{report:#}"
    );
    assert!(!report.to_string().contains("AAAA-of"));
}

#[test]
fn setup_says_what_is_missing_or_wrong() {
    let lab = Lab::new("");
    let stopped = |more: &[&str]| {
        lab.home.brain(["--json", "collector", "setup"].iter().chain(more)).expect(1).json()
    };
    let report = stopped(&["--handle", "ada"]);
    let (message, hint) = stuck(&report, "token");
    for place in [
        "$BRAIN_PLATFORM_BEARER_TOKEN",
        "collector.token_file",
        "secrets/platform-bearer-token",
        "credential",
    ] {
        assert!(message.contains(place), "{place}: {message}");
    }
    assert!(hint.contains("brain collector setup --token-file FILE"), "{hint}");

    let report = lab.setup(APP_TOKEN, &[]).expect(1).json();
    assert!(stuck(&report, "token").1.contains("--handle NAME"), "{report:#}");
    assert!(!lab.token_file().exists(), "nobody knows yet whether it is good");
    let report = lab.setup(APP_TOKEN, &["--handle", "nobody"]).expect(1).json();
    assert!(stuck(&report, "user").0.contains("@nobody"), "{report:#}");

    assert_eq!(lab.home.fault(["collector", "setup", "--handle", "no/slash"], 2)["code"], "usage");
    lab.home.fault(["collector", "setup", "--token-file", "/no/such"], 1);
    assert_eq!(
        lab.home.fault_with(["collector", "setup", "--token-file", "-"], b" \n", 2)["code"],
        "invalid_request"
    );
    // A token on the command line could be read by everybody on the machine: there is no way to put
    // it there.
    lab.home.fault(["collector", "setup", "--token", "x"], 2);
    lab.home.fault(["collector", "setup", "x"], 2);
}

#[test]
fn an_account_that_shows_nothing_is_diagnosed() {
    let lab = Lab::new("");
    lab.platform.change_account(&lab.ada, |account| account.protected = true);
    let report = lab.setup(APP_TOKEN, &["--handle", "ada"]).expect(1).json();
    let (message, hint) = stuck(&report, "collect");
    assert!(message.contains("no posts of the own timeline"), "{message}");
    for cause in [lab.ada.as_str(), "numeric id", "token valid", "protected"] {
        assert!(hint.contains(cause), "{cause}: {hint}");
    }
    assert!(lab.heartbeats().iter().all(|beat| beat["event"] == "collect"));
    // Once it is mended, the next walk arrives.
    lab.platform.change_account(&lab.ada, |account| account.protected = false);
    lab.home.brain(["collector", "setup"]).expect(0);
}

#[test]
fn the_configuration_and_the_command_must_mean_one_account() {
    let lab = Lab::new("handle = \"eve\"");
    let report = lab.setup(APP_TOKEN, &["--handle", "ada"]).expect(1).json();
    assert!(stuck(&report, "user").1.contains("collector.handle"), "{report:#}");
    let lab = Lab::new("handle = \"ada\"\nuser_id = \"17\"");
    let report = lab.setup(APP_TOKEN, &[]).expect(1).json();
    let (message, _) = stuck(&report, "user");
    assert!(message.contains(&lab.ada) && message.contains("17"), "{message}");
}

#[test]
fn collect_prints_event_lines_and_nothing_else() {
    let lab = Lab::ready("");
    lab.platform.post(&lab.ada, "A third one");
    let ran = lab.home.brain(["collector", "collect"]).expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ran.stdout);
    assert!(lines[0].starts_with("RUN_START:20") && lines[0].ends_with('Z'), "{lines:?}");
    assert_eq!(lines[1..3], ["OWN_TWEETS:3 (1 new)", "MENTIONS:1 (0 new)"]);
    assert!(
        lines[3].starts_with("RUN_COMPLETE:20")
            && lines[3].ends_with(":tweets_stored=4:deletions=0:velocity_alerts=0")
    );

    let quiet = lab.home.brain(["collector", "collect", "--quiet"]).expect(0);
    assert_eq!(quiet.stdout.lines().count(), 1);
    assert!(quiet.stdout.starts_with("RUN_COMPLETE:") && quiet.stderr.is_empty(), "{quiet:?}");
    let report = lab.home.json(["collector", "collect"]);
    assert_eq!(
        (&report["status"], &report["tweets_stored"]),
        (&json!("complete"), &json!(4)),
        "{report:#}"
    );
    let beat = lab.heartbeats().pop().unwrap();
    assert_eq!((&beat["event"], &beat["status"]), (&json!("collect"), &json!("ok")));
    assert_eq!(
        (&beat["details"]["user_id"], &beat["details"]["tweets_stored"]),
        (&json!(lab.ada), &json!(4))
    );
}

#[test]
fn the_daemons_standard_output_has_the_lines_of_every_run() {
    let lab = Lab::ready("");
    lab.home.brain(["stop"]).expect(0);
    let out = lab.home.outside().join("stdout");
    let mut command = lab.home.command("brain-daemon");
    let mut daemon =
        command.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + PATIENCE;
    while lab.home.connect().is_none() {
        assert!(Instant::now() < patience, "the daemon does not answer");
        std::thread::sleep(Duration::from_millis(2));
    }
    let printed = lab.home.brain(["collector", "collect"]).expect(0).stdout;
    lab.home.brain(["collector", "setup"]).expect(0);
    lab.home.brain(["stop"]).expect(0);
    daemon.wait().unwrap();
    let told = fs::read_to_string(out).unwrap();
    assert!(told.starts_with(&printed), "{told}");
    let kinds: Vec<&str> = told.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(kinds, ["RUN_START", "OWN_TWEETS", "MENTIONS", "RUN_COMPLETE"].repeat(2));
}

#[test]
fn a_run_that_fails_exits_1_with_the_reason_and_is_no_complete_run() {
    let lab = Lab::ready("");
    lab.platform.fault(endpoint::MENTIONS, Fault::CreditsDepleted, 2);
    let ran = lab.home.brain(["collector", "collect"]).expect(1);
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
    let mut command = lab.home.command("brain");
    command.args(["collector", "collect", "--json"]);
    let report = run(command, b"").expect(1).json();
    assert_eq!(
        (&report["status"], &report["reason"]),
        (&json!("failed"), &json!("payment_required"))
    );
    let beat = lab.heartbeats().pop().unwrap();
    assert_eq!(
        (&beat["status"], &beat["details"]["reason"]),
        (&json!("failed"), &json!("payment_required"))
    );
    let shown = lab.home.brain(["collector", "status"]).expect(0).stdout;
    assert!(shown.contains("last run  failed 20"), "{shown}");
    // A stream that is skipped is no failure.
    lab.platform.fault(endpoint::MENTIONS, Fault::Server(503), 1);
    let ran = lab.home.brain(["collector", "collect"]).expect(0);
    assert!(ran.stdout.contains("\nSTREAM_SKIPPED:mentions:server_error\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("mentions was skipped"), "{}", ran.stderr);
    lab.assert_no_token(&[&ran.stdout, &ran.stderr, &shown, &report.to_string()]);
}

#[test]
fn a_platform_that_nobody_reaches_is_a_run_that_failed() {
    let lab = Lab::ready("searches = [\"latency\"]");
    for at in [endpoint::TIMELINE, endpoint::MENTIONS, endpoint::SEARCH] {
        lab.platform.fault(at, Fault::Close, 4);
    }
    let ran = lab.home.brain(["collector", "collect"]).expect(1);
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
    let beat = lab.heartbeats().pop().unwrap();
    assert_eq!(
        (&beat["status"], &beat["details"]["reason"]),
        (&json!("failed"), &json!("unreachable"))
    );
    let status = lab.home.json(["collector", "status"]);
    assert_eq!(
        (&status["last_run"]["status"], &status["last_run"]["reason"]),
        (&json!("failed"), &json!("unreachable"))
    );
}

#[test]
fn setup_goes_on_without_names_where_a_platform_refuses_expansions() {
    let lab = Lab::new("");
    lab.platform.fault(endpoint::TIMELINE, Fault::BadRequest, 1);
    let report = lab.setup(APP_TOKEN, &["--handle", "ada"]).expect(0).json();
    let step =
        report["steps"].as_array().unwrap().iter().find(|step| step["name"] == "collect").unwrap();
    assert_eq!(step["status"], "warned", "{step}");
    let hint = step["hint"].as_str().unwrap();
    assert!(
        hint.contains("`expansions`") && hint.contains("collector.authors = \"ids\""),
        "{hint}"
    );
    assert_eq!(fs::read_dir(lab.own()).unwrap().count(), 2);
}

#[test]
fn the_status_knows_of_a_token_as_soon_as_setup_has_kept_it() {
    let lab = Lab::new("stream = true");
    let _daemon = lab.home.daemon();
    let stream = || lab.home.json(["collector", "status"])["stream"].clone();
    let patience = Instant::now() + Duration::from_secs(30);
    while stream()["state"] != "off" {
        assert!(Instant::now() < patience, "{}", stream());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(stream()["message"].as_str().unwrap().contains("no bearer token"), "{}", stream());
    lab.setup(APP_TOKEN, &["--handle", "ada"]).expect(0);
    assert!(!stream()["message"].as_str().unwrap().contains("no bearer token"), "{}", stream());
}

#[test]
fn what_is_not_set_up_says_so() {
    let lab = Lab::new("");
    let fault = lab.home.fault(["collector", "collect"], 1);
    assert_eq!(fault["code"], "not_set_up");
    assert!(
        fault["hint"].as_str().unwrap().contains("brain collector setup --token-file FILE"),
        "{fault}"
    );
    let shown = lab.home.brain(["collector"]).expect(0).stdout;
    assert!(shown.starts_with("off       there is no bearer token"), "{shown}");
    assert!(shown.contains("last run  none yet\n"), "{shown}");
    let status = lab.home.json(["collector", "status"]);
    assert_eq!((&status["enabled"], &status["next_run"]), (&json!(false), &Value::Null));
    assert_eq!(lab.platform.requests(), 0, "nobody was asked");
    fs::create_dir_all(lab.token_file().parent().unwrap()).unwrap();
    fs::write(lab.token_file(), APP_TOKEN).unwrap();
    // Others could read it.
    fs::set_permissions(lab.token_file(), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    assert_eq!(lab.home.fault(["collector", "collect"], 3)["code"], "forbidden");
    fs::set_permissions(lab.token_file(), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    let fault = lab.home.fault(["collector", "collect"], 1);
    assert!(fault["hint"].as_str().unwrap().contains("--handle NAME"), "{fault}");
}

#[test]
fn status_says_what_is_on_and_fits_60_columns() {
    let lab = Lab::ready("searches = [\"latency\"]");
    let status = lab.home.json(["collector", "status"]);
    assert_eq!(
        (&status["enabled"], &status["off_because"]),
        (&json!(true), &Value::Null),
        "{status:#}"
    );
    assert_eq!((&status["handle"], &status["user_id"]), (&json!("ada"), &json!(lab.ada)));
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
        on_a_terminal(&lab.home, 60, &[("NO_COLOR", "1")], &["collector", "status"])
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
    assert_eq!(lab.home.brain(["collector", "status", "-q"]).expect(0).stdout, "on\n");
}

#[test]
fn what_was_deleted_is_listed_once_and_cleaned() {
    let lab = Lab::ready("");
    let hostile = lab.platform.post(&lab.ada, "gone \u{1b}[2J\u{202e}soon\nand more");
    lab.home.brain(["collector", "collect"]).expect(0);
    lab.platform.delete(&hostile);
    let ran = lab.home.brain(["collector", "collect"]).expect(0);
    let line =
        ran.stdout.lines().find(|line| line.starts_with("DELETION_DETECTED:")).unwrap().to_owned();
    assert!(line.starts_with(&format!("DELETION_DETECTED:{hostile}:ada:gone ")), "{line}");
    lab.home.brain(["collector", "collect"]).expect(0);

    let deletions = lab.home.json(["collector", "deletions"]);
    assert_eq!(deletions["deletions"].as_array().unwrap().len(), 1, "{deletions:#}");
    let one = &deletions["deletions"][0];
    assert_eq!((&one["id"], &one["author"]), (&json!(hostile), &json!("ada")));
    let alerts = lab.home.json(["collector", "alerts", "--since", "2020-01-01"]);
    assert_eq!(
        (&alerts["alerts"][0]["kind"], &alerts["alerts"][0]["message"]),
        (&json!("deletion"), &json!(line))
    );
    assert_eq!(lab.home.brain(["collector", "alerts", "-q"]).expect(0).stdout, format!("{line}\n"));
    for action in ["deletions", "alerts"] {
        let shown = lab.home.brain(["collector", action]).expect(0);
        assert!(
            shown.stdout.contains(&hostile) && !shown.stdout.contains(['\u{1b}', '\u{202e}']),
            "{}",
            shown.stdout
        );
        let later = lab.home.brain(["collector", action, "--since", "2100-01-01"]).expect(0);
        assert!(
            later.stdout.is_empty() && later.stderr.contains(&format!("no {action}")),
            "{later:?}"
        );
        assert_eq!(
            lab.home.fault(["collector", action, "--since", "yesterday"], 2)["code"],
            "usage"
        );
        lab.home.fault(["collector", action, "--limit", "0"], 2);
        lab.home.fault(["collector", action, "--after", "x"], 2);
    }
}

#[test]
fn a_curve_is_drawn_as_wide_as_the_terminal() {
    let lab = Lab::ready("");
    let post = lab.platform.post(&lab.ada, "It grows");
    for likes in [0, 10, 40, 90, 160] {
        lab.platform.likes(&post, likes);
        lab.home.brain(["collector", "collect"]).expect(0);
    }
    let curve = lab.home.json(["collector", "plot", &post]);
    let likes: Vec<u64> = curve["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["metrics"]["like_count"].as_u64().unwrap())
        .collect();
    assert_eq!(likes, [0, 10, 40, 90, 160], "{curve:#}");
    let text = lab.home.brain(["collector", "plot", &post]).expect(0).stdout;
    assert!(text.starts_with(&format!("{post} ada\nIt grows\nlikes 0 -> 160\n160 ┤")), "{text}");
    assert!(text.contains("reposts 0 -> 0\n") && text.contains("replies 0 -> 0\n"), "{text}");
    if let Some((_, text)) =
        on_a_terminal(&lab.home, 60, &[("NO_COLOR", "1")], &["collector", "plot", &post])
    {
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }
    // Both gains are told by the status, fastest first.
    let shown = lab.home.brain(["collector", "status"]).expect(0).stdout;
    assert!(
        shown.contains("0 -> 160  ada It grows")
            && shown.contains(&format!("brain collector plot {post}")),
        "{shown}"
    );

    assert_eq!(lab.home.fault(["collector", "plot", "17"], 4)["code"], "unknown_post");
    assert_eq!(lab.home.fault(["collector", "plot", "../state"], 2)["code"], "usage");
    lab.home.fault(["collector", "plot"], 2);
    lab.home.fault(["collector", "status", "17"], 2);
}

#[test]
fn two_runs_never_overlap_and_one_goes_on_when_its_client_is_gone() {
    let lab = Lab::ready("");
    let _daemon = lab.home.daemon();
    lab.platform.post(&lab.ada, "A third one");
    lab.platform.fault(endpoint::MENTIONS, Fault::Slow(3000), 1);
    let mut command = lab.home.command("brain");
    command
        .args(["collector", "collect"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut first = command.spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap());
    let mut line = String::new();
    // Lines come while the run is under way.
    while !line.starts_with("OWN_TWEETS:") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the run is over already");
    }
    let fault = lab.home.fault(["collector", "collect"], 1);
    assert_eq!(fault["code"], "busy");
    assert!(
        fault["message"].as_str().unwrap().contains("a run that was asked for is at work since 20"),
        "{fault}"
    );
    assert_eq!(lab.home.fault(["collector", "setup"], 1)["code"], "busy");
    let status = lab.home.json(["collector", "status"]);
    assert_eq!(status["enabled"], true, "looking is allowed meanwhile");
    let before = status["last_run"]["finished_at"].as_str().unwrap().to_owned();

    first.kill().unwrap();
    first.wait().unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("RUN_COMPLETE"), "{rest}");
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        let status = lab.home.json(["collector", "status"]);
        if status["last_run"]["finished_at"] != before.as_str() {
            assert_eq!(
                (&status["last_run"]["status"], &status["stored"]["own"]),
                (&json!("complete"), &json!(3))
            );
            break;
        }
        assert!(Instant::now() < patience, "the run did not go on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let lab = Lab::ready("");
    lab.platform.fault(endpoint::TIMELINE, Fault::Slow(500), 1);
    let mut command = lab.home.command("brain");
    command
        .args(["collector", "collect"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_help_has_all_actions() {
    let home = TestHome::new();
    let help = home.brain(["collector", "--help"]).expect(0).stdout;
    for action in ["setup", "collect", "status", "deletions", "alerts", "digest", "enrich", "plot"]
    {
        assert!(help.contains(&format!("- {action}:")), "{action}: {help}");
    }
    assert!(home.brain(["--help"]).expect(0).stdout.contains("\nCollecting:\n  collector "));
}

#[test]
fn doctor_knows_how_the_collector_is() {
    let lab = Lab::new("");
    let check = || {
        let doctor = lab.home.brain(["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "collector").unwrap().clone()
    };
    let says = |status: &str, words: &str| {
        let check = check();
        assert_eq!(check["status"], status, "{check}");
        assert!(check["message"].as_str().unwrap().contains(words), "{check}");
    };
    says("ok", "off: there is no token");
    lab.setup(APP_TOKEN, &["--handle", "ada"]).expect(0);
    says("ok", "on; the last run was at ");
    lab.platform.fault(endpoint::MENTIONS, Fault::Unauthorized, 1);
    assert_eq!(lab.home.brain(["collector", "collect"]).code, 1);
    says("warn", "failed (unauthorized)");
    // With and without authors' names.
    lab.platform.fault(endpoint::MENTIONS, Fault::Forbidden, 2);
    lab.home.brain(["collector", "collect"]).expect(0);
    says("warn", " skipped mentions: ");
    lab.home.brain(["collector", "collect"]).expect(0);
    says("ok", "on; the last run was at ");
    fs::set_permissions(lab.token_file(), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    says("fail", "others can read the secret");
}
