//! A shared brain behind poolers and beside other servers, and what is said about a URL that
//! cannot be used.

use std::fs;
use std::path::Path;
use std::process::Command;

use brain_protocol::{Reply, WriteStatus};
use brain_tests::postgres::{Cluster, Part};
use brain_tests::{Need, TestHome, capture, skip};

use crate::machines::{
    MachineStatus, Shared, VISIBLE, has_page, server, state, wait_for_state, wait_until,
};
use crate::machines_fixture::{check_doctor, compare_running, wait_until_settled};

/// Parts of a password with an `@`, as a driver would take it for a host.
const PARTS: [&str; 2] = ["Tr0ub4dor", "Horse9"];
const URL: &str = "postgresql://brain:Tr0ub4dor@Horse9!@127.0.0.1:5432/brain";

/// Runs a command with and without `--json`. Returns all that it prints.
fn outputs(home: &TestHome, args: &[&str]) -> Vec<String> {
    [&["--json"][..], &[]]
        .into_iter()
        .map(|more| {
            let run = home.brain(more.iter().chain(args));
            format!("{args:?}: {}{}", run.stdout, run.stderr)
        })
        .collect()
}

/// Asserts that nothing has a part of the password.
fn check_secret(home: &TestHome, printed: &[String]) {
    for text in printed.iter().chain([&home.log()]) {
        assert!(PARTS.iter().all(|part| !text.contains(part)), "{text}");
    }
}

#[test]
fn a_password_that_breaks_the_url_is_nowhere() {
    let home = TestHome::new();
    home.put("first", "The first page.");
    let file = home.outside().join("url");
    fs::write(&file, format!("{URL}\n")).unwrap();
    let file = file.to_str().unwrap();
    let key = home.outside().join("words");
    fs::write(&key, "abandon ".repeat(24)).unwrap();
    let key = key.to_str().unwrap();
    let mut printed = Vec::new();
    for args in [
        &["machines", "init", "--yes", "--url-file", file][..],
        &["machines", "plan", "init", "--url-file", file],
        &["machines", "init", "--yes", "--url-file", file, "--direct-url-file", file],
        &["machines", "join", "--yes", "--url-file", file, "--key-file", key],
    ] {
        for text in outputs(&home, args) {
            assert!(text.contains("%40"), "{text}");
            printed.push(text);
        }
    }
    check_secret(&home, &printed);
    assert_eq!(state(&home), "not_shared");
}

#[test]
fn a_stored_url_with_such_a_password_is_nowhere() {
    let Some(url) = server() else { return };
    let (shared, home) = (Shared::new(url), TestHome::new());
    home.put("first", "The first page.");
    shared.init(&home, "laptop", &[]);
    home.brain(["stop"]).expect(0);
    fs::write(home.path().join("secrets/machines-url"), URL).unwrap();
    let mut printed = Vec::new();
    for args in [
        &["machines", "status"][..],
        &["machines", "list"],
        &["status"],
        &["doctor"],
        &["capture", "A capture."],
        &["search", "first"],
    ] {
        printed.extend(outputs(&home, args));
    }
    check_secret(&home, &printed);
    assert!(printed[0].contains("%40"), "the status says what to write: {}", printed[0]);
}

#[test]
fn a_missing_database_is_no_reason_for_an_init() {
    let Some(url) = server() else { return };
    let home = TestHome::new();
    home.put("first", "The first page.");
    let mut shared = Shared::new(url.replace("/brain?", "/nowhere?"));
    for args in [shared.init_args(&home, "laptop"), shared.join_args(&home, "laptop")] {
        let error = home.fault_with(args, "abandon ".repeat(24).as_bytes(), 1);
        let text = error.to_string();
        assert!(text.contains("\\\"nowhere\\\" does not exist on localhost"), "{text}");
        assert!(text.contains("createdb") && !text.contains("machines init"), "{text}");
    }
    shared.url = url;
    shared.init(&home, "laptop", &[]);
}

#[test]
fn machines_behind_a_cache_of_queries_see_each_other() {
    let Ok(url) = std::env::var("BRAIN_TEST_PGPOOL") else {
        skip(Need::Server("pgpool-II".into()));
        return;
    };
    let (_shared, laptop, desktop) = Shared::two_machines(url);
    wait_until_settled(&[&laptop, &desktop]);
    for number in 0..5 {
        let (writer, reader) = match number % 2 {
            0 => (&laptop, &desktop),
            _ => (&desktop, &laptop),
        };
        let slug = format!("page-{number}");
        writer.put(&slug, "Written on the other machine.");
        wait_until(&slug, VISIBLE, || has_page(reader, &slug));
    }
    wait_until_settled(&[&laptop, &desktop]);
    check_doctor(&desktop);
    compare_running(&[&laptop, &desktop]);
}

