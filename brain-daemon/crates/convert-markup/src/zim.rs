//! Reads notebooks of Zim: a directory or a ZIP archive, or one page.
//!
//! A page is a text file with Zim's header; a folder of its name has its files, and the pages below
//! it. The rules are those of Zim 0.75.

mod blocks;
mod inline;
mod notebook;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Page, Sample, Value};
use jiff::Timestamp;
use jiff::civil::Date;

use crate::files::{Files, PageFiles, reference};
use crate::rest::{is_hidden, report_rest};
use crate::source::{Source, folder, name};
use inline::Scope;
use notebook::{Entry, Notebook, is_page};

pub(crate) const FORMAT: Format =
    Format { name: "zim", title: "a notebook of Zim", is_by_others: false, recognise, convert };

/// How many files are looked at to recognise the format.
const MAX_LOOKS: usize = 200;

fn recognise(sample: &Sample) -> bool {
    let Some(tree) = sample.tree() else { return is_page(sample.head()) };
    let is_zim = |entry: &brain_convert_base::Entry| {
        entry.path.ends_with(".txt")
            && !is_hidden(&entry.path)
            && is_page(&tree.head(entry, 100).unwrap_or_default())
    };
    let texts = tree.entries().iter().filter(|entry| entry.path.ends_with(".txt"));
    let is_marked = |root: &str| tree.entry(&format!("{root}notebook.zim")).is_some();
    texts.take(MAX_LOOKS).any(is_zim)
        && (is_marked("") || is_marked(tree.root()) || tree.is_mostly(is_zim))
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let source = Source::open(path)?;
    let root = notebook::root(&source);
    let notebook = Notebook::read(&source, &root);
    let mut beside: HashMap<&str, Vec<&String>> = HashMap::new();
    for file in source.files().iter().filter(|file| !is_hidden(file)) {
        beside.entry(folder(file)).or_default().push(file);
    }
    let mut files = Files::default();
    let mut failed = Vec::new();
    for entry in &notebook.entries {
        match source.text(&entry.file) {
            Ok(text) => write((&source, &notebook, &beside), entry, &text, &mut files, out)?,
            Err(reason) => failed.push((entry.file.clone(), reason)),
        }
    }
    for (file, reason) in &failed {
        out.lost(file, reason)?;
    }
    report_rest(&source, out, |path| {
        let is_read =
            notebook.has_file(path) || files.is_used(path) || name(path) == "notebook.zim";
        (!is_read).then(|| "it is no page, and no page has it".to_owned())
    })?;
    Ok(())
}

/// Writes a page with the files that it names, and those in its folder.
fn write(
    (source, notebook, beside): (&Source, &Notebook, &HashMap<&str, Vec<&String>>),
    entry: &Entry,
    text: &str,
    files: &mut Files,
    out: &mut Output<'_>,
) -> std::io::Result<()> {
    let (fields, text) = header(text);
    let mut page = Page::default();
    page.from.clone_from(&entry.file);
    page.path.clone_from(&entry.path);
    page.title = entry.names.last().cloned().unwrap_or_default();
    for (key, value) in fields {
        match key {
            "Content-Type" | "Wiki-Format" => {}
            "Creation-Date" | "Modification-Date" => {
                let is_created = key.starts_with('C');
                match value.parse::<Timestamp>() {
                    Ok(time) if is_created => page.created = Some(time),
                    Ok(time) => page.updated = Some(time),
                    // Older versions wrote the local time without its offset.
                    Err(_) => {
                        let key = if is_created { "created" } else { "updated" };
                        page.fields.push((key.to_owned(), Value::Text(value.to_owned())));
                    }
                }
            }
            key => page.fields.push((key.to_owned(), Value::Text(value.to_owned()))),
        }
    }
    let title = page.title.clone();
    if let Some(day) = journal_day(&entry.names) {
        page.title = day.to_string();
        page.fields.push(("date".to_owned(), Value::Text(page.title.clone())));
    }
    let mut scope = Scope { source, notebook, entry, page, files: PageFiles::default() };
    let mut body = blocks::blocks(text, &title, &mut scope);
    let Scope { mut page, files: mut attached, .. } = scope;
    let own_folder = entry.file.strip_suffix(".txt").unwrap_or(&entry.file);
    for file in beside.get(own_folder).into_iter().flatten() {
        if notebook.has_file(file) || attached.has(file) || name(file) == "notebook.zim" {
            continue;
        }
        if let Some(name) = attached.attach(source, &mut page, file) {
            body.push_str(&format!("\n\n{}", reference(&name, "")));
        }
    }
    page.body = body;
    files.write(source, &page, attached, out)
}

/// Returns the day of a page of the journal: `Journal:2026:11:01`.
fn journal_day(names: &[String]) -> Option<Date> {
    let [.., year, month, day] = names else { return None };
    let is_day = year.len() == 4 && month.len() == 2 && day.len() == 2;
    let number = |text: &String| text.parse::<i8>().ok();
    Date::new(year.parse().ok().filter(|_| is_day)?, number(month)?, number(day)?).ok()
}

/// Splits the fields at the top from the text.
fn header(text: &str) -> (Vec<(&str, &str)>, &str) {
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let line = rest.split('\n').next().unwrap_or_default();
        let field = line.split_once(':').filter(|(key, _)| {
            let is_key = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
            !key.is_empty() && key.chars().all(is_key)
        });
        let after = rest.get(line.len() + 1..).unwrap_or_default();
        match field {
            Some((key, value)) => fields.push((key, value.trim())),
            None if line.trim().is_empty() => return (fields, after),
            None => return (fields, rest),
        }
        if after.is_empty() {
            return (fields, "");
        }
        rest = after;
    }
}
