//! What an HTML document states about itself: address, day, authors and tags.
//!
//! The day of publication precedes that of the last change. Of each, the first usable one counts:
//! that of JSON-LD, then that of the `meta` elements, in their order. Values that are no date, no
//! web address or no name are ignored.

use std::collections::HashSet;

use html5gum::StartTag;
use serde_json::Value;
use url::Url;

use super::super::fields::{PayloadFields, author, is_date, is_url};
use super::text;
use crate::normalize_tag;

/// Maximum number of authors, and of tags.
const MAX_NAMES: usize = 20;
/// Maximum length of a name or a tag, in bytes.
const MAX_NAME: usize = 200;
/// Maximum number of JSON-LD objects that are read.
const MAX_OBJECTS: usize = 200;
/// Names of `meta` elements with the day of publication.
const PUBLISHED: [&str; 7] = [
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dcterms.created",
    "dcterms.date",
    "citation_publication_date",
];
/// Names of `meta` elements with the day of the last change.
const MODIFIED: [&str; 4] =
    ["article:modified_time", "datemodified", "dcterms.modified", "last-modified"];

/// What a document states.
#[derive(Default)]
pub(super) struct Metadata {
    canonical: Option<String>,
    /// The address of `og:url`.
    shared: Option<String>,
    base: Option<String>,
    published: Dates,
    modified: Dates,
    authors: Names,
    tags: Names,
}

/// The first usable value of JSON-LD, and of the elements.
#[derive(Default)]
struct Dates {
    data: Option<String>,
    element: Option<String>,
}

/// Names of JSON-LD and of the elements.
#[derive(Default)]
struct Names {
    data: Vec<String>,
    element: Vec<String>,
}

impl Metadata {
    /// Reads an element.
    pub(super) fn start(&mut self, tag: &StartTag<()>) {
        let attribute =
            |name: &str| tag.attributes.get(name.as_bytes()).map(|v| text(&v.value).into_owned());
        match &**tag.name {
            b"base" => self.base = self.base.take().or_else(|| attribute("href")),
            b"link"
                if attribute("rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical")) =>
            {
                self.canonical = self.canonical.take().or_else(|| attribute("href"));
            }
            b"meta" => {
                let name = ["property", "name", "itemprop"].iter().find_map(|key| attribute(key));
                if let Some((name, content)) = name.zip(attribute("content")) {
                    self.meta(&name.trim().to_ascii_lowercase(), content.trim());
                }
            }
            _ => {}
        }
    }

    fn meta(&mut self, name: &str, content: &str) {
        let is_full = |names: &Names| names.element.len() >= MAX_NAMES;
        if is_full(&self.tags) && (name.contains("keywords") || name == "article:tag") {
            return;
        }
        if is_full(&self.authors) && matches!(name, "author" | "dc.creator" | "citation_author") {
            return;
        }
        match name {
            "og:url" => self.shared = self.shared.take().or_else(|| Some(content.to_owned())),
            "author" | "dc.creator" | "citation_author" => {
                self.authors.element.extend(author(content));
            }
            "keywords" | "news_keywords" => self.tags.element.extend(keywords(content)),
            "article:tag" => self.tags.element.push(content.to_owned()),
            name if PUBLISHED.contains(&name) => set(&mut self.published.element, content),
            name if MODIFIED.contains(&name) => set(&mut self.modified.element, content),
            _ => {}
        }
    }

    /// Reads a script of JSON-LD. One that is no JSON is ignored.
    pub(super) fn data(&mut self, json: &str) {
        let Ok(value) = serde_json::from_str::<Value>(json) else { return };
        let mut waiting = vec![&value];
        let mut objects = 0;
        while let Some(value) = waiting.pop() {
            objects += 1;
            if objects > MAX_OBJECTS {
                return;
            }
            match value {
                Value::Array(values) => waiting.extend(values.iter().take(MAX_OBJECTS).rev()),
                Value::Object(object) => {
                    waiting.extend(object.get("@graph"));
                    let string = |key: &str| object.get(key).and_then(Value::as_str);
                    // Only a text has a day: a site or a person can have other dates.
                    if let Some(date) = string("datePublished") {
                        set(&mut self.published.data, date);
                    }
                    if let Some(date) = string("dateModified") {
                        set(&mut self.modified.data, date);
                    }
                    let is_full = self.authors.data.len().max(self.tags.data.len()) >= MAX_NAMES;
                    if is_full {
                        continue;
                    }
                    if object.contains_key("headline") || object.contains_key("datePublished") {
                        for name in object.get("author").map(names).unwrap_or_default() {
                            self.authors.data.extend(author(name));
                        }
                        for list in object.get("keywords").map(names).unwrap_or_default() {
                            self.tags.data.extend(keywords(list));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the address of the document, if it states a usable one.
    fn address(&self) -> Option<Url> {
        let base = self.base.as_deref().and_then(|base| Url::parse(base).ok());
        let shared = self.shared.as_deref().and_then(|url| Url::parse(url.trim()).ok());
        [&self.canonical, &self.shared].into_iter().flatten().find_map(|url| {
            let url = match Url::parse(url.trim()) {
                Ok(url) => url,
                Err(_) => shared.as_ref().or(base.as_ref())?.join(url.trim()).ok()?,
            };
            is_url(url.as_str()).then_some(url)
        })
    }

    /// Returns the address that relative links start from.
    pub(super) fn base(&self) -> Option<Url> {
        let address = self.address();
        let base = self.base.as_deref().map(|base| match &address {
            Some(address) => address.join(base.trim()),
            None => Url::parse(base.trim()),
        });
        base.and_then(Result::ok).or(address).filter(|url| is_url(url.as_str()))
    }

    /// Returns the fields of the page.
    pub(super) fn fields(self, title: Option<String>) -> PayloadFields {
        let url = self.address().map(String::from);
        let first = |dates: Dates| dates.data.or(dates.element);
        let date = first(self.published).or(first(self.modified));
        let authors = unique(self.authors, str::to_owned);
        let tags = unique(self.tags, normalize_tag);
        PayloadFields { title, url, date, authors, tags, ..PayloadFields::default() }
    }
}

/// Sets a date that is not set, if `text` is one.
fn set(date: &mut Option<String>, text: &str) {
    let text = text.trim();
    // Programs write these for a date that is not set.
    let is_unset = text.starts_with("0001-") || text.starts_with("1970-01-01T00:00:00");
    if date.is_none() && is_date(text) && crate::note_dates::is_stated_date(text) && !is_unset {
        *date = Some(text.to_owned());
    }
}

/// Returns the parts of a list with commas.
fn keywords(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(',').take(2 * MAX_NAMES).map(|word| word.trim().to_owned())
}

/// Returns the names of a text, an object with a name, or a list of these.
fn names(value: &Value) -> Vec<&str> {
    let values = match value {
        Value::Array(values) => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    values.iter().take(MAX_NAMES).filter_map(|v| v.get("name").unwrap_or(v).as_str()).collect()
}

/// Returns the names of the data, else those of the elements, each once and in one form.
fn unique(names: Names, form: impl Fn(&str) -> String) -> Vec<String> {
    let names = if names.data.is_empty() { names.element } else { names.data };
    let mut known = HashSet::new();
    let names = names.iter().map(|name| form(name));
    let is_usable = |name: &String| {
        !name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_control)
    };
    names.filter(is_usable).filter(|name| known.insert(name.clone())).take(MAX_NAMES).collect()
}
