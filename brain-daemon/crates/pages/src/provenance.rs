//! Provenance of pages. Keeps a page's record and its frontmatter consistent.
//!
//! For a text that a client sends (capture, put, `/ingest`, AI clients, the telephone), the route
//! decides. Claims in the text that contradict the route move to the key `received` and have no
//! effect.
//!
//! For a file that brain reads (sync, import), the frontmatter decides, as far as brain could have
//! written its values. This cannot make a text more trusted: the author of the file is the owner,
//! and a claim can only mark the text as coming from outside.
//!
//! `docs/pages.md` has the table of all cases. Knows no store and no files.

use brain_base::clock::{parse_instant, rfc3339};
use brain_page::{Frontmatter, RECEIVED};
use brain_protocol::{MarkedLines, Slug, SourceId, TrustLevel};
use brain_store::{
    Actor, Author, Content, LineChange, LineMark, NewPage, PageRecord, Provenance, StoreError,
    Transaction, WrittenPage,
};

use brain_base::caller::{self, BROWSER, Caller};

/// Frontmatter keys about how and when a page was added. Two pages that differ only in these keys
/// count as equal.
pub const INGEST_KEYS: &[&str] =
    &["captured_at", "captured_via", "ingested_at", "ingested_via", "source_kind", "source_uri"];

/// The longest `source_uri`, in bytes.
pub(crate) const MAX_URI: usize = 1024;

/// Frontmatter keys that brain writes from the record of a page.
pub const PROVENANCE_KEYS: [&str; 4] = [VIA_KEY, AT_KEY, KIND_KEY, URI_KEY];

const KIND_KEY: &str = "source_kind";
const URI_KEY: &str = "source_uri";
const VIA_KEY: &str = "ingested_via";
const AT_KEY: &str = "ingested_at";

/// A way in which pages are added, with the values that it sets in their provenance.
pub struct IngestRoute {
    /// `source_kind`.
    pub kind: &'static str,
    /// `ingested_via`.
    pub via: &'static str,
}

/// Text that the owner captured, on the command line or in the browser.
pub const CAPTURE_CLI: IngestRoute = IngestRoute { kind: "capture-cli", via: "capture" };
/// Text that the owner wrote to a slug, on the command line or in the browser.
pub(crate) const PUT_PAGE: IngestRoute = IngestRoute { kind: "put_page", via: "put_page" };
/// Text that an AI client wrote.
pub const MCP: IngestRoute = IngestRoute { kind: "mcp:put_page", via: "mcp" };
/// Pages that `import` read from files.
pub const IMPORT: IngestRoute = IngestRoute { kind: "import", via: "import" };
/// Pages that `import` read from files that others write: mail, documents, answers of models. The
/// converter states it in their frontmatter.
const IMPORT_OF_OTHERS: IngestRoute = IngestRoute { kind: "import:others", via: "import" };
/// Pages that a sync made of documents. Only such pages go with their document.
pub const SYNC_OF_DOCUMENTS: IngestRoute = IngestRoute { kind: IMPORT.kind, via: SYNC.via };
/// Pages that a sync read from a source.
pub const SYNC: IngestRoute = IngestRoute { kind: "sync", via: "sync" };
/// Items that arrived at `/ingest`.
pub const WEBHOOK: IngestRoute = IngestRoute { kind: "webhook", via: "webhook" };
/// Web pages that posts name, and lines that the enrichment rules write about posts.
pub const COLLECTOR: IngestRoute = IngestRoute { kind: "collector", via: "collector" };
/// Notes that were dictated on the telephone.
pub const VOICE: IngestRoute = IngestRoute { kind: "voice", via: "voice" };
/// Pages that `brainstorm` wrote.
pub const BRAINSTORM: IngestRoute = IngestRoute { kind: "brainstorm", via: "brainstorm" };
/// Pages that `lsd` wrote.
pub const LSD: IngestRoute = IngestRoute { kind: "lsd", via: "lsd" };

/// Answers that `ask --save` stored.
pub const ANSWER: IngestRoute = IngestRoute { kind: "answer", via: "ask" };

const ROUTES: [&IngestRoute; 13] = [
    &CAPTURE_CLI,
    &PUT_PAGE,
    &MCP,
    &IMPORT,
    &IMPORT_OF_OTHERS,
    &SYNC,
    &SYNC_OF_DOCUMENTS,
    &WEBHOOK,
    &COLLECTOR,
    &VOICE,
    &BRAINSTORM,
    &LSD,
    &ANSWER,
];

/// The values of `source_kind` that mark the owner's own text.
const OWNER_KINDS: [&str; 4] = [CAPTURE_CLI.kind, PUT_PAGE.kind, SYNC.kind, IMPORT.kind];

