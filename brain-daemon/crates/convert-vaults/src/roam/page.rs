//! Writes a page of a graph.

use std::io;

use brain_convert_base::{Output, Page, Value};
use serde_json::value::RawValue;

use super::graph::{Graph, MAX_DEPTH, RoamPage, blocks};
use super::text::TextWriter;
use crate::vault::report;

/// Writes a page. `json` is its text in the file.
pub(super) fn write(
    graph: &Graph,
    number: usize,
    file: &str,
    json: &str,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let place = format!("{file}, page {}", number + 1);
    let found = match serde_json::from_str::<RoamPage<'_>>(json) {
        Ok(found) => found,
        Err(error) => return out.lost(&place, &format!("it is no page of Roam: {error}")),
    };
    let from = format!("{file}, {}", found.title);
    let path = graph.path(number).unwrap_or_default();
    let mut page = Page::new(&from, path, &found.title);
    (page.created, page.updated) = (found.created(), found.updated());
    if !found.author.is_empty() {
        page.fields.push(("author".to_owned(), Value::Text(found.author.clone().into_owned())));
    }
    let mut writer = BlockWriter { texts: TextWriter::new(graph), body: String::new() };
    writer.write(found.children, 0, 0, false);
    let BlockWriter { texts, body } = writer;
    page.body = body.trim_start_matches('\n').to_owned();
    page.tags = texts.tags;
    let mut reasons = texts.lost;
    if texts.remote_files > 0 {
        let count = texts.remote_files;
        reasons.push(format!("{count} of its files are on Roam's server, and only linked"));
    }
    report(&from, reasons, out)?;
    out.page(&page)
}

/// Writes the blocks of a page as a list. Headings at the top level are headings.
struct BlockWriter<'g> {
    texts: TextWriter<'g>,
    body: String,
}

impl BlockWriter<'_> {
    fn write(&mut self, list: Option<&RawValue>, depth: usize, indent: usize, is_numbered: bool) {
        if depth > MAX_DEPTH {
            let reason = format!("blocks below {MAX_DEPTH} others are left out");
            return self.texts.lost.push(reason);
        }
        let found = match blocks(list) {
            Ok(found) => found,
            Err(error) => {
                return self.texts.lost.push(format!("some of its blocks cannot be read: {error}"));
            }
        };
        for block in found {
            let text = self.texts.text(&block.string);
            let level = usize::from(block.heading.unwrap_or_default()).min(6);
            if level > 0 && indent == 0 && !text.contains('\n') {
                self.body.push_str(&format!("\n{} {text}\n\n", "#".repeat(level)));
                self.write(block.children, depth + 1, 0, block.is_numbered());
                continue;
            }
            let bullet = if is_numbered { "1. " } else { "- " };
            let heading = if level > 0 { format!("{} ", "#".repeat(level)) } else { String::new() };
            for (number, line) in text.split('\n').enumerate() {
                let start = if number == 0 { bullet } else { "   " };
                let start = start.get(..bullet.len()).unwrap_or(start);
                let heading = if number == 0 { heading.as_str() } else { "" };
                let line = format!("{}{start}{heading}{line}", " ".repeat(indent));
                self.body.push_str(line.trim_end());
                self.body.push('\n');
            }
            self.write(block.children, depth + 1, indent + bullet.len(), block.is_numbered());
        }
    }
}
