//! The pages of notes by title, which links name.

use std::collections::HashMap;

/// The paths of pages by the title of their notes, without case.
#[derive(Default)]
pub(super) struct Titles {
    paths: HashMap<String, String>,
}

impl Titles {
    pub(super) fn add(&mut self, title: &str, path: &str) {
        self.paths.entry(title.trim().to_lowercase()).or_insert_with(|| path.to_owned());
    }

    pub(super) fn path(&self, title: &str) -> Option<&str> {
        self.paths.get(&title.trim().to_lowercase()).map(String::as_str)
    }
}
