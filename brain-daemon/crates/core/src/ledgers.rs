//! The lists of both ledgers, with the names of the machines.

use brain_base::caller::Caller;
use brain_protocol::{
    Fault, LeftList, LeftReply, SeenList, SeenReplay, SeenReplayReply, SeenReply,
};

use crate::Brain;

impl Brain {
    /// Lists requests that left, of all machines.
    pub(crate) fn list_left(
        &self,
        caller: &Caller,
        request: &LeftList,
    ) -> Result<LeftReply, Fault> {
        let mut reply = self.left.list(caller, request)?;
        self.name_machines(reply.requests.iter_mut().map(|it| &mut it.machine));
        Ok(reply)
    }

    /// Lists calls of AI clients, of all machines.
    pub(crate) fn list_seen(
        &self,
        caller: &Caller,
        request: &SeenList,
    ) -> Result<SeenReply, Fault> {
        let mut reply = self.seen.list(caller, request)?;
        self.name_machines(reply.calls.iter_mut().map(|it| &mut it.machine));
        Ok(reply)
    }

    /// Renders the answer to a call again.
    pub(crate) fn replay_seen(&self, request: &SeenReplay) -> Result<SeenReplayReply, Fault> {
        let mut reply = self.seen.replay(request)?;
        self.name_machines(std::iter::once(&mut reply.call.machine));
        Ok(reply)
    }

    /// Replaces the ids of machines by their names, as far as the server knows them.
    fn name_machines<'a>(&self, rows: impl Iterator<Item = &'a mut Option<String>>) {
        let ids: Vec<&mut String> = rows.flatten().collect();
        if ids.is_empty() {
            return;
        }
        let names = self.machines.names();
        for id in ids {
            if let Some((_, name)) = names.iter().find(|(known, _)| known == id) {
                id.clone_from(name);
            }
        }
    }
}
