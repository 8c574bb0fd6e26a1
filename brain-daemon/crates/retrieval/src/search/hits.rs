//! Reads the pages of a ranking and makes the hits of an answer.

use std::collections::HashMap;
use std::ops::Range;

use brain_page::{self as page, FrontmatterText};
use brain_protocol::{Hit, TrustLevel};
use brain_search::{Snippet, Snippeter};
use brain_store::{Content, Hash, PageRecord, Reader, StoreError};

use super::dated::DatedPages;
use super::fuse::RankingEntry;
use brain_base::caller::Caller;
use brain_pages::files::FileService;
use brain_pages::pages::hit::page_hit;
use brain_pages::provenance::{INGEST_KEYS, trust_of_lines, trust_of_row};

/// Pages with the same text become one hit if the text has at least this many bytes, or if their
/// titles are equal. Shorter texts are the same by chance: an empty daily note, a list of one word.
const MIN_EQUAL_BYTES: u64 = 200;

/// The hits of an answer, best first.
pub(super) struct HitList {
    limit: usize,
    hits: Vec<Hit>,
    /// The index in `hits` of the first hit with a text, by the hash of the text.
    by_text: HashMap<Hash, usize>,
}

impl HitList {
    /// Creates an empty list for `limit` hits.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, hits: Vec::with_capacity(limit), by_text: HashMap::new() }
    }

    /// Returns whether the list has as many hits as were requested.
    pub(super) fn is_full(&self) -> bool {
        self.hits.len() >= self.limit
    }

    /// Returns the hits.
    pub(super) fn into_hits(self) -> Vec<Hit> {
        self.hits
    }

    /// Returns the hit with the same text as a page, if the two become one hit.
    fn with_text_of(&mut self, record: &PageRecord) -> Option<&mut Hit> {
        let hit = self.hits.get_mut(*self.by_text.get(&record.content_hash)?)?;
        (record.bytes >= MIN_EQUAL_BYTES || hit.title == record.title).then_some(hit)
    }
}

/// Reads the pages that an answer shows.
pub(super) struct HitReader<'a> {
    pub(super) caller: &'a Caller,
    pub(super) reader: &'a Reader,
    pub(super) files: &'a FileService,
}

impl HitReader<'_> {
    /// Adds a page to the hits, or its name to the hit with the same text. Does nothing if the page
    /// was deleted or the caller cannot see it.
    pub(super) fn add(
        &self,
        page: RankingEntry,
        dated: &DatedPages,
        snippets: &Snippeter,
        list: &mut HitList,
    ) -> Result<(), StoreError> {
        let Some((source, slug, record)) = self.reader.by_id(page.id)? else { return Ok(()) };
        if let Some(hit) = list.with_text_of(&record) {
            hit.also_in.push(format!("{source}:{slug}"));
            hit.copies.push(page.id);
            return Ok(());
        }
        let Content { frontmatter, body } = self.reader.content(&record)?;
        let line = dated.line(page.id, &body);
        let window = line.or(page.window());
        let snippet = passage(&body, window, snippets);
        let of_field = field_passage(&frontmatter, &snippet.text, snippets);
        let url = page::page_url(&frontmatter, record.provenance.source_uri.as_deref());
        let path = self.files.visible_path(self.caller, &source, &record);
        let trust = match &of_field {
            Some(_) => {
                let above = page::lines_above_body(&page::file_text(&frontmatter, &body), &body);
                trust_of_lines(&record, 1, above)
            }
            None => trust_of_snippet(&record, &frontmatter, &body, snippet.range.clone()),
        };
        let span = of_field.is_none().then_some(snippet.span);
        let snippet = of_field.unwrap_or(snippet);
        list.by_text.entry(record.content_hash).or_insert(list.hits.len());
        let mut hit = page_hit(source, slug, record, page.score);
        hit.path = path;
        hit.snippet = snippet.text;
        hit.span = span;
        hit.highlights = snippet.highlights;
        hit.chunk = snippet.chunk;
        hit.line = snippet.line;
        hit.url = url;
        hit.trust = trust;
        hit.matched = page.matched.into_iter().map(Into::into).collect();
        hit.explain = page.explain;
        list.hits.push(hit);
        Ok(())
    }
}

/// Returns whether a page's title and the part of its body at `range`, in bytes, are the owner's or
/// from outside.
fn trust_of_snippet(
    record: &PageRecord,
    frontmatter: &str,
    body: &str,
    range: Range<usize>,
) -> TrustLevel {
    if record.marks.is_empty() || record.has_outside_title {
        return trust_of_row(record);
    }
    let above = page::lines_above_body(&page::file_text(frontmatter, body), body);
    let line = |at: usize| {
        let ends = body.bytes().take(at).filter(|byte| *byte == b'\n').count();
        above.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX)).saturating_add(1)
    };
    let part = body.get(range.clone()).unwrap_or(body);
    let begin = range.start + (part.len() - part.trim_start().len());
    trust_of_lines(record, line(begin), line(range.start + part.trim_end().len()))
}

/// Returns the passage to show: the line of the day that the question names, the window nearest to
/// the question, or text around its words.
pub(super) fn passage(body: &str, window: Option<Range<usize>>, snippets: &Snippeter) -> Snippet {
    let chunks = page::chunks(body);
    // The page may have changed since its vectors were made.
    let is_text = |window: &Range<usize>| body.get(window.clone()).is_some_and(|at| !at.is_empty());
    let Some(window) = window.filter(is_text) else { return snippets.snippet(body, &chunks) };
    let mut snippet = snippets.snippet(body, std::slice::from_ref(&window));
    let chunk = chunks.iter().position(|chunk| window.start < chunk.end).unwrap_or(0);
    snippet.chunk = u32::try_from(chunk).unwrap_or(u32::MAX);
    snippet
}

/// Returns the field with more of the question's words than the passage that is shown, as
/// `author: Nadia Holt`.
fn field_passage(
    frontmatter: &FrontmatterText,
    shown: &str,
    snippets: &Snippeter,
) -> Option<Snippet> {
    let weight_of_shown = snippets.weight(shown);
    if snippets.weight(frontmatter) <= weight_of_shown {
        return None;
    }
    let lines = page::fields(frontmatter, INGEST_KEYS).into_iter().map(|field| field.line());
    let (weight, line) = lines
        .map(|line| (snippets.weight(&line), line))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (weight > weight_of_shown).then(|| snippets.snippet(&line, &[]))
}
