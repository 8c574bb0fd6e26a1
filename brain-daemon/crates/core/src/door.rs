//! [`Door`]: what an interface may do with a brain.

use std::sync::Arc;

use brain_access::Access;
use brain_base::caller::Caller;
use brain_base::permission::permit;
use brain_config::Config;
use brain_ingest::{IngestItem, IngestReceipt};
use brain_ledger::SeenService;
use brain_pages::pages::similar_pages::SimilarPage;
use brain_pages::pages::surroundings::Surroundings;
use brain_protocol::{
    Fault, Get, Import, Operation, PageRef, Reply, Request, Secret, Slug, SourceId, TunnelRequest,
    VoiceReply, VoiceTurn,
};
use brain_service::{AuditLog, ChangeFeed, Progress, TextPermit};
use tokio_util::sync::CancellationToken;

use crate::{Brain, Uploads};

/// A brain as the socket, HTTP, the browser and AI clients see it: operations of a caller, and a
/// few capabilities that need no caller. An interface cannot call the services.
///
/// The capabilities are signing in ([`Self::access`]), counting calls ([`Self::audit`]), recording
/// answers ([`Self::seen`]), noticing changes ([`Self::changes`]), accepting an item ([`Self::accept`]), keeping a file for its import
/// ([`Self::uploads`]), and what the tunnel and the telephone need before they know who calls.
#[derive(Clone)]
pub struct Door {
    brain: Arc<Brain>,
}

impl Door {
    /// Opens the door of `brain`.
    #[must_use]
    pub fn new(brain: Arc<Brain>) -> Self {
        Self { brain }
    }

    /// Answers one request, as [`Brain::answer`].
    ///
    /// # Errors
    /// As [`Brain::answer`].
    pub fn answer(
        &self,
        caller: &Caller,
        request: Request,
        progress: &dyn Progress,
    ) -> Result<Reply, Fault> {
        self.brain.answer(caller, request, progress)
    }

    /// Runs one operation, as [`Brain::run`].
    ///
    /// # Errors
    /// As [`Brain::answer`].
    pub fn run<O: Operation>(
        &self,
        caller: &Caller,
        operation: O,
        progress: &dyn Progress,
    ) -> Result<O::Reply, Fault> {
        self.brain.run(caller, operation, progress)
    }

    /// Returns the links, backlinks and days around a page, for a caller that may `get` it.
    ///
    /// # Errors
    /// As for `get`.
    pub fn surroundings(&self, caller: &Caller, page: &PageRef) -> Result<Surroundings, Fault> {
        permit(caller, Get::INFO)?;
        self.brain.pages.surroundings(caller, page)
    }

    /// Returns existing pages that `slug` may mean, the most similar first, for a caller that may
    /// `get` pages.
    ///
    /// # Errors
    /// As for `get`, without `not_found`.
    pub fn similar_pages(&self, caller: &Caller, slug: &Slug) -> Result<Vec<SimilarPage>, Fault> {
        permit(caller, Get::INFO)?;
        self.brain.pages.similar(caller, slug)
    }

    /// Returns the source of requests of `caller` that name none.
    pub fn usual_source(&self, caller: &Caller) -> Result<SourceId, Fault> {
        self.brain.sources.usual_source(caller)
    }

    /// Returns the approximate number of changes that are not in the index on disk; `None` for a
    /// caller that does not see all sources.
    #[must_use]
    pub fn index_behind(&self, caller: &Caller) -> Option<u64> {
        caller.sees_all().then(|| self.brain.search.index_behind())
    }

    /// Returns whether a search of `caller` may miss pages at the moment.
    #[must_use]
    pub fn is_degraded(&self, caller: &Caller) -> bool {
        self.brain.search.is_degraded(caller)
    }

    /// Clients, tokens and the owner's consent.
    #[must_use]
    pub fn access(&self) -> &Arc<Access> {
        &self.brain.access
    }

    /// The record of calls over the network.
    #[must_use]
    pub fn audit(&self) -> &AuditLog {
        &self.brain.audit
    }

    /// The record of what AI clients are given.
    #[must_use]
    pub fn seen(&self) -> &SeenService {
        &self.brain.seen
    }

    /// Notifications of changed pages and of a changed queue.
    #[must_use]
    pub fn changes(&self) -> &ChangeFeed {
        &self.brain.changes
    }

