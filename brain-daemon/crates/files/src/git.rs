//! Pulls a git work tree through the git program: fast-forward only.
//!
//! It never prompts, never waits without limit, and never shows credentials of a URL. The
//! configuration of the user and the system is trusted; the repository's is not. Hooks and the file
//! system monitor are off. A repository whose configuration can run a program is pulled only if the
//! owner approved that configuration ([`super::git_config`]).

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::git_config::Programs;

/// Time limit of a pull.
const PULL_TIMEOUT: Duration = Duration::from_secs(120);
/// Time limit of a query to the local repository.
const QUERY_TIMEOUT: Duration = Duration::from_secs(20);
/// How long git can take to end after a signal, so that it leaves no lock.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum bytes kept of git's errors.
const MAX_ERROR_BYTES: u64 = 16_000;
/// Maximum bytes kept of the answer to a query.
const MAX_ANSWER_BYTES: u64 = 1_000_000;
/// Maximum characters shown of git's errors.
const MAX_ERROR_CHARS: usize = 300;

/// Variables of another git process, because a hook may have started the daemon. Most would lead
/// git to another repository.
const CLEARED_VARIABLES: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_TRACE",
];

/// Settings that override the repository's own in every call.
const OVERRIDES: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=true",
    // Refuses a bare repository among the files of a work tree.
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "merge.autoStash=false",
    "rebase.autoStash=false",
    "merge.verifySignatures=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Transports of git itself; others are programs.
const TRANSPORTS: &str = "file:git:http:https:ssh";

/// Result of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullOutcome {
    /// There is nothing to pull from; with the reason.
    Skipped(String),
    /// There were no new commits.
    UpToDate,
    /// The work tree moved from one commit to another: `1a2b3c4d..5e6f7a8b`.
    Updated(String),
    /// The pull failed for this reason.
    Failed(String),
}

/// Pulls the git work tree of `dir`, if it has an upstream. `approved` has the fingerprints of
/// configurations that may run programs. `should_continue` is called several times a second; git is
/// ended when it returns `false`.
#[must_use]
pub fn pull(dir: &Path, approved: &[String], should_continue: &dyn Fn() -> bool) -> PullOutcome {
    if !dir.ancestors().any(|d| d.join(".git").exists()) {
        return PullOutcome::Skipped("not a git work tree".into());
    }
    Git { dir, approved, should_continue }.pull().unwrap_or_else(PullOutcome::Failed)
}

/// Runs git in a directory.
pub(super) struct Git<'a> {
    pub(super) dir: &'a Path,
    pub(super) approved: &'a [String],
    pub(super) should_continue: &'a dyn Fn() -> bool,
}

/// Exit status and output of git.
pub(super) struct GitOutput {
    pub(super) status: ExitStatus,
    pub(super) out: String,
    pub(super) err: String,
}

