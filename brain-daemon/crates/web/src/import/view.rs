//! The screens of an import.

use brain_core::{MAX_UPLOAD, UploadedFile};
use brain_protocol::{
    ImportFailure, ImportReply, ImportReportsReply, ImportRow, SourceRow, UndoEffect, UndoReply,
};
use maud::{Markup, html};

use super::{DISCARD, MAX_FORM_MB, PATH, RUN, UNDO, UPLOAD};
use crate::layout::csrf;
use crate::page_path::encoded_path;
use crate::session::Session;
use crate::table::{bytes, table, text, time};
use crate::text::Text;

/// Maximum number of names on a screen. The command shows all.
const MAX_NAMED: usize = 200;

/// Returns the path of the preview of an uploaded file.
pub(super) fn file_path(upload: &str) -> String {
    encoded_path("/web/import/file/", upload)
}

/// Returns the path of the report of an import.
pub(super) fn report_path(id: &str) -> String {
    encoded_path("/web/import/report/", id)
}

/// Shows the form, and all imports.
pub(super) fn start(session: &Session, imports: &[ImportRow]) -> Markup {
    let rows: Vec<Vec<Markup>> = imports.iter().map(row).collect();
    html! {
        p {
            "Choose what another program exported, an archive of notes, or a document, or drop it "
            "here. First you see what it is and what an import would do."
        }
        form id="import" class="drop" method="post" action=(UPLOAD) enctype="multipart/form-data" {
            (csrf(session))
            label for="import-file" {
                "File, at most " (MAX_UPLOAD / 1_000_000_000) " GB"
                noscript { " (" (MAX_FORM_MB) " MB without JavaScript)" }
            }
            input id="import-file" type="file" name="file" required;
            button { "Look at it" }
            progress id="import-progress" max="1" value="0" aria-label="Upload" hidden {}
        }
        h2 { "Imports" }
        (table(
            "Imports",
            &["Import", "Began", "Source", "Pages", "State"],
            &rows,
            "Nothing was imported yet.",
        ))
    }
}

fn row(import: &ImportRow) -> Vec<Markup> {
    let name = import.path.rsplit('/').next().unwrap_or_default();
    vec![
        html! { a href=(Text(&report_path(&import.id))) { bdi { (Text(name)) } } },
        time(&import.began_at),
        text(import.source_id.as_str()),
        html! { (import.pages) },
        state(import),
    ]
}

fn state(import: &ImportRow) -> Markup {
    html! {
        @if let Some(at) = &import.undone_at { "taken back " (time(at)) }
        @else if let Some(status) = import.status { (status) }
        @else { "running, or ended with the daemon" }
    }
}

/// Shows what an uploaded file is, and what an import would do.
pub(super) fn preview(
    session: &Session,
    upload: &str,
    file: &UploadedFile,
    reply: &ImportReply,
    sources: &[SourceRow],
) -> Markup {
    html! {
        h2 { bdi { (Text(&file.name)) } }
        p {
            @match &reply.format {
                Some(format) => { "It is " bdi { (Text(format)) } }
                None => { "It has markdown" }
            }
            ", " (bytes(file.bytes)) ". Nothing is imported yet; an import would do this:"
        }
        (counts(reply))
        form method="post" action=(RUN) {
            (csrf(session))
            input type="hidden" name="upload" value=(upload);
            label for="import-source" { "Source of the pages" }
            select id="import-source" name="source" {
                @for source in sources {
                    @let id = source.source_id.as_str();
                    option value=(id) selected[source.default] { (Text(id)) }
                }
            }
            button { "Import" }
        }
        form method="post" action=(DISCARD) {
            (csrf(session))
            input type="hidden" name="upload" value=(upload);
            button class="plain" { "Do not import it" }
        }
        (problems(reply))
    }
}

