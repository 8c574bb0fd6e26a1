//! `brain edit`: opens a page in the user's editor and stores the saved text.

use brain_protocol::{
    Fault, FaultCode, Get, Origin, Page, PageRef, Precondition, Put, WriteReply, WriteStatus,
};
use clap::Args;
use diffy::{ConflictStyle, IncompleteHunkStyle, MergeOptions};

use super::{get::MAX_NOTES, page, trust};
use crate::{
    command::{Group, Verb},
    context::Context,
    editor::EditedFile,
    output::{self, Outcome},
};

/// Arguments of `edit`.
#[derive(Debug, Args)]
pub(crate) struct EditCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Begin a page that does not exist yet
    #[arg(long)]
    new: bool,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for EditCommand {
    const NAME: &'static str = "edit";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Edit a page in $VISUAL or $EDITOR";
    const EXAMPLES: &'static str = "Examples:
  brain edit people/ada
  EDITOR=nano brain edit people/grace --new";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let base = match self.new {
            true => None,
            false => Some(context.call(Get { page: page.clone(), version: None })?),
        };
        let page = match &base {
            Some(base) if base.slug != page.slug => {
                let (given, similar) = (&page.slug, PageRef::new(&base.source_id, &base.slug));
                let message = format!("there is no page \"{given}\"; similar pages: {similar}");
                return Err(Fault::new(FaultCode::NotFound, message)
                    .hint(format!("edit needs the whole slug: brain edit {similar}")));
            }
            Some(base) => PageRef::new(&base.source_id, &base.slug),
            None => page,
        };
        let name = format!("{}.md", page.slug.name());
        let file = EditedFile::create(&name, base.as_ref().map_or("", |page| &page.content))?;
        for mark in base.iter().flat_map(|page| page.outside_lines.iter().take(MAX_NOTES)) {
            let sentence = trust::sentence(mark);
            output::notice(&format!("{sentence}; they stay marked until `brain trust {page}`"));
        }
        let edit = EditSession { context, page, base, has_conflict_markers: false };
        match edit.save(&file) {
            Ok(reply) => {
                file.remove();
                context.show(&reply)
            }
            Err(fault) => Err(file.keep(fault)),
        }
    }
}

/// An edit in progress.
struct EditSession<'a> {
    context: &'a Context,
    page: PageRef,
    /// The version on which the text is based; `None` for a new page.
    base: Option<Page>,
    /// Whether conflict markers were written into the file.
    has_conflict_markers: bool,
}

impl EditSession<'_> {
    /// Opens the editor and stores the text. On a conflict, merges the text with the current
    /// version and tries again.
    fn save(mut self, file: &EditedFile) -> Result<WriteReply, Fault> {
        let mut text = file.open()?;
        if text == self.base_text().as_bytes() {
            return self.unchanged();
        }
        loop {
            if self.has_conflict_markers && contains_conflict_markers(&text) {
                let message = "the text still has conflict markers, so it was not stored";
                return Err(Fault::new(FaultCode::Conflict, message));
            }
            match self.put(text.clone()) {
                Err(fault) if fault.code == FaultCode::Conflict => {
                    text = self.merge(text, file)?;
                }
                result => return result,
            }
        }
    }

    fn put(&self, content: Vec<u8>) -> Result<WriteReply, Fault> {
        let version = self.base.as_ref().map(|page| page.version);
        self.context.call(Put {
            page: self.page.clone(),
            content,
            origin: Origin::Editor,
            allow_empty: false,
            expect: Some(version.map_or(Precondition::Absent, Precondition::Version)),
        })
    }

    /// Returns `text` merged with the current page. If both changed the same lines, opens the
    /// editor with both changes between conflict markers, and returns the saved text.
    fn merge(&mut self, text: Vec<u8>, file: &EditedFile) -> Result<Vec<u8>, Fault> {
        let current = self.context.call(Get { page: self.page.clone(), version: None })?;
        let mine = String::from_utf8(text)
            .map_err(|_| Fault::new(FaultCode::BinaryContent, "the text is not UTF-8"))?;
        let merged = MergeOptions::new()
            .set_conflict_style(ConflictStyle::Merge)
            .set_incomplete_hunk_style(IncompleteHunkStyle::Git)
            .merge(self.base_text(), &mine, &current.content);
        let (slug, version) = (self.page.slug.clone(), current.version);
        self.base = Some(current);
        match merged {
            Ok(merged) => {
                file.write(&merged)?;
                output::notice(&format!(
                    "{slug} changed meanwhile (version {version}); both changes are in the page now"
                ));
                Ok(merged.into_bytes())
            }
            Err(marked) => {
                let marked = marked
                    .replace("<<<<<<< ours\n", "<<<<<<< your text\n")
                    .replace(">>>>>>> theirs\n", &format!(">>>>>>> version {version}\n"));
                file.write(&marked)?;
                self.has_conflict_markers = true;
                output::notice(&format!(
                    "{slug} changed meanwhile (version {version}); \
                     choose between the lines <<<<<<< and >>>>>>>"
                ));
                file.open()
            }
        }
    }

    fn base_text(&self) -> &str {
        self.base.as_ref().map_or("", |page| &page.content)
    }

    /// Returns the reply for a text without changes; a fault for an empty new page.
    fn unchanged(self) -> Result<WriteReply, Fault> {
        let Some(page) = self.base else {
            return Err(Fault::new(
                FaultCode::EmptyContent,
                "the text is empty; nothing was stored",
            ));
        };
        Ok(WriteReply {
            slug: page.slug,
            status: WriteStatus::Unchanged,
            duplicate: true,
            chunks: page.chunks,
            content_hash: page.content_hash,
            written: false,
            path: page.source_path.unwrap_or_default(),
            source_id: page.source_id,
            source_kind: page.source_kind,
            source_uri: page.source_uri,
            captured_at: None,
            warnings: Vec::new(),
            version: page.version,
        })
    }
}

/// Returns whether a text has markers of the beginning and of the end of a conflict.
fn contains_conflict_markers(text: &[u8]) -> bool {
    let has = |marker: &[u8]| text.split(|&b| b == b'\n').any(|line| line.starts_with(marker));
    has(b"<<<<<<< ") && has(b">>>>>>> ")
}
