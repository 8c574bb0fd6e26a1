//! The input of a capture, and the page that it becomes.

use brain_protocol::{Fault, Slug, SourceId};

use crate::provenance::{CAPTURE_CLI, FormerPage, IngestRoute, move_to_received};
use crate::write_page::build_new_page;
use brain_base::clock::rfc3339;
use brain_page::Document;
use brain_store::{Hash, LineChange, NewPage, Provenance};

/// The input of a capture, checked and parsed.
pub(super) struct CaptureInput {
    pub(super) source: SourceId,
    pub(super) slug: Option<Slug>,
    /// The page that got the same content within the last 24 hours.
    pub(super) duplicate: Option<Slug>,
    /// The text, with the values of the flags in its frontmatter.
    pub(super) document: Document,
    /// Whether the flags or the file set a type.
    pub(super) has_type: bool,
    pub(super) hash: Hash,
    pub(super) route: &'static IngestRoute,
    /// The `source_uri` of the page.
    pub(super) uri: String,
    pub(super) now: i64,
}

impl CaptureInput {
    /// Builds the page of this input. `former` is the page that it replaces.
    pub(super) fn new_page(
        &self,
        slug: Slug,
        former: Option<FormerPage>,
    ) -> Result<NewCapture, Fault> {
        let mut document = self.document.clone();
        let via = document.frontmatter.get("captured_via");
        if !self.is_by_hand() && via.is_some_and(|via| via != self.route.captured_via()) {
            // A program cannot claim another ingest route.
            move_to_received(&mut document.frontmatter, &["captured_via"]);
        }
        let provenance = self.route.provenance_of_edit(
            &document.frontmatter,
            self.uri.clone(),
            self.now,
            former.as_ref(),
        );
        if !self.is_by_hand() {
            // `complete_page` writes the key with the value of the route.
            document.frontmatter.remove("captured_via");
        }
        self.complete_page(slug, document, provenance, self.route.line_change(), former)
    }

    /// Builds the page from `document`, with `captured_at` and `captured_via` where it lacks them.
    pub(super) fn complete_page(
        &self,
        slug: Slug,
        mut document: Document,
        provenance: Provenance,
        line_change: LineChange,
        former: Option<FormerPage>,
    ) -> Result<NewCapture, Fault> {
        let now = rfc3339(self.now);
        let mut keys =
            vec![("captured_at", now.as_str()), ("captured_via", self.route.captured_via())];
        keys.retain(|(key, _)| document.frontmatter.get(key).is_none());
        document.frontmatter.set_all(&keys);
        let previous = former.as_ref().map(|former| &former.provenance);
        let change = (self.route.author(self.uri.clone()), line_change);
        let page = build_new_page(&slug, document, provenance, previous, change)?;
        let page = NewPage { is_capture: self.slug.is_none(), ..page };
        Ok(NewCapture { slug, page, former })
    }

    /// Returns whether the owner captures, on the command line or in the browser.
    pub(super) fn is_by_hand(&self) -> bool {
        self.route.kind == CAPTURE_CLI.kind
    }
}

/// The page of a capture, ready to be stored.
pub(super) struct NewCapture {
    pub(super) slug: Slug,
    pub(super) page: NewPage,
    /// The page that it replaces.
    pub(super) former: Option<FormerPage>,
}
