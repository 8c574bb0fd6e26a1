//! Whether this machine can use the log, and how errors of the log become errors of the store.

use brain_commit_log::Error;
use brain_protocol::{Command, Fault, FaultCode, Hint, MachineState, hint};
use brain_store::StoreError;

use crate::payload::Problem;

/// Whether this machine can use the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The log was not called yet.
    Starting,
    /// The last call succeeded.
    Ready,
    /// The server does not answer.
    Away {
        /// What failed.
        reason: String,
        /// When the first call failed, in Unix milliseconds of this machine.
        since: i64,
    },
    /// This machine cannot follow the others before its owner acts.
    Stopped {
        /// Why.
        stop: StopReason,
        /// When this was noticed, in Unix milliseconds of this machine.
        since: i64,
    },
}

/// Why a machine stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopReason {
    /// The state, as in `docs/machines.md`.
    pub state: MachineState,
    /// What happened, and the way out.
    pub fault: Fault,
}

/// What a failed call means.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The server does not answer or accepts no writes. Nothing was changed.
    Away(String),
    /// The machine stops.
    Stopped(StopReason),
    /// This call is refused. Others can succeed.
    Refused(Fault),
    /// The batch may be in the log or not.
    Unknown(Fault),
}

/// What to do about a program that lacks the engine.
pub(crate) const BUILD_HINT: &str =
    "use a brain-daemon that is built with the feature `machines`, which is on by default";

/// Payloads above this size can exceed a time limit of a server that is not overloaded.
const LARGE: usize = 1 << 20;

impl Failure {
    /// Classifies an error of a call that sent a payload of `bytes` bytes.
    pub(crate) fn of(error: &Error, bytes: usize) -> Self {
        let text = error.to_string();
        match error {
            Error::Unavailable { reason, address, .. } => {
                Self::Away(format!("{address}: {reason}"))
            }
            // What can be corrected at the server: until then, writes wait as if it were off.
            Error::ReadOnly { .. }
            | Error::DiskFull { .. }
            | Error::Tls { .. }
            | Error::NoDatabase { .. }
            | Error::Unsuitable { .. } => Self::Away(text),
            Error::Timeout { .. } if bytes <= LARGE => Self::Away(text),
            Error::Timeout { .. } => Self::Refused(Fault::new(FaultCode::Timeout, text)),
            Error::OutcomeUnknown { source, .. } => Self::Unknown(outcome_unknown(source)),
            Error::Moved(_) => Self::Away("other machines write first; try again".to_owned()),
            Error::Fenced { lease } => Self::Refused(no_lease(lease)),
            Error::TooLarge { .. } => Self::Refused(Fault::new(FaultCode::TooLarge, text)),
            Error::Random(_) => Self::Refused(Fault::new(FaultCode::Io, text)),
            Error::NameTaken { .. }
            | Error::KeysChanged
            | Error::NotFound(_)
            | Error::SnapshotNeeded
            | Error::AlreadyCreated { .. } => Self::Refused(Fault::new(FaultCode::Conflict, text)),
            Error::InvalidWords(_) | Error::InvalidUrl(_) => {
                Self::Refused(Fault::new(FaultCode::InvalidRequest, text))
            }
            _ => Self::Stopped(stop(error, text)),
        }
    }

    /// Returns the failure as the store's error. Any caller of a write can see it, so it names no
    /// server, database or user.
    pub(crate) fn into_store_error(self) -> StoreError {
        match self {
            Self::Away(reason) => StoreError::Away(reason),
            Self::Stopped(stop) => {
                let message = format!("this machine does not follow the others ({})", stop.state);
                let fault = Fault::new(FaultCode::MachineStopped, message);
                StoreError::Refused(Fault { hint: stop.fault.hint, ..fault })
            }
            Self::Unknown(fault) => {
                let message = "the connection to the server broke during the write";
                StoreError::Refused(Fault { message: message.to_owned(), ..fault })
            }
            Self::Refused(fault) => StoreError::Refused(fault),
        }
    }
}

