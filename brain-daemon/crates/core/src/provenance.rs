//! Where a page comes from: what its record says, and that its text says the same.
//!
//! The door decides about a text that is handed over (capture, put, `/ingest`, AI clients, the
//! telephone). Claims of the text that contradict the door are kept under `received` and have no
//! effect. A file that brain reads (sync, import) is its author's, and so is what it says of
//! itself: brain believes what brain itself could have written there. That raises nobody's trust:
//! the author is the owner, and a claim can only make the text an outsider's.
//!
//! `docs/pages.md` has the table of all cases. Knows no store and no files.

use brain_base::clock::{parse_instant, rfc3339};
use brain_page::{Frontmatter, RECEIVED};
use brain_store::Provenance;

/// Frontmatter keys that say how and when a page came in. They never make two pages differ.
pub const STAMPS: &[&str] =
    &["captured_at", "captured_via", "ingested_at", "ingested_via", "source_kind", "source_uri"];

/// The longest `source_uri`, in bytes.
pub(crate) const MAX_URI: usize = 1024;

const KIND: &str = "source_kind";
const URI: &str = "source_uri";
const VIA: &str = "ingested_via";
const AT: &str = "ingested_at";

/// The way that a page came in.
pub(crate) struct Door {
    /// `source_kind`.
    pub(crate) kind: &'static str,
    /// `ingested_via`.
    pub(crate) via: &'static str,
}

pub(crate) const CAPTURE_CLI: Door = Door { kind: "capture-cli", via: "capture" };
pub(crate) const PUT_PAGE: Door = Door { kind: "put_page", via: "put_page" };
/// What an AI client wrote.
pub(crate) const MCP: Door = Door { kind: "mcp:put_page", via: "mcp" };
pub(crate) const IMPORT: Door = Door { kind: "import", via: "import" };
pub(crate) const SYNC: Door = Door { kind: "sync", via: "sync" };
pub(crate) const WEBHOOK: Door = Door { kind: "webhook", via: "webhook" };
/// Web pages that posts name, and lines that the enrichment rules write of posts.
pub(crate) const COLLECTOR: Door = Door { kind: "collector", via: "collector" };
/// What was said on the telephone.
pub(crate) const VOICE: Door = Door { kind: "voice", via: "voice" };
/// What `brainstorm` wrote.
pub(crate) const BRAINSTORM: Door = Door { kind: "brainstorm", via: "brainstorm" };
/// What `lsd` wrote.
pub(crate) const LSD: Door = Door { kind: "lsd", via: "lsd" };

const DOORS: [&Door; 10] = [
    &CAPTURE_CLI,
    &PUT_PAGE,
    &MCP,
    &IMPORT,
    &SYNC,
    &WEBHOOK,
    &COLLECTOR,
    &VOICE,
    &BRAINSTORM,
    &LSD,
];

/// The values of `source_kind` that mark the owner's own text.
const OWN: [&str; 4] = [CAPTURE_CLI.kind, PUT_PAGE.kind, SYNC.kind, IMPORT.kind];

/// Returns whether a page with this `source_kind` was written by anyone but the owner.
///
/// Unknown kinds are from outside. So is text of AI clients, which may come from anywhere. A page
/// without a kind is older than provenance, and the owner's.
#[must_use]
pub fn is_from_outside(source_kind: Option<&str>) -> bool {
    source_kind.is_some_and(|kind| !OWN.contains(&kind))
}

impl Door {
    /// The provenance of what came through this door from `uri` at `now`.
    pub(crate) fn provenance(&self, uri: String, now: i64) -> Provenance {
        Provenance {
            source_kind: Some(self.kind.into()),
            source_uri: Some(uri),
            ingested_via: Some(self.via.into()),
            ingested_at: Some(now),
        }
    }

    /// The provenance of a text that is handed over at this door. `known` is that of the page that
    /// it replaces.
    ///
    /// The owner who writes a page from outside back with its `source_kind` still there has changed
    /// the text, not taken it for their own: the mark stays.
    pub(crate) fn of_text(
        &self,
        frontmatter: &Frontmatter,
        uri: String,
        now: i64,
        known: Option<&Provenance>,
    ) -> Provenance {
        let own = self.provenance(uri, now);
        match known {
            Some(known)
                if OWN.contains(&self.kind)
                    && is_from_outside(known.source_kind.as_deref())
                    && states(frontmatter, known, KIND) =>
            {
                Provenance {
                    source_kind: known.source_kind.clone(),
                    source_uri: known.source_uri.clone(),
                    ..own
                }
            }
            _ => own,
        }
    }

    /// The provenance of a page that is read from its author's file at `uri`. `known` is the page's
    /// as it was before.
    ///
    /// A file that says of itself what the record says belongs to the page as it came in, whoever
    /// changed its text. Without a word of its own the file is what this door says.
    pub(crate) fn of_file(
        &self,
        frontmatter: &Frontmatter,
        uri: String,
        now: i64,
        known: Option<&Provenance>,
    ) -> Provenance {
        let own = self.provenance(uri, now);
        if !has_claims(frontmatter) {
            return own;
        }
        if let Some(known) = known.filter(|known| agrees(frontmatter, known)) {
            return known.clone();
        }
        let claim = |key, believable: fn(&str) -> bool| {
            frontmatter.get(key).filter(|text| believable(text))
        };
        let at = frontmatter
            .get(AT)
            .and_then(|text| parse_instant(&text, false))
            .filter(|at| *at <= now);
        Provenance {
            source_kind: claim(KIND, |kind| DOORS.iter().any(|door| door.kind == kind))
                .or(own.source_kind),
            source_uri: claim(URI, is_uri).or(own.source_uri),
            ingested_via: claim(VIA, |via| DOORS.iter().any(|door| door.via == via))
                .or(own.ingested_via),
            ingested_at: at.or(own.ingested_at),
        }
    }
}

