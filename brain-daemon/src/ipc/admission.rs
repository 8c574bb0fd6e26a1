//! Who may come in through the control socket, and as what.
//!
//! The daemon's own user and root always may, and may do everything. Another user may only if the socket was passed in
//! by systemd and the configuration names them; they read and write pages, and the installation stays the owner's.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode};

use brain_base::caller::Visibility;
use brain_base::caller::{Caller, Scope};
use brain_core::config::Config;

/// Where groups have their numbers.
const GROUPS: &str = "/etc/group";

/// The rule of one socket.
#[derive(Debug)]
pub(super) struct Admission {
    own: u32,
    uids: Vec<u32>,
    group: Option<Group>,
}

/// A group whose members are let in because nobody else can open the socket's file.
#[derive(Debug)]
struct Group {
    id: u32,
    socket: PathBuf,
}

impl Admission {
    /// Nobody but the daemon's own user and root.
    pub(super) fn owner() -> Self {
        Self { own: rustix::process::geteuid().as_raw(), uids: Vec::new(), group: None }
    }

    /// The rule of a socket that was passed in and lies at `path`.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] when `daemon.allow_group` does not exist, or is not what the socket's file says.
    pub(super) fn passed(path: &Path, config: &Config) -> Result<Self, Fault> {
        let group = match config.allow_group() {
            "" => None,
            name => {
                let group = Group { id: group_id(name)?, socket: path.to_owned() };
                group.decides().map_err(|why| {
                    Fault::new(FaultCode::InvalidConfig, format!("daemon.allow_group is \"{name}\", but {why}")).hint(
                        format!(
                            "set SocketGroup={name} and SocketMode=0660 with `systemctl edit brain-daemon.socket`, or leave daemon.allow_group empty"
                        ),
                    )
                })?;
                Some(group)
            }
        };
        Ok(Self { uids: config.allow_uids(), group, ..Self::owner() })
    }

    /// The caller that a process of this user is.
    ///
    /// # Errors
    /// [`FaultCode::Forbidden`] for everybody who may not come in.
    pub(super) fn caller(&self, uid: u32) -> Result<Caller, Fault> {
        if uid == 0 || uid == self.own {
            return Ok(Caller::local(uid));
        }
        let named = self.uids.contains(&uid);
        // Looked at each time: somebody may have opened the file to the world since.
        let member = || self.group.as_ref().is_some_and(|group| group.decides().is_ok());
        if named || member() {
            return Ok(Caller::granted(format!("uid {uid}"), Scope::Write.into(), Visibility::All));
        }
        Err(Fault::new(FaultCode::Forbidden, format!("this brain does not serve user {uid}"))
            .hint("its owner can let you in with daemon.allow_group or daemon.allow_uids"))
    }
}

impl Group {
    /// Whether the socket's file lets in this group and nobody else. The kernel then has checked the membership of
    /// whoever is connected, supplementary groups included, which peer credentials do not tell.
    fn decides(&self) -> Result<(), String> {
        let place = self.socket.display();
        let meta = std::fs::symlink_metadata(&self.socket).map_err(|e| format!("{place}: {e}"))?;
        if meta.gid() != self.id {
            return Err(format!("{place} belongs to group {}", meta.gid()));
        }
        // An owner opens it without being a member. Root and the daemon's own user come in anyway.
        if ![0, rustix::process::geteuid().as_raw()].contains(&meta.uid()) {
            return Err(format!(
                "{place} belongs to user {}, who need not be a member (no SocketUser=)",
                meta.uid()
            ));
        }
        if meta.mode() & 0o002 != 0 {
            return Err(format!(
                "{place} has mode {:04o}: everybody can open it",
                meta.mode() & 0o777
            ));
        }
        Ok(())
    }
}

/// The number of the group that is named, or given by its number.
fn group_id(name: &str) -> Result<u32, Fault> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let groups = std::fs::read_to_string(GROUPS).unwrap_or_default();
    find(&groups, name).ok_or_else(|| {
        Fault::new(
            FaultCode::InvalidConfig,
            format!("daemon.allow_group: there is no group \"{name}\" in {GROUPS}"),
        )
        .hint(format!(
            "create it: groupadd --system {name}; or give the number of a group from elsewhere"
        ))
    })
}

fn find(groups: &str, name: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1))?.and_then(|id| id.parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let groups = "root:x:0:\nbrain-users-old:x:7:\nbrain-users:x:990:ann,bob\nbroken\n";
        assert_eq!(find(groups, "brain-users"), Some(990));
        assert_eq!(find(groups, "brain"), None);
        assert_eq!(find(groups, "broken"), None);
    }
}
