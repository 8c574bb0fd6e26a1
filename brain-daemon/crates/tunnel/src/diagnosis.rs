//! The watchdog's rule: turns an observation into a diagnosis and an action. No I/O.

use std::time::Duration;

use brain_protocol::TunnelState;

use super::{AgentStatus, Rejection, Settings};
use brain_base::backoff::Backoff;
use brain_protocol::Hint;

/// Interval between checks, in milliseconds.
pub const CHECK_INTERVAL_MS: i64 = 2 * 60 * 1000;
/// Delay of the check after a start, in milliseconds.
pub const CHECK_AFTER_START_MS: i64 = 5 * 1000;
/// Time an agent gets to connect before it is restarted, in milliseconds.
pub const CONNECT_TIMEOUT_MS: i64 = 30 * 1000;
/// Pauses after failed starts of an agent and failed updates of the telephone number.
pub const BACKOFF: Backoff = Backoff::new(Duration::from_secs(5), Duration::from_secs(10 * 60));

/// The facts that one check has collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The status that the agent reports.
    pub agent: AgentStatus,
    /// The name of the agent's program, if it is missing. Checked only if the agent does not run.
    pub missing_program: Option<String>,
    /// Whether our child runs.
    pub has_child: bool,
    /// How our child exited, if it did.
    pub exit: Option<String>,
    /// The last output line of our child that reports an error.
    pub last_error: Option<String>,
    /// Why the platform rejected our child, if known.
    pub rejection: Option<Rejection>,
    /// Whether `/health` answers on the local port.
    pub local_health: Result<(), String>,
    /// Whether `/health` answers through the public address; `None` without an address.
    pub public_health: Option<Result<(), String>>,
}

/// The meaning of an observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The state, as in [`brain_protocol::TunnelStatusReply::state`].
    pub state: TunnelState,
    /// A description of what was observed.
    pub message: String,
    /// What to do about it.
    pub hint: Option<Hint>,
    /// The public address.
    pub url: Option<String>,
    /// The watchdog's action.
    pub action: Remedy,
}

/// An action of the watchdog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Do nothing.
    Nothing,
    /// Start the agent.
    Start,
    /// Stop our child and start it again.
    Restart,
}

/// Selects the URL with the fixed name, or the first one if no name is configured. `None` if no URL
/// has the name.
#[must_use]
pub fn select_url<'a>(settings: &Settings, urls: &'a [String]) -> Option<&'a String> {
    let Some(domain) = &settings.domain else { return urls.first() };
    urls.iter().find(|url| {
        let address = url.split_once("://").map_or(url.as_str(), |(_, address)| address);
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        address.eq_ignore_ascii_case(domain) || host.eq_ignore_ascii_case(domain)
    })
}

/// Diagnoses an observation of the agent `name`.
#[must_use]
pub fn diagnose(settings: &Settings, name: &str, observation: &Observation) -> Diagnosis {
    match &observation.agent {
        AgentStatus::Up(urls) => match select_url(settings, urls) {
            Some(url) => Diagnosis {
                url: Some(url.clone()),
                ..diagnose_reachability(settings, name, observation, url)
            },
            None => diagnose_wrong_domain(settings, name, observation, urls),
        },
        other => match &observation.rejection {
            Some(rejection) => diagnose_rejection(rejection, observation.has_child, other),
            None => diagnose_disconnection(name, observation),
        },
    }
}

impl Diagnosis {
    /// Creates a diagnosis of an agent without the right tunnel.
    fn new(state: TunnelState, message: String, hint: Option<Hint>, action: Remedy) -> Self {
        Self { state, message, hint, url: None, action }
    }
}

/// Diagnoses an agent whose tunnels are at other addresses than the configured one.
fn diagnose_wrong_domain(
    settings: &Settings,
    name: &str,
    observation: &Observation,
    urls: &[String],
) -> Diagnosis {
    let message = format!(
        "{name} has a tunnel to port {} at {}, not at {}",
        settings.local_port,
        super::join_names(urls),
        settings.domain.as_deref().unwrap_or_default()
    );
    let hint = "end that agent, so that brain starts an agent at tunnel.domain; or set \
                tunnel.domain to the address of that agent's tunnel";
    match observation.has_child {
        true => Diagnosis::new(TunnelState::WrongDomain, message, None, Remedy::Restart),
        // A foreign agent is left alone.
        false => {
            Diagnosis::new(TunnelState::WrongDomain, message, Some(hint.into()), Remedy::Nothing)
        }
    }
}

/// Diagnoses an agent that the platform rejected.
fn diagnose_rejection(rejection: &Rejection, has_child: bool, agent: &AgentStatus) -> Diagnosis {
    let action = match (rejection.is_permanent, has_child, agent) {
        (true, ..) => Remedy::Nothing,
        (false, true, _) => Remedy::Restart,
        (false, false, AgentStatus::NotConnected(_)) => Remedy::Nothing,
        (false, false, _) => Remedy::Start,
    };
    Diagnosis::new(
        TunnelState::Refused,
        rejection.to_string(),
        Some(rejection.hint.clone()),
        action,
    )
}

