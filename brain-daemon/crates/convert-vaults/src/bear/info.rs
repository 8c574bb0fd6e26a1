//! Reads the facts about a note in `info.json`.

use jiff::Timestamp;
use serde_json::Value;

/// The facts about a note.
#[derive(Debug, Default)]
pub(super) struct Info {
    pub(super) id: String,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    pub(super) is_trashed: bool,
    pub(super) is_archived: bool,
    pub(super) is_pinned: bool,
    pub(super) is_encrypted: bool,
}

impl Info {
    pub(super) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let info: Value = serde_json::from_slice(json)?;
        let bear = info.get("net.shinyfrog.bear").unwrap_or(&Value::Null);
        let text = |name: &str| bear.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_set = |name: &str| {
            let value = bear.get(name);
            value.is_some_and(|value| value.as_i64() == Some(1) || value.as_bool() == Some(true))
        };
        Ok(Self {
            id: text("uniqueIdentifier").to_owned(),
            created: text("creationDate").parse().ok(),
            updated: text("modificationDate").parse().ok(),
            is_trashed: is_set("trashed"),
            is_archived: is_set("archived"),
            is_pinned: is_set("pinned"),
            is_encrypted: is_set("encrypted"),
        })
    }
}
