//! The files of a vault: which are pages, which belong to pages, and which were used.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;

use brain_convert_base::{Entry, Output, Page, Tree, decode_text};
use brain_page::percent_decode;
use brain_protocol::MAX_ATTACHMENT;
use unicode_normalization::UnicodeNormalization as _;

/// Maximum size of a text that is read, in bytes. A page can have less.
const MAX_TEXT: usize = 20_000_000;
/// Maximum length of a path in a link, in bytes.
const MAX_PATH: usize = 8192;

/// The files of a directory or archive, and the paths of their pages.
pub(crate) struct Vault<'a> {
    pub(crate) tree: &'a Tree,
    /// The files by path and by name, without case and in one normal form.
    paths: HashMap<String, usize>,
    names: HashMap<String, Vec<usize>>,
    /// The paths of the pages, by the number of their file.
    pages: HashMap<usize, String>,
    /// The files that became pages or attachments, or were reported.
    used: HashSet<usize>,
}

/// The files of one page: the numbers of the files, and their names in the page.
pub(crate) type Attached = Vec<(usize, String)>;

impl<'a> Vault<'a> {
    pub(crate) fn new(tree: &'a Tree) -> Self {
        let mut vault = Self {
            tree,
            paths: HashMap::new(),
            names: HashMap::new(),
            pages: HashMap::new(),
            used: HashSet::new(),
        };
        for (number, entry) in tree.entries().iter().enumerate() {
            vault.paths.entry(key(&entry.path)).or_insert(number);
            vault.names.entry(key(entry.name())).or_default().push(number);
        }
        vault
    }

    /// Notes that a file becomes the page at `path`.
    pub(crate) fn add_page(&mut self, number: usize, path: String) {
        self.used.insert(number);
        self.pages.insert(number, path);
    }

    /// Notes that a file needs no line in the report.
    pub(crate) fn mark_used(&mut self, number: usize) {
        self.used.insert(number);
    }

    /// Returns the path of the page that a file becomes.
    pub(crate) fn page(&self, number: usize) -> Option<&str> {
        self.pages.get(&number).map(String::as_str)
    }

    pub(crate) fn entry(&self, number: usize) -> Option<&'a Entry> {
        self.tree.entries().get(number)
    }

    /// Returns the file at a path from the root: exactly this one, or one that differs in case.
    pub(crate) fn find(&self, path: &str) -> Option<usize> {
        let exact = self.tree.entries().binary_search_by(|entry| entry.path.as_str().cmp(path));
        exact.ok().or_else(|| self.paths.get(&key(path)).copied())
    }

    /// Returns the file to which an address leads from a folder. Resolves percent-encoding if the
    /// address as it is written leads to none.
    pub(crate) fn find_from(&self, folder: &str, address: &str) -> Option<usize> {
        let find = |path: &str| self.find(&resolve(folder, path)?);
        find(&percent_decode(address)).or_else(|| find(address))
    }

    /// Returns the files with a name, in the order of their paths.
    pub(crate) fn find_name(&self, name: &str) -> &[usize] {
        self.names.get(&key(name)).map_or(&[], Vec::as_slice)
    }

    /// Attaches a file to a page, once, with the name that `named` makes of its own. Returns its name
    /// in the page.
    pub(crate) fn attach(
        &mut self,
        page: &mut Page,
        attached: &mut Attached,
        number: usize,
        named: fn(&str) -> Cow<'_, str>,
    ) -> String {
        if let Some((_, name)) = attached.iter().find(|(known, _)| *known == number) {
            return name.clone();
        }
        let wish = self.entry(number).map_or("file", Entry::name);
        let name = page.attach(&named(wish));
        self.used.insert(number);
        attached.push((number, name.clone()));
        name
    }

    /// Writes the files of the page that was written last.
    pub(crate) fn write_files(
        &self,
        page: &Page,
        attached: &Attached,
        out: &mut Output<'_>,
    ) -> io::Result<()> {
        for (number, name) in attached {
            let Some(entry) = self.entry(*number) else { continue };
            match self.tree.read(entry, MAX_ATTACHMENT) {
                Ok(Some(bytes)) => out.file(page, name, &bytes)?,
                Ok(None) => out.lost(
                    &entry.path,
                    &format!(
                        "it has more than {MAX_ATTACHMENT} bytes, the limit for a file of a page"
                    ),
                )?,
                Err(error) => out.lost(&entry.path, &format!("it cannot be read: {error}"))?,
            }
        }
        Ok(())
    }

    /// Reads a text. Reports what is wrong with it. Returns `None` if there is none.
    pub(crate) fn text(&self, entry: &Entry, out: &mut Output<'_>) -> io::Result<Option<String>> {
        let bytes = match self.tree.read(entry, MAX_TEXT) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                out.lost(&entry.path, &format!("it has more than {MAX_TEXT} bytes"))?;
                return Ok(None);
            }
            Err(error) => {
                out.lost(&entry.path, &format!("it cannot be read: {error}"))?;
                return Ok(None);
            }
        };
        let has_mark = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
        if !has_mark && std::str::from_utf8(&bytes).is_err() {
            out.lost(&entry.path, "it is not UTF-8; it was read as Windows-1252")?;
        }
        let text = decode_text(&bytes);
        // A page cannot have NUL characters, and lines end in one way.
        let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
        Ok(Some(if text.contains('\r') { text.replace("\r\n", "\n") } else { text }))
    }

    /// Reports the files that are in no page. `reason` returns why a file is none, or `None` for the
    /// usual reason.
    pub(crate) fn report_unused(
        &self,
        out: &mut Output<'_>,
        reason: impl Fn(&Entry) -> Option<String>,
    ) -> io::Result<()> {
        for (number, entry) in self.tree.entries().iter().enumerate() {
            if !self.used.contains(&number) {
                let usual = || "no page that was imported refers to it".to_owned();
                out.lost(&entry.path, &reason(entry).unwrap_or_else(usual))?;
            }
        }
        Ok(())
    }
}

