//! Reads tensors of a safetensors file, one at a time.
//!
//! File and result are equally large. Reading one tensor at a time avoids having both in memory.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use super::error::{damaged, unreadable};
use crate::EmbedError;

/// Maximum size of a file's header, in bytes. A model with a thousand tensors has 100 KiB.
const MAX_HEADER_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum numbers converted at once.
const CHUNK: usize = 1 << 16;

/// An open file of tensors.
pub(super) struct Tensors {
    path: PathBuf,
    file: File,
    /// Offset of the first tensor, in bytes.
    begin: u64,
    header: Metadata,
    /// Prefix of tensor names: `bert.` or nothing.
    prefix: String,
}

impl Tensors {
    /// Opens a file and checks that it is complete.
    pub(super) fn open(path: &Path) -> Result<Self, EmbedError> {
        let damaged = |what: &str| damaged(path, what);
        let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let length = file.metadata().map_err(|error| unreadable(path, &error))?.len();
        let mut length_bytes = [0; 8];
        file.read_exact(&mut length_bytes)
            .map_err(|_| damaged("is cut off within its first bytes"))?;
        let header_bytes = u64::from_le_bytes(length_bytes);
        if header_bytes > MAX_HEADER_BYTES {
            return Err(damaged(
                "is not a safetensors file: its first 8 bytes give an implausible header length",
            ));
        }
        let mut header = vec![0; header_bytes as usize];
        file.read_exact(&mut header).map_err(|_| damaged("is cut off within its header"))?;
        // The parser refuses tensors that overlap, leave gaps, or have the wrong length.
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|_| damaged("is not a safetensors file, or its header is damaged"))?;
        let begin = 8 + header_bytes;
        if begin.checked_add(header.data_len() as u64) != Some(length) {
            return Err(damaged("is cut off, or is longer than its header says"));
        }
        let prefix = header
            .tensors()
            .keys()
            .find_map(|name| name.strip_suffix("embeddings.word_embeddings.weight"))
            .ok_or_else(|| {
                damaged("has no embeddings.word_embeddings.weight: it is not a text encoder")
            })?
            .to_owned();
        Ok(Self { path: path.to_owned(), file, begin, header, prefix })
    }

    /// Returns a tensor's offset in the file, number of elements and data type.
    fn find(&self, name: &str, shape: &[usize]) -> Result<(u64, usize, Dtype), EmbedError> {
        let damaged = |what: std::fmt::Arguments<'_>| damaged(&self.path, what);
        // The tensors of a classifier have no prefix.
        let prefix = if name.starts_with("classifier.") { "" } else { &self.prefix };
        let full_name = format!("{prefix}{name}");
        let info = self
            .header
            .info(&full_name)
            .ok_or_else(|| damaged(format_args!("has no tensor {full_name}")))?;
        if info.shape != shape {
            return Err(damaged(format_args!(
                "has {full_name} of the shape {:?}, where config.json says {shape:?}",
                info.shape
            )));
        }
        if !matches!(info.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16) {
            return Err(damaged(format_args!(
                "has {full_name} in numbers that brain cannot read: {:?}",
                info.dtype
            )));
        }
        Ok((self.begin + info.data_offsets.0 as u64, shape.iter().product(), info.dtype))
    }

    /// Checks that the tensor exists with this shape, in numbers that brain can read.
    pub(super) fn check(&self, name: &str, shape: &[usize]) -> Result<(), EmbedError> {
        self.find(name, shape).map(drop)
    }

    /// Returns a tensor's numbers, in the order of the file.
    pub(super) fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EmbedError> {
        let mut numbers = Vec::with_capacity(shape.iter().product());
        self.each(name, shape, |part| numbers.extend_from_slice(part))?;
        Ok(numbers)
    }

    /// Calls `take` with a tensor's numbers, in pieces of at most [`CHUNK`].
    pub(super) fn each(
        &mut self,
        name: &str,
        shape: &[usize],
        mut take: impl FnMut(&[f32]),
    ) -> Result<(), EmbedError> {
        let (begin, count, kind) = self.find(name, shape)?;
        self.file.seek(SeekFrom::Start(begin)).map_err(|error| unreadable(&self.path, &error))?;
        let size = if kind == Dtype::F32 { 4 } else { 2 };
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        let mut left = count;
        while left > 0 {
            let chunk = left.min(CHUNK);
            bytes.resize(chunk * size, 0);
            self.file.read_exact(&mut bytes).map_err(|error| unreadable(&self.path, &error))?;
            numbers.clear();
            let halves = || bytes.as_chunks().0.iter().map(|each| u16::from_le_bytes(*each));
            match kind {
                Dtype::F32 => {
                    numbers
                        .extend(bytes.as_chunks().0.iter().map(|each| f32::from_le_bytes(*each)));
                }
                Dtype::F16 => numbers.extend(halves().map(half_to_f32)),
                // bfloat16 is the upper half of a 32-bit float.
                _ => numbers.extend(halves().map(|bits| f32::from_bits(u32::from(bits) << 16))),
            }
            take(&numbers);
            left -= chunk;
        }
        Ok(())
    }
}

/// Converts the bits of an IEEE 754 binary16 number.
fn half_to_f32(bits: u16) -> f32 {
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
    use super::half_to_f32;

    #[test]
    fn half_precision_floats_are_converted() {
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
            assert_eq!(half_to_f32(bits), number, "{bits:#06x}");
        }
        assert!(half_to_f32(0x7e00).is_nan());
    }
}
