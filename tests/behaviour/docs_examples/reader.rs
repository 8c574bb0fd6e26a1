//! Runs the examples of a document, as a reader would.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use brain_tests::http::get;
use brain_tests::{Daemon, HTTP_ON_FREE_PORT, TestHome, program};
use serde_json::Value;

use super::exceptions::{exit_statuses, is_not_run};
use super::parse::{Example, document, examples};

/// A reader who runs the examples.
pub(super) struct Reader {
    pub(super) home: TestHome,
    _daemon: Daemon,
    /// The home directory of the user, `~`. Commands run there.
    pub(super) user: PathBuf,
    /// Variables of the shell.
    variables: Vec<(String, String)>,
    /// Words of examples, and what the test has instead.
    replacements: Vec<(String, String)>,
    /// Servers that the examples need.
    _servers: Vec<Box<dyn Any>>,
    last_answer: Option<Value>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self::with(Vec::new(), Vec::new())
    }

    /// Creates a reader whose daemon has these variables and needs these servers.
    pub(super) fn with(variables: Vec<(String, String)>, servers: Vec<Box<dyn Any>>) -> Self {
        let mut home = TestHome::new();
        home.env.push(("BRAIN_HTTP_PUBLIC".into(), "127.0.0.1:0".into()));
        home.env.extend(variables);
        let daemon = home.daemon();
        let user = home.outside().join("user");
        for directory in [".config", "bin", "notes/hooks"] {
            std::fs::create_dir_all(user.join(directory)).unwrap();
        }
        let reader = Self {
            _daemon: daemon,
            user,
            variables: vec![("BRAIN_NO_START".into(), "1".into())],
            replacements: Vec::new(),
            _servers: servers,
            last_answer: None,
            home,
        };
        // No example changes the services of the developer's machine.
        reader.add_program("systemctl", "exit 1");
        reader.add_program("loginctl", "echo yes");
        let admin = std::fs::read_to_string(reader.home.path().join("secrets/admin-token"));
        let local = reader.home.http_local().to_string();
        let public = reader.home.http_public().to_string();
        reader
            .replacing("127.0.0.1:3131", &local)
            .replacing("127.0.0.1:8765", &public)
            .replacing("target/debug/brain", "brain")
            .with_variable("ADMIN", admin.unwrap().trim())
    }

    /// Lets commands start daemons, for examples with another home. They are stopped at the end.
    pub(super) fn that_starts_daemons(mut self) -> Self {
        self.variables.retain(|(name, _)| name != "BRAIN_NO_START");
        self
    }

    pub(super) fn replacing(mut self, word: &str, by: &str) -> Self {
        self.replacements.push((word.to_owned(), by.to_owned()));
        self
    }

    fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    /// Adds a page.
    pub(super) fn with_page(self, slug: &str, page: &str) -> Self {
        self.home.put(slug, page);
        self
    }

    /// Adds a file to the home directory of the user.
    pub(super) fn with_file(self, name: &str, content: &str) -> Self {
        let path = self.user.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Copies a file or directory that another program wrote to the home directory of the user.
    pub(super) fn with_fixture(self, name: &str, fixture: &str) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import");
        let path = self.user.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(fixtures.join(fixture)).arg(&path);
        assert!(copy.status().unwrap().success(), "{fixture}");
        self
    }

    /// Runs `brain` before the examples.
    pub(super) fn having_run(self, args: &[&str]) -> Self {
        let mut command = self.home.command("brain");
        let done = command.args(args).env("HOME", &self.user).current_dir(&self.user).output();
        assert!(done.unwrap().status.success(), "brain {args:?}");
        self
    }

    fn add_program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.user.join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Runs all examples of a document.
    pub(super) fn run_document(&mut self, name: &str) {
        for example in examples(&document(name)) {
            if example.text().is_some_and(|text| is_not_run(name, text)) {
                continue;
            }
            match example {
                Example::Shell(command) => self.run(name, &command),
                Example::Json(shown) => {
                    if let Some(answer) = self.last_answer.take() {
                        assert_shape(&shown, &answer, name);
                    }
                }
                Example::Toml(text) => {
                    let file = self.home.outside().join("example.toml");
                    std::fs::write(&file, text).unwrap();
                    self.home.brain(["config", "check", file.to_str().unwrap()]).expect(0);
                }
                Example::Bookmarklet(address) => self.open_bookmarklet(&address),
                Example::Other(text) => {
                    panic!("{name}: nothing runs this language; see NOT_RUN: {text}")
                }
                Example::Inline(command) => self.assert_command_exists(name, &command),
            }
        }
    }

    /// Runs a shell command, and keeps its answer and the tokens that it prints.
    fn run(&mut self, document: &str, line: &str) {
        let mut command = line.to_owned();
        for (word, by) in &self.replacements {
            command = command.replace(word, by);
        }
        if let Some(token) = self.variable("BRAIN_TOKEN") {
            command = command.replace("brain_pt_…", token);
        }
        if let Some(set) = command.strip_prefix("export ") {
            let (name, value) = set.split_once('=').unwrap();
            let done = self.shell(&format!("printf %s {value}"));
            let value = String::from_utf8(done.stdout).unwrap();
            assert!(!value.is_empty(), "{document}: {line}: nothing was printed to export");
            self.set(name, &value);
            return;
        }
        let done = self.shell(&command);
        let (out, err) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let expected = exit_statuses(document, line);
        assert!(
            done.status.code().is_some_and(|code| expected.contains(&code)),
            "{document}: {line}: {}\n{out}{err}",
            done.status
        );
        if let Ok(answer) = serde_json::from_str::<Value>(&out) {
            let is_error = answer.get("error").is_some();
            assert!(!is_error || !done.status.success(), "{document}: {line}: {answer}");
            self.last_answer = Some(answer);
        }
        for word in out.split_whitespace() {
            for (start, name) in
                [("brain_pt_", "BRAIN_TOKEN"), ("brain_cl_", "ID"), ("brain_cs_", "SECRET")]
            {
                if word.starts_with(start) {
                    self.set(name, word);
                }
            }
        }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Runs a command with bash in an environment without the developer's settings.
    pub(super) fn shell(&self, command: &str) -> Output {
        let path = format!(
            "{}:{}:{}",
            self.user.join("bin").display(),
            program("brain").parent().unwrap().display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut shell = Command::new("bash");
        shell.args(["-o", "pipefail", "-c", command]).current_dir(&self.user).env_clear();
        shell
            .envs(HTTP_ON_FREE_PORT)
            .envs(self.home.env.iter().cloned())
            .envs([("TZ", "UTC"), ("LANG", "C.UTF-8"), ("BROWSER", "true")])
            .env("BRAIN_HOME", self.home.path())
            .env("HOME", &self.user)
            .env("PATH", path)
            .envs(self.variables.iter().cloned());
        shell.stdin(Stdio::null()).output().unwrap()
    }

    /// Opens the address that a bookmarklet opens.
    fn open_bookmarklet(&self, text: &str) {
        assert!(text.starts_with("javascript:"), "{text}");
        let path = text.split("127.0.0.1:3131").nth(1).unwrap().split('#').next().unwrap();
        let _ = get(self.home.http_local(), path).expect(200);
    }

    /// Asserts that a command within a sentence exists.
    pub(super) fn assert_command_exists(&self, document: &str, command: &str) {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let plain = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let name = words
            .iter()
            .take_while(|word| !word.starts_with('-'))
            .find(plain)
            .copied()
            .unwrap_or("");
        let options: Vec<&&str> = words.iter().filter(|word| word.starts_with("--")).collect();
        if name.is_empty() {
            let help = self.home.brain(["--help"]).expect(0).stdout;
            assert!(!options.is_empty(), "{document}: `{command}` names no command");
            assert!(
                options.iter().all(|option| help.contains(**option)),
                "{document}: `{command}`"
            );
            return;
        }
        let help = self.home.brain([name, "--help"]).expect(0).stdout;
        for option in options {
            assert!(help.contains(*option), "{document}: `{command}`: no {option}");
        }
        let action =
            words.iter().skip_while(|word| **word != name).nth(1).filter(|word| plain(word));
        if let Some(action) = action.filter(|_| help.contains("ACTION")) {
            assert!(help.contains(*action), "{document}: `{command}`: no {action}");
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for entry in std::fs::read_dir(&self.user).into_iter().flatten().flatten() {
            if entry.path().join("run/brain.sock").exists() {
                let mut command = self.home.command("brain");
                let _ = command.arg("stop").env("BRAIN_HOME", entry.path()).output();
            }
        }
    }
}

/// Asserts that `answer` has the members, types and fixed texts of the example.
fn assert_shape(shown: &Value, answer: &Value, field: &str) {
    match (shown, answer) {
        (Value::Object(shown), Value::Object(answer)) => {
            let names = |of: &serde_json::Map<String, Value>| {
                let mut names: Vec<String> = of.keys().cloned().collect();
                names.sort();
                names
            };
            assert_eq!(names(shown), names(answer), "{field}");
            for (name, value) in shown {
                assert_shape(value, &answer[name], &format!("{field}.{name}"));
            }
        }
        (Value::String(shown), Value::String(answer)) => match shown.split_once('…') {
            Some((begin, _)) if begin.starts_with("brain_") => {
                assert!(answer.starts_with(begin), "{field}");
            }
            Some(_) => assert!(!answer.is_empty(), "{field}"),
            None if shown.starts_with("job_") => assert!(answer.starts_with("job_"), "{field}"),
            None => assert_eq!(shown, answer, "{field}"),
        },
        _ => assert_eq!(
            std::mem::discriminant(shown),
            std::mem::discriminant(answer),
            "{field}: {shown} and {answer}"
        ),
    }
}
