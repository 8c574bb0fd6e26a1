//! Articles: fetches web pages that posts link to, and ingests them like `POST /ingest`.
//!
//! Each URL is ingested once, however many posts link to it. The results for a post are stored in
//! `data/articles/<id>.json`, by URL.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc;

use brain_protocol::{Fault, FaultCode};
use serde::{Deserialize, Serialize};
use url::Url;

use super::address::{linked_urls, video_url};
use super::ledger::{Article, Ledger};
use super::{AnalysisRun, Attempts, MAX_POSTS, RETRY_DELAY_MS};
use crate::{DataFault, PostId};
use brain_base::caller::{COLLECTOR, Caller, Scopes, Visibility};
use brain_base::clock::rfc3339;
use brain_ingest::IngestItem;
use brain_net::{Error as NetError, WebPage};
use brain_page::MediaType;

/// The name of this analysis and of its directory.
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

/// The reason why there is no ingest job.
enum ArticleError {
    /// A permanent failure.
    Permanent(String),
    /// A transient failure.
    Transient(String),
    /// The ingest queue refuses jobs.
    QueueRefused(Fault),
}

/// The results for the URLs of a post.
type ArticleResults = BTreeMap<String, ArticleResult>;

/// A URL to fetch.
struct PendingArticle {
    post: PostId,
    url: Url,
    tries: Attempts,
}

