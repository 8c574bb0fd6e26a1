//! `brain export`: writes every page as a markdown file.

use std::path::{Path, PathBuf};

use brain_protocol::{Exit, ExportReply, Fault};
use clap::Args;

use super::import::failure_lines;
use crate::{
    as_of::AsOfOption,
    command::{Group, Verb},
    context::Context,
    fail,
    output::{Outcome, Show, Text, count, format_bytes},
};

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportCommand {
    /// Directory to write to; created if missing, otherwise it must be empty
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    #[command(flatten)]
    as_of: AsOfOption,

    /// Only the pages of this source [default: all]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for ExportCommand {
    const NAME: &'static str = "export";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Write every page as a markdown file";
    const EXAMPLES: &'static str = "Examples:
  brain export ~/all-pages
  brain export ~/work-pages --source work --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let source = fail::parse_source(self.source.as_deref())?;
        let path = absolute_utf8_path(&self.dir)?;
        let (reply, label) = self.as_of.call(context, brain_protocol::Export { path, source })?;
        label.add_to(context.show(&reply)?, context.json)
    }
}

/// Makes the path absolute, because the daemon has another working directory.
///
/// # Errors
/// `io` if the path is empty, is not UTF-8, or the current directory is unknown.
pub(super) fn absolute_utf8_path(path: &Path) -> Result<String, Fault> {
    let absolute = std::path::absolute(path).map_err(|e| fail::file("use", path, &e))?;
    fail::path_text(&absolute, "choose a path in UTF-8")
}

impl Show for ExportReply {
    fn text(&self, t: &mut Text) {
        t.line(&format!(
            "wrote {} ({}) to {}",
            count(self.files, "page"),
            format_bytes(self.bytes),
            self.path
        ));
        if self.attachments > 0 {
            t.line(&format!("  and {}", count(self.attachments, "attached file")));
        }
        if self.failed_total > 0 {
            t.line(&format!("  {:>8} failed", self.failed_total));
        }
    }

    fn quiet(&self, _: &mut Text) {}

    fn exit(&self) -> Exit {
        if self.failed_total > 0 { Exit::Failed } else { Exit::Done }
    }

    fn failures(&self) -> Vec<String> {
        failure_lines(&self.failed, self.failed_total)
    }
}
