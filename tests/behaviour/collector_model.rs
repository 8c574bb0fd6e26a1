//! Runs compared with a simple model of the rules for deletions and alerts. Posts are created,
//! deleted and liked in random order. Time advances to the limits of each window and just beyond.
//! Pulls and lookups of some runs fail. Runs must report exactly the deletions and alerts of the
//! model.

use std::collections::{BTreeMap, BTreeSet};

use brain_tests::platform::{Fault, endpoint};
use proptest::prelude::*;

use crate::collector_world::{DAY, Fixture, HOUR, MINUTE, lines_with};

/// A change of the platform or of time.
#[derive(Debug, Clone)]
enum Step {
    Post,
    /// Index of a listed post.
    Delete(usize),
    /// Index of a listed post.
    Edit(usize),
    /// Index of a listed post, and the number of new likes.
    Likes(usize, u64),
    /// Milliseconds.
    Advance(i64),
    /// Whether the pull of the timeline and the lookups succeed.
    Run {
        timeline: bool,
        lookups: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let run = |timeline, lookups| Step::Run { timeline, lookups };
    prop_oneof![
        3 => Just(Step::Post),
        2 => (0..64_usize).prop_map(Step::Delete),
        1 => (0..64_usize).prop_map(Step::Edit),
        3 => (0..64_usize, prop_oneof![Just(1_u64), Just(50), Just(51), Just(100), Just(101)])
            .prop_map(|(index, more)| Step::Likes(index, more)),
        3 => prop_oneof![Just(MINUTE), Just(HOUR), Just(23 * HOUR), Just(48 * HOUR),
            Just(48 * HOUR + 1), Just(7 * DAY)]
            .prop_map(Step::Advance),
        6 => Just(run(true, true)),
        1 => Just(run(false, true)),
        1 => Just(run(true, false)),
    ]
}

/// The expected state of a post.
#[derive(Debug, Clone, Copy)]
struct PostState {
    created_at: i64,
    likes: u64,
    /// The post is in the timeline: neither deleted nor edited.
    is_listed: bool,
    is_deleted: bool,
    /// When a complete pull last returned it.
    last_pulled_at: Option<i64>,
    /// The likes in the last snapshot.
    snapshot: Option<u64>,
}

/// The rules of the specification.
#[derive(Default)]
struct Model {
    posts: BTreeMap<String, PostState>,
    /// The version that replaced a post.
    edits: BTreeMap<String, String>,
    /// The posts that the next run compares the timeline with.
    former: BTreeSet<String>,
    /// The posts with a recorded deletion.
    recorded: BTreeSet<String>,
}

/// The deletions, alerts and lookups of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    deletions: BTreeSet<String>,
    alerts: BTreeSet<String>,
    lookups: u64,
}

impl Model {
    /// Returns the expected report of a run, and updates the model.
    fn run(&mut self, now: i64, timeline: bool, lookups: bool) -> Report {
        let mut expected = Report::default();
        if !timeline {
            return expected;
        }
        let listed = self.posts.iter().filter(|(_, post)| post.is_listed);
        let present: BTreeSet<String> = listed.map(|(id, _)| id.clone()).collect();
        let mut unverified = BTreeSet::new();
        for id in self.former.difference(&present) {
            let post = self.posts[id];
            let is_looked_up = now - post.created_at <= 7 * DAY
                && post.last_pulled_at.is_some_and(|at| now - at <= 48 * HOUR)
                && !self.recorded.contains(id);
            if !is_looked_up {
                continue;
            }
            expected.lookups += 1;
            if !lookups {
                unverified.insert(id.clone());
            } else if post.is_deleted {
                self.recorded.insert(id.clone());
                expected.deletions.insert(format!("DELETION_DETECTED:{id}:ada:words"));
            }
        }
        for id in &present {
            let post = self.posts.get_mut(id).unwrap();
            post.last_pulled_at = Some(now);
            if let Some(old) = post.snapshot.replace(post.likes) {
                let new = post.likes;
                let is_alert =
                    if old >= 50 && new >= 2 * old { true } else { new.saturating_sub(old) > 100 };
                if is_alert {
                    expected.alerts.insert(format!("VELOCITY_ALERT:{id}:likes:{old}->{new}:"));
                }
            }
        }
        self.former = present.into_iter().chain(unverified).collect();
        expected
    }
}

