//! Keeps saves of other programs that brain replaced because both wrote the same file at the same
//! moment. Each save becomes a version of its page, and is reported.

use brain_protocol::{Fault, SourceId, SyncConflict};

use crate::FileService;
use crate::provenance::SYNC;
use crate::write_page::read_page;
use brain_base::caller::Visibility;
use brain_page::{Document, decode_text};
use brain_store::files::LostSave;
use brain_store::{LineChange, NewPage, unless_damaged};

/// The number of newest versions that are compared with a save.
const MAX_COMPARED: usize = 20;
/// How long a kept save is reported, in milliseconds.
const REPORT_MS: i64 = 24 * 60 * 60 * 1000;
/// The maximum number of kept saves that are reported.
const MAX_REPORTED: usize = 1000;

/// A save that became a version of its page.
#[derive(Debug, Clone)]
pub(crate) struct KeptSave {
    pub(crate) source: SourceId,
    pub(crate) conflict: SyncConflict,
    /// The time, in Unix milliseconds.
    at: i64,
}

impl FileService {
    /// Keeps the saves of other programs that brain has replaced since the last call. Returns the
    /// saves that became versions.
    pub(crate) fn keep_saves(&self) -> Vec<KeptSave> {
        let mut kept = Vec::new();
        for tree in self.trees() {
            for save in tree.take_lost_saves() {
                let why = match self.keep_save(&save) {
                    Ok(None) => continue,
                    Ok(Some(one)) => {
                        let (source, version) = (&one.source, one.conflict.kept_version);
                        let path = &save.path;
                        tracing::warn!(%source, path, version, "replaced save kept as a version");
                        kept.push(one);
                        continue;
                    }
                    Err(fault) => fault.message,
                };
                match tree.keep_in_trash(&save) {
                    Ok(path) => {
                        let path = path.display();
                        tracing::warn!(why, %path, "replaced save kept in the trash");
                    }
                    Err(error) => {
                        tracing::error!(why, %error, path = save.path, "replaced save lost");
                    }
                }
            }
        }
        let mut reported = self.outbox.kept.lock();
        reported.extend(kept.iter().cloned());
        let surplus = reported.len().saturating_sub(MAX_REPORTED);
        reported.drain(..surplus);
        kept
    }

    /// Returns the saves that were kept within the last day.
    pub(crate) fn kept_saves(&self) -> Vec<KeptSave> {
        let since = self.clock.now() - REPORT_MS;
        let mut reported = self.outbox.kept.lock();
        reported.retain(|one| one.at > since);
        reported.clone()
    }

    /// Keeps a save as a version of its page. Returns `None` if the page or one of its newest
    /// versions has the same text.
    fn keep_save(&self, save: &LostSave) -> Result<Option<KeptSave>, Fault> {
        let internal = |message: String| Fault::new(brain_protocol::FaultCode::Internal, message);
        let text =
            decode_text(&save.bytes).map_err(|e| internal(format!("it is not text: {e}")))?;
        let document = Document::parse(text).map_err(|e| internal(e.to_string()))?;
        let reader = self.store.read(Visibility::All)?;
        let Some((source, slug, record)) = reader.by_id(save.page_id)? else {
            return Err(internal("its page is deleted".into()));
        };
        let now = self.clock.now();
        let uri = format!("file://{}", self.file_path_of(&source, &save.path).display());
        let previous = Some(&record.provenance);
        let author = Some(SYNC.author(uri.clone()));
        let provenance = SYNC.provenance_of_file(&document.frontmatter, uri, now, previous);
        let new = read_page(&slug, document, provenance, &save.path)?;
        let new = NewPage { author, lines: LineChange::Own, ..new };
        if unless_damaged(reader.content(&record))?.is_some_and(|now| now == new.content) {
            return Ok(None);
        }
        for version in reader.versions(save.page_id)?.into_iter().take(MAX_COMPARED) {
            if reader
                .version(save.page_id, version.version)?
                .is_some_and(|kept| kept.content == new.content)
            {
                return Ok(None);
            }
        }
        drop(reader);
        let (id, page) = (source.clone(), slug.clone());
        let kept_version = self.store.write(move |draft| {
            let current = draft.page(&id, &page)?.filter(|current| current.id == record.id);
            match current.filter(|current| current.deleted_at.is_none()) {
                Some(current) => {
                    draft.keep_version(&id, &page, current, new.clone(), now).map(Some)
                }
                None => Ok(None),
            }
        })?;
        let Some(kept_version) = kept_version else {
            return Err(internal("its page is deleted".into()));
        };
        let conflict = SyncConflict { slug, path: save.path.clone(), kept_version };
        Ok(Some(KeptSave { source, conflict, at: now }))
    }
}
