//! Lines that a converter writes, one JSON object each (`docs/import.md`).

use serde::{Deserialize, Serialize};

/// A line of a converter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConvertedLine {
    /// The format of the input; the first line.
    Format {
        /// Its name for `--as`.
        name: String,
        /// What it is, for people.
        title: String,
    },
    /// A page.
    Page {
        /// The file that it comes from, and the entry in it, as a person knows them.
        from: String,
        /// Its path with folders, without an extension: unique, also without case.
        path: String,
        /// Its text, with frontmatter.
        markdown: String,
    },
    /// A file of a page that is in an earlier line.
    File {
        /// The path of the page.
        page: String,
        /// The name of the file, which the page's frontmatter lists under `attachments`.
        name: String,
        /// Its bytes.
        base64: String,
    },
    /// A post of an account on a social platform, which the collector can keep, too.
    Post {
        /// The id of the account.
        account: String,
        /// The post, as the platform's API (version 2) returns it.
        post: serde_json::Value,
    },
    /// A thing that is in no page, or only in part.
    Lost {
        /// Its file, and the entry in it.
        from: String,
        /// Why.
        reason: String,
    },
    /// The last line. Without it, the conversion ended too early.
    End {
        /// The number of pages.
        pages: u64,
    },
}
