//! The tool `get_page`.

use std::collections::BTreeMap;

use brain_protocol::{
    Backlinks, Doer, Fault, FaultCode, Get, History, Links, Operation as _, OperationInfo, Page,
    PageRef, PastState, Timeline, Why,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{DEFAULT_ANSWER, MAX_ANSWER, json_len, shorten};
use crate::stale::stale_note;
use crate::tool::{Effect, ToolCall};
use crate::trust::{TextTrust, excess_bytes, frame_outside_text, max_frame, origin};
use crate::window::{WindowRequest, count_lines, select_window};
use crate::{ToolContext, names};
use brain_page::{SectionError, content_hash, headings, lines_above_body, section};

/// Maximum number of shown characters of a title.
pub(super) const MAX_TITLE: usize = 200;
/// Maximum number of shown characters of a type.
pub(super) const MAX_TYPE: usize = 60;
/// The default maximum size of a page's text without its frame, in bytes of JSON. So the text has
/// at most as many characters.
pub(super) const DEFAULT_TEXT: usize = 9_000;
/// Maximum number of shown characters of a tag.
pub(super) const MAX_TAG_CHARS: usize = 60;
/// Maximum number of shown tags of a page.
const MAX_TAGS: usize = 30;
/// Maximum number of headings in an error message.
const MAX_HEADINGS: usize = 30;
/// Maximum number of shown characters of a heading in an error message.
const MAX_HEADING_CHARS: usize = 60;
/// Maximum number of shown characters of a section's address in an error message.
const MAX_ADDRESS_CHARS: usize = 300;
/// Maximum number of timeline entries that are added to a page.
const MAX_TIMELINE_ROWS: u32 = 100;
/// The maximum size of each addition to a page, in bytes of JSON, if the call sets `max_chars`.
const MAX_ADDITION: usize = 8_000;
/// The maximum size of each addition if the call does not, in bytes of JSON.
const DEFAULT_ADDITION: usize = 1_500;

/// The requested part of a page's body.
pub(super) struct TextSelection<'a> {
    /// The heading of the section; `None` for the whole body.
    pub(super) heading: Option<&'a str>,
    /// The first line.
    pub(super) line: Option<usize>,
    /// Characters to skip in the first line.
    pub(super) skip: usize,
    /// The maximum number of lines; `usize::MAX` for no limit.
    pub(super) max_lines: usize,
    /// The maximum size, in bytes of JSON, without one frame.
    pub(super) max_bytes: usize,
}

/// The selected part of a page's body.
pub(super) struct PageText {
    /// The text, with frames around what is from outside.
    pub(super) text: String,
    /// Its first line.
    pub(super) line: usize,
    /// Where the next part begins: the line, and how many of its characters to skip.
    pub(super) next: Option<(usize, usize)>,
}

/// Selects a part of a page's body.
///
/// # Errors
/// `not_found` if the section does not exist, naming the headings that do; `invalid_request` if
/// several headings have its name, or if the first line is after the last line of the part.
pub(super) fn select_text(page: &Page, selection: &TextSelection) -> Result<PageText, Fault> {
    let body = page.body.as_str();
    let part = match selection.heading {
        None => 0..body.len(),
        Some(heading) => {
            section(body, heading).map_err(|error| section_fault(page, heading, error))?
        }
    };
    let TextSelection { line, skip, max_lines, mut max_bytes, .. } = *selection;
    let above = lines_above_body(&page.content, body);
    loop {
        let request = WindowRequest { part: part.clone(), line, skip, max_lines, max_bytes };
        let window = select_window(body, &request)?;
        let plain = &body[window.range];
        let first = above.saturating_add(u32::try_from(window.line).unwrap_or(u32::MAX));
        let text = frame_outside_text(page, plain, first, &page.content_hash);
        // The caller leaves space for one frame. A shorter part has fewer frames.
        match excess_bytes(plain, &text) {
            0 => return Ok(PageText { text, line: window.line, next: window.next }),
            excess if excess < max_bytes => max_bytes -= excess,
            _ if max_bytes > 1 => max_bytes /= 2,
            _ => return Ok(PageText { text, line: window.line, next: window.next }),
        }
    }
}

