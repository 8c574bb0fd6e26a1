//! The links of a page, as written. Knows the page's own slug, but not which pages exist: the
//! caller resolves names, tries the second candidate, and keeps links to pages that do not exist
//! yet.

use super::frontmatter::Frontmatter;
use super::markdown::for_each_event;
use super::prose::{MARKDOWN, comments_and_formulas, is_in};
use brain_protocol::{Slug, SourceId};
use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use unicode_normalization::UnicodeNormalization;

/// Maximum number of links of one page; further ones are ignored.
pub const MAX_LINKS: usize = 100_000;

/// The kind of a link in the body.
pub const MENTIONS: &str = "mentions";

/// Frontmatter keys whose values are links even without brackets. Values of other keys need an
/// explicit `[[…]]`.
pub const LINK_KEYS: [&str; 38] = [
    "acquired",
    "acquired_by",
    "advises",
    "advisor",
    "advisors",
    "attendees",
    "board",
    "children",
    "client",
    "clients",
    "companies",
    "company",
    "contacts",
    "customer",
    "customers",
    "employees",
    "employer",
    "event",
    "founded",
    "founder",
    "founders",
    "invested_in",
    "investments",
    "investor",
    "investors",
    "manager",
    "meeting",
    "members",
    "organization",
    "parent",
    "participants",
    "partners",
    "people",
    "person",
    "project",
    "projects",
    "related",
    "source_page",
];

/// Keys whose values are never links, even with brackets: they name the page itself.
const NO_LINK_KEYS: [&str; 7] = ["title", "aliases", "alias", "tags", "tag", "type", "slug"];

/// Returns whether a frontmatter key can have links.
#[must_use]
pub fn is_link_key(key: &str) -> bool {
    !NO_LINK_KEYS.contains(&key)
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// The page or name to which the link leads.
    pub target: LinkTarget,
    /// [`MENTIONS`] for the body, else the frontmatter key, in lower case with `_` for `-` and
    /// spaces.
    pub kind: String,
    /// The shown text, at most 200 characters; empty if there is none.
    pub text: String,
    /// The target as written.
    pub raw: String,
}

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LinkTarget {
    /// A path.
    Slug {
        /// The source, if the link names one; else the page's own.
        source: Option<SourceId>,
        /// The path from the source's root; for `./x` and `../x`, from the page's folder.
        slug: Slug,
        /// The second candidate: the same path from the page's folder, if the link is ambiguous and
        /// the paths differ.
        alternative: Option<Slug>,
    },
    /// A bare name as returned by [`normalize_name`], which matches a file name, title, or alias.
    Name(String),
}

/// Returns the links of the page `slug`: first those of the frontmatter, then those of the body,
/// each `(target, kind)` once, at most [`MAX_LINKS`]. Linear in the length of the page.
///
/// In the body: markdown links (inline and by reference), `[[slug]]`, `[[slug|text]]`,
/// `[[source:slug]]`, `[[slug#heading]]`, `![[slug]]`, bare `[[name]]`, and `![](page.md)`, outside
/// of code, `%%comments%%` and `$$formulas$$`. Ignores other schemes, `//host`, anchors of the page
/// itself, images and other media, and paths that leave the root or are not slugs.
#[must_use]
pub fn links(slug: &Slug, body: &str, frontmatter: &Frontmatter) -> Vec<PageLink> {
    let mut links = Vec::new();
    for_each_link(slug, body, frontmatter, |link| links.push(link));
    links
}

/// Calls `each` with the links that [`links`] returns.
pub fn for_each_link(
    slug: &Slug,
    body: &str,
    frontmatter: &Frontmatter,
    mut each: impl FnMut(PageLink),
) {
    let reader = LinkReader::of(slug);
    let (hashes, hasher) = (HashSet::new(), RandomState::new());
    let mut found = LinkCollector { reader, each: &mut each, hashes, hasher };
    found.frontmatter(frontmatter);
    // Most short notes have no bracket, and need no markdown parser.
    if body.contains('[') {
        found.body(body);
    }
}

