//! Appends the videos that posts link to or contain to `videos.jsonl`, each URL once.
//!
//! A transcriber that reads the file stores its own position; it removes no lines.

use std::collections::HashSet;

use super::AnalysisRun;
use super::address::{linked_urls, own_videos, video_url};
use super::ledger::{Ledger, Video};
use crate::{DataFault, Record};
use brain_base::clock::rfc3339;

const KIND: &str = "videos";

impl AnalysisRun<'_> {
    /// Records the videos of all pending posts. Returns `false`: one call processes all of them.
    ///
    /// # Errors
    /// [`DataFault`] if the collector's files cannot be read or written.
    pub(super) fn videos(&mut self) -> Result<bool, DataFault> {
        let ledger = Ledger::videos(&self.settings.dir);
        let mut recorded_urls: Option<HashSet<String>> = None;
        for id in self.pending_posts(KIND) {
            let Some((post, _)) = self.post(&id)? else { continue };
            for url in self.video_urls(&post) {
                if recorded_urls.is_none() {
                    recorded_urls =
                        Some(ledger.lines::<Video>()?.into_iter().map(|video| video.url).collect());
                }
                if recorded_urls.as_mut().is_some_and(|urls| urls.insert(url.clone())) {
                    let queued_at = rfc3339(self.service.env.clock.now());
                    ledger.append(&Video {
                        queued_at,
                        id: id.to_string(),
                        url,
                        author: post.author().to_owned(),
                    })?;
                }
            }
            self.mark_completed(KIND, &id);
        }
        Ok(false)
    }

    /// Returns the URLs of linked videos, then of videos in the post.
    fn video_urls(&self, post: &Record) -> Vec<String> {
        let api = &self.settings.platform_api;
        let linked = linked_urls(post, api);
        linked.iter().filter_map(video_url).chain(own_videos(post, api)).collect()
    }
}