impl AnalysisRun<'_> {
    /// Ingests web pages that posts link to. Returns whether more are pending.
    ///
    /// # Errors
    /// If files cannot be used.
    pub(super) fn articles(&mut self) -> Result<bool, DataFault> {
        let ledger = Ledger::articles(&self.settings.dir);
        let mut pending = self.pending_articles(&ledger)?;
        let has_more = pending.len() > MAX_POSTS;
        pending.truncate(MAX_POSTS);
        for PendingArticle { post, url, mut tries } in pending {
            if !self.should_continue() {
                return Ok(false);
            }
            let host = url.host_str().unwrap_or_default().to_owned();
            // A host that does not respond is tried once, then paused.
            if self.cache.paused_hosts.contains_key(&host) {
                continue;
            }
            let result = match self.ingest_page(&url) {
                Ok(result) => result,
                Err(ArticleError::QueueRefused(fault)) => {
                    tracing::warn!(%fault, "ingest queue accepts no articles; trying again later");
                    return Ok(false);
                }
                Err(ArticleError::Permanent(why)) => ArticleResult {
                    status: "failed".into(),
                    why: Some(why),
                    ..ArticleResult::default()
                },
                Err(ArticleError::Transient(why)) => {
                    let now = self.service.env.clock.now();
                    self.cache.paused_hosts.insert(host.clone(), now + RETRY_DELAY_MS);
                    tries.record(now);
                    let status = if tries.are_used_up() { "failed" } else { "waiting" };
                    ArticleResult {
                        status: status.into(),
                        why: Some(why),
                        tries,
                        ..ArticleResult::default()
                    }
                }
            };
            if result.status != "waiting" {
                ledger.append(&Article {
                    at: rfc3339(self.service.env.clock.now()),
                    id: post.to_string(),
                    url: url.to_string(),
                    job: result.job.clone(),
                    why: result.why.clone(),
                })?;
            }
            if let Some(why) = &result.why {
                tracing::info!(post = %post, host, why, "article not ingested");
            }
            self.record_result(&post, &url, result)?;
        }
        Ok(has_more)
    }

    /// Returns the URLs to fetch, those with the fewest attempts first. For a URL that was
    /// processed for another post, records the result of that post.
    fn pending_articles(&mut self, ledger: &Ledger) -> Result<Vec<PendingArticle>, DataFault> {
        let mut processed: Option<HashMap<String, Article>> = None;
        let mut pending: Vec<PendingArticle> = Vec::new();
        let mut chosen_urls = HashSet::new();
        for id in self.pending_posts(KIND) {
            let Some((post, _)) = self.post(&id)? else { continue };
            let mut urls = linked_urls(&post, &self.settings.platform_api);
            urls.retain(|url| video_url(url).is_none());
            let results: ArticleResults = if urls.is_empty() {
                ArticleResults::new()
            } else {
                self.attachment(KIND, &id)?.unwrap_or_default()
            };
            let mut is_pending = false;
            for url in urls {
                let result = results.get(url.as_str());
                if result.is_some_and(|result| result.status != "waiting") {
                    continue;
                }
                if processed.is_none() {
                    let lines =
                        ledger.lines::<Article>()?.into_iter().map(|line| (line.url.clone(), line));
                    processed = Some(lines.collect());
                }
                if let Some(article) =
                    processed.as_ref().and_then(|articles| articles.get(url.as_str()))
                {
                    let (job, why) = (article.job.clone(), article.why.clone());
                    self.record_result(
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
                is_pending = true;
                let tries = result.map(|result| result.tries.clone()).unwrap_or_default();
                let is_paused =
                    self.cache.paused_hosts.contains_key(url.host_str().unwrap_or_default());
                if !is_paused
                    && tries.are_due(self.service.env.clock.now())
                    && chosen_urls.insert(url.to_string())
                {
                    pending.push(PendingArticle { post: id.clone(), url, tries });
                }
            }
            if !is_pending {
                self.mark_completed(KIND, &id);
            }
        }
        pending.sort_by_key(|article| article.tries.attempts);
        Ok(pending)
    }

    /// Stores the result for a URL of a post.
    fn record_result(
        &self,
        id: &PostId,
        url: &Url,
        result: ArticleResult,
    ) -> Result<(), DataFault> {
        let mut results: ArticleResults = self.attachment(KIND, id)?.unwrap_or_default();
        results.insert(url.to_string(), result);
        self.store_attachment(KIND, id, &results)
    }

    /// Fetches a web page and adds it to the ingest queue.
    fn ingest_page(&self, url: &Url) -> Result<ArticleResult, ArticleError> {
        let page =
            self.service.env.net.web_page(url.as_str()).map_err(|error| article_error(&error))?;
        let media_type = media_type(&page).ok_or_else(|| {
            let kind = page.content_type.split(';').next().unwrap_or_default();
            ArticleError::Permanent(format!(
                "it is not a web page: its type is {}",
                if kind.is_empty() { "unknown" } else { kind }
            ))
        })?;
        let max_bytes = self.service.env.max_article_bytes;
        if page.body.len() > max_bytes {
            return Err(ArticleError::Permanent(format!(
                "it has {} bytes; ingest.max_bytes is {max_bytes}",
                page.body.len()
            )));
        }
        let item = IngestItem {
            media_type: media_type.into(),
            body: page.body,
            source: None,
            slug: None,
            title: None,
            page_type: None,
            uri: Some(url.to_string()),
            // After a crash, the same URL finds the same job.
            idempotency_key: Some(url.to_string()),
        };
        let caller = Caller::granted(COLLECTOR, Scopes::READ_WRITE, Visibility::All);
        let (sender, answer) = mpsc::channel();
        self.service.ingest.ingest(&caller, item, move |result| _ = sender.send(result));
        let store_closed = || Fault::new(FaultCode::Stopping, "the store is being closed");
        match answer.recv().unwrap_or_else(|_| Err(store_closed())) {
            Ok(receipt) => Ok(ArticleResult {
                status: receipt.status.to_string(),
                job: Some(receipt.job_id.to_string()),
                ..ArticleResult::default()
            }),
            // The web page was ingested before a crash, and has changed since.
            Err(fault) if fault.code == FaultCode::Conflict => {
                Ok(ArticleResult { status: "known".into(), ..ArticleResult::default() })
            }
            Err(fault) => Err(match fault.code {
                FaultCode::EmptyBody
                | FaultCode::InvalidEncoding
                | FaultCode::InvalidRequest
                | FaultCode::TooLarge => ArticleError::Permanent(fault.message),
                _ => ArticleError::QueueRefused(fault),
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

fn article_error(error: &NetError) -> ArticleError {
    let why = error.to_string();
    match error {
        NetError::InvalidAddress(_)
        | NetError::NotPublic
        | NetError::TooLarge(_)
        | NetError::NotJson => ArticleError::Permanent(why),
        NetError::Status(status)
            if (400..500).contains(status) && !matches!(status, 408 | 425 | 429) =>
        {
            ArticleError::Permanent(why)
        }
        _ => ArticleError::Transient(why),
    }
}
