//! Health of access over HTTP: listeners, clients and tokens.

use brain_protocol::{Command, hint};
use std::sync::Arc;

use brain_access::{Access, AccessSummary};
use brain_base::clock::rfc3339;
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};

/// The checks of access.
pub(crate) struct AccessHealth(pub(crate) Arc<Access>);

impl Health for AccessHealth {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![
            HealthCheck::new("http", &self.0, http),
            HealthCheck::new("clients", &self.0, |access| clients(access.summary())),
        ]
    }
}

/// Warns about listeners that are not open, or that the network can reach or read.
fn http(access: &Access) -> Finding {
    let addresses = access.http_addresses();
    if let Some(missing) = addresses.missing.first() {
        return warn(missing, Command::ConfigPath);
    }
    if !addresses.exposed.is_empty() {
        return warn(addresses.exposed.join("; "), Command::ConfigPath);
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

/// Warns if there is no admin token, or if personal tokens expire soon.
fn clients(summary: AccessSummary) -> Finding {
    if let Some(fault) = summary.admin_token_problem {
        let hint = fault.hint.unwrap_or_else(|| Command::TokenAdmin.into());
        return warn(format!("there is no admin token: {}", fault.message), hint);
    }
    if !summary.expiring.is_empty() {
        let expiring: Vec<String> = summary
            .expiring
            .iter()
            .map(|(name, at)| format!("\"{name}\" at {}", rfc3339(*at)))
            .collect();
        let hint = hint!(
            "create new tokens: {}; {} shows all",
            Command::TokenCreate { name: None, scope: None },
            Command::TokenList
        );
        return warn(format!("tokens end soon: {}", expiring.join(", ")), hint);
    }
    let without_expiry = match summary.without_expiry.as_slice() {
        [] => String::new(),
        names => format!("; without an end: {}", names.join(", ")),
    };
    ok(format!("clients: {}, personal tokens: {}{without_expiry}", summary.clients, summary.tokens))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_protocol::CheckStatus;

    #[test]
    fn tokens_that_expire_soon_are_a_warning() {
        let summary = AccessSummary {
            clients: 1,
            tokens: 2,
            expiring: vec![("laptop".into(), 0)],
            without_expiry: vec!["ci".into()],
            admin_token_problem: None,
        };
        let (status, message, hint) = clients(summary.clone()).unwrap();
        assert_eq!(status, CheckStatus::Warn);
        assert_eq!(message, "tokens end soon: \"laptop\" at 1970-01-01T00:00:00.000Z");
        assert!(hint.unwrap().to_string().contains("brain token create"));
        let none_expiring = AccessSummary { expiring: Vec::new(), ..summary };
        let (status, message, _) = clients(none_expiring).unwrap();
        assert_eq!(status, CheckStatus::Ok);
        assert_eq!(message, "clients: 1, personal tokens: 2; without an end: ci");
    }
}
