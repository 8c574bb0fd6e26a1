//! Wire types of `brain brainstorm` and `brain lsd`.
//!
//! A run crosses pages close to a question with distant pages. A language model generates ideas
//! from each cross, and judges them.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Slug, SourceId, Spending};

words! {
    /// One of the two commands that generate ideas.
    IdeaProfile {
        /// Grounded ideas, from few distant pages.
        Brainstorm = "brainstorm",
        /// Surprising ideas, from many distant pages with reversed assumptions.
        Lsd = "lsd",
    }

    /// The state of a run, or of the estimate of one.
    #[derive(Default)]
    IdeaStatus {
        /// Active. In a stored run: or the daemon was killed during the run.
        #[default]
        Running = "running",
        /// Stopped; can be resumed.
        Stopped = "stopped",
        /// No model is configured, or only prompts were requested. Can be resumed.
        Prompts = "prompts",
        /// Complete. In an estimate: nothing is left to do.
        Done = "done",
        /// Not begun: this is an estimate.
        Estimated = "estimated",
    }
}

/// `brain brainstorm` and `brain lsd`: generates ideas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ideas {
    /// The command.
    pub profile: IdeaProfile,
    /// The question; empty if a run is resumed.
    pub question: String,
    /// The maximum number of ideas, best first, 1 to 200; all if absent.
    pub limit: Option<u32>,
    /// Whether to save the ideas as a page; the profile's default if absent.
    pub save: Option<bool>,
    /// The budget of the run in millionths of a US dollar; the configured one if absent.
    pub max_cost: Option<u64>,
    /// The model for ideas; the configured one if absent.
    pub model: Option<String>,
    /// The model that judges; the model for ideas if absent.
    pub judge_model: Option<String>,
    /// The number of close pages, 1 to 12; the profile's if absent.
    pub close: Option<u32>,
    /// The number of distant pages, 1 to 24; the profile's if absent.
    pub far: Option<u32>,
    /// The run to resume.
    pub resume: Option<String>,
    /// Whether to only estimate the cost.
    pub estimate: bool,
    /// Whether to return the prompts of the open crosses instead of asking a model.
    pub prompts_only: bool,
}

impl Ideas {
    /// Returns whether the command is `brain lsd`.
    pub(crate) fn is_lsd(&self) -> bool {
        self.profile == IdeaProfile::Lsd
    }
}

/// The result of a run, or an estimate of its cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdeasReply {
    /// The command.
    pub profile: IdeaProfile,
    /// The run's id, for `--resume`; empty in an estimate of a new run.
    pub run_id: String,
    /// The question.
    pub question: String,
    /// Its state; with `problem` if it stopped.
    pub status: IdeaStatus,
    /// The ideas; passing ones first, then by score.
    pub ideas: Vec<Idea>,
    /// Prompts for another model, if none is configured or `prompts_only` is set.
    pub prompts: Vec<IdeaPrompt>,
    /// The pages close to the question.
    pub close_set: Vec<ClosePage>,
    /// The pages distant from the question.
    pub far_set: Vec<FarPage>,
    /// Whether some distant pages are near the question, because there are too few others.
    pub short_of_target: bool,
    /// Whether judging failed. Then all ideas are returned without scores.
    pub judge_failed: bool,
    /// The number of failed crosses.
    pub failed_crosses: u32,
    /// The cost of this request; in an estimate, the expected cost.
    pub cost: Spending,
    /// The page with the saved ideas.
    pub saved_slug: Option<Slug>,
    /// The failed phase, the reason, what to do, and the cost; for people.
    pub problem: Option<String>,
    /// Why search results can be missing.
    pub degraded: Option<String>,
    /// The number of crosses of this request.
    pub crosses: u32,
    /// The number of ideas for each cross.
    pub ideas_per_cross: u32,
    /// Why the page could not be saved.
    pub save_problem: Option<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// An idea.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Idea {
    /// Its number in this run, from 1.
    pub id: u32,
    /// Its text.
    pub text: String,
    /// Its close page.
    pub close_slug: Slug,
    /// Its distant page.
    pub far_slug: Slug,
    /// The distance between the two pages, 0 to 1.
    pub distance: f32,
    /// The judgement; `None` if judging failed or has not begun.
    pub judge: Option<Judgement>,
    /// Whether its `weighted` score reaches the profile's threshold.
    pub passes: bool,
    /// The source of its close page.
    pub close_source_id: SourceId,
    /// The source of its distant page.
    pub far_source_id: SourceId,
}

/// The judgement of an idea.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The scores, 1 to 5.
    pub scores: Scores,
    /// Their mean, with the profile's weights.
    pub weighted: f32,
    /// The reason, in a sentence.
    pub note: String,
}

/// The scores of an idea, each 1 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Its originality.
    pub originality: f32,
    /// How well it withstands the strongest objection.
    pub resistance: f32,
    /// How clear its claim is.
    pub thesis: f32,
    /// How well the two pages support it.
    pub grounding: f32,
    /// How much it depends on this pair of pages.
    pub load_bearing: f32,
}

/// The prompt of a cross: one close and one distant page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdeaPrompt {
    /// The close page.
    pub close_slug: Slug,
    /// The distant page.
    pub far_slug: Slug,
    /// The prompt.
    pub text: String,
    /// The source of the close page.
    pub close_source_id: SourceId,
    /// The source of the distant page.
    pub far_source_id: SourceId,
    /// The distance between the two pages, 0 to 1.
    pub distance: f32,
}

/// A page close to the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosePage {
    /// Its slug.
    pub slug: Slug,
    /// Its title.
    pub title: String,
    /// Its search score, comparable within this reply.
    pub score: f32,
    /// Its source.
    pub source_id: SourceId,
}

/// A page distant from the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FarPage {
    /// Its slug.
    pub slug: Slug,
    /// Its title.
    pub title: String,
    /// Its distance from the nearest close page, 0 to 1.
    pub distance: f32,
    /// `farthest`, `far` or `middle`: the third of the distant pages from which it was drawn;
    /// `near` if it was added because there are too few distant pages.
    pub band: String,
    /// Its source.
    pub source_id: SourceId,
}

/// Lists the stored runs of `brain brainstorm` and `brain lsd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdeaRuns;

/// The stored runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdeaRunsReply {
    /// Newest first.
    pub runs: Vec<IdeaRunRow>,
    /// Unreadable files with the reason, for people.
    pub damaged: Vec<String>,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdeaRunRow {
    /// Its id.
    pub run_id: String,
    /// The command.
    pub profile: IdeaProfile,
    /// The question.
    pub question: String,
    /// When it began.
    pub started_at: String,
    /// The number of finished crosses.
    pub crosses_done: u32,
    /// The number of all crosses.
    pub crosses: u32,
    /// Its state.
    pub status: IdeaStatus,
    /// Its cost so far.
    pub cost: Spending,
    /// The page with the saved ideas.
    pub saved_slug: Option<Slug>,
}
