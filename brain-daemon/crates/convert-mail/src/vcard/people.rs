//! The pages of contacts by their ids, with which a group names its members.

use std::collections::HashMap;

use brain_convert_base::link;

/// The contacts that have a page.
#[derive(Debug, Default)]
pub(super) struct People {
    /// Links to the pages by the ids of the contacts.
    links: HashMap<String, String>,
}

impl People {
    /// Adds the page of a contact. One without an id cannot be a member.
    pub(super) fn add(&mut self, id: &str, path: &str, name: &str) {
        if !id.is_empty() {
            self.links.insert(key(id), link(path, name));
        }
    }

    /// Returns the link to a contact.
    pub(super) fn link(&self, id: &str) -> Option<&str> {
        self.links.get(&key(id)).map(String::as_str)
    }
}

/// Ids have a prefix in the group, and often none in the contact.
fn key(id: &str) -> String {
    let id = id.trim().to_lowercase();
    id.strip_prefix("urn:uuid:").unwrap_or(&id).to_owned()
}
