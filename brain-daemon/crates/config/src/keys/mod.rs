//! The table of all configuration keys, split by section.

mod collector;
mod daemon;
mod http;
mod models;
mod tunnel;

use super::Kind;

/// One key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// The section of the file that it belongs to.
    pub section: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The values that it accepts.
    pub kind: Kind,
    /// Its value when it is not set.
    pub default: &'static str,
    /// What it does, for people.
    pub description: &'static str,
}

/// The upper limit of `ingest.max_bytes`.
pub const MAX_BODY: u64 = 5_000_000;

const SEARCH: &[Key] = &[Key {
    section: "search",
    name: "language",
    kind: Kind::Text,
    default: "en",
    description: "ISO 639-1 language of pages too short to tell",
}];

/// Returns all keys in the order of the documentation.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    let sections = [daemon::KEYS, http::KEYS, collector::KEYS, models::KEYS, tunnel::KEYS, SEARCH];
    sections.into_iter().flatten()
}
