//! Reading a page.

use brain_protocol::{Fault, FaultCode, Page, PageRef, Reply, Request, Timeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{LONGEST, short, weight};
use crate::tool::{Call, Effect};
use crate::trust::{FRAME, Trust, framed, origin};
use crate::window::{Wanted, lines, window};
use crate::{Desk, defect, near, place};
use brain_base::caller::Scope;
use brain_page::{content_hash, headings, section};

/// How many characters of a title are shown.
pub(super) const TITLE: usize = 200;
/// How many characters of a type are shown.
pub(super) const TYPE: usize = 60;
/// How many characters of a tag, and how many tags.
const TAG: usize = 60;
const TAGS: usize = 30;
/// How many headings a refusal names, and how many characters of each.
const HEADINGS: usize = 30;
const HEADING: usize = 60;
/// How many dated lines are asked for with a page.
const DATED: u32 = 100;
/// How much each addition to a page may have, in bytes of JSON.
const ADDITION: usize = 8_000;

/// What is to be shown of a page's text.
pub(super) struct Section<'a> {
    /// Only what is below this heading.
    pub(super) heading: Option<&'a str>,
    /// The first line.
    pub(super) line: Option<usize>,
    /// Characters of it to leave out.
    pub(super) skip: usize,
    /// How many lines at the most.
    pub(super) lines: usize,
    /// How many bytes of JSON at the most.
    pub(super) room: usize,
}

impl Section<'_> {
    /// All of it, as far as there is room.
    pub(super) fn whole(room: usize) -> Self {
        Self { heading: None, line: None, skip: 0, lines: usize::MAX, room }
    }
}

/// What is shown of a page's text.
pub(super) struct Shown {
    /// The text, in its frame when it is from outside.
    pub(super) text: String,
    /// Its first line.
    pub(super) line: usize,
    /// Where the next part begins: line, and characters of it to leave out.
    pub(super) next: Option<(usize, usize)>,
}

/// A part of a page's text.
///
/// # Errors
/// When there is no such section or line; names the headings that there are.
pub(super) fn shown(page: &Page, wanted: &Section) -> Result<Shown, Fault> {
    let body = page.body.as_str();
    let part = match wanted.heading {
        None => 0..body.len(),
        Some(heading) => section(body, heading).ok_or_else(|| no_section(page, heading))?,
    };
    let Section { line, skip, lines, room, .. } = *wanted;
    let window = window(body, &Wanted { part, line, skip, lines, bytes: room })?;
    let text = &body[window.range];
    let text = match Trust::of(page.source_kind.as_deref()) {
        Trust::Owner => text.to_owned(),
        Trust::Outside => {
            let origin = origin(page.source_kind.as_deref(), page.source_uri.as_deref());
            framed(text, &origin, &page.content_hash)
        }
    };
    Ok(Shown { text, line: window.line, next: window.next })
}

/// The refusal of a section that is not there.
fn no_section(page: &Page, heading: &str) -> Fault {
    let heading = short(heading, HEADING).escape_debug().to_string();
    let all: Vec<String> = headings(&page.body)
        .into_iter()
        .take(HEADINGS)
        .map(|heading| format!("\"{}\"", short(&heading.text, HEADING)))
        .collect();
    let there = match all.as_slice() {
        [] => "it has no headings".to_owned(),
        all => format!("it has: {}", all.join(", ")),
    };
    Fault::new(
        FaultCode::NotFound,
        format!("\"{}\" has no section \"{heading}\"; {there}", page.slug),
    )
    .hint("give one of its headings, or read it without a section: `get_page`")
}

/// Reads a page, or a part of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetPage {
    slug: String,
    /// Only below this heading
    section: Option<String>,
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// To go on inside a long line
    #[schemars(range(min = 0))]
    skip_chars: Option<usize>,
    #[schemars(range(min = 1))]
    max_lines: Option<usize>,
    #[serde(default)]
    include: Vec<Include>,
}

/// What can be told beside a page's text.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Include {
    Links,
    Backlinks,
    Timeline,
    Frontmatter,
    Versions,
}

