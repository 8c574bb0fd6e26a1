//! What an undo of an import needs besides the pages: that the import does not run, what its record
//! knows, and where its posts stay.

use std::collections::HashSet;

use brain_protocol::{Fault, FaultCode, ImportReports, ImportReportsReply, PageRef};
use parking_lot::Mutex;

use super::SyncService;
use super::import_record::{ImportRecord, ImportRecords, RecordedImport};

/// An import that runs, or that is being undone.
pub(super) struct RunningImport<'a> {
    all: &'a Mutex<HashSet<String>>,
    id: String,
}

impl Drop for RunningImport<'_> {
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
    }
}

/// An import that is being undone. No other call imports into its record meanwhile.
pub struct UndoneImport<'a> {
    record: ImportRecord,
    import: RecordedImport,
    _running: RunningImport<'a>,
}

impl SyncService {
    /// Lists the imports of this machine, or returns the report of one.
    ///
    /// # Errors
    /// `not_found` for an unknown id; `io` if a record cannot be read.
    pub fn import_reports(&self, request: &ImportReports) -> Result<ImportReportsReply, Fault> {
        ImportRecords::new(self.env.home.root()).reports(request.id.as_deref())
    }

    /// Begins the undo of a run. Returns `None` if it is no import of this machine.
    ///
    /// # Errors
    /// `busy` if the import runs; `io` if its record cannot be read.
    pub fn undone_import(&self, run: &str) -> Result<Option<UndoneImport<'_>>, Fault> {
        let record = match ImportRecords::new(self.env.home.root()).open(run) {
            Err(fault) if fault.code == FaultCode::NotFound => return Ok(None),
            record => record?,
        };
        let running = self.run_record(run)?;
        let import = record.read()?;
        Ok(Some(UndoneImport { record, import, _running: running }))
    }

    /// Lets no other call import into the record, or undo it, while the result exists.
    ///
    /// # Errors
    /// `busy` if another call has it.
    pub(super) fn run_record(&self, id: &str) -> Result<RunningImport<'_>, Fault> {
        let all = &self.running_imports;
        if !all.lock().insert(id.to_owned()) {
            let message = format!("import {id} is running, or is being undone");
            return Err(Fault::new(FaultCode::Busy, message).hint("try again when it has ended"));
        }
        Ok(RunningImport { all, id: id.to_owned() })
    }
}

impl UndoneImport<'_> {
    /// Returns the pages that had the imported text already.
    pub fn unchanged(&self) -> impl Iterator<Item = PageRef> {
        self.import.unchanged.iter().map(|slug| PageRef::new(&self.import.source, slug))
    }

    /// Returns the number of pages that the report of the import says it wrote.
    #[must_use]
    pub fn reported_pages(&self) -> u64 {
        self.import.report.as_ref().map_or(0, |report| report.created + report.updated)
    }

    /// Returns the directory of the collector in which posts of the import stay. An import without
    /// a report may have added some.
    #[must_use]
    pub fn posts_directory(&self) -> Option<&str> {
        let reply = self.import.report.as_ref();
        let has_none =
            reply.is_some_and(|it| it.posts.as_ref().is_none_or(|posts| posts.added == 0));
        self.import.posts_directory.as_deref().filter(|_| !has_none)
    }

    /// Records that the import was undone at `now`, in Unix milliseconds.
    ///
    /// # Errors
    /// `io` if the record cannot be written.
    pub fn finish(&self, now: i64) -> Result<(), Fault> {
        self.record.mark_undone(now)
    }
}
