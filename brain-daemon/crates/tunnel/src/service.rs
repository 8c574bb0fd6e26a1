//! The tunnel operations: setup, start, stop, status and request log.
//!
//! `watchdog` runs the checks, `setup` the guided steps, `telephone` keeps a telephone number at
//! the address, `state_file` persists state, `requests` lists and replays requests, `health` serves
//! `doctor`.

mod health;
mod requests;
mod setup;
mod state_file;
mod telephone;
mod watchdog;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use brain_protocol::{Command, Fault, FaultCode, TunnelState, TunnelStatusReply};
use parking_lot::{Mutex, MutexGuard, RwLock};
use requests::RequestLog;
use state_file::PersistentState;
use telephone::WebhookState;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{Proof, RecordingStarter, RefusingStarter, Settings, Starter, SystemStarter, Watchdog};
use brain_access::Access;
use brain_base::clock::Clock;
use brain_base::exposure::writable_by_others;
use brain_base::home::Home;
use brain_base::leases::LeaseHolder;
use brain_base::outgoing::OutgoingLog;
use brain_base::random::RandomSource;
use brain_base::secrets::{FoundSecret, Secrets};
use brain_ingest::IngestService;
use brain_net::HttpClient;
use brain_store::Store;

pub use telephone::TelephoneNumber;

/// The name of the secret with the agent's token.
const TOKEN: &str = "tunnel-authtoken";

/// The state of the tunnel in this process.
#[derive(Default)]
pub(crate) struct TunnelRuntime {
    /// Locked during a check, which may take as long as the network timeouts.
    watchdog_state: Mutex<WatchdogState>,
    /// The status at the last check.
    status: Mutex<Option<TunnelStatusReply>>,
    /// The address that was last proved to lead here.
    address: RwLock<Option<String>>,
    /// The proof in progress.
    proof: Mutex<Option<Proof>>,
    /// Starts programs.
    starter: OnceLock<Arc<dyn Starter>>,
    /// Set by `brain tunnel stop`, so that a check that waits for the tunnel releases the lock.
    stop_requested: AtomicBool,
    /// Wakes the watchdog before its next interval.
    wake: Notify,
    /// Requests at the public listener.
    requests: RequestLog,
}

/// The state that a check changes.
#[derive(Default)]
struct WatchdogState {
    watchdog: Option<Watchdog>,
    /// Persistent state; `None` until loaded.
    persistent_state: Option<PersistentState>,
    webhook_state: WebhookState,
    /// State and message that were logged last.
    last_logged: Option<(String, String)>,
}

impl TunnelRuntime {
    /// Locks the state that a check changes.
    fn lock_watchdog(&self) -> MutexGuard<'_, WatchdogState> {
        self.watchdog_state.lock()
    }

    fn status(&self) -> MutexGuard<'_, Option<TunnelStatusReply>> {
        self.status.lock()
    }

    fn proof(&self) -> MutexGuard<'_, Option<Proof>> {
        self.proof.lock()
    }

    fn address(&self) -> Option<String> {
        self.address.read().clone()
    }

    fn starter(&self) -> Arc<dyn Starter> {
        Arc::clone(self.starter.get_or_init(|| Arc::new(SystemStarter::default())))
    }
}

/// What [`TunnelService`] uses besides other services.
pub struct TunnelEnvironment {
    /// The home directory.
    pub home: Home,
    /// The configured tunnel, if there is one.
    pub settings: Option<Settings>,
    /// The port that the tunnel forwards to: `tunnel.forward`.
    pub forward: u16,
    /// The configured file with the agent's token.
    pub token_file: Option<PathBuf>,
    /// The configured public address, without a trailing slash.
    pub base_url: Option<String>,
    /// The configured address of the public listener.
    pub public: Option<SocketAddr>,
    /// The file of the configuration, which names programs.
    pub config_file: PathBuf,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of questions for proofs.
    pub random: Arc<dyn RandomSource>,
    /// The secrets.
    pub secrets: Arc<Secrets>,
    /// The client that asks agents and the public address.
    pub net: Arc<dyn HttpClient>,
    /// The log of outgoing requests, for the starts of agents.
    pub outgoing: Arc<dyn OutgoingLog>,
    /// Tells whether this machine keeps the address.
    pub leases: Arc<dyn LeaseHolder>,
    /// Cancelled when the daemon stops: then no agent is started.
    pub stop: CancellationToken,
}

