//! `brain setup`: its entries in the files of AI clients, and how `--undo` restores the files. The
//! clients' programs are fakes; the files have the form that the clients write.

mod questions;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use brain_tests::{Run, TEST_TIMEOUT, TestHome, program, run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::terminal::on_a_terminal_with_input_after;

const CURSOR: &str = concat!(
    "{\n\t\"mcpServers\": {\n",
    "\t\t\"github\": { \"url\": \"https://x.example/mcp\" }\n",
    "\t}\n}\n",
);
const CODE: &str = concat!(
    "{\r\n  // servers of my own\r\n  \"servers\": {\r\n",
    "    \"files\": {\"type\": \"stdio\", \"command\": \"f\", \"args\": [\"-d\"],}, /* mine */\r\n",
    "  },\r\n  \"inputs\": [],\r\n}\r\n",
);
const CODEX: &str = concat!(
    "# my settings\nmodel = \"large\"   # the best\n\n",
    "[mcp_servers.files]\ncommand = 'files'\nargs = [\n  \"--dir\",\n]\n\n",
    "[tui]\ntheme=\"dark\"",
);
const ZED: &str = "// Zed settings\n{\n  \"theme\": \"One\",\n  \"vim_mode\": true\n}\n";
/// Directories of clients that were used but have no file yet, which is `mcp_config.json`.
const WITHOUT_FILE: [&str; 3] = [".codeium/windsurf", ".config/devin", ".gemini/config"];

/// A user with a home directory and fake programs of AI clients.
struct User {
    brain: TestHome,
}

impl User {
    /// Creates a user without AI clients, whose `systemctl` runs the shell code `systemctl`.
    fn new(systemctl: &str) -> Self {
        let user = Self { brain: TestHome::new() };
        user.add_program("systemctl", systemctl);
        user.add_program("loginctl", "echo yes");
        fs::create_dir_all(user.path("home")).unwrap();
        user
    }

    /// Creates a user with six AI clients, and without a working service manager.
    fn with_clients() -> Self {
        let user = Self::new("exit 1");
        user.write_file("home/.cursor/mcp.json", CURSOR);
        user.write_file("home/dotfiles/mcp.json", CODE);
        fs::create_dir_all(user.path("home/.config/Code/User")).unwrap();
        symlink(user.path("home/dotfiles/mcp.json"), user.path("home/.config/Code/User/mcp.json"))
            .unwrap();
        let mode = fs::Permissions::from_mode(0o640);
        fs::set_permissions(user.path("home/dotfiles/mcp.json"), mode).unwrap();
        user.write_file("home/.codex/config.toml", CODEX);
        user.write_file("home/.config/zed/settings.json", ZED);
        for dir in WITHOUT_FILE {
            fs::create_dir_all(user.path("home").join(dir)).unwrap();
        }
        user.add_program(
            "claude",
            r#"for last; do before=$prog; prog=$last; done
             entry='{"mcpServers":{"brain":{"type":"stdio","command":"%s","args":["mcp"]}}}'
             case "$*" in
             *' --env '*' --scope '*) ;;
             *' --env '*) echo 'Invalid environment variable format: brain' >&2; exit 1;;
             esac
             case "$*" in
             'mcp add '*) printf "$entry" "$before" > "$HOME/.claude.json";;
             'mcp remove '*) echo '{}' > "$HOME/.claude.json";;
             esac"#,
        );
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.brain.outside().join(name)
    }

    fn write_file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes a program that records its arguments, then runs `script`.
    fn add_program(&self, name: &str, script: &str) {
        let log = self.path(&format!("{name}.log"));
        self.write_file(
            &format!("bin/{name}"),
            &format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\n{script}\n", log.display()),
        );
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(&format!("bin/{name}")), mode).unwrap();
    }

    /// Returns the arguments of the program `name`, one line for each call since the last `calls`.
    fn calls(&self, name: &str) -> Vec<String> {
        let log = self.path(&format!("{name}.log"));
        let text = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(log);
        text.lines().map(str::to_owned).collect()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.brain.command("brain");
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        command.env("HOME", self.path("home")).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        run(self.command(args), b"")
    }

    /// Runs `brain setup --yes --service=no` with further options.
    fn setup(&self, args: &[&str]) -> Run {
        self.run(&[&["setup", "--yes", "--service=no"][..], args].concat())
    }

    /// Asserts that the files of all clients are as before setup.
    fn assert_untouched(&self) {
        assert_eq!(self.read("home/.cursor/mcp.json"), CURSOR);
        assert_eq!(self.read("home/dotfiles/mcp.json"), CODE);
        assert_eq!(self.read("home/.codex/config.toml"), CODEX);
        assert_eq!(self.read("home/.config/zed/settings.json"), ZED);
        for dir in WITHOUT_FILE {
            let file = self.path("home").join(dir).join("mcp_config.json");
            assert!(!file.exists(), "{}", file.display());
        }
    }

    /// Returns the status of a part of the reply of setup.
    fn status(reply: &serde_json::Value, part: &str) -> String {
        let parts = reply["parts"].as_array().unwrap();
        let found = parts.iter().find(|entry| entry["name"] == part);
        found.unwrap_or_else(|| panic!("no {part} in {reply}"))["status"].as_str().unwrap().into()
    }
}

