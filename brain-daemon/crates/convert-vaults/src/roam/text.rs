//! Rewrites the text of a block as markdown.

use brain_convert_base::link;

use super::graph::{Graph, is_id};
use crate::outline::{Mark, is_tag, map_text, replace};

/// Macros whose content are the blocks below them, which a page shows as a list.
const CONTAINERS: [&str; 3] = ["table", "kanban", "mermaid"];
/// Macros that show what is at an address.
const MEDIA: [&str; 7] = ["video", "youtube", "audio", "pdf", "iframe", "image", "tweet"];
/// The beginning of addresses of files that Roam keeps.
const STORAGE: &str = "https://firebasestorage.googleapis.com/";

/// Rewrites the texts of one page.
pub(super) struct TextWriter<'g> {
    graph: &'g Graph,
    pub(super) tags: Vec<String>,
    pub(super) lost: Vec<String>,
    /// The number of files that are linked and not in the export.
    pub(super) remote_files: usize,
}

impl<'g> TextWriter<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self { graph, tags: Vec::new(), lost: Vec::new(), remote_files: 0 }
    }

    /// Returns the text of a block as markdown, which can have several lines.
    pub(super) fn text(&mut self, string: &str) -> String {
        self.remote_files += string.matches(STORAGE).count();
        let (task, rest) = task(string);
        let text = map_text(rest, &styles);
        let text = replace(&text, &mut |mark| self.mark(mark));
        format!("{task}{}", with_fences(&text))
    }

    fn mark(&mut self, mark: Mark<'_>) -> Option<String> {
        match mark {
            Mark::Page(title) => Some(self.page_link(title, title)),
            Mark::Tag(name) if is_tag(name) => Some(format!("#{name}")),
            Mark::Tag(name) => {
                if !self.tags.iter().any(|known| known == name) {
                    self.tags.push(name.to_owned());
                }
                Some(self.page_link(name, name))
            }
            Mark::Block(id) => self.block_link(id, ""),
            Mark::Macro(text) => Some(self.replaced_macro(text)),
            Mark::Link { label, target, .. } => {
                let inner = |start: &str, end: &str| {
                    target.strip_prefix(start).and_then(|it| it.strip_suffix(end))
                };
                match (inner("[[", "]]"), inner("((", "))")) {
                    (Some(title), _) => Some(self.page_link(title, label)),
                    (_, Some(id)) => self.block_link(id, label),
                    _ => None,
                }
            }
        }
    }

    fn page_link(&self, title: &str, label: &str) -> String {
        match self.graph.find(title) {
            Some(path) => link(path, label),
            None if title == label => format!("[[{title}]]"),
            None => format!("[[{title}|{label}]]"),
        }
    }

    fn block_link(&mut self, id: &str, label: &str) -> Option<String> {
        if !is_id(id) {
            return None;
        }
        match self.graph.block(id) {
            Some((path, text)) => Some(link(path, if label.is_empty() { text } else { label })),
            None => {
                self.lost.push(format!("its reference (({id})) leads to no block of the graph"));
                None
            }
        }
    }

    fn replaced_macro(&mut self, text: &str) -> String {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = name.replace("[[", "").replace("]]", "");
        let (name, rest) = (name.trim(), rest.trim());
        let inner = |start: &str, end: &str| {
            rest.strip_prefix(start).and_then(|it| it.strip_suffix(end)).map(str::to_owned)
        };
        match name {
            "TODO" | "DONE" => return name.to_owned(),
            "embed" | "embed-path" | "embed-children" => {
                if let Some(title) = inner("[[", "]]") {
                    return format!("!{}", self.page_link(&title, &title));
                }
                let id = inner("((", "))").unwrap_or_default();
                if let Some(link) = self.block_link(&id, "") {
                    return link;
                }
                return format!("`{{{{{text}}}}}`");
            }
            _ if MEDIA.contains(&name) && rest.starts_with("http") => return rest.to_owned(),
            _ if CONTAINERS.contains(&name) => return format!("`{{{{{text}}}}}`"),
            _ => {}
        }
        self.lost.push(format!("{{{{{name}}}}} is kept as code, which only Roam can run"));
        format!("`{{{{{text}}}}}`")
    }
}

/// Splits the text of a task into its box and the rest.
fn task(string: &str) -> (&'static str, &str) {
    let marks = [
        ("{{[[TODO]]}}", "[ ] "),
        ("{{TODO}}", "[ ] "),
        ("{{[[DONE]]}}", "[x] "),
        ("{{DONE}}", "[x] "),
    ];
    let found = marks.iter().find_map(|(mark, task)| Some((*task, string.strip_prefix(mark)?)));
    found.map_or(("", string), |(task, rest)| (task, rest.trim_start()))
}

/// Returns a text with Roam's marks of italics and highlights as those of markdown.
fn styles(text: &str) -> String {
    let text = paired(text, "^^", "==");
    paired(&text, "__", "*")
}

/// Replaces pairs of a sign on one line. An opening sign begins a word, a closing one ends one.
fn paired(text: &str, sign: &str, new: &str) -> String {
    if !text.contains(sign) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut open: Option<usize> = None;
        let mut rest = line;
        while let Some(at) = rest.find(sign) {
            let (before, after) = rest.split_at(at);
            let after = after.get(sign.len()..).unwrap_or_default();
            out.push_str(before);
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '/')
                && after.starts_with(|c: char| !c.is_whitespace());
            let ends = before.ends_with(|c: char| !c.is_whitespace())
                && !after.starts_with(|c: char| c.is_alphanumeric());
            match open {
                Some(start) if ends => {
                    out.replace_range(start..start + sign.len(), new);
                    out.push_str(new);
                    open = None;
                }
                None if begins => {
                    open = Some(out.len());
                    out.push_str(sign);
                }
                _ => out.push_str(sign),
            }
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

/// Puts the fences of code on lines of their own, as markdown demands.
fn with_fences(text: &str) -> String {
    const FENCE: &str = "```";
    if !text.contains(FENCE) || !text.contains('\n') {
        return text.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.split('\n') {
        match line.split_once(FENCE) {
            Some((code, after)) if is_open => {
                if !code.is_empty() {
                    lines.push(code.to_owned());
                }
                lines.push(FENCE.to_owned());
                if !after.trim().is_empty() {
                    lines.push(after.trim_start().to_owned());
                }
                is_open = false;
            }
            Some((before, after)) if !after.contains(FENCE) => {
                if !before.trim().is_empty() {
                    lines.push(before.to_owned());
                }
                lines.push(format!("{FENCE}{after}"));
                is_open = true;
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn italics_and_highlights_are_markdown() {
        for (text, expected) in [
            ("__a b__ ^^c^^ **d**", "*a b* ==c== **d**"),
            ("x__y__z https://a/__b__", "x__y__z https://a/__b__"),
            ("__open", "__open"),
            ("(__a__), __b__.", "(*a*), *b*."),
        ] {
            assert_eq!(styles(text), expected);
        }
    }

    #[test]
    fn fences_stand_on_lines_of_their_own() {
        assert_eq!(with_fences("```js\na\nb```"), "```js\na\nb\n```");
        assert_eq!(with_fences("see ```js\na\n``` then"), "see \n```js\na\n```\nthen");
        assert_eq!(with_fences("a ```b``` c\nd"), "a ```b``` c\nd");
    }
}
