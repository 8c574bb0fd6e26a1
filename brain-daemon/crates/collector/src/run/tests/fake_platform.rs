//! A small platform in memory, and runs of the collector against it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use brain_protocol::{CollectorRun, Secret};
use serde_json::{Value, json};
use url::Url;

use crate::fake::{FakeClient, RecordedRequest, answer};
use crate::{
    Data, DataFault, Line, PostId, Record, Run, RunListener, RunSettings, State, Stream, UserId,
};
use brain_base::clock::{Clock, rfc3339};
use brain_net::{Error as NetError, HttpResponse};

/// The start time, in Unix milliseconds.
pub(super) const T0: i64 = 1_795_257_000_000;
/// The interval between runs, in milliseconds.
pub(super) const HALF_HOUR: i64 = 30 * 60 * 1000;
/// The collected account.
pub(super) const OWNER: &str = "5";

/// A post of the platform.
#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) author: String,
    pub(super) text: String,
    pub(super) created: i64,
    pub(super) likes: u64,
    pub(super) mentions_owner: bool,
    /// The searches that find the post.
    pub(super) found_by: Vec<String>,
    /// Whether timelines and searches show the post.
    pub(super) listed: bool,
    /// Whether the post can be looked up.
    pub(super) exists: bool,
}

/// The answer of an endpoint, or its network error.
pub(super) type EndpointResult = Result<HttpResponse, NetError>;

/// The state of the platform.
#[derive(Default)]
pub(super) struct PlatformState {
    pub(super) posts: BTreeMap<u64, Post>,
    /// By endpoint: `own`, `mentions`, `search`, `search <query>`, `lookup`.
    pub(super) failures: HashMap<String, EndpointResult>,
    /// Rate limit of an endpoint: remaining requests, and time of the reset in Unix seconds.
    pub(super) rates: HashMap<String, (u64, i64)>,
    pub(super) page_size: usize,
}

/// The platform, its clock and a collector's directory.
pub(super) struct FakePlatform {
    pub(super) platform: Arc<Mutex<PlatformState>>,
    pub(super) http_client: FakeClient,
    pub(super) time: ManualClock,
    pub(super) settings: RunSettings,
    pub(super) data: Data,
    _dir: tempfile::TempDir,
}

/// A manual clock.
pub(super) struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Receives each event line.
pub(super) type OnLine = Box<dyn Fn(&Line)>;

/// Records the events of a run.
#[derive(Default)]
pub(super) struct RecordingListener {
    pub(super) lines: RefCell<Vec<String>>,
    pub(super) new: RefCell<Vec<(Stream, PostId)>>,
    /// The step at which the run is stopped.
    pub(super) stop_at: Option<u64>,
    pub(super) steps: RefCell<u64>,
    /// Called with each line.
    pub(super) on_line: Option<OnLine>,
}

impl RunListener for RecordingListener {
    fn line(&self, line: &Line) {
        if let Some(on_line) = &self.on_line {
            on_line(line);
        }
        self.lines.borrow_mut().push(line.to_string());
    }

    fn new_post(&self, stream: Stream, post: &Record) {
        self.new.borrow_mut().push((stream, post.id().clone()));
    }

    fn should_continue(&self, done: u64, total: u64) -> bool {
        assert!(done <= total, "{done} of {total}");
        *self.steps.borrow_mut() += 1;
        self.stop_at != Some(*self.steps.borrow())
    }
}

impl FakePlatform {
    pub(super) fn new(searches: &[&str]) -> Self {
        // Each run flushes its file system, so the directory is in memory if possible.
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
            .unwrap();
        let platform =
            Arc::new(Mutex::new(PlatformState { page_size: 100, ..PlatformState::default() }));
        let settings = RunSettings {
            platform_api: "http://platform.test".into(),
            dir: dir.path().to_owned(),
            handle: Some("owner".into()),
            user_id: UserId::parse(OWNER),
            searches: searches.iter().map(|query| (*query).to_owned()).collect(),
            max_pages: 3,
            request_authors: false,
            request_media: false,
            redact: false,
        };
        let shared_platform = Arc::clone(&platform);
        Self {
            http_client: FakeClient::new(move |request| {
                shared_platform.lock().unwrap().answer_request(request)
            }),
            platform,
            time: ManualClock(AtomicI64::new(T0)),
            data: Data::new(dir.path()),
            settings,
            _dir: dir,
        }
    }

