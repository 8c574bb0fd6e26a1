//! Pulls the three streams, page by page.

use std::collections::{BTreeSet, HashSet};

use brain_protocol::{CollectedStream, SkippedStream};

use super::{RunState, StopCause};
use crate::{Expansions, Line, Page, PlatformFault, PostId, Stream, StreamState, UserId, Why};
use brain_base::clock::rfc3339;

/// A stream of this run.
pub(super) struct PulledStream {
    pub(super) stream: Stream,
    /// The posts.
    pub(super) ids: BTreeSet<PostId>,
    /// Those that were not stored before.
    pub(super) new: u64,
    /// Whether any page arrived.
    answered: bool,
    /// The token of the next older page.
    next: Option<String>,
    /// Why the stream is incomplete.
    broken: Option<PullFailure>,
}

/// The cause of an incomplete stream.
struct PullFailure {
    reason: &'static str,
    message: String,
    reset: Option<i64>,
    /// Whether other searches are worth trying.
    others: bool,
}

/// The source of a stream.
#[derive(Clone, Copy)]
enum Source<'s> {
    Timeline(&'s UserId),
    Mentions(&'s UserId),
    Search(&'s str),
}

impl PulledStream {
    /// Creates an empty pull.
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, ids: BTreeSet::new(), new: 0, answered: false, next: None, broken: None }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.broken.is_none()
    }

    /// Returns the state for the next run: pulled posts and `in_doubt`.
    pub(super) fn state(&self, in_doubt: &[PostId], at: i64) -> StreamState {
        let ids: BTreeSet<&PostId> = self.ids.iter().chain(in_doubt).collect();
        StreamState {
            ids: ids.into_iter().rev().map(PostId::to_string).collect(),
            next_token: self.next.clone(),
            completed_at: Some(rfc3339(at)),
        }
    }
}

impl From<PlatformFault> for PullFailure {
    fn from(fault: PlatformFault) -> Self {
        let others = matches!(fault.why, Why::InvalidRequest | Why::ServerError | Why::Unreadable);
        let reset = if let Why::RateLimited(reset) = fault.why { Some(reset) } else { None };
        Self {
            reason: fault.why.as_str(),
            message: format!("{}; {}", fault.message, fault.hint),
            reset,
            others,
        }
    }
}

