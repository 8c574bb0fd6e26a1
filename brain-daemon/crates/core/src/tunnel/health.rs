//! Health of the tunnel for `doctor`, from the watchdog's last check. No network.

use brain_protocol::Fault;

use crate::TunnelService;
use brain_base::clock::parse_instant;

/// How late a check may be, in milliseconds: the interval plus network timeouts.
const MAX_DELAY_MS: i64 = 3 * 60 * 1000;

/// The result for `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TunnelHealth {
    /// No problem. Has a description.
    Healthy(String),
    /// A problem.
    Unhealthy {
        /// The description.
        problem: String,
        /// The command that helps or tells more.
        hint: &'static str,
    },
}

impl TunnelService {
    /// Returns the health of the tunnel.
    ///
    /// # Errors
    /// If the agent's token cannot be read or is readable by others.
    pub(crate) fn health(&self) -> Result<TunnelHealth, Fault> {
        if brain_tunnel::Settings::from_config(&self.env.config).is_none() {
            return Ok(TunnelHealth::Healthy("off (`tunnel.provider`)".into()));
        }
        self.tunnel_token()?;
        let Some(status) = self.state.status().clone() else {
            return Ok(TunnelHealth::Healthy("not checked yet".into()));
        };
        let unhealthy = |problem: String, hint| Ok(TunnelHealth::Unhealthy { problem, hint });
        let due = status.next_at.as_deref().and_then(|at| parse_instant(at, false));
        if due.is_some_and(|due| due + MAX_DELAY_MS < self.env.clock.now()) {
            let checked_at = status.checked_at.unwrap_or_default();
            return unhealthy(
                format!("the watchdog has not run since {checked_at}"),
                "brain tunnel start",
            );
        }
        let summary = format!("{}: {}", status.state, status.message);
        match status.state.as_str() {
            "up" => match status.telephone.filter(|text| !text.starts_with("https://")) {
                Some(text) => unhealthy(
                    format!("{summary}; the telephone number is {text}"),
                    "brain tunnel status",
                ),
                None => Ok(TunnelHealth::Healthy(summary)),
            },
            "stopped" => unhealthy(summary, "brain tunnel start"),
            _ => unhealthy(summary, "brain tunnel status"),
        }
    }
}
