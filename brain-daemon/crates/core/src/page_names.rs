//! What the language server asks of the whole brain: names of pages, and changes.

use std::path::Path;
use std::time::Duration;

use brain_protocol::{
    EditorChanges, EditorChangesReply, EditorPage, Fault, MAX_HITS, PageNames, PageNamesReply,
    SourceId,
};

use crate::Brain;
use brain_base::caller::Caller;
use brain_page::normalize_name;
use brain_pages::editor::page_by_name;
use brain_store::{LATEST, PageEntry, Reader};

/// How long a request for changes waits for one.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// The number of pages of the document's own source below which those of other sources are added.
const FEW: usize = 8;

impl Brain {
    /// Returns pages whose names the user of an editor may be typing: those of the document's source
    /// before others. Without a text, those that changed last.
    pub(crate) fn page_names(
        &self,
        caller: &Caller,
        request: &PageNames,
    ) -> Result<PageNamesReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let place = self.pages.place_of(&reader, Path::new(&request.file))?;
        let (own, others): (Vec<SourceId>, Vec<SourceId>) = reader
            .sources()?
            .into_iter()
            .map(|(id, _)| id)
            .partition(|id| place.as_ref().is_none_or(|place| place.source == *id));
        let limit = request.limit.clamp(1, MAX_HITS) as usize;
        let text = request.text.trim();
        let mut found = self.named_pages(caller, &reader, (&own, text), limit)?;
        if found.len() < FEW.min(limit) && !others.is_empty() {
            found.extend(self.named_pages(
                caller,
                &reader,
                (&others, text),
                limit - found.len(),
            )?);
        }
        let pages = found.into_iter().map(|page| {
            let alias = alias(&page, text);
            Ok(EditorPage { alias, ..page_by_name(&reader, page)? })
        });
        let pages = pages.collect::<Result<_, Fault>>()?;
        let (source, path) = place.map(|place| (place.source, place.path)).unzip();
        Ok(PageNamesReply { pages, source, path })
    }

    fn named_pages(
        &self,
        caller: &Caller,
        reader: &Reader,
        (sources, text): (&[SourceId], &str),
        limit: usize,
    ) -> Result<Vec<PageEntry>, Fault> {
        let mut found: Vec<PageEntry> = Vec::new();
        if text.is_empty() {
            for source in sources {
                reader.latest(Some(source), LATEST, |page| {
                    found.push(page);
                    Ok(found.len() < limit)
                })?;
            }
            found.truncate(limit);
            return Ok(found);
        }
        // A name as a whole comes first, then what the index ranks, then beginnings of slugs.
        let name = normalize_name(text.rsplit('/').next().unwrap_or(text));
        for source in sources {
            add_new(&mut found, reader.pages_by_name(source, &name, limit)?);
        }
        for id in self.search.near_names(caller, sources, text, limit)? {
            add_new(&mut found, reader.by_id(id)?);
        }
        let beginning = text.to_lowercase();
        for source in sources {
            if found.len() < limit {
                add_new(&mut found, reader.beginning_with(source, &beginning, limit)?);
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Waits until the number of changes is another one than the caller knows, for a while.
    pub(crate) fn wait_for_changes(&self, request: &EditorChanges) -> EditorChangesReply {
        let mut changes = self.changes.subscribe();
        let stop = self.env.stop.clone();
        let wait = async {
            tokio::select! {
                _ = changes.wait_for(|number| *number != request.seen) => {}
                () = stop.cancelled() => {}
                () = tokio::time::sleep(MAX_WAIT) => {}
            }
        };
        // Requests are answered on blocking threads of the runtime.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.block_on(wait);
        }
        EditorChangesReply { number: self.changes.current() }
    }
}

/// Adds the pages that are not there yet.
fn add_new(found: &mut Vec<PageEntry>, pages: impl IntoIterator<Item = PageEntry>) {
    for page in pages {
        if found.iter().all(|it| it.2.id != page.2.id) {
            found.push(page);
        }
    }
}

/// Returns the alias of a page that begins with the text, if its title and its file's name do not.
fn alias((_, slug, record): &PageEntry, text: &str) -> Option<String> {
    let text = normalize_name(text);
    let has_beginning = |name: &str| normalize_name(name).starts_with(&text);
    let is_named = text.is_empty() || has_beginning(&record.title) || has_beginning(slug.name());
    let alias = record.aliases.iter().find(|alias| has_beginning(alias));
    alias.filter(|_| !is_named).cloned()
}