/// Returns how other users can change the configuration, or replace its file.
fn exposed(env: &TunnelEnvironment) -> Option<String> {
    let paths = [env.home.root(), &env.config_file];
    paths.into_iter().find_map(writable_by_others)
}

/// The public tunnel.
pub struct TunnelService {
    pub(crate) env: TunnelEnvironment,
    pub(crate) store: Arc<Store>,
    pub(crate) access: Arc<Access>,
    pub(crate) ingest: Arc<IngestService>,
    pub(crate) state: TunnelRuntime,
    number: Box<dyn TelephoneNumber>,
    /// How other users could change the configuration when it was read.
    exposed: Option<String>,
}

impl TunnelService {
    /// Creates the service.
    pub fn new(
        env: TunnelEnvironment,
        store: Arc<Store>,
        access: Arc<Access>,
        ingest: Arc<IngestService>,
        number: Box<dyn TelephoneNumber>,
    ) -> Self {
        let exposed = exposed(&env);
        if let Some(problem) = &exposed {
            tracing::warn!("{problem}; the programs that the configuration names do not run");
        }
        Self { env, store, access, ingest, state: TunnelRuntime::default(), number, exposed }
    }

    /// Returns the starter of programs. It refuses all if other users can change the configuration,
    /// which names them, or could change it when it was read.
    fn starter(&self) -> Arc<dyn Starter> {
        match self.exposed.clone().or_else(|| exposed(&self.env)) {
            Some(problem) => Arc::new(RefusingStarter::new(problem)),
            None => {
                let starter = self.state.starter();
                Arc::new(RecordingStarter::new(starter, self.env.outgoing.clone()))
            }
        }
    }

    /// Sets the program starter, in place of the system's. It can be set once, before the first
    /// check.
    pub fn set_starter(&self, starter: Arc<dyn Starter>) {
        if self.state.starter.set(starter).is_err() {
            tracing::warn!("the starter was set already");
        }
    }

    /// Returns the public address of this brain, without a trailing slash: the configured one, else
    /// the tunnel's fixed name, else the last proved address.
    #[must_use]
    pub fn public_address(&self) -> Option<String> {
        if self.env.base_url.is_some() {
            return self.env.base_url.clone();
        }
        let fixed = self.env.settings.as_ref().and_then(|settings| settings.domain.as_ref());
        fixed.map(|domain| format!("https://{domain}")).or_else(|| self.state.address())
    }

    /// Returns the answer to `question`, if it is that of the proof in progress and the request was
    /// to the host of that proof. Each question is answered once.
    #[must_use]
    pub fn proof(&self, host: &str, question: &str) -> Option<String> {
        let mut proof = self.state.proof();
        let answer = proof.as_ref()?.answer_for(host, question)?;
        *proof = None;
        Some(answer)
    }

    /// Wakes the watchdog before its next interval.
    pub fn wake_tunnel_watchdog(&self) {
        self.state.wake.notify_one();
    }

    /// Waits until the watchdog should run early.
    pub async fn wakeup(&self) {
        self.state.wake.notified().await;
    }

    /// Starts the tunnel.
    pub fn start(&self) -> Result<TunnelStatusReply, Fault> {
        let settings = self.tunnel_settings()?;
        let mut watchdog_state = self.state.lock_watchdog();
        self.set_should_run(&mut watchdog_state, true)?;
        let watchdog = watchdog_state.watchdog(&settings);
        watchdog.reset_backoff();
        let report = self.wait_for_tunnel(&mut watchdog_state, &settings, watchdog::START_TIMEOUT);
        drop(watchdog_state);
        self.state.wake.notify_one();
        let _ = report?;
        self.status()
    }

