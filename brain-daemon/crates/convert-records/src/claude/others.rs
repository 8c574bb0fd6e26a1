//! The other files of an export of Claude: projects and memories.
//!
//! Older exports have all projects in `projects.json`, newer ones a file each in `projects/`.

use std::io;
use std::path::Path;

use brain_convert_base::{
    ConvertError, Entry, Output, Page, Paths, Tree, literal_line, literal_text,
};
use serde_json::Value;

use super::page::page;
use crate::embedded::{code, model_text};
use crate::export::Export;
use crate::json::{list, text};
use crate::json_array::{MAX_ELEMENT, for_each_element};
use crate::long_page::{LongPage, Target};
use crate::time::from_text;
use crate::turns::{named, parse, turn_heading};

/// The folder of the pages of projects.
const PROJECTS: &str = "Projects";
/// The level of the heading of a document.
const DOCUMENT: usize = 2;

/// What is in a file.
#[derive(Clone, Copy)]
enum Kind {
    Projects,
    Memories,
}

fn kind_of(entry: &Entry) -> Option<Kind> {
    let folder = entry.folder().rsplit('/').next().unwrap_or_default();
    match (folder, entry.name()) {
        (_, "projects.json") => Some(Kind::Projects),
        (_, "memories.json") => Some(Kind::Memories),
        ("projects", name) if name.ends_with(".json") => Some(Kind::Projects),
        ("memories", name) if name.ends_with(".json") => Some(Kind::Memories),
        _ => None,
    }
}

/// Writes projects and memories into `folder`, and names the other files of the export.
pub(super) fn convert_others(
    tree: &Tree,
    export: &Export,
    folder: &str,
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let mut end = Ok(());
    for entry in tree.entries() {
        if export.parts().iter().any(|part| part.entry.as_ref() == Some(entry)) {
            continue;
        }
        let Some(kind) = kind_of(entry) else {
            out.lost(&entry.path, "this file of the export is not read")?;
            continue;
        };
        let read = for_each_value(tree, entry, out, &mut |value, out| {
            let target = Target { paths: &mut *paths, tree: None, out };
            match kind {
                Kind::Projects => write_project(value, &entry.path, folder, target),
                Kind::Memories => write_memory(value, &entry.path, folder, target),
            }
        });
        end = end.and(read);
    }
    tree.report_problems(out)?;
    end
}

/// Calls `each` with the values of a file: the elements of its array, or its only object.
fn for_each_value(
    tree: &Tree,
    entry: &Entry,
    out: &mut Output<'_>,
    each: &mut dyn FnMut(&Value, &mut Output<'_>) -> io::Result<()>,
) -> Result<(), ConvertError> {
    let path = Path::new(&entry.path);
    let head = tree.head(entry, 64).unwrap_or_default();
    if head.trim_ascii_start().starts_with(b"{") {
        let bytes = tree.read(entry, MAX_ELEMENT).map_err(ConvertError::read(path))?;
        match bytes.as_deref().map(serde_json::from_slice) {
            None => out.lost(&entry.path, "it is too large")?,
            Some(Ok(value)) => each(&value, out)?,
            Some(Err(error)) => {
                out.lost(&entry.path, &format!("it is no readable JSON: {error}"))?;
            }
        }
        return Ok(());
    }
    tree.with_reader(entry, |input| {
        for_each_element(input, &entry.path, &mut |element| match parse(&element) {
            Ok(value) => Ok(each(&value, out)?),
            Err(reason) => Ok(out.lost(&named(&entry.path, "name", &element), &reason)?),
        })
    })
    .map_err(ConvertError::read(path))?
}

/// Writes the description, the instructions and the documents of a project.
fn write_project(
    project: &Value,
    file: &str,
    folder: &str,
    mut target: Target<'_, '_>,
) -> io::Result<()> {
    let title = match brain_page::single_line(text(project, "name")) {
        title if title.is_empty() => "Untitled".to_owned(),
        title => title,
    };
    let from = format!("{file}, {title}");
    let path = target.paths.add([folder, PROJECTS], &title);
    let mut page = LongPage::new(page(project, "project", &from, path, title));
    for (heading, key) in [("", "description"), ("## Instructions", "prompt_template")] {
        let text = literal_text(text(project, key));
        if text.is_empty() {
            continue;
        }
        if !heading.is_empty() {
            page.add(heading);
        }
        page.add(&text);
    }
    for document in list(project, "docs") {
        let (name, content) = (text(document, "filename"), text(document, "content"));
        let is_markdown = brain_page::is_markdown(Path::new(name));
        let shown = if is_markdown { model_text(content, DOCUMENT) } else { code(content, "") };
        let time = from_text(text(document, "created_at"));
        page.make_room(shown.len(), &mut target)?;
        page.add(&turn_heading(DOCUMENT, &literal_line(name), time));
        page.add(&shown);
    }
    if page.is_empty() {
        return target.out.lost(&from, "the project has no text");
    }
    page.end(&mut target)
}

/// Writes what Claude remembers of all conversations, and of those of a project.
fn write_memory(
    memory: &Value,
    file: &str,
    folder: &str,
    mut target: Target<'_, '_>,
) -> io::Result<()> {
    let whole = text(memory, "conversations_memory");
    let projects = memory.get("project_memories").and_then(Value::as_object);
    let projects = projects.into_iter().flatten().filter_map(|(id, it)| Some((id, it.as_str()?)));
    let projects: Vec<_> = projects.filter(|(_, it)| !it.trim().is_empty()).collect();
    if whole.trim().is_empty() && projects.is_empty() {
        return target.out.lost(file, "it has no memory");
    }
    let mut page = Page::default();
    page.path = target.paths.add([folder], "Memory");
    page.title = "Memory".to_owned();
    file.clone_into(&mut page.from);
    let mut page = LongPage::new(page);
    if !whole.trim().is_empty() {
        page.add(&model_text(whole, DOCUMENT));
    }
    for (id, memory) in projects {
        page.make_room(memory.len(), &mut target)?;
        page.add(&turn_heading(DOCUMENT, &format!("Project {}", literal_line(id)), None));
        page.add(&model_text(memory, DOCUMENT));
    }
    page.end(&mut target)
}
