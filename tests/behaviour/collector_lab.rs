//! A brain with collected posts, whose time a test turns. Posts are put where a run of the
//! collector puts them, by its own functions.

use std::path::PathBuf;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_collector::{Data, Journal, JournalEvent, PostId, Record, Stream};
use brain_core::{Brain, Silent};
use brain_protocol::{
    CollectorDigest, CollectorEnrich, CollectorEnrichReply, Digest, Fault, Get, Origin, Page,
    PageRef, Put, Reply, Request, Slug,
};
use serde_json::{Value, json};

use crate::hands::{HOUR, Hands};

pub(crate) const DAY: i64 = 24 * HOUR;

/// An account: id, handle, display name, followers, verified.
pub(crate) type Who = (&'static str, &'static str, &'static str, u64, bool);

pub(crate) const ANN: Who = ("11", "ann_lee", "Ann Lee", 900, false);
pub(crate) const BOB: Who = ("22", "bobray", "Bob Ray", 50_000, false);
pub(crate) const EVE: Who = ("33", "eve", "Eve Stone", 10, false);

/// A post of somebody; its time is filled in when it is collected.
pub(crate) fn post(id: u64, who: Who, text: &str) -> Value {
    let (author, username, name, followers, verified) = who;
    json!({
        "id": id.to_string(),
        "text": text,
        "author_id": author,
        "public_metrics": { "like_count": 3, "retweet_count": 2, "reply_count": 1, "quote_count": 0 },
        "_author": {
            "id": author, "username": username, "name": name, "verified": verified,
            "public_metrics": { "followers_count": followers },
        },
    })
}

/// The same with entities as the platform gives them.
pub(crate) fn tagged(mut post: Value, tags: &[&str]) -> Value {
    let tags: Vec<Value> = tags.iter().map(|tag| json!({ "tag": tag })).collect();
    post["entities"] = json!({ "hashtags": tags });
    post
}

pub(crate) struct Lab {
    dir: tempfile::TempDir,
    pub(crate) hands: Hands,
    pub(crate) brain: Arc<Brain>,
    pub(crate) data: Data,
    pub(crate) journal: Journal,
}

impl Lab {
    /// A brain whose collector collects for the account `me`.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home")).unwrap();
        let config = "[collector]\nhandle = \"me\"\nuser_id = \"1\"\n";
        std::fs::write(dir.path().join("home/config.toml"), config).unwrap();
        let hands = Hands::at("2026-11-21T12:00:00Z");
        let brain = hands.open(dir.path(), 7);
        let place = dir.path().join("home/collector");
        let (data, journal) = (Data::new(&place), Journal::new(&place));
        data.prepare().unwrap();
        Self { dir, hands, brain, data, journal }
    }

    pub(crate) fn now(&self) -> i64 {
        self.brain.now()
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The file of the journal.
    pub(crate) fn journal_file(&self) -> PathBuf {
        self.home().join("collector/journal.jsonl")
    }

    /// The file of a page.
    pub(crate) fn file(&self, slug: &str) -> PathBuf {
        self.home().join(format!("pages/{slug}.md"))
    }

    /// Collects a post now that was written just now.
    pub(crate) fn collect(&self, stream: Stream, post: Value) {
        self.collect_written(stream, post, self.now());
    }

    /// Collects a post now that was written at `at`.
    pub(crate) fn collect_written(&self, stream: Stream, mut post: Value, at: i64) {
        post["created_at"] = json!(rfc3339(at));
        post["_collected_at"] = json!(rfc3339(self.now()));
        post["last_updated"] = json!(rfc3339(self.now()));
        let record = Record::new(post).unwrap();
        let author_id = record.author_id().map(str::to_owned);
        let noted = JournalEvent::Post {
            id: record.id().to_string(),
            stream: stream.as_str().into(),
            author_id,
        };
        self.journal.append(self.now(), &[noted]).unwrap();
        self.data.put_post(stream, &record).unwrap();
    }

    /// Notices that a collected post is gone.
    pub(crate) fn gone(&self, id: u64, reason: &str, redact: bool) {
        let id = PostId::parse(&id.to_string()).unwrap();
        let (record, _) = self.data.find_post(&id).unwrap().unwrap();
        self.journal.append(self.now(), &[JournalEvent::Deletion { id: id.to_string() }]).unwrap();
        self.data.put_deletion(&record, self.now(), reason, redact).unwrap();
    }

    pub(crate) fn ask(&self, request: Request) -> Result<Reply, Fault> {
        self.brain.answer(&Caller::local(0), request, &Silent)
    }

    pub(crate) fn put(&self, slug: &str, text: &str) {
        let put = Put {
            page: named(slug),
            content: text.as_bytes().to_vec(),
            origin: Origin::Argument,
            allow_empty: false,
            expect: None,
        };
        self.ask(Request::Put(put)).unwrap();
    }

    pub(crate) fn page(&self, slug: &str) -> Page {
        match self.ask(Request::Get(Get { page: named(slug), version: None })) {
            Ok(Reply::Page(page)) => page,
            other => panic!("no page {slug}: {other:?}"),
        }
    }

    pub(crate) fn has(&self, slug: &str) -> bool {
        self.ask(Request::Get(Get { page: named(slug), version: None })).is_ok()
    }

    pub(crate) fn enrich(&self) -> CollectorEnrichReply {
        self.enrich_by(CollectorEnrich::default())
    }

    pub(crate) fn enrich_by(&self, request: CollectorEnrich) -> CollectorEnrichReply {
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

pub(crate) fn named(slug: &str) -> PageRef {
    PageRef { source: None, slug: Slug::parse(slug).unwrap() }
}
