//! `history`: the versions of a page, and how much each of them changed.

use brain_protocol::{Fault, HistoryReply, PageRef};

use super::version_row;
use crate::provenance::INGEST_KEYS;
use crate::{Caller, PageService};
use brain_page::{file_text, unified_diff};
use brain_store::{Content, PageRecord, Reader, StoreError, unless_damaged};

/// Maximum bytes of text that are compared for one history. Older versions have no numbers of
/// lines.
const MAX_COMPARED: usize = 8 << 20;

impl PageService {
    pub(crate) fn history(
        &self,
        caller: &Caller,
        request: &PageRef,
    ) -> Result<HistoryReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, slug, record) = self.find(caller, &reader, request)?;
        let former = reader.versions(record.id)?;
        let mut versions = vec![version_row(&record, true)];
        versions.extend(former.iter().map(|kept| version_row(kept, false)));
        let mut newer = unless_damaged(reader.content(&record))?.map(|content| text(&content));
        let mut compared = 0;
        for (row, before) in versions.iter_mut().zip(former.iter().map(Some).chain([None])) {
            let older = match before {
                Some(before) => text_of_version(&reader, &record, before.version)?,
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

/// Returns the text of a former version, or `None` if it is damaged.
fn text_of_version(
    reader: &Reader,
    record: &PageRecord,
    number: u32,
) -> Result<Option<String>, StoreError> {
    let kept = unless_damaged(reader.version(record.id, number))?.flatten();
    Ok(kept.map(|kept| text(&kept.content)))
}

/// Returns the text without the lines about its provenance, which every write changes.
fn text(content: &Content) -> String {
    let is_own = |line: &&str| {
        let key = line.split_once([':', '=']).map(|(key, _)| key.trim_end());
        !key.is_some_and(|key| INGEST_KEYS.contains(&key))
    };
    let lines = content.frontmatter.split_inclusive('\n').filter(is_own);
    file_text(&lines.collect::<String>(), &content.body)
}
