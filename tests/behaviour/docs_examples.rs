//! Runs the examples of `ingest.md`, `http-api.md`, `tunnel.md`, `access.md`, `editing.md` and
//! `terminal.md` with a real daemon. Every command must work as documented, and every answer must
//! have the documented shape.
//!
//! The test replaces addresses, tokens and example names by its own values. It does not run
//! commands within sentences, but their names and options must exist. Of `mcp.md`, it checks only
//! such commands and the names of tools and prompts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use brain_tests::http::get;
use brain_tests::mcp::mcp;
use brain_tests::{Daemon, TestHome, program, skip};
use serde_json::{Value, json};

/// An example in a document.
#[derive(Debug)]
enum Example {
    /// Shell commands.
    Shell(String),
    /// A JSON answer.
    Json(Value),
    /// A configuration.
    Toml(String),
    /// A `brain` command within a sentence.
    Inline(String),
}

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Returns the examples of a document in order.
fn examples(text: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut block: Option<(String, String)> = None;
    let mut prose = String::new();
    let mut indented = String::new();
    for line in text.lines().chain([""]) {
        if let Some((kind, inner)) = &mut block {
            if line.trim_start().starts_with("```") {
                found.push(fenced(kind, inner));
                block = None;
            } else {
                inner.push_str(line.trim_start_matches("   "));
                inner.push('\n');
            }
            continue;
        }
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            inline(&std::mem::take(&mut prose), &mut found);
            block = Some((kind.trim().to_owned(), String::new()));
        } else if let Some(code) = line.strip_prefix("    ") {
            inline(&std::mem::take(&mut prose), &mut found);
            indented.push_str(code);
            indented.push('\n');
        } else {
            if !indented.is_empty() && !line.is_empty() {
                found.push(fenced("sh", &std::mem::take(&mut indented)));
            }
            prose.push_str(line);
            prose.push('\n');
        }
    }
    if !indented.is_empty() {
        found.push(fenced("sh", &indented));
    }
    inline(&prose, &mut found);
    found
}

fn fenced(kind: &str, inner: &str) -> Example {
    match kind {
        "json" => {
            Example::Json(serde_json::from_str(inner).unwrap_or_else(|e| panic!("{e}: {inner}")))
        }
        "toml" => Example::Toml(inner.to_owned()),
        "" | "sh" => Example::Shell(inner.to_owned()),
        other => panic!("examples in \"{other}\" cannot be run: {inner}"),
    }
}

/// Collects commands and answers in backticks within sentences.
fn inline(prose: &str, found: &mut Vec<Example>) {
    for code in prose.split('`').skip(1).step_by(2) {
        let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
        if code.starts_with("brain ") {
            found.push(Example::Inline(code));
        } else if code.starts_with("{\"")
            && let Ok(answer) = serde_json::from_str(&code)
        {
            found.push(Example::Json(answer));
        }
    }
}

/// Asserts that `answer` has the members, types and fixed texts of the documented answer.
fn assert_shape(documented: &Value, answer: &Value, field: &str) {
    match (documented, answer) {
        (Value::Object(documented), Value::Object(answer)) => {
            let names = |object: &serde_json::Map<String, Value>| {
                let mut names: Vec<String> = object.keys().cloned().collect();
                names.sort();
                names
            };
            assert_eq!(names(documented), names(answer), "{field}");
            for (name, value) in documented {
                assert_shape(value, &answer[name], &format!("{field}.{name}"));
            }
        }
        (Value::String(documented), Value::String(answer)) => match documented.split_once('…') {
            Some((begin, _)) if begin.starts_with("brain_") => {
                assert!(answer.starts_with(begin), "{field}");
            }
            Some(_) => assert!(!answer.is_empty(), "{field}"),
            None if documented.starts_with("job_") => assert!(answer.starts_with("job_"), "{field}"),
            None => assert_eq!(documented, answer, "{field}"),
        },
        _ => assert_eq!(
            std::mem::discriminant(documented),
            std::mem::discriminant(answer),
            "{field}: {documented} and {answer}"
        ),
    }
}

