//! `brain embed`: computes vectors for search by meaning.

use brain_protocol::{EmbedReply, Fault};
use clap::Args;

use crate::{
    command::{Group, Verb},
    context::Context,
    duration,
    output::{Outcome, Show, Text, count},
};

/// Arguments of `embed`.
#[derive(Debug, Args)]
pub(crate) struct EmbedCommand {
    /// Compute missing vectors (default)
    #[arg(long, conflicts_with = "all")]
    stale: bool,

    /// Compute all vectors again
    #[arg(long)]
    all: bool,

    /// Only count the pages that would get vectors
    #[arg(long)]
    dry_run: bool,
}

impl Verb for EmbedCommand {
    const NAME: &'static str = "embed";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Compute missing vectors now";
    const EXAMPLES: &'static str = "Examples:
  brain embed --stale
  brain embed --dry-run --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let request = brain_protocol::Embed { all: self.all, dry_run: self.dry_run };
        context.run(request)
    }
}

impl Show for EmbedReply {
    fn text(&self, t: &mut Text) {
        let pages = count(self.pages, "page");
        let model = format!("{} ({})", self.model, self.provider);
        if self.dry_run {
            let time = self
                .seconds
                .map(|seconds| format!(", about {}", duration::format_rounded(seconds)));
            let time = time.unwrap_or_default();
            t.line(&format!("{pages} would get vectors from {model}{time} (dry run)"));
        } else {
            let windows = count(self.windows, "text window");
            t.line(&format!("{pages} got vectors from {model}: {windows}"));
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.pages.to_string());
    }

    fn notes(&self) -> Vec<String> {
        match self.missing {
            n if n > 0 && !self.dry_run => {
                vec![format!(
                    "{} still without vectors; see the reason: brain model list",
                    count(n, "page")
                )]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_is_reported_as_such() {
        let dry_run = EmbedReply {
            provider: "local".into(),
            model: "m".into(),
            pages: 3,
            windows: 9,
            missing: 3,
            dry_run: true,
            seconds: Some(67),
        };
        let render = |reply: &EmbedReply| {
            let mut t = Text::plain(None);
            reply.text(&mut t);
            t.as_str().to_owned()
        };
        assert_eq!(
            render(&dry_run),
            "3 pages would get vectors from m (local), about 1 min 7 s (dry run)\n"
        );
        assert!(dry_run.notes().is_empty());
        let done = EmbedReply { dry_run: false, missing: 1, ..dry_run };
        assert_eq!(render(&done), "3 pages got vectors from m (local): 9 text windows\n");
        assert_eq!(
            done.notes(),
            ["1 page still without vectors; see the reason: brain model list"]
        );
    }
}
