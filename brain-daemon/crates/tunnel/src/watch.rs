//! The watchdog's rule: from what was seen, to what it means and what is done about it. Pure; when it is done is `keeper`'s.

use super::{Refusal, Says, Settings};

/// The watchdog looks this often, in milliseconds.
pub const EVERY_MS: i64 = 2 * 60 * 1000;
/// And this long after it started an agent.
pub const AFTER_START_MS: i64 = 5 * 1000;
/// An agent that runs gets this long to connect before it is started anew.
pub const CONNECTING_MS: i64 = 30 * 1000;
/// The pause after a failed start grows from this to [`LONGEST_PAUSE_MS`], doubling.
pub const FIRST_PAUSE_MS: i64 = 5 * 1000;
/// See [`FIRST_PAUSE_MS`].
pub const LONGEST_PAUSE_MS: i64 = 10 * 60 * 1000;

/// What was seen in one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What the agent says.
    pub agent: Says,
    /// The agent's program, when there is none that can be run; asked only when the agent does not run.
    pub missing: Option<String>,
    /// Whether a child of ours runs.
    pub child: bool,
    /// How our child ended, when it did.
    pub ended: Option<String>,
    /// The last line of our child that tells an error.
    pub complaint: Option<String>,
    /// What our child said of why it does not work, where that is known.
    pub refusal: Option<Refusal>,
    /// Whether `/health` answers on this machine.
    pub local_health: Result<(), String>,
    /// Whether `/health` answers through the public address; `None` when there is none to ask.
    pub public_health: Option<Result<(), String>>,
}

/// What a look means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// As in [`brain_protocol::TunnelStatus::state`].
    pub state: &'static str,
    /// What was seen, in words; nothing that was not.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The public address.
    pub url: Option<String>,
    /// What the watchdog does.
    pub action: Action,
}

/// What the watchdog does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Start the agent.
    Start,
    /// End our child, and start it again.
    Restart,
}

/// The address among `urls` that is meant: the one with the fixed name, else the first. `None` when none of them has the name.
#[must_use]
pub fn chosen<'a>(settings: &Settings, urls: &'a [String]) -> Option<&'a String> {
    let Some(domain) = &settings.domain else { return urls.first() };
    urls.iter().find(|url| {
        let place = url.split_once("://").map_or(url.as_str(), |(_, place)| place);
        let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
        place.eq_ignore_ascii_case(domain) || host.eq_ignore_ascii_case(domain)
    })
}

