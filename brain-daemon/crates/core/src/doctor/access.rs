//! Health of access over HTTP: listeners, clients and tokens.

use std::sync::Arc;

use crate::health::{Finding, Health, HealthCheck, ok, warn};
use brain_access::{Access, AccessSummary};
use brain_base::clock::rfc3339;

impl Health for Access {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![
            HealthCheck::new("http", &self, http),
            HealthCheck::new("clients", &self, |access| clients(access.summary())),
        ]
    }
}

/// Checks the addresses of the listeners.
fn http(access: &Access) -> Finding {
    let addresses = access.http_addresses();
    if let Some(missing) = addresses.missing.first() {
        return warn(missing, "brain config path");
    }
    if !addresses.exposed.is_empty() {
        return warn(addresses.exposed.join("; "), "brain config path");
    }
    let served: Vec<String> =
        [addresses.local, addresses.public].iter().flatten().map(ToString::to_string).collect();
    let message = if served.is_empty() {
        "off".into()
    } else {
        format!("served at {}", served.join(" and "))
    };
    ok(message)
}

/// Checks the owner's token, and tokens that end soon.
fn clients(access: AccessSummary) -> Finding {
    if let Some(fault) = access.admin_token_problem {
        let hint = fault.hint.unwrap_or_else(|| "brain token admin".into());
        return warn(format!("there is no admin token: {}", fault.message), hint);
    }
    if !access.expiring.is_empty() {
        let expiring: Vec<String> = access
            .expiring
            .iter()
            .map(|(name, at)| format!("\"{name}\" at {}", rfc3339(*at)))
            .collect();
        let hint =
            "make new ones: brain token create NAME --scope SCOPES; brain token list has these";
        return warn(format!("tokens end soon: {}", expiring.join(", ")), hint);
    }
    let without_expiry = match access.without_expiry.as_slice() {
        [] => String::new(),
        names => format!("; without an end: {}", names.join(", ")),
    };
    ok(format!("clients: {}, personal tokens: {}{without_expiry}", access.clients, access.tokens))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_protocol::CheckStatus;

    #[test]
    fn tokens_that_expire_soon_are_a_warning() {
        let access = AccessSummary {
            clients: 1,
            tokens: 2,
            expiring: vec![("laptop".into(), 0)],
            without_expiry: vec!["ci".into()],
            admin_token_problem: None,
        };
        let (status, message, hint) = clients(access.clone()).unwrap();
        assert_eq!(status, CheckStatus::Warn);
        assert_eq!(message, "tokens end soon: \"laptop\" at 1970-01-01T00:00:00.000Z");
        assert!(hint.unwrap().contains("brain token create"));
        let quiet = AccessSummary { expiring: Vec::new(), ..access };
        let (status, message, _) = clients(quiet).unwrap();
        assert_eq!(status, CheckStatus::Ok);
        assert_eq!(message, "clients: 1, personal tokens: 2; without an end: ci");
    }
}
