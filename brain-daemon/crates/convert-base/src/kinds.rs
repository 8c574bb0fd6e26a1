//! Whether the files of a directory are of one format.

use std::path::Path;

use crate::{Entry, Tree};

/// Endings of files that are imported each by itself, unless they belong to an export.
const DOCUMENTS: [&str; 19] = [
    "csv", "ctd", "docx", "eml", "enex", "epub", "htm", "html", "ics", "mbox", "note", "odt",
    "org", "pdf", "tid", "txt", "vcf", "vcs", "xhtml",
];

impl Tree {
    /// Returns whether there is a file of markdown that is not hidden. A directory with one is no
    /// "directory of files" of another format, or its markdown would be left out.
    pub fn has_markdown(&self) -> bool {
        self.shown().any(|entry| brain_page::is_markdown(Path::new(&entry.path)))
    }

    /// Returns whether most documents are files of a format, and no other file is markdown. This
    /// decides for a format whose directories have no file that marks them. One file must not take
    /// over a directory, because all others would be left out. The files of a directory that is not
    /// recognised are imported each by itself. Hidden files do not count.
    pub fn is_mostly(&self, is_of_format: impl Fn(&Entry) -> bool) -> bool {
        self.is_mostly_beside(is_of_format, |_| false)
    }

    /// Does what [`Self::is_mostly`] does, without counting files that the format reads beside its
    /// own, such as a `README.md`.
    pub fn is_mostly_beside(
        &self,
        is_of_format: impl Fn(&Entry) -> bool,
        is_beside: impl Fn(&Entry) -> bool,
    ) -> bool {
        let (mut ours, mut others) = (0_usize, 0_usize);
        for entry in self.shown().filter(|entry| !is_beside(entry)) {
            if is_of_format(entry) {
                ours += 1;
            } else if brain_page::is_markdown(Path::new(&entry.path)) {
                return false;
            } else if DOCUMENTS.contains(&entry.extension().as_str()) {
                others += 1;
            }
        }
        ours > others
    }

    /// The files that are not hidden, and in no hidden folder.
    fn shown(&self) -> impl Iterator<Item = &Entry> {
        let is_hidden = |entry: &Entry| entry.path.split('/').any(|name| name.starts_with('.'));
        self.entries().iter().filter(move |entry| !is_hidden(entry))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_beside_a_format_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["README.md", "a.org", "b.txt"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let tree = Tree::open(dir.path()).unwrap().unwrap();
        let is = |names: &'static [&'static str]| move |it: &Entry| names.contains(&it.name());
        assert!(!tree.is_mostly_beside(is(&["a.org"]), is(&["README.md"])));
        assert!(tree.is_mostly_beside(is(&["a.org"]), is(&["README.md", "b.txt"])));
    }

    fn is_mostly_org(names: &[&str]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let tree = Tree::open(dir.path()).unwrap().unwrap();
        tree.is_mostly(|entry| entry.extension() == "org")
    }

    #[test]
    fn most_documents_and_no_markdown_make_a_format() {
        for names in [
            &["a.org"][..],
            &["a.org", "b/c.org", "b/d.pdf", "e.png", "f.png", "g.png"],
            &["a.org", ".git/x.md", "b/.hidden.md", ".trash/1.txt"],
        ] {
            assert!(is_mostly_org(names), "{names:?}");
        }
        for names in [
            &[][..],
            &["a.png"],
            &["a.org", "b.org", "c.org", "README.md"],
            &["a.org", "b.org", "c/d.MARKDOWN"],
            &["a.org", "b.docx"],
            &["a.org", "b.txt", "c.txt"],
        ] {
            assert!(!is_mostly_org(names), "{names:?}");
        }
    }
}
