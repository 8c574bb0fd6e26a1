//! `brain backup`: copy the store while it is in use, and read a copy back.

use std::path::{Path, PathBuf};

use brain_protocol::{BackupReply, BackupVerify, Fault, Reply, Request};
use clap::Args;

use super::export::full;
use crate::{
    args::{Group, Verb},
    context::Context,
    fail,
    output::{Outcome, Show, Text, bytes, count, minute},
};

/// Arguments of `backup`.
#[derive(Debug, Args)]
#[command(override_usage = "brain backup [OPTIONS] FILE\n       brain backup [OPTIONS] verify FILE")]
pub(crate) struct Backup {
    /// The file to write, which must not exist; after `verify`, the file to read back
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    words: Vec<PathBuf>,
}

impl Verb for Backup {
    const NAME: &'static str = "backup";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Copy the store; read a copy back";
    const EXAMPLES: &'static str = "Examples:
  brain backup ~/brain-monday.redb
  brain backup verify ~/brain-monday.redb --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let request = match self.words.as_slice() {
            [word] if word == Path::new("verify") => {
                return Err(fail::usage("`brain backup verify` needs the file to read back")
                    .hint("brain backup verify FILE; to write a file of that name: brain backup ./verify"));
            }
            [file] => Request::Backup(brain_protocol::Backup { path: full(file)? }),
            [word, file] if word == Path::new("verify") => {
                // Looked at here, because a relative path is relative to us.
                let file = file.canonicalize().map_err(|e| {
                    fail::file("read", file, &e).hint("name a file that `brain backup` wrote")
                })?;
                Request::BackupVerify(BackupVerify { path: full(&file)? })
            }
            _ => {
                return Err(fail::usage("a backup is one file")
                    .hint("brain backup FILE, or: brain backup verify FILE"));
            }
        };
        match context.call(&request)? {
            Reply::Backup(backup) => context.show(&backup),
            _ => Err(fail::unexpected(Self::NAME)),
        }
    }
}

impl Show for BackupReply {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} {} ({})", self.status, self.path, bytes(self.bytes)));
        t.field("pages", &format!("{}, and {} deleted", self.pages, self.deleted));
        t.field("versions", &count(self.versions, "former version"));
        t.field("schema", &self.schema.to_string());
        t.field("made", &self.made_at.as_deref().map_or_else(|| "it does not say".into(), minute));
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.path);
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
