//! Preserves edits by other programs that brain overwrote when both wrote a file at the same
//! moment. Each edit becomes a version of its page, and is reported.

use brain_protocol::{Fault, SourceId, SyncConflict};

use crate::files::FileService;
use crate::provenance::SYNC;
use crate::write_page::read_page;
use brain_base::caller::Visibility;
use brain_files::OverwrittenEdit;
use brain_page::{Document, decode_text};
use brain_store::{LineChange, NewPage, Reader, StoreError, unless_damaged};

/// How long a preserved edit is reported, in milliseconds.
const REPORT_MS: i64 = 24 * 60 * 60 * 1000;
/// The maximum number of preserved edits that are reported.
const MAX_REPORTED: usize = 1000;

/// An overwritten edit that became a version of its page.
#[derive(Debug, Clone)]
pub struct PreservedEdit {
    pub source: SourceId,
    pub conflict: SyncConflict,
    /// When the edit was preserved, in Unix milliseconds.
    at: i64,
}

impl FileService {
    /// Preserves the edits of other programs that brain has overwritten since the last call.
    /// Returns the edits that became versions.
    pub fn preserve_edits(&self) -> Vec<PreservedEdit> {
        let mut preserved = Vec::new();
        for tree in self.trees() {
            for edit in tree.take_overwritten_edits() {
                let reason = match self.preserve_edit(&edit) {
                    Ok(None) => continue,
                    Ok(Some(new)) => {
                        let (source, version) = (&new.source, new.conflict.kept_version);
                        let path = &edit.path;
                        tracing::warn!(
                            %source,
                            path,
                            version,
                            "overwritten edit stored as a version"
                        );
                        preserved.push(new);
                        continue;
                    }
                    Err(fault) => fault.message,
                };
                match tree.keep_in_trash(&edit) {
                    Ok(path) => {
                        let path = path.display();
                        tracing::warn!(reason, %path, "overwritten edit moved to the trash");
                    }
                    Err(error) => {
                        tracing::error!(reason, %error, path = edit.path, "overwritten edit lost");
                    }
                }
            }
        }
        let mut reported = self.outbox.preserved_edits.lock();
        reported.extend(preserved.iter().cloned());
        let surplus = reported.len().saturating_sub(MAX_REPORTED);
        reported.drain(..surplus);
        preserved
    }

    /// Returns the edits that were preserved within the last day.
    pub(crate) fn preserved_edits(&self) -> Vec<PreservedEdit> {
        let since = self.clock.now() - REPORT_MS;
        let mut reported = self.outbox.preserved_edits.lock();
        reported.retain(|edit| edit.at > since);
        reported.clone()
    }

    /// Stores an edit as a version of its page. Returns `None` if the page or one of its versions
    /// has the same text.
    ///
    /// # Errors
    /// `internal` if the edit is not a text or its page is deleted; otherwise the fault of reading
    /// the page or of the store.
    fn preserve_edit(&self, edit: &OverwrittenEdit) -> Result<Option<PreservedEdit>, Fault> {
        let internal = |message: String| Fault::new(brain_protocol::FaultCode::Internal, message);
        let text =
            decode_text(&edit.bytes).map_err(|e| internal(format!("it is not text: {e}")))?;
        let document = Document::parse(text).map_err(|e| internal(e.to_string()))?;
        let reader = self.store.read(Visibility::All)?;
        let Some((source, slug, record)) = reader.by_id(edit.page_id)? else {
            return Err(internal("its page is deleted".into()));
        };
        let now = self.clock.now();
        let uri = format!("file://{}", self.shown_path(&source, &edit.path).display());
        let previous = Some(&record.provenance);
        let author = Some(SYNC.author(uri.clone()));
        let provenance = SYNC.provenance_of_file(&document.frontmatter, uri, now, previous);
        let new = read_page(&slug, document, provenance, &edit.path)?;
        let new = NewPage { author, line_change: LineChange::ByPageAuthor, ..new };
        if unless_damaged(reader.content(&record))?.is_some_and(|current| current == new.content) {
            return Ok(None);
        }
        if version_with(&reader, edit.page_id, &new)?.is_some() {
            return Ok(None);
        }
        drop(reader);
        let (page_source, page_slug) = (source.clone(), slug.clone());
        let kept_version = self.store.write(move |transaction| {
            let current = transaction
                .page(&page_source, &page_slug)?
                .filter(|current| current.id == record.id);
            match current.filter(|current| current.deleted_at.is_none()) {
                Some(current) => {
                    let version =
                        transaction.store_version(&page_source, &page_slug, current, &new, now)?;
                    Ok(Some(version))
                }
                None => Ok(None),
            }
        })?;
        let Some(kept_version) = kept_version else {
            return Err(internal("its page is deleted".into()));
        };
        let conflict = SyncConflict { slug, path: edit.path.clone(), kept_version };
        Ok(Some(PreservedEdit { source, conflict, at: now }))
    }
}

/// Returns the number of the newest former version with the text of `page`.
pub(super) fn version_with(
    reader: &Reader,
    id: u64,
    page: &NewPage,
) -> Result<Option<u32>, StoreError> {
    for former in reader.versions(id)? {
        if former.content_hash != page.content_hash {
            continue;
        }
        let version = reader.version(id, former.version)?;
        if version.is_some_and(|version| version.content == page.content) {
            return Ok(Some(former.version));
        }
    }
    Ok(None)
}
