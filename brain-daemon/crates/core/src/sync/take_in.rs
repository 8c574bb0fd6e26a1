//! Stores the files of `pages/` that the store does not know, after it was restored or replaced.

use brain_base::caller::Visibility;
use brain_protocol::{Fault, FaultCode, SourceId, SyncedSource};

use super::SyncOptions;
use crate::{NoProgress, SyncService};

impl SyncService {
    /// Stores the files of the default source that are new or differ from their pages, after its
    /// store was restored or replaced. Pages without a file stay, except those whose file was at
    /// one of the paths `removed`.
    ///
    /// # Errors
    /// As [`Self::sync_paths`].
    pub(crate) fn take_in_files(&self, removed: &[String]) -> Result<SyncedSource, Fault> {
        let _turn = self.wait_for_turn(&NoProgress)?;
        let id = SourceId::default();
        let sources = self.store.read(Visibility::All)?.sources()?;
        let Some((_, record)) = sources.into_iter().find(|(known, _)| *known == id) else {
            return Err(Fault::new(FaultCode::UnknownSource, "the default source is missing"));
        };
        let options = SyncOptions {
            pull: false,
            dry_run: false,
            full: false,
            yes: false,
            watched: Some(removed),
            scope: &[String::new()],
        };
        self.sync_source(&id, &record, options, &NoProgress)
    }
}
