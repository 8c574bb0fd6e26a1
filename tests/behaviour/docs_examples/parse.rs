//! Finds the examples of a document.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// An example in a document.
#[derive(Debug)]
pub(super) enum Example {
    /// A shell command; it can have several lines.
    Shell(String),
    /// A JSON answer.
    Json(Value),
    /// A configuration.
    Toml(String),
    /// An address with a script, for the bookmarks of a browser.
    Bookmarklet(String),
    /// Lines in another language.
    Other(String),
    /// A `brain` command within a sentence.
    Inline(String),
}

impl Example {
    /// Returns the text to look up in the list of examples that are not run. Returns `None` if the
    /// example cannot be in that list.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Shell(text) | Self::Toml(text) | Self::Other(text) => Some(text),
            Self::Json(_) | Self::Bookmarklet(_) | Self::Inline(_) => None,
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the text of a document. The name is its path in the repository.
pub(super) fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// Returns the names of all documents: those in the root of the repository and in `docs`.
pub(super) fn documents() -> Vec<String> {
    let mut found = Vec::new();
    for prefix in ["", "docs/"] {
        for entry in std::fs::read_dir(root().join(prefix)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                found.push(format!("{prefix}{name}"));
            }
        }
    }
    found.sort();
    found
}

/// Returns the examples in code blocks and sentences, in order. A code block with the language
/// `text` is not an example.
///
/// # Panics
/// Panics if a block has no language, or is indented instead of fenced.
pub(super) fn examples(text: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut block: Option<(&str, usize, String)> = None;
    let mut prose = String::new();
    let (mut is_list, mut is_after_blank) = (false, true);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if let Some((language, margin, inner)) = &mut block {
            if line.trim_start().starts_with("```") {
                add_block(language, inner, &mut found);
                block = None;
            } else {
                inner.push_str(line.get(indent.min(*margin)..).unwrap_or_default());
                inner.push('\n');
            }
            continue;
        }
        if let Some(language) = line.trim_start().strip_prefix("```") {
            add_prose(&std::mem::take(&mut prose), &mut found);
            block = Some((language.trim(), indent, String::new()));
            continue;
        }
        if indent >= 4 && is_after_blank && !is_list {
            panic!("an example is indented; write ``` and its language: {line}");
        } else if !line.is_empty() && indent == 0 {
            let is_item = |text: &str| text.starts_with("- ") || text.starts_with(". ");
            is_list = is_item(line) || is_item(line.trim_start_matches(|c: char| c.is_numeric()));
        }
        prose.push_str(line);
        prose.push('\n');
        is_after_blank = line.is_empty();
    }
    assert!(block.is_none(), "a code block does not end");
    add_prose(&prose, &mut found);
    found
}

fn add_block(language: &str, inner: &str, found: &mut Vec<Example>) {
    match language {
        "sh" => found.extend(commands(inner).into_iter().map(Example::Shell)),
        "json" => {
            let value = serde_json::from_str(inner).unwrap_or_else(|e| panic!("{e}: {inner}"));
            found.push(Example::Json(value));
        }
        "toml" => found.push(Example::Toml(inner.to_owned())),
        "js" => found.push(Example::Bookmarklet(inner.trim().to_owned())),
        "text" => {
            let is_command = |line: &str| line.starts_with("brain ") || line.starts_with("curl ");
            assert!(!inner.lines().any(is_command), "commands are `sh`, not `text`: {inner}");
        }
        "" => panic!("a code block has no language: {inner}"),
        _ => found.push(Example::Other(inner.to_owned())),
    }
}

/// Splits shell lines into commands. A command continues after `\`, and inside quotes.
fn commands(lines: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut command = String::new();
    for line in lines.replace("\\\n", " ").lines() {
        let is_first = command.is_empty();
        if is_first && (line.trim().is_empty() || line.trim_start().starts_with('#')) {
            continue;
        }
        if !is_first {
            command.push('\n');
        }
        command.push_str(line);
        if !has_open_quote(&command) {
            found.push(std::mem::take(&mut command));
        }
    }
    assert!(command.is_empty(), "a quote does not end: {command}");
    found
}

fn has_open_quote(command: &str) -> bool {
    let mut open = None;
    let mut previous = ' ';
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (character, open) {
            ('\\', None | Some('"')) => _ = characters.next(),
            ('"' | '\'', None) => open = Some(character),
            ('#', None) if previous.is_whitespace() => {
                // A comment ends with its line.
                _ = characters.find(|&c| c == '\n');
            }
            (quote, Some(opened)) if quote == opened => open = None,
            _ => {}
        }
        previous = character;
    }
    open.is_some()
}

/// Adds the `brain` commands and the JSON answers in backticks.
fn add_prose(prose: &str, found: &mut Vec<Example>) {
    for code in prose.split('`').skip(1).step_by(2) {
        let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
        if code.starts_with("brain ") {
            found.push(Example::Inline(code));
        } else if code.starts_with("{\"")
            && let Ok(answer) = serde_json::from_str(&code)
        {
            found.push(Example::Json(answer));
        }
    }
}

#[test]
fn commands_continue_in_quotes_and_after_backslashes() {
    let text =
        "# first\nbrain capture \"# A\n\nb #c\" --tag d   # it's done\n\ncurl x \\\n    -d 'y'\n";
    let expected = ["brain capture \"# A\n\nb #c\" --tag d   # it's done", "curl x      -d 'y'"];
    assert_eq!(commands(text), expected);
}

#[test]
#[should_panic(expected = "no language")]
fn a_block_without_a_language_is_refused() {
    examples("text\n\n```\nbrain list\n```\n");
}

#[test]
#[should_panic(expected = "is indented")]
fn an_indented_example_is_refused() {
    examples("text\n\n    brain list\n");
}
