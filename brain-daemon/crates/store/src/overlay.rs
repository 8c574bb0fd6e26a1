//! In-memory overlay: redb can open, repair and check a file without changing it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use parking_lot::{Mutex, MutexGuard};
use redb::StorageBackend;

/// Size of a written block, in bytes.
const BLOCK: u64 = 4096;

/// A file, and the written blocks that replace parts of it.
#[derive(Debug)]
pub(super) struct FileOverlay {
    file: File,
    written: Mutex<WrittenBlocks>,
}

#[derive(Debug)]
struct WrittenBlocks {
    /// Length of the storage.
    len: u64,
    /// Bytes of the file that are visible. Less than its length if the storage was shortened.
    visible: u64,
    /// Written blocks by number.
    blocks: BTreeMap<u64, Box<[u8]>>,
}

impl FileOverlay {
    /// Creates an overlay over `file`, which is only read.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self {
            file,
            written: Mutex::new(WrittenBlocks { len, visible: len, blocks: BTreeMap::new() }),
        })
    }

    fn written(&self) -> MutexGuard<'_, WrittenBlocks> {
        self.written.lock()
    }

    /// Reads the file at `offset`; zeros where it is not visible.
    fn read_file(&self, offset: u64, out: &mut [u8], visible: u64) -> io::Result<()> {
        let visible_here =
            usize::try_from(visible.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        self.file.read_exact_at(&mut out[..visible_here], offset)?;
        out[visible_here..].fill(0);
        Ok(())
    }
}

/// Splits `length` bytes at `offset` by block: block number, offset in the block, range in the
/// input.
fn split_by_block(
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = offset + done as u64;
        let start = (at % BLOCK) as usize;
        let end = length.min(done + BLOCK as usize - start);
        let part = (at / BLOCK, start, done..end);
        done = end;
        Some(part)
    })
}

impl StorageBackend for FileOverlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > written.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_file(offset, out, written.visible)?;
        for (block, start, range) in split_by_block(offset, out.len()) {
            if let Some(bytes) = written.blocks.get(&block) {
                let length = range.len();
                out[range].copy_from_slice(&bytes[start..start + length]);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written();
        if len < written.len {
            written.visible = written.visible.min(len);
            drop(written.blocks.split_off(&len.div_ceil(BLOCK)));
            if let Some(last) = written.blocks.get_mut(&(len / BLOCK)) {
                last[(len % BLOCK) as usize..].fill(0);
            }
        }
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        for (block, start, range) in split_by_block(offset, data.len()) {
            if !written.blocks.contains_key(&block) {
                let mut bytes = vec![0; BLOCK as usize].into_boxed_slice();
                self.read_file(block * BLOCK, &mut bytes, written.visible)?;
                written.blocks.insert(block, bytes);
            }
            if let Some(bytes) = written.blocks.get_mut(&block) {
                bytes[start..start + range.len()].copy_from_slice(&data[range]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    #[derive(Debug, Clone)]
    enum OverlayStep {
        Write { offset: u64, data: Vec<u8> },
        SetLength(u64),
        Read { offset: u64, length: usize },
    }

    fn step() -> impl Strategy<Value = OverlayStep> {
        prop_oneof![
            (0..9000_u64, proptest::collection::vec(any::<u8>(), 0..5000))
                .prop_map(|(offset, data)| OverlayStep::Write { offset, data }),
            (0..20_000_u64).prop_map(OverlayStep::SetLength),
            (0..15_000_u64, 0..9000_usize)
                .prop_map(|(offset, length)| OverlayStep::Read { offset, length }),
        ]
    }

    proptest! {
        /// The overlay reads like a written file, and the file is unchanged.
        #[test]
        fn an_overlay_reads_like_a_file(
            steps in proptest::collection::vec(step(), 0..30),
            original in proptest::collection::vec(any::<u8>(), 0..9000),
        ) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&original).unwrap();
            let overlay = FileOverlay::new(file.try_clone().unwrap()).unwrap();
            let mut model = original.clone();
            for step in steps {
                match step {
                    OverlayStep::Write { offset, data } => {
                        let end = offset + data.len() as u64;
                        if end > model.len() as u64 {
                            overlay.set_len(end).unwrap();
                            model.resize(end as usize, 0);
                        }
                        overlay.write(offset, &data).unwrap();
                        model[offset as usize..end as usize].copy_from_slice(&data);
                    }
                    OverlayStep::SetLength(len) => {
                        overlay.set_len(len).unwrap();
                        model.resize(len as usize, 0);
                    }
                    OverlayStep::Read { offset, length } => {
                        let mut out = vec![9; length];
                        let end = offset as usize + length;
                        let inside = end <= model.len();
                        prop_assert_eq!(overlay.read(offset, &mut out).is_ok(), inside);
                        if inside {
                            prop_assert_eq!(&out[..], &model[offset as usize..end]);
                        }
                    }
                }
            }
            prop_assert_eq!(overlay.len().unwrap(), model.len() as u64);
            let mut file_bytes = vec![0; original.len()];
            file.read_exact_at(&mut file_bytes, 0).unwrap();
            prop_assert_eq!(file_bytes, original);
        }
    }
}