/// Returns the id of the listed post with this index, modulo the number of listed posts.
fn listed_post(model: &Model, index: usize) -> Option<String> {
    let listed: Vec<&String> =
        model.posts.iter().filter(|(_, post)| post.is_listed).map(|(id, _)| id).collect();
    listed.get(index % listed.len().max(1)).map(|id| (*id).clone())
}

fn new_post(created_at: i64) -> PostState {
    let (is_listed, is_deleted) = (true, false);
    let (last_pulled_at, snapshot) = (None, None);
    PostState { created_at, likes: 0, is_listed, is_deleted, last_pulled_at, snapshot }
}

fn run_steps(steps: &[Step]) {
    let (fixture, mut model) = (Fixture::new(), Model::default());
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Post => {
                let id = fixture.platform.post(&fixture.ada, "words");
                model.posts.insert(id, new_post(fixture.now()));
            }
            Step::Delete(index) => {
                let Some(id) = listed_post(&model, *index) else { continue };
                fixture.platform.delete(&id);
                // The platform deletes all versions of the post.
                let mut deleted_ids = BTreeSet::from([id]);
                while let Some(former) = model
                    .edits
                    .iter()
                    .find(|(old, new)| deleted_ids.contains(*new) && !deleted_ids.contains(*old))
                    .map(|(old, _)| old.clone())
                {
                    deleted_ids.insert(former);
                }
                for id in deleted_ids {
                    let post = model.posts.get_mut(&id).unwrap();
                    (post.is_listed, post.is_deleted) = (false, true);
                }
            }
            Step::Edit(index) => {
                let Some(id) = listed_post(&model, *index) else { continue };
                let new = fixture.platform.edit(&id, "words");
                let former = model.posts.get_mut(&id).unwrap();
                former.is_listed = false;
                let version = PostState { likes: former.likes, ..new_post(former.created_at) };
                model.posts.insert(new.clone(), version);
                model.edits.insert(id, new);
            }
            Step::Likes(index, more) => {
                let Some(id) = listed_post(&model, *index) else { continue };
                let post = model.posts.get_mut(&id).unwrap();
                post.likes += more;
                fixture.platform.set_likes(&id, post.likes);
            }
            Step::Advance(ms) => fixture.advance(*ms),
            Step::Run { timeline, lookups } => {
                if !timeline {
                    fixture.platform.fault(endpoint::TIMELINE, Fault::Server(503), 1);
                }
                if !lookups {
                    fixture.platform.fault(endpoint::LOOKUP, Fault::ServerEmpty(500), 1000);
                }
                let before = fixture.platform.count(endpoint::LOOKUP);
                let lines = fixture.collect();
                fixture.platform.clear_faults();
                let reported_lines = |word: &str| {
                    lines_with(&lines, word).into_iter().map(str::to_owned).collect::<BTreeSet<_>>()
                };
                let actual = Report {
                    deletions: reported_lines("DELETION_DETECTED:"),
                    alerts: reported_lines("VELOCITY_ALERT:")
                        .iter()
                        .map(|line| line[..=line.rfind(':').unwrap()].into())
                        .collect(),
                    lookups: fixture.platform.count(endpoint::LOOKUP) - before,
                };
                assert_eq!(
                    actual,
                    model.run(fixture.now(), *timeline, *lookups),
                    "step {number} of {steps:#?}"
                );
                let former: BTreeSet<String> = fixture.former("own").into_iter().collect();
                assert_eq!(former, model.former, "step {number} of {steps:#?}");
            }
        }
    }
    for id in model.posts.keys() {
        assert_eq!(fixture.deletion(id).is_some(), model.recorded.contains(id), "{id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, max_shrink_iters: 200,
        ..ProptestConfig::default() })]
    #[test]
    fn runs_match_a_simple_model(steps in prop::collection::vec(step(), 10..60)) {
        run_steps(&steps);
    }
}
