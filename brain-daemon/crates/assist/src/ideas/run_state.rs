//! The state of a run: its pages, crosses and ideas. No I/O; `run_store` saves it.

use brain_protocol::{IdeaProfile, IdeaRunRow, IdeaStatus, Judgement, Slug, SourceId, Spending};
use serde::{Deserialize, Serialize};

use super::profile::Profile;
use brain_base::clock::rfc3339;

/// The version of the file format.
pub(super) const FORMAT: u32 = 1;
/// The distance that is assumed if the run's file has none.
pub(super) const UNKNOWN_DISTANCE: f32 = 0.5;

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IdeaRun {
    pub(super) format: u32,
    pub(super) run_id: String,
    pub(super) profile: IdeaProfile,
    pub(super) question: String,
    /// Unix milliseconds.
    pub(super) started_at: i64,
    /// Unix milliseconds.
    pub(super) changed_at: i64,
    pub(super) state: IdeaStatus,
    pub(super) close: Vec<ClosePageRef>,
    pub(super) far: Vec<FarPageRef>,
    pub(super) short_of_target: bool,
    pub(super) degraded: Option<String>,
    /// Every close page with every far page.
    pub(super) crosses: Vec<Cross>,
    /// The cost of all calls for this run, including former sessions.
    pub(super) cost: Spending,
    /// The reason why the run stopped.
    pub(super) problem: Option<String>,
    pub(super) saved: Option<SavedPage>,
}

/// A page of the close or the far set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunPage {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    pub(super) title: String,
}

/// A close page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClosePageRef {
    #[serde(flatten)]
    pub(super) page: RunPage,
    pub(super) score: f32,
}

/// A far page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FarPageRef {
    #[serde(flatten)]
    pub(super) page: RunPage,
    /// The distance to each close page, 0 to 1.
    pub(super) distances: Vec<f32>,
    /// The band that the page was drawn from.
    #[serde(default)]
    pub(super) band: Band,
}

/// A third of the distant pages by their distance, or none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Band {
    /// The farthest third.
    Farthest,
    /// The second third.
    #[default]
    Far,
    /// The nearest third.
    Middle,
    /// A page that a search for the question finds: there were too few distant pages.
    Near,
}

impl Band {
    /// Returns the third that slice `at` of `slice_count` is in. Slices are numbered from 0,
    /// farthest first.
    pub(super) fn of(at: usize, slice_count: usize) -> Self {
        match at * 3 / slice_count.max(1) {
            0 => Self::Farthest,
            1 => Self::Far,
            _ => Self::Middle,
        }
    }

    /// Returns the name.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Farthest => "farthest",
            Self::Far => "far",
            Self::Middle => "middle",
            Self::Near => "near",
        }
    }
}

impl FarPageRef {
    /// Returns the distance to the close page with the index `close`.
    pub(super) fn distance_to(&self, close: usize) -> f32 {
        self.distances.get(close).copied().unwrap_or(UNKNOWN_DISTANCE)
    }

    /// Returns the distance to the nearest close page.
    pub(super) fn distance(&self) -> f32 {
        self.distances.iter().copied().reduce(f32::min).unwrap_or(UNKNOWN_DISTANCE)
    }
}

/// A pair of a close and a far page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cross {
    /// Index in the close set.
    pub(super) close: usize,
    /// Index in the far set.
    pub(super) far: usize,
    #[serde(flatten)]
    pub(super) state: CrossState,
}

/// The state of a cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum CrossState {
    /// Not asked yet.
    Waiting,
    /// Has no ideas: a page was deleted, or the model gave no usable answer. A resumed run tries
    /// the cross again.
    Failed {
        /// The reason.
        why: String,
    },
    /// Has ideas.
    Done {
        /// At least one idea.
        ideas: Vec<RunIdea>,
    },
}

/// An idea of a cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RunIdea {
    pub(super) text: String,
    pub(super) judge: Option<Judgement>,
}

/// The page that a run was saved as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedPage {
    pub(super) slug: Slug,
    /// Number of ideas when the page was saved. If the run has more later, it is saved again.
    pub(super) ideas: usize,
    /// Number of judged ideas when the page was saved.
    pub(super) judged: usize,
}

