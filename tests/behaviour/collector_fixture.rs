//! A brain with collected posts and a mock clock. Posts are stored with the collector's own
//! functions.

use std::path::PathBuf;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_collector::{Data, Journal, JournalEvent, PostId, Record, Stream};
use brain_core::{Brain, NoProgress};
use brain_protocol::{
    CollectorDigest, CollectorEnrich, CollectorEnrichReply, DeletionReason, Digest, Fault, Get,
    Origin, Page, PageRef, Put, Reply, Request, Slug,
};
use serde_json::{Value, json};

use crate::mock_clock::{HOUR, MockClock};

pub(crate) const DAY: i64 = 24 * HOUR;

/// An account: id, handle, display name, followers, verified.
pub(crate) type Author = (&'static str, &'static str, &'static str, u64, bool);

pub(crate) const ANN: Author = ("11", "ann_lee", "Ann Lee", 900, false);
pub(crate) const BOB: Author = ("22", "bobray", "Bob Ray", 50_000, false);
pub(crate) const EVE: Author = ("33", "eve", "Eve Stone", 10, false);

/// Returns a post without times; `Fixture::add_post` sets them.
pub(crate) fn post(id: u64, author: Author, text: &str) -> Value {
    let (author_id, username, name, followers, verified) = author;
    json!({
        "id": id.to_string(),
        "text": text,
        "author_id": author_id,
        "public_metrics": { "like_count": 3, "retweet_count": 2, "reply_count": 1,
            "quote_count": 0 },
        "_author": {
            "id": author_id, "username": username, "name": name, "verified": verified,
            "public_metrics": { "followers_count": followers },
        },
    })
}

/// Adds these hashtags to a post.
pub(crate) fn tagged(mut post: Value, tags: &[&str]) -> Value {
    let tags: Vec<Value> = tags.iter().map(|tag| json!({ "tag": tag })).collect();
    post["entities"] = json!({ "hashtags": tags });
    post
}

pub(crate) struct Fixture {
    dir: tempfile::TempDir,
    pub(crate) clock: MockClock,
    pub(crate) brain: Arc<Brain>,
    pub(crate) data: Data,
    pub(crate) journal: Journal,
}

impl Fixture {
    /// Opens a brain whose collector uses the account `me`.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home")).unwrap();
        let config = "[collector]\nhandle = \"me\"\nuser_id = \"1\"\n";
        std::fs::write(dir.path().join("home/config.toml"), config).unwrap();
        let clock = MockClock::at("2026-11-21T12:00:00Z");
        let brain = clock.open_brain(dir.path(), 7);
        let root = dir.path().join("home/collector");
        let (data, journal) = (Data::new(&root), Journal::new(&root));
        data.prepare().unwrap();
        Self { dir, clock, brain, data, journal }
    }

    pub(crate) fn now(&self) -> i64 {
        self.brain.now()
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Returns the path of the journal.
    pub(crate) fn journal_file(&self) -> PathBuf {
        self.home().join("collector/journal.jsonl")
    }

    /// Returns the path of a page's file.
    pub(crate) fn file(&self, slug: &str) -> PathBuf {
        self.home().join(format!("pages/{slug}.md"))
    }

    /// Stores a post that was written now.
    pub(crate) fn add_post(&self, stream: Stream, post: Value) {
        self.add_post_written_at(stream, post, self.now());
    }

    /// Stores a post that was written at `at`, in Unix milliseconds.
    pub(crate) fn add_post_written_at(&self, stream: Stream, mut post: Value, at: i64) {
        post["created_at"] = json!(rfc3339(at));
        post["_collected_at"] = json!(rfc3339(self.now()));
        post["last_updated"] = json!(rfc3339(self.now()));
        let record = Record::new(post).unwrap();
        let author_id = record.author_id().map(str::to_owned);
        let event = JournalEvent::Post {
            id: record.id().to_string(),
            stream: stream.as_str().into(),
            author_id,
        };
        self.journal.append(self.now(), &[event]).unwrap();
        self.data.put_post(stream, &record).unwrap();
    }

    /// Records the deletion of a stored post.
    pub(crate) fn delete_post(&self, id: u64, reason: &str, redact: bool) {
        let reason = DeletionReason::parse(reason).unwrap();
        let id = PostId::parse(&id.to_string()).unwrap();
        let (record, _) = self.data.find_post(&id).unwrap().unwrap();
        self.journal.append(self.now(), &[JournalEvent::Deletion { id: id.to_string() }]).unwrap();
        self.data.put_deletion(&record, self.now(), reason, redact).unwrap();
    }

    pub(crate) fn ask(&self, request: Request) -> Result<Reply, Fault> {
        self.brain.answer(&Caller::local(0), request, &NoProgress)
    }

    pub(crate) fn put(&self, slug: &str, text: &str) {
        let put = Put {
            page: page_ref(slug),
            content: text.as_bytes().to_vec(),
            origin: Origin::Argument,
            allow_empty: false,
            expect: None,
        };
        self.ask(Request::Put(put)).unwrap();
    }

    pub(crate) fn page(&self, slug: &str) -> Page {
        match self.ask(Request::Get(Get { page: page_ref(slug), version: None })) {
            Ok(Reply::Page(page)) => page,
            other => panic!("no page {slug}: {other:?}"),
        }
    }

    pub(crate) fn has(&self, slug: &str) -> bool {
        self.ask(Request::Get(Get { page: page_ref(slug), version: None })).is_ok()
    }

    pub(crate) fn enrich(&self) -> CollectorEnrichReply {
        self.enrich_with(CollectorEnrich::default())
    }

    pub(crate) fn enrich_with(&self, request: CollectorEnrich) -> CollectorEnrichReply {
        match self.ask(Request::CollectorEnrich(request)) {
            Ok(Reply::CollectorEnrich(enriched)) => enriched,
            other => panic!("not enriched: {other:?}"),
        }
    }

    pub(crate) fn digest(&self, request: CollectorDigest) -> Digest {
        match self.ask(Request::CollectorDigest(request)) {
            Ok(Reply::CollectorDigest(digest)) => digest,
            other => panic!("no digest: {other:?}"),
        }
    }
}

pub(crate) fn page_ref(slug: &str) -> PageRef {
    PageRef { source: None, slug: Slug::parse(slug).unwrap() }
}
