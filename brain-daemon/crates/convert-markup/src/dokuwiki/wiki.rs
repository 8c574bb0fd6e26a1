//! The pages and files of a wiki, and what the links in them name.

use std::collections::HashMap;

use brain_convert_base::Paths;

use super::heading::first_heading;
use crate::rest::is_hidden;
use crate::source::{Source, name};

/// The folders of a wiki, with `/` at the end.
pub(super) struct Folders {
    pub(super) pages: String,
    media: String,
    meta: String,
}

/// A page.
pub(super) struct Entry {
    /// The path of its file.
    pub(super) file: String,
    /// Its name: `namespace:page`.
    pub(super) id: String,
    /// Its first heading; empty if it has none.
    pub(super) title: String,
    /// The path of its page in brain.
    pub(super) path: String,
}

/// A wiki.
pub(super) struct Wiki {
    pub(super) folders: Folders,
    pub(super) entries: Vec<Entry>,
    /// Pages by name.
    by_id: HashMap<String, usize>,
    /// The paths of files by name.
    media: HashMap<String, String>,
}

impl Folders {
    /// Finds the folders: those of `data/pages`, or of `pages`, or all for a part of a wiki.
    pub(super) fn of<'p>(paths: &(impl Iterator<Item = &'p str> + Clone)) -> Self {
        let base = |start: &str| {
            paths.clone().find_map(|path| {
                let at = match path.strip_prefix(start) {
                    Some(_) => 0,
                    None => path.find(&format!("/{start}"))? + 1,
                };
                path.get(..at).map(str::to_owned)
            })
        };
        let base = base("data/pages/").map(|base| base + "data/").or_else(|| base("pages/"));
        match base {
            Some(base) => Self {
                pages: format!("{base}pages/"),
                media: format!("{base}media/"),
                meta: format!("{base}meta/"),
            },
            None => {
                Self { pages: String::new(), media: "media/".to_owned(), meta: "meta/".to_owned() }
            }
        }
    }

    /// Returns the name of the page whose file this is.
    pub(super) fn page_id(&self, path: &str) -> Option<String> {
        let below = path.strip_prefix(&self.pages)?.strip_suffix(".txt")?;
        (!is_hidden(below) && !below.starts_with('_')).then(|| id(below))
    }

    /// Returns the path of the changes of a page.
    pub(super) fn changes(&self, file: &str) -> Option<String> {
        let below = file.strip_prefix(&self.pages)?.strip_suffix(".txt")?;
        Some(format!("{}{below}.changes", self.meta))
    }

    /// Returns the part of a wiki to which a file belongs that is not read: a folder of its data,
    /// or the program.
    pub(super) fn part<'p>(&self, path: &'p str) -> &'p str {
        let data = self.pages.strip_suffix("pages/").unwrap_or_default();
        match path.strip_prefix(data) {
            Some(below) if !data.is_empty() => {
                let length = below.find('/').unwrap_or(below.len());
                path.get(..data.len() + length).unwrap_or(path)
            }
            _ if data.is_empty() => path,
            _ => "files of the program",
        }
    }

    /// Returns whether a file has changes or other facts of a page.
    pub(super) fn is_meta(&self, path: &str) -> bool {
        path.starts_with(&self.meta)
    }
}