/// Makes an authority in a directory, and a server's key.
fn make_authority(dir: &Path) {
    openssl(
        dir,
        "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=a",
    );
    openssl(dir, "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=b");
    fs::write(dir.join("names"), "subjectAltName=DNS:localhost").unwrap();
}

fn openssl(dir: &Path, args: &str) {
    let output = Command::new("openssl").args(args.split(' ')).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Gives the server a certificate that is valid for some days from now, and ends all sessions.
fn set_certificate(cluster: &Cluster, dir: &Path, days: &str) {
    let sign = "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names";
    openssl(dir, &format!("{sign} -out server.crt -days {days}"));
    for name in ["server.key", "server.crt"] {
        let file = cluster.data().join(name);
        fs::copy(dir.join(name), &file).unwrap();
        Command::new("chmod").arg("600").arg(&file).status().unwrap();
        cluster.give(&file);
    }
    cluster.sql("ALTER SYSTEM SET ssl = on");
    cluster.sql("SELECT pg_reload_conf()");
    wait_until("TLS", VISIBLE, || cluster.sql("SHOW ssl") == "on");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'brain_user'";
    cluster.sql(end);
}

#[test]
fn a_certificate_that_expires_queues_captures() {
    let Some(cluster) = Cluster::start() else { return };
    let home = TestHome::new();
    let dir = home.outside();
    make_authority(&dir);
    set_certificate(&cluster, &dir, "2");
    let authority = dir.join("ca.pem");
    let url = format!("{}?sslrootcert={}", cluster.url(Part::Server), authority.display());
    let shared = Shared::new(url);
    home.put("first", "The first page.");
    shared.init(&home, "laptop", &[]);
    wait_until_settled(&[&home]);
    assert_eq!(home.json_status()["tls"], true, "a named authority is used on this machine, too");

    set_certificate(&cluster, &dir, "-1");
    wait_for_state(&home, "away");
    let status = home.json_status();
    // The TLS library says "Expired" without times, and "certificate expired: …" with them.
    let names_cause = |text: &str| text.to_lowercase().contains("expired");
    assert!(names_cause(status["message"].as_str().unwrap()), "{status}");
    match home.connect().unwrap().ask(&capture("A capture while the certificate is too old.")) {
        Ok(Reply::Write(reply)) => assert_eq!(reply.status, WriteStatus::Queued),
        other => panic!("{other:?}"),
    }
    let doctor = home.brain(["doctor"]);
    assert!(names_cause(&doctor.stdout), "{doctor:?}");

    set_certificate(&cluster, &dir, "2");
    wait_until_settled(&[&home]);
    assert_eq!(home.search("certificate").len(), 1, "the queued capture is a page");
}

#[test]
fn a_former_primary_that_is_back_is_named() {
    let Some(mut cluster) = Cluster::start() else { return };
    cluster.add_standby();
    let (_shared, laptop, desktop) = Shared::two_machines(cluster.url_of_both());
    wait_until_settled(&[&laptop, &desktop]);
    let position = "SELECT pg_last_wal_replay_lsn()";
    wait_until("the standby", VISIBLE, || {
        cluster.sql("SELECT pg_current_wal_flush_lsn()") == cluster.standby_sql(position)
    });
    cluster.kill(Part::Server);
    cluster.promote_standby();
    for home in [&laptop, &desktop] {
        wait_for_state(home, "ready");
    }
    laptop.put("later", "Written after the failover.");
    wait_until("the page", VISIBLE, || has_page(&desktop, "later"));

    cluster.start_part(Part::Server);
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'brain_user'";
    let _ = cluster.standby_sql(end);
    for home in [&laptop, &desktop] {
        wait_for_state(home, "diverged");
        let hint = home.json_status()["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("former primary") && hint.contains("stop it"), "{hint}");
    }
    cluster.kill(Part::Server);
    for home in [&laptop, &desktop] {
        wait_for_state(home, "ready");
        assert!(has_page(home, "later"));
    }
    wait_until_settled(&[&laptop, &desktop]);
    compare_running(&[&laptop, &desktop]);
}