/// Returns whether a page with this `source_kind` has an author other than the owner.
///
/// Unknown kinds are from outside. So are texts of AI clients, because a client can copy text from
/// anywhere. A page without a kind is older than provenance and counts as the owner's.
#[must_use]
pub(crate) fn is_from_outside(source_kind: Option<&str>) -> bool {
    source_kind.is_some_and(|kind| !OWNER_KINDS.contains(&kind))
}

/// A page before a write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FormerPage {
    pub(crate) provenance: Provenance,
    is_deleted: bool,
    has_marks: bool,
}

impl From<&PageRecord> for FormerPage {
    fn from(record: &PageRecord) -> Self {
        Self {
            provenance: record.provenance.clone(),
            is_deleted: record.deleted_at.is_some(),
            has_marks: !record.marks.is_empty(),
        }
    }
}

impl FormerPage {
    /// Returns whether an unchanged text that arrives by `route` makes the page the owner's.
    pub(crate) fn would_become_owners(&self, route: &IngestRoute) -> bool {
        self.has_marks && !route.is_outside()
    }
}

/// Returns the author of a change that `caller` makes without a text of its own, such as a tag, and
/// how the change marks lines.
pub fn author_of_change(caller: &Caller) -> (Author, LineChange) {
    match caller.is_model() {
        true => (MCP.author(format!("mcp:{}", caller.name)), LineChange::ByOtherAuthor),
        false => (PUT_PAGE.author(format!("cli:{}", caller.name)), LineChange::SameMarks),
    }
}

/// Returns who changes pages when `caller` does.
pub fn actor_of(caller: &Caller) -> Actor {
    let door = match caller.name.as_str() {
        _ if caller.is_model() => "mcp",
        BROWSER => "browser",
        caller::COLLECTOR => "collector",
        caller::VOICE => "voice",
        name if name.starts_with("uid ") => "cli",
        _ => "http",
    };
    Actor { door: door.into(), client: caller.acting_name().to_owned(), run: None }
}

/// Returns the author of this version of a page, if known.
pub fn author_of(record: &PageRecord) -> Option<Author> {
    let Provenance { source_kind, source_uri, .. } = &record.provenance;
    let of_page = || {
        let uri = source_uri.clone().unwrap_or_default();
        Some(Author { kind: source_kind.clone()?, uri })
    };
    record.author.clone().or_else(of_page)
}

/// Returns the name of an author for people: `owner`, else the client or address that the text is
/// from.
pub fn author_name(author: &Author) -> String {
    match is_from_outside(Some(&author.kind)) {
        true => author.uri.strip_prefix("mcp:").unwrap_or(&author.uri).to_owned(),
        false => "owner".to_owned(),
    }
}

/// Returns whether a page is the owner's, from outside, or the owner's with lines from outside.
pub fn trust_of(record: &PageRecord) -> TrustLevel {
    match (is_from_outside(record.provenance.source_kind.as_deref()), record.marks.is_empty()) {
        (true, _) => TrustLevel::Outside,
        (false, false) => TrustLevel::Mixed,
        (false, true) => TrustLevel::Owner,
    }
}

/// Returns the trust level of a page in a list, which shows its title: from outside if the title
/// is, else as [`trust_of`].
pub fn trust_of_row(record: &PageRecord) -> TrustLevel {
    if record.has_outside_title { TrustLevel::Outside } else { trust_of(record) }
}

/// Returns whether the lines `first` to `last` of a page are the owner's or from outside. Lines are
/// counted from 1 in the text of the file.
pub fn trust_of_lines(record: &PageRecord, first: u32, last: u32) -> TrustLevel {
    let is_marked = record.marks.iter().any(|mark| mark.first <= last && first <= mark.last);
    match trust_of(record) {
        TrustLevel::Mixed if is_marked => TrustLevel::Outside,
        TrustLevel::Mixed => TrustLevel::Owner,
        other => other,
    }
}

/// Returns the marks as replies have them.
pub fn marked_lines(marks: &[LineMark]) -> Vec<MarkedLines> {
    let row = |mark: &LineMark| MarkedLines {
        first: mark.first,
        last: mark.last,
        source_kind: mark.author.kind.clone(),
        source_uri: mark.author.uri.clone(),
        written_at: rfc3339(mark.at),
    };
    marks.iter().map(row).collect()
}

