//! Pulls the three streams, page by page.

use std::collections::{BTreeSet, HashSet};

use brain_protocol::{CollectedStream, Command, RunProblem, SkippedStream};

use super::{RunInProgress, StopCause};
use crate::{
    Expansions, FaultReason, Line, PlatformFault, PostId, PostPage, Stream, StreamState, UserId,
};
use brain_base::clock::rfc3339;

/// A stream of this run.
pub(super) struct StreamPull {
    pub(super) stream: Stream,
    /// The ids of the posts.
    pub(super) ids: BTreeSet<PostId>,
    /// Number of posts that were not stored before.
    pub(super) new: u64,
    /// Whether any page arrived.
    has_answer: bool,
    /// The token of the next older page.
    next: Option<String>,
    /// The reason why the stream is incomplete; `None` if it is complete.
    failure: Option<PullFailure>,
}

/// The cause of an incomplete stream.
struct PullFailure {
    reason: RunProblem,
    message: String,
    /// When a rate limit ends, in Unix seconds.
    reset: Option<i64>,
    /// Whether other searches may still succeed.
    try_others: bool,
}

/// The source of a stream.
#[derive(Clone, Copy)]
enum PullSource<'s> {
    Timeline(&'s UserId),
    Mentions(&'s UserId),
    Search(&'s str),
}

impl StreamPull {
    /// Creates an empty pull.
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, ids: BTreeSet::new(), new: 0, has_answer: false, next: None, failure: None }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.failure.is_none()
    }

    /// Returns the state for the next run: pulled posts and `undecided` ones.
    pub(super) fn state(&self, undecided: &[PostId], at: i64) -> StreamState {
        let ids: BTreeSet<&PostId> = self.ids.iter().chain(undecided).collect();
        StreamState {
            ids: ids.into_iter().rev().map(PostId::to_string).collect(),
            next_token: self.next.clone(),
            completed_at: Some(rfc3339(at)),
        }
    }
}

impl From<PlatformFault> for PullFailure {
    fn from(fault: PlatformFault) -> Self {
        let try_others = matches!(
            fault.reason,
            FaultReason::InvalidRequest | FaultReason::ServerError | FaultReason::Unreadable
        );
        let reset =
            if let FaultReason::RateLimited(reset) = fault.reason { Some(reset) } else { None };
        Self {
            reason: fault.reason.run_problem(),
            message: format!("{}; {}", fault.message, fault.hint),
            reset,
            try_others,
        }
    }
}

