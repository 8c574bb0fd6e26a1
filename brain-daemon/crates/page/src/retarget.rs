//! Rewrites the links of a page after a page moved. All other text stays.

use super::document::Document;
use super::file_slug::plain_slug;
use super::frontmatter::Frontmatter;
use super::links::{
    LinkReader, LinkTarget, MENTIONS, PageLink, extension, is_external_or_anchor, is_markdown,
    percent_decode,
};
use super::markdown::for_each_event;
use super::prose::{MARKDOWN, comments_and_formulas, is_in};
use brain_protocol::Slug;
use pulldown_cmark::{Event, LinkType, Tag};
use std::ops::{ControlFlow, Range};

/// The new target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTarget {
    /// The slug to which the link leads before it is rewritten.
    pub old_slug: Slug,
    /// The file of the page to which the rewritten link leads, from the source's root.
    pub path: String,
    /// The name for a bare `[[name]]`; the path if absent.
    pub name: Option<String>,
}

/// The page whose links are rewritten, before and after the move. Both are equal if only another
/// page moved.
#[derive(Debug, Clone, Copy)]
pub struct MovedFile<'a> {
    /// The slug before the move, from which links are resolved.
    pub old_slug: &'a Slug,
    /// The file before the move, from the source's root.
    pub old_path: &'a str,
    /// The file after the move.
    pub new_path: &'a str,
    /// The directories that move as a whole, each with its new path.
    pub folders: &'a [(String, String)],
}

/// A page with rewritten links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenDocument {
    /// The page.
    pub document: Document,
    /// The number of rewritten links.
    pub rewritten_count: usize,
    /// The targets, as written, of links that could not be rewritten. For values of the
    /// frontmatter: their key, or `frontmatter` if it would become invalid.
    pub not_updated: Vec<String>,
}

/// Rewrites the links of a page. `new_target` returns the new target of a link to a page, or `None`
/// if the link stays. `exists` returns whether a path from the source's root is a file or a
/// directory. A link keeps its form: path from the root or from the page's folder, name, extension,
/// anchor and text.
///
/// Paths are those of files, not of slugs, so other programs can follow them. If the page itself
/// moves, paths from its folder are rewritten whatever they lead to, also in HTML.
#[must_use]
pub fn retarget_links(
    document: &Document,
    file: MovedFile<'_>,
    exists: impl Fn(&str) -> bool,
    new_target: impl FnMut(&PageLink) -> Option<NewTarget>,
) -> RewrittenDocument {
    let mut rewrite = LinkRewriter {
        reader: LinkReader::of(file.old_slug),
        file,
        new_target,
        exists,
        rewritten: 0,
        not_updated: Vec::new(),
    };
    let frontmatter = rewrite.frontmatter(&document.frontmatter);
    let body = rewrite.body(&document.body);
    RewrittenDocument {
        document: Document { frontmatter, body: body.into() },
        rewritten_count: rewrite.rewritten,
        not_updated: rewrite.not_updated,
    }
}

/// The form of a link in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkForm {
    /// `[[target]]`.
    Wiki,
    /// `[text](target)`.
    Inline,
    /// `[text][label]`, with the target in a definition.
    Reference,
}

impl LinkForm {
    /// Returns the form of a link; `None` if its text is its target.
    pub(super) fn of(link_type: LinkType) -> Option<Self> {
        match link_type {
            LinkType::Autolink | LinkType::Email => None,
            LinkType::WikiLink { .. } => Some(Self::Wiki),
            LinkType::Inline => Some(Self::Inline),
            _ => Some(Self::Reference),
        }
    }
}

/// Rewrites links, and counts them.
struct LinkRewriter<'a, F, E> {
    reader: LinkReader<'a>,
    file: MovedFile<'a>,
    new_target: F,
    exists: E,
    rewritten: usize,
    not_updated: Vec<String>,
}

