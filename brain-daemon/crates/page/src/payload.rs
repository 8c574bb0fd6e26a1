//! What comes over the network, as a page's text: markdown and plain text as they are, HTML as markdown, JSON by its fields.
//!
//! What a stranger writes is data. Of the fields that come with a text only a few act ([`fields`]); nothing here knows who sent
//! it, where it goes, or when. Total, and linear in the length of what came.

mod fields;
mod flow;
mod html;
mod json;
mod parts;

use super::{Document, Frontmatter};
use fields::Fields;

pub use fields::RECEIVED;

/// The media types that can be taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// `text/plain`, and other `text/*`.
    Plain,
    /// `text/markdown`.
    Markdown,
    /// `text/html`.
    Html,
    /// `application/json`.
    Json,
}

impl MediaType {
    /// The type's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "text/plain",
            Self::Markdown => "text/markdown",
            Self::Html => "text/html",
            Self::Json => "application/json",
        }
    }
}

/// Why bytes from the network are no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadError {
    /// There is nothing in them, or white space only, or nothing is left of the HTML.
    Empty,
    /// They are not UTF-8, have a NUL byte, or are not JSON; the message says what and where.
    Encoding(String),
}

/// What was sent, as a document, and the address that it says it comes from.
#[derive(Debug, Clone)]
pub struct Payload {
    /// Body, and as frontmatter what may act: title, type, tags, aliases, date, url. Everything else that stood there is
    /// kept as one text under `received`, where nothing acts; at the end of the body when it is too long for that.
    pub document: Document,
    /// `url` of the JSON or the frontmatter: `http` or `https`.
    pub url: Option<String>,
}

/// The document that `bytes` are. One leading BOM is dropped.
///
/// Frontmatter is read in markdown only, and what is malformed there is text like any other.
///
/// # Errors
/// [`PayloadError`].
pub fn payload(media_type: MediaType, bytes: &[u8]) -> Result<Payload, PayloadError> {
    let text = super::decode_text(bytes).map_err(|e| PayloadError::Encoding(e.to_string()))?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(PayloadError::Empty);
    }
    let payload = match media_type {
        MediaType::Markdown if text.starts_with("---") => markdown(text),
        MediaType::Plain | MediaType::Markdown => all_body(text),
        MediaType::Html => {
            let (title, body) = html::markdown(text);
            Fields { title, ..Fields::default() }.document(body)
        }
        MediaType::Json => json::document(text)?,
    };
    if payload.document.body.trim().is_empty() {
        return Err(PayloadError::Empty);
    }
    Ok(payload)
}

fn all_body(text: &str) -> Payload {
    Payload {
        document: Document { frontmatter: Frontmatter::empty(), body: text.to_owned() },
        url: None,
    }
}

/// Text that may begin with frontmatter.
fn markdown(text: &str) -> Payload {
    match Document::parse(text) {
        Ok(document) if document.body.trim().is_empty() => all_body(&document.body),
        Ok(Document { frontmatter, body }) => Fields::of(&frontmatter).document(body),
        Err(_) => all_body(text),
    }
}

/// `text` as a block of code, behind a fence that is longer than any in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests;
