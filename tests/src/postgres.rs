//! PostgreSQL with a standby and pgbouncer, for one test alone: it may kill and change them.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Need, TEST_TIMEOUT, report, skip};

/// A program of a [`Cluster`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The server.
    Server,
    /// The standby, asynchronous until [`Cluster::make_standby_synchronous`].
    Standby,
    /// pgbouncer in transaction mode.
    Pooler,
}

/// Servers in a temporary directory, on loopback without TLS. Dropping it kills them.
pub struct Cluster {
    dir: tempfile::TempDir,
    programs: PathBuf,
    /// The user and group of the servers, if the test runs as root: they refuse to run as root.
    user: Option<(u32, u32)>,
    ports: [u16; 3],
    children: [Option<Child>; 3],
}

impl Cluster {
    /// Starts a server and a pooler. Returns `None` and reports a skip without the programs that
    /// `.ci/postgres` finds.
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(programs) = std::env::var_os("BRAIN_TEST_POSTGRES_BIN") else {
            skip(Need::Server("PostgreSQL".into()));
            return None;
        };
        let dir = tempfile::Builder::new().prefix("brain-postgres").tempdir().unwrap();
        let user = rustix::process::geteuid().is_root().then(|| (id("-u"), id("-g")));
        if let Some((uid, gid)) = user {
            chown(dir.path(), Some(uid), Some(gid)).unwrap();
        }
        let ports = [free_port(), free_port(), free_port()];
        let children = [None, None, None];
        let mut cluster = Self { dir, programs: programs.into(), user, ports, children };
        cluster.create();
        cluster.start_part(Part::Server);
        cluster.sql_in("postgres", "CREATE ROLE brain_user LOGIN");
        cluster.sql_in("postgres", "CREATE DATABASE brain OWNER brain_user");
        cluster.write_pooler_settings(Part::Server);
        cluster.start_part(Part::Pooler);
        Some(cluster)
    }

    /// Returns the directory of the server's data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Returns the URL of a part for the user of the tests, who owns the database.
    #[must_use]
    pub fn url(&self, part: Part) -> String {
        format!("postgresql://brain_user@localhost:{}/brain", self.ports[part as usize])
    }

    /// Returns a URL with the server and the standby. The first one that accepts writes is used.
    #[must_use]
    pub fn url_of_both(&self) -> String {
        let [server, standby, _] = self.ports;
        let hosts = format!("localhost:{server},localhost:{standby}");
        format!("postgresql://brain_user@{hosts}/brain?target_session_attrs=read-write")
    }

    /// Runs statements as superuser on the server, and returns the rows.
    pub fn sql(&self, statements: &str) -> String {
        self.sql_in("brain", statements)
    }

    /// Runs statements as superuser on the standby, and returns the rows.
    #[must_use]
    pub fn standby_sql(&self, statements: &str) -> String {
        let output = self.psql(Part::Standby, "brain").args(["-c", statements]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn sql_in(&self, database: &str, statements: &str) -> String {
        let output = self.try_sql(database, statements);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {errors}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn try_sql(&self, database: &str, statements: &str) -> Output {
        self.psql(Part::Server, database).args(["-c", statements]).output().unwrap()
    }

    fn psql(&self, part: Part, database: &str) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        let port = self.ports[part as usize];
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        command.arg(format!("postgresql://brain_admin@localhost:{port}/{database}"));
        command
    }

    /// Returns a dump of the database.
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        let url = format!("postgresql://brain_admin@localhost:{}/brain", self.ports[0]);
        let output =
            Command::new(self.programs.join("pg_dump")).args(["--clean", &url]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Replaces the content of the database by a dump.
    pub fn restore(&self, dump: &[u8]) {
        let file = self.dir.path().join("dump.sql");
        fs::write(&file, dump).unwrap();
        let output = self.psql(Part::Server, "brain").arg("-f").arg(file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Creates a standby that follows the server, and starts it.
    pub fn add_standby(&mut self) {
        let url = format!("postgresql://brain_admin@localhost:{}/postgres", self.ports[0]);
        let standby = self.dir.path().join("standby");
        let copy = ["-R", "-X", "stream", "-c", "fast", "-d", &url, "-D"];
        self.run("pg_basebackup", |command| command.args(copy).arg(&standby));
        append(&standby.join("postgresql.conf"), &format!("port = {}\n", self.ports[1]));
        self.start_part(Part::Standby);
    }

    /// Lets each commit on the server wait for the standby.
    pub fn make_standby_synchronous(&self) {
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("SELECT pg_reload_conf()");
        let count = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        let deadline = Instant::now() + TEST_TIMEOUT;
        while self.sql(count) != "1" {
            assert!(Instant::now() < deadline, "no synchronous standby");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Makes the running standby a server at its own address.
    pub fn promote_standby(&self) {
        self.promote_in(&self.dir.path().join("standby"));
    }

    /// Restarts the pooler, which then leads to the standby.
    pub fn lead_pooler_to_standby(&mut self) {
        self.write_pooler_settings(Part::Standby);
        self.restart(Part::Pooler);
    }

    /// Lets the standby have the server's address. It accepts no writes before
    /// [`Cluster::promote`]. Both must be stopped.
    pub fn replace_server_by_standby(&self) {
        let name = |name: &str| self.dir.path().join(name);
        fs::rename(name("data"), name("former")).unwrap();
        fs::rename(name("standby"), name("data")).unwrap();
        append(&name("data/postgresql.conf"), &format!("port = {}\n", self.ports[0]));
    }

    /// Makes a standby that has the server's address a server.
    pub fn promote(&self) {
        self.promote_in(&self.data());
    }

    fn promote_in(&self, data: &Path) {
        self.run("pg_ctl", |command| command.args(["promote", "-w", "-D"]).arg(data));
    }

    /// Starts a program of the server that runs statements as superuser.
    #[must_use]
    pub fn start_sql(&self, statements: &str) -> Child {
        self.psql(Part::Server, "brain").args(["-c", statements]).spawn().unwrap()
    }

    /// Gives the user of the servers a directory.
    pub fn give(&self, dir: &Path) {
        if let Some((uid, gid)) = self.user {
            chown(dir, Some(uid), Some(gid)).unwrap();
        }
    }

    /// Sends SIGKILL to a part and its children.
    pub fn kill(&mut self, part: Part) {
        let Some(mut child) = self.children[part as usize].take() else { return };
        let workers = children_of(child.id());
        let _ = child.kill();
        for pid in workers.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        child.wait().unwrap();
    }

    /// Starts a part that does not run, and waits until it answers.
    pub fn start_part(&mut self, part: Part) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        while !self.is_answering(part) {
            assert!(Instant::now() < deadline, "{part:?} does not answer: {}", self.log(part));
            let child = &mut self.children[part as usize];
            let is_running = child.as_mut().is_some_and(|c| c.try_wait().unwrap().is_none());
            if !is_running {
                // A killed server's last children may still have its memory.
                self.children[part as usize] = Some(self.spawn(part));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills and starts a part.
    pub fn restart(&mut self, part: Part) {
        self.kill(part);
        self.start_part(part);
    }

    fn spawn(&self, part: Part) -> Child {
        let mut command = match part {
            Part::Pooler => {
                let mut command = self.command(&pooler_program());
                command.arg("-q").arg(self.dir.path().join("pgbouncer.ini"));
                command
            }
            server => {
                let data = if server == Part::Server { "data" } else { "standby" };
                let mut command = self.command(&self.programs.join("postgres"));
                command.arg("-D").arg(self.dir.path().join(data));
                command
            }
        };
        let log = fs::File::options().create(true).append(true).open(self.log_path(part));
        let log = log.unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.spawn().unwrap()
    }

    fn log_path(&self, part: Part) -> PathBuf {
        self.dir.path().join(format!("{part:?}.log"))
    }

    /// Returns what a part wrote to its log.
    #[must_use]
    pub fn log(&self, part: Part) -> String {
        fs::read_to_string(self.log_path(part)).unwrap_or_default()
    }

    fn is_answering(&self, part: Part) -> bool {
        if self.children[part as usize].is_none() {
            return false;
        }
        match part {
            Part::Pooler => std::net::TcpStream::connect(("127.0.0.1", self.ports[2])).is_ok(),
            server => {
                let mut psql = self.psql(server, "postgres");
                let output = psql.args(["-c", "SELECT 1"]).stderr(Stdio::null()).output();
                output.unwrap().status.success()
            }
        }
    }

    fn create(&self) {
        let data = self.data();
        self.run("initdb", |command| {
            command.args(["-U", "brain_admin", "-A", "trust", "-E", "UTF8", "--locale=C"]);
            command.args(["--no-sync", "-D"]).arg(&data)
        });
        let mut text = String::new();
        let _ = write!(
            text,
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = ''\n\
             max_connections = 100\nwal_keep_size = 512MB\nshared_buffers = 32MB\n",
            self.ports[0]
        );
        append(&data.join("postgresql.conf"), &text);
    }

    /// Writes the settings of the pooler before a server.
    fn write_pooler_settings(&self, server: Part) {
        let users = self.dir.path().join("users.txt");
        fs::write(&users, "\"brain_user\" \"\"\n").unwrap();
        let (server, pooler) = (self.ports[server as usize], self.ports[2]);
        let text = format!(
            "[databases]\nbrain = host=127.0.0.1 port={server} dbname=brain\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {pooler}\nunix_socket_dir =\n\
             pool_mode = transaction\nauth_type = trust\nauth_file = {}\n\
             server_login_retry = 1\nlog_connections = 0\nlog_disconnections = 0\n",
            users.display()
        );
        fs::write(self.dir.path().join("pgbouncer.ini"), text).unwrap();
        for name in ["users.txt", "pgbouncer.ini"] {
            let mode = fs::Permissions::from_mode(0o644);
            fs::set_permissions(self.dir.path().join(name), mode).unwrap();
        }
    }

    /// Returns a command that runs as the user of the servers.
    fn command(&self, program: &Path) -> Command {
        let mut command = match self.user {
            None => Command::new(program),
            Some((uid, gid)) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={uid}"), format!("--regid={gid}")]);
                command.arg("--clear-groups").arg(program);
                command
            }
        };
        command.current_dir("/");
        command
    }

    /// Runs a program of the server until it ends.
    fn run(&self, program: &str, arguments: impl FnOnce(&mut Command) -> &mut Command) {
        let mut command = self.command(&self.programs.join(program));
        let output = arguments(&mut command).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for part in [Part::Server, Part::Standby, Part::Pooler] {
                let log = self.log(part);
                let last = log.lines().rev().take(20).collect::<Vec<_>>();
                report(&format!("last lines of {part:?}: {last:#?}"));
            }
        }
        for part in [Part::Pooler, Part::Standby, Part::Server] {
            self.kill(part);
        }
    }
}

fn append(path: &Path, text: &str) {
    let former = fs::read_to_string(path).unwrap();
    fs::write(path, former + text).unwrap();
}

/// Returns the number of the user or the group `postgres`.
fn id(option: &str) -> u32 {
    let output = Command::new("id").args([option, "postgres"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().expect("no user postgres")
}

fn pooler_program() -> PathBuf {
    let found = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(PathBuf::from);
    found.into_iter().find(|path| path.exists()).unwrap_or_else(|| "pgbouncer".into())
}

/// Returns a free port below those that the system gives to outgoing connections: such a
/// connection could take the port of a killed server.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = std::process::id() as u16 % 4_000;
    loop {
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let port = 16_000 + (start + number) % 4_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Returns the ids of the processes whose parent is `parent`.
fn children_of(parent: u32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        after_name.split(' ').nth(1).and_then(|text| text.parse().ok()) == Some(parent)
    })
    .collect()
}
