//! Builds the reply of a run. No I/O.

use std::cmp::Reverse;

use brain_protocol::{
    ClosePage, Command, FarPage, Idea, IdeaPrompt, IdeaStatus, Ideas, IdeasReply, Spending, usd,
};

use super::profile::Profile;
use super::run_state::{CrossState, IdeaRun};

/// Facts about this call that the run does not store.
#[derive(Debug, Default)]
pub(super) struct ReplyContext {
    pub(super) status: IdeaStatus,
    pub(super) prompts: Vec<IdeaPrompt>,
    /// Number of crosses that had no ideas before this call.
    pub(super) crosses: u32,
    /// The estimated cost of this call, in millionths of a US dollar.
    pub(super) estimated: u64,
    /// The cost of the run before this call.
    pub(super) cost_before: Spending,
    pub(super) judge_failed: bool,
    pub(super) save_problem: Option<String>,
    pub(super) notes: Vec<String>,
}

/// Builds the reply.
pub(super) fn build(run: &IdeaRun, request: &Ideas, context: ReplyContext) -> IdeasReply {
    let ReplyContext {
        status,
        prompts,
        crosses,
        estimated,
        cost_before,
        judge_failed,
        save_problem,
        mut notes,
    } = context;
    let close_set = run.close.iter().map(|pick| ClosePage {
        slug: pick.page.slug.clone(),
        title: pick.page.title.clone(),
        score: pick.score,
        source_id: pick.page.source.clone(),
    });
    let far_set = run.far.iter().map(|pick| FarPage {
        slug: pick.page.slug.clone(),
        title: pick.page.title.clone(),
        distance: pick.distance(),
        band: pick.band.as_str().into(),
        source_id: pick.page.source.clone(),
    });
    let cost = Spending {
        estimated,
        actual: run.cost.actual.saturating_sub(cost_before.actual),
        tokens_in: run.cost.tokens_in.saturating_sub(cost_before.tokens_in),
        tokens_out: run.cost.tokens_out.saturating_sub(cost_before.tokens_out),
        calls: run.cost.calls.saturating_sub(cost_before.calls),
    };
    let shares_cost = cost.actual > 0 && cost_before.actual > 0;
    notes.extend(
        shares_cost.then(|| format!("in total, this run has cost ${}", usd(run.cost.actual))),
    );
    notes.extend(run_notes(run, judge_failed));
    IdeasReply {
        profile: run.profile,
        run_id: run.run_id.clone(),
        question: run.question.clone(),
        status,
        ideas: ideas(run, request.limit),
        prompts,
        close_set: close_set.collect(),
        far_set: far_set.collect(),
        short_of_target: run.short_of_target,
        judge_failed,
        failed_crosses: run.failed_count() as u32,
        cost,
        saved_slug: run.saved.as_ref().map(|saved| saved.slug.clone()),
        problem: run.problem.clone().filter(|_| status == IdeaStatus::Stopped),
        degraded: run.degraded.clone(),
        crosses,
        ideas_per_cross: Profile::of(run.profile).ideas,
        save_problem,
        notes,
    }
}

/// Returns notes on parts of the run that failed or are smaller than planned.
fn run_notes(run: &IdeaRun, judge_failed: bool) -> impl Iterator<Item = String> {
    let judge = "the judge gave no scores: the ideas are shown without them";
    let target = "there are too few distant pages: the far set is smaller, or has pages near the \
                  question";
    failed_crosses_note(run)
        .into_iter()
        .chain(judge_failed.then(|| judge.to_owned()))
        .chain(run.short_of_target.then(|| target.to_owned()))
}

/// Returns at most `limit` ideas: passing ideas first, then the others by score, ideas without a
/// score last.
pub(super) fn ideas(run: &IdeaRun, limit: Option<u32>) -> Vec<Idea> {
    let profile = Profile::of(run.profile);
    let idea = |(cross, index, idea): (usize, usize, &super::run_state::RunIdea)| {
        let (close, far) = run.pages(cross)?;
        let close_index = run.crosses.get(cross)?.close;
        Some(Idea {
            id: run.idea_id(cross, index),
            text: idea.text.clone(),
            close_slug: close.page.slug.clone(),
            far_slug: far.page.slug.clone(),
            distance: far.distance_to(close_index),
            passes: idea.judge.as_ref().is_some_and(|judge| profile.passes(&judge.scores)),
            judge: idea.judge.clone(),
            close_source_id: close.page.source.clone(),
            far_source_id: far.page.source.clone(),
        })
    };
    let mut ideas: Vec<Idea> = run.ideas().filter_map(idea).collect();
    // Scores are hundredths, so integers compare exactly.
    let hundredths =
        |idea: &Idea| idea.judge.as_ref().map(|judge| (judge.weighted * 100.0).round() as i64);
    ideas.sort_by_key(|idea| (!idea.passes, Reverse(hundredths(idea)), idea.id));
    ideas.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
    ideas
}