    pub(super) fn platform(&self) -> MutexGuard<'_, PlatformState> {
        self.platform.lock().unwrap()
    }

    pub(super) fn advance(&self, ms: i64) {
        self.time.0.fetch_add(ms, Ordering::Relaxed);
    }

    /// Creates a post by `author`.
    pub(super) fn post(&self, id: u64, author: &str, text: &str) {
        let post = Post {
            author: author.into(),
            text: text.into(),
            created: self.time.now(),
            likes: 0,
            mentions_owner: text.contains("@owner"),
            found_by: self
                .settings
                .searches
                .iter()
                .filter(|query| text.contains(*query))
                .cloned()
                .collect(),
            listed: true,
            exists: true,
        };
        self.platform().posts.insert(id, post);
    }

    pub(super) fn delete(&self, id: u64) {
        let mut platform = self.platform();
        let post = platform.posts.get_mut(&id).unwrap();
        (post.listed, post.exists) = (false, false);
    }

    pub(super) fn like(&self, id: u64, likes: u64) {
        self.platform().posts.get_mut(&id).unwrap().likes = likes;
    }

    pub(super) fn fail(&self, endpoint: &str, failure: EndpointResult) {
        self.platform().failures.insert(endpoint.to_owned(), failure);
    }

    pub(super) fn clear_failures(&self) {
        self.platform().failures.clear();
    }

    /// Runs once with this listener.
    pub(super) fn run_with(&self, listener: &RecordingListener) -> Result<CollectorRun, DataFault> {
        let (base, token) =
            (Url::parse(&self.settings.platform_api).unwrap(), Secret::new("token"));
        let run = Run {
            settings: &self.settings,
            base: &base,
            http_client: &self.http_client,
            token: &token,
            clock: &self.time,
        };
        run.execute(listener)
    }

    /// Runs once. Returns the report, and the lines without the first and the last.
    pub(super) fn run(&self) -> (CollectorRun, Vec<String>) {
        let listener = RecordingListener::default();
        let report = self.run_with(&listener).unwrap();
        let mut lines = listener.lines.into_inner();
        assert!(lines.remove(0).starts_with("RUN_START:"));
        let last = lines.pop().unwrap();
        assert!(
            last.starts_with(if report.reason.is_none() { "RUN_COMPLETE:" } else { "RUN_FAILED:" }),
            "{last}"
        );
        (report, lines)
    }

    /// Returns the paths requested since index `from`.
    pub(super) fn requested_paths(&self, from: usize) -> Vec<String> {
        let path = |request: &RecordedRequest| {
            request.target.split('?').next().unwrap_or_default().to_owned()
        };
        self.http_client.requests()[from..].iter().map(path).collect()
    }

    pub(super) fn state(&self) -> State {
        State::load(&self.data).unwrap().0
    }

    pub(super) fn previous_ids(&self, stream: Stream) -> Vec<u64> {
        self.state().previous_ids(stream).iter().map(|id| id.as_str().parse().unwrap()).collect()
    }

    pub(super) fn stored(&self, stream: Stream, id: u64) -> Record {
        self.data.post(stream, &post_id(id)).unwrap().unwrap()
    }

    pub(super) fn file(&self, path: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.root().join(path)).unwrap()).unwrap()
    }

    pub(super) fn root(&self) -> &Path {
        self.data.root()
    }
}

pub(super) fn post_id(id: u64) -> PostId {
    PostId::parse(&id.to_string()).unwrap()
}

/// Returns an empty answer with this status.
pub(super) fn status(status: u16) -> EndpointResult {
    Ok(answer(status, &[], ""))
}

