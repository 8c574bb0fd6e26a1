//! Real file systems that tests mount and unmount: in image files, encrypted, over the network,
//! and bound directories. Most take root; a kind whose program or right is missing is skipped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Need, has_program, report, skip};

/// Size of the images, in bytes. XFS needs 300 MiB; the files are sparse.
const IMAGE_SIZE: u64 = 320 << 20;
/// Password of the encrypted directories.
const PASSWORD: &str = "correct horse";

/// A kind of file system that [`Disk`] can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskKind {
    /// ext4 in an image file.
    Ext4,
    /// XFS in an image file.
    Xfs,
    /// Btrfs in an image file.
    Btrfs,
    /// F2FS in an image file.
    F2fs,
    /// FAT32 in an image file.
    Vfat,
    /// exFAT in an image file, by the kernel.
    Exfat,
    /// exFAT in an image file, by exfat-fuse.
    ExfatFuse,
    /// NTFS in an image file, by ntfs-3g.
    Ntfs,
    /// A memory file system. Every mount is new and empty.
    Tmpfs,
    /// A directory that is bound to another place.
    Bind,
    /// A directory through bindfs.
    Bindfs,
    /// A directory that gocryptfs encrypts.
    Gocryptfs,
    /// A directory that EncFS encrypts.
    Encfs,
    /// A directory that CryFS encrypts.
    Cryfs,
    /// A directory through sshfs and OpenSSH's file server, without a network.
    Sshfs,
    /// Two directories that mergerfs merges.
    Mergerfs,
    /// Two directories that unionfs-fuse merges; the first one is writable.
    Unionfs,
    /// Two directories that fuse-overlayfs merges.
    FuseOverlayfs,
    /// A directory that `rclone mount` shows, with its write cache.
    Rclone,
}

impl DiskKind {
    /// All kinds.
    pub const ALL: [Self; 19] = [
        Self::Ext4,
        Self::Xfs,
        Self::Btrfs,
        Self::F2fs,
        Self::Vfat,
        Self::Exfat,
        Self::ExfatFuse,
        Self::Ntfs,
        Self::Tmpfs,
        Self::Bind,
        Self::Bindfs,
        Self::Gocryptfs,
        Self::Encfs,
        Self::Cryfs,
        Self::Sshfs,
        Self::Mergerfs,
        Self::Unionfs,
        Self::FuseOverlayfs,
        Self::Rclone,
    ];

    /// Returns the kernel's name of a file system in an image file that the kernel itself mounts.
    fn of_kernel(self) -> Option<&'static str> {
        Some(match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::F2fs => "f2fs",
            Self::Vfat => "vfat",
            Self::Exfat => "exfat",
            _ => return None,
        })
    }

    /// Returns the programs that make and mount it, beside `mount`.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Tmpfs | Self::Bind => &[],
            Self::ExfatFuse => &["mkfs.exfat", "mount.exfat-fuse"],
            Self::Ntfs => &["mkntfs", "ntfs-3g"],
            Self::Bindfs => &["bindfs"],
            Self::Gocryptfs => &["gocryptfs"],
            Self::Encfs => &["encfs"],
            Self::Cryfs => &["cryfs"],
            Self::Sshfs => &["sshfs"],
            Self::Mergerfs => &["mergerfs"],
            Self::Unionfs => &["unionfs"],
            Self::FuseOverlayfs => &["fuse-overlayfs"],
            Self::Rclone => &["rclone"],
            Self::Ext4 | Self::Xfs | Self::Btrfs | Self::F2fs | Self::Vfat | Self::Exfat => {
                self.formatter().map_or(&[], |command| &command[..1])
            }
        }
    }

    /// Returns the program that formats an image file, with its options.
    fn formatter(self) -> Option<&'static [&'static str]> {
        Some(match self {
            Self::Ext4 => &["mkfs.ext4", "-q", "-F"],
            Self::Xfs => &["mkfs.xfs", "-q", "-f"],
            Self::Btrfs => &["mkfs.btrfs", "-q", "-f"],
            Self::F2fs => &["mkfs.f2fs", "-q", "-f"],
            Self::Vfat => &["mkfs.vfat", "-F", "32"],
            Self::Exfat | Self::ExfatFuse => &["mkfs.exfat"],
            Self::Ntfs => &["mkntfs", "-q", "-F", "-f"],
            _ => return None,
        })
    }
}

/// A file system that is not mounted yet. Its files stay between two mounts, except on
/// [`DiskKind::Tmpfs`]. Dropping it removes it; drop its mounts before.
#[derive(Debug)]
pub struct Disk {
    kind: DiskKind,
    dir: tempfile::TempDir,
}

