//! The tunnel as the brain has it: setting it up, starting, stopping, how it is, and what came through it.
//!
//! `look` is the watchdog's turn, `setup` walks the steps, `phone` keeps the telephone number with the address, `kept` is what outlives the
//! daemon, `inspect` has the requests that came through it, and replays what they left in the queue, `standing` is for `doctor`.

mod inspect;
mod kept;
mod look;
mod phone;
mod setup;
mod standing;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use brain_protocol::{Fault, FaultCode, TunnelStatus};
use tokio::sync::Notify;

use super::Brain;
use brain_base::secrets::Found;
use brain_tunnel::{Keeper, Proof, Settings, Starter, SystemStarter};

pub use inspect::PublicRequest;

use inspect::Ring;
use kept::Kept;
use phone::Phone;
pub(super) use standing::Standing;

/// The name of the secret with the agent's token.
const TOKEN: &str = "tunnel-authtoken";

/// The tunnel, in this process.
#[derive(Default)]
pub(super) struct Tunnelling {
    /// Held by whoever looks: a look may take as long as the network lets it.
    work: Mutex<Work>,
    /// What the last look saw.
    status: Mutex<Option<TunnelStatus>>,
    /// The address that the tunnel had when it was last proved to lead here.
    address: RwLock<Option<String>>,
    /// What is asked of a public address at the moment.
    proof: Mutex<Option<Proof>>,
    /// What starts programs.
    starter: OnceLock<Arc<dyn Starter>>,
    /// Somebody wants it stopped, and waits for the work's lock: whoever waits for a tunnel with the lock gives up.
    unwanted: AtomicBool,
    /// Rings when there is something to look at before its time.
    wake: Notify,
    /// What came in at the public listener.
    requests: Ring,
}

/// What a look changes.
#[derive(Default)]
struct Work {
    keeper: Option<Keeper>,
    /// What outlives the daemon; `None` until it was read.
    kept: Option<Kept>,
    phone: Phone,
    /// State and message that were told last.
    told: Option<(String, String)>,
}

impl Tunnelling {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self) -> MutexGuard<'_, Option<TunnelStatus>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn proof(&self) -> MutexGuard<'_, Option<Proof>> {
        self.proof.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self) -> Option<String> {
        self.address.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn starter(&self) -> Arc<dyn Starter> {
        Arc::clone(self.starter.get_or_init(|| Arc::new(SystemStarter::default())))
    }
}

impl Brain {
    /// What starts the tunnel's agent, instead of the system as it is. Once, before the first look.
    pub fn set_starter(&self, starter: Arc<dyn Starter>) {
        if self.tunnelling.starter.set(starter).is_err() {
            tracing::warn!("what starts programs was set already");
        }
    }

    /// The address at which this brain is reached from outside, without a slash at its end: the configured one, else the tunnel's fixed name, else
    /// the one that the tunnel had when it was last proved to lead here.
    #[must_use]
    pub fn public_address(&self) -> Option<String> {
        if let Some(url) = self.config.http_base_url() {
            return Some(url.to_owned());
        }
        let fixed = self.config.tunnel().and_then(|settings| settings.domain);
        fixed.map(|domain| format!("https://{domain}")).or_else(|| self.tunnelling.address())
    }

    /// Returns the answer to the watchdog's question, if a request that is addressed to `host` has
    /// it: the request came through the public address that is being asked. Once for each question.
    #[must_use]
    pub fn tunnel_proof(&self, host: &str, question: &str) -> Option<String> {
        let mut asked = self.tunnelling.proof();
        let answer = asked.as_ref()?.answered(host, question)?;
        *asked = None;
        Some(answer)
    }

    /// Lets the watchdog look before its time.
    pub fn look_at_tunnel(&self) {
        self.tunnelling.wake.notify_one();
    }

    /// Returns when there is something to look at before its time.
    pub async fn tunnel_changes(&self) {
        self.tunnelling.wake.notified().await;
    }

    pub(super) fn tunnel_start(&self) -> Result<TunnelStatus, Fault> {
        let settings = self.tunnel_settings()?;
        let mut work = self.tunnelling.work();
        self.want(&mut work, true)?;
        let keeper = work.keeper(&settings);
        keeper.forget();
        let looked = self.settle_tunnel(&mut work, &settings, look::START);
        drop(work);
        self.tunnelling.wake.notify_one();
        let _ = looked?;
        self.tunnel_status()
    }

    pub(super) fn tunnel_stop(&self) -> Result<TunnelStatus, Fault> {
        let settings = self.tunnel_settings()?;
        self.tunnelling.unwanted.store(true, Ordering::SeqCst);
        let mut work = self.tunnelling.work();
        self.tunnelling.unwanted.store(false, Ordering::SeqCst);
        self.want(&mut work, false)?;
        if work.keeper(&settings).stop() {
            tracing::info!("[watchdog] ended the agent: `brain tunnel stop`");
        }
        self.look(&mut work, &settings)?;
        drop(work);
        self.tunnelling.wake.notify_one();
        self.tunnel_status()
    }

    pub(super) fn tunnel_status(&self) -> Result<TunnelStatus, Fault> {
        let Some(settings) = self.config.tunnel() else { return Ok(self.no_tunnel()) };
        if let Some(status) = self.tunnelling.status().clone() {
            return Ok(status);
        }
        // Nobody has looked yet.
        let mut work = self.tunnelling.work();
        self.look(&mut work, &settings)?;
        drop(work);
        Ok(self.tunnelling.status().clone().unwrap_or_else(|| self.no_tunnel()))
    }

    /// Ends the agent that the daemon started, if there is one. Blocks until it is gone.
    pub fn end_tunnel(&self) {
        if let Some(keeper) = &mut self.tunnelling.work().keeper
            && keeper.stop()
        {
            tracing::info!("[watchdog] ended the agent, as the daemon ends");
        }
    }

    /// The status where no tunnel is configured.
    fn no_tunnel(&self) -> TunnelStatus {
        TunnelStatus {
            provider: "none".into(),
            state: "off".into(),
            message: "no tunnel is configured".into(),
            hint: Some("set tunnel.provider in config.toml to ngrok, cloudflared or tailscale, and restart the daemon".into()),
            url: self.public_address(),
            up_since: None,
            checked_at: None,
            next_at: None,
            starts: 0,
            adopted: false,
            forward: self.config.tunnel_forward(),
            telephone: None,
        }
    }

    /// What the tunnel goes by.
    ///
    /// # Errors
    /// `not_set_up` when none is configured.
    fn tunnel_settings(&self) -> Result<Settings, Fault> {
        self.config.tunnel().ok_or_else(|| {
            let none = self.no_tunnel();
            Fault::new(FaultCode::NotSetUp, none.message).hint(none.hint.unwrap_or_default())
        })
    }

    /// The agent's token, if there is one. Looked for anew each time, so that a new one needs no restart.
    fn tunnel_token(&self) -> Result<Option<Found>, Fault> {
        self.secrets.find(TOKEN, self.config.tunnel_token_file(&self.home).as_deref())
    }

    /// Whether the tunnel is to be up, from now on and after a restart.
    fn want(&self, work: &mut Work, wanted: bool) -> Result<(), Fault> {
        let kept = work.kept(&self.home);
        if kept.stopped == wanted {
            kept.stopped = !wanted;
            kept.save(&self.home)?;
        }
        Ok(())
    }
}

impl Work {
    fn keeper(&mut self, settings: &Settings) -> &mut Keeper {
        self.keeper.get_or_insert_with(|| Keeper::new(settings.clone()))
    }
}
