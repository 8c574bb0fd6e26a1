//! `conflicts` and `keep`: pages and files with different texts, and which text both get.

use brain_protocol::{Conflict, Conflicts, Fault, FaultCode, Keep, KeptSide, WriteReply};

use crate::pages::PageService;
use crate::pages::capture::PageWrite;
use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_store::WrittenPage;

impl PageService {
    /// Lists the pages whose file has a text that brain cannot take in. What can be joined by now
    /// is joined first.
    pub fn conflicts(&self, caller: &Caller) -> Result<Conflicts, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let finished = self.store.finished_outbox_rows();
        let mut conflicts = Vec::new();
        for id in reader.outbox()? {
            let Some(row) = reader.outbox_row(id)? else { continue };
            if finished.contains(&(id, row.seq)) {
                continue;
            }
            let Some((source_id, slug, record)) = reader.by_id(id)? else { continue };
            let Some(differing) = self.files.conflict_of(id)? else { continue };
            conflicts.push(Conflict {
                slug,
                source_id,
                path: record.source_path,
                reason: differing.reason,
                file_version: differing.file_version,
                page_changed_at: rfc3339(record.written_at),
                file_changed_at: rfc3339(differing.file_changed_at),
            });
        }
        Ok(Conflicts { conflicts })
    }

    /// Gives a page and its file the same text.
    pub fn keep(&self, caller: &Caller, request: &Keep) -> Result<WriteReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, record) = self.active(caller, &reader, &request.page)?;
        drop(reader);
        if !self.files.has_files_of(&source) {
            let message = format!(
                "the file of \"{}\" is not here: {}",
                request.page.slug,
                crate::files::OF_ANOTHER_MACHINE
            );
            return Err(Fault::new(FaultCode::Conflict, message)
                .hint("run the command on the machine that has the directory"));
        }
        let argument = request.page.to_string();
        let (status, record, warnings) = match request.side {
            KeptSide::Page => self.files.keep_page(record.id, &argument)?,
            KeptSide::File => self.files.keep_file(record.id, &argument)?,
        };
        let write = WrittenPage { status, record, content: None };
        let slug = request.page.slug.clone();
        Ok(self.write_reply(source, PageWrite { slug, write, captured_at: None }, warnings))
    }
}
