//! Splits a file into its frontmatter and its text.

use std::io;

use brain_convert_base::Output;
use brain_page::{Document, Frontmatter};

/// Returns the frontmatter and the text of a file. Frontmatter that is malformed becomes code above
/// the text, which is reported.
pub(crate) fn split(
    text: &str,
    from: &str,
    out: &mut Output<'_>,
) -> io::Result<(Frontmatter, String)> {
    match Document::parse(text) {
        Ok(document) => Ok((document.frontmatter, document.body.to_string())),
        Err(error) => {
            out.lost(from, &format!("its frontmatter is malformed, and is kept as code: {error}"))?;
            let fence = text.lines().next().unwrap_or_default().trim_end();
            let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
            let end = rest.find(&format!("\n{fence}")).unwrap_or(rest.len());
            let (raw, rest) = rest.split_at(end);
            let body = rest.trim_start_matches('\n').split_once('\n').map_or("", |(_, body)| body);
            let body = format!("~~~~~~~~yaml\n{raw}\n~~~~~~~~\n\n{body}");
            Ok((Frontmatter::empty(), body))
        }
    }
}
