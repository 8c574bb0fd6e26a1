//! Random bytes and secrets. Code that needs them takes a [`RandomSource`], so that tests can
//! predict them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brain_protocol::Secret;

use crate::Error;

/// A cryptographically secure source of random bytes.
pub trait RandomSource: Send + Sync {
    /// Fills `bytes` with random data.
    ///
    /// # Errors
    /// [`Error::NoRandomData`] if the source fails. No secret may be created then.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error>;
}

/// The random generator of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl RandomSource for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(bytes).map_err(|e| Error::NoRandomData(e.to_string()))
    }
}

/// Returns a secret of 256 random bits: `prefix`, then base64url.
///
/// # Errors
/// As [`RandomSource::fill`].
pub fn secret(random: &dyn RandomSource, prefix: &str) -> Result<Secret, Error> {
    Ok(Secret::new(format!("{prefix}{}", text::<32>(random)?)))
}

/// Returns `N` random bytes as base64url.
///
/// # Errors
/// As [`RandomSource::fill`].
pub fn text<const N: usize>(random: &dyn RandomSource) -> Result<String, Error> {
    let mut bytes = [0; N];
    random.fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns a random number of 64 bits.
///
/// # Errors
/// As [`RandomSource::fill`].
pub fn number(random: &dyn RandomSource) -> Result<u64, Error> {
    let mut bytes = [0; 8];
    random.fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_256_bits_in_url_safe_characters() {
        let (one, other) = (
            secret(&SystemRandom, "brain_at_").unwrap(),
            secret(&SystemRandom, "brain_at_").unwrap(),
        );
        let rest = one.expose().strip_prefix("brain_at_").unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(rest).unwrap().len(), 32);
        assert!(
            rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
            "{rest}"
        );
        assert_ne!(one, other);
        assert_ne!(number(&SystemRandom).unwrap(), number(&SystemRandom).unwrap());
    }
}
