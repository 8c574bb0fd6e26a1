//! Reads files past the kernel's cache, and empties the cache of them.
//!
//! A file that was just written is read back from memory, so that says nothing about the disk.
//! Direct reads (`O_DIRECT`) fetch the bytes from the device. Where a file system has none, the
//! cached pages are written out and dropped (`fadvise`), and a read that may not wait
//! (`RWF_NOWAIT`) tells whether they are gone.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, IoSliceMut},
    os::{
        fd::AsFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Advice, OFlags, fadvise},
    io::{Errno, ReadWriteFlags, preadv2},
};

/// The size of a read in bytes.
const CHUNK: usize = 1 << 20;
/// The alignment of direct reads in bytes: a multiple of every usual block size.
const ALIGNMENT: usize = 4096;
/// Maximum number of differences to describe.
const MAX_DIFFERENCES: usize = 5;

/// What the reads of all files found.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct CacheReads {
    /// The number of bytes that direct reads fetched from the device.
    pub(super) direct_bytes: u64,
    /// The number of bytes of files that the file system reads only through the cache.
    pub(super) indirect_bytes: u64,
    /// The number of bytes that stayed in the cache although they were to be dropped.
    pub(super) still_cached: u64,
    /// Where the device has other bytes than the cache; at most [`MAX_DIFFERENCES`] of each call.
    pub(super) differences: Vec<String>,
}

impl CacheReads {
    /// Adds the results of another call.
    pub(super) fn add(&mut self, other: Self) {
        self.direct_bytes += other.direct_bytes;
        self.indirect_bytes += other.indirect_bytes;
        self.still_cached += other.still_cached;
        self.differences.extend(other.differences);
    }
}

/// Compares the cached bytes of all files below `dir` with those of the device, then drops them
/// from the cache. No program may write the files meanwhile.
///
/// # Errors
/// When a directory or file cannot be read.
pub(super) fn read_past(dir: &Path) -> io::Result<CacheReads> {
    let mut reads = CacheReads::default();
    let mut paths = vec![dir.to_owned()];
    while let Some(path) = paths.pop() {
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            for entry in fs::read_dir(&path)? {
                paths.push(entry?.path());
            }
        } else if kind.is_file() {
            read_file_past(&path, &mut reads)?;
        }
    }
    Ok(reads)
}

fn read_file_past(path: &Path, reads: &mut CacheReads) -> io::Result<()> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(());
    }
    match compare(path, &file, length)? {
        Some(None) => reads.direct_bytes += length,
        Some(Some(offset)) => {
            reads.direct_bytes += length;
            if reads.differences.len() < MAX_DIFFERENCES {
                let path = path.display();
                let difference =
                    format!("{path}: the device has other bytes from byte {offset} on");
                reads.differences.push(difference);
            }
        }
        None => reads.indirect_bytes += length,
    }
    // The kernel drops only pages that are written.
    file.sync_all()?;
    // A file system that cannot drop them is found by the next line.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    reads.still_cached += cached_bytes(&file, length);
    Ok(())
}

/// Compares cached and direct reads. Returns the offset of the first different block, if there is
/// one; `None` if the file system has no direct reads.
fn compare(path: &Path, cached: &File, length: u64) -> io::Result<Option<Option<u64>>> {
    let flags = OFlags::DIRECT.bits() as i32;
    let direct = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::InvalidInput => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut buffer = vec![0; CHUNK + ALIGNMENT];
    let start = buffer.as_ptr().align_offset(ALIGNMENT);
    let Some(aligned) = buffer.get_mut(start..start + CHUNK) else { return Ok(None) };
    let mut expected = vec![0; CHUNK];
    let mut offset = 0;
    while offset < length {
        let in_cache = read_at(cached, &mut expected, offset)?;
        let on_device = match read_at(&direct, aligned, offset) {
            Ok(count) => count,
            // Some file systems accept the flag and refuse the read.
            Err(e) if e.kind() == ErrorKind::InvalidInput => return Ok(None),
            Err(e) => return Err(e),
        };
        let (expected, found) = (&expected[..in_cache], &aligned[..on_device]);
        if expected != found {
            let same = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
            return Ok(Some(Some(offset + same as u64)));
        }
        if in_cache == 0 {
            break;
        }
        offset += in_cache as u64;
    }
    Ok(Some(None))
}

/// Reads until the buffer is full or the file ends.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match file.read_at(&mut buffer[count..], offset + count as u64) {
            Ok(0) => break,
            // A direct read that ends within a block has reached the end of the file.
            Ok(n) if !(count + n).is_multiple_of(ALIGNMENT) => return Ok(count + n),
            Ok(n) => count += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(count)
}

/// Returns how many bytes of the file are in the kernel's cache, as far as the kernel says so:
/// without such reads, all of them.
fn cached_bytes(file: impl AsFd, length: u64) -> u64 {
    let mut buffer = [0; ALIGNMENT];
    let blocks = (0..length).step_by(ALIGNMENT);
    let is_cached = |offset: &u64| {
        let buffers = &mut [IoSliceMut::new(&mut buffer)];
        let read = preadv2(&file, buffers, *offset, ReadWriteFlags::NOWAIT);
        !matches!(read, Err(Errno::AGAIN))
    };
    let count = blocks.filter(is_cached).count();
    (count as u64 * ALIGNMENT as u64).min(length)
}

/// Returns the file system of a path for messages, such as `ext4 on /dev/sda1`, and the kernel's
/// word for the drive's own cache, if it has one.
pub(super) fn describe(path: &Path) -> (Option<String>, Option<String>) {
    let Ok(path) = path.canonicalize() else { return (None, None) };
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = mounts
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let left: Vec<&str> = left.split(' ').collect();
            let point = PathBuf::from(left.get(4)?.replace("\\040", " "));
            path.starts_with(&point).then_some((point, *left.get(2)?, right))
        })
        // Of mounts at one place, the last one counts.
        .max_by_key(|(point, ..)| point.components().count());
    let Some((_, device, right)) = mount else { return (None, None) };
    let mut parts = right.split(' ');
    let kind = parts.next().unwrap_or_default();
    let from = parts.next().unwrap_or_default();
    // A partition has no queue of its own.
    let queue = ["queue", "../queue"].into_iter().find_map(|queue| {
        fs::read_to_string(format!("/sys/dev/block/{device}/{queue}/write_cache")).ok()
    });
    (Some(format!("{kind} on {from}")), queue.map(|word| word.trim().to_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_disk_is_read_back_and_dropped() {
        // The system's directory of temporary files may be in memory, the build's one is on a disk.
        let dir = env!("CARGO_MANIFEST_DIR").to_owned() + "/../target";
        let dir = std::env::var("CARGO_TARGET_DIR").unwrap_or(dir);
        let dir = PathBuf::from(dir).join(format!("kernel-cache-{}", std::process::id()));
        fs::create_dir_all(dir.join("a/b")).unwrap();
        for (name, length) in [("empty", 0), ("a/short", 5), ("a/b/long", CHUNK + 70_001)] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            fs::write(dir.join(name), bytes).unwrap();
        }
        let reads = read_past(&dir).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let total = (5 + CHUNK + 70_001) as u64;
        assert_eq!(reads.direct_bytes + reads.indirect_bytes, total);
        assert_eq!(reads.differences, Vec::<String>::new());
    }
}
