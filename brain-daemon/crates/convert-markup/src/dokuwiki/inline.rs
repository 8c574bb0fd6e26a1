//! Converts text of DokuWiki to markdown: marks, links, pictures, footnotes.

use brain_convert_base::{Page, link, literal_part};

use super::wiki::{Entry, Wiki};
use crate::files::{PageFiles, reference};
use crate::markdown::{Finder, code, web_link};
use crate::source::Source;
use crate::wiki::{Dialect, MAX_DEPTH, Mark, Piece, Shown, inline};

/// A page that is being written.
pub(super) struct Scope<'a> {
    pub(super) source: &'a Source,
    pub(super) wiki: &'a Wiki,
    pub(super) entry: &'a Entry,
    pub(super) page: Page,
    pub(super) files: PageFiles,
    /// The texts of footnotes, in markdown.
    pub(super) footnotes: Vec<String>,
    /// Whether something is only for DokuWiki or a plugin of it.
    pub(super) has_plugins: bool,
}

impl Dialect for Scope<'_> {
    const MARKS: &'static [Mark] = &[
        Mark { open: "<nowiki>", close: "</nowiki>", shown: Shown::Literal },
        Mark { open: "%%", close: "%%", shown: Shown::Literal },
        Mark { open: "**", close: "**", shown: Shown::Between("**", "**") },
        Mark { open: "//", close: "//", shown: Shown::Between("*", "*") },
        Mark { open: "__", close: "__", shown: Shown::Between("<u>", "</u>") },
        Mark { open: "''", close: "''", shown: Shown::Between("", "") },
        Mark { open: "<sub>", close: "</sub>", shown: Shown::Between("<sub>", "</sub>") },
        Mark { open: "<sup>", close: "</sup>", shown: Shown::Between("<sup>", "</sup>") },
        Mark { open: "<del>", close: "</del>", shown: Shown::Between("~~", "~~") },
    ];

    fn is_content(_: &Mark, content: &str) -> bool {
        !content.contains("\n\n")
    }

    fn piece(&mut self, piece: &Piece<'_>, finder: &mut Finder) -> Option<(String, usize)> {
        let rest = piece.rest;
        match rest.as_bytes() {
            [b'[', b'[', ..] => {
                let (content, length) = piece.between("[[", "]]", finder)?;
                Some((self.link(content), length))
            }
            [b'{', b'{', ..] => {
                let (content, length) = piece.between("{{", "}}", finder)?;
                Some((self.media(content), length))
            }
            [b'(', b'(', ..] if piece.depth < MAX_DEPTH => {
                let (content, length) = piece.between("((", "))", finder)?;
                let text = inline(content.trim(), self, piece.depth + 1);
                self.footnotes.push(text.replace('\n', " "));
                Some((format!("[^{}]", self.footnotes.len()), length))
            }
            // Monospaced text can have marks; without them it is code.
            [b'\'', b'\'', ..] => {
                let (content, length) = piece.between("''", "''", finder)?;
                let marks = ["**", "//", "__", "[[", "{{", "%%", "<nowiki>"];
                let has_marks = marks.iter().any(|mark| content.contains(mark));
                let plain = content.strip_prefix("%%").and_then(|it| it.strip_suffix("%%"));
                match (plain, has_marks) {
                    (Some(plain), _) => Some((code(plain), length)),
                    (None, false) if !content.trim().is_empty() => Some((code(content), length)),
                    _ => None,
                }
            }
            [b'\\', b'\\', ..] => {
                let after = rest.get(2..)?;
                let ends = after.is_empty() || after.starts_with([' ', '\t', '\n']);
                let blank = usize::from(after.starts_with([' ', '\t', '\n']));
                ends.then(|| ("  \n".to_owned(), 2 + blank))
            }
            [b'~', b'~', ..] => {
                let (content, length) = piece.between("~~", "~~", finder)?;
                // `~~NOTOC~~` and the like are for the program.
                let is_macro =
                    !content.is_empty() && content.bytes().all(|b| b.is_ascii_uppercase());
                is_macro.then(|| (String::new(), length))
            }
            [b'<', ..] => {
                let (content, length) = piece.between("<", ">", finder)?;
                let is_mail = content.contains('@')
                    && content.contains('.')
                    && !content.contains(char::is_whitespace);
                is_mail.then(|| (format!("<{content}>"), length))
            }
            _ => None,
        }
    }
}