impl IngestRoute {
    /// Returns `captured_via` of a page that was captured by this route.
    pub(crate) fn captured_via(&self) -> &'static str {
        if self.kind == MCP.kind { "mcp:capture" } else { self.kind }
    }

    /// Returns whether texts of this route have an author other than the owner.
    fn is_outside(&self) -> bool {
        !OWNER_KINDS.contains(&self.kind)
    }

    /// Returns the author of a text that was added by this route from `uri`.
    pub fn author(&self, uri: String) -> Author {
        Author { kind: self.kind.into(), uri }
    }

    /// Returns how a whole text of this route changes the marks of lines.
    pub fn line_change(&self) -> LineChange {
        if self.is_outside() { LineChange::ByOtherAuthor } else { LineChange::ByPageAuthor }
    }

    /// Returns the provenance of a page after a text was added by this route. An author from
    /// outside does not change the provenance of an active page: the changed lines get a mark.
    /// Otherwise, the provenance is that of [`Self::provenance_of_text`].
    pub(crate) fn provenance_of_edit(
        &self,
        frontmatter: &Frontmatter,
        uri: String,
        now: i64,
        former: Option<&FormerPage>,
    ) -> Provenance {
        match former {
            Some(former) if self.is_outside() && !former.is_deleted => former.provenance.clone(),
            _ => {
                let previous = former.map(|former| &former.provenance);
                self.provenance_of_text(frontmatter, uri, now, previous)
            }
        }
    }

    /// Returns the provenance of a text that was added by this route from `uri` at `now`.
    pub fn provenance(&self, uri: String, now: i64) -> Provenance {
        Provenance {
            source_kind: Some(self.kind.into()),
            source_uri: Some(uri),
            ingested_via: Some(self.via.into()),
            ingested_at: Some(now),
        }
    }

    /// Returns the provenance of a text that a client sent by this route. `previous` is the
    /// provenance of the page that the text replaces.
    ///
    /// The owner may edit a page from outside and leave its `source_kind` in the text. The page
    /// then stays marked as coming from outside.
    pub(crate) fn provenance_of_text(
        &self,
        frontmatter: &Frontmatter,
        uri: String,
        now: i64,
        previous: Option<&Provenance>,
    ) -> Provenance {
        let from_route = self.provenance(uri, now);
        match previous {
            Some(previous)
                if !self.is_outside()
                    && is_from_outside(previous.source_kind.as_deref())
                    && key_matches(frontmatter, previous, KIND_KEY) =>
            {
                Provenance {
                    source_kind: previous.source_kind.clone(),
                    source_uri: previous.source_uri.clone(),
                    ..from_route
                }
            }
            _ => from_route,
        }
    }

    /// Returns the provenance of a page that is read from its author's file at `uri`. `previous` is
    /// the page's provenance before this read.
    ///
    /// If the frontmatter states the previous provenance, that one stays. If the frontmatter states
    /// none, this route decides.
    pub fn provenance_of_file(
        &self,
        frontmatter: &Frontmatter,
        uri: String,
        now: i64,
        previous: Option<&Provenance>,
    ) -> Provenance {
        let from_route = self.provenance(uri, now);
        if !has_claims(frontmatter) {
            return from_route;
        }
        if let Some(previous) = previous.filter(|previous| provenance_agrees(frontmatter, previous))
        {
            return previous.clone();
        }
        let claim =
            |key, is_valid: fn(&str) -> bool| frontmatter.get(key).filter(|text| is_valid(text));
        let at =
            frontmatter.get(AT_KEY).and_then(|text| parse_instant(&text)).filter(|at| *at <= now);
        Provenance {
            source_kind: claim(KIND_KEY, |kind| ROUTES.iter().any(|route| route.kind == kind))
                .or(from_route.source_kind),
            source_uri: claim(URI_KEY, is_uri).or(from_route.source_uri),
            ingested_via: claim(VIA_KEY, |via| ROUTES.iter().any(|route| route.via == via))
                .or(from_route.ingested_via),
            ingested_at: at.or(from_route.ingested_at),
        }
    }
}

/// Returns whether the frontmatter has any key about provenance.
pub fn has_claims(frontmatter: &Frontmatter) -> bool {
    [KIND_KEY, URI_KEY, VIA_KEY, AT_KEY].iter().any(|key| frontmatter.has(key))
}

/// Returns whether frontmatter and record agree. Keys and columns that are absent agree with
/// everything.
pub(crate) fn provenance_agrees(frontmatter: &Frontmatter, record: &Provenance) -> bool {
    let columns = record_columns(record);
    columns.iter().all(|(key, value)| {
        value.is_none() || !frontmatter.has(key) || key_matches(frontmatter, record, key)
    })
}

/// Writes the provenance of `record` into the frontmatter of a page.
///
/// Claims that neither `record` nor the page before (`previous`) confirms move to `received`. A
/// note that was read from the owner's file gets no new keys. A `source_uri` that is local to this
/// machine is not written.
pub(crate) fn write_provenance(
    frontmatter: &mut Frontmatter,
    record: &Provenance,
    previous: Option<&Provenance>,
) {
    move_unverified_provenance(frontmatter, record, previous);
    let mut lines: Vec<(&str, String)> = Vec::new();
    for (key, value) in record_columns(record) {
        let Some(value) = value else { continue };
        let is_present = frontmatter.has(key);
        if is_present && key_matches(frontmatter, record, key) {
            continue;
        }
        if key == URI_KEY && is_local_uri(&value) {
            frontmatter.remove(URI_KEY);
        } else if is_present || !is_authors_note(record) {
            lines.push((key, value));
        }
    }
    let lines: Vec<(&str, &str)> =
        lines.iter().map(|(key, value)| (*key, value.as_str())).collect();
    frontmatter.set_all(&lines);
}

