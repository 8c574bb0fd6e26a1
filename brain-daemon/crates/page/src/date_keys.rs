//! Keys of frontmatter whose values are dates.

/// Keys of the time at which a note was made, in the order of preference. Keys are compared without
/// case, and `_` stands for a space and a hyphen, too.
pub(super) const CREATED_KEYS: &[&str] =
    &["created", "created_at", "date_created", "creation_date"];
/// Keys of the last change.
pub(super) const UPDATED_KEYS: &[&str] = &[
    "updated",
    "updated_at",
    "modified",
    "modified_at",
    "lastmod",
    "last_modified",
    "last_modified_at",
    "date_updated",
    "date_modified",
];
/// Keys of the day of a post.
pub(super) const DATE_KEYS: &[&str] = &["date", "publishdate", "published"];
/// Keys of the time of a capture, which brain writes.
pub(super) const CAPTURED_KEYS: &[&str] = &["captured_at"];
/// Keys that brain writes and that do not date the note.
const OTHER_KEYS: &[&str] = &["ingested_at"];

/// Returns whether the value of this key is a date.
pub(super) fn is_date_key(key: &str) -> bool {
    let mut names =
        [CREATED_KEYS, UPDATED_KEYS, DATE_KEYS, CAPTURED_KEYS, OTHER_KEYS].into_iter().flatten();
    names.any(|name| is_key(key, name))
}

/// Returns whether the value of this key says when the note was written or imported.
pub(super) fn is_time_of_writing(key: &str) -> bool {
    let mut names = [UPDATED_KEYS, CAPTURED_KEYS, OTHER_KEYS].into_iter().flatten();
    names.any(|name| is_key(key, name))
}

/// Returns whether a key is a spelling of `name`: without case, and with a space or a hyphen for
/// `_`.
pub(super) fn is_key(key: &str, name: &str) -> bool {
    let is_same = |(key, name): (u8, u8)| {
        key.eq_ignore_ascii_case(&name) || (name == b'_' && matches!(key, b' ' | b'-'))
    };
    key.len() == name.len() && key.bytes().zip(name.bytes()).all(is_same)
}
