//! Rewrites the links of a page after a page moved. All other text stays.

use super::document::Document;
use super::frontmatter::Frontmatter;
use super::links::{
    Link, LinkReader, MENTIONS, Target, extension, is_external_or_anchor, is_markdown,
};
use super::markdown::for_each_event;
use super::prose::{MARKDOWN, comments, is_in};
use brain_protocol::Slug;
use pulldown_cmark::{Event, LinkType, Tag};
use std::ops::{ControlFlow, Range};

/// The new target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTarget {
    /// The slug to which the link leads before it is rewritten.
    pub old_slug: Slug,
    /// The slug to which the rewritten link leads.
    pub slug: Slug,
    /// The name for a bare `[[name]]`; the slug if absent.
    pub name: Option<String>,
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

/// Rewrites the links of a page. `old_slug` and `new_slug` are the page's own slugs; they are equal
/// if only another page moved. `new_target` returns the new target of a link, or `None` if the link
/// stays. A link keeps its form: path from the root or from the page's folder, name, extension,
/// anchor and text.
#[must_use]
pub fn retarget_links(
    document: &Document,
    (old_slug, new_slug): (&Slug, &Slug),
    new_target: impl FnMut(&Link) -> Option<NewTarget>,
) -> RewrittenDocument {
    let mut rewrite = LinkRewriter {
        reader: LinkReader::of(old_slug),
        old_folder: folder(old_slug),
        new_folder: folder(new_slug),
        new_target,
        rewritten: 0,
        not_updated: Vec::new(),
    };
    let frontmatter = rewrite.frontmatter(&document.frontmatter);
    let body = rewrite.body(&document.body);
    RewrittenDocument {
        document: Document { frontmatter, body },
        rewritten_count: rewrite.rewritten,
        not_updated: rewrite.not_updated,
    }
}

/// The form of a link in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `[[target]]`.
    Wiki,
    /// `[text](target)`.
    Inline,
    /// `[text][label]`, with the target in a definition.
    Reference,
}

/// Rewrites links, and counts them.
struct LinkRewriter<'a, F> {
    reader: LinkReader<'a>,
    /// The page's folder before the move.
    old_folder: &'a str,
    /// The page's folder after the move.
    new_folder: &'a str,
    new_target: F,
    rewritten: usize,
    not_updated: Vec<String>,
}

