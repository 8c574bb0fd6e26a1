//! Soft delete, restore, and the purge after 72 hours.

use brain_protocol::{Delete, DeleteReply, Fault, FaultCode, PageRef, RestoreReply};

use crate::pages::dedup::WINDOW_MS;
use crate::write_page::check_expected;
use crate::{Caller, PageService, no_page, typed};
use brain_base::clock::rfc3339;
use brain_store::RECOVERY_MS;

/// How many pages one transaction purges: keeps other writers from waiting.
const PURGE_BATCH: usize = 200;

impl PageService {
    pub(crate) fn delete(&self, caller: &Caller, request: &Delete) -> Result<DeleteReply, Fault> {
        let Delete { page: request, expect } = request;
        let expect = expect.clone();
        let now = self.clock.now();
        let (source, _) = crate::sources::resolve(
            caller,
            &self.store.read(caller.visibility())?,
            request.source.as_ref(),
        )?;
        let (place, slug, named) = (source.clone(), request.slug.clone(), typed(request));
        let record = self.store.write(move |draft| {
            let record = draft.page(&place, &slug)?.ok_or_else(|| no_page(&place, &slug))?;
            if let Some(at) = record.deleted_at {
                let message = format!("\"{slug}\" is soft-deleted already");
                let hint = format!(
                    "`brain restore {named}` brings it back until {}",
                    rfc3339(at + RECOVERY_MS)
                );
                return Err(Fault::new(FaultCode::AlreadySoftDeleted, message).hint(hint).into());
            }
            check_expected(expect.as_ref(), &slug, Some(&record))?;
            draft.soft_delete(&place, &slug, record, now)
        })?;
        let report = self.files.agree(&source, &record);
        Ok(DeleteReply {
            status: "soft_deleted".into(),
            slug: request.slug.clone(),
            source_id: source,
            recoverable_until: rfc3339(now + RECOVERY_MS),
            warnings: report.warnings(),
        })
    }

    pub(crate) fn restore(
        &self,
        caller: &Caller,
        request: &PageRef,
    ) -> Result<RestoreReply, Fault> {
        let now = self.clock.now();
        let (source, _) = crate::sources::resolve(
            caller,
            &self.store.read(caller.visibility())?,
            request.source.as_ref(),
        )?;
        let (place, slug, named) = (source.clone(), request.slug.clone(), typed(request));
        let record = self.store.write(move |draft| {
            let record = draft.page(&place, &slug)?.ok_or_else(|| no_page(&place, &slug))?;
            match record.deleted_at {
                None => {
                    Err(Fault::new(FaultCode::AlreadyActive, format!("\"{slug}\" is not deleted"))
                        .hint(format!("read it: `brain get {named}`"))
                        .into())
                }
                Some(at) if at + RECOVERY_MS <= now => Err(no_page(&place, &slug).into()),
                Some(_) => draft.restore(&place, &slug, record),
            }
        })?;
        let report = self.files.agree(&source, &record);
        Ok(RestoreReply {
            status: "restored".into(),
            slug: request.slug.clone(),
            source_id: source,
            path: report.path.display().to_string(),
            warnings: report.warnings(),
        })
    }

    /// Purges what was deleted more than 72 hours ago, and forgets captures that are no duplicates
    /// any more. Returns how many pages are gone.
    ///
    /// # Errors
    /// When the store fails; what was purged before stays purged.
    pub fn purge_due(&self) -> Result<usize, Fault> {
        // A file that has got to the trash is not waiting for it any more.
        self.files.flush_outbox()?;
        let now = self.clock.now();
        let mut total = 0;
        loop {
            let erased = self.store.write(move |draft| {
                draft.forget_captures(now - WINDOW_MS)?;
                draft.purge(now, PURGE_BATCH)
            })?;
            for page in &erased {
                tracing::info!(page, "purged");
            }
            total += erased.len();
            if erased.len() < PURGE_BATCH || self.stop.is_cancelled() {
                break;
            }
        }
        if total > 0 {
            self.files.replay_outbox();
        }
        Ok(total)
    }
}
