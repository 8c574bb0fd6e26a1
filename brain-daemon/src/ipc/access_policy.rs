//! Decides which users may connect to the control socket, and with which scopes.
//!
//! The daemon's own user and root have full access. Other users need a socket that systemd passed
//! in and an entry in the configuration. They can read and write pages, but not administer.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode};

use brain_base::caller::{Caller, Scope, Visibility};
use brain_config::Config;

/// The file with the names and ids of groups.
const GROUP_FILE: &str = "/etc/group";

/// The access rules of one socket.
#[derive(Debug)]
pub(super) struct AccessPolicy {
    own_uid: u32,
    uids: Vec<u32>,
    group: Option<UnixGroup>,
}

/// A group whose members have access, because only they can open the socket's file.
#[derive(Debug)]
struct UnixGroup {
    id: u32,
    socket: PathBuf,
}

impl AccessPolicy {
    /// Admits the daemon's own user and root only.
    pub(super) fn owner_only() -> Self {
        Self { own_uid: rustix::process::geteuid().as_raw(), uids: Vec::new(), group: None }
    }

    /// Returns the policy of a socket at `path` that systemd passed in.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] if the group `daemon.allow_group` does not exist or contradicts
    /// the owner, group or mode of the socket's file.
    pub(super) fn for_systemd_socket(path: &Path, config: &Config) -> Result<Self, Fault> {
        let group = match &config.daemon.allow_group {
            None => None,
            Some(name) => {
                let group = UnixGroup { id: group_id(name)?, socket: path.to_owned() };
                group.check().map_err(|why| {
                    Fault::new(
                        FaultCode::InvalidConfig,
                        format!("daemon.allow_group is \"{name}\", but {why}"),
                    )
                    .hint(format!(
                        "set SocketGroup={name} and SocketMode=0660 with `systemctl edit \
                             brain-daemon.socket`, or leave daemon.allow_group empty"
                    ))
                })?;
                Some(group)
            }
        };
        Ok(Self { uids: config.daemon.allow_uids.clone(), group, ..Self::owner_only() })
    }

    /// Returns the caller for a process of this user.
    ///
    /// # Errors
    /// [`FaultCode::Forbidden`] if the user has no access.
    pub(super) fn caller(&self, uid: u32) -> Result<Caller, Fault> {
        if uid == 0 || uid == self.own_uid {
            return Ok(Caller::local(uid));
        }
        let is_listed = self.uids.contains(&uid);
        // Checked each time, since the mode of the file may have changed.
        let is_member = || self.group.as_ref().is_some_and(|group| group.check().is_ok());
        if is_listed || is_member() {
            return Ok(Caller::granted(format!("uid {uid}"), Scope::Write.into(), Visibility::All));
        }
        Err(Fault::new(FaultCode::Forbidden, format!("this brain does not serve user {uid}"))
            .hint("its owner can give you access with daemon.allow_group or daemon.allow_uids"))
    }
}

impl UnixGroup {
    /// Checks that only this group, root and the daemon's user can open the socket's file.
    ///
    /// Then the kernel has checked the membership of every client, including supplementary
    /// groups, which peer credentials do not contain.
    fn check(&self) -> Result<(), String> {
        let path = self.socket.display();
        let meta = std::fs::symlink_metadata(&self.socket).map_err(|e| format!("{path}: {e}"))?;
        if meta.gid() != self.id {
            return Err(format!("{path} belongs to group {}", meta.gid()));
        }
        // The file's owner can open it without being a member, so only root and the daemon's user
        // may own it.
        if ![0, rustix::process::geteuid().as_raw()].contains(&meta.uid()) {
            return Err(format!(
                "{path} is owned by user {}, who can open it without being in the group; remove \
                 SocketUser= from the socket unit",
                meta.uid()
            ));
        }
        if meta.mode() & 0o002 != 0 {
            return Err(format!(
                "{path} has mode {:04o}: everybody can open it",
                meta.mode() & 0o777
            ));
        }
        Ok(())
    }
}

/// Returns the id of the group `name`, which is a name or an id.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] if no group has this name.
fn group_id(name: &str) -> Result<u32, Fault> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let groups = std::fs::read_to_string(GROUP_FILE).unwrap_or_default();
    find_group(&groups, name).ok_or_else(|| {
        Fault::new(
            FaultCode::InvalidConfig,
            format!("daemon.allow_group: there is no group \"{name}\" in {GROUP_FILE}"),
        )
        .hint(format!(
            "create it: groupadd --system {name}; or set the number of a group that is not in that \
                file"
        ))
    })
}

/// Returns the id of a group in the text of [`GROUP_FILE`].
fn find_group(groups: &str, name: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1))?.and_then(|id| id.parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::find_group;

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let groups = "root:x:0:\nbrain-users-old:x:7:\nbrain-users:x:990:ann,bob\nbroken\n";
        assert_eq!(find_group(groups, "brain-users"), Some(990));
        assert_eq!(find_group(groups, "brain"), None);
        assert_eq!(find_group(groups, "broken"), None);
    }
}
