//! Outlines, folding, and pages as symbols of the workspace.

use brain_protocol::Search;
use gen_lsp_types::{FoldingRange, SymbolKind};
use serde_json::{Value, json};

use crate::document::Heading;
use crate::navigate::newest;
use crate::server::{Answer, OfDocument, Server};
use crate::text::Text;

/// The name of a heading without text: clients refuse a whole outline with an empty name.
const UNNAMED: &str = "(no heading text)";
/// Maximum number of pages for a query, and without one.
const MAX_FOUND: u32 = 100;

impl Server {
    pub(crate) fn outline(&mut self, of: &OfDocument) -> Answer {
        let (_, document) = self.open_document(&of.text_document)?;
        let headings = &document.outline().headings;
        if self.support.outline_trees {
            return Ok(json!(tree(&document.text, headings)));
        }
        let symbols = headings.iter().map(|heading| {
            let range = document.text.range(heading.lines.clone());
            let location = json!({ "uri": document.uri, "range": range });
            json!({ "name": name(heading), "kind": SymbolKind::String, "location": location })
        });
        Ok(Value::Array(symbols.collect()))
    }

    pub(crate) fn folding(&mut self, of: &OfDocument) -> Answer {
        let (_, document) = self.open_document(&of.text_document)?;
        let (text, outline) = (&document.text, document.outline());
        let line = |byte: usize| text.position(byte).line;
        // Blank lines at the end of a section stay visible.
        let last = |end: usize| line(text.as_str()[..end].trim_end().len());
        let head = (0, last(outline.body));
        let sections =
            outline.headings.iter().map(|it| (line(it.lines.start), last(it.section_end)));
        let ranges = std::iter::once(head).chain(sections).filter(|(start, end)| start < end);
        let ranges = ranges.map(|(start_line, end_line)| FoldingRange {
            start_line,
            end_line,
            ..FoldingRange::default()
        });
        Ok(json!(ranges.collect::<Vec<_>>()))
    }

    /// Finds pages. Some clients keep only symbols whose name looks like the query, so the name has
    /// what matched.
    pub(crate) fn workspace_symbols(&mut self, params: &Value) -> Answer {
        let query = params.get("query").and_then(Value::as_str).unwrap_or_default().trim();
        let pages: Vec<(String, Option<String>, String)> = match query.is_empty() {
            true => {
                let rows = self.daemon.run(newest(None, MAX_FOUND))?.pages.into_iter();
                rows.map(|row| (row.title, row.path, row.slug.to_string())).collect()
            }
            false => {
                let search = Search {
                    query: query.to_owned(),
                    limit: MAX_FOUND,
                    prefix: true,
                    ..Search::default()
                };
                let hits = self.daemon.run(search)?.hits.into_iter();
                hits.map(|hit| (hit.title, hit.path, hit.slug.to_string())).collect()
            }
        };
        let symbols = pages.into_iter().filter_map(|(title, path, slug)| {
            let name = match title.to_lowercase().contains(&query.to_lowercase()) {
                true => title,
                false => format!("{title} ({query})"),
            };
            let name = if name.trim().is_empty() { slug.clone() } else { name };
            let location = self.location(&path?, None);
            let kind = SymbolKind::File;
            Some(json!({ "name": name, "kind": kind, "location": location, "containerName": slug }))
        });
        Ok(Value::Array(symbols.collect()))
    }
}

fn name(heading: &Heading) -> String {
    match heading.text.trim() {
        "" => UNNAMED.to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the headings as a tree. The range of a heading is its section, which contains its lines.
fn tree(text: &Text, headings: &[Heading]) -> Vec<Value> {
    let mut symbols = Vec::new();
    let mut at = 0;
    while let Some(heading) = headings.get(at) {
        let rest = &headings[at + 1..];
        let below = rest.iter().take_while(|it| it.lines.start < heading.section_end).count();
        let children = tree(text, &rest[..below]);
        symbols.push(json!({
            "name": name(heading),
            "kind": SymbolKind::String,
            "range": text.range(heading.lines.start..heading.section_end),
            "selectionRange": text.range(heading.lines.clone()),
            "children": children,
        }));
        at += 1 + below;
    }
    symbols
}
