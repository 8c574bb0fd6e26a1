//! As of: answers a request that only reads from what brain had recorded at an earlier time.
//!
//! A page is in the state of its newest step at or before that time, in the order of the store's
//! change numbers. So a clock that goes back reorders nothing, and a machine whose clock stands in
//! another year changes no other page. Deletions, slugs, titles, tags, links and trust are those of
//! that state.
//!
//! `get` reads the one page. All other requests are answered by the same services as in the
//! present, over a store of that state alone; see [`views`].

mod build_budget;
mod page;
mod page_states;
mod views;

use std::path::Path;

use brain_base::caller::Caller;
use brain_base::clock::{end_instant_argument, local_minute, rfc3339};
use brain_pages::index::IndexFork;
use brain_pages::pages::page_reply;
use brain_protocol::{
    AsOf, AsOfReply, Backlinks, Fault, FaultCode, Get, Graph, Links, PageRef, PastRequest,
    PastState, Reply, Slug, SourceId, Timeline,
};
use brain_service::Progress;
use brain_store::{PageEntry, PastPage, Reader, SourceRecord, StepRecord, StoreError};

use crate::PastService;
pub(crate) use views::Views;

/// The note of a search.
const BY_WORDS: &str = "the past is searched by words and links, not by meaning";

/// Composes what answers requests about a past state.
pub trait OpenPastBrain: Send + Sync {
    /// Returns an index that begins with the pages of the present, if there is one.
    fn fork_index(&self) -> Option<IndexFork>;

    /// Creates a brain in the empty directory `dir`, whose clock stands at `at` (Unix
    /// milliseconds), without pages, or with those of the present.
    ///
    /// # Errors
    /// The store or the index cannot be created there.
    fn open(
        &self,
        dir: &Path,
        at: i64,
        from: Option<CopiedPages<'_>>,
    ) -> Result<Box<dyn PastBrain>, Fault>;
}

/// The pages of the present, from which a past state is made if few differ.
pub struct CopiedPages<'a> {
    /// The index, with all pages of the snapshot that stay as they are.
    pub index: IndexFork,
    /// The snapshot.
    pub reader: &'a Reader,
    /// About the size of all pages, in bytes.
    pub bytes: u64,
}

/// A brain with one past state.
pub trait PastBrain: Send + Sync {
    /// Registers the sources.
    ///
    /// # Errors
    /// The store cannot be written.
    fn add_sources(&self, sources: Vec<(SourceId, SourceRecord)>) -> Result<(), Fault>;

    /// Removes pages of the present.
    ///
    /// # Errors
    /// The store cannot be written.
    fn remove_pages(&self, pages: Vec<PageEntry>) -> Result<(), Fault>;

    /// Adds pages. Of two pages with one name, the first one stays.
    ///
    /// # Errors
    /// The store cannot be written.
    fn add_pages(&self, pages: Vec<PastPage>) -> Result<(), Fault>;

    /// Answers a request.
    ///
    /// # Errors
    /// As the operation.
    fn answer(
        &self,
        caller: &Caller,
        request: PastRequest,
        progress: &dyn Progress,
    ) -> Result<Reply, Fault>;
}

/// The time of a request, in Unix milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AsOfTime {
    /// The time: the requested one, at most now.
    time: i64,
    /// The time of the last steps that count. It is far in the future for the present, which has
    /// the changes of a machine whose clock is ahead, too.
    last_step: i64,
}

impl AsOfTime {
    /// Parses the time of a request at the time `now`.
    fn parse(text: &str, now: i64) -> Result<Self, Fault> {
        let requested = end_instant_argument(Some(text))?.unwrap_or(now);
        Ok(match requested < now {
            true => Self { time: requested, last_step: requested },
            false => Self { time: now, last_step: i64::MAX - 1 },
        })
    }
}

/// The requested page, and its state at the requested time.
struct FoundPage {
    entry: PageEntry,
    number: u64,
    step: StepRecord,
}

