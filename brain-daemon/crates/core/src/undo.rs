//! `undo`: also says what became of an import besides its pages.

use brain_base::caller::Caller;
use brain_protocol::{
    Command, Doer, Fault, FaultCode, Undo, UndoEffect, UndoReply, UndonePage, hint,
};

use crate::Brain;

/// Takes back what the request names. The record of an import learns that it was undone.
///
/// # Errors
/// As [`brain_past::PastService::undo`]; `busy` if the import runs.
pub(crate) fn undo(brain: &Brain, caller: &Caller, request: &Undo) -> Result<UndoReply, Fault> {
    let run = request.run.as_deref();
    let import = run.map(|run| brain.sync.undone_import(run)).transpose()?.flatten();
    let undone = brain.past.undo(caller, request);
    let Some(import) = import else { return undone };
    let mut reply = match undone {
        Err(fault) if fault.code == FaultCode::NotFound => match import.reported_pages() {
            0 => empty(request),
            pages => return Err(unknown_steps(run.unwrap_or_default(), pages)),
        },
        undone => undone?,
    };
    let unchanged = import.unchanged().map(|page| UndonePage {
        page,
        effect: UndoEffect::Untouched,
        event: None,
        by: Doer::default(),
        deleted: false,
        kept_lines: 0,
        kept_by: Vec::new(),
        conflicts: Vec::new(),
        reason: Some("the import did not change it".to_owned()),
    });
    let before = reply.pages.len();
    reply.pages.extend(unchanged);
    reply.untouched += (reply.pages.len() - before) as u64;
    if let Some(directory) = import.posts_directory() {
        reply.warnings.push(format!("posts of the import stay in {directory}"));
    }
    if !request.dry_run {
        import.finish(brain.now())?;
    }
    Ok(reply)
}

/// Returns the fault for an import whose changes have no steps with its id.
fn unknown_steps(id: &str, pages: u64) -> Fault {
    let message = format!(
        "import {id} wrote {pages} pages before brain recorded which change belongs to which \
         import, so it cannot be taken back as a whole"
    );
    Fault::new(FaultCode::Conflict, message).hint(hint!(
        "{} lists the former texts of a page, which can be restored one by one",
        Command::History { page: None }
    ))
}

fn empty(request: &Undo) -> UndoReply {
    UndoReply {
        redo: false,
        dry_run: request.dry_run,
        run: None,
        pages: Vec::new(),
        taken_back: 0,
        kept_in_part: 0,
        to_be_made_again: 0,
        untouched: 0,
        newer: Vec::new(),
        newer_total: 0,
        warnings: Vec::new(),
    }
}
