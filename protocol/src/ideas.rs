//! `brain brainstorm` and `brain lsd`: what is close to a question crossed with what is far from it, and the children judged.

use serde::{Deserialize, Serialize};

use crate::{Slug, SourceId, Spending};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdeaProfile {
    /// Grounded: few far pages, ideas that hold.
    Brainstorm,
    /// Wild: many far pages that nobody read for long, axioms turned around.
    Lsd,
}

impl IdeaProfile {
    /// Its name, as the command's.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Brainstorm => "brainstorm",
            Self::Lsd => "lsd",
        }
    }
}

/// Make ideas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ideas {
    /// Which command.
    pub profile: IdeaProfile,
    /// The question; empty when a run is resumed.
    pub question: String,
    /// How many ideas to answer with, best first, 1 to 200; all when absent.
    pub limit: Option<u32>,
    /// Whether to save them as a page; the profile's own way when absent.
    pub save: Option<bool>,
    /// The most that the run may cost in all, in millionths of a US dollar; what is configured when absent.
    pub max_cost: Option<u64>,
    /// Another model for ideas than the configured one.
    pub model: Option<String>,
    /// Another model for judging than the one for ideas.
    pub judge_model: Option<String>,
    /// How many close pages; the profile's when absent. 1 to 12.
    pub close: Option<u32>,
    /// How many far pages; the profile's when absent. 1 to 24.
    pub far: Option<u32>,
    /// Go on with this run.
    pub resume: Option<String>,
    /// Only what it would cost: nothing is spent.
    pub estimate: bool,
}

/// What came of it; of an estimate, the sets and what it would cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdeasReply {
    /// Which command.
    pub profile: IdeaProfile,
    /// The run's id, for `--resume`; empty for the estimate of a new one.
    pub run_id: String,
    /// The question.
    pub question: String,
    /// `estimated`, `done` (of an estimate: nothing is left to do), `prompts` (no language model: the crosses as prompts), or `stopped` (with `problem`).
    pub status: String,
    /// The ideas: those that pass first, each by its score.
    pub ideas: Vec<Idea>,
    /// The crosses as prompts for a model of one's own, when there is none here.
    pub prompts: Vec<IdeaPrompt>,
    /// Pages close to the question.
    pub close_set: Vec<ClosePage>,
    /// Pages far from it.
    pub far_set: Vec<FarPage>,
    /// There were too few groups of pages, so that far pages came from everywhere.
    pub short_of_target: bool,
    /// No idea could be judged; they are all here, without scores.
    pub judge_failed: bool,
    /// Crosses that failed and were left out.
    pub failed_crosses: u32,
    /// What this call cost; of an estimate, what it would cost.
    pub cost: Spending,
    /// The page that it was saved as.
    pub saved_slug: Option<Slug>,
    /// Which phase failed, why, what to do, and what was spent; in words.
    pub problem: Option<String>,
    /// Why search found less than there may be.
    pub degraded: Option<String>,
    /// Crosses that this call asks for, or would.
    pub crosses: u32,
    /// Ideas that each is asked for.
    pub ideas_per_cross: u32,
    /// Why it could not be saved although it was to be.
    pub save_problem: Option<String>,
    /// What else the user should know, in words.
    pub notes: Vec<String>,
}

/// An idea.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Idea {
    /// Its number in this run, from 1.
    pub id: u32,
    /// What it says.
    pub text: String,
    /// The close page that it is from.
    pub close_slug: Slug,
    /// The far page that it is from.
    pub far_slug: Slug,
    /// How far those are from each other, 0 to 1.
    pub distance: f32,
    /// What the judge says.
    pub judge: Option<Judgement>,
    /// Whether it is good enough by its profile.
    pub passes: bool,
}

/// A judge's word on an idea.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Five scores, 1 to 5.
    pub scores: Scores,
    /// Their weighted mean, by the profile.
    pub weighted: f32,
    /// Why, in a sentence.
    pub note: String,
}

/// The five axes of a judge, each 1 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// How new it is.
    pub originality: f32,
    /// How well it withstands the strongest objection; to what is obvious there is none.
    pub resistance: f32,
    /// Whether it claims something.
    pub thesis: f32,
    /// How well it rests on the two pages.
    pub grounding: f32,
    /// How much would fall without the pair that it is from.
    pub load_bearing: f32,
}

/// A cross as a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdeaPrompt {
    /// The close page.
    pub close_slug: Slug,
    /// The far page.
    pub far_slug: Slug,
    /// The prompt.
    pub text: String,
}

/// A page close to the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosePage {
    /// Its slug.
    pub slug: Slug,
    /// Its title.
    pub title: String,
    /// How well search found it; comparable within this answer.
    pub score: f32,
    /// Its source.
    pub source_id: SourceId,
}

/// A page far from the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FarPage {
    /// Its slug.
    pub slug: Slug,
    /// Its title.
    pub title: String,
    /// How far it is from its nearest close page, 0 to 1; 0.5 without vectors.
    pub distance: f32,
    /// `domain` (the one of its group) or `corpus` (filled up).
    pub origin: String,
    /// Its source.
    pub source_id: SourceId,
}

/// The runs that are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdeaRuns {
    /// Newest first.
    pub runs: Vec<IdeaRunRow>,
    /// Files that are no runs any more, and why; in words.
    pub damaged: Vec<String>,
}

/// A run that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdeaRunRow {
    /// Its id.
    pub run_id: String,
    /// Which command.
    pub profile: IdeaProfile,
    /// The question.
    pub question: String,
    /// When it began.
    pub started_at: String,
    /// Crosses that are through.
    pub crosses_done: u32,
    /// All crosses.
    pub crosses: u32,
    /// `running`, `stopped`, `prompts` or `done`.
    pub status: String,
    /// What it cost so far.
    pub cost: Spending,
    /// The page that it was saved as.
    pub saved_slug: Option<Slug>,
}
