//! `todos`: lists tasks.

use brain_protocol::{Fault, TodoRow, Todos, TodosReply};

use crate::pages::PageService;
use brain_base::caller::Caller;
use brain_page as page;
use brain_store::{LATEST, unless_damaged};

const MAX_LIMIT: u32 = 1000;

impl PageService {
    /// Lists tasks. Reads the text of pages, last change first, until enough are found.
    pub fn todos(&self, caller: &Caller, request: &Todos) -> Result<TodosReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let source = crate::sources::resolve_named(caller, &reader, request.source.as_ref())?;
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let mut to_skip = request.skip as usize;
        let mut todos = Vec::new();
        reader.latest(source.as_ref(), LATEST, |(source_id, slug, record)| {
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
                let path = self.files.visible_path(caller, &source_id, &record);
                // The line number is for an editor of the page's file, if the caller sees its path.
                let file = path
                    .as_ref()
                    .and_then(|_| self.files.text_of_file(&reader, &source_id, &record));
                let text = file
                    .filter(|text| text.ends_with(content.body.as_str()))
                    .unwrap_or_else(|| content.file_text());
                let above = page::lines_above_body(&text, &content.body);
                todos.extend(tasks.into_iter().skip(skipped).map(|task| TodoRow {
                    slug: slug.clone(),
                    source_id: source_id.clone(),
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
