//! One brain on several machines: setup, state, and the work in the background.
//!
//! `access` finds URLs and keys, `plan`, `init` and `join` set sharing up, `swap` exchanges the
//! store at the start after a join, `administration` lists and removes machines, `rotation`
//! replaces the key, `status` and `health` describe the state. The crate `brain-machines` has the
//! log, leases and snapshots.

mod access;
mod administration;
mod health;
mod init;
mod join;
mod lease_table;
mod plan;
mod rotation;
mod status;
mod swap;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::server::open_log;
use crate::{
    BootClock, Condition, Engine, Identity, Keyring, LeaseKeeper, MachineLog, RENEWAL, Replica,
    RootKey, ServerSecrets,
};
use brain_base::clock::Clock;
use brain_base::durable::unfinished_path;
use brain_base::home::{Home, create_private_dir};
use brain_base::outgoing::OutgoingLog;
use brain_base::random::RandomSource;
use brain_base::secrets::Secrets;
use brain_base::{leases, write_fault};
use brain_protocol::{Command, Fault, FaultCode, MachineState, hint};
use brain_store::{AppendResult, LogBatch, LogPosition, SharedLog, Store, StoreError};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use lease_table::LeaseTable;
use swap::{JOINING, PendingJoin, REGISTERED, SETUP_DIR};
pub use swap::{KEPT_PAGES, complete_join};

/// The time between two looks whether a snapshot is due.
const SNAPSHOT_CHECK: Duration = Duration::from_secs(60);
/// The pause after a failed snapshot.
const SNAPSHOT_RETRY: Duration = Duration::from_secs(10 * 60);

/// The files of snapshots in [`SETUP_DIR`], while one is sent and received.
const SENT_SNAPSHOT: &str = "snapshot";
const RECEIVED_SNAPSHOT: &str = "received";
/// The directory in [`SETUP_DIR`] of the copy that `init` compares with the store.
const CHECK_DIR: &str = "check";

/// What [`MachineService`] uses besides the store.
pub struct MachineEnvironment {
    /// The home directory.
    pub home: Home,
    /// The size of a store's cache in bytes.
    pub cache_bytes: usize,
    /// The free space in bytes that a store keeps.
    pub min_free_bytes: u64,
    /// How old the last answer of the log may be while tokens are accepted.
    pub max_token_age: Duration,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and keys.
    pub random: Arc<dyn RandomSource>,
    /// The secrets.
    pub secrets: Arc<Secrets>,
    /// The log in which connections are recorded before they are made.
    pub outgoing: Arc<dyn OutgoingLog>,
    /// Cancelled when long work should end.
    pub stop: CancellationToken,
}

/// The machines of this brain.
pub struct MachineService {
    env: MachineEnvironment,
    store: Arc<Store>,
    leases: Arc<LeaseTable>,
    state: RwLock<Membership>,
    /// Tells the workers that the state changed.
    changed: watch::Sender<()>,
    /// Held by operations that change whether the brain is shared.
    setup: Mutex<()>,
}

/// Whether the brain is shared.
#[derive(Clone)]
enum Membership {
    /// The brain is on this machine only.
    Alone,
    /// The store is shared, but this machine cannot use the log.
    Unusable(Fault),
    /// This machine uses the log.
    Member(Arc<Replica>),
}

/// The log of a store that cannot reach its log. It refuses everything.
struct RefusingLog(Fault);

impl SharedLog for RefusingLog {
    fn append(
        &self,
        _: LogPosition,
        _: &[u8],
        _: Option<&'static str>,
    ) -> Result<AppendResult, StoreError> {
        Err(StoreError::Refused(self.0.clone()))
    }

    fn read(&self, _: LogPosition) -> Result<Vec<LogBatch>, StoreError> {
        Err(StoreError::Refused(self.0.clone()))
    }

    fn wait_for_notification(&self, _: LogPosition, _: Duration) -> bool {
        false
    }

    fn clock_ahead(&self) -> i64 {
        0
    }
}

