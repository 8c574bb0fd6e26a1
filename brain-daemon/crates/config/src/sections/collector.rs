//! `[collector]`.

use std::time::Duration;

use brain_base::schedule::ScheduledTask;

use crate::rules::{boolean, digits, handle, number, path, safe_url, span, texts, word};
use crate::values::HomePath;

/// Interval of the task that rates posts, in seconds.
const RATINGS_INTERVAL_S: u64 = 30 * 60;

/// How authors of posts are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authors {
    /// Their names are requested from the platform.
    Ask,
    /// Only their ids are kept.
    Ids,
}

/// The data that is kept of posts that were deleted on the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletedPosts {
    /// Everything.
    Keep,
    /// Their ids and times.
    Redact,
}

section! {
    /// The collector of posts.
    CollectorConfig [collector]

    enabled: bool = boolean(), "true",
        "whether the collector runs on schedule, once it has a token and an account";
    platform_api: String = safe_url(), "https://api.x.com",
        "the platform's address";
    handle: Option<String> = handle(), "",
        "the account; empty: the one given to the collector's setup";
    user_id: Option<String> = digits(), "",
        "numeric id of the account; empty: the one that setup found";
    searches: Vec<String> = texts(), "[]",
        "queries in the platform's syntax";
    every: Duration = span(60, 24 * 60 * 60), "30m",
        "time between two runs; it must divide a day";
    at: u32 = number(0, 59), "0",
        "minute after the hour of the first run";
    dir: Option<HomePath> = path(), "",
        "directory of collected data: absolute, below ~/, or in brain's home; empty: collector";
    max_pages: u32 = number(1, 32), "1",
        "pages of 100 posts to request for each timeline and search";
    token_file: Option<HomePath> = path(), "",
        "file with the platform's bearer token: absolute, below ~/, or in brain's home; empty: \
         secrets/platform-bearer-token";
    authors: Authors = word(&[("ask", Authors::Ask), ("ids", Authors::Ids)]), "ask",
        "ask: request the names of authors, which the platform charges for; ids: keep only their \
         ids";
    deleted_posts: DeletedPosts = word(&[
            ("keep", DeletedPosts::Keep),
            ("redact", DeletedPosts::Redact),
        ]), "keep",
        "what to keep of posts that were deleted on the platform: everything (keep), or id and \
         times (redact)";
    stream: bool = boolean(), "false",
        "whether posts also arrive over a persistent connection";
    outbound: bool = boolean(), "false",
        "whether own posts are checked several times in their first 60 seconds; needs \
         collector.stream";
    ratings: bool = boolean(), "false",
        "whether posts are rated, and rated again after 60 minutes";
    ratings_at: u32 = number(0, 59), "15",
        "minute after the hour at which the rating task runs; it also runs 30 minutes later";
    images: bool = boolean(), "false",
        "whether text in pictures is extracted; needs llm.vision_model";
    articles: bool = boolean(), "false",
        "whether web pages that posts link to are fetched and stored as pages";
    videos: bool = boolean(), "false",
        "whether videos in posts are listed for transcription";
    notable_followers: u64 = number(0, 1_000_000_000), "10000",
        "minimum number of followers for which a person gets a new page; see docs/collector.md";
    notable_posts: u64 = number(1, 1000), "3",
        "minimum number of posts within a week for which a person gets a new page";
}

impl CollectorConfig {
    /// Returns the schedule of the runs.
    ///
    /// # Errors
    /// If `every` does not divide a day into whole minutes.
    pub(crate) fn job(&self) -> Result<ScheduledTask, brain_base::Error> {
        ScheduledTask::new("collector", self.every.as_secs(), self.at)
    }

    /// Returns the schedule of ratings; `None` if posts are not rated.
    pub(crate) fn ratings_task(&self) -> Result<Option<ScheduledTask>, brain_base::Error> {
        let job = || ScheduledTask::new("collector.ratings", RATINGS_INTERVAL_S, self.ratings_at);
        self.ratings.then(job).transpose()
    }

    /// Returns whether posts are processed after they are collected.
    #[must_use]
    pub fn has_analyses(&self) -> bool {
        self.ratings || self.images || self.articles || self.videos
    }
}