/// Returns the name of a page or file for its path: names are percent-encoded in paths.
fn id(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let value = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(value.unwrap_or(if *first == b'/' { b':' } else { *first }));
        rest = after.get(if value.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Wiki {
    /// Finds the pages and files.
    pub(super) fn read(source: &Source) -> Self {
        let folders = Folders::of(&source.files().iter().map(String::as_str));
        let (mut paths, mut entries, mut by_id) = (Paths::default(), Vec::new(), HashMap::new());
        let mut media = HashMap::new();
        for file in source.files() {
            if let Some(below) = file.strip_prefix(&folders.media) {
                media.insert(id(below).to_lowercase(), file.clone());
            }
            let Some(id) = folders.page_id(file) else { continue };
            let head = source.head(file, 16 * 1024);
            let title = first_heading(&String::from_utf8_lossy(&head)).unwrap_or_default();
            let names: Vec<&str> = id.split(':').collect();
            let Some((last, above)) = names.split_last() else { continue };
            let path = paths.add(above.iter().copied(), last);
            by_id.insert(id.to_lowercase(), entries.len());
            entries.push(Entry { file: file.clone(), id, title, path });
        }
        Self { folders, entries, by_id, media }
    }

    /// Returns the page that a link names, or the path at which it would be.
    pub(super) fn page(&self, from: &str, target: &str) -> Result<&Entry, String> {
        let id = resolve(from, target);
        let last = id.rsplit(':').find(|name| !name.is_empty()).unwrap_or("start").to_owned();
        // A namespace is its start page, the page of its name in it, or the page beside it.
        let candidates = match id.strip_suffix(':') {
            Some(space) => {
                vec![format!("{id}start"), format!("{id}{last}"), space.to_owned()]
            }
            None => vec![id.clone()],
        };
        let known = |id: &String| self.by_id.get(id).or_else(|| self.by_id.get(&deaccented(id)));
        let found = candidates.iter().find_map(known);
        let found = found.and_then(|index| self.entries.get(*index));
        found.ok_or_else(|| candidates.first().cloned().unwrap_or(id).replace(':', "/"))
    }

    /// Returns the path of the file that `{{name}}` names.
    pub(super) fn media(&self, from: &str, target: &str) -> Option<&String> {
        let id = resolve(from, target);
        self.media.get(&id).or_else(|| self.media.get(&deaccented(&id)))
    }

    /// Returns whether a file is one of the wiki's files.
    pub(super) fn is_media(&self, path: &str) -> bool {
        path.starts_with(&self.folders.media) && !is_hidden(name(path))
    }
}

/// Returns the name that a link means on the page `from` (rules of `cleanID` and the resolvers).
fn resolve(from: &str, target: &str) -> String {
    let target = target.trim().replace(['/', ';'], ":");
    let space = from.rsplit_once(':').map_or("", |(space, _)| space);
    let mut names: Vec<String> = Vec::new();
    let is_relative = target.starts_with('.') || !target.contains(':');
    if is_relative {
        names.extend(space.split(':').filter(|name| !name.is_empty()).map(str::to_owned));
    }
    // `.page` and `..page` are short for `.:page` and `..:page`.
    let dots = target.bytes().take_while(|byte| *byte == b'.').count();
    let rest = target.get(dots..).unwrap_or_default();
    for _ in 1..dots.min(100) {
        names.pop();
    }
    for name in rest.split(':') {
        match name {
            ".." => _ = names.pop(),
            name => {
                let name = clean(name);
                if !name.is_empty() {
                    names.push(name);
                }
            }
        }
    }
    let end = if target.ends_with(':') { ":" } else { "" };
    names.join(":") + end
}

/// Returns a name as DokuWiki writes it: in lower case, without characters that it does not allow.
fn clean(name: &str) -> String {
    let allowed = |c: char| if c.is_alphanumeric() || ".-".contains(c) { c } else { '_' };
    let name: String = name.trim().to_lowercase().chars().map(allowed).collect();
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if !(c == '_' && out.ends_with('_')) {
            out.push(c);
        }
    }
    out.trim_matches(['_', '.', '-']).to_owned()
}

/// Returns a name without accents, as DokuWiki writes it if it is set up so (`utf8_deaccent`).
fn deaccented(id: &str) -> String {
    const LETTERS: [(&str, &str); 26] = [
        ("ä", "ae"),
        ("ö", "oe"),
        ("ü", "ue"),
        ("ß", "ss"),
        ("æ", "ae"),
        ("œ", "oe"),
        ("þ", "th"),
        ("àáâãåāăą", "a"),
        ("çćĉċč", "c"),
        ("ďđ", "d"),
        ("ð", "dh"),
        ("èéêëēĕėęě", "e"),
        ("ĝğġģ", "g"),
        ("ĥħ", "h"),
        ("ìíîïĩīĭįı", "i"),
        ("ĵ", "j"),
        ("ķ", "k"),
        ("ĺļľŀł", "l"),
        ("ñńņňŉ", "n"),
        ("òóôõøōŏő", "o"),
        ("ŕŗř", "r"),
        ("śŝşšș", "s"),
        ("ţťŧț", "t"),
        ("ùúûũūŭůűų", "u"),
        ("ýÿŷ", "y"),
        ("źżž", "z"),
    ];
    let mut out = String::with_capacity(id.len());
    for c in id.chars() {
        match LETTERS.iter().find(|(letters, _)| letters.contains(c)) {
            Some((_, plain)) => out.push_str(plain),
            None => out.push(c),
        }
    }
    out
}
