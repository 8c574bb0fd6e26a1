//! Makes the replies of a recorded call again, from the versions of pages. Runs no operation.

use brain_page as page;
use brain_pages::pages::hit::page_hit;
use brain_pages::pages::list::page_row;
use brain_pages::pages::page_reply;
use brain_protocol::{
    Fault, FaultCode, Hit, Hits, Pages, Reply, SeenOutcome, Slug, SourceId, decode,
};
use brain_search::snippet_text;
use brain_store::{
    Content, PageRecord, Reader, SeenHit, SeenPageRecord, SeenRecord, SeenReplyRecord, SeenSnippet,
};

use crate::recording::unpack_matches;

/// Renders recorded calls: the interface that answered them.
pub trait Renderer: Send + Sync {
    /// Returns the number of the form of its answers.
    fn form(&self) -> u16;

    /// Returns the answer to a call, byte for byte. Runs no operation.
    ///
    /// # Errors
    /// When the call cannot be rendered from its replies.
    fn render(&self, call: &RecordedCall) -> Result<Vec<u8>, Fault>;
}

/// A recorded call with the replies of its operations.
#[derive(Debug, Clone)]
pub struct RecordedCall {
    /// The tool, or the method of the request.
    pub tool: String,
    /// The arguments as JSON.
    pub request: String,
    /// How it ended.
    pub outcome: SeenOutcome,
    /// The source of addresses without a source.
    pub default_source: Option<SourceId>,
    /// The address of the daemon's listener.
    pub local_address: Option<String>,
    /// How old the data were.
    pub age: Option<String>,
    /// The replies of the operations, in order. Of a call that failed, the fault.
    pub replies: Vec<Result<Reply, Fault>>,
}

/// Makes the replies of a call again.
///
/// # Errors
/// `not_replayable` with the cause: the call wrote, its texts or versions are purged or pruned, or a
/// reply was not kept. `at` is the time of the answer, Unix milliseconds.
pub(crate) fn recorded_call(
    reader: &Reader,
    record: &SeenRecord,
    at: i64,
) -> Result<RecordedCall, Fault> {
    let past = Past { reader, at };
    let Some(texts) = &record.texts else {
        return Err(refused("a purge removed what it was made from"));
    };
    let Some(request) = texts.request.clone() else {
        return Err(refused("the call wrote, and its arguments are not kept"));
    };
    let default_source = texts.default_source.as_deref();
    let default_source = default_source.map(SourceId::parse).transpose();
    let replies = texts.replies.iter().map(|reply| past.reply(reply));
    Ok(RecordedCall {
        tool: record.tool.clone(),
        request,
        outcome: record.outcome,
        default_source: default_source.map_err(|_| damaged())?,
        local_address: texts.local_address.clone(),
        age: texts.age.clone(),
        replies: replies.collect::<Result<_, Fault>>()?,
    })
}

/// Returns the fault of a call that cannot be rendered again.
pub(crate) fn refused(why: &str) -> Fault {
    Fault::new(FaultCode::NotReplayable, format!("the answer cannot be rendered again: {why}"))
}

fn damaged() -> Fault {
    refused("its record is damaged")
}

/// The brain as it was when an answer was given.
struct Past<'a> {
    reader: &'a Reader,
    /// The time of the answer, Unix milliseconds.
    at: i64,
}

impl Past<'_> {
    /// Makes a reply again. The outer result is that of reading, the inner one that of the operation.
    fn reply(&self, reply: &SeenReplyRecord) -> Result<Result<Reply, Fault>, Fault> {
        Ok(match reply {
            SeenReplyRecord::Page(page) => {
                let (source, slug, record, content) = self.version(page.page, page.version)?;
                Ok(Reply::Page(page_reply(source, slug, record, content)))
            }
            SeenReplyRecord::Hits { hits, truncated, degraded, note, .. } => {
                let hits = SeenHit::unpack(hits).ok_or_else(damaged)?;
                let hits = hits.into_iter().map(|it| self.hit(it)).collect::<Result<_, Fault>>()?;
                Ok(Reply::Hits(Hits {
                    query: String::new(),
                    hits,
                    truncated: *truncated,
                    degraded: degraded.clone(),
                    took_us: 0,
                    default_source: SourceId::default(),
                    note: note.clone(),
                }))
            }
            SeenReplyRecord::Pages { pages, truncated, next } => {
                let row = |page: &SeenPageRecord| {
                    let (source, slug, record, _) = self.version(page.page, page.version)?;
                    Ok(page_row((source, slug, record)))
                };
                Ok(Reply::Pages(Pages {
                    pages: pages.iter().map(row).collect::<Result<_, Fault>>()?,
                    truncated: *truncated,
                    next: next.clone(),
                    default_source: SourceId::default(),
                    damaged: Vec::new(),
                }))
            }
            SeenReplyRecord::Other { reply, .. } => Ok(decode(reply).map_err(|_| damaged())?),
            SeenReplyRecord::Fault(fault) => Err(decode(fault).map_err(|_| damaged())?),
            SeenReplyRecord::NotShown(reply) => self.reply(reply)?,
            SeenReplyRecord::TooLarge { .. } => {
                return Err(refused("one of its parts was too large to be kept"));
            }
        })
    }

    /// Makes a hit again.
    fn hit(&self, seen: SeenHit) -> Result<Hit, Fault> {
        let (source, slug, record, content) = self.version(seen.page, seen.version)?;
        let url = page::page_url(&content.frontmatter, record.provenance.source_uri.as_deref());
        let snippet = match seen.snippet {
            SeenSnippet::Text(text) => text,
            SeenSnippet::Span(span) => snippet_text(&content.body, &span).ok_or_else(damaged)?,
        };
        let mut also_in = Vec::with_capacity(seen.also_in.len());
        for copy in &seen.also_in {
            let found = self.reader.by_id_including_deleted(*copy)?;
            let (source, slug, _) = found.ok_or_else(gone)?;
            also_in.push(format!("{source}:{slug}"));
        }
        Ok(Hit {
            snippet,
            line: seen.line,
            url,
            trust: seen.trust,
            matched: unpack_matches(seen.matched),
            also_in,
            copies: seen.also_in,
            ..page_hit(source, slug, record, seen.score as f32 / 100.0)
        })
    }

    /// Reads a version of a page with its text and the slug that it had then.
    fn version(
        &self,
        id: u64,
        number: u32,
    ) -> Result<(SourceId, Slug, PageRecord, Content), Fault> {
        let found = self.reader.by_id_including_deleted(id)?;
        let (source, slug, record) = found.ok_or_else(gone)?;
        let last = record.seq;
        let Some(version) = self.reader.any_version(id, number)? else {
            return Err(refused(&format!("version {number} of \"{slug}\" is no longer kept")));
        };
        let slug = self.slug_then(last)?.unwrap_or(slug);
        Ok((source, slug, version.record, version.content))
    }

    /// Returns the slug that the page with the last step `last` had.
    fn slug_then(&self, last: u64) -> Result<Option<Slug>, Fault> {
        let step = self.reader.step_at(last, self.at)?;
        Ok(step.and_then(|(_, step)| Slug::parse(&step.slug).ok()))
    }
}

fn gone() -> Fault {
    refused("a page that it gave is purged")
}