    /// Stops the tunnel.
    pub fn stop(&self) -> Result<TunnelStatusReply, Fault> {
        let settings = self.tunnel_settings()?;
        self.state.stop_requested.store(true, Ordering::SeqCst);
        let mut watchdog_state = self.state.lock_watchdog();
        self.state.stop_requested.store(false, Ordering::SeqCst);
        self.set_should_run(&mut watchdog_state, false)?;
        if watchdog_state.watchdog(&settings).stop() {
            tracing::info!("[watchdog] ended the agent: `{}`", Command::TunnelStop);
        }
        self.run_tunnel_check(&mut watchdog_state, &settings)?;
        drop(watchdog_state);
        self.state.wake.notify_one();
        self.status()
    }

    /// Returns the state of the tunnel and its address.
    pub fn status(&self) -> Result<TunnelStatusReply, Fault> {
        let Some(settings) = &self.env.settings else {
            return Ok(self.no_tunnel());
        };
        if let Some(status) = self.state.status().clone() {
            return Ok(status);
        }
        // No check has run yet.
        let mut watchdog_state = self.state.lock_watchdog();
        self.run_tunnel_check(&mut watchdog_state, settings)?;
        drop(watchdog_state);
        Ok(self.state.status().clone().unwrap_or_else(|| self.no_tunnel()))
    }

    /// Stops the agent that the daemon started, if there is one. Blocks until it is gone.
    pub fn stop_tunnel_agent(&self) {
        if let Some(watchdog) = &mut self.state.lock_watchdog().watchdog
            && watchdog.stop()
        {
            tracing::info!("[watchdog] ended the agent because the daemon stops");
        }
    }

    /// Returns the status without a configured tunnel.
    fn no_tunnel(&self) -> TunnelStatusReply {
        TunnelStatusReply {
            provider: "none".into(),
            state: TunnelState::Off,
            message: "no tunnel is configured".into(),
            hint: Some(
                "set tunnel.provider in config.toml to ngrok, cloudflared or tailscale, and \
                        restart the daemon"
                    .into(),
            ),
            url: self.public_address(),
            up_since: None,
            checked_at: None,
            next_at: None,
            starts: 0,
            adopted: false,
            forward: self.env.forward,
            telephone: None,
        }
    }

    /// Returns the settings of the tunnel.
    ///
    /// # Errors
    /// `not_set_up` if no tunnel is configured.
    fn tunnel_settings(&self) -> Result<Settings, Fault> {
        self.env.settings.clone().ok_or_else(|| {
            let status = self.no_tunnel();
            Fault::new(FaultCode::NotSetUp, status.message).hint(status.hint.unwrap_or_default())
        })
    }

    /// Reads the agent's token. Read each time, so that a new token needs no restart.
    fn tunnel_token(&self) -> Result<Option<FoundSecret>, Fault> {
        Ok(self.env.secrets.find(TOKEN, self.env.token_file.as_deref())?)
    }

    /// Saves whether the tunnel should be up, also after a restart.
    fn set_should_run(
        &self,
        watchdog_state: &mut WatchdogState,
        should_run: bool,
    ) -> Result<(), Fault> {
        let persistent_state = watchdog_state.persistent_state(&self.env.home);
        if persistent_state.stopped == should_run {
            persistent_state.stopped = !should_run;
            persistent_state.save(&self.env.home)?;
        }
        Ok(())
    }
}

impl WatchdogState {
    fn watchdog(&mut self, settings: &Settings) -> &mut Watchdog {
        self.watchdog.get_or_insert_with(|| Watchdog::new(settings.clone()))
    }
}