impl MachineService {
    /// Creates the service, and gives a shared store its log. Does not wait for the server.
    pub fn new(env: MachineEnvironment, store: Arc<Store>, leases: Arc<LeaseTable>) -> Self {
        let service = Self {
            env,
            store,
            leases,
            state: RwLock::new(Membership::Alone),
            changed: watch::channel(()).0,
            setup: Mutex::new(()),
        };
        service.remove_leftovers();
        service.attach();
        service
    }

    /// Removes files of an `init`, a `join` or a snapshot that a crash interrupted, unless a built
    /// store waits.
    fn remove_leftovers(&self) {
        if self.env.home.is_read_only() || PendingJoin::exists(&self.env.home) {
            return;
        }
        let files = [self.env.home.machines(), self.file(REGISTERED), self.file(JOINING)];
        for file in files {
            let _ = std::fs::remove_file(unfinished_path(&file));
        }
        let dir = self.file(SETUP_DIR);
        if let Err(error) = std::fs::remove_dir_all(&dir)
            && error.kind() != ErrorKind::NotFound
        {
            let dir = dir.display();
            tracing::warn!(%error, %dir, "cannot remove the files of an interrupted setup");
        }
    }

    /// Gives a shared store its log.
    fn attach(&self) {
        let path = self.env.home.machines();
        let machine = match self.store.machine() {
            Ok(Some(machine)) => machine,
            Ok(None) => {
                // An `init` or `leave` that a crash interrupted may have left the file.
                if path.exists()
                    && !self.env.home.is_read_only()
                    && let Err(error) = Identity::remove(&path)
                {
                    tracing::warn!(%error, file = %path.display(), "cannot remove the file");
                }
                return;
            }
            Err(error) => return self.refuse(Fault::from(error)),
        };
        match self.stored_identity(machine).and_then(|identity| self.connect(identity)) {
            Ok(replica) => self.install(replica),
            Err(fault) => {
                tracing::error!(%fault, "this machine cannot use its server");
                self.refuse(fault);
            }
        }
    }

    /// Reads the identity of a shared store.
    fn stored_identity(&self, machine: u128) -> Result<Identity, Fault> {
        let path = self.env.home.machines();
        let shown = path.display();
        let problem = match Identity::load(&path) {
            Ok(Some(identity)) if u128::from_be_bytes(identity.machine.0) == machine => {
                return Ok(identity);
            }
            Ok(Some(_)) => format!("{shown} belongs to another store"),
            Ok(None) => format!("{shown} is missing, and the store is one of a shared brain"),
            Err(error) => format!("{shown} cannot be read: {error}"),
        };
        Err(Fault::new(FaultCode::MachineStopped, problem).hint(hint!(
            "restore that file; or {} builds this machine's store again; or {} makes it an \
             ordinary one",
            Command::MachinesJoin,
            Command::MachinesLeave
        )))
    }

    /// Prepares the use of the log with the stored secrets.
    fn connect(&self, identity: Identity) -> Result<Arc<Replica>, Fault> {
        let access = self.stored_access()?;
        let root = if identity.encrypted { Some(self.stored_root()?) } else { None };
        self.replica_of(identity, &access, root)
    }

    /// Returns what a log needs besides its secrets.
    fn log_parts(&self) -> (Arc<dyn RandomSource>, Arc<dyn OutgoingLog>) {
        (self.env.random.clone(), self.env.outgoing.clone())
    }

    /// Creates the background work of a machine. Does not wait for the server.
    fn replica_of(
        &self,
        identity: Identity,
        access: &ServerSecrets,
        root: Option<RootKey>,
    ) -> Result<Arc<Replica>, Fault> {
        let random = self.env.random.clone();
        let opened = open_log(access, &identity.namespace, identity.listens, self.log_parts());
        let engine = opened.map_err(|e| crate::fault(&e))?;
        let log = Arc::new(self.log_of(engine, identity, root));
        let leases = log.leases().clone();
        Ok(Arc::new(Replica::new(self.store.clone(), log, leases, random)))
    }

