//! The tensors in a safetensors file, one at a time: never the whole file at once, because what is made of it is as large.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use super::fault::{damaged, unread};
use crate::EmbedFault;

/// The longest head of a file, in bytes. A model of a thousand tensors has 100 KiB.
const HEAD_MOST: u64 = 16 * 1024 * 1024;
/// As many numbers are converted at once.
const AT_ONCE: usize = 1 << 16;

/// An open file of tensors.
pub(super) struct Tensors {
    path: PathBuf,
    file: File,
    /// Where the tensors begin.
    begin: u64,
    head: Metadata,
    /// What goes before the names that a bare encoder has: `bert.` or nothing.
    prefix: String,
}

impl Tensors {
    /// Opens a file, and checks that it is whole.
    pub(super) fn open(path: &Path) -> Result<Self, EmbedFault> {
        let damaged = |what: &str| damaged(path, what);
        let mut file = File::open(path).map_err(|error| unread(path, &error))?;
        let length = file.metadata().map_err(|error| unread(path, &error))?.len();
        let mut long = [0; 8];
        file.read_exact(&mut long).map_err(|_| damaged("is cut off within its first bytes"))?;
        let long = u64::from_le_bytes(long);
        if long > HEAD_MOST {
            return Err(damaged("is no safetensors file: its head would be larger than any"));
        }
        let mut head = vec![0; long as usize];
        file.read_exact(&mut head).map_err(|_| damaged("is cut off within its head"))?;
        // It refuses tensors that overlap, leave gaps, or are not as long as their shape says.
        let head: Metadata = serde_json::from_slice(&head)
            .map_err(|_| damaged("is no safetensors file, or its head is damaged"))?;
        let begin = 8 + long;
        if begin.checked_add(head.data_len() as u64) != Some(length) {
            return Err(damaged("is cut off, or is longer than its head says"));
        }
        let prefix = head
            .tensors()
            .keys()
            .find_map(|name| name.strip_suffix("embeddings.word_embeddings.weight"))
            .ok_or_else(|| {
                damaged("has no embeddings.word_embeddings.weight: it is no encoder of text")
            })?
            .to_owned();
        Ok(Self { path: path.to_owned(), file, begin, head, prefix })
    }

    /// Where a tensor begins in the file, how many numbers it has, and of which kind.
    fn find(&self, name: &str, shape: &[usize]) -> Result<(u64, usize, Dtype), EmbedFault> {
        let damaged = |what: std::fmt::Arguments<'_>| damaged(&self.path, what);
        let full = format!("{}{name}", self.prefix);
        let found =
            self.head.info(&full).ok_or_else(|| damaged(format_args!("has no tensor {full}")))?;
        if found.shape != shape {
            return Err(damaged(format_args!(
                "has {full} of the shape {:?}, where config.json says {shape:?}",
                found.shape
            )));
        }
        if !matches!(found.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16) {
            return Err(damaged(format_args!(
                "has {full} in numbers that brain cannot read: {:?}",
                found.dtype
            )));
        }
        Ok((self.begin + found.data_offsets.0 as u64, shape.iter().product(), found.dtype))
    }

    /// Whether there is such a tensor.
    pub(super) fn check(&self, name: &str, shape: &[usize]) -> Result<(), EmbedFault> {
        self.find(name, shape).map(drop)
    }

    /// A tensor's numbers, in the order of the file.
    pub(super) fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EmbedFault> {
        let mut numbers = Vec::with_capacity(shape.iter().product());
        self.each(name, shape, |part| numbers.extend_from_slice(part))?;
        Ok(numbers)
    }

    /// A tensor's numbers, piece by piece.
    pub(super) fn each(
        &mut self,
        name: &str,
        shape: &[usize],
        mut take: impl FnMut(&[f32]),
    ) -> Result<(), EmbedFault> {
        let (begin, many, kind) = self.find(name, shape)?;
        self.file.seek(SeekFrom::Start(begin)).map_err(|error| unread(&self.path, &error))?;
        let size = if kind == Dtype::F32 { 4 } else { 2 };
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        let mut left = many;
        while left > 0 {
            let now = left.min(AT_ONCE);
            bytes.resize(now * size, 0);
            self.file.read_exact(&mut bytes).map_err(|error| unread(&self.path, &error))?;
            numbers.clear();
            let pairs = || bytes.as_chunks().0.iter().map(|each| u16::from_le_bytes(*each));
            match kind {
                Dtype::F32 => {
                    numbers
                        .extend(bytes.as_chunks().0.iter().map(|each| f32::from_le_bytes(*each)));
                }
                Dtype::F16 => numbers.extend(pairs().map(half)),
                // The upper half of a number of four bytes.
                _ => numbers.extend(pairs().map(|bits| f32::from_bits(u32::from(bits) << 16))),
            }
            take(&numbers);
            left -= now;
        }
        Ok(())
    }
}

/// A number of two bytes, IEEE 754 binary16.
fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2_f32.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn numbers_of_two_bytes_are_read_as_they_are_written() {
        for (bits, number) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(half(bits), number, "{bits:#06x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