impl IdeaRun {
    /// Creates a run without pages and crosses. `now` is in Unix milliseconds.
    pub(super) fn new(run_id: String, profile: IdeaProfile, question: &str, now: i64) -> Self {
        Self {
            format: FORMAT,
            run_id,
            profile,
            question: question.to_owned(),
            started_at: now,
            changed_at: now,
            state: IdeaStatus::Running,
            close: Vec::new(),
            far: Vec::new(),
            short_of_target: false,
            degraded: None,
            crosses: Vec::new(),
            cost: Spending::default(),
            problem: None,
            saved: None,
        }
    }

    /// Sets the crosses: every close page with every far page, in the order of the far pages.
    pub(super) fn cross(&mut self) {
        let pairs = (0..self.far.len())
            .flat_map(|far| (0..self.close.len()).map(move |close| (close, far)));
        self.crosses =
            pairs.map(|(close, far)| Cross { close, far, state: CrossState::Waiting }).collect();
    }

    /// Returns the indexes of the crosses without ideas.
    pub(super) fn open_crosses(&self) -> Vec<usize> {
        let crosses = self.crosses.iter().enumerate();
        crosses
            .filter(|(_, cross)| !matches!(cross.state, CrossState::Done { .. }))
            .map(|(at, _)| at)
            .collect()
    }

    /// Returns each idea with the index of its cross and its own index in that cross.
    pub(super) fn ideas(&self) -> impl Iterator<Item = (usize, usize, &RunIdea)> {
        self.crosses.iter().enumerate().flat_map(|(index, cross)| {
            let ideas = match &cross.state {
                CrossState::Done { ideas } => ideas.as_slice(),
                CrossState::Waiting | CrossState::Failed { .. } => &[],
            };
            ideas.iter().enumerate().map(move |(at, idea)| (index, at, idea))
        })
    }

    /// Returns the idea with index `at` of a cross, for modification.
    pub(super) fn idea_mut(&mut self, cross: usize, at: usize) -> Option<&mut RunIdea> {
        match &mut self.crosses.get_mut(cross)?.state {
            CrossState::Done { ideas } => ideas.get_mut(at),
            CrossState::Waiting | CrossState::Failed { .. } => None,
        }
    }

    /// Returns the public id of an idea, which is stable across resumes.
    pub(super) fn idea_id(&self, cross: usize, index: usize) -> u32 {
        (cross * self.ideas_per_cross() + index + 1) as u32
    }

    /// Returns the pages of the idea with this id.
    pub(super) fn pages_of(&self, id: u32) -> Option<(&ClosePageRef, &FarPageRef)> {
        self.pages((id as usize).checked_sub(1)? / self.ideas_per_cross())
    }

    /// Returns the pages of the cross with this index.
    pub(super) fn pages(&self, cross: usize) -> Option<(&ClosePageRef, &FarPageRef)> {
        let cross = self.crosses.get(cross)?;
        Some((self.close.get(cross.close)?, self.far.get(cross.far)?))
    }

    /// Returns the maximum number of ideas per cross.
    fn ideas_per_cross(&self) -> usize {
        Profile::of(self.profile).ideas as usize
    }

    /// Returns the number of ideas without a verdict.
    pub(super) fn unjudged_count(&self) -> usize {
        self.ideas().filter(|(_, _, idea)| idea.judge.is_none()).count()
    }

    /// Returns the number of failed crosses.
    pub(super) fn failed_count(&self) -> usize {
        self.crosses.iter().filter(|cross| matches!(cross.state, CrossState::Failed { .. })).count()
    }

    /// Returns the row for the list of runs. `is_active` tells whether the run is executed now.
    pub(super) fn row(&self, is_active: bool) -> IdeaRunRow {
        let status = match self.state {
            IdeaStatus::Running if !is_active => IdeaStatus::Stopped,
            state => state,
        };
        IdeaRunRow {
            run_id: self.run_id.clone(),
            profile: self.profile,
            question: self.question.clone(),
            started_at: rfc3339(self.started_at),
            crosses_done: (self.crosses.len() - self.open_crosses().len()) as u32,
            crosses: self.crosses.len() as u32,
            status,
            cost: self.cost,
            saved_slug: self.saved.as_ref().map(|saved| saved.slug.clone()),
        }
    }
}