impl PlatformState {
    fn answer_request(&mut self, request: &RecordedRequest) -> EndpointResult {
        assert_eq!(request.authorization, "Bearer token");
        let url = Url::parse(&format!("http://x{}", request.target)).unwrap();
        let parameter = |name: &str| {
            url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
        };
        let path: Vec<&str> = url.path().split('/').skip(1).collect();
        let query = parameter("query").unwrap_or_default();
        let endpoint = match path[..] {
            ["2", "users", OWNER, "tweets"] => "own",
            ["2", "users", OWNER, "mentions"] => "mentions",
            ["2", "tweets", "search", "recent"] => "search",
            ["2", "tweets", _] => "lookup",
            _ => panic!("{}", request.target),
        };
        let mut response = match self
            .failures
            .get(endpoint)
            .or_else(|| self.failures.get(&format!("search {query}")))
        {
            Some(failure) => failure.clone()?,
            None if endpoint == "lookup" => self.lookup(path[2]),
            None => self.page(
                endpoint,
                &query,
                parameter("pagination_token").or_else(|| parameter("next_token")).as_deref(),
            ),
        };
        if let Some((remaining, reset)) = self.rates.get_mut(endpoint) {
            *remaining = remaining.saturating_sub(1);
            response.headers.push(("x-rate-limit-remaining".into(), remaining.to_string()));
            response.headers.push(("x-rate-limit-reset".into(), reset.to_string()));
        }
        Ok(response)
    }

    fn lookup(&self, id: &str) -> HttpResponse {
        let post = self.posts.get_key_value(&id.parse().unwrap()).filter(|(_, post)| post.exists);
        match post {
            Some((id, post)) => answer(200, &[], json!({"data": post_json(*id, post)}).to_string()),
            None => {
                let error = json!({"resource_id": id, "value": id, "parameter": "id",
                    "title": "Not Found Error",
                    "type": "https://api.x.com/2/problems/resource-not-found"});
                answer(200, &[], json!({"errors": [error]}).to_string())
            }
        }
    }

    fn page(&self, endpoint: &str, query: &str, token: Option<&str>) -> HttpResponse {
        let shows = |post: &Post| match endpoint {
            "own" => post.author == OWNER,
            "mentions" => post.mentions_owner,
            _ => post.found_by.iter().any(|found| found == query),
        };
        let all: Vec<Value> = self
            .posts
            .iter()
            .rev()
            .filter(|(_, post)| post.listed && shows(post))
            .map(|(id, post)| post_json(*id, post))
            .collect();
        let from: usize = token.map_or(0, |token| token.parse().unwrap());
        let page: Vec<Value> = all.iter().skip(from).take(self.page_size).cloned().collect();
        let next =
            Some(from + page.len()).filter(|next| *next < all.len()).map(|next| next.to_string());
        let mut body = json!({"meta": {"result_count": page.len()}});
        if !page.is_empty() {
            body["data"] = Value::Array(page);
        }
        if let Some(next) = next {
            body["meta"]["next_token"] = json!(next);
        }
        answer(200, &[], body.to_string())
    }
}

fn post_json(id: u64, post: &Post) -> Value {
    json!({
        "id": id.to_string(),
        "text": post.text,
        "author_id": post.author,
        "created_at": rfc3339(post.created),
        "public_metrics": {"like_count": post.likes, "retweet_count": 0, "reply_count": 0,
            "quote_count": 0},
        "edit_history_tweet_ids": [id.to_string()],
    })
}

/// A platform with posts 1 (own), 2 (a mention) and 3 (found by `text`), after its first run.
pub(super) fn three_posts() -> FakePlatform {
    let fixture = FakePlatform::new(&["text"]);
    fixture.post(1, OWNER, "mine");
    fixture.post(2, "6", "@owner");
    fixture.post(3, "7", "text");
    fixture.run();
    fixture.advance(HALF_HOUR);
    fixture
}
