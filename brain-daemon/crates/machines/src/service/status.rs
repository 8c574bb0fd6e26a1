//! `brain machines status`, and what other replies say about the server.

use crate::{Condition, Delivery, Error, Replica, newest};
use brain_base::clock::rfc3339;
use brain_protocol::{Command, Fault, Hint, LeaseRow, MachineState, MachinesStatusReply, hint};

use brain_store::Reader;

use super::plan::durability_warnings;
use super::{MachineService, Membership, in_words};
use crate::log::CLOCK_LIMIT_MS;

impl MachineService {
    /// Describes the state of this machine, of the log and of the leases.
    pub fn status(&self) -> Result<MachinesStatusReply, Fault> {
        let mut reply = MachinesStatusReply {
            state: MachineState::NotShared,
            message: "this brain is on this machine only".into(),
            hint: Some(hint!("{} shares it", Command::MachinesInit)),
            since: None,
            name: None,
            brain: None,
            server: None,
            tls: false,
            encrypted: false,
            delivery: None,
            position: self.store.log_position()?.unwrap_or_default().number,
            behind: 0,
            age_seconds: None,
            queued: self.store.jobs_for_log()
                + self.store.read_through(Reader::job_counts)?.waiting,
            leases: Vec::new(),
            clock_difference_ms: None,
            snapshot_at: None,
            since_snapshot: None,
            warnings: Vec::new(),
        };
        match self.state() {
            Membership::Alone => {}
            Membership::Unusable(fault) => {
                reply.state = MachineState::Incomplete;
                reply.message = fault.message;
                reply.hint = fault.hint;
            }
            Membership::Member(replica) => describe(&replica, &mut reply),
        }
        Ok(reply)
    }
}

fn describe(replica: &Replica, reply: &mut MachinesStatusReply) {
    let (log, engine) = (replica.log(), replica.log().engine());
    let identity = log.identity();
    reply.name = Some(identity.name.clone());
    reply.brain = Some(identity.brain.to_string());
    reply.server = Some(engine.address().to_owned());
    reply.tls = engine.uses_tls();
    reply.encrypted = log.keyring().is_encrypted();
    reply.delivery = Some(delivery(engine.delivery()).into());
    reply.age_seconds = log.age().map(|age| age.as_secs());
    reply.leases = replica
        .leases()
        .holdings()
        .into_iter()
        .map(|lease| LeaseRow {
            name: lease.name.to_owned(),
            holder: lease.holder,
            this: lease.is_own,
        })
        .collect();
    (reply.state, reply.message, reply.hint, reply.since) = condition(log.condition());
    if reply.state == MachineState::Ready {
        if let Err(error) = ask_server(replica, reply) {
            reply.warnings.push(format!("the server does not answer: {error}"));
        }
        if let Some(problem) = replica.problem() {
            reply.warnings.push(format!("changes of other machines are not applied: {problem}"));
        }
        if reply.behind > 0 {
            reply.message = format!("{} changes behind", reply.behind);
        } else if reply.queued > 0 {
            reply.message = format!("{} queued items are not pages yet", reply.queued);
        }
    }
    if let Some((head, seen_at)) = log.last_head() {
        reply.behind = head.position.number.saturating_sub(reply.position);
        let difference = head.clock_ms - seen_at;
        reply.clock_difference_ms = Some(difference);
        if difference.abs() > CLOCK_LIMIT_MS {
            reply.warnings.push(format!(
                "the clocks of this machine and the server differ by {} s; set them by NTP",
                difference.abs() / 1_000
            ));
        }
    }
}

/// Adds what only the server knows.
fn ask_server(replica: &Replica, reply: &mut MachinesStatusReply) -> Result<(), Error> {
    let engine = replica.log().engine();
    match newest(&**engine) {
        Ok(snapshot) => {
            let head = engine.head()?.position.number;
            reply.snapshot_at = Some(rfc3339(snapshot.time_ms));
            reply.since_snapshot = Some(head.saturating_sub(snapshot.contains.number));
        }
        Err(Error::NotFound(_)) => reply.warnings.push("there is no snapshot to join from".into()),
        Err(error) => return Err(error),
    }
    reply.warnings.extend(durability_warnings(engine.durability()?.as_ref()));
    Ok(())
}

/// Returns the state, its description, the hint, and its beginning.
fn condition(condition: Condition) -> (MachineState, String, Option<Hint>, Option<String>) {
    match condition {
        Condition::Starting => {
            (MachineState::Starting, "the server was not called yet".into(), None, None)
        }
        Condition::Ready => {
            (MachineState::Ready, "this machine follows the others".into(), None, None)
        }
        Condition::Away { reason, since } => (
            MachineState::Away,
            reason,
            Some("reads, captures and ingest go on; check the server and the network".into()),
            Some(rfc3339(since)),
        ),
        Condition::Stopped { stop, since } => {
            (stop.state, stop.fault.message, stop.fault.hint, Some(rfc3339(since)))
        }
    }
}

fn delivery(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Notified => "notified",
        Delivery::Polling => "polling",
    }
}

impl MachineService {
    /// Returns the part of `brain status` about the machines; `None` if the brain is not shared.
    /// `has_details` adds server and paths, which not every caller may see.
    #[must_use]
    pub fn summary(&self, has_details: bool) -> Option<String> {
        let replica = match self.state() {
            Membership::Alone => return None,
            Membership::Unusable(fault) if has_details => {
                return Some(format!("stopped: {}", fault.message));
            }
            Membership::Unusable(_) => return Some("stopped".to_owned()),
            Membership::Member(replica) => replica,
        };
        let name = &replica.log().identity().name;
        let server = match has_details {
            true => replica.log().engine().address(),
            false => "the server",
        };
        Some(match replica.log().condition() {
            Condition::Starting => format!("{name}: calling {server}"),
            Condition::Ready => format!("{name}: follows {server}"),
            Condition::Away { .. } => match replica.log().age() {
                Some(age) => format!("{name}: {server} is away since {}", in_words(age)),
                None => format!("{name}: {server} is away"),
            },
            Condition::Stopped { stop, .. } => format!("{name}: stopped ({})", stop.state),
        })
    }
}
