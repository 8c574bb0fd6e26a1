//! Writes a page for each folder of bookmarks.

use std::collections::BTreeSet;
use std::io;

use brain_convert_base::{Output, Page, Paths, link, literal_line, literal_text};

use super::collection::{Bookmark, Collection, Folder, Item};
use crate::embedded::web_link;
use crate::long_page::{LongPage, Target};
use crate::time::shown;

/// The folder of the pages, and the title of the page of the root.
const FOLDER: &str = "Bookmarks";
/// Maximum number of folders of a path, and its maximum length in bytes. What is deeper lies in the
/// last of these folders.
const MAX_DEPTH: usize = 12;
const MAX_PATH: usize = 250;
/// Maximum number of tags that are in the frontmatter.
const MAX_TAGS: usize = 500;

/// Writes all folders. `from` names the file.
pub(super) fn write(collection: &Collection, from: &str, out: &mut Output<'_>) -> io::Result<()> {
    let mut paths = Paths::default();
    let folders = &collection.folders;
    let used = used(folders);
    let mut known: Vec<String> = Vec::new();
    let mut inner: Vec<Vec<usize>> = vec![Vec::new(); folders.len()];
    for (number, folder) in folders.iter().enumerate() {
        let parent =
            if number == 0 { "" } else { known.get(folder.parent).map_or("", String::as_str) };
        let is_used = used.get(number) == Some(&true);
        known.push(if is_used { path(parent, &folder.name, &mut paths) } else { String::new() });
        if number > 0
            && is_used
            && let Some(list) = inner.get_mut(folder.parent)
        {
            list.push(number);
        }
    }
    for (number, folder) in folders.iter().enumerate() {
        if used.get(number) != Some(&true) {
            continue;
        }
        let label = |it: &usize| {
            let (path, folder) = (known.get(*it)?, folders.get(*it)?);
            Some(format!("- {}", link(path, &folder.name)))
        };
        let links: Vec<String> =
            inner.get(number).into_iter().flatten().filter_map(label).collect();
        let path = known.get(number).cloned().unwrap_or_default();
        let mut target = Target { paths: &mut paths, tree: None, out: &mut *out };
        write_folder(folder, path, from, &links, &mut target)?;
    }
    Ok(())
}

/// Returns for each folder whether it has a bookmark, or a folder that has one.
fn used(folders: &[Folder]) -> Vec<bool> {
    let is_bookmark = |item: &Item| matches!(item, Item::Bookmark(_));
    let mut used: Vec<bool> = folders
        .iter()
        .map(|it| it.items.iter().any(is_bookmark) || !it.description.is_empty())
        .collect();
    // A folder has a higher number than the one that it is in.
    for (number, folder) in folders.iter().enumerate().skip(1).rev() {
        if used.get(number) == Some(&true)
            && let Some(parent) = used.get_mut(folder.parent)
        {
            *parent = true;
        }
    }
    used
}

/// Returns the path of a folder's page in the folder of `parent`.
fn path(parent: &str, name: &str, paths: &mut Paths) -> String {
    if parent.is_empty() {
        return paths.add([], FOLDER);
    }
    let mut folders: Vec<&str> = parent.split('/').collect();
    if folders.len() > MAX_DEPTH || parent.len() > MAX_PATH {
        folders.pop();
    }
    paths.add(folders, name)
}

fn write_folder(
    folder: &Folder,
    path: String,
    from: &str,
    links: &[String],
    target: &mut Target<'_, '_>,
) -> io::Result<()> {
    let mut page = Page::default();
    page.title = if folder.name.is_empty() { FOLDER.to_owned() } else { folder.name.clone() };
    page.from = match path.split_once('/') {
        Some((_, place)) => format!("{from}, {place}"),
        None => from.to_owned(),
    };
    page.path = path;
    page.created = folder.added;
    page.tags = other_tags(folder);
    page.body = literal_text(&folder.description);
    let mut page = LongPage::new(page);
    let mut list = String::new();
    for item in &folder.items {
        match item {
            Item::Bookmark(bookmark) if bookmark.address.starts_with("place:") => {
                let from = format!("{from}, {}", bookmark.title);
                target.out.lost(&from, "it is a search of Firefox, and no address")?;
            }
            Item::Bookmark(bookmark) => {
                let line = line(bookmark);
                // Each part of a page has a list of its own.
                if list.len() + line.len() > MAX_LIST {
                    flush(&mut list, &mut page, target)?;
                }
                if !list.is_empty() {
                    list.push('\n');
                }
                list.push_str(&line);
            }
            Item::Separator => {
                flush(&mut list, &mut page, target)?;
                if !page.is_empty() {
                    page.add("---");
                }
            }
        }
    }
    flush(&mut list, &mut page, target)?;
    if !links.is_empty() {
        page.add("Folders:");
        page.add(&links.join("\n"));
    }
    page.end(target)
}

/// Length from which a list is added to the page, in bytes.
const MAX_LIST: usize = 1_000_000;

fn flush(list: &mut String, page: &mut LongPage, target: &mut Target<'_, '_>) -> io::Result<()> {
    if list.is_empty() {
        return Ok(());
    }
    page.make_room(list.len(), target)?;
    page.add(list);
    list.clear();
    Ok(())
}

/// Returns the tags of a folder's bookmarks that cannot be written in a line.
fn other_tags(folder: &Folder) -> Vec<String> {
    let bookmarks = folder.items.iter().filter_map(|item| match item {
        Item::Bookmark(bookmark) => Some(bookmark),
        Item::Separator => None,
    });
    let tags: BTreeSet<&str> = bookmarks
        .flat_map(|it| &it.tags)
        .map(String::as_str)
        .filter(|tag| inline_tag(tag).is_none())
        .collect();
    tags.into_iter().take(MAX_TAGS).map(str::to_owned).collect()
}

/// Returns a tag as it is written in a line: with `-` for blanks. `None` if it has a character that
/// a tag in a text cannot have.
fn inline_tag(tag: &str) -> Option<String> {
    let tag = tag.trim_start_matches('#').replace(' ', "-");
    let is_tag = tag.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        && tag.contains(char::is_alphabetic);
    is_tag.then(|| format!("#{tag}"))
}

/// Returns the item of a list for a bookmark.
fn line(bookmark: &Bookmark) -> String {
    let mut parts = vec![web_link(&bookmark.title, &bookmark.address)];
    parts.extend(bookmark.added.map(shown));
    parts.extend(bookmark.details.iter().map(|it| literal_line(&brain_page::single_line(it))));
    for tag in &bookmark.tags {
        parts.push(inline_tag(tag).unwrap_or_else(|| format!("tag: {}", literal_line(tag))));
    }
    let mut line = format!("- {}", parts.join(" · "));
    for text in literal_text(&bookmark.description).lines() {
        line.push_str(if text.is_empty() { "\n" } else { "\n  " });
        line.push_str(text);
    }
    line
}
