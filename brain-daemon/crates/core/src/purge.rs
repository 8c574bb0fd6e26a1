//! `purge`: removes a page, or a former version of it, for good and at once.
//!
//! Removes the rows in one transaction, then the files. Then rewrites the index and the store,
//! because both keep removed bytes until they need the space.

use brain_protocol::{Fault, FaultCode, Purge, PurgeReply, SourceId};

use crate::{Brain, Caller, no_page, page_argument, store_identity};
use brain_base::caller::Visibility;
use brain_store::{Hash, PageRecord};

impl Brain {
    pub(crate) fn purge(&self, caller: &Caller, request: &Purge) -> Result<PurgeReply, Fault> {
        let (source, record) = self.pages.page_to_purge(caller, &request.page)?;
        let slug = request.page.slug.clone();
        let files = self.store.read(Visibility::All)?.attachments_of(record.id, true)?;
        let versions = match request.version {
            Some(number) => self.purge_version(&source, &record, request, number)?,
            None => self.purge_whole(&source, &record, request)?,
        };
        let mut warnings = match request.version {
            Some(_) => Vec::new(),
            None => self.remaining_files(&source, &record),
        };
        if request.version.is_none() {
            let files: Vec<Hash> = files.into_iter().map(|(_, file)| file.hash).collect();
            if let Err(error) = self.store.purge_attachments(&files) {
                let root = self.store.attachments().root().display();
                warnings.push(format!("{root} may still have files of the page: {error}"));
            }
        }
        if let Some(root) = self.files.file_path_of(&source, "")
            && root.ancestors().any(|dir| dir.join(".git").exists())
        {
            warnings.push(format!("the git history of {} may still have the text", root.display()));
        }
        if let Some(Err(error)) = self.index.get().map(brain_search::Index::erase_removed) {
            warnings.push(format!("the index may still have words of the text: {error}"));
        }
        self.embedding.flush_vectors();
        if let Err(error) = self.store.compact_now() {
            let path = self.store.path().display();
            warnings.push(format!("free space in {path} may still have the text: {error}"));
        }
        if let Err(fault) = self.backup.replace_kept_copy() {
            let path = self.env.home.kept_copy();
            warnings.push(format!("{} still has the text: {fault}", path.display()));
        }
        store_identity::record(&self.env.home);
        if self.store.is_shared() {
            warnings.push(
                "the server has the text in its log and snapshots until new snapshots replace \
                 them, and the other machines have it in free space of their stores until they \
                 use that"
                    .to_owned(),
            );
        }
        let backups = self.store.copies_with(record.id, request.version);
        Ok(PurgeReply {
            status: "purged".into(),
            slug,
            source_id: source,
            version: request.version,
            versions,
            backups: backups.iter().map(|path| path.display().to_string()).collect(),
            warnings,
        })
    }

    /// Removes a former version. Returns the number of removed versions: 1.
    fn purge_version(
        &self,
        source: &SourceId,
        record: &PageRecord,
        request: &Purge,
        number: u32,
    ) -> Result<u64, Fault> {
        let (source, slug, page_id) = (source.clone(), request.page.slug.clone(), record.id);
        let argument = page_argument(&request.page);
        Ok(self.store.write(move |draft| {
            let current = draft.page(&source, &slug)?.filter(|page| page.id == page_id);
            let current = current.ok_or_else(|| no_page(&source, &slug))?;
            if current.version == number {
                let message = format!("version {number} of \"{slug}\" is the current one");
                return Err(Fault::new(FaultCode::Conflict, message)
                    .hint(format!(
                        "change the text first (`brain edit {argument}`), then purge the former \
                         version; without --version the whole page is purged"
                    ))
                    .into());
            }
            if !draft.purge_version(page_id, number)? {
                let message = format!("\"{slug}\" has no version {number}");
                return Err(Fault::new(FaultCode::UnknownVersion, message)
                    .hint(format!("see `brain history {argument}`"))
                    .into());
            }
            Ok(1)
        })?)
    }

    /// Removes the page with all versions. Returns the number of removed versions.
    fn purge_whole(
        &self,
        source: &SourceId,
        record: &PageRecord,
        request: &Purge,
    ) -> Result<u64, Fault> {
        let now = self.env.clock.now();
        let (source_id, slug, page_id) = (source.clone(), request.page.slug.clone(), record.id);
        let versions = self.store.write(move |draft| {
            let record = draft.page(&source_id, &slug)?.filter(|page| page.id == page_id);
            let record = record.ok_or_else(|| no_page(&source_id, &slug))?;
            draft.purge_page(&source_id, &slug, record, now)
        })?;
        self.files.update_file(source, record);
        Ok(versions)
    }

    /// Returns warnings about files of a purged page that another program wrote.
    fn remaining_files(&self, source: &SourceId, record: &PageRecord) -> Vec<String> {
        let path = &record.source_path;
        let trashed = format!("{}/{path}", brain_store::files::TRASH);
        let paths = [path, &trashed].map(|path| self.files.file_path_of(source, path));
        let left = paths.iter().flatten().filter(|file_path| file_path.exists());
        left.map(|file_path| {
            format!(
                "{} was written by another program, so it stays; the next sync makes it a page",
                file_path.display()
            )
        })
        .collect()
    }
}
