//! Wire types of `brain machines`: one brain on several machines, through a server.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Hint, Secret};

/// How a machine reaches the server of a shared brain. Secrets that are missing here are looked
/// for in the environment, the credentials of systemd and the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct MachinesAccess {
    /// The URL of the server, or of a pooler before it.
    pub url: Option<Secret>,
    /// The URL of the server without a pooler.
    pub direct_url: Option<Secret>,
    /// The 24 words of the key.
    pub key: Option<Secret>,
    /// The name of this machine; by default the host's name.
    pub name: Option<String>,
    /// The PostgreSQL schema of the tables; by default `brain`.
    pub namespace: Option<String>,
    /// Whether the server must not see the content. Only for `init`.
    pub encrypt: bool,
}

words! {
    /// What a plan is about.
    MachinesAction {
        /// This brain becomes the first machine of a shared one.
        Init = "init",
        /// This machine joins a shared brain, again if it is one of its machines.
        Join = "join",
    }
}

/// Shows what `brain machines init` or `join` will do. Changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesPlan {
    /// What the plan is about.
    pub action: MachinesAction,
    /// How the server is reached.
    pub access: MachinesAccess,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesPlanReply {
    /// What it is about.
    pub action: MachinesAction,
    /// What the confirmation sends back. It depends on all that the plan decides.
    pub plan: String,
    /// The name of this machine.
    pub name: String,
    /// Host, port and database of the server, without user and password.
    pub server: String,
    /// Whether the connection to the server is encrypted.
    pub tls: bool,
    /// Whether the server does not see the content.
    pub encrypted: bool,
    /// The number of active pages in this home.
    pub pages: u64,
    /// What is copied to the server (`init`) or from it (`join`), in bytes.
    pub bytes: u64,
    /// The steps, for people.
    pub steps: Vec<String>,
    /// What is unsafe or will be lost.
    pub warnings: Vec<String>,
}

/// `brain machines init`: makes this brain the first machine of a shared one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesInit {
    /// As in the plan.
    pub access: MachinesAccess,
    /// The plan that the user confirmed.
    pub plan: String,
}

/// The result of `brain machines init`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesInitReply {
    /// The name of this machine.
    pub name: String,
    /// The id of the shared brain.
    pub brain: String,
    /// The key as 24 words, which is shown once; `None` without encryption.
    pub words: Option<Secret>,
    /// The file with the store as it was before.
    pub former_store: String,
    /// The number of active pages.
    pub pages: u64,
    /// The size of the first snapshot in bytes.
    pub bytes: u64,
    /// What is unsafe.
    pub warnings: Vec<String>,
}

/// `brain machines join`: makes this home a machine of a shared brain, or builds its store again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesJoin {
    /// As in the plan.
    pub access: MachinesAccess,
    /// The plan that the user confirmed.
    pub plan: String,
}

/// The result of `brain machines join`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesJoinReply {
    /// The name of this machine.
    pub name: String,
    /// The id of the shared brain.
    pub brain: String,
    /// The number of the last batch in the new store.
    pub position: u64,
    /// The size of the snapshot in bytes; 0 if only the secrets were replaced.
    pub bytes: u64,
    /// Whether the new store is used after a restart of the daemon.
    pub needs_restart: bool,
    /// The file that will have the present store; `None` if the store stays.
    pub former_store: Option<String>,
    /// The directory that will have the present files of pages; `None` if they stay.
    pub former_pages: Option<String>,
    /// What needs attention.
    pub warnings: Vec<String>,
}

/// `brain machines list`: lists the machines of the brain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineList;

/// The machines of the brain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machines {
    /// By name.
    pub machines: Vec<MachineRow>,
}

/// A machine of a shared brain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineRow {
    /// Its name.
    pub name: String,
    /// Whether it is this one.
    pub this: bool,
    /// The number of batches that it had not applied when it reported last.
    pub behind: u64,
    /// When it reported last.
    pub seen_at: String,
    /// Its version of brain.
    pub version: String,
    /// The tasks that it runs for all machines.
    pub leases: Vec<String>,
}

/// `brain machines status`: shows how this machine follows the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesStatus;

words! {
    /// Whether this machine follows the others, or why not. `docs/machines.md` says what to do.
    MachineState {
        NotShared = "not_shared", Starting = "starting", Ready = "ready", Away = "away",
        Incomplete = "incomplete", Diverged = "diverged", Compacted = "compacted", Newer = "newer",
        Older = "older", Removed = "removed", WrongKey = "wrong_key", Forged = "forged",
        Denied = "denied", NoLog = "no_log", ServerTooOld = "server_too_old", NoFile = "no_file",
        Damaged = "damaged", OtherBrain = "other_brain", Copied = "copied",
    }

    /// How a machine ceased to be part of the shared brain.
    MachineRemoval { Left = "left", Removed = "removed" }
}

/// How this machine follows the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesStatusReply {
    /// Whether it follows them, or why not.
    pub state: MachineState,
    /// The state in words.
    pub message: String,
    /// What to do.
    pub hint: Option<Hint>,
    /// Since when the server is away, or this machine has stopped.
    pub since: Option<String>,
    /// The name of this machine.
    pub name: Option<String>,
    /// The id of the shared brain.
    pub brain: Option<String>,
    /// Host, port and database of the server.
    pub server: Option<String>,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// Whether the server does not see the content.
    pub encrypted: bool,
    /// `notified` or `polling`: how changes of other machines are noticed.
    pub delivery: Option<String>,
    /// The number of the last batch in this store.
    pub position: u64,
    /// The number of batches that this store lacks, as far as known.
    pub behind: u64,
    /// How long ago this store was known to have everything, in seconds; `None` if never since the
    /// start of the daemon.
    pub age_seconds: Option<u64>,
    /// The number of captures and items that wait for the server.
    pub queued: u64,
    /// The tasks that run on one machine only.
    pub leases: Vec<LeaseRow>,
    /// How far the server's clock is ahead of this machine's, in milliseconds.
    pub clock_difference_ms: Option<i64>,
    /// When the newest snapshot was made.
    pub snapshot_at: Option<String>,
    /// The number of batches since the newest snapshot.
    pub since_snapshot: Option<u64>,
    /// What is unsafe.
    pub warnings: Vec<String>,
}

/// A task that runs on one machine only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRow {
    /// The name, such as `collector`.
    pub name: String,
    /// The machine that runs it; `None` if unknown.
    pub holder: Option<String>,
    /// Whether it is this machine.
    pub this: bool,
}

/// `brain machines leave`: makes the store of this machine an ordinary one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesLeave;

/// `brain machines remove`: removes another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineRemove {
    /// The machine's name.
    pub name: String,
}

/// The result of `leave` and `remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineRemoveReply {
    /// What happened.
    pub status: MachineRemoval,
    /// The machine's name.
    pub name: String,
    /// What needs attention.
    pub warnings: Vec<String>,
}

/// `brain machines rotate-key`: replaces the key of the brain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesRotateKey;

/// The new key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinesRotateKeyReply {
    /// The key as 24 words, which is shown once.
    pub words: Secret,
    /// What needs attention.
    pub warnings: Vec<String>,
}
