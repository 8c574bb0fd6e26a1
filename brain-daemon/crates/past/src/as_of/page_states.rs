//! Which pages a past state has, and which of them are as they are now.

use brain_store::{PageEntry, Reader, StoreError};

/// Maximum number of pages that are replaced in a copy of the present, whatever their share.
const MAX_REPLACED: usize = 200;
/// Beyond it, at most one of so many pages is replaced.
const REPLACED_PARTS: usize = 4;
/// Maximum size of the texts that replace others, in bytes. They are indexed in memory.
const MAX_REPLACED_BYTES: u64 = 16 << 20;

/// A page of a past state.
pub(super) struct PageState {
    /// The step after which it had the state.
    pub(super) number: u64,
    pub(super) id: u64,
    /// About the size of its text.
    pub(super) bytes: u64,
    /// Whether it is as it is now.
    pub(super) is_present: bool,
}

/// The pages of a past state.
#[derive(Default)]
pub(super) struct PageStates {
    pub(super) pages: Vec<PageState>,
    /// Pages of the present that are other ones in the past state, or not in it.
    pub(super) replaced: Vec<PageEntry>,
    /// The size of the texts of the present.
    pub(super) bytes: u64,
}

impl PageStates {
    /// Returns the pages at the time `at`, Unix milliseconds. Changes after the sequence number
    /// `known` count as such that the past state does not have.
    pub(super) fn of(reader: &Reader, at: i64, known: u64) -> Result<Self, StoreError> {
        let mut states = Self::default();
        reader.each_page(|page| {
            let record = &page.2;
            states.bytes += record.bytes;
            let mut is_present = false;
            if let Some((number, step)) = reader.step_at(record.seq, at)? {
                is_present = number == record.seq
                    && number <= known
                    && has_same_files(reader, record.id, step.at)?;
                let (id, bytes) = (record.id, record.bytes);
                states.pages.push(PageState { number, id, bytes, is_present });
            }
            if !is_present {
                states.replaced.push(page);
            }
            Ok(())
        })?;
        // Of two pages with one name, that with the later change has it.
        states.pages.sort_unstable_by_key(|state| std::cmp::Reverse(state.number));
        Ok(states)
    }

    /// Whether it is less work to replace pages in a copy of the present.
    pub(super) fn differ_little(&self) -> bool {
        let replaced = self.replaced.len();
        let bytes: u64 = self.replaced.iter().map(|page| page.2.bytes).sum();
        bytes <= MAX_REPLACED_BYTES
            && (replaced <= MAX_REPLACED || replaced <= self.pages.len() / REPLACED_PARTS)
    }
}

/// Whether the page has the same attached files now as at the time `at` of its last step.
fn has_same_files(reader: &Reader, id: u64, at: i64) -> Result<bool, StoreError> {
    let files = reader.attachments_of(id, true)?;
    Ok(files.iter().all(|(_, file)| {
        file.attached_at <= at && file.removed_at.is_none_or(|removed| removed <= at)
    }))
}
