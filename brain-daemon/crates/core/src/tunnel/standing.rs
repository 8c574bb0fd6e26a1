//! How the tunnel is, for `doctor`: by what the watchdog saw last, without asking anybody.

use brain_protocol::Fault;

use super::super::Brain;
use brain_base::clock::parse_instant;

/// How late the watchdog's look may be, in milliseconds: it looks every two minutes, and one look may take as long as the network lets it.
const GRACE_MS: i64 = 3 * 60 * 1000;

/// What `doctor` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing to do.
    Well(String),
    /// Something is wrong.
    Ill {
        /// What.
        problem: String,
        /// The command that helps, or says more.
        hint: &'static str,
    },
}

impl Brain {
    /// How the tunnel is.
    ///
    /// # Errors
    /// When the agent's token cannot be read, or others can read it.
    pub(crate) fn tunnel_standing(&self) -> Result<Standing, Fault> {
        if self.config.tunnel().is_none() {
            return Ok(Standing::Well("off (`tunnel.provider`)".into()));
        }
        self.tunnel_token()?;
        let Some(status) = self.tunnelling.status().clone() else {
            return Ok(Standing::Well("nobody has looked yet".into()));
        };
        let ill = |problem: String, hint| Ok(Standing::Ill { problem, hint });
        let due = status.next_at.as_deref().and_then(|at| parse_instant(at, false));
        if due.is_some_and(|due| due + GRACE_MS < self.now()) {
            let looked = status.checked_at.unwrap_or_default();
            return ill(
                format!("the watchdog has not looked since {looked}"),
                "brain tunnel start",
            );
        }
        let seen = format!("{}: {}", status.state, status.message);
        match status.state.as_str() {
            "up" => match status.telephone.filter(|said| !said.starts_with("https://")) {
                Some(said) => {
                    ill(format!("{seen}; the telephone number is {said}"), "brain tunnel status")
                }
                None => Ok(Standing::Well(seen)),
            },
            "stopped" => ill(seen, "brain tunnel start"),
            _ => ill(seen, "brain tunnel status"),
        }
    }
}
