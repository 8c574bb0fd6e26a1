//! The tunnel with a real daemon: a program that it starts as its agent, an agent's API at a
//! loopback port, what comes in at the public listener, and the real ngrok where it is installed.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Instant;

use brain_tests::http::{call, get, ingest};
use brain_tests::tunnel::{Served, ngrok_tunnel};
use brain_tests::{PATIENCE, TestHome, target_dir};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A port that nobody has at the moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A home with ngrok's kind of tunnel: an API that the test answers, and `script` in the agent's
/// place.
fn home(script: &str) -> (TestHome, Served, u16) {
    let (mut home, api, port) = (TestHome::new(), Served::start(), free_port());
    let agent = home.outside().join("agent");
    let pids = home.outside().join("pids");
    let version = "if [ \"$1\" = version ]; then echo 'ngrok version 3.22.1'; exit 0; fi\n";
    fs::write(&agent, format!("#!/bin/sh\n{version}echo $$ >>'{}'\n{script}\n", pids.display()))
        .unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = [
        ("BRAIN_HTTP_PUBLIC", format!("127.0.0.1:{port}")),
        ("BRAIN_TUNNEL_PROVIDER", "ngrok".into()),
        ("BRAIN_TUNNEL_FORWARD", port.to_string()),
        ("BRAIN_TUNNEL_API", api.url()),
        ("BRAIN_TUNNEL_BINARY", agent.display().to_string()),
        ("BRAIN_TUNNEL_AUTHTOKEN", "t0ken-of-tunnel".into()),
    ];
    home.env.extend(settings.map(|(name, value)| (name.to_owned(), value)));
    (home, api, port)
}

