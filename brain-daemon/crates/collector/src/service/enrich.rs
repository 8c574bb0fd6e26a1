//! Adds lines about collected posts to pages. Repeated runs write each line only once.
//!
//! `plan` decides which lines go into which page, `page_edit` edits the text, `pattern` formats the
//! note on a recurring topic, and `page_creator` decides which people get a page.

mod page_creator;
mod page_edit;
mod pattern;
mod plan;
mod posts_by_author;

use std::collections::HashSet;

use brain_protocol::{
    CollectorEnrich, CollectorEnrichReply, Command, EnrichedPage, Fault, FaultCode, Origin,
    PageRef, Precondition, Put, Slug, SourceId, Sync, SyncStatus,
};

use super::collected_events::CollectedFiles;
use super::data_fault;
use super::topics::WEEK_MS;
use crate::JournalEvent;
use crate::service::CollectorService;
use brain_base::caller::Caller;
use brain_base::clock::instant_argument;
use brain_page::Document;
use brain_pages::provenance::COLLECTOR;
use brain_pages::write_page::stored_document;
use brain_service::Progress;
use brain_store::{self as store, Act, Actor, acting, current_act};
use page_edit::EditResult;
use plan::{EnrichmentPlan, PlannedPage};

/// Maximum retries per page while other clients edit it.
const MAX_RETRIES: usize = 16;

/// A page and its edit. It is written only if the page still has the expected version.
struct PlannedEdit {
    document: Document,
    edit: EditResult,
    /// The expected version; for a new page, its absence.
    expect: Precondition,
}

impl CollectorService {
    /// Adds lines about the posts since `request.since`, by default of the last week, to pages.
    pub fn enrich(
        &self,
        caller: &Caller,
        request: &CollectorEnrich,
        progress: &dyn Progress,
    ) -> Result<CollectorEnrichReply, Fault> {
        let files = CollectedFiles::open(self, caller)?;
        let now = self.env.clock.now();
        let since = instant_argument(request.since.as_deref())?.unwrap_or(now - WEEK_MS);
        let EnrichmentPlan { pages, done_keys, people_below_threshold, pages_without_account } =
            self.plan_enrichment(caller, &files, since, now)?;
        let total = pages.len() as u64;
        let (mut enriched, mut failures) = (Vec::new(), Vec::new());
        let former = current_act();
        let actor = Actor { run: Some(format!("enrich-{now}")), ..former.actor.clone() };
        let act = Act { actor, ..former };
        for (target, count) in pages.into_iter().zip(1..) {
            let enriched_page = acting(act.clone(), || {
                self.enrich_page(caller, &files, &target, &done_keys, request.dry_run)
            });
            match enriched_page {
                Ok((page, failed)) => {
                    enriched.extend(page);
                    failures.extend(
                        failed.into_iter().map(|failed| format!("{}: {failed}", target.slug)),
                    );
                }
                Err(fault) => failures.push(format!("{}: {}", target.slug, fault.message)),
            }
            if !progress.at(count, total) || self.env.stop.is_cancelled() {
                return Err(Fault::new(
                    FaultCode::Cancelled,
                    "the enrichment was cancelled; the pages written so far are complete",
                )
                .hint("run it again; it continues where it stopped"));
            }
        }
        if !request.dry_run {
            failures.extend(self.sync_enriched(caller, progress));
        }
        Ok(CollectorEnrichReply {
            dry_run: request.dry_run,
            pages: enriched,
            people_below_threshold,
            pages_without_account,
            failures,
        })
    }

    /// Syncs the sources as `brain sync --no-pull --no-embed` does. Returns the failure as text, if
    /// any.
    fn sync_enriched(&self, caller: &Caller, progress: &dyn Progress) -> Option<String> {
        let request = Sync {
            source: None,
            all: false,
            pull: false,
            embed: false,
            dry_run: false,
            full: false,
            yes: false,
        };
        match self.sync.sync(caller, &request, progress) {
            Ok(synced) if synced.status == SyncStatus::Done => None,
            Ok(synced) => {
                let problem = synced.sources.into_iter().find_map(|source| source.problem);
                let problem = problem.map(|problem| format!(": {problem}")).unwrap_or_default();
                Some(format!(
                    "the sync at the end is {}{problem}; see `{}`",
                    synced.status,
                    Command::SyncNoPull
                ))
            }
            Err(fault) => Some(format!("the sync at the end: {}", fault.message)),
        }
    }

