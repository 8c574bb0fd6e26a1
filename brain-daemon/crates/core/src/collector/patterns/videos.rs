//! Videos: each address that a post names, and each video of a post's own, once in `videos.jsonl` of the collector's directory. Whoever
//! transcribes reads that file from where it stopped before; nothing here takes a line away for it.

use std::collections::HashSet;

use super::Round;
use super::address::{named, own_videos, video};
use super::ledger::{Ledger, Video};
use brain_base::clock::rfc3339;
use brain_collector::{DataFault, Record};

const KIND: &str = "videos";

impl Round<'_> {
    /// Notes the videos of posts; nothing is left over.
    ///
    /// # Errors
    /// When files cannot be used.
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
                    let queued_at = rfc3339(self.brain.now());
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
