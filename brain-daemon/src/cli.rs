//! The command line of `brain-daemon`.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_protocol::{BackupReply, Fault, FaultCode, SourceId, VERSION};
use clap::{Parser, Subcommand};

use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_config::{Config, LogLevel};
use brain_core as brain;

/// The brain daemon. Started by `brain`, by systemd, or by hand.
#[derive(Parser)]
#[command(
    name = "brain-daemon",
    version = VERSION,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  brain-daemon\n  BRAIN_HOME=~/new brain-daemon --restore \
        brain.redb\n  brain-daemon --verify brain.redb\n  brain-daemon config show"
)]
struct Arguments {
    /// Create the store of an empty home from this backup, and exit
    #[arg(long, value_name = "FILE", group = "offline")]
    restore: Option<PathBuf>,
    /// Create the home's store from its kept copy and the files of its pages, and exit
    #[arg(long, group = "offline")]
    restore_from_home: bool,
    /// Write absent files into the directory of this source, too (with --restore; repeatable)
    #[arg(long, value_name = "SOURCE", requires = "restore")]
    write_source: Vec<String>,
    /// Verify this backup, and exit
    #[arg(long, value_name = "FILE", group = "offline")]
    verify: Option<PathBuf>,
    /// Print JSON (with --restore and --verify)
    #[arg(long, requires = "offline")]
    json: bool,
    /// Serve a temporary home: end when standard input closes, then remove the home
    #[arg(long, conflicts_with = "offline")]
    temporary: bool,
    #[command(subcommand)]
    command: Option<Subcommands>,
}

#[derive(Subcommand)]
enum Subcommands {
    /// Show, check or change the configuration, without starting anything
    Config {
        /// Print JSON
        #[arg(long, global = true)]
        json: bool,
        #[command(subcommand)]
        action: Action,
    },
}

/// An action on the configuration.
#[derive(Subcommand)]
pub enum Action {
    /// Print every key, its value and where the value comes from
    Show,
    /// Check the configuration, or another file, and report what is wrong
    Check {
        /// The file; without it, the configuration with the environment
        file: Option<PathBuf>,
    },
    /// Set a key in the configuration file; comments and order stay
    Set {
        /// The key, for example sources.watch
        key: String,
        /// Its value
        value: String,
    },
    /// Print the path of the configuration file
    Path,
}

/// A parsed command line.
pub enum Command {
    /// Serve in the foreground.
    Serve {
        /// Whether to end with standard input and remove the home.
        temporary: bool,
    },
    /// Create the home's store from a backup.
    Restore {
        /// The backup.
        file: PathBuf,
        /// Sources whose directories may be written.
        write_sources: Vec<String>,
        /// Whether to print JSON.
        json: bool,
    },
    /// Create the home's store from what the home has.
    RestoreFromHome {
        /// Whether to print JSON.
        json: bool,
    },
    /// Verify a backup.
    Verify {
        /// The backup.
        file: PathBuf,
        /// Whether to print JSON.
        json: bool,
    },
    /// Show, check or change the configuration.
    Config {
        /// The action.
        action: Action,
        /// Whether to print JSON.
        json: bool,
    },
}

/// Parses the command line.
///
/// # Errors
/// The usage error; or the help text or the version, if the arguments request it.
pub fn parse() -> Result<Command, clap::Error> {
    let arguments = Arguments::try_parse()?;
    if let Some(file) = arguments.restore {
        let write_sources = arguments.write_source;
        return Ok(Command::Restore { file, write_sources, json: arguments.json });
    }
    if arguments.restore_from_home {
        return Ok(Command::RestoreFromHome { json: arguments.json });
    }
    if let Some(file) = arguments.verify {
        return Ok(Command::Verify { file, json: arguments.json });
    }
    Ok(match arguments.command {
        None => Command::Serve { temporary: arguments.temporary },
        Some(Subcommands::Config { json, action }) => Command::Config { action, json },
    })
}

/// Runs an action on the configuration, and returns the text to print.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] if the configuration, the key or the value is invalid, or the file
/// to check does not exist; [`FaultCode::Io`] if the file cannot be read or written.
pub fn config(home: &Home, action: &Action, json: bool) -> Result<String, Fault> {
    let environment = |name: &str| std::env::var(name).ok();
    match action {
        Action::Path => {
            let path = home.config().display().to_string();
            Ok(if json {
                format!("{}\n", serde_json::json!({ "path": path }))
            } else {
                format!("{path}\n")
            })
        }
        Action::Check { file: None } => {
            Config::load(&home.config(), environment)?;
            let shown = home.config().display().to_string();
            let note = if home.config().exists() { "" } else { " (no file; the defaults apply)" };
            Ok(if json {
                format!("{}\n", serde_json::json!({ "status": "ok", "file": shown }))
            } else {
                format!("{shown}: ok{note}\n")
            })
        }
        Action::Set { key, value } => {
            let written = brain_config::set(&home.config(), key, value)?;
            Ok(if json {
                let path = home.config().display().to_string();
                let reply = serde_json::json!({
                    "status": "set", "key": key, "value": written, "file": path,
                });
                format!("{reply}\n")
            } else {
                format!(
                    "{key} = {written}\na running daemon uses it after: {}\n",
                    brain_protocol::Command::Restart
                )
            })
        }
        Action::Check { file: Some(file) } => {
            if !file.exists() {
                let message = format!("{}: ENOENT: no such file", file.display());
                return Err(Fault::new(FaultCode::InvalidConfig, message)
                    .hint("without a file, the defaults apply"));
            }
            Config::load(file, |_| None)?;
            let shown = file.display().to_string();
            Ok(if json {
                format!("{}\n", serde_json::json!({ "status": "ok", "file": shown }))
            } else {
                format!("{shown}: ok\n")
            })
        }
        Action::Show => {
            let config = Config::load(&home.config(), environment)?;
            Ok(if json { show_json(&config) } else { config.to_toml() })
        }
    }
}