impl RunInProgress<'_> {
    /// Pulls all streams and reports each. Ends early if the run must stop.
    pub(super) fn pull_all(&mut self) -> Result<Vec<StreamPull>, StopCause> {
        let mut all = Vec::new();
        for stream in Stream::ALL {
            let mut pulled = StreamPull::new(stream);
            let result = self.pull(&mut pulled);
            self.report_stream(&pulled);
            result?;
            all.push(pulled);
        }
        Ok(all)
    }

    /// Pulls all sources of a stream. Records the first failure in `pulled`.
    fn pull(&mut self, pulled: &mut StreamPull) -> Result<(), StopCause> {
        let settings = self.settings;
        let sources: Vec<PullSource<'_>> = match (pulled.stream, &settings.user_id) {
            (Stream::Own, Some(user)) => vec![PullSource::Timeline(user)],
            (Stream::Mentions, Some(user)) => vec![PullSource::Mentions(user)],
            (Stream::Searches, _) => {
                settings.searches.iter().map(|query| PullSource::Search(query)).collect()
            }
            (_, None) => {
                let message = format!(
                    "the account's id is unknown; `{}` looks it up",
                    Command::CollectorSetup
                );
                pulled.failure = Some(PullFailure {
                    reason: RunProblem::NoUser,
                    message,
                    reset: None,
                    try_others: false,
                });
                return Ok(());
            }
        };
        for source in sources {
            match self.pages(source, pulled)? {
                Ok(next) => pulled.next = next.filter(|_| pulled.stream != Stream::Searches),
                Err(failure) => {
                    if let (PullSource::Search(query), RunProblem::InvalidRequest) =
                        (source, failure.reason)
                    {
                        self.report
                            .warnings
                            .push(format!("the search `{query}` is refused: {}", failure.message));
                    }
                    let try_others = failure.try_others;
                    pulled.failure.get_or_insert(failure);
                    if !try_others {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Pulls at most `max_pages` pages of a source. Returns the token of the next older page. The
    /// inner error concerns this source; the outer error ends the run.
    fn pages(
        &mut self,
        source: PullSource<'_>,
        pulled: &mut StreamPull,
    ) -> Result<Result<Option<String>, PullFailure>, StopCause> {
        let mut tokens = HashSet::new();
        let mut post_ids: HashSet<PostId> = HashSet::new();
        let mut next: Option<String> = None;
        for _ in 0..self.settings.max_pages.max(1) {
            self.step()?;
            let page = match self.page(source, next.as_deref()) {
                Ok(page) => page,
                Err(fault) if fault.reason.ends_the_run() => return Err(StopCause::Refused(fault)),
                Err(fault) => return Ok(Err(fault.into())),
            };
            pulled.has_answer = true;
            let post_count = page.posts.len();
            let before = post_ids.len();
            post_ids.extend(page.posts.iter().map(|post| post.id().clone()));
            let search = if let PullSource::Search(query) = source { Some(query) } else { None };
            self.store_page(page.posts, search, pulled)?;
            if let Some(fault) = page.incomplete {
                return Ok(Err(fault.into()));
            }
            if post_count > 0 && post_ids.len() == before {
                return Ok(Err(paging_failure("a page has only posts of earlier pages")));
            }
            next = page.next;
            match &next {
                None => break,
                Some(token) if !tokens.insert(token.clone()) => {
                    return Ok(Err(paging_failure("the platform sent the same page token twice")));
                }
                Some(_) => {}
            }
        }
        Ok(Ok(next))
    }

    /// Requests a page, without related objects if the platform rejects them.
    fn page(
        &mut self,
        source: PullSource<'_>,
        next: Option<&str>,
    ) -> Result<PostPage, PlatformFault> {
        let settings = self.settings;
        let expansions =
            Expansions { authors: settings.request_authors, media: settings.request_media };
        if self.without_expansions || expansions == Expansions::default() {
            return self.request_page(source, Expansions::default(), next);
        }
        let fault = match self.request_page(source, expansions, next) {
            // With a token, the fault cannot be about fields: the platform accepted the same fields
            // in the request without a token.
            Err(fault) if next.is_none() && fault.may_be_about_fields() => fault,
            other => return other,
        };
        // A retry without related objects shows whether they were the cause.
        let page = match self.request_page(source, Expansions::default(), next) {
            Err(second) if second.reason.ends_the_run() => return Err(second),
            Err(_) => return Err(fault),
            Ok(page) => page,
        };
        self.without_expansions = true;
        self.report.warnings.push(format!(
            "the platform refuses `expansions` ({}): posts are stored without their authors' \
             names; `collector.authors = \"ids\"` stops asking for names",
            fault.message
        ));
        Ok(page)
    }

    fn request_page(
        &mut self,
        source: PullSource<'_>,
        expansions: Expansions,
        next: Option<&str>,
    ) -> Result<PostPage, PlatformFault> {
        match source {
            PullSource::Timeline(user) => self.platform.timeline(user, expansions, next),
            PullSource::Mentions(user) => self.platform.mentions(user, expansions, next),
            // Without `since_id`, so that each run gets a comparable part of the stream.
            PullSource::Search(query) => self.platform.search(query, expansions, None, next),
        }
    }

    /// Reports a stream and adds it to the run's report.
    fn report_stream(&mut self, pulled: &StreamPull) {
        let (total, new) = (pulled.ids.len() as u64, pulled.new);
        let is_complete = pulled.failure.is_none();
        match pulled.stream {
            Stream::Own if pulled.has_answer => self.listener.line(&Line::Own { total, new }),
            Stream::Mentions if pulled.has_answer => {
                self.listener.line(&Line::Mentions { total, new });
            }
            _ => {}
        }
        if pulled.stream == Stream::Own && is_complete && pulled.has_answer && total == 0 {
            self.report.warnings.push(
                "no posts of the own timeline arrived: check `collector.user_id`, the token, and \
                 whether the account's posts are protected"
                    .into(),
            );
        }
        if let Some(failure) = &pulled.failure {
            self.listener.line(&Line::Skipped {
                stream: pulled.stream.as_str(),
                reason: failure.reason,
                reset: failure.reset,
            });
        }
        self.report.streams.push(CollectedStream {
            stream: pulled.stream.as_str().to_owned(),
            total,
            new,
            skipped: pulled.failure.as_ref().map(|failure| SkippedStream {
                reason: failure.reason,
                message: failure.message.clone(),
                reset: failure.reset,
            }),
        });
    }
}

/// Returns the reason why no stream got an answer, and the message of the first failed stream.
/// Returns `None` if any stream got an answer. Refusals and rate limits are answers.
pub(super) fn unanswered(pulled: &[StreamPull]) -> Option<(RunProblem, String)> {
    let no_answer = [RunProblem::Unreachable, RunProblem::ServerError, RunProblem::Unreadable];
    let is_answer = |failure: &PullFailure| !no_answer.contains(&failure.reason);
    if pulled
        .iter()
        .any(|pulled| pulled.has_answer || pulled.failure.as_ref().is_some_and(is_answer))
    {
        return None;
    }
    let first = pulled.iter().find_map(|pulled| pulled.failure.as_ref())?;
    Some((first.reason, format!("no stream had an answer: {}", first.message)))
}

/// Returns the failure of a stream whose pages repeat.
fn paging_failure(message: &str) -> PullFailure {
    let reason = RunProblem::Paging;
    PullFailure { reason, message: message.to_owned(), reset: None, try_others: true }
}
