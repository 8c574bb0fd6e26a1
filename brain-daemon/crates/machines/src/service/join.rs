//! `brain machines join`: builds a store from the newest snapshot. The next start uses it.

use std::path::Path;
use std::sync::Arc;

use crate::{
    BrainId, BrainSnapshot, Condition, Engine, Error, Identity, Keyring, MachineId, Registration,
    RootKey, download, newest,
};
use brain_protocol::{
    Fault, MachineState, MachinesAction, MachinesJoin, MachinesJoinReply, VERSION,
};
use brain_store::restore_replica;

use super::access::fault;
use super::init::save;
use super::plan::Plan;
use super::swap::{JOINED_STORE, PendingJoin, REGISTERED};
use super::{MachineService, RECEIVED_SNAPSHOT};
use brain_service::Progress;

impl MachineService {
    /// Joins a shared brain: builds its store beside this one, for the next start.
    ///
    /// # Errors
    /// If the plan changed, the brain is shared already, or the fault of the log or a file.
    pub fn join(
        &self,
        request: &MachinesJoin,
        progress: &dyn Progress,
    ) -> Result<MachinesJoinReply, Fault> {
        let _setup = self.setup.lock();
        let plan = self.confirmed_plan(MachinesAction::Join, &request.access, &request.plan)?;
        let Some(head) = plan.head.clone() else { return Err(defect("a plan without a head")) };
        let root = self.root_for(&*plan.engine, head.brain, request.access.key.as_ref())?;
        let machine = match &plan.member {
            Some(member) => member.machine,
            None => match self.registered_id(head.brain, &plan.access.name) {
                Some(machine) => machine,
                None => MachineId::random(&*self.env.random).map_err(|e| fault(&e.into()))?,
            },
        };
        let identity = Identity {
            brain: head.brain,
            machine,
            name: plan.access.name.clone(),
            encrypted: root.is_some(),
            namespace: plan.access.namespace.clone(),
            listens: self.listens(&plan.access),
            secrets: plan.member.as_ref().map(|m| m.secrets.clone()).unwrap_or_default(),
        };
        if plan.reply.bytes == 0 {
            return self.replace_secrets(request, &plan, identity, root);
        }
        self.rebuild(request, &plan, identity, root, progress)
    }

    /// Returns the id under which an unfinished join registered this machine. The name belongs to
    /// that id.
    fn registered_id(&self, brain: BrainId, name: &str) -> Option<MachineId> {
        let identity = Identity::load(&self.file(REGISTERED)).ok().flatten()?;
        (identity.brain == brain && identity.name == name).then_some(identity.machine)
    }

    /// Removes the registration that an unfinished join made under another name.
    fn remove_other_registration(
        &self,
        engine: &dyn Engine,
        identity: &Identity,
    ) -> Result<(), Fault> {
        let former = Identity::load(&self.file(REGISTERED)).ok().flatten();
        let Some(former) = former.filter(|f| f.brain == identity.brain && f.name != identity.name)
        else {
            return Ok(());
        };
        let registered = engine.machines().map_err(|e| fault(&e))?;
        if registered.iter().any(|m| m.name == former.name && m.id == former.machine) {
            engine.remove_machine(&former.name).map_err(|e| fault(&e))?;
        }
        Ok(())
    }

    fn forget_registered_id(&self) {
        if let Err(error) = Identity::remove(&self.file(REGISTERED)) {
            tracing::warn!(%error, file = REGISTERED, "cannot remove the file");
        }
    }

    /// Returns whether the store of this machine can follow with these secrets.
    pub(super) fn can_continue(
        &self,
        engine: &Arc<dyn Engine>,
        member: &Identity,
        root: Option<RootKey>,
    ) -> Result<bool, Fault> {
        let Some(position) = self.store.log_position()? else { return Ok(false) };
        let registered = engine.machines().map_err(|e| fault(&e))?;
        let is_registered = registered.iter().any(|machine| machine.id == member.machine);
        if !is_registered || member.encrypted != root.is_some() {
            return Ok(false);
        }
        let log = self.log_of(engine.clone(), member.clone(), root);
        let Err(error) = log.probe(position) else { return Ok(true) };
        match log.condition() {
            // A new store would have the same problem.
            Condition::Stopped { stop, .. } if stop.state == MachineState::Denied => {
                Err(stop.fault)
            }
            Condition::Away { .. } => Err(error.into()),
            _ => Ok(false),
        }
    }

    /// Stores the given secrets, and uses them at once.
    fn replace_secrets(
        &self,
        request: &MachinesJoin,
        plan: &Plan,
        mut identity: Identity,
        root: Option<RootKey>,
    ) -> Result<MachinesJoinReply, Fault> {
        self.store_secrets(&request.access, None, &mut identity)?;
        save(&identity, &self.env.home.machines())?;
        let (name, brain) = (identity.name.clone(), identity.brain.to_string());
        let replica = self.replica_of(identity, &plan.access.secrets, root)?;
        self.install(replica);
        Ok(MachinesJoinReply {
            name,
            brain,
            position: self.store.log_position()?.unwrap_or_default().number,
            bytes: 0,
            needs_restart: false,
            former_store: None,
            former_pages: None,
            warnings: plan.reply.warnings.clone(),
        })
    }

