//! A run as it stands: its pages, its crosses, their ideas. Pure; `kept` makes a file of it.

use brain_protocol::{IdeaProfile, IdeaRunRow, Judged, Slug, SourceId, Spent};
use serde::{Deserialize, Serialize};

use super::profile::Profile;
use brain_base::clock::rfc3339;

/// The layout of the file.
pub(super) const FORMAT: u32 = 1;

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) format: u32,
    pub(super) run_id: String,
    pub(super) profile: IdeaProfile,
    pub(super) question: String,
    /// Unix milliseconds.
    pub(super) started_at: i64,
    /// Unix milliseconds.
    pub(super) changed_at: i64,
    pub(super) state: State,
    pub(super) close: Vec<ClosePick>,
    pub(super) far: Vec<FarPick>,
    pub(super) short_of_target: bool,
    pub(super) degraded: Option<String>,
    /// Every close page with every far page.
    pub(super) crosses: Vec<Cross>,
    /// In all calls for it.
    pub(super) cost: Spent,
    /// Why it stopped.
    pub(super) problem: Option<String>,
    pub(super) saved: Option<Saved>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Somebody works on it, or the daemon was killed while they did.
    Running,
    /// It can be gone on with.
    Stopped,
    /// There was no model; it can be gone on with.
    Prompts,
    /// It is through.
    Done,
}

/// A page of either set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pick {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    pub(super) title: String,
}

/// A close page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClosePick {
    #[serde(flatten)]
    pub(super) page: Pick,
    pub(super) score: f32,
}

/// A far page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FarPick {
    #[serde(flatten)]
    pub(super) page: Pick,
    /// To each close page, 0 to 1.
    pub(super) distances: Vec<f32>,
    /// It speaks for its group.
    pub(super) domain: bool,
}

impl FarPick {
    /// How far it is from the nearest close page.
    pub(super) fn distance(&self) -> f32 {
        self.distances.iter().copied().reduce(f32::min).unwrap_or(super::close::UNKNOWN)
    }
}

/// A close page with a far one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cross {
    /// Place in the close set.
    pub(super) close: usize,
    /// Place in the far set.
    pub(super) far: usize,
    #[serde(flatten)]
    pub(super) state: CrossState,
}

/// How far a cross is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum CrossState {
    /// It was not asked yet.
    Waiting,
    /// It was asked in vain.
    Failed {
        /// Why.
        why: String,
    },
    /// It has these.
    Done {
        /// One at least.
        ideas: Vec<Child>,
    },
}

/// An idea of a cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Child {
    pub(super) text: String,
    pub(super) judge: Option<Judged>,
}

/// The page that a run was saved as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) slug: Slug,
    /// How many ideas there were then, and how many of them judged: with more it is saved anew.
    pub(super) ideas: usize,
    pub(super) judged: usize,
}

impl Run {
    /// A new one, whose crosses all wait.
    pub(super) fn new(run_id: String, profile: IdeaProfile, question: &str, now: i64) -> Self {
        Self {
            format: FORMAT,
            run_id,
            profile,
            question: question.to_owned(),
            started_at: now,
            changed_at: now,
            state: State::Running,
            close: Vec::new(),
            far: Vec::new(),
            short_of_target: false,
            degraded: None,
            crosses: Vec::new(),
            cost: Spent::default(),
            problem: None,
            saved: None,
        }
    }

    /// Pairs every close page with every far page: the best of each side first.
    pub(super) fn cross(&mut self) {
        let pairs = (0..self.far.len())
            .flat_map(|far| (0..self.close.len()).map(move |close| (close, far)));
        self.crosses =
            pairs.map(|(close, far)| Cross { close, far, state: CrossState::Waiting }).collect();
    }

    /// The crosses that have no ideas yet, by number.
    pub(super) fn open(&self) -> Vec<usize> {
        let open = self.crosses.iter().enumerate();
        open.filter(|(_, cross)| !matches!(cross.state, CrossState::Done { .. }))
            .map(|(at, _)| at)
            .collect()
    }

    /// The ideas with the number of their cross and their place in it.
    pub(super) fn children(&self) -> impl Iterator<Item = (usize, usize, &Child)> {
        self.crosses.iter().enumerate().flat_map(|(cross, of)| {
            let ideas = match &of.state {
                CrossState::Done { ideas } => ideas.as_slice(),
                CrossState::Waiting | CrossState::Failed { .. } => &[],
            };
            ideas.iter().enumerate().map(move |(at, child)| (cross, at, child))
        })
    }

    /// An idea that is there, to be changed.
    pub(super) fn child_mut(&mut self, cross: usize, at: usize) -> Option<&mut Child> {
        match &mut self.crosses.get_mut(cross)?.state {
            CrossState::Done { ideas } => ideas.get_mut(at),
            CrossState::Waiting | CrossState::Failed { .. } => None,
        }
    }

    /// The number that people see of an idea: the same however far the run is.
    pub(super) fn number(&self, cross: usize, at: usize) -> u32 {
        (cross * self.each() + at + 1) as u32
    }

    /// The pages that the idea with this number is from.
    pub(super) fn pages_of(&self, number: u32) -> Option<(&ClosePick, &FarPick)> {
        self.pages((number as usize).checked_sub(1)? / self.each())
    }

    /// The pages of a cross.
    pub(super) fn pages(&self, cross: usize) -> Option<(&ClosePick, &FarPick)> {
        let cross = self.crosses.get(cross)?;
        Some((self.close.get(cross.close)?, self.far.get(cross.far)?))
    }

    /// How many ideas a cross may have.
    fn each(&self) -> usize {
        Profile::of(self.profile).ideas as usize
    }

    /// How many ideas no judge has said anything of.
    pub(super) fn unjudged(&self) -> usize {
        self.children().filter(|(_, _, child)| child.judge.is_none()).count()
    }

    /// How many crosses failed.
    pub(super) fn failed(&self) -> usize {
        self.crosses.iter().filter(|cross| matches!(cross.state, CrossState::Failed { .. })).count()
    }

    /// As it stands in the list of runs. `at_work` is whether somebody works on it now.
    pub(super) fn row(&self, at_work: bool) -> IdeaRunRow {
        let status = match self.state {
            State::Running if at_work => "running",
            State::Running | State::Stopped => "stopped",
            State::Prompts => "prompts",
            State::Done => "done",
        };
        IdeaRunRow {
            run_id: self.run_id.clone(),
            profile: self.profile,
            question: self.question.clone(),
            started_at: rfc3339(self.started_at),
            crosses_done: (self.crosses.len() - self.open().len()) as u32,
            crosses: self.crosses.len() as u32,
            status: status.into(),
            cost: self.cost,
            saved_slug: self.saved.as_ref().map(|saved| saved.slug.clone()),
        }
    }
}
