//! Reads an HTML page.

mod inner_files;
mod positions;
mod xhtml;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample, Value, plain_hyphens};
use brain_page::{Frontmatter, MediaType, PayloadError, RECEIVED, payload};
use jiff::tz::TimeZone;

use crate::decode::{html_text, is_text};
use crate::draft::Draft;
use crate::facts::time;
use crate::locked;
use crate::model::Block;
use inner_files::InnerFiles;
use positions::with_positions;
use xhtml::with_ends;

pub(crate) const FORMAT: Format =
    Format { name: "html", title: "an HTML page", is_by_others: true, recognise, convert };

/// Maximum size of a page with the files in it, in bytes.
const MAX_HTML: u64 = 64 * 1024 * 1024;

fn recognise(sample: &Sample) -> bool {
    let head = sample.head().to_ascii_lowercase();
    let head = head.trim_ascii_start();
    let starts = [&b"<!doctype html"[..], b"<html"];
    let is_named = locked::has_extension(sample.path(), &["html", "htm", "xhtml", "xht"]);
    sample.path().is_file()
        && (starts.iter().any(|start| head.starts_with(start))
            || (is_named && is_text(sample.head()) && head.contains(&b'<')))
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut draft = Draft::new(path);
    let from = draft.page.from.clone();
    let malformed = |reason: String| ConvertError::Malformed { from: from.clone(), reason };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(ConvertError::read(path))?;
    file.take(MAX_HTML + 1).read_to_end(&mut bytes).map_err(ConvertError::read(path))?;
    if bytes.len() as u64 > MAX_HTML {
        return Err(malformed(format!("it has more than {MAX_HTML} bytes")));
    }
    draft.keep_original();
    let html = with_positions(with_ends(html_text(&bytes).replace('\0', "")));
    let (html, files) = InnerFiles::of(&html, &mut draft);
    let document = match payload(MediaType::Html, html.as_bytes()) {
        Ok(payload) => payload,
        Err(PayloadError::Empty) => {
            draft.lost("it has no text");
            return draft.write(path, None, &[], out);
        }
        Err(error) => return Err(malformed(error.to_string())),
    };
    draft.hide(document.hidden_words);
    facts(&document.document.frontmatter, document.url.as_deref(), &mut draft);
    let body = files.named(plain_hyphens(&document.document.body));
    if let Some(heading) = brain_page::headings(&body).first() {
        // Only a page without a title has the one of its heading, without marks.
        let title = brain_page::top_heading(&format!("# {}", heading.text));
        draft.facts.set_title(&title.unwrap_or_default());
    }
    report_pictures(&body, &files, &mut draft);
    if has_filled_fields(&html) {
        draft.lost("what its form fields hold is only in the kept file");
    }
    draft.set_files(files.files);
    let body = draft.fitted(body);
    draft.write(path, None, &[Block::Markdown(body)], out)
}

/// Reads what the page says about itself.
fn facts(frontmatter: &Frontmatter, url: Option<&str>, draft: &mut Draft) {
    let facts = &mut draft.facts;
    facts.set_title(&frontmatter.title().unwrap_or_default());
    frontmatter.list("author").iter().for_each(|name| facts.add_authors(name));
    frontmatter.tags().iter().for_each(|tag| facts.add_tags(tag));
    let date = frontmatter.get("date");
    let first = ["created", "date"].iter().find_map(|key| frontmatter.get(key));
    facts.created = first.and_then(|text| time(&text, &TimeZone::UTC));
    facts.add_field("date", &date.unwrap_or_default());
    facts.add_field("url", url.unwrap_or_default());
    if let Some(rest) = frontmatter.get(RECEIVED) {
        draft.page.fields.push((RECEIVED.to_owned(), Value::Text(rest.to_string())));
    }
}

/// Returns whether a page has fields of text or lists to choose from. Boxes are in the text.
fn has_filled_fields(html: &str) -> bool {
    let html = html.to_ascii_lowercase();
    let is_filled = |tag: &str| {
        let tag = tag.split('>').next().unwrap_or_default();
        let is_other = ["hidden", "submit", "button", "checkbox", "radio", "image", "reset"]
            .iter()
            .any(|kind| tag.contains(kind));
        tag.contains("value=") && !tag.contains("value=\"\"") && !is_other
    };
    html.contains("<textarea")
        || html.contains("<select")
        || html.split("<input").skip(1).any(is_filled)
}

/// Reports pictures beside the file. The program reads only the file itself.
fn report_pictures(body: &str, files: &InnerFiles, draft: &mut Draft) {
    for (_, rest) in body.match_indices("](").map(|(at, _)| body.split_at(at + 2)) {
        let target = rest.split([')', ' ']).next().unwrap_or_default();
        let is_own = files.files.iter().any(|(name, _)| name == target);
        if brain_page::is_picture(target) && !target.contains("://") && !is_own {
            let target: String = target.chars().take(200).collect();
            draft.lost(format!("its picture {target} is not in the file"));
        }
    }
}
