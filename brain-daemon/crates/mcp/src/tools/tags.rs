//! The tool `list_tags`.

use brain_protocol::{Fault, Operation as _, OperationInfo, Tags, TagsReply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::MAX_TAG_CHARS;
use crate::answer::shorten;
use crate::tool::{Effect, ToolCall};
use crate::{ToolContext, page_address};

/// Maximum number of tags in one answer.
const MAX_TAGS: usize = 300;

/// Lists tags.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListTags {
    prefix: Option<String>,
    source_id: Option<String>,
}

/// The output of `list_tags`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TagsOutput {
    tags: Vec<TagRow>,
    /// Says how many tags are omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A tag.
#[derive(Serialize, JsonSchema)]
struct TagRow {
    tag: String,
    pages: u64,
}

impl ToolCall for ListTags {
    const NAME: &'static str = "list_tags";
    const TITLE: &'static str = "List tags";
    const DESCRIPTION: &'static str = "The tags in use, most used first.";
    // The operation can also change tags. This tool only lists them.
    const OPERATIONS: &'static [OperationInfo] =
        &[OperationInfo { scope: brain_protocol::Scope::Read, ..Tags::INFO }];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = TagsOutput;

    fn call(self, context: &ToolContext) -> Result<TagsOutput, Fault> {
        let source = self.source_id.as_deref().map(page_address::parse_source).transpose()?;
        let lookup = Tags { source, slug: None, add: Vec::new(), remove: Vec::new() };
        let mut tags = match context.run(lookup)? {
            TagsReply::All(counts) => counts.tags,
            TagsReply::OfPage(_) => Vec::new(),
        };
        let prefix = self.prefix.unwrap_or_default().to_lowercase();
        tags.retain(|row| row.tag.starts_with(prefix.trim_start_matches('#')));
        let left_out = tags.len().saturating_sub(MAX_TAGS);
        let rows = tags.iter().take(MAX_TAGS);
        Ok(TagsOutput {
            tags: rows
                .map(|row| TagRow { tag: shorten(&row.tag, MAX_TAG_CHARS), pages: row.pages })
                .collect(),
            note: (left_out > 0).then(|| format!("{left_out} more: give a prefix")),
        })
    }
}
