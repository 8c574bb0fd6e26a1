//! A set in the form that Obsidian writes: the file's name is the title, links are `[[Name]]`.

use std::collections::HashMap;

use crate::set::{Doc, NoteFile, Set};

/// The suffix of the names of these sets.
pub(crate) const SUFFIX: &str = "-obsidian";

/// Sets that are also measured in this form.
const SETS: [&str; 2] = ["brainbench-concept", "brainbench-relational"];

/// Returns `sets`, each followed by its Obsidian form if that is measured.
pub(crate) fn with_obsidian_forms(sets: Vec<Set>) -> Vec<Set> {
    let mut all = Vec::with_capacity(sets.len() + SETS.len());
    for set in sets {
        let form = SETS.contains(&set.name.as_str()).then(|| obsidian_form(&set));
        all.push(set);
        all.extend(form);
    }
    all
}

/// Returns the set with pages in Obsidian's form, without `title:`. A title that cannot be a file
/// name is an alias. Questions and answers stay the same.
fn obsidian_form(set: &Set) -> Set {
    let names: HashMap<&str, String> =
        set.docs.iter().map(|doc| (doc.id.as_str(), file_name(&doc.title))).collect();
    let docs = set.docs.iter().map(|doc| {
        let name = &names[doc.id.as_str()];
        let folder = doc.id.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let head = match *name == doc.title {
            true => String::new(),
            false => {
                let title = serde_json::to_string(&doc.title).expect("a string");
                format!("---\naliases:\n  - {title}\n---\n\n")
            }
        };
        let content = format!("{head}{}\n", with_wiki_links(&doc.text, &names));
        Doc { file: Some(NoteFile { path, content }), ..doc.clone() }
    });
    Set {
        name: format!("{}{SUFFIX}", set.name),
        docs: docs.collect(),
        queries: set.queries.clone(),
        wanted: set.wanted.clone(),
        unwanted: set.unwanted.clone(),
        has_sources: set.has_sources,
    }
}

/// Returns the title as a file name, without the characters that Obsidian refuses in one.
fn file_name(title: &str) -> String {
    let name = title.replace([':', '/', '\\'], "-");
    name.replace(['*', '?', '"', '<', '>', '|', '#', '^', '[', ']'], "").trim().to_owned()
}

/// Replaces each markdown link to a page with `[[Name]]` or `[[Name|text]]`. A link to a page
/// outside the set stays broken.
fn with_wiki_links(text: &str, names: &HashMap<&str, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let Some((link_text, target, rest_after_link)) = split_link(rest) else {
            out.push('[');
            rest = &rest[1..];
            continue;
        };
        let last = target.rsplit('/').next().unwrap_or(target);
        match names.get(target).map_or(last, String::as_str) {
            name if name == link_text => out.push_str(&format!("[[{name}]]")),
            name => out.push_str(&format!("[[{name}|{link_text}]]")),
        }
        rest = rest_after_link;
    }
    out.push_str(rest);
    out
}

/// Splits `text` into the text of the link at its beginning, the link's target, and the rest.
/// `None` if no link to a page is there.
fn split_link(text: &str) -> Option<(&str, &str, &str)> {
    let (link_text, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (target, rest_after_link) = rest.split_once(')')?;
    let is_page = !link_text.contains(['[', ']', '\n']) && !target.contains([' ', '\n', ':']);
    is_page.then_some((link_text, target, rest_after_link))
}