/// The process ids of the agents that were started.
fn agents(home: &TestHome) -> Vec<i32> {
    let text = fs::read_to_string(home.outside().join("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn an_agent_ends_with_its_daemon_even_when_that_is_killed() {
    let (home, _api, _) = home("exec sleep 600");
    let daemon = home.daemon();
    until("it is started", || !agents(&home).is_empty());
    let agent = agents(&home)[0];
    assert!(runs(agent));
    // For a moment, while a program becomes another, it has none.
    let read = |name: &str| fs::read(format!("/proc/{agent}/{name}")).unwrap();
    until("it has an environment", || !read("environ").is_empty() && !read("cmdline").is_empty());
    let environment = String::from_utf8_lossy(&read("environ")).into_owned();
    assert!(
        environment.contains("NGROK_AUTHTOKEN=t0ken-of-tunnel") && !environment.contains("BRAIN_"),
        "{environment}"
    );
    let arguments = String::from_utf8_lossy(&read("cmdline")).into_owned();
    assert!(!arguments.contains("t0ken"), "{arguments}");
    daemon.kill();
    until("it ends with the daemon", || !runs(agent));
    // The next daemon has one of its own, and takes it along when it ends by itself.
    let daemon = home.daemon();
    until("another is started", || agents(&home).len() == 2);
    let second = agents(&home)[1];
    assert!(daemon.terminate().0.success());
    until("it ends with the daemon", || !runs(second));
    assert!(!home.log().contains("t0ken-of-tunnel"), "{}", home.log());
}

/// Many agents are installed with a script around them, which is not the agent.
#[test]
fn what_an_agent_has_started_ends_with_the_daemon_too() {
    let (home, _api, _) = home("sleep 600 & echo $! >>\"${0%/*}/pids\"; wait");
    let daemon = home.daemon();
    until("it is started", || agents(&home).len() == 2);
    let first = agents(&home);
    assert!(first.iter().all(|pid| runs(*pid)));
    daemon.kill();
    until("both end with the daemon", || !first.iter().any(|pid| runs(*pid)));
    let daemon = home.daemon();
    until("another is started", || agents(&home).len() == 4);
    let stopped = home.json(["tunnel", "stop"]);
    assert_eq!(stopped["state"], "stopped");
    until("both end with it", || !agents(&home).iter().any(|pid| runs(*pid)));
    drop(daemon);
}

#[test]
fn an_agent_that_is_started_for_the_first_question_ends_with_the_daemon_too() {
    let (home, _api, _) = home("exec sleep 600");
    // Nobody runs yet: the daemon is started for this, and asked as soon as it answers.
    home.brain(["tunnel", "status"]).expect(0);
    let pid = i32::try_from(home.json(["status"])["pid"].as_u64().unwrap()).unwrap();
    until("it is started", || !agents(&home).is_empty());
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    until("it ends with the daemon", || !agents(&home).iter().any(|agent| runs(*agent)));
}

#[test]
fn stopping_does_not_wait_until_setting_up_has_given_up() {
    let (home, _api, _) = home("exec sleep 600");
    let _daemon = home.daemon();
    home.json(["tunnel", "stop"]);
    let before = agents(&home).len();
    let steps = std::thread::scope(|scope| {
        let setup = scope.spawn(|| {
            let ran = home.brain(["--json", "tunnel", "setup"]).expect(1);
            ran.json()["steps"].clone()
        });
        until("it waits for the agent", || agents(&home).len() > before);
        assert_eq!(home.json(["tunnel", "stop"])["state"], "stopped");
        setup.join().unwrap()
    });
    let steps = steps.as_array().unwrap();
    assert!(steps.iter().all(|step| step["took_ms"].as_u64().unwrap() < 30_000), "{steps:?}");
    assert_eq!(steps.last().unwrap()["status"], "failed", "{steps:?}");
}

#[test]
fn an_agent_of_somebody_else_is_adopted_and_outlives_the_daemon() {
    let (home, api, port) = home("exec sleep 600");
    api.answers.put("/api/tunnels", 200, &ngrok_tunnel("https://127.0.0.1:9", port));
    let mut foreign = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let daemon = home.daemon();
    let status = home.json(["tunnel"]);
    // Its address leads nowhere, and that is what was seen.
    assert_eq!(
        (status["state"].as_str(), status["adopted"].as_bool()),
        (Some("unreachable"), Some(true)),
        "{status}"
    );
    assert_eq!(home.json(["tunnel", "url"])["url"], "https://127.0.0.1:9");
    assert_eq!(home.json(["tunnel", "stop"])["adopted"], true);
    assert!(home.log().contains("[watchdog] unreachable: "), "{}", home.log());
    drop(daemon);
    assert!(foreign.try_wait().unwrap().is_none());
    assert!(agents(&home).is_empty(), "none was started beside it");
    foreign.kill().unwrap();
    foreign.wait().unwrap();
}

#[test]
fn the_end_of_an_agent_is_told_within_two_seconds_with_its_own_words() {
    let (home, _api, _) = home("sleep 1; echo 'lvl=eror msg=\"no route to the edge\"'; exit 3");
    let _daemon = home.daemon();
    until("it is started", || !agents(&home).is_empty());
    let agent = agents(&home)[0];
    until("it has ended", || !runs(agent));
    let ended = Instant::now();
    let told = "agent_down: ngrok does not run: it ended with exit status 3; its last words: \
                lvl=eror msg=\"no route to the edge\"";
    until("it is told", || home.log().contains(told));
    assert!(ended.elapsed().as_millis() < 2000, "after {:?}", ended.elapsed());
}

#[test]
fn what_keeps_an_agent_from_connecting_is_shown_in_its_own_words() {
    let (home, api, _) = home(
        "echo 'lvl=info msg=\"starting\"'; echo 'lvl=eror msg=\"dial tcp: i/o timeout\"'; exec sleep 600",
    );
    let _daemon = home.daemon();
    until("it is started", || !agents(&home).is_empty());
    api.answers.put("/api/tunnels", 200, &json!({"tunnels": []}));
    until("it is told", || {
        let status = home.json(["tunnel", "status"]);
        let message = status["message"].as_str().unwrap().to_owned();
        status["state"] == "not_connected"
            && message.ends_with("; it says: lvl=eror msg=\"dial tcp: i/o timeout\"")
    });
}

#[test]
fn a_refusal_is_told_with_its_code_and_ends_the_tries() {
    let (home, _api, _) = home(
        "echo 'ERROR:  authentication failed: Your authtoken: t0ken-of-tunnel ERR_NGROK_107'; exit 1",
    );
    let _daemon = home.daemon();
    until("it is refused", || {
        home.json(["tunnel", "status"])["state"] == "refused" || {
            home.brain(["tunnel", "start"]).code == 1 && home.json(["tunnel"])["state"] == "refused"
        }
    });
    let tries = agents(&home).len();
    let ran = home.brain(["tunnel", "status"]).expect(0);
    assert!(ran.stdout.contains("refused") && ran.stdout.contains("ERR_NGROK_107"), "{ran:?}");
    let setup = home.brain(["--json", "tunnel", "setup"]).expect(1);
    assert!(setup.stdout.contains("ERR_NGROK_107"), "{setup:?}");
    assert_eq!(agents(&home).len(), tries + 1, "setting up tries once");
    let none = home.fault(["tunnel", "url"], 4);
    assert_eq!(none["code"], "not_found");
    for text in [home.log(), ran.stdout, setup.stdout] {
        assert!(!text.contains("t0ken-of-tunnel"), "{text}");
    }
}

#[test]
fn an_agent_that_is_killed_is_started_again() {
    let (home, api, _) = home("exec sleep 600");
    api.answers.put("/api/tunnels", 200, &json!({"tunnels": []}));
    let _daemon = home.daemon();
    // It runs before brain does, and is not connected: somebody else's.
    assert_eq!(home.json(["tunnel"])["state"], "not_connected");
    api.answers.gone("/api/tunnels");
    home.brain(["tunnel", "start"]).expect(1);
    let first = *agents(&home).last().unwrap();
    kill_process(Pid::from_raw(first).unwrap(), Signal::KILL).unwrap();
    until("it is started again", || agents(&home).last().is_some_and(|pid| *pid != first));
    assert!(home.log().contains("[watchdog] agent_down: "), "{}", home.log());
}

#[test]
fn a_name_that_an_agent_only_claims_is_none_of_ours() {
    let (home, api, port) = home("exec sleep 600");
    let _daemon = home.daemon();
    let (public, local) = (home.http_public(), home.http_local());
    let ask = |at: SocketAddr, host: &str| {
        call(at, "GET", "/health", &[("Host", host), ("X-Brain-Probe", "guess")], b"").status
    };
    // One that is nowhere, and one that is on this machine, where no tunnel leads.
    for name in ["a1.tunnel.invalid", "localhost.localdomain"] {
        api.answers.put("/api/tunnels", 200, &ngrok_tunnel(&format!("https://{name}"), port));
        assert_eq!(home.json(["tunnel", "start"])["state"], "unreachable");
        assert_eq!((ask(public, name), ask(local, name)), (403, 403), "{name}");
    }
    assert!(!home.log().contains("the public address is"), "{}", home.log());
}

#[test]
fn the_tunnels_fixed_name_is_one_of_ours_at_the_public_listener_only() {
    let (mut home, _api, _) = home("exec sleep 600");
    home.env.push(("BRAIN_TUNNEL_DOMAIN".into(), "a1.ngrok.app".into()));
    let _daemon = home.daemon();
    let ask = |at: SocketAddr| call(at, "GET", "/health", &[("Host", "a1.ngrok.app")], b"").status;
    assert_eq!((ask(home.http_public()), ask(home.http_local())), (200, 403));
}

#[test]
fn what_came_through_is_listed_without_secrets_and_an_item_is_replayed() {
    let (home, _api, _) = home("exec sleep 600");
    let _daemon = home.daemon();
    let (public, token) = (home.http_public(), home.token("phone", "read write", &[]));
    // As agents hand on what they were asked.
    let by_tunnel = ("X-Forwarded-For", "192.0.2.1");
    let bearer = format!("Bearer {token}");
    let thought = [by_tunnel, ("Authorization", &*bearer), ("Content-Type", "text/plain")];
    let job = call(public, "POST", "/ingest", &thought, b"a thought from the tunnel")
        .expect(202)
        .json()["job_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let _ = call(public, "GET", "/nowhere/with-a-secret?token=hunter2", &[by_tunnel], b"");
    let wrong = [by_tunnel, ("Authorization", "Bearer wrong")];
    let _ = call(public, "POST", "/ingest", &wrong, b"x");
    let _ = call(public, "SECRET-METHOD", "/health", &[by_tunnel], b"");
    // What this machine asks, and the watchdog's look through the tunnel, are not what came through
    // it.
    let _ = get(home.http_local(), "/health");
    let _ = get(public, "/health");
    let _ = ingest(public, &token, "a thought from this machine").expect(202);
    let _ = call(public, "GET", "/health", &[by_tunnel, ("X-Brain-Probe", "watchdog")], b"");
    let listed = home.json(["tunnel", "requests"]);
    let requests = listed["requests"].as_array().unwrap();
    let seen: Vec<_> = requests
        .iter()
        .map(|r| {
            (
                r["method"].as_str().unwrap(),
                r["path"].as_str().unwrap(),
                r["status"].as_u64().unwrap(),
                r["client"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("(other)", "/health", 405, "-"),
            ("POST", "/ingest", 401, "-"),
            ("GET", "(none)", 404, "-"),
            ("POST", "/ingest", 202, "token:phone")
        ],
        "newest first"
    );
    assert_eq!(requests.last().unwrap()["job_id"], job);
    let text = listed.to_string().to_lowercase();
    assert!(!text.contains("secret") && !text.contains("hunter2"), "{text}");
    assert_eq!(
        home.json(["tunnel", "requests", "--failed"])["requests"].as_array().unwrap().len(),
        3
    );
    let one = home.json(["tunnel", "requests", "--limit", "1"]);
    assert_eq!(
        (one["requests"].as_array().unwrap().len(), one["truncated"].as_bool()),
        (1, Some(true))
    );

    // A page by now: the same again is the same. Without its page it is taken in anew.
    until("it is a page", || home.json(["jobs", "show", &job])["status"] == "stored");
    let slug = home.json(["jobs", "show", &job])["slug"].as_str().unwrap().to_owned();
    let again = home.json(["tunnel", "replay", &job]);
    assert_eq!(
        (again["status"].as_str(), again["new_job_id"].as_str()),
        (Some("duplicate"), Some(job.as_str()))
    );
    home.json(["delete", &slug]);
    let again = home.json(["tunnel", "replay", &job]);
    assert_eq!(again["status"], "queued", "{again}");
    let anew = again["new_job_id"].as_str().unwrap().to_owned();
    assert_ne!(anew, job);
    until("it is a page again", || home.json(["jobs", "show", &anew])["status"] == "stored");
    let shown = home.json(["jobs", "show", &anew]);
    assert_eq!(shown["client"], "token:phone");
    let page = home.get(shown["slug"].as_str().unwrap());
    assert!(page["content"].as_str().unwrap().contains("a thought from the tunnel"), "{page}");
    // One that was changed since is not what was sent.
    home.put(shown["slug"].as_str().unwrap(), "something else entirely");
    assert_eq!(home.fault(["tunnel", "replay", &anew], 1)["code"], "conflict");
    assert_eq!(home.fault(["tunnel", "replay", "job_999999"], 4)["code"], "unknown_job");
}

/// Where `.ci/clients` puts it; whoever has another one names it.
fn real_ngrok() -> Option<PathBuf> {
    let named = std::env::var_os("BRAIN_TEST_NGROK").map(PathBuf::from);
    let beside =
        target_dir().parent()?.join("clients/node_modules/@expo/ngrok-bin-linux-x64/ngrok");
    named.into_iter().chain([beside]).find(|path| path.is_file())
}

#[test]
fn the_real_ngrok_is_reachable_and_not_connected() {
    let Some(ngrok) = real_ngrok() else {
        return brain_tests::skip(
            "ngrok is not installed: .ci/clients fetches it, or BRAIN_TEST_NGROK names it",
        );
    };
    let mut home = TestHome::new();
    let (port, web) = (free_port(), free_port());
    // Its server is at a port of this machine where nobody is. It looks for its own configuration
    // where the user's home is by the system's word, so it is told; and it asks for updates
    // whatever it is told, so that goes nowhere.
    let own = home.outside().join("ngrok.yml");
    let settings = format!(
        "authtoken: abc\nserver_addr: 127.0.0.1:{}\nweb_addr: 127.0.0.1:{web}\nupdate: false\n",
        free_port()
    );
    fs::write(&own, settings).unwrap();
    let agent = home.outside().join("ngrok");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = version ] && exec '{ngrok}' version\nshift\nexec env https_proxy=http://127.0.0.1:9 '{ngrok}' http -config='{own}' \"$@\"\n",
        ngrok = ngrok.display(),
        own = own.display()
    );
    fs::write(&agent, script).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    home.env.extend(
        [
            ("BRAIN_HTTP_PUBLIC", format!("127.0.0.1:{port}")),
            ("BRAIN_TUNNEL_PROVIDER", "ngrok".into()),
            ("BRAIN_TUNNEL_FORWARD", port.to_string()),
            ("BRAIN_TUNNEL_API", format!("http://127.0.0.1:{web}")),
            ("BRAIN_TUNNEL_BINARY", agent.display().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    let daemon = home.daemon();
    home.brain(["tunnel", "start"]).expect(1);
    let status = home.json(["tunnel", "status"]);
    assert_eq!(
        (status["state"].as_str(), status["adopted"].as_bool()),
        (Some("not_connected"), Some(false)),
        "{status}"
    );
    assert!(status["message"].as_str().unwrap().contains(&format!("127.0.0.1:{web}")), "{status}");
    assert!(daemon.terminate().0.success());
    assert!(std::net::TcpStream::connect(("127.0.0.1", web)).is_err(), "it ended with the daemon");
}
