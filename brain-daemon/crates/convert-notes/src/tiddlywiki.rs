//! Reads wikis of `TiddlyWiki` 5: a folder, a `.tid` file, a wiki in one file, an export as JSON.
//!
//! The forms of the files are those of `TiddlyWiki` 5.1.23 and 5.4.1. Tiddlers are read twice, one
//! at a time: first their titles, then their texts.

mod entry;
mod links;
mod markdown;
mod single_file;
mod source;
mod tiddler;
mod wikitext;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use brain_page::{MediaType, payload};

use brain_convert_base::{ConvertError, Format, Output, Sample, Tree};
use brain_convert_base::{Page, Paths, Value};
use brain_convert_base::{fenced, hidden_text, literal_text};
use entry::{Found, Location, load};
use links::{Entry, Links};
use tiddler::{Kind, Tiddler, date, list};

pub(crate) const FORMAT: Format = Format {
    name: "tiddlywiki",
    title: "a wiki of TiddlyWiki",
    is_by_others: false,
    recognise,
    convert,
};

/// How many tiddlers of a folder are looked at to recognise the format. Those of the program itself
/// have no times.
const MAX_LOOKS: usize = 50;
/// The setting that makes links of words such as `CamelCase`.
const WIKI_WORDS: &str = "$:/config/WikiParserRules/Inline/wikilink";
/// Fields that have a place of their own in a page.
const PLACED: [&str; 5] = ["title", "created", "modified", "tags", "text"];

fn recognise(sample: &Sample) -> bool {
    let names = sample.names();
    if !names.is_empty() {
        let is_tid = |name: &String| name.ends_with(".tid");
        let info = sample.text_of("tiddlywiki.info");
        return info.trim_start().starts_with('{')
            || names
                .iter()
                .filter(|name| is_tid(name))
                .take(MAX_LOOKS)
                .any(|name| is_tid_head(&sample.text_of(name)))
                && sample.tree().is_some_and(|tree| tree.is_mostly(|it| is_tiddler(tree, it)));
    }
    let text = sample.text();
    let start = text.trim_start();
    if start.starts_with(['[', '{']) {
        let has = |key: &str| text.contains(&format!("\"{key}\""));
        let times = ["created", "modified"].iter().any(|key| {
            let after = text.split_once(&format!("\"{key}\"")).map(|(_, after)| after);
            let value = after.map(|after| after.trim_start_matches([' ', ':', '"', '\n', '\t']));
            value.and_then(|value| value.get(..17)).is_some_and(|value| date(value).is_some())
        });
        return has("title") && has("text") && times;
    }
    if start.starts_with('<') {
        return text.contains("tiddlywiki-tiddler-store")
            || text.contains("name=\"tiddlywiki-version\"")
            || text.contains("content=\"TiddlyWiki\"");
    }
    is_tid_head(&text)
}

/// Returns whether a file is a tiddler by its name, or has its fields in a file beside it.
fn is_tiddler(tree: &Tree, entry: &brain_convert_base::Entry) -> bool {
    entry.extension() == "tid" || tree.entry(&format!("{}.meta", entry.path)).is_some()
}

/// Returns whether a text begins with the fields of a tiddler: a title, and a time or a type.
fn is_tid_head(text: &str) -> bool {
    let tiddler = Tiddler::of_tid(text);
    let has_time = ["created", "modified"].iter().any(|name| tiddler.date(name).is_some());
    let is_wikitext = tiddler.field("type").starts_with("text/vnd.tiddlywiki");
    let first = text.lines().next().unwrap_or_default();
    let is_field = first.split_once(':').is_some_and(|(name, _)| !name.contains(' '));
    is_field
        && (has_time || is_wikitext || tiddler.fields.contains_key("tags"))
        && tiddler.fields.contains_key("title")
}

/// The tiddlers of a wiki, and what is not read.
#[derive(Default)]
struct Wiki {
    entries: Vec<Entry>,
    lost: Vec<(String, String)>,
    wiki_words: bool,
    setting: Option<bool>,
}

