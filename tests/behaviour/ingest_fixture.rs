//! A real brain with an ingest queue and a mock clock.

use std::sync::Arc;
use std::sync::mpsc::channel;

use brain_base::caller::{Caller, Scope, Scopes, Visibility};
use brain_core::ingest::{IngestItem, IngestReceipt, MAX_JOBS_PER_BATCH};
use brain_core::{Brain, NoProgress};
use brain_page::{MediaType, content_hash};
use brain_protocol::{
    Doctor, Fault, FaultCode, Get, IngestJob, JobCounts, JobList, JobRetry, JobShow, JobState,
    Jobs, Origin, Page, PageRef, Put, Reply, Request, Slug, SourceAdd, SourceId, Status,
    WriteStatus,
};
use brain_tests::expect_reply;

use crate::mock_clock::MockClock;

const NOON: &str = "2026-11-21T12:00:00Z";

/// A brain in a temporary directory. The brain is `None` only while it is reopened.
pub(crate) struct Fixture {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) clock: MockClock,
    pub(crate) brain: Option<Arc<Brain>>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    pub(crate) fn with(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home")).unwrap();
        std::fs::write(dir.path().join("home/config.toml"), config).unwrap();
        let clock = MockClock::at(NOON);
        let brain = Some(clock.open_brain(dir.path(), 7));
        Self { dir, clock, brain }
    }

    pub(crate) fn reopen(&mut self) {
        self.brain = None;
        self.brain = Some(self.clock.open_brain(self.dir.path(), 7));
    }

    pub(crate) fn brain(&self) -> &Arc<Brain> {
        self.brain.as_ref().unwrap()
    }

    pub(crate) fn ask(&self, request: Request) -> Result<Reply, Fault> {
        self.brain().answer(&Caller::local(0), request, &NoProgress)
    }

    pub(crate) fn send_as(
        &self,
        caller: &Caller,
        item: IngestItem,
    ) -> Result<IngestReceipt, Fault> {
        let (sender, receiver) = channel();
        self.brain().ingest.ingest(caller, item, move |result| sender.send(result).unwrap());
        receiver.recv().unwrap()
    }

    pub(crate) fn send(&self, item: IngestItem) -> Result<IngestReceipt, Fault> {
        self.send_as(&phone(), item)
    }

    /// Processes due items and returns their number.
    pub(crate) fn process_queue(&self) -> usize {
        self.brain().ingest.process_queue(MAX_JOBS_PER_BATCH).unwrap()
    }

    pub(crate) fn page(&self, slug: &str) -> Page {
        let page = PageRef { source: None, slug: Slug::parse(slug).unwrap() };
        let page = expect_reply!(self.ask(Request::Get(Get { page, version: None })), Page);
        page
    }

    pub(crate) fn put(&self, slug: &str, text: &str) {
        let page = PageRef { source: None, slug: Slug::parse(slug).unwrap() };
        let put = Put {
            page,
            content: text.into(),
            origin: Origin::Stdin,
            allow_empty: false,
            expect: None,
        };
        let written = expect_reply!(self.ask(Request::Put(put)), Write);
        assert_ne!(written.status, WriteStatus::Unchanged);
    }

    pub(crate) fn show_as(
        &self,
        caller: &Caller,
        of: &IngestReceipt,
    ) -> Result<IngestJob, FaultCode> {
        let request = Request::JobShow(JobShow { id: of.job_id });
        match self.brain().answer(caller, request, &NoProgress) {
            Ok(Reply::Job(job)) => Ok(job),
            Ok(other) => panic!("{other:?}"),
            Err(fault) => Err(fault.code),
        }
    }

    pub(crate) fn show(&self, of: &IngestReceipt) -> IngestJob {
        self.show_as(&phone(), of).unwrap()
    }

    pub(crate) fn jobs(&self, state: Option<JobState>) -> Jobs {
        let list = JobList { state, limit: 100, after: None };
        let jobs = expect_reply!(self.ask(Request::JobList(list)), Jobs);
        jobs
    }

    /// Returns the numbers of waiting, failed and stored items. Asserts that `status` and the list
    /// of jobs agree.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let status = expect_reply!(self.ask(Request::Status(Status)), Status);
        let JobCounts { waiting, failed, stored } = status.jobs;
        assert_eq!(self.jobs(None).counts, status.jobs);
        (waiting, failed, stored)
    }

    /// Retries all failed items and returns their number.
    pub(crate) fn retry(&self) -> u64 {
        let done = expect_reply!(self.ask(Request::JobRetry(JobRetry { id: None })), JobRetry);
        done.retried
    }

    pub(crate) fn add_source(&self, id: &str) {
        let path = self.dir.path().join(id);
        std::fs::create_dir_all(&path).unwrap();
        let add = SourceAdd {
            id: source(id),
            path: path.to_str().unwrap().into(),
            settings: Default::default(),
        };
        self.ask(Request::SourceAdd(add)).unwrap();
    }

    /// Creates other pages at every slug that this text could get on the day of the clock. Returns
    /// the slugs.
    pub(crate) fn occupy_every_slug_of(&self, text: &str) -> Vec<String> {
        let digits = content_hash(text);
        let slugs: Vec<String> =
            (0..8).map(|n| format!("inbox/2026-11-21-{}", &digits[8 * n..8 * n + 8])).collect();
        slugs.iter().for_each(|slug| self.put(slug, "in the way"));
        slugs
    }

    /// Returns the status and the message of doctor's check `queue`.
    pub(crate) fn queue_check(&self) -> (String, String) {
        let doctor = expect_reply!(self.ask(Request::Doctor(Doctor { fix: false })), Doctor);
        let check = doctor.checks.into_iter().find(|check| check.name == "queue").unwrap();
        (serde_json::to_value(check.status).unwrap().as_str().unwrap().into(), check.message)
    }
}

pub(crate) fn source(id: &str) -> SourceId {
    SourceId::parse(id).unwrap()
}

pub(crate) fn granted(name: &str, scope: Scope, sources: &[&str]) -> Caller {
    let view = match sources {
        [] => Visibility::All,
        some => Visibility::Only(some.iter().map(|id| source(id)).collect()),
    };
    Caller::granted(name, Scopes::from(scope), view)
}

/// Returns the client `phone`, which may write to all sources.
pub(crate) fn phone() -> Caller {
    granted("phone", Scope::Write, &[])
}

/// Returns an item with a plain text and no options.
pub(crate) fn text(body: &str) -> IngestItem {
    IngestItem {
        media_type: MediaType::Plain.into(),
        body: body.into(),
        source: None,
        slug: None,
        title: None,
        page_type: None,
        uri: None,
        idempotency_key: None,
    }
}

/// Returns the code of the expected fault.
pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, Fault>) -> FaultCode {
    result.unwrap_err().code
}
