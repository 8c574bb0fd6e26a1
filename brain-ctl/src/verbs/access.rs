//! Parses and prints scopes and sources for the commands about access.

use brain_protocol::{Fault, FaultCode, Scopes, SourceId};
use clap::ValueEnum;

use crate::fail;

/// Parses the scopes of `--scope`. There is no default, so no grant is larger than intended.
///
/// # Errors
/// `invalid_scope` if a scope is missing or unknown.
pub(super) fn scopes(text: Option<&str>) -> Result<Scopes, Fault> {
    let hint = "use --scope read, --scope \"read write\" (also change pages), \
                or --scope admin (everything)";
    match text {
        None => Err(Fault::new(FaultCode::InvalidScope, "--scope is missing").hint(hint)),
        Some(text) => {
            Scopes::parse(text).map_err(|e| Fault::new(FaultCode::InvalidScope, e).hint(hint))
        }
    }
}

/// Parses source ids.
///
/// # Errors
/// `invalid_source` if a text is not a source id.
pub(super) fn sources(texts: &[String]) -> Result<Vec<SourceId>, Fault> {
    texts.iter().filter_map(|text| fail::parse_source(Some(text)).transpose()).collect()
}

/// Formats the sources of a grant; an empty list stands for all sources.
pub(super) fn source_list(sources: &[String]) -> String {
    if sources.is_empty() { "all".into() } else { sources.join(", ") }
}

/// Checks that `action` accepts each given flag. A row of `flags` has the name of a flag, whether
/// the flag is given, and the actions that accept it.
///
/// # Errors
/// `usage` if `action` does not accept a given flag.
pub(super) fn check_flags<A: ValueEnum + PartialEq>(
    command: &str,
    action: &A,
    flags: &[(&str, bool, &[A])],
) -> Result<(), Fault> {
    let name = |action: &A| {
        action.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    };
    for (flag, is_given, actions) in flags {
        if *is_given && !actions.contains(action) {
            let commands: Vec<String> =
                actions.iter().map(|a| format!("`brain {command} {}`", name(a))).collect();
            let message = format!(
                "{flag} belongs to {}, not to `brain {command} {}`",
                commands.join(" and "),
                name(action)
            );
            return Err(fail::usage(message).hint(format!("see: brain {command} --help")));
        }
    }
    Ok(())
}