/// A page.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Read {
    slug: String,
    title: String,
    r#type: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    updated_at: String,
    version: u32,
    /// For `expected_hash`.
    content_hash: String,
    trust: Trust,
    text: String,
    start_line: usize,
    total_lines: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_start_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_skip_chars: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frontmatter: Option<String>,
    /// Pages that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<String>>,
    /// Pages that name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    backlinks: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<Vec<String>>,
    /// What was cut, and where the rest is.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Call for GetPage {
    const NAME: &'static str = "get_page";
    const TITLE: &'static str = "Read a page";
    const DESCRIPTION: &'static str = "Read a page, or a section or lines of it. Long text is cut: go on with next_start_line \
(and next_skip_chars). content_hash goes into later changes as expected_hash.";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Read;

    fn call(self, desk: &Desk) -> Result<Read, Fault> {
        let place = place::parse(&self.slug)?;
        let page = near::page(desk, &place.page)?;
        let at = PageRef { source: Some(page.source_id.clone()), slug: page.slug.clone() };
        let mut read = Read {
            slug: desk.name(&page.source_id, &page.slug)?,
            title: short(&page.title, TITLE),
            r#type: short(&page.page_type, TYPE),
            tags: tags(&page.tags),
            updated_at: page.updated_at.clone(),
            version: page.version,
            content_hash: page.content_hash.clone(),
            trust: Trust::of(page.source_kind.as_deref()),
            text: String::new(),
            start_line: 0,
            total_lines: lines(&page.body),
            truncated: false,
            next_start_line: None,
            next_skip_chars: None,
            frontmatter: None,
            links: None,
            backlinks: None,
            timeline: None,
            versions: None,
            note: None,
        };
        let mut cut = Vec::new();
        for include in [
            Include::Links,
            Include::Backlinks,
            Include::Timeline,
            Include::Frontmatter,
            Include::Versions,
        ] {
            if self.include.contains(&include) {
                add(desk, &page, &at, include, &mut read, &mut cut)?;
            }
        }
        read.note = (!cut.is_empty()).then(|| format!("there is more of: {}", cut.join(", ")));
        let room = LONGEST.saturating_sub(weight(&read) + FRAME + 200);
        let heading = self.section.as_deref().or(place.section.as_deref());
        let wanted = Section {
            heading,
            line: self.start_line,
            skip: self.skip_chars.unwrap_or(0),
            lines: self.max_lines.unwrap_or(usize::MAX),
            room,
        };
        let part = shown(&page, &wanted)?;
        (read.text, read.start_line) = (part.text, part.line);
        read.truncated = part.next.is_some();
        read.next_start_line = part.next.map(|(line, _)| line);
        read.next_skip_chars = part.next.map(|(_, skip)| skip).filter(|&skip| skip > 0);
        Ok(read)
    }
}

/// Adds to a page what was asked for beside its text; what was cut is told in `cut`.
fn add(
    desk: &Desk,
    page: &Page,
    at: &PageRef,
    include: Include,
    read: &mut Read,
    cut: &mut Vec<&'static str>,
) -> Result<(), Fault> {
    let mut fitting = |all: Vec<String>, more: bool, rest: &'static str| {
        let (count, mut bytes) = (all.len(), 0);
        let fits: Vec<String> = all
            .into_iter()
            .take_while(|row| {
                bytes += weight(row) + 1;
                bytes <= ADDITION
            })
            .collect();
        if more || fits.len() < count {
            cut.push(rest);
        }
        Some(fits)
    };
    match include {
        Include::Links => {
            let (names, more) = linked(desk, Request::Links(at.clone()))?;
            read.links = fitting(names, more, "links (get_links)");
        }
        Include::Backlinks => {
            let (names, more) = linked(desk, Request::Backlinks(at.clone()))?;
            read.backlinks = fitting(names, more, "backlinks (get_links)");
        }
        Include::Timeline => {
            let asked = Timeline {
                source: at.source.clone(),
                slug: Some(at.slug.clone()),
                limit: DATED,
                ..Timeline::default()
            };
            let Reply::Timeline(found) = desk.ask(Request::Timeline(asked))? else {
                return Err(defect());
            };
            let rows = found.entries.iter().map(|row| {
                let source = row
                    .source
                    .as_ref()
                    .map(|source| format!(" [Source: {}]", short(source, TITLE)));
                format!("{} | {}{}", row.date, short(&row.text, 1_000), source.unwrap_or_default())
            });
            read.timeline = fitting(rows.collect(), found.truncated, "timeline (get_timeline)");
        }
        Include::Frontmatter => {
            let most = page.frontmatter.char_indices().scan(ADDITION, |left, (at, c)| {
                *left = left.checked_sub(crate::answer::weight_of(c))?;
                Some(at + c.len_utf8())
            });
            let text = &page.frontmatter[..most.last().unwrap_or(0)];
            if text.len() < page.frontmatter.len() {
                cut.push("frontmatter");
            }
            read.frontmatter = Some(match read.trust {
                Trust::Owner => text.to_owned(),
                // The page's own hash does not cover it: whoever wrote the frontmatter may know that.
                Trust::Outside => {
                    let origin = origin(page.source_kind.as_deref(), page.source_uri.as_deref());
                    framed(text, &origin, &content_hash(&page.content))
                }
            });
        }
        Include::Versions => {
            let Reply::History(found) = desk.ask(Request::History(at.clone()))? else {
                return Err(defect());
            };
            let rows = found.versions.iter().map(|row| {
                format!(
                    "{}: {}, {} bytes{}",
                    row.version,
                    row.written_at,
                    row.bytes,
                    if row.current { ", current" } else { "" }
                )
            });
            read.versions = fitting(rows.collect(), false, "versions");
        }
    }
    Ok(())
}

/// The names of the pages at the other ends of links, each once, and whether there are more.
fn linked(desk: &Desk, request: Request) -> Result<(Vec<String>, bool), Fault> {
    let Reply::Links(found) = desk.ask(request)? else { return Err(defect()) };
    let mut seen = std::collections::HashSet::new();
    let mut names = Vec::new();
    for row in &found.links {
        if let (Some(source), Some(slug)) = (&row.source_id, &row.slug)
            && seen.insert((source, slug))
        {
            names.push(desk.name(source, slug)?);
        }
    }
    Ok((names, found.truncated))
}

/// Tags as they are shown.
pub(super) fn tags(all: &[String]) -> Vec<String> {
    all.iter().take(TAGS).map(|tag| short(tag, TAG)).collect()
}
