//! Runs a converter for tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod growth;

use std::fs;
use std::path::Path;

use brain_convert_base::{Format, convert_with, recognise};
use brain_page::ConvertedLine;
use tempfile::TempDir;

pub use growth::assert_linear;

/// Makes a directory with these files.
pub fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

/// What a conversion wrote.
pub struct Converted {
    /// The name of the recognised format.
    pub format: &'static str,
    /// All lines, in order.
    pub lines: Vec<ConvertedLine>,
    /// The error at which it ended.
    pub error: Option<String>,
}

impl Converted {
    /// Recognises and converts a file or directory.
    pub fn of(formats: &'static [Format], path: &Path) -> Self {
        Self::with_text(formats, path, None)
    }

    /// Recognises and converts a file, whose text another program read.
    pub fn with_text(formats: &'static [Format], path: &Path, other_text: Option<&str>) -> Self {
        let format = recognise(formats, path).unwrap().expect("no format was recognised");
        let mut out = Vec::new();
        let result = convert_with(format, path, other_text.map(str::to_owned), &mut out);
        let error = result.err().map(|error| error.to_string());
        let lines = String::from_utf8(out).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Self { format: format.name, lines, error }
    }

    /// The paths of all pages.
    pub fn paths(&self) -> Vec<&str> {
        let mut paths = Vec::new();
        for line in &self.lines {
            if let ConvertedLine::Page { path, .. } = line {
                paths.push(path.as_str());
            }
        }
        paths
    }

    /// The whole text of the page at `path`.
    pub fn page(&self, path: &str) -> &str {
        let text = self.lines.iter().find_map(|line| match line {
            ConvertedLine::Page { path: known, markdown, .. } if known == path => Some(markdown),
            _ => None,
        });
        text.unwrap_or_else(|| panic!("no page {path} in {:?}", self.paths()))
    }

    /// The files of all pages: page, name and bytes.
    pub fn files(&self) -> Vec<(&str, &str, Vec<u8>)> {
        use base64::Engine as _;
        let mut files = Vec::new();
        for line in &self.lines {
            if let ConvertedLine::File { page, name, base64 } = line {
                let bytes = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
                files.push((page.as_str(), name.as_str(), bytes));
            }
        }
        files
    }

    /// The posts, each with the id of its account.
    pub fn posts(&self) -> Vec<(&str, &serde_json::Value)> {
        let mut posts = Vec::new();
        for line in &self.lines {
            if let ConvertedLine::Post { account, post } = line {
                posts.push((account.as_str(), post));
            }
        }
        posts
    }

    /// What was lost: "from: reason".
    pub fn lost(&self) -> Vec<String> {
        let lost = |line: &ConvertedLine| match line {
            ConvertedLine::Lost { from, reason } => Some(format!("{from}: {reason}")),
            _ => None,
        };
        self.lines.iter().filter_map(lost).collect()
    }
}
