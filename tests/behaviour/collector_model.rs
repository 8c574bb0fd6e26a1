//! Whole runs against a plain model of the two rules: posts come, go and are liked in any order,
//! time passes in steps around the windows, runs are cut short or their lookups fail; whatever the
//! model says was deleted or spreads, and nothing else, is told.

use std::collections::{BTreeMap, BTreeSet};

use brain_tests::platform::{Fault, endpoint};
use proptest::prelude::*;

use crate::collector_world::{DAY, HOUR, Lab, MINUTE, with};

/// Something that happens.
#[derive(Debug, Clone)]
enum Step {
    Post,
    Delete(usize),
    Edit(usize),
    Likes(usize, u64),
    Pass(i64),
    Run { timeline: bool, lookups: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let run = |timeline, lookups| Step::Run { timeline, lookups };
    prop_oneof![
        3 => Just(Step::Post),
        2 => (0..64_usize).prop_map(Step::Delete),
        1 => (0..64_usize).prop_map(Step::Edit),
        3 => (0..64_usize, prop_oneof![Just(1_u64), Just(50), Just(51), Just(100), Just(101)])
            .prop_map(|(which, more)| Step::Likes(which, more)),
        3 => prop_oneof![Just(MINUTE), Just(HOUR), Just(23 * HOUR), Just(48 * HOUR), Just(48 * HOUR + 1), Just(7 * DAY)]
            .prop_map(Step::Pass),
        6 => Just(run(true, true)),
        1 => Just(run(false, true)),
        1 => Just(run(true, false)),
    ]
}

/// What is known of a post.
#[derive(Debug, Clone, Copy)]
struct Known {
    created: i64,
    likes: u64,
    /// It is in the timeline: neither deleted nor edited since.
    listed: bool,
    deleted: bool,
    /// When the collector saw it last, if it ever did.
    seen: Option<i64>,
    /// Its likes at its last snapshot.
    snapshot: Option<u64>,
}

/// The rules once more, as the specification has them.
#[derive(Default)]
struct Model {
    posts: BTreeMap<String, Known>,
    /// Which version replaced a post.
    edits: BTreeMap<String, String>,
    former: BTreeSet<String>,
    recorded: BTreeSet<String>,
}

/// What a run must say.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    deletions: BTreeSet<String>,
    alerts: BTreeSet<String>,
    lookups: u64,
}

impl Model {
    fn run(&mut self, now: i64, timeline: bool, lookups: bool) -> Said {
        let mut said = Said::default();
        if !timeline {
            return said;
        }
        let present: BTreeSet<String> =
            self.posts.iter().filter(|(_, post)| post.listed).map(|(id, _)| id.clone()).collect();
        let mut doubtful = BTreeSet::new();
        for id in self.former.difference(&present) {
            let post = self.posts[id];
            let asked = now - post.created <= 7 * DAY
                && post.seen.is_some_and(|seen| now - seen <= 48 * HOUR)
                && !self.recorded.contains(id);
            if !asked {
                continue;
            }
            said.lookups += 1;
            if !lookups {
                doubtful.insert(id.clone());
            } else if post.deleted {
                self.recorded.insert(id.clone());
                said.deletions.insert(format!("DELETION_DETECTED:{id}:ada:words"));
            }
        }
        for id in &present {
            let post = self.posts.get_mut(id).unwrap();
            post.seen = Some(now);
            if let Some(old) = post.snapshot.replace(post.likes) {
                let new = post.likes;
                let spreads =
                    if old >= 50 && new >= 2 * old { true } else { new.saturating_sub(old) > 100 };
                if spreads {
                    said.alerts.insert(format!("VELOCITY_ALERT:{id}:likes:{old}->{new}:"));
                }
            }
        }
        self.former = present.into_iter().chain(doubtful).collect();
        said
    }
}

/// The post that `which` means, of those that are listed.
fn chosen(model: &Model, which: usize) -> Option<String> {
    let listed: Vec<&String> =
        model.posts.iter().filter(|(_, post)| post.listed).map(|(id, _)| id).collect();
    listed.get(which % listed.len().max(1)).map(|id| (*id).clone())
}

fn fresh(created: i64) -> Known {
    Known { created, likes: 0, listed: true, deleted: false, seen: None, snapshot: None }
}

fn walk(steps: &[Step]) {
    let (lab, mut model) = (Lab::new(), Model::default());
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Post => {
                let id = lab.platform.post(&lab.ada, "words");
                model.posts.insert(id, fresh(lab.now()));
            }
            Step::Delete(which) => {
                let Some(id) = chosen(&model, *which) else { continue };
                lab.platform.delete(&id);
                // With it all of its versions.
                let mut gone = BTreeSet::from([id]);
                while let Some(former) = model
                    .edits
                    .iter()
                    .find(|(old, new)| gone.contains(*new) && !gone.contains(*old))
                    .map(|(old, _)| old.clone())
                {
                    gone.insert(former);
                }
                for id in gone {
                    let post = model.posts.get_mut(&id).unwrap();
                    (post.listed, post.deleted) = (false, true);
                }
            }
            Step::Edit(which) => {
                let Some(id) = chosen(&model, *which) else { continue };
                let new = lab.platform.edit(&id, "words");
                let former = model.posts.get_mut(&id).unwrap();
                former.listed = false;
                let version = Known { likes: former.likes, ..fresh(former.created) };
                model.posts.insert(new.clone(), version);
                model.edits.insert(id, new);
            }
            Step::Likes(which, more) => {
                let Some(id) = chosen(&model, *which) else { continue };
                let post = model.posts.get_mut(&id).unwrap();
                post.likes += more;
                lab.platform.likes(&id, post.likes);
            }
            Step::Pass(ms) => lab.pass(*ms),
            Step::Run { timeline, lookups } => {
                if !timeline {
                    lab.platform.fault(endpoint::TIMELINE, Fault::Server(503), 1);
                }
                if !lookups {
                    lab.platform.fault(endpoint::LOOKUP, Fault::ServerEmpty(500), 1000);
                }
                let before = lab.platform.count(endpoint::LOOKUP);
                let lines = lab.collect();
                lab.platform.mend();
                let told = |word: &str| {
                    with(&lines, word).into_iter().map(str::to_owned).collect::<BTreeSet<_>>()
                };
                let said = Said {
                    deletions: told("DELETION_DETECTED:"),
                    alerts: told("VELOCITY_ALERT:")
                        .iter()
                        .map(|line| line[..=line.rfind(':').unwrap()].into())
                        .collect(),
                    lookups: lab.platform.count(endpoint::LOOKUP) - before,
                };
                assert_eq!(
                    said,
                    model.run(lab.now(), *timeline, *lookups),
                    "step {at} of {steps:#?}"
                );
                let former: BTreeSet<String> = lab.former("own").into_iter().collect();
                assert_eq!(former, model.former, "step {at} of {steps:#?}");
            }
        }
    }
    for id in model.posts.keys() {
        assert_eq!(lab.deletion(id).is_some(), model.recorded.contains(id), "{id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn runs_do_what_a_plain_model_does(steps in prop::collection::vec(step(), 10..60)) {
        walk(&steps);
    }
}
