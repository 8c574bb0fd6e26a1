//! Posts that came by themselves, between two runs, kept as a run keeps them.

use std::collections::BTreeMap;

use super::pull::Pulled;
use super::{Run, Sink, Stop, Work};
use crate::{Data, DataFault, Journal, Rates, Record, Stream};

/// A post that came by itself.
#[derive(Debug, Clone)]
pub struct Arrived {
    /// The post.
    pub post: Record,
    /// The streams that it is of; with each search that found it.
    pub places: Vec<(Stream, Option<String>)>,
}

impl Run<'_> {
    /// Makes the collector's directory what posts can be kept in.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn prepare(&self) -> Result<(), DataFault> {
        let data = Data::new(&self.settings.dir);
        data.prepare()?;
        Journal::new(&self.settings.dir).rebuild(&data)
    }

    /// Keeps posts that came by themselves, as a run does: noted, stored, their numbers followed. A run may be at work meanwhile: what
    /// both write is the same but for its time. Nothing is asked of the platform.
    ///
    /// # Errors
    /// When files cannot be read or written.
    pub fn arrived(&self, sink: &dyn Sink, posts: Vec<Arrived>) -> Result<(), DataFault> {
        let (data, journal) = (Data::new(&self.settings.dir), Journal::new(&self.settings.dir));
        let now = || self.clock.now();
        let mut work = Work::begin(self, sink, &data, &journal, Rates::default(), &now);
        let kept = work.keep_all(posts);
        for warning in &work.report.warnings {
            tracing::warn!(warning, "a post that came by itself");
        }
        match kept {
            Err(Stop::Disk(fault)) => Err(fault),
            // Neither is asked for here.
            Ok(()) | Err(Stop::Refused(_) | Stop::Unanswered(..) | Stop::Asked) => Ok(()),
        }
    }
}

impl Work<'_> {
    fn keep_all(&mut self, posts: Vec<Arrived>) -> Result<(), Stop> {
        let mut pulled: BTreeMap<Stream, Pulled> = BTreeMap::new();
        for Arrived { post, places } in posts {
            for (stream, search) in places {
                let pulled = pulled.entry(stream).or_insert_with(|| Pulled::new(stream));
                self.keep(vec![post.clone()], search.as_deref(), pulled)?;
            }
        }
        self.follow_numbers()
    }
}