/// Diagnoses an agent that has no tunnel to the port, and was not rejected.
fn diagnose_disconnection(name: &str, observation: &Observation) -> Diagnosis {
    let last_error = observation.last_error.as_ref().map(|line| format!("; last error: {line}"));
    let last_error = last_error.unwrap_or_default();
    let state = TunnelState::NotConnected;
    match (&observation.agent, observation.has_child) {
        (AgentStatus::NotConnected(description) | AgentStatus::OtherTarget(description), true) => {
            Diagnosis::new(state, format!("{description}{last_error}"), None, Remedy::Restart)
        }
        // A foreign agent for another target; ours can run beside it.
        (AgentStatus::OtherTarget(description), false) => {
            Diagnosis::new(state, description.clone(), None, Remedy::Start)
        }
        (AgentStatus::NotConnected(description), false) => {
            let hint = format!(
                "another program started that {name}, so brain does not change it; check its log, \
                 or end it"
            )
            .into();
            Diagnosis::new(state, description.clone(), Some(hint), Remedy::Nothing)
        }
        (_, true) => Diagnosis::new(
            TunnelState::AgentDown,
            format!("{name} runs, but does not answer yet{last_error}"),
            Some(
                format!("if this persists: set tunnel.api to the address of {name}'s local API")
                    .into(),
            ),
            Remedy::Restart,
        ),
        (_, false) => diagnose_absence(name, observation),
    }
}

/// Diagnoses an agent that does not run.
fn diagnose_absence(name: &str, observation: &Observation) -> Diagnosis {
    if let Some(program) = &observation.missing_program {
        return Diagnosis::new(
            TunnelState::AgentMissing,
            format!("{name} does not run, and there is no program \"{program}\" that can be run"),
            Some(format!("install {name}, or set its path: tunnel.binary in config.toml").into()),
            Remedy::Nothing,
        );
    }
    let exit = observation.exit.as_ref().map(|exit| format!(": {exit}")).unwrap_or_default();
    let message = format!("{name} does not run{exit}");
    Diagnosis::new(TunnelState::AgentDown, message, None, Remedy::Start)
}

