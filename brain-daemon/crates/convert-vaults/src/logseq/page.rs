//! Writes the pages of a graph.

use std::io;

use brain_convert_base::{Output, Page, Value, link};
use jiff::Timestamp;

use super::blocks::{Block, blocks};
use super::days::day_of_name;
use super::graph::{Graph, list, unquoted};
use crate::outline::{Mark, is_tag, replace};
use crate::vault::{Attached, is_external, own_name, report, split_anchor};

/// States of tasks, and whether they are done. `TODO` and `DONE` need no word in the page.
const STATES: [(&str, Option<bool>); 10] = [
    ("TODO", Some(false)),
    ("DONE", Some(true)),
    ("LATER", Some(false)),
    ("NOW", Some(false)),
    ("DOING", Some(false)),
    ("WAITING", Some(false)),
    ("WAIT", Some(false)),
    ("IN-PROGRESS", Some(false)),
    // Neither open nor done.
    ("CANCELED", None),
    ("CANCELLED", None),
];

/// Writes all pages.
pub(super) fn write_all(graph: &mut Graph<'_>, out: &mut Output<'_>) -> io::Result<()> {
    for number in 0..graph.pages.len() {
        let Some(file) = graph.pages.get(number).map(|page| page.file) else { continue };
        let Some(entry) = graph.vault.entry(file) else { continue };
        let mut sink = io::sink();
        // What is wrong with the text was reported when its names were read.
        let Some(text) = graph.vault.text(entry, &mut Output::new(&mut sink, false))? else {
            continue;
        };
        let Some(known) = graph.pages.get(number) else { continue };
        let page = Page::new(&entry.path, &known.path, &known.title);
        let mut writer = PageWriter {
            graph,
            page,
            attached: Attached::new(),
            folder: entry.folder(),
            lost: Vec::new(),
        };
        writer.write(&blocks(&text));
        let PageWriter { page, attached, lost, .. } = writer;
        report(&entry.path, lost, out)?;
        out.page(&page)?;
        graph.vault.write_files(&page, &attached, out)?;
    }
    Ok(())
}

struct PageWriter<'g, 'a> {
    graph: &'g mut Graph<'a>,
    page: Page,
    attached: Attached,
    folder: &'a str,
    lost: Vec<String>,
}