/// A reader who runs the examples.
struct Reader {
    home: TestHome,
    _daemon: Daemon,
    /// The home directory of the user, `~`.
    user_home: PathBuf,
    /// Example names and their values in the test.
    variables: Vec<(String, String)>,
    /// The last answer of a command, if it was JSON and no example has used it yet.
    last_answer: Option<Value>,
}

impl Reader {
    fn new() -> Self {
        let mut home = TestHome::new();
        home.env.push(("BRAIN_HTTP_PUBLIC".into(), "127.0.0.1:0".into()));
        let daemon = home.daemon();
        let user_home = home.outside().join("user");
        std::fs::create_dir_all(user_home.join(".config")).unwrap();
        std::fs::create_dir_all(user_home.join("notes/hooks")).unwrap();
        let admin = std::fs::read_to_string(home.path().join("secrets/admin-token")).unwrap();
        let variables = vec![("ADMIN".into(), admin.trim().to_owned())];
        Self { home, _daemon: daemon, user_home, variables, last_answer: None }
    }

    /// Runs shell commands, which may span lines.
    fn run(&mut self, lines: &str) {
        let whole = lines.replace("\\\n", " ");
        for line in
            whole.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(bookmarklet) = line.strip_prefix("javascript:") {
                let path =
                    bookmarklet.split("127.0.0.1:3131").nth(1).unwrap().split('#').next().unwrap();
                let _ = get(self.home.http_local(), path).expect(200);
                continue;
            }
            self.run_line(line);
        }
    }

    fn run_line(&mut self, line: &str) {
        let (local, public) =
            (self.home.http_local().to_string(), self.home.http_public().to_string());
        let token = self.variables.iter().find(|(name, _)| name == "BRAIN_TOKEN");
        let token = token.map_or_else(String::new, |(_, token)| token.clone());
        let command = line
            .replace("127.0.0.1:3131", &local)
            .replace("127.0.0.1:8765", &public)
            .replace("brain_pt_…", &token)
            .replace(" NAME", " server")
            .replace(" SCOPES", " read");
        if let Some(assignment) = command.strip_prefix("export ") {
            let (name, value) = assignment.split_once('=').unwrap();
            assert!(!value.is_empty(), "{line}: nothing was printed to export");
            self.variables.push((name.to_owned(), value.to_owned()));
            return;
        }
        let path = format!(
            "{}:{}",
            program("brain").parent().unwrap().display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut shell = Command::new("bash");
        shell.args(["-o", "pipefail", "-c", &command]).envs(self.home.env.iter().cloned());
        shell
            .env("BRAIN_HOME", self.home.path())
            .env("BRAIN_NO_START", "1")
            .env("HOME", &self.user_home);
        shell.env("PATH", path).envs(self.variables.iter().cloned()).stdin(Stdio::null());
        let output = shell.output().unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // Without a configured tunnel these commands may fail, but not with 2, a usage error.
        let expected: &[i32] = if line.starts_with("brain tunnel") { &[0, 1, 4] } else { &[0] };
        assert!(
            expected.contains(&output.status.code().unwrap()),
            "{line}: {}\n{out}{err}",
            output.status
        );
        if let Ok(answer) = serde_json::from_str::<Value>(&out) {
            assert!(answer.get("error").is_none(), "{line}: {answer}");
            self.last_answer = Some(answer);
        }
        for word in out.split_whitespace() {
            for (start, name) in
                [("brain_pt_", "BRAIN_TOKEN"), ("brain_cl_", "ID"), ("brain_cs_", "SECRET")]
            {
                if word.starts_with(start) {
                    self.variables.retain(|(known, _)| known != name);
                    self.variables.push((name.to_owned(), word.to_owned()));
                }
            }
        }
    }

    /// Asserts that a command within a sentence exists.
    fn assert_command_exists(&self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let is_word = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let name = words
            .iter()
            .take_while(|word| !word.starts_with('-'))
            .find(is_word)
            .copied()
            .unwrap_or("");
        assert!(!name.is_empty(), "`{command}` names no command");
        let help = self.home.brain([name, "--help"]).expect(0).stdout;
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "`{command}`: brain {name} has no {option}");
        }
        let action =
            words.iter().skip_while(|word| **word != name).nth(1).filter(|word| is_word(word));
        if let Some(action) = action.filter(|_| help.contains("ACTION")) {
            assert!(help.contains(*action), "`{command}`: brain {name} has no {action}");
        }
    }

    fn run_document(&mut self, name: &str) {
        let found = examples(&document(name));
        assert!(found.len() > 3, "{name}: {found:?}");
        for example in found {
            match example {
                Example::Shell(lines) => self.run(&lines),
                Example::Json(documented) => {
                    if let Some(answer) = self.last_answer.take() {
                        assert_shape(&documented, &answer, name);
                    }
                }
                Example::Toml(text) => {
                    let file = self.home.outside().join("example.toml");
                    std::fs::write(&file, text).unwrap();
                    self.home.brain(["config", "check", file.to_str().unwrap()]).expect(0);
                }
                Example::Inline(command) => self.assert_command_exists(&command),
            }
        }
    }
}

