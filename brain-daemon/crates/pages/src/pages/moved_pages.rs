//! Pages by the slugs that they had before they moved, for links that were written before.

use std::collections::HashMap;
use std::sync::OnceLock;

use brain_page::{
    Document, Frontmatter, LinkTarget, MovedFile, NewTarget, PageLink, normalize_name,
    retarget_links,
};
use brain_protocol::{Slug, SourceId};
use brain_store::{Reader, Resolution, StepKind, StoreError};

use super::page_move::free_name;
use crate::write_page::link_record;

/// Former slugs by source, with the ids of the pages that had them last. Read when they are first
/// needed.
#[derive(Default)]
pub struct MovedPages {
    former: OnceLock<HashMap<(String, String), u64>>,
}

impl MovedPages {
    /// Turns the links of a page that lead nowhere to pages that had their slugs and moved since.
    /// Returns the new text. The page is named by its source, its slug and the path of its file.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn turn_links(
        &self,
        reader: &Reader,
        (source, slug, path): (&SourceId, &Slug, &str),
        body: &str,
    ) -> Result<String, StoreError> {
        let file = MovedFile { old_slug: slug, old_path: path, new_path: path, folders: &[] };
        let document = Document { frontmatter: Frontmatter::empty(), body: body.into() };
        let mut failure = None;
        let done = retarget_links(
            &document,
            file,
            |_| false,
            |link| {
                self.new_target(reader, (source, slug), link).unwrap_or_else(|error| {
                    failure = Some(error);
                    None
                })
            },
        );
        failure.map_or(Ok(done.document.body.to_string()), Err)
    }

    fn new_target(
        &self,
        reader: &Reader,
        own: (&SourceId, &Slug),
        link: &PageLink,
    ) -> Result<Option<NewTarget>, StoreError> {
        let record = link_record(link.clone());
        if reader.resolve(&record, own)? != Resolution::Missing {
            return Ok(None);
        }
        let former = self.former(reader)?;
        let source = record.source.as_deref().unwrap_or(own.0.as_str());
        let found = match &link.target {
            LinkTarget::Slug { slug, alternative, .. } => {
                let slugs = std::iter::once(slug).chain(alternative);
                slugs.filter_map(|slug| holder(former, source, slug)).next()
            }
            LinkTarget::Name(name) => {
                let mut named = former.iter().filter(|((in_source, slug), _)| {
                    let last = slug.rsplit('/').next().unwrap_or_default();
                    in_source == source && normalize_name(last) == *name
                });
                let first = named.next();
                // Of several pages, nothing says which one was meant.
                let first = first.filter(|first| named.all(|other| other.1 == first.1));
                first.and_then(|((_, slug), id)| Some((Slug::parse(slug.clone()).ok()?, *id)))
            }
        };
        let Some((old_slug, id)) = found else { return Ok(None) };
        let Some((target, _, page)) = reader.by_id(id)?.filter(|it| it.0.as_str() == source) else {
            return Ok(None);
        };
        let name = free_name(reader, &target, &page.source_path, &[id])?;
        Ok(Some(NewTarget { old_slug, path: page.source_path, name }))
    }

    fn former(&self, reader: &Reader) -> Result<&HashMap<(String, String), u64>, StoreError> {
        if let Some(former) = self.former.get() {
            return Ok(former);
        }
        let mut moves = Vec::new();
        reader.each_step_head(0, |number, step| {
            if step.kind == StepKind::Moved {
                moves.push((number, step.previous));
            }
            true
        })?;
        let mut former = HashMap::new();
        for (number, previous) in moves {
            if let (Some(step), Some(before)) = (reader.step(number)?, reader.step(previous)?) {
                former.insert((before.source, before.slug), step.page);
            }
        }
        Ok(self.former.get_or_init(|| former))
    }
}

fn holder(
    former: &HashMap<(String, String), u64>,
    source: &str,
    slug: &Slug,
) -> Option<(Slug, u64)> {
    let id = former.get(&(source.to_owned(), slug.to_string()))?;
    Some((slug.clone(), *id))
}
