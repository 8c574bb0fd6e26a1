//! What pages there are.

use brain_protocol::{Fault, List, PageRow, Reply, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::{TITLE, TYPE, tags};
use crate::answer::{LONGEST, short, weight};
use crate::cursor::Cursors;
use crate::tool::{Call, Effect};
use crate::trust::Trust;
use crate::{Desk, defect, place};
use brain_base::caller::Scope;

/// How much the rows of a listing may have together, in bytes of JSON.
const ROWS: usize = LONGEST - 4_000;

/// Lists pages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListPages {
    /// Of the slug, as people/
    prefix: Option<String>,
    r#type: Option<String>,
    tag: Option<String>,
    source_id: Option<String>,
    /// YYYY-MM-DD or RFC 3339
    updated_after: Option<String>,
    #[serde(default)]
    sort: Order,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "twenty")]
    limit: u32,
    cursor: Option<String>,
}

/// How many rows a list has when no number is asked for.
pub(super) fn twenty() -> u32 {
    20
}

/// The order of a listing.
#[derive(Deserialize, Serialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// The newest change first.
    #[default]
    Updated,
    /// By name.
    Slug,
}

/// A listing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    pages: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A page in it.
#[derive(Serialize, JsonSchema)]
struct Row {
    slug: String,
    title: String,
    r#type: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    updated_at: String,
    trust: Trust,
}

impl Call for ListPages {
    const NAME: &'static str = "list_pages";
    const TITLE: &'static str = "List pages";
    const DESCRIPTION: &'static str = "List pages without their text, newest change first: what is new, or what there is below a prefix. Use query to \
find by content.";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Listed;

    fn call(self, desk: &Desk) -> Result<Listed, Fault> {
        let source = self.source_id.as_deref().map(place::source).transpose()?;
        let asked =
            (&self.prefix, &self.r#type, &self.tag, &source, &self.updated_after, self.sort);
        let cursors = Cursors::of(Self::NAME, &asked);
        let mut list = List {
            source,
            prefix: self.prefix,
            page_type: self.r#type,
            tag: self.tag,
            deleted: false,
            sort: match self.sort {
                Order::Updated => brain_protocol::Sort::Updated,
                Order::Slug => brain_protocol::Sort::Slug,
            },
            limit: self.limit,
            after: cursors.place(self.cursor.as_deref())?,
            updated_since: self.updated_after,
        };
        loop {
            let Reply::Pages(found) = desk.ask(Request::List(list.clone()))? else {
                return Err(defect());
            };
            let rows =
                found.pages.iter().map(|page| row(desk, page)).collect::<Result<Vec<_>, _>>()?;
            if weight(&rows) > ROWS && list.limit > 1 {
                // Only this listing knows the place behind its last page.
                list.limit /= 2;
                continue;
            }
            return Ok(Listed {
                pages: rows,
                next_cursor: found.next.map(|place| cursors.after(&place)),
            });
        }
    }
}

fn row(desk: &Desk, page: &PageRow) -> Result<Row, Fault> {
    Ok(Row {
        slug: desk.name(&page.source_id, &page.slug)?,
        title: short(&page.title, TITLE),
        r#type: short(&page.page_type, TYPE),
        tags: tags(&page.tags),
        updated_at: page.updated_at.clone(),
        trust: Trust::of(page.source_kind.as_deref()),
    })
}