/// Writes a page of the owner, without provenance keys in its frontmatter if its source is set so.
/// A page from outside keeps them: without them, its file would not say that others wrote it.
pub fn write_as_set(
    transaction: &mut Transaction<'_>,
    source: &SourceId,
    slug: &Slug,
    page: &NewPage,
    now: i64,
) -> Result<WrittenPage, StoreError> {
    if transaction.source_settings(source)?.without_provenance
        && !is_from_outside(page.provenance.source_kind.as_deref())
        && let Ok(mut frontmatter) = page.content.frontmatter.parsed().cloned()
    {
        INGEST_KEYS.iter().for_each(|key| frontmatter.remove(key));
        let content = Content { frontmatter: frontmatter.into(), ..page.content.clone() };
        return transaction.write_page(source, slug, &NewPage { content, ..page.clone() }, now);
    }
    transaction.write_page(source, slug, page, now)
}

/// Moves the claims that neither `record` nor `previous` confirms to `received`.
pub fn move_unverified_provenance(
    frontmatter: &mut Frontmatter,
    record: &Provenance,
    previous: Option<&Provenance>,
) {
    let unverified_keys: Vec<&str> = record_columns(record)
        .into_iter()
        .filter(|(key, value)| value.is_some() && frontmatter.has(key))
        .map(|(key, _)| key)
        .filter(|key| !key_matches(frontmatter, record, key))
        .filter(|key| !previous.is_some_and(|previous| key_matches(frontmatter, previous, key)))
        .collect();
    move_to_received(frontmatter, &unverified_keys);
}

/// Moves these keys, as they are written, to `received`.
pub(crate) fn move_to_received(frontmatter: &mut Frontmatter, keys: &[&str]) {
    let claims: Vec<String> = keys.iter().filter_map(|key| frontmatter.take(key)).collect();
    if claims.is_empty() {
        return;
    }
    // The author may have a list or a mapping under that key.
    let takes_text = |key: &str| !frontmatter.has(key) || frontmatter.get(key).is_some();
    let key = std::iter::once(RECEIVED.to_owned())
        .chain((2..).map(|n| format!("{RECEIVED}_{n}")))
        .find(|key| takes_text(key))
        .unwrap_or_else(|| RECEIVED.to_owned());
    let mut lines: Vec<String> = frontmatter.get(&key).into_iter().collect();
    for claim in claims {
        if !lines.iter().any(|line| line.contains(&claim)) {
            lines.push(claim);
        }
    }
    frontmatter.set(&key, &lines.join("\n"));
}

/// Returns whether `text` is one line of 1 to [`MAX_URI`] bytes.
pub(crate) fn is_uri(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= MAX_URI && !text.contains(char::is_control)
}

/// Returns whether the frontmatter has `key` with the value of the record's column.
fn key_matches(frontmatter: &Frontmatter, record: &Provenance, key: &str) -> bool {
    let Some(text) = frontmatter.get(key) else { return false };
    match key {
        AT_KEY => record.ingested_at.is_some() && parse_instant(&text) == record.ingested_at,
        KIND_KEY => record.source_kind.as_ref() == Some(&text),
        VIA_KEY => record.ingested_via.as_ref() == Some(&text),
        _ => record.source_uri.as_ref() == Some(&text),
    }
}

/// Returns the keys and values of a record as a file has them.
fn record_columns(record: &Provenance) -> [(&'static str, Option<String>); 4] {
    let Provenance { source_kind, source_uri, ingested_via, ingested_at } = record;
    [
        (VIA_KEY, ingested_via.clone()),
        (AT_KEY, ingested_at.map(rfc3339)),
        (KIND_KEY, source_kind.clone()),
        (URI_KEY, source_uri.clone()),
    ]
}

/// Returns whether the page was read from a file of the owner that claims no other provenance.
fn is_authors_note(record: &Provenance) -> bool {
    [&SYNC, &SYNC_OF_DOCUMENTS, &IMPORT].iter().any(|route| {
        record.source_kind.as_deref() == Some(route.kind)
            && record.ingested_via.as_deref() == Some(route.via)
    })
}

/// Returns whether `uri` names a file or a command of this machine. It is not written into the
/// files of pages, because other people may read them.
fn is_local_uri(uri: &str) -> bool {
    uri.starts_with("file:") || uri.starts_with("cli:")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "provenance_tests.rs"]
mod tests;
