//! The kind of a clipping.

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Highlight,
    Note,
    Bookmark,
    /// The language of the device is not known.
    Unknown,
}
