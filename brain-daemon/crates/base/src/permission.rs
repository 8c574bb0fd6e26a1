//! Decides whether a caller may run an operation.
//!
//! Only [`permit`] makes this decision, in every interface. The store decides which pages a
//! permitted caller sees, from [`Visibility`](crate::caller::Visibility).

use brain_protocol::{Fault, OperationInfo, Scope};

use crate::Error;
use crate::caller::Caller;

/// Receiving an item over HTTP: `POST /ingest`.
pub const INGEST: OperationInfo = OperationInfo { name: "ingest", scope: Scope::Write };

/// Any use of the admin API and of the web interface.
pub const ADMINISTRATION: OperationInfo =
    OperationInfo { name: "administration", scope: Scope::Admin };

/// Granting a client access on the consent page.
pub const CONSENT: OperationInfo = OperationInfo { name: "consent", scope: Scope::Admin };

/// Exchanging a client's credentials for a token. The token has no scope that the client lacks.
pub const TOKEN_EXCHANGE: OperationInfo =
    OperationInfo { name: "token exchange", scope: Scope::Read };

/// The operations that are not on the wire.
pub const HTTP_OPERATIONS: [OperationInfo; 4] = [INGEST, ADMINISTRATION, CONSENT, TOKEN_EXCHANGE];

/// Checks that `caller` may run `operation`.
///
/// # Errors
/// [`Error::MissingScope`] as a [`Fault`] if no scope of the caller covers the operation's scope.
pub fn permit(caller: &Caller, operation: OperationInfo) -> Result<(), Fault> {
    let OperationInfo { name, scope } = operation;
    if caller.scopes().cover(scope.into()) {
        return Ok(());
    }
    Err(Error::MissingScope { operation: name.to_owned(), scope }.into())
}

#[cfg(test)]
mod tests {
    use brain_protocol::{FaultCode, OPERATIONS, Scopes, SourceId};

    use super::*;
    use crate::caller::{COLLECTOR, Visibility};

    /// Operations that need the scope `read`. The list changes only if access is meant to change.
    const READ: [&str; 32] = [
        "status",
        "get",
        "search",
        "list",
        "history",
        "links",
        "backlinks",
        "graph",
        "timeline",
        "timeline --days",
        "random",
        "orphans",
        "todos",
        "sources list",
        "links --broken",
        "jobs show",
        "mcp",
        "collector digest",
        "model list",
        "token exchange",
        "diff",
        "graph --all",
        "attachments",
        "attachments --get",
        "conflicts",
        "why",
        "diff --since",
        "contradictions",
        "ask --stale",
        "editor links",
        "editor names",
        "editor changes",
    ];

    /// Operations that need the scope `write`.
    const WRITE: [&str; 18] = [
        "capture",
        "put",
        "delete",
        "restore",
        "revert",
        "tags",
        "link",
        "voice",
        "ingest",
        "append",
        "today",
        "mv",
        "merge",
        "attach",
        "attachments --remove",
        "keep",
        "redo",
        "editor rename",
    ];

    /// Every kind of caller, with its highest scope.
    fn callers() -> Vec<(Caller, Scope)> {
        let everything = || Visibility::All;
        let one_source = || Visibility::Only(vec![SourceId::default()]);
        let granted = |name: &str, scopes: Scopes, sources| Caller::granted(name, scopes, sources);
        vec![
            (Caller::local(1000), Scope::Admin),
            (granted("admin", Scopes::ADMIN, everything()), Scope::Admin),
            (Caller::browser(), Scope::Admin),
            (granted("token:admin", Scopes::ADMIN, everything()), Scope::Admin),
            (granted("uid 1001", Scopes::WRITE, everything()), Scope::Write),
            (granted("token:laptop", Scopes::READ_WRITE, one_source()), Scope::Write),
            (granted("client", Scope::Read.into(), everything()), Scope::Read),
            (granted("client", Scopes::WRITE, one_source()), Scope::Write),
            (granted("telephone", Scopes::READ_WRITE, everything()), Scope::Write),
            (granted("telephone", Scopes::WRITE, one_source()), Scope::Write),
            (granted(COLLECTOR, Scopes::READ_WRITE, everything()), Scope::Write),
        ]
    }

    #[test]
    fn a_caller_may_run_the_operations_of_its_scope() {
        for &operation in OPERATIONS.iter().chain(&HTTP_OPERATIONS) {
            let required = match operation.name {
                name if READ.contains(&name) => Scope::Read,
                name if WRITE.contains(&name) => Scope::Write,
                _ => Scope::Admin,
            };
            for (caller, highest) in callers() {
                let permitted = permit(&caller, operation);
                let has_scope = highest >= required;
                assert_eq!(permitted.is_ok(), has_scope, "{} {operation:?}", caller.name);
                let code = permitted.err().map(|fault| fault.code);
                assert!(code.is_none_or(|code| code == FaultCode::Forbidden), "{operation:?}");
            }
        }
    }
}
