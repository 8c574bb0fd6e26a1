//! Articles: fetches web pages that posts name and ingests them like `POST /ingest`.
//!
//! Each URL is fetched once, whichever posts name it. The results are stored beside the post, in
//! `data/articles/<id>.json`, by URL.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc;

use brain_protocol::{Fault, FaultCode};
use serde::{Deserialize, Serialize};
use url::Url;

use super::address::{named, video};
use super::ledger::{Article, Ledger};
use super::{Attempts, MAX_POSTS, PatternRun, RETRY_DELAY_MS};
use crate::ingest::Item;
use brain_base::caller::Visibility;
use brain_base::caller::{COLLECTOR, Caller, Scopes};
use brain_base::clock::rfc3339;
use brain_collector::{DataFault, PostId};
use brain_net::{Error as NetError, WebPage};
use brain_page::MediaType;

const KIND: &str = "articles";

/// The result for a URL.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ArticleResult {
    /// `queued`, `duplicate` (the same text exists), `known` (another post had it), `failed`, or
    /// `waiting` for the next attempt.
    status: String,
    /// The ingest job: `brain jobs show job_17` shows its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(flatten)]
    tries: Attempts,
}

/// Why there is no job.
enum ArticleError {
    /// A permanent failure.
    Never(String),
    /// A transient failure.
    Later(String),
    /// The ingest queue refuses jobs.
    Full(Fault),
}

/// The results for the URLs of a post.
type ArticleResults = BTreeMap<String, ArticleResult>;

/// A URL to fetch.
struct Waiting {
    post: PostId,
    url: Url,
    tries: Attempts,
}

