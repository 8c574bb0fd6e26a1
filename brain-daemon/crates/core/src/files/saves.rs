//! Saves of other programs that are in no file any more, because brain wrote the same file at that
//! moment: each is kept as a version of its page, and told.

use std::sync::PoisonError;

use brain_protocol::{Fault, SourceId, SyncConflict};

use crate::FileService;
use crate::provenance::SYNC;
use crate::write_page::read_page;
use brain_base::caller::Visibility;
use brain_page::{Document, decode_text};
use brain_store::files::LostSave;
use brain_store::unless_damaged;

/// How many of the newest versions are compared with a save.
const COMPARED: usize = 20;
/// For how long kept saves are told, in milliseconds.
const TOLD_FOR: i64 = 24 * 60 * 60 * 1000;
/// How many kept saves are remembered for that.
const MAX_TOLD: usize = 1000;

/// A save that was kept.
#[derive(Debug, Clone)]
pub(crate) struct KeptSave {
    pub(crate) source: SourceId,
    pub(crate) conflict: SyncConflict,
    /// When it was kept.
    at: i64,
}

impl FileService {
    /// Looks at files that brain has replaced lately, and keeps what other programs saved in them.
    /// Returns what was kept now.
    pub(crate) fn keep_saves(&self) -> Vec<KeptSave> {
        let mut kept = Vec::new();
        for tree in self.trees() {
            for save in tree.take_lost_saves() {
                let why = match self.keep_save(&save) {
                    Ok(None) => continue,
                    Ok(Some(one)) => {
                        let (source, version) = (&one.source, one.conflict.kept_version);
                        tracing::warn!(%source, path = save.path, version, "a save came between; kept as a version");
                        kept.push(one);
                        continue;
                    }
                    Err(fault) => fault.message,
                };
                match tree.keep_in_trash(&save) {
                    Ok(place) => {
                        tracing::warn!(why, place = %place.display(), "a save came between; kept in the trash");
                    }
                    Err(error) => {
                        tracing::error!(why, %error, path = save.path, "a save that came between is lost");
                    }
                }
            }
        }
        let mut told = self.outbox.kept.lock().unwrap_or_else(PoisonError::into_inner);
        told.extend(kept.iter().cloned());
        let surplus = told.len().saturating_sub(MAX_TOLD);
        told.drain(..surplus);
        kept
    }

    /// The saves that were kept within the last day.
    pub(crate) fn kept_saves(&self) -> Vec<KeptSave> {
        let since = self.clock.now() - TOLD_FOR;
        let mut told = self.outbox.kept.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|one| one.at > since);
        told.clone()
    }

    /// Keeps a save as a version of its page; `None` when the page or a version of it has that
    /// text.
    fn keep_save(&self, save: &LostSave) -> Result<Option<KeptSave>, Fault> {
        let internal = |message: String| Fault::new(brain_protocol::FaultCode::Internal, message);
        let text =
            decode_text(&save.bytes).map_err(|e| internal(format!("it is not text: {e}")))?;
        let document = Document::parse(text).map_err(|e| internal(e.to_string()))?;
        let reader = self.store.read(Visibility::All)?;
        let Some((source, slug, record)) = reader.by_id(save.tag)? else {
            return Err(internal("its page is deleted".into()));
        };
        let now = self.clock.now();
        let uri = format!("file://{}", self.file_place(&source, &save.path).display());
        let provenance = SYNC.of_file(&document.frontmatter, uri, now, Some(&record.provenance));
        let new = read_page(&slug, document, provenance, &save.path)?;
        if unless_damaged(reader.content(&record))?.is_some_and(|now| now == new.content) {
            return Ok(None);
        }
        for version in reader.versions(save.tag)?.into_iter().take(COMPARED) {
            if reader
                .version(save.tag, version.version)?
                .is_some_and(|kept| kept.content == new.content)
            {
                return Ok(None);
            }
        }
        drop(reader);
        let (place, page) = (source.clone(), slug.clone());
        let kept_version = self.store.write(move |draft| {
            let now_there = draft.page(&place, &page)?.filter(|there| there.id == record.id);
            match now_there.filter(|there| there.deleted_at.is_none()) {
                Some(there) => draft.keep_version(&place, &page, there, new.clone(), now).map(Some),
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