impl Found for Wiki {
    fn tiddler(&mut self, name: &str, location: Location, tiddler: &Tiddler) {
        let title = tiddler.title().to_owned();
        if title == WIKI_WORDS {
            self.setting = Some(tiddler.text.trim() == "enable");
        }
        let from = match location.part {
            entry::Part::Tid | entry::Part::Whole { .. } => name.to_owned(),
            _ => format!("{name}, {}", brain_page::single_line(&title)),
        };
        let is_file = tiddler.bytes.as_ref().is_some_and(|bytes| !bytes.is_empty());
        let address = Some(tiddler.field("_canonical_uri").to_owned());
        self.entries.push(Entry {
            title,
            from,
            location,
            created: tiddler.date("created"),
            kind: tiddler.kind(),
            path: String::new(),
            extension: is_file.then(|| extension(&tiddler.media_type())),
            address: address.filter(|address| !address.is_empty()),
        });
    }

    fn lost(&mut self, name: String, reason: &str) {
        self.lost.push((name, reason.to_owned()));
    }

    fn wiki_words(&mut self) {
        self.wiki_words = true;
    }
}

/// Returns the extension of files of a type; empty if it is not known.
fn extension(media_type: &str) -> &'static str {
    match media_type {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/x-icon" | "image/vnd.microsoft.icon" => "ico",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "video/mp4" => "mp4",
        "video/webm" => "webm",
        _ => "",
    }
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut wiki = Wiki::default();
    // The tiddlers before an error are written.
    let result = source::scan(path, &mut wiki);
    wiki.assign_paths();
    let titles: HashMap<String, usize> =
        wiki.entries.iter().enumerate().map(|(n, entry)| (entry.title.clone(), n)).collect();
    let mut is_used = vec![false; wiki.entries.len()];
    for (index, entry) in wiki.entries.iter().enumerate() {
        if entry.kind == Kind::Note {
            write(&wiki, &titles, index, &mut is_used, out)?;
        }
    }
    for (index, entry) in wiki.entries.iter().enumerate() {
        let is_used = is_used.get(index).copied().unwrap_or_default();
        match entry.kind {
            Kind::Binary if !is_used => write(&wiki, &titles, index, &mut [], out)?,
            Kind::Binary => wiki.report_fields(entry, out)?,
            Kind::Draft => out.lost(&entry.from, "it is a draft, the open editor of a tiddler")?,
            Kind::System => out.lost(
                &entry.from,
                &format!("{} is a system tiddler, which is no note", single(&entry.title)),
            )?,
            Kind::Note | Kind::Program => {}
        }
    }
    for (from, reason) in &wiki.lost {
        out.lost(from, reason)?;
    }
    result
}

fn single(title: &str) -> String {
    brain_page::single_line(title)
}

impl Wiki {
    /// Gives each page its path, the oldest first, so that later tiddlers do not change it.
    fn assign_paths(&mut self) {
        let mut order: Vec<&mut Entry> = self
            .entries
            .iter_mut()
            .filter(|entry| matches!(entry.kind, Kind::Note | Kind::Binary))
            .collect();
        order.sort_by(|a, b| {
            let key = |entry: &Entry| (entry.created.is_none(), entry.created);
            key(a).cmp(&key(b)).then_with(|| a.title.cmp(&b.title))
        });
        let mut paths = Paths::default();
        for entry in order {
            entry.path = paths.add([], &entry.title);
        }
    }

    /// Reports what a file had besides its bytes, which is in no page.
    fn report_fields(&self, entry: &Entry, out: &mut Output<'_>) -> std::io::Result<()> {
        let Ok(tiddler) = load(&entry.location) else { return Ok(()) };
        let known = ["title", "type", "created", "modified", "creator", "modifier", "text"];
        let is_other = |name: &&str| !known.contains(name) && !tiddler.field(name).is_empty();
        let names: Vec<&str> = tiddler.fields.keys().map(String::as_str).filter(is_other).collect();
        match names.is_empty() {
            true => Ok(()),
            false => out.lost(
                &entry.from,
                &format!("the file is in the pages that name it, without its {}", names.join(", ")),
            ),
        }
    }
}