impl Scope<'_> {
    /// Converts the content of `[[target|label]]`.
    fn link(&mut self, content: &str) -> String {
        let (target, label) = match content.split_once('|') {
            Some((target, label)) => (target.trim(), label.trim()),
            None => (content.trim(), ""),
        };
        let label = match label.strip_prefix("{{").and_then(|it| it.strip_suffix("}}")) {
            // A picture that is a link.
            Some(media) => {
                let picture = self.media(media);
                return format!("{picture} {}", self.link(target));
            }
            None => brain_page::single_line(label),
        };
        let is_mail = target.contains('@') && !target.contains([' ', ':']);
        if target.contains("://") || target.starts_with("mailto:") {
            return web_link(target, &literal_part(&label));
        }
        if target.starts_with("www.") {
            return web_link(&format!("http://{target}"), &literal_part(&label));
        }
        if is_mail {
            return web_link(&format!("mailto:{target}"), &literal_part(&label));
        }
        if target.contains('>') || target.starts_with("\\\\") {
            // Another wiki, or a shared folder.
            return match label.as_str() {
                "" => code(target),
                label => format!("{} ({})", literal_part(label), code(target)),
            };
        }
        let (id, section) = target.split_once('#').unwrap_or((target, ""));
        let id = id.split('?').next().unwrap_or(id);
        if id.is_empty() {
            let label = if label.is_empty() { section } else { &label };
            return literal_part(label);
        }
        match self.wiki.page(&self.entry.id, id) {
            Ok(entry) => {
                let title = if entry.title.is_empty() { &entry.id } else { &entry.title };
                let label = if label.is_empty() { title } else { &label };
                link(&entry.path, label)
            }
            Err(path) => {
                let shown = id.rsplit([':', '/']).find(|name| !name.is_empty()).unwrap_or(id);
                link(&path, if label.is_empty() { shown } else { &label })
            }
        }
    }

    /// Converts the content of `{{file?200|text}}`.
    fn media(&mut self, content: &str) -> String {
        let (target, label) = content.split_once('|').unwrap_or((content, ""));
        let target = target.trim();
        let (name, options) = target.rsplit_once('?').unwrap_or((target, ""));
        let label = brain_page::single_line(label);
        if let Some(tags) = target.strip_prefix("tag>") {
            // A tag of several words is in quotation marks, or has `_` between them.
            for (n, part) in tags.split('"').enumerate() {
                let is_one = n % 2 == 1;
                let words = part.split(|c: char| c.is_whitespace() && !is_one);
                let words = words.filter(|word| !word.trim().is_empty());
                self.page.tags.extend(words.map(|tag| tag.replace('_', " ")));
            }
            return String::new();
        }
        if name.contains("://") {
            let is_link = options.contains("linkonly");
            return match is_link {
                true => web_link(name, &literal_part(&label)),
                false => format!("![{}](<{}>)", literal_part(&label), name.replace(['<', '>'], "")),
            };
        }
        if name.contains('>') {
            self.has_plugins = true;
            return code(&format!("{{{{{content}}}}}"));
        }
        let found = self.wiki.media(&self.entry.id, name).cloned();
        let attached = found.and_then(|it| self.files.attach(self.source, &mut self.page, &it));
        match attached {
            Some(name) if options.contains("linkonly") => link(&name, &label),
            Some(name) => reference(&name, &label),
            None => {
                self.files.miss(name);
                match label.as_str() {
                    "" => code(name),
                    label => format!("{} ({})", literal_part(label), code(name)),
                }
            }
        }
    }
}
