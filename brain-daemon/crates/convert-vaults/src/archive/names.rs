//! The pages of an archive, and the files to which links lead.

use brain_convert_base::{Entry, Paths, Tree};

use crate::vault::{Vault, key};

/// What becomes a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Markdown,
    Canvas,
    Base,
}

impl Kind {
    /// Returns the kind of a file; `None` if it becomes no page.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        if hidden_folder(&entry.path).is_some() {
            return None;
        }
        match entry.extension().as_str() {
            "md" | "markdown" | "mdx" => Some(Self::Markdown),
            "canvas" => Some(Self::Canvas),
            "base" => Some(Self::Base),
            _ => None,
        }
    }
}

/// Returns the first part of a path that is hidden, with what is before it.
pub(super) fn hidden_folder(path: &str) -> Option<&str> {
    let mut at = 0;
    for part in path.split('/') {
        let end = at + part.len();
        if part.starts_with('.') || part == "__MACOSX" {
            return path.get(..end);
        }
        at = end + 1;
    }
    None
}

/// The files of an archive.
pub(super) struct Archive<'a> {
    pub(super) vault: Vault<'a>,
    /// The numbers of the files that become pages.
    pub(super) pages: Vec<usize>,
    /// The folder in which all files lie, with `/`; else empty.
    root: String,
}

impl<'a> Archive<'a> {
    pub(super) fn of(tree: &'a Tree) -> Self {
        let mut archive = Self { vault: Vault::new(tree), pages: Vec::new(), root: root(tree) };
        let mut paths = Paths::default();
        for (number, entry) in tree.entries().iter().enumerate() {
            if Kind::of(entry).is_none() {
                continue;
            }
            let below = entry.path.strip_prefix(&archive.root).unwrap_or(&entry.path);
            let stem = below.rsplit_once('.').map_or(below, |(stem, _)| stem);
            let mut folders: Vec<&str> = stem.split('/').collect();
            let name = folders.pop().unwrap_or_default();
            archive.vault.add_page(number, paths.add(folders, name));
            archive.pages.push(number);
        }
        archive
    }

    /// Returns the file at a path from the root of the vault.
    pub(super) fn find_path(&self, path: &str) -> Option<usize> {
        self.vault.find(&format!("{}{}", self.root, path.trim_start_matches('/')))
    }

    /// Returns the file to which `[[target]]` leads.
    pub(super) fn find_wiki(&self, entry: &Entry, target: &str) -> Option<usize> {
        let target = target.trim();
        let page = format!("{target}.md");
        let exact = [page.as_str(), target].iter().find_map(|path| self.find_path(path));
        exact
            .or_else(|| self.find_by_name(entry, &page))
            .or_else(|| self.find_by_name(entry, target))
    }

    /// Returns the file whose path ends with `path`: one in the same folder, else the one with the
    /// fewest folders, else the first.
    fn find_by_name(&self, entry: &Entry, path: &str) -> Option<usize> {
        if let Some(number) = self.vault.find_from(entry.folder(), path) {
            return Some(number);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let end = key(&format!("/{path}"));
        let found = self.vault.find_name(name).iter().filter(|number| {
            let entry = self.vault.entry(**number);
            entry.is_some_and(|entry| {
                hidden_folder(&entry.path).is_none()
                    && key(&format!("/{}", entry.path)).ends_with(&end)
            })
        });
        let depth = |number: usize| self.vault.entry(number).map(|it| it.path.matches('/').count());
        found.min_by_key(|number| depth(**number)).copied()
    }

    /// Returns the file to which an address leads: from the folder of the page, from the root, or by
    /// its name.
    pub(super) fn find_address(&self, entry: &Entry, address: &str) -> Option<usize> {
        let path = address.split('?').next().unwrap_or(address);
        let from = |address: &str| self.vault.find_from(entry.folder(), address);
        let decoded = brain_page::percent_decode(path);
        from(path)
            .or_else(|| self.find_path(&decoded))
            .or_else(|| from(&format!("{path}.md")))
            .or_else(|| self.find_by_name(entry, &decoded))
    }

    /// Returns the file that a value of the frontmatter names, and no page.
    pub(super) fn find_file(&self, entry: &Entry, target: &str) -> Option<usize> {
        let found = self.find_wiki(entry, target);
        found.filter(|number| self.vault.page(*number).is_none())
    }

    /// Returns the path for a link to a page if the link as it is written would lead elsewhere.
    pub(super) fn new_path(&self, number: usize, target: &str, is_wiki: bool) -> Option<String> {
        let (page, entry) = (self.vault.page(number)?, self.vault.entry(number)?);
        let below = entry.path.strip_prefix(&self.root).unwrap_or(&entry.path);
        let stem = below.rsplit_once('.').map_or(below, |(stem, _)| stem);
        let is_moved = stem != page || Kind::of(entry) != Some(Kind::Markdown);
        // A part of a path, or a name that several files have.
        let name = target.trim().strip_suffix(".md").unwrap_or(target.trim());
        let is_short = is_wiki && key(name) != key(stem) && {
            let others = self.vault.find_name(entry.name());
            others.len() > 1 || name.contains('/')
        };
        (is_moved || is_short).then(|| page.to_owned())
    }
}

/// Returns the folder in which all files of an archive lie, with `/`.
fn root(tree: &Tree) -> String {
    let mut files = tree.entries().iter().filter(|entry| !entry.path.starts_with("__MACOSX/"));
    let first = files.next().and_then(|entry| entry.path.split_once('/'));
    let Some((folder, _)) = first else { return String::new() };
    let root = format!("{folder}/");
    if files.all(|entry| entry.path.starts_with(&root)) { root } else { String::new() }
}
