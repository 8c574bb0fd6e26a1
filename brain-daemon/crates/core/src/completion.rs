//! Values for shell completions.

use brain_protocol::{
    ClientList, Complete, CompletionKind, CompletionValue, Completions, Fault, JobList,
    MAX_COMPLETIONS, SourceId, page_name,
};

use crate::{Brain, Caller, preferred};
use brain_page::normalize_tag;
use brain_store::{PageEntry, Reader};

/// Maximum number of pages found by title. Titles are searched if fewer pages match by slug.
const MAX_BY_TITLE: usize = 20;

impl Brain {
    /// Returns completions of a word on the command line.
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
                counts.map(|(tag, pages)| value(tag, count(pages))).collect()
            }
            CompletionKind::Type => {
                let types = reader.page_types()?.into_iter();
                types.map(|name| value(name, String::new())).collect()
            }
            CompletionKind::Source => {
                let sources = reader.sources()?.into_iter();
                sources
                    .map(|(id, record)| {
                        value(
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
                    value(job.job_id.to_string(), description(job.status.as_str(), &job.client))
                })
                .collect()
            }
            CompletionKind::Client => {
                let clients = self.access.client_list(&ClientList { all: false })?.clients;
                clients.into_iter().map(|client| value(client.client_name, client.scope)).collect()
            }
        };
        if request.kind != CompletionKind::Page {
            values.retain(|it: &CompletionValue| it.value.to_lowercase().starts_with(&text));
        }
        values.truncate(MAX_COMPLETIONS);
        Ok(Completions { values })
    }

    /// Returns pages by slug, then by title, and the sources whose pages can be named.
    fn complete_page(
        &self,
        caller: &Caller,
        reader: &Reader,
        text: &str,
    ) -> Result<Vec<CompletionValue>, Fault> {
        let visible = reader.sources()?;
        let usual = preferred(&visible);
        let mut sources: Vec<SourceId> = visible.into_iter().map(|(id, _)| id).collect();
        sources.sort_by_key(|id| *id != usual);
        let (named, beginning) = match text.split_once(':') {
            Some((source, beginning)) => {
                sources.retain(|id| id.as_str() == source);
                (true, beginning)
            }
            None => (false, text),
        };
        let mut found: Vec<PageEntry> = Vec::new();
        for source in &sources {
            let limit = MAX_COMPLETIONS.saturating_sub(found.len());
            found.extend(reader.beginning_with(source, beginning, limit)?);
        }
        if found.len() < MAX_BY_TITLE {
            let by_title = self.search.titles(caller, &sources, beginning, MAX_BY_TITLE)?;
            for id in by_title {
                let page = reader.by_id(id)?;
                found.extend(page.filter(|page| found.iter().all(|it| it.2.id != page.2.id)));
            }
        }
        let mut values: Vec<CompletionValue> = found
            .into_iter()
            .map(|(source, slug, record)| {
                // A word that names a source is completed with that source.
                let usual = if named { "" } else { usual.as_str() };
                value(page_name(usual, &source, &slug), record.title)
            })
            .collect();
        if !named && !text.is_empty() {
            let others = sources.iter().filter(|id| **id != usual && id.as_str().starts_with(text));
            values.extend(others.map(|id| value(format!("{id}:"), "source".into())));
        }
        Ok(values)
    }
}

/// Returns a value whose description is one line.
fn value(value: String, description: String) -> CompletionValue {
    let description = match description.contains(char::is_control) {
        true => description.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        false => description,
    };
    CompletionValue { value, description }
}