/// Diagnoses an agent with the right tunnel: is it reachable from outside?
fn diagnose_reachability(
    settings: &Settings,
    name: &str,
    observation: &Observation,
    url: &str,
) -> Diagnosis {
    let port = settings.local_port;
    let diagnosis = |state, message, hint| Diagnosis {
        state,
        message,
        hint,
        url: None,
        action: Remedy::Nothing,
    };
    // A restart fixes neither our port nor the network, and the agent may lose its address.
    match (&observation.local_health, &observation.public_health) {
        (Err(reason), _) => diagnosis(
            TunnelState::ServiceDown,
            format!(
                "{name} has a tunnel at {url}, but http://127.0.0.1:{port}/health does not answer \
                 like brain: {reason}"
            ),
            Some(format!("set http.public to 127.0.0.1:{port}, the port of tunnel.forward").into()),
        ),
        (Ok(()), Some(Err(reason))) => diagnosis(
            TunnelState::Unreachable,
            format!("{name} reports a tunnel at {url}, but its address is not proved: {reason}"),
            Some(format!(
                "try {url}/health from another machine, and check that the tunnel leads to port \
                 {port} of this machine; until the address is proved, brain refuses requests to it"
            ).into()),
        ),
        (Ok(()), Some(Ok(()))) => diagnosis(TunnelState::Up, format!("{url}/health answers"), None),
        (Ok(()), None) => diagnosis(TunnelState::Up, format!("{name} has a tunnel at {url}"), None),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::AgentProvider;
    use super::*;

    fn settings(domain: Option<&str>) -> Settings {
        Settings {
            provider: AgentProvider::Ngrok,
            domain: domain.map(str::to_owned),
            binary: None,
            api: "http://127.0.0.1:4040".into(),
            api_is_default: true,
            local_port: 8765,
        }
    }

    fn observation(agent: AgentStatus) -> Observation {
        Observation {
            agent,
            missing_program: None,
            has_child: false,
            exit: None,
            last_error: None,
            rejection: None,
            local_health: Ok(()),
            public_health: None,
        }
    }

    fn up(url: &str) -> Observation {
        Observation {
            public_health: Some(Ok(())),
            ..observation(AgentStatus::Up(vec![url.into()]))
        }
    }

    fn rejection(is_permanent: bool) -> Option<Rejection> {
        Some(Rejection {
            code: "ERR_NGROK_1".into(),
            message: "no".into(),
            hint: "do".into(),
            is_permanent,
            is_about_token: false,
        })
    }

    /// Each state, with the action for our child and for a foreign agent.
    #[test]
    #[allow(clippy::too_many_lines)]
    fn each_observation_has_a_state_and_an_action() {
        use Remedy::{Nothing, Restart, Start};
        let (free, fixed) = (settings(None), settings(Some("b.ngrok.app")));
        let (not_connected, other_target) = (
            || AgentStatus::NotConnected("no tunnel".into()),
            || AgentStatus::OtherTarget("for 3000".into()),
        );
        let child = |observation: Observation| Observation { has_child: true, ..observation };
        for (settings, observation, state, action) in [
            (&free, observation(AgentStatus::NotRunning), TunnelState::AgentDown, Start),
            (&free, child(observation(AgentStatus::NotRunning)), TunnelState::AgentDown, Restart),
            (
                &free,
                Observation {
                    missing_program: Some("ngrok".into()),
                    ..observation(AgentStatus::NotRunning)
                },
                TunnelState::AgentMissing,
                Nothing,
            ),
            (&free, observation(not_connected()), TunnelState::NotConnected, Nothing),
            (&free, child(observation(not_connected())), TunnelState::NotConnected, Restart),
            (&free, observation(other_target()), TunnelState::NotConnected, Start),
            (&free, child(observation(other_target())), TunnelState::NotConnected, Restart),
            (&free, up("https://x.ngrok.app"), TunnelState::Up, Nothing),
            (&fixed, up("https://B.ngrok.app"), TunnelState::Up, Nothing),
            (&fixed, up("https://x.ngrok.app"), TunnelState::WrongDomain, Nothing),
            (&fixed, child(up("https://x.ngrok.app")), TunnelState::WrongDomain, Restart),
            (
                &free,
                Observation { local_health: Err("refused".into()), ..up("https://x.ngrok.app") },
                TunnelState::ServiceDown,
                Nothing,
            ),
            (
                &free,
                child(Observation {
                    local_health: Err("refused".into()),
                    ..up("https://x.ngrok.app")
                }),
                TunnelState::ServiceDown,
                Nothing,
            ),
            (
                &free,
                child(Observation {
                    public_health: Some(Err("404".into())),
                    ..up("https://x.ngrok.app")
                }),
                TunnelState::Unreachable,
                Nothing,
            ),
            (
                &free,
                Observation { rejection: rejection(true), ..observation(AgentStatus::NotRunning) },
                TunnelState::Refused,
                Nothing,
            ),
            (
                &free,
                child(Observation { rejection: rejection(true), ..observation(not_connected()) }),
                TunnelState::Refused,
                Nothing,
            ),
            (
                &free,
                Observation { rejection: rejection(false), ..observation(AgentStatus::NotRunning) },
                TunnelState::Refused,
                Start,
            ),
            (
                &free,
                child(Observation { rejection: rejection(false), ..observation(not_connected()) }),
                TunnelState::Refused,
                Restart,
            ),
            // A working tunnel outranks an earlier rejection.
            (
                &free,
                Observation { rejection: rejection(true), ..up("https://x.ngrok.app") },
                TunnelState::Up,
                Nothing,
            ),
        ] {
            let diagnosis = diagnose(settings, "ngrok", &observation);
            assert_eq!((diagnosis.state, diagnosis.action), (state, action), "{observation:?}");
            assert!(!diagnosis.message.is_empty());
            assert_eq!(
                diagnosis.url.is_some(),
                matches!(
                    state,
                    TunnelState::Up | TunnelState::ServiceDown | TunnelState::Unreachable
                ),
                "{state}"
            );
        }
    }

    #[test]
    fn messages_include_the_last_error() {
        let down = Observation {
            exit: Some("it ended with exit status 1".into()),
            ..observation(AgentStatus::NotRunning)
        };
        assert_eq!(
            diagnose(&settings(None), "ngrok", &down).message,
            "ngrok does not run: it ended with exit status 1"
        );
        let error_line = || Some("lvl=eror msg=\"dial tcp: i/o timeout\"".to_owned());
        let not_connected = Observation {
            has_child: true,
            last_error: error_line(),
            ..observation(AgentStatus::NotConnected("no tunnel".into()))
        };
        let expected = "no tunnel; last error: lvl=eror msg=\"dial tcp: i/o timeout\"";
        assert_eq!(diagnose(&settings(None), "ngrok", &not_connected).message, expected);
        let refused =
            Observation { rejection: rejection(true), ..observation(AgentStatus::NotRunning) };
        assert_eq!(diagnose(&settings(None), "ngrok", &refused).message, "no (ERR_NGROK_1)");
    }

    #[test]
    fn select_url_prefers_the_fixed_name() {
        let urls = ["https://a.example", "https://b.example:8443"].map(str::to_owned);
        assert_eq!(select_url(&settings(None), &urls), Some(&urls[0]));
        assert_eq!(select_url(&settings(Some("b.example")), &urls), Some(&urls[1]));
        assert_eq!(select_url(&settings(Some("b.example:8443")), &urls), Some(&urls[1]));
        assert_eq!(select_url(&settings(Some("c.example")), &urls), None);
    }
}
