//! The answers to the questions of `brain setup`: from options, the terminal, or defaults.

use std::{
    env,
    ffi::OsStr,
    io::{self, BufRead},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use brain_protocol::{Fault, FaultCode, SourceId};

use super::{SetupCommand, YesNo, server};
use crate::{
    ai_clients::{AiClient, CLIENTS, Plan},
    fail,
    home::Home,
    output::{clean, write_stdout},
};

/// The names of models that `brain model install` knows.
const MODELS: [&str; 4] = [
    "all-minilm-l6-v2",
    "snowflake-arctic-embed-xs",
    "multilingual-e5-small",
    "paraphrase-multilingual-minilm-l12-v2",
];

/// Names of files that a home can have before its daemon starts for the first time.
const OWN_FILES: [&str; 3] = ["run", "setup.json", "config.toml"];

/// The answers to the questions.
pub(super) struct Answers {
    pub(super) home: Home,
    /// Whether systemd runs the daemon.
    pub(super) service: bool,
    /// The directory of notes to keep in sync.
    pub(super) notes: Option<PathBuf>,
    /// The chosen clients, each with its plan.
    pub(super) plans: Vec<ClientPlan>,
    /// The model for search by meaning.
    pub(super) model: Option<String>,
    /// Whether foreign entries of AI clients may be replaced.
    pub(super) replace: bool,
}

impl Answers {
    /// Takes the answers from the options, and asks for the others at a terminal. Returns `None` if
    /// the user ends the questions.
    ///
    /// # Errors
    /// `usage` if an answer is missing without a terminal and without `--yes`. The fault of an
    /// option that cannot be used.
    pub(super) fn collect(setup: &SetupCommand, is_terminal: bool) -> Result<Option<Self>, Fault> {
        if !is_terminal && !setup.yes {
            let missing = setup.missing();
            if !missing.is_empty() {
                return Err(fail::usage(format!(
                    "brain setup asks questions, and this is no terminal; missing: {}",
                    missing.join(", ")
                ))
                .hint("give these options, or --yes for the defaults: brain setup --help"));
            }
        }
        let mut questions = Questions { number: 0, is_asking: is_terminal && !setup.yes };
        match questions.ask_all(setup) {
            Ok(answers) => Ok(Some(answers)),
            Err(NoAnswers::Quit) => Ok(None),
            Err(NoAnswers::Fault(fault)) => Err(fault),
        }
    }
}

impl SetupCommand {
    /// Returns the options that answer questions and are not given.
    fn missing(&self) -> Vec<&'static str> {
        let options = [
            ("--home", self.home.is_some()),
            ("--service", self.service.is_some()),
            ("--notes", self.notes.is_some()),
            ("--connect", !self.connect.is_empty()),
            ("--model", self.model.is_some()),
        ];
        options.iter().filter(|(_, is_given)| !is_given).map(|(name, _)| *name).collect()
    }
}

