//! People without a page: who of them gets one, where, and what stands in it before anything is said of their posts.

use std::collections::HashSet;

use brain_protocol::{Fault, Slug, SourceId};

use super::super::data_fault;
use super::super::gate::Gate;
use super::super::noticed::{Author, Files};
use super::plan::Brief;
use brain_collector::Noted;
use brain_page::{Document, Frontmatter};
use brain_store::Reader;

/// Where new pages go.
const PLACE: &str = "people/";

/// Lets people through the gate, and counts those who do not pass.
pub(super) struct Newcomers<'a> {
    gate: Gate,
    reader: &'a Reader,
    source: &'a SourceId,
    files: &'a Files,
    /// Keys of pages that were made before; read when somebody passes.
    made: Option<HashSet<String>>,
    /// How many did not pass.
    pub(super) below: u64,
}

impl<'a> Newcomers<'a> {
    /// A gate to pages of `source`.
    pub(super) fn new(
        gate: Gate,
        reader: &'a Reader,
        source: &'a SourceId,
        files: &'a Files,
    ) -> Self {
        Self { gate, reader, source, files, made: None, below: 0 }
    }

    /// The slug of the page that `author` gets for these posts. Those of the account's own timeline do not count.
    ///
    /// # Errors
    /// When the store or the journal cannot be read.
    pub(super) fn slug(
        &mut self,
        author: &Author,
        posts: &[&Brief],
    ) -> Result<Option<Slug>, Fault> {
        let counted: Vec<&&Brief> = posts.iter().filter(|post| post.counts).collect();
        if author.own || !counted.iter().any(|post| post.asked) {
            return Ok(None);
        }
        let times: Vec<i64> = counted.iter().map(|post| post.written).collect();
        if author.handle.is_none() || !self.gate.passes(&times, author.verified, author.followers) {
            self.below += 1;
            return Ok(None);
        }
        let made = match &mut self.made {
            Some(made) => made,
            none => none.insert(made_before(self.files)?),
        };
        if made.contains(&key(author)) {
            Ok(None)
        } else {
            free_slug(self.reader, self.source, author)
        }
    }
}

/// What says in the journal that somebody's page was made.
pub(super) fn key(author: &Author) -> String {
    format!("page {}", author.id)
}

/// The account's address.
pub(super) fn profile(author: &Author) -> String {
    match &author.handle {
        Some(handle) => format!("https://x.com/{handle}"),
        None => format!("https://x.com/i/user/{}", author.id),
    }
}

/// The page of somebody who has none yet. Of the stranger's own words it has only the name.
pub(super) fn page(author: &Author) -> Document {
    let mut frontmatter = Frontmatter::empty();
    let handle = author.handle.as_deref().unwrap_or(&author.id);
    frontmatter.set("type", "person");
    frontmatter.set("title", author.name.as_deref().unwrap_or(handle));
    frontmatter.set("x", handle);
    frontmatter.set_list("tags", &["social".to_owned()]);
    let body = format!("Known from X, as [@{handle}]({}).\n", profile(author));
    Document { frontmatter, body }
}

/// The journal's keys of pages that were made before, however long ago: one that the owner has removed is not made again.
fn made_before(files: &Files) -> Result<HashSet<String>, Fault> {
    let all = files.journal.since(i64::MIN).map_err(|fault| data_fault(&fault))?;
    let key = |noted| match noted {
        Noted::Enriched { key } if key.starts_with("page ") => Some(key),
        _ => None,
    };
    Ok(all.into_iter().filter_map(|entry| key(entry.noted)).collect())
}

/// Where a new page goes: by the name, else by name and handle. `None` when a page stood there and was deleted: nobody wants it.
fn free_slug(reader: &Reader, source: &SourceId, author: &Author) -> Result<Option<Slug>, Fault> {
    let handle = author.handle.as_deref().unwrap_or(&author.id);
    // One segment: what parts segments, and what ends a file's name, are no letters of it.
    let name = author.name.as_deref().unwrap_or(handle).replace(['/', '\\', '.'], "-");
    let of = |name: &str| {
        let slug = Slug::from_path(&format!("{PLACE}{}", name.trim())).ok()?;
        slug.name()
            .contains(char::is_alphanumeric)
            .then_some(slug)
            .filter(|it| it.as_str().starts_with(PLACE))
    };
    let named = of(&name);
    let with_handle = named.as_ref().and_then(|_| of(&format!("{name}-{handle}")));
    for slug in [named, with_handle, of(handle)].into_iter().flatten() {
        match reader.page_even_deleted(source, &slug)? {
            None => return Ok(Some(slug)),
            Some(record) if record.deleted_at.is_some() => return Ok(None),
            Some(_) => {}
        }
    }
    Ok(None)
}
