//! Diagnostics: links that lead nowhere, ambiguous names, missing headings, frontmatter that cannot
//! be read, and copies of the file that a sync program left beside it.

use std::collections::HashMap;
use std::path::Path;

use brain_page::{LinkSpan, heading_of_anchor, program_copy};
use brain_protocol::{Fault, ResolvedLink, TargetStatus, WrittenLink, shell_word};
use gen_lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};
use serde_json::json;

use crate::document::{Document, Outline};
use crate::navigate::{distinct, written};
use crate::page_links::{OwnPlace, in_form_of};
use crate::server::Server;

/// Maximum number of diagnostics of a document.
const MAX_DIAGNOSTICS: usize = 500;

/// The codes of diagnostics.
pub(crate) mod code {
    pub(crate) const MISSING_PAGE: &str = "missing-page";
    pub(crate) const AMBIGUOUS_NAME: &str = "ambiguous-name";
    pub(crate) const MISSING_HEADING: &str = "missing-heading";
    pub(crate) const FRONTMATTER: &str = "frontmatter";
    pub(crate) const CONFLICT_COPY: &str = "conflict-copy";
}

impl Server {
    /// Sends the diagnostics of all documents that need new ones.
    pub(crate) fn publish_stale(&mut self) {
        for path in std::mem::take(&mut self.stale) {
            let Some(document) = self.documents.get(&path) else { continue };
            let (uri, version) = (document.uri.clone(), document.version);
            // Without the daemon, the former diagnostics stay.
            let Ok(diagnostics) = self.diagnose(&path) else { continue };
            let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
            if let Some(version) = version {
                params["version"] = json!(version);
            }
            self.notify("textDocument/publishDiagnostics", params);
        }
    }

    fn diagnose(&mut self, path: &str) -> Result<Vec<Diagnostic>, Fault> {
        let Some(document) = self.documents.get(path) else { return Ok(Vec::new()) };
        let outline = document.outline();
        let mut found: Vec<Diagnostic> = Vec::new();
        if let Some((line, column, message)) = &outline.problem {
            let line = line.saturating_sub(1);
            let range = document.text.line(line);
            let rest = &document.text.as_str()[range.clone()];
            let at = rest.char_indices().nth(column.saturating_sub(1)).map_or(0, |(at, _)| at);
            let range = document.text.range(range.start + at..range.end);
            found.push(diagnostic(range, DiagnosticSeverity::Error, code::FRONTMATTER, message));
        }
        let links = distinct(&outline);
        let reply = self.resolve(path, links.clone(), false)?;
        if reply.page.is_none() {
            self.tell_of_unknown_dir(path);
            return Ok(found);
        }
        let own = OwnPlace::of(path, &reply);
        found.extend(copies(path));
        let targets: HashMap<WrittenLink, ResolvedLink> =
            links.into_iter().zip(reply.links).collect();
        let mut headings = HashMap::new();
        let Some(document) = self.documents.get(path) else { return Ok(found) };
        for link in &outline.links {
            if found.len() >= MAX_DIAGNOSTICS {
                break;
            }
            let target = targets.get(&written(link));
            found.extend(self.diagnose_link(
                (&own, path, document),
                &outline,
                (link, target),
                &mut headings,
            ));
        }
        Ok(found)
    }

    fn diagnose_link(
        &self,
        (own, path, document): (&OwnPlace, &str, &Document),
        outline: &Outline,
        (link, target): (&LinkSpan, Option<&ResolvedLink>),
        headings: &mut HashMap<String, Vec<String>>,
    ) -> Option<Diagnostic> {
        let range = document.text.range(link.target.clone().unwrap_or(link.range.clone()));
        let warning = |code, message: &str| {
            Some(diagnostic(range, DiagnosticSeverity::Warning, code, message))
        };
        match target.map(|target| (target.status, target.pages.as_slice())) {
            Some((TargetStatus::Missing, pages)) => {
                let message = match pages.first() {
                    Some(page) => {
                        format!("\"{}\" is now \"{}\"", link.path(), in_form_of(link, own, page))
                    }
                    None => format!("there is no page \"{}\"", link.path()),
                };
                return warning(code::MISSING_PAGE, &message);
            }
            Some((TargetStatus::Ambiguous, pages)) => {
                let paths: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
                let message = format!("several pages have this name: {}", paths.join(", "));
                return warning(code::AMBIGUOUS_NAME, &message);
            }
            _ => {}
        }
        let anchor = link.anchor().filter(|it| !it.is_empty() && !it.starts_with('^'))?;
        let texts = match target.map(|target| target.pages.first()) {
            None if link.path().is_empty() => &outline.heading_texts(),
            Some(Some(page)) => {
                let file = page.file.clone()?;
                if file == path {
                    &outline.heading_texts()
                } else {
                    let read = || self.read(&file);
                    headings.entry(file.clone()).or_insert_with(|| {
                        read().map(|(_, outline)| outline.heading_texts()).unwrap_or_default()
                    })
                }
            }
            _ => return None,
        };
        match heading_of_anchor(texts, anchor, link.is_wiki) {
            Some(_) => None,
            None => {
                warning(code::MISSING_HEADING, &format!("there is no heading \"{anchor}\" there"))
            }
        }
    }

    /// Says once how a directory becomes a source.
    fn tell_of_unknown_dir(&mut self, path: &str) {
        let Some(dir) = Path::new(path).parent().and_then(Path::to_str).map(str::to_owned) else {
            return;
        };
        if path.starts_with('/') && self.unknown_dirs.insert(dir.clone()) {
            let message = format!(
                "brain does not know the directory {dir}: add it with \
                 `brain sources add NAME --path {}`",
                shell_word(&dir)
            );
            self.show(3, &message);
        }
    }
}

fn diagnostic(range: Range, severity: DiagnosticSeverity, code: &str, message: &str) -> Diagnostic {
    Diagnostic {
        range,
        severity: Some(severity),
        code: Some(code.to_owned().into()),
        source: Some("brain".to_owned()),
        message: message.into(),
        ..Diagnostic::default()
    }
}

/// Returns the copies of a file that a sync program left beside it.
fn copies(path: &str) -> Vec<Diagnostic> {
    let Some((dir, name)) = path.rsplit_once('/') else { return Vec::new() };
    let names = std::fs::read_dir(if dir.is_empty() { "/" } else { dir }).into_iter().flatten();
    let names = names.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let start = Position { line: 0, character: 0 };
    let range = Range { start, end: start };
    let copy = |other: String| {
        let copy = program_copy(&other).filter(|copy| copy.original == name)?;
        let program = copy.program.name();
        let message = format!("{program} left a copy of this file beside it: {other}");
        let severity = DiagnosticSeverity::Warning;
        Some(diagnostic(range, severity, code::CONFLICT_COPY, &message))
    };
    let mut found: Vec<Diagnostic> = names.filter_map(copy).collect();
    found.sort_by(|a, b| format!("{:?}", a.message).cmp(&format!("{:?}", b.message)));
    found
}
