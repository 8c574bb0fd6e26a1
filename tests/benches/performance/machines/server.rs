//! The servers of `.ci/postgres`: statements, floors, and slow flushes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Bytes of the row in the floor of a durable insert: a batch with one page of 1.3 kB.
const ROW_BYTES: usize = 4_000;

/// What [`Server::delay_commits`] adds.
pub(super) const COMMIT_DELAY: Duration = Duration::from_millis(5);

/// The URLs of the servers, and a directory for scripts.
pub(super) struct Server {
    pub(super) direct: String,
    pub(super) pooler: String,
    admin: String,
    standby: String,
    programs: PathBuf,
    dir: PathBuf,
}

impl Server {
    /// Returns the servers; `None` without `.ci/postgres`.
    pub(super) fn from_environment(dir: &Path) -> Option<Self> {
        let url = |name: &str| std::env::var(format!("BRAIN_TEST_{name}")).ok();
        let server = Self {
            direct: url("POSTGRES")?,
            pooler: url("PGBOUNCER")?,
            admin: url("POSTGRES_ADMIN")?,
            standby: url("POSTGRES_STANDBY")?,
            programs: url("POSTGRES_BIN")?.into(),
            dir: dir.join("server"),
        };
        std::fs::create_dir_all(&server.dir).unwrap();
        server.run(&server.direct, "CREATE TABLE floor (body bytea)");
        Some(server)
    }

    /// Runs a statement and returns its output.
    fn run(&self, url: &str, statement: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        let output = psql.args(["-X", "-A", "-t", "-q", "-c", statement, url]).output().unwrap();
        assert!(output.status.success(), "{statement}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Returns a number from the server.
    pub(super) fn number(&self, query: &str) -> f64 {
        self.run(&self.admin, query).parse().unwrap()
    }

    /// Measures a script of pgbench with one client, for a second. Returns the average in ms: its
    /// times of single transactions are 0 if the answer is there before it looks.
    fn pgbench(&self, url: &str, script: &str) -> f64 {
        let file = self.dir.join("script");
        std::fs::write(&file, script).unwrap();
        let mut pgbench = Command::new(self.programs.join("pgbench"));
        let output =
            pgbench.args(["--no-vacuum", "--time=1", "--file"]).arg(file).arg(url).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, average) = text.split_once("latency average = ").unwrap();
        average.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Returns the average of a round trip, in ms.
    pub(super) fn round_trip(&self, url: &str) -> f64 {
        self.pgbench(url, "SELECT 1;\n")
    }

    /// Returns the average of a durable insert, in ms.
    pub(super) fn insert(&self) -> f64 {
        let body = "78".repeat(ROW_BYTES);
        let script = format!("INSERT INTO floor VALUES ('\\x{body}');\n");
        self.pgbench(&self.direct, &script)
    }

    /// Adds [`COMMIT_DELAY`] to each commit of the server, or no longer. Commits then wait until a
    /// standby has applied them, and the standby applies each commit that time after it was made.
    /// As with a slow flush, a commit that waits keeps its locks.
    pub(super) fn delay_commits(&self, is_delayed: bool) {
        let (delay, names, commit) = match is_delayed {
            true => (COMMIT_DELAY.as_millis(), "*", "remote_apply"),
            false => (0, "", "on"),
        };
        for (url, setting, value) in [
            (&self.standby, "recovery_min_apply_delay", delay.to_string()),
            (&self.admin, "synchronous_standby_names", format!("'{names}'")),
            (&self.admin, "synchronous_commit", commit.to_owned()),
        ] {
            self.run(url, &format!("ALTER SYSTEM SET {setting} = {value}"));
        }
        for url in [&self.standby, &self.admin] {
            self.run(url, "SELECT pg_reload_conf()");
        }
        // The processes of the server read their settings some milliseconds later.
        let deadline = Instant::now() + Duration::from_secs(20);
        while (self.insert() > COMMIT_DELAY.as_secs_f64() * 1e3) != is_delayed {
            assert!(Instant::now() < deadline, "the server ignores the delay");
        }
    }

    /// Returns the number of batches of a log, and the bytes of their payloads.
    pub(super) fn log(&self, namespace: &str) -> [f64; 2] {
        let select = |what| format!("SELECT {what} FROM {namespace}.batches");
        [
            self.number(&select("count(*)")),
            self.number(&select("coalesce(sum(octet_length(payload)), 0)")),
        ]
    }

    /// Returns the bytes that the server has written to its own log.
    pub(super) fn wal(&self) -> f64 {
        self.number("SELECT pg_current_wal_lsn() - '0/0'")
    }

    /// Returns the bytes of the newest snapshot.
    pub(super) fn snapshot(&self, namespace: &str) -> f64 {
        self.number(&format!(
            "SELECT sum(octet_length(bytes)) FROM {namespace}.chunks WHERE snapshot = \
             (SELECT id FROM {namespace}.snapshots ORDER BY time_ms DESC LIMIT 1)"
        ))
    }
}

/// Processor time of the machine.
pub(super) struct Processors([f64; 2]);

impl Processors {
    pub(super) fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        let fields = text.lines().next().unwrap().split_whitespace().skip(1);
        let times: Vec<f64> = fields.map(|field| field.parse().unwrap()).collect();
        // `idle` and `iowait`, and the first eight: the others are parts of these (proc_stat(5)).
        Self([times[3] + times[4], times.iter().take(8).sum()])
    }

    /// Returns the idle part of the time since then, in per cent.
    pub(super) fn idle_since(&self) -> f64 {
        let Self([idle, total]) = Self::now();
        100.0 * (idle - self.0[0]) / (total - self.0[1])
    }
}
