//! A pull runs no program of a repository's configuration, unless that configuration is approved.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{PullOutcome, pull};

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
        .args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").stdin(Stdio::null());
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
}

/// A clone that is behind its remote, and a script that creates the file `marker`.
struct TestClone {
    _dir: tempfile::TempDir,
    notes: PathBuf,
    upstream: PathBuf,
    marker: PathBuf,
    script: PathBuf,
}

impl TestClone {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (notes, upstream) = (root.join("notes"), root.join("upstream"));
        git(&root, &["init", "-q", "--bare", "-b", "main", "origin.git"]);
        git(&root, &["init", "-q", "-b", "main", "upstream"]);
        let put = |name: &str, text: &str| std::fs::write(upstream.join(name), text).unwrap();
        put("one.md", "One.\n");
        put(".gitattributes", "*.md filter=x diff=x merge=x\n");
        git(&upstream, &["add", "-A"]);
        git(&upstream, &["commit", "-q", "-m", "one"]);
        git(&upstream, &["push", "-q", "../origin.git", "main"]);
        git(&root, &["clone", "-q", "origin.git", "notes"]);
        put("one.md", "One more.\n");
        put("two.md", "Two.\n");
        git(&upstream, &["add", "-A"]);
        git(&upstream, &["commit", "-q", "-m", "two"]);
        git(&upstream, &["push", "-q", "../origin.git", "main"]);
        let (marker, script) = (root.join("marker"), root.join("script"));
        let text = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", marker.display());
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { _dir: dir, notes, upstream, marker, script }
    }

    /// Adds a value to the clone's configuration. `SCRIPT` stands for the path of the script.
    fn config(&self, key: &str, value: &str) {
        git(
            &self.notes,
            &["config", "--add", key, &value.replace("SCRIPT", self.script.to_str().unwrap())],
        );
    }

    /// Replaces a value of the clone's configuration. `SCRIPT` stands for the path of the script.
    fn set_config(&self, key: &str, value: &str) {
        let value = value.replace("SCRIPT", self.script.to_str().unwrap());
        git(&self.notes, &["config", "--replace-all", key, &value]);
    }

    fn pull(&self, approved: &[String]) -> PullOutcome {
        pull(&self.notes, approved, &|| true)
    }
}

/// Returns whether git is not installed, and reports the skipped test.
fn git_is_missing() -> bool {
    let status = Command::new("git").arg("--version").stdout(Stdio::null()).status();
    let is_missing = !status.is_ok_and(|status| status.success());
    if is_missing {
        println!("SKIPPED: git is not installed");
    }
    is_missing
}

