//! Notes whose text is HTML.

use std::io;

use brain_page::{MediaType, PayloadError};

use super::item::Item;
use super::links::{mark_html, without_marks};
use brain_convert_base::{Output, fenced, hidden_text};

/// Returns whether the body of a note is HTML, not markdown.
pub(super) fn is_html(item: &Item) -> bool {
    item.raw("markup_language") == "2"
}

/// Converts HTML to markdown, in which links to items are as Joplin writes them. Returns also the
/// number of words that the HTML hides.
///
/// # Errors
/// See [`PayloadError`]. A text without words is no error.
pub(super) fn html(body: &str) -> Result<(String, usize), PayloadError> {
    let marked = mark_html(body).replace('\0', "");
    match brain_page::payload(MediaType::Html, marked.as_bytes()) {
        Ok(payload) => Ok((without_marks(&payload.document.body), payload.hidden_words)),
        Err(PayloadError::Empty) => Ok((String::new(), 0)),
        Err(error) => Err(error),
    }
}

/// Converts the HTML of a note. Reports what is left out.
pub(super) fn html_body(body: &str, from: &str, out: &mut Output<'_>) -> io::Result<String> {
    if body.contains("src=\"data:") || body.contains("src='data:") {
        out.lost(from, "files written into its HTML (data:) are left out")?;
    }
    match html(body) {
        Ok((markdown, hidden)) => {
            if let Some(reason) = hidden_text(hidden) {
                out.lost(from, &reason)?;
            }
            Ok(markdown)
        }
        Err(error) => {
            out.lost(from, &format!("its HTML was not converted, and is kept as code: {error}"))?;
            Ok(fenced("html", body))
        }
    }
}
