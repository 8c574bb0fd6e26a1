//! The posts of an export between its conversion and their import.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use brain_base::clock::parse_instant;
use brain_protocol::Fault;
use serde_json::Value;

/// The name of the file with the posts of an export. No page can have it, because it is hidden.
const FILE_NAME: &str = ".posts.jsonl";
/// How many posts are handed over at once.
const BATCH: usize = 500;

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

    /// Returns the id of the account.
    pub(super) fn account(&self) -> &str {
        &self.account
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn add(&mut self, post: &Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, post)?;
        self.file.write_all(b"\n")
    }

    /// Calls `each` with all posts that were written at `since` or later, in batches.
    pub(super) fn for_each_batch(
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
