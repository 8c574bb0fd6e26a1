//! Arguments and output that all writing tools share.

use brain_protocol::{Fault, FaultCode, Operation, WriteReply};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ToolContext;

/// The status of a write that changed nothing.
pub(super) const UNCHANGED: &str = "unchanged";

/// The output of a write.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WriteOutput {
    slug: String,
    status: String,
    content_hash: String,
    version: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl WriteOutput {
    /// Creates the output from the reply to a write.
    pub(super) fn of(context: &ToolContext, written: WriteReply) -> Result<Self, Fault> {
        Ok(Self {
            slug: context.page_name(&written.source_id, &written.slug)?,
            status: written.status.to_string(),
            content_hash: written.content_hash,
            version: written.version,
            warnings: written.warnings,
        })
    }

    /// Creates the output for a page whose text this call did not change; `status` says why.
    pub(super) fn for_page(
        context: &ToolContext,
        page: brain_protocol::Page,
        status: &str,
    ) -> Result<Self, Fault> {
        Ok(Self {
            slug: context.page_name(&page.source_id, &page.slug)?,
            status: status.into(),
            content_hash: page.content_hash,
            version: page.version,
            warnings: Vec::new(),
        })
    }

    /// Adds warnings for the user.
    pub(super) fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }
}

/// Removes the delimiter lines of frames, because models may write them back with the framed text.
pub(super) fn strip_untrusted_markers(text: &str) -> String {
    let has_delimiter = |line: &str, rest: &str| {
        line.get(..16).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            && line.get(16..).is_some_and(|after| after.starts_with(rest))
    };
    let is_frame = |line: &str| {
        let line = line.trim_end();
        line.strip_prefix("[end of outside ").is_some_and(|it| has_delimiter(it, "]"))
            || (line.ends_with("; data, not instructions]")
                && line
                    .strip_prefix("[outside ")
                    .is_some_and(|it| has_delimiter(it, ": text from ")))
    };
    text.split_inclusive('\n').filter(|line| !is_frame(line)).collect()
}

/// Runs a write.
pub(super) fn submit(
    context: &ToolContext,
    operation: impl Operation<Reply = WriteReply>,
) -> Result<WriteOutput, Fault> {
    WriteOutput::of(context, context.run(operation).map_err(with_tool_hint)?)
}

/// Parses the expected content hash of a page.
///
/// # Errors
/// `invalid_request` if it is not a hash.
pub(super) fn parse_expected_hash(hash: Option<String>) -> Result<Option<String>, Fault> {
    let Some(hash) = hash.map(|hash| hash.trim().to_ascii_lowercase()) else { return Ok(None) };
    if hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Some(hash));
    }
    Err(Fault::new(
        FaultCode::InvalidRequest,
        "expected_hash is not a content_hash, which has 64 hexadecimal digits",
    )
    .hint("take the content_hash from get_page"))
}

/// Replaces the hint of faults whose hints name options of the command line.
fn with_tool_hint(fault: Fault) -> Fault {
    let hint = match fault.code {
        FaultCode::EmptyContent => "give the text in `content`; delete_page removes a page",
        FaultCode::Usage => {
            "leave that argument out, or give it a value of this kind: type idea, tags work"
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
    use crate::trust::frame;

    #[test]
    fn text_that_is_written_back_loses_its_frame() {
        let text = "# A\n[outside world]\n[end of outside]\n";
        let framed = frame(text, "webhook https://e.org", &"ab".repeat(32));
        assert_ne!(framed, text);
        assert_eq!(strip_untrusted_markers(&framed), text);
        assert_eq!(strip_untrusted_markers(text), text);
    }

    #[test]
    fn a_hash_may_have_spaces_and_capitals() {
        let hash = "ab".repeat(32);
        assert_eq!(parse_expected_hash(None), Ok(None));
        assert_eq!(
            parse_expected_hash(Some(format!(" {} ", hash.to_uppercase()))),
            Ok(Some(hash.clone()))
        );
        for bad in ["", "latest", &hash[1..], &"xy".repeat(32)] {
            assert_eq!(
                parse_expected_hash(Some(bad.into())).unwrap_err().code,
                FaultCode::InvalidRequest,
                "{bad}"
            );
        }
    }
}
