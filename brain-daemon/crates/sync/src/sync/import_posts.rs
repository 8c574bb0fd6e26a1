//! Posts in an export, which also go to the feature that keeps posts: [`PostKeeper`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use brain_base::clock::parse_instant;
use brain_protocol::{Fault, FaultCode, ImportedPosts};
use serde_json::Value;

use super::import_record::ImportRecord;
use super::import_tally::ImportTally;

/// The name of the file with the posts of an export. No page can have it, because it is hidden.
const FILE_NAME: &str = ".posts.jsonl";
/// How many posts are handed over at once.
const BATCH: usize = 500;

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

/// The posts of an export, as lines of JSON in a file: they need not fit in memory.
pub(super) struct ExportedPosts {
    account: String,
    path: PathBuf,
    file: BufWriter<File>,
}

impl ExportedPosts {
    /// Begins the file in the directory `dir`, for posts of the account with this id.
    pub(super) fn begin(dir: &Path, account: &str) -> io::Result<Self> {
        let path = dir.join(FILE_NAME);
        let file = BufWriter::new(File::create_new(&path)?);
        Ok(Self { account: account.to_owned(), path, file })
    }

    /// Returns whether the posts are of this account.
    pub(super) fn are_of(&self, account: &str) -> bool {
        self.account == account
    }

    pub(super) fn add(&mut self, post: &Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, post)?;
        self.file.write_all(b"\n")
    }

    /// Calls `each` with all posts that were written at `since` or later, in batches.
    fn for_each_batch(
        mut self,
        since: Option<i64>,
        each: &mut dyn FnMut(Vec<Value>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let fault = |error: io::Error| {
            let message = format!("cannot use {}: {error}", self.path.display());
            Fault::new(brain_base::write_code(&error), message)
        };
        self.file.flush().map_err(fault)?;
        let is_wanted = |post: &Value| {
            let time = post.get("created_at").and_then(Value::as_str).and_then(parse_instant);
            since.is_none_or(|since| time.is_some_and(|time| time >= since))
        };
        let mut batch = Vec::new();
        for line in BufReader::new(File::open(&self.path).map_err(fault)?).lines() {
            let post = serde_json::from_str(&line.map_err(fault)?).map_err(io::Error::from);
            batch.extend(Some(post.map_err(fault)?).filter(is_wanted));
            if batch.len() == BATCH {
                each(std::mem::take(&mut batch))?;
            }
        }
        each(batch)
    }
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
        let directory = match self.keeper.directory(&posts.account) {
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
        let path = posts.path.clone();
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
