//! Tools that write whole pages: capture, put, delete.

use brain_protocol::{
    Capture as CaptureRequest, Delete, Fault, FaultCode, Operation as _, OperationInfo, Origin,
    PageRef, Precondition, Put,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit::{read, rewrite};
use super::write_output::{
    UNCHANGED, WriteOutput, parse_expected_hash, strip_untrusted_markers, submit,
};
use crate::tool::{Effect, ToolCall};
use crate::{ToolContext, names, page_address};
use brain_page::Document;

/// The output of `delete_page`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DeleteOutput {
    slug: String,
    status: String,
    recoverable_until: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A thought for the inbox.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CapturePage {
    /// Markdown
    content: String,
    title: Option<String>,
    /// note, idea, observation
    r#type: Option<String>,
    /// Where it is from
    source_uri: Option<String>,
    source_id: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    made_from: Vec<String>,
}

impl ToolCall for CapturePage {
    const NAME: &'static str = "capture";
    const TITLE: &'static str = "Save a note";
    const DESCRIPTION: &'static str = "Save this, remember that, store or keep it: write down a \
        new note, thought or fact in my brain, my memory. The same content within 24 hours is \
        kept once. To change a page use edit_page; for a chosen slug, put_page.";
    const OPERATIONS: &'static [OperationInfo] = &[brain_protocol::Capture::INFO];
    const EFFECT: Effect = Effect::Additive;
    type Output = WriteOutput;

    fn call(self, context: &ToolContext) -> Result<WriteOutput, Fault> {
        let request = CaptureRequest {
            content: strip_untrusted_markers(&self.content).into_bytes(),
            origin: Origin::Agent(self.source_uri),
            source: self.source_id.as_deref().map(page_address::parse_source).transpose()?,
            slug: None,
            page_type: self.r#type,
            title: self.title,
            tags: self.tags,
        };
        context.made_from(self.made_from);
        submit(context, request)
    }
}

/// A whole page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutPage {
    slug: String,
    /// Markdown, YAML frontmatter allowed
    content: String,
    /// content_hash of the page you replace; its frontmatter stays if content has none
    expected_hash: Option<String>,
    #[serde(default)]
    overwrite: bool,
    /// Slugs or URLs
    #[serde(default)]
    made_from: Vec<String>,
}

impl ToolCall for PutPage {
    const NAME: &'static str = "put_page";
    const TITLE: &'static str = "Write a page";
    const DESCRIPTION: &'static str = "Create a page under a slug such as people/jane-doe. An \
        existing page is replaced only with expected_hash or overwrite; its former version is \
        kept.";
    const OPERATIONS: &'static [OperationInfo] =
        &[brain_protocol::Get::INFO, brain_protocol::Put::INFO];
    const EFFECT: Effect = Effect::Destructive;
    type Output = WriteOutput;

    fn call(self, context: &ToolContext) -> Result<WriteOutput, Fault> {
        context.made_from(self.made_from);
        let page = page_address::parse_page(&self.slug)?;
        let content = strip_untrusted_markers(&self.content);
        let expect = match (parse_expected_hash(self.expected_hash)?, self.overwrite) {
            (Some(hash), _) => {
                if let Some(output) = replace_body(context, &page, &hash, &content)? {
                    return Ok(output);
                }
                Some(Precondition::Hash(hash))
            }
            (None, true) => None,
            (None, false) => Some(Precondition::Absent),
        };
        let put = Put {
            page,
            content: content.into_bytes(),
            origin: Origin::Agent(None),
            allow_empty: false,
            expect,
        };
        submit(context, put)
    }
}

/// Replaces the body of `page` with `content`, if `content` has no frontmatter.
///
/// `hash` covers only the body, which the model has read. The frontmatter stays, because another
/// writer may have changed it meanwhile. Returns `None` if there is no such page, or `content` has
/// frontmatter or cannot be parsed.
///
/// # Errors
/// `conflict` if the page has another content hash than `hash` and another body than `content`; any
/// fault of the store.
fn replace_body(
    context: &ToolContext,
    page: &PageRef,
    hash: &str,
    content: &str,
) -> Result<Option<WriteOutput>, Fault> {
    let Ok(Document { frontmatter, body }) = Document::parse(content) else { return Ok(None) };
    if !frontmatter.is_empty() {
        return Ok(None);
    }
    let replaced = rewrite(context, page, Some(hash), |mut document| {
        document.body.clone_from(&body);
        Ok(Some(document))
    });
    match replaced {
        Ok(output) => Ok(Some(output)),
        Err(fault) if fault.code == FaultCode::NotFound => Ok(None),
        // A repeated call is no conflict if the page already has this body.
        Err(fault) if fault.code == FaultCode::Conflict => match read(context, page, None)? {
            current if body == current.body => {
                WriteOutput::for_page(context, current, UNCHANGED).map(Some)
            }
            _ => Err(fault),
        },
        Err(fault) => Err(fault),
    }
}

/// A page to delete.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeletePage {
    slug: String,
    /// Refuse unless it has this content_hash
    expected_hash: Option<String>,
}

impl ToolCall for DeletePage {
    const NAME: &'static str = "delete_page";
    const TITLE: &'static str = "Delete a page";
    const DESCRIPTION: &'static str = "Delete a page. restore_page brings it back for 72 hours.";
    const OPERATIONS: &'static [OperationInfo] = &[brain_protocol::Delete::INFO];
    const EFFECT: Effect = Effect::Destructive;
    type Output = DeleteOutput;

    fn call(self, context: &ToolContext) -> Result<DeleteOutput, Fault> {
        let expect = parse_expected_hash(self.expected_hash)?.map(Precondition::Hash);
        let delete = Delete { page: names::find_page(context, &self.slug)?, expect };
        let deleted = context.run(delete)?;
        Ok(DeleteOutput {
            slug: context.page_name(&deleted.source_id, &deleted.slug)?,
            status: "deleted".into(),
            recoverable_until: deleted.recoverable_until,
            warnings: deleted.warnings,
        })
    }
}
