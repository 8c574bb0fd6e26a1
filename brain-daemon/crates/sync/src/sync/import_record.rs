//! The record of an import: a file of JSON lines in `imports/` of the home.
//!
//! It keeps the report of the import, and the names of its pages. The names are on the disk before
//! the pages are in the store, so that an import that a crash ended has a report, too.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use brain_base::clock::rfc3339;
use brain_base::home::create_private_dir;
use brain_base::json_lines;
use brain_protocol::{
    Command, Fault, FaultCode, ImportReply, ImportReportsReply, ImportRow, Slug, SourceId, hint,
};
use serde::{Deserialize, Serialize};

/// The extension of a record.
const EXTENSION: &str = "jsonl";

/// A line of a record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// The first line.
    Began { path: String, source: SourceId, at: String },
    /// Pages that the import is about to write at `at`, in Unix milliseconds.
    Pages {
        at: i64,
        pages: Vec<NamedPage>,
        /// Pages that had the imported text already.
        #[serde(default)]
        unchanged: Vec<Slug>,
    },
    /// Posts go to the files of the collector in this directory.
    Posts { directory: String },
    /// The import ended with this reply.
    Ended { reply: Box<ImportReply> },
    /// The import was undone.
    Undone { at: String },
}

/// A page that an import writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NamedPage {
    pub(super) slug: Slug,
}

/// The directory with the records of imports.
pub(super) struct ImportRecords {
    directory: PathBuf,
}

/// The record of an import, to which lines are added.
#[derive(Debug, Clone)]
pub(super) struct ImportRecord {
    pub(super) id: String,
    path: PathBuf,
}

/// What a record says.
#[derive(Debug)]
pub(super) struct RecordedImport {
    pub(super) row: ImportRow,
    pub(super) source: SourceId,
    /// The pages that the import wrote or was about to write.
    pages: BTreeSet<Slug>,
    /// The pages that had the imported text already.
    pub(super) unchanged: BTreeSet<Slug>,
    /// The directory of the collector that got posts.
    pub(super) posts_directory: Option<String>,
    pub(super) report: Option<ImportReply>,
}

impl ImportRecords {
    pub(super) fn new(home: &Path) -> Self {
        Self { directory: home.join("imports") }
    }

    /// Begins the record of an import of `path` at `now`, in Unix milliseconds.
    pub(super) fn begin(
        &self,
        path: &str,
        source: &SourceId,
        now: i64,
    ) -> Result<ImportRecord, Fault> {
        let record = self.create(now).map_err(|error| record_fault(&self.directory, &error))?;
        let line = Line::Began { path: path.to_owned(), source: source.clone(), at: rfc3339(now) };
        record.add(&line)?;
        Ok(record)
    }

    /// Creates the file. Its name is the time in UTC, with a number if another import began in the
    /// same second.
    fn create(&self, now: i64) -> io::Result<ImportRecord> {
        create_private_dir(&self.directory)?;
        let time = rfc3339(now);
        let digits: String = time.chars().filter(char::is_ascii_digit).take(14).collect();
        let (day, time) = digits.split_at(digits.len().min(8));
        for number in 1.. {
            let number = if number == 1 { String::new() } else { format!("-{number}") };
            let id = format!("{day}-{time}{number}");
            let path = self.directory.join(&id).with_extension(EXTENSION);
            match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|_| ImportRecord { id, path }),
            }
        }
        Err(io::Error::other("too many imports began in this second"))
    }

    /// Returns the record of the import `id`.
    pub(super) fn open(&self, id: &str) -> Result<ImportRecord, Fault> {
        let path = self.directory.join(id).with_extension(EXTENSION);
        // An id has no character that leads to another directory.
        let is_id = id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_id || !path.is_file() {
            return Err(Fault::new(FaultCode::NotFound, format!("there is no import \"{id}\""))
                .hint(hint!("list the imports: {}", Command::ImportReports)));
        }
        Ok(ImportRecord { id: id.to_owned(), path })
    }

    /// Returns all imports, newest first.
    pub(super) fn list(&self) -> Result<Vec<ImportRow>, Fault> {
        let fault = |error: io::Error| record_fault(&self.directory, &error);
        let mut rows = Vec::new();
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(rows),
            entries => entries.map_err(fault)?,
        };
        for entry in entries {
            let path = entry.map_err(fault)?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
            if let (Some(id), Some(EXTENSION)) = (id, path.extension().and_then(|it| it.to_str())) {
                // A crash can leave a record without its first line.
                match (ImportRecord { id, path }).read() {
                    Ok(import) => rows.push(import.row),
                    Err(fault) => tracing::warn!(error = fault.message, "a record is left out"),
                }
            }
        }
        rows.sort_unstable_by(|a, b| (&b.began_at, &b.id).cmp(&(&a.began_at, &a.id)));
        Ok(rows)
    }

    /// Returns the imports, or the report of one.
    pub(super) fn reports(&self, id: Option<&str>) -> Result<ImportReportsReply, Fault> {
        let Some(id) = id else {
            return Ok(ImportReportsReply { imports: self.list()?, report: None });
        };
        let import = self.open(id)?.read()?;
        Ok(ImportReportsReply { imports: vec![import.row], report: import.report })
    }
}

