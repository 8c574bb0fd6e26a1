//! Writes pages, and databases with their entries.

use std::io;

use brain_convert_base::{Entry, Output, Page, Tree, Value, hidden_text, link, literal_line};

use super::catalog::{Catalog, Document, Kind};
use super::database::{EntryPage, Table};
use super::links::{PageLinks, Target, target};
use super::{html, markdown, values};
use crate::rewrite::rewrite;
use crate::vault::{Attached, Vault, report};

/// Maximum size of a CSV file that is read, in bytes.
const MAX_CSV: u64 = 16_000_000;
/// Maximum length of the table of a database in its page, in bytes.
const MAX_TABLE: usize = 4_000_000;
/// Names of Notion's properties with the time of creation, and of the last change.
const CREATED: [&str; 4] = ["created time", "created", "created at", "date created"];
const UPDATED: [&str; 5] =
    ["last edited time", "last edited", "last updated", "last modified", "updated"];

/// An export that is written.
pub(super) struct Export<'a> {
    pub(super) catalog: Catalog,
    pub(super) vault: Vault<'a>,
}

/// A document that was read.
struct Content {
    properties: Vec<(String, String)>,
    body: String,
}

impl<'a> Export<'a> {
    /// Names the pages of all documents.
    pub(super) fn new(tree: &'a Tree, catalog: Catalog) -> io::Result<Self> {
        let mut export = Self { catalog, vault: Vault::new(tree) };
        export.find_titles()?;
        export.catalog.name_pages();
        let Self { catalog, vault } = &mut export;
        for document in &catalog.documents {
            for file in [document.text, document.all, document.view].into_iter().flatten() {
                vault.add_page(file, document.path.clone());
            }
        }
        for number in &catalog.indexes {
            vault.mark_used(*number);
        }
        Ok(export)
    }

    /// Gives the entries of databases the titles of their rows. Those in their files can depend on
    /// the day of the export: "@Today".
    fn find_titles(&mut self) -> io::Result<()> {
        let mut sink = io::sink();
        // What is wrong with a file is reported when it is written.
        let mut silent = Output::new(&mut sink, false);
        for database in 0..self.catalog.documents.len() {
            let numbers = self.catalog.entries(database).to_vec();
            if numbers.is_empty() {
                continue;
            }
            let (table, found) = read_table(self, database, &numbers, &mut silent)?;
            for (row, page) in table.rows.iter().zip(found) {
                let number = page.and_then(|page| numbers.get(page));
                if let Some(document) = number.and_then(|it| self.catalog.documents.get_mut(*it)) {
                    table.title(row).clone_into(&mut document.title);
                }
            }
        }
        Ok(())
    }

    fn document(&self, number: usize) -> Option<&Document> {
        self.catalog.documents.get(number)
    }

    /// Reads the text of a document. `None` if it has none that can be read, which is reported.
    fn content(
        &self,
        document: &Document,
        columns: Option<&[String]>,
        out: &mut Output<'_>,
    ) -> io::Result<Option<Content>> {
        let Some(entry) = document.text.and_then(|file| self.vault.entry(file)) else {
            return Ok(None);
        };
        let Some(text) = self.vault.text(entry, out)? else { return Ok(None) };
        if !entry.extension().starts_with("htm") {
            let parts = markdown::split(&text, columns);
            let body = markdown::plain_blocks(parts.body);
            return Ok(Some(Content { properties: parts.properties, body }));
        }
        Ok(Some(match html::split(&text) {
            Ok(parts) => {
                if let Some(reason) = hidden_text(parts.hidden_words) {
                    out.lost(&entry.path, &reason)?;
                }
                Content { properties: parts.properties, body: parts.body }
            }
            Err(reason) => {
                let reason = format!("its HTML was not converted, and is kept as code: {reason}");
                out.lost(&entry.path, &reason)?;
                let body = format!("~~~~~~~~html\n{text}\n~~~~~~~~\n");
                Content { properties: Vec::new(), body }
            }
        }))
    }
}