/// A client with its plan, or why it cannot be connected.
pub(super) type ClientPlan = (&'static AiClient, Result<Plan, Fault>);

/// Why there are no answers.
enum NoAnswers {
    /// The user closed the input.
    Quit,
    /// An option or a default cannot be used, or the terminal failed.
    Fault(Fault),
}

impl From<Fault> for NoAnswers {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Asks one question after the other.
struct Questions {
    /// The number of the current question, from 1.
    number: usize,
    /// Whether to ask the user. Otherwise, a question without an option gets its default.
    is_asking: bool,
}

impl Questions {
    fn ask_all(&mut self, setup: &SetupCommand) -> Result<Answers, NoAnswers> {
        if self.is_asking {
            print("Five questions. Enter takes the answer in brackets; Ctrl-D changes nothing.\n")?;
        }
        let default = parse_home(None)?;
        let home = self.answer(
            setup.home.as_ref().map(|dir| dir.display().to_string()),
            "Where do your pages live?",
            &default.dir().display().to_string(),
            |text| parse_home(Some(Path::new(text))),
        )?;
        let service_default = if has_systemd() { "yes" } else { "no" };
        let service = setup.service.map(|choice| match choice {
            YesNo::Yes => "yes".to_owned(),
            YesNo::No => "no".to_owned(),
        });
        let service = self.answer(
            service,
            "Should systemd run brain, from login on? Without it, commands start brain.",
            service_default,
            parse_yes_or_no,
        )?;
        let notes = self.answer(
            setup.notes.clone(),
            "Which directory of markdown notes should brain keep in sync?",
            "none",
            |text| parse_notes(text, &home),
        )?;
        let (plans, may_replace) = self.ask_clients(setup, &home)?;
        let model = self.answer(
            setup.model.clone(),
            "Which model for search by meaning? all-minilm-l6-v2 is a download of 91 MB.",
            "none",
            parse_model,
        )?;
        Ok(Answers { home, service, notes, plans, model, replace: setup.replace || may_replace })
    }

    /// Returns the parsed option, the answer of the user, or the default.
    fn answer<T>(
        &mut self,
        option: Option<String>,
        question: &str,
        default: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Result<T, NoAnswers> {
        self.number += 1;
        if let Some(option) = option {
            return Ok(parse(&option)?);
        }
        if !self.is_asking {
            return Ok(parse(default)?);
        }
        loop {
            print(&format!("\n{} of 5  {question} [{default}] ", self.number))?;
            let Some(line) = read_line() else { return Err(NoAnswers::Quit) };
            let text = if line.is_empty() { default } else { &line };
            match parse(text) {
                Ok(answer) => return Ok(answer),
                Err(fault) => {
                    let hint = fault.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                    print(&format!("        {}{hint}\n", fault.message))?;
                }
            }
        }
    }

    /// Asks which clients to connect, after it shows what each connection changes. Returns the
    /// plans of the chosen clients, and whether the user agreed to replace a foreign entry.
    fn ask_clients(
        &mut self,
        setup: &SetupCommand,
        home: &Home,
    ) -> Result<(Vec<ClientPlan>, bool), NoAnswers> {
        let server = server(home)?;
        let installed: Vec<&'static AiClient> =
            CLIENTS.iter().filter(|client| client.is_installed()).collect();
        let names: Vec<&str> = installed.iter().map(|client| client.name).collect();
        if self.is_asking && setup.connect.is_empty() {
            print(&format!("\n        AI clients on this machine: {}\n", joined_names(&names)))?;
            for client in &installed {
                let lines = match client.plan(&server) {
                    Ok(plan) => plan.describe(),
                    Err(fault) => vec![fault.message],
                };
                print(&format!("        {} {}\n", client.label, lines.join("\n          ")))?;
            }
        }
        let option = (!setup.connect.is_empty()).then(|| setup.connect.join(","));
        let default = if installed.is_empty() { "none" } else { "all" };
        let chosen = self.answer(
            option,
            "Which of them should use brain? Names, all, or none",
            default,
            |text| parse_clients(text, &installed),
        )?;
        let mut plans = Vec::new();
        let mut may_replace = false;
        for client in chosen {
            let plan = client.plan(&server);
            let foreign = plan.as_ref().ok().and_then(|plan| plan.other_target.clone());
            if let Some(foreign) = foreign.filter(|_| self.is_asking && !setup.replace) {
                print(&format!(
                    "\n        {} has another \"brain\", for {foreign}\n",
                    client.label
                ))?;
                print("        Replace it? [no] ")?;
                match read_line() {
                    None => return Err(NoAnswers::Quit),
                    Some(line) if line.to_lowercase().starts_with('y') => may_replace = true,
                    Some(_) => continue,
                }
            }
            plans.push((client, plan));
        }
        Ok((plans, may_replace))
    }
}

/// Returns the names as a list, or a text that says that there are none.
fn joined_names(names: &[&str]) -> String {
    if names.is_empty() { "none was found".to_owned() } else { names.join(", ") }
}

/// Prints a text to standard output.
fn print(text: &str) -> Result<(), Fault> {
    write_stdout(text.as_bytes()).map_err(|e| fail::stdout(&e))
}

/// Returns the typed line, or `None` at the end of the input.
fn read_line() -> Option<String> {
    let mut line = String::new();
    let result = io::stdin().lock().read_line(&mut line);
    result.is_ok_and(|bytes| bytes > 0).then(|| line.trim().to_owned())
}

/// Returns the home at `dir`, or without `dir` the home of the environment.
///
/// # Errors
/// `conflict` if `dir` is not the default home and has files that are not brain's. `io` if `dir`
/// cannot be used.
pub(super) fn parse_home(dir: Option<&Path>) -> Result<Home, Fault> {
    let Some(dir) = dir else { return Home::find() };
    let path =
        std::path::absolute(with_home_expanded(dir)).map_err(|e| fail::file("use", dir, &e))?;
    if path.exists() && !path.is_dir() {
        return Err(Fault::new(FaultCode::Io, format!("{} is not a directory", path.display()))
            .hint("give a directory, which may not exist yet"));
    }
    let is_brain = Home::at(&path).has_store();
    let is_ours = |name: &OsStr| OWN_FILES.iter().any(|own| name == *own);
    let is_empty = std::fs::read_dir(&path)
        .map_or(true, |entries| entries.flatten().all(|entry| is_ours(&entry.file_name())));
    let is_default = Home::find().is_ok_and(|found| found.dir() == path);
    if !is_brain && !is_empty && !is_default {
        return Err(Fault::new(FaultCode::Conflict, format!("{} has other files", path.display()))
            .hint(
                "brain needs a directory of its own; your notes are the third question (--notes)",
            ));
    }
    Ok(Home::at(&path))
}

/// Replaces `~` at the beginning of `path`, because no shell did it.
fn with_home_expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_owned(),
    }
}

fn parse_yes_or_no(text: &str) -> Result<bool, Fault> {
    match text.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err(fail::usage(format!("\"{}\" is neither yes nor no", clean(text)))),
    }
}

