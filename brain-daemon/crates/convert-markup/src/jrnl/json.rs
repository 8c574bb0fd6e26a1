//! Reads the JSON that jrnl exports, entry by entry.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::entry::{Entry, local_time};

/// Takes the entries, one by one. An error ends the reading.
pub(super) type Take<'t> = dyn FnMut(Result<Entry, String>) -> Result<(), String> + 't;

/// Reads all entries.
///
/// # Errors
/// Why the JSON cannot be read further, or the error of `take`.
pub(super) fn read(input: impl Read, take: &mut Take<'_>) -> Result<(), String> {
    let mut reader = serde_json::Deserializer::from_reader(input);
    Export { take }.deserialize(&mut reader).map_err(|error| error.to_string())
}

struct Export<'a, 't> {
    take: &'a mut Take<'t>,
}

impl<'de> DeserializeSeed<'de> for Export<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Export<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an export of jrnl")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "entries" => map.next_value_seed(Entries { take: &mut *self.take })?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

struct Entries<'a, 't> {
    take: &'a mut Take<'t>,
}

impl<'de> DeserializeSeed<'de> for Entries<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(json) = entries.next_element::<Json>()? {
            (self.take)(entry(&json)).map_err(serde::de::Error::custom)?;
        }
        Ok(())
    }
}

/// Returns an entry, or the reason why it is none.
fn entry(json: &Json) -> Result<Entry, String> {
    let text = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default();
    let time = format!("{} {}", text("date"), text("time"));
    let time = local_time(&time).ok_or_else(|| format!("{} is no time", time.trim()))?;
    let tags = json.get("tags").and_then(Json::as_array).map(|tags| {
        let tags = tags.iter().filter_map(Json::as_str);
        let mut tags: Vec<String> =
            tags.map(|tag| tag.trim_start_matches(['@', '#']).to_owned()).collect();
        // jrnl lists them in another order each time.
        tags.sort_unstable();
        tags
    });
    Ok(Entry {
        time,
        title: text("title").trim().to_owned(),
        body: text("body").trim().to_owned(),
        tags,
        is_starred: json.get("starred").and_then(Json::as_bool).unwrap_or_default(),
    })
}
