//! Rewrites the links to notes and attachments: `[x](:/<id>)`, `![x](:/<id>)`, `[x]: :/<id>`, and
//! those of HTML within markdown. Leaves code as it is.
//!
//! Time is linear in the length of the text.

mod inline;
mod target;

use brain_convert_base::link;
use brain_page::code_blocks;
use inline::Paragraph;
pub(super) use target::{mark_html, without_marks};

/// The target of a link.
#[derive(Clone)]
pub(super) enum Target {
    /// The path of a page.
    Page(String),
    /// The name of a file of this page, and its title in Joplin.
    File { name: String, title: String },
}

/// Finds the targets of links.
pub(super) trait Targets {
    /// Returns the target with this id, or `None` to keep the link as it is.
    fn find(&mut self, id: u128) -> Option<Target>;
}

/// Returns a markdown text with all links rewritten.
pub(super) fn rewrite(body: &str, targets: &mut dyn Targets) -> String {
    let mut out = String::with_capacity(body.len());
    let mut code = code_blocks(body).into_iter().peekable();
    let (mut start, mut at) = (0, 0);
    for line in body.split_inclusive('\n') {
        let end = at + line.len();
        while code.next_if(|block| block.end <= at).is_some() {}
        let is_code = code.peek().is_some_and(|block| block.start < end);
        if is_code || line.trim().is_empty() {
            Paragraph::rewrite(body.get(start..at).unwrap_or_default(), targets, &mut out);
            out.push_str(line);
            start = end;
        }
        at = end;
    }
    Paragraph::rewrite(body.get(start..).unwrap_or_default(), targets, &mut out);
    out
}

/// A link to write.
struct Link<'a> {
    target: &'a Target,
    is_image: bool,
    label: &'a str,
    heading: &'a str,
    /// What is shown beside the link on pointing at it.
    title: &'a str,
}

impl Link<'_> {
    fn write(&self, out: &mut String) {
        // A link shows no embedded file here: the file stands before it.
        let has_embed = self.label.contains("![");
        if has_embed {
            out.push_str(self.label);
            out.push(' ');
        }
        let label = if has_embed { "" } else { self.label };
        match self.target {
            Target::Page(path) => {
                let heading: String =
                    self.heading.chars().filter(|c| !"[]|".contains(*c)).collect();
                let anchor = if heading.is_empty() { "" } else { "#" };
                out.push_str(&link(&format!("{path}{anchor}{heading}"), label));
                if !self.title.is_empty() {
                    out.push_str(&format!(" ({})", self.title));
                }
            }
            Target::File { name, title } => self.write_file(name, title, label, out),
        }
    }

    fn write_file(&self, name: &str, file_title: &str, label: &str, out: &mut String) {
        let sign = if self.is_image { "!" } else { "" };
        let is_plain = label.is_empty() || label == name || label == file_title;
        if self.is_image && is_plain && self.title.is_empty() {
            out.push_str(&format!("![[{name}]]"));
            return;
        }
        let label = if label.is_empty() { name } else { label };
        out.push_str(&format!("{sign}[{label}]({}", target::encoded(name)));
        if !self.title.is_empty() {
            out.push_str(&format!(" \"{}\"", self.title.replace('"', "'")));
        }
        out.push(')');
    }
}