/// Writes a page. `columns` are the names of its properties, if it is in a database.
pub(super) fn write_document(
    export: &mut Export<'_>,
    number: usize,
    columns: &[String],
    out: &mut Output<'_>,
) -> io::Result<()> {
    let Some(document) = export.document(number) else { return Ok(()) };
    let columns = Some(columns).filter(|columns| !columns.is_empty());
    let Some(content) = export.content(document, columns, out)? else { return Ok(()) };
    write_page(export, number, None, content, out)
}

/// Writes a page whose text was read. `row` replaces the title and the properties that it states.
fn write_page(
    export: &mut Export<'_>,
    number: usize,
    row: Option<(&str, Vec<(String, String)>)>,
    content: Content,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let Export { catalog, vault } = export;
    let Some(document) = catalog.documents.get(number) else { return Ok(()) };
    let file = document.text.or(document.all).or(document.view);
    let entry = file.and_then(|file| vault.entry(file));
    let (from, folder) = entry.map_or(("", ""), |entry| (&entry.path, entry.folder()));
    let (title, row) = row.map_or((None, None), |(title, row)| (Some(title), Some(row)));
    let mut page = Page::new(from, &document.path, title.unwrap_or(&document.title));
    let (mut attached, mut missing) = (Attached::new(), Vec::new());
    let mut links = PageLinks {
        catalog,
        vault,
        page: &mut page,
        attached: &mut attached,
        folder,
        missing: &mut missing,
    };
    set_fields(&mut links, row.unwrap_or(content.properties));
    let body = rewrite(&content.body, &mut links);
    page.body = body;
    let reason = |address| format!("its link to {address} leads to no file of the export");
    report(from, missing.into_iter().map(reason).collect(), out)?;
    out.page(&page)?;
    vault.write_files(&page, &attached, out)
}

/// Makes fields of properties.
fn set_fields(links: &mut PageLinks<'_, '_>, properties: Vec<(String, String)>) {
    for (name, value) in properties {
        let text = value.trim();
        if text.is_empty() {
            continue;
        }
        let lower = name.to_lowercase();
        let date = values::date(text);
        let is_time = |names: &[&str]| date.is_some() && names.contains(&lower.as_str());
        if lower == "tags" || lower == "tag" {
            links.page.tags.extend(text.split(", ").map(|tag| tag.trim().to_owned()));
            continue;
        }
        let (name, value) = if is_time(&CREATED) {
            ("created".to_owned(), date.map(Value::Text))
        } else if is_time(&UPDATED) {
            ("updated".to_owned(), date.map(Value::Text))
        } else if date.is_some() {
            (name, date.map(Value::Text))
        } else {
            let list = pages(links.catalog, links.vault, links.folder, text);
            let list = list.or_else(|| links.files(text));
            (name, list.map(Value::List))
        };
        let value = value.unwrap_or_else(|| Value::Text(text.to_owned()));
        links.page.fields.push((name, value));
    }
}

/// Returns the links to the pages that a value lists, or `None` if it lists none.
fn pages(catalog: &Catalog, vault: &Vault<'_>, folder: &str, value: &str) -> Option<Vec<String>> {
    // A value from HTML has links of markdown.
    let markdown = |value: &str| -> Option<Vec<(String, String)>> {
        let inner = value.strip_prefix('[')?.strip_suffix(')')?;
        let pairs = inner.split(") [").map(|pair| pair.split_once("]("));
        pairs.map(|it| it.map(|(title, to)| (title.to_owned(), to.to_owned()))).collect()
    };
    let plain = || {
        let found = values::relations(value)?;
        Some(found.into_iter().map(|(title, to)| (title.to_owned(), to.to_owned())).collect())
    };
    let found = markdown(value).or_else(plain)?;
    let mut pages = Vec::new();
    for (title, address) in found {
        match target(catalog, vault, folder, &address) {
            Target::Page(path) => pages.push(link(&path, &title)),
            _ => return None,
        }
    }
    Some(pages)
}