/// Reads the targets of links in the text of a page.
#[derive(Clone, Copy)]
pub(super) struct LinkReader<'a> {
    /// The page's folder.
    folder: &'a str,
}

/// Passes links to `each`, each pair of target and kind once.
struct LinkCollector<'a> {
    reader: LinkReader<'a>,
    each: &'a mut dyn FnMut(PageLink),
    /// Hashes of the pairs of target and kind. They take a tenth of the memory of the pairs.
    hashes: HashSet<u64>,
    hasher: RandomState,
}

impl LinkCollector<'_> {
    fn add(&mut self, target: Option<LinkTarget>, kind: &str, text: &str, raw: &str) {
        let Some(target) = target else { return };
        let hash = self.hasher.hash_one((&target, kind));
        if self.hashes.len() < MAX_LINKS && self.hashes.insert(hash) {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let text = super::grapheme::cut(&text, 200).to_owned();
            (self.each)(PageLink { target, kind: kind.to_owned(), text, raw: raw.to_owned() });
        }
    }

    fn frontmatter(&mut self, frontmatter: &Frontmatter) {
        for (key, values) in frontmatter.lists() {
            for value in values {
                if let Some((target, kind, raw)) = self.reader.parse_value(key, value) {
                    let wiki = value.trim().strip_prefix("[[").and_then(|v| v.strip_suffix("]]"));
                    let text = match wiki {
                        Some(inner) => inner.split_once('|').map_or("", |(_, text)| text),
                        None => value.trim().strip_prefix('[').map_or("", |inner| {
                            inner.split_once("](").map_or("", |(text, _)| text)
                        }),
                    };
                    self.add(Some(target), &kind, text, raw);
                }
            }
        }
    }

    fn body(&mut self, body: &str) {
        let hidden = comments_and_formulas(body);
        let mut open: Option<(LinkType, CowStr)> = None;
        let mut text = String::new();
        // A page can repeat a link many thousand times; each form is parsed once.
        let mut parsed = HashSet::new();
        for_each_event(body, MARKDOWN, |event, range| {
            match event {
                Event::Start(Tag::Link { .. } | Tag::Image { .. })
                    if is_in(&hidden, range.start) => {}
                Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                    open = Some((link_type, dest_url));
                    text.clear();
                }
                Event::Start(Tag::Image {
                    link_type: LinkType::WikiLink { has_pothole: _ },
                    dest_url,
                    ..
                }) if open.is_none() => {
                    self.add(self.reader.parse_wiki_link(&dest_url), MENTIONS, "", &dest_url);
                }
                // `![](page.md)` shows a page.
                Event::Start(Tag::Image { dest_url, .. })
                    if open.is_none() && names_markdown(&dest_url) =>
                {
                    self.add(self.reader.parse_markdown_link(&dest_url), MENTIONS, "", &dest_url);
                }
                Event::Text(shown) | Event::Code(shown) if open.is_some() && text.len() < 1000 => {
                    text.push_str(&shown);
                }
                Event::SoftBreak | Event::HardBreak if open.is_some() => text.push(' '),
                Event::End(TagEnd::Link) => {
                    let Some((link_type, raw)) = open.take() else {
                        return ControlFlow::Continue(());
                    };
                    let is_wiki = matches!(link_type, LinkType::WikiLink { .. });
                    if !parsed.insert(self.hasher.hash_one((is_wiki, &*raw))) {
                        return ControlFlow::Continue(());
                    }
                    match link_type {
                        LinkType::Autolink | LinkType::Email => {}
                        LinkType::WikiLink { has_pothole } => {
                            // In a table the bar is escaped.
                            let raw = raw.strip_suffix('\\').unwrap_or(&raw);
                            self.add(
                                self.reader.parse_wiki_link(raw),
                                MENTIONS,
                                if has_pothole { &text } else { "" },
                                raw,
                            );
                        }
                        _ => self.add(self.reader.parse_markdown_link(&raw), MENTIONS, &text, &raw),
                    }
                    if self.hashes.len() == MAX_LINKS {
                        return ControlFlow::Break(());
                    }
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
    }
}

impl<'a> LinkReader<'a> {
    /// Reads the links of the page `slug`.
    pub(super) fn of(slug: &'a Slug) -> Self {
        Self { folder: slug.as_str().rsplit_once('/').map_or("", |(folder, _)| folder) }
    }

    /// Returns the target, the kind, and the target as written of a value in the frontmatter.
    pub(super) fn parse_value<'v>(
        &self,
        key: &str,
        value: &'v str,
    ) -> Option<(LinkTarget, String, &'v str)> {
        let kind = key.trim().to_lowercase().replace(['-', ' '], "_");
        let value = value.trim();
        if !is_link_key(&kind) {
            return None;
        }
        let (target, raw) =
            if let Some(inner) = value.strip_prefix("[[").and_then(|v| v.strip_suffix("]]")) {
                let raw = inner.split_once('|').map_or(inner, |(raw, _)| raw);
                (self.parse_wiki_link(raw)?, raw)
            } else if !LINK_KEYS.contains(&kind.as_str())
                || value.is_empty()
                || is_external_or_anchor(value)
            {
                return None;
            } else if let Some((_, raw)) = value
                .strip_prefix('[')
                .and_then(|v| v.strip_suffix(')'))
                .and_then(|v| v.split_once("]("))
            {
                (self.parse_markdown_link(raw)?, raw)
            } else if value.contains('/') && !value.contains("/ ") && !value.contains(" /") {
                (self.parse_path(value)?, value)
            } else if value.contains(char::is_alphabetic) {
                (parse_name(value)?, value)
            } else {
                return None;
            };
        Some((target, kind, raw))
    }

    pub(super) fn parse_wiki_link(&self, raw: &str) -> Option<LinkTarget> {
        let path = raw.split('#').next()?.trim();
        if is_media(path)
            || path.is_empty()
            || path.contains("://")
            || path.starts_with("//")
            || path.starts_with("mailto:")
        {
            return None;
        }
        if let Some((source, rest)) = path.split_once(':')
            && !rest.starts_with(char::is_whitespace)
            && let Ok(source) = SourceId::parse(source)
        {
            let slug = Slug::from_path(rest.trim_start_matches('/')).ok()?;
            return Some(LinkTarget::Slug { source: Some(source), slug, alternative: None });
        }
        if path.contains('/') { self.parse_path(path) } else { parse_name(path) }
    }

    /// Returns the target of `[text](raw)`.
    pub(super) fn parse_markdown_link(&self, raw: &str) -> Option<LinkTarget> {
        let raw = raw.trim();
        if is_external_or_anchor(raw) {
            return None;
        }
        let path = raw.split(['#', '?']).next()?;
        if is_media(path) { None } else { self.parse_path(&percent_decode(path)) }
    }

    /// Returns the target of a path without a scheme.
    fn parse_path(&self, path: &str) -> Option<LinkTarget> {
        let path = path.trim();
        let is_relative = ["./", "../"].iter().any(|p| path.starts_with(p));
        let from_folder = || resolve_slug(self.folder, path);
        let (slug, alternative) = match path.strip_prefix('/') {
            Some(rooted) => (resolve_slug("", rooted)?, None),
            None if is_relative => (from_folder()?, None),
            None => (resolve_slug("", path)?, from_folder()),
        };
        let alternative = alternative.filter(|alternative| *alternative != slug);
        Some(LinkTarget::Slug { source: None, slug, alternative })
    }
}

/// Returns the slug of `path` from `folder`; `None` when it leaves the root or is not a slug.
fn resolve_slug(folder: &str, path: &str) -> Option<Slug> {
    // A longer path is not a slug; the limit keeps a page of long paths linear.
    if path.is_empty() || path.len() > 8192 || path.ends_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part.trim() {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Slug::from_path(&parts.join("/")).ok()
}

fn parse_name(text: &str) -> Option<LinkTarget> {
    let text = text.trim();
    let text = if is_markdown(extension(text)) {
        &text[..text.len() - extension(text).len() - 1]
    } else {
        text
    };
    let name = if text.len() > 1024 { String::new() } else { normalize_name(text) };
    (!name.is_empty()).then_some(LinkTarget::Name(name))
}

/// Returns whether a markdown target is no path: an external URL, an anchor or query of its own
/// page, or empty.
pub(super) fn is_external_or_anchor(target: &str) -> bool {
    let has_scheme = target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
    });
    has_scheme || target.is_empty() || target.starts_with("//") || target.starts_with(['#', '?'])
}

