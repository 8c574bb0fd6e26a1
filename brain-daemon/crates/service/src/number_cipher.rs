//! Encrypts sequence and job numbers for restricted callers. These numbers count the changes of all
//! sources, so they would reveal the activity in sources that the caller may not see.
//!
//! The encryption is a permutation with a key that the store has. An encrypted number grants
//! nothing: every lookup by number checks the caller's access.

use sha2::{Digest, Sha256};

/// The length of half a number, in bits.
const HALF_BITS: u32 = 31;
/// The mask of half a number.
const MASK: u64 = (1 << HALF_BITS) - 1;
/// The bit that marks an encrypted number. Encrypted numbers stay below 10^19.
const ENCRYPTED_BIT: u64 = 1 << (2 * HALF_BITS);
/// Number of rounds of the Feistel network. With four or more, its output looks random.
const ROUNDS: u8 = 6;

/// The cipher of the numbers of one store. Has the key.
#[derive(Debug, Clone, Copy)]
pub struct NumberCipher([u8; 32]);

impl NumberCipher {
    /// Creates the cipher of the store with this random key.
    pub fn of(key: u64) -> Self {
        Self(
            Sha256::digest([b"brain: sealed numbers".as_slice(), &key.to_le_bytes()].concat())
                .into(),
        )
    }

    /// Returns the encrypted form of `number`, which must be below 2^62.
    pub fn encrypt(&self, number: u64) -> u64 {
        let (left, right) = (0..ROUNDS)
            .fold(split(number), |(left, right), round| (right, left ^ self.mix(round, right)));
        ENCRYPTED_BIT | (left << HALF_BITS) | right
    }

    /// Returns the number in `encrypted`, or `None` if it is not encrypted.
    pub fn decrypt(&self, encrypted: u64) -> Option<u64> {
        if encrypted & ENCRYPTED_BIT == 0 {
            return None;
        }
        let (left, right) = (0..ROUNDS)
            .rev()
            .fold(split(encrypted), |(left, right), round| (right ^ self.mix(round, left), left));
        Some((left << HALF_BITS) | right)
    }

    /// Returns the pseudo-random bits that a round combines with half a number.
    fn mix(&self, round: u8, half: u64) -> u64 {
        let digest = Sha256::new().chain_update(self.0).chain_update([round]);
        let digest: [u8; 32] = digest.chain_update(half.to_le_bytes()).finalize().into();
        digest.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte)) & MASK
    }
}

/// Returns the left and the right half of a number, without the bit of encrypted numbers.
fn split(number: u64) -> (u64, u64) {
    ((number >> HALF_BITS) & MASK, number & MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encrypted_numbers_are_decrypted_and_look_random() {
        let cipher = NumberCipher::of(7);
        for number in [0, 1, 2, 1000, 1 << 40, (1 << 62) - 1] {
            let encrypted = cipher.encrypt(number);
            assert_eq!((cipher.decrypt(encrypted), cipher.decrypt(number)), (Some(number), None));
            assert!(encrypted.to_string().len() <= 19);
            assert_ne!(
                NumberCipher::of(8).encrypt(number),
                encrypted,
                "another store encrypts differently"
            );
        }
        let near = (0..100_u64)
            .filter(|n| cipher.encrypt(*n).abs_diff(cipher.encrypt(n + 1)) < 1 << 40)
            .count();
        assert!(near < 5, "encrypted neighbours are far apart: {near}");
    }
}
