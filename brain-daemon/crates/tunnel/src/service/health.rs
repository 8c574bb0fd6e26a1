//! Health of the tunnel, from the watchdog's last check. No network.

use brain_protocol::Command;
use std::sync::Arc;

use crate::service::TunnelService;
use brain_base::clock::parse_instant;
use brain_protocol::TunnelState;
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};

/// How late a check may be, in milliseconds: the interval plus network timeouts.
const MAX_DELAY_MS: i64 = 3 * 60 * 1000;

impl Health for TunnelService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("tunnel", &self, Self::health)]
    }
}

impl TunnelService {
    /// Fails if the agent's token cannot be read, or is readable by others.
    fn health(&self) -> Finding {
        if self.env.settings.is_none() {
            return ok("off (`tunnel.provider`)");
        }
        self.tunnel_token()?;
        let Some(status) = self.state.status().clone() else {
            return ok("not checked yet");
        };
        let due = status.next_at.as_deref().and_then(parse_instant);
        if due.is_some_and(|due| due + MAX_DELAY_MS < self.env.clock.now()) {
            let checked_at = status.checked_at.unwrap_or_default();
            return warn(
                format!("the watchdog has not run since {checked_at}"),
                Command::TunnelStart,
            );
        }
        let summary = format!("{}: {}", status.state, status.message);
        match status.state {
            TunnelState::Up => {
                match status.telephone.filter(|text| !text.starts_with("https://")) {
                    Some(text) => warn(
                        format!("{summary}; the telephone number is {text}"),
                        Command::TunnelStatus,
                    ),
                    None => ok(summary),
                }
            }
            TunnelState::Stopped => warn(summary, Command::TunnelStart),
            _ => warn(summary, Command::TunnelStatus),
        }
    }
}
