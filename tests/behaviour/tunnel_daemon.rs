//! The tunnel with a real daemon: an agent that it starts, an agent's API at a loopback port,
//! requests to the public listener, and the real ngrok where it is installed.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use brain_tests::http::{call, get, ingest};
use brain_tests::tunnel::{FakeAgent, ngrok_tunnel};
use brain_tests::{TEST_TIMEOUT, TestHome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

fn wait_until(condition: &str, mut is_met: impl FnMut() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !is_met() {
        assert!(Instant::now() < deadline, "never: {condition}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Returns a port that is free at the moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns a home with a tunnel of ngrok, the fake of the agent's API, and the port of the public
/// listener. `script` replaces the agent's program.
fn home(script: &str) -> (TestHome, FakeAgent, u16) {
    let (mut home, api, port) = (TestHome::new(), FakeAgent::start(), free_port());
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

/// Returns the process ids that the started agents wrote to the file `pids`.
fn agent_pids(home: &TestHome) -> Vec<i32> {
    let text = fs::read_to_string(home.outside().join("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn is_running(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn an_agent_ends_with_its_daemon_even_after_sigkill() {
    let (home, _api, _) = home("exec sleep 600");
    let daemon = home.daemon();
    wait_until("the agent is started", || !agent_pids(&home).is_empty());
    let agent = agent_pids(&home)[0];
    assert!(is_running(agent));
    // During `exec`, a process has no command line for a moment.
    let read = |name: &str| fs::read(format!("/proc/{agent}/{name}")).unwrap();
    wait_until("the agent has an environment", || {
        !read("environ").is_empty() && !read("cmdline").is_empty()
    });
    let environment = String::from_utf8_lossy(&read("environ")).into_owned();
    assert!(
        environment.contains("NGROK_AUTHTOKEN=t0ken-of-tunnel") && !environment.contains("BRAIN_"),
        "{environment}"
    );
    let arguments = String::from_utf8_lossy(&read("cmdline")).into_owned();
    assert!(!arguments.contains("t0ken"), "{arguments}");
    daemon.kill();
    wait_until("the agent ends with the daemon", || !is_running(agent));
    // The next daemon starts another agent and stops it when the daemon ends.
    let daemon = home.daemon();
    wait_until("another agent is started", || agent_pids(&home).len() == 2);
    let second = agent_pids(&home)[1];
    assert!(daemon.terminate().0.success());
    wait_until("the agent ends with the daemon", || !is_running(second));
    assert!(!home.log().contains("t0ken-of-tunnel"), "{}", home.log());
}

/// Many agents are started by a wrapper script.
#[test]
fn children_of_an_agent_end_with_the_daemon() {
    let (home, _api, _) = home("sleep 600 & echo $! >>\"${0%/*}/pids\"; wait");
    let daemon = home.daemon();
    wait_until("the agent is started", || agent_pids(&home).len() == 2);
    let first = agent_pids(&home);
    assert!(first.iter().all(|pid| is_running(*pid)));
    daemon.kill();
    wait_until("both processes end with the daemon", || !first.iter().any(|pid| is_running(*pid)));
    let daemon = home.daemon();
    wait_until("another agent is started", || agent_pids(&home).len() == 4);
    let stopped = home.json(["tunnel", "stop"]);
    assert_eq!(stopped["state"], "stopped");
    wait_until("both processes end with the tunnel", || {
        !agent_pids(&home).iter().any(|pid| is_running(*pid))
    });
    drop(daemon);
}

#[test]
fn an_agent_started_by_the_first_request_ends_with_the_daemon() {
    let (home, _api, _) = home("exec sleep 600");
    // No daemon runs yet: this command starts it and sends its request as soon as it answers.
    home.brain(["tunnel", "status"]).expect(0);
    let pid = i32::try_from(home.json(["status"])["pid"].as_u64().unwrap()).unwrap();
    wait_until("the agent is started", || !agent_pids(&home).is_empty());
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    wait_until("the agent ends with the daemon", || {
        !agent_pids(&home).iter().any(|agent| is_running(*agent))
    });
}

#[test]
fn a_stop_does_not_wait_for_a_running_setup() {
    let (home, _api, _) = home("exec sleep 600");
    let _daemon = home.daemon();
    home.json(["tunnel", "stop"]);
    let before = agent_pids(&home).len();
    let steps = std::thread::scope(|scope| {
        let setup = scope.spawn(|| {
            let output = home.brain(["--json", "tunnel", "setup"]).expect(1);
            output.json()["steps"].clone()
        });
        wait_until("the setup waits for the agent", || agent_pids(&home).len() > before);
        assert_eq!(home.json(["tunnel", "stop"])["state"], "stopped");
        setup.join().unwrap()
    });
    let steps = steps.as_array().unwrap();
    assert!(steps.iter().all(|step| step["took_ms"].as_u64().unwrap() < 30_000), "{steps:?}");
    assert_eq!(steps.last().unwrap()["status"], "failed", "{steps:?}");
}

#[test]
fn a_foreign_agent_is_adopted_and_outlives_the_daemon() {
    let (home, api, port) = home("exec sleep 600");
    api.answers.put("/api/tunnels", 200, &ngrok_tunnel("https://127.0.0.1:9", port));
    let mut foreign = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let daemon = home.daemon();
    let status = home.json(["tunnel"]);
    // The agent's address leads nowhere, and the status says so.
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
    assert!(agent_pids(&home).is_empty(), "no second agent was started");
    foreign.kill().unwrap();
    foreign.wait().unwrap();
}

#[test]
fn the_end_of_an_agent_is_reported_within_two_seconds() {
    let (home, _api, _) = home("sleep 1; echo 'lvl=eror msg=\"no route to the edge\"'; exit 3");
    let _daemon = home.daemon();
    wait_until("the agent is started", || !agent_pids(&home).is_empty());
    let agent = agent_pids(&home)[0];
    wait_until("the agent has exited", || !is_running(agent));
    let ended = Instant::now();
    let expected_line = "agent_down: ngrok does not run: it ended with exit status 3; its last \
                output: lvl=eror msg=\"no route to the edge\"";
    wait_until("the error is reported", || home.log().contains(expected_line));
    assert!(ended.elapsed().as_millis() < 2000, "the end was reported after {:?}", ended.elapsed());
}

#[test]
fn the_agents_own_connection_error_is_shown() {
    let (home, api, _) = home(
        "echo 'lvl=info msg=\"starting\"'; echo 'lvl=eror msg=\"dial tcp: i/o timeout\"'; exec \
            sleep 600",
    );
    let _daemon = home.daemon();
    wait_until("the agent is started", || !agent_pids(&home).is_empty());
    api.answers.put("/api/tunnels", 200, &json!({"tunnels": []}));
    wait_until("the error is reported", || {
        let status = home.json(["tunnel", "status"]);
        let message = status["message"].as_str().unwrap().to_owned();
        status["state"] == "not_connected"
            && message.ends_with("; last error: lvl=eror msg=\"dial tcp: i/o timeout\"")
    });
}

#[test]
fn a_refusal_is_reported_with_its_code_and_ends_the_retries() {
    let (home, _api, _) = home(
        "echo 'ERROR:  authentication failed: Your authtoken: t0ken-of-tunnel ERR_NGROK_107'; exit \
            1",
    );
    let _daemon = home.daemon();
    wait_until("the agent is refused", || {
        home.json(["tunnel", "status"])["state"] == "refused" || {
            home.brain(["tunnel", "start"]).code == 1 && home.json(["tunnel"])["state"] == "refused"
        }
    });
    let starts = agent_pids(&home).len();
    let output = home.brain(["tunnel", "status"]).expect(0);
    assert!(
        output.stdout.contains("refused") && output.stdout.contains("ERR_NGROK_107"),
        "{output:?}"
    );
    let setup = home.brain(["--json", "tunnel", "setup"]).expect(1);
    assert!(setup.stdout.contains("ERR_NGROK_107"), "{setup:?}");
    assert_eq!(agent_pids(&home).len(), starts + 1, "setup starts one agent");
    let fault = home.fault(["tunnel", "url"], 4);
    assert_eq!(fault["code"], "not_found");
    for text in [home.log(), output.stdout, setup.stdout] {
        assert!(!text.contains("t0ken-of-tunnel"), "{text}");
    }
}

#[test]
fn a_killed_agent_is_started_again() {
    let (home, api, _) = home("exec sleep 600");
    api.answers.put("/api/tunnels", 200, &json!({"tunnels": []}));
    let _daemon = home.daemon();
    // This agent was started before brain and is not connected, so it is a foreign one.
    assert_eq!(home.json(["tunnel"])["state"], "not_connected");
    api.answers.remove("/api/tunnels");
    home.brain(["tunnel", "start"]).expect(1);
    let first = *agent_pids(&home).last().unwrap();
    kill_process(Pid::from_raw(first).unwrap(), Signal::KILL).unwrap();
    wait_until("the agent is started again", || {
        agent_pids(&home).last().is_some_and(|pid| *pid != first)
    });
    assert!(home.log().contains("[watchdog] agent_down: "), "{}", home.log());
}

#[test]
fn a_host_name_that_an_agent_only_claims_is_refused() {
    let (home, api, port) = home("exec sleep 600");
    let _daemon = home.daemon();
    let (public, local) = (home.http_public(), home.http_local());
    let health_status = |address: SocketAddr, host: &str| {
        call(address, "GET", "/health", &[("Host", host), ("X-Brain-Probe", "guess")], b"").status
    };
    // A name that does not resolve, and a name of this machine to which no tunnel leads.
    for name in ["a1.tunnel.invalid", "localhost.localdomain"] {
        api.answers.put("/api/tunnels", 200, &ngrok_tunnel(&format!("https://{name}"), port));
        assert_eq!(home.json(["tunnel", "start"])["state"], "unreachable");
        assert_eq!((health_status(public, name), health_status(local, name)), (403, 403), "{name}");
    }
    assert!(!home.log().contains("the public address is"), "{}", home.log());
}

#[test]
fn the_fixed_host_name_is_valid_at_the_public_listener_only() {
    let (mut home, _api, _) = home("exec sleep 600");
    home.env.push(("BRAIN_TUNNEL_DOMAIN".into(), "a1.ngrok.app".into()));
    let _daemon = home.daemon();
    let health_status = |address: SocketAddr| {
        call(address, "GET", "/health", &[("Host", "a1.ngrok.app")], b"").status
    };
    assert_eq!((health_status(home.http_public()), health_status(home.http_local())), (200, 403));
}

#[test]
fn requests_are_listed_without_secrets_and_can_be_replayed() {
    let (home, _api, _) = home("exec sleep 600");
    let _daemon = home.daemon();
    let (public, token) = (home.http_public(), home.token("phone", "read write", &[]));
    // Agents forward requests with these headers.
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
    // Requests from this machine and the watchdog's checks do not count as requests through the
    // tunnel.
    let _ = get(home.http_local(), "/health");
    let _ = get(public, "/health");
    let _ = ingest(public, &token, "a thought from this machine").expect(202);
    let _ = call(public, "GET", "/health", &[by_tunnel, ("X-Brain-Probe", "watchdog")], b"");
    let listed = home.json(["tunnel", "requests"]);
    let requests = listed["requests"].as_array().unwrap();
    let rows: Vec<_> = requests
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
        rows,
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

    // While the item's page exists, a replay changes nothing. After the page is deleted, a replay
    // ingests the item again.
    wait_until("the item is a page", || home.json(["jobs", "show", &job])["status"] == "stored");
    let slug = home.json(["jobs", "show", &job])["slug"].as_str().unwrap().to_owned();
    let replayed = home.json(["tunnel", "replay", &job]);
    assert_eq!(
        (replayed["status"].as_str(), replayed["new_job_id"].as_str()),
        (Some("duplicate"), Some(job.as_str()))
    );
    home.json(["delete", &slug]);
    let replayed = home.json(["tunnel", "replay", &job]);
    assert_eq!(replayed["status"], "queued", "{replayed}");
    let new_job = replayed["new_job_id"].as_str().unwrap().to_owned();
    assert_ne!(new_job, job);
    wait_until("the replayed item is a page", || {
        home.json(["jobs", "show", &new_job])["status"] == "stored"
    });
    let replayed_job = home.json(["jobs", "show", &new_job]);
    assert_eq!(replayed_job["client"], "token:phone");
    let page = home.get(replayed_job["slug"].as_str().unwrap());
    assert!(page["content"].as_str().unwrap().contains("a thought from the tunnel"), "{page}");
    // A page that was changed since is not overwritten.
    home.put(replayed_job["slug"].as_str().unwrap(), "something else entirely");
    assert_eq!(home.fault(["tunnel", "replay", &new_job], 1)["code"], "conflict");
    assert_eq!(home.fault(["tunnel", "replay", "job_999999"], 4)["code"], "unknown_job");
}

#[test]
fn no_program_runs_while_others_can_change_home_or_configuration() {
    for target in ["home", "config.toml"] {
        let (home, _api, _) = home("exec sleep 600");
        let daemon = home.daemon();
        wait_until("the agent is started", || !agent_pids(&home).is_empty());
        daemon.terminate();
        let path = home.path().join(if target == "home" { "." } else { target });
        if target != "home" {
            fs::write(&path, "").unwrap();
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o002)).unwrap();
        let daemon = home.daemon();
        let check = |name: &str| {
            let output = home.brain(["doctor", "--json"]).json();
            let checks = output["checks"].as_array().unwrap().clone();
            checks.into_iter().find(|check| check["name"] == name).unwrap()
        };
        let exposed = check(if target == "home" { "home" } else { "configuration" });
        assert_eq!(exposed["status"], "fail", "{exposed}");
        assert!(exposed["message"].as_str().unwrap().contains("all users can change"), "{exposed}");
        assert!(exposed["hint"].as_str().unwrap().starts_with("chmod go-w "), "{exposed}");
        let tunnel = home.json(["tunnel", "status"]);
        assert!(tunnel.to_string().contains("so brain runs no program"), "{tunnel}");
        assert_eq!(agent_pids(&home).len(), 1, "no agent was started");
        // Corrected and started again, it runs.
        daemon.terminate();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let _daemon = home.daemon();
        wait_until("the agent is started again", || agent_pids(&home).len() == 2);
    }
}