fn has_curl() -> bool {
    let found =
        Command::new("curl").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skip("the examples of the documents, because curl is not installed");
    }
    found
}

#[test]
fn every_example_of_ingest_runs() {
    if has_curl() {
        Reader::new().run_document("ingest.md");
    }
}

#[test]
fn every_example_of_the_http_api_runs() {
    if has_curl() {
        let mut reader = Reader::new();
        reader.home.put("people/ada-lovelace", "# Ada Lovelace\n\nWrote a program.\n");
        reader.run_document("http-api.md");
    }
}

#[test]
fn every_example_of_access_runs() {
    if has_curl() {
        let mut reader = Reader::new();
        // access.md revokes the token `phone`. Only its table, whose commands are not run, creates
        // that token.
        let _ = reader.home.token("phone", "write", &[]);
        reader.run_document("access.md");
    }
}

#[test]
fn every_example_of_the_terminal_runs() {
    let mut reader = Reader::new();
    reader.home.put("projects/latency", "---\ntype: idea\n---\nThe latency budget\n\n- [ ] ask\n");
    reader.run_document("terminal.md");
}

#[test]
fn every_example_of_editing_runs() {
    Reader::new().run_document("editing.md");
}

#[test]
fn every_example_of_tunnel_runs() {
    Reader::new().run_document("tunnel.md");
}

#[test]
fn commands_tools_and_prompts_of_mcp_md_exist() {
    let reader = Reader::new();
    let text = document("mcp.md");
    for example in examples(&text) {
        if let Example::Inline(command) = example {
            reader.assert_command_exists(&command);
        }
    }
    // The table of tools matches the tools and scopes that a client sees.
    let client_with = |name, scopes| mcp(&reader.home, &reader.home.token(name, scopes, &[]));
    let listed = |client: &brain_tests::mcp::Mcp| -> Vec<String> {
        let tools = client.result("tools/list", json!({}))["tools"].clone();
        let mut names: Vec<String> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    let rows = |scopes: &[&str]| {
        let rows = text.lines().filter_map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            let (name, scope) =
                (cells.next()?.strip_prefix('`')?.strip_suffix('`')?, cells.next()?);
            scopes.contains(&scope).then(|| name.to_owned())
        });
        let mut names: Vec<String> = rows.collect();
        names.sort();
        names
    };
    assert_eq!(rows(&["read"]), listed(&client_with("reader", "read")));
    let (writer, all) = (client_with("writer", "read write"), rows(&["read", "write"]));
    assert_eq!(all, listed(&writer));
    let prompts = writer.result("prompts/list", json!({}))["prompts"].clone();
    for prompt in prompts.as_array().unwrap() {
        assert!(text.contains(&format!("`{}`", prompt["name"].as_str().unwrap())), "{prompt}");
    }
    // Methods of missing capabilities do not exist.
    for method in ["resources/subscribe", "logging/setLevel", "tasks/list"] {
        let answer = writer.ask(method, json!({ "uri": "brain://page/x", "level": "info" }));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}