    /// Creates the log of a machine over an engine.
    fn log_of(
        &self,
        engine: Arc<dyn Engine>,
        identity: Identity,
        root: Option<RootKey>,
    ) -> MachineLog {
        let uptime = Arc::new(BootClock);
        let leases = Arc::new(LeaseKeeper::new(identity.name.clone(), uptime.clone()));
        let keyring = Keyring::new(identity.brain, root);
        let (clock, random) = (self.env.clock.clone(), self.env.random.clone());
        MachineLog::new(engine, identity, keyring, leases, clock, random, uptime)
    }

    /// Uses this replica from now on.
    fn install(&self, replica: Arc<Replica>) {
        self.store.attach_log(replica.log().clone());
        self.leases.set_keeper(replica.leases().clone());
        self.set(Membership::Member(replica));
    }

    /// Refuses writes because of this fault. Its message can name a path, which not every caller
    /// may see.
    fn refuse(&self, fault: Fault) {
        let message = "this machine cannot reach the server of its shared brain";
        let refusal = Fault { message: message.to_owned(), ..fault.clone() };
        self.store.attach_log(Arc::new(RefusingLog(refusal)));
        self.leases.set_stopped();
        self.set(Membership::Unusable(fault));
    }

    fn set(&self, state: Membership) {
        *self.state.write() = state;
        self.changed.send_replace(());
    }

    fn state(&self) -> Membership {
        self.state.read().clone()
    }

    /// Returns the replica of a shared brain.
    ///
    /// # Errors
    /// `not_set_up` if the brain is not shared; the reason if this machine cannot use the log.
    fn replica(&self) -> Result<Arc<Replica>, Fault> {
        match self.state() {
            Membership::Member(replica) => Ok(replica),
            Membership::Unusable(fault) => Err(fault),
            Membership::Alone => {
                Err(Fault::new(FaultCode::NotSetUp, "this brain is on this machine only")
                    .hint(hint!("{} shares it; see docs/machines.md", Command::MachinesInit)))
            }
        }
    }

    /// Returns a receiver of changes of the state, for the workers.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Follows the other machines for about a second. Returns when to begin the next round; `None`
    /// if the brain is not shared. Blocks.
    pub fn follow(&self) -> Option<Duration> {
        let Membership::Member(replica) = self.state() else { return None };
        if self.env.stop.is_cancelled() || self.env.home.has_moved() {
            return Some(Duration::from_secs(1));
        }
        let round = replica.follow();
        if let Condition::Stopped { stop, .. } = replica.log().condition()
            && stop.state == MachineState::WrongKey
            && let Some(_setup) = self.setup.try_lock()
            && let Err(fault) = self.adopt_new_key(&replica)
        {
            tracing::debug!(%fault, "the key of an interrupted rotation is not in use");
        }
        Some(round.pause)
    }

    /// Ends the present round of [`MachineService::follow`], and releases the leases.
    pub fn stop(&self) {
        if let Membership::Member(replica) = self.state() {
            replica.stop();
            replica.release_leases();
        }
    }

