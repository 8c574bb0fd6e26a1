//! The tool `get_timeline`.

use brain_protocol::{Fault, Operation as _, OperationInfo, Timeline, TimelineRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::default_limit;
use crate::answer::shorten;
use crate::cursor::{self, Cursors};
use crate::tool::{Effect, ToolCall};
use crate::trust::TextTrust;
use crate::{ToolContext, names};

/// Maximum number of entries that can be listed with cursors.
const MAX_ENTRIES: usize = 1_000;
/// Maximum numbers of shown characters of an entry's text and of its source.
const MAX_TEXT_CHARS: usize = 1_000;
const MAX_SOURCE_CHARS: usize = 200;

/// Dated lines.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetTimeline {
    /// One page; all if absent
    slug: Option<String>,
    /// First day, YYYY-MM-DD
    since: Option<String>,
    /// Last day
    until: Option<String>,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "default_limit")]
    limit: u32,
    cursor: Option<String>,
}

/// The output of `get_timeline`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TimelineOutput {
    entries: Vec<ListedEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One entry.
#[derive(Serialize, JsonSchema)]
struct ListedEntry {
    date: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    slug: String,
    trust: TextTrust,
}

impl ToolCall for GetTimeline {
    const NAME: &'static str = "get_timeline";
    const TITLE: &'static str = "Timeline";
    const DESCRIPTION: &'static str = "Dated lines (\"- 2026-03-01 | text\") of a page or of \
        all, newest first: what happened, when.";
    const OPERATIONS: &'static [OperationInfo] = &[brain_protocol::Timeline::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = TimelineOutput;

    fn call(self, context: &ToolContext) -> Result<TimelineOutput, Fault> {
        let page = self.slug.as_deref().map(|it| names::find_page(context, it)).transpose()?;
        let cursors = Cursors::of(Self::NAME, &(&page, &self.since, &self.until));
        let after = cursors.position(self.cursor.as_deref())?;
        let timeline = Timeline {
            source: page.as_ref().and_then(|page| page.source.clone()),
            slug: page.as_ref().map(|page| page.slug.clone()),
            since: self.since,
            until: self.until,
            limit: MAX_ENTRIES as u32,
            skip: 0,
        };
        let found = context.run(timeline)?;
        let key =
            |row: &TimelineRow| format!("{} {}:{} {}", row.date, row.source_id, row.slug, row.text);
        let part = cursor::list_part(
            &found.entries,
            false,
            after.as_deref(),
            self.limit as usize,
            cursor::max_rows_bytes(self.limit as usize, default_limit()),
            key,
            |row| {
                Ok(ListedEntry {
                    date: row.date.clone(),
                    text: shorten(&row.text, MAX_TEXT_CHARS),
                    source: row.source.as_deref().map(|source| shorten(source, MAX_SOURCE_CHARS)),
                    slug: context.page_name(&row.source_id, &row.slug)?,
                    trust: row.trust.into(),
                })
            },
        )?;
        let is_cut = part.next.is_none() && found.truncated;
        let note = is_cut.then(|| {
            format!("only the newest {MAX_ENTRIES} are shown; for older ones, set `until`")
        });
        Ok(TimelineOutput {
            entries: part.rows,
            next_cursor: part.next.map(|position| cursors.after(&position)),
            note,
        })
    }
}