    /// Enriches one page and records it in the journal; with `dry_run`, only computes the change.
    /// Returns the change, if any, and the enrichments that failed.
    fn enrich_page(
        &self,
        caller: &Caller,
        files: &CollectedFiles,
        target: &PlannedPage,
        done_keys: &HashSet<String>,
        dry_run: bool,
    ) -> Result<(Option<EnrichedPage>, Vec<String>), Fault> {
        let mut retries = 1..=MAX_RETRIES;
        loop {
            let Some(PlannedEdit { mut document, edit, expect }) =
                self.draft(caller, target, done_keys)?
            else {
                return Ok((None, Vec::new()));
            };
            let EditResult { body, lines, mut keys, failures } = edit;
            let created = expect == Precondition::Absent;
            if let Some(body) = body.filter(|_| !dry_run) {
                document.body = body.into();
                match self.write_enriched(caller, target, &document, expect) {
                    Err(fault) if fault.code == FaultCode::Conflict && retries.next().is_some() => {
                        continue;
                    }
                    result => result?,
                }
            }
            if !dry_run {
                let new_author = target.new_page_author.as_ref().filter(|_| created);
                keys.extend(new_author.map(page_creator::page_key));
                self.record_enriched(files, keys)?;
            }
            let page = EnrichedPage {
                source_id: target.source.clone(),
                slug: target.slug.clone(),
                created,
                lines,
            };
            return Ok(((!page.lines.is_empty()).then_some(page), failures));
        }
    }

    /// Returns the page with its edit. `None` if an existing page was deleted in the meantime.
    fn draft(
        &self,
        caller: &Caller,
        target: &PlannedPage,
        done_keys: &HashSet<String>,
    ) -> Result<Option<PlannedEdit>, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let stored = reader.page(&target.source, &target.slug)?;
        let (document, expect) = match (stored, &target.new_page_author) {
            (Some(record), _) => {
                (stored_document(&reader.content(&record)?)?, Precondition::Version(record.version))
            }
            (None, Some(author)) => (page_creator::new_page(author), Precondition::Absent),
            (None, None) => return Ok(None),
        };
        let edit = target.edit.apply(&document.body, &target.name(), done_keys);
        Ok(Some(PlannedEdit { document, edit, expect }))
    }

    /// Writes a page and marks it as containing outside text.
    ///
    /// # Errors
    /// `io` if the page is stored but its file was not written; otherwise the fault of the write.
    fn write_enriched(
        &self,
        caller: &Caller,
        target: &PlannedPage,
        document: &Document,
        expect: Precondition,
    ) -> Result<(), Fault> {
        let put = Put {
            page: PageRef { source: Some(target.source.clone()), slug: target.slug.clone() },
            content: document.render().into_bytes(),
            origin: Origin::Argument,
            allow_empty: false,
            expect: Some(expect),
        };
        let former = current_act();
        let actor = Actor { door: COLLECTOR.kind.into(), ..former.actor.clone() };
        let made_from = vec![store::Origin::Address(target.uri.clone())];
        let reply = acting(Act { actor, made_from, ..former }, || {
            self.pages.put_with_provenance(caller, &put, &COLLECTOR, target.uri.clone())
        })?;
        // The machine with the directory writes the file.
        if reply.written || !self.pages.files.has_files_of(&target.source) {
            return Ok(());
        }
        // The next sync restores the page from its file. The next enrichment writes the lines
        // again.
        let why = reply.warnings.join("; ");
        Err(Fault::new(FaultCode::Io, format!("the new lines are not in the page's file: {why}")))
    }

    fn record_enriched(&self, files: &CollectedFiles, keys: Vec<String>) -> Result<(), Fault> {
        if keys.is_empty() {
            return Ok(());
        }
        let events: Vec<JournalEvent> =
            keys.into_iter().map(|key| JournalEvent::Enriched { key }).collect();
        files.journal.append(self.env.clock.now(), &events).map_err(|fault| data_fault(&fault))
    }
}

/// Returns the page's name in journal keys.
fn page_name(source: &SourceId, slug: &Slug) -> String {
    format!("{source}:{slug}")
}
