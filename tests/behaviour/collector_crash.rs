//! SIGKILL at random moments of runs, while posts are created, liked and deleted. No file is
//! damaged, no alert is lost, no deletion is missed or invented, and the next run continues.
//!
//! `BRAIN_CRASH_ROUNDS` (25; the full run has 500) and `BRAIN_CRASH_SEED` as in `crash`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use brain_collector::is_velocity_alert;
use brain_protocol::{CollectorCollect, Reply, Request, encode, write_frame};
use brain_tests::platform::{APP_TOKEN, Platform, PlatformServer, Time, endpoint};
use brain_tests::{TEST_TIMEOUT, TestHome};
use serde_json::{Value, json};

use crate::collector_world::files;
use crate::crash::{Rng, Run};

/// Time limit of a run with the default number of rounds.
const TIME_LIMIT: Duration = Duration::from_secs(40);

#[test]
fn sigkill_during_runs_loses_nothing() {
    let run = Run::new(25);
    let mut rng = run.rng();
    let mut world = World::new();
    let (mut kills, mut kills_within_runs) = (0, 0);
    for _ in 0..10 {
        world.post(&mut rng);
    }
    let mut daemon = world.daemon();
    let mut usual_duration = world.collect();
    for _ in 0..run.rounds {
        if run.is_default && run.started_at.elapsed() > TIME_LIMIT {
            break;
        }
        for _ in 0..=rng.below(6) {
            world.change_platform(&mut rng);
        }
        let mut client = world.home.connect().expect("no answer of the daemon");
        write_frame(
            &mut client.stream,
            &encode(&Request::CollectorCollect(CollectorCollect)).unwrap(),
        )
        .unwrap();
        let moment = Duration::from_micros(rng.below(usual_duration.as_micros() as u64 * 5 / 4));
        std::thread::sleep(moment / 2);
        // The platform changes during the run.
        world.change_platform(&mut rng);
        std::thread::sleep(moment / 2);
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        kills += 1;
        kills_within_runs += usize::from(!world.is_over());
        world.check();
        daemon = world.daemon();
        if rng.one_in(4) {
            // The first run was in a new process.
            usual_duration = usual_duration.min(world.collect());
            world.check();
        }
    }
    // Run twice: the second run finds posts that were deleted during the first.
    world.collect();
    world.collect();
    world.check();
    world.check_nothing_is_missed();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(kills > 0 && kills_within_runs > 0, "no run was killed in the middle: {kills} kills");
    run.report(&format!(
        "collector: {kills} kills, {kills_within_runs} within runs, {} posts, {} deletions, {:.0?}",
        world.posts.len(),
        world.detectable.len(),
        run.started_at.elapsed()
    ));
}

/// A home, a platform, and the expected state.
struct World {
    home: TestHome,
    platform: Platform,
    _server: PlatformServer,
    authors: [String; 2],
    /// Every post and its likes.
    posts: BTreeMap<String, u64>,
    /// All deleted posts.
    deleted: BTreeSet<String>,
    /// Deleted posts that a complete pull had returned before. A run must find their deletion.
    detectable: BTreeSet<String>,
    /// By file of a post, the first collection time in it.
    first_collected: BTreeMap<String, Value>,
}

