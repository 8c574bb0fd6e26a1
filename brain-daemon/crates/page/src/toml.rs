//! The TOML of a frontmatter block, as Hugo writes it between two lines of `+++`.
//!
//! The text of such a block begins with the line `+++`, which no YAML mapping does. An edit changes
//! only its key. Knows nothing of pages or of the meaning of a key.

use toml_edit::{Array, Datetime, DocumentMut, Item, Table, Value as TomlValue};

use super::yaml::{BadText, Mapping, TopLevelKey, Value};

/// The line before and after a block of TOML.
pub(super) const FENCE: &str = "+++";

/// Returns the TOML of the frontmatter `raw`, without the line of plus signs; `None` if it is YAML.
pub(super) fn block(raw: &str) -> Option<&str> {
    raw.strip_prefix(FENCE)?.strip_prefix('\n')
}

/// Returns whether invalid TOML was meant as TOML: its first line has a key or is a table.
pub(super) fn looks_like_toml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines.next().is_some_and(|line| line.contains('=') || line.starts_with('['))
}

/// Parses the TOML of a block. The content of tables is not read.
///
/// # Errors
/// [`BadText::Bad`] for invalid TOML.
pub(super) fn read(text: &str) -> Result<Mapping, BadText> {
    let document = parse(text)?;
    let entries = document.as_table().iter().map(|(key, item)| entry(key, item)).collect();
    Ok(Mapping { entries, is_block_style: true, indent: 0 })
}