impl PastService {
    /// Answers a request about the past. The caller may run the request.
    ///
    /// # Errors
    /// `usage` if the time cannot be read, `not_found` if the page was not there or was deleted,
    /// `purged`, `unknown_version` if its text is not kept any more; otherwise as the request.
    pub fn as_of(
        &self,
        caller: &Caller,
        request: AsOf,
        progress: &dyn Progress,
    ) -> Result<AsOfReply, Fault> {
        let at = AsOfTime::parse(&request.at, self.clock.now())?;
        let mut past = PastState { at: rfc3339(at.time), ..PastState::default() };
        let mut request = request.request;
        let reader = self.read(caller.visibility())?;
        if let PastRequest::Get(get) = &request {
            let page = self.get_past(caller, &reader, get, at, &mut past)?;
            return Ok(AsOfReply { past, reply: Box::new(page) });
        }
        if let Some(page) = page_of(&request) {
            let found = self.page_then(caller, &reader, &page, at)?;
            refuse_deleted(&reader, &page, at, &found)?;
            set_page(&mut request, name_then(&page, &found, &mut past)?);
        }
        drop(reader);
        let view = self.views.get(self, caller, at, progress)?;
        past.not_kept = view.not_kept(caller);
        past.purged_since = self.views.purged_after(self, caller, at.last_step)?;
        let mut reply = view.brain.answer(caller, request, progress)?;
        adapt(&mut reply);
        Ok(AsOfReply { past, reply: Box::new(reply) })
    }

    /// Removes what was made to answer requests about the past: all of it, or what is not used any
    /// more or has a page that was purged since.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn drop_views(&self, all: bool) -> Result<(), Fault> {
        match all {
            true => self.views.clear(),
            false => self.views.drop_old(self)?,
        }
        Ok(())
    }

    fn get_past(
        &self,
        caller: &Caller,
        reader: &Reader,
        request: &Get,
        at: AsOfTime,
        past: &mut PastState,
    ) -> Result<Reply, Fault> {
        if request.version.is_some() {
            let message = "a version and a time both select the text: name one of them";
            return Err(Fault::new(FaultCode::Usage, message));
        }
        let found = self.page_then(caller, reader, &request.page, at)?;
        refuse_deleted(reader, &request.page, at, &found)?;
        name_then(&request.page, &found, past)?;
        let FoundPage { entry, number, step } = found;
        let page = page::page_at_step(reader, &entry, number, &step)?;
        let (slug, record, content) =
            page.ok_or_else(|| not_kept(&request.page, step.version, at))?;
        Ok(Reply::Page(page_reply(entry.0, slug, record, content)))
    }

    /// Returns the page that had the name at the time, or else the one that has it now or had it
    /// last.
    fn page_then(
        &self,
        caller: &Caller,
        reader: &Reader,
        page_ref: &PageRef,
        at: AsOfTime,
    ) -> Result<FoundPage, Fault> {
        let sources = self.pages.sources_of(caller, reader, page_ref)?;
        let state = |entry: PageEntry| -> Result<Option<FoundPage>, StoreError> {
            let found = reader.step_at(entry.2.seq, at.last_step)?;
            Ok(found.map(|(number, step)| FoundPage { entry, number, step }))
        };
        let had_name = |found: &FoundPage| {
            found.step.slug == page_ref.slug.as_str() && sources.contains(&found.entry.0)
        };
        let mut still_named = Vec::new();
        for source in &sources {
            if let Some(record) = reader.page_even_deleted(source, &page_ref.slug)?
                && let Some(found) = state((source.clone(), page_ref.slug.clone(), record))?
                && had_name(&found)
            {
                still_named.push(found);
            }
        }
        // That of the usual source comes first.
        match still_named.first() {
            Some(found) if still_named.len() == 1 || Some(&found.entry.0) == sources.first() => {
                return Ok(still_named.swap_remove(0));
            }
            Some(_) => return Err(ambiguous(&still_named)),
            None => {}
        }
        for id in reader.holders(&sources, &page_ref.slug)? {
            if let Some(entry) = reader.by_id_including_deleted(id)?
                && let Some(found) = state(entry)?
                && had_name(&found)
            {
                return Ok(found);
            }
        }
        let entry = self.pages.find_past(caller, reader, page_ref).or_else(|fault| {
            // A unique beginning of a slug names a page of today.
            let found = self.pages.find(caller, reader, page_ref).ok();
            found.filter(|_| fault.code == FaultCode::NotFound).ok_or(fault)
        })?;
        let created = reader.steps_back(entry.2.seq)?.pop();
        state(entry)?.ok_or_else(|| {
            let message = format!("there was no page \"{page_ref}\" on {}", local_minute(at.time));
            let fault = Fault::new(FaultCode::NotFound, message);
            match created {
                Some((_, step)) => {
                    fault.hint(format!("it was created on {}", local_minute(step.at)))
                }
                None => fault,
            }
        })
    }
}

