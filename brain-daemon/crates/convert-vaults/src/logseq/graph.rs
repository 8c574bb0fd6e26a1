//! The pages of a graph: their names, the names that lead to them, and their blocks with ids.

use std::collections::HashMap;
use std::io;

use brain_convert_base::{Entry, Output, Paths, Tree};
use brain_page::percent_decode;
use jiff::civil::Date;

use super::blocks::{Block, blocks};
use super::days::{self, DEFAULT_FORMAT, day_of_name};
use crate::outline::label_of;
use crate::vault::{Vault, key};

/// A graph.
pub(super) struct Graph<'a> {
    pub(super) vault: Vault<'a>,
    pub(super) pages: Vec<GraphPage>,
    /// Numbers of pages by their names and aliases.
    names: HashMap<String, usize>,
    /// Pages of blocks and their labels, by the ids of the blocks.
    blocks: HashMap<u128, (usize, String)>,
}

/// A page of a graph.
pub(super) struct GraphPage {
    /// The number of its file.
    pub(super) file: usize,
    /// Its title, as Logseq shows it.
    pub(super) title: String,
    pub(super) path: String,
}

/// What a text says about its page.
#[derive(Default)]
struct Facts {
    title: Option<String>,
    aliases: Vec<String>,
    /// Ids and labels.
    blocks: Vec<(u128, String)>,
}

impl<'a> Graph<'a> {
    /// Reads the names and the ids of all pages. `root` is the path of the graph in the tree.
    pub(super) fn read(tree: &'a Tree, root: &str, out: &mut Output<'_>) -> io::Result<Self> {
        let mut graph = Self {
            vault: Vault::new(tree),
            pages: Vec::new(),
            names: HashMap::new(),
            blocks: HashMap::new(),
        };
        let settings = tree.entry(&format!("{root}logseq/config.edn"));
        let settings = match settings {
            Some(entry) => graph.vault.text(entry, out)?.unwrap_or_default(),
            None => String::new(),
        };
        let format = setting(&settings, ":journal/page-title-format").unwrap_or(DEFAULT_FORMAT);
        let journals = setting(&settings, ":journals-directory").unwrap_or("journals");
        let mut paths = Paths::default();
        let mut aliases = Vec::new();
        for (file, entry) in tree.entries().iter().enumerate() {
            let Some(path) = entry.path.strip_prefix(root) else { continue };
            let is_hidden =
                path.starts_with("logseq/") || path.split('/').any(|it| it.starts_with('.'));
            if is_hidden || !matches!(entry.extension().as_str(), "md" | "markdown") {
                continue;
            }
            let Some(text) = graph.vault.text(entry, out)? else {
                graph.vault.mark_used(file);
                continue;
            };
            let facts = Facts::of(&blocks(&text));
            let is_journal = path.split('/').rev().nth(1) == Some(journals);
            let day = day_of_name(stem(entry)).filter(|_| is_journal);
            let number = graph.pages.len();
            let page = new_page(file, entry, &facts, (day, format), &mut paths);
            graph.name(&page.title, number);
            for name in day.map(day_names).unwrap_or_default() {
                graph.name(&name, number);
            }
            aliases.extend(facts.aliases.into_iter().map(|alias| (alias, number)));
            for (id, label) in facts.blocks {
                graph.blocks.entry(id).or_insert((number, label));
            }
            graph.vault.add_page(file, page.path.clone());
            graph.pages.push(page);
        }
        // A name is stronger than another page's alias.
        for (alias, number) in aliases {
            graph.name(&alias, number);
        }
        Ok(graph)
    }

    fn name(&mut self, name: &str, number: usize) {
        self.names.entry(key(name.trim())).or_insert(number);
    }

    /// Returns the path of the page with a name.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        let number = self.names.get(&key(name.trim()))?;
        self.pages.get(*number).map(|page| page.path.as_str())
    }

    /// Returns the path of the page of a block, and the text of the block on one line.
    pub(super) fn block(&self, id: &str) -> Option<(&str, &str)> {
        let (number, label) = self.blocks.get(&block_id(id)?)?;
        Some((self.pages.get(*number)?.path.as_str(), label))
    }
}

