//! The tool `diff_page`.

use brain_protocol::{Diff, Fault, Get, Operation as _, OperationInfo, Page, TrustLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::tool::{Effect, ToolCall};
use crate::trust::{frame, origin};
use crate::window::{WindowRequest, select_window};
use crate::{ToolContext, names};

/// The maximum size of one part of a difference, in bytes of JSON.
const MAX_DIFF: usize = 8_500;

/// Two versions of a page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffPage {
    slug: String,
    /// The one before, if absent
    from: Option<u32>,
    to: Option<u32>,
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    #[schemars(range(min = 0))]
    skip_chars: Option<usize>,
}

/// The output of `diff_page`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiffOutput {
    slug: String,
    from: u32,
    to: u32,
    diff: String,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_start_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_skip_chars: Option<usize>,
}

impl ToolCall for DiffPage {
    const NAME: &'static str = "diff_page";
    const TITLE: &'static str = "Compare versions";
    const DESCRIPTION: &'static str = "Differences of two versions of a page.";
    const OPERATIONS: &'static [OperationInfo] = &[brain_protocol::Get::INFO, Diff::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    const PAGE_TEXT: Option<&'static str> = Some("diff");
    type Output = DiffOutput;

    fn call(self, context: &ToolContext) -> Result<DiffOutput, Fault> {
        let target = names::find_page(context, &self.slug)?;
        let found = context.run(Diff {
            page: target.clone(),
            from: self.from,
            to: self.to,
            other: None,
        })?;
        // A removed line may be from outside, too, so both versions are read. Version 0 is empty.
        let mut outside = None;
        for version in [found.from, found.to].into_iter().filter(|&version| version > 0) {
            let page = context.run(Get { page: target.clone(), version: Some(version) })?;
            outside = outside.or_else(|| outside_origin(&page));
        }
        let all = WindowRequest {
            part: 0..found.diff.len(),
            line: self.start_line,
            skip: self.skip_chars.unwrap_or(0),
            max_lines: usize::MAX,
            max_bytes: MAX_DIFF,
        };
        let shown = select_window(&found.diff, &all)?;
        let diff = &found.diff[shown.range];
        let diff = match outside {
            None => diff.to_owned(),
            Some(origin) => frame(diff, &origin, &brain_page::hex(&Sha256::digest(diff).into())),
        };
        Ok(DiffOutput {
            slug: context.page_name(&found.source_id, &found.slug)?,
            from: found.from,
            to: found.to,
            diff,
            truncated: shown.next.is_some(),
            next_start_line: shown.next.map(|(line, _)| line),
            next_skip_chars: shown.next.map(|(_, skip)| skip).filter(|&skip| skip > 0),
        })
    }
}

/// Returns the origin of the first text from outside in a version of a page. `None` if all text is
/// the owner's.
fn outside_origin(page: &Page) -> Option<String> {
    match page.trust {
        TrustLevel::Owner => None,
        TrustLevel::Outside => {
            Some(origin(page.source_kind.as_deref(), page.source_uri.as_deref()))
        }
        TrustLevel::Mixed => {
            let mark = page.outside_lines.first();
            Some(mark.map_or_else(String::new, |mark| {
                origin(Some(&mark.source_kind), Some(&mark.source_uri))
            }))
        }
    }
}
