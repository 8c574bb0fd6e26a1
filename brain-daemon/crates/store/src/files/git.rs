//! Pulling a git work tree through the git program. Fast-forward only; never asks anybody anything, never waits for ever,
//! and never shows what stands in an address before its `@`.
//!
//! The user's own and the system's configuration are trusted. The repository's is not: hooks and the
//! file system monitor are off, and a repository whose configuration may run a program is not pulled
//! unless the owner approved just that ([`super::git_config`]).

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::git_config::Programs;

/// How long a pull may take.
const PULL: Duration = Duration::from_secs(120);
/// How long a question to the local repository may take.
const ASK: Duration = Duration::from_secs(20);
/// How long git may take to end when it is told to, so that it leaves no lock behind.
const ENDING: Duration = Duration::from_secs(2);
/// What is kept of its complaints, and of its answers, in bytes.
const MAX_WORDS: u64 = 16_000;
const MAX_ANSWER: u64 = 1_000_000;
/// What is shown of them, in characters.
const MAX_SHOWN: usize = 300;

/// Variables that would lead git to another repository: the daemon may have been started by a hook.
const NOT_OURS: &[&str] = &[
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

/// Settings that stand over the repository's own in every call.
const SAFE: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=true",
    // A directory that looks like a repository, among the files of one.
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "merge.autoStash=false",
    "rebase.autoStash=false",
    "merge.verifySignatures=false",
    "gc.auto=0",
    "maintenance.auto=false",
];
/// The transports of git itself; others are programs.
const TRANSPORTS: &str = "file:git:http:https:ssh";

/// What came of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pulled {
    /// There is nothing to pull from, for this reason.
    Skipped(String),
    /// Nothing was new.
    UpToDate,
    /// From this commit to that one.
    Updated(String),
    /// It did not work, for this reason; the files are as they were.
    Failed(String),
}

/// Pulls the git work tree that `dir` is in, if it has an upstream. `approved` are the fingerprints of
/// configurations that may run programs. `go_on` is asked several times a second; git is ended when it
/// says no.
#[must_use]
pub fn pull(dir: &Path, approved: &[String], go_on: &dyn Fn() -> bool) -> Pulled {
    if !dir.ancestors().any(|d| d.join(".git").exists()) {
        return Pulled::Skipped("not a git work tree".into());
    }
    Git { dir, approved, go_on }.pull().unwrap_or_else(Pulled::Failed)
}

struct Git<'a> {
    dir: &'a Path,
    approved: &'a [String],
    go_on: &'a dyn Fn() -> bool,
}

/// How git ended, and what it said.
struct Ended {
    status: ExitStatus,
    out: String,
    err: String,
}

impl Git<'_> {
    fn pull(&self) -> Result<Pulled, String> {
        match self.answer(&["rev-parse", "--is-inside-work-tree"]) {
            Ok(Some(yes)) if yes == "true" => {}
            // A directory that is called .git, and is none.
            Err(why) if why.contains("not a git repository") => return Ok(Pulled::Skipped(why)),
            other => return other.map(|_| Pulled::Skipped("not a git work tree".into())),
        }
        // Somebody keeps their whole home directory in git, and brain's own pages are not in it.
        if !self.dir.join(".git").exists()
            && self.answer(&["ls-files", "."])?.is_none_or(|files| files.is_empty())
        {
            return Ok(Pulled::Skipped("the git work tree around it has none of its files".into()));
        }
        let Some(branch) = self.answer(&["symbolic-ref", "-q", "--short", "HEAD"])? else {
            return Ok(Pulled::Skipped("HEAD is detached: no branch is checked out".into()));
        };
        if self.answer(&["config", "--get", &format!("branch.{branch}.merge")])?.is_none() {
            return Ok(Pulled::Skipped(format!("the branch {branch} has no upstream")));
        }
        let programs = self.programs()?;
        if !programs.is_empty() {
            let fingerprint = programs.fingerprint(&self.top()?);
            if !self.approved.contains(&fingerprint) {
                return Ok(Pulled::Failed(refusal(&programs, &fingerprint)));
            }
        }
        let before = self.head()?;
        let mut command = self.command();
        if programs.is_empty() && std::env::var_os("GIT_ALLOW_PROTOCOL").is_none() {
            command.env("GIT_ALLOW_PROTOCOL", TRANSPORTS);
        }
        if !self.has_own_ssh()? {
            command.env("GIT_SSH_COMMAND", ssh());
        }
        command.args(["pull", "--ff-only", "--no-rebase", "--no-recurse-submodules", "--quiet"]);
        let ended = self.run(command, PULL)?;
        if !ended.status.success() {
            return Ok(Pulled::Failed(words(&ended.err)));
        }
        let after = self.head()?;
        if before == after {
            return Ok(Pulled::UpToDate);
        }
        let short = |id: Option<String>| {
            id.map_or_else(|| "nothing".into(), |id| id.chars().take(8).collect())
        };
        let (before, after): (String, String) = (short(before), short(after));
        Ok(Pulled::Updated(format!("{before}..{after}")))
    }

    /// What of the repository's own configuration may run a program.
    fn programs(&self) -> Result<Programs, String> {
        let mut programs = Programs::default();
        for name in ["config", "config.worktree"] {
            // In a linked work tree the first is in the repository's directory, the second in its own.
            let Some(path) = self.answer(&["rev-parse", "--git-path", name])? else { continue };
            let path = self.dir.join(path);
            if !path.exists() {
                continue;
            }
            let mut command = self.command();
            command.args(["config", "--includes", "--list", "-z", "--file"]).arg(&path);
            let ended = self.run(command, ASK)?;
            if !ended.status.success() {
                return Err(words(&ended.err));
            }
            if ended.out.len() as u64 >= MAX_ANSWER {
                return Err(format!(
                    "{} is too long to be looked at before git uses it",
                    path.display()
                ));
            }
            programs.add(&ended.out);
        }
        Ok(programs)
    }

    /// The root of the work tree.
    fn top(&self) -> Result<PathBuf, String> {
        let top = self.answer(&["rev-parse", "--show-toplevel"])?.unwrap_or_default();
        Ok(PathBuf::from(top))
    }

    fn head(&self) -> Result<Option<String>, String> {
        self.answer(&["rev-parse", "-q", "--verify", "HEAD"])
    }

    /// Whether the user has said how ssh is to be called.
    fn has_own_ssh(&self) -> Result<bool, String> {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Ok(set("GIT_SSH_COMMAND")
            || set("GIT_SSH")
            || self.answer(&["config", "--get", "core.sshCommand"])?.is_some())
    }

    /// What git answers to a question about the repository on disk; `None` when it says no.
    fn answer(&self, args: &[&str]) -> Result<Option<String>, String> {
        let mut command = self.command();
        command.args(args).env("GIT_NO_LAZY_FETCH", "1");
        let ended = self.run(command, ASK)?;
        match ended.status.code() {
            Some(0) => Ok(Some(ended.out.trim().to_owned())),
            Some(1) => Ok(None),
            _ => Err(words(&ended.err)),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.dir);
        for setting in SAFE {
            command.args(["-c", setting]);
        }
        for name in NOT_OURS {
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
            // So that what it starts ends with it.
            .process_group(0);
        command
    }

    fn run(&self, mut command: Command, deadline: Duration) -> Result<Ended, String> {
        let mut child = command.spawn().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => "the program git is not there".to_owned(),
            _ => format!("git cannot be started: {e}"),
        })?;
        let out = listen(child.stdout.take(), MAX_ANSWER);
        let err = listen(child.stderr.take(), MAX_WORDS);
        let begun = Instant::now();
        let mut pause = Duration::from_micros(500);
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(e) => return Err(format!("git: {e}")),
            }
            if begun.elapsed() > deadline {
                end(&mut child);
                return Err(format!(
                    "git did not end within {} s, and was ended",
                    deadline.as_secs()
                ));
            }
            if !(self.go_on)() {
                end(&mut child);
                return Err("it was ended early".into());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        };
        Ok(Ended { status, out: heard(&out), err: heard(&err) })
    }
}

