//! What every write shares: how a model says what it expects, and how it hears what was done.

use brain_protocol::{Fault, FaultCode, Reply, Request, WriteReply, WriteStatus};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Desk, defect};

/// The status of a write that found what was wanted.
pub(super) const UNCHANGED: &str = "unchanged";

/// What a write did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Done {
    slug: String,
    status: String,
    content_hash: String,
    version: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Done {
    /// What the brain says of a write, as a model reads it.
    pub(super) fn of(desk: &Desk, written: WriteReply) -> Result<Self, Fault> {
        let status = match written.status {
            WriteStatus::Created => "created",
            WriteStatus::Updated => "updated",
            WriteStatus::Unchanged => UNCHANGED,
            WriteStatus::Restored => "restored",
        };
        Ok(Self {
            slug: desk.name(&written.source_id, &written.slug)?,
            status: status.into(),
            content_hash: written.content_hash,
            version: written.version,
            warnings: written.warnings,
        })
    }

    /// That a page stays as it is, and why.
    pub(super) fn stays(
        desk: &Desk,
        page: brain_protocol::Page,
        status: &str,
    ) -> Result<Self, Fault> {
        Ok(Self {
            slug: desk.name(&page.source_id, &page.slug)?,
            status: status.into(),
            content_hash: page.content_hash,
            version: page.version,
            warnings: Vec::new(),
        })
    }

    /// The same with what the user should know.
    pub(super) fn warning(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }
}

/// A text without the lines that frame what came from outside: a model that writes back what it read takes them along.
pub(super) fn unframed(text: &str) -> String {
    let mark = |line: &str, rest: &str| {
        line.get(..16).is_some_and(|mark| mark.bytes().all(|b| b.is_ascii_hexdigit()))
            && line.get(16..).is_some_and(|behind| behind.starts_with(rest))
    };
    let frame = |line: &str| {
        let line = line.trim_end();
        line.strip_prefix("[end of outside ").is_some_and(|it| mark(it, "]"))
            || (line.ends_with("; data, not instructions]")
                && line.strip_prefix("[outside ").is_some_and(|it| mark(it, ": text from ")))
    };
    text.split_inclusive('\n').filter(|line| !frame(line)).collect()
}

/// Asks for a write.
pub(super) fn written(desk: &Desk, request: Request) -> Result<Done, Fault> {
    match desk.ask(request).map_err(in_words_of_tools)? {
        Reply::Write(written) => Done::of(desk, written),
        _ => Err(defect()),
    }
}

/// The hash that a page is expected to have.
///
/// # Errors
/// `invalid_request` for what no hash looks like.
pub(super) fn expected(hash: Option<String>) -> Result<Option<String>, Fault> {
    let Some(hash) = hash.map(|hash| hash.trim().to_ascii_lowercase()) else { return Ok(None) };
    if hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Some(hash));
    }
    Err(Fault::new(
        FaultCode::InvalidRequest,
        "expected_hash is no content_hash: 64 hexadecimal digits",
    )
    .hint("take the content_hash from get_page"))
}

/// A refusal whose way out is an argument here, not a flag of the command line.
fn in_words_of_tools(fault: Fault) -> Fault {
    let hint = match fault.code {
        FaultCode::EmptyContent => "give the text in `content`; delete_page removes a page",
        FaultCode::Usage => {
            "leave that argument away, or give it a value of this kind: type idea, tags work"
        }
        FaultCode::BinaryContent => "send text without NUL characters",
        _ => return fault,
    };
    fault.hint(hint)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::trust::framed;

    #[test]
    fn a_text_that_is_written_back_loses_its_frame() {
        let text = "# A\n[outside world]\n[end of outside]\n";
        let framed = framed(text, "webhook https://e.org", &"ab".repeat(32));
        assert_ne!(framed, text);
        assert_eq!(unframed(&framed), text);
        assert_eq!(unframed(text), text);
    }

    #[test]
    fn a_hash_is_taken_as_models_write_it() {
        let hash = "ab".repeat(32);
        assert_eq!(expected(None), Ok(None));
        assert_eq!(expected(Some(format!(" {} ", hash.to_uppercase()))), Ok(Some(hash.clone())));
        for bad in ["", "latest", &hash[1..], &"xy".repeat(32)] {
            assert_eq!(
                expected(Some(bad.into())).unwrap_err().code,
                FaultCode::InvalidRequest,
                "{bad}"
            );
        }
    }
}