/// Writes a database: a page with a table of links to its entries, and the entries.
pub(super) fn write_database(
    export: &mut Export<'_>,
    number: usize,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let Some(document) = export.document(number) else { return Ok(()) };
    let (all, view) = (document.all, document.view);
    let numbers = export.catalog.entries(number).to_vec();
    let (table, found) = read_table(export, number, &numbers, out)?;
    let mut rows = Vec::with_capacity(table.rows.len());
    let path = export.document(number).map(|it| it.path.clone()).unwrap_or_default();
    for (row, page) in table.rows.iter().zip(&found) {
        let page = page.and_then(|at| numbers.get(at).copied());
        rows.push((page, row_path(export, &path, table.title(row), page)));
    }
    let mut body = match export.document(number) {
        Some(document) => export.content(document, None, out)?.map(|it| it.body),
        None => None,
    };
    let shown = shown_table(export, &table, &rows, &numbers, out, number)?;
    let body = match body.take().filter(|body| !body.trim().is_empty() && all.or(view).is_some()) {
        Some(text) if !text.contains("\n| ") => format!("{}\n\n{shown}", text.trim_end()),
        _ => shown,
    };
    write_page(export, number, None, Content { properties: Vec::new(), body }, out)?;
    write_rows(export, all.or(view), &table, &rows, out)?;
    let in_rows: std::collections::HashSet<usize> =
        rows.iter().filter_map(|(page, _)| *page).collect();
    for entry in numbers {
        match export.document(entry).map(|it| it.kind) {
            _ if in_rows.contains(&entry) => {}
            Some(Kind::Database) => write_database(export, entry, out)?,
            _ => write_document(export, entry, &table.columns, out)?,
        }
    }
    Ok(())
}

/// Reads the rows of a database, and finds the entry of each among those that have a text.
fn read_table(
    export: &Export<'_>,
    number: usize,
    entries: &[usize],
    out: &mut Output<'_>,
) -> io::Result<(Table, Vec<Option<usize>>)> {
    let Some(document) = export.document(number) else {
        return Ok((Table::default(), Vec::new()));
    };
    let all = csv_text(export, document.all, out)?;
    let view = csv_text(export, document.view, out)?;
    let mut table = Table::read(all.as_deref(), view.as_deref());
    drop((all, view));
    let mut pages = Vec::with_capacity(entries.len());
    for entry in entries {
        pages.push(entry_page(export, *entry, &table.columns)?);
    }
    table.find_title(&pages);
    let found = table.match_pages(&pages);
    Ok((table, found))
}

fn csv_text(
    export: &Export<'_>,
    file: Option<usize>,
    out: &mut Output<'_>,
) -> io::Result<Option<String>> {
    let Some(entry) = file.and_then(|file| export.vault.entry(file)) else { return Ok(None) };
    if entry.size > MAX_CSV {
        let reason =
            format!("it has more than {MAX_CSV} bytes; only its entries with text are read");
        out.lost(&entry.path, &reason)?;
        return Ok(None);
    }
    export.vault.text(entry, out)
}

/// Reads the title and the properties of an entry. What is wrong with it is reported when its page
/// is written.
fn entry_page(export: &Export<'_>, number: usize, columns: &[String]) -> io::Result<EntryPage> {
    let Some(document) = export.document(number) else {
        return Ok(EntryPage { title: String::new(), properties: Vec::new() });
    };
    let mut sink = io::sink();
    let mut silent = Output::new(&mut sink, false);
    let properties = match document.kind {
        Kind::Markdown => export.content(document, Some(columns), &mut silent)?,
        // All entries in HTML have pages with their own properties.
        Kind::Html | Kind::Database => None,
    };
    let properties = properties.map(|it| it.properties).unwrap_or_default();
    Ok(EntryPage { title: document.title.clone(), properties })
}

/// Returns the path of the page of a row.
fn row_path(export: &mut Export<'_>, database: &str, title: &str, page: Option<usize>) -> String {
    match page.and_then(|page| export.document(page)) {
        Some(document) => document.path.clone(),
        None => export.catalog.paths.add(database.split('/'), title),
    }
}

