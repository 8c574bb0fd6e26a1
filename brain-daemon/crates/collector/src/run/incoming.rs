//! Stores posts of the persistent connection as a run does.

use std::collections::BTreeMap;

use super::pull::PulledStream;
use super::{Run, RunListener, RunState, StopCause};
use crate::{Data, DataFault, Journal, Rates, Record, Stream};

/// A post from the persistent connection.
#[derive(Debug, Clone)]
pub struct IncomingPost {
    /// The post.
    pub post: Record,
    /// Its streams, with each search that found it.
    pub places: Vec<(Stream, Option<String>)>,
}

impl Run<'_> {
    /// Creates the directories for posts.
    ///
    /// # Errors
    /// If they cannot be created.
    pub fn prepare(&self) -> Result<(), DataFault> {
        let data = Data::new(&self.settings.dir);
        data.prepare()?;
        Journal::new(&self.settings.dir).rebuild(&data)
    }

    /// Stores posts and their metrics. A run may be active meanwhile: both write the same except
    /// for times. Sends no request.
    ///
    /// # Errors
    /// If files cannot be read or written.
    pub fn arrived(
        &self,
        sink: &dyn RunListener,
        posts: Vec<IncomingPost>,
    ) -> Result<(), DataFault> {
        let (data, journal) = (Data::new(&self.settings.dir), Journal::new(&self.settings.dir));
        let now = || self.clock.now();
        let mut work = RunState::begin(self, sink, &data, &journal, Rates::default(), &now);
        let kept = work.keep_all(posts);
        for warning in &work.report.warnings {
            tracing::warn!(warning, "a post that came by itself");
        }
        match kept {
            Err(StopCause::Disk(fault)) => Err(fault),
            // No request is sent here, so these cannot occur.
            Ok(()) | Err(StopCause::Refused(_) | StopCause::Unanswered(..) | StopCause::Asked) => {
                Ok(())
            }
        }
    }
}

impl RunState<'_> {
    fn keep_all(&mut self, posts: Vec<IncomingPost>) -> Result<(), StopCause> {
        let mut pulled: BTreeMap<Stream, PulledStream> = BTreeMap::new();
        for IncomingPost { post, places } in posts {
            for (stream, search) in places {
                let pulled = pulled.entry(stream).or_insert_with(|| PulledStream::new(stream));
                self.keep(vec![post.clone()], search.as_deref(), pulled)?;
            }
        }
        self.track_metrics()
    }
}