/// Whether the frontmatter says anything of its provenance.
pub(crate) fn has_claims(frontmatter: &Frontmatter) -> bool {
    [KIND, URI, VIA, AT].iter().any(|key| frontmatter.has(key))
}

/// Whether what the frontmatter says is what the record says. A key or column that is absent says
/// nothing.
pub(crate) fn agrees(frontmatter: &Frontmatter, record: &Provenance) -> bool {
    let columns = columns(record);
    columns.iter().all(|(key, value)| {
        value.is_none() || !frontmatter.has(key) || states(frontmatter, record, key)
    })
}

/// Makes the text of a page that brain writes say what the record says. Claims that are not so, and
/// were not so of the page before (`known`), go under `received`. A note of its author's gets no
/// lines that it has not, and a place on this machine is written into no file.
pub(crate) fn state(
    frontmatter: &mut Frontmatter,
    record: &Provenance,
    known: Option<&Provenance>,
) {
    receive_claims(frontmatter, record, known);
    let mut lines: Vec<(&str, String)> = Vec::new();
    for (key, value) in columns(record) {
        let Some(value) = value else { continue };
        let there = frontmatter.has(key);
        if there && states(frontmatter, record, key) {
            continue;
        }
        if key == URI && is_local(&value) {
            frontmatter.remove(URI);
        } else if there || !is_authors(record) {
            lines.push((key, value));
        }
    }
    let lines: Vec<(&str, &str)> =
        lines.iter().map(|(key, value)| (*key, value.as_str())).collect();
    frontmatter.set_all(&lines);
}

/// Moves the claims that neither `record` nor `known` makes true under `received`.
pub(crate) fn receive_claims(
    frontmatter: &mut Frontmatter,
    record: &Provenance,
    known: Option<&Provenance>,
) {
    let foreign: Vec<&str> = columns(record)
        .into_iter()
        .filter(|(key, value)| value.is_some() && frontmatter.has(key))
        .map(|(key, _)| key)
        .filter(|key| !states(frontmatter, record, key))
        .filter(|key| !known.is_some_and(|known| states(frontmatter, known, key)))
        .collect();
    receive(frontmatter, &foreign);
}

/// Moves these keys under `received`, as they are written.
pub(crate) fn receive(frontmatter: &mut Frontmatter, keys: &[&str]) {
    let claims: Vec<String> = keys.iter().filter_map(|key| frontmatter.take(key)).collect();
    if claims.is_empty() {
        return;
    }
    // An author may have a list or a mapping of that name.
    let holds = |key: &str| !frontmatter.has(key) || frontmatter.get(key).is_some();
    let key = std::iter::once(RECEIVED.to_owned())
        .chain((2..).map(|n| format!("{RECEIVED}_{n}")))
        .find(|key| holds(key))
        .unwrap_or_else(|| RECEIVED.to_owned());
    let mut lines: Vec<String> = frontmatter.get(&key).into_iter().collect();
    for claim in claims {
        if !lines.iter().any(|known| known.contains(&claim)) {
            lines.push(claim);
        }
    }
    frontmatter.set(&key, &lines.join("\n"));
}

/// Whether this is one line of 1 to [`MAX_URI`] bytes.
pub(crate) fn is_uri(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= MAX_URI && !text.contains(char::is_control)
}

/// Whether the frontmatter has `key` with the value of the record's column.
fn states(frontmatter: &Frontmatter, record: &Provenance, key: &str) -> bool {
    let Some(text) = frontmatter.get(key) else { return false };
    match key {
        AT => record.ingested_at.is_some() && parse_instant(&text, false) == record.ingested_at,
        KIND => record.source_kind.as_ref() == Some(&text),
        VIA => record.ingested_via.as_ref() == Some(&text),
        _ => record.source_uri.as_ref() == Some(&text),
    }
}

/// The record's columns, as they stand in a file.
fn columns(record: &Provenance) -> [(&'static str, Option<String>); 4] {
    let Provenance { source_kind, source_uri, ingested_via, ingested_at } = record;
    [
        (VIA, ingested_via.clone()),
        (AT, ingested_at.map(rfc3339)),
        (KIND, source_kind.clone()),
        (URI, source_uri.clone()),
    ]
}

/// Whether the page is a note of its author's, read from a file that says nothing else.
fn is_authors(record: &Provenance) -> bool {
    [&SYNC, &IMPORT].iter().any(|door| {
        record.source_kind.as_deref() == Some(door.kind)
            && record.ingested_via.as_deref() == Some(door.via)
    })
}

/// Whether `uri` names a place on this machine. Files must not state it: other people may read
/// them.
fn is_local(uri: &str) -> bool {
    uri.starts_with("file:") || uri.starts_with("cli:")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "provenance_tests.rs"]
mod tests;
