//! What the text of a note refers to: links, files and footnotes.

use std::collections::{BTreeSet, HashMap};

use brain_convert_base::{Page, link, literal_part};

use super::document::Document;
use super::index::{Index, Note, is_org};
use super::title::anchor;
use crate::files::{PageFiles, reference};
use crate::markdown::{code, web_link};
use crate::source::{Source, folder, resolve};

/// What an import has.
#[derive(Clone, Copy)]
pub(super) struct Import<'a> {
    pub(super) source: &'a Source,
    pub(super) index: &'a Index,
    /// The paths of attachments without the folder `data`, by their end `ab/cdef/name`.
    pub(super) attached: &'a HashMap<String, String>,
}

/// A note that is being written.
pub(super) struct Scope<'a> {
    pub(super) import: Import<'a>,
    pub(super) document: &'a Document<'a>,
    pub(super) note: &'a Note,
    /// The section whose text is being written.
    pub(super) section: usize,
    pub(super) page: Page,
    pub(super) files: PageFiles,
    /// The labels of footnotes that the text refers to, in order.
    pub(super) referenced: Vec<String>,
    /// The texts of footnotes within the text, by label.
    pub(super) inline_notes: Vec<(String, String)>,
    /// What is not shown as Org shows it.
    pub(super) lost: BTreeSet<&'static str>,
    known_labels: BTreeSet<String>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        import: Import<'a>,
        document: &'a Document<'a>,
        note: &'a Note,
        page: Page,
    ) -> Self {
        Self {
            import,
            document,
            note,
            section: note.section,
            page,
            files: PageFiles::default(),
            referenced: Vec::new(),
            inline_notes: Vec::new(),
            lost: BTreeSet::new(),
            known_labels: BTreeSet::new(),
        }
    }

    /// Returns the mark of a footnote. `text` is its text if it is within the text.
    pub(super) fn footnote(&mut self, label: &str, text: Option<String>) -> String {
        let label = match (label, &text) {
            ("", _) => format!("inline-{}", self.inline_notes.len() + 1),
            (label, _) => label.to_owned(),
        };
        let mark = format!("[^{label}]");
        match text {
            Some(text) => self.inline_notes.push((label, text)),
            None if self.known_labels.insert(label.clone()) => self.referenced.push(label),
            None => {}
        }
        mark
    }

    /// Returns a link. `label` is markdown.
    pub(super) fn link(&mut self, target: &str, label: Option<&str>) -> String {
        let target = target.trim();
        if let Some(id) = target.strip_prefix("id:") {
            let (id, place) = id.split_once("::").unwrap_or((id, ""));
            return match self.import.index.with_id(id) {
                Some(note) => to_page(&note.path, place, label, &note.title),
                None => self.unknown(target, label, "a link leads to an ID of no note"),
            };
        }
        if let Some(path) = target.strip_prefix("attachment:") {
            return self.attachment(path, label);
        }
        let is_path = ["./", "../", "/", "~"].iter().any(|start| target.starts_with(start));
        let path = ["file:", "file+sys:", "file+emacs:"]
            .iter()
            .find_map(|scheme| target.strip_prefix(scheme))
            .or_else(|| is_path.then_some(target));
        if let Some(path) = path {
            return self.file(path, label);
        }
        if let Some(title) = target.strip_prefix("roam:") {
            let note = self.import.index.titled(title);
            return match note {
                Some(note) => to_page(&note.path, "", label, &note.title),
                None => link(&anchor(title), label.unwrap_or(title)),
            };
        }
        if let Some(doi) = target.strip_prefix("doi:") {
            return web_link(&format!("https://doi.org/{doi}"), label.unwrap_or(target));
        }
        let scheme = target.split_once(':').map(|(scheme, _)| scheme);
        match scheme {
            Some("http" | "https" | "ftp" | "mailto" | "tel" | "geo" | "news" | "irc") => {
                web_link(target, label.unwrap_or_default())
            }
            Some(scheme) if is_scheme(scheme) => {
                self.unknown(target, label, "a link is for a program; it is code")
            }
            _ => self.heading(target, label),
        }
    }

    /// A link that leads nowhere: its label, and its target as code.
    fn unknown(&mut self, target: &str, label: Option<&str>, reason: &'static str) -> String {
        self.lost.insert(reason);
        match label {
            Some(label) => format!("{label} ({})", code(target)),
            None => code(target),
        }
    }

    /// A link to a file, or to a place in a file of Org.
    fn file(&mut self, path: &str, label: Option<&str>) -> String {
        let (path, place) = path.split_once("::").unwrap_or((path, ""));
        let import = self.import;
        // A blank can be written as in an address.
        let found = [path.to_owned(), path.replace("%20", " ")].into_iter().find_map(|path| {
            let found = resolve(folder(&self.note.file), &path);
            found.filter(|found| !path.starts_with(['/', '~']) && import.source.has(found))
        });
        let Some(found) = found else {
            self.files.miss(path);
            return match label {
                Some(label) => format!("{label} ({})", code(path)),
                None => code(path),
            };
        };
        if is_org(&found) {
            let heading = place.trim_start_matches('*');
            let note = import.index.heading(&found, heading).map(|note| (note, ""));
            let note = note.or_else(|| import.index.at(&found, 0).map(|note| (note, place)));
            if let Some((note, place)) = note {
                return to_page(&note.path, place, label, &note.title);
            }
        }
        self.attach(&found, label)
    }

    fn attach(&mut self, path: &str, label: Option<&str>) -> String {
        match self.files.attach(self.import.source, &mut self.page, path) {
            Some(name) => reference(&name, label.unwrap_or_default()),
            None => code(path),
        }
    }

    /// A file of `org-attach`: in the directory of the property DIR, or of the ID, of the heading
    /// or one above it.
    fn attachment(&mut self, path: &str, label: Option<&str>) -> String {
        let name = path.split("::").next().unwrap_or(path);
        let mut at = self.section;
        while let Some(section) = self.document.sections.get(at) {
            let directory = section.property("DIR").or_else(|| section.property("ATTACH_DIR"));
            let in_directory = directory
                .and_then(|it| resolve(folder(&self.note.file), &format!("{it}/{name}")))
                .filter(|found| self.import.source.has(found));
            let by_id = section.property("ID").and_then(|id| {
                // The first two characters are a folder; of a time as ID, the first six.
                [2, 6].iter().find_map(|split| {
                    let key = format!("{}/{}/{name}", id.get(..*split)?, id.get(*split..)?);
                    self.import.attached.get(&key).cloned()
                })
            });
            if let Some(found) = in_directory.or(by_id) {
                return self.attach(&found, label);
            }
            if at == 0 {
                break;
            }
            at = section.parent;
        }
        self.files.miss(path);
        match label {
            Some(label) => format!("{label} ({})", code(path)),
            None => code(path),
        }
    }

    /// A link to a heading of the same file: `*Heading`, `#custom-id`, or the text of one.
    fn heading(&mut self, target: &str, label: Option<&str>) -> String {
        let wanted = target.trim_start_matches('*').trim();
        let index = match target.strip_prefix('#') {
            Some(id) => self.document.custom_ids.get(id).copied(),
            None => self.document.headings.get(&wanted.to_lowercase()).copied(),
        };
        let section = index.and_then(|index| Some((index, self.document.sections.get(index)?)));
        let Some((index, section)) = section else {
            self.lost.insert("a link leads to a place that is not there; its text stays");
            return match label {
                Some(label) => label.to_owned(),
                None => literal_part(target),
            };
        };
        let mut at = index;
        loop {
            if let Some(note) = self.import.index.at(&self.note.file, at) {
                let place = if at == index { "" } else { section.title };
                return to_page(&note.path, place, label, section.title);
            }
            if at == 0 {
                return label.map_or_else(|| literal_part(wanted), str::to_owned);
            }
            at = self.document.sections.get(at).map_or(0, |section| section.parent);
        }
    }
}

/// Returns a link to a page, or to a heading `*Heading` in it.
fn to_page(path: &str, place: &str, label: Option<&str>, title: &str) -> String {
    // A label within brackets shows its text; marks of emphasis would be part of it.
    let label = label.map(|label| label.replace('\\', ""));
    let heading = match place.strip_prefix('*') {
        Some(heading) => anchor(heading),
        None if place.starts_with('#') || place.chars().all(|c| c.is_ascii_digit()) => {
            String::new()
        }
        None => anchor(place),
    };
    let shown =
        label.unwrap_or_else(|| if heading.is_empty() { title } else { &heading }.to_owned());
    match heading.as_str() {
        "" => link(path, &shown),
        heading => link(&format!("{path}#{heading}"), &shown),
    }
}

/// Returns whether the text before a colon is a scheme, as in `elisp:`.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c))
}
