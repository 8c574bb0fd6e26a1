//! Values for shell completions.

use brain_protocol::{
    ClientList, Complete, CompletionKind, CompletionValue, Completions, Fault, JobList,
    MAX_COMPLETIONS, SourceId, page_name,
};

use crate::Brain;
use brain_base::caller::Caller;
use brain_page::normalize_tag;
use brain_pages::preferred_source::preferred;
use brain_store::{PageEntry, Reader};

/// Maximum number of pages found by title. Titles are only searched if fewer pages match by slug.
const MAX_BY_TITLE: usize = 20;

impl Brain {
    /// Returns at most [`MAX_COMPLETIONS`] completions of a word on the command line.
    pub(crate) fn complete(
        &self,
        caller: &Caller,
        request: &Complete,
    ) -> Result<Completions, Fault> {
        let text = request.text.trim().to_lowercase();
        let reader = self.store.read(caller.visibility())?;
        let mut values = match request.kind {
            CompletionKind::Page => self.complete_page(caller, &reader, &text)?,
            CompletionKind::Tag => {
                let counts = reader.tag_counts(None)?.into_iter();
                let counts = counts.filter(|(tag, _)| tag.starts_with(&normalize_tag(&text)));
                let count = |pages| match pages {
                    1 => "1 page".to_owned(),
                    _ => format!("{pages} pages"),
                };
                counts.map(|(tag, pages)| completion(tag, count(pages))).collect()
            }
            CompletionKind::Type => {
                let types = reader.page_types()?.into_iter();
                types.map(|name| completion(name, String::new())).collect()
            }
            CompletionKind::Source => {
                let sources = reader.sources()?.into_iter();
                sources
                    .map(|(id, record)| {
                        completion(
                            id.to_string(),
                            record.path.unwrap_or_else(|| "pages of the home".into()),
                        )
                    })
                    .collect()
            }
            CompletionKind::Job => {
                let list = JobList { limit: MAX_COMPLETIONS as u32, ..JobList::default() };
                let jobs = self.ingest.job_list(&list)?.jobs.into_iter();
                let description = |state: &str, client: &str| format!("{state}, from {client}");
                jobs.map(|job| {
                    let description = description(job.status.as_str(), &job.client);
                    completion(job.job_id.to_string(), description)
                })
                .collect()
            }
            CompletionKind::Client => {
                let clients = self.access.client_list(&ClientList { all: false })?.clients;
                let clients = clients.into_iter();
                clients.map(|client| completion(client.client_name, client.scope)).collect()
            }
        };
        if request.kind != CompletionKind::Page {
            values.retain(|it: &CompletionValue| it.value.to_lowercase().starts_with(&text));
        }
        values.truncate(MAX_COMPLETIONS);
        Ok(Completions { values })
    }

    /// Returns pages by slug, then by title, then the sources that can precede a slug, as `ID:`.
    fn complete_page(
        &self,
        caller: &Caller,
        reader: &Reader,
        text: &str,
    ) -> Result<Vec<CompletionValue>, Fault> {
        let visible = reader.sources()?;
        let default_source = preferred(&visible);
        let mut sources: Vec<SourceId> = visible.into_iter().map(|(id, _)| id).collect();
        sources.sort_by_key(|id| *id != default_source);
        let (has_source, prefix) = match text.split_once(':') {
            Some((source, prefix)) => {
                sources.retain(|id| id.as_str() == source);
                (true, prefix)
            }
            None => (false, text),
        };
        let mut found: Vec<PageEntry> = Vec::new();
        for source in &sources {
            let limit = MAX_COMPLETIONS.saturating_sub(found.len());
            found.extend(reader.beginning_with(source, prefix, limit)?);
        }
        if found.len() < MAX_BY_TITLE {
            let by_title = self.search.titles(caller, &sources, prefix, MAX_BY_TITLE)?;
            for id in by_title {
                let page = reader.by_id(id)?;
                found.extend(page.filter(|page| found.iter().all(|it| it.2.id != page.2.id)));
            }
        }
        let mut values: Vec<CompletionValue> = found
            .into_iter()
            .map(|(source, slug, record)| {
                // The completion of a word with a source must also have the source.
                let omitted_source = if has_source { "" } else { default_source.as_str() };
                completion(page_name(omitted_source, &source, &slug), record.title)
            })
            .collect();
        if !has_source && !text.is_empty() {
            let others = sources.iter().filter(|id| **id != default_source);
            let matching = others.filter(|id| id.as_str().starts_with(text));
            values.extend(matching.map(|id| completion(format!("{id}:"), "source".into())));
        }
        Ok(values)
    }
}

/// Returns a completion. Replaces control characters in its description by spaces.
fn completion(value: String, description: String) -> CompletionValue {
    let description = match description.contains(char::is_control) {
        true => description.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        false => description,
    };
    CompletionValue { value, description }
}