/// Returns the fault for a name that does not lead to one section.
fn section_fault(page: &Page, heading: &str, error: SectionError) -> Fault {
    let heading = shorten(heading, MAX_HEADING_CHARS).escape_debug().to_string();
    if let SectionError::Ambiguous { count, addresses, .. } = error {
        let known: Vec<String> = addresses
            .iter()
            .map(|address| format!("\"{}\"", shorten(address, MAX_ADDRESS_CHARS)))
            .collect();
        let more = if known.len() < count { " and more" } else { "" };
        let message = format!(
            "\"{}\" has {count} sections \"{heading}\": {}{more}",
            page.slug,
            known.join(", ")
        );
        return Fault::new(FaultCode::InvalidRequest, message)
            .hint("give one of these addresses as the section");
    }
    let all: Vec<String> = headings(&page.body)
        .into_iter()
        .filter(|heading| !heading.text.is_empty())
        .take(MAX_HEADINGS)
        .map(|heading| format!("\"{}\"", shorten(&heading.text, MAX_HEADING_CHARS)))
        .collect();
    let known = match all.as_slice() {
        [] => "it has no headings".to_owned(),
        all => format!("it has: {}", all.join(", ")),
    };
    Fault::new(
        FaultCode::NotFound,
        format!("\"{}\" has no section \"{heading}\"; {known}", page.slug),
    )
    .hint("give one of these headings, or read the page with `get_page` without a section")
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
    /// To continue inside a long line
    #[schemars(range(min = 0))]
    skip_chars: Option<usize>,
    #[schemars(range(min = 1))]
    max_lines: Option<usize>,
    /// Default 9000, up to 80000
    #[schemars(range(min = 100))]
    max_chars: Option<usize>,
    #[serde(default)]
    include: Vec<Include>,
    /// Past day or instant
    as_of: Option<String>,
}

/// An addition to a page's text.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Include {
    Links,
    Backlinks,
    Timeline,
    Frontmatter,
    Versions,
    Why,
}

/// The output of `get_page`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PageOutput {
    slug: String,
    title: String,
    r#type: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    updated_at: String,
    version: u32,
    /// The value for `expected_hash`.
    content_hash: String,
    trust: TextTrust,
    /// What to know before the text: trust, truncated, total_chars, and where the next part begins.
    metadata: BTreeMap<&'static str, String>,
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
    /// Pages that this page links to.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<String>>,
    /// Pages that link to this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    backlinks: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<String>>,
    /// Which additions were cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl PageOutput {
    /// Returns the facts about a page, without its text and without additions.
    fn without_text(context: &ToolContext, page: &Page) -> Result<Self, Fault> {
        Ok(Self {
            slug: context.page_name(&page.source_id, &page.slug)?,
            title: shorten(&page.title, MAX_TITLE),
            r#type: shorten(&page.page_type, MAX_TYPE),
            tags: shorten_tags(&page.tags),
            updated_at: page.updated_at.clone(),
            version: page.version,
            content_hash: page.content_hash.clone(),
            trust: page.trust.into(),
            metadata: BTreeMap::new(),
            text: String::new(),
            start_line: 0,
            total_lines: count_lines(&page.body),
            truncated: false,
            next_start_line: None,
            next_skip_chars: None,
            frontmatter: None,
            links: None,
            backlinks: None,
            timeline: None,
            versions: None,
            why: None,
            note: None,
        })
    }
}

