//! Former names of pages: what a link means that has a name from before a rename.

use std::collections::HashMap;

use brain_page::normalize_name;
use brain_protocol::SourceId;

use super::read::{PageEntry, Reader};
use super::record::{LinkRecord, StepKind, StepRecord, from_bytes};
use super::{StoreError, tables as t};

/// The names that pages had before they were moved. In memory: each call reads the steps since the
/// one before.
#[derive(Debug, Default)]
pub struct FormerNames {
    /// The number of the last step that was read.
    last: u64,
    /// Source, former slug and id of pages, by the normalised last part of the slug; oldest first.
    pages: HashMap<String, Vec<(String, String, u64)>>,
}

impl FormerNames {
    /// Returns the page that a link means that leads nowhere, from a page of the source `own`: the
    /// visible one that had its name last.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find(
        &mut self,
        reader: &Reader,
        link: &LinkRecord,
        own: &SourceId,
    ) -> Result<Option<PageEntry>, StoreError> {
        self.read_new_steps(reader)?;
        let source = link.source.as_deref().unwrap_or(own.as_str());
        let end = link.path_end().map(|path| format!("/{path}"));
        let has_path = |slug: &String| {
            link.slugs.contains(slug) || end.as_ref().is_some_and(|end| slug.ends_with(end))
        };
        let by_name = link.names().map(|name| (name, true));
        let by_path = link.slugs.iter().map(|slug| (key(slug), false));
        for (name, is_enough) in by_name.chain(by_path) {
            for (of, slug, id) in self.pages.get(&name).into_iter().flatten().rev() {
                if of == source
                    && (is_enough || has_path(slug))
                    && let Some(page) = reader.by_id(*id)?
                {
                    return Ok(Some(page));
                }
            }
        }
        Ok(None)
    }

    fn read_new_steps(&mut self, reader: &Reader) -> Result<(), StoreError> {
        let (mut last, mut before_move) = (self.last, Vec::new());
        reader.each_step_head(last, |number, step| {
            last = number;
            if step.kind == StepKind::Moved {
                before_move.push(step.previous);
            }
            true
        })?;
        let steps = reader.table(t::STEPS)?;
        for number in before_move {
            let Some(row) = steps.get(number)? else { continue };
            let step: StepRecord = from_bytes(row.value())?;
            let pages = self.pages.entry(key(&step.slug)).or_default();
            pages.push((step.source, step.slug, step.page));
        }
        self.last = last;
        Ok(())
    }
}

fn key(slug: &str) -> String {
    normalize_name(slug.rsplit('/').next().unwrap_or(slug))
}
