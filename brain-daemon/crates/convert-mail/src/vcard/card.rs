//! A contact and its page.

use brain_convert_base::{Page, Value, literal_text};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::facts::{facts, value};
use super::files::attach;
use super::people::People;
use crate::content_line::Component;

/// A contact.
pub(super) struct Card<'a> {
    component: &'a Component,
    facts: Vec<String>,
}

impl<'a> Card<'a> {
    /// Reads a contact.
    pub(super) fn of(component: &'a Component, people: &People) -> Self {
        Self { component, facts: facts(component, people) }
    }

    /// Returns whether there is neither a name nor a fact nor a note.
    pub(super) fn is_empty(&self) -> bool {
        self.name().is_empty() && self.facts.is_empty() && self.component.text("NOTE").is_empty()
    }

    /// Returns the name: the shown one, else that of its parts, a nickname, a company or an
    /// address.
    pub(super) fn name(&self) -> String {
        let shown = brain_page::single_line(&self.component.text("FN"));
        let others = ["NICKNAME", "ORG", "EMAIL", "TEL"];
        let others = others.iter().filter_map(|name| self.component.line(name)).map(value);
        let mut names = [shown, self.full_name()].into_iter().chain(others);
        names.find(|name| !name.is_empty()).unwrap_or_default()
    }

    /// Returns prefix, given, other and family names, and suffix.
    fn full_name(&self) -> String {
        let Some(line) = self.component.line("N") else { return String::new() };
        let parts = line.texts(b';');
        let part = |n: usize| parts.get(n).map_or("", String::as_str);
        let names = [part(3), part(1), part(2), part(0), part(4)];
        brain_page::single_line(&names.join(" "))
    }

    /// Returns the page with its files.
    pub(super) fn into_page(self, from: String, path: String) -> (Page, Vec<(String, Vec<u8>)>) {
        let mut page = Page::default();
        page.from = from;
        page.path = path;
        page.title = self.name();
        page.created = time(&self.component.text("CREATED"));
        page.updated = time(&self.component.text("REV"));
        let tags = self.component.all("CATEGORIES").flat_map(|line| line.texts(b','));
        page.tags = tags.filter(|tag| !tag.is_empty() && tag != "myContacts").collect();
        page.fields = self.fields(&page.title);
        let list: Vec<String> = self.facts.iter().map(|fact| format!("- {fact}")).collect();
        let notes = self.component.all("NOTE").map(|line| literal_text(&line.text()));
        let mut blocks = vec![list.join("\n")];
        blocks.extend(notes);
        blocks.retain(|block| !block.is_empty());
        page.body = blocks.join("\n\n");
        let files = attach(self.component, &mut page);
        (page, files)
    }

    fn fields(&self, title: &str) -> Vec<(String, Value)> {
        let mut fields = vec![("type".to_owned(), Value::Text(self.kind().to_owned()))];
        let values = |name: &str| -> Vec<String> {
            let values = self.component.all(name).map(value);
            values.filter(|value| !value.is_empty()).collect()
        };
        // Addresses are names: so the attendees of a meeting link to this page.
        let nicknames = self.component.all("NICKNAME").flat_map(|line| line.texts(b','));
        let names = self.component.all("FN").map(value).chain([self.full_name()]);
        let mut aliases: Vec<String> = Vec::new();
        for alias in names.chain(nicknames).chain(values("EMAIL")) {
            if !alias.is_empty() && alias != title && !aliases.contains(&alias) {
                aliases.push(alias);
            }
        }
        let companies =
            self.component.all("ORG").filter_map(|line| line.texts(b';').first().cloned());
        let companies = companies.map(|it| brain_page::single_line(&it));
        let companies = companies.filter(|it| !it.is_empty() && it != title).collect();
        let lists = [
            ("aliases", aliases),
            ("email", values("EMAIL")),
            ("phone", values("TEL")),
            ("company", companies),
        ];
        let lists = lists.into_iter().filter(|(_, values)| !values.is_empty());
        fields.extend(lists.map(|(name, values)| (name.to_owned(), Value::List(values))));
        let birthday = values("BDAY").into_iter().next();
        fields.extend(birthday.map(|it| ("birthday".to_owned(), Value::Text(it))));
        fields
    }

    /// Returns the type of the page.
    fn kind(&self) -> &'static str {
        let is_company = self.component.text("X-ABSHOWAS").eq_ignore_ascii_case("company");
        match kind(self.component).as_str() {
            "org" => "company",
            "group" => "group",
            _ if is_company => "company",
            _ => "person",
        }
    }
}

/// Returns the kind that a contact states, in lower case; empty if it states none.
fn kind(component: &Component) -> String {
    let kinds = ["KIND", "X-ADDRESSBOOKSERVER-KIND"].map(|name| component.text(name));
    kinds.iter().find(|kind| !kind.is_empty()).map(|kind| kind.to_lowercase()).unwrap_or_default()
}

/// Returns whether a contact is a group of others.
pub(super) fn is_group(component: &Component) -> bool {
    kind(component) == "group"
}

/// Parses a time, with or without signs between its parts. Without a zone it is in UTC, as the
/// property demands.
fn time(text: &str) -> Option<Timestamp> {
    let local: Option<DateTime> = text.trim_end_matches('Z').parse().ok();
    let zoned = local.and_then(|local| local.to_zoned(TimeZone::UTC).ok());
    text.parse().ok().or_else(|| Some(zoned?.timestamp()))
}