/// What `seen` means.
#[must_use]
pub fn judge(settings: &Settings, name: &str, seen: &Seen) -> Verdict {
    let port = settings.forward;
    let verdict = |state, message: String, hint: Option<String>, action| Verdict {
        state,
        message,
        hint,
        url: None,
        action,
    };
    match &seen.agent {
        Says::Up(urls) => match chosen(settings, urls) {
            Some(url) => Verdict { url: Some(url.clone()), ..reached(settings, name, seen, url) },
            None => {
                let domain = settings.domain.as_deref().unwrap_or_default();
                let message = format!(
                    "{name} has a tunnel to port {port} at {}, not at {domain}",
                    super::shown(urls)
                );
                let hint = "end that agent, so that brain starts one with the right name; or set tunnel.domain to the name it has";
                match seen.child {
                    true => verdict("wrong_domain", message, None, Action::Restart),
                    // Somebody else's: it is left alone.
                    false => verdict("wrong_domain", message, Some(hint.into()), Action::Nothing),
                }
            }
        },
        other => {
            let runs = match other {
                Says::NoTunnel(said) => Some(("not_connected", said)),
                Says::Elsewhere(said) => Some(("not_connected", said)),
                _ => None,
            };
            if let Some(refusal) = &seen.refusal {
                let action = match (refusal.lasting, seen.child, other) {
                    (true, ..) => Action::Nothing,
                    (false, true, _) => Action::Restart,
                    (false, false, Says::NoTunnel(_)) => Action::Nothing,
                    (false, false, _) => Action::Start,
                };
                return verdict("refused", refusal.to_string(), Some(refusal.hint.clone()), action);
            }
            let complaint = seen.complaint.as_ref().map(|line| format!("; it says: {line}"));
            let complaint = complaint.unwrap_or_default();
            match (runs, seen.child) {
                (Some((state, said)), true) => {
                    verdict(state, format!("{said}{complaint}"), None, Action::Restart)
                }
                // It serves somebody else, and another one can run beside it.
                (Some((state, said)), false) if matches!(other, Says::Elsewhere(_)) => {
                    verdict(state, said.clone(), None, Action::Start)
                }
                (Some((state, said)), false) => {
                    let hint = format!(
                        "somebody else started that {name}: brain leaves it alone; look at its own log, or end it"
                    );
                    verdict(state, said.clone(), Some(hint), Action::Nothing)
                }
                (None, true) => verdict(
                    "agent_down",
                    format!("{name} runs, and does not answer yet{complaint}"),
                    Some(format!(
                        "if it goes on: tunnel.api has to be where {name}'s own interface listens"
                    )),
                    Action::Restart,
                ),
                (None, false) => match &seen.missing {
                    Some(program) => verdict(
                        "agent_missing",
                        format!(
                            "{name} does not run, and there is no program \"{program}\" that can be run"
                        ),
                        Some(format!(
                            "install {name}, or say where it is: tunnel.binary in config.toml"
                        )),
                        Action::Nothing,
                    ),
                    None => {
                        let ended =
                            seen.ended.as_ref().map(|how| format!(": {how}")).unwrap_or_default();
                        verdict(
                            "agent_down",
                            format!("{name} does not run{ended}"),
                            None,
                            Action::Start,
                        )
                    }
                },
            }
        }
    }
}