impl ToolCall for GetPage {
    const NAME: &'static str = "get_page";
    const TITLE: &'static str = "Read a page";
    const DESCRIPTION: &'static str = "Read, open or show a note, one of my notes, all I know about a \
        thing: a page by slug or title, whole, or a section or lines. Cut after 9000 characters: \
        go on with next_start_line (and next_skip_chars), or set max_chars. content_hash goes \
        into later changes as expected_hash.";
    const OPERATIONS: &'static [OperationInfo] = &[
        brain_protocol::Get::INFO,
        brain_protocol::Links::INFO,
        brain_protocol::Backlinks::INFO,
        brain_protocol::Timeline::INFO,
        brain_protocol::History::INFO,
        brain_protocol::Why::INFO,
        brain_protocol::StaleAnswerList::INFO,
    ];
    const EFFECT: Effect = Effect::ReadOnly;
    const PAGE_TEXT: Option<&'static str> = Some("text");
    type Output = PageOutput;

    fn call(self, context: &ToolContext) -> Result<PageOutput, Fault> {
        let address = names::find(context, &self.slug)?;
        let (page, past) = match &self.as_of {
            None => (names::read_page(context, &address.page)?, None),
            Some(at) => self.read_past(context, &address.page, at)?,
        };
        let page_ref = PageRef { source: Some(page.source_id.clone()), slug: page.slug.clone() };
        let stale = match past {
            Some(_) => None,
            None => stale_note(context, (&page.source_id, &page.slug), &page.page_type)?,
        };
        let mut output = PageOutput::without_text(context, &page)?;
        let mut additions = Additions {
            context,
            page: &page,
            page_ref: &page_ref,
            max_bytes: self.max_chars.map_or(DEFAULT_ADDITION, |_| MAX_ADDITION),
            truncated: Vec::new(),
        };
        // Additions are made in this order, whatever the order of the request.
        let in_order = [
            Include::Links,
            Include::Backlinks,
            Include::Timeline,
            Include::Frontmatter,
            Include::Versions,
            Include::Why,
        ];
        for include in in_order.into_iter().filter(|include| self.include.contains(include)) {
            additions.add(include, &mut output)?;
        }
        let truncated = additions.truncated;
        output.note =
            (!truncated.is_empty()).then(|| format!("there is more of: {}", truncated.join(", ")));
        let max_answer = self.max_chars.map_or(DEFAULT_ANSWER, |_| MAX_ANSWER);
        let max_bytes = max_answer
            .saturating_sub(json_len(&output) + json_len(&stale) + max_frame(&page) + 400);
        let heading = self.section.as_deref().or(address.section.as_deref());
        let selection = TextSelection {
            heading,
            line: self.start_line,
            skip: self.skip_chars.unwrap_or(0),
            max_lines: self.max_lines.unwrap_or(usize::MAX),
            max_bytes: max_bytes.min(self.max_chars.unwrap_or(DEFAULT_TEXT)),
        };
        let part = select_text(&page, &selection)?;
        (output.text, output.start_line) = (part.text, part.line);
        output.truncated = part.next.is_some();
        output.next_start_line = part.next.map(|(line, _)| line);
        output.next_skip_chars = part.next.map(|(_, skip)| skip).filter(|&skip| skip > 0);
        output.metadata = part_metadata(&page, part.next.is_some());
        output.metadata.extend(stale.map(|note| ("stale", note)));
        if let Some(past) = past {
            output.metadata.insert("as_of", past.at);
            output.metadata.extend(past.now_called.map(|name| ("now_called", name.to_string())));
        }
        if let Some((line, skip)) = part.next {
            let skip = if skip > 0 { format!(" and skip_chars {skip}") } else { String::new() };
            output.metadata.insert("next", format!("start_line {line}{skip}"));
        }
        Ok(output)
    }
}

impl GetPage {
    /// Reads the page as it was at the time `at`.
    ///
    /// # Errors
    /// `invalid_request` for an addition that is not part of the page; otherwise as for `--as-of`.
    fn read_past(
        &self,
        context: &ToolContext,
        page: &PageRef,
        at: &str,
    ) -> Result<(Page, Option<PastState>), Fault> {
        if self.include.iter().any(|include| *include != Include::Frontmatter) {
            let message = "with as_of, include can only be frontmatter";
            return Err(Fault::new(FaultCode::InvalidRequest, message));
        }
        context.run_as_of(Some(at), Get { page: page.clone(), version: None })
    }
}

/// Returns what a model has to know before it reads a part of a page. JSON objects are sorted by
/// name, so `metadata` stands before `text`.
pub(super) fn part_metadata(page: &Page, is_truncated: bool) -> BTreeMap<&'static str, String> {
    let mut metadata = BTreeMap::from([
        ("trust", TextTrust::from(page.trust).as_str().to_owned()),
        ("truncated", is_truncated.to_string()),
        ("total_chars", page.body.chars().count().to_string()),
    ]);
    metadata.extend(page.copy_of.as_deref().map(|path| ("copy_of", shorten(path, MAX_TITLE))));
    metadata
}

/// Adds further facts about a page to the output.
struct Additions<'a> {
    context: &'a ToolContext,
    page: &'a Page,
    page_ref: &'a PageRef,
    /// The maximum size of each addition, in bytes of JSON.
    max_bytes: usize,
    /// The names of additions that were cut.
    truncated: Vec<&'static str>,
}