fn new_page(
    file: usize,
    entry: &Entry,
    facts: &Facts,
    (day, format): (Option<Date>, &str),
    paths: &mut Paths,
) -> GraphPage {
    if let Some(day) = day {
        let path = paths.add(["journals"], &day.to_string());
        let title = facts.title.clone().unwrap_or_else(|| days::title(day, format));
        return GraphPage { file, title, path };
    }
    let title = facts.title.clone().unwrap_or_else(|| name_of_file(stem(entry)));
    let parts: Vec<&str> = title.split('/').map(str::trim).filter(|it| !it.is_empty()).collect();
    let (name, folders) =
        parts.split_last().map_or(("", [].as_slice()), |(last, rest)| (*last, rest));
    let path = paths.add(folders.iter().copied(), name);
    GraphPage { file, title, path }
}

impl Facts {
    fn of(blocks: &[Block<'_>]) -> Self {
        let mut facts = Self::default();
        let first = blocks.first().filter(|block| block.is_properties());
        for (name, value) in first.map(|block| block.properties.as_slice()).unwrap_or_default() {
            match name.to_lowercase().as_str() {
                "title" => {
                    facts.title = Some(unquoted(value).to_owned()).filter(|it| !it.is_empty());
                }
                "alias" => facts.aliases = list(value),
                _ => {}
            }
        }
        for block in blocks {
            if let Some(id) = block.id.and_then(block_id) {
                let text = block.lines.iter().find(|line| !line.trim().is_empty());
                facts.blocks.push((id, text.map(|text| label_of(text)).unwrap_or_default()));
            }
        }
        facts
    }
}

/// Returns the name of a page by the name of its file, in the schemes of all versions. A dot stays.
fn name_of_file(stem: &str) -> String {
    percent_decode(&stem.replace("___", "/")).into_owned()
}

fn stem(entry: &Entry) -> &str {
    entry.name().rsplit_once('.').map_or(entry.name(), |(stem, _)| stem)
}

fn day_names(day: Date) -> Vec<String> {
    [DEFAULT_FORMAT, "yyyy-MM-dd", "MMMM do, yyyy", "yyyy_MM_dd"]
        .iter()
        .map(|format| days::title(day, format))
        .collect()
}

/// Returns the id of a block: a UUID.
fn block_id(text: &str) -> Option<u128> {
    let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
    (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok()).flatten()
}

/// Returns a value without double quotes around it.
pub(super) fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    inner.unwrap_or(value).trim()
}

/// Returns the parts of a list of names: `a, [[b, c]], #d, "e, f"`.
pub(super) fn list(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut part, mut depth, mut is_quoted) = (String::new(), 0_usize, false);
    for c in value.chars().chain([',']) {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '"' => is_quoted = !is_quoted,
            ',' if depth == 0 && !is_quoted => {
                let name = part.trim().trim_start_matches('#').trim();
                if !name.is_empty() {
                    found.push(name.to_owned());
                }
                part.clear();
            }
            c => part.push(c),
        }
    }
    let rest = part.trim();
    if !rest.is_empty() {
        // A bracket or quote that is not closed.
        found.push(rest.trim_end_matches(',').to_owned());
    }
    found
}

/// Returns the text of a setting in EDN. A line that begins with `;` is a comment.
fn setting<'a>(settings: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = settings.lines().map(str::trim_start).filter(|line| !line.starts_with(';'));
    let value =
        lines.find_map(|line| line.trim_start_matches('{').trim_start().strip_prefix(name))?;
    value.trim_start().strip_prefix('"')?.split_once('"').map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_has_brackets_quotes_and_hashes() {
        assert_eq!(list("a, [[b, c]], #d, #[[e f]], \"g, h\""), ["a", "b, c", "d", "e f", "g, h"]);
        assert_eq!(list(""), [""; 0]);
        assert_eq!(list("[[open, x"), ["open, x"]);
    }

    #[test]
    fn a_setting_is_read_and_comments_are_not() {
        let text = "{:meta/version 1\n ;; :journal/page-title-format \"x\"\n \
                    :journal/page-title-format \"yyyy-MM-dd\"}";
        assert_eq!(setting(text, ":journal/page-title-format"), Some("yyyy-MM-dd"));
        assert_eq!(setting(text, ":journals-directory"), None);
    }
}
