//! `brain model`: installs and lists embedding models.

use std::path::Path;

use brain_protocol::{Fault, ModelInstall, ModelInstallReply, ModelList, Models};
use clap::{Args, ValueEnum};

use super::access::check_flags;
use crate::{
    command::{Group, Verb},
    context::Context,
    duration, fail,
    output::{Column, Outcome, Paint, Show, Table, Text, count, format_bytes},
};

/// Arguments of `model`.
#[derive(Debug, Args)]
pub(crate) struct ModelCommand {
    /// What to do with the models
    #[arg(value_enum, value_name = "ACTION", default_value_t = ModelAction::List)]
    action: ModelAction,

    /// Known name, directory, model.safetensors, model.onnx, or https URL (install)
    #[arg(value_name = "FROM", required_if_eq("action", "install"))]
    from: Option<String>,

    /// Expected SHA-256 of the weights (install)
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,

    /// Name to install the model under [default: the model's own name] (install)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// The actions of `model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModelAction {
    /// Download or copy a model; continues an interrupted download
    Install,
    /// List models and the state of search by meaning
    List,
}

impl Verb for ModelCommand {
    const NAME: &'static str = "model";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Install models for search by meaning";
    const EXAMPLES: &'static str = "Examples:
  brain model install all-minilm-l6-v2
  brain model list --json

Known names: all-minilm-l6-v2 and snowflake-arctic-embed-xs for English,
multilingual-e5-small and paraphrase-multilingual-minilm-l12-v2 for other
languages.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        check_flags(
            Self::NAME,
            &self.action,
            &[
                ("a model to install", self.from.is_some(), &[ModelAction::Install]),
                ("--sha256", self.sha256.is_some(), &[ModelAction::Install]),
                ("--name", self.name.is_some(), &[ModelAction::Install]),
            ],
        )?;
        match self.from {
            None => context.run(ModelList),
            Some(from) => context.run(ModelInstall {
                from: absolute_path(from)?,
                sha256: self.sha256,
                name: self.name,
            }),
        }
    }
}

/// Makes a path absolute, because the daemon has another working directory. Returns names and URLs
/// unchanged.
fn absolute_path(from: String) -> Result<String, Fault> {
    let extensions = [".safetensors", ".onnx", ".whl", ".zip"];
    let is_path = from.contains('/')
        || from.starts_with('.')
        || extensions.iter().any(|extension| from.ends_with(extension))
        || Path::new(&from).join("config.json").is_file();
    if from.contains("://") || !is_path {
        return Ok(from);
    }
    let path =
        Path::new(&from).canonicalize().map_err(|e| fail::file("read", Path::new(&from), &e))?;
    fail::path_text(&path, "rename it, or use a symbolic link to it with a UTF-8 path")
}

impl Show for ModelInstallReply {
    fn text(&self, t: &mut Text) {
        let status = if self.already { "is already installed" } else { "is installed" };
        t.line(&format!("{} {status}: {}", self.name, self.message));
        t.field("path", &self.path);
        t.field(
            "size",
            &format!("{}, vectors of {} numbers", format_bytes(self.bytes), self.dimensions),
        );
        t.field("sha256", &self.sha256);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.name);
    }
}

const INSTALLED_COLUMNS: &[Column] = &[
    Column::fixed("USED"),
    Column::flexible("NAME", 12).with_paint(Paint::cyan),
    Column::fixed("SIZE").align_right(),
    Column::fixed("DIMENSIONS").droppable(1).align_right(),
];

const OFFER_COLUMNS: &[Column] = &[
    Column::flexible("CAN BE INSTALLED", 16).with_paint(Paint::cyan),
    Column::fixed("LANGUAGES").droppable(1),
    Column::fixed("SIZE").align_right(),
    Column::fixed("EMBEDDING TIME").align_right(),
];

