//! Finds the conversations of an export: one file, or files in a directory or ZIP archive.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use brain_convert_base::{ConvertError, Entry, Sample, Tree};

use crate::json_array::{Element, for_each_element};

/// How much of a file is looked at to recognise it, in bytes.
const MAX_LOOK: usize = 64 * 1024;
/// How many files of a directory or archive are looked at.
const MAX_LOOKS: usize = 3;
/// Files beside the conversations in the exports of ChatGPT and Claude.
const MARKS: [&str; 3] = ["chat.html", "user.json", "users.json"];

/// Returns whether a file has conversations by its name: `conversations.json`, or one of the parts
/// `conversations-000.json`, `conversations-001.json` and so on.
fn has_conversations(name: &str) -> bool {
    let part = name.strip_prefix("conversations").and_then(|it| it.strip_suffix(".json"));
    part.is_some_and(|part| {
        let digits = part.strip_prefix('-').unwrap_or(part);
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (part.is_empty() || !digits.is_empty())
    })
}

/// Returns whether the conversations of a file, directory or archive are an array that begins with
/// these words, and one of `others`.
pub(crate) fn begins_with_words(sample: &Sample, words: &[&str], others: &[&str]) -> bool {
    let has_words = |text: &str| {
        let is_array =
            text.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']).starts_with('[');
        is_array
            && words.iter().all(|word| text.contains(word))
            && others.iter().any(|word| text.contains(word))
    };
    let Some(tree) = sample.tree() else { return has_words(&sample.text()) };
    let entries = tree.entries().iter().filter(|it| has_conversations(it.name()));
    entries.take(MAX_LOOKS).any(|entry| {
        let head = tree.head(entry, MAX_LOOK).unwrap_or_default();
        has_words(&String::from_utf8_lossy(&head)) && is_export(tree, entry.folder())
    })
}

/// Returns whether a folder with conversations is that of an export: it has a file of the account,
/// or there is no markdown. Markdown beside the account is a file of a conversation.
fn is_export(tree: &Tree, folder: &str) -> bool {
    let has = |name: &str| {
        let is_root = folder.is_empty();
        tree.entry(&if is_root { name.to_owned() } else { format!("{folder}/{name}") }).is_some()
    };
    MARKS.iter().any(|name| has(name)) || !tree.has_markdown()
}

/// An export of conversations.
pub(crate) struct Export {
    path: PathBuf,
    tree: Option<Tree>,
    parts: Vec<Part>,
}

/// A file with conversations.
pub(crate) struct Part {
    /// Its name for people.
    pub(crate) name: String,
    /// The file in the directory or archive; `None` if it is the export itself.
    pub(crate) entry: Option<Entry>,
}

impl Export {
    /// Finds the files of an export.
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        let tree = Tree::open(path).map_err(ConvertError::read(path))?;
        let name =
            path.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
        let parts: Vec<Part> = match &tree {
            None => vec![Part { name, entry: None }],
            Some(tree) => {
                let entries = tree.entries().iter().filter(|it| has_conversations(it.name()));
                let part = |it: &Entry| Part { name: it.path.clone(), entry: Some(it.clone()) };
                entries.map(part).collect()
            }
        };
        if parts.is_empty() {
            let reason = "it has no conversations.json".to_owned();
            return Err(ConvertError::Malformed { from: path.display().to_string(), reason });
        }
        Ok(Self { path: path.to_owned(), tree, parts })
    }

    /// The files with conversations, in order.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All files of the directory or archive; `None` if the export is one file.
    pub(crate) fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// Calls `each` with every conversation of a file. Meanwhile no other file of [`Self::tree`]
    /// can be read.
    pub(crate) fn for_each(
        &self,
        part: &Part,
        each: &mut dyn FnMut(Element<'_>) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let mut read = |input: &mut dyn Read| for_each_element(input, &part.name, each);
        match (&self.tree, &part.entry) {
            (Some(tree), Some(entry)) => tree
                .with_reader(entry, |input| read(input))
                .map_err(ConvertError::read(&self.path))?,
            _ => read(&mut File::open(&self.path).map_err(ConvertError::read(&self.path))?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_are_known_by_the_name() {
        for (name, expected) in [
            ("conversations.json", true),
            ("conversations-000.json", true),
            ("conversations-.json", false),
            ("shared_conversations.json", false),
            ("conversations-x.json", false),
        ] {
            assert_eq!(has_conversations(name), expected, "{name}");
        }
    }
}
