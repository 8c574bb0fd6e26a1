//! Faults of the server of a shared brain. Each has a named state, an error with a way out that
//! works, and loses no acknowledged write, unless the server lost it: then a machine keeps it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use brain_protocol::{Reply, WriteStatus};
use brain_tests::postgres::{Cluster, Part};
use brain_tests::{TestHome, capture, report};

use crate::faults::fill;
use crate::machines::{
    MachineStatus, Shared, VISIBLE, has_page, state, wait_for_state, wait_until,
};
use crate::machines_fixture::{compare_running, wait_until_settled};

/// Two machines of a brain whose server the test may change.
struct World {
    laptop: TestHome,
    desktop: TestHome,
    shared: Shared,
    cluster: Cluster,
}

impl World {
    fn new() -> Option<Self> {
        Some(Self::over(Cluster::start()?))
    }

    fn over(cluster: Cluster) -> Self {
        let (shared, laptop, desktop) = Shared::two_machines(cluster.url(Part::Server));
        let world = Self { laptop, desktop, shared, cluster };
        world.settle();
        world
    }

    fn homes(&self) -> [&TestHome; 2] {
        [&self.laptop, &self.desktop]
    }

    fn settle(&self) {
        wait_until_settled(&self.homes());
    }

    /// Runs statements in which `@` stands for the schema of the brain.
    fn sql(&self, statements: &str) -> String {
        let prefix = format!("\"{}\".", self.shared.namespace);
        self.cluster.sql(&statements.replace('@', &prefix))
    }

    /// Asserts that a write fails because the machine stopped, and that the hint of the error and
    /// of the status has this text.
    fn check_stopped(&self, home: &TestHome, name: &str, hint: &str) {
        wait_for_state(home, name);
        let error = home.fault_with(["put", "refused"], b"text", 1);
        assert_eq!(error["code"], "machine_stopped", "{error}");
        assert!(error["hint"].as_str().unwrap().contains(hint), "{error}");
        let status = home.json_status();
        assert!(status["hint"].as_str().unwrap().contains(hint), "{status}");
        assert!(has_page(home, "first"), "reads go on");
    }

    /// Waits for both machines, compares their stores, and checks that both can write.
    fn check_recovered(&self) {
        for (index, home) in self.homes().into_iter().enumerate() {
            wait_for_state(home, "ready");
            home.put(&format!("after/{index}"), "Written after the fault.");
        }
        self.settle();
        compare_running(&self.homes());
    }

    /// Does what the hints of a diverged machine say, on both machines. Returns the directories
    /// with the former pages.
    fn join_again(&self) -> [PathBuf; 2] {
        self.homes().map(|home| {
            let queued = home.json_status()["queued"].as_u64().unwrap();
            let reply = home.json(["machines", "join", "--yes"]);
            let warnings = reply["warnings"].to_string();
            assert_eq!(warnings.contains("What a former store has"), queued > 0, "{warnings}");
            PathBuf::from(reply["former_pages"].as_str().expect("the former pages are kept"))
        })
    }
}

