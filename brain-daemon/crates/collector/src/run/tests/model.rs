//! Random histories of a platform: the collector agrees with a simple model.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;

use super::fake_platform::{
    EndpointResult, FakePlatform, OWNER, RecordingListener, post_id, status,
};
use crate::fake::answer;
use crate::{COLLECTED_AT, LAST_UPDATED, SEARCHES, Stream};
use brain_base::clock::Clock;
use brain_net::Error as NetError;

const QUERIES: [&str; 3] = ["rust", "brain", "tide"];
/// Maximum number of pages of a pull.
const MAX_PAGES: usize = 2;
/// Number of posts of a page.
const PAGE_SIZE: usize = 4;
const HOUR: i64 = 60 * 60 * 1000;
/// The first post id. Later ids exceed 2^53, the limit of safe JSON numbers.
const FIRST_ID: u64 = 9_007_199_254_740_990;

/// A step of the history. Posts are indices modulo their number.
#[derive(Debug, Clone)]
enum Event {
    Post {
        own: bool,
        mentions: bool,
        queries: Vec<bool>,
    },
    Delete(usize),
    /// A new version replaces the old one, which can still be looked up.
    Edit(usize),
    /// A post has this number of likes.
    Like(usize, u64),
    /// This time passes, in milliseconds.
    Pass(i64),
    /// The next run fails at this endpoint. The number is an index of [`failures`].
    Fail(&'static str, usize),
    Run,
}

/// Failures of an endpoint: the response, the part of the run that it ends, and whether it counts
/// as an answer.
fn failures() -> [(EndpointResult, FailureScope, bool); 8] {
    [
        (status(401), FailureScope::Run, true),
        (status(402), FailureScope::Run, true),
        (status(500), FailureScope::Source, false),
        (status(400), FailureScope::Source, true),
        (Ok(answer(200, &[], "<html>")), FailureScope::Source, false),
        (status(403), FailureScope::Stream, true),
        (Ok(answer(429, &[], r#"{"title":"UsageCapExceeded"}"#)), FailureScope::Stream, true),
        (Err(NetError::Timeout(30)), FailureScope::Stream, false),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum FailureScope {
    Run,
    Stream,
    Source,
}

fn event() -> impl Strategy<Value = Event> {
    let endpoints =
        ["own", "mentions", "search", "search rust", "search brain", "lookup", "lookup"];
    prop_oneof![
        4 => (any::<bool>(), any::<bool>(), prop::collection::vec(any::<bool>(), QUERIES.len()))
            .prop_map(|(own, mentions, queries)| Event::Post { own, mentions, queries }),
        3 => any::<usize>().prop_map(Event::Delete),
        1 => any::<usize>().prop_map(Event::Edit),
        3 => (any::<usize>(), prop_oneof![0..3u64, 45..55u64, 90..110u64, 140..160u64, 190..310u64])
            .prop_map(|(post, likes)| Event::Like(post, likes)),
        2 => prop_oneof![Just(HOUR / 2), 0..HOUR, Just(24 * HOUR), Just(48 * HOUR),
            Just(48 * HOUR + 1), Just(100 * HOUR)]
            .prop_map(Event::Pass),
        2 => (prop::sample::select(endpoints.to_vec()), 0..failures().len())
            .prop_map(|(endpoint, index)| Event::Fail(endpoint, index)),
        6 => Just(Event::Run),
    ]
}

/// The model's view of a stored post. Times are in Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
struct StoredPost {
    collected: i64,
    seen: i64,
    created: i64,
    found_by: Vec<String>,
}

/// The expected files.
#[derive(Debug, Default, PartialEq)]
struct Model {
    stored: BTreeMap<(Stream, u64), StoredPost>,
    previous_ids: BTreeMap<Stream, BTreeSet<u64>>,
    deleted: BTreeMap<u64, i64>,
    likes: BTreeMap<u64, Vec<u64>>,
}

/// The outcome of a run, expected or actual. Alerts have post id, old and new likes.
#[derive(Debug, Default, PartialEq)]
struct RunOutcome {
    failed: bool,
    skipped: BTreeSet<String>,
    deleted: BTreeSet<u64>,
    alerts: BTreeSet<(u64, u64, u64)>,
    unverified: u64,
    seen: u64,
}

impl Model {
    /// Models a run with these failures.
    #[allow(clippy::too_many_lines)]
    fn run(&mut self, fixture: &FakePlatform, fails: &HashMap<&'static str, usize>) -> RunOutcome {
        let now = fixture.time.now();
        let posts = fixture.platform().posts.clone();
        let failure_at = |endpoint: &str| {
            let failures = failures();
            fails.get(endpoint).map(|&index| (failures[index].1, failures[index].2))
        };
        let mut expected = RunOutcome::default();
        let mut present: BTreeSet<u64> = BTreeSet::new();
        let mut pulled_streams: BTreeMap<Stream, BTreeSet<u64>> = BTreeMap::new();
        let sources = [
            (Stream::Own, vec![""]),
            (Stream::Mentions, vec![""]),
            (Stream::Searches, QUERIES.to_vec()),
        ];
        let mut is_answered = false;
        'streams: for (stream, queries) in sources {
            let mut pulled = BTreeSet::new();
            let mut is_first_answer = None;
            for query in queries {
                let failure = match stream {
                    Stream::Own => failure_at("own"),
                    Stream::Mentions => failure_at("mentions"),
                    Stream::Searches => {
                        failure_at("search").or(failure_at(&format!("search {query}")))
                    }
                };
                if let Some((_, is_answer)) = failure {
                    expected.skipped.insert(stream.as_str().to_owned());
                    is_answered |= *is_first_answer.get_or_insert(is_answer);
                }
                match failure.map(|(scope, _)| scope) {
                    Some(FailureScope::Run) => {
                        expected.failed = true;
                        break 'streams;
                    }
                    Some(FailureScope::Stream) => break,
                    Some(FailureScope::Source) => continue,
                    None => is_answered = true,
                }
                let shown = posts.iter().rev().filter(|(_, post)| {
                    post.listed
                        && match stream {
                            Stream::Own => post.author == OWNER,
                            Stream::Mentions => post.mentions_owner,
                            Stream::Searches => post.found_by.iter().any(|found| found == query),
                        }
                });
                for (id, post) in shown.take(MAX_PAGES * PAGE_SIZE) {
                    present.insert(*id);
                    pulled.insert(*id);
                    let new_post = StoredPost {
                        collected: now,
                        seen: now,
                        created: post.created,
                        found_by: Vec::new(),
                    };
                    let stored = self.stored.entry((stream, *id)).or_insert(new_post);
                    stored.seen = now;
                    if !query.is_empty() && !stored.found_by.iter().any(|known| known == query) {
                        stored.found_by.push(query.to_owned());
                    }
                }
            }
            pulled_streams.insert(stream, pulled);
        }
        expected.seen = present.len() as u64;
        expected.failed |= !is_answered;
        if !expected.failed {
            let lookups = failure_at("lookup").map(|(scope, _)| scope);
            self.look_up_missing(fixture, lookups, &present, &pulled_streams, &mut expected);
        }
        if expected.failed {
            expected.skipped.clear();
        }
        for id in present {
            let new = posts[&id].likes;
            let curve = self.likes.entry(id).or_default();
            match curve.last() {
                Some(old) if *old == new => continue,
                Some(old)
                    if if *old >= 50 && new >= old * 2 {
                        true
                    } else {
                        new > *old && new - old > 100
                    } =>
                {
                    expected.alerts.insert((id, *old, new));
                }
                _ => {}
            }
            curve.push(new);
        }
        expected
    }

    fn look_up_missing(
        &mut self,
        fixture: &FakePlatform,
        lookups: Option<FailureScope>,
        present: &BTreeSet<u64>,
        pulled_streams: &BTreeMap<Stream, BTreeSet<u64>>,
        expected: &mut RunOutcome,
    ) {
        let now = fixture.time.now();
        let mut next = self.previous_ids.clone();
        let mut looked_up = BTreeSet::new();
        let mut undecided: BTreeMap<Stream, BTreeSet<u64>> = BTreeMap::new();
        for (stream, pulled) in
            pulled_streams.iter().filter(|(stream, _)| !expected.skipped.contains(stream.as_str()))
        {
            for id in self
                .previous_ids
                .get(stream)
                .into_iter()
                .flatten()
                .filter(|id| !present.contains(id))
            {
                let stored =
                    Stream::ALL.iter().filter_map(|stream| self.stored.get(&(*stream, *id)));
                let (seen, created) =
                    stored.map(|stored| (stored.seen, stored.created)).max().unwrap();
                if now - created <= 7 * 24 * HOUR
                    && now - seen <= 48 * HOUR
                    && !self.deleted.contains_key(id)
                {
                    looked_up.insert(*id);
                    undecided.entry(*stream).or_default().insert(*id);
                }
            }
            next.insert(*stream, pulled.clone());
        }
        match lookups {
            Some(FailureScope::Run) if !looked_up.is_empty() => {
                expected.failed = true;
                return;
            }
            Some(_) if !looked_up.is_empty() => {
                expected.unverified = looked_up.len() as u64;
                for (stream, ids) in undecided {
                    next.get_mut(&stream).unwrap().extend(ids);
                }
            }
            _ => {
                for id in looked_up {
                    if !fixture.platform().posts[&id].exists {
                        self.deleted.insert(id, now);
                        expected.deleted.insert(id);
                    }
                }
            }
        }
        self.previous_ids = next;
    }

    /// Reads the actual files.
    fn read_from_disk(fixture: &FakePlatform) -> Self {
        let number = |id: &crate::PostId| id.as_str().parse::<u64>().unwrap();
        let mut found = Self::default();
        for stream in Stream::ALL {
            for id in fixture.data.ids(&format!("tweets/{}", stream.as_str())).unwrap() {
                let record = fixture.data.post(stream, &id).unwrap().unwrap();
                let at = |name| record.instant(name).unwrap();
                let found_by =
                    record.fields().get(SEARCHES).cloned().unwrap_or_else(|| serde_json::json!([]));
                let stored = StoredPost {
                    collected: at(COLLECTED_AT),
                    seen: at(LAST_UPDATED),
                    created: at("created_at"),
                    found_by: serde_json::from_value(found_by).unwrap(),
                };
                found.stored.insert((stream, number(&id)), stored);
            }
            if fixture.state().streams.contains_key(stream.as_str()) {
                let previous_ids = fixture.previous_ids(stream).into_iter().collect();
                found.previous_ids.insert(stream, previous_ids);
            }
        }
        for id in fixture.data.ids("deletions").unwrap() {
            let at = fixture.data.deletion(&id).unwrap().unwrap().detected_at;
            found.deleted.insert(number(&id), brain_base::clock::parse_instant(&at).unwrap());
        }
        for id in fixture.data.ids("engagement").unwrap() {
            let likes = fixture
                .data
                .snapshots(&id)
                .unwrap()
                .iter()
                .map(|snapshot| snapshot.metrics.like_count)
                .collect();
            found.likes.insert(number(&id), likes);
        }
        found
    }
}

/// Runs once and returns the actual outcome.
fn run_collector(fixture: &FakePlatform) -> RunOutcome {
    let listener = RecordingListener::default();
    let report = fixture.run_with(&listener).unwrap();
    let mut actual = RunOutcome {
        unverified: report.unverified,
        seen: report.tweets_stored,
        ..RunOutcome::default()
    };
    for line in listener.lines.into_inner() {
        let parts: Vec<&str> = line.split(':').collect();
        match parts[0] {
            "RUN_FAILED" => actual.failed = true,
            "STREAM_SKIPPED" => assert!(actual.skipped.insert(parts[1].to_owned())),
            "DELETION_DETECTED" => assert!(actual.deleted.insert(parts[1].parse().unwrap())),
            "VELOCITY_ALERT" => {
                let (old, new) = parts[3].split_once("->").unwrap();
                let alert = (parts[1].parse().unwrap(), old.parse().unwrap(), new.parse().unwrap());
                assert!(actual.alerts.insert(alert));
            }
            _ => {}
        }
    }
    if actual.failed {
        actual.skipped.clear();
    }
    assert_eq!(
        (report.deletions, report.velocity_alerts),
        (actual.deleted.len() as u64, actual.alerts.len() as u64)
    );
    assert_eq!(report.reason.is_some(), actual.failed);
    actual
}

/// Applies a step. Adds a failure of the next run to `fails`, as an index of [`failures`].
fn apply(fixture: &FakePlatform, event: &Event, fails: &mut HashMap<&'static str, usize>) {
    let posts = fixture.platform().posts.len();
    let post_at = |n: usize| FIRST_ID + (n % posts.max(1)) as u64;
    let new = FIRST_ID + posts as u64;
    match event {
        Event::Post { own, mentions, queries } => {
            let found: Vec<&str> = QUERIES
                .iter()
                .zip(queries)
                .filter(|(_, found)| **found)
                .map(|(query, _)| *query)
                .collect();
            let text = format!("{} {}", if *mentions { "@owner" } else { "" }, found.join(" "));
            fixture.post(new, if *own { OWNER } else { "6" }, &text);
        }
        Event::Fail(endpoint, index) => {
            fails.insert(endpoint, *index);
            fixture.fail(endpoint, failures()[*index].0.clone());
        }
        Event::Pass(ms) => fixture.advance(*ms),
        Event::Delete(n) if posts > 0 => fixture.delete(post_at(*n)),
        Event::Like(n, likes) if posts > 0 => fixture.like(post_at(*n), *likes),
        Event::Edit(n) if posts > 0 => {
            let mut platform = fixture.platform();
            let old = platform.posts.get_mut(&post_at(*n)).unwrap();
            if old.listed {
                old.listed = false;
                let edited = old.clone();
                platform.posts.insert(
                    new,
                    super::fake_platform::Post { listed: true, text: "edited".into(), ..edited },
                );
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_collector_agrees_with_the_model(events in prop::collection::vec(event(), 1..80)) {
        let mut fixture = FakePlatform::new(&QUERIES);
        fixture.settings.max_pages = MAX_PAGES as u32;
        fixture.platform().page_size = PAGE_SIZE;
        let (mut model, mut fails) = (Model::default(), HashMap::new());
        for (n, event) in events.iter().chain([&Event::Run, &Event::Run]).enumerate() {
            if !matches!(event, Event::Run) {
                apply(&fixture, event, &mut fails);
                continue;
            }
            let expected = model.run(&fixture, &fails);
            prop_assert_eq!(run_collector(&fixture), expected, "run at event {}", n);
            prop_assert_eq!(Model::read_from_disk(&fixture), std::mem::take(&mut model),
                "after the run at event {}", n);
            model = Model::read_from_disk(&fixture);
            fixture.clear_failures();
            fails.clear();
        }
    }
}

#[test]
fn the_model_finds_deletions_and_alerts() {
    // A short history, to show that the model is not blind to deletions and alerts.
    let fixture = FakePlatform::new(&QUERIES);
    let mut model = Model::default();
    let mut fails = HashMap::new();
    apply(
        &fixture,
        &Event::Post { own: true, mentions: true, queries: vec![true, true, false] },
        &mut fails,
    );
    apply(
        &fixture,
        &Event::Post { own: false, mentions: true, queries: vec![false, false, false] },
        &mut fails,
    );
    assert_eq!(model.run(&fixture, &fails).seen, 2);
    apply(&fixture, &Event::Delete(0), &mut fails);
    apply(&fixture, &Event::Like(1, 101), &mut fails);
    let expected = model.run(&fixture, &fails);
    assert_eq!((expected.deleted.len(), expected.alerts.len()), (1, 1));
    assert!(!fixture.data.is_deleted(&post_id(FIRST_ID)), "the model touches no file");
}