impl ImportRecord {
    /// Adds pages that are about to be written at `at`, in Unix milliseconds. They are on the disk
    /// when this returns.
    pub(super) fn add_pages(
        &self,
        at: i64,
        pages: Vec<Slug>,
        unchanged: Vec<Slug>,
    ) -> Result<(), Fault> {
        if pages.is_empty() && unchanged.is_empty() {
            return Ok(());
        }
        let pages = pages.into_iter().map(|slug| NamedPage { slug }).collect();
        self.add(&Line::Pages { at, pages, unchanged })
    }

    /// Adds that posts are about to be written to the files of the collector in `directory`.
    pub(super) fn add_posts(&self, directory: &str) -> Result<(), Fault> {
        self.add(&Line::Posts { directory: directory.to_owned() })
    }

    pub(super) fn end(&self, reply: &ImportReply) -> Result<(), Fault> {
        self.add(&Line::Ended { reply: Box::new(reply.clone()) })
    }

    /// Records that the import was undone at `now`, in Unix milliseconds.
    pub(super) fn mark_undone(&self, now: i64) -> Result<(), Fault> {
        self.add(&Line::Undone { at: rfc3339(now) })
    }

    fn add(&self, line: &Line) -> Result<(), Fault> {
        let fault = |error: io::Error| record_fault(&self.path, &error);
        let line = serde_json::to_string(line).map_err(io::Error::other).map_err(fault)?;
        json_lines::append(&self.path, true, |_| format!("{line}\n")).map_err(fault)
    }

    /// Reads the record. A line that a crash cut is left out.
    pub(super) fn read(&self) -> Result<RecordedImport, Fault> {
        let text = std::fs::read_to_string(&self.path)
            .map_err(|error| record_fault(&self.path, &error))?;
        let mut lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let Some(Line::Began { path, source, at }) = lines.next() else {
            let error = io::Error::new(io::ErrorKind::InvalidData, "its first line is damaged");
            return Err(record_fault(&self.path, &error));
        };
        let row = ImportRow {
            id: self.id.clone(),
            began_at: at,
            path,
            source_id: source.clone(),
            status: None,
            pages: 0,
            undone_at: None,
        };
        let mut import = RecordedImport {
            row,
            source,
            pages: BTreeSet::new(),
            unchanged: BTreeSet::new(),
            posts_directory: None,
            report: None,
        };
        for line in lines {
            match line {
                Line::Began { .. } => {}
                // A transaction that was run again adds its pages again.
                Line::Pages { pages, unchanged, .. } => {
                    import.pages.extend(pages.into_iter().map(|page| page.slug));
                    import.unchanged.extend(unchanged);
                }
                Line::Posts { directory } => import.posts_directory = Some(directory),
                Line::Ended { reply } => {
                    import.row.status = Some(reply.status);
                    import.report = Some(*reply);
                }
                Line::Undone { at } => import.row.undone_at = Some(at),
            }
        }
        import.row.pages = import.pages.len() as u64;
        Ok(import)
    }
}

fn record_fault(path: &Path, error: &io::Error) -> Fault {
    let message = format!("cannot use {}, the record of an import: {error}", path.display());
    let fault = Fault::new(brain_base::write_code(error), message);
    match error.kind() {
        io::ErrorKind::InvalidData => fault.hint(hint!("see {}", Command::ImportReports)),
        _ => fault.hint("free space or mend the permissions, then try again"),
    }
}