impl Git<'_> {
    fn pull(&self) -> Result<PullOutcome, String> {
        match self.query(&["rev-parse", "--is-inside-work-tree"]) {
            Ok(Some(answer)) if answer == "true" => {}
            // A directory with the name .git that is not a repository.
            Err(reason) if reason.contains("not a git repository") => {
                return Ok(PullOutcome::Skipped(reason));
            }
            other => return other.map(|_| PullOutcome::Skipped("not a git work tree".into())),
        }
        // The home directory may be in git without the pages of brain.
        if !self.dir.join(".git").exists()
            && self.query(&["ls-files", "."])?.is_none_or(|files| files.is_empty())
        {
            return Ok(PullOutcome::Skipped(
                "the enclosing git work tree tracks none of its files".into(),
            ));
        }
        let Some(branch) = self.query(&["symbolic-ref", "-q", "--short", "HEAD"])? else {
            return Ok(PullOutcome::Skipped("HEAD is detached: no branch is checked out".into()));
        };
        if self.query(&["config", "--get", &format!("branch.{branch}.merge")])?.is_none() {
            return Ok(PullOutcome::Skipped(format!("the branch {branch} has no upstream")));
        }
        let programs = self.programs()?;
        if !programs.is_empty() {
            let fingerprint = programs.fingerprint(&self.work_tree_root()?);
            if !self.approved.contains(&fingerprint) {
                return Ok(PullOutcome::Failed(approval_request(&programs, &fingerprint)));
            }
        }
        let before = self.head()?;
        let mut command = self.command();
        if programs.is_empty() && std::env::var_os("GIT_ALLOW_PROTOCOL").is_none() {
            command.env("GIT_ALLOW_PROTOCOL", TRANSPORTS);
        }
        if !self.has_own_ssh()? {
            command.env("GIT_SSH_COMMAND", ssh_command());
        }
        command.args(["pull", "--ff-only", "--no-rebase", "--no-recurse-submodules", "--quiet"]);
        let output = self.run(command, PULL_TIMEOUT)?;
        if !output.status.success() {
            return Ok(PullOutcome::Failed(error_line(&output.err)));
        }
        let after = self.head()?;
        if before == after {
            return Ok(PullOutcome::UpToDate);
        }
        let short = |id: Option<String>| {
            id.map_or_else(|| "nothing".into(), |id| id.chars().take(8).collect())
        };
        let (before, after): (String, String) = (short(before), short(after));
        Ok(PullOutcome::Updated(format!("{before}..{after}")))
    }

    /// Returns the entries of the repository's own configuration that can run a program.
    pub(super) fn programs(&self) -> Result<Programs, String> {
        let mut programs = Programs::default();
        for name in ["config", "config.worktree"] {
            // In a linked work tree, `config` is in the repository's directory, and
            // `config.worktree` in the work tree's git directory.
            let Some(path) = self.query(&["rev-parse", "--git-path", name])? else { continue };
            let path = self.dir.join(path);
            if !path.exists() {
                continue;
            }
            let mut command = self.command();
            command.args(["config", "--includes", "--list", "-z", "--file"]).arg(&path);
            let output = self.run(command, QUERY_TIMEOUT)?;
            if !output.status.success() {
                return Err(error_line(&output.err));
            }
            if output.out.len() as u64 >= MAX_ANSWER_BYTES {
                return Err(format!(
                    "{} is too long to be checked before git uses it",
                    path.display()
                ));
            }
            programs.add(&output.out);
        }
        Ok(programs)
    }

    fn work_tree_root(&self) -> Result<PathBuf, String> {
        let root = self.query(&["rev-parse", "--show-toplevel"])?.unwrap_or_default();
        Ok(PathBuf::from(root))
    }

    /// Returns the commit of `HEAD`; `None` before the first commit.
    pub(super) fn head(&self) -> Result<Option<String>, String> {
        self.query(&["rev-parse", "-q", "--verify", "HEAD"])
    }

    /// Whether the user has configured an ssh command.
    fn has_own_ssh(&self) -> Result<bool, String> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Ok(is_set("GIT_SSH_COMMAND")
            || is_set("GIT_SSH")
            || self.query(&["config", "--get", "core.sshCommand"])?.is_some())
    }

    /// Queries the local repository; `None` when git exits with 1.
    pub(super) fn query(&self, args: &[&str]) -> Result<Option<String>, String> {
        let mut command = self.command();
        command.args(args).env("GIT_NO_LAZY_FETCH", "1");
        let output = self.run(command, QUERY_TIMEOUT)?;
        match output.status.code() {
            Some(0) => Ok(Some(output.out.trim().to_owned())),
            Some(1) => Ok(None),
            _ => Err(error_line(&output.err)),
        }
    }

    /// Returns a git command with the overrides of the repository's settings.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.dir);
        for setting in OVERRIDES {
            command.args(["-c", setting]);
        }
        for name in CLEARED_VARIABLES {
            command.env_remove(name);
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "true")
            .env("SSH_ASKPASS", "true")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GCM_INTERACTIVE", "never")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_EDITOR", "true")
            .env("GIT_PAGER", "cat")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that processes that git starts end with it.
            .process_group(0);
        command
    }

    /// Runs git and keeps up to [`MAX_ANSWER_BYTES`] of its output.
    fn run(&self, command: Command, timeout: Duration) -> Result<GitOutput, String> {
        self.run_up_to(command, timeout, MAX_ANSWER_BYTES)
    }

    /// Runs git and keeps up to `max_bytes` of its output.
    pub(super) fn run_up_to(
        &self,
        mut command: Command,
        timeout: Duration,
        max_bytes: u64,
    ) -> Result<GitOutput, String> {
        let mut child = command.spawn().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => "the program git is not installed".to_owned(),
            _ => format!("git cannot be started: {e}"),
        })?;
        let out = read_stream(child.stdout.take(), max_bytes);
        let err = read_stream(child.stderr.take(), MAX_ERROR_BYTES);
        let started = Instant::now();
        let mut pause = Duration::from_micros(500);
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(e) => return Err(format!("git: {e}")),
            }
            if started.elapsed() > timeout {
                end(&mut child);
                return Err(format!(
                    "git did not end within {} s, and was killed",
                    timeout.as_secs()
                ));
            }
            if !(self.should_continue)() {
                end(&mut child);
                return Err("git was stopped early".into());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        };
        Ok(GitOutput { status, out: receive(&out), err: receive(&err) })
    }
}