fn ambiguous(found: &[FoundPage]) -> Fault {
    let names: Vec<String> =
        found.iter().map(|page| PageRef::new(&page.entry.0, &page.entry.1).to_string()).collect();
    let message = format!("several sources had such a page: {}", names.join(", "));
    Fault::new(FaultCode::AmbiguousSlug, message).hint("name one of them as it is listed")
}

/// Returns the page that a request names.
fn page_of(request: &PastRequest) -> Option<PageRef> {
    match request {
        PastRequest::Get(Get { page, .. })
        | PastRequest::Links(Links { page })
        | PastRequest::Backlinks(Backlinks { page })
        | PastRequest::Graph(Graph { page, .. }) => Some(page.clone()),
        PastRequest::Timeline(Timeline { source, slug, .. }) => {
            Some(PageRef { source: source.clone(), slug: slug.clone()? })
        }
        PastRequest::Search(_) | PastRequest::List(_) | PastRequest::Export(_) => None,
    }
}

/// Sets the page that a request names.
fn set_page(request: &mut PastRequest, to: PageRef) {
    match request {
        PastRequest::Get(Get { page, .. })
        | PastRequest::Links(Links { page })
        | PastRequest::Backlinks(Backlinks { page })
        | PastRequest::Graph(Graph { page, .. }) => *page = to,
        PastRequest::Timeline(Timeline { source, slug, .. }) => {
            (*source, *slug) = (to.source, Some(to.slug));
        }
        PastRequest::Search(_) | PastRequest::List(_) | PastRequest::Export(_) => {}
    }
}

/// Returns the name that the page had then, and notes in `past` if the request has another one, or
/// the page has another one now.
fn name_then(
    requested: &PageRef,
    found: &FoundPage,
    past: &mut PastState,
) -> Result<PageRef, Fault> {
    let FoundPage { entry: (source, now, _), step, .. } = found;
    let then = Slug::parse(step.slug.clone())
        .map_err(|e| StoreError::Damaged(format!("step of \"{now}\": {e}")))?;
    // As lists print it: the default source is left out.
    let named = Some(source.clone()).filter(|source| *source != SourceId::default());
    let name = |slug: &Slug| Some(PageRef { source: named.clone(), slug: slug.clone() });
    match then == requested.slug {
        _ if then == *now => {}
        true => past.now_called = name(now),
        false => past.then_called = name(&then),
    }
    Ok(PageRef { source: Some(source.clone()), slug: then })
}

/// Refuses a page that was deleted at the time.
fn refuse_deleted(
    reader: &Reader,
    page_ref: &PageRef,
    at: AsOfTime,
    found: &FoundPage,
) -> Result<(), Fault> {
    let Some(deleted) = reader.deleted_at_step(&found.step)? else { return Ok(()) };
    let message = format!(
        "the page \"{page_ref}\" was deleted on {}, and not there on {}",
        local_minute(deleted),
        local_minute(at.time)
    );
    Err(Fault::new(FaultCode::NotFound, message)
        .hint(format!("ask for a time before {}", local_minute(deleted))))
}

fn not_kept(page_ref: &PageRef, version: u32, at: AsOfTime) -> Fault {
    let message = format!(
        "\"{page_ref}\" had version {version} on {}, whose text is not kept any more",
        local_minute(at.time)
    );
    Fault::new(FaultCode::UnknownVersion, message)
        .hint("it was purged, or pruned by [history] keep in the configuration")
}

/// Says how the past was searched, and removes the paths of files, which have the text of today.
fn adapt(reply: &mut Reply) {
    match reply {
        Reply::Hits(reply) => {
            let note = reply.note.take().map(|note| format!("{note}; {BY_WORDS}"));
            reply.note = Some(note.unwrap_or_else(|| BY_WORDS.to_owned()));
            reply.hits.iter_mut().for_each(|hit| hit.path = None);
        }
        Reply::Pages(reply) => reply.pages.iter_mut().for_each(|page| page.path = None),
        Reply::Links(reply) => reply.links.iter_mut().for_each(|link| link.path = None),
        Reply::Timeline(reply) => reply.entries.iter_mut().for_each(|entry| entry.path = None),
        _ => {}
    }
}
