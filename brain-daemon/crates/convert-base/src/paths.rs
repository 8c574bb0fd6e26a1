//! The paths of pages.

use brain_protocol::MAX_SLUG_BYTES;

use crate::unique_names::UniqueNames;

/// Maximum length of a name of a file or folder, in bytes. With the extension and a number it stays
/// below 255, the limit of common file systems.
pub(crate) const MAX_NAME: usize = 150;
/// Maximum length of the folders of a path, in bytes. With a name, a number and the hash of an equal
/// name, the path can be a slug. The daemon refuses a page without one.
const MAX_FOLDERS: usize = MAX_SLUG_BYTES - MAX_NAME - 32;

/// The paths of pages. Names that differ only in case, or in characters that a path cannot have,
/// get a number.
#[derive(Default)]
pub struct Paths {
    names: UniqueNames,
    /// The paths that have not all of their folders.
    cut: Vec<String>,
}

impl Paths {
    /// Returns the path of a new page: folders and title, without an extension. It contains no
    /// character that has a meaning in a link. The innermost folders are left out if the path would
    /// be too long; [`crate::Output::report_cut`] reports that.
    pub fn add<'a>(&mut self, folders: impl IntoIterator<Item = &'a str>, title: &str) -> String {
        let mut path = String::new();
        let mut is_cut = false;
        for folder in folders {
            let name = safe_name(folder);
            is_cut = path.len() + name.len() >= MAX_FOLDERS;
            if is_cut {
                break;
            }
            path.push_str(&name);
            path.push('/');
        }
        path.push_str(&safe_name(title));
        let path = self.names.add(|number| numbered(&path, number, ""));
        if is_cut {
            self.cut.push(path.clone());
        }
        path
    }

    /// Returns the paths that have not all of their folders.
    pub(crate) fn cut(&self) -> &[String] {
        &self.cut
    }
}

/// Returns a name with a number, which stands before what ends it. The first one has none.
pub(crate) fn numbered(name: &str, number: usize, end: &str) -> String {
    match number {
        1 => format!("{name}{end}"),
        number => format!("{name} {number}{end}"),
    }
}

/// Returns a name that can be a file's and a part of a link's target.
pub(crate) fn safe_name(name: &str) -> String {
    let replace = |c: char| match c {
        '/' | '\\' | '|' | '#' | '^' | '[' | ']' | '<' | '>' | ':' | '*' | '?' | '"' => '-',
        c => c,
    };
    let line: String = brain_page::single_line(name).chars().map(replace).collect();
    let line = line.trim_matches([' ', '.']);
    let line = line[..line.floor_char_boundary(MAX_NAME)].trim_end();
    match line {
        "" => "Untitled".to_owned(),
        // A folder must not have the name of a page's file.
        line if brain_page::is_markdown(std::path::Path::new(line)) => format!("{line}-"),
        line => line.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_loses_inner_folders() {
        let mut paths = Paths::default();
        let name = "x".repeat(MAX_NAME);
        let path = paths.add(vec![name.as_str(); 50], "Note");
        assert!(path.ends_with("x/Note"), "{path}");
        for _ in 0..200 {
            let path = paths.add(vec![name.as_str(); 50], &name);
            brain_page::distinct_slug(&format!("{path}.md")).unwrap();
        }
        assert_eq!(paths.add(["a"; 50], "Note").len(), 104);
        assert_eq!(paths.cut().len(), 201);
    }

    #[test]
    fn equal_paths_get_a_number() {
        let mut paths = Paths::default();
        let mut add = |folders: &[&str], title| paths.add(folders.iter().copied(), title);
        assert_eq!(add(&["A/B", " "], "x:y"), "A-B/Untitled/x-y");
        assert_eq!(add(&[], "Note"), "Note");
        assert_eq!(add(&[], "note"), "note 2");
        assert_eq!(add(&[], "NOTE"), "NOTE 3");
        assert_eq!(add(&["folder"], "Note"), "folder/Note");
    }

    #[test]
    fn name_is_safe_and_short() {
        for (name, safe) in [
            ("", "Untitled"),
            ("..", "Untitled"),
            (" .a\tb\u{7f}. ", "a b"),
            ("[a|b]#c^d", "-a-b--c-d"),
            ("notes.md", "notes.md-"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
        assert_eq!(safe_name(&"€".repeat(100)), "€".repeat(50));
        assert_eq!(safe_name(&format!("{} b", "a".repeat(149))), "a".repeat(149));
    }
}