impl Disk {
    /// Makes an empty file system. Returns `None` and reports a skip if that is not possible here.
    #[must_use]
    pub fn new(kind: DiskKind) -> Option<Self> {
        let dir = tempfile::Builder::new().prefix("brain-disk").tempdir().unwrap();
        let disk = Self { kind, dir };
        for name in ["files", "second", "work"] {
            fs::create_dir(disk.part(name)).unwrap();
        }
        if kind.programs().iter().any(|program| !has_program(program)) {
            return None;
        }
        let made = match (kind, kind.formatter()) {
            (_, Some([program, options @ ..])) => {
                fs::File::create(disk.image()).and_then(|file| file.set_len(IMAGE_SIZE)).unwrap();
                succeeds(Command::new(program).args(options).arg(disk.image()))
            }
            (DiskKind::Gocryptfs, _) => succeeds(
                Command::new("gocryptfs")
                    .args(["-init", "-q", "-scryptn", "10", "-extpass", "echo x"])
                    .arg(disk.part("files")),
            ),
            _ => Ok(()),
        };
        made.unwrap_or_else(|why| panic!("a file system {kind:?} cannot be made: {why}"));
        Some(disk)
    }

    /// Mounts the file system at the directory `at`, which is created if needed. Returns `None` and
    /// reports a skip if that is not possible here.
    #[must_use]
    pub fn mount(&self, at: &Path) -> Option<MountedDisk> {
        fs::create_dir_all(at).unwrap();
        if let Err(why) = self.try_mount(at) {
            report(&format!("{:?} cannot be mounted: {why}", self.kind));
            skip(match self.kind.of_kernel() {
                Some(name) if why.contains("unknown filesystem type") => Need::Kernel(name.into()),
                _ => Need::Root(format!("the file system {:?}", self.kind)),
            });
            return None;
        }
        Some(MountedDisk { at: at.to_owned() })
    }

    /// Returns the directory below, for changes behind the mount. Only kinds that show a directory
    /// as it is have one: bind mounts, bindfs, sshfs, mergerfs, unionfs, fuse-overlayfs, rclone.
    #[must_use]
    pub fn below(&self) -> PathBuf {
        self.part("files")
    }

    fn part(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn image(&self) -> PathBuf {
        self.part("image")
    }

    fn try_mount(&self, at: &Path) -> Result<(), String> {
        let (files, second) = (self.part("files"), self.part("second"));
        let both = |mode: [&str; 2]| {
            format!("{}{}:{}{}", files.display(), mode[0], second.display(), mode[1])
        };
        let mut command = match self.kind {
            DiskKind::Ext4
            | DiskKind::Xfs
            | DiskKind::Btrfs
            | DiskKind::F2fs
            | DiskKind::Vfat
            | DiskKind::Exfat => {
                let name = self.kind.of_kernel().unwrap_or_default();
                kernel_mount(name, &self.image())
            }
            DiskKind::ExfatFuse => return self.mount_device("mount.exfat-fuse", at),
            DiskKind::Ntfs => return self.mount_device("ntfs-3g", at),
            DiskKind::Tmpfs => with_args("mount", &["-t", "tmpfs", "brain-test"]),
            DiskKind::Bind => with_args("mount", &[Path::new("--bind"), &files]),
            DiskKind::Bindfs => with_args("bindfs", &[&files]),
            DiskKind::Gocryptfs => {
                let mut command = with_args("gocryptfs", &["-q", "-extpass", "echo x"]);
                command.arg(&files);
                command
            }
            DiskKind::Encfs => {
                let question = format!("--extpass=echo {PASSWORD}");
                let mut command = with_args("encfs", &["--standard", &question]);
                command.arg(&files);
                command
            }
            DiskKind::Cryfs => return self.mount_cryfs(at),
            DiskKind::Sshfs => {
                let script = self.server_script();
                let option = format!("ssh_command={}", script.display());
                let mut command = with_args("sshfs", &["-o", &option]);
                command.arg(format!("server:{}", files.display()));
                command
            }
            DiskKind::Mergerfs => with_args("mergerfs", &[both(["", ""])]),
            DiskKind::Unionfs => with_args("unionfs", &["-o", "cow", &both(["=RW", "=RO"])]),
            DiskKind::FuseOverlayfs => {
                let [files, second, work] =
                    [&files, &second, &self.part("work")].map(|path| path.display().to_string());
                let options = format!("lowerdir={second},upperdir={files},workdir={work}");
                with_args("fuse-overlayfs", &["-o", &options])
            }
            DiskKind::Rclone => {
                let mut command = with_args("rclone", &["mount", "--daemon"]);
                command
                    .args(["--vfs-cache-mode", "writes", "--config", "/dev/null", "--cache-dir"])
                    .arg(self.part("work"))
                    .arg(format!(":local:{}", files.display()));
                command
            }
        };
        succeeds(command.arg(at))?;
        wait_until_mounted(at)
    }

    /// Mounts the image with a FUSE program as a block device, as a stick is.
    fn mount_device(&self, program: &str, at: &Path) -> Result<(), String> {
        // `losetup --detach` waits for the unmount.
        let script = "device=$(losetup --find --show \"$2\") || exit 1
            \"$1\" \"$device\" \"$3\"; status=$?
            losetup --detach \"$device\"; exit $status";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", program]).arg(self.image()).arg(at);
        succeeds(&mut command)?;
        wait_until_mounted(at)
    }

    fn mount_cryfs(&self, at: &Path) -> Result<(), String> {
        // cryfs reads the password from standard input; its home has its record of directories.
        let mut command = Command::new("sh");
        command
            .args(["-c", "printf '%s\\n' \"$3\" | cryfs \"$1\" \"$2\"", "sh"])
            .args([self.part("files").as_path(), at, Path::new(PASSWORD)])
            .env("CRYFS_FRONTEND", "noninteractive")
            .env("CRYFS_NO_UPDATE_CHECK", "true")
            .env("HOME", self.part("work"));
        succeeds(&mut command)?;
        wait_until_mounted(at)
    }

    /// Writes a program for sshfs that is OpenSSH's file server instead of a connection to one.
    fn server_script(&self) -> PathBuf {
        let script = self.part("server");
        fs::write(&script, "#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        script
    }
}

/// A mounted file system. Dropping it unmounts it, even if it is in use.
#[derive(Debug)]
pub struct MountedDisk {
    at: PathBuf,
}

impl MountedDisk {
    /// Binds the directory `from` to `at`, which is created if needed. Returns `None` and reports a
    /// skip if that is not possible here.
    #[must_use]
    pub fn bind(from: &Path, at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        succeeds(with_args("mount", &[Path::new("--bind"), from]).arg(at))
            .map_err(|_| skip(Need::Root("directories that are bound".into())))
            .ok()?;
        Some(Self { at: at.to_owned() })
    }

    /// Returns where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Unmounts it, as a person does.
    ///
    /// # Errors
    /// The message of `umount`, for example that it is in use. Then it stays mounted.
    pub fn unmount(self) -> Result<(), (Self, String)> {
        match succeeds(Command::new("umount").arg(&self.at)) {
            Ok(()) => {
                std::mem::forget(self);
                Ok(())
            }
            Err(why) => Err((self, why)),
        }
    }
}

impl Drop for MountedDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).stderr(Stdio::null()).status();
    }
}

