//! Measures the collector: processor time of runs without new posts, with few and with many stored
//! posts, and the memory that remains in use. The platform is a fake in this process, so its work
//! is not counted.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use brain_protocol::{CollectorCollect, Reply, Request};
use brain_tests::platform::{APP_TOKEN, Platform, PlatformServer, Time, endpoint};
use brain_tests::{Client, TEST_TIMEOUT, TestHome};

use crate::Bench;
use crate::process::{TICKS, memory, ticks};
use crate::report::{Goal, Row, Samples, short};

/// Number of configured searches.
const SEARCHES: usize = 10;
/// Number of posts that each search returns.
const POSTS_PER_SEARCH: usize = 80;
/// Number of own posts, and number of mentions.
const POSTS_PER_STREAM: usize = 100;
/// Number of all posts that the streams return.
const KNOWN_POSTS: usize = 2 * POSTS_PER_STREAM + SEARCHES * POSTS_PER_SEARCH;
/// Number of stored posts that no stream returns any more.
const OLD_POSTS: usize = 100_000;
/// Number of runs in one measurement: the system counts processor time in hundredths of a second.
const RUNS: u32 = 10;

impl Bench {
    /// Measures runs over three streams, with ten searches and a thousand known posts.
    pub(crate) fn collector(&mut self) {
        let platform = Platform::new(Time::System);
        let own = platform.create_account("owner");
        let other = platform.create_account("other");
        for n in 0..POSTS_PER_STREAM {
            platform.post(&own, &text(n, "what I think of it"));
            platform.post(&other, &text(n, "@owner look at this"));
        }
        for search in 0..SEARCHES {
            for n in 0..POSTS_PER_SEARCH {
                platform.post(&other, &text(n, &word(search)));
            }
        }
        // Runs start more often than every 30 minutes, so they need higher limits.
        for endpoint in [endpoint::TIMELINE, endpoint::MENTIONS, endpoint::SEARCH] {
            platform.limit(endpoint, 1_000_000);
        }
        let server = PlatformServer::start(&platform, false);
        let searches: Vec<String> = (0..SEARCHES).map(word).collect();
        let mut home = TestHome::new();
        for (name, value) in [
            ("BRAIN_COLLECTOR_PLATFORM_API", server.url()),
            ("BRAIN_COLLECTOR_HANDLE", "owner".to_owned()),
            ("BRAIN_COLLECTOR_USER_ID", own),
            ("BRAIN_COLLECTOR_SEARCHES", serde_json::to_string(&searches).unwrap()),
            ("BRAIN_PLATFORM_BEARER_TOKEN", APP_TOKEN.to_owned()),
        ] {
            home.env.push((name.into(), value));
        }
        let daemon = home.daemon();
        let pid = daemon.pid();
        let mut client = home.connect().unwrap();
        client.stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let before = memory(pid, "RssAnon");
        collect(&mut client, KNOWN_POSTS);
        collect(&mut client, KNOWN_POSTS);

        let data = home.path().join("collector/data");
        let (mut few, mut many, mut baseline) =
            (Samples::default(), Samples::default(), Samples::default());
        for _ in 0..3 {
            few.push(processor_ms(pid, &mut client));
            baseline.push(rewrite_ms(&data, self.dir.path()));
        }
        let old_posts = self.store_old_posts(&data);
        for _ in 0..3 {
            many.push(processor_ms(pid, &mut client));
        }
        let after = memory(pid, "RssAnon");
        let minimum = || {
            let text = format!(
                "{} ms: {KNOWN_POSTS} files read, written anew and renamed, {KNOWN_POSTS} more \
                    read",
                short(baseline.median())
            );
            Some((Some(baseline.median()), text))
        };
        self.table.add(Row {
            order: 120,
            description: format!(
                "a run of the collector, 3 streams with {SEARCHES} searches and {KNOWN_POSTS} \
                    known posts: processor time"
            ),
            goal: Goal::Below(100.0, "ms"),
            value: few.median(),
            measured: few.text("ms"),
            baseline: minimum(),
        });
        self.table.add(Row {
            order: 121,
            description: format!("the same beside {old_posts} older posts"),
            goal: Goal::Below(1.2 * few.median(), "ms (1.2 times the above)"),
            value: many.median(),
            measured: many.text("ms"),
            baseline: minimum(),
        });
        self.table.add(Row {
            order: 122,
            description:
                "growth of the daemon's memory during all these runs, without mapped files".into(),
            goal: Goal::Below(20.0, "MB"),
            value: after - before,
            measured: format!("{} MB ({} MB at the end)", short(after - before), short(after)),
            baseline: None,
        });
    }

    /// Writes old posts of searches that no run finds any more. Returns their number.
    fn store_old_posts(&self, data: &Path) -> usize {
        let old_posts = if self.scale.few < 1000 { 1000 } else { OLD_POSTS };
        let dir = data.join("tweets/searches");
        let sample_path = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
        let (id, sample) = (
            sample_path.file_stem().unwrap().to_str().unwrap().to_owned(),
            fs::read_to_string(&sample_path).unwrap(),
        );
        for n in 0..old_posts {
            let old_id = format!("{}", 1_000_000 + n);
            fs::write(dir.join(format!("{old_id}.json")), sample.replace(&id, &old_id)).unwrap();
        }
        old_posts
    }
}

/// Returns the query of a search.
fn word(search: usize) -> String {
    format!("topic{search}")
}

/// Returns the text of a post of average length.
fn text(n: usize, about: &str) -> String {
    format!(
        "{about}, the {n}th time, with all the words that people use when they have something to \
            say and room for it #n{n}"
    )
}

/// Runs the collector and checks that it stores `count` posts.
fn collect(client: &mut Client, count: usize) {
    let Ok(Reply::CollectorRun(run)) = client.ask(&Request::CollectorCollect(CollectorCollect))
    else {
        panic!("no run")
    };
    assert_eq!((run.status.as_str(), run.tweets_stored), ("complete", count as u64), "{run:?}");
}

/// Returns the daemon's processor time for one run, in milliseconds: the mean of `RUNS` runs.
fn processor_ms(pid: u32, client: &mut Client) -> f64 {
    let before = ticks(pid);
    for _ in 0..RUNS {
        collect(client, KNOWN_POSTS);
    }
    (ticks(pid) - before) / TICKS * 1e3 / f64::from(RUNS)
}

/// Returns the milliseconds for reading as many files as a run does, and writing half of them
/// again.
fn rewrite_ms(data: &Path, scratch: &Path) -> f64 {
    let dir = scratch.join("rewriting");
    fs::create_dir_all(&dir).unwrap();
    let mut texts = Vec::new();
    for stream in ["own", "mentions", "searches"] {
        for file in fs::read_dir(data.join("tweets").join(stream)).unwrap() {
            texts.push(fs::read(file.unwrap().path()).unwrap());
        }
    }
    let names: Vec<_> = (0..texts.len()).map(|n| dir.join(format!("{n}.json"))).collect();
    for (name, text) in names.iter().zip(&texts) {
        fs::write(name, text).unwrap();
    }
    let began = Instant::now();
    for (name, text) in names.iter().zip(&texts) {
        let read = fs::read(name).unwrap().len() + fs::read(name).unwrap().len();
        assert_eq!(read, 2 * text.len());
        let temporary = name.with_extension("tmp");
        fs::write(&temporary, text).unwrap();
        fs::rename(&temporary, name).unwrap();
    }
    let took: Duration = began.elapsed();
    took.as_secs_f64() * 1e3
}