impl PageWriter<'_, '_> {
    fn write(&mut self, blocks: &[Block<'_>]) {
        let (first, rest) = match blocks.split_first() {
            Some((first, rest)) if first.is_properties() => (Some(first), rest),
            _ => (None, blocks),
        };
        for (name, value) in first.map(|block| block.properties.as_slice()).unwrap_or_default() {
            self.field(name, value);
        }
        let mut body = String::new();
        for block in rest {
            self.block(block, &mut body);
        }
        self.page.body = body;
    }

    /// Makes a field of a property of the page.
    fn field(&mut self, name: &str, value: &str) {
        let time = || value.parse().ok().and_then(|at| Timestamp::from_millisecond(at).ok());
        match name.to_lowercase().as_str() {
            "title" => {}
            _ if value.is_empty() => {}
            "alias" | "aliases" => {
                self.page.fields.push(("aliases".to_owned(), Value::List(list(value))));
            }
            "tags" | "tag" => {
                for tag in list(value) {
                    self.add_tag(&tag);
                }
            }
            "created-at" if time().is_some() => self.page.created = time(),
            "updated-at" if time().is_some() => self.page.updated = time(),
            "created" | "updated" | "date" if self.day(value).is_some() => {
                let day = self.day(value).unwrap_or_default();
                self.page.fields.push((name.to_owned(), Value::Text(day)));
            }
            _ => {
                let names = list(value);
                let is_links = value.contains("[[")
                    && names.iter().all(|name| value.contains(&format!("[[{name}]]")));
                let value = match is_links {
                    true => Value::List(names.iter().map(|name| self.page_link(name)).collect()),
                    false => Value::Text(self.inline(unquoted(value))),
                };
                self.page.fields.push((name.to_owned(), value));
            }
        }
    }

    /// Returns the day to whose journal a value links.
    fn day(&self, value: &str) -> Option<String> {
        let name = value.trim().strip_prefix("[[")?.strip_suffix("]]")?;
        let stem = self.graph.find(name)?.rsplit('/').next()?;
        day_of_name(stem).map(|day| day.to_string())
    }

    fn block(&mut self, block: &Block<'_>, body: &mut String) {
        let text = self.inline(&block.lines.join("\n"));
        let text = self.marked_blocks(&text);
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        if let Some(first) = lines.first_mut().filter(|_| block.is_item)
            && let Some(task) = task(first)
        {
            *first = task;
        }
        for line in lines.iter_mut().skip(1) {
            if let Some(planned) = planned(line) {
                *line = planned;
            }
        }
        for (name, value) in &block.properties {
            lines.push(format!("{name}:: {}", self.inline(value)));
        }
        let bullet = match (block.is_item, block.is_numbered) {
            (true, true) => "1. ",
            (true, false) => "- ",
            (false, _) => "",
        };
        let below = " ".repeat(bullet.len());
        for (number, line) in lines.iter().enumerate() {
            let start = if number == 0 { bullet } else { &below };
            body.push_str(format!("{}{start}{line}", block.indent).trim_end());
            body.push('\n');
        }
    }

    /// Rewrites links, tags, references and macros.
    fn inline(&mut self, text: &str) -> String {
        let text = replace(text, &mut |mark| self.mark(mark));
        without_sizes(text)
    }

    fn mark(&mut self, mark: Mark<'_>) -> Option<String> {
        match mark {
            Mark::Page(name) if name.contains("assets/") && self.file(name).is_some() => {
                self.file(name).map(|file| format!("[[{file}]]"))
            }
            Mark::Page(name) => Some(self.page_link(name)),
            Mark::Tag(name) if is_tag(name) => Some(format!("#{name}")),
            Mark::Tag(name) => {
                self.add_tag(name);
                Some(self.page_link(name))
            }
            Mark::Block(id) => self.block_link(id, ""),
            Mark::Macro(text) => Some(self.replaced_macro(text)),
            Mark::Link { label, target, is_embed } => self.link(label, target, is_embed),
        }
    }

    /// Returns a link to a page by its name. A page that does not exist yet keeps its name.
    fn page_link(&self, name: &str) -> String {
        match self.graph.find(name) {
            Some(path) => link(path, name),
            None => format!("[[{name}]]"),
        }
    }

    fn add_tag(&mut self, name: &str) {
        if !self.page.tags.iter().any(|known| known == name) {
            self.page.tags.push(name.to_owned());
        }
    }

    fn block_link(&mut self, id: &str, label: &str) -> Option<String> {
        // Text in double parentheses is no reference.
        let is_id = id.len() == 36 && id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
        if !is_id {
            return None;
        }
        let Some((path, text)) = self.graph.block(id) else {
            self.lost.push(format!("its reference (({id})) leads to no block of the graph"));
            return None;
        };
        Some(link(path, if label.is_empty() { text } else { label }))
    }

    fn link(&mut self, label: &str, target: &str, is_embed: bool) -> Option<String> {
        if let Some(name) = target.strip_prefix("[[").and_then(|it| it.strip_suffix("]]")) {
            return self
                .graph
                .find(name)
                .map(|path| link(path, label))
                .or_else(|| Some(format!("[[{name}|{label}]]")));
        }
        if let Some(id) = target.strip_prefix("((").and_then(|it| it.strip_suffix("))")) {
            return self.block_link(id, label);
        }
        let in_brackets = target.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
        let target = in_brackets.unwrap_or(target);
        if is_external(target) || target.starts_with('#') {
            return None;
        }
        let sign = if is_embed { "!" } else { "" };
        if let Some(path) = self.page_at(target) {
            return Some(format!("{sign}{}", link(&path, label)));
        }
        let Some(name) = self.file(target) else {
            self.lost.push(format!("its link to {target} leads to no file of the graph"));
            return None;
        };
        Some(match label.is_empty() || label == name || is_embed {
            true => format!("{sign}[[{name}]]"),
            false => format!("[[{name}|{label}]]"),
        })
    }

    /// Returns the path of the page whose file is at an address: `../pages/Bob.md`.
    fn page_at(&self, address: &str) -> Option<String> {
        let (path, _) = split_anchor(address.trim());
        let number = self.graph.vault.find_from(self.folder, path)?;
        self.graph.vault.page(number).map(str::to_owned)
    }

    /// Attaches the file at an address. Returns its name in the page.
    fn file(&mut self, address: &str) -> Option<String> {
        let (path, _) = split_anchor(address.trim());
        let number = self.graph.vault.find_from(self.folder, path)?;
        let is_page = self.graph.vault.page(number).is_some();
        let (vault, attached) = (&mut self.graph.vault, &mut self.attached);
        (!is_page).then(|| vault.attach(&mut self.page, attached, number, own_name))
    }

    fn replaced_macro(&mut self, text: &str) -> String {
        let (name, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let rest = rest.trim();
        match name {
            "embed" => {
                let page = rest.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
                let block = rest.strip_prefix("((").and_then(|it| it.strip_suffix("))"));
                match (page, block) {
                    (Some(page), _) => return format!("!{}", self.page_link(page)),
                    (_, Some(id)) => {
                        if let Some(link) = self.block_link(id, "") {
                            return link;
                        }
                    }
                    _ => {}
                }
            }
            "video" | "youtube" | "vimeo" | "bilibili" | "tweet" | "twitter"
                if rest.starts_with("http") =>
            {
                return rest.to_owned();
            }
            "cloze" => return rest.to_owned(),
            _ => {}
        }
        self.lost.push(format!("{{{{{name} …}}}} is kept as code, which only Logseq can run"));
        format!("`{{{{{text}}}}}`")
    }

    /// Makes quotes and code of `#+BEGIN_…` blocks.
    fn marked_blocks(&mut self, text: &str) -> String {
        if !text.contains("#+") {
            return text.to_owned();
        }
        let (mut lines, mut quote, mut is_code) = (Vec::new(), "", false);
        for line in text.split('\n') {
            let word = line.trim().to_uppercase();
            let kind = word.strip_prefix("#+BEGIN_").and_then(|it| it.split_whitespace().next());
            match kind {
                Some("QUOTE" | "VERSE" | "CENTER") => quote = "> ",
                Some(kind @ ("SRC" | "EXAMPLE" | "QUERY" | "EXPORT")) => {
                    if kind == "QUERY" {
                        self.lost
                            .push("a query is kept as code, which only Logseq can run".to_owned());
                    }
                    let language = line.split_whitespace().nth(1).unwrap_or_default();
                    let language = if kind == "SRC" { language } else { "" };
                    is_code = true;
                    lines.push(format!("```{language}"));
                }
                Some(kind) => {
                    quote = "> ";
                    lines.push(format!("> [!{}]", kind.to_lowercase()));
                }
                None if word.starts_with("#+END_") => {
                    if is_code {
                        lines.push("```".to_owned());
                    }
                    (quote, is_code) = ("", false);
                }
                None => lines.push(format!("{quote}{line}")),
            }
        }
        lines.join("\n")
    }
}

/// Returns a line that begins with the state of a task as a task.
fn task(line: &str) -> Option<String> {
    let (word, rest) = line.split_once(' ')?;
    let (_, is_done) = STATES.iter().find(|(state, _)| *state == word)?;
    let rest = rest.trim_start();
    let mark = if (*is_done)? { "[x]" } else { "[ ]" };
    let state = if matches!(word, "TODO" | "DONE") { String::new() } else { format!("{word} ") };
    Some(format!("{mark} {state}{rest}"))
}

/// Returns a line with a planned date without the angle brackets of Org.
fn planned(line: &str) -> Option<String> {
    let rest = line.trim_start();
    let is_planned = ["SCHEDULED: <", "DEADLINE: <"].iter().any(|start| rest.starts_with(start));
    is_planned.then(|| rest.replace(['<', '>'], ""))
}

/// Drops the sizes that follow pictures: `![x](y){:height 10}`.
fn without_sizes(text: String) -> String {
    if !text.contains("){:") && !text.contains("]{:") {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("{:") {
        let (before, sizes) = rest.split_at(at);
        out.push_str(before);
        let end = sizes.find('}').filter(|_| before.ends_with([')', ']']));
        let (kept, after) = match end {
            Some(end) => ("", sizes.get(end + 1..).unwrap_or_default()),
            None => sizes.split_at(2),
        };
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
    out
}
