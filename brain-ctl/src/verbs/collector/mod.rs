//! `brain collector`: sets up and controls the social collector.

mod digest;
mod lists;
mod plot;
mod relative_time;
mod run;
mod status;

use std::path::PathBuf;

use brain_protocol::{
    CollectorAlerts, CollectorCurve, CollectorDeletions, CollectorDigest, CollectorEnrich,
    CollectorPeriod, CollectorSetup, CollectorStatus, Fault,
};
use clap::{Args, ValueEnum};

use super::access::check_flags;
use crate::{
    command::{Group, Verb},
    context::Context,
    input,
    output::Outcome,
    when::TimePeriod,
};

/// Hint for a token file that has no bearer token.
const INVALID_TOKEN_HINT: &str =
    "write only the app's bearer token to the file, not its API key or secret";

/// Arguments of `collector`.
#[derive(Debug, Args)]
pub(crate) struct CollectorCommand {
    /// What to do with the collector
    #[arg(value_enum, value_name = "ACTION", default_value_t = CollectorAction::Status)]
    action: CollectorAction,

    /// The post's id (plot)
    #[arg(value_name = "POST", required_if_eq("action", "plot"))]
    post: Option<String>,

    /// Handle of the account, if collector.handle is not set (setup)
    #[arg(long, value_name = "NAME")]
    handle: Option<String>,

    /// File with the platform's bearer token; - is standard input (setup)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Only since this time: 7d, yesterday, 2025-03-01 (deletions, alerts, digest, enrich)
    #[arg(long, value_name = "WHEN", value_parser = TimePeriod::parse)]
    since: Option<TimePeriod>,

    /// Number of results, 1 to 1000 [default: 50, digest: 200] (deletions, alerts, digest)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,

    /// Continue a digest: the `next` of the previous answer (digest)
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,

    /// Show what would be written without writing (enrich)
    #[arg(long)]
    dry_run: bool,
}

/// The actions of `collector`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CollectorAction {
    /// Set up the collector step by step; safe to run again
    Setup,
    /// Run now and print event lines
    Collect,
    /// Show last and next run, counts and rate limits
    Status,
    /// List deleted posts
    Deletions,
    /// List alerts about deletions and posts that spread fast
    Alerts,
    /// List new posts by author, for agents
    Digest,
    /// Write new posts into the pages of their authors
    Enrich,
    /// Draw a post's likes, reposts and replies over time
    Plot,
}

impl Verb for CollectorCommand {
    const NAME: &'static str = "collector";
    const GROUP: Group = Group::Collecting;
    const ABOUT: &'static str = "Collect posts from a social platform";
    const EXAMPLES: &'static str = "Examples:
  brain collector setup --handle ada --token-file ~/token
  brain collector digest --since yesterday --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        use CollectorAction::{Alerts, Collect, Deletions, Digest, Enrich, Plot, Setup, Status};
        check_flags(
            Self::NAME,
            &self.action,
            &[
                ("a post's id", self.post.is_some(), &[Plot]),
                ("--handle", self.handle.is_some(), &[Setup]),
                ("--token-file", self.token_file.is_some(), &[Setup]),
                ("--since", self.since.is_some(), &[Deletions, Alerts, Digest, Enrich]),
                ("--limit", self.limit.is_some(), &[Deletions, Alerts, Digest]),
                ("--after", self.after.is_some(), &[Digest]),
                ("--dry-run", self.dry_run, &[Enrich]),
            ],
        )?;
        let since = self.since.as_ref().map(TimePeriod::start);
        let period =
            |since, limit: Option<u32>| CollectorPeriod { since, limit: limit.unwrap_or(50) };
        match self.action {
            Collect => run::collect(context),
            Setup => {
                let token = self
                    .token_file
                    .as_deref()
                    .map(|path| input::read_secret(path, INVALID_TOKEN_HINT))
                    .transpose()?;
                context.run(CollectorSetup { handle: self.handle, token })
            }
            Status => context.run(CollectorStatus),
            Deletions => context.run(CollectorDeletions { period: period(since, self.limit) }),
            Alerts => context.run(CollectorAlerts { period: period(since, self.limit) }),
            Digest => context.run(CollectorDigest {
                since,
                limit: self.limit.unwrap_or(200),
                after: self.after,
            }),
            Enrich => context.run(CollectorEnrich { since, dry_run: self.dry_run }),
            Plot => context.run(CollectorCurve { id: self.post.unwrap_or_default() }),
        }
    }
}
