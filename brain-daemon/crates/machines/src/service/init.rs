//! `brain machines init`: copies the store to a server, compares, and shares it.

use std::path::Path;
use std::sync::Arc;

use crate::server::create_log;
use crate::{
    BrainId, Engine, Error, Identity, Keys, MachineId, Replica, RootKey, SnapshotContent, download,
};
use brain_base::write_fault;
use brain_protocol::{
    Command, Fault, FaultCode, MachinesAction, MachinesInit, MachinesInitReply, Secret,
};
use brain_store::{LogPosition, Reader, Store, StoreOptions, restore_replica};

use super::access::{FormerSecret, fault};
use super::plan::{ABANDONED_AFTER, Plan};
use super::{CHECK_DIR, MachineService, Membership, SENT_SNAPSHOT};
use brain_service::Progress;

/// How often the comparison is repeated while other writes go on.
const COMPARISONS: u32 = 20;

impl MachineService {
    /// Shares this brain: fills an empty log with a snapshot, and registers this machine.
    ///
    /// # Errors
    /// If the plan changed, the brain is shared already, or the fault of the log or a file.
    pub fn init(
        &self,
        request: &MachinesInit,
        progress: &dyn Progress,
    ) -> Result<MachinesInitReply, Fault> {
        let _setup = self.setup.lock();
        let plan = self.confirmed_plan(MachinesAction::Init, &request.access, &request.plan)?;
        let random = &*self.env.random;
        let machine = MachineId::random(random).map_err(|e| fault(&e.into()))?;
        let brain = BrainId::random(random).map_err(|e| fault(&e.into()))?;
        let root = match request.access.encrypt {
            true => Some(RootKey::generate(random).map_err(|e| fault(&e))?),
            false => None,
        };
        let words = root.as_ref().map(RootKey::words).transpose().map_err(|e| fault(&e))?;

        let number = self.former_number();
        let former = self.file(&format!("brain.redb.before-sharing-{number}"));
        progress.line(&format!("copying the store to {}", former.display()));
        let report = |done, total| progress.at(done, total) && !self.env.stop.is_cancelled();
        self.store.back_up(&former, self.env.clock.now(), &report)?;

        let identity = Identity {
            brain,
            machine,
            name: plan.access.name.clone(),
            encrypted: root.is_some(),
            namespace: plan.access.namespace.clone(),
            listens: self.listens(&plan.access),
            secrets: Vec::new(),
        };
        let mut undo = SetupProgress::default();
        let result =
            self.share(request, &plan, identity, root, words.as_ref(), progress, &mut undo);
        self.remove_setup_dir();
        let bytes = result.map_err(|fault| {
            let left = self.undo(&undo, brain, &former);
            self.with_state_after_undo(fault, &left)
        })?;
        let pages = self.store.read_through(Reader::counts)?.active;
        tracing::info!(%brain, name = plan.access.name, "this brain is shared");
        Ok(MachinesInitReply {
            name: plan.access.name,
            brain: brain.to_string(),
            words,
            former_store: former.display().to_string(),
            pages,
            bytes,
            warnings: plan.reply.warnings,
        })
    }

    /// Adds to the fault of a setup what is left of it.
    fn with_state_after_undo(&self, fault: Fault, left: &[String]) -> Fault {
        let left = match left.is_empty() {
            true => "the server has no part of it".to_owned(),
            false => left.join("; "),
        };
        let state = match self.store.is_shared() {
            true => "this brain is still shared",
            false => "this brain is as before",
        };
        let result = format!("{state}, and {left}");
        let hint = fault.hint.iter().fold(result, |text, hint| format!("{text}; {hint}"));
        fault.hint(hint)
    }

    /// Creates the log and makes the store its first replica. Returns the size of the snapshot.
    #[allow(clippy::too_many_arguments)]
    fn share(
        &self,
        request: &MachinesInit,
        plan: &Plan,
        mut identity: Identity,
        root: Option<RootKey>,
        words: Option<&Secret>,
        progress: &dyn Progress,
        undo: &mut SetupProgress,
    ) -> Result<u64, Fault> {
        let random = self.env.random.clone();
        let brain = identity.brain;
        if let Some(abandoned) = &plan.head {
            let dropped = plan.engine.drop_abandoned(abandoned.brain, ABANDONED_AFTER);
            dropped.map_err(|e| fault(&e))?;
        }
        progress.line("creating the log on the server");
        // Also if the answer of the server is lost.
        undo.server = Some(plan.engine.clone());
        let (secrets, namespace) = (&plan.access.secrets, &identity.namespace);
        let created = create_log(secrets, namespace, brain, self.log_parts());
        let engine = created.map_err(|e| fault(&e))?;
        if let Some(root) = &root {
            let sealed = Keys::generate(&*random).and_then(|keys| keys.seal(root, brain, &*random));
            let sealed = sealed.map_err(|e| fault(&e))?;
            engine.replace_keys(0, &sealed).map_err(|e| fault(&e))?;
        }
        // Without these files, a shared store cannot reach its log after a crash.
        undo.secrets = self.store_secrets(&request.access, words, &mut identity)?;
        let machine = u128::from_be_bytes(identity.machine.0);
        save(&identity, &self.env.home.machines())?;
        let replica = self.replica_of(identity, &plan.access.secrets, root)?;
        let registration = replica.log().registration(LogPosition::default());
        engine.register(&registration).map_err(|e| fault(&e))?;
        undo.is_shared = true;
        self.store.share(replica.log().clone(), machine)?;
        self.install(replica.clone());

        progress.line("copying the pages to the server");
        let report = |done, total| progress.at(done, total) && !self.env.stop.is_cancelled();
        let file = self.setup_path(SENT_SNAPSHOT)?;
        let snapshot = replica.upload_snapshot(&file, self.env.clock.now(), &report)?;
        progress.line("reading the copy back");
        let dir = self.setup_path(CHECK_DIR)?;
        let _ = std::fs::remove_dir_all(&dir);
        let compared = std::fs::create_dir(&dir)
            .map_err(|e| write_fault(&dir, e))
            .and_then(|()| self.compare(&replica, &snapshot, &dir, machine, progress));
        let _ = std::fs::remove_dir_all(&dir);
        compared?;
        Ok(snapshot.bytes)
    }

