//! The fields of a page: what its frontmatter says beside its name, type, tags and times.

use super::date_keys::is_date_key;
use super::shared_text::FrontmatterText;

/// Maximum number of fields of a page.
const MAX_FIELDS: usize = 64;
/// Maximum number of values of a field.
const MAX_VALUES: usize = 64;
/// Maximum length of a value, in bytes.
const MAX_VALUE_BYTES: usize = 1_000;
/// Keys that are parts of the page of their own, or that only programs read.
const OTHER_KEYS: [&str; 13] = [
    "title",
    "aliases",
    "alias",
    "tags",
    "tag",
    "type",
    "slug",
    "permalink",
    "id",
    "uid",
    "uuid",
    "cssclass",
    "cssclasses",
];

/// A field of a page, such as `author: Nadia Holt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its key as written.
    pub key: String,
    /// Its values on one line each, without quotes: one text, the items of a list, or the text of
    /// nested YAML.
    pub values: Vec<String>,
}

impl Field {
    /// Returns the field on one line: `key: value, value`.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}: {}", self.key, self.values.join(", "))
    }
}

/// Returns the fields of a page, in the author's order: at most 64 of at most 64 values. Omits
/// `except`, and keys of names, types, tags and times. Frontmatter that cannot be parsed has none.
#[must_use]
pub fn fields(frontmatter: &FrontmatterText, except: &[&str]) -> Vec<Field> {
    let Ok(frontmatter) = frontmatter.parsed() else { return Vec::new() };
    let is_field = |key: &str| {
        let is_known = OTHER_KEYS.iter().any(|known| key.eq_ignore_ascii_case(known));
        !is_known && !except.contains(&key) && !is_date_key(key)
    };
    let with_values = frontmatter.texts().filter(|(key, _)| is_field(key)).map(|(key, values)| {
        let values = values.iter().map(|text| one_line(text)).filter(|text| !text.is_empty());
        Field { key: key.to_owned(), values: values.take(MAX_VALUES).collect() }
    });
    with_values.filter(|field| !field.values.is_empty()).take(MAX_FIELDS).collect()
}

/// Returns a value on one line, without the brackets of a link.
fn one_line(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_VALUE_BYTES)];
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.strip_prefix("[[").and_then(|it| it.strip_suffix("]]")) {
        Some(link) if !link.contains("[[") => {
            link.split_once('|').map_or(link, |(_, label)| label).to_owned()
        }
        _ => line,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Frontmatter;

    fn lines(raw: &str) -> Vec<String> {
        let text = FrontmatterText::from(Frontmatter::parse(raw).unwrap());
        fields(&text, &["source_kind"]).iter().map(Field::line).collect()
    }

    #[test]
    fn texts_lists_and_nested_values_are_fields() {
        let raw = "title: T\nauthor: \"Nadia  Holt\"\nrating: 5\nactive: true\nempty:\n\
                   people:\n  - '[[people/mia|Mia]]'\n  - Ben\naddress:\n  street: Hill Road\n  \
                   zip: 123\ndate: 2024-01-02\ncreated_at: 2024-01-02\nsource_kind: x\n\
                   lead: \"[[Ada]]\"\n";
        assert_eq!(
            lines(raw),
            [
                "author: Nadia Holt",
                "rating: 5",
                "active: true",
                "people: Mia, Ben",
                "address: street: Hill Road zip: 123",
                "lead: Ada",
            ]
        );
        assert_eq!(lines("{author: Ada, tags: [x]}\n"), ["author: Ada"]);
        assert_eq!(lines("+++\nauthor = \"Ada\"\ntitle = \"T\"\n"), ["author: Ada"]);
        assert_eq!(lines("Title: T\nAliases: [x]\nid: 7\n"), Vec::<String>::new());
    }

    #[test]
    fn fields_are_bounded() {
        let many: String = (0..100)
            .map(|n| format!("key{n}: {}\n", "é".repeat(if n < 9 { 600 } else { 20 })))
            .collect();
        let fields = lines(&many);
        assert_eq!(fields.len(), MAX_FIELDS);
        assert!(fields.iter().all(|line| line.len() <= MAX_VALUE_BYTES + 16));
    }
}
