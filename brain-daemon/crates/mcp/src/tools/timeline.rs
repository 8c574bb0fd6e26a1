//! What happened when.

use brain_protocol::{Fault, Reply, Request, Timeline, TimelineRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::twenty;
use crate::answer::short;
use crate::cursor::{self, Cursors};
use crate::tool::{Call, Effect};
use crate::trust::Trust;
use crate::{Desk, defect, near, place};
use brain_base::caller::Scope;

/// How many dated lines are looked at.
const DATED: usize = 1_000;
/// How many characters of a line, and of its source, are shown.
const LINE: usize = 1_000;
const SOURCE: usize = 200;

/// Dated lines.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetTimeline {
    /// One page; without it all
    slug: Option<String>,
    /// First day, YYYY-MM-DD
    since: Option<String>,
    /// Last day
    until: Option<String>,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "twenty")]
    limit: u32,
    cursor: Option<String>,
}

/// What happened.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Happened {
    entries: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One dated line.
#[derive(Serialize, JsonSchema)]
struct Entry {
    date: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    slug: String,
    trust: Trust,
}

impl Call for GetTimeline {
    const NAME: &'static str = "get_timeline";
    const TITLE: &'static str = "Timeline";
    const DESCRIPTION: &'static str = "Dated lines (\"- 2026-03-01 | text\") of a page or of all, newest first: what happened, \
when. Use list_pages for which pages changed.";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Happened;

    fn call(self, desk: &Desk) -> Result<Happened, Fault> {
        let page = self.slug.as_deref().map(place::page).transpose()?;
        let cursors = Cursors::of(Self::NAME, &(&page, &self.since, &self.until));
        let after = cursors.place(self.cursor.as_deref())?;
        let asked = Request::Timeline(Timeline {
            source: page.as_ref().and_then(|page| page.source.clone()),
            slug: page.as_ref().map(|page| page.slug.clone()),
            since: self.since,
            until: self.until,
            limit: DATED as u32,
        });
        let answer = desk.ask(asked);
        let answer = match &page {
            Some(page) => near::or_near(desk, page, answer),
            None => answer,
        };
        let Reply::Timeline(found) = answer? else { return Err(defect()) };
        let key =
            |row: &TimelineRow| format!("{} {}:{} {}", row.date, row.source_id, row.slug, row.text);
        let part = cursor::part(
            &found.entries,
            false,
            after.as_deref(),
            self.limit as usize,
            key,
            |row| {
                Ok(Entry {
                    date: row.date.clone(),
                    text: short(&row.text, LINE),
                    source: row.source.as_deref().map(|source| short(source, SOURCE)),
                    slug: desk.name(&row.source_id, &row.slug)?,
                    trust: Trust::of(row.source_kind.as_deref()),
                })
            },
        )?;
        let end = part.next.is_none() && found.truncated;
        let note =
            end.then(|| format!("only the newest {DATED} are shown; set until to an earlier day"));
        Ok(Happened {
            entries: part.rows,
            next_cursor: part.next.map(|place| cursors.after(&place)),
            note,
        })
    }
}
