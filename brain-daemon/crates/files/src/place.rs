//! Where a directory is: enough to tell it from another directory that gets its path, because a
//! disk was unmounted, replaced, or mounted over it.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use brain_base::mount_table::{Mount, MountTable};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, StatxFlags, fstatvfs, statx};
use serde::{Deserialize, Serialize};

/// `STATX_MNT_ID_UNIQUE` (since Linux 6.8): an id that no later mount gets.
const UNIQUE_MOUNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x4000);
/// File systems whose id is made of their UUID, so it names them on any device and after a restart.
/// That of XFS, F2FS and FAT is the number of the device; FUSE has none.
const WITH_LASTING_ID: [&str; 4] = ["ext2", "ext3", "ext4", "btrfs"];
/// The file system type of an automount whose disk is not mounted.
const AUTOMOUNT: &str = "autofs";

/// Which directory a handle has, until the next restart of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirId {
    device: (u32, u32),
    inode: u64,
    /// The number of the mount; `None` before Linux 5.8.
    mount: Option<u64>,
    /// Whether no other mount can get the same number later.
    is_unique: bool,
}

impl DirId {
    /// Returns the identity of an open file or directory. Does not ask a server.
    ///
    /// # Errors
    /// When the kernel cannot tell it.
    pub fn of(handle: impl AsFd) -> io::Result<Self> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let wanted = StatxFlags::INO | StatxFlags::MNT_ID | UNIQUE_MOUNT_ID;
        let found = statx(&handle, "", flags, wanted)?;
        let has = |flag: StatxFlags| found.stx_mask & flag.bits() != 0;
        let is_unique = has(UNIQUE_MOUNT_ID);
        Ok(Self {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            mount: (is_unique || has(StatxFlags::MNT_ID)).then_some(found.stx_mnt_id),
            is_unique,
        })
    }

    /// Returns whether both are in the same mount, as far as the kernel tells it.
    #[must_use]
    pub fn is_in_mount_of(&self, other: &Self) -> bool {
        self.mount.zip(other.mount).is_none_or(|(a, b)| a == b)
    }

    /// Returns whether an equal id always means the same directory, even after other mounts.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }
}

/// A directory and the file system that it is in, to recognise it after a restart or a new mount.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    inode: u64,
    /// The file system's id; see [`WITH_LASTING_ID`].
    file_system_id: u64,
    kind: String,
    mount_source: String,
    mount_root: String,
    mount_point: PathBuf,
}

/// How much two places of one path are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// It is the same directory of the same file system.
    Same,
    /// It can be the same one: the file system has no lasting id, and all else is equal.
    Similar,
    /// It is another directory.
    Different,
}

impl Place {
    /// Returns where an open directory is.
    ///
    /// # Errors
    /// When the file system does not answer.
    pub fn of(handle: impl AsFd, mounts: &MountTable) -> io::Result<Self> {
        let inode = DirId::of(&handle)?.inode;
        let file_system_id = fstatvfs(&handle)?.f_fsid;
        let Mount { root, at, kind, source, .. } = mounts.of(&handle).cloned().unwrap_or_default();
        let (mount_source, mount_root, mount_point) = (source, root, at);
        Ok(Self { inode, file_system_id, kind, mount_source, mount_root, mount_point })
    }

    /// Compares the recorded place of a path with its present one.
    #[must_use]
    pub fn compare(&self, now: &Self) -> Likeness {
        if self.has_lasting_id() && now.has_lasting_id() {
            let is_same = self.is_on_disk_of(now) && self.inode == now.inode;
            return if is_same { Likeness::Same } else { Likeness::Different };
        }
        // A disk can get another device name.
        let is_device = |place: &Self| place.mount_source.starts_with("/dev/");
        let is_similar = self.kind == now.kind
            && self.mount_root == now.mount_root
            && self.mount_point == now.mount_point
            && (self.mount_source == now.mount_source || (is_device(self) && is_device(now)));
        if is_similar { Likeness::Similar } else { Likeness::Different }
    }

    /// Returns whether both are in the same file system, as far as its id tells it.
    #[must_use]
    pub fn is_on_disk_of(&self, other: &Self) -> bool {
        (&self.kind, self.file_system_id) == (&other.kind, other.file_system_id)
    }

    /// Returns whether both are in the same file system, mounted at the same place.
    #[must_use]
    pub fn is_on_mount_of(&self, other: &Self) -> bool {
        self.is_on_disk_of(other) && self.mount_point == other.mount_point
    }

    /// Returns whether it is an automount whose disk is not mounted.
    #[must_use]
    pub fn is_automount(&self) -> bool {
        self.kind == AUTOMOUNT
    }

    /// Returns why `dir`, whose recorded place this is, is away; `now` is what is there instead.
    #[must_use]
    pub fn reason(&self, now: Option<&Self>, dir: &Path, mounts: &MountTable) -> String {
        let at = self.mount_point.display();
        if now.is_some_and(Self::is_automount) {
            return format!("the disk of {} is not mounted", dir.display());
        }
        if !self.mount_point.as_os_str().is_empty() && mounts.at(&self.mount_point).is_none() {
            return format!("nothing is mounted at {at}");
        }
        match now {
            None => format!("{} is not there", dir.display()),
            Some(now) if now.mount_point != self.mount_point => {
                format!("another disk is mounted at {}", now.mount_point.display())
            }
            Some(now) if !self.is_on_disk_of(now) => format!("another disk is mounted at {at}"),
            Some(_) => format!("another directory is at {}", dir.display()),
        }
    }

    fn has_lasting_id(&self) -> bool {
        self.file_system_id != 0 && WITH_LASTING_ID.contains(&self.kind.as_str())
    }
}

/// Notices that file systems were mounted or unmounted.
#[derive(Debug)]
pub struct MountEvents {
    /// The kernel reports each change once to each open file. `None` without `/proc`.
    table: Option<File>,
    generation: AtomicU64,
}

impl MountEvents {
    /// Notices changes from now on.
    #[must_use]
    pub fn new() -> Self {
        Self { table: File::open(MountTable::PATH).ok(), generation: AtomicU64::new(0) }
    }

    /// Returns a number that is different after each change. `None` if the kernel does not tell
    /// changes.
    #[must_use]
    pub fn generation(&self) -> Option<u64> {
        let table = self.table.as_ref()?;
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A failed call counts as a change.
        let is_unchanged = poll(&mut [PollFd::new(table, PollFlags::PRI)], Some(&now)) == Ok(0);
        let changes = u64::from(!is_unchanged);
        Some(self.generation.fetch_add(changes, Ordering::AcqRel) + changes)
    }
}

impl Default for MountEvents {
    fn default() -> Self {
        Self::new()
    }
}