/// Reports each reason why a page is not complete once.
pub(crate) fn report(from: &str, reasons: Vec<String>, out: &mut Output<'_>) -> io::Result<()> {
    let mut known = HashSet::new();
    for reason in reasons {
        if !known.contains(&reason) {
            out.lost(from, &reason)?;
            known.insert(reason);
        }
    }
    Ok(())
}

/// Returns the name of a file for its attachment: the same.
pub(crate) fn own_name(name: &str) -> Cow<'_, str> {
    Cow::Borrowed(name)
}

/// Returns a path as it is compared: without case, in one normal form.
pub(crate) fn key(path: &str) -> String {
    if path.is_ascii() {
        path.to_ascii_lowercase()
    } else {
        path.nfc().collect::<String>().to_lowercase()
    }
}

/// Returns a path that starts in `folder` as a path from the root. `None` if it leaves the root.
pub(crate) fn resolve(folder: &str, path: &str) -> Option<String> {
    if path.len() > MAX_PATH {
        return None;
    }
    let (folder, path) = path.strip_prefix('/').map_or((folder, path), |path| ("", path));
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns whether an address leads out of the vault: it has a scheme or names a host.
pub(crate) fn is_external(address: &str) -> bool {
    let has_scheme = address.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
    });
    has_scheme || address.starts_with("//")
}

/// Splits an address into its path, and its anchor without `#`. A query is dropped.
pub(crate) fn split_anchor(address: &str) -> (&str, &str) {
    let (path, anchor) = address.split_once('#').unwrap_or((address, ""));
    (path, anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_resolves_from_its_folder_and_stays_inside() {
        for (folder, path, expected) in [
            ("a/b", "c.md", Some("a/b/c.md")),
            ("a/b", "../c.md", Some("a/c.md")),
            ("a", "/c.md", Some("c.md")),
            ("a", "./x//y", Some("a/x/y")),
            ("a", "../../c.md", None),
        ] {
            assert_eq!(resolve(folder, path).as_deref(), expected, "{folder} {path}");
        }
    }

    #[test]
    fn an_address_with_a_scheme_is_external() {
        for address in ["https://a.b", "mailto:x", "//host/a", "evernote:///view"] {
            assert!(is_external(address), "{address}");
        }
        for address in ["a.md", "12:30.md", "../a:b/c", "#x"] {
            assert!(!is_external(address), "{address}");
        }
    }
}
