//! The tool `list_pages`.

use brain_protocol::{Fault, List, Operation as _, OperationInfo, PageRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::{MAX_TITLE, MAX_TYPE, shorten_tags};
use crate::answer::{json_len, shorten};
use crate::cursor::{Cursors, max_rows_bytes};
use crate::tool::{Effect, ToolCall};
use crate::trust::TextTrust;
use crate::{ToolContext, page_address};

/// Lists pages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListPages {
    /// Slug prefix, such as people/
    prefix: Option<String>,
    r#type: Option<String>,
    tag: Option<String>,
    source_id: Option<String>,
    /// YYYY-MM-DD or RFC 3339
    updated_after: Option<String>,
    #[serde(default)]
    sort: PageOrder,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "default_limit")]
    limit: u32,
    cursor: Option<String>,
}

/// The default number of rows.
pub(super) fn default_limit() -> u32 {
    20
}

/// The order of a listing.
#[derive(Deserialize, Serialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum PageOrder {
    /// The newest change first.
    #[default]
    Updated,
    /// By source and slug.
    Slug,
}

/// The output of `list_pages`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListOutput {
    pages: Vec<ListedPage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// One page of the list.
#[derive(Serialize, JsonSchema)]
struct ListedPage {
    slug: String,
    title: String,
    r#type: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    updated_at: String,
    trust: TextTrust,
    /// The file of which a sync program made this copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy_of: Option<String>,
}

impl ToolCall for ListPages {
    const NAME: &'static str = "list_pages";
    const TITLE: &'static str = "List pages";
    const DESCRIPTION: &'static str = "List pages without their text, newest first: what is new, \
        or what there is below a prefix.";
    const OPERATIONS: &'static [OperationInfo] = &[brain_protocol::List::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = ListOutput;

    fn call(self, context: &ToolContext) -> Result<ListOutput, Fault> {
        let source = self.source_id.as_deref().map(page_address::parse_source).transpose()?;
        let filters =
            (&self.prefix, &self.r#type, &self.tag, &source, &self.updated_after, self.sort);
        let cursors = Cursors::of(Self::NAME, &filters);
        let mut list = List {
            source,
            prefix: self.prefix,
            page_type: self.r#type,
            tag: self.tag,
            deleted: false,
            sort: match self.sort {
                PageOrder::Updated => brain_protocol::Sort::Updated,
                PageOrder::Slug => brain_protocol::Sort::Slug,
            },
            limit: self.limit,
            after: cursors.position(self.cursor.as_deref())?,
            updated_since: self.updated_after,
            updated_until: None,
        };
        let max_bytes = max_rows_bytes(self.limit as usize, default_limit());
        loop {
            let found = context.run(list.clone())?;
            let rows =
                found.pages.iter().map(|page| row(context, page)).collect::<Result<Vec<_>, _>>()?;
            if json_len(&rows) > max_bytes && list.limit > 1 {
                // `found.next` is the position after the last page, so the rows cannot be cut.
                // A shorter list is requested instead.
                list.limit /= 2;
                continue;
            }
            return Ok(ListOutput {
                pages: rows,
                next_cursor: found.next.map(|position| cursors.after(&position)),
            });
        }
    }
}

fn row(context: &ToolContext, page: &PageRow) -> Result<ListedPage, Fault> {
    Ok(ListedPage {
        slug: context.page_name(&page.source_id, &page.slug)?,
        title: shorten(&page.title, MAX_TITLE),
        r#type: shorten(&page.page_type, MAX_TYPE),
        tags: shorten_tags(&page.tags),
        updated_at: page.updated_at.clone(),
        trust: page.trust.into(),
        copy_of: page.copy_of.as_deref().map(|path| shorten(path, MAX_TITLE)),
    })
}