/// Returns the ssh command. In a user namespace, files of root seem to belong to nobody, so ssh
/// refuses the system-wide configuration. There, ssh gets only the user's configuration.
fn ssh_command() -> &'static str {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    // The initial namespace maps all users to themselves.
    let has_all_users = map.split_whitespace().eq(["0", "0", "4294967295"]);
    if has_all_users || map.is_empty() {
        "ssh -o BatchMode=yes -o ConnectTimeout=10"
    } else {
        "ssh -F \"$([ -r ~/.ssh/config ] && echo ~/.ssh/config || echo none)\" -o BatchMode=yes -o \
         ConnectTimeout=10"
    }
}

/// Returns the message for a repository whose configuration can run programs, and what to do.
fn approval_request(programs: &Programs, fingerprint: &str) -> String {
    format!(
        "the repository's own configuration may run programs ({}), so it was not pulled. Look at \
         it with `git config --local --includes --list`; if all of it is yours, add \
         \"{fingerprint}\" to sources.git_approved in config.toml and restart the daemon",
        programs.shown()
    )
}

/// Reads a stream to its end and keeps its beginning.
fn read_stream(stream: Option<impl Read + Send + 'static>, max_bytes: u64) -> Receiver<String> {
    let (sender, receiver) = sync_channel(1);
    if let Some(mut stream) = stream {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = (&mut stream).take(max_bytes).read_to_end(&mut bytes);
            // The receiver is dropped when a process of git keeps the stream open.
            let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
            let _ = io::copy(&mut stream, &mut io::sink());
        });
    }
    receiver
}

/// Waits a short time for the text of a stream. Empty when a process keeps the stream open.
fn receive(receiver: &Receiver<String>) -> String {
    receiver.recv_timeout(EXIT_TIMEOUT).unwrap_or_default()
}

/// Ends git and the processes that it started. SIGTERM comes first, so that git removes its locks.
fn end(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    let _ = kill_process_group(group, Signal::TERM);
    let until = Instant::now() + EXIT_TIMEOUT;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Also ends processes that outlived the child.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

/// Returns git's error on one line, without advice and credentials.
pub(super) fn error_line(err: &str) -> String {
    let lines =
        err.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let text = lines.map(without_credentials).collect::<Vec<_>>().join("; ");
    match text.char_indices().nth(MAX_ERROR_CHARS) {
        _ if text.is_empty() => "git failed and did not say why".into(),
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Replaces `scheme://user:password@host` by `scheme://host`.
fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c == '/' || c.is_whitespace() || c == '\'' || c == '"');
        let host = &after[..end.unwrap_or(after.len())];
        rest = match host.rfind('@') {
            Some(at) => &after[at + 1..],
            None => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_never_shown() {
        for (text, expected) in [
            (
                "fatal: unable to access 'https://me:s3cret@host/x.git/': no",
                "fatal: unable to access 'https://host/x.git/': no",
            ),
            ("https://token@host", "https://host"),
            ("ssh://git@host/a and http://a:b@c@d/e", "ssh://host/a and http://d/e"),
            ("mail me@home.org about https://host/@x", "mail me@home.org about https://host/@x"),
            ("no address://", "no address://"),
        ] {
            assert_eq!(without_credentials(text), expected);
        }
        assert_eq!(error_line("hint: try\n\nfatal: one\nerror: two\n"), "fatal: one; error: two");
        assert_eq!(error_line(""), "git failed and did not say why");
    }

    #[test]
    fn a_hanging_git_is_killed_with_its_child_processes() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git { dir: dir.path(), approved: &[], should_continue: &|| true };
        let mut command = Command::new("sh");
        command
            .args(["-c", "sleep 600 & echo $! > pid; wait"])
            .current_dir(dir.path())
            .process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
        // Long enough for the shell to begin, also on a busy machine.
        let error = git.run(command, Duration::from_secs(3)).err().unwrap();
        assert!(error.contains("did not end"), "{error}");
        let pid: i32 =
            std::fs::read_to_string(dir.path().join("pid")).unwrap().trim().parse().unwrap();
        // On a busy machine the process ends with a delay.
        let is_alive = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z "))
        };
        for _ in 0..500 {
            if !is_alive() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("process {pid} is alive");
    }
}
