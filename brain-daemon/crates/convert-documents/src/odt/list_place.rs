//! The place of a list in an ODT.

/// Where a list is.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListPlace<'a> {
    /// The style of the list, or of the one around it.
    pub(super) style: &'a str,
    /// The level, from 1.
    pub(super) level: u32,
}

impl Default for ListPlace<'_> {
    fn default() -> Self {
        Self { style: "", level: 1 }
    }
}
