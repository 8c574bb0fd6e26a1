//! Posts in an export, which also go to the feature that keeps posts: [`PostKeeper`].

use std::path::PathBuf;

use brain_protocol::{Fault, FaultCode, ImportedPosts};
use serde_json::Value;

use super::exported_posts::ExportedPosts;
use super::import_record::ImportRecord;
use super::import_tally::ImportTally;

/// Keeps the posts of an account: the collector, which this crate does not know.
pub trait PostKeeper {
    /// Returns the directory with the posts of the account with this id; `None` if no collector is
    /// set up.
    ///
    /// # Errors
    /// If it keeps no posts of this account. The message says why.
    fn directory(&self, account: &str) -> Result<Option<PathBuf>, Fault>;

    /// Adds posts, as the platform's API returns them. Those that are there, or that were recorded
    /// as deleted, stay as they are. Returns their numbers. With `dry_run`, writes nothing.
    ///
    /// # Errors
    /// If its files cannot be read or written.
    fn add_posts(&self, posts: Vec<Value>, dry_run: bool) -> Result<ImportedPosts, Fault>;
}

/// Where the posts of an import go.
pub(super) struct PostImport<'a> {
    pub(super) keeper: &'a dyn PostKeeper,
    /// Only posts of this time or later, in Unix milliseconds.
    pub(super) since: Option<i64>,
    /// The record of the import; `None` in a dry run.
    pub(super) record: Option<&'a ImportRecord>,
}

impl PostImport<'_> {
    /// Hands the posts over. Returns `None` if nothing keeps posts. A problem is a warning or a
    /// failure in `tally`.
    ///
    /// # Errors
    /// `cancelled` when `should_continue` is false; the posts before that are there.
    pub(super) fn run(
        &self,
        posts: ExportedPosts,
        tally: &mut ImportTally,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Option<ImportedPosts>, Fault> {
        let directory = match self.keeper.directory(posts.account()) {
            Ok(Some(directory)) => directory.display().to_string(),
            Ok(None) => return Ok(None),
            Err(fault) => {
                tally.warnings.push(format!("the collector got no posts: {}", fault.message));
                return Ok(None);
            }
        };
        let mut total = ImportedPosts { directory, ..ImportedPosts::default() };
        if let Some(record) = self.record {
            record.add_posts(&total.directory)?;
        }
        let path = posts.path().to_owned();
        let handed_over = posts.for_each_batch(self.since, &mut |batch| {
            if !should_continue() {
                let message = "the import ended before all posts were in the collector's files";
                return Err(Fault::new(FaultCode::Cancelled, message)
                    .hint("what was imported stays; import the archive again to continue"));
            }
            let added = self.keeper.add_posts(batch, self.record.is_none())?;
            total.added += added.added;
            total.present += added.present;
            total.deleted += added.deleted;
            Ok(())
        });
        let _ = std::fs::remove_file(path);
        match handed_over {
            Err(fault) if fault.code == FaultCode::Cancelled => Err(fault),
            Err(fault) => {
                tally.failures.add("posts for the collector", fault.message);
                Ok(Some(total))
            }
            Ok(()) => Ok(Some(total)),
        }
    }
}