/// Returns the error of an operation on the log as a fault for the owner, who sees all details.
#[must_use]
pub fn fault(error: &Error) -> Fault {
    match Failure::of(error, 0) {
        Failure::Away(reason) => {
            let message = format!("the server of this shared brain does not answer: {reason}");
            Fault::new(FaultCode::ServerAway, message)
                .hint("check the server, the network and the URL; then try again")
        }
        Failure::Stopped(stop) => stop.fault,
        Failure::Refused(fault) | Failure::Unknown(fault) => fault,
    }
}

/// Returns the state in which a machine stops after this error.
fn stop(error: &Error, text: String) -> StopReason {
    let state = match error {
        Error::Diverged { .. } => MachineState::Diverged,
        Error::Compacted { .. } => MachineState::Compacted,
        Error::TooNew { .. } => MachineState::Newer,
        Error::NotRegistered { .. } => MachineState::Removed,
        Error::WrongKey | Error::UnknownKey(_) => MachineState::WrongKey,
        Error::Forged(_) => MachineState::Forged,
        Error::Denied { .. } => MachineState::Denied,
        Error::NotCreated { .. } => MachineState::NoLog,
        Error::ServerTooOld { .. } => MachineState::ServerTooOld,
        Error::File { .. } => MachineState::NoFile,
        Error::NotBuilt => MachineState::Incomplete,
        _ => MachineState::Damaged,
    };
    StopReason { state, fault: Fault::new(FaultCode::MachineStopped, text).hint(way_on(state)) }
}

/// Returns what the user can do about a state after an error of the log.
fn way_on(state: MachineState) -> Hint {
    match state {
        MachineState::Diverged => hint!(
            "the server was restored, it failed over and lost changes, or a former primary \
             server is back and answers; if one is, stop it: this machine goes on when it \
             reaches the right server. Otherwise {} builds this machine's store again from \
             the server, and keeps the present one as a file with what the server lost and \
             with its queued items; docs/machines.md, section \"What a former store has\", \
             says how to get them back",
            Command::MachinesJoin
        ),
        MachineState::Compacted => hint!(
            "this machine was away too long; {} builds its store again from a snapshot, and \
             keeps the present one as a file",
            Command::MachinesJoin
        ),
        MachineState::Newer => "update brain on this machine; reads go on meanwhile".into(),
        MachineState::Removed => hint!(
            "{} adds this machine again; {} makes its store an ordinary one",
            Command::MachinesJoin,
            Command::MachinesLeave
        ),
        MachineState::WrongKey => hint!(
            "the key was replaced on another machine; give this machine the new words: {}",
            Command::MachinesJoinKey
        ),
        MachineState::Forged => hint!(
            "someone changed the server's data, or it belongs to another brain; restore the \
             server from its backup, then {} on each machine",
            Command::MachinesJoin
        ),
        MachineState::Denied => hint!(
            "correct the user's rights on the server, or give this machine another URL: {}",
            Command::MachinesJoinUrl
        ),
        MachineState::NoLog => hint!(
            "the server's tables are missing; restore the server from its backup, or give this \
             machine another URL: {}",
            Command::MachinesJoinUrl
        ),
        MachineState::ServerTooOld => "update the server to PostgreSQL 14".into(),
        MachineState::NoFile => {
            "correct the path in the server's URL, or make the file readable".into()
        }
        MachineState::Incomplete => BUILD_HINT.into(),
        _ => hint!(
            "restore the server from its backup; or make this machine's store an ordinary one, \
             {}, and share it again in another database",
            Command::MachinesLeave
        ),
    }
}

/// Returns the state of a machine whose server has another brain's log.
pub(crate) fn other_brain(address: &str) -> StopReason {
    let message = format!("the log at {address} belongs to another brain; nothing was read");
    StopReason {
        state: MachineState::OtherBrain,
        fault: Fault::new(FaultCode::MachineStopped, message).hint(hint!(
            "give this machine the URL of its own brain: {}",
            Command::MachinesJoinUrl
        )),
    }
}

