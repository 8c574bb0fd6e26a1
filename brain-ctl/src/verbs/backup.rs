//! `brain backup`: backs up the store, lists backups, verifies a backup, and restores one.
//!
//! The daemon writes and lists backups. To verify or restore one, this command runs `brain-daemon`
//! as a child process.

use std::{
    ffi::OsStr,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use brain_protocol::{BackupListReply, BackupReply, Fault, FaultCode, SourceId};
use clap::Args;
use serde::Deserialize;

use super::export::absolute_utf8_path;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail, input,
    output::{Column, Outcome, Show, Table, Text, clean, count, format_bytes, format_to_minute},
    start,
};

/// Arguments of `backup`.
#[derive(Debug, Args)]
#[command(override_usage = "brain backup [OPTIONS] create FILE\n       \
                      brain backup [OPTIONS] list\n       \
                      brain backup [OPTIONS] verify FILE\n       \
                      brain backup [OPTIONS] restore FILE\n       \
                      brain backup [OPTIONS] restore --from-home")]
pub(crate) struct BackupCommand {
    /// Action and file. `create` writes a new FILE; `verify` and `restore` read FILE; `list` takes
    /// no file. `brain backup FILE` is the same as `create FILE`
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    action_and_file: Vec<PathBuf>,

    /// Also write missing files of this source (restore; repeatable)
    #[arg(long, value_name = "SOURCE")]
    write_source: Vec<String>,

    /// Restore the store of this home from its copy in kept/ and the files in pages/ (restore)
    #[arg(long, conflicts_with = "write_source")]
    from_home: bool,
}

/// Result of verifying a backup.
#[derive(Debug, Deserialize)]
struct VerifiedBackup {
    #[serde(flatten)]
    reply: BackupReply,
    /// Sources outside the home.
    sources: Vec<SourceDirectory>,
}

/// A source outside the home.
#[derive(Debug, Deserialize)]
struct SourceDirectory {
    id: SourceId,
    path: String,
}

impl Verb for BackupCommand {
    const NAME: &'static str = "backup";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Create, list, verify or restore backups";
    const EXAMPLES: &'static str = "Examples:
  brain backup create ~/brain-monday.redb
  BRAIN_HOME=~/new-brain brain backup restore ~/brain-monday.redb";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let action = self.action_and_file.first().and_then(|word| word.to_str());
        match (action, self.action_and_file.as_slice()) {
            (Some("restore"), [_, file]) if !self.from_home => {
                return self.restore(context, &absolute_path(file)?);
            }
            (Some("restore"), [_]) if self.from_home => {
                let reply = start::run_program(&[OsStr::new("--restore-from-home")])?;
                return context.show(&parse::<BackupReply>(reply)?);
            }
            _ if self.from_home => {
                return Err(fail::usage("--from-home is only for a restore, without a file")
                    .hint("brain backup restore --from-home"));
            }
            _ if !self.write_source.is_empty() => {
                return Err(fail::usage("--write-source is only for a restore")
                    .hint("brain backup restore FILE --write-source SOURCE"));
            }
            (Some("verify"), [_, file]) => {
                return context.show(&verify(&absolute_path(file)?)?.reply);
            }
            (Some("list"), [_]) => return context.run(brain_protocol::BackupList),
            (Some("create"), [_, file]) => {
                let path = absolute_utf8_path(file)?;
                return context.run(brain_protocol::Backup { path });
            }
            (Some(action @ ("create" | "verify" | "restore")), [_]) => {
                let purpose = if action == "create" { "to write" } else { "to read" };
                let message = format!("`brain backup {action}` needs the file {purpose}");
                return Err(fail::usage(message).hint(format!(
                    "brain backup {action} FILE; \
                     to write a file of that name: brain backup ./{action}"
                )));
            }
            (_, [_]) => {}
            _ => {
                let message = "give one FILE to create, verify or restore, and none to list";
                return Err(fail::usage(message).hint(
                    "brain backup create FILE, brain backup list, brain backup verify FILE, \
                     brain backup restore FILE",
                ));
            }
        }
        context.run(brain_protocol::Backup { path: absolute_utf8_path(&self.action_and_file[0])? })
    }
}

