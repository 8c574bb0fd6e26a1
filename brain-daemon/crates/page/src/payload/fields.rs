//! Fields of a text from the network: which have an effect, and where the others are kept.

use super::{Payload, fenced};
use crate::frontmatter::{Frontmatter, MAX_FRONTMATTER};
use crate::{Body, Document, title, toml};

/// Maximum length of a title, in characters. A longer one is cut, and kept in full with the other
/// fields.
const MAX_GIVEN_TITLE: usize = 300;
/// Maximum length of an author's name, in bytes.
const MAX_AUTHOR: usize = 200;
/// Maximum length of an address, in bytes.
const MAX_URL: usize = 2048;
/// Maximum length of all tags together, and of all aliases together, in bytes.
pub(super) const MAX_LIST: usize = 8 * 1024;
/// Maximum length of all fields as YAML, in bytes. The daemon's own fields need space, too.
const MAX_BYTES: usize = MAX_FRONTMATTER / 2;

/// The frontmatter key under which fields without effect are kept as one text.
pub const RECEIVED: &str = "received";

/// The fields of one text.
#[derive(Debug, Default)]
pub(super) struct PayloadFields {
    /// The title, on one line.
    pub(super) title: Option<String>,
    pub(super) page_type: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) aliases: Vec<String>,
    /// The names of the authors.
    pub(super) authors: Vec<String>,
    pub(super) date: Option<String>,
    /// When the text was made or clipped.
    pub(super) created: Option<String>,
    pub(super) url: Option<String>,
    /// All other fields as they were sent, with the name of their language.
    pub(super) rest: Option<(&'static str, String)>,
}

impl PayloadFields {
    /// Returns the fields of a frontmatter from the network.
    pub(super) fn of(frontmatter: &Frontmatter) -> Self {
        let mut fields = Self::default();
        let mut rest = frontmatter.clone();
        if let Some(text) = frontmatter.title() {
            let (title, is_complete) = short_title(&text);
            fields.title = title;
            if is_complete {
                rest.remove("title");
            }
        }
        // `source` and `published` are what clippers write for `url` and `date`.
        for (keys, field, is_usable) in [
            (&["type"][..], &mut fields.page_type, is_type as fn(&str) -> bool),
            (&["date", "published"], &mut fields.date, is_date),
            (&["created"], &mut fields.created, is_date),
            (&["url", "source"], &mut fields.url, is_url),
        ] {
            let usable = keys.iter().find_map(|key| {
                let text = frontmatter.get(key)?.trim().to_owned();
                is_usable(&text).then_some((key, text))
            });
            if let Some((key, text)) = usable {
                *field = Some(text);
                rest.remove(key);
            }
        }
        for (keys, field, values) in [
            (["tags", "tag"], &mut fields.tags, frontmatter.tags()),
            (["aliases", "alias"], &mut fields.aliases, frontmatter.aliases()),
        ] {
            if is_short(&values) && keys.iter().all(|key| frontmatter.is_plain(key)) {
                *field = values;
                keys.iter().for_each(|key| rest.remove(key));
            }
        }
        fields.authors =
            frontmatter.list("author").iter().filter_map(|name| author(name)).collect();
        if fields.authors.len() == frontmatter.list("author").len()
            && frontmatter.is_plain("author")
        {
            rest.remove("author");
        }
        let (language, rest) = match toml::block(rest.raw()) {
            Some(lines) => ("toml", lines),
            None => ("yaml", rest.raw()),
        };
        let rest = rest.trim_end();
        fields.rest = (!rest.is_empty()).then(|| (language, rest.to_owned()));
        fields
    }

    /// Returns the payload of `body` with these fields as frontmatter.
    pub(super) fn into_payload(self, mut body: Body) -> Payload {
        let mut frontmatter = Frontmatter::empty();
        let scalars = [
            ("title", &self.title),
            ("type", &self.page_type),
            ("date", &self.date),
            ("created", &self.created),
            ("url", &self.url),
        ];
        let pairs: Vec<(&str, &str)> = scalars
            .iter()
            .filter_map(|(key, value)| value.as_deref().map(|value| (*key, value)))
            .collect();
        frontmatter.set_all(&pairs);
        match self.authors.as_slice() {
            [author] => frontmatter.set("author", author),
            authors => frontmatter.set_list("author", authors),
        }
        frontmatter.set_list("tags", &self.tags);
        frontmatter.set_list("aliases", &self.aliases);
        if let Some((language, rest)) = self.rest {
            if rest.len() < MAX_BYTES {
                frontmatter.set(RECEIVED, &rest);
            }
            if rest.len() >= MAX_BYTES || frontmatter.raw().len() > MAX_BYTES {
                frontmatter.remove(RECEIVED);
                body = format!("{}\n\n{}", body.trim_end(), fenced(language, &rest)).into();
            }
        }
        Payload {
            document: Document { frontmatter, body },
            url: self.url,
            warning: None,
            hidden_words: 0,
        }
    }
}

/// Returns `text` as a title of limited length, and whether the title has the complete text.
pub(super) fn short_title(text: &str) -> (Option<String>, bool) {
    let title = title::shorten_line(text, MAX_GIVEN_TITLE);
    let is_complete = title.is_some() && text.chars().count() <= MAX_GIVEN_TITLE;
    (title, is_complete)
}

/// Returns whether `text` can be a page's type: one lower-case word.
pub(super) fn is_type(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= 64
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

/// Returns whether `text` is a web address.
pub(super) fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|s| s == "http" || s == "https")
        && text.len() <= MAX_URL
        && !text.contains(|c: char| {
            c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '\\')
        })
}

/// Returns an author's name without the brackets of a link, if it is short and no address.
pub(super) fn author(text: &str) -> Option<String> {
    let name = text.trim().trim_start_matches("[[").trim_end_matches("]]");
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_name = !name.is_empty()
        && name.len() <= MAX_AUTHOR
        && !name.contains("://")
        && !name.contains(|c: char| c.is_control() || matches!(c, '[' | ']' | '<' | '>' | '|'));
    is_name.then_some(name)
}

/// Returns whether `text` has only characters of a date, and so is not a link.
pub(super) fn is_date(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| {
            c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.' | '+' | ' ' | ',' | '/')
        })
}

/// Returns whether `values` are short enough for a frontmatter, without control characters.
pub(super) fn is_short(values: &[String]) -> bool {
    values.iter().map(|value| value.len() + 8).sum::<usize>() <= MAX_LIST
        && !values.iter().any(|value| value.contains(char::is_control))
}
