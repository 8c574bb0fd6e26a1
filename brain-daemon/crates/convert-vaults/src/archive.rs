//! Reads a ZIP archive of markdown files, such as a vault of Obsidian or a workspace of Foam.
//!
//! Pages keep their paths and their frontmatter. Files to which a page refers become its
//! attachments. A canvas and a base of Obsidian become pages, too. A directory of markdown is not
//! read here: the daemon imports it.

mod canvas;
mod names;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use brain_convert_base::{ConvertError, Entry, Format, Output, Page, Sample, Tree};

use crate::frontmatter::split;
use crate::rewrite::{Link, NewLink, Rewrite, rewrite};
use crate::vault::{Attached, is_external, own_name, report, split_anchor};
use names::{Archive, Kind};

pub(crate) const FORMAT: Format = Format {
    name: "markdown-zip",
    title: "a ZIP archive of markdown",
    is_by_others: false,
    recognise,
    convert,
};
pub(crate) const CANVAS: Format = Format {
    name: "obsidian-canvas",
    title: "a canvas or base of Obsidian",
    is_by_others: false,
    recognise: recognise_file,
    convert: convert_file,
};

/// Names of files that other kinds of ZIP archives have: documents, books, programs.
const OTHERS: [&str; 5] = [
    "[Content_Types].xml",
    "mimetype",
    "META-INF/MANIFEST.MF",
    "META-INF/container.xml",
    "content.xml",
];
/// Maximum size of a canvas or base, in bytes.
const MAX_FILE: u64 = 20_000_000;

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree().filter(|tree| tree.is_archive()) else { return false };
    let is_other = OTHERS.iter().any(|name| tree.entry(name).is_some());
    !is_other && tree.entries().iter().any(|entry| Kind::of(entry) == Some(Kind::Markdown))
}

fn recognise_file(sample: &Sample) -> bool {
    let extension = sample.path().extension().unwrap_or_default();
    let text = sample.text();
    match extension.to_str() {
        Some("canvas") => canvas::is_canvas(&text),
        Some("base") => text.lines().any(|line| line.starts_with("views:")),
        _ => false,
    }
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let tree = Tree::open(path).map_err(ConvertError::read(path))?;
    let Some(tree) = tree else {
        return Err(ConvertError::Malformed {
            from: path.display().to_string(),
            reason: "it is no ZIP archive".to_owned(),
        });
    };
    tree.report_problems(out)?;
    let mut archive = Archive::of(&tree);
    for number in archive.pages.clone() {
        write_page(&mut archive, number, out)?;
    }
    let mut hidden: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, entry) in tree.entries().iter().enumerate() {
        if let Some(folder) = names::hidden_folder(&entry.path) {
            archive.vault.mark_used(number);
            *hidden.entry(folder).or_default() += 1;
        }
    }
    for (folder, count) in hidden {
        out.lost(folder, &format!("it is hidden, so its {count} files are not read"))?;
    }
    archive.vault.report_unused(out, |_| None)?;
    Ok(())
}

/// Converts a canvas or base that is not in an archive. What it shows is not at hand.
fn convert_file(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let size = std::fs::metadata(path).map_err(ConvertError::read(path))?.len();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if size > MAX_FILE {
        let reason = format!("it has more than {MAX_FILE} bytes");
        return Err(ConvertError::Malformed { from: name, reason });
    }
    let bytes = std::fs::read(path).map_err(ConvertError::read(path))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let path = brain_convert_base::Paths::default().add([], stem);
    let mut page = Page::new(&name, &path, stem);
    page.body = match extension {
        "base" => base(&text),
        _ => {
            match canvas::markdown(&text, &mut |file| format!("[[{}]]", without_extension(file))) {
                Ok(body) => body,
                Err(reason) => return Err(ConvertError::Malformed { from: name, reason }),
            }
        }
    };
    out.page(&page)?;
    Ok(())
}

fn without_extension(file: &str) -> &str {
    file.strip_suffix(".md").unwrap_or(file)
}

/// Returns a base as code: its filters and views.
fn base(text: &str) -> String {
    format!("~~~~~~~~yaml\n{}\n~~~~~~~~\n", text.trim_end())
}