impl PatternRun<'_> {
    /// Ingests web pages that posts name. Returns whether more are pending.
    ///
    /// # Errors
    /// If files cannot be used.
    pub(super) fn articles(&mut self) -> Result<bool, DataFault> {
        let ledger = Ledger::articles(&self.settings.dir);
        let mut waiting = self.unfetched(&ledger)?;
        let more = waiting.len() > MAX_POSTS;
        waiting.truncate(MAX_POSTS);
        for Waiting { post, url, mut tries } in waiting {
            if !self.goes_on() {
                return Ok(false);
            }
            let host = url.host_str().unwrap_or_default().to_owned();
            // An unresponsive host is tried once, then paused.
            if self.memory.silent.contains_key(&host) {
                continue;
            }
            let fate = match self.take_in(&url) {
                Ok(fate) => fate,
                Err(ArticleError::Full(fault)) => {
                    tracing::warn!(%fault, "articles wait");
                    return Ok(false);
                }
                Err(ArticleError::Never(why)) => ArticleResult {
                    status: "failed".into(),
                    why: Some(why),
                    ..ArticleResult::default()
                },
                Err(ArticleError::Later(why)) => {
                    let now = self.brain.env.clock.now();
                    self.memory.silent.insert(host.clone(), now + RETRY_DELAY_MS);
                    tries.note(now);
                    let status = if tries.are_over() { "failed" } else { "waiting" };
                    ArticleResult {
                        status: status.into(),
                        why: Some(why),
                        tries,
                        ..ArticleResult::default()
                    }
                }
            };
            if fate.status != "waiting" {
                ledger.append(&Article {
                    at: rfc3339(self.brain.env.clock.now()),
                    id: post.to_string(),
                    url: url.to_string(),
                    job: fate.job.clone(),
                    why: fate.why.clone(),
                })?;
            }
            if let Some(why) = &fate.why {
                tracing::info!(post = %post, host, why, "an article was not taken in");
            }
            self.tell(&post, &url, fate)?;
        }
        Ok(more)
    }

    /// Returns the URLs to fetch, least tried first. Known ones are recorded at their posts.
    fn unfetched(&mut self, ledger: &Ledger) -> Result<Vec<Waiting>, DataFault> {
        let mut known: Option<HashMap<String, Article>> = None;
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut taken = HashSet::new();
        for id in self.undone(KIND) {
            let Some((post, _)) = self.post(&id)? else { continue };
            let mut urls = named(&post, &self.settings.platform_api);
            urls.retain(|url| video(url).is_none());
            let fates: ArticleResults = if urls.is_empty() {
                ArticleResults::new()
            } else {
                self.beside(KIND, &id)?.unwrap_or_default()
            };
            let mut open = false;
            for url in urls {
                let fate = fates.get(url.as_str());
                if fate.is_some_and(|fate| fate.status != "waiting") {
                    continue;
                }
                if known.is_none() {
                    let lines =
                        ledger.lines::<Article>()?.into_iter().map(|line| (line.url.clone(), line));
                    known = Some(lines.collect());
                }
                if let Some(before) = known.as_ref().and_then(|known| known.get(url.as_str())) {
                    let (job, why) = (before.job.clone(), before.why.clone());
                    self.tell(
                        &id,
                        &url,
                        ArticleResult {
                            status: "known".into(),
                            job,
                            why,
                            ..ArticleResult::default()
                        },
                    )?;
                    continue;
                }
                open = true;
                let tries = fate.map(|fate| fate.tries.clone()).unwrap_or_default();
                let rests = self.memory.silent.contains_key(url.host_str().unwrap_or_default());
                if !rests
                    && tries.are_due(self.brain.env.clock.now())
                    && taken.insert(url.to_string())
                {
                    waiting.push(Waiting { post: id.clone(), url, tries });
                }
            }
            if !open {
                self.done(KIND, &id);
            }
        }
        waiting.sort_by_key(|waiting| waiting.tries.attempts);
        Ok(waiting)
    }

    /// Records a result beside the post.
    fn tell(&self, id: &PostId, url: &Url, fate: ArticleResult) -> Result<(), DataFault> {
        let mut fates: ArticleResults = self.beside(KIND, id)?.unwrap_or_default();
        fates.insert(url.to_string(), fate);
        self.keep(KIND, id, &fates)
    }

    fn take_in(&self, url: &Url) -> Result<ArticleResult, ArticleError> {
        let page = self.brain.env.net.web_page(url.as_str()).map_err(|trouble| missed(&trouble))?;
        let media_type = media_type(&page).ok_or_else(|| {
            let kind = page.content_type.split(';').next().unwrap_or_default();
            ArticleError::Never(format!(
                "it is no web page, but {}",
                if kind.is_empty() { "of no kind" } else { kind }
            ))
        })?;
        let most = self.brain.env.config.ingest.max_bytes;
        if page.body.len() > most {
            return Err(ArticleError::Never(format!(
                "it has {} bytes; ingest.max_bytes is {most}",
                page.body.len()
            )));
        }
        let item = Item {
            media_type,
            body: page.body,
            source: None,
            slug: None,
            title: None,
            page_type: None,
            uri: Some(url.to_string()),
            // After a crash, the same URL is the same job.
            idempotency_key: Some(url.to_string()),
        };
        let caller = Caller::granted(COLLECTOR, Scopes::READ_WRITE, Visibility::All);
        let (sender, answer) = mpsc::channel();
        self.brain.ingest.ingest(&caller, item, move |taken| _ = sender.send(taken));
        let gone = || Fault::new(FaultCode::Stopping, "the store is being closed");
        match answer.recv().unwrap_or_else(|_| Err(gone())) {
            Ok(taken) => Ok(ArticleResult {
                status: taken.status,
                job: Some(taken.job_id.to_string()),
                ..ArticleResult::default()
            }),
            // It was ingested before a crash and has changed since.
            Err(fault) if fault.code == FaultCode::Conflict => {
                Ok(ArticleResult { status: "known".into(), ..ArticleResult::default() })
            }
            Err(fault) => Err(match fault.code {
                FaultCode::EmptyBody
                | FaultCode::InvalidEncoding
                | FaultCode::InvalidRequest
                | FaultCode::TooLarge => ArticleError::Never(fault.message),
                _ => ArticleError::Full(fault),
            }),
        }
    }
}

/// Returns the media type of a web page, if it can be ingested.
fn media_type(page: &WebPage) -> Option<MediaType> {
    match page.content_type.split(';').next().unwrap_or_default().trim() {
        "text/html" | "application/xhtml+xml" => Some(MediaType::Html),
        "text/markdown" => Some(MediaType::Markdown),
        "text/plain" => Some(MediaType::Plain),
        _ => None,
    }
}

fn missed(trouble: &NetError) -> ArticleError {
    let why = trouble.to_string();
    match trouble {
        NetError::InvalidAddress(_)
        | NetError::NotPublic
        | NetError::TooLarge(_)
        | NetError::NotJson => ArticleError::Never(why),
        NetError::Status(status)
            if (400..500).contains(status) && !matches!(status, 408 | 425 | 429) =>
        {
            ArticleError::Never(why)
        }
        _ => ArticleError::Later(why),
    }
}
