//! The tool `move_page`.

use brain_protocol::{Fault, FaultCode, Operation as _, OperationInfo, Rename};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::{Effect, ToolCall};
use crate::{ToolContext, names, page_address};

/// A page and its new slug.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MovePage {
    slug: String,
    to: String,
}

/// The output of `move_page`. Contains no page text. Links that could not be updated are therefore
/// counted, not listed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MoveOutput {
    slug: String,
    /// Other pages whose links lead to the new slug now.
    updated_pages: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl ToolCall for MovePage {
    const NAME: &'static str = "move_page";
    const TITLE: &'static str = "Move a page";
    const DESCRIPTION: &'static str = "Give a page another slug, in links to it as well.";
    const OPERATIONS: &'static [OperationInfo] = &[Rename::INFO];
    const EFFECT: Effect = Effect::Destructive;
    type Output = MoveOutput;

    fn call(self, context: &ToolContext) -> Result<MoveOutput, Fault> {
        let mut page = names::find_page(context, &self.slug)?;
        let to = page_address::parse_page(&self.to)?;
        page.source = match (page.source, to.source) {
            (Some(from), Some(to)) if from != to => {
                let message = "a page cannot be moved to another source";
                return Err(Fault::new(FaultCode::InvalidRequest, message)
                    .hint("leave out the source in `to`"));
            }
            (from, to) => from.or(to),
        };
        let moved =
            context.run(Rename { page, to: to.slug }).map_err(|fault| match fault.code {
                FaultCode::Conflict => fault.hint("give another slug in `to`"),
                _ => fault,
            })?;
        let mut warnings = moved.warnings;
        if !moved.left.is_empty() {
            warnings.push(format!("links that still name the former slug: {}", moved.left.len()));
        }
        Ok(MoveOutput {
            slug: context.page_name(&moved.source_id, &moved.slug)?,
            updated_pages: moved.pages.len(),
            warnings,
        })
    }
}
