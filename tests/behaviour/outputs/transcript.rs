//! Runs commands of a user in a shell, and records what they print.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use brain_base::clock::{Clock, SystemClock};
use brain_protocol::VERSION;
use brain_tests::{Daemon, TestHome, run, target_dir};

use super::compare;

/// A user with an empty home directory, a brain in it, and a record of all commands.
pub(super) struct Transcript {
    pub(super) home: TestHome,
    daemon: Option<Daemon>,
    text: String,
}

impl Transcript {
    /// Creates a user whose daemon runs.
    pub(super) fn new() -> Self {
        Self::with(TestHome::new())
    }

    /// Creates a user whose daemon runs in `home`.
    pub(super) fn with(home: TestHome) -> Self {
        let mut user = Self::without_daemon(home);
        user.daemon = Some(user.home.daemon());
        user
    }

    /// Creates a user without a daemon.
    pub(super) fn without_daemon(home: TestHome) -> Self {
        wait_for_next_day();
        Self { home, daemon: None, text: String::new() }
    }

    /// Returns the user's home directory. It contains the brain's directory, `home`.
    pub(super) fn directory(&self) -> PathBuf {
        self.home.path().parent().expect("a home has a parent").to_owned()
    }

    /// Sets an environment variable of the following commands.
    pub(super) fn set_variable(&mut self, name: &str, value: &str) {
        self.home.env.push((name.to_owned(), value.to_owned()));
    }

    /// Writes a file in the user's home directory. Creates its directory if needed.
    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.directory().join(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs each line in a shell and records it with its output. A line that begins with `#` is
    /// only recorded.
    pub(super) fn run(&mut self, lines: &str) -> &mut Self {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            if line.starts_with('#') {
                let _ = writeln!(self.text, "{line}");
            } else {
                self.run_line(line);
            }
        }
        self
    }

    /// Runs one line in a shell. Marks each line of standard error with `2> `.
    fn run_line(&mut self, line: &str) {
        let shell = self.shell(line);
        let output = run(shell, b"");
        let _ = writeln!(self.text, "$ {line}");
        self.text.push_str(&output.stdout);
        if !output.stdout.is_empty() && !output.stdout.ends_with('\n') {
            self.text.push_str("[no end of line]\n");
        }
        for line in output.stderr.lines() {
            let _ = writeln!(self.text, "{}", format!("2> {line}").trim_end());
        }
        if output.code != 0 {
            let _ = writeln!(self.text, "[exit status {}]", output.code);
        }
    }

    /// Returns a shell in the user's home directory that finds the programs of the workspace.
    fn shell(&self, line: &str) -> Command {
        let brain = self.home.command("brain");
        let mut shell = Command::new("/bin/sh");
        let variables = brain.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let directory = self.directory();
        // The user's own programs, such as AI clients, must not be found.
        let path = format!("{}/bin:{}:/usr/bin:/bin", directory.display(), target_dir().display());
        shell.env_clear().envs(variables).env("PATH", path).env("HOME", &directory);
        shell.arg("-c").arg(line).current_dir(directory);
        shell
    }

    /// Compares the transcript with the file `snapshots/<name>.snap`.
    pub(super) fn compare(&self, name: &str) {
        let text = self
            .text
            .replace(&self.directory().display().to_string(), "~")
            .replace(&target_dir().display().to_string(), "/usr/bin")
            .replace(VERSION, "VERSION");
        compare(name, &text, FILTERS);
    }
}

/// In the last 20 seconds of a day (UTC), waits for its end: lists by day have another number of
/// rows if midnight is between two commands.
fn wait_for_next_day() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let left = DAY_MS - SystemClock.now() % DAY_MS;
    if left < 20_000 {
        std::thread::sleep(Duration::from_millis(left.unsigned_abs()));
    }
}

/// What changes from run to run, after the paths and the version. Dates until 2025 are in texts of
/// tests, so they stay. Placeholders of fixed width keep columns aligned; others take the spaces
/// beside them along.
const FILTERS: &[(&str, &str)] = &[
    // Times.
    (r"\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d", "YYYY-MM-DD"),
    (r"YYYY-MM-DD([T ])\d\d:\d\d:\d\d(?:\.\d+)?", "YYYY-MM-DD${1}hh:mm:ss"),
    (r"YYYY-MM-DD([T ])\d\d:\d\d\b", "YYYY-MM-DD${1}hh:mm"),
    // Ids of imports.
    (r"\b20\d{6}-\d{6}(?:-\d+)?\b", "YYYYMMDD-hhmmss"),
    (r"\bup \d+ (?:s|min)\b", "up 0 s"),
    (r"\brunning for \d+ (?:s|min)\b", "running for 0 s"),
    (r"\b\d+\.\d s\b", "0.0 s"),
    (r"(?m)^((?:ok|warn|fail) +[\w-]+) +[\d.]+ m?s  ", "${1} 0 ms  "),
    (r" +[\d.]+ ms\b", " 0 ms"),
    (r" +TOOK\b", "  TOOK"),
    (r"\(in \d[^)]*\)", "(in N min)"),
    (r"\btakes about (?:an?|\d+) \w+", "takes about N s"),
    (r"\buntil \d\d:\d\d \(in", "until hh:mm (in"),
    (r"(?m)^  \d\d-\d\d \d\d:\d\d ", "  MM-DD hh:mm "),
    // Programs and addresses.
    (r"\bpid \d+", "pid PID"),
    (r"\bprocess \d+", "process PID"),
    (r"\b127\.0\.0\.1:\d{2,}", "127.0.0.1:PORT"),
    (r"/open/[\w-]+", "/open/CODE"),
    // Ids and secrets.
    (r"\bbrain_(pt|cs|cl)_[\w-]+", "brain_${1}_…"),
    (r"\b[0-9a-f]{64}\b", "SHA256"),
    (r"\b[0-9a-f]{16}\b", "0123456789abcdef"),
    (r"\b\d{19}\b", "1234567890123456789"),
    (r"\b(run |resume |latency-)[a-z0-9]{8}\b", "${1}abcdefgh"),
    (r"(?m)^[a-z0-9]{8}  (done|prompts)\b", "abcdefgh  ${1}"),
    // Pages that `brainstorm` draws, and the cost of their texts.
    (r"\b(?:garden|harbour|kitchen)/(?:one|two|three|four)\b", "far/page"),
    (r"\$0\.00\d{4}", "$$0.00nnnn"),
    (r"\bin=[1-9]\d* out=\d+", "in=N out=N"),
    (r"\babout \d+ tokens", "about N tokens"),
    (r"\bbrain-demo-\d+-[0-9a-f]+", "brain-demo-ID"),
    // The state of files and of the machine.
    (r"\b\d+ invented pages", "300 invented pages"),
    (r"\((?:\d+|\d+\.\d) [kM]B\)", "(SIZE)"),
    (r"(?m)^(store +)[\d.]+ [kM]B", "${1}SIZE"),
    (r"(?m)^(index     ).*$", "${1}…"),
    (
        r"(?m)^((?:ok|warn|fail) +(?:index|outbox|queue|disk space|history|kept copy|store size) +).*$",
        "${1}…",
    ),
];