impl Show for Models {
    fn text(&self, t: &mut Text) {
        let provider = match &self.model {
            Some(model) => format!("{model} ({})", self.provider),
            None => self.provider.clone(),
        };
        t.line(&format!("search by meaning: {provider}"));
        if self.model.is_some() {
            let missing = match self.missing {
                0 => String::new(),
                n => format!(", {} still without", count(n, "page")),
            };
            let (pages, windows) = (count(self.pages, "page"), count(self.windows, "window"));
            t.line(&format!("{pages} with vectors, {windows}{missing}"));
            if self.incomplete > 0 {
                let pages = count(self.incomplete, "page");
                t.line(&format!("{pages} are found by their beginning only until all is done"));
            }
            if let Some(seconds) = self.seconds_left {
                t.line(&format!("about {} left", duration::format_rounded(seconds)));
            }
        }
        let offered: Vec<_> =
            self.known.iter().filter(|known| !is_installed(self, &known.name)).collect();
        if !offered.is_empty() {
            let mut table = Table::new(OFFER_COLUMNS);
            for known in offered {
                let time = duration::format_rounded(known.seconds);
                table.row([&*known.name, &known.languages, &format_bytes(known.bytes), &time]);
            }
            table.write(t);
        }
        if self.installed.is_empty() {
            return;
        }
        t.raw_line("");
        let mut table = Table::new(INSTALLED_COLUMNS);
        for model in &self.installed {
            let used = if model.used { "*" } else { "" };
            let dimensions = model.dimensions.map(|n| n.to_string()).unwrap_or_default();
            table.row([used, &model.name, &format_bytes(model.bytes), &dimensions]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for model in &self.installed {
            t.line(&model.name);
        }
    }

    fn failures(&self) -> Vec<String> {
        let models = self.installed.iter().filter_map(|model| {
            model
                .problem
                .as_ref()
                .map(|problem| format!("{} cannot be used: {problem}", model.name))
        });
        self.problem.iter().cloned().chain(models).collect()
    }

    fn notes(&self) -> Vec<String> {
        if self.provider == "none" && self.installed.is_empty() {
            return vec![
                "no model is installed; install one: brain model install all-minilm-l6-v2".into(),
            ];
        }
        Vec::new()
    }
}

/// Returns whether a model of this name is installed.
fn is_installed(models: &Models, name: &str) -> bool {
    models.installed.iter().any(|model| model.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::width;
    use brain_protocol::{KnownModelRow, ModelRow};

    #[test]
    fn a_list_fits_60_columns_and_reports_problems() {
        let row = |name: &str, problem: Option<&str>| ModelRow {
            name: name.into(),
            path: format!("/home/ada/.brain/models/{name}"),
            bytes: 91_000_000,
            dimensions: Some(384),
            used: problem.is_none(),
            problem: problem.map(str::to_owned),
        };
        let models = Models {
            provider: "local".into(),
            model: Some("all-minilm-l6-v2".into()),
            pages: 1200,
            windows: 5300,
            missing: 7,
            incomplete: 30,
            seconds_left: Some(90),
            problem: None,
            installed: vec![
                row("all-minilm-l6-v2", None),
                row("paraphrase-multilingual-minilm-l12-v2", Some("config.json is damaged")),
            ],
            known: vec![KnownModelRow {
                name: "multilingual-e5-small".into(),
                languages: "100 languages; made for questions".into(),
                bytes: 470_000_000,
                seconds: 125,
            }],
        };
        let mut t = Text::plain(Some(60));
        models.text(&mut t);
        assert!(t.as_str().lines().all(|line| width(line) <= 60), "{}", t.as_str());
        for part in [
            "all-minilm-l6-v2 (local)",
            "7 pages still without",
            "30 pages are found by",
            "about 1 min 30 s left",
            "*",
            "384",
            "2 min 5 s",
        ] {
            assert!(t.as_str().contains(part), "{part:?} is missing:\n{}", t.as_str());
        }
        assert_eq!(
            models.failures(),
            ["paraphrase-multilingual-minilm-l12-v2 cannot be used: config.json is damaged"]
        );
        let without_models =
            Models { provider: "none".into(), model: None, installed: Vec::new(), ..models };
        assert_eq!(
            without_models.notes(),
            ["no model is installed; install one: brain model install all-minilm-l6-v2"]
        );
    }

    #[test]
    fn paths_become_absolute_and_names_stay() {
        for from in ["all-minilm-l6-v2", "https://huggingface.co/a/b", "http://x/y"] {
            assert_eq!(absolute_path(from.into()).as_deref(), Ok(from));
        }
        assert!(absolute_path("./src".into()).is_ok_and(|path| path.starts_with('/')));
        for missing in ["./no-such-directory", "no-such.safetensors", "/no/such"] {
            assert!(absolute_path(missing.into()).is_err(), "{missing}");
        }
    }
}