/// Returns the output without line breaks.
fn unwrapped(run: &Run) -> String {
    run.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn setup_names_the_editors_that_can_use_the_language_server() {
    let user = User::with_clients();
    assert!(!user.setup(&[]).expect(0).stderr.contains("brain lsp"));
    fs::create_dir_all(user.path("home/.config/nvim")).unwrap();
    fs::create_dir_all(user.path("home/.emacs.d")).unwrap();
    let output = user.setup(&[]).expect(0).stderr;
    let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.contains("Neovim, Emacs can use `brain lsp`: docs/editors.md"), "{output}");
}

#[test]
fn setup_connects_all_clients_and_undo_restores_every_byte() {
    let user = User::with_clients();
    let output = user.setup(&[]).expect(0);
    for label in [
        "Claude Code",
        "Codex",
        "Cursor",
        "VS Code",
        "Windsurf",
        "Devin Desktop",
        "Antigravity",
        "Zed",
    ] {
        assert!(output.stdout.contains(&format!("{label} is connected")), "{label}: {output:?}");
    }
    // Antigravity's directory is inside that of Gemini CLI, which was never used.
    assert!(!output.stdout.contains("Gemini CLI"), "{output:?}");
    assert!(output.stdout.contains("adds to"), "the changes are shown: {output:?}");

    let brain = program("brain").display().to_string();
    let home = user.brain.path().display().to_string();
    let cursor: serde_json::Value =
        serde_json::from_str(&user.read("home/.cursor/mcp.json")).unwrap();
    let entry = serde_json::json!({
        "command": brain, "args": ["mcp"], "env": { "BRAIN_HOME": home },
    });
    assert_eq!(cursor["mcpServers"]["brain"], entry);
    for dir in WITHOUT_FILE {
        let text = user.read(&format!("home/{dir}/mcp_config.json"));
        let created: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(created, serde_json::json!({ "mcpServers": { "brain": entry } }), "{dir}");
    }
    assert_eq!(cursor["mcpServers"]["github"]["url"], "https://x.example/mcp");
    let code = user.read("home/dotfiles/mcp.json");
    for line in CODE.lines() {
        assert!(code.contains(line), "{line:?} is gone: {code}");
    }
    assert!(code.contains("\"type\": \"stdio\"") && code.contains("\"brain\""), "{code}");
    assert!(!code.replace("\r\n", "").contains('\n'), "line ends stay: {code:?}");
    let link = user.path("home/.config/Code/User/mcp.json");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "a link stays a link");
    assert_eq!(fs::metadata(&link).unwrap().permissions().mode() & 0o777, 0o640);
    let codex = user.read("home/.codex/config.toml");
    assert!(codex.starts_with(CODEX) && codex.contains("\n[mcp_servers.brain]\n"), "{codex}");
    assert!(user.read("home/.config/zed/settings.json").contains("\"context_servers\""));
    assert_eq!(
        user.calls("claude"),
        [format!("mcp add --env BRAIN_HOME={home} --scope user brain -- {brain} mcp")]
    );

    let undone = user.run(&["setup", "--undo", "--json"]).expect(0).json();
    assert_eq!(undone["status"], "undone");
    user.assert_untouched();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&link).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(user.calls("claude"), ["mcp remove --scope user brain"]);
    let second_undo = user.run(&["setup", "--undo", "--json"]).expect(0).json();
    assert_eq!(second_undo["status"], "nothing_to_undo");
}

