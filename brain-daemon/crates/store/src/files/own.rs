//! Which bytes in a page's file are brain's own.

use sha2::{Digest, Sha256};

/// A disk writes at least so many bytes at once.
const BLOCK: usize = 512;

/// SHA-256 of a file's bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// What may be overwritten in a page's file.
pub struct Own<'a> {
    /// Digests of whole texts that brain may have left there.
    pub digests: &'a [[u8; 32]],
    /// Whether bytes are what a power loss leaves of a text that brain wrote.
    pub torn: &'a dyn Fn(&[u8]) -> bool,
    /// Whether the file is looked at for the first time after an end without a flush: then what is torn is brain's own. At any
    /// other time it is somebody's save.
    pub recovering: bool,
}

impl<'a> Own<'a> {
    /// Only whole texts with these digests.
    #[must_use]
    pub fn whole(digests: &'a [[u8; 32]]) -> Self {
        Self { digests, torn: &|_| false, recovering: false }
    }

    /// Whether a file with these bytes may be overwritten.
    #[must_use]
    pub fn has(&self, bytes: &[u8]) -> bool {
        self.digests.contains(&digest(bytes)) || (self.recovering && (self.torn)(bytes))
    }

    /// Whether a temporary file with these bytes holds nobody's work: a kill leaves half-written ones.
    pub(super) fn has_temporary(&self, bytes: &[u8]) -> bool {
        self.has(bytes) || (self.torn)(bytes)
    }
}

/// Whether `bytes` is what a power loss may leave of a file with this text: its beginning, with blocks of zeros where nothing
/// was written.
#[must_use]
pub fn is_torn(bytes: &[u8], text: &[u8]) -> bool {
    bytes.len() <= text.len()
        && bytes
            .chunks(BLOCK)
            .zip(text.chunks(BLOCK))
            .all(|(found, whole)| whole.starts_with(found) || found.iter().all(|byte| *byte == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_power_loss_leaves_is_told_from_an_edit() {
        let text: Vec<u8> =
            (0..200).flat_map(|n| format!("Line {n} of the page.\n").into_bytes()).collect();
        for len in [0, 1, 511, 512, 1000, 2048, text.len()] {
            assert!(is_torn(&text[..len], &text), "{len}");
        }
        let mut zeros = text.clone();
        zeros[512..1536].fill(0);
        assert!(
            is_torn(&zeros, &text) && is_torn(&zeros[..1500], &text) && is_torn(&[0; 700], &text)
        );
        let mut edit = text.clone();
        edit[600] = b'X';
        assert!(!is_torn(&edit, &text), "a letter");
        zeros[600] = b'X';
        assert!(!is_torn(&zeros, &text), "a letter in a block of zeros");
        edit = text.clone();
        edit.push(b'\n');
        assert!(!is_torn(&edit, &text), "a line more");
        assert!(!is_torn(&text[20..1000], &text), "not its beginning");
    }
}
