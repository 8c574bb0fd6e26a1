//! The files of an export of ChatGPT: pictures, sound, and what the user sent.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::io;

use brain_convert_base::{Entry, Output, Tree};
use serde_json::Value;

use super::message::Asset;

/// The names of the files, by their name in the export.
const NAMES: &str = "conversation_asset_file_names.json";
/// Files that repeat what is in the conversations, or describe the export.
const SILENT: [&str; 4] = ["chat.html", "README.txt", "export_manifest.json", NAMES];
/// Maximum size of the list of names, in bytes.
const MAX_NAMES: usize = 32 * 1024 * 1024;
/// How much of a file shows its kind, in bytes.
const MAGIC: usize = 12;

/// The files of an export.
pub(super) struct Assets<'a> {
    tree: Option<&'a Tree>,
    /// The files by their id: `file-AbC`, `file_00ff`.
    by_id: HashMap<String, &'a Entry>,
    /// The files by their name.
    by_name: HashMap<&'a str, &'a Entry>,
    /// Their names in ChatGPT, by the name in the export.
    names: HashMap<String, String>,
    /// The paths of the files that are in a page.
    used: RefCell<BTreeSet<String>>,
}

impl<'a> Assets<'a> {
    /// Lists the files of a directory or archive.
    pub(super) fn of(tree: Option<&'a Tree>) -> Self {
        let mut assets = Self {
            tree,
            by_id: HashMap::new(),
            by_name: HashMap::new(),
            names: HashMap::new(),
            used: RefCell::default(),
        };
        let Some(tree) = tree else { return assets };
        for entry in tree.entries() {
            if let Some(id) = id_of(entry.name()) {
                assets.by_id.entry(id).or_insert(entry);
            }
            assets.by_name.entry(entry.name()).or_insert(entry);
        }
        if let Some(entry) = assets.by_name.get(NAMES)
            && let Ok(Some(bytes)) = tree.read(entry, MAX_NAMES)
            && let Ok(Value::Object(names)) = serde_json::from_slice(&bytes)
        {
            let name = |(key, value): (String, Value)| Some((key, value.as_str()?.to_owned()));
            assets.names = names.into_iter().filter_map(name).collect();
        }
        assets
    }

    /// Returns the file that a message shows, and the name to give it.
    pub(super) fn find(&self, asset: &Asset) -> Option<(&'a Entry, String)> {
        let by_id = id_of(&asset.pointer).and_then(|id| self.by_id.get(&id));
        let by_name = || self.by_name.get(asset.name.as_str()).filter(|_| !asset.name.is_empty());
        let entry = *by_id.or_else(by_name)?;
        self.used.borrow_mut().insert(entry.path.clone());
        let stored = match self.names.get(entry.name()) {
            Some(name) => name.clone(),
            None => name_without_id(entry.name()),
        };
        let name = if asset.name.is_empty() { stored } else { asset.name.clone() };
        Some((entry, self.with_extension(entry, name)))
    }

    /// Returns a name with the extension of the file's content, if it has none or `.dat`.
    fn with_extension(&self, entry: &Entry, name: String) -> String {
        let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
        if !matches!(extension, "" | "dat" | "bin") {
            return name;
        }
        let head = self.tree.and_then(|tree| tree.head(entry, MAGIC).ok()).unwrap_or_default();
        let kind = match head.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => "png",
            [0xff, 0xd8, 0xff, ..] => "jpg",
            [b'G', b'I', b'F', b'8', ..] => "gif",
            [b'%', b'P', b'D', b'F', ..] => "pdf",
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => "webp",
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E'] => "wav",
            _ => return name,
        };
        format!("{stem}.{kind}")
    }

    /// Names the files that are in no page.
    pub(super) fn report_unused(&self, out: &mut Output<'_>) -> io::Result<()> {
        let Some(tree) = self.tree else { return Ok(()) };
        let used = self.used.borrow();
        for entry in tree.entries() {
            let name = entry.name();
            let is_part = name.starts_with("conversations") && name.ends_with(".json");
            if is_part || SILENT.contains(&name) || used.contains(&entry.path) {
                continue;
            }
            let reason = match id_of(name) {
                Some(_) => "no conversation shows this file",
                None => "this file of the export is not read",
            };
            out.lost(&entry.path, reason)?;
        }
        tree.report_problems(out)
    }
}

/// Returns the id in a pointer or a file's name: `file-AbC` in `file-service://file-AbC` and in
/// `file-AbC-picture.png`, `file_00ff` in `sediment://x#file_00ff#p_0.jpg`.
fn id_of(text: &str) -> Option<String> {
    let text = text.rsplit_once("://").map_or(text, |(_, path)| path);
    let at = if text.starts_with("file") { 0 } else { text.find("#file")? + 1 };
    let rest = text.get(at..)?;
    let (kind, rest) = rest.split_at_checked("file-".len())?;
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let is_id = matches!(kind, "file-" | "file_") && length >= 6;
    is_id.then(|| format!("{kind}{}", rest.get(..length).unwrap_or_default()))
}

/// Returns the name that the user gave a file.
fn name_without_id(name: &str) -> String {
    let Some(id) = id_of(name) else { return name.to_owned() };
    let rest = name.get(id.len()..).unwrap_or_default();
    match rest.strip_prefix(['-', '_']) {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_id() {
        for (text, id) in [
            ("file-service://file-AbC123xyz", Some("file-AbC123xyz")),
            ("sediment://file_00ff00ff", Some("file_00ff00ff")),
            ("sediment://5f0e#file_00ff00ff#p_0.jpg", Some("file_00ff00ff")),
            ("file-AbC123xyz-my-dog.png", Some("file-AbC123xyz")),
            ("file_00ff00ff.dat", Some("file_00ff00ff")),
            ("file-x.png", None),
            ("photo.png", None),
            ("", None),
        ] {
            assert_eq!(id_of(text).as_deref(), id, "{text}");
        }
        assert_eq!(name_without_id("file-AbC123xyz-my-dog.png"), "my-dog.png");
        assert_eq!(name_without_id("file-AbC123xyz.dat"), "file-AbC123xyz.dat");
    }
}
