//! Converts a line of Zim's wikitext to markdown: marks, links, pictures and tags.

use brain_convert_base::{Page, link, literal_part};

use super::notebook::{Entry, Notebook};
use crate::files::{PageFiles, reference};
use crate::markdown::{Finder, code, web_link};
use crate::source::{Source, resolve};
use crate::wiki::{Dialect, Mark, Piece, Shown, inline};

/// A page that is being written.
pub(super) struct Scope<'a> {
    pub(super) source: &'a Source,
    pub(super) notebook: &'a Notebook,
    pub(super) entry: &'a Entry,
    pub(super) page: Page,
    pub(super) files: PageFiles,
}

impl Dialect for Scope<'_> {
    const MARKS: &'static [Mark] = &[
        Mark { open: "**", close: "**", shown: Shown::Between("**", "**") },
        Mark { open: "//", close: "//", shown: Shown::Between("*", "*") },
        Mark { open: "__", close: "__", shown: Shown::Between("==", "==") },
        Mark { open: "~~", close: "~~", shown: Shown::Between("~~", "~~") },
        Mark { open: "_{", close: "}", shown: Shown::Between("<sub>", "</sub>") },
        Mark { open: "^{", close: "}", shown: Shown::Between("<sup>", "</sup>") },
        Mark { open: "''", close: "''", shown: Shown::Code },
    ];

    fn is_content(mark: &Mark, content: &str) -> bool {
        // `http://` does not end an emphasis.
        let is_scheme = mark.open == "//" && content.ends_with(':');
        !is_scheme && mark.open.chars().next().is_none_or(|c| !content.starts_with(c))
    }

    fn piece(&mut self, piece: &Piece<'_>, finder: &mut Finder) -> Option<(String, usize)> {
        let rest = piece.rest;
        if rest.starts_with("[[") && !rest.starts_with("[[[") && piece.depth <= 1 {
            let (content, length) = piece.between("[[", "]]", finder)?;
            // A label can end with a bracket.
            let more = rest.get(length..)?.bytes().take_while(|byte| *byte == b']').count();
            let more = more.min(content.matches('[').count());
            let content = rest.get(2..2 + content.len() + more)?;
            return Some((self.link(content.trim_matches('|'))?, length + more));
        }
        if rest.starts_with("{{") && !rest.starts_with("{{{") {
            let (content, length) = piece.between("{{", "}}", finder)?;
            if content.trim_start().starts_with("id:") {
                return None;
            }
            return Some((self.picture(content), length));
        }
        if rest.starts_with('@') && piece.before.is_none_or(char::is_whitespace) {
            let name = rest.get(1..)?;
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let name = name.get(..end.unwrap_or(name.len()))?;
            if !name.is_empty() && !self.page.tags.iter().any(|tag| tag == name) {
                self.page.tags.push(name.to_owned());
            }
        }
        None
    }
}

impl Scope<'_> {
    /// Converts the content of `[[target|label]]`.
    fn link(&mut self, content: &str) -> Option<String> {
        let (target, label) = match content.split_once('|') {
            Some((target, label)) => (target.trim(), label.trim_matches('|').trim()),
            None => (content.trim(), ""),
        };
        if target.is_empty() {
            return None;
        }
        let shown = match label {
            "" => String::new(),
            label => inline(label, self, 2),
        };
        Some(match kind(target) {
            Kind::Web(address) => web_link(&address, &shown),
            Kind::File => self.file(target, &shown),
            Kind::Other => match shown.as_str() {
                "" => code(target),
                shown => format!("{shown} ({})", code(target)),
            },
            Kind::Page => self.page_link(target, label),
        })
    }

    fn page_link(&self, target: &str, label: &str) -> String {
        let (name, anchor) = target.split_once('#').unwrap_or((target, ""));
        if name.is_empty() {
            let label = if label.is_empty() { anchor } else { label };
            return literal_part(label);
        }
        let label = if label.is_empty() { name.trim_matches([':', '+']) } else { label };
        let Some(names) = self.notebook.resolve(&self.entry.names, name) else {
            return literal_part(label);
        };
        match self.notebook.page(&names) {
            Some(entry) => link(&entry.path, label),
            None => {
                let clean = |name: &String| name.replace(['[', ']', '|', '#', '^', '/'], "-");
                link(&names.iter().map(clean).collect::<Vec<_>>().join("/"), label)
            }
        }
    }

    /// Returns the path of a file that the page names.
    fn resolve_file(&self, target: &str) -> Option<String> {
        if target.starts_with(['/', '~']) {
            return None;
        }
        let folder = self.entry.file.strip_suffix(".txt").unwrap_or(&self.entry.file);
        let target = target.replace('\\', "/");
        let found = resolve(folder, &target).filter(|found| self.source.has(found));
        found.or_else(|| {
            let found = resolve(folder, &target.replace("%20", " "))?;
            self.source.has(&found).then_some(found)
        })
    }

    fn file(&mut self, target: &str, shown: &str) -> String {
        let found = self.resolve_file(target);
        let attached = found.and_then(|path| self.files.attach(self.source, &mut self.page, &path));
        match (attached, shown) {
            (Some(name), shown) => link(&name, &shown.replace('\\', "")),
            (None, shown) => {
                self.files.miss(target);
                match shown {
                    "" => code(target),
                    shown => format!("{shown} ({})", code(target)),
                }
            }
        }
    }

    /// Converts the content of `{{picture.png?width=200|text}}`.
    fn picture(&mut self, content: &str) -> String {
        let (target, label) = content.split_once('|').unwrap_or((content, ""));
        let source = target.split_once('?').map_or(target, |(source, _)| source).trim();
        if source.contains("://") {
            let label = literal_part(label.trim());
            return format!("![{label}](<{}>)", source.replace(['<', '>', ' '], "%20"));
        }
        let found = self.resolve_file(source);
        match found.and_then(|path| self.files.attach(self.source, &mut self.page, &path)) {
            Some(name) => reference(&name, label),
            None => {
                self.files.miss(source);
                code(source)
            }
        }
    }
}

/// What a link names (rules of `link_type`).
enum Kind {
    Web(String),
    File,
    Page,
    /// A program or another wiki.
    Other,
}

fn kind(target: &str) -> Kind {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_word = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_+-.".contains(c))
    };
    if ["http", "https", "ftp"].contains(&scheme) || target.starts_with("mailto:") {
        return Kind::Web(target.to_owned());
    }
    if target.starts_with("www.") {
        return Kind::Web(format!("https://{target}"));
    }
    let has_address = target.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && !name.contains([' ', ':']) && host.contains('.') && !host.contains(' ')
    });
    if has_address {
        return Kind::Web(format!("mailto:{target}"));
    }
    let is_path = ["/", "./", "../", "~"].iter().any(|start| target.starts_with(start))
        || target.starts_with(".\\")
        || target.starts_with("..\\");
    if is_path && !target.contains("://") {
        return Kind::File;
    }
    let is_other = target.contains("://")
        || target.starts_with("file:")
        || target.starts_with("\\\\")
        || target.split_once('?').is_some_and(|(key, _)| is_word(key));
    if is_other { Kind::Other } else { Kind::Page }
}