impl RunState<'_> {
    /// Pulls all streams and reports each.
    pub(super) fn pull_all(&mut self) -> Result<Vec<PulledStream>, StopCause> {
        let mut all = Vec::new();
        for stream in Stream::ALL {
            let mut pulled = PulledStream::new(stream);
            let ended = self.pull(&mut pulled);
            self.report_stream(&pulled);
            ended?;
            all.push(pulled);
        }
        Ok(all)
    }

    fn pull(&mut self, pulled: &mut PulledStream) -> Result<(), StopCause> {
        let settings = self.settings;
        let sources: Vec<Source<'_>> = match (pulled.stream, &settings.user_id) {
            (Stream::Own, Some(user)) => vec![Source::Timeline(user)],
            (Stream::Mentions, Some(user)) => vec![Source::Mentions(user)],
            (Stream::Searches, _) => {
                settings.searches.iter().map(|query| Source::Search(query)).collect()
            }
            (_, None) => {
                let message =
                    "the account's id is not known; `brain collector setup` looks it up".to_owned();
                pulled.broken =
                    Some(PullFailure { reason: "no_user", message, reset: None, others: false });
                return Ok(());
            }
        };
        for source in sources {
            match self.pages(source, pulled)? {
                Ok(next) => pulled.next = next.filter(|_| pulled.stream != Stream::Searches),
                Err(broken) => {
                    if let (Source::Search(query), "invalid_request") = (source, broken.reason) {
                        self.report
                            .warnings
                            .push(format!("the search `{query}` is refused: {}", broken.message));
                    }
                    let others = broken.others;
                    pulled.broken.get_or_insert(broken);
                    if !others {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Pulls all pages of a source, up to `max_pages`. Returns the token of the next older page.
    fn pages(
        &mut self,
        source: Source<'_>,
        pulled: &mut PulledStream,
    ) -> Result<Result<Option<String>, PullFailure>, StopCause> {
        let mut tokens = HashSet::new();
        let mut seen: HashSet<PostId> = HashSet::new();
        let mut next: Option<String> = None;
        for _ in 0..self.settings.max_pages.max(1) {
            self.step()?;
            let page = match self.page(source, next.as_deref()) {
                Ok(page) => page,
                Err(fault) if fault.why.ends_the_run() => return Err(StopCause::Refused(fault)),
                Err(fault) => return Ok(Err(fault.into())),
            };
            pulled.answered = true;
            let came = page.posts.len();
            let before = seen.len();
            seen.extend(page.posts.iter().map(|post| post.id().clone()));
            let search = if let Source::Search(query) = source { Some(query) } else { None };
            self.keep(page.posts, search, pulled)?;
            if let Some(fault) = page.incomplete {
                return Ok(Err(fault.into()));
            }
            if came > 0 && seen.len() == before {
                return Ok(Err(paging("a page brought only posts of the pages before")));
            }
            next = page.next;
            match &next {
                None => break,
                Some(token) if !tokens.insert(token.clone()) => {
                    return Ok(Err(paging("the platform gave the same page token twice")));
                }
                Some(_) => {}
            }
        }
        Ok(Ok(next))
    }

    /// Requests a page, without related objects if the platform rejects them.
    fn page(&mut self, source: Source<'_>, next: Option<&str>) -> Result<Page, PlatformFault> {
        let settings = self.settings;
        let with = Expansions { authors: settings.ask_authors, media: settings.ask_media };
        if self.bare || with == Expansions::default() {
            return self.ask_page(source, Expansions::default(), next);
        }
        let fault = match self.ask_page(source, with, next) {
            // A later page repeats an accepted request and may only fail for its token.
            Err(fault) if next.is_none() && fault.may_be_about_fields() => fault,
            other => return other,
        };
        // The retry without them shows whether they were the cause.
        let page = match self.ask_page(source, Expansions::default(), next) {
            Err(second) if second.why.ends_the_run() => return Err(second),
            Err(_) => return Err(fault),
            Ok(page) => page,
        };
        self.bare = true;
        self.report.warnings.push(format!(
            "the platform refuses `expansions` ({}): posts are kept without their authors' names; \
             `collector.authors = \"ids\"` asks for none",
            fault.message
        ));
        Ok(page)
    }

    fn ask_page(
        &mut self,
        source: Source<'_>,
        with: Expansions,
        next: Option<&str>,
    ) -> Result<Page, PlatformFault> {
        match source {
            Source::Timeline(user) => self.platform.timeline(user, with, next),
            Source::Mentions(user) => self.platform.mentions(user, with, next),
            // Without `since_id`: compared streams need the same depth each time.
            Source::Search(query) => self.platform.search(query, with, None, next),
        }
    }

    /// Reports a stream and adds it to the run's report.
    fn report_stream(&mut self, pulled: &PulledStream) {
        let (total, new) = (pulled.ids.len() as u64, pulled.new);
        let whole = pulled.broken.is_none();
        match pulled.stream {
            Stream::Own if pulled.answered => self.sink.line(&Line::Own(total, new)),
            Stream::Mentions if pulled.answered => self.sink.line(&Line::Mentions(total, new)),
            _ => {}
        }
        if pulled.stream == Stream::Own && whole && pulled.answered && total == 0 {
            self.report.warnings.push(
                "no posts of the own timeline came: check `collector.user_id`, the token, and \
                 whether the account's posts are protected"
                    .into(),
            );
        }
        if let Some(PullFailure { reason, reset, .. }) = &pulled.broken {
            self.sink.line(&Line::Skipped {
                stream: pulled.stream.as_str(),
                reason,
                reset: *reset,
            });
        }
        self.report.streams.push(CollectedStream {
            stream: pulled.stream.as_str().to_owned(),
            total,
            new,
            skipped: pulled.broken.as_ref().map(|broken| SkippedStream {
                reason: broken.reason.to_owned(),
                message: broken.message.clone(),
                reset: broken.reset,
            }),
        });
    }
}

/// Returns why no stream got an answer, with the message of the first. `None` if one did; refusals
/// and rate limits are answers.
pub(super) fn unanswered(pulled: &[PulledStream]) -> Option<(&'static str, String)> {
    let silent = [Why::Unreachable, Why::ServerError, Why::Unreadable].map(Why::as_str);
    let is_refused = |broken: &PullFailure| !silent.contains(&broken.reason);
    if pulled.iter().any(|pulled| pulled.answered || pulled.broken.as_ref().is_some_and(is_refused))
    {
        return None;
    }
    let first = pulled.iter().find_map(|pulled| pulled.broken.as_ref())?;
    Some((first.reason, format!("no stream had an answer: {}", first.message)))
}

/// Returns the cause for endless pages.
fn paging(message: &str) -> PullFailure {
    PullFailure { reason: "paging", message: message.to_owned(), reset: None, others: true }
}