fn capture_status(home: &TestHome, text: &str) -> WriteStatus {
    match home.connect().unwrap().ask(&capture(text)) {
        Ok(Reply::Write(reply)) => reply.status,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_restored_server_stops_machines_that_have_more() {
    let Some(world) = World::new() else { return };
    let dump = world.cluster.dump();
    world.laptop.put("second", "Written after the backup of the server.");
    world.settle();
    world.cluster.restore(&dump);
    for home in world.homes() {
        world.check_stopped(home, "diverged", "brain machines join");
        assert!(has_page(home, "second"));
    }
    for former in world.join_again() {
        assert!(former.join("second.md").exists(), "{}", former.display());
    }
    world.check_recovered();
    assert!(!has_page(&world.laptop, "second"), "the server lost it");
    // The way back of the lost page that the document names.
    world
        .laptop
        .json(["import", world.laptop.path().join("pages.before-joining-1").to_str().unwrap()]);
    wait_until("the lost page", VISIBLE, || has_page(&world.desktop, "second"));
}

#[test]
fn a_promoted_standby_that_lacks_batches_stops_machines() {
    let Some(mut cluster) = Cluster::start() else { return };
    cluster.add_standby();
    let mut world = World::over(cluster);
    let position = "SELECT pg_last_wal_replay_lsn()";
    wait_until("the standby", VISIBLE, || {
        world.cluster.sql("SELECT pg_current_wal_flush_lsn()")
            == world.cluster.standby_sql(position)
    });
    world.cluster.kill(Part::Standby);
    world.laptop.put("lost", "Acknowledged, and the standby lacks it.");
    wait_until("the page", VISIBLE, || has_page(&world.desktop, "lost"));
    world.cluster.kill(Part::Server);
    for home in world.homes() {
        wait_for_state(home, "away");
    }
    world.cluster.replace_server_by_standby();
    world.cluster.start_part(Part::Server);
    assert_eq!(
        capture_status(&world.laptop, "Kept while no server takes writes."),
        WriteStatus::Queued
    );
    assert_eq!(state(&world.laptop), "away", "a standby takes no writes");
    world.cluster.promote();
    for home in world.homes() {
        world.check_stopped(home, "diverged", "brain machines join");
    }
    for (former, home) in world.join_again().into_iter().zip(world.homes()) {
        assert!(former.join("lost.md").exists());
        assert!(home.path().join("brain.redb.before-joining-1").exists());
    }
    world.check_recovered();
    // The way back of queued items that the document names.
    assert!(world.laptop.search("takes writes").is_empty());
    let former = TestHome::new();
    std::fs::create_dir_all(former.path()).unwrap();
    for end in ["", ".spool"] {
        let kept = world.laptop.path().join(format!("brain.redb.before-joining-1{end}"));
        std::fs::copy(kept, former.path().join(format!("brain.redb{end}"))).unwrap();
    }
    former.json(["machines", "leave", "--yes"]);
    wait_until("the queued item", VISIBLE, || former.search("takes writes").len() == 1);
    assert!(has_page(&former, "lost"));
}

#[test]
fn a_newer_log_stops_an_older_program() {
    let Some(world) = World::new() else { return };
    world.sql("UPDATE @head SET schema = schema + 1, min_reader = schema + 1");
    for home in world.homes() {
        // It writes nothing that the newer program would not understand.
        wait_until("the refusal", VISIBLE, || {
            home.brain_with(["--json", "put", "refused"], b"text").code == 1
                && state(home) == "newer"
        });
        world.check_stopped(home, "newer", "update brain");
    }
    world.sql("UPDATE @head SET schema = schema - 1, min_reader = schema - 1");
    world.check_recovered();
}

#[test]
fn a_change_larger_than_any_machine_writes_is_not_fetched() {
    let Some(world) = World::new() else { return };
    world.desktop.brain(["stop"]).expect(0);
    world.laptop.put("second", "Written while the desktop is off.");
    // It compresses well, so the server stores and sends it easily.
    world.sql(
        "UPDATE @batches SET payload = convert_to(repeat('0', 270000000), 'UTF8') \
         WHERE number = (SELECT max(number) FROM @batches)",
    );
    let daemon = world.desktop.daemon();
    world.check_stopped(&world.desktop, "damaged", "");
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 250_000, "the change was fetched: {kilobytes} kB");
    assert!(world.desktop.json_status()["message"].to_string().contains("270000000 bytes"));
}

#[test]
fn revoked_rights_are_named() {
    let Some(world) = World::new() else { return };
    let schema = &world.shared.namespace;
    world.sql("REVOKE INSERT ON @batches FROM brain_user");
    // Every caller sees the error of a write; only the owner sees what the server said.
    wait_until("the reason", VISIBLE, || {
        let error = world.laptop.fault_with(["put", "refused"], b"text", 1);
        assert_eq!(error["code"], "machine_stopped", "{error}");
        assert!(error["message"].as_str().unwrap().contains("denied"), "{error}");
        let status = world.laptop.json_status();
        status["state"] == "denied" && status["message"].as_str().unwrap().contains("batches")
    });
    world.sql("GRANT INSERT ON @batches TO brain_user");
    wait_for_state(&world.laptop, "ready");
    let tables = format!("ALL TABLES IN SCHEMA \"{schema}\"");
    world.sql(&format!("REVOKE ALL ON {tables} FROM brain_user"));
    for home in world.homes() {
        world.check_stopped(home, "denied", "rights");
    }
    world.sql(&format!("GRANT ALL ON {tables} TO brain_user"));
    world.check_recovered();
}

#[test]
fn a_read_only_server_is_away() {
    let Some(world) = World::new() else { return };
    let end_sessions =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'brain_user'";
    world.sql("ALTER ROLE brain_user SET default_transaction_read_only = on");
    world.sql(end_sessions);
    wait_until("the refusal", VISIBLE, || {
        world.laptop.brain_with(["--json", "put", "refused"], b"text").code == 1
    });
    wait_for_state(&world.laptop, "away");
    let message = world.laptop.json_status()["message"].to_string();
    assert!(message.contains("read-only"), "{message}");
    assert_eq!(capture_status(&world.laptop, "platypus"), WriteStatus::Queued);
    world.sql("ALTER ROLE brain_user RESET default_transaction_read_only");
    world.sql(end_sessions);
    world.check_recovered();
    assert_eq!(world.desktop.search("platypus").len(), 1);
}

#[test]
fn a_full_disk_of_the_server_is_away() {
    let Some(cluster) = Cluster::start() else { return };
    let mut disk = TestHome::new();
    let dir = disk.outside().join("disk");
    std::fs::create_dir_all(&dir).unwrap();
    if !disk.mount(&dir, "size=24m,mode=755") {
        return;
    }
    // The servers' user must reach the directory.
    for above in dir.ancestors().skip(1).take(2) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(above, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    cluster.give(&dir);
    cluster.sql(&format!("CREATE TABLESPACE small LOCATION '{}'", dir.display()));
    cluster.sql("GRANT CREATE ON TABLESPACE small TO brain_user");
    cluster.sql("ALTER ROLE brain_user SET default_tablespace = small");
    let world = World::over(cluster);
    let filler = fill(&dir, 100_000);
    let large = |number: usize| -> String {
        // Random text, which cannot be compressed.
        let mut rng = crate::crash::Rng::from_seed(number as u64);
        (0..60_000).map(|_| format!("{:04x}", rng.below(65_536))).collect::<Vec<_>>().join(" ")
    };
    let statuses: Vec<WriteStatus> = (0..4)
        .map(|number| capture_status(&world.laptop, &format!("numbat{number} {}", large(number))))
        .collect();
    assert_eq!(statuses[3], WriteStatus::Queued, "{statuses:?}");
    let message = world.laptop.json_status().to_string();
    assert!(message.contains("full"), "{message}");
    std::fs::remove_file(filler).unwrap();
    world.check_recovered();
    for number in 0..4 {
        assert_eq!(world.desktop.search(&format!("numbat{number}")).len(), 1);
    }
}

#[test]
fn a_server_that_does_not_finish_a_statement_is_away() {
    let Some(world) = World::new() else { return };
    let lock = format!(
        "BEGIN; SELECT FROM \"{}\".head FOR UPDATE; SELECT pg_sleep(30)",
        world.shared.namespace
    );
    let mut holder = world.cluster.start_sql(&lock);
    let held = "SELECT count(*) FROM pg_locks WHERE mode = 'RowShareLock' AND granted \
                AND relation = '@head'::regclass";
    wait_until("the lock", VISIBLE, || world.sql(held) != "0");
    let began = Instant::now();
    assert_eq!(capture_status(&world.laptop, "echidna"), WriteStatus::Queued);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(has_page(&world.laptop, "first"));
    world.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE query LIKE '%pg_sleep(30)' AND pid <> pg_backend_pid()",
    );
    let _ = holder.wait();
    world.check_recovered();
    assert_eq!(world.desktop.search("echidna").len(), 1);
}

/// The number of batches that a machine missed: 10,000 in a full run.
fn missed_batches() -> usize {
    std::env::var("BRAIN_BATCHES").ok().map_or(600, |text| text.parse().expect("not a number"))
}

#[test]
fn a_machine_returns_after_many_batches() {
    let Some(world) = World::new() else { return };
    world.desktop.brain(["stop"]).expect(0);
    let mut client = world.laptop.connect().unwrap();
    for number in 0..missed_batches() {
        match client.ask(&capture(format!("Batch {number} of a long time."))) {
            Ok(Reply::Write(reply)) => assert_eq!(reply.status, WriteStatus::Created),
            other => panic!("{other:?}"),
        }
    }
    let began = Instant::now();
    world.settle();
    let text = format!("machines: {} batches in {:.1?}", missed_batches(), began.elapsed());
    report(&text);
    world.check_recovered();
}

#[test]
fn a_machine_that_was_away_too_long_joins_again() {
    let Some(world) = World::new() else { return };
    world.desktop.brain(["stop"]).expect(0);
    for number in 0..5 {
        world.laptop.put(&format!("missed/{number}"), "Written meanwhile.");
    }
    // A month passes for the registry, and no snapshot is left, so that a new one is due.
    let month = 31_i64 * 24 * 60 * 60 * 1000;
    world.sql(&format!("UPDATE @machines SET seen_ms = seen_ms - {month} WHERE name = 'desktop'"));
    world.sql("DELETE FROM @snapshots");
    world.laptop.json(["restart"]);
    wait_until("the compaction", Duration::from_secs(120), || {
        world.sql("SELECT compacted FROM @head") != "0"
    });
    world.check_stopped(&world.desktop, "compacted", "brain machines join");
    world.desktop.json(["machines", "join", "--yes"]);
    world.check_recovered();
    assert!(has_page(&world.desktop, "missed/4"));
}