impl BackupCommand {
    /// Restores `file` into the home. Files of a source outside the home are written only if the
    /// source is named on the command line or confirmed at the terminal.
    fn restore(&self, context: &Context, file: &Path) -> Result<Outcome, Fault> {
        let mut sources = Vec::new();
        for source in &self.write_source {
            sources.extend(fail::parse_source(Some(source))?);
        }
        if sources.is_empty() && !context.json && io::stdin().is_terminal() {
            for source in verify(file)?.sources {
                match confirm(&source)
                    .map_err(|e| fail::file("read", Path::new("the terminal"), &e))?
                {
                    Some(true) => sources.push(source.id),
                    Some(false) => {}
                    None => break,
                }
            }
        }
        let mut arguments: Vec<&OsStr> = vec![OsStr::new("--restore"), file.as_os_str()];
        for source in &sources {
            arguments.extend([OsStr::new("--write-source"), OsStr::new(source.as_str())]);
        }
        let reply: BackupReply = parse(start::run_program(&arguments)?)?;
        context.show(&reply)
    }
}

/// Verifies a backup: runs `brain-daemon --verify`.
fn verify(file: &Path) -> Result<VerifiedBackup, Fault> {
    parse(start::run_program(&[OsStr::new("--verify"), file.as_os_str()])?)
}

/// Converts the answer of `brain-daemon`.
fn parse<T: for<'de> Deserialize<'de>>(answer: serde_json::Value) -> Result<T, Fault> {
    serde_json::from_value(answer).map_err(|e| {
        Fault::new(FaultCode::BadFrame, format!("brain-daemon returned an unexpected answer: {e}"))
            .hint("install brain and brain-daemon of the same version")
    })
}

/// Returns the absolute path of an existing file.
///
/// # Errors
/// `io` if the file does not exist or its directory cannot be read.
fn absolute_path(file: &Path) -> Result<PathBuf, Fault> {
    file.canonicalize()
        .map_err(|e| fail::file("read", file, &e).hint("name a file that `brain backup` wrote"))
}

/// Asks whether to write missing files of a source. Returns `None` at the end of input.
fn confirm(source: &SourceDirectory) -> io::Result<Option<bool>> {
    // The path comes from the backup, so it is untrusted, and the question is cleaned.
    let answer = input::confirm(&format!(
        "write missing files of source \"{}\" to {}?",
        source.id, source.path
    ))?;
    if answer.is_none() {
        writeln!(io::stderr())?;
    }
    Ok(answer)
}

const COLUMNS: &[Column] =
    &[Column::fixed("MADE"), Column::fixed("SIZE").align_right(), Column::flexible("FILE", 20)];

impl Show for BackupListReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for backup in &self.backups {
            table.row([
                &*format_to_minute(&backup.made_at),
                &format_bytes(backup.bytes),
                &backup.path,
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for backup in &self.backups {
            t.raw_line(&backup.path);
        }
    }

    fn notes(&self) -> Vec<String> {
        match (&self.dir, self.backups.is_empty()) {
            (None, _) => {
                vec!["no scheduled backups; to enable them: brain config set backup.dir DIR".into()]
            }
            (Some(dir), true) => vec![format!("no backups of this brain in {}", clean(dir))],
            (Some(_), false) => Vec::new(),
        }
    }
}

impl Show for BackupReply {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} {} ({})", self.status, self.path, format_bytes(self.bytes)));
        t.field("pages", &format!("{}, and {} deleted", self.pages, self.deleted));
        t.field("versions", &count(self.versions, "former version"));
        if self.attachments > 0 {
            t.field("files", &count(self.attachments, "attached file"));
        }
        t.field("schema", &self.schema.to_string());
        t.field(
            "made",
            &self.made_at.as_deref().map_or_else(|| "unknown".into(), format_to_minute),
        );
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.path);
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
