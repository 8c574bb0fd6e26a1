//! `brain machines plan`: what `init` or `join` will do.

use std::sync::Arc;
use std::time::Duration;

use crate::{Durability, Engine, Error, Head, Identity, newest};
use brain_protocol::{
    Command, Fault, FaultCode, MachinesAccess, MachinesAction, MachinesPlan, MachinesPlanReply,
    hint,
};
use brain_store::Reader;
use sha2::{Digest, Sha256};

use super::access::{ServerAccess, fault};
use super::{MachineService, Membership};

/// An unused log belongs to an interrupted `init` if its machine was silent for this long.
pub(super) const ABANDONED_AFTER: Duration = Duration::from_secs(2 * 60);

/// A plan and what it was made from.
pub(super) struct Plan {
    pub(super) reply: MachinesPlanReply,
    pub(super) access: ServerAccess,
    pub(super) engine: Arc<dyn Engine>,
    /// This machine's place in the brain, if it has one.
    pub(super) member: Option<Identity>,
    /// The head of the log; for `init` that of an interrupted setup.
    pub(super) head: Option<Head>,
}

/// Returns the head of the log that an interrupted setup left; `None` if there is no log.
fn abandoned_log(engine: &dyn Engine) -> Result<Option<Head>, Fault> {
    let head = match engine.head() {
        Err(Error::NotCreated { .. }) => return Ok(None),
        Err(error) => return Err(fault(&error)),
        Ok(head) => head,
    };
    if !is_unused(engine, &head).map_err(|e| fault(&e))? {
        let address = engine.address().to_owned();
        return Err(fault(&Error::AlreadyCreated { address }));
    }
    let silence = silence_ms(engine, &head).map_err(|e| fault(&e))?;
    if u128::try_from(silence).unwrap_or(0) < ABANDONED_AFTER.as_millis() {
        let message = "another setup uses this schema on the server, or was interrupted just now";
        return Err(Fault::new(FaultCode::Conflict, message)
            .hint("try again in 3 minutes; or name another schema with --namespace"));
    }
    Ok(Some(head))
}

impl MachineService {
    /// Says what `init` or `join` would do, and changes nothing.
    ///
    /// # Errors
    /// The fault of the log, of its URL or of the keys.
    pub fn plan(&self, request: &MachinesPlan) -> Result<MachinesPlanReply, Fault> {
        Ok(self.make_plan(request.action, &request.access)?.reply)
    }

    /// Makes the plan again, and checks that the user confirmed it.
    ///
    /// # Errors
    /// `conflict` if it is another plan.
    pub(super) fn confirmed_plan(
        &self,
        action: MachinesAction,
        access: &MachinesAccess,
        confirmed: &str,
    ) -> Result<Plan, Fault> {
        let plan = self.make_plan(action, access)?;
        if plan.reply.plan == confirmed {
            return Ok(plan);
        }
        Err(Fault::new(FaultCode::Conflict, "the situation has changed since the plan was shown")
            .hint("nothing was changed; run the command again and look at the new plan"))
    }

    fn make_plan(&self, action: MachinesAction, access: &MachinesAccess) -> Result<Plan, Fault> {
        match action {
            MachinesAction::Init => self.plan_init(access),
            MachinesAction::Join => self.plan_join(access),
        }
    }

    fn plan_init(&self, request: &MachinesAccess) -> Result<Plan, Fault> {
        if !matches!(self.state(), Membership::Alone) {
            return Err(Fault::new(FaultCode::Conflict, "this brain is shared already").hint(
                hint!(
                    "see {}; to end sharing here: {}",
                    Command::MachinesStatus,
                    Command::MachinesLeave
                ),
            ));
        }
        let access = self.complete(request, None)?;
        let engine = self.open(&access)?;
        let abandoned = abandoned_log(&*engine)?;
        let durability = engine.durability().map_err(|e| fault(&e))?;
        let (pages, bytes) = self.size()?;
        let server = engine.address().to_owned();
        let copy_name = format!("brain.redb.before-sharing-{}", self.former_number());
        let encryption =
            if request.encrypt { "encrypted on this machine" } else { "not encrypted" };
        let steps = vec![
            format!("keep a copy of the store in the home: {copy_name}"),
            format!("create the tables of the log in the schema \"{}\"", access.namespace),
            format!("copy all pages ({pages}) to the server, {encryption}"),
            "read the copy back, and compare it row by row".to_owned(),
            format!("from then on, every write of \"{}\" goes to the server first", access.name),
        ];
        let mut warnings = durability_warnings(durability.as_ref());
        warnings.extend(tls_warning(&*engine));
        if abandoned.is_some() {
            warnings.push("the empty log of an interrupted setup is deleted first".to_owned());
        }
        if !request.encrypt {
            warnings.push("the server, its backups and its operators can read every page".into());
        }
        let plan = hash(&["init", &server, &access.name, &access.namespace, encryption]);
        let reply = MachinesPlanReply {
            action: MachinesAction::Init,
            plan,
            name: access.name.clone(),
            server,
            tls: engine.uses_tls(),
            encrypted: request.encrypt,
            pages,
            bytes,
            steps,
            warnings,
        };
        Ok(Plan { reply, access, engine, member: None, head: abandoned })
    }

