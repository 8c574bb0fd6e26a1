//! 86 → 87: TOML at the head of a page, which was part of its text, becomes its frontmatter.

use std::collections::BTreeMap;

use brain_page::{self as page, Document};
use redb::{AccessGuard, ReadableTable, WriteTransaction};

use super::line_marks::carry;
use super::record::{Content, DerivedRows, PageRecord, from_bytes, read, to_bytes};
use super::row_table::RowTable;
use super::transaction::{LookupRows, add_to_counts, insert_in_order};
use super::{StoreError, tables as t};

/// Reads the TOML of all pages. Their links stay as they are until the next change. Returns whether
/// a page has a new name.
pub(super) fn read_pages(txn: &WriteTransaction) -> Result<bool, StoreError> {
    let (mut pages, mut contents) = (txn.open_table(t::PAGES)?, txn.open_table(t::CONTENTS)?);
    let mut derived = txn.open_table(t::DERIVED)?;
    let mut found = Vec::new();
    for row in pages.iter()? {
        let (key, value) = row?;
        let (source, slug) = key.value();
        let record: PageRecord = from_bytes(value.value())?;
        let content = contents.get(record.id)?;
        let content = content.and_then(|row| from_bytes::<Content>(row.value()).ok());
        if content.is_some_and(|content| may_have_toml(&content)) {
            found.push((source.to_owned(), slug.to_owned(), record));
        }
    }
    let (mut names, mut counts) = (LookupRows::new(), BTreeMap::new());
    for (source, slug, mut record) in found {
        let id = record.id;
        let content: Option<Content> = read(contents.get(id)?.as_ref().map(AccessGuard::value))?;
        let rows = derived.get(id)?.map(|row| from_bytes::<DerivedRows>(row.value())).transpose();
        let (Some(mut content), Ok(rows)) = (content, rows) else { continue };
        let mut rows = rows.unwrap_or_default();
        let former = record.clone();
        if !read_toml(&mut record, &mut content) {
            continue;
        }
        rows.tags.clone_from(&record.tags);
        let is_active = record.deleted_at.is_none();
        for name in record.aliases.iter().map(|alias| page::normalize_name(alias)) {
            if !name.is_empty() && !rows.names.contains(&name) {
                rows.names.push(name.clone());
                names.extend(is_active.then(|| (source.clone(), name, id)));
            }
        }
        rows.names.sort_unstable();
        contents.insert(id, to_bytes(&content)?.as_slice())?;
        derived.insert(id, to_bytes(&rows)?.as_slice())?;
        pages.insert((source.as_str(), slug.as_str()), to_bytes(&record)?.as_slice())?;
        for (tags, delta) in [(former.distinct_tags(), -1), (record.distinct_tags(), 1)] {
            for tag in tags.into_iter().filter(|_| is_active) {
                *counts.entry((source.clone(), tag.to_owned())).or_default() += delta;
            }
        }
    }
    add_to_counts(&mut RowTable::new(txn.open_table(t::TAG_COUNTS)?, false), counts)?;
    let has_names = !names.is_empty();
    insert_in_order(&mut RowTable::new(txn.open_table(t::NAMES)?, false), &mut names)?;
    Ok(has_names)
}

/// Moves TOML from the text to the frontmatter. Returns whether there was any.
pub(super) fn read_toml(record: &mut PageRecord, content: &mut Content) -> bool {
    // Malformed TOML stays as it is. So does a damaged text: reads report the damage.
    if !may_have_toml(content) || content.body.digest() != record.content_hash {
        return false;
    }
    let Ok(Document { frontmatter, body }) = Document::parse(&content.body) else { return false };
    if body == content.body {
        return false;
    }
    let text = std::mem::replace(&mut content.body, body);
    content.frontmatter = frontmatter.clone().into();
    let body = &content.body;
    if let Some(title) = frontmatter.title().or_else(|| page::top_heading(body))
        && title != record.title
    {
        // One of the marked lines may be the title.
        record.has_outside_title |= !record.marks.is_empty();
        record.title = title;
    }
    if let Some(page_type) = frontmatter.page_type() {
        record.page_type = page_type.trim().to_lowercase();
    }
    record.tags = page::page_tags(&frontmatter, body);
    record.aliases = frontmatter.aliases();
    record.content_hash = body.digest();
    record.chunks = u32::try_from(page::chunks(body).len()).unwrap_or(u32::MAX);
    record.bytes = body.len() as u64;
    if !record.marks.is_empty() {
        let file = page::file_text(&content.frontmatter, body);
        record.marks = carry(&record.marks, &text, &file, None);
    }
    true
}

/// Returns whether a file with this text can begin with TOML.
fn may_have_toml(content: &Content) -> bool {
    content.frontmatter.is_empty() && content.body.starts_with("+++")
}
