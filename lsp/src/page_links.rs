//! Links to pages: how they are written in a document, and where they lead.

use brain_page::{LinkSpan, normalize_name};
use brain_protocol::{
    EditorPage, Fault, Resolve, ResolveReply, ResolvedLink, SourceId, WrittenLink,
};

use crate::page_names::{bare, stem};
use crate::server::Server;
use crate::text::Text;

/// How a document writes its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Wiki,
    Markdown,
}

impl Style {
    /// Returns the style of a text, without the line that is being typed.
    pub(crate) fn of(before: &str, after: &str) -> Self {
        let has = |pattern| before.contains(pattern) || after.contains(pattern);
        match !has("[[") && (has(".md)") || has(".md#")) && has("](") {
            true => Self::Markdown,
            false => Self::Wiki,
        }
    }
}

/// The place of a document in its source.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnPlace {
    pub(crate) source: Option<SourceId>,
    /// The path from the root of the source.
    pub(crate) path: String,
}

impl OwnPlace {
    /// Returns the place of the document `path`, by the answer about its links.
    pub(crate) fn of(path: &str, reply: &ResolveReply) -> Self {
        let root = reply.root.as_deref().unwrap_or_default();
        let inner = path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path);
        let source = reply.page.as_ref().and_then(|page| page.source.clone());
        Self { source, path: inner.trim_start_matches('/').to_owned() }
    }
}

/// Returns a target that leads to a page, in the form of the target of `link`: a name or a path,
/// with the extension or without.
pub(crate) fn in_form_of(link: &LinkSpan, own: &OwnPlace, page: &EditorPage) -> String {
    let old = link.path();
    if !link.is_wiki {
        return markdown_target(own, &page.path);
    }
    let (name, is_own) = (bare(&page.path), own.source == page.page.source);
    let target = match old.contains('/') && is_own {
        true => name.to_owned(),
        false => wiki_target(own, page),
    };
    let extension = if bare(old) == old || !is_own { "" } else { &page.path[name.len()..] };
    format!("{target}{extension}")
}

/// Returns the target of a `[[link]]` to a page: its name if that is enough, else its path.
pub(crate) fn wiki_target(own: &OwnPlace, page: &EditorPage) -> String {
    let is_own = own.source.as_ref() == page.page.source.as_ref();
    match (&page.page.source, is_own) {
        (_, true) if page.is_unique => stem(&page.path).to_owned(),
        (Some(source), false) => format!("{source}:{}", page.page.slug),
        _ => bare(&page.path).to_owned(),
    }
}

/// Returns what stands between the brackets of a link to a page: the target, and a label if the page
/// is known by another name than that of its file. `bar` divides them.
pub(crate) fn wiki_inner(own: &OwnPlace, page: &EditorPage, bar: &str) -> String {
    let target = wiki_target(own, page);
    let name = page.alias.as_ref().unwrap_or(&page.title);
    let label = name.replace(['[', ']', '|', '\n', '\\'], " ");
    let is_same = |name: &str| normalize_name(name) == normalize_name(&target);
    match page.alias.is_none() && is_same(name) {
        true if label == *name && !name.contains(['#', '^', ':', '/']) => name.clone(),
        true => target,
        false if label.trim().is_empty() => target,
        false => format!("{target}{bar}{}", label.trim()),
    }
}

/// Returns what divides the target and the label of a link at a byte. In a row of a table, a bare bar
/// would end the cell.
pub(crate) fn label_bar(text: &Text, byte: usize) -> &'static str {
    let line = text.line_at(byte).0;
    let line_text = |line: usize| text.as_str()[text.line(line)].trim();
    let is_rule = |line: &str| line.contains('-') && line.chars().all(|c| "|-: ".contains(c));
    // Rows may have no outer bars: then the line below the head tells.
    let mut above = (0..line).rev().map(line_text).take_while(|line| line.contains('|'));
    let is_row = line_text(line).starts_with('|') || above.any(is_rule);
    if is_row { "\\|" } else { "|" }
}