    /// Accepts an item into the ingest queue, and calls `done` when it is on disk. `IngestService`
    /// decides what the caller may send.
    pub fn accept(
        &self,
        caller: &Caller,
        item: IngestItem,
        done: impl FnOnce(Result<IngestReceipt, Fault>) + Send + 'static,
    ) {
        self.brain.ingest.ingest(caller, item, done);
    }

    /// Returns the files that wait for their import, for a caller that may import.
    ///
    /// # Errors
    /// `forbidden` for another caller.
    pub fn uploads(&self, caller: &Caller) -> Result<&Uploads, Fault> {
        permit(caller, Import::INFO)?;
        Ok(&self.brain.uploads)
    }

    /// Returns the public address of this brain, without a trailing slash.
    #[must_use]
    pub fn public_address(&self) -> Option<String> {
        self.brain.tunnel.public_address()
    }

    /// Returns the answer to the question by which the tunnel proves its address.
    #[must_use]
    pub fn tunnel_proof(&self, host: &str, question: &str) -> Option<String> {
        self.brain.tunnel.proof(host, question)
    }

    /// Adds a request at the public listener to the tunnel's list.
    pub fn record_tunnel_request(&self, request: TunnelRequest) {
        self.brain.tunnel.record_request(request);
    }

    /// Reads the token that the telephony provider signs its requests with.
    ///
    /// # Errors
    /// If the token exists and cannot be read.
    pub fn telephony_token(&self) -> Result<Option<Secret>, Fault> {
        self.brain.voice.telephony_token()
    }

    /// Returns the caller for a telephone number.
    pub fn telephone_caller(&self, from: &str) -> Result<Caller, Fault> {
        self.brain.voice.telephone_caller(from)
    }

    /// Returns what a telephone caller hears if a turn fails.
    #[must_use]
    pub fn apology(&self, turn: Option<&VoiceTurn>) -> VoiceReply {
        self.brain.voice.apology(turn)
    }

    /// Refuses calls with tokens while this machine may not know of revocations.
    ///
    /// # Errors
    /// `server_away` if this machine may not know of revocations.
    pub fn check_token_age(&self) -> Result<(), Fault> {
        self.brain.check_token_age()
    }

    /// Describes how old reads are, while the server of several machines is away.
    #[must_use]
    pub fn age_of_reads(&self) -> Option<String> {
        self.brain.age_of_reads()
    }

    /// Returns the configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        self.brain.config()
    }

    /// Returns the time of the brain's clock, in Unix milliseconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.brain.now()
    }

    /// Cancelled when the brain stops.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.brain.env.stop
    }

    /// Waits for a share of the text budget; see [`TextPermit`]. Blocks.
    pub fn text_permit(&self, bytes: usize) -> TextPermit<'_> {
        self.brain.text_permit(bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_base::caller::{Scope, Visibility};
    use brain_base::clock::SystemClock;
    use brain_base::home::Home;
    use brain_protocol::{Origin, Put};
    use brain_service::NoProgress;

    use super::*;

    /// Opens the door of a brain in `dir` that has one page of the owner.
    fn door_of_a_page(dir: &std::path::Path) -> (Door, PageRef) {
        let home = Home::at(dir.join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let brain = Brain::open(home, config, Arc::new(SystemClock), 7).unwrap();
        let door = Door::new(Arc::new(brain));
        let page = PageRef { source: None, slug: Slug::parse("a").unwrap() };
        let put = Put {
            page: page.clone(),
            content: b"otter".to_vec(),
            origin: Origin::Stdin,
            allow_empty: false,
            expect: None,
        };
        door.run(&Caller::local(0), put, &NoProgress).unwrap();
        (door, page)
    }

    #[test]
    fn surroundings_are_shown_to_whom_get_shows_the_page() {
        let dir = tempfile::tempdir().unwrap();
        let (door, page) = door_of_a_page(dir.path());
        let other = Visibility::Only(vec![SourceId::parse("other").unwrap()]);
        let callers = [Visibility::All, other]
            .map(|visibility| Caller::granted("reader", Scope::Read.into(), visibility));
        let check = || {
            for (caller, is_shown) in callers.iter().zip([true, false]) {
                let get = Get { page: page.clone(), version: None };
                assert_eq!(door.run(caller, get, &NoProgress).is_ok(), is_shown);
                assert_eq!(door.surroundings(caller, &page).is_ok(), is_shown);
            }
        };
        check();
        // Reading goes on when the home is moved away.
        std::fs::rename(dir.path().join("home"), dir.path().join("moved")).unwrap();
        check();
    }
}
