//! What the commands about access share: scopes and sources from the command line, and how they read.

use brain_protocol::{Fault, FaultCode, Scopes, SourceId};
use clap::ValueEnum;

use crate::fail;

/// The scopes that `--scope` names.
///
/// # Errors
/// `invalid_scope`; there is no default, because nobody should get more than was said.
pub(super) fn scopes(text: Option<&str>) -> Result<Scopes, Fault> {
    let hint = "say what it may do: --scope read (look), --scope \"read write\" (change pages), --scope admin (everything)";
    match text {
        None => Err(Fault::new(FaultCode::InvalidScope, "no --scope is given").hint(hint)),
        Some(text) => {
            Scopes::parse(text).map_err(|e| Fault::new(FaultCode::InvalidScope, e).hint(hint))
        }
    }
}

/// The sources that were typed.
///
/// # Errors
/// `invalid_source`.
pub(super) fn sources(texts: &[String]) -> Result<Vec<SourceId>, Fault> {
    texts.iter().filter_map(|text| fail::source(Some(text)).transpose()).collect()
}

/// A grant's sources in words.
pub(super) fn of_sources(sources: &[String]) -> String {
    if sources.is_empty() { "all".into() } else { sources.join(", ") }
}

/// Refuses each flag that was given but belongs to other actions: which ones are those after its name.
///
/// # Errors
/// `usage`.
pub(super) fn only<A: ValueEnum + PartialEq>(
    command: &str,
    action: &A,
    flags: &[(&str, bool, &[A])],
) -> Result<(), Fault> {
    let name = |action: &A| {
        action.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    };
    for (flag, given, actions) in flags {
        if *given && !actions.contains(action) {
            let others: Vec<String> =
                actions.iter().map(|a| format!("`brain {command} {}`", name(a))).collect();
            let message = format!(
                "{flag} belongs to {}, not to `brain {command} {}`",
                others.join(" and "),
                name(action)
            );
            return Err(fail::usage(message).hint(format!("see: brain {command} --help")));
        }
    }
    Ok(())
}