/// Returns the table of a database, whose first column links to the entries.
fn shown_table(
    export: &Export<'_>,
    table: &Table,
    rows: &[(Option<usize>, String)],
    entries: &[usize],
    out: &mut Output<'_>,
    number: usize,
) -> io::Result<String> {
    let document = export.document(number);
    let csv = document.and_then(|it| export.vault.entry(it.all.or(it.view)?));
    let folder = csv.map_or("", Entry::folder);
    let cell = |text: &str| match pages(&export.catalog, &export.vault, folder, text.trim()) {
        Some(links) => links.join(", ").replace('|', "\\|"),
        None => literal_line(&text.replace('\n', " ")),
    };
    let mut shown = String::new();
    if !table.columns.is_empty() {
        let title = table.columns.get(table.title).map_or("", String::as_str);
        let others = |row: &[String]| table.values(row).map(|(_, value)| cell(value)).collect();
        let names: Vec<String> = table.values(&table.columns).map(|(name, _)| cell(name)).collect();
        shown.push_str(&row_line(&cell(title), &names));
        shown.push_str(&row_line("---", &vec!["---".to_owned(); names.len()]));
        let mut is_cut = false;
        for (row, (_, path)) in table.rows.iter().zip(rows) {
            let label = link(path, table.title(row)).replace('|', "\\|");
            let cells: Vec<String> = others(row);
            is_cut |= shown.len() > MAX_TABLE;
            shown.push_str(&row_line(&label, if is_cut { &[] } else { &cells }));
        }
        if is_cut && let Some(document) = export.document(number) {
            out.lost(&document.path, "its table is long; its last rows have no values there")?;
        }
    }
    let in_rows: std::collections::HashSet<usize> =
        rows.iter().filter_map(|(page, _)| *page).collect();
    let others = entries.iter().filter(|entry| !in_rows.contains(entry));
    for document in others.filter_map(|entry| export.document(*entry)) {
        shown.push_str(&format!("\n- {}", link(&document.path, &document.title)));
    }
    Ok(shown)
}

fn row_line(first: &str, others: &[String]) -> String {
    let mut line = format!("| {first} |");
    for cell in others {
        line.push_str(&format!(" {cell} |"));
    }
    line.push('\n');
    line
}

/// Writes the entries that the rows of a database describe.
fn write_rows(
    export: &mut Export<'_>,
    csv: Option<usize>,
    table: &Table,
    rows: &[(Option<usize>, String)],
    out: &mut Output<'_>,
) -> io::Result<()> {
    for (row, (page, path)) in table.rows.iter().zip(rows) {
        let values = table.values(row).map(|(name, value)| (name.to_owned(), value.to_owned()));
        let values: Vec<(String, String)> = values.collect();
        let document = page.and_then(|page| export.document(page));
        let content = match document {
            Some(document) => export.content(document, Some(&table.columns), out)?,
            None => None,
        };
        match (page, content) {
            // HTML has the links of its properties, and CSV only their titles.
            (Some(page), Some(content)) if is_html(export, *page) => {
                write_page(export, *page, None, content, out)?;
            }
            (Some(page), Some(content)) => {
                write_page(export, *page, Some((table.title(row), values)), content, out)?;
            }
            (Some(_), None) => {}
            (None, _) => {
                let entry = csv.and_then(|file| export.vault.entry(file));
                write_row(export, entry, table.title(row), path, values, out)?;
            }
        }
    }
    Ok(())
}

fn is_html(export: &Export<'_>, number: usize) -> bool {
    export.document(number).is_some_and(|document| document.kind == Kind::Html)
}

/// Writes the page of a row that has no text.
fn write_row(
    export: &mut Export<'_>,
    csv: Option<&Entry>,
    title: &str,
    path: &str,
    values: Vec<(String, String)>,
    out: &mut Output<'_>,
) -> io::Result<()> {
    let Export { catalog, vault } = export;
    let (file, folder) = csv.map_or(("", ""), |entry| (&entry.path, entry.folder()));
    let mut page = Page::new(&format!("{file}, {title}"), path, title);
    let (mut attached, mut missing) = (Attached::new(), Vec::new());
    let mut links = PageLinks {
        catalog,
        vault,
        page: &mut page,
        attached: &mut attached,
        folder,
        missing: &mut missing,
    };
    set_fields(&mut links, values);
    out.page(&page)?;
    vault.write_files(&page, &attached, out)
}
