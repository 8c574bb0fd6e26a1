//! Reads what Joplin exports: JEX, RAW, and the directory with which it syncs.
//!
//! All three hold the same items, one in each file `<id>.md`: title, body, and lines `key: value`,
//! the last of them `type_: N`. JEX is a tar of RAW, and RAW may be packed as ZIP. Facts are from Joplin 3.5 and the source of
//! `@joplin/lib` 3.6.3 (`models/BaseItem.js`, `serialize` and `unserialize`).

mod catalog;
mod html;
mod item;
mod links;
mod note;
mod store;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Entry, Format, Output, Sample, Tree};
use catalog::Catalog;
use store::{ITEMS, Store, entry_kind};

pub(crate) const FORMAT: Format = Format {
    name: "joplin",
    title: "an export of Joplin",
    is_by_others: false,
    recognise,
    convert,
};

/// How many files of a directory, or entries of an archive, are looked at.
const MAX_LOOKED_AT: usize = 50;
/// How much of an item is looked at, in bytes. A larger one does not end as an item.
const MAX_ITEM_HEAD: usize = 64 * 1024;

fn recognise(sample: &Sample) -> bool {
    sample.tree().map_or_else(|| is_archive(sample.head()), has_items)
}

/// Returns whether a directory or ZIP archive has items.
fn has_items(tree: &Tree) -> bool {
    let root = tree.root();
    let is_item = |entry: &Entry| {
        let head = tree.head(entry, MAX_ITEM_HEAD).unwrap_or_default();
        item::parse(&String::from_utf8_lossy(&head)).is_some_and(|it| it.has_id())
    };
    let entries = tree.entries().iter();
    let named = entries
        .filter(|entry| entry.path.strip_prefix(root).is_some_and(|it| ITEMS.id(it).is_some()));
    let is_ours = |entry: &Entry| {
        entry.path.strip_prefix(root).is_some_and(|path| entry_kind(path).is_some())
    };
    named.take(MAX_LOOKED_AT).any(is_item) && tree.is_mostly(is_ours)
}

/// Returns whether the first files of a tar are items or attachments of Joplin.
fn is_archive(head: &[u8]) -> bool {
    let mut archive = tar::Archive::new(head);
    let Ok(entries) = archive.entries() else { return false };
    let files = entries.take(MAX_LOOKED_AT).map_while(Result::ok);
    let mut names = files
        .filter(|entry| entry.header().entry_type().is_file())
        .map(|entry| String::from_utf8_lossy(&entry.path_bytes()).into_owned());
    names.next().is_some_and(|name| entry_kind(&name).is_some())
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let store = Store::open(path)?;
    store.report_problems(out)?;
    let malformed = |reason: &str| ConvertError::Malformed {
        from: store.name.clone(),
        reason: reason.to_owned(),
    };
    if store.items.is_empty() {
        return Err(malformed(store.damage.as_deref().unwrap_or("it has no items of Joplin")));
    }
    let catalog = Catalog::read(&store, out)?;
    note::write_all(&store, &catalog, out)?;
    match &store.damage {
        Some(reason) => Err(malformed(reason)),
        None => Ok(()),
    }
}
