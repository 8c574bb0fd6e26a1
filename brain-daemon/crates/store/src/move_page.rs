//! Moves a page to another slug, with its id, versions and file; and gives a page the versions of
//! another page.

use brain_protocol::{Slug, SourceId};
use redb::ReadableTable;

use super::record::StepKind;
use super::record::{FileRecord, FileState, Hash, OutboxRow, PageRecord, VersionRecord, to_bytes};
use super::steps::StepPlace;
use super::{NewPage, StoreError, Transaction};

impl Transaction<'_> {
    /// Moves an active page from the slug `from` to `to`, and gives it the text of `new`, which is
    /// usually the same. The former version is kept if the text changed. The new slug must be free.
    /// The file gets the path beside `to`, or that of the slug.
    ///
    /// The outbox writes the file at its new path and removes it from its former one.
    pub fn move_page(
        &mut self,
        source: &SourceId,
        (from, (to, path)): (&Slug, (&Slug, Option<&str>)),
        old: &PageRecord,
        new: &NewPage,
        now: i64,
    ) -> Result<PageRecord, StoreError> {
        self.write_count += 1;
        let (id, former) = (old.id, self.content(old)?);
        let mut ours = vec![former.file_hash()];
        let synced: Option<FileRecord> = self.file(source, &old.source_path)?;
        ours.extend(synced.iter().filter(|file| file.problem.is_none()).map(|file| file.digest));
        self.remove_derived(source, from, old)?;
        self.pages.remove((source.as_str(), from.as_str()))?;
        self.paths.remove((source.as_str(), old.source_path.as_str()))?;
        self.changes.remove(old.seq)?;
        self.counters.seq += 1;
        // The title can be the name of the file.
        let source_path = self.reserve_path(source, (to, path), id)?;
        let mut record =
            new.fill_record(PageRecord { seq: self.counters.seq, source_path, ..old.clone() });
        self.ids.insert(id, (source.as_str(), to.as_str()))?;
        let marks = new.marks(Some((old, Some(&former))), now);
        let is_changed = new.content != former;
        // The name of a file can begin with the day of its note.
        (record.created_at, record.updated_at) = new.resolve_dates(Some(old), now);
        if is_changed {
            let version = VersionRecord { record: old.clone(), content: former };
            self.versions.insert((id, old.version), to_bytes(&version)?.as_slice())?;
            self.contents.insert(id, to_bytes(&new.content)?.as_slice())?;
            record.version += 1;
            record.written_at = now;
            record.content_at =
                if old.content_hash == new.content_hash { old.content_at } else { now };
            record.has_outside_title =
                marks.has_outside_title(&new.line_change, Some(old), &record);
            record.marks = marks.lines;
        } else {
            record.author.clone_from(&old.author);
        }
        self.derived.insert(id, to_bytes(&new.derived)?.as_slice())?;
        self.insert_derived(source, &record, &new.derived);
        self.record_added_names(source, to, id, &new.derived.names);
        self.move_file_rows(source, old, &record, synced, is_changed, &ours)?;
        self.put_record(source, to, &record, Some((FileState::Present, ours)))?;
        let (source_name, slug) = (source.as_str(), to.as_str());
        let place =
            StepPlace { source: source_name, slug, previous: old.seq, kind: StepKind::Moved };
        self.add_step(&record, &place, Some(now))?;
        self.add_page_change(source, to, &record, &new.content, false);
        Ok(record)
    }

    /// Moves the row of the synced file to the new path, and adds an outbox row that removes the
    /// file at the former path if it still has brain's contents.
    pub(super) fn move_file_rows(
        &mut self,
        source: &SourceId,
        old: &PageRecord,
        new: &PageRecord,
        synced: Option<FileRecord>,
        is_changed: bool,
        ours: &[Hash],
    ) -> Result<(), StoreError> {
        if old.source_path == new.source_path || !self.has_files_of(source.as_str())? {
            return Ok(());
        }
        if let Some(mut file) = synced {
            self.remove_file_record(source, &old.source_path)?;
            if !is_changed && file.seq == old.seq {
                file.seq = new.seq;
            }
            self.put_file(source, &new.source_path, &file)?;
        }
        // A page can have only one outbox row, which is for its new path. The row for the former
        // path gets an id that belongs to no page.
        let id = self.counters.next_id;
        self.counters.next_id += 1;
        let earlier_hashes =
            self.outbox_row(old.id)?.map(|row| row.own_digests).unwrap_or_default();
        let row = OutboxRow {
            seq: self.counters.seq,
            source: source.as_str().to_owned(),
            path: old.source_path.clone(),
            target_state: FileState::Purged,
            own_digests: ours.iter().copied().chain(earlier_hashes).collect(),
        };
        self.outbox.insert(id, to_bytes(&row)?.as_slice())?;
        Ok(())
    }

    /// Gives the page `into` the versions and the current text of the page `from` as former
    /// versions, numbered after the current version of `into`, which keeps its number. The caller
    /// then writes `into`.
    pub fn adopt_versions(
        &mut self,
        source: &SourceId,
        into_slug: &Slug,
        into: &PageRecord,
        from: &PageRecord,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        let mut adopted = Vec::new();
        for row in self.versions.range((from.id, 0)..=(from.id, u32::MAX))? {
            let number = row?.0.value().1;
            adopted.extend(self.version(from.id, number)?);
        }
        adopted.push(VersionRecord { record: from.clone(), content: self.content(from)? });
        let mut record = PageRecord { version: self.keep_current(into)? + 1, ..into.clone() };
        for mut version in adopted {
            version.record = PageRecord { id: into.id, version: record.version, ..version.record };
            self.versions.insert((into.id, record.version), to_bytes(&version)?.as_slice())?;
            record.version += 1;
        }
        let key = (source.as_str(), into_slug.as_str());
        self.pages.insert(key, to_bytes(&record)?.as_slice())?;
        Ok(())
    }
}
