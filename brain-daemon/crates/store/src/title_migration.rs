//! 85 → 86: pages without a title of their own get the name of their file.

use brain_page::{file_title, title_of};
use brain_protocol::Slug;
use redb::{ReadableTable, WriteTransaction};

use super::record::{Content, PageRecord, from_bytes, to_bytes};
use super::{StoreError, tables as t};

/// Derives the titles of all pages again. Former versions keep theirs.
pub(super) fn derive_titles(txn: &WriteTransaction) -> Result<(), StoreError> {
    let (mut pages, contents) = (txn.open_table(t::PAGES)?, txn.open_table(t::CONTENTS)?);
    let mut changed = Vec::new();
    for row in pages.iter()? {
        let (key, value) = row?;
        let (source, name) = key.value();
        // A page with a damaged text stays as it is: reads report the damage.
        let Ok(mut record) = from_bytes::<PageRecord>(value.value()) else { continue };
        let Some(content) = contents.get(record.id)? else { continue };
        let Ok(content) = from_bytes::<Content>(content.value()) else { continue };
        let (Ok(slug), Ok(frontmatter)) =
            (Slug::parse(name.to_owned()), content.frontmatter.parsed())
        else {
            continue;
        };
        let title = title_of(&slug, frontmatter, &content.body).unwrap_or_else(|| {
            file_title(&record.source_path, record.provenance.source_uri.as_deref())
        });
        if title != record.title {
            record.title = title;
            changed.push((source.to_owned(), name.to_owned(), to_bytes(&record)?));
        }
    }
    for (source, name, bytes) in changed {
        pages.insert((source.as_str(), name.as_str()), bytes.as_slice())?;
    }
    Ok(())
}