    /// Takes and renews leases. `wanted` are the tasks that are set up on this machine. Returns
    /// when to begin the next round; `None` if the brain is not shared. Blocks.
    pub fn renew_leases(&self, wanted: &[&'static str]) -> Option<Duration> {
        let Membership::Member(replica) = self.state() else { return None };
        if !self.env.stop.is_cancelled() {
            replica.leases().set_wanted(wanted.iter().copied());
            replica.renew_leases();
        }
        let is_ready = replica.log().condition() == Condition::Ready;
        Some(if is_ready { RENEWAL } else { Duration::from_secs(1) })
    }

    /// Writes a snapshot if one is due and this machine holds the lease. Returns when to look
    /// again; `None` if the brain is not shared. Blocks.
    pub fn write_snapshot_if_due(&self) -> Option<Duration> {
        let Membership::Member(replica) = self.state() else { return None };
        // `init` writes the first snapshot itself.
        let is_setup_running = self.setup.try_lock().is_none();
        if is_setup_running
            || !replica.leases().holds(leases::SNAPSHOT)
            || replica.log().condition() != Condition::Ready
        {
            return Some(SNAPSHOT_CHECK);
        }
        let due = replica.is_snapshot_due().map_err(|error| crate::fault(&error));
        let result = due.and_then(|is_due| match is_due {
            false => Ok(()),
            true => {
                let go_on = |_: u64, _: u64| {
                    !self.env.stop.is_cancelled() && replica.leases().holds(leases::SNAPSHOT)
                };
                let file = self.setup_path(SENT_SNAPSHOT)?;
                let written = replica.write_snapshot(&file, self.env.clock.now(), &go_on);
                self.remove_setup_dir();
                written.map(drop).map_err(Fault::from)
            }
        });
        match result {
            Ok(()) => Some(SNAPSHOT_CHECK),
            Err(fault) => {
                if !self.env.stop.is_cancelled() {
                    tracing::warn!(%fault, "snapshot not written");
                }
                Some(SNAPSHOT_RETRY)
            }
        }
    }

    /// Refuses calls with tokens while this machine may not know of revocations.
    ///
    /// # Errors
    /// `server_away` if the server did not answer for `machines.max_token_age`, or if this machine
    /// cannot use its server.
    pub fn check_token_age(&self) -> Result<(), Fault> {
        let replica = match self.state() {
            Membership::Alone => return Ok(()),
            Membership::Member(replica) => replica,
            // The fault can name a path, which the caller must not see.
            Membership::Unusable(_) => {
                let message = "this machine cannot follow the other machines, so the token may \
                               have been revoked meanwhile";
                return Err(Fault::new(FaultCode::ServerAway, message).hint(hint!(
                    "try again later; the owner finds the reason in {}",
                    Command::Doctor
                )));
            }
        };
        let limit = self.env.max_token_age;
        if replica.log().age().is_some_and(|age| age <= limit) {
            return Ok(());
        }
        let message = format!(
            "this machine has not heard from the other machines for {} s, so the token may have \
             been revoked meanwhile",
            limit.as_secs()
        );
        Err(Fault::new(FaultCode::ServerAway, message)
            .hint("try again later; the owner can raise machines.max_token_age"))
    }

    /// Describes how old reads are, while the server is away or this machine has stopped.
    #[must_use]
    pub fn degraded(&self) -> Option<String> {
        let replica = match self.state() {
            Membership::Alone => return None,
            // The fault can name a path, which not every caller may see.
            Membership::Unusable(_) => {
                return Some("this machine cannot follow the others: pages may be old".to_owned());
            }
            Membership::Member(replica) => replica,
        };
        let age = match replica.log().age() {
            Some(age) => format!("pages are as of {} ago", in_words(age)),
            None => "pages are as of the last run of this daemon".to_owned(),
        };
        match replica.log().condition() {
            Condition::Starting | Condition::Ready => None,
            Condition::Away { .. } => {
                Some(format!("the server of this shared brain is away: {age}"))
            }
            Condition::Stopped { stop, .. } => {
                let state = stop.state;
                Some(format!("this machine does not follow the others ({state}): {age}"))
            }
        }
    }

    /// Returns a path in [`SETUP_DIR`], which it creates.
    fn setup_path(&self, name: &str) -> Result<PathBuf, Fault> {
        let dir = self.file(SETUP_DIR);
        create_private_dir(&dir).map_err(|e| write_fault(&dir, e))?;
        Ok(dir.join(name))
    }

    /// Removes [`SETUP_DIR`] if it is empty.
    fn remove_setup_dir(&self) {
        let _ = std::fs::remove_dir(self.file(SETUP_DIR));
    }

    /// Returns the path of a file in the home.
    fn file(&self, name: &str) -> PathBuf {
        self.env.home.root().join(name)
    }

    /// Returns the path of a file or directory in the home with the first number at which nothing
    /// of these names exists.
    fn free_number(&self, names: &[&str]) -> u32 {
        let is_taken = |n: &u32| {
            names.iter().any(|name| self.file(&format!("{name}{n}")).symlink_metadata().is_ok())
        };
        (1..).find(|n| !is_taken(n)).unwrap_or(u32::MAX)
    }
}

/// Writes a duration in its largest unit.
fn in_words(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} minutes", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} hours", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