impl Additions<'_> {
    /// Adds one addition to `output`. If it is too long, cuts it and records its name.
    fn add(&mut self, include: Include, output: &mut PageOutput) -> Result<(), Fault> {
        let page = || self.page_ref.clone();
        match include {
            Include::Links => {
                let (names, has_more) = self.context.linked_names(Links { page: page() })?;
                output.links = Some(self.fitting(names, has_more, "links (get_links)"));
            }
            Include::Backlinks => {
                let (names, has_more) = self.context.linked_names(Backlinks { page: page() })?;
                output.backlinks = Some(self.fitting(names, has_more, "backlinks (get_links)"));
            }
            Include::Timeline => {
                let (rows, has_more) = self.timeline_rows()?;
                output.timeline = Some(self.fitting(rows, has_more, "timeline (get_timeline)"));
            }
            Include::Frontmatter => output.frontmatter = Some(self.frontmatter()),
            Include::Versions => {
                let rows = self.version_rows()?;
                output.versions = Some(self.fitting(rows, false, "versions"));
            }
            Include::Why => {
                let rows = self.life_rows()?;
                output.why = Some(self.fitting(rows, false, "why"));
            }
        }
        Ok(())
    }

    /// Returns the first rows that fit. Records `name` if these are not all.
    fn fitting(&mut self, all: Vec<String>, has_more: bool, name: &'static str) -> Vec<String> {
        let (count, mut bytes) = (all.len(), 0);
        let fits: Vec<String> = all
            .into_iter()
            .take_while(|row| {
                bytes += json_len(row) + 1;
                bytes <= self.max_bytes
            })
            .collect();
        if has_more || fits.len() < count {
            self.truncated.push(name);
        }
        fits
    }

    /// Returns the lines of the page's timeline, and whether there are more.
    fn timeline_rows(&self) -> Result<(Vec<String>, bool), Fault> {
        let timeline = Timeline {
            source: self.page_ref.source.clone(),
            slug: Some(self.page_ref.slug.clone()),
            limit: MAX_TIMELINE_ROWS,
            ..Timeline::default()
        };
        let found = self.context.run(timeline)?;
        let rows = found.entries.iter().map(|row| {
            let source = row
                .source
                .as_ref()
                .map(|source| format!(" [Source: {}]", shorten(source, MAX_TITLE)));
            format!("{} | {}{}", row.date, shorten(&row.text, 1_000), source.unwrap_or_default())
        });
        Ok((rows.collect(), found.truncated))
    }

    /// Returns the frontmatter as far as it fits.
    fn frontmatter(&mut self) -> String {
        let page = self.page;
        let fits = page.frontmatter.char_indices().scan(self.max_bytes, |left, (at, c)| {
            *left = left.checked_sub(crate::answer::json_char_len(c))?;
            Some(at + c.len_utf8())
        });
        let text = &page.frontmatter[..fits.last().unwrap_or(0)];
        if text.len() < page.frontmatter.len() {
            self.truncated.push("frontmatter");
        }
        // `content_hash` covers only the body, so the author of the frontmatter may know that
        // hash. The frontmatter begins in the second line of the file.
        frame_outside_text(page, text, 2, &content_hash(&page.content))
    }

    /// Returns a line for each change of the page, newest first, then the pages that were made from
    /// it.
    fn life_rows(&self) -> Result<Vec<String>, Fault> {
        let found = self.context.run(Why { page: self.page_ref.clone(), line: None })?;
        let rows = found.steps.iter().rev().map(|step| {
            // A client chooses its name, so only the characters of a URL are shown.
            let name = origin(None, step.by.author.as_deref().or(Some(&step.by.client)));
            let made_from = step.made_from.iter().map(|name| origin(None, Some(name)));
            let made_from = made_from.collect::<Vec<_>>().join(" ");
            let from = if made_from.is_empty() { "" } else { ", made from " };
            let Doer { at, door, .. } = &step.by;
            let event = step.event.as_str();
            format!("{at}: {event}, version {}, {door} {name}{from}{made_from}", step.version)
        });
        let made = found.made.iter().map(|page| format!("made from it: {page}"));
        Ok(rows.chain(made).collect())
    }

    /// Returns a line for each version of the page.
    fn version_rows(&self) -> Result<Vec<String>, Fault> {
        let found = self.context.run(History { page: self.page_ref.clone() })?;
        let rows = found.versions.iter().map(|row| {
            // A client chooses its name, so only the characters of a URL are shown.
            let author = origin(None, row.written_by.as_deref());
            let author = if author.is_empty() { author } else { format!(", by {author}") };
            format!(
                "{}: {}, {} bytes, {}{author}{}",
                row.version,
                row.written_at,
                row.bytes,
                TextTrust::from(row.trust).as_str(),
                if row.current { ", current" } else { "" }
            )
        });
        Ok(rows.collect())
    }
}

/// Shortens a list of tags.
pub(super) fn shorten_tags(all: &[String]) -> Vec<String> {
    all.iter().take(MAX_TAGS).map(|tag| shorten(tag, MAX_TAG_CHARS)).collect()
}