/// Returns the state of a machine whose identity another process uses.
pub(crate) fn copied(name: &str) -> StopReason {
    let message = format!(
        "another computer or home runs as \"{name}\": it has a copy of this home, with the same \
         machines.json"
    );
    StopReason {
        state: MachineState::Copied,
        fault: Fault::new(FaultCode::MachineStopped, message).hint(hint!(
            "on the copy, stop brain, remove machines.json from its home, start brain, and run {}; \
             then restart brain here",
            Command::MachinesJoinAs
        )),
    }
}

/// Returns the state of a machine that cannot use the payload of a batch.
pub(crate) fn unusable(number: u64, problem: Problem) -> StopReason {
    let known = crate::SCHEMA;
    let (state, message, hint) = match problem {
        Problem::Schema(schema) if schema > known => (
            MachineState::Newer,
            format!("change {number} has schema {schema}, and this program knows {known}"),
            "update brain on this machine; reads go on meanwhile".into(),
        ),
        Problem::Schema(schema) => (
            MachineState::Older,
            format!("change {number} has schema {schema}, older than this program's {known}"),
            hint!(
                "{} builds this machine's store again from a snapshot; update brain on all \
                 machines",
                Command::MachinesJoin
            ),
        ),
        Problem::Format => (
            MachineState::Newer,
            format!("change {number} has a format that this program does not know"),
            "update brain on this machine; reads go on meanwhile".into(),
        ),
    };
    StopReason { state, fault: Fault::new(FaultCode::MachineStopped, message).hint(hint) }
}

/// Returns the fault of a task whose lease another machine holds.
pub(crate) fn no_lease(lease: &str) -> Fault {
    let message = format!("this machine does not hold the lease \"{lease}\"; nothing was written");
    Fault::new(FaultCode::Conflict, message)
        .hint(hint!("another machine runs this task; {} says which", Command::MachinesList))
}

fn outcome_unknown(source: &Error) -> Fault {
    let reason = match source {
        // Without its advice: the hint has another.
        Error::Unavailable { reason, address, .. } => format!("{address}: {reason}"),
        source => source.to_string(),
    };
    let message = format!("the connection to the server broke during the write ({reason})");
    Fault::new(FaultCode::OutcomeUnknown, message).hint(hint!(
        "look at the page when {} says ready: the write may be stored or not",
        Command::MachinesStatus
    ))
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use brain_commit_log::BatchId;

    use super::*;

    #[test]
    fn what_the_server_can_correct_is_as_an_absent_server() {
        let address = || "db.example.org:5432/brain".to_owned();
        for error in [
            Error::Tls { address: address(), reason: "certificate expired".to_owned() },
            Error::NoDatabase {
                host: address(),
                database: "brain".to_owned(),
                advice: "create it",
            },
            Error::Unsuitable {
                address: address(),
                reason: "statement pooling".to_owned(),
                advice: "set pool_mode".to_owned(),
            },
        ] {
            let Failure::Away(reason) = Failure::of(&error, 0) else { panic!("{error:?}") };
            assert_eq!(reason, error.to_string(), "the reason has the way out");
        }
    }

    #[test]
    fn an_unknown_outcome_names_its_cause_without_further_advice() {
        let source = Error::Unavailable {
            address: "db.example.org:5432/brain".to_owned(),
            reason: "connection reset by peer".to_owned(),
            source: None,
        };
        let error = Error::OutcomeUnknown { batch: BatchId([7; 16]), source: Box::new(source) };
        let fault = fault(&error);
        assert_eq!(
            fault.message,
            "the connection to the server broke during the write (db.example.org:5432/brain: \
             connection reset by peer)"
        );
        assert!(fault.hint.is_some_and(|hint| hint.to_string().contains("look at the page")));
    }
}
