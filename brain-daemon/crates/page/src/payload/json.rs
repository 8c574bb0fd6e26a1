//! Converts JSON from the network. An object with a text member becomes that text with its fields;
//! any other JSON is kept as written in a code block. Values are never parsed and printed again, so
//! numbers keep their digits. Nothing recurses.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::fields::{MAX_LIST, PayloadFields, is_short, is_type, is_url, short_title};
use super::{Payload, PayloadError, fenced};
use crate::{normalize_tag, title};

/// The members that contain the text, in order of preference.
const TEXT_KEYS: [&str; 3] = ["content", "text", "markdown"];

/// A member of an object, with its value as written.
type JsonMember<'a> = (Cow<'a, str>, &'a RawValue);

/// Returns the document of a JSON text.
///
/// # Errors
/// [`PayloadError::Encoding`] with line and column when it is not JSON, or its text member has a
/// lone surrogate or a NUL; [`PayloadError::Empty`] when that member is blank.
pub(super) fn document(text: &str) -> Result<Payload, PayloadError> {
    let value: &RawValue =
        serde_json::from_str(text).map_err(|e| PayloadError::Encoding(format!("not JSON: {e}")))?;
    let mut members = members(value.get()).unwrap_or_default();
    for key in TEXT_KEYS {
        if let Some(body) = take(&mut members, key, |raw| raw.get().starts_with('"').then_some(raw))
        {
            let body = decode(text, key, body)?;
            let body = body.strip_prefix('\u{FEFF}').unwrap_or(&body).to_owned();
            if body.trim().is_empty() {
                return Err(PayloadError::Empty);
            }
            return Ok(fields(members).into_payload(body.into()));
        }
    }
    if is_nothing(value.get()) {
        return Err(PayloadError::Empty);
    }
    let title = Some(json_title(value.get(), &mut members));
    Ok(PayloadFields { title, ..PayloadFields::default() }
        .into_payload(fenced("json", value.get()).into()))
}

/// Returns whether a value has no content: `null`, `{}`, `[]` or `""`.
fn is_nothing(json: &str) -> bool {
    let text: String = json.chars().filter(|c| !c.is_whitespace()).collect();
    matches!(text.as_str(), "null" | "{}" | "[]" | "\"\"")
}

/// Returns the fields of an object without its text member.
fn fields(mut members: Vec<JsonMember>) -> PayloadFields {
    let title = take(&mut members, "title", |raw| {
        let (title, is_complete) = short_title(&string(raw)?);
        title.filter(|_| is_complete)
    });
    let mut fields = PayloadFields { title, ..PayloadFields::default() };
    fields.page_type = take(&mut members, "type", |raw| string(raw).filter(|t| is_type(t)));
    fields.url = take(&mut members, "url", |raw| string(raw).filter(|t| is_url(t)));
    fields.tags = take(&mut members, "tags", tags).unwrap_or_default();
    if fields.title.is_none() {
        // A title that is too long stays among the other fields in full.
        let long = members.iter().rev().find(|(key, _)| key == "title");
        fields.title = long.and_then(|(_, raw)| short_title(&string(raw)?).0);
    }
    if !members.is_empty() {
        let mut rest = String::from("{\n");
        for (n, (key, raw)) in members.iter().enumerate() {
            let gap = if n == 0 { "  " } else { ",\n  " };
            rest.extend([gap, &quoted(key), ": ", raw.get()]);
        }
        rest.push_str("\n}");
        fields.rest = Some(("json", rest));
    }
    fields
}

/// Returns the last member called `key`, converted with `convert`. Removes the member if `convert`
/// accepts it.
fn take<'a, T>(
    members: &mut Vec<JsonMember<'a>>,
    key: &str,
    convert: impl FnOnce(&'a RawValue) -> Option<T>,
) -> Option<T> {
    let at = members.iter().rposition(|(name, _)| name == key)?;
    let value = convert(members.get(at)?.1)?;
    members.remove(at);
    Some(value)
}

/// Returns a string, or a number, boolean or null as written.
fn plain(raw: &RawValue) -> Option<String> {
    string(raw)
        .or_else(|| Some(raw.get().to_owned()).filter(|text| !text.starts_with(['[', '{', '"'])))
}

/// Returns a list of scalars, or the parts of one text with commas, as tags.
fn tags(raw: &RawValue) -> Option<Vec<String>> {
    // Longer than any encoding of a list within the limit, so it is not parsed.
    if raw.get().len() > 16 * MAX_LIST {
        return None;
    }
    let names: Vec<String> = match string(raw) {
        Some(text) => text.split(',').map(str::to_owned).collect(),
        None => {
            let all: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
            let all = all.into_iter().filter(|value| value.get() != "null");
            all.map(plain).collect::<Option<_>>()?
        }
    };
    let (mut tags, mut known) = (Vec::new(), HashSet::new());
    for tag in names.iter().map(|tag| normalize_tag(tag)).filter(|tag| !tag.is_empty()) {
        if known.insert(tag.clone()) {
            tags.push(tag);
        }
    }
    is_short(&tags).then_some(tags)
}

/// Returns a title for JSON without a text: its own title, else the names of its members.
fn json_title(text: &str, members: &mut Vec<JsonMember>) -> String {
    for key in ["title", "name", "subject"] {
        if let Some(title) =
            take(members, key, |raw| title::shorten_line(&string(raw)?, title::MAX_TITLE))
        {
            return title;
        }
    }
    let keys: Vec<&str> = members.iter().take(8).map(|(key, _)| &**key).collect();
    let about = if text.starts_with('[') {
        "JSON list".to_owned()
    } else if keys.is_empty() {
        "JSON".to_owned()
    } else {
        format!("JSON: {}", keys.join(", "))
    };
    title::shorten_line(&about, title::MAX_TITLE).unwrap_or(about)
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}

/// Returns the text of the member `key`, which is part of `whole`.
fn decode(whole: &str, key: &str, raw: &RawValue) -> Result<String, PayloadError> {
    let start = (raw.get().as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    let refuse = |what: &str, column: usize| {
        let before = whole.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + column;
        PayloadError::Encoding(format!("{what} in \"{key}\", line {line}, column {column}"))
    };
    // A string has no line ends, so the column within it is the position.
    let text: String = serde_json::from_str(raw.get())
        .map_err(|e| refuse("half of a surrogate pair", e.column()))?;
    if text.contains('\0') {
        return Err(refuse("a NUL character", raw.get().find("\\u0000").unwrap_or(0) + 1));
    }
    Ok(text)
}

/// Returns the members of an object in order; `None` when `text` is not an object, or a name is not
/// valid text.
fn members(text: &str) -> Option<Vec<JsonMember<'_>>> {
    /// A name, borrowed from the text when it has no escapes.
    #[derive(Deserialize)]
    struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

    /// Counts the members, so that the list of members is allocated once.
    #[derive(Default)]
    struct Count(usize);
    impl<'de> Visitor<'de> for &mut Count {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                self.0 += 1;
            }
            Ok(())
        }
    }

    /// Reads the members; holds their number.
    struct Members(usize);
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<JsonMember<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::with_capacity(self.0);
            while let Some((MemberName(name), value)) = map.next_entry::<MemberName, &RawValue>()? {
                out.push((name, value));
            }
            Ok(out)
        }
    }
    let mut count = Count::default();
    serde_json::Deserializer::from_str(text).deserialize_map(&mut count).ok()?;
    serde_json::Deserializer::from_str(text).deserialize_map(Members(count.0)).ok()
}