    /// Builds a store from the snapshot in `dir`, lets it follow, and compares all rows.
    fn compare(
        &self,
        replica: &Arc<Replica>,
        snapshot: &crate::BrainSnapshot,
        dir: &Path,
        machine: u128,
        progress: &dyn Progress,
    ) -> Result<(), Fault> {
        let report = |done, total| progress.at(done, total) && !self.env.stop.is_cancelled();
        let log = replica.log();
        let (file, path) = (dir.join("snapshot"), dir.join("brain.redb"));
        let brain = log.identity().brain;
        let engine = log.engine();
        let downloaded: Result<SnapshotContent, _> =
            download(&**engine, log.keyring(), brain, snapshot, &file, &report);
        downloaded.map_err(|e| fault(&e))?;
        let options = self.store_options()?;
        restore_replica(&file, &path, &options, machine, &report)?;
        let copy = Store::open(&path, &options, Box::new(|_| ()))?;
        copy.attach_log(log.clone());
        progress.line("comparing the copy row by row");
        for _ in 0..COMPARISONS {
            copy.follow()?;
            let position = copy.log_position()?;
            let before = self.store.log_position()?;
            let (ours, theirs) = (self.store.shared_digest()?, copy.shared_digest()?);
            if before == position && self.store.log_position()? == position {
                if ours == theirs {
                    return Ok(());
                }
                let message = "the copy on the server differs from the store";
                return Err(Fault::new(FaultCode::Internal, message).hint("please report it"));
            }
        }
        Err(Fault::new(FaultCode::Busy, "other writes went on all the time")
            .hint("stop imports and syncs, and run the command again"))
    }

    /// Returns the options for a store that is made here.
    pub(super) fn store_options(&self) -> Result<StoreOptions, Fault> {
        Ok(StoreOptions {
            cache_bytes: self.env.cache_bytes,
            min_free_bytes: self.env.min_free_bytes,
            now: self.env.clock.now(),
            new_store_id: brain_base::random::number(&*self.env.random)?,
            min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
        })
    }

    /// Undoes a part of [`MachineService::share`], and removes the copy of the store. Returns what
    /// could not be undone.
    fn undo(&self, undo: &SetupProgress, brain: BrainId, former: &Path) -> Vec<String> {
        let mut left = Vec::new();
        if undo.is_shared {
            if let Err(error) = self.store.unshare() {
                tracing::error!(%error, "cannot make the store an ordinary one");
                left.push(format!(
                    "could not be made an ordinary one ({error}): `{}`",
                    Command::MachinesLeave
                ));
                return left;
            }
            self.leases.set_alone();
            self.set(Membership::Alone);
        }
        if let Err(error) = Identity::remove(&self.env.home.machines()) {
            tracing::warn!(%error, "cannot remove machines.json");
            left.push("machines.json is still in the home".to_owned());
        }
        for name in self.restore_secrets(&undo.secrets) {
            left.push(format!("secrets/{name} is still as `init` wrote it"));
        }
        if let Some(engine) = &undo.server {
            match engine.drop_log(brain) {
                // The place has another brain, so this one was not created.
                Ok(()) | Err(Error::AlreadyCreated { .. }) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot remove the log from the server");
                    left.push(format!(
                        "the server may still have its tables ({error}); the next `init` there \
                         deletes them, or asks for another schema"
                    ));
                }
            }
        }
        if let Err(error) = std::fs::remove_file(former) {
            tracing::warn!(%error, "cannot remove the copy of the store");
        }
        left
    }
}

/// What was done so far.
#[derive(Default)]
struct SetupProgress {
    /// Where the log was perhaps created.
    server: Option<Arc<dyn Engine>>,
    /// What the stored secrets replaced.
    secrets: Vec<FormerSecret>,
    is_shared: bool,
}

pub(super) fn save(identity: &Identity, path: &Path) -> Result<(), Fault> {
    identity.save(path).map_err(|e| write_fault(path, e))
}
