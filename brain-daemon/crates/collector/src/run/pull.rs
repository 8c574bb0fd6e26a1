//! Pulling the three streams, page by page.

use std::collections::{BTreeSet, HashSet};

use brain_protocol::{CollectedStream, SkippedStream};

use super::{Stop, Work};
use crate::{Line, Page, PlatformFault, PostId, Stream, StreamState, UserId, Why, With};
use brain_base::clock::rfc3339;

/// A stream of this run.
pub(super) struct Pulled {
    pub(super) stream: Stream,
    /// The posts that came.
    pub(super) ids: BTreeSet<PostId>,
    /// Those of them that were not stored before.
    pub(super) new: u64,
    /// Whether a page came at all.
    answered: bool,
    /// The token of what is older.
    next: Option<String>,
    /// Why it was not pulled to its end.
    broken: Option<Broken>,
}

/// Why a stream was not pulled to its end.
struct Broken {
    reason: &'static str,
    message: String,
    reset: Option<i64>,
    /// Whether another search is worth asking for.
    others: bool,
}

/// Where posts are pulled from.
#[derive(Clone, Copy)]
enum Source<'s> {
    Timeline(&'s UserId),
    Mentions(&'s UserId),
    Search(&'s str),
}

impl Pulled {
    /// Nothing came yet.
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, ids: BTreeSet::new(), new: 0, answered: false, next: None, broken: None }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.broken.is_none()
    }

    /// What the next run compares with: what came, and `in_doubt`.
    pub(super) fn state(&self, in_doubt: &[PostId], at: i64) -> StreamState {
        let ids: BTreeSet<&PostId> = self.ids.iter().chain(in_doubt).collect();
        StreamState {
            ids: ids.into_iter().rev().map(PostId::to_string).collect(),
            next_token: self.next.clone(),
            completed_at: Some(rfc3339(at)),
        }
    }
}

impl From<PlatformFault> for Broken {
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

impl Work<'_> {
    /// Pulls all of them, each told when it is through.
    pub(super) fn pull_all(&mut self) -> Result<Vec<Pulled>, Stop> {
        let mut all = Vec::new();
        for stream in Stream::ALL {
            let mut pulled = Pulled::new(stream);
            let ended = self.pull(&mut pulled);
            self.tell(&pulled);
            ended?;
            all.push(pulled);
        }
        Ok(all)
    }

    fn pull(&mut self, pulled: &mut Pulled) -> Result<(), Stop> {
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
                    Some(Broken { reason: "no_user", message, reset: None, others: false });
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

    /// All pages of a source, up to `max_pages`; gives the token of what is older.
    fn pages(
        &mut self,
        source: Source<'_>,
        pulled: &mut Pulled,
    ) -> Result<Result<Option<String>, Broken>, Stop> {
        let mut tokens = HashSet::new();
        let mut seen: HashSet<PostId> = HashSet::new();
        let mut next: Option<String> = None;
        for _ in 0..self.settings.max_pages.max(1) {
            self.step()?;
            let page = match self.page(source, next.as_deref()) {
                Ok(page) => page,
                Err(fault) if fault.why.ends_the_run() => return Err(Stop::Refused(fault)),
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

    /// A page, without authors and pictures where the platform refuses these (`expansions`).
    fn page(&mut self, source: Source<'_>, next: Option<&str>) -> Result<Page, PlatformFault> {
        let settings = self.settings;
        let with = With { authors: settings.ask_authors, media: settings.ask_media };
        if self.bare || with == With::default() {
            return self.ask_page(source, With::default(), next);
        }
        let fault = match self.ask_page(source, with, next) {
            // A later page was asked for as the one before, and may be refused for its token.
            Err(fault) if next.is_none() && fault.may_be_about_fields() => fault,
            other => return other,
        };
        // Whether that is why, is known when it goes without.
        let page = match self.ask_page(source, With::default(), next) {
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
        with: With,
        next: Option<&str>,
    ) -> Result<Page, PlatformFault> {
        match source {
            Source::Timeline(user) => self.platform.timeline(user, with, next),
            Source::Mentions(user) => self.platform.mentions(user, with, next),
            // What is compared must be asked for to the same depth each time, so nothing is left out by `since_id`.
            Source::Search(query) => self.platform.search(query, with, None, next),
        }
    }

    /// Says what came of a stream, and puts it into the report.
    fn tell(&mut self, pulled: &Pulled) {
        let (total, new) = (pulled.ids.len() as u64, pulled.new);
        let whole = pulled.broken.is_none();
        match pulled.stream {
            Stream::Own if pulled.answered => self.sink.line(&Line::Own(total, new)),
            Stream::Mentions if pulled.answered => self.sink.line(&Line::Mentions(total, new)),
            _ => {}
        }
        if pulled.stream == Stream::Own && whole && pulled.answered && total == 0 {
            self.report.warnings.push(
                "no posts of the own timeline came: check `collector.user_id`, the token, and whether the account's posts are protected"
                    .into(),
            );
        }
        if let Some(Broken { reason, reset, .. }) = &pulled.broken {
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

/// Returns why no stream had an answer, in the words of the first one; `None` when one had. A
/// refusal is an answer, and so is one for the rate.
pub(super) fn unanswered(pulled: &[Pulled]) -> Option<(&'static str, String)> {
    let silent = [Why::Unreachable, Why::ServerError, Why::Unreadable].map(Why::as_str);
    let is_refused = |broken: &Broken| !silent.contains(&broken.reason);
    if pulled.iter().any(|pulled| pulled.answered || pulled.broken.as_ref().is_some_and(is_refused))
    {
        return None;
    }
    let first = pulled.iter().find_map(|pulled| pulled.broken.as_ref())?;
    Some((first.reason, format!("no stream had an answer: {}", first.message)))
}

/// The platform's pages do not end.
fn paging(message: &str) -> Broken {
    Broken { reason: "paging", message: message.to_owned(), reset: None, others: true }
}
