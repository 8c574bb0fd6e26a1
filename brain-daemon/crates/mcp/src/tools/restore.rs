//! The tool `restore_page`: brings back a deleted page, a former text, or what was there before the
//! client's own last write.

use brain_protocol::{
    Fault, FaultCode, Get, Operation as _, OperationInfo, PageRef, Restore, Revert, Undo,
    UndoEffect, UndonePage,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::write_output::{UNCHANGED, WriteOutput, submit};
use crate::tool::{Effect, ToolCall};
use crate::{ToolContext, page_address};

/// Maximum number of pages in an answer.
const MAX_PAGES: usize = 20;

/// What to restore.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestorePage {
    slug: Option<String>,
    version: Option<u32>,
    /// Only your own last write, or your last one to slug; again: one further back
    #[serde(default)]
    undo: bool,
}

/// The output of `restore_page`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RestoreOutput {
    #[serde(flatten)]
    page: Option<WriteOutput>,
    /// Of an undo: each page, with what became of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undone: Vec<String>,
}

impl ToolCall for RestorePage {
    const NAME: &'static str = "restore_page";
    const TITLE: &'static str = "Restore a page, or undo";
    const DESCRIPTION: &'static str = "Bring a deleted page back; with version, its text at this \
        version; with undo, take back what you wrote yourself. Edits by others stay.";
    // An undo of one's own write needs no higher scope than these.
    const OPERATIONS: &'static [OperationInfo] =
        &[brain_protocol::Get::INFO, brain_protocol::Restore::INFO, brain_protocol::Revert::INFO];
    const EFFECT: Effect = Effect::NonIdempotent;
    type Output = RestoreOutput;

    fn call(self, context: &ToolContext) -> Result<RestoreOutput, Fault> {
        let page = self.slug.as_deref().map(page_address::parse_page).transpose()?;
        match (page, self.version, self.undo) {
            (page, None, true) => undo(context, page),
            (Some(page), version, false) => {
                let output = restore(context, page, version)?;
                Ok(RestoreOutput { page: Some(output), undone: Vec::new() })
            }
            (_, Some(_), true) => {
                let message = "version and undo are two ways back: give one of them";
                Err(Fault::new(FaultCode::InvalidRequest, message))
            }
            (None, _, false) => Err(Fault::new(FaultCode::InvalidRequest, "slug is missing")
                .hint("name the page, or take back your own last write with undo")),
        }
    }
}

/// Takes back the client's last write, or its last one to a page.
fn undo(context: &ToolContext, page: Option<PageRef>) -> Result<RestoreOutput, Fault> {
    let done = context.run(Undo { page, ..Undo::default() }).map_err(|fault| match fault.code {
        FaultCode::NotFound => {
            fault.hint("`get_page` with include [\"why\"] shows who wrote a page")
        }
        _ => fault,
    })?;
    let mut undone = done
        .pages
        .iter()
        .take(MAX_PAGES)
        .map(|row| undone_row(context, row))
        .collect::<Result<Vec<String>, Fault>>()?;
    if done.pages.len() > MAX_PAGES {
        undone.push(format!("{} more pages", done.pages.len() - MAX_PAGES));
    }
    undone.extend(done.warnings);
    Ok(RestoreOutput { page: None, undone })
}

/// Says what became of a page, without text of it.
fn undone_row(context: &ToolContext, row: &UndonePage) -> Result<String, Fault> {
    let name = match &row.page.source {
        Some(source) => context.page_name(source, &row.page.slug)?,
        None => row.page.slug.to_string(),
    };
    let effect = match (row.effect, row.deleted) {
        (UndoEffect::TakenBack, true) => "taken back; the page is deleted".to_owned(),
        (UndoEffect::TakenBack, false) => "taken back".to_owned(),
        (UndoEffect::KeptInPart, _) => format!(
            "taken back in part: lines by others that stay: {}; changes of yours that stay, because \
             others changed them since: {}",
            row.kept_lines,
            row.conflicts.len()
        ),
        (UndoEffect::ToBeMadeAgain, _) => "to be made again".to_owned(),
        (UndoEffect::Untouched, _) => {
            "unchanged: there is nothing to take back any more".to_owned()
        }
    };
    Ok(format!("{name}: {effect}"))
}

/// Restores a deleted page, or a former text of it.
fn restore(
    context: &ToolContext,
    mut page: PageRef,
    version: Option<u32>,
) -> Result<WriteOutput, Fault> {
    let warnings = match context.run(Restore { page: page.clone() }) {
        Ok(restored) => {
            page = PageRef::new(&restored.source_id, &restored.slug);
            Some(restored.warnings)
        }
        // The page is active, and one of its versions is requested.
        Err(fault) if fault.code == FaultCode::AlreadyActive && version.is_some() => None,
        Err(fault) => return Err(fault),
    };
    let current = context.run(Get { page: page.clone(), version: None })?;
    match (version, warnings) {
        (Some(version), warnings) if version != current.version => {
            submit(context, Revert { page, version, expect: None }).map_err(|mut fault| {
                if warnings.is_some() {
                    fault
                        .message
                        .push_str("; the page itself is restored, as it was when it was deleted");
                }
                fault
            })
        }
        (_, Some(warnings)) => {
            Ok(WriteOutput::for_page(context, current, "restored")?.with_warnings(warnings))
        }
        (_, None) => WriteOutput::for_page(context, current, UNCHANGED),
    }
}
