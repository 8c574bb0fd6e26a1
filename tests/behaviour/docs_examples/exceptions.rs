//! Examples that are not run, or that fail as documented, and why. If the text in the second field
//! ends with a newline, it must be the whole example, not only its start.

/// Examples that no test here runs: the document, the beginning of the example, and the reason.
pub(super) const NOT_RUN: &[(&str, &str, &str)] = &[
    ("CONTRIBUTING.md", "cargo ", "builds and tests the project, as CI does"),
    ("README.md", "apt install", "needs a package and root; .ci/bare-systems installs it"),
    ("README.md", "brain setup\n", "asks questions at a terminal; the setup tests run it"),
    ("README.md", "cargo ", "builds and tests the project, as CI does"),
    ("README.md", "sh install.sh", "needs a file of a release; .ci/bare-systems runs it"),
    ("docs/clients.md", "[mcp_servers.brain]", "the configuration of Codex"),
    ("docs/clients.md", "brain setup\n", "asks questions at a terminal; the setup tests run it"),
    ("docs/clients.md", "claude ", "needs Claude Code"),
    ("docs/clients.md", "codex ", "needs Codex"),
    ("docs/clients.md", "opencode ", "needs opencode"),
    ("docs/clients.md", "qwen ", "needs Qwen Code"),
    ("docs/clients.md", "copilot ", "needs Copilot CLI"),
    ("docs/clients.md", "cline ", "needs Cline CLI"),
    ("docs/clients.md", "mcporter ", "needs mcporter"),
    ("docs/clients.md", "amp ", "needs Amp"),
    ("docs/clients.md", "import asyncio", "needs the package mcp; .ci/clients runs such a client"),
    ("docs/development.md", "// ", "a sketch of an operation, from several files"),
    ("docs/development.md", "BRAIN_DAEMON_LOG=debug", "runs until it is stopped"),
    ("docs/development.md", "CARGO_PROFILE_RELEASE_STRIP", "builds the project for a profiler"),
    ("docs/development.md", "cargo deny", "fetches a database of advisories"),
    ("docs/development.md", "cargo build", "builds the project, as CI does"),
    ("docs/development.md", "perf ", "needs a profiler, and a daemon under load"),
    ("docs/editors.md", "vim.", "the configuration of Neovim; .ci/clients drives it"),
    ("docs/editors.md", "(with-eval", "the configuration of Emacs; .ci/clients drives it"),
    ("docs/first-run.md", "brain setup\n", "asks questions at a terminal; the setup tests run it"),
    (
        "docs/import.md",
        "brain import --report ID",
        "needs the id of an import; import_undo runs it",
    ),
    ("docs/import.md", "brain import ~/Downloads/chatgpt", "needs an archive of ChatGPT"),
    ("docs/import.md", "brain undo --import ID", "needs the id of an import; import_undo runs it"),
    ("docs/import-documents.md", "tests/documents/", "needs pandoc and documents of others"),
    ("docs/import-records.md", "brain import ~/Downloads/chatgpt", "needs an archive of ChatGPT"),
    ("docs/import-records.md", "brain import ~/Downloads/twitter", "needs an archive of X"),
    ("docs/import-vaults.md", "brain import ~/Downloads/", "needs archives of Notion and Obsidian"),
    ("docs/processors.md", "#!/usr/bin/env python3", "import_documents.rs runs it"),
    ("docs/machines.md", "brain machines", "needs a server; the machines tests run it"),
    ("docs/machines.md", "BRAIN_HOME=~/former", "needs a former store; machines_states has one"),
    ("docs/machines.md", "mkdir ~/former", "belongs to the former store"),
    ("docs/machines.md", "cp ~/.brain/", "belongs to the former store"),
    ("docs/machines.md", "export BRAIN_HTTP", "belongs to the former store"),
    ("docs/machines.md", "echo ", "names a server that does not exist"),
    ("docs/machines.md", "openssl ", "makes certificates; .ci/postgres makes such ones"),
    ("docs/machines.md", "printf ", "makes certificates; .ci/postgres makes such ones"),
    ("docs/machines.md", "sudo ", "needs root and PostgreSQL; .ci/postgres installs it"),
    ("docs/machines.md", "umask ", "belongs to the next example"),
    ("docs/meaning.md", "brain model install", "downloads a model"),
    ("docs/packages.md", ".ci/", "makes packages; takes root and many minutes"),
    ("docs/packages.md", "cargo build", "builds a smaller program; CI checks that it compiles"),
    ("docs/packages.md", "docker ", "needs Docker and an image"),
    ("docs/review.md", "brain settle", "needs the key of a contradiction; review.rs runs it"),
    ("docs/review.md", "brain ask \"which port", "needs a language model; review.rs runs it"),
    ("docs/review.md", "brain restart", "restarts a service; restart tests run it"),
    ("docs/review.md", "brain doctor --torture", "takes minutes; torture.rs runs it"),
    ("docs/review.md", "ssh ", "needs another machine; torture.rs runs it on this one"),
    ("docs/review.md", "brain doctor --verify", "belongs to the example before"),
    (
        "docs/search-quality.md",
        "cargo ",
        "each takes many minutes; CI runs the `cargo test` example",
    ),
    ("docs/time.md", "brain undo --client", "needs writes of a client; undo.rs runs it"),
    ("docs/systemd.md", "brain service", "needs a systemd user manager; .ci/boot runs it"),
    ("docs/systemd.md", "brain capture", "needs a system service; .ci/boot tests one"),
    ("docs/systemd.md", "cp ", "needs systemd; .ci/boot tests these units"),
    ("docs/systemd.md", "export BRAIN_SOCKET", "needs a system service; .ci/boot tests one"),
    ("docs/systemd.md", "install ", "needs root and systemd; .ci/boot tests these units"),
    (
        "docs/systemd.md",
        "mkdir -p ~/.config/systemd/user",
        "needs systemd; .ci/boot tests these units",
    ),
    ("docs/systemd.md", "systemctl ", "needs systemd; .ci/boot tests these units"),
    ("docs/systemd.md", "usermod ", "needs root and a user bob"),
    (
        "docs/testing.md",
        "BRAIN_HOME=/tmp/x/home",
        "serves until it is stopped; .ci/clients runs it",
    ),
    ("docs/testing.md", "UPSTREAM=", "serves until it is stopped; .ci/clients runs it"),
    ("docs/testing.md", "cargo test", "runs the tests, as CI does"),
    ("docs/testing.md", "INSTA_UPDATE=", "changes files of the project"),
    ("docs/testing.md", "node $M/", "needs tools for node; .ci/clients runs them"),
    ("docs/web.md", "ssh ", "needs another machine"),
];

/// Examples that fail here as documented: the document, the beginning of the command, the possible
/// exit statuses, and the reason.
pub(super) const FAILS: &[(&str, &str, &[i32], &str)] = &[
    ("docs/errors.md", "brain get nowhere", &[4], "shows an error"),
    ("docs/sources.md", "brain sources remove work\n", &[5], "shows that --yes is needed"),
    ("docs/tunnel.md", "brain tunnel", &[0, 1, 4], "no tunnel is configured here"),
];

/// Returns whether `text`, with a final newline, starts with `start`.
pub(super) fn begins_with(text: &str, start: &str) -> bool {
    format!("{text}\n").starts_with(start)
}

/// Returns whether no test runs this example.
pub(super) fn is_not_run(document: &str, text: &str) -> bool {
    NOT_RUN.iter().any(|(name, start, _)| *name == document && begins_with(text, start))
}

/// Returns the possible exit statuses of a command.
pub(super) fn exit_statuses(document: &str, command: &str) -> &'static [i32] {
    let entry =
        FAILS.iter().find(|(name, start, ..)| *name == document && begins_with(command, start));
    entry.map_or(&[0], |(_, _, statuses, _)| statuses)
}
