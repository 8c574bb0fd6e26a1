//! No message and no document tells a person to remove a file of theirs.

use std::path::Path;

use crate::architecture::{files, root};

/// Words of such a hint. Commands that remove what brain itself made are no such hints.
const FORBIDDEN: [&str; 9] = [
    "`rm ",
    ": rm {",
    "; remove the file",
    "to remove it,",
    "remove it, then",
    "delete the file",
    "delete it, then",
    "then remove that file",
    "remove that file",
];

fn assert_none(path: &Path, text: &str) {
    // A comment is no message, and a test may remove files.
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let is_code = path.extension().is_some_and(|extension| extension == "rs");
    let lines = code.lines().filter(|line| !is_code || !line.trim_start().starts_with("//"));
    let text = lines.collect::<Vec<_>>().join(" ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("\\ ", "");
    for words in FORBIDDEN {
        if let Some(at) = text.find(words) {
            let start = text.floor_char_boundary(at.saturating_sub(60));
            let end = text.floor_char_boundary((at + 80).min(text.len()));
            panic!("{} has a hint to remove a file: … {} …", path.display(), &text[start..end]);
        }
    }
}

#[test]
fn no_hint_names_the_removal_of_a_persons_file() {
    let mut checked = 0;
    let crates = ["core", "files", "ingest", "pages", "sync"];
    let dirs = crates.map(|name| format!("brain-daemon/crates/{name}/src"));
    for dir in dirs.iter().map(String::as_str).chain(["brain-ctl/src"]) {
        for path in files(&root().join(dir)) {
            assert_none(&path, &std::fs::read_to_string(&path).unwrap());
            checked += 1;
        }
    }
    for name in ["sync", "sources", "editing", "pages", "errors"] {
        let path = root().join(format!("docs/{name}.md"));
        assert_none(&path, &std::fs::read_to_string(&path).unwrap());
        checked += 1;
    }
    assert!(checked > 100, "{checked} files");
}
