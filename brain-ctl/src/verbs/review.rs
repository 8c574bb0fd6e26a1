//! `brain contradictions`, `brain settle` and `brain recall`.

use brain_protocol::{
    Contradiction, ContradictionList, Contradictions, Fault, MissedQuestion, RecallReply,
    RecallRun, Settle, Settled, Side, SourceId, Statement,
};
use clap::{Args, ValueEnum};

use crate::{
    command::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text, clean, count, format_to_minute, page_name},
};

/// Arguments of `contradictions`.
#[derive(Debug, Args)]
pub(crate) struct ContradictionsCommand {
    /// Maximum number of contradictions, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

impl Verb for ContradictionsCommand {
    const NAME: &'static str = "contradictions";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "List statements of your pages that cannot both be right";
    const EXAMPLES: &'static str = "Examples:
  brain contradictions
  brain contradictions --limit 100 --json

Found by rules, without a model: one thing, one field that can hold one value, one time.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        context.run(ContradictionList { limit: self.limit })
    }
}

impl Show for Contradictions {
    fn text(&self, t: &mut Text) {
        for (n, found) in self.contradictions.iter().enumerate() {
            if n > 0 {
                t.raw_line("");
            }
            show_contradiction(found, t);
        }
    }

    fn quiet(&self, t: &mut Text) {
        self.contradictions.iter().for_each(|found| t.line(&found.key));
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.truncated {
            notes.push("there are more: use a greater --limit".to_owned());
        }
        match self.contradictions.first() {
            Some(first) => {
                notes.push(format!("settle one: brain settle {} --keep a|b|both", first.key));
            }
            None => notes.push("no contradictions found".to_owned()),
        }
        if self.settled > 0 {
            notes.push(format!("{} settled", count(self.settled, "contradiction")));
        }
        notes
    }
}

fn show_contradiction(found: &Contradiction, t: &mut Text) {
    let key = t.paint.cyan(&clean(&found.key));
    t.raw_line(&format!("{key}  {}: {}", clean(&found.thing), clean(&found.field)));
    show_statement("A", &found.a, t);
    show_statement("B", &found.b, t);
}

fn show_statement(side: &str, statement: &Statement, t: &mut Text) {
    t.prose(&format!("  {side}  "), 5, &statement.sentence);
    let page = page_name(&statement.source_id, &statement.slug);
    let day = statement.day.as_deref().unwrap_or("no date");
    let source = if statement.has_source { ", names a source" } else { "" };
    t.line(&format!("     {page}, {day}{source}"));
}

/// Arguments of `settle`.
#[derive(Debug, Args)]
pub(crate) struct SettleCommand {
    /// The contradiction's key, as `brain contradictions` prints it
    #[arg(value_name = "KEY")]
    key: String,

    /// The statement that is right
    #[arg(long, value_name = "SIDE", required_unless_present = "reopen")]
    keep: Option<KeptStatement>,

    /// List the contradiction again
    #[arg(long, conflicts_with = "keep")]
    reopen: bool,
}

/// A side of a contradiction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeptStatement {
    /// The first one; it replaced the second one
    #[value(alias = "A")]
    A,
    /// The second one; it replaced the first one
    #[value(alias = "B")]
    B,
    /// Both: it is no contradiction
    Both,
}

impl Verb for SettleCommand {
    const NAME: &'static str = "settle";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Say which statement of a contradiction is right";
    const EXAMPLES: &'static str = "Examples:
  brain settle 3f2a9c01 --keep a
  brain settle 3f2a9c01 --reopen

It records which statement replaced which, and changes no page.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let keep = self.keep.map(|side| match side {
            KeptStatement::A => Side::A,
            KeptStatement::B => Side::B,
            KeptStatement::Both => Side::Both,
        });
        context.run(Settle { key: self.key, keep })
    }
}

impl Show for Settled {
    fn text(&self, t: &mut Text) {
        let Some((kept, other)) = self.kept.as_ref().zip(self.other.as_ref()) else {
            t.line(&format!("{} is open again", self.key));
            return;
        };
        let word = if self.keep == Some(Side::Both) { "both are right" } else { "settled" };
        t.line(&format!("{} {word}", self.key));
        let [first, second] = match self.keep {
            Some(Side::Both) => ["right     ", "right     "],
            _ => ["right     ", "replaced  "],
        };
        t.prose(first, 10, &kept.sentence);
        t.prose(second, 10, &other.sentence);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.key);
    }
}

/// Arguments of `recall`.
#[derive(Debug, Args)]
pub(crate) struct RecallCommand {
    /// Remove all remembered questions and results
    #[arg(long)]
    forget: bool,
}

impl Verb for RecallCommand {
    const NAME: &'static str = "recall";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Test the search with your own former questions";
    const EXAMPLES: &'static str = "Examples:
  brain config set search.remember true
  brain recall
  brain recall --forget

With search.remember, a search and the page that you open for it become a question of the test.
They stay in the store of this brain.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        context.run(RecallRun { forget: self.forget })
    }
}

/// Returns a missed question with its page.
fn missed_text(missed: &MissedQuestion) -> String {
    let page = &missed.page;
    let source = page.source.as_ref().map_or(SourceId::DEFAULT, SourceId::as_str);
    format!("{} ({})", missed.question, page_name(source, &page.slug))
}

impl Show for RecallReply {
    fn text(&self, t: &mut Text) {
        for (n, result) in self.run.iter().chain(&self.former).enumerate() {
            if n == 1 {
                t.raw_line("");
            }
            let gone = match result.gone {
                0 => String::new(),
                gone => format!(", {gone} more without a page"),
            };
            let line = format!(
                "{}  recall@5 {:5.1} % of {}{}  {}",
                format_to_minute(&result.at),
                result.recall_at_5,
                count(result.questions.into(), "question"),
                gone,
                result.ranking
            );
            t.line(&line);
        }
        for missed in &self.missed {
            t.prose("  missed  ", 10, &missed_text(missed));
        }
    }

    fn quiet(&self, t: &mut Text) {
        if let Some(run) = &self.run {
            t.line(&format!("{:.1}", run.recall_at_5));
        }
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn notes(&self) -> Vec<String> {
        match (self.enabled, self.run.is_some()) {
            (false, _) => vec![
                "searches are not remembered; to begin: brain config set search.remember true"
                    .to_owned(),
            ],
            (true, false) => vec!["no questions yet: search, and open what you find".to_owned()],
            (true, true) => Vec::new(),
        }
    }
}