impl World {
    fn new() -> Self {
        let platform = Platform::new(Time::System);
        let authors = [platform.create_account("ada"), platform.create_account("bob")];
        for each in [endpoint::TIMELINE, endpoint::MENTIONS, endpoint::SEARCH, endpoint::LOOKUP] {
            platform.limit(each, 10_000_000);
        }
        let server = PlatformServer::start(&platform, false);
        let mut home = TestHome::new();
        for (name, value) in [
            ("BRAIN_COLLECTOR_PLATFORM_API", server.url().as_str()),
            ("BRAIN_COLLECTOR_HANDLE", "ada"),
            ("BRAIN_COLLECTOR_USER_ID", &authors[0]),
            ("BRAIN_COLLECTOR_SEARCHES", r#"["owls", "birds"]"#),
            // The collector runs only when the test starts a run.
            ("BRAIN_COLLECTOR_ENABLED", "false"),
            ("BRAIN_PLATFORM_BEARER_TOKEN", APP_TOKEN),
        ] {
            home.env.push((name.into(), value.into()));
        }
        let (posts, deleted, detectable) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self {
            home,
            platform,
            _server: server,
            authors,
            posts,
            deleted,
            detectable,
            first_collected: BTreeMap::new(),
        }
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("collector/data")
    }

    /// Returns the standard output of all daemons.
    fn daemon_output(&self) -> String {
        std::fs::read_to_string(self.home.outside().join("lines")).unwrap_or_default()
    }

    fn daemon(&self) -> Child {
        let open = |name: &str| {
            File::options().create(true).append(true).open(self.home.outside().join(name)).unwrap()
        };
        let mut command = self.home.command("brain-daemon");
        command.stdin(Stdio::null()).stdout(open("lines")).stderr(open("log"));
        let daemon = command.spawn().unwrap();
        let deadline = Instant::now() + TEST_TIMEOUT;
        while self.home.connect().is_none() {
            assert!(Instant::now() < deadline, "the daemon does not answer");
            std::thread::sleep(Duration::from_millis(2));
        }
        daemon
    }

    /// Runs the collector and returns the duration.
    fn collect(&self) -> Duration {
        let start = Instant::now();
        match self
            .home
            .connect()
            .expect("no answer of the daemon")
            .ask(&Request::CollectorCollect(CollectorCollect))
        {
            Ok(Reply::CollectorRun(run)) => assert_eq!(run.status.as_str(), "complete", "{run:?}"),
            other => panic!("no run: {other:?}"),
        }
        start.elapsed()
    }

    /// Returns whether the last started run has reported its end.
    fn is_over(&self) -> bool {
        let daemon_output = self.daemon_output();
        daemon_output
            .lines()
            .rfind(|line| line.starts_with("RUN_"))
            .is_none_or(|line| line.starts_with("RUN_COMPLETE:"))
    }

    fn post(&mut self, rng: &mut Rng) {
        let texts = ["owls at night", "birds and owls, @ada", "hello @ada", "nothing special"];
        let author = &self.authors[rng.below(2) as usize];
        let id = self.platform.post(author, texts[rng.below(4) as usize]);
        self.posts.insert(id, 0);
    }

    /// Makes a random change on the platform.
    fn change_platform(&mut self, rng: &mut Rng) {
        let alive: Vec<String> =
            self.posts.keys().filter(|id| !self.deleted.contains(*id)).cloned().collect();
        let post = alive[rng.below(alive.len() as u64) as usize].clone();
        // All posts fit on one page, so a missing post is deleted.
        let action = if alive.len() > 60 { 0 } else { rng.below(4) };
        match action {
            0 if alive.len() > 20 || rng.one_in(3) => {
                // Record it before the deletion. Otherwise a run that ends meanwhile could find it
                // first.
                if self.previous_ids().contains(&post) {
                    self.detectable.insert(post.clone());
                }
                self.deleted.insert(post.clone());
                self.platform.delete(&post);
            }
            1 => {
                let likes = self.posts.get_mut(&post).unwrap();
                *likes += [1, 60, 150][rng.below(3) as usize];
                self.platform.set_likes(&post, *likes);
            }
            _ => self.post(rng),
        }
    }

    /// Returns the posts of the last complete pull of any stream.
    fn previous_ids(&self) -> BTreeSet<String> {
        let Ok(text) = std::fs::read(self.data().join("state.json")) else {
            return BTreeSet::new();
        };
        let state: Value = serde_json::from_slice(&text).expect("state.json is damaged");
        let streams = state["streams"].as_object().into_iter().flatten();
        let ids =
            streams.flat_map(|(_, stream)| stream["ids"].as_array().cloned().unwrap_or_default());
        ids.map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// Checks the invariants that always hold.
    fn check(&mut self) {
        let (daemon_output, mut found) = (self.daemon_output(), files(&self.data()));
        found.retain(|path, _| !path.ends_with(".tmp"));
        for (path, bytes) in &found {
            let value: Value = serde_json::from_slice(bytes)
                .unwrap_or_else(|e| panic!("{path}: {e}: {}", String::from_utf8_lossy(bytes)));
            assert!(!path.ends_with(".damaged"), "{path} was damaged");
            if path.starts_with("tweets/") {
                let first = self
                    .first_collected
                    .entry(path.clone())
                    .or_insert_with(|| value["_collected_at"].clone());
                assert!(
                    first.is_string() && *first == value["_collected_at"],
                    "{path}: {first} {value}"
                );
            }
            let id = path.rsplit('/').next().unwrap().trim_end_matches(".json");
            if path.starts_with("deletions/") {
                assert!(self.deleted.contains(id), "{id} is recorded as deleted but exists");
                assert!(
                    daemon_output.contains(&format!("DELETION_DETECTED:{id}:")),
                    "{id} was not reported"
                );
            }
            if path.starts_with("engagement/") {
                let likes: Vec<u64> = value.as_array().unwrap().iter().map(likes).collect();
                for step in likes.windows(2).filter(|step| is_velocity_alert(step[0], step[1])) {
                    let line = format!("VELOCITY_ALERT:{id}:likes:{}->{}:", step[0], step[1]);
                    assert!(daemon_output.contains(&line), "{line} was not reported");
                }
            }
        }
        for line in daemon_output.lines().filter(|line| line.starts_with("DELETION_DETECTED:")) {
            assert!(
                self.deleted.contains(line.split(':').nth(1).unwrap()),
                "{line}: this post was not deleted"
            );
        }
    }

    /// Checks the invariants after complete runs.
    fn check_nothing_is_missed(&self) {
        let daemon_output = self.daemon_output();
        for id in &self.detectable {
            assert!(
                self.data().join(format!("deletions/{id}.json")).exists(),
                "the deletion of {id} was missed"
            );
            assert!(
                daemon_output.contains(&format!("DELETION_DETECTED:{id}:")),
                "{id} was not reported"
            );
        }
        let found = files(&self.data());
        assert!(found.keys().all(|path| !path.ends_with(".tmp")), "temporary files are removed");
        for id in self.previous_ids() {
            let stored = found.keys().any(|path| path.starts_with("tweets/") && path.contains(&id));
            assert!(stored, "{id} is in the state and not stored");
            let Some(curve) = found.get(&format!("engagement/{id}.json")) else {
                panic!("{id} has no curve")
            };
            let curve: Value = serde_json::from_slice(curve).unwrap();
            assert_eq!(
                json!(likes(curve.as_array().unwrap().last().unwrap())),
                json!(self.posts[&id]),
                "{id}"
            );
        }
    }
}

fn likes(snapshot: &Value) -> u64 {
    snapshot["metrics"]["like_count"].as_u64().expect("no like_count")
}
