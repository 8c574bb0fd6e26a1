//! Reads the bookmarks of Chromium, and backups of Firefox.

use brain_convert_base::ConvertError;
use serde_json::Value;

use super::collection::{Bookmark, Collection, Item};
use crate::json::{list, text};
use crate::time::{from_1601, from_any_unit};

/// How a compressed backup of Firefox begins. The length follows, in four bytes.
pub(super) const COMPRESSED: &[u8] = b"mozLz40\0";
/// Maximum length of an unpacked backup, in bytes.
const MAX_UNPACKED: usize = 24 * 1024 * 1024;

fn parse(bytes: &[u8], from: &str) -> Result<Value, ConvertError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|error| ConvertError::Malformed {
        from: from.to_owned(),
        reason: format!("it is no readable JSON: {error}"),
    })
}

/// Reads the file `Bookmarks` of a profile.
pub(super) fn read_chromium(
    bytes: &[u8],
    from: &str,
    collection: &mut Collection,
) -> Result<(), ConvertError> {
    let file = parse(bytes, from)?;
    let roots = file.get("roots").and_then(Value::as_object);
    let mut todo: Vec<(usize, &Value)> = Vec::new();
    for root in roots.into_iter().flat_map(serde_json::Map::values) {
        if root.is_object() {
            todo.push((Collection::ROOT, root));
        }
    }
    todo.reverse();
    while let Some((parent, node)) = todo.pop() {
        let name = text(node, "name");
        let added = node.get("date_added").and_then(from_1601);
        if text(node, "type") == "url" {
            let (title, address) = (brain_page::single_line(name), text(node, "url").to_owned());
            let bookmark = Bookmark { title, address, added, ..Bookmark::default() };
            collection.add(parent, Item::Bookmark(bookmark));
            continue;
        }
        let folder = collection.folder(parent, name);
        if let Some(folder) = collection.folders.get_mut(folder) {
            folder.added = folder.added.or(added);
        }
        todo.extend(list(node, "children").iter().rev().map(|child| (folder, child)));
    }
    Ok(())
}

/// Unpacks a compressed backup.
pub(super) fn decompress(bytes: &[u8]) -> Option<Vec<u8>> {
    let (length, block) = bytes.strip_prefix(COMPRESSED)?.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    if length > MAX_UNPACKED {
        return None;
    }
    lz4_flex::block::decompress(block, length).ok()
}

/// Reads a backup of Firefox.
pub(super) fn read_firefox(
    bytes: &[u8],
    from: &str,
    collection: &mut Collection,
) -> Result<(), ConvertError> {
    let file = parse(bytes, from)?;
    let mut todo = vec![(Collection::ROOT, &file)];
    while let Some((parent, node)) = todo.pop() {
        let folder = match (text(node, "type"), text(node, "root")) {
            ("text/x-moz-place-separator", _) => {
                collection.add(parent, Item::Separator);
                continue;
            }
            ("text/x-moz-place", _) => {
                collection.add(parent, Item::Bookmark(bookmark(node)));
                continue;
            }
            // Tags are at the bookmarks, too.
            (_, "tagsFolder") => continue,
            // As in Firefox's HTML, the menu is the top.
            (_, "placesRoot" | "bookmarksMenuFolder") => Collection::ROOT,
            (_, root) => {
                let name = match root {
                    "toolbarFolder" => "Bookmarks Toolbar",
                    "unfiledBookmarksFolder" => "Other Bookmarks",
                    "mobileFolder" => "Mobile Bookmarks",
                    _ => text(node, "title"),
                };
                let folder = collection.folder(parent, name);
                if let Some(folder) = collection.folders.get_mut(folder) {
                    folder.added = folder.added.or(time(node, "dateAdded"));
                }
                folder
            }
        };
        todo.extend(list(node, "children").iter().rev().map(|child| (folder, child)));
    }
    Ok(())
}

fn bookmark(node: &Value) -> Bookmark {
    let tags = text(node, "tags").split(',').map(brain_page::single_line);
    let keyword = text(node, "keyword");
    let description = list(node, "annos")
        .iter()
        .find(|it| text(it, "name") == "bookmarkProperties/description")
        .map_or("", |it| text(it, "value"));
    Bookmark {
        title: brain_page::single_line(text(node, "title")),
        address: text(node, "uri").to_owned(),
        added: time(node, "dateAdded"),
        tags: tags.filter(|it| !it.is_empty()).collect(),
        description: description.to_owned(),
        details: match keyword {
            "" => Vec::new(),
            keyword => vec![format!("keyword: {keyword}")],
        },
    }
}

fn time(node: &Value, key: &str) -> Option<jiff::Timestamp> {
    from_any_unit(&node.get(key)?.as_i64()?.to_string())
}
