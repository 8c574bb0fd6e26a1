//! Videos: records each URL and own video of posts once in `videos.jsonl`.
//!
//! A transcriber reads that file from its last position; lines are not removed for it.

use std::collections::HashSet;

use super::PatternRun;
use super::address::{named, own_videos, video};
use super::ledger::{Ledger, Video};
use brain_base::clock::rfc3339;
use brain_collector::{DataFault, Record};

const KIND: &str = "videos";

impl PatternRun<'_> {
    /// Records the videos of posts. Never leaves any pending.
    ///
    /// # Errors
    /// If files cannot be used.
    pub(super) fn videos(&mut self) -> Result<bool, DataFault> {
        let ledger = Ledger::videos(&self.settings.dir);
        let mut known: Option<HashSet<String>> = None;
        for id in self.undone(KIND) {
            let Some((post, _)) = self.post(&id)? else { continue };
            for url in self.videos_of(&post) {
                if known.is_none() {
                    known =
                        Some(ledger.lines::<Video>()?.into_iter().map(|video| video.url).collect());
                }
                if known.as_mut().is_some_and(|known| known.insert(url.clone())) {
                    let queued_at = rfc3339(self.brain.env.clock.now());
                    ledger.append(&Video {
                        queued_at,
                        id: id.to_string(),
                        url,
                        author: post.author().to_owned(),
                    })?;
                }
            }
            self.done(KIND, &id);
        }
        Ok(false)
    }

    fn videos_of(&self, post: &Record) -> Vec<String> {
        let api = &self.settings.platform_api;
        let named = named(post, api);
        named.iter().filter_map(video).chain(own_videos(post, api)).collect()
    }
}
