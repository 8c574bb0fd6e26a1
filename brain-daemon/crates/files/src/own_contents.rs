//! File contents that brain wrote and may overwrite.

use sha2::{Digest, Sha256};

/// Smallest unit that a disk writes, in bytes.
const BLOCK: usize = 512;

/// Returns the SHA-256 of a file's bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Contents of a page's file that brain may overwrite.
pub struct OwnContents<'a> {
    /// Digests of complete texts that brain may have written.
    pub digests: &'a [[u8; 32]],
    /// Returns whether the bytes are one of brain's texts that a power loss left incomplete.
    pub is_torn: &'a dyn Fn(&[u8]) -> bool,
    /// Whether this is the first check after an unclean end. Only then does an incomplete text
    /// count as brain's own. Later, it is a save of another program.
    pub is_recovering: bool,
}

impl<'a> OwnContents<'a> {
    /// Accepts only complete texts with these digests.
    #[must_use]
    pub fn whole(digests: &'a [[u8; 32]]) -> Self {
        Self { digests, is_torn: &|_| false, is_recovering: false }
    }

    /// Whether a file with these bytes may be overwritten.
    #[must_use]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.digests.contains(&digest(bytes)) || (self.is_recovering && (self.is_torn)(bytes))
    }

    /// Whether a temporary file with these bytes may be removed: a kill leaves incomplete ones.
    pub(super) fn contains_temporary(&self, bytes: &[u8]) -> bool {
        self.contains(bytes) || (self.is_torn)(bytes)
    }
}

/// Whether a power loss can leave `bytes` in place of `text`: a prefix of the text, with zeros in
/// unwritten blocks.
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
    fn an_incomplete_write_differs_from_an_edit() {
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
        assert!(!is_torn(&edit, &text), "a changed letter");
        zeros[600] = b'X';
        assert!(!is_torn(&zeros, &text), "a changed letter in a block of zeros");
        edit = text.clone();
        edit.push(b'\n');
        assert!(!is_torn(&edit, &text), "an added line");
        assert!(!is_torn(&text[20..1000], &text), "not a prefix of the text");
    }
}