/// Describes how many crosses failed, and the reason of the first failure. Returns `None` if no
/// cross failed.
fn failed_crosses_note(run: &IdeaRun) -> Option<String> {
    let failed = run.failed_count();
    let why = run.crosses.iter().find_map(|cross| match &cross.state {
        CrossState::Failed { why } => Some(why),
        _ => None,
    })?;
    let (profile, run) = (Some(run.profile.as_str().into()), Some(run.run_id.clone()));
    let (crosses, first) = match failed {
        1 => ("cross", ""),
        _ => ("crosses", "the first: "),
    };
    Some(format!(
        "{failed} {crosses} failed ({first}{why}); to retry: {}",
        Command::IdeasResume { profile, run }
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{IdeaProfile, Judgement, Scores, Slug, SourceId};

    use super::super::run_state::{Band, ClosePageRef, FarPageRef, RunIdea, RunPage};
    use super::*;

    fn idea(text: &str, score: Option<f32>) -> RunIdea {
        let judge = score.map(|score| {
            let scores = Scores {
                originality: score,
                resistance: score,
                thesis: score,
                grounding: score,
                load_bearing: score,
            };
            Judgement { scores, weighted: score, note: String::new() }
        });
        RunIdea { text: text.into(), judge }
    }

    fn run() -> IdeaRun {
        let pick = |slug: &str| RunPage {
            source: SourceId::default(),
            slug: Slug::parse(slug).unwrap(),
            title: slug.into(),
        };
        let mut run = IdeaRun::new("abcdefgh".into(), IdeaProfile::Brainstorm, "Why?", 0);
        run.close = vec![
            ClosePageRef { page: pick("a/one"), score: 1.0 },
            ClosePageRef { page: pick("a/two"), score: 0.5 },
        ];
        run.far =
            vec![FarPageRef { page: pick("b/one"), distances: vec![0.7, 0.4], band: Band::Far }];
        run.cross();
        run.crosses[0].state =
            CrossState::Done { ideas: vec![idea("low", Some(2.0)), idea("none", None)] };
        run.crosses[1].state =
            CrossState::Done { ideas: vec![idea("good", Some(4.0)), idea("best", Some(4.5))] };
        run
    }

    #[test]
    fn passing_ideas_come_first_and_keep_their_numbers() {
        let ideas = ideas(&run(), None);
        let shown: Vec<_> =
            ideas.iter().map(|idea| (idea.id, idea.text.as_str(), idea.passes)).collect();
        assert_eq!(
            shown,
            [(5, "best", true), (4, "good", true), (1, "low", false), (2, "none", false)]
        );
        assert_eq!((ideas[0].close_slug.as_str(), ideas[0].distance), ("a/two", 0.4));
        assert_eq!((ideas[2].close_slug.as_str(), ideas[2].distance), ("a/one", 0.7));
        assert_eq!(super::ideas(&run(), Some(1)).len(), 1);
        let (close, _) =
            run().pages_of(5).map(|(close, far)| (close.clone(), far.clone())).unwrap();
        assert_eq!(close.page.slug.as_str(), "a/two");
    }

    #[test]
    fn reply_has_the_cost_of_this_call() {
        let mut run = run();
        run.cost =
            Spending { estimated: 9, actual: 500_000, tokens_in: 50, tokens_out: 20, calls: 5 };
        let cost_before =
            Spending { estimated: 9, actual: 200_000, tokens_in: 30, tokens_out: 15, calls: 3 };
        let context = ReplyContext {
            status: IdeaStatus::Done,
            estimated: 310_000,
            cost_before,
            ..ReplyContext::default()
        };
        let request = Ideas {
            profile: IdeaProfile::Brainstorm,
            question: String::new(),
            limit: None,
            save: None,
            max_cost: None,
            model: None,
            judge_model: None,
            close: None,
            far: None,
            resume: None,
            estimate: false,
            prompts_only: false,
        };
        let reply = build(&run, &request, context);
        let cost = Spending {
            estimated: 310_000,
            actual: 300_000,
            tokens_in: 20,
            tokens_out: 5,
            calls: 2,
        };
        assert_eq!(reply.cost, cost);
        assert!(reply.notes[0].contains("$0.50"), "{:?}", reply.notes);
        assert_eq!((reply.far_set[0].distance, reply.far_set[0].band.as_str()), (0.4, "far"));
    }
}
