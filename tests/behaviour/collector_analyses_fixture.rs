//! A brain with stored posts, a fake language model, fake web pages, and a mock clock.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use brain_base::clock::{Clock, rfc3339};
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_collector::{Data, Journal, JournalEvent, Record, Stream};
use brain_config::Config;
use brain_core::{Brain, ExternalDependencies, StandardOutput};
use brain_net::{
    Client, Error as NetError, FetchedDocument, HttpClient, HttpRequest, HttpResponse,
    RetryingClient, WebPage,
};
use brain_protocol::DeletionReason;
use brain_tests::model::{ModelResponse, Question};
use serde_json::{Value, json};

/// `2026-11-21T11:00:45.123Z`.
pub(crate) const NOW: i64 = 1_795_258_845_123;
pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;
/// The delay before a retry, in milliseconds.
pub(crate) const RETRY_DELAY: i64 = 10 * MINUTE;
pub(crate) const KEY: &str = "sk-hush-hush-key";

#[derive(Clone)]
struct MockClock(Arc<AtomicI64>);

impl Clock for MockClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// The real network for model calls, and fake web pages.
pub(crate) struct Web {
    real: Client,
    pub(crate) pages: Mutex<HashMap<String, Result<WebPage, NetError>>>,
    pub(crate) fetched: Mutex<Vec<String>>,
}

impl HttpClient for Web {
    fn document(&self, _: &str) -> Result<FetchedDocument, NetError> {
        panic!("the collector fetches no documents")
    }

    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        panic!("an unexpected request to {}", call.url)
    }

    fn web_page(&self, url: &str) -> Result<WebPage, NetError> {
        self.fetched.lock().unwrap().push(url.into());
        let found = self.pages.lock().unwrap().get(url).cloned();
        found.unwrap_or_else(|| Err(NetError::NameNotFound("there is none".into())))
    }

    fn retrying_client(&self, base: &url::Url) -> Result<Box<dyn RetryingClient>, NetError> {
        self.real.retrying_client(base)
    }
}

/// A brain with a mock clock.
pub(crate) struct Fixture {
    dir: tempfile::TempDir,
    time: MockClock,
    pub(crate) web: Arc<Web>,
    settings: Vec<(String, String)>,
    brain: Option<Arc<Brain>>,
}

impl Fixture {
    /// Opens a brain with these settings, such as `BRAIN_COLLECTOR_RATINGS`.
    pub(crate) fn new(settings: &[(&str, &str)]) -> Self {
        let web = Web { real: Client::new(), pages: Mutex::default(), fetched: Mutex::default() };
        let mut fixture = Self {
            dir: tempfile::tempdir().unwrap(),
            time: MockClock(Arc::new(AtomicI64::new(NOW))),
            web: Arc::new(web),
            settings: settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            brain: None,
        };
        fixture.data().prepare().unwrap();
        fixture.reopen();
        fixture
    }

    /// Drops the brain without a shutdown and opens it again. State in memory is lost.
    pub(crate) fn reopen(&mut self) {
        self.brain = None;
        let home = Home::at(self.dir.path().join("home"));
        let settings = self.settings.clone();
        let env = |name: &str| {
            settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
        };
        let config = Config::load(&home.config(), env).unwrap();
        let variables = self.settings.clone();
        let dependencies = ExternalDependencies {
            random: Arc::new(SystemRandom),
            variables: Box::new(move |name| {
                variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
            }),
            net: self.web.clone(),
            lines: Arc::new(StandardOutput::default()),
            converter: PathBuf::new(),
        };
        let brain =
            Brain::open_with(home, config, Arc::new(self.time.clone()), 7, dependencies).unwrap();
        self.brain = Some(Arc::new(brain));
    }

    pub(crate) fn brain(&self) -> &Arc<Brain> {
        self.brain.as_ref().unwrap()
    }

    pub(crate) fn now(&self) -> i64 {
        self.time.now()
    }

    pub(crate) fn advance(&self, ms: i64) {
        self.time.0.fetch_add(ms, Ordering::SeqCst);
    }

