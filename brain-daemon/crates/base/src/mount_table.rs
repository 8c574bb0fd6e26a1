//! The kernel's list of mounted file systems.

use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags, statx};

/// One line of the kernel's list of mounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mount {
    /// Its number, which a later mount can get again.
    pub id: u64,
    /// The device, as `MAJOR:MINOR`.
    pub device: String,
    /// The directory of the file system that is mounted.
    pub root: String,
    /// Where it is mounted.
    pub at: PathBuf,
    /// The type, for example `ext4`.
    pub kind: String,
    /// The path of the device, or what the program of the file system calls its source.
    pub source: String,
}

/// The mounted file systems at one time.
#[derive(Debug, Default)]
pub struct MountTable(Vec<Mount>);

impl MountTable {
    /// The file with the list, which can be polled for changes.
    pub const PATH: &str = "/proc/self/mountinfo";

    /// Reads the mounted file systems. The table is empty if the kernel does not show them.
    #[must_use]
    pub fn read() -> Self {
        Self::parse(&std::fs::read(Self::PATH).unwrap_or_default())
    }

    /// Parses the list. Leaves out lines that cannot be read.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self(text.lines().filter_map(parse_line).collect())
    }

    /// Returns the last mount at exactly this path.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&Mount> {
        self.0.iter().rev().find(|mount| mount.at == path)
    }

    /// Returns the paths below `dir`, relative to it, at which something is mounted. Some may be
    /// hidden by other mounts. Leaves out hidden directories, whose files are no pages.
    #[must_use]
    pub fn below(&self, dir: &Path) -> Vec<String> {
        let inside = self.0.iter().filter_map(|mount| mount.at.strip_prefix(dir).ok()?.to_str());
        let is_visible = |path: &&str| {
            let is_dotted =
                |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
            !path.is_empty() && !Path::new(path).components().any(is_dotted)
        };
        let mut paths: Vec<String> = inside.filter(is_visible).map(str::to_owned).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Returns whether the kernel does not show its list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the mount with the deepest directory at or above `path`; of several at one directory,
    /// the last one.
    #[must_use]
    pub fn deepest_above(&self, path: &Path) -> Option<&Mount> {
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        above.max_by_key(|mount| mount.at.components().count())
    }

    /// Returns the first mount of a device, `MAJOR:MINOR`.
    #[must_use]
    pub fn of_device(&self, device: &str) -> Option<&Mount> {
        self.0.iter().find(|mount| mount.device == device)
    }

    /// Returns the mount that an open directory is in.
    #[must_use]
    pub fn of(&self, handle: impl AsFd) -> Option<&Mount> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        // The list has the other, reused kind of id.
        let found = statx(handle, "", flags, StatxFlags::MNT_ID).ok()?;
        self.0.iter().find(|mount| mount.id == found.stx_mnt_id)
    }
}

fn parse_line(line: &str) -> Option<Mount> {
    // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ');
    let id = mount.next()?.parse().ok()?;
    let device = mount.nth(1)?.to_owned();
    let root = unescape(mount.next()?);
    let at = PathBuf::from(unescape(mount.next()?));
    let mut file_system = file_system.split(' ');
    let kind = file_system.next()?.to_owned();
    Some(Mount { id, device, root, at, kind, source: unescape(file_system.next()?) })
}

/// Replaces octal codes, such as `\040` for a blank, which `/etc/fstab` has, too.
pub(crate) fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[3..]);
            }
            None => bytes.extend([b"\\", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_of_a_mount_is_parsed() {
        let line =
            "36 35 98:0 /a\\040b /mnt/my\\011stick rw,noatime master:1 - ext3 /dev/sd\\134x rw";
        let table = MountTable::parse(format!("no mount\n{line}\n").as_bytes());
        let mount = Mount {
            id: 36,
            device: "98:0".into(),
            root: "/a b".into(),
            at: "/mnt/my\tstick".into(),
            kind: "ext3".into(),
            source: "/dev/sd\\x".into(),
        };
        assert_eq!(table.at(&mount.at), Some(&mount));
        assert_eq!(table.of_device("98:0"), Some(&mount));
        assert_eq!(table.deepest_above(&mount.at.join("dir")), Some(&mount));
        assert_eq!(table.deepest_above(Path::new("/mnt")), None);
    }

    #[test]
    fn mounts_below_a_directory_are_sorted_and_visible() {
        let line = |id: u32, at: &str| format!("{id} 1 8:1 / {at} rw - ext4 /dev/sda1 rw\n");
        let places = ["/", "/home/b", "/home", "/home/a/deep", "/home/b", "/home/.x/y", "/homes"];
        let lines: String = (20..).zip(places).map(|(id, at)| line(id, at)).collect();
        let table = MountTable::parse(lines.as_bytes());
        assert_eq!(table.below(Path::new("/home")), ["a/deep", "b"]);
        assert_eq!(table.at(Path::new("/home/b")).map(|mount| mount.id), Some(24), "the last one");
        assert_eq!(table.deepest_above(Path::new("/home/b/c")).map(|mount| mount.id), Some(24));
        assert!(!table.is_empty() && MountTable::parse(b"").is_empty());
    }

    #[test]
    fn open_directory_is_in_the_mount_of_its_path() {
        let proc = std::fs::File::open("/proc").ok();
        let table = MountTable::read();
        let mount = proc.and_then(|proc| table.of(proc));
        assert_eq!(mount.map(|mount| mount.kind.as_str()), Some("proc"));
    }
}