#[test]
fn a_second_setup_changes_nothing_and_undo_keeps_later_edits() {
    let user = User::with_clients();
    user.setup(&["--connect", "cursor", "--connect", "codex"]).expect(0);
    let first = user.read("home/.cursor/mcp.json");
    let second_setup = user.setup(&["--connect", "cursor", "--json"]);
    assert_eq!(User::status(&second_setup.expect(0).json(), "cursor"), "unchanged");
    assert_eq!(user.read("home/.cursor/mcp.json"), first);

    // The user adds a server before the entry, and one after it.
    let edited =
        first.replace("\"github\": {", "\"new\": { \"command\": \"n\" },\n\t\t\"github\": {");
    fs::write(user.path("home/.cursor/mcp.json"), &edited).unwrap();
    let codex = user.read("home/.codex/config.toml");
    fs::write(user.path("home/.codex/config.toml"), format!("{codex}\n[later]\na = 1\n")).unwrap();
    user.run(&["setup", "--undo"]).expect(0);
    let cursor: serde_json::Value =
        serde_json::from_str(&user.read("home/.cursor/mcp.json")).unwrap();
    assert!(cursor["mcpServers"]["brain"].is_null(), "{cursor}");
    assert_eq!(cursor["mcpServers"]["new"]["command"], "n");
    let codex = user.read("home/.codex/config.toml");
    assert!(!codex.contains("brain") && codex.ends_with("[later]\na = 1\n"), "{codex}");
    assert!(codex.starts_with(CODEX), "{codex}");
}

/// Files as the clients' own commands write them, with their list of servers.
#[test]
fn setup_writes_the_form_of_each_client() {
    let user = User::with_clients();
    let brain = program("brain").display().to_string();
    let home = user.brain.path().display().to_string();
    let env = json!({ "BRAIN_HOME": home });
    let usual = json!({ "command": brain, "args": ["mcp"], "env": env });
    let stdio = json!({ "type": "stdio", "command": brain, "args": ["mcp"], "env": env });
    let local = json!({
        "type": "local", "command": brain, "args": ["mcp"], "env": env, "tools": ["*"],
    });
    let opencode = json!({ "type": "local", "command": [brain, "mcp"], "environment": env });
    let clients = [
        ("opencode", ".config/opencode/opencode.jsonc", "mcp", opencode),
        ("qwen", ".qwen/settings.json", "mcpServers", usual.clone()),
        ("copilot", ".copilot/mcp-config.json", "mcpServers", local),
        (
            "cline",
            ".cline/data/settings/cline_mcp_settings.json",
            "mcpServers",
            json!({ "transport": stdio }),
        ),
        ("mcporter", ".mcporter/mcporter.json", "mcpServers", usual),
    ];
    for (name, file, key, entry) in clients {
        let file = format!("home/{file}");
        let before = json!({ key: { "other": { "url": "https://x.example/mcp" } } }).to_string();
        user.write_file(&file, &before);
        user.setup(&["--connect", name]).expect(0);
        let text = user.read(&file);
        let after: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(after[key]["brain"], entry, "{name}");
        assert_eq!(after[key]["other"]["url"], "https://x.example/mcp");
        user.setup(&["--connect", name]).expect(0);
        assert_eq!(user.read(&file), text, "a second connection changes nothing");
        user.run(&["setup", "--undo", "--connect", name]).expect(0);
        assert_eq!(user.read(&file), before, "{name}");
        // An entry that was changed since is still known as brain's.
        user.setup(&["--connect", name]).expect(0);
        user.write_file(&file, &user.read(&file).replace("other", "another"));
        user.run(&["setup", "--undo", "--connect", name]).expect(0);
        let after: serde_json::Value = serde_json::from_str(&user.read(&file)).unwrap();
        let another = json!({ key: { "another": { "url": "https://x.example/mcp" } } });
        assert_eq!(after, another, "{name}");
    }
}

#[test]
fn undo_of_one_client_leaves_the_others_connected() {
    let user = User::with_clients();
    user.setup(&["--connect", "cursor,zed"]).expect(0);
    user.run(&["setup", "--undo", "--connect", "zed"]).expect(0);
    assert_eq!(user.read("home/.config/zed/settings.json"), ZED);
    assert!(user.read("home/.cursor/mcp.json").contains("\"brain\""));
    user.run(&["setup", "--undo"]).expect(0);
    user.assert_untouched();
}