/// Returns the text after the last `.` of a target's path; empty if there is none.
pub(super) fn extension(target: &str) -> &str {
    let path = target.split(['#', '?', '|']).next().unwrap_or_default().trim();
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

pub(super) fn is_markdown(extension: &str) -> bool {
    ["md", "markdown", "mdx"].iter().any(|e| extension.eq_ignore_ascii_case(e))
}

/// Returns whether a markdown target is a markdown file.
fn names_markdown(target: &str) -> bool {
    is_markdown(extension(target))
}

/// Returns whether a target has the extension of a file that is never a page.
fn is_media(target: &str) -> bool {
    const ENDINGS: [&str; 28] = [
        "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "bmp", "heic", "tif", "tiff", "pdf",
        "mp3", "m4a", "wav", "ogg", "opus", "flac", "3gp", "mp4", "mov", "webm", "mkv", "avi",
        "zip", "gz", "canvas", "base",
    ];
    ENDINGS.iter().any(|e| extension(target).eq_ignore_ascii_case(e))
}

/// Returns whether a target without a page is probably a file beside the pages, rather than a
/// missing page.
#[must_use]
pub fn is_attachment(target: &str) -> bool {
    const ENDINGS: [&str; 30] = [
        "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "rtf", "txt", "csv",
        "tsv", "json", "xml", "yaml", "yml", "html", "htm", "epub", "ico", "psd", "tar", "tgz",
        "7z", "rar", "log", "tex", "bib", "ipynb",
    ];
    is_media(target) || ENDINGS.iter().any(|e| extension(target).eq_ignore_ascii_case(e))
}

/// Returns `text` with percent-encoding resolved, or unchanged when the result is not UTF-8.
#[must_use]
pub fn percent_decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let digit = |b: Option<&u8>| {
        b.and_then(|&b| char::from(b).to_digit(16)).and_then(|d| u8::try_from(d).ok())
    };
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        match (b, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push(high * 16 + low);
                at += 3;
            }
            _ => {
                out.push(b);
                at += 1;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the key by which file names, titles and aliases are compared: NFKC, lower case, runs of
/// white space, `-` and `_` as one space, trimmed. Idempotent. Empty when nothing is left. The
/// store's keys depend on it: a change of the result needs a new schema.
#[must_use]
pub fn normalize_name(text: &str) -> String {
    let fold = |chars: &mut dyn Iterator<Item = char>| {
        let mut out = String::with_capacity(text.len());
        for c in chars {
            if !(c.is_whitespace() || matches!(c, '-' | '_')) {
                out.push(c);
            } else if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        }
        out.truncate(out.trim_end().len());
        out
    };
    if text.is_ascii() {
        return fold(&mut text.chars().map(|c| c.to_ascii_lowercase()));
    }
    // The first NFKC can produce capitals (`Ⅷ` gives `VIII`), and lower-casing can leave a
    // decomposed letter.
    fold(&mut text.nfkc().flat_map(char::to_lowercase).nfkc())
}

/// Returns the key of `name` without the characters that slugs drop, if that differs from `name`.
/// So `[[What's up?]]` matches the file `whats-up`. `name` is a key from [`normalize_name`].
#[must_use]
pub fn file_name_key(name: &str) -> Option<String> {
    if name.contains(['/', '\\']) {
        return None;
    }
    let key = normalize_name(Slug::from_path(name).ok()?.as_str());
    (key != name && !key.is_empty()).then_some(key)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