    /// Builds a store from the newest snapshot.
    fn rebuild(
        &self,
        request: &MachinesJoin,
        plan: &Plan,
        mut identity: Identity,
        root: Option<RootKey>,
        progress: &dyn Progress,
    ) -> Result<MachinesJoinReply, Fault> {
        let engine = &plan.engine;
        let snapshot = newest(&**engine).map_err(|e| fault(&e))?;
        self.register(&**engine, &identity, &snapshot)?;
        let snapshot_path = self.setup_path(RECEIVED_SNAPSHOT)?;
        let store_path = self.setup_path(JOINED_STORE)?;
        // A pending join from before would give the new store the identity of that join.
        PendingJoin::remove(&self.env.home)?;
        let _ = std::fs::remove_file(&snapshot_path);
        let _ = std::fs::remove_file(&store_path);
        let result = (|| {
            let report = |done, total| progress.at(done, total) && !self.env.stop.is_cancelled();
            progress.line("copying the snapshot from the server");
            let keyring = Keyring::new(identity.brain, root);
            download(&**engine, &keyring, identity.brain, &snapshot, &snapshot_path, &report)
                .map_err(|e| fault(&e))?;
            progress.line("building the store");
            let machine = u128::from_be_bytes(identity.machine.0);
            let options = self.store_options()?;
            let position =
                restore_replica(&snapshot_path, &store_path, &options, machine, &report)?;
            self.store_secrets(&request.access, None, &mut identity)?;
            let number = self.joining_number();
            let pending = PendingJoin { identity: identity.clone(), number };
            pending.save(&self.env.home)?;
            Ok((position, number))
        })();
        let _ = std::fs::remove_file(&snapshot_path);
        let (position, number) = result.inspect_err(|_: &Fault| {
            let _ = std::fs::remove_file(&store_path);
            self.undo_registration(&**engine, plan, &identity);
        })?;
        self.forget_registered_id();
        remove_former_name(&**engine, plan, &identity);
        let (brain, name) = (identity.brain, &identity.name);
        tracing::info!(%brain, name, "joined a shared brain; the next start uses its store");
        let former_store = self.file(&format!("brain.redb.before-joining-{number}"));
        let former_pages = self.file(&format!("pages.before-joining-{number}"));
        let mut warnings = plan.reply.warnings.clone();
        warnings.extend(self.queued_jobs_warning(&former_store));
        Ok(MachinesJoinReply {
            name: identity.name,
            brain: brain.to_string(),
            position: position.number,
            bytes: snapshot.bytes,
            needs_restart: true,
            former_store: Some(former_store.display().to_string()),
            former_pages: (plan.reply.pages > 0).then(|| former_pages.display().to_string()),
            warnings,
        })
    }

    /// Returns a warning if jobs are left in the spool of the former store.
    fn queued_jobs_warning(&self, former_store: &Path) -> Option<String> {
        let queued = self.store.jobs_for_log();
        (queued > 0).then(|| {
            format!(
                "{queued} queued items stay in {}.spool; docs/machines.md, section \"What a former \
                 store has\", says how to get them back",
                former_store.display()
            )
        })
    }

    /// Registers this machine with the log. Compaction waits for the machine from now on.
    fn register(
        &self,
        engine: &dyn Engine,
        identity: &Identity,
        snapshot: &BrainSnapshot,
    ) -> Result<(), Fault> {
        let registration = Registration {
            name: identity.name.clone(),
            id: identity.machine,
            version: VERSION.to_owned(),
            position: snapshot.contains,
        };
        self.remove_other_registration(engine, identity)?;
        save(identity, &self.file(REGISTERED))?;
        engine.register(&registration).map_err(|e| {
            if matches!(e, Error::NameTaken { .. }) {
                self.forget_registered_id();
            }
            fault(&e)
        })
    }

    /// Removes what [`register`](Self::register) left, after the store could not be built.
    fn undo_registration(&self, engine: &dyn Engine, plan: &Plan, identity: &Identity) {
        self.remove_setup_dir();
        let is_new = plan.member.as_ref().is_none_or(|member| member.name != identity.name);
        if is_new && let Err(error) = engine.remove_machine(&identity.name) {
            // The next join continues under the same id.
            tracing::warn!(%error, "cannot remove this machine from the registry");
        } else {
            self.forget_registered_id();
        }
    }
}

/// Removes the name under which this machine was registered before, if it is another one.
fn remove_former_name(engine: &dyn Engine, plan: &Plan, identity: &Identity) {
    if let Some(former) = plan.member.as_ref().filter(|former| former.name != identity.name)
        && let Err(error) = engine.remove_machine(&former.name)
    {
        tracing::warn!(%error, "cannot remove the former name from the registry");
    }
}

fn defect(message: &str) -> Fault {
    Fault::new(brain_protocol::FaultCode::Internal, message).hint("please report it")
}
