//! Files beside notes, and which of them a link names.

use std::collections::{HashMap, HashSet};

use brain_page::listed_name;

/// The files of a directory that are not markdown.
pub(super) struct LocalFiles {
    paths: HashSet<String>,
    /// The paths for each name in lower case, sorted.
    by_name: HashMap<String, Vec<String>>,
}

impl LocalFiles {
    /// Takes the paths of all files, relative to the directory.
    pub(super) fn of<'a>(paths: impl IntoIterator<Item = &'a String>) -> Self {
        let paths: HashSet<String> = paths.into_iter().cloned().collect();
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for path in &paths {
            by_name.entry(listed_name(path).to_lowercase()).or_default().push(path.clone());
        }
        for same in by_name.values_mut() {
            same.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        }
        Self { paths, by_name }
    }

    /// Returns the path of the file that `target` names in the note at `note`: below the folder of
    /// the note, below the root, or, as Obsidian does, the file of that name with the shortest
    /// path.
    pub(super) fn find(&self, note: &str, target: &str) -> Option<&str> {
        let folder = note.rsplit_once('/').map_or("", |(folder, _)| folder);
        let known = |path: Option<String>| self.paths.get(&path?).map(String::as_str);
        let of_name = || {
            let is_name = !target.contains('/');
            let paths = is_name.then(|| self.by_name.get(&listed_name(target).to_lowercase()));
            paths.flatten().and_then(|paths| paths.first()).map(String::as_str)
        };
        known(joined(folder, target)).or_else(|| known(joined("", target))).or_else(of_name)
    }
}

/// Returns the path that `target` has from `folder`; `None` if it leads out of the directory.
pub(super) fn joined(folder: &str, target: &str) -> Option<String> {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_found_by_its_path_or_its_name() {
        let paths = ["img/a.png", "img/deep/a.png", "notes/b.pdf", "c.txt"].map(str::to_owned);
        let files = LocalFiles::of(&paths);
        for (note, target, expected) in [
            ("notes/n.md", "../img/a.png", Some("img/a.png")),
            ("notes/n.md", "b.pdf", Some("notes/b.pdf")),
            ("notes/n.md", "./b.pdf", Some("notes/b.pdf")),
            ("notes/n.md", "img/deep/a.png", Some("img/deep/a.png")),
            ("notes/n.md", "A.PNG", Some("img/a.png")),
            ("n.md", "c.txt", Some("c.txt")),
            ("n.md", "../c.txt", None),
            ("n.md", "other/c.txt", None),
            ("n.md", "d.txt", None),
        ] {
            assert_eq!(files.find(note, target), expected, "{note} {target}");
        }
    }
}