fn write_page(archive: &mut Archive<'_>, number: usize, out: &mut Output<'_>) -> io::Result<()> {
    let Some(entry) = archive.vault.entry(number) else { return Ok(()) };
    let Some(text) = archive.vault.text(entry, out)? else { return Ok(()) };
    let path = archive.vault.page(number).unwrap_or_default().to_owned();
    let mut page = Page::new(&entry.path, &path, "");
    let kind = Kind::of(entry);
    let mut body = text;
    if kind == Some(Kind::Markdown) {
        let (frontmatter, rest) = split(&body, &entry.path, out)?;
        (page.original, body) = (Some(frontmatter), rest);
    }
    let (attached, lost) = (Attached::new(), Vec::new());
    let mut rules = PageRules { archive, entry, page, attached, lost, found: HashMap::new() };
    rules.attach_listed();
    let body = match kind {
        Some(Kind::Canvas) => rules.canvas(&body),
        Some(Kind::Base) => base(&body),
        _ => rewrite(&body, &mut rules),
    };
    let PageRules { mut page, attached, lost, .. } = rules;
    page.body = body;
    report(&entry.path, lost, out)?;
    out.page(&page)?;
    archive.vault.write_files(&page, &attached, out)
}

struct PageRules<'p, 'a> {
    archive: &'p mut Archive<'a>,
    entry: &'a Entry,
    page: Page,
    attached: Attached,
    lost: Vec<String>,
    /// The files of links, by their targets and whether they have double brackets.
    found: HashMap<(String, bool), Option<usize>>,
}

impl PageRules<'_, '_> {
    fn attach(&mut self, number: usize) -> String {
        self.archive.vault.attach(&mut self.page, &mut self.attached, number, own_name)
    }

    /// Returns the file to which a link leads. A page can repeat a link many thousand times.
    fn find(&mut self, target: &str, is_wiki: bool) -> Option<usize> {
        let key = (target.to_owned(), is_wiki);
        if let Some(found) = self.found.get(&key) {
            return *found;
        }
        let found = match is_wiki {
            true => self.archive.find_wiki(self.entry, target),
            false => self.archive.find_address(self.entry, target),
        };
        self.found.insert(key, found);
        found
    }

    /// Attaches the files that the frontmatter names: `cover: "[[a.png]]"`.
    fn attach_listed(&mut self) {
        let Some(frontmatter) = self.page.original.clone() else { return };
        for value in frontmatter.keys().flat_map(|name| frontmatter.list(name)) {
            let inner = value.trim().trim_start_matches("[[").trim_end_matches("]]");
            let target = inner.split('|').next().unwrap_or(inner);
            if target.contains('.')
                && let Some(number) = self.archive.find_file(self.entry, target)
            {
                self.attach(number);
            }
        }
    }

    fn canvas(&mut self, text: &str) -> String {
        let mut texts = |file: &str| match self.archive.find_path(file) {
            Some(number) => match self.archive.vault.page(number) {
                Some(path) => format!("[[{path}]]"),
                None => {
                    let name = self.attach(number);
                    format!("{}[[{name}]]", if brain_page::is_picture(&name) { "!" } else { "" })
                }
            },
            None => format!("[[{}]]", without_extension(file)),
        };
        canvas::markdown(text, &mut texts).unwrap_or_else(|reason| {
            self.lost.push(format!("it is kept as code: {reason}"));
            format!("~~~~~~~~json\n{}\n~~~~~~~~\n", text.trim_end())
        })
    }
}

impl Rewrite for PageRules<'_, '_> {
    fn link(&mut self, link: &Link<'_>) -> NewLink {
        if is_external(link.target) && !link.is_wiki {
            return NewLink::Keep;
        }
        let (target, anchor) = split_anchor(link.target);
        if target.trim().is_empty() {
            return NewLink::Keep;
        }
        let found = self.find(target, link.is_wiki);
        let Some(number) = found else {
            // A page that does not exist yet is no loss, a file is.
            if brain_page::is_attachment(target) {
                self.lost.push(format!("its link to {target} leads to no file of the archive"));
            }
            return NewLink::Keep;
        };
        if let Some(path) = self.archive.new_path(number, target, link.is_wiki) {
            let mark = if anchor.is_empty() { "" } else { "#" };
            let path = format!("{path}{mark}{anchor}");
            return NewLink::Page { path, label: link.label.to_owned() };
        }
        if self.archive.vault.page(number).is_some() {
            return NewLink::Keep;
        }
        let name = self.attach(number);
        if link.is_wiki && name == target { NewLink::Keep } else { NewLink::File(name) }
    }
}