#[test]
fn an_entry_of_somebody_else_is_replaced_only_on_request() {
    let user = User::with_clients();
    let foreign = "{\"mcpServers\": {\"brain\": {\"url\": \"https://brain.example/mcp\", \
                   \"headers\": {\"X\": \"secret\"}}}}";
    user.write_file("home/.cursor/mcp.json", foreign);
    let refused = user.setup(&["--connect", "cursor", "--connect", "zed"]).expect(1);
    let text = unwrapped(&refused);
    assert!(text.contains("leads to https://brain.example/mcp and was not changed"), "{text}");
    assert!(refused.stdout.contains("--replace"), "{refused:?}");
    assert_eq!(user.read("home/.cursor/mcp.json"), foreign);
    assert!(user.read("home/.config/zed/settings.json").contains("brain"), "others are connected");

    let replaced = user.setup(&["--connect", "cursor", "--replace"]).expect(0);
    assert!(!format!("{refused:?}{replaced:?}").contains("secret"), "{refused:?} {replaced:?}");
    assert!(!user.read("home/.cursor/mcp.json").contains("brain.example"));
    user.run(&["setup", "--undo"]).expect(0);
    assert_eq!(user.read("home/.cursor/mcp.json"), foreign);
}

#[test]
fn the_address_of_a_foreign_entry_is_named_in_each_spelling() {
    let user = User::with_clients();
    for (client, file, key) in [
        ("windsurf", "home/.codeium/windsurf/mcp_config.json", "serverUrl"),
        ("gemini", "home/.gemini/settings.json", "httpUrl"),
    ] {
        let foreign =
            format!("{{\"mcpServers\": {{\"brain\": {{\"{key}\": \"https://b.example?k=1\"}}}}}}");
        user.write_file(file, &foreign);
        let refused = user.setup(&["--connect", client]).expect(1);
        let text = unwrapped(&refused);
        assert!(text.contains("leads to https://b.example and"), "{client}: {text}");
        assert_eq!(user.read(file), foreign);
    }
}

#[test]
fn files_that_do_not_parse_are_refused_and_stay_as_they_are() {
    let user = User::with_clients();
    for (client, file, text) in [
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": {"),
        ("cursor", "home/.cursor/mcp.json", "[1, 2]"),
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": \"none\"}"),
        ("codex", "home/.codex/config.toml", "model = \n"),
        ("codex", "home/.codex/config.toml", "mcp_servers = 1\n"),
    ] {
        user.write_file(file, text);
        let refused = user.setup(&["--connect", client]).expect(1);
        assert!(refused.stdout.contains("so it is not changed"), "{text:?}: {refused:?}");
        assert_eq!(user.read(file), text);
    }
    let link = user.path("home/.cursor/mcp.json");
    fs::remove_file(&link).unwrap();
    symlink("/no/such/file", &link).unwrap();
    let refused = user.setup(&["--connect", "cursor"]).expect(1);
    assert!(refused.stdout.contains("a link to a file that does not exist"), "{refused:?}");
}

#[test]
fn a_failing_program_of_a_client_is_reported() {
    let user = User::with_clients();
    user.add_program("claude", "echo 'not logged in' >&2; exit 3");
    let failed = user.setup(&["--connect", "claude-code"]).expect(1);
    assert!(unwrapped(&failed).contains("failed: not logged in"), "{failed:?}");
    let undone = user.run(&["setup", "--undo", "--json"]).expect(0).json();
    assert_eq!(undone["status"], "nothing_to_undo", "the failed client is not recorded");
}

#[test]
fn a_former_entry_is_restored_if_the_program_cannot_add_the_new_one() {
    let user = User::with_clients();
    let foreign = "{\"mcpServers\":{\"brain\":{\"command\":\"/bin/other\"}}}";
    user.write_file("home/.claude.json", foreign);
    user.add_program("claude", "case \"$*\" in 'mcp add '*) echo 'no space' >&2; exit 1;; esac");
    let failed = user.setup(&["--connect", "claude-code", "--replace"]).expect(1);
    assert!(unwrapped(&failed).contains("failed: no space"), "{failed:?}");
    let calls = user.calls("claude");
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert_eq!(calls[0], "mcp remove --scope user brain");
    assert_eq!(calls[2], "mcp add-json --scope user brain {\"command\":\"/bin/other\"}");
}