/// How ssh is called. In a user name space, files of root seem to be nobody's, and ssh refuses the
/// system-wide configuration: it gets the user's own only.
fn ssh() -> &'static str {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let all = map.split_whitespace().eq(["0", "0", "4294967295"]);
    if all || map.is_empty() {
        "ssh -o BatchMode=yes -o ConnectTimeout=10"
    } else {
        "ssh -F \"$([ -r ~/.ssh/config ] && echo ~/.ssh/config || echo none)\" -o BatchMode=yes -o ConnectTimeout=10"
    }
}

/// Why a repository is not pulled whose configuration may run programs, and what to do about it.
fn refusal(programs: &Programs, fingerprint: &str) -> String {
    format!(
        "the repository's own configuration may run programs ({}), so it was not pulled. Look at it with \
         `git config --local --includes --list`; if all of it is yours, add \"{fingerprint}\" to \
         sources.git_approved in config.toml and restart the daemon",
        programs.shown()
    )
}

/// Reads a stream to its end and keeps its beginning.
fn listen(stream: Option<impl Read + Send + 'static>, most: u64) -> Receiver<String> {
    let (said, words) = sync_channel(1);
    if let Some(mut stream) = stream {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = (&mut stream).take(most).read_to_end(&mut bytes);
            // Nobody waits any more when something that git left behind holds the stream.
            let _ = said.send(String::from_utf8_lossy(&bytes).into_owned());
            let _ = io::copy(&mut stream, &mut io::sink());
        });
    }
    words
}

fn heard(words: &Receiver<String>) -> String {
    words.recv_timeout(ENDING).unwrap_or_default()
}

/// Ends git and what it started: asked first, because it removes its locks then.
fn end(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    let _ = kill_process_group(group, Signal::TERM);
    let until = Instant::now() + ENDING;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Also what outlived it.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

/// What git complained about, on one line, without its advice and without anybody's password.
fn words(err: &str) -> String {
    let lines =
        err.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let text = lines.map(without_credentials).collect::<Vec<_>>().join("; ");
    match text.char_indices().nth(MAX_SHOWN) {
        _ if text.is_empty() => "git failed and did not say why".into(),
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The text with `scheme://user:password@host` as `scheme://host`.
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
        for (said, shown) in [
            (
                "fatal: unable to access 'https://me:s3cret@host/x.git/': no",
                "fatal: unable to access 'https://host/x.git/': no",
            ),
            ("https://token@host", "https://host"),
            ("ssh://git@host/a and http://a:b@c@d/e", "ssh://host/a and http://d/e"),
            ("mail me@home.org about https://host/@x", "mail me@home.org about https://host/@x"),
            ("no address://", "no address://"),
        ] {
            assert_eq!(without_credentials(said), shown);
        }
        assert_eq!(words("hint: try\n\nfatal: one\nerror: two\n"), "fatal: one; error: two");
        assert_eq!(words(""), "git failed and did not say why");
    }

    #[test]
    fn a_git_that_hangs_is_ended_with_what_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git { dir: dir.path(), approved: &[], go_on: &|| true };
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
        // It was told to end; on a busy machine it does so when its turn comes.
        let lives = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z "))
        };
        for _ in 0..500 {
            if !lives() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("process {pid} lives");
    }
}
