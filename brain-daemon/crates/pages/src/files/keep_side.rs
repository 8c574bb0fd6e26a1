//! Settles a difference between a page and its file: both get the text of one side, and the text of
//! the other side stays as a version of the page.

use std::io::Read;
use std::path::Path;

use brain_protocol::{Command, Fault, FaultCode, MAX_CONTENT, WriteStatus, hint};

use super::merge_file::{DifferingFile, FileMerge, MAX_ATTEMPTS};
use crate::files::FileService;
use crate::files::read::FileText;
use brain_base::caller::Visibility;
use brain_files::{OverwrittenEdit, RootDir, digest};
use brain_store::PageRecord;

/// Status and page after the change, and warnings.
type Kept = (WriteStatus, PageRecord, Vec<String>);

/// Why a page and its file differ.
pub(crate) struct FileConflict {
    pub(crate) reason: String,
    /// The version with the text of the file, if that can be a page.
    pub(crate) file_version: Option<u32>,
    /// When the file was changed, in Unix milliseconds.
    pub(crate) file_changed_at: i64,
}

impl FileService {
    /// Returns why the file of a page cannot be taken in. `None` if it has no text of another
    /// program, or was taken in now.
    ///
    /// # Errors
    /// As [`Self::merge_file`].
    pub(crate) fn conflict_of(&self, id: u64) -> Result<Option<FileConflict>, Fault> {
        let (reason, file_version) = match self.merge_and_write(id)? {
            FileMerge::Same | FileMerge::Changed(_) => return Ok(None),
            FileMerge::Conflict(version) => {
                ("page and file were changed in the same lines".to_owned(), Some(version))
            }
            FileMerge::Unusable(reason) => {
                (reason.unwrap_or_else(|| "the file is empty".to_owned()), None)
            }
        };
        let reader = self.store.read(Visibility::All)?;
        let changed_at = self.differing_file(&reader, id)?.map(|found| found.file.stat.mtime_ns);
        let file_changed_at = changed_at.map_or(0, |at| at / 1_000_000);
        Ok(Some(FileConflict { reason, file_version, file_changed_at }))
    }

    /// Makes the text of the file the page. `argument` names the page in hints.
    ///
    /// # Errors
    /// `conflict` if the text cannot be a page; `busy` if the page changes again and again.
    pub(crate) fn keep_file(&self, id: u64, argument: &str) -> Result<Kept, Fault> {
        for _ in 0..MAX_ATTEMPTS {
            let reader = self.store.read(Visibility::All)?;
            let Some(mut differing) = self.differing_file(&reader, id)? else {
                return self.unchanged(id);
            };
            let unusable = |reason: &str| {
                let message = format!("the file cannot become the page: {reason}");
                Fault::new(FaultCode::Conflict, message).hint(hint!(
                    "correct the file; or to write the page there: {}",
                    Command::KeepPage { page: Some(argument.to_string()) }
                ))
            };
            let page = match std::mem::replace(&mut differing.file.text, FileText::AsRecorded) {
                FileText::Page(page) if page.content.body.trim().is_empty() => {
                    return Err(unusable("it has no text"));
                }
                FileText::Page(page) => page,
                FileText::Invalid(reason) | FileText::Unreadable(reason) => {
                    return Err(unusable(&reason));
                }
                FileText::AsRecorded | FileText::Gone => return self.unchanged(id),
            };
            if let Some(record) = self.take_in(differing, *page)? {
                self.forget_failures();
                return Ok((WriteStatus::Updated, record, Vec::new()));
            }
        }
        Err(changing())
    }

    /// Lets brain write the text of the page to the file. The text of the file becomes a version;
    /// bytes that cannot be a page go to the trash. `argument` names the page in hints.
    ///
    /// # Errors
    /// `conflict` if the file is too large or cannot be read; `busy` if the file changes again and
    /// again; `io` if the trash cannot be written.
    pub(crate) fn keep_page(&self, id: u64, argument: &str) -> Result<Kept, Fault> {
        let mut warnings = Vec::new();
        for _ in 0..MAX_ATTEMPTS {
            let reader = self.store.read(Visibility::All)?;
            let Some(differing) = self.differing_file(&reader, id)? else {
                return self.unchanged(id);
            };
            match &differing.file.text {
                FileText::Page(page) => {
                    if self.keep_text_of_file(&reader, &differing, page)?.is_none() {
                        continue;
                    }
                }
                _ => match self.keep_bytes_of_file(id, &differing, argument)? {
                    Some(kept) => warnings.extend(kept),
                    None => continue,
                },
            }
            drop(reader);
            let DifferingFile { source, slug, file, .. } = differing;
            let record = self.store.write(move |transaction| {
                let current = transaction.page(&source, &slug)?.filter(|current| current.id == id);
                match current.filter(|current| current.deleted_at.is_none()) {
                    Some(current) => {
                        transaction.replace_file(&source, &slug, current, file.digest).map(Some)
                    }
                    None => Ok(None),
                }
            })?;
            if let Some(record) = record {
                return Ok((WriteStatus::Updated, record, warnings));
            }
        }
        Err(changing())
    }

    /// Keeps bytes that cannot be a page in the trash. Returns a warning with their path. `None` if
    /// the file has changed since it was read.
    fn keep_bytes_of_file(
        &self,
        id: u64,
        differing: &DifferingFile,
        argument: &str,
    ) -> Result<Option<Option<String>>, Fault> {
        let path = &differing.file.path;
        let refuse = |reason: &str| {
            let message = format!("{path} cannot be kept: {reason}");
            Fault::new(FaultCode::Conflict, message).hint(hint!(
                "move it to another directory, then {}",
                Command::KeepPage { page: Some(argument.to_string()) }
            ))
        };
        let reader = self.store.read(Visibility::All)?;
        let Some(tree) = self.tree(&reader, differing.source.as_str())? else { return Ok(None) };
        let mut bytes = Vec::new();
        RootDir::open(tree.root())
            .and_then(|root| root.open_file(Path::new(path)))
            .and_then(|file| file.take(MAX_CONTENT as u64 + 1).read_to_end(&mut bytes))
            .map_err(|e| refuse(&e.to_string()))?;
        if bytes.len() > MAX_CONTENT {
            return Err(refuse(&format!("it has more than {MAX_CONTENT} bytes")));
        }
        if digest(&bytes) != differing.file.digest {
            return Ok(None);
        }
        if bytes.is_empty() {
            return Ok(Some(None));
        }
        let edit = OverwrittenEdit { page_id: id, path: path.clone(), bytes };
        let kept = tree.keep_in_trash(&edit).map_err(|e| {
            Fault::new(FaultCode::Io, format!("the file cannot be kept in the trash: {e}"))
        })?;
        Ok(Some(Some(format!("the bytes of the file are in {}", kept.display()))))
    }

    fn unchanged(&self, id: u64) -> Result<Kept, Fault> {
        let page = self.store.read(Visibility::All)?.by_id(id)?;
        let (_, _, record) = page.ok_or_else(changing)?;
        Ok((WriteStatus::Unchanged, record, Vec::new()))
    }
}

fn changing() -> Fault {
    Fault::new(FaultCode::Busy, "the page or its file changes again and again")
        .hint("try again when the other program has ended")
}