/// An agent that has the right tunnel: what of the way from outside to us works.
fn reached(settings: &Settings, name: &str, seen: &Seen, url: &str) -> Verdict {
    let port = settings.forward;
    let verdict =
        |state, message, hint| Verdict { state, message, hint, url: None, action: Action::Nothing };
    // Its being up is the agent's own word; starting it again mends neither our port nor the network, and can cost the address.
    match (&seen.local_health, &seen.public_health) {
        (Err(why), _) => verdict(
            "service_down",
            format!(
                "{name} has a tunnel at {url}, and http://127.0.0.1:{port}/health does not answer as brain does: {why}"
            ),
            Some(format!(
                "http.public has to listen at 127.0.0.1:{port}, the port of tunnel.forward"
            )),
        ),
        (Ok(()), Some(Err(why))) => verdict(
            "unreachable",
            format!("{name} says that it has a tunnel at {url}, and that is not proved: {why}"),
            Some(format!(
                "try {url}/health from another machine; does the tunnel lead to port {port} of this one? \
                 Until it is proved, requests to that name are refused"
            )),
        ),
        (Ok(()), Some(Ok(()))) => verdict("up", format!("{url}/health answers"), None),
        (Ok(()), None) => verdict("up", format!("{name} has a tunnel at {url}"), None),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn settings(domain: Option<&str>) -> Settings {
        Settings {
            provider: Kind::Ngrok,
            domain: domain.map(str::to_owned),
            binary: None,
            api: "http://127.0.0.1:4040".into(),
            api_is_default: true,
            forward: 8765,
        }
    }

    fn seen(agent: Says) -> Seen {
        Seen {
            agent,
            missing: None,
            child: false,
            ended: None,
            complaint: None,
            refusal: None,
            local_health: Ok(()),
            public_health: None,
        }
    }

    fn up(url: &str) -> Seen {
        Seen { public_health: Some(Ok(())), ..seen(Says::Up(vec![url.into()])) }
    }

    fn refusal(lasting: bool) -> Option<Refusal> {
        Some(Refusal {
            code: "ERR_NGROK_1".into(),
            message: "no".into(),
            hint: "do".into(),
            lasting,
            token: false,
        })
    }

    /// The table: each state, with what is done for a child of ours and for somebody else's agent.
    #[test]
    fn every_state_of_the_table() {
        use Action::{Nothing, Restart, Start};
        let (free, fixed) = (settings(None), settings(Some("b.ngrok.app")));
        let (none, elsewhere) =
            (|| Says::NoTunnel("no tunnel".into()), || Says::Elsewhere("for 3000".into()));
        let child = |seen: Seen| Seen { child: true, ..seen };
        for (settings, seen, state, action) in [
            (&free, seen(Says::Nothing), "agent_down", Start),
            (&free, child(seen(Says::Nothing)), "agent_down", Restart),
            (
                &free,
                Seen { missing: Some("ngrok".into()), ..seen(Says::Nothing) },
                "agent_missing",
                Nothing,
            ),
            (&free, seen(none()), "not_connected", Nothing),
            (&free, child(seen(none())), "not_connected", Restart),
            (&free, seen(elsewhere()), "not_connected", Start),
            (&free, child(seen(elsewhere())), "not_connected", Restart),
            (&free, up("https://x.ngrok.app"), "up", Nothing),
            (&fixed, up("https://B.ngrok.app"), "up", Nothing),
            (&fixed, up("https://x.ngrok.app"), "wrong_domain", Nothing),
            (&fixed, child(up("https://x.ngrok.app")), "wrong_domain", Restart),
            (
                &free,
                Seen { local_health: Err("refused".into()), ..up("https://x.ngrok.app") },
                "service_down",
                Nothing,
            ),
            (
                &free,
                child(Seen { local_health: Err("refused".into()), ..up("https://x.ngrok.app") }),
                "service_down",
                Nothing,
            ),
            (
                &free,
                child(Seen { public_health: Some(Err("404".into())), ..up("https://x.ngrok.app") }),
                "unreachable",
                Nothing,
            ),
            (&free, Seen { refusal: refusal(true), ..seen(Says::Nothing) }, "refused", Nothing),
            (&free, child(Seen { refusal: refusal(true), ..seen(none()) }), "refused", Nothing),
            (&free, Seen { refusal: refusal(false), ..seen(Says::Nothing) }, "refused", Start),
            (&free, child(Seen { refusal: refusal(false), ..seen(none()) }), "refused", Restart),
            // A tunnel that is up belies what was said before.
            (&free, Seen { refusal: refusal(true), ..up("https://x.ngrok.app") }, "up", Nothing),
        ] {
            let verdict = judge(settings, "ngrok", &seen);
            assert_eq!((verdict.state, verdict.action), (state, action), "{seen:?}");
            assert!(!verdict.message.is_empty());
            assert_eq!(
                verdict.url.is_some(),
                matches!(state, "up" | "service_down" | "unreachable"),
                "{state}"
            );
        }
    }

    #[test]
    fn messages_say_what_was_seen() {
        let down =
            Seen { ended: Some("it ended with exit status 1".into()), ..seen(Says::Nothing) };
        assert_eq!(
            judge(&settings(None), "ngrok", &down).message,
            "ngrok does not run: it ended with exit status 1"
        );
        let words = || Some("lvl=eror msg=\"dial tcp: i/o timeout\"".to_owned());
        let alone =
            Seen { child: true, complaint: words(), ..seen(Says::NoTunnel("no tunnel".into())) };
        let told = "no tunnel; it says: lvl=eror msg=\"dial tcp: i/o timeout\"";
        assert_eq!(judge(&settings(None), "ngrok", &alone).message, told);
        let refused = Seen { refusal: refusal(true), ..seen(Says::Nothing) };
        assert_eq!(judge(&settings(None), "ngrok", &refused).message, "no (ERR_NGROK_1)");
    }

    #[test]
    fn the_fixed_name_is_found_among_several() {
        let urls = ["https://a.example", "https://b.example:8443"].map(str::to_owned);
        assert_eq!(chosen(&settings(None), &urls), Some(&urls[0]));
        assert_eq!(chosen(&settings(Some("b.example")), &urls), Some(&urls[1]));
        assert_eq!(chosen(&settings(Some("b.example:8443")), &urls), Some(&urls[1]));
        assert_eq!(chosen(&settings(Some("c.example")), &urls), None);
    }
}