    pub(crate) fn collector_dir(&self) -> PathBuf {
        self.dir.path().join("home/collector")
    }

    pub(crate) fn data(&self) -> Data {
        Data::new(&self.collector_dir())
    }

    /// Stores a new post with additional fields.
    pub(crate) fn post(&self, stream: Stream, id: &str, text: &str, fields: Value) -> Record {
        let now = rfc3339(self.now());
        let mut post = json!({ "id": id, "text": text, "author_id": "7", "created_at": now,
            "last_updated": now,
            "_collected_at": now, "_author": { "id": "7", "username": "ann", "name": "Ann" } });
        if let Value::Object(fields) = fields {
            post.as_object_mut().unwrap().extend(fields);
        }
        let record = Record::new(post).unwrap();
        self.data().put_post(stream, &record).unwrap();
        let event = JournalEvent::Post {
            id: id.into(),
            stream: stream.as_str().into(),
            author_id: Some("7".into()),
        };
        Journal::new(&self.collector_dir()).append(self.now(), &[event]).unwrap();
        record
    }

    /// Stores a post of the search stream.
    pub(crate) fn add_found_post(&self, id: &str, text: &str) -> Record {
        self.post(Stream::Searches, id, text, json!({}))
    }

    /// Records the deletion of a post.
    pub(crate) fn delete(&self, post: &Record, redact: bool) {
        let event = JournalEvent::Deletion { id: post.id().to_string() };
        Journal::new(&self.collector_dir()).append(self.now(), &[event]).unwrap();
        self.data().put_deletion(post, self.now(), DeletionReason::NotFound, redact).unwrap();
    }

    /// Processes pending work once. Returns whether more is pending.
    pub(crate) fn step(&self) -> bool {
        self.brain().collector.run_analyses().unwrap()
    }

    /// Returns the derived data of a post.
    pub(crate) fn derived(&self, kind: &str, id: &str) -> Option<Value> {
        let text =
            std::fs::read_to_string(self.data().root().join(format!("{kind}/{id}.json"))).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// Returns the lines of a file in the collector's directory.
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.collector_dir().join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns every file below the home that contains `text`.
    pub(crate) fn files_with(&self, text: &str) -> Vec<PathBuf> {
        let (mut found, mut dirs) = (Vec::new(), vec![self.dir.path().to_owned()]);
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                if kind.is_dir() {
                    dirs.push(path);
                } else if kind.is_file()
                    && std::fs::read(&path)
                        .unwrap()
                        .windows(text.len())
                        .any(|part| part == text.as_bytes())
                {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// Returns a web page with this body.
pub(crate) fn page(content_type: &str, body: &str) -> Result<WebPage, NetError> {
    Ok(WebPage { url: String::new(), content_type: content_type.into(), body: body.into() })
}

/// Returns the posts in a question.
pub(crate) fn posts_in(question: &Question) -> Vec<Value> {
    let line = question.text.lines().skip_while(|line| !line.starts_with("[posts ")).nth(1);
    serde_json::from_str(line.expect("no posts between delimiters")).unwrap()
}

/// Rates each post by its own words. Sentiment: 8 for `love`, -8 for `hate`, else 0. Relevance and
/// actionability: 10 for `10 for all`, else 2.5. Novelty is 3.
pub(crate) fn rate_by_words(question: &Question) -> ModelResponse {
    let rate = |post: &Value| {
        let text = post["text"].as_str().unwrap();
        let sentiment = match text {
            _ if text.contains("love") => 8.0,
            _ if text.contains("hate") => -8.0,
            _ => 0.0,
        };
        let number = if text.contains("10 for all") { 10.0 } else { 2.5 };
        json!({ "id": post["id"], "relevance": number, "sentiment": sentiment, "novelty": 3,
            "actionability": number })
    };
    ModelResponse::Text(
        json!({ "ratings": posts_in(question).iter().map(rate).collect::<Vec<_>>() }).to_string(),
    )
}
