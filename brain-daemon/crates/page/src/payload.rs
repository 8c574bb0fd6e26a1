//! Converts bytes from the network to a page's text: markdown and plain text unchanged, HTML as
//! markdown, JSON by its fields.
//!
//! Untrusted text is data: only a few of the fields sent with a text have an effect ([`fields`]).
//! The module does not know the sender, the destination or the time. It never panics, and its time
//! is linear in the length of the bytes.

mod fields;
mod flow;
mod html;
mod json;
mod parts;

use super::{Document, ForeignFormat, Frontmatter, FrontmatterError};
use fields::PayloadFields;

pub use fields::RECEIVED;
pub use flow::{is_entity, raised_text};
pub use html::{count_words, is_hidden_html};

/// Accepted media types.
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
    /// Returns the type's name.
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

/// Why bytes are not stored as a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// The bytes are empty, only white space, or HTML without text.
    #[error("there is no text")]
    Empty,
    /// The bytes are not UTF-8, have a NUL byte, or are not JSON. Says what and where.
    #[error("{0}")]
    Encoding(String),
    /// The text has a format that is not read.
    #[error("it is {0}, which is not a page")]
    Foreign(ForeignFormat),
    /// The frontmatter is malformed.
    #[error("{0}")]
    Frontmatter(#[from] FrontmatterError),
}

/// A received document, and the URL that it states.
#[derive(Debug, Clone)]
pub struct Payload {
    /// The body, and frontmatter with fields that have an effect: title, type, tags, aliases,
    /// author, date, created, url. All other fields are kept as one text under `received`, which
    /// has no effect, or at the end of the body if that text is too long.
    pub document: Document,
    /// The address that the JSON, the frontmatter or the HTML states: `http` or `https`.
    pub url: Option<String>,
    /// What could not be read as it was written.
    pub warning: Option<String>,
    /// Number of words that HTML hides, and that are left out.
    pub hidden_words: usize,
}

/// Converts `bytes` to a document. Drops one leading byte order mark.
///
/// Reads frontmatter in markdown only.
///
/// # Errors
/// [`PayloadError::Encoding`] when the bytes are not text or not JSON; [`PayloadError::Empty`] when
/// there is no text; [`PayloadError::Foreign`] when plain text or HTML is a calendar, mail or an
/// export of notes; [`PayloadError::Frontmatter`] when markdown has malformed frontmatter.
pub fn payload(media_type: MediaType, bytes: &[u8]) -> Result<Payload, PayloadError> {
    let text = super::decode_text(bytes).map_err(|e| PayloadError::Encoding(e.to_string()))?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(PayloadError::Empty);
    }
    if matches!(media_type, MediaType::Plain | MediaType::Html)
        && let Some(format) = ForeignFormat::of_content(text.as_bytes())
    {
        return Err(PayloadError::Foreign(format));
    }
    let payload = match media_type {
        MediaType::Markdown if text.starts_with(['-', '+']) => markdown(text)?,
        MediaType::Plain | MediaType::Markdown => all_body(text),
        MediaType::Html => {
            let html::Converted { fields, text, hidden_words } = html::markdown(text);
            Payload { hidden_words, ..fields.into_payload(text.into()) }
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
        document: Document { frontmatter: Frontmatter::empty(), body: text.into() },
        url: None,
        warning: None,
        hidden_words: 0,
    }
}

/// Converts markdown that may begin with frontmatter. Of malformed frontmatter, backslashes in
/// quotation marks are mended, as clippers write them.
fn markdown(text: &str) -> Result<Payload, FrontmatterError> {
    let read = |text: &str| {
        Document::parse(text).map(|document| match document {
            Document { body, .. } if body.trim().is_empty() => all_body(&body),
            Document { frontmatter, body } => PayloadFields::of(&frontmatter).into_payload(body),
        })
    };
    let error = match read(text) {
        Ok(payload) => return Ok(payload),
        Err(error) => error,
    };
    match with_escaped_backslashes(text).and_then(|text| read(&text).ok()) {
        Some(payload) => Ok(Payload {
            warning: Some(format!("{error}; its backslashes were read as plain ones")),
            ..payload
        }),
        None => Err(error),
    }
}

/// Returns `text` with `\\` for each `\` that escapes nothing but itself, in values of its
/// frontmatter between quotation marks. `None` when there is none.
fn with_escaped_backslashes(text: &str) -> Option<String> {
    let end = text.match_indices("\n---").next()?.0;
    let (head, rest) = text.split_at(end);
    let mut out = String::with_capacity(text.len() + 64);
    for line in head.split_inclusive('\n') {
        let value = line.find(['"']).filter(|at| {
            let key = line[..*at].trim_end();
            key.ends_with(':') || key.ends_with('-')
        });
        let last = line.rfind('"');
        match value.zip(last).filter(|(first, last)| first < last) {
            Some((first, last)) => {
                out.push_str(&line[..=first]);
                let mut chars = line[first + 1..last].chars().peekable();
                while let Some(c) = chars.next() {
                    out.push(c);
                    if c == '\\' && chars.peek() != Some(&'"') {
                        out.push('\\');
                    } else if c == '\\' {
                        out.extend(chars.next());
                    }
                }
                out.push_str(&line[last..]);
            }
            None => out.push_str(line),
        }
    }
    (out.len() > head.len()).then(|| out + rest)
}

/// Returns `text` as a code block, with a fence longer than any in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests;
