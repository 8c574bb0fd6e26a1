//! Which page a name means. A name of several pages means none of them.

use std::collections::HashMap;

use brain_page::normalize_name;

/// Marks around the id of a linked page, in a text whose links were replaced.
pub(crate) const LINK_OPEN: char = '\u{E000}';
pub(crate) const LINK_CLOSE: char = '\u{E001}';

/// The names of all pages.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Normalised name or slug → page; `None` if several pages have it.
    pages: HashMap<String, Option<u64>>,
    /// The names of each page, normalised.
    of_page: HashMap<u64, Vec<String>>,
}

impl Names {
    /// Adds the names of a page: slug, title and aliases.
    pub(crate) fn add<'a>(&mut self, id: u64, slug: &'a str, names: impl Iterator<Item = &'a str>) {
        let mut add = |name: String| {
            let page = self.pages.entry(name).or_insert(Some(id));
            if *page != Some(id) {
                *page = None;
            }
        };
        add(slug.to_owned());
        let last = slug.rsplit('/').next().unwrap_or(slug);
        let own: Vec<String> =
            names.chain([last]).map(normalize_name).filter(|name| !name.is_empty()).collect();
        own.iter().for_each(|name| add(name.clone()));
        self.of_page.insert(id, own);
    }

    /// Returns the page that a text names alone.
    pub(crate) fn page(&self, text: &str) -> Option<u64> {
        if let Some(id) = text.strip_prefix(LINK_OPEN).and_then(|it| it.strip_suffix(LINK_CLOSE)) {
            return id.parse().ok();
        }
        let slug = text.trim_end_matches(".md").trim_start_matches('/');
        *self.pages.get(slug).or_else(|| self.pages.get(&normalize_name(text)))?
    }

    /// Returns the page of a link's target as written.
    pub(crate) fn target(&self, raw: &str) -> Option<u64> {
        let raw = raw.split('#').next().unwrap_or(raw).trim();
        let path = raw.trim_end_matches(".md").trim_start_matches("../").trim_start_matches("./");
        self.page(path).or_else(|| self.page(path.rsplit('/').next()?))
    }

    /// Replaces each link to a page by the id of the page between marks, and other links by their
    /// texts.
    pub(crate) fn replace_links(&self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('[') {
            replaced.push_str(rest[..open].trim_end_matches('!'));
            let Some((target, label, used)) = link_at(&rest[open..]) else {
                replaced.push('[');
                rest = &rest[open + 1..];
                continue;
            };
            match self.target(target) {
                Some(id) => replaced.push_str(&format!("{LINK_OPEN}{id}{LINK_CLOSE}")),
                None => replaced.push_str(label),
            }
            rest = &rest[open + used..];
        }
        replaced + rest
    }

    /// Returns whether several pages have the name.
    pub(crate) fn is_ambiguous(&self, text: &str) -> bool {
        self.pages.get(&normalize_name(text)) == Some(&None)
    }

    /// Returns whether two pages have a name in common.
    pub(crate) fn share_name(&self, a: u64, b: u64) -> bool {
        self.of(a).any(|name| self.of(b).any(|other| name == other))
    }

    /// Returns the names of a page.
    pub(crate) fn of(&self, id: u64) -> impl Iterator<Item = &str> {
        self.of_page.get(&id).into_iter().flatten().map(String::as_str)
    }
}

/// Reads the link at the beginning of a text: target, label, and its length in bytes.
fn link_at(text: &str) -> Option<(&str, &str, usize)> {
    if let Some(inner) = text.strip_prefix("[[") {
        let end = inner.find("]]")?;
        let (target, label) =
            inner[..end].split_once('|').unwrap_or((&inner[..end], &inner[..end]));
        return Some((target, label, end + 4));
    }
    let (label, address) = text.strip_prefix('[')?.split_once("](")?;
    let end = address.find(')')?;
    (!label.contains(['[', ']'])).then(|| (&address[..end], label, label.len() + end + 4))
}