/// Shows the report of an import.
pub(super) fn report(session: &Session, reply: &ImportReportsReply) -> Markup {
    let Some(import) = reply.imports.first() else {
        return html! { p { "There is no such import." } };
    };
    html! {
        h2 { bdi { (Text(import.path.rsplit('/').next().unwrap_or_default())) } }
        p {
            "Import " code { (Text(&import.id)) } ", began " (time(&import.began_at)) ": "
            (state(import)) "."
        }
        @if let Some(report) = &reply.report {
            @if let Some(format) = &report.format { p { "It is " bdi { (Text(format)) } "." } }
            (counts(report))
            p {
                a href={ "/?source=" (Text(import.source_id.as_str())) } {
                    "Pages of the source " (Text(import.source_id.as_str()))
                }
            }
        }
        @if import.undone_at.is_none() {
            details class="danger" {
                summary { "Take the import back" }
                form method="post" action=(UNDO) {
                    (csrf(session))
                    input type="hidden" name="id" value=(import.id);
                    p {
                        "New pages are deleted, and changed ones get their former text. Lines that "
                        "were changed since then stay."
                    }
                    button { "Take it back" }
                }
            }
        }
        @if let Some(report) = &reply.report { (problems(report)) }
        p { a href=(PATH) { "All imports" } }
    }
}

/// Shows what became of the pages of an import that was undone.
pub(super) fn undone(reply: &UndoReply) -> Markup {
    let kept = reply.pages.iter().filter(|row| row.effect == UndoEffect::KeptInPart);
    let kept: Vec<ImportFailure> = kept
        .map(|row| {
            let lines = match row.kept_lines {
                0 => None,
                count => Some(format!("lines of later edits: {count}")),
            };
            let reasons: Vec<String> = lines.into_iter().chain(row.conflicts.clone()).collect();
            ImportFailure { path: row.page.slug.to_string(), reason: reasons.join("; ") }
        })
        .collect();
    html! {
        p class="notice good" role="status" {
            "The import is taken back. As before: " (pages(reply.taken_back))
            ". With later edits: " (pages(reply.kept_in_part))
            ". As they are: " (pages(reply.untouched)) "."
        }
        (failures("Pages with later edits, which stay", &kept, reply.kept_in_part))
        p { a href="/web/deleted" { "Deleted pages" } " can be restored for 72 hours." }
        p { a href=(PATH) { "All imports" } }
    }
}

fn pages(count: u64) -> String {
    match count {
        1 => "1 page".to_owned(),
        count => format!("{count} pages"),
    }
}

fn counts(reply: &ImportReply) -> Markup {
    let counts = [
        (reply.created, "new"),
        (reply.updated, "changed"),
        (reply.restored, "restored"),
        (reply.unchanged, "unchanged"),
        (reply.failed_total, "failed"),
    ];
    html! {
        ul {
            @for (count, name) in counts.into_iter().filter(|(count, _)| *count > 0) {
                li { (pages(count)) ": " (name) }
            }
            @if reply.skipped > 0 { li { (reply.skipped) " things not imported, or in part" } }
            @if counts.iter().all(|(count, _)| *count == 0) { li { "no page" } }
        }
    }
}

fn problems(reply: &ImportReply) -> Markup {
    html! {
        @for warning in &reply.warnings { p class="note" { (text(warning)) } }
        (failures("Failed", &reply.failed, reply.failed_total))
        (failures("Not imported, or only in part", &reply.not_imported, reply.skipped))
    }
}

fn failures(title: &str, named: &[ImportFailure], total: u64) -> Markup {
    let shown = &named[..named.len().min(MAX_NAMED)];
    html! {
        @if !shown.is_empty() {
            h2 { (title) }
            ul {
                @for failure in shown {
                    li { code { bdi { (Text(&failure.path)) } } ": " (text(&failure.reason)) }
                }
            }
            @if total > shown.len() as u64 {
                p class="note" {
                    "These are " (shown.len()) " of " (total) "; all: "
                    code { "brain import --report ID --json" }
                }
            }
        }
    }
}