impl<F, E> LinkRewriter<'_, F, E>
where
    F: FnMut(&PageLink) -> Option<NewTarget>,
    E: Fn(&str) -> bool,
{
    fn body(&mut self, body: &str) -> String {
        let hidden = comments_and_formulas(body);
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let mut definitions: Vec<(String, String)> = Vec::new();
        for_each_event(body, MARKDOWN, |event, range| {
            if let Event::Html(html) | Event::InlineHtml(html) = &event
                && body[range.clone()] == **html
                && !is_in(&hidden, range.start)
            {
                let found = html_addresses(html);
                edits.extend(found.into_iter().filter_map(|at| {
                    let old = &html[at.clone()];
                    let new = self.moved_path(old.split(['#', '?']).next()?)?;
                    let length = old.find(['#', '?']).unwrap_or(old.len());
                    let start = range.start + at.start;
                    Some((start..start + length, encode(&new, false)))
                }));
                return ControlFlow::Continue(());
            }
            let (Event::Start(Tag::Link { link_type, dest_url, .. })
            | Event::Start(Tag::Image { link_type, dest_url, .. })) = event
            else {
                return ControlFlow::Continue(());
            };
            let form = LinkForm::of(link_type).filter(|_| !is_in(&hidden, range.start));
            let Some(form) = form else { return ControlFlow::Continue(()) };
            let raw = dest_url.strip_suffix('\\').unwrap_or(&dest_url);
            let Some((old, new)) = self.new_path(raw, form) else {
                return ControlFlow::Continue(());
            };
            match form {
                LinkForm::Reference => definitions.push((old, new)),
                LinkForm::Wiki | LinkForm::Inline => {
                    match position(&body[range.clone()], &old, form) {
                        Some(at) => {
                            let start = range.start + at;
                            let is_angled = body[..start].ends_with('<');
                            let new =
                                if form == LinkForm::Wiki { new } else { encode(&new, is_angled) };
                            edits.push((start..start + old.len(), new));
                        }
                        None => self.not_updated.push(raw.to_owned()),
                    }
                }
            }
            ControlFlow::Continue(())
        });
        definitions.sort();
        definitions.dedup();
        self.edit_definitions(body, definitions, &mut edits);
        edits.sort_by_key(|(range, _)| range.start);
        edits.dedup_by_key(|(range, _)| range.start);
        self.rewritten += edits.len();
        let mut out = body.to_owned();
        for (range, new) in edits.into_iter().rev() {
            out.replace_range(range, &new);
        }
        out
    }

    /// Adds the edits that give link definitions their new targets. Each definition has its old and
    /// its new target.
    fn edit_definitions(
        &mut self,
        body: &str,
        definitions: Vec<(String, String)>,
        edits: &mut Vec<(Range<usize>, String)>,
    ) {
        for (old, new) in definitions {
            let found = definition_targets(body, &old);
            if found.is_empty() {
                self.not_updated.push(old);
                continue;
            }
            edits.extend(found.into_iter().map(|range| {
                let is_angled = body[..range.start].ends_with('<');
                (range, encode(&new, is_angled))
            }));
        }
    }

    fn frontmatter(&mut self, frontmatter: &Frontmatter) -> Frontmatter {
        let mut raw = frontmatter.raw().to_owned();
        let mut plain: Vec<(String, Vec<String>)> = Vec::new();
        for (key, values) in frontmatter.lists() {
            let mut changed = values.to_vec();
            for (value, changed) in values.iter().zip(&mut changed) {
                let Some((target, kind, written)) = self.reader.parse_value(key, value) else {
                    continue;
                };
                let is_wiki = value.trim().starts_with("[[");
                let form = if is_wiki { LinkForm::Wiki } else { LinkForm::Inline };
                let link = PageLink { target, kind, text: String::new(), raw: written.to_owned() };
                let Some((old, new)) = self.path_of(&link, form) else { continue };
                if is_wiki {
                    let (before, rest) = written.split_once(old.as_str()).unwrap_or(("", ""));
                    let (old, new) = (format!("[[{written}"), format!("[[{before}{new}{rest}"));
                    for end in ["]]", "|"] {
                        raw = raw.replace(&format!("{old}{end}"), &format!("{new}{end}"));
                    }
                } else {
                    let is_markdown = value.trim().starts_with('[');
                    let new = if is_markdown { encode(&new, false) } else { new };
                    *changed = value.replacen(&old, &new, 1);
                }
                self.rewritten += 1;
            }
            if changed != values {
                match frontmatter.is_plain(key) {
                    true => plain.push((key.to_owned(), changed)),
                    false => self.not_updated.push(key.to_owned()),
                }
            }
        }
        let Ok(mut out) = Frontmatter::parse(&raw) else {
            self.not_updated.push("frontmatter".to_owned());
            return frontmatter.clone();
        };
        for (key, values) in plain {
            match (frontmatter.get(&key), values.as_slice()) {
                (Some(_), [value]) => out.set(&key, value),
                _ => out.set_list(&key, &values),
            }
        }
        out
    }

    /// Returns the path of the link as written and its new path, not encoded. `None` if the link
    /// stays.
    fn new_path(&mut self, raw: &str, form: LinkForm) -> Option<(String, String)> {
        // The path of a file is more precise than the slug that it would have.
        let old = path_part(raw, form);
        let target = resolve(folder(self.file.old_path), &percent_decode(old))?;
        if form != LinkForm::Wiki && !old.starts_with('/') && (self.exists)(&target) {
            return self.moved_path(old).map(|new| (old.to_owned(), new));
        }
        let target = match form {
            LinkForm::Wiki => self.reader.parse_wiki_link(raw),
            LinkForm::Inline | LinkForm::Reference => self.reader.parse_markdown_link(raw),
        };
        let found = target.and_then(|target| {
            let (kind, raw) = (MENTIONS.to_owned(), raw.to_owned());
            self.path_of(&PageLink { target, kind, text: String::new(), raw }, form)
        });
        found.or_else(|| {
            let new = if starts_with_dots(old) { self.moved_path(old) } else { None };
            new.map(|new| (old.to_owned(), new))
        })
    }

    /// Returns the new path, not encoded, of a path from the folder of the moved page, as written:
    /// one that begins with dots, or that leads to a file. `None` if it stays.
    fn moved_path(&self, old: &str) -> Option<String> {
        let MovedFile { old_path, new_path, folders, .. } = self.file;
        if old.is_empty() || old.starts_with('/') || is_external_or_anchor(old) {
            return None;
        }
        let decoded = percent_decode(old);
        let mut target = resolve(folder(old_path), &decoded)?;
        if folder(old_path) == folder(new_path) && (target != old_path || old_path == new_path) {
            return None;
        }
        if !starts_with_dots(old) && !(self.exists)(&target) {
            return None;
        }
        if target == old_path {
            new_path.clone_into(&mut target);
        }
        let moved = folders.iter().find_map(|(from, to)| {
            let rest = target.strip_prefix(from.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
        });
        target = moved.unwrap_or(target);
        let mut new = relative(folder(new_path), &target, old.starts_with("./"));
        if decoded.ends_with('/') && !new.ends_with('/') {
            new.push('/');
        }
        (new != decoded).then_some(new)
    }

    fn path_of(&mut self, link: &PageLink, form: LinkForm) -> Option<(String, String)> {
        let new = (self.new_target)(link)?;
        let (old, new_folder) = (path_part(&link.raw, form), folder(self.file.new_path));
        let extension_start = new.path.rfind('.').filter(|at| is_markdown(&new.path[at + 1..]));
        let bare = &new.path[..extension_start.unwrap_or(new.path.len())];
        // A wiki link with such a character would end, or lead to a heading: the slug stands for it.
        let is_linkable = form != LinkForm::Wiki || !new.path.contains(['#', '|', '[', ']']);
        let slug = if is_linkable { None } else { plain_slug(&new.path).ok() };
        let target = match &slug {
            Some(slug) => slug.as_str(),
            None if is_markdown(extension(old)) => &new.path,
            None => bare,
        };
        let name = new.name.filter(|_| slug.is_none());
        let path = match &link.target {
            LinkTarget::Slug { source: Some(source), .. } => format!("{source}:{target}"),
            LinkTarget::Name(_) => match name {
                Some(name) if is_markdown(extension(old)) => format!("{name}.{}", extension(old)),
                Some(name) => name,
                None => target.to_owned(),
            },
            LinkTarget::Slug { .. } if old.starts_with('/') => format!("/{target}"),
            LinkTarget::Slug { .. } if starts_with_dots(old) => {
                relative(new_folder, target, old.starts_with("./"))
            }
            // The link was a path from the root; otherwise it was one from the page's folder.
            LinkTarget::Slug { slug, .. } if *slug == new.old_slug => target.to_owned(),
            LinkTarget::Slug { .. } => relative(new_folder, target, false),
        };
        (path != percent_decode(old) && !old.is_empty()).then(|| (old.to_owned(), path))
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Percent-encodes a path for a link: what would end it, and what would begin another part of an
/// address.
fn encode(path: &str, is_angled: bool) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '%' | '#' | '?' | '<' | '>' | '"' | '\\' | '[' | ']' | '\0'..='\x1f' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            ' ' | '(' | ')' | '\'' if !is_angled => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Returns the ranges of the values of `src` and `href` in a piece of HTML.
fn html_addresses(html: &str) -> Vec<Range<usize>> {
    let lower = html.to_ascii_lowercase();
    let mut found = Vec::new();
    for name in ["src", "href"] {
        for (at, _) in lower.match_indices(name) {
            let is_name = lower[..at].ends_with(char::is_whitespace);
            let rest = lower[at + name.len()..].trim_start();
            let Some(value) = rest.strip_prefix('=').filter(|_| is_name).map(str::trim_start)
            else {
                continue;
            };
            let Some(quote) = value.chars().next().filter(|c| ['"', '\''].contains(c)) else {
                continue;
            };
            if let Some(length) = value[1..].find(quote) {
                let start = lower.len() - value.len() + 1;
                found.push(start..start + length);
            }
        }
    }
    found
}

/// Returns the target as written without its anchor.
fn path_part(raw: &str, form: LinkForm) -> &str {
    let end = match form {
        LinkForm::Wiki => raw.find('#'),
        LinkForm::Inline | LinkForm::Reference => raw.find(['#', '?']),
    };
    raw[..end.unwrap_or(raw.len())].trim()
}

/// Returns whether `path` begins with `./` or `../`.
fn starts_with_dots(path: &str) -> bool {
    ["./", "../"].iter().any(|start| path.starts_with(start)) && !is_external_or_anchor(path)
}

/// Returns `path`, which starts in `folder`, as a path from the root. A path that leaves the root
/// begins with `../`. `None` for a path that is too long.
fn resolve(folder: &str, path: &str) -> Option<String> {
    if path.len() > 8192 {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_none_or(|last| *last == "..") => parts.push(part),
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns `target`, a path from the root, as a path from `folder`. With `with_dot`, a path that
/// stays in the folder begins with `./`.
fn relative(folder: &str, target: &str, with_dot: bool) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = target.split('/').collect();
    let folders = &to[..to.len().saturating_sub(1)];
    let same = from.iter().zip(folders).take_while(|(a, b)| a == b).count();
    let up = "../".repeat(from.len() - same);
    let start = if up.is_empty() && with_dot { "./" } else { up.as_str() };
    format!("{start}{}", to[same..].join("/"))
}

/// Returns the position of the path `old` in the text of a link.
fn position(link: &str, old: &str, form: LinkForm) -> Option<usize> {
    let opening = if form == LinkForm::Wiki { "[[" } else { "](" };
    let mut starts: Vec<usize> = link.match_indices(opening).map(|(at, _)| at + 2).collect();
    if form == LinkForm::Inline {
        // The text of a link can have brackets.
        starts.reverse();
    }
    starts.into_iter().find_map(|start| {
        let inner = link[start..].trim_start_matches([' ', '\t', '\n', '<']);
        inner.starts_with(old).then(|| link.len() - inner.len())
    })
}

/// Returns the positions of the path `old` in link definitions: `[label]: target`.
fn definition_targets(body: &str, old: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let text = line.trim_start();
        if let Some((_, target)) = text.split_once("]:").filter(|_| text.starts_with('[')) {
            let target = target.trim_start_matches([' ', '\t', '<']);
            let end = target.strip_prefix(old).map(|rest| rest.chars().next());
            if end.is_some_and(|c| c.is_none_or(|c| c.is_whitespace() || "#?>".contains(c))) {
                let start = at + line.len() - target.len();
                found.push(start..start + old.len());
            }
        }
        at += line.len();
    }
    found
}

#[cfg(test)]
#[path = "retarget_tests.rs"]
mod tests;