/// Creates the home's store from a backup, and returns a summary.
///
/// # Errors
/// [`FaultCode::InvalidSource`] if the name of a source is invalid, or the fault of the restore;
/// then the home is unchanged. [`FaultCode::Internal`] if only the summary cannot be written.
pub fn restore(
    home: Home,
    config: Config,
    file: &Path,
    write_sources: &[String],
    json: bool,
) -> Result<String, Fault> {
    let sources: Result<Vec<_>, _> =
        write_sources.iter().map(|id| SourceId::parse(id.as_str())).collect();
    let sources = sources.map_err(|e| Fault::new(FaultCode::InvalidSource, e.message))?;
    let root = home.root().display().to_string();
    let clock = Arc::new(SystemClock);
    let restored = brain::restore(home, config, file, &sources, clock, new_store_id())?;
    restore_summary(&restored, &root, json)
}

/// Creates the home's store from what the home has, and returns a summary.
///
/// # Errors
/// The fault of the restore; [`FaultCode::Internal`] if only the summary cannot be written.
pub fn restore_from_home(home: &Home, config: Config, json: bool) -> Result<String, Fault> {
    let root = home.root().display().to_string();
    let restored = brain::restore_from_home(home, config, Arc::new(SystemClock), new_store_id())?;
    restore_summary(&restored, &root, json)
}

/// Returns a random id: the standard library's hasher has random keys.
fn new_store_id() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn restore_summary(restored: &BackupReply, root: &str, json: bool) -> Result<String, Fault> {
    if json {
        let line = serde_json::to_string(restored);
        return line.map(|line| line + "\n").map_err(|e| {
            Fault::new(
                FaultCode::Internal,
                format!("restored, but the summary cannot be written: {e}"),
            )
        });
    }
    for warning in &restored.warnings {
        tracing::warn!("{warning}");
    }
    Ok(format!(
        "restored {} pages, {} deleted ones and {} former versions of {} into {root}\n",
        restored.pages,
        restored.deleted,
        restored.versions,
        restored.made_at.as_deref().unwrap_or("an unknown time"),
    ))
}

/// Verifies a backup, and returns a summary.
///
/// # Errors
/// The reason why the backup is damaged or cannot be read; [`FaultCode::Internal`] if the summary
/// cannot be written.
pub fn verify(file: &Path, json: bool) -> Result<String, Fault> {
    let (reply, directories) = brain::verify_backup(file)?;
    if json {
        let json_fault = |e| {
            Fault::new(
                FaultCode::Internal,
                format!("the backup is sound, but the summary cannot be written: {e}"),
            )
        };
        let mut value = serde_json::to_value(&reply).map_err(json_fault)?;
        value["sources"] = directories
            .into_iter()
            .map(|(id, path)| serde_json::json!({ "id": id, "path": path }))
            .collect();
        return Ok(format!("{value}\n"));
    }
    for warning in &reply.warnings {
        tracing::warn!("{warning}");
    }
    Ok(format!(
        "sound: {} pages, {} deleted ones and {} former versions of {}\n",
        reply.pages,
        reply.deleted,
        reply.versions,
        reply.made_at.as_deref().unwrap_or("an unknown time"),
    ))
}

fn show_json(config: &Config) -> String {
    let keys: Vec<_> = config
        .entries()
        .map(|(key, value, origin)| {
            serde_json::json!({
                "key": format!("{}.{}", key.section, key.name),
                "value": value,
                "origin": origin.to_string(),
                "default": key.default,
                "what": key.description,
            })
        })
        .collect();
    format!("{}\n", serde_json::json!({ "keys": keys }))
}

/// Starts logging to standard error. Standard output is for event lines only.
pub fn start_log(level: LogLevel) {
    let level = match level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
    };
    let by_level = tracing_subscriber::filter::filter_fn(move |meta| {
        // Other libraries log warnings and errors. Warnings of rmcp contain refused calls, so it
        // logs only errors.
        let max_level = match meta.target() {
            target if target.starts_with("brain") => level,
            target if target.starts_with("rmcp") => tracing::Level::ERROR,
            _ => tracing::Level::WARN,
        };
        *meta.level() <= max_level
    });
    use tracing_subscriber::layer::SubscriberExt as _;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    let subscriber = tracing_subscriber::registry().with(lines).with(by_level);
    let _ = tracing::subscriber::set_global_default(subscriber);
}
