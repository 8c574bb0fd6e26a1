//! The files of an archive of X.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use brain_convert_base::{ConvertError, Entry, Output, Tree};
use serde_json::Value;

use crate::json::{list, text};
use crate::json_array::for_each_element;
use crate::turns::{named, parse};

/// How much of a file shows whether it is one of an archive, in bytes.
const MAX_LOOK: usize = 64;
/// How a file of an archive begins.
const PREFIX: &[u8] = b"window.YTD.";
/// Maximum size of the file about the account, in bytes.
const MAX_ACCOUNT: usize = 1024 * 1024;

/// What is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Post,
    /// The whole text of a long post.
    Note,
    Like,
    Bookmark,
}

/// Returns the kind of a file by its name: `tweets.js`, or a part `tweets-part1.js` of it.
fn kind_of(name: &str) -> Option<Kind> {
    let stem = name.strip_suffix(".js")?;
    let stem = match stem.rsplit_once("-part") {
        Some((stem, part)) if part.bytes().all(|byte| byte.is_ascii_digit()) => stem,
        _ => stem,
    };
    Some(match stem {
        "tweet" | "tweets" => Kind::Post,
        "note-tweet" => Kind::Note,
        "like" => Kind::Like,
        "bookmark" => Kind::Bookmark,
        _ => return None,
    })
}

/// Returns whether a directory or ZIP archive has posts.
pub(super) fn is_archive(tree: &Tree) -> bool {
    let posts = tree.entries().iter().filter(|it| kind_of(it.name()) == Some(Kind::Post));
    posts.take(3).any(|entry| tree.head(entry, MAX_LOOK).is_ok_and(|head| head.starts_with(PREFIX)))
}

/// The account; texts are empty if the archive does not state them.
#[derive(Default)]
pub(super) struct Account {
    pub(super) handle: String,
    pub(super) id: String,
}

/// An archive: a directory, a ZIP archive, or the file with the posts alone.
pub(super) struct Archive {
    path: PathBuf,
    name: String,
    tree: Option<Tree>,
    /// The media by the id of the post: the place in the entries.
    media: HashMap<String, Vec<usize>>,
}

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Self, ConvertError> {
        let tree = Tree::open(path).map_err(ConvertError::read(path))?;
        let name =
            path.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
        let mut media: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, entry) in tree.iter().flat_map(Tree::entries).enumerate() {
            if is_media_of_post(entry)
                && let Some((id, _)) = entry.name().split_once('-')
            {
                media.entry(id.to_owned()).or_default().push(number);
            }
        }
        Ok(Self { path: path.to_owned(), name, tree, media })
    }

    /// The name of the archive for people.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// Returns the account.
    pub(super) fn account(&self) -> Result<Account, ConvertError> {
        let Some(tree) = &self.tree else { return Ok(Account::default()) };
        let Some(entry) = tree.entries().iter().find(|it| it.name() == "account.js") else {
            return Ok(Account::default());
        };
        let bytes = tree.read(entry, MAX_ACCOUNT).map_err(ConvertError::read(&self.path))?;
        let bytes = bytes.unwrap_or_default();
        let start = bytes.iter().position(|byte| *byte == b'[').unwrap_or(bytes.len());
        let value: Value =
            serde_json::from_slice(bytes.get(start..).unwrap_or_default()).unwrap_or_default();
        let account = value.get(0).and_then(|it| it.get("account")).unwrap_or(&Value::Null);
        let (handle, id) = (text(account, "username"), text(account, "accountId"));
        let is_handle = handle.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        let is_id = id.bytes().all(|it| it.is_ascii_digit());
        Ok(Account {
            handle: if is_handle { handle.to_owned() } else { String::new() },
            id: if is_id { id.to_owned() } else { String::new() },
        })
    }

    /// Calls `each` with every entry of the files of a kind. Meanwhile no other file is read.
    pub(super) fn for_each(
        &self,
        kind: Kind,
        out: &mut Output<'_>,
        each: &mut dyn FnMut(&Value, &mut Output<'_>) -> io::Result<()>,
    ) -> Result<(), ConvertError> {
        let mut read = |input: &mut dyn io::Read, name: &str| {
            for_each_element(input, name, &mut |element| match parse(&element) {
                Ok(value) => Ok(each(&value, out)?),
                Err(reason) => Ok(out.lost(&named(name, "id_str", &element), &reason)?),
            })
        };
        let Some(tree) = &self.tree else {
            if kind != Kind::Post {
                return Ok(());
            }
            let mut file = File::open(&self.path).map_err(ConvertError::read(&self.path))?;
            return read(&mut file, &self.name);
        };
        let mut end = Ok(());
        for entry in tree.entries().iter().filter(|it| kind_of(it.name()) == Some(kind)) {
            let done = tree
                .with_reader(entry, |input| read(input, &entry.path))
                .map_err(ConvertError::read(&self.path))?;
            end = end.and(done);
        }
        end
    }

    /// Returns the media of a post, with names to give them.
    pub(super) fn media(&self, id: &str) -> Vec<(String, Entry)> {
        let numbers = self.media.get(id).map(Vec::as_slice).unwrap_or_default();
        let entries = self.tree.as_ref().map(Tree::entries).unwrap_or_default();
        let media = numbers.iter().filter_map(|number| entries.get(*number));
        media.map(|entry| (entry.name().to_owned(), entry.clone())).collect()
    }

    /// Names the files that are not read: each table, and each folder of others.
    pub(super) fn report_others(&self, out: &mut Output<'_>) -> io::Result<()> {
        let Some(tree) = &self.tree else { return Ok(()) };
        let mut folders: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in tree.entries() {
            let name = entry.name();
            let is_data = entry.folder() == "data" || entry.folder().ends_with("/data");
            let is_read = kind_of(name).is_some() || matches!(name, "account.js" | "manifest.js");
            if is_data && !is_read {
                out.lost(&entry.path, "this file of the archive is not read")?;
            } else if !is_data && !is_media_of_post(entry) && entry.path.contains("data/") {
                *folders.entry(entry.folder()).or_default() += 1;
            }
        }
        for (folder, count) in folders {
            out.lost(folder, &format!("its files are not read: {count}"))?;
        }
        tree.report_problems(out)
    }
}

fn is_media_of_post(entry: &Entry) -> bool {
    let folder = entry.folder().rsplit('/').next().unwrap_or_default();
    matches!(folder, "tweets_media" | "tweet_media")
}

/// Returns the elements of a list in a value of the archive, which can be in another one.
pub(super) fn inner<'a>(value: &'a Value, outer: &str, key: &str) -> &'a [Value] {
    value.get(outer).map_or(&[][..], |it| list(it, key))
}
