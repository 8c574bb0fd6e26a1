//! A source as a row of `brain sources list`, and the problems of its directory.

use std::path::PathBuf;

use brain_protocol::{Fault, SourceId, SourceRow, SymbolicLinks};
use rustix::fs::{Access, access};

use crate::files::OF_ANOTHER_MACHINE;
use crate::presence::{CheckDepth, away_reason};
use crate::sources::SourceService;
use brain_base::clock::rfc3339;
use brain_store::{Reader, SourceRecord};

/// The maximum number of links that a row names.
const MAX_NAMED: usize = 3;

impl SourceService {
    /// Returns a source as a row of the list.
    pub(super) fn source_row(
        &self,
        reader: &Reader,
        id: &SourceId,
        record: &SourceRecord,
        default: bool,
    ) -> Result<SourceRow, Fault> {
        let dir = self.source_dir(record);
        let sync = record.last_sync.as_ref();
        let settings = reader.source_settings(id)?;
        Ok(SourceRow {
            source_id: id.clone(),
            default,
            git: dir.ancestors().any(|d| d.join(".git").exists()),
            pages: reader.count_pages(id)?,
            added_at: rfc3339(record.created_at),
            synced_at: sync.map(|sync| rfc3339(sync.at)),
            problem: match reader.has_files_of(id)? {
                true => self
                    .directory_problem(id, record)
                    .or_else(|| sync.and_then(|sync| sync.problem.clone())),
                false => Some(OF_ANOTHER_MACHINE.into()),
            },
            path: dir.display().to_string(),
            include: settings.include,
            exclude: settings.exclude,
            provenance: !settings.without_provenance,
            links: self.links.lock().get(id).cloned(),
        })
    }

    /// Returns the directory of a source.
    pub fn source_dir(&self, record: &SourceRecord) -> PathBuf {
        record.path.as_ref().map_or_else(|| self.home.pages(), PathBuf::from)
    }

    /// Returns why the directory of a source cannot be used, if it cannot.
    pub fn directory_problem(&self, id: &SourceId, record: &SourceRecord) -> Option<String> {
        let dir = self.source_dir(record);
        match self.files.presence.open(id, &dir, CheckDepth::Usual) {
            Ok(root) => {
                if let Some(part) = root.parts().and_then(|parts| parts.away().first()) {
                    return Some(format!("{} is away: {}", part.path, part.reason));
                }
            }
            Err(e) => {
                if let Some(reason) = away_reason(&e) {
                    return Some(format!("away: {reason}"));
                }
            }
        }
        if !dir.is_dir() {
            // The directory in the home is created with the first page.
            let is_not_created = record.path.is_none() && std::fs::symlink_metadata(&dir).is_err();
            let is_other = std::fs::metadata(&dir).is_ok();
            let problem = if is_other { "is no directory" } else { "is not there" };
            return (!is_not_created).then(|| format!("{} {problem}", dir.display()));
        }
        if let Err(e) = std::fs::read_dir(&dir) {
            return Some(format!("{} cannot be read: {e}", dir.display()));
        }
        let writable = access(&dir, Access::WRITE_OK | Access::EXEC_OK);
        writable.err().map(|e| format!("{} cannot be written: {e}", dir.display()))
    }

    /// Keeps what a sync of the whole source found, for the list.
    pub fn note_links(&self, id: &SourceId, links: &[String]) {
        let first = links.iter().take(MAX_NAMED).cloned().collect();
        let links = SymbolicLinks { count: links.len() as u64, first };
        self.links.lock().insert(id.clone(), links);
    }
}
