//! Words in HTML that stand for markdown, and their replacement.

use md5::{Digest as _, Md5};

use super::super::reasons::Reasons;

/// How many digits of the hash a word has.
const HASH: usize = 16;
/// Maximum number of signs in a text that a word stands for. A word is 20 times as long.
const MAX_SIGNS: usize = 1_000_000;

/// Words that stand for markdown.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// How a word begins. A number and `x` follow.
    prefix: String,
    markdown: Vec<String>,
    /// The words for signs, and how many of them were given out.
    signs: Vec<(&'static str, String)>,
    given: usize,
}

impl Places {
    /// Creates words for a text. They begin with its hash, so it does not contain them.
    pub(super) fn new(text: &str) -> Self {
        let hash = Md5::digest(text.as_bytes());
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let hash = hash.get(..HASH).unwrap_or(&hash);
        Self { prefix: format!("x{hash}x"), ..Self::default() }
    }

    /// Returns a word that stands for `markdown`.
    pub(super) fn add(&mut self, markdown: String) -> String {
        self.markdown.push(markdown);
        format!("{}{}x", self.prefix, self.markdown.len() - 1)
    }

    /// Returns the word for a sign, or `None` if a hostile text has too many of them.
    pub(super) fn add_sign(&mut self, markdown: &'static str) -> Option<String> {
        self.given += 1;
        if self.given > MAX_SIGNS {
            return None;
        }
        let known = self.signs.iter().find(|(sign, _)| *sign == markdown);
        if let Some((_, word)) = known {
            return Some(word.clone());
        }
        let word = self.add(markdown.to_owned());
        self.signs.push((markdown, word.clone()));
        Some(word)
    }

    /// Replaces the words in a text. Reports those that it does not have.
    pub(super) fn fill(&self, text: &str, lost: &mut Reasons) -> String {
        let mut is_used = vec![false; self.markdown.len()];
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let is_row = line.trim_start().starts_with('|');
            let mut pieces = line.split(self.prefix.as_str());
            out.push_str(pieces.next().unwrap_or_default());
            for piece in pieces {
                let (number, rest) = piece.split_once('x').unwrap_or((piece, ""));
                let number = number.parse().unwrap_or(usize::MAX);
                match self.markdown.get(number) {
                    Some(markdown) if is_row && markdown != "\\|" => {
                        out.push_str(&markdown.replace('|', "\\|"));
                    }
                    Some(markdown) => out.push_str(markdown),
                    None => {}
                }
                is_used.get_mut(number).into_iter().for_each(|is_used| *is_used = true);
                out.push_str(rest);
            }
        }
        let unused = self.markdown.iter().zip(is_used).filter(|(_, is_used)| !is_used);
        for (markdown, _) in unused {
            lost.push(format!("{markdown} has no place in its text"));
        }
        out
    }
}
