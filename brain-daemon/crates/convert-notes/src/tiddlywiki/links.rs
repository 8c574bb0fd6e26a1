//! Resolves the titles that a page names: to pages, and to files that the page gets.

use std::collections::{HashMap, HashSet};

use super::tiddler::Kind;
use brain_convert_base::{Page, link};

/// A tiddler, without its text.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) title: String,
    /// What names it for people.
    pub(super) from: String,
    pub(super) location: super::entry::Location,
    pub(super) created: Option<jiff::Timestamp>,
    pub(super) kind: Kind,
    /// The path of its page.
    pub(super) path: String,
    /// The extension of its file, if it has bytes.
    pub(super) extension: Option<&'static str>,
    /// The address of its file, if that is not in the wiki.
    pub(super) address: Option<String>,
}

/// What a page refers to.
pub(super) struct Links<'a> {
    entries: &'a [Entry],
    titles: &'a HashMap<String, usize>,
    wiki_words: bool,
    pub(super) page: Page,
    /// The files of the page: the index of the entry and the name in the page.
    pub(super) files: Vec<(usize, String)>,
    known: HashMap<usize, String>,
    /// Whether the text has macros or widgets, which stay as code.
    pub(super) has_macros: bool,
    /// Whether lists or tables of HTML became lines.
    pub(super) has_flat_html: bool,
    /// Whether scripts or styles were dropped.
    pub(super) has_scripts: bool,
    /// Number of words that HTML hides.
    pub(super) hidden_words: usize,
    /// Titles of pictures that are not in the wiki.
    pub(super) missing: HashSet<String>,
}

impl<'a> Links<'a> {
    pub(super) fn new(
        entries: &'a [Entry],
        titles: &'a HashMap<String, usize>,
        wiki_words: bool,
        page: Page,
    ) -> Self {
        Self {
            entries,
            titles,
            wiki_words,
            page,
            files: Vec::new(),
            known: HashMap::new(),
            has_macros: false,
            hidden_words: 0,
            has_flat_html: false,
            has_scripts: false,
            missing: HashSet::new(),
        }
    }

    pub(super) fn has_wiki_words(&self) -> bool {
        self.wiki_words
    }

    pub(super) fn has_title(&self, title: &str) -> bool {
        self.titles.contains_key(title)
    }

    fn entry(&self, title: &str) -> Option<(usize, &'a Entry)> {
        let index = *self.titles.get(title)?;
        self.entries.get(index).map(|entry| (index, entry))
    }

    /// Returns the name of a file in the page. The page gets the file at its first use.
    pub(super) fn attach(&mut self, index: usize) -> Option<String> {
        if let Some(name) = self.known.get(&index) {
            return Some(name.clone());
        }
        let entry = self.entries.get(index)?;
        let extension = entry.extension?;
        let base = entry.title.rsplit('/').next().unwrap_or(&entry.title);
        let has_extension = base.rsplit_once('.').is_some_and(|(stem, end)| {
            let length = end.len();
            !stem.is_empty() && (1..=5).contains(&length) && end.chars().all(char::is_alphanumeric)
        });
        let wish = match has_extension || extension.is_empty() {
            true => base.to_owned(),
            false => format!("{base}.{extension}"),
        };
        let name = self.page.attach(&wish);
        self.files.push((index, name.clone()));
        self.known.insert(index, name.clone());
        Some(name)
    }

    /// Returns a link to a tiddler. One that does not exist becomes a link to a page of its title,
    /// which does not exist either.
    pub(super) fn link(&mut self, title: &str, label: &str) -> String {
        let (path, label) = match self.entry(title) {
            Some((index, Entry { kind: Kind::Binary, extension: Some(_), .. })) => {
                (self.attach(index).unwrap_or_default(), label)
            }
            Some((_, entry)) if matches!(entry.kind, Kind::Note | Kind::Binary) => {
                (entry.path.clone(), label)
            }
            _ if title.starts_with("$:/") || title.is_empty() => {
                return brain_page::escape_inline(&brain_page::single_line(label));
            }
            _ => (missing(title), label),
        };
        link(&path, label)
    }

    /// Returns a picture.
    pub(super) fn image(&mut self, title: &str, alt: &str) -> String {
        let name = match self.entry(title) {
            Some((_, Entry { address: Some(address), extension: None, .. }))
                if address.starts_with("http") && !address.contains(['<', '>', '\n']) =>
            {
                let alt = brain_page::escape_inline(&brain_page::single_line(alt));
                return format!("![{alt}](<{address}>)");
            }
            Some((index, Entry { extension: Some(_), .. })) => {
                self.attach(index).unwrap_or_default()
            }
            Some((_, entry)) if !entry.path.is_empty() => entry.path.clone(),
            _ => {
                self.missing.insert(title.to_owned());
                missing(title)
            }
        };
        format!("!{}", link(&name, alt))
    }

    /// Returns what `{{title}}` shows, or `None` if that is more than a whole tiddler.
    pub(super) fn embed(&mut self, title: &str) -> Option<String> {
        let title = title.trim();
        match self.entry(title)? {
            (index, Entry { extension: Some(_), .. }) => {
                self.attach(index).map(|name| format!("![[{name}]]"))
            }
            (_, entry) if matches!(entry.kind, Kind::Note | Kind::Binary) => {
                Some(format!("![[{}]]", entry.path))
            }
            _ => None,
        }
    }
}

/// Returns the title as the target of a link.
fn missing(title: &str) -> String {
    brain_page::single_line(title).replace(['[', ']', '|', '#', '^', '<', '>'], "-")
}
