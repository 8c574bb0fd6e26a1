//! What came of a run, in the words of the protocol. Pure.

use std::cmp::Reverse;

use brain_protocol::{ClosePage, FarPage, Idea, IdeaPrompt, Ideas, IdeasReply, Spent, usd};

use super::profile::Profile;
use super::state::{CrossState, Run};

/// What the run itself does not say.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) status: &'static str,
    pub(super) prompts: Vec<IdeaPrompt>,
    /// Crosses that this call asked for.
    pub(super) crosses: u32,
    /// What this call was to cost.
    pub(super) estimated: u64,
    /// What the run had cost before.
    pub(super) before: Spent,
    pub(super) judge_failed: bool,
    pub(super) save_problem: Option<String>,
    pub(super) notes: Vec<String>,
}

/// The reply.
pub(super) fn of(run: &Run, request: &Ideas, said: Said) -> IdeasReply {
    let Said { status, prompts, crosses, estimated, before, judge_failed, save_problem, mut notes } =
        said;
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
        origin: if pick.domain { "domain" } else { "corpus" }.into(),
        source_id: pick.page.source.clone(),
    });
    let cost = Spent {
        estimated,
        actual: run.cost.actual.saturating_sub(before.actual),
        tokens_in: run.cost.tokens_in.saturating_sub(before.tokens_in),
        tokens_out: run.cost.tokens_out.saturating_sub(before.tokens_out),
        calls: run.cost.calls.saturating_sub(before.calls),
    };
    if cost.actual > 0 && before.actual > 0 {
        notes.push(format!(
            "with what was spent before, this run has cost ${}",
            usd(run.cost.actual)
        ));
    }
    notes.extend(failures(run));
    if judge_failed {
        notes.push(
            "the judge said nothing that can be read: all ideas are here, without scores".into(),
        );
    }
    if run.short_of_target {
        notes.push(
            "there are too few groups of pages away from the question: far pages were taken from everywhere"
                .into(),
        );
    }
    IdeasReply {
        profile: run.profile,
        run_id: run.run_id.clone(),
        question: run.question.clone(),
        status: status.into(),
        ideas: ideas(run, request.limit),
        prompts,
        close_set: close_set.collect(),
        far_set: far_set.collect(),
        short_of_target: run.short_of_target,
        judge_failed,
        failed_crosses: run.failed() as u32,
        cost,
        saved_slug: run.saved.as_ref().map(|saved| saved.slug.clone()),
        problem: run.problem.clone().filter(|_| status == "stopped"),
        degraded: run.degraded.clone(),
        crosses,
        ideas_per_cross: Profile::of(run.profile).ideas,
        save_problem,
        notes,
    }
}

/// The ideas: those that pass first, then by score, those without one last; at most `limit`.
pub(super) fn ideas(run: &Run, limit: Option<u32>) -> Vec<Idea> {
    let profile = Profile::of(run.profile);
    let idea = |(number, at, child): (usize, usize, &super::state::Child)| {
        let (close, far) = run.pages(number)?;
        let to = run.crosses.get(number)?.close;
        Some(Idea {
            id: run.number(number, at),
            text: child.text.clone(),
            close_slug: close.page.slug.clone(),
            far_slug: far.page.slug.clone(),
            distance: far.distances.get(to).copied().unwrap_or(super::close::UNKNOWN),
            passes: child.judge.as_ref().is_some_and(|judge| profile.passes(&judge.scores)),
            judge: child.judge.clone(),
        })
    };
    let mut ideas: Vec<Idea> = run.children().filter_map(idea).collect();
    // Scores are hundredths; whole ones can be compared.
    let hundredths =
        |idea: &Idea| idea.judge.as_ref().map(|judge| (judge.weighted * 100.0).round() as i64);
    ideas.sort_by_key(|idea| (!idea.passes, Reverse(hundredths(idea)), idea.id));
    ideas.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
    ideas
}

/// How many crosses failed, and why the first one did.
fn failures(run: &Run) -> Option<String> {
    let failed = run.failed();
    let why = run.crosses.iter().find_map(|cross| match &cross.state {
        CrossState::Failed { why } => Some(why),
        _ => None,
    })?;
    let name = run.profile.as_str();
    let (crosses, one) = match failed {
        1 => ("cross", ""),
        _ => ("crosses", "the first: "),
    };
    Some(format!(
        "{failed} {crosses} failed ({one}{why}); once more: brain {name} --resume {}",
        run.run_id
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{IdeaProfile, Judged, Scores, Slug, SourceId};

    use super::super::state::{Child, ClosePick, FarPick, Pick};
    use super::*;

    fn child(text: &str, score: Option<f32>) -> Child {
        let judge = score.map(|score| {
            let scores = Scores {
                originality: score,
                resistance: score,
                thesis: score,
                grounding: score,
                load_bearing: score,
            };
            Judged { scores, weighted: score, note: String::new() }
        });
        Child { text: text.into(), judge }
    }

    fn run() -> Run {
        let pick = |slug: &str| Pick {
            source: SourceId::default(),
            slug: Slug::parse(slug).unwrap(),
            title: slug.into(),
        };
        let mut run = Run::new("abcdefgh".into(), IdeaProfile::Brainstorm, "Why?", 0);
        run.close = vec![
            ClosePick { page: pick("a/one"), score: 1.0 },
            ClosePick { page: pick("a/two"), score: 0.5 },
        ];
        run.far = vec![FarPick { page: pick("b/one"), distances: vec![0.7, 0.4], domain: false }];
        run.cross();
        run.crosses[0].state =
            CrossState::Done { ideas: vec![child("low", Some(2.0)), child("none", None)] };
        run.crosses[1].state =
            CrossState::Done { ideas: vec![child("good", Some(4.0)), child("best", Some(4.5))] };
        run
    }

    #[test]
    fn ideas_that_pass_come_first_by_score_and_keep_their_numbers() {
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
    fn the_cost_is_this_calls_and_the_runs_is_said_beside_it() {
        let mut run = run();
        run.cost = Spent { estimated: 9, actual: 500_000, tokens_in: 50, tokens_out: 20, calls: 5 };
        let before =
            Spent { estimated: 9, actual: 200_000, tokens_in: 30, tokens_out: 15, calls: 3 };
        let said = Said { status: "done", estimated: 310_000, before, ..Said::default() };
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
        };
        let reply = of(&run, &request, said);
        let cost =
            Spent { estimated: 310_000, actual: 300_000, tokens_in: 20, tokens_out: 5, calls: 2 };
        assert_eq!(reply.cost, cost);
        assert!(reply.notes[0].contains("$0.50"), "{:?}", reply.notes);
        assert_eq!((reply.far_set[0].distance, reply.far_set[0].origin.as_str()), (0.4, "corpus"));
    }
}