/// Returns the target of a `[text](link)` to a page of the same source: the path from the folder of
/// the document, encoded.
pub(crate) fn markdown_target(own: &OwnPlace, path: &str) -> String {
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let (from, to) = (folder(&own.path), folder(path));
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (from, to) = (parts(&from), parts(&to));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut target = "../".repeat(from.len() - same);
    for part in &to[same..] {
        target.push_str(part);
        target.push('/');
    }
    target.push_str(path.rsplit('/').next().unwrap_or(path));
    encode(&target)
}

/// Percent-encodes what would end the target of a link, or begin another part of it.
pub(crate) fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            ' ' | '(' | ')' | '%' | '#' | '?' | '<' | '>' | '"' | '\\' | '[' | ']' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

impl Server {
    /// Asks the daemon where links of a document lead.
    pub(crate) fn resolve(
        &self,
        path: &str,
        links: Vec<WrittenLink>,
        suggest: bool,
    ) -> Result<ResolveReply, Fault> {
        self.daemon.run(Resolve { file: path.to_owned(), links, suggest })
    }

    /// Asks the daemon where one link leads. For a document of no source, a path leads to the file
    /// beside it.
    pub(crate) fn resolve_one(
        &self,
        path: &str,
        link: WrittenLink,
        suggest: bool,
    ) -> Result<Option<ResolvedLink>, Fault> {
        let target = link.target.split('#').next().unwrap_or_default().to_owned();
        let reply = self.resolve(path, vec![link], suggest)?;
        if reply.page.is_some() {
            return Ok(reply.links.into_iter().next());
        }
        Ok(file_beside(path, &target).map(|file| ResolvedLink {
            status: brain_protocol::TargetStatus::Live,
            pages: beside_page(&file).into_iter().collect(),
            is_former: false,
        }))
    }
}

/// Returns the file to which a path in a document leads, if there is one.
fn file_beside(document: &str, target: &str) -> Option<String> {
    let folder = std::path::Path::new(document).parent().filter(|folder| folder.is_absolute())?;
    let target = brain_page::percent_decode(target);
    [target.to_string(), format!("{target}.md")].iter().find_map(|name| {
        let file = folder.join(name);
        file.is_file().then(|| file.canonicalize().ok()?.to_str().map(str::to_owned)).flatten()
    })
}

/// Describes a file of no source as a page.
fn beside_page(file: &str) -> Option<EditorPage> {
    let slug = brain_page::plain_slug(file.trim_start_matches('/')).ok()?;
    Some(EditorPage {
        page: brain_protocol::PageRef { source: None, slug },
        title: stem(file).to_owned(),
        path: file.to_owned(),
        file: Some(file.to_owned()),
        is_unique: false,
        alias: None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_protocol::{PageRef, Slug};

    fn page(path: &str, title: &str, is_unique: bool) -> EditorPage {
        let slug = Slug::from_path(path).unwrap();
        let page = PageRef { source: Some(SourceId::default()), slug };
        let (path, title) = (path.to_owned(), title.to_owned());
        EditorPage { page, title, path, file: None, is_unique, alias: None }
    }

    #[test]
    fn a_link_is_as_short_as_it_can_be() {
        let own = OwnPlace { source: Some(SourceId::default()), path: "a/own.md".to_owned() };
        let inner = |page: EditorPage| wiki_inner(&own, &page, "|");
        assert_eq!(inner(page("meeting.md", "Meeting", true)), "Meeting");
        assert_eq!(inner(page("b/meeting.md", "Meeting", false)), "b/meeting|Meeting");
        assert_eq!(inner(page("n/2026-01-05.md", "Mon|day", true)), "2026-01-05|Mon day");
        let alias = EditorPage { alias: Some("k8s".into()), ..page("p.md", "P", true) };
        assert_eq!(wiki_inner(&own, &alias, "\\|"), "p\\|k8s");
        assert_eq!(markdown_target(&own, "a/b c.md"), "b%20c.md");
        assert_eq!(markdown_target(&own, "c/C# (x).md"), "../c/C%23%20%28x%29.md");
    }

    #[test]
    fn the_style_is_that_of_the_document() {
        assert_eq!(Style::of("see [a](b.md) ", ""), Style::Markdown);
        assert_eq!(Style::of("see [a](b.md) [[c]]", ""), Style::Wiki);
        assert_eq!(Style::of("[a](https://x.test)", "text"), Style::Wiki);
    }
}