fn kernel_mount(kind: &str, image: &Path) -> Command {
    let mut command = with_args("mount", &["-t", kind, "-o", "loop"]);
    command.arg(image);
    command
}

fn with_args(program: &str, args: &[impl AsRef<std::ffi::OsStr>]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

/// Runs a command. Returns what it says if it fails.
fn succeeds(command: &mut Command) -> Result<(), String> {
    // A mounted FUSE program keeps the descriptors that it inherits, so none may be a pipe.
    let output = tempfile::tempfile().unwrap();
    let status = command
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output.try_clone().unwrap())
        .status()
        .map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if status.success() {
        return Ok(());
    }
    let mut text = vec![0; 4096];
    let length = std::os::unix::fs::FileExt::read_at(&output, &mut text, 0).unwrap_or(0);
    Err(format!("{status}: {}", String::from_utf8_lossy(&text[..length]).trim()))
}

/// Waits until a program that mounts in the background has mounted something at `at`.
fn wait_until_mounted(at: &Path) -> Result<(), String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let at = at.canonicalize().map_err(|e| e.to_string())?;
    loop {
        let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|e| e.to_string())?;
        let is_mounted = |line: &str| line.split(' ').nth(4) == at.to_str();
        if mounts.lines().any(is_mounted) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err("nothing is mounted after 10 s".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_again_after_a_second_mount() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("disk");
        use DiskKind::{Bind, ExfatFuse, Ext4, Gocryptfs, Sshfs, Tmpfs};
        for kind in [Ext4, ExfatFuse, Tmpfs, Bind, Gocryptfs, Sshfs] {
            let Some(disk) = Disk::new(kind) else { continue };
            for round in 0..2 {
                let Some(mounted) = disk.mount(&at) else { break };
                let file = at.join("note.md");
                match round {
                    0 => fs::write(&file, "text\n").unwrap(),
                    _ if kind == DiskKind::Tmpfs => assert!(!file.exists()),
                    _ => assert_eq!(fs::read_to_string(&file).unwrap(), "text\n", "{kind:?}"),
                }
                // Some programs are still busy with the last write.
                let mut unmounted = mounted.unmount();
                for _ in 0..50 {
                    let Err((mounted, _)) = unmounted else { break };
                    std::thread::sleep(Duration::from_millis(100));
                    unmounted = mounted.unmount();
                }
                unmounted.unwrap();
                assert_eq!(fs::read_dir(&at).unwrap().count(), 0, "{kind:?}");
            }
        }
    }
}
