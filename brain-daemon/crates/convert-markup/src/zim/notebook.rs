//! The pages of a notebook of Zim, and what the links in them name.

use std::collections::{HashMap, HashSet};

use brain_convert_base::Paths;

use crate::source::{Source, folder, name};

/// How the first line of a page begins.
const HEADER: &str = "Content-Type: text/x-zim-wiki";
/// How much of a file is looked at to see whether it is a page. Zim looks at 50 bytes.
const MAX_LINE: usize = 50;

/// A page.
pub(super) struct Entry {
    /// The path of its file.
    pub(super) file: String,
    /// The names of the page and those above it.
    pub(super) names: Vec<String>,
    /// The path of its page in brain.
    pub(super) path: String,
}

/// All pages of a notebook.
#[derive(Default)]
pub(super) struct Notebook {
    pub(super) entries: Vec<Entry>,
    /// By names in lower case, joined with `:`. A folder without a page has none.
    by_name: HashMap<String, Option<usize>>,
    files: HashSet<String>,
}

/// Returns whether a text begins as a page of Zim.
pub(super) fn is_page(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let head = String::from_utf8_lossy(head.get(..head.len().min(MAX_LINE)).unwrap_or_default());
    head.lines().next().is_some_and(|line| line.trim() == HEADER)
}

/// Returns whether Zim itself would give a file this name: without blanks.
fn is_name(name: &str) -> bool {
    name.strip_suffix(".txt").is_some_and(|stem| !stem.is_empty() && !stem.contains(' '))
}

/// Returns the name of a page for the name of its file: `_` is a blank, `%41` a character.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        let value = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (value, first) {
            (Some(value), _) => bytes.push(value),
            (None, b'_') => bytes.push(b' '),
            (None, byte) => bytes.push(*byte),
        }
        rest = after.get(if value.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn key(names: &[String]) -> String {
    names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>().join(":")
}

impl Notebook {
    /// Finds the pages. `root` is the folder of the notebook.
    pub(super) fn read(source: &Source, root: &str) -> Self {
        let mut notebook = Self::default();
        let mut paths = Paths::default();
        for file in source.files() {
            let Some(below) = below(file, root) else { continue };
            let is_hidden = crate::rest::is_hidden(below);
            if is_hidden || !is_name(name(file)) || !is_page(&source.head(file, 2 * MAX_LINE)) {
                continue;
            }
            let stem = below.strip_suffix(".txt").unwrap_or(below);
            let names: Vec<String> = stem.split('/').map(decoded).collect();
            let Some((title, folders)) = names.split_last() else { continue };
            let path = paths.add(folders.iter().map(String::as_str), title);
            for length in 1..names.len() {
                let above = key(names.get(..length).unwrap_or_default());
                notebook.by_name.entry(above).or_default();
            }
            let index = notebook.entries.len();
            let known = notebook.by_name.entry(key(&names)).or_default();
            *known = known.or(Some(index));
            notebook.files.insert(file.clone());
            notebook.entries.push(Entry { file: file.clone(), names, path });
        }
        notebook
    }

    /// Returns the names of the page that a link names (rules of `PagesView.resolve_link`): one of
    /// all pages after `:`, one below the page after `+`, else the nearest of that name beside it
    /// or above.
    pub(super) fn resolve(&self, from: &[String], target: &str) -> Option<Vec<String>> {
        let names: Vec<String> = target
            .trim_start_matches('+')
            .split(':')
            .map(|name| name.replace('_', " ").trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        let first = names.first()?;
        if target.starts_with(':') {
            return Some(names);
        }
        if target.starts_with('+') {
            return Some([from, &names].concat());
        }
        let parent = from.get(..from.len().saturating_sub(1)).unwrap_or_default();
        for length in (0..=parent.len()).rev() {
            let above = parent.get(..length)?;
            let candidate = [above, std::slice::from_ref(first)].concat();
            if self.by_name.contains_key(&key(&candidate)) {
                return Some([above, &names].concat());
            }
        }
        Some([parent, &names].concat())
    }

    /// Returns whether a file is a page.
    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// Returns the page of these names.
    pub(super) fn page(&self, names: &[String]) -> Option<&Entry> {
        self.by_name.get(&key(names)).and_then(|index| self.entries.get((*index)?))
    }
}

/// Returns the part of a path below a folder.
pub(super) fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    match folder {
        "" => Some(path),
        folder => path.strip_prefix(folder)?.strip_prefix('/'),
    }
}

/// Returns the folder of the file `notebook.zim` that is the nearest to the root.
pub(super) fn root(source: &Source) -> String {
    let files = source.files().iter().filter(|path| name(path) == "notebook.zim");
    let nearest = files.min_by_key(|path| path.matches('/').count());
    nearest.map_or_else(String::new, |path| folder(path).to_owned())
}
