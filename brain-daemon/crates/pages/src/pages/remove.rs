//! Soft delete, restore, and the purge after 72 hours.

use std::sync::Arc;

use brain_base::leases;
use brain_protocol::{
    Command, Delete, DeleteReply, Fault, FaultCode, PageChange, PageRef, RestoreReply, hint,
};

use crate::pages::dedup::WINDOW_MS;
use crate::pages::{PageService, no_page};
use crate::write_page::check_expected;
use brain_base::caller::{Caller, Visibility};
use brain_base::clock::{local_minute, rfc3339};
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};
use brain_store::RECOVERY_MS;

/// The maximum number of pages that one transaction purges, so that other writers do not wait long.
const PURGE_BATCH: usize = 200;
/// How late a purge may be, in milliseconds. Purges run every ten minutes.
const PURGE_GRACE_MS: i64 = 60 * 60 * 1000;

impl Health for PageService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("attachments", &self, Self::check_attachments)]
    }
}

impl PageService {
    /// Deletes a page; it can be restored for 72 hours.
    pub fn delete(&self, caller: &Caller, request: &Delete) -> Result<DeleteReply, Fault> {
        let Delete { page: request, expect } = request;
        let expect = expect.clone();
        let now = self.clock.now();
        let source = self.source_of(caller, request, false)?;
        let (source_id, slug) = (source.clone(), request.slug.clone());
        let argument = request.to_string();
        let record = self.files.write_page((&source, &request.slug), move |transaction| {
            let record = transaction.page(&source_id, &slug)?;
            let record = record.ok_or_else(|| no_page(&source_id, &slug))?;
            if let Some(at) = record.deleted_at {
                let message = format!("\"{slug}\" is already deleted");
                let hint = hint!(
                    "{} brings it back until {}",
                    Command::Restore { page: Some(argument.clone()) },
                    local_minute(at + RECOVERY_MS)
                );
                return Err(Fault::new(FaultCode::AlreadySoftDeleted, message).hint(hint).into());
            }
            check_expected(expect.as_ref(), &slug, Some(&record))?;
            transaction.soft_delete(&source_id, &slug, record, now)
        })?;
        let report = self.files.update_file(&source, &record, None);
        Ok(DeleteReply {
            status: PageChange::SoftDeleted,
            slug: request.slug.clone(),
            source_id: source,
            recoverable_until: rfc3339(now + RECOVERY_MS),
            warnings: report.warnings(),
        })
    }

    /// Restores a deleted page.
    pub fn restore(&self, caller: &Caller, request: &PageRef) -> Result<RestoreReply, Fault> {
        let now = self.clock.now();
        let source = self.source_of(caller, request, true)?;
        let (source_id, slug) = (source.clone(), request.slug.clone());
        let argument = request.to_string();
        let record = self.store.write(move |transaction| {
            let record = transaction.page(&source_id, &slug)?;
            let record = record.ok_or_else(|| no_page(&source_id, &slug))?;
            match record.deleted_at {
                None => {
                    Err(Fault::new(FaultCode::AlreadyActive, format!("\"{slug}\" is not deleted"))
                        .hint(hint!("read it: {}", Command::Get { page: Some(argument.clone()) }))
                        .into())
                }
                Some(at) if at + RECOVERY_MS <= now => Err(no_page(&source_id, &slug).into()),
                Some(_) => transaction.restore(&source_id, &slug, record),
            }
        })?;
        let report = self.files.update_file(&source, &record, None);
        Ok(RestoreReply {
            status: PageChange::Restored,
            slug: request.slug.clone(),
            source_id: source,
            path: report.path.display().to_string(),
            warnings: report.warnings(),
        })
    }

    /// Purges pages that were deleted more than 72 hours ago, and attachments that no page names.
    /// Forgets captures older than the window for duplicates. Returns the number of purged pages.
    /// In a shared brain, one machine purges for all.
    ///
    /// # Errors
    /// If the store fails. Pages that were purged before stay purged.
    pub fn purge_due(&self) -> Result<usize, Fault> {
        // Drops the outbox rows of files that are in the trash already.
        self.files.flush_outbox()?;
        let now = self.clock.now();
        let mut total = 0;
        while self.leases.holds(leases::PURGE) {
            let purged = self.store.write(move |transaction| {
                transaction.require_lease(leases::PURGE);
                transaction.forget_captures(now - WINDOW_MS)?;
                transaction.expire_attachments(now)?;
                transaction.purge(now, PURGE_BATCH)
            })?;
            for page in &purged {
                tracing::info!(page, "purged");
            }
            total += purged.len();
            if purged.len() < PURGE_BATCH || self.stop.is_cancelled() {
                break;
            }
        }
        if total > 0 {
            self.files.replay_outbox();
        }
        let files = self.store.sweep_attachments(now)?;
        if files > 0 {
            tracing::info!(files, "attachments without a page removed");
        }
        Ok(total)
    }

    /// Checks whether pages are purged after 72 hours.
    pub fn check_purge(&self) -> Finding {
        let oldest = self.store.read(Visibility::All)?.oldest_deletion()?;
        match oldest {
            Some(at) if at + RECOVERY_MS + PURGE_GRACE_MS < self.clock.now() => warn(
                format!("pages deleted at {} are still there", rfc3339(at)),
                Command::DoctorFix,
            ),
            Some(at) => ok(format!("the next one is due at {}", rfc3339(at + RECOVERY_MS))),
            None => ok("nothing is deleted"),
        }
    }
}
