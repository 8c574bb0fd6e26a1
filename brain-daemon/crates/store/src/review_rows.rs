//! Rows of the review: citations, settled contradictions, the owner's test set.
//!
//! There are few: a handful for each saved answer, and one for each question that the owner's
//! searches repeat. So a purge looks at all of them.

use redb::ReadableTable;

use super::error::unless_damaged;
use super::record::{CitationRecord, RecallRecord, SettledRecord, StoredValue, read, to_bytes};
use super::{Reader, StoreError, Transaction, tables as t};

impl Transaction<'_> {
    /// Replaces the citations of the page `answer`.
    pub fn set_citations(
        &mut self,
        answer: u64,
        citations: &[CitationRecord],
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        self.citations.remove_range((answer, 0)..=(answer, u32::MAX))?;
        for (number, citation) in (0..).zip(citations) {
            self.citations.insert((answer, number), to_bytes(citation)?.as_slice())?;
        }
        Ok(())
    }

    /// Records how the contradiction `key` was settled; `None` opens it again.
    pub fn settle(&mut self, key: &str, settled: Option<&SettledRecord>) -> Result<(), StoreError> {
        self.write_count += 1;
        match settled {
            Some(settled) => drop(self.settled.insert(key, to_bytes(settled)?.as_slice())?),
            None => drop(self.settled.remove(key)?),
        }
        Ok(())
    }

    /// Writes a row of the test set; `None` removes it.
    pub fn set_recall(
        &mut self,
        number: u64,
        row: Option<&RecallRecord>,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        match row {
            Some(row) => drop(self.recall.insert(number, to_bytes(row)?.as_slice())?),
            None => drop(self.recall.remove(number)?),
        }
        Ok(())
    }

    /// Returns the number of the next row of the test set.
    pub fn next_recall(&self) -> Result<u64, StoreError> {
        Ok(self.recall.last()?.map_or(1, |(number, _)| number.value() + 1))
    }

    /// Removes what these rows have of a purged page, or of one of its versions: citations of it
    /// lose their texts, and questions that led to the page go.
    pub(super) fn purge_review_rows(
        &mut self,
        id: u64,
        version: Option<u32>,
    ) -> Result<(), StoreError> {
        let mut emptied = Vec::new();
        for row in self.citations.iter()? {
            let (key, value) = row?;
            let found = unless_damaged(read::<CitationRecord>(Some(value.value())))?.flatten();
            let Some(found) = found else { continue };
            if found.page == id && version.is_none_or(|version| version == found.version) {
                emptied.push((
                    key.value(),
                    CitationRecord {
                        page: id,
                        version: found.version,
                        ..CitationRecord::default()
                    },
                ));
            }
        }
        for (key, citation) in emptied {
            self.citations.insert(key, to_bytes(&citation)?.as_slice())?;
        }
        if version.is_some() {
            return Ok(());
        }
        self.citations.remove_range((id, 0)..=(id, u32::MAX))?;
        self.remove_questions(
            |row| matches!(row, RecallRecord::Question { page, .. } if *page == id),
        )
    }

    /// Removes the questions whose text is chosen, whatever page they led to.
    pub(super) fn purge_questions(
        &mut self,
        is_chosen: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        self.remove_questions(
            |row| matches!(row, RecallRecord::Question { text, .. } if is_chosen(text)),
        )
    }

    fn remove_questions(
        &mut self,
        is_chosen: impl Fn(&RecallRecord) -> bool,
    ) -> Result<(), StoreError> {
        for number in numbers(&self.recall, is_chosen)? {
            self.recall.remove(number)?;
        }
        Ok(())
    }
}

/// Returns the keys of the rows that fulfil `is_chosen`. Leaves out damaged rows.
fn numbers<T: StoredValue>(
    table: &redb::Table<'_, u64, &'static [u8]>,
    is_chosen: impl Fn(&T) -> bool,
) -> Result<Vec<u64>, StoreError> {
    let mut chosen = Vec::new();
    for row in table.iter()? {
        let (number, value) = row?;
        let found = unless_damaged(read::<T>(Some(value.value())))?.flatten();
        chosen.extend(found.filter(&is_chosen).map(|_| number.value()));
    }
    Ok(chosen)
}

impl Reader {
    /// Returns all citations with the id of their answer's page, in order. Leaves out damaged rows.
    pub fn citations(&self) -> Result<Vec<(u64, CitationRecord)>, StoreError> {
        let mut found = Vec::new();
        for row in self.table(t::CITATIONS)?.iter()? {
            let (key, value) = row?;
            let citation = unless_damaged(read(Some(value.value())))?.flatten();
            found.extend(citation.map(|citation| (key.value().0, citation)));
        }
        Ok(found)
    }

    /// Returns the citations of one answer.
    pub fn citations_of(&self, answer: u64) -> Result<Vec<CitationRecord>, StoreError> {
        let mut found = Vec::new();
        for row in self.table(t::CITATIONS)?.range((answer, 0)..=(answer, u32::MAX))? {
            found.extend(unless_damaged(read(Some(row?.1.value())))?.flatten());
        }
        Ok(found)
    }

    /// Returns how the contradiction `key` was settled.
    pub fn settled(&self, key: &str) -> Result<Option<SettledRecord>, StoreError> {
        let table = self.table(t::SETTLED)?;
        let row = table.get(key)?;
        Ok(unless_damaged(read(row.as_ref().map(redb::AccessGuard::value)))?.flatten())
    }

    /// Returns the rows of the owner's test set, oldest first. Leaves out damaged rows.
    pub fn recall(&self) -> Result<Vec<(u64, RecallRecord)>, StoreError> {
        let mut found = Vec::new();
        for row in self.table(t::RECALL)?.iter()? {
            let (number, value) = row?;
            let record = unless_damaged(read(Some(value.value())))?.flatten();
            found.extend(record.map(|record| (number.value(), record)));
        }
        Ok(found)
    }
}