/// A value to set.
#[derive(Debug, Clone, Copy)]
pub(super) enum NewValue<'a> {
    /// A text, even if it looks like a date.
    Text(&'a str),
    /// A date if the text is one; else a text.
    Date(&'a str),
    /// A date if the text is one and replaces a date; else a text.
    Scalar(&'a str),
    /// Texts; removes the key if there are none.
    List(&'a [String]),
}

/// Returns the frontmatter with these values, parsed once; `None` if `raw` is not valid TOML.
pub(super) fn set_all(raw: &str, values: &[(&str, NewValue<'_>)]) -> Option<String> {
    edit(raw, |table| values.iter().for_each(|(key, value)| put(table, key, *value)))
}

/// Returns the frontmatter without `key`; `None` if `raw` is not valid TOML.
pub(super) fn remove(raw: &str, key: &str) -> Option<String> {
    edit(raw, |table| _ = table.remove(key))
}

/// Returns `key` and its value on one line; `None` if it is absent or `raw` is not TOML.
pub(super) fn line_of(raw: &str, key: &str) -> Option<String> {
    let mut document = parse(block(raw)?).ok()?;
    let value = document.as_table_mut().remove(key)?.into_value().ok()?;
    Some(format!("{key} = {}", value.to_string().trim()))
}

fn parse(text: &str) -> Result<DocumentMut, BadText> {
    text.parse::<DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| text.floor_char_boundary(span.start));
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        BadText::Bad {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: error.message().to_owned(),
        }
    })
}

fn edit(raw: &str, change: impl FnOnce(&mut Table)) -> Option<String> {
    let mut document = parse(block(raw)?).ok()?;
    change(document.as_table_mut());
    Some(format!("{FENCE}\n{document}"))
}

/// Sets `key`. A comment after a replaced value stays.
fn put(table: &mut Table, key: &str, value: NewValue<'_>) {
    let mut value = match value {
        NewValue::Text(text) => quoted(text),
        NewValue::Date(text) => date(text).unwrap_or_else(|| quoted(text)),
        NewValue::Scalar(text) => {
            let is_date = table.get(key).is_some_and(Item::is_datetime);
            date(text).filter(|_| is_date).unwrap_or_else(|| quoted(text))
        }
        NewValue::List([]) => {
            table.remove(key);
            return;
        }
        NewValue::List(texts) => {
            TomlValue::Array(texts.iter().map(|text| quoted(text)).collect::<Array>())
        }
    };
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => _ = table.insert(key, Item::Value(value)),
    }
}

fn entry(key: &str, item: &Item) -> TopLevelKey {
    let (value, is_complete) = match item {
        Item::Value(TomlValue::Array(array)) => {
            let texts: Vec<String> = array.iter().filter_map(text).collect();
            let is_complete = texts.len() == array.len();
            (Value::List(texts), is_complete)
        }
        Item::Value(value) => match text(value) {
            Some(text) => (Value::Text(text), true),
            None => (Value::Other, false),
        },
        _ => (Value::Other, false),
    };
    TopLevelKey::without_lines(key, value, is_complete)
}

/// Returns a scalar: a text without quotes, a number as written, a time with `T`.
fn text(value: &TomlValue) -> Option<String> {
    match value {
        TomlValue::String(value) => Some(value.value().clone()),
        TomlValue::Integer(value) => Some(value.display_repr().into_owned()),
        TomlValue::Float(value) => Some(value.display_repr().into_owned()),
        TomlValue::Boolean(value) => Some(value.value().to_string()),
        TomlValue::Datetime(value) => Some(value.value().to_string()),
        TomlValue::Array(_) | TomlValue::InlineTable(_) => None,
    }
}

/// Returns `text` as a date or time if TOML writes it in the same way.
fn date(text: &str) -> Option<TomlValue> {
    let time = text.parse::<Datetime>().ok()?;
    (time.to_string() == text).then(|| TomlValue::from(time))
}

/// Returns `text` in quotes, on one line.
fn quoted(text: &str) -> TomlValue {
    // A JSON string is a TOML string, except for one control character.
    let quoted = serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F");
    quoted.parse().unwrap_or_else(|_| TomlValue::from(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use crate::{Document, Frontmatter};

    /// A post as Hugo's commands and documents write it.
    const POST: &str = "+++\n# a post\ntitle = 'A \"Lighthouse\"'\n\
        date = 2021-03-04T10:20:30+01:00\nlastmod = 2022-05-06\ndraft = false\nweight = 1_0\n\
        tags = ['Sea', \"night\"] # two\n\
        \n[params]\nauthor = 'Ann'\n\n[[resources]]\nsrc = 'a.png'\n+++\n\nLight.\n";

    /// Between dashes, plus signs are prose.
    const DASHED: &str = "---\n+++\na = 1\n---\nx";

    fn parse(text: &str) -> Document {
        Document::parse(text).unwrap()
    }

    #[test]
    fn a_post_of_hugo_is_read_and_stays_as_it_is() {
        let post = parse(POST);
        let f = &post.frontmatter;
        assert_eq!(f.title().unwrap(), "A \"Lighthouse\"");
        assert_eq!(f.get("date").unwrap(), "2021-03-04T10:20:30+01:00");
        assert_eq!(f.get("lastmod").unwrap(), "2022-05-06");
        assert_eq!(f.get("draft").unwrap(), "false");
        assert_eq!(f.get("weight").unwrap(), "1_0");
        assert_eq!(f.tags(), ["sea", "night"]);
        assert!(f.has("params") && f.get("params").is_none() && !f.is_plain("resources"));
        assert_eq!(post.body, "Light.\n");
        assert_eq!(post.render(), POST);
        assert_eq!(Frontmatter::parse(f.raw()).unwrap(), *f);
        let crlf = POST.replace('\n', "\r\n");
        assert_eq!(parse(&crlf).frontmatter.raw(), f.raw());
        assert_eq!(parse(&crlf).render(), crlf);
    }

    #[test]
    fn an_edit_changes_only_its_key() {
        let mut f = parse(POST).frontmatter;
        f.set("title", "New: 'one'\nand \"two\"");
        f.set("date", "2024-01-02");
        f.set_list("tags", &["a".into(), "no".into()]);
        f.set_all(&[("source_kind", "put_page"), ("weight", "10")]);
        f.remove("draft");
        let expected = POST
            .replace("'A \"Lighthouse\"'", "\"New: 'one'\\nand \\\"two\\\"\"")
            .replace("2021-03-04T10:20:30+01:00", "2024-01-02")
            .replace("['Sea', \"night\"]", "[\"a\", \"no\"]")
            .replace("1_0", "\"10\"")
            .replace("draft = false\n", "")
            .replace("# two\n", "# two\nsource_kind = \"put_page\"\n");
        assert_eq!(Document { frontmatter: f.clone(), body: "Light.\n".into() }.render(), expected);
        assert_eq!(f.take("source_kind").unwrap(), "source_kind = \"put_page\"");
        let params = f.take("params").unwrap();
        assert!(params.starts_with("params = {") && params.contains("'Ann'"), "{params}");
        assert!(!f.has("params") && !f.has("source_kind") && f.has("resources"));
    }

    #[test]
    fn only_dates_become_dates() {
        let mut f = parse("+++\ntitle = 2020-01-01\nexpirydate = 2020-01-01\n+++\n").frontmatter;
        f.set("title", "2024-01-02");
        f.set_all(&[("type", "10:00:00"), ("date", "2024-01-02"), ("last-modified", "2024-01-03")]);
        f.set_all(&[("expirydate", "2024-01-04"), ("version", "2024-01-05"), ("created", "soon")]);
        f.set_list("tags", &["2024-01-06".into()]);
        assert_eq!(
            f.raw(),
            "+++\ntitle = \"2024-01-02\"\nexpirydate = 2024-01-04\ntype = \"10:00:00\"\n\
                date = 2024-01-02\nlast-modified = 2024-01-03\nversion = \"2024-01-05\"\n\
                created = \"soon\"\ntags = [\"2024-01-06\"]\n"
        );
    }

    /// Each edit parses the text once. With one parse for each key, this would take half an hour.
    #[test]
    fn many_keys_are_set_and_copied_at_once() {
        let keys: Vec<String> = (0..5000).map(|n| format!("k{n}")).collect();
        let yaml = Frontmatter::parse(&format!("{}: a\n", keys.join(": a\n"))).unwrap();
        let toml = format!("+++\n{} = 'b'\n", keys.join(" = 'b'\n"));
        let toml = Frontmatter::parse(&toml).unwrap();

        let mut f = Frontmatter::parse("+++\nx = 1\n").unwrap();
        assert!(f.adopt(&yaml, &["k7"]) && !f.adopt(&yaml, &["k7"]));
        assert_eq!((f.keys().count(), f.get("k4999").as_deref()), (5000, Some("a")));
        assert!(f.adopt(&toml, &[]), "existing keys get the values");
        assert_eq!((f.keys().count(), f.get("k4999").as_deref()), (5001, Some("b")));
        let pairs: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "c")).collect();
        f.set_all(&pairs);
        assert_eq!((f.keys().count(), f.get("k0").as_deref()), (5001, Some("c")));

        let mut f = Frontmatter::parse("x: 1\n").unwrap();
        assert!(f.adopt(&toml, &["k7"]) && !f.adopt(&toml, &["k7"]));
        assert_eq!((f.keys().count(), f.get("k4999").as_deref()), (5000, Some("b")));
        assert!(f.adopt(&yaml, &[]));
        assert_eq!((f.keys().count(), f.get("k4999").as_deref()), (5001, Some("a")));
        f.set_all(&pairs);
        assert_eq!((f.keys().count(), f.get("k0").as_deref()), (5001, Some("c")));
    }

    #[test]
    fn keys_of_the_other_language_are_copied_by_value() {
        let yaml = Frontmatter::parse("title: Theirs\nlist: [a, b]\nm: {x: 1}\n").unwrap();
        let mut f = parse(POST).frontmatter;
        assert!(f.adopt(&yaml, &["title"]));
        assert!(!f.adopt(&yaml, &["title"]));
        assert_eq!(f.list("list"), ["a", "b"]);
        assert_eq!(f.title().unwrap(), "A \"Lighthouse\"");
        let mut f = Frontmatter::parse("x: 1\n").unwrap();
        assert!(f.adopt(&parse(POST).frontmatter, &["tags", "weight", "draft", "lastmod"]));
        assert_eq!(f.raw(), "x: 1\ntitle: A \"Lighthouse\"\ndate: 2021-03-04T10:20:30+01:00\n");
        let mut f = Frontmatter::empty();
        assert!(f.adopt(&parse(POST).frontmatter, &["tags"]));
        assert!(f.has("params") && !f.has("tags"));
    }

    #[test]
    fn other_text_between_plus_signs_is_text() {
        for text in
            ["+++", "+++\n", "+++\na = 1\n", "+++\nprose\n+++\nx", "+++ b/file\n+++\n", DASHED]
        {
            let document = parse(text);
            assert_eq!((document.frontmatter.raw(), document.body.as_str()), ("", text));
            assert_eq!(parse(&document.render()), document);
        }
        assert_eq!(parse("+++\n+++\nx").body, "x");
        let error = Document::parse("+++\r\ntitle = 'x'\r\ntags = no\r\n+++\r\nx").unwrap_err();
        assert_eq!(error.line, 3, "{error}");
        let malformed = "+++\na = 1\na = 2\n+++\nx";
        assert!(Document::parse(malformed).is_err());
        // A body with such a beginning that is not from a file stays a body.
        for body in [malformed, "+++\na = 1\n+++\nx", "+++\n+++\nx"] {
            let page = Document { frontmatter: Frontmatter::empty(), body: body.into() };
            assert_eq!(parse(&page.render()), page);
        }
        assert!(Document::parse(&format!("+++\na = {}\n+++\n", "[".repeat(30_000))).is_err());
    }

    proptest! {
        #[test]
        fn a_set_text_is_read_again(key in "[a-c]|\\PC{1,4}", value in "\\PC{0,8}|(?s:.{0,8})") {
            let mut f = parse("+++\na = 1 # why\n[t]\nb = 2\n+++\n").frontmatter;
            f.set(&key, &value);
            prop_assert_eq!(f.get(&key), Some(value.clone()));
            f.set_list("list", &[value.clone(), "x".into()]);
            prop_assert_eq!(f.list("list"), [value, "x".to_owned()]);
            let document = Document { frontmatter: f, body: "+++\nx".into() };
            prop_assert_eq!(Document::parse(&document.render()).unwrap(), document);
        }
    }
}
