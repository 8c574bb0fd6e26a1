//! The daily note, a random page, pages without links, and tasks.

use brain_protocol::{
    Fault, FaultCode, Get, Origin, Orphans, Page, PageRef, Pages, Precondition, Put, Random, Slug,
    Today, TodoRow, Todos, TodosReply, WriteReply, WriteStatus,
};

use crate::pages::capture::PageWrite;
use crate::{Caller, PageService, preferred};
use brain_base::clock::{format_day, parse_day};
use brain_page as page;
use brain_store::{LATEST, PageEntry, Reader, Resolution, StoreError, WrittenPage, unless_damaged};

const MAX_LIMIT: u32 = 1000;

impl PageService {
    /// Creates the daily note of a day. An existing one stays as it is.
    pub(crate) fn today(&self, caller: &Caller, request: &Today) -> Result<WriteReply, Fault> {
        let no_day = || {
            Fault::new(FaultCode::Usage, format!("\"{}\" is not a day", request.day.escape_debug()))
                .hint("write it as YYYY-MM-DD")
        };
        let day = parse_day(&request.day).ok_or_else(no_day)?;
        let slug = format_day(day, &self.daily_pattern).ok_or_else(no_day)?;
        let slug = Slug::parse(slug.to_lowercase()).map_err(|error| {
            Fault::new(FaultCode::InvalidSlug, format!("the slug of the daily note: {error}"))
                .hint("change pages.daily in the configuration, for example to daily/%Y-%m-%d")
        })?;
        let page = PageRef { source: request.source.clone(), slug };
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = crate::sources::resolve(caller, &reader, page.source.as_ref())?;
        if let Some(record) = reader.page(&source, &page.slug)? {
            let applied = WrittenPage { status: WriteStatus::Unchanged, record };
            let outcome = PageWrite { slug: page.slug, applied, captured_at: None };
            drop(reader);
            return Ok(self.write_reply(source, outcome, Vec::new()));
        }
        drop(reader);
        let content = format!("---\ntype: daily\n---\n\n# {}\n", request.day);
        let put = Put {
            page,
            content: content.into_bytes(),
            origin: Origin::Argument,
            allow_empty: false,
            expect: Some(Precondition::Absent),
        };
        self.put(caller, &put)
    }

    /// Reads a random page.
    pub(crate) fn random(&self, caller: &Caller, request: &Random) -> Result<Page, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let source = crate::sources::resolve_named(caller, &reader, request.source.as_ref())?;
        let tag = request.tag.as_deref().map(page::normalize_tag);
        let page_type = request.page_type.as_deref().map(|t| t.trim().to_lowercase());
        let mut found = Vec::new();
        reader.in_order(("", ""), |(of, _, record)| {
            let is_match = source.as_ref().is_none_or(|source| *source == of)
                && page_type.as_ref().is_none_or(|t| record.page_type == *t)
                && tag.as_ref().is_none_or(|tag| record.tags.contains(tag));
            found.extend(is_match.then_some(record.id));
            Ok(true)
        })?;
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes).map_err(|error| {
            Fault::new(FaultCode::Internal, format!("no page can be drawn: {error}"))
        })?;
        let drawn = (u64::from_le_bytes(bytes) % (found.len() as u64).max(1)) as usize;
        let drawn = match found.get(drawn) {
            Some(&id) => reader.by_id(id)?,
            None => None,
        };
        let Some((source, slug, _)) = drawn else {
            return Err(Fault::new(FaultCode::NotFound, "no page matches")
                .hint("list pages: brain list; list tags: brain tags"));
        };
        let page = PageRef { source: Some(source), slug };
        self.get(caller, &Get { page, version: None })
    }

    /// Lists pages without links to or from another page.
    pub(crate) fn orphans(&self, caller: &Caller, request: &Orphans) -> Result<Pages, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let source = crate::sources::resolve_named(caller, &reader, request.source.as_ref())?;
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let mut to_skip = request.skip;
        let mut found: Vec<PageEntry> = Vec::new();
        reader.in_order(("", ""), |page| {
            let is_wanted = source.as_ref().is_none_or(|source| *source == page.0);
            if is_wanted && is_orphan(&reader, &page)? {
                match to_skip {
                    0 => found.push(page),
                    _ => to_skip -= 1,
                }
            }
            Ok(found.len() <= limit && !self.stop.is_cancelled())
        })?;
        let truncated = found.len() > limit;
        found.truncate(limit);
        let pages = found.into_iter().map(|found| self.page_row(caller, found)).collect();
        let default_source = preferred(&reader.sources()?);
        Ok(Pages { pages, truncated, next: None, default_source })
    }

    /// Lists tasks. Reads the text of pages, last change first, until enough are found.
    pub(crate) fn todos(&self, caller: &Caller, request: &Todos) -> Result<TodosReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let source = crate::sources::resolve_named(caller, &reader, request.source.as_ref())?;
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let mut to_skip = request.skip as usize;
        let mut todos = Vec::new();
        reader.latest(source.as_ref(), LATEST, |(of, slug, record)| {
            let prefix = request.prefix.as_ref();
            if prefix.is_some_and(|p| !slug.as_str().starts_with(p.as_str())) {
                return Ok(!self.stop.is_cancelled());
            }
            let Some(content) = unless_damaged(reader.content(&record))? else { return Ok(true) };
            let mut tasks = page::todos(&content.body);
            tasks.retain(|task| task.is_done == request.done);
            let skipped = tasks.len().min(to_skip);
            to_skip -= skipped;
            if skipped < tasks.len() {
                let path = self.files.visible_path(caller, &of, &record);
                let text = page::file_text(&content.frontmatter, &content.body);
                let above = page::lines_above_body(&text, &content.body);
                todos.extend(tasks.into_iter().skip(skipped).map(|task| TodoRow {
                    slug: slug.clone(),
                    source_id: of.clone(),
                    line: u32::try_from(task.line + 1).unwrap_or(u32::MAX).saturating_add(above),
                    text: task.text,
                    done: task.is_done,
                    source_kind: record.provenance.source_kind.clone(),
                    path: path.clone(),
                }));
            }
            Ok(todos.len() <= limit && !self.stop.is_cancelled())
        })?;
        let truncated = todos.len() > limit;
        todos.truncate(limit);
        Ok(TodosReply { todos, truncated })
    }
}

/// Returns whether no link leads from the page to another page, and none from another page to it.
fn is_orphan(reader: &Reader, page: &PageEntry) -> Result<bool, StoreError> {
    let (source, _, record) = page;
    for link in reader.derived(record.id)?.links {
        if let Resolution::Page(target) = reader.resolve(&link, source)?
            && target.2.id != record.id
        {
            return Ok(false);
        }
    }
    Ok(reader.backlinks(page)?.iter().all(|(from, _)| from.2.id == record.id))
}
