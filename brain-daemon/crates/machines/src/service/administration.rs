//! `brain machines list`, `leave` and `remove`.

use crate::{Condition, Identity, PRESENCE};
use brain_base::clock::rfc3339;
use brain_protocol::{
    Command, Fault, FaultCode, MachineRemoval, MachineRemove, MachineRemoveReply, MachineRow,
    Machines, hint,
};

use super::access::fault;
use super::{MachineService, Membership};

impl MachineService {
    /// Returns the ids of the machines, in hex, with their names. None if the brain is not shared,
    /// or its server is away.
    #[must_use]
    pub fn names(&self) -> Vec<(String, String)> {
        let machines = self.replica().ok().and_then(|it| it.log().engine().machines().ok());
        machines.into_iter().flatten().map(|it| (it.id.to_string(), it.name)).collect()
    }

    /// Lists the machines and the leases.
    ///
    /// # Errors
    /// The fault of the log, or if the brain is not shared.
    pub fn list(&self) -> Result<Machines, Fault> {
        let replica = self.replica()?;
        let engine = replica.log().engine();
        let head = engine.head().map_err(|e| fault(&e))?;
        let leases = engine.leases().map_err(|e| fault(&e))?;
        let machines = engine.machines().map_err(|e| fault(&e))?;
        let own = replica.log().identity().machine;
        let position = self.store.log_position()?.unwrap_or_default().number;
        let row = |machine: crate::Machine| MachineRow {
            this: machine.id == own,
            // The others report their position every few seconds.
            behind: head.position.number.saturating_sub(match machine.id == own {
                true => position,
                false => machine.position.number,
            }),
            seen_at: rfc3339(machine.seen_ms),
            version: machine.version,
            leases: leases
                .iter()
                .filter(|lease| lease.holder == machine.name && !lease.remaining().is_zero())
                .filter(|lease| !lease.name.starts_with(PRESENCE))
                .map(|lease| lease.name.clone())
                .collect(),
            name: machine.name,
        };
        Ok(Machines { machines: machines.into_iter().map(row).collect() })
    }

    /// Makes this brain one of a single machine again.
    ///
    /// # Errors
    /// If the brain is not shared, or a file cannot be changed.
    pub fn leave(&self) -> Result<MachineRemoveReply, Fault> {
        let _setup = self.setup.lock();
        let state = self.state();
        if matches!(state, Membership::Alone) {
            return Err(self.replica().err().unwrap_or_else(|| {
                Fault::new(FaultCode::NotSetUp, "this brain is on this machine only")
            }));
        }
        let mut warnings = Vec::new();
        let mut name = "this machine".to_owned();
        if let Membership::Member(replica) = &state {
            let log = replica.log();
            name.clone_from(&log.identity().name);
            // Everything that the others wrote comes along, if the server answers.
            if log.condition() == Condition::Ready
                && let Err(error) = self.store.follow()
            {
                warnings.push(format!("the store may lack the newest changes: {error}"));
            }
            let queued = self.store.jobs_for_log();
            if queued > 0 {
                warnings.push(format!(
                    "{queued} queued items become pages on this machine, not on the others"
                ));
            }
            replica.stop();
            replica.release_leases();
            let engine = log.engine();
            let is_last = engine.machines().is_ok_and(|machines| machines.len() == 1);
            if let Err(error) = engine.remove_machine(&name) {
                warnings.push(format!(
                    "the others still list this machine: {error}; on one of them, run `{}`",
                    Command::MachinesRemove { name: Some(name.to_string()) }
                ));
            } else if is_last {
                let namespace = &log.identity().namespace;
                warnings.push(format!(
                    "it was the last machine; the schema \"{namespace}\" on the server can be \
                     dropped"
                ));
            }
        }
        self.store.unshare()?;
        self.leases.set_alone();
        self.set(Membership::Alone);
        if let Err(error) = Identity::remove(&self.env.home.machines()) {
            warnings.push(format!("machines.json is still there: {error}"));
        }
        let identity = match &state {
            Membership::Member(replica) => Some(replica.log().identity()),
            _ => None,
        };
        for name in self.remove_secrets(identity) {
            warnings.push(format!("secrets/{name} is still there: the setup did not write it"));
        }
        tracing::info!(name, "left the shared brain");
        Ok(MachineRemoveReply { status: MachineRemoval::Left, name, warnings })
    }

    /// Removes another machine from the registry.
    ///
    /// # Errors
    /// `conflict` for this machine, `not_found` for an unknown one, and the fault of the log.
    pub fn remove(&self, request: &MachineRemove) -> Result<MachineRemoveReply, Fault> {
        let replica = self.replica()?;
        let log = replica.log();
        if request.name == log.identity().name {
            let message = format!("\"{}\" is this machine", request.name);
            return Err(Fault::new(FaultCode::Conflict, message)
                .hint(hint!("{} removes this machine", Command::MachinesLeave)));
        }
        let engine = log.engine();
        if !engine.remove_machine(&request.name).map_err(|e| fault(&e))? {
            let message = format!("this brain has no machine \"{}\"", request.name);
            return Err(Fault::new(FaultCode::NotFound, message)
                .hint(hint!("{} lists them", Command::MachinesList)));
        }
        let mut warnings = vec![
            "it keeps its copy of the pages; change the server's password if it must not read on"
                .to_owned(),
        ];
        if log.keyring().is_encrypted() {
            warnings.push(format!(
                "it knows the key: `{}` makes a new one",
                Command::MachinesRotateKey
            ));
        }
        let name = request.name.clone();
        Ok(MachineRemoveReply { status: MachineRemoval::Removed, name, warnings })
    }
}
