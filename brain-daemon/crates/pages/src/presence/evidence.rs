//! Compares the files of a directory with the pages of its source, to recognise it.

use std::io::{self, Read};
use std::path::Path;

use brain_protocol::MAX_CONTENT;

use super::PartCheck;
use brain_files::digest;
use brain_store::{PageRecord, StoreError, unless_damaged};

/// What was found of the files of the pages of one part, so far.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The pages whose file should be there.
    pub(super) pages: usize,
    /// Those with a file.
    pub(super) present: usize,
    /// Those whose file is as it was at the last sync or write.
    pub(super) unchanged: usize,
}

impl Evidence {
    /// Compares the files of the pages of the part at `part`, until `is_enough` returns `true`.
    ///
    /// # Errors
    /// When the store cannot be read, or the files cannot.
    pub(super) fn gather(
        check: &PartCheck<'_>,
        part: &str,
        is_enough: impl Fn(&Self) -> bool,
    ) -> io::Result<Self> {
        let mut found = Self::default();
        let inner: Vec<&Path> = check
            .borders
            .iter()
            .map(Path::new)
            .filter(|border| border.as_os_str().len() > part.len() && border.starts_with(part))
            .collect();
        let rows = check.reader.paths(check.source, part).map_err(io::Error::other)?;
        for row in rows {
            let (path, id) = row.map_err(io::Error::other)?;
            let is_here = Path::new(&path).starts_with(part)
                && !inner.iter().any(|border| Path::new(&path).starts_with(border));
            if is_here
                && let Some((_, _, page)) = check.reader.by_id(id).map_err(io::Error::other)?
            {
                found.add(check, &page)?;
                if is_enough(&found) {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Returns whether a file is missing.
    pub(super) fn is_incomplete(&self) -> bool {
        self.present < self.pages
    }

    /// Returns whether it is a copy of the directory: all files are there, and half of them or more
    /// are unchanged. Nothing would be deleted.
    pub(super) fn is_restored(&self) -> bool {
        self.pages > 0 && self.present == self.pages && self.unchanged * 2 >= self.pages
    }

    fn add(&mut self, check: &PartCheck<'_>, page: &PageRecord) -> io::Result<()> {
        let text = match check.root.open_file(Path::new(&page.source_path)) {
            Ok(file) if file.metadata()?.is_file() => {
                let mut bytes = Vec::new();
                file.take(MAX_CONTENT as u64).read_to_end(&mut bytes)?;
                Some(bytes)
            }
            // Any other error says nothing about the files.
            Err(e) if !brain_files::is_missing(&e) => return Err(e),
            _ => None,
        };
        let Some(text) = text else {
            // A page whose file is not written yet says nothing.
            let is_pending = check.reader.outbox_row(page.id).map_err(io::Error::other)?.is_some();
            self.pages += usize::from(!is_pending);
            return Ok(());
        };
        self.pages += 1;
        self.present += 1;
        let is_unchanged = is_unchanged(check, page, &text).map_err(io::Error::other)?;
        self.unchanged += usize::from(is_unchanged);
        Ok(())
    }
}

/// Returns whether the file of a page has these bytes, as far as brain knows.
fn is_unchanged(check: &PartCheck<'_>, page: &PageRecord, text: &[u8]) -> Result<bool, StoreError> {
    let found = digest(text);
    let row = check.reader.file(check.source, &page.source_path)?;
    if row.is_some_and(|row| row.page == Some(page.id) && row.digest == found) {
        return Ok(true);
    }
    let content = unless_damaged(check.reader.content(page))?;
    Ok(content.is_some_and(|content| content.file_hash() == found))
}