#[test]
fn notes_become_a_source_once() {
    let user = User::new("exit 1");
    user.write_file("home/My Notes/plan.md", "# Plan\n\nBuy a walrus.\n");
    let notes = user.path("home/My Notes").display().to_string();
    for _ in 0..2 {
        let reply = user.run(&["setup", "--yes", "--service=no", "--notes", &notes, "--json"]);
        let reply = reply.expect(0).json();
        assert_eq!(User::status(&reply, "notes"), "done", "{reply}");
    }
    let found = user.run(&["search", "walrus", "--json"]).expect(0).json();
    assert!(found.to_string().contains("my-notes"), "{found}");
    let sources = user.run(&["sources", "--json"]).expect(0).json();
    assert_eq!(sources["sources"].as_array().unwrap().len(), 2, "{sources}");
}

#[test]
fn the_service_is_installed_and_undone() {
    let user = User::new("case \"$*\" in *show*service*) echo MainPID=4242;; esac");
    let reply = user.run(&["setup", "--yes", "--json"]).expect(0).json();
    assert_eq!(User::status(&reply, "service"), "done", "the default with systemd: {reply}");
    let unit = user.path("home/.config/systemd/user/brain-daemon.service");
    assert!(unit.exists());
    user.run(&["setup", "--undo"]).expect(0);
    assert!(!unit.exists());

    let user = User::new("exit 1");
    let reply = user.run(&["setup", "--yes", "--service", "--json"]).expect(1).json();
    assert_eq!(User::status(&reply, "service"), "failed", "{reply}");
    assert!(!user.path("home/.config/systemd/user/brain-daemon.service").exists());
    let reply = user.run(&["setup", "--yes", "--json"]).expect(0).json();
    assert!(!reply.to_string().contains("\"service\""), "no systemd, no service: {reply}");
}

#[test]
fn another_home_is_used_and_named() {
    let user = User::with_clients();
    let home = user.path("home/elsewhere").display().to_string();
    let output = user.setup(&["--home", &home, "--connect", "cursor"]).expect(0);
    assert!(output.stderr.contains(&format!("export BRAIN_HOME={home}")), "{output:?}");
    assert!(user.read("home/.cursor/mcp.json").contains(&home));
    assert!(!user.brain.path().exists(), "the other home is not created");
    user.run(&["setup", "--undo", "--home", &home]).expect(0);
    user.assert_untouched();
}

#[test]
fn without_a_terminal_the_missing_options_are_named() {
    let user = User::with_clients();
    let refused = user.run(&["setup"]).expect(2);
    for option in ["--home", "--service", "--notes", "--connect", "--model", "--yes"] {
        assert!(refused.stderr.contains(option), "{option}: {refused:?}");
    }
    let partly = user.run(&["setup", "--service=no", "--connect", "none"]).expect(2);
    assert!(!partly.stderr.contains("--connect"), "{partly:?}");
    assert!(partly.stderr.contains("--notes"), "{partly:?}");
    user.assert_untouched();
    assert!(!user.brain.path().exists());
}

#[test]
fn wrong_options_are_refused_before_anything_changes() {
    let user = User::with_clients();
    user.write_file("home/full/other.txt", "x");
    let (file, full) =
        (user.path("home/.cursor/mcp.json"), user.path("home/full").display().to_string());
    let file = file.display().to_string();
    for (args, part) in [
        (&["--home", file.as_str()][..], "is not a directory"),
        (&["--home", full.as_str()], "has other files"),
        (&["--notes", "/no/such/notes"], "cannot read"),
        (&["--notes", file.as_str()], "is not a directory"),
        (&["--connect", "emacs"], "known: claude-code"),
        (&["--connect", "gemini"], "is not installed"),
        (&["--model", "huge"], "all-minilm-l6-v2"),
        (&["--service=perhaps"], "perhaps"),
    ] {
        let args = [&["setup", "--yes"][..], args].concat();
        let refused = user.run(&args);
        assert_ne!(refused.code, 0, "{args:?}");
        assert!(refused.stderr.contains(part), "{args:?}: {refused:?}");
    }
    user.assert_untouched();
    assert!(!user.brain.path().exists());
}
