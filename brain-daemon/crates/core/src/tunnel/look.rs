//! The watchdog's turn: look, do what is due, and tell what was seen. Its lines begin with `[watchdog]` and go to the log.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use brain_protocol::{ClientList, Fault, TunnelStatus};

use super::super::Brain;
use super::Work;
use brain_base::clock::rfc3339;
use brain_base::random;
use brain_tunnel::watch::EVERY_MS;
use brain_tunnel::{Kind, Looked, Proof, Settings, World};

/// How long `brain tunnel start` waits for the tunnel.
pub(super) const START: Duration = Duration::from_secs(10);
/// How long setting up does.
pub(super) const SETUP: Duration = Duration::from_secs(30);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(500);

impl Brain {
    /// Looks at the tunnel once, does what there is to do, and says when to look next, in milliseconds from now. For a timer. Blocks.
    /// `None` when no tunnel is configured.
    pub fn watch_tunnel(&self) -> Option<u64> {
        let settings = self.config.tunnel()?;
        let mut work = self.tunnelling.work();
        if self.is_stopping() || !self.is_home_here() {
            return Some(EVERY_MS.unsigned_abs());
        }
        let next_ms = match self.look(&mut work, &settings) {
            Ok(looked) => looked.next_ms,
            Err(fault) => {
                let told = Some((fault.code.as_str().to_owned(), fault.message.clone()));
                if work.told != told {
                    let hint = fault.hint.as_deref().unwrap_or_default();
                    tracing::warn!("[watchdog] {fault}; {hint}");
                    work.told = told;
                }
                EVERY_MS
            }
        };
        let phone = self.watch_phone(&mut work);
        Some(phone.map_or(next_ms, |ms| ms.min(next_ms)).max(0).unsigned_abs())
    }

    /// One look. Its lines are told, and the status is anew.
    ///
    /// # Errors
    /// When the token is there and cannot be read: without it nothing is started.
    pub(super) fn look(&self, work: &mut Work, settings: &Settings) -> Result<Looked, Fault> {
        let wanted = !work.kept(&self.home).stopped;
        let token = self.tunnel_token()?;
        let starter = self.tunnelling.starter();
        let prove = |url: &str| self.prove_address(settings, url);
        let world = World {
            net: &*self.net,
            starter: &*starter,
            prove: &prove,
            token: token.as_ref().map(|found| &found.secret),
            now: self.now(),
        };
        let keeper = work.keeper(settings);
        // A daemon that ends starts nothing more.
        let looked = keeper.look(world, wanted && !self.is_stopping());
        let (name, starts) = (keeper.name(), keeper.starts());
        if looked.started {
            tracing::info!(
                "[watchdog] {}: {}; started {name} (start {starts})",
                looked.verdict.state,
                looked.verdict.message
            );
        }
        if let Some(warning) = &looked.warning {
            tracing::warn!("[watchdog] {warning}");
        }
        self.tell(work, &looked);
        // What an agent says of its address is not enough: requests to that name are accepted from
        // then on.
        if let Some(url) = looked.verdict.url.as_ref().filter(|_| looked.verdict.state == "up") {
            self.note_address(work, settings, url);
        }
        let telephone = work.phone.shown();
        let now = self.now();
        *self.tunnelling.status() = Some(TunnelStatus {
            provider: name.into(),
            state: looked.verdict.state.into(),
            message: looked.verdict.message.clone(),
            hint: looked.verdict.hint.clone(),
            url: looked.verdict.url.clone(),
            up_since: looked.up_since.map(rfc3339),
            checked_at: Some(rfc3339(now)),
            next_at: Some(rfc3339(now + looked.next_ms)),
            starts,
            adopted: looked.adopted,
            forward: settings.forward,
            telephone,
        });
        Ok(looked)
    }

    /// Proves that a public address leads to this brain.
    ///
    /// # Errors
    /// Why it is not proved, in words.
    fn prove_address(&self, settings: &Settings, url: &str) -> Result<(), String> {
        let text = || random::text::<32>(&*self.grants.random).map_err(|fault| fault.message);
        let proof = Proof::new(url, text()?, text()?)?;
        *self.tunnelling.proof() = Some(proof.clone());
        // The owner may name an address of their own network, and a tailnet has its own addresses.
        let public = settings.domain.is_none() && settings.provider != Kind::Tailscale;
        let asked = proof.ask(&*self.net, public);
        *self.tunnelling.proof() = None;
        asked
    }

    /// Looks until the tunnel is up or cannot be, or nobody wants it any more, at most so long.
    ///
    /// # Errors
    /// As [`Brain::look`].
    pub(super) fn settle_tunnel(
        &self,
        work: &mut Work,
        settings: &Settings,
        within: Duration,
    ) -> Result<Looked, Fault> {
        let began = Instant::now();
        loop {
            let looked = self.look(work, settings)?;
            // What is still on its way: an agent that starts, or has started and connects.
            let going =
                matches!(looked.verdict.state, "agent_down" | "not_connected" | "unreachable")
                    && !looked.adopted;
            let given_up = self.is_stopping() || self.tunnelling.unwanted.load(Ordering::SeqCst);
            if !(going || looked.started) || began.elapsed() >= within || given_up {
                return Ok(looked);
            }
            sleep(LOOK);
        }
    }

    /// Tells what was seen, when it is something else than the last time.
    fn tell(&self, work: &mut Work, looked: &Looked) {
        let verdict = &looked.verdict;
        let seen = (verdict.state.to_owned(), verdict.message.clone());
        if work.told.as_ref() == Some(&seen) {
            return;
        }
        if !looked.started {
            let adopted = if looked.adopted { " (somebody else started the agent)" } else { "" };
            let hint = verdict.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            let line = format!("[watchdog] {}: {}{adopted}{hint}", verdict.state, verdict.message);
            match verdict.state {
                "up" | "stopped" => tracing::info!("{line}"),
                _ => tracing::warn!("{line}"),
            }
        }
        work.told = Some(seen);
    }

    /// Keeps the address, and tells who must be told when it is another one.
    fn note_address(&self, work: &mut Work, settings: &Settings, url: &str) {
        *self.tunnelling.address.write().unwrap_or_else(PoisonError::into_inner) =
            Some(url.to_owned());
        let kept = work.kept(&self.home);
        if kept.address.as_deref() == Some(url) {
            return;
        }
        let before = kept.address.replace(url.to_owned());
        if let Err(fault) = kept.save(&self.home) {
            tracing::warn!("[watchdog] {fault}");
        }
        let Some(before) = before else {
            return tracing::info!("[watchdog] the public address is {url}");
        };
        let clients = self
            .client_list(&ClientList { all: false })
            .map(|list| list.clients)
            .unwrap_or_default();
        let names: Vec<String> =
            clients.into_iter().map(|client| format!("\"{}\"", client.client_name)).collect();
        let told = match names.is_empty() {
            true => "no client is registered that had to be told".to_owned(),
            false => format!("these clients must be told: {}", names.join(", ")),
        };
        let fixed = match &settings.domain {
            Some(_) => "",
            None => "; tunnel.domain keeps it the same",
        };
        tracing::warn!(
            "[watchdog] the public address has changed from {before} to {url}; {told}{fixed}"
        );
    }
}
