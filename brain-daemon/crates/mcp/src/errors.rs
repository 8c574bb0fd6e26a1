//! Error messages for models: what went wrong, and which tool to call next.

use brain_protocol::{Command, Fault, FaultCode};
use rmcp::model::{CallToolResult, ContentBlock};

use super::answer::shorten;

/// The maximum length of a message, in characters.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Returns the result of a failed tool call: `code: message. Next: hint`.
pub(super) fn to_result(tool: &str, fault: &Fault) -> CallToolResult {
    tracing::debug!(tool, code = fault.code.as_str(), "a tool call failed");
    CallToolResult::error(vec![ContentBlock::text(text(fault))])
}

fn text(fault: &Fault) -> String {
    let message = shorten(fault.message.trim_end_matches('.'), MAX_MESSAGE_CHARS);
    let next = own_hint(fault).or_else(|| next_step(fault.code).map(str::to_owned));
    match next {
        Some(next) => {
            format!("{}: {message}. Next: {}.", code_name(fault.code), next.trim_end_matches('.'))
        }
        None => format!("{}: {message}.", code_name(fault.code)),
    }
}

/// Returns the name of a code: the name that OAuth or MCP has for the same failure, else brain's
/// own.
fn code_name(code: FaultCode) -> &'static str {
    match code {
        FaultCode::Forbidden => "insufficient_scope",
        FaultCode::Usage | FaultCode::InvalidRequest => "invalid_params",
        other => other.as_str(),
    }
}

/// Returns the fault's own hint, unless it names commands or options of the command line, or
/// [`next_step`] is more useful.
fn own_hint(fault: &Fault) -> Option<String> {
    let hint = fault.hint.as_ref()?;
    if hint.commands().any(|command| matches!(command, Command::Restore { .. })) {
        return Some(
            "tell the user that the page was deleted; `restore_page` brings it back within 72 hours"
                .into(),
        );
    }
    let names_a_command = hint.commands().next().is_some();
    let hint = hint.to_string();
    // The caller lacks a source, not a scope.
    if fault.code == FaultCode::Forbidden && hint.ends_with("sources") {
        return Some(shorten(&hint, MAX_MESSAGE_CHARS));
    }
    let is_unsuitable =
        names_a_command || hint.contains("--") || fault.code == FaultCode::Forbidden;
    // A hint that names a tool is more useful than general advice.
    let is_more_useful = next_step(fault.code).is_none() || hint.contains('`');
    (!is_unsuitable && is_more_useful).then(|| shorten(&hint, MAX_MESSAGE_CHARS))
}

/// Returns what a model should do after a failure of this kind.
fn next_step(code: FaultCode) -> Option<&'static str> {
    Some(match code {
        FaultCode::NotFound => {
            "find the page with `query`, or list slugs with `list_pages` and a prefix"
        }
        FaultCode::AmbiguousSlug => "call the tool again with one of the slugs above",
        FaultCode::Conflict => {
            "read the page with `get_page`, and write again with its current content_hash"
        }
        FaultCode::AlreadySoftDeleted => {
            "`restore_page` brings it back; there is nothing more to delete"
        }
        FaultCode::AlreadyActive => "read the page with `get_page`",
        FaultCode::UnknownVersion => "`get_page` with include [\"versions\"] lists the versions",
        FaultCode::UnknownSource => "`brain_status` lists the sources that you may use",
        FaultCode::Forbidden => {
            "tell the user that this connection may only read; the owner can grant \"write\""
        }
        FaultCode::Busy | FaultCode::Timeout => "try again in a moment",
        FaultCode::OutcomeUnknown => "read the page to see whether the write is there",
        FaultCode::DiskFull
        | FaultCode::ReadOnly
        | FaultCode::StoreDamaged
        | FaultCode::ServerAway
        | FaultCode::MachineStopped => "nothing was stored; tell the user, and keep the text",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use brain_protocol::{Hint, hint};

    use super::*;

    fn error_text(code: FaultCode, message: &str, hint: Option<Hint>) -> String {
        text(&Fault { code, message: message.into(), hint })
    }

    #[test]
    fn an_error_names_the_next_call() {
        let missing = error_text(
            FaultCode::NotFound,
            "there is no page \"a\"",
            Some(hint!("look for it: {}", Command::Search { words: None })),
        );
        let next = "find the page with `query`, or list slugs with `list_pages` and a prefix.";
        assert_eq!(missing, format!("not_found: there is no page \"a\". Next: {next}"));
        let deleted = error_text(
            FaultCode::NotFound,
            "the page \"a\" is deleted",
            Some(hint!("{} brings it back", Command::Restore { page: Some("a".into()) })),
        );
        assert!(
            deleted.contains("Next: tell the user") && deleted.contains("`restore_page`"),
            "{deleted}"
        );
        let source = error_text(
            FaultCode::UnknownSource,
            "no",
            Some(hint!("{}; registered: a", Command::SourcesAdd { source: None, path: None })),
        );
        assert!(
            source.ends_with("Next: `brain_status` lists the sources that you may use."),
            "{source}"
        );
        let day = error_text(
            FaultCode::Usage,
            "\"x\" is not a day.",
            Some("write it as YYYY-MM-DD".into()),
        );
        assert_eq!(day, "invalid_params: \"x\" is not a day. Next: write it as YYYY-MM-DD.");
        assert_eq!(error_text(FaultCode::Internal, "a defect", None), "internal: a defect.");
    }

    #[test]
    fn an_error_is_short_and_names_no_command() {
        for code in FaultCode::ALL {
            let hint = hint!("use {}, or `--yes`", Command::Get { page: None });
            let message = error_text(code, &"long\n".repeat(9999), Some(hint));
            assert!(!message.contains("brain get") && !message.contains("--yes"), "{message}");
            assert!(message.chars().count() < MAX_MESSAGE_CHARS + 200 && !message.contains('\n'));
            assert!(message.contains(": long"), "{message}");
        }
    }

    #[test]
    fn a_hint_that_names_a_tool_is_preferred() {
        let message = error_text(
            FaultCode::NotFound,
            "no section",
            Some("its headings are A, B; `get_page` without section has all".into()),
        );
        assert!(message.contains("its headings are A, B"), "{message}");
    }
}