impl<F: FnMut(&Link) -> Option<NewTarget>> LinkRewriter<'_, F> {
    fn body(&mut self, body: &str) -> String {
        let hidden = comments(body);
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let mut definitions: Vec<(String, String)> = Vec::new();
        for_each_event(body, MARKDOWN, |event, range| {
            let (Event::Start(Tag::Link { link_type, dest_url, .. })
            | Event::Start(Tag::Image { link_type, dest_url, .. })) = event
            else {
                return ControlFlow::Continue(());
            };
            let form = match link_type {
                _ if is_in(&hidden, range.start) => return ControlFlow::Continue(()),
                LinkType::Autolink | LinkType::Email => return ControlFlow::Continue(()),
                LinkType::WikiLink { .. } => Form::Wiki,
                LinkType::Inline => Form::Inline,
                _ => Form::Reference,
            };
            let raw = dest_url.strip_suffix('\\').unwrap_or(&dest_url);
            let Some((old, new)) = self.new_path(raw, form) else {
                return ControlFlow::Continue(());
            };
            match form {
                Form::Reference => definitions.push((old, new)),
                Form::Wiki | Form::Inline => match position(&body[range.clone()], &old, form) {
                    Some(at) => {
                        let start = range.start + at;
                        edits.push((start..start + old.len(), new));
                    }
                    None => self.not_updated.push(raw.to_owned()),
                },
            }
            ControlFlow::Continue(())
        });
        definitions.sort();
        definitions.dedup();
        for (old, new) in definitions {
            let found = definition_targets(body, &old);
            if found.is_empty() {
                self.not_updated.push(old);
                continue;
            }
            edits.extend(found.into_iter().map(|range| (range, new.clone())));
        }
        edits.sort_by_key(|(range, _)| range.start);
        edits.dedup_by_key(|(range, _)| range.start);
        self.rewritten += edits.len();
        let mut out = body.to_owned();
        for (range, new) in edits.into_iter().rev() {
            out.replace_range(range, &new);
        }
        out
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
                let form = if is_wiki { Form::Wiki } else { Form::Inline };
                let link = Link { target, kind, text: String::new(), raw: written.to_owned() };
                let Some((old, new)) = self.path_of(&link, form) else { continue };
                if is_wiki {
                    let (before, rest) = written.split_once(old.as_str()).unwrap_or(("", ""));
                    let (old, new) = (format!("[[{written}"), format!("[[{before}{new}{rest}"));
                    for end in ["]]", "|"] {
                        raw = raw.replace(&format!("{old}{end}"), &format!("{new}{end}"));
                    }
                } else {
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

    /// Returns the path of the link as written and its new path. `None` if the link stays.
    fn new_path(&mut self, raw: &str, form: Form) -> Option<(String, String)> {
        let target = match form {
            Form::Wiki => self.reader.parse_wiki_link(raw),
            Form::Inline | Form::Reference => self.reader.parse_markdown_link(raw),
        };
        match target {
            Some(target) => {
                let (kind, raw) = (MENTIONS.to_owned(), raw.to_owned());
                self.path_of(&Link { target, kind, text: String::new(), raw }, form)
            }
            // The target is a file, such as an image. Its relative path changes with the folder of
            // the page.
            None if form != Form::Wiki
                && self.old_folder != self.new_folder
                && starts_with_dots(raw) =>
            {
                let old = path_part(raw, form);
                let target = resolve(self.old_folder, old)?;
                Some((old.to_owned(), relative(self.new_folder, &target, true)))
            }
            None => None,
        }
    }

    fn path_of(&mut self, link: &Link, form: Form) -> Option<(String, String)> {
        let new = (self.new_target)(link)?;
        let old = path_part(&link.raw, form);
        let slug = new.slug.as_str();
        let mut path = match &link.target {
            Target::Slug { source: Some(source), .. } => format!("{source}:{slug}"),
            Target::Name(_) => new.name.unwrap_or_else(|| slug.to_owned()),
            Target::Slug { .. } if old.starts_with('/') => format!("/{slug}"),
            Target::Slug { .. } if starts_with_dots(old) => relative(self.new_folder, slug, true),
            // The link was a path from the root; otherwise it was one from the page's folder.
            Target::Slug { slug: path_from_root, .. } if *path_from_root == new.old_slug => {
                slug.to_owned()
            }
            Target::Slug { .. } => relative(self.new_folder, slug, false),
        };
        if is_markdown(extension(old)) {
            path = format!("{path}.{}", extension(old));
        }
        (path != old && !old.is_empty()).then(|| (old.to_owned(), path))
    }
}

fn folder(slug: &Slug) -> &str {
    slug.as_str().rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the target as written without its anchor.
fn path_part(raw: &str, form: Form) -> &str {
    let end = match form {
        Form::Wiki => raw.find('#'),
        Form::Inline | Form::Reference => raw.find(['#', '?']),
    };
    raw[..end.unwrap_or(raw.len())].trim()
}

/// Returns whether `path` begins with `./` or `../`. Other paths to files are not rewritten.
fn starts_with_dots(path: &str) -> bool {
    ["./", "../"].iter().any(|start| path.starts_with(start)) && !is_external_or_anchor(path)
}

/// Returns `path`, which starts in `folder`, as a path from the root; `None` if it leaves the root.
fn resolve(folder: &str, path: &str) -> Option<String> {
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
fn position(link: &str, old: &str, form: Form) -> Option<usize> {
    let opening = if form == Form::Wiki { "[[" } else { "](" };
    let mut starts: Vec<usize> = link.match_indices(opening).map(|(at, _)| at + 2).collect();
    if form == Form::Inline {
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn slug(text: &str) -> Slug {
        Slug::parse(text).unwrap()
    }

    /// Moves `people/ada` to `persons/lovelace` and returns the text of a page that links to it.
    fn rewritten(own: &str, text: &str) -> String {
        let (old, new) = (slug("people/ada"), slug("persons/lovelace"));
        let document = Document::parse(text).unwrap();
        let own = slug(own);
        let done = retarget_links(&document, (&own, &own), |link| {
            let leads_there = match &link.target {
                Target::Slug { slug, alternative, .. } => {
                    *slug == old || alternative.as_ref() == Some(&old)
                }
                Target::Name(name) => name == "ada",
            };
            let name = Some("lovelace".to_owned());
            leads_there.then(|| NewTarget { old_slug: old.clone(), slug: new.clone(), name })
        });
        assert_eq!(done.not_updated, Vec::<String>::new(), "{text}");
        done.document.render()
    }

    #[test]
    fn a_link_keeps_its_form() {
        for (text, expected) in [
            ("[[people/ada]]", "[[persons/lovelace]]"),
            ("[[people/ada#Life|Ada]] x", "[[persons/lovelace#Life|Ada]] x"),
            ("![[people/ada.md]]", "![[persons/lovelace.md]]"),
            ("[[ada]] [[Ada|her]]", "[[lovelace]] [[lovelace|her]]"),
            ("[[work:people/ada]]", "[[work:persons/lovelace]]"),
            ("[a [b]](people/ada.md#x \"t\")", "[a [b]](persons/lovelace.md#x \"t\")"),
            ("[a](/people/ada)", "[a](/persons/lovelace)"),
            ("[a](../people/ada.md)", "[a](../persons/lovelace.md)"),
            ("[a][1]\n\n[1]: people/ada.md 'T'\n", "[a][1]\n\n[1]: persons/lovelace.md 'T'\n"),
            ("`[[people/ada]]` [[people/adam]]", "`[[people/ada]]` [[people/adam]]"),
            ("%%[[people/ada]]%%", "%%[[people/ada]]%%"),
        ] {
            assert_eq!(rewritten("notes/x", text), expected);
        }
        assert_eq!(rewritten("people/x", "[a](ada.md)"), "[a](../persons/lovelace.md)");
        assert_eq!(rewritten("x", "[a](./people/ada)"), "[a](./persons/lovelace)");
    }

    #[test]
    fn links_in_frontmatter_are_rewritten() {
        let text =
            "---\ntitle: x\nrelated:\n  - \"[[people/ada]]\"\n  - '[[people/bob|Bob]]'\n---\n";
        let expected = text.replace("people/ada", "persons/lovelace");
        assert_eq!(rewritten("x", text), expected);
        assert_eq!(
            rewritten("x", "---\nauthor: people/ada\n---\n"),
            "---\nauthor: persons/lovelace\n---\n"
        );
    }

    #[test]
    fn dotted_paths_of_a_moved_page_lead_to_the_same_files() {
        let document = Document::parse("![](./img/a.png) [b](../b.pdf) ![](c.png)").unwrap();
        let done = retarget_links(&document, (&slug("a/x"), &slug("b/c/x")), |_| None);
        assert_eq!(done.document.body, "![](../../a/img/a.png) [b](../../b.pdf) ![](c.png)");
        assert_eq!(done.rewritten_count, 2);
    }
}
