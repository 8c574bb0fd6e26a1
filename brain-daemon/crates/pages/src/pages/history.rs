//! `history`: the versions of a page, and how much each of them changed.

use brain_protocol::{Fault, HistoryReply, PageRef};

use super::version_row;
use crate::pages::PageService;
use crate::provenance::INGEST_KEYS;
use brain_base::caller::Caller;
use brain_page::{file_text, unified_diff};
use brain_store::{Content, PageRecord, Reader, StoreError, unless_damaged};

/// Maximum bytes of text that are compared for one history. Versions beyond have no counts of
/// changed lines.
const MAX_COMPARED: usize = 8 << 20;

impl PageService {
    /// Lists the versions of a page, newest first.
    pub fn history(&self, caller: &Caller, request: &PageRef) -> Result<HistoryReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, slug, record) = self.find(caller, &reader, request)?;
        let former = reader.versions(record.id)?;
        let mut versions = vec![version_row(&record, true)];
        versions.extend(former.iter().map(|record| version_row(record, false)));
        let mut newer = unless_damaged(reader.content(&record))?.map(|content| text(&content));
        let mut compared = 0;
        for (row, former) in versions.iter_mut().zip(former.iter().map(Some).chain([None])) {
            let older = match former {
                Some(former) => text_of_version(&reader, &record, former.version)?,
                // The first version is compared with an empty page.
                None => (row.version == 1).then(String::new),
            };
            if let (Some(older), Some(newer)) = (&older, &newer) {
                compared += older.len() + newer.len();
                if compared > MAX_COMPARED {
                    break;
                }
                let diff = unified_diff(older, newer, ("", ""));
                row.lines_added = diff.as_ref().map(|diff| diff.added);
                row.lines_removed = diff.as_ref().map(|diff| diff.removed);
            }
            newer = older;
        }
        Ok(HistoryReply { slug, source_id: source, versions })
    }
}

/// Returns the text of a former version. `None` if it is damaged or missing.
fn text_of_version(
    reader: &Reader,
    record: &PageRecord,
    number: u32,
) -> Result<Option<String>, StoreError> {
    let version = unless_damaged(reader.version(record.id, number))?.flatten();
    Ok(version.map(|version| text(&version.content)))
}

/// Returns the text without lines about its provenance: brain writes them, and a change of them is
/// no change of the text.
fn text(content: &Content) -> String {
    let has_no_ingest_key = |line: &&str| {
        let key = line.split_once([':', '=']).map(|(key, _)| key.trim_end());
        !key.is_some_and(|key| INGEST_KEYS.contains(&key))
    };
    let lines = content.frontmatter.split_inclusive('\n').filter(has_no_ingest_key);
    file_text(&lines.collect::<String>(), &content.body)
}
