//! The beginning of a file or directory, by which its format is known.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::Tree;

/// How many names of a directory are looked at.
const MAX_NAMES: usize = 2000;
/// How much of a file is looked at, in bytes.
const MAX_HEAD: u64 = 64 * 1024;

/// The beginning of a file or directory.
pub struct Sample {
    path: PathBuf,
    /// The names in a directory, sorted; `None` for a file.
    names: Option<Vec<String>>,
    /// The beginning of a file, without a byte order mark.
    head: Vec<u8>,
    tree: OnceCell<Option<Tree>>,
}

impl Sample {
    /// Reads the beginning of a file or directory.
    pub fn of(path: &Path) -> io::Result<Self> {
        if !path.is_dir() {
            return Ok(Self {
                path: path.to_owned(),
                names: None,
                head: head(path)?,
                tree: OnceCell::new(),
            });
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(path)?.take(MAX_NAMES) {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(Self {
            path: path.to_owned(),
            names: Some(names),
            head: Vec::new(),
            tree: OnceCell::new(),
        })
    }

    /// The path of the file or directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All files of the directory or ZIP archive; `None` for another file, or if they cannot be
    /// listed.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.get_or_init(|| Tree::open(&self.path).ok().flatten()).as_ref()
    }

    /// The beginning of the file as text; empty for a directory. Bytes that are not UTF-8 become
    /// replacement characters.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.head).into_owned()
    }

    /// The bytes at the beginning of the file.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The names in the directory, sorted; none for a file.
    pub fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }

    /// The beginning of a directory in the directory; `None` for a file or a link.
    pub fn inside(&self, name: &str) -> Option<Self> {
        let path = self.path.join(name);
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        is_dir.then(|| Self::of(&path).ok()).flatten()
    }

    /// The beginning of a file in the directory as text; empty if it cannot be read.
    pub fn text_of(&self, name: &str) -> String {
        let head = head(&self.path.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&head).into_owned()
    }
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    // A pipe or device could block for ever.
    if !fs::metadata(path)?.is_file() {
        return Ok(head);
    }
    File::open(path)?.take(MAX_HEAD).read_to_end(&mut head)?;
    Ok(head.strip_prefix(b"\xEF\xBB\xBF").map(<[u8]>::to_vec).unwrap_or(head))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn sample_of_a_file_is_its_beginning_without_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        fs::write(&path, "\u{feff}a€".repeat(20_000)).unwrap();
        let sample = Sample::of(&path).unwrap();
        assert_eq!(sample.head().len(), 64 * 1024 - 3);
        assert!(sample.text().starts_with("a€\u{feff}a"));
        assert!(sample.names().is_empty() && sample.tree().is_none());
        assert!(Sample::of(&dir.path().join("none")).is_err());
    }

    #[test]
    fn sample_of_a_directory_has_its_names_and_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/x"), "1").unwrap();
        fs::write(at("b"), "\u{feff}two").unwrap();
        symlink(at("sub"), at("link")).unwrap();
        let sample = Sample::of(dir.path()).unwrap();
        assert_eq!(sample.names(), ["b", "link", "sub"]);
        assert!(sample.head().is_empty());
        assert_eq!((sample.text_of("b"), sample.text_of("none")), ("two".into(), String::new()));
        assert_eq!(sample.inside("sub").unwrap().names(), ["x"]);
        assert!(sample.inside("b").is_none() && sample.inside("link").is_none());
        let tree = sample.tree().unwrap();
        assert!(tree.entry("sub/x").is_some() && tree.entry("link").is_none());
    }
}