    fn plan_join(&self, request: &MachinesAccess) -> Result<Plan, Fault> {
        let stored = self.store.machine()?;
        // A missing or damaged identity is created again.
        let member = stored.and_then(|machine| self.stored_identity(machine).ok());
        let access = self.complete(request, member.as_ref())?;
        let engine = self.open(&access)?;
        let head = engine.head().map_err(|e| fault(&e))?;
        head.check_writer(crate::SCHEMA).map_err(|e| fault(&e))?;
        let member = member.filter(|member| member.brain == head.brain);
        let root = self.root_for(&*engine, head.brain, request.key.as_ref())?;
        let (pages, _) = self.size()?;
        let brain = head.brain.to_string();
        let server = engine.address().to_owned();
        let mut warnings =
            durability_warnings(engine.durability().map_err(|e| fault(&e))?.as_ref());
        warnings.extend(tls_warning(&*engine));
        let can_continue = match &member {
            Some(member) if member.name == access.name => {
                self.can_continue(&engine, member, root.clone())?
            }
            _ => false,
        };
        let (bytes, steps) = if can_continue {
            let step = "use the given URL and key; the store stays as it is".to_owned();
            (0, vec![step])
        } else {
            let snapshot = newest(&*engine).map_err(|e| fault(&e))?;
            let behind = head.position.number.saturating_sub(snapshot.contains.number);
            let moved_pages = if member.is_none() { pages } else { 0 };
            let queued = self.store.jobs_for_log();
            if queued > 0 {
                warnings.push(format!("{queued} queued items stay in the former store"));
            }
            (snapshot.bytes, self.steps_of_rebuild(behind, moved_pages))
        };
        let kind = if can_continue { "secrets" } else { "rebuild" };
        let plan = hash(&["join", &server, &access.name, &access.namespace, &brain, kind]);
        let reply = MachinesPlanReply {
            action: MachinesAction::Join,
            plan,
            name: access.name.clone(),
            server,
            tls: engine.uses_tls(),
            encrypted: root.is_some(),
            pages,
            bytes,
            steps,
            warnings,
        };
        Ok(Plan { reply, access, engine, member, head: Some(head) })
    }

    /// Returns the steps that replace the store by a snapshot. `behind` is the number of changes
    /// after it, `moved_pages` that of the pages that only this machine has.
    fn steps_of_rebuild(&self, behind: u64, moved_pages: u64) -> Vec<String> {
        let number = self.joining_number();
        let mut steps = vec![
            format!("copy the newest snapshot from the server, and {behind} later changes"),
            format!("keep the present store as brain.redb.before-joining-{number}"),
            "restart the daemon with the new store".to_owned(),
        ];
        if moved_pages > 0 {
            steps.push(format!(
                "move this machine's {moved_pages} pages to pages.before-joining-{number}: `{}` \
                 can add them",
                Command::Import
            ));
        }
        steps
    }

    /// Returns the number of active pages and the size of the store in bytes.
    fn size(&self) -> Result<(u64, u64), Fault> {
        let pages = self.store.read_through(Reader::counts)?.active;
        let bytes = std::fs::metadata(self.store.path()).map_or(0, |meta| meta.len());
        Ok((pages, bytes))
    }

    /// Returns the number in the name of the copy that `init` keeps.
    pub(super) fn former_number(&self) -> u32 {
        self.free_number(&["brain.redb.before-sharing-"])
    }

    /// Returns the number in the names of the store and files that `join` keeps.
    pub(super) fn joining_number(&self) -> u32 {
        self.free_number(&[
            "brain.redb.before-joining-",
            "pages.before-joining-",
            "attachments.before-joining-",
        ])
    }
}

/// Returns how long the machines of a log were silent, in milliseconds of the server's clock.
fn silence_ms(engine: &dyn Engine, head: &Head) -> Result<i64, Error> {
    let machines = engine.machines()?;
    let seen = machines.iter().map(|machine| machine.seen_ms).max().unwrap_or(0);
    Ok(head.clock_ms - head.time_ms.max(seen))
}

/// Returns whether a log has no batch, no complete snapshot and at most one machine, as during an
/// `init`.
fn is_unused(engine: &dyn Engine, head: &Head) -> Result<bool, Error> {
    if head.position.number > 0 || engine.machines()?.len() > 1 {
        return Ok(false);
    }
    Ok(!engine.snapshots()?.iter().any(|snapshot| snapshot.complete))
}

/// Returns what is unsafe about the server's settings.
pub(super) fn durability_warnings(durability: Option<&Durability>) -> Vec<String> {
    let Some(durability) = durability else { return Vec::new() };
    let mut warnings = Vec::new();
    if !durability.fsync {
        warnings.push("the server has fsync off: a power cut can destroy the log".to_owned());
    }
    if !durability.full_page_writes {
        warnings.push("the server has full_page_writes off: a power cut can damage the log".into());
    }
    if durability.synchronous_commit == "off" {
        warnings.push(
            "the server has synchronous_commit off: a crash loses the last acknowledged writes"
                .to_owned(),
        );
    }
    warnings
}

/// Returns a warning about a connection without TLS, which only a server on this machine can have.
fn tls_warning(engine: &dyn Engine) -> Option<String> {
    (!engine.uses_tls()).then(|| {
        "the server is on this machine, and the connection has no TLS; other machines need a URL \
         with the server's name and TLS"
            .to_owned()
    })
}

/// Returns a hash of all parts, in hex.
fn hash(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