/// Writes the page of a tiddler, and its files.
fn write(
    wiki: &Wiki,
    titles: &HashMap<String, usize>,
    index: usize,
    is_used: &mut [bool],
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let Some(entry) = wiki.entries.get(index) else { return Ok(()) };
    let tiddler = match load(&entry.location) {
        Ok(tiddler) => tiddler,
        Err(reason) => return Ok(out.lost(&entry.from, &reason)?),
    };
    let wiki_words = wiki.setting.unwrap_or(wiki.wiki_words);
    let mut links = Links::new(&wiki.entries, titles, wiki_words, page(entry, &tiddler));
    let body = body(&tiddler, index, &mut links, out)?;
    let mut page = std::mem::take(&mut links.page);
    page.body = body;
    out.page(&page)?;
    for (file, name) in &links.files {
        if let Some(is_used) = is_used.get_mut(*file) {
            *is_used = true;
        }
        let Some(file) = wiki.entries.get(*file) else { continue };
        let read = || load(&file.location).map(|it| Some(it.bytes.unwrap_or_default()));
        out.file_from(&page, name, read)?;
    }
    if links.has_macros {
        out.lost(
            &page.from,
            "it has macros or widgets, which only TiddlyWiki runs; they are code",
        )?;
    }
    if links.has_flat_html {
        out.lost(&page.from, "lists or tables of HTML that have wikitext became lines")?;
    }
    if links.has_scripts {
        out.lost(&page.from, "its scripts and styles are left out")?;
    }
    if let Some(reason) = hidden_text(links.hidden_words) {
        out.lost(&page.from, &reason)?;
    }
    let mut missing: Vec<&String> = links.missing.iter().collect();
    missing.sort_unstable();
    for title in missing {
        out.lost(&page.from, &format!("its picture {} is not in the wiki", single(title)))?;
    }
    Ok(())
}

/// Returns the page of a tiddler without its text.
fn page(entry: &Entry, tiddler: &Tiddler) -> Page {
    let mut page = Page::default();
    page.from.clone_from(&entry.from);
    page.path.clone_from(&entry.path);
    page.title = single(&entry.title);
    page.created = tiddler.date("created");
    page.updated = tiddler.date("modified");
    page.tags = list(tiddler.field("tags"));
    for (name, value) in &tiddler.fields {
        let is_date = ["created", "modified"].contains(&name.as_str());
        let is_placed = PLACED.contains(&name.as_str()) && !(is_date && date(value).is_none());
        let is_wikitext = name == "type" && tiddler.media_type().is_empty();
        if is_placed || is_wikitext || value.is_empty() {
            continue;
        }
        let name = match name.as_str() {
            "creator" => "author",
            // The frontmatter's `type` is the type of a page.
            "type" => "media_type",
            name => name,
        };
        let value = match name {
            "list" => Value::List(list(value)),
            _ => Value::Text(value.clone()),
        };
        page.fields.push((name.to_owned(), value));
    }
    page
}

/// Returns the text of a tiddler as markdown.
fn body(
    tiddler: &Tiddler,
    index: usize,
    links: &mut Links<'_>,
    out: &mut Output<'_>,
) -> std::io::Result<String> {
    let media_type = tiddler.media_type();
    let text = tiddler.text.as_str();
    Ok(match media_type.as_str() {
        _ if tiddler.kind() == Kind::Binary => match links.attach(index) {
            Some(name) => format!("![[{name}]]"),
            None => {
                out.lost(&links.page.from, "its file is not in the wiki, or cannot be decoded")?;
                tiddler.field("_canonical_uri").to_owned()
            }
        },
        "" => wikitext::markdown(text, links),
        "text/markdown" | "text/x-markdown" => markdown::with_links(text, links),
        _ if text.trim().is_empty() => String::new(),
        "text/html" => match payload(MediaType::Html, text.as_bytes()) {
            Ok(payload) => {
                links.hidden_words = payload.hidden_words;
                payload.document.body.to_string()
            }
            Err(error) => {
                out.lost(&links.page.from, &format!("its HTML stays as code: {error}"))?;
                fenced("html", text)
            }
        },
        "text/plain" => literal_text(text),
        name => {
            let name = name.rsplit('/').next().unwrap_or_default();
            fenced(name.strip_prefix("x-").unwrap_or(name).trim_end_matches("+xml"), text)
        }
    })
}