/// Parses the directory of notes, or `none`.
fn parse_notes(text: &str, home: &Home) -> Result<Option<PathBuf>, Fault> {
    if text == "none" {
        return Ok(None);
    }
    let path = with_home_expanded(Path::new(text));
    let dir = path.canonicalize().map_err(|e| fail::file("read", &path, &e))?;
    if !dir.is_dir() {
        return Err(Fault::new(FaultCode::Io, format!("{} is not a directory", dir.display()))
            .hint("give a directory of markdown files, or none"));
    }
    if dir.starts_with(home.dir()) || home.dir().starts_with(&dir) {
        return Err(Fault::new(
            FaultCode::Conflict,
            format!("{} and brain's home {} overlap", dir.display(), home.dir().display()),
        )
        .hint("give a directory outside of the home, or none"));
    }
    Ok(Some(dir))
}

/// Returns the clients that the text names. They must be installed.
fn parse_clients(
    text: &str,
    installed: &[&'static AiClient],
) -> Result<Vec<&'static AiClient>, Fault> {
    let names: Vec<&str> =
        text.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty()).collect();
    match names.as_slice() {
        ["none"] => return Ok(Vec::new()),
        ["all"] => return Ok(installed.to_vec()),
        _ => {}
    }
    let mut chosen = Vec::new();
    for name in names {
        let Some(client) = AiClient::find(name) else {
            let known_names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
            return Err(fail::usage(format!("\"{}\" is no client that brain knows", clean(name)))
                .hint(format!("known: {}, all, none", known_names.join(", "))));
        };
        if !installed.iter().any(|found| found.name == client.name) {
            let found_names: Vec<&str> = installed.iter().map(|client| client.name).collect();
            return Err(Fault::new(
                FaultCode::Conflict,
                format!("{} is not installed on this machine", client.label),
            )
            .hint(format!("found: {}", joined_names(&found_names))));
        }
        if !chosen.iter().any(|known: &&AiClient| known.name == client.name) {
            chosen.push(client);
        }
    }
    Ok(chosen)
}

/// Parses the name, path or URL of a model, or `none`.
fn parse_model(text: &str) -> Result<Option<String>, Fault> {
    match text {
        "none" => Ok(None),
        _ if MODELS.contains(&text) || text.contains('/') => Ok(Some(text.to_owned())),
        _ => Err(fail::usage(format!("\"{}\" is no model that brain knows", clean(text)))
            .hint(format!("known: {}, none; or a path, or a URL", MODELS.join(", ")))),
    }
}

/// Returns whether a systemd manager of this user runs.
fn has_systemd() -> bool {
    let mut command = Command::new("systemctl");
    command.args(["--user", "show-environment"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns a free name for the source of a directory: the last part of its path.
pub(super) fn source_name(dir: &Path, taken: &[&str]) -> String {
    let last = dir.file_name().map(|name| name.to_string_lossy().to_lowercase());
    let letters = last.unwrap_or_default();
    let words = letters.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let base = words.collect::<Vec<_>>().join("-");
    let is_valid = SourceId::parse(base.as_str()).is_ok();
    let base = if is_valid { base } else { "notes".to_owned() };
    let is_free = |name: &String| !taken.contains(&name.as_str()) && name != SourceId::DEFAULT;
    let numbered = (2..).map(|n| format!("{base}-{n}"));
    std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_named_after_its_directory() {
        for (dir, taken, name) in [
            ("/home/ann/My Notes", &[][..], "my-notes"),
            ("/home/ann/notes", &["notes", "notes-2"], "notes-3"),
            ("/", &[], "notes"),
            ("/x/日本", &[], "notes"),
            ("/x/default", &[], "default-2"),
        ] {
            assert_eq!(source_name(Path::new(dir), taken), name, "{dir}");
        }
    }

    #[test]
    fn wrong_answers_are_refused_with_a_reason() {
        for (fault, part) in [
            (parse_yes_or_no("perhaps").err(), "neither yes nor no"),
            (parse_model("gpt").err(), "no model"),
            (parse_clients("emacs", &[]).err(), "no client"),
            (parse_clients("cursor", &[]).err(), "not installed"),
            (parse_notes("/no/such/dir", &Home::at(Path::new("/b"))).err(), "cannot read"),
        ] {
            let has_part = fault.as_ref().is_some_and(|fault| fault.message.contains(part));
            assert!(has_part, "{fault:?}");
        }
        assert_eq!(parse_model("none"), Ok(None));
        assert!(parse_clients("none", &[]).is_ok_and(|chosen| chosen.is_empty()));
    }
}
