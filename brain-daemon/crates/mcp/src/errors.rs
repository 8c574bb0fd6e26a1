//! Failures as a model reads them: what went wrong, and which tool to call next.

use brain_protocol::{Fault, FaultCode};
use rmcp::model::{CallToolResult, ContentBlock};

use super::answer::short;

/// How many characters a refusal has at the most.
const LONGEST: usize = 2_000;

/// The answer of a tool that failed: `code: message. Next: what to do`.
pub(super) fn told(tool: &str, fault: &Fault) -> CallToolResult {
    tracing::debug!(tool, code = fault.code.as_str(), "a tool refused");
    CallToolResult::error(vec![ContentBlock::text(text(fault))])
}

/// A failure in words.
fn text(fault: &Fault) -> String {
    let message = short(fault.message.trim_end_matches('.'), LONGEST);
    let next = hint(fault).or_else(|| next(fault.code).map(str::to_owned));
    match next {
        Some(next) => {
            format!("{}: {message}. Next: {}.", code(fault.code), next.trim_end_matches('.'))
        }
        None => format!("{}: {message}.", code(fault.code)),
    }
}

/// The name of a code in this door: what OAuth calls it, where there is such a word.
fn code(code: FaultCode) -> &'static str {
    match code {
        FaultCode::Forbidden => "insufficient_scope",
        FaultCode::Usage | FaultCode::InvalidRequest => "invalid_params",
        other => other.as_str(),
    }
}

/// The fault's own way out, if it is one for a model: many name commands and options of the command line, which it has not.
fn hint(fault: &Fault) -> Option<String> {
    let hint = fault.hint.as_deref()?;
    if hint.contains("`brain restore") {
        return Some(
            "tell the user that the page was deleted; `restore_page` brings it back within 72 hours".into(),
        );
    }
    // Not the scope is missing, but sources.
    if fault.code == FaultCode::Forbidden && hint.ends_with("sources") {
        return Some(short(hint, LONGEST));
    }
    let of_commands =
        hint.contains("brain ") || hint.contains("--") || fault.code == FaultCode::Forbidden;
    // Where a tool has the answer, its name is worth more than general advice.
    let of_tools = next(fault.code).is_none() || hint.contains('`');
    (!of_commands && of_tools).then(|| short(hint, LONGEST))
}

/// What a model does next after a failure of this kind.
fn next(code: FaultCode) -> Option<&'static str> {
    Some(match code {
        FaultCode::NotFound => {
            "find the page with `query`, or list slugs with `list_pages` and a prefix"
        }
        FaultCode::Conflict => {
            "read it with `get_page` and write again with the content_hash that it shows"
        }
        FaultCode::AlreadySoftDeleted => {
            "`restore_page` brings it back; there is nothing more to delete"
        }
        FaultCode::AlreadyActive => "read it with `get_page`",
        FaultCode::UnknownVersion => {
            "`get_page` with include [\"versions\"] shows the versions there are"
        }
        FaultCode::UnknownSource => "`brain_status` lists the sources that you may use",
        FaultCode::Forbidden => {
            "tell the user that this connection may only read; the owner can grant \"write\""
        }
        FaultCode::Busy | FaultCode::Timeout => "try again in a moment",
        FaultCode::DiskFull | FaultCode::ReadOnly | FaultCode::StoreDamaged => {
            "nothing was stored; tell the user, and keep the text"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: FaultCode, message: &str, hint: Option<&str>) -> String {
        text(&Fault { code, message: message.into(), hint: hint.map(Into::into) })
    }

    #[test]
    fn a_refusal_says_what_to_call_next() {
        let missing = said(
            FaultCode::NotFound,
            "there is no page \"a\"",
            Some("look for it: `brain search \"a\"`"),
        );
        let next = "find the page with `query`, or list slugs with `list_pages` and a prefix.";
        assert_eq!(missing, format!("not_found: there is no page \"a\". Next: {next}"));
        let deleted = said(
            FaultCode::NotFound,
            "the page \"a\" is soft-deleted",
            Some("`brain restore a` brings it back"),
        );
        assert!(
            deleted.contains("Next: tell the user") && deleted.contains("`restore_page`"),
            "{deleted}"
        );
        let source = said(
            FaultCode::UnknownSource,
            "no",
            Some("`brain sources add x --path <path>`; registered: a"),
        );
        assert!(
            source.ends_with("Next: `brain_status` lists the sources that you may use."),
            "{source}"
        );
        let day = said(FaultCode::Usage, "\"x\" is not a day.", Some("write it as YYYY-MM-DD"));
        assert_eq!(day, "invalid_params: \"x\" is not a day. Next: write it as YYYY-MM-DD.");
        assert_eq!(said(FaultCode::Internal, "a defect", None), "internal: a defect.");
    }

    #[test]
    fn a_refusal_names_no_command_and_is_short() {
        for code in FaultCode::ALL {
            let said = said(*code, &"long\n".repeat(9999), Some("use `brain get x`, or `--yes`"));
            assert!(!said.contains("brain get") && !said.contains("--yes"), "{said}");
            assert!(said.chars().count() < LONGEST + 200 && !said.contains('\n'));
            assert!(said.contains(": long"), "{said}");
        }
    }

    #[test]
    fn a_hint_that_names_a_tool_comes_first() {
        let said = said(
            FaultCode::NotFound,
            "no section",
            Some("its headings are A, B; `get_page` without section has all"),
        );
        assert!(said.contains("its headings are A, B"), "{said}");
    }
}
