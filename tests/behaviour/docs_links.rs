//! Links between the documents lead to files and headings that exist, and the book lists them all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the Markdown files directly in `docs` and in the root of the repository.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for dir in [root(), root().join("docs")] {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the lines outside of code blocks.
fn prose(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line);
        }
    }
    lines
}

/// Returns the anchors that renderers of Markdown give the headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    let mut found = BTreeSet::new();
    for heading in headings {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let anchor_chars = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = anchor_chars.map(|c| if c == ' ' { '-' } else { c }).collect();
        let numbered = (1..).map(|n| format!("{anchor}-{n}"));
        let mut names = std::iter::once(anchor.clone()).chain(numbered);
        let unused = names.find(|name| !found.contains(name));
        found.extend(unused);
    }
    found
}

/// Returns the targets of the links outside of code, without white space.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text).join("\n");
    let outside_code: String = prose.split('`').step_by(2).collect();
    let targets = outside_code.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split_whitespace().collect())
        .collect()
}

/// Returns why a link does not work, or `None`.
fn link_problem(document: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.to_owned(),
        file => document.parent().unwrap().join(file),
    };
    if !path.exists() {
        return Some("there is no such file".into());
    }
    if anchor.is_empty() {
        return None;
    }
    let text = std::fs::read_to_string(&path).unwrap();
    (!anchors(&text).contains(anchor)).then(|| "there is no such heading".into())
}

#[test]
fn all_links_of_the_documents_work() {
    let mut count = 0;
    let mut failures = Vec::new();
    for document in documents() {
        for target in links(&std::fs::read_to_string(&document).unwrap()) {
            count += 1;
            if let Some(reason) = link_problem(&document, &target) {
                failures.push(format!("{}: ({target}): {reason}", document.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 100, "only {count} links were found");
}

#[test]
fn broken_links_are_found() {
    let document = root().join("docs/search.md");
    assert!(link_problem(&document, "no-such-file.md").is_some());
    assert!(link_problem(&document, "sync.md#no-such-heading").is_some());
    assert!(link_problem(&document, "#no-such-heading").is_some());
    assert!(link_problem(&document, "sync.md#leave-files-out").is_none());
    assert!(link_problem(&document, "../README.md").is_none());
    assert_eq!(links("see [a](x.md), `[b](y.md)`\n```\n[c](z.md)\n```\n"), ["x.md"]);
}

#[test]
fn the_book_lists_each_document_once() {
    let summary = root().join("docs/SUMMARY.md");
    let mut listed = links(&std::fs::read_to_string(&summary).unwrap());
    listed.sort();
    let mut expected: Vec<String> = documents()
        .iter()
        .filter(|path| **path != summary)
        .map(|path| path.strip_prefix(root()).unwrap().to_str().unwrap())
        .map(|path| path.strip_prefix("docs/").map_or(format!("../{path}"), str::to_owned))
        .collect();
    expected.sort();
    assert_eq!(listed, expected);
}
