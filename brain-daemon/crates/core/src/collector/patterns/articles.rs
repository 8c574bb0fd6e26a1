//! Articles: web pages that posts name, fetched and taken in as `POST /ingest` takes them in. Each address once, whichever posts name it.
//! What became of each stands beside the post, `data/articles/<id>.json`, by its address.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc;

use brain_protocol::{Fault, FaultCode};
use serde::{Deserialize, Serialize};
use url::Url;

use super::address::{named, video};
use super::ledger::{Article, Ledger};
use super::{BOUND, PAUSE_MS, Round, Tries};
use crate::ingest::Item;
use brain_base::caller::Visibility;
use brain_base::caller::{COLLECTOR, Caller, Scopes};
use brain_base::clock::rfc3339;
use brain_collector::{DataFault, PostId};
use brain_net::{Trouble, WebPage};
use brain_page::MediaType;

const KIND: &str = "articles";

/// What became of an address.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Fate {
    /// `queued`, `duplicate` (the same text was there already), `known` (another post named it before), `failed`, or `waiting` for its
    /// next try.
    status: String,
    /// The item that it became: `brain jobs show job_17` tells its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// Why it became none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(flatten)]
    tries: Tries,
}

/// Why there is no item.
enum Miss {
    /// It will never be one.
    Never(String),
    /// It may be one later.
    Later(String),
    /// We cannot take in anything now.
    Full(Fault),
}

/// What became of the addresses that a post names.
type Fates = BTreeMap<String, Fate>;

/// An address that waits to be fetched.
struct Waiting {
    post: PostId,
    url: Url,
    tries: Tries,
}

impl Round<'_> {
    /// Takes in web pages that posts name; whether more wait.
    ///
    /// # Errors
    /// When files cannot be used.
    pub(super) fn articles(&mut self) -> Result<bool, DataFault> {
        let ledger = Ledger::articles(&self.settings.dir);
        let mut waiting = self.unfetched(&ledger)?;
        let more = waiting.len() > BOUND;
        waiting.truncate(BOUND);
        for Waiting { post, url, mut tries } in waiting {
            if !self.goes_on() {
                return Ok(false);
            }
            let host = url.host_str().unwrap_or_default().to_owned();
            // A host that does not answer is asked once, then it rests.
            if self.memory.silent.contains_key(&host) {
                continue;
            }
            let fate = match self.take_in(&url) {
                Ok(fate) => fate,
                Err(Miss::Full(fault)) => {
                    tracing::warn!(%fault, "articles wait");
                    return Ok(false);
                }
                Err(Miss::Never(why)) => {
                    Fate { status: "failed".into(), why: Some(why), ..Fate::default() }
                }
                Err(Miss::Later(why)) => {
                    let now = self.brain.now();
                    self.memory.silent.insert(host.clone(), now + PAUSE_MS);
                    tries.note(now);
                    let status = if tries.are_over() { "failed" } else { "waiting" };
                    Fate { status: status.into(), why: Some(why), tries, ..Fate::default() }
                }
            };
            if fate.status != "waiting" {
                ledger.append(&Article {
                    at: rfc3339(self.brain.now()),
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

    /// The addresses that wait to be fetched, those that were tried least first. Those that are known already are noted at their posts.
    fn unfetched(&mut self, ledger: &Ledger) -> Result<Vec<Waiting>, DataFault> {
        let mut known: Option<HashMap<String, Article>> = None;
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut taken = HashSet::new();
        for id in self.undone(KIND) {
            let Some((post, _)) = self.post(&id)? else { continue };
            let mut urls = named(&post, &self.settings.platform_api);
            urls.retain(|url| video(url).is_none());
            let fates: Fates = if urls.is_empty() {
                Fates::new()
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
                        Fate { status: "known".into(), job, why, ..Fate::default() },
                    )?;
                    continue;
                }
                open = true;
                let tries = fate.map(|fate| fate.tries.clone()).unwrap_or_default();
                let rests = self.memory.silent.contains_key(url.host_str().unwrap_or_default());
                if !rests && tries.are_due(self.brain.now()) && taken.insert(url.to_string()) {
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

    /// Notes what became of an address beside the post.
    fn tell(&self, id: &PostId, url: &Url, fate: Fate) -> Result<(), DataFault> {
        let mut fates: Fates = self.beside(KIND, id)?.unwrap_or_default();
        fates.insert(url.to_string(), fate);
        self.keep(KIND, id, &fates)
    }

    fn take_in(&self, url: &Url) -> Result<Fate, Miss> {
        let page = self.brain.net.web_page(url.as_str()).map_err(|trouble| missed(&trouble))?;
        let media_type = media_type(&page).ok_or_else(|| {
            let kind = page.content_type.split(';').next().unwrap_or_default();
            Miss::Never(format!(
                "it is no web page, but {}",
                if kind.is_empty() { "of no kind" } else { kind }
            ))
        })?;
        let most = self.brain.config.ingest_max_bytes();
        if page.body.len() > most {
            return Err(Miss::Never(format!(
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
            // After a crash the same address is the same item.
            idempotency_key: Some(url.to_string()),
        };
        let caller = Caller::granted(COLLECTOR, Scopes::READ_WRITE, Visibility::All);
        let (sender, answer) = mpsc::channel();
        self.brain.ingest(&caller, item, move |taken| _ = sender.send(taken));
        let gone = || Fault::new(FaultCode::Stopping, "the store is being closed");
        match answer.recv().unwrap_or_else(|_| Err(gone())) {
            Ok(taken) => Ok(Fate {
                status: taken.status,
                job: Some(taken.job_id.to_string()),
                ..Fate::default()
            }),
            // It was taken in before a crash, and has changed since.
            Err(fault) if fault.code == FaultCode::Conflict => {
                Ok(Fate { status: "known".into(), ..Fate::default() })
            }
            Err(fault) => Err(match fault.code {
                FaultCode::EmptyBody
                | FaultCode::InvalidEncoding
                | FaultCode::InvalidRequest
                | FaultCode::TooLarge => Miss::Never(fault.message),
                _ => Miss::Full(fault),
            }),
        }
    }
}

/// What a web page can be taken in as.
fn media_type(page: &WebPage) -> Option<MediaType> {
    match page.content_type.split(';').next().unwrap_or_default().trim() {
        "text/html" | "application/xhtml+xml" => Some(MediaType::Html),
        "text/markdown" => Some(MediaType::Markdown),
        "text/plain" => Some(MediaType::Plain),
        _ => None,
    }
}

fn missed(trouble: &Trouble) -> Miss {
    let why = trouble.to_string();
    match trouble {
        Trouble::Address(_) | Trouble::NotPublic | Trouble::Large(_) | Trouble::Kind => {
            Miss::Never(why)
        }
        Trouble::Status(status)
            if (400..500).contains(status) && !matches!(status, 408 | 425 | 429) =>
        {
            Miss::Never(why)
        }
        _ => Miss::Later(why),
    }
}