/// A way in which a repository makes git run a program: its name, and a function that prepares a
/// clone.
type Trap = (&'static str, fn(&TestClone));

const TRAPS: &[Trap] = &[
    ("hook post-merge", |c| hook(c, "post-merge")),
    ("hook reference-transaction", |c| hook(c, "reference-transaction")),
    ("hook post-index-change", |c| hook(c, "post-index-change")),
    ("core.hooksPath", |c| {
        let hooks = c.notes.parent().unwrap().join("hooks");
        std::fs::create_dir(&hooks).unwrap();
        std::fs::copy(&c.script, hooks.join("post-merge")).unwrap();
        c.config("core.hooksPath", hooks.to_str().unwrap());
    }),
    ("core.fsmonitor", |c| c.config("core.fsmonitor", "SCRIPT")),
    ("filter smudge", |c| c.config("filter.x.smudge", "SCRIPT")),
    ("filter clean", |c| {
        c.config("filter.x.clean", "SCRIPT");
        std::fs::write(c.notes.join("one.md"), "One.\n").unwrap();
    }),
    ("filter process", |c| {
        c.config("filter.x.process", "SCRIPT");
        c.config("filter.x.required", "true");
    }),
    ("remote ext::", |c| {
        c.config("protocol.ext.allow", "always");
        c.set_config("remote.origin.url", "ext::SCRIPT");
    }),
    ("url insteadOf ext::", |c| {
        c.config("protocol.ext.allow", "always");
        c.config("url.ext::SCRIPT.insteadOf", "x://");
        c.set_config("remote.origin.url", "x://y");
    }),
    ("remote uploadpack", |c| c.config("remote.origin.uploadpack", "SCRIPT")),
    ("remote vcs", |c| c.config("remote.origin.vcs", "x")),
    ("core.sshCommand", |c| {
        c.config("core.sshCommand", "SCRIPT");
        c.set_config("remote.origin.url", "ssh://nobody@127.0.0.1:9/x");
    }),
    ("core.gitProxy", |c| {
        c.config("core.gitProxy", "SCRIPT");
        c.set_config("remote.origin.url", "git://127.0.0.1:9/x");
    }),
    ("credential.helper", |c| {
        c.config("credential.helper", "!SCRIPT");
        c.set_config("remote.origin.url", "http://127.0.0.1:9/x");
    }),
    ("include.path", |c| {
        let file = c.notes.parent().unwrap().join("included");
        let text = format!("[filter \"x\"]\n\tsmudge = {}\n", c.script.display());
        std::fs::write(&file, text).unwrap();
        c.config("include.path", file.to_str().unwrap());
    }),
    ("includeIf in the work tree", |c| {
        std::fs::write(
            c.notes.join("x.inc"),
            format!("[core]\n\tfsmonitor = {}\n", c.script.display()),
        )
        .unwrap();
        c.config("includeIf.gitdir:/.path", "../x.inc");
    }),
    ("config.worktree", |c| {
        c.config("extensions.worktreeConfig", "true");
        let text = format!("[filter \"x\"]\n\tsmudge = {}\n", c.script.display());
        std::fs::write(c.notes.join(".git/config.worktree"), text).unwrap();
    }),
    ("alias", |c| c.config("alias.pull", "!SCRIPT")),
    ("editor, pager and diff", |c| {
        c.config("core.editor", "SCRIPT");
        c.config("core.pager", "SCRIPT");
        c.config("diff.external", "SCRIPT");
        c.config("diff.x.textconv", "SCRIPT");
        c.config("merge.x.driver", "SCRIPT");
    }),
    ("gpg", |c| {
        c.config("gpg.program", "SCRIPT");
        c.config("merge.verifySignatures", "true");
    }),
    ("submodule", |c| {
        c.config("submodule.recurse", "true");
        c.config("submodule.x.update", "!SCRIPT");
        c.config("submodule.x.active", "true");
    }),
    ("alternate refs", |c| {
        c.config("core.alternateRefsCommand", "SCRIPT");
        let objects = c.upstream.join(".git/objects");
        std::fs::write(c.notes.join(".git/objects/info/alternates"), objects.to_str().unwrap())
            .unwrap();
    }),
    ("hook by configuration", |c| {
        c.config("hook.x.command", "SCRIPT");
        c.config("hook.x.event", "post-merge");
    }),
];

fn hook(clone: &TestClone, name: &str) {
    let hooks = clone.notes.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    std::fs::copy(&clone.script, hooks.join(name)).unwrap();
}

#[test]
fn no_program_of_a_repository_runs() {
    if git_is_missing() {
        return;
    }
    let mut effective_traps = Vec::new();
    for (name, prepare) in TRAPS {
        let clone = TestClone::new();
        prepare(&clone);
        let outcome = clone.pull(&[]);
        assert!(!clone.marker.exists(), "{name} ran: {outcome:?}");
        match &outcome {
            PullOutcome::Updated(_) => assert!(name.contains("hook"), "{name}: {outcome:?}"),
            PullOutcome::Failed(reason) => {
                assert!(reason.contains("may run programs"), "{name}: {reason}");
            }
            other => panic!("{name}: {other:?}"),
        }
        // Plain git shows that the trap works.
        let mut plain = Command::new("timeout");
        plain
            .args(["-k", "1", "3", "git"])
            .arg("-C")
            .arg(&clone.notes)
            .args(["pull", "-q", "--ff-only"])
            .stdin(Stdio::null());
        plain.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
        if matches!(outcome, PullOutcome::Updated(_)) {
            git(
                &clone.notes,
                &["-c", "core.hooksPath=/dev/null", "reset", "-q", "--hard", "HEAD~1"],
            );
        }
        let _ = plain.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if clone.marker.exists() {
            effective_traps.push(*name);
        }
    }
    let count = effective_traps.len();
    assert!(count >= 11, "only these run programs with plain git: {effective_traps:?}");
}

#[test]
fn a_harmless_configuration_needs_no_approval() {
    if git_is_missing() {
        return;
    }
    let clone = TestClone::new();
    for (key, value) in
        [("user.name", "Me"), ("pull.rebase", "true"), ("branch.main.description", "x")]
    {
        clone.config(key, value);
    }
    assert!(matches!(clone.pull(&[]), PullOutcome::Updated(_)));
    assert!(clone.notes.join("two.md").exists());
}

#[test]
fn only_an_approved_configuration_runs_programs() {
    if git_is_missing() {
        return;
    }
    let clone = TestClone::new();
    clone.config("filter.x.smudge", "SCRIPT");
    let PullOutcome::Failed(reason) = clone.pull(&[]) else { panic!("the pull succeeded") };
    assert!(reason.contains("(filter.x.smudge)") && !clone.marker.exists(), "{reason}");
    let fingerprint = reason.split('"').nth(1).unwrap().to_owned();
    let approved = [fingerprint];
    // The approval is for the configuration without this entry.
    clone.config("filter.x.clean", "SCRIPT");
    let PullOutcome::Failed(reason) = clone.pull(&approved) else { panic!("the pull succeeded") };
    assert!(reason.contains("filter.x.clean"), "{reason}");
    assert!(!clone.marker.exists());
    git(&clone.notes, &["config", "--unset", "filter.x.clean"]);
    assert!(matches!(clone.pull(&approved), PullOutcome::Updated(_)));
    assert!(clone.marker.exists() && clone.notes.join("two.md").exists());
}

#[test]
fn a_repository_among_the_files_of_a_source_is_not_used() {
    if git_is_missing() {
        return;
    }
    // The files of a bare repository can be committed like any others. Its configuration names a
    // program.
    let clone = TestClone::new();
    let bare = clone.notes.join("sub");
    git(&clone.notes, &["init", "-q", "--bare", "sub"]);
    git(&bare, &["config", "core.bare", "false"]);
    git(&bare, &["config", "core.worktree", bare.to_str().unwrap()]);
    git(&bare, &["config", "core.fsmonitor", clone.script.to_str().unwrap()]);
    let outcome = pull(&bare, &[], &|| true);
    assert!(!clone.marker.exists(), "{outcome:?}");
    assert!(!matches!(outcome, PullOutcome::Updated(_)), "{outcome:?}");
}
