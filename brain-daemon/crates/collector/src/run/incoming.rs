//! Stores posts of the persistent connection as a run does.

use std::collections::BTreeMap;

use super::pull::StreamPull;
use super::{Run, RunInProgress, RunListener, StopCause};
use crate::{Data, DataFault, Journal, Rates, Record, Stream};

/// A post from the persistent connection.
#[derive(Debug, Clone)]
pub struct IncomingPost {
    /// The post.
    pub post: Record,
    /// The streams of the post, each with the search that found it, if any.
    pub destinations: Vec<(Stream, Option<String>)>,
}

impl Run<'_> {
    /// Creates the directories for posts, and rebuilds a missing journal.
    ///
    /// # Errors
    /// If a directory cannot be created, or a file not read or written.
    pub fn prepare(&self) -> Result<(), DataFault> {
        let data = Data::new(&self.settings.dir);
        data.prepare()?;
        Journal::new(&self.settings.dir).rebuild(&data)
    }

    /// Stores posts and their metrics. Sends no request. A run may be active at the same time: both
    /// write the same data except for times.
    ///
    /// # Errors
    /// If files cannot be read or written.
    pub fn store_incoming(
        &self,
        listener: &dyn RunListener,
        posts: Vec<IncomingPost>,
    ) -> Result<(), DataFault> {
        let (data, journal) = (Data::new(&self.settings.dir), Journal::new(&self.settings.dir));
        let now = || self.clock.now();
        let mut run_state =
            RunInProgress::begin(self, listener, &data, &journal, Rates::default(), &now);
        let result = run_state.store_by_stream(posts);
        for warning in &run_state.report.warnings {
            tracing::warn!(warning, "post of the persistent connection stored with a warning");
        }
        match result {
            Err(StopCause::Disk(fault)) => Err(fault),
            // Only requests have these results.
            Ok(())
            | Err(StopCause::Refused(_) | StopCause::Unanswered(..) | StopCause::Stopping) => {
                Ok(())
            }
        }
    }
}

impl RunInProgress<'_> {
    /// Stores each post in its streams, as a run stores the posts of a page.
    fn store_by_stream(&mut self, posts: Vec<IncomingPost>) -> Result<(), StopCause> {
        let mut pulls: BTreeMap<Stream, StreamPull> = BTreeMap::new();
        for IncomingPost { post, destinations } in posts {
            for (stream, search) in destinations {
                let pull = pulls.entry(stream).or_insert_with(|| StreamPull::new(stream));
                self.store_page(vec![post.clone()], search.as_deref(), pull)?;
            }
        }
        self.track_metrics()
    }
}
