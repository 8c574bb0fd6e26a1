//! The root key of a brain, and its 24 words.

use std::fmt;

use bip39::{Language, Mnemonic};
use brain_base::random::RandomSource;
use brain_protocol::Secret;

use crate::Error;

/// The key that people have as words. It seals the data keys and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub struct RootKey(pub(super) [u8; 32]);

impl fmt::Debug for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RootKey(…)")
    }
}

impl RootKey {
    /// Creates a key of 256 random bits.
    ///
    /// # Errors
    /// [`Error::Random`]
    pub fn generate(random: &dyn RandomSource) -> Result<Self, Error> {
        let mut key = [0; 32];
        random.fill(&mut key)?;
        Ok(Self(key))
    }

    /// Returns the key as 24 English words of BIP 39, with a checksum of 8 bits.
    ///
    /// # Errors
    /// Never for a key of 32 bytes; the word list refuses other lengths.
    pub fn words(&self) -> Result<Secret, Error> {
        let words = Mnemonic::from_entropy_in(Language::English, &self.0)
            .map_err(|_| Error::InvalidWords("it has another length".into()))?;
        Ok(Secret::new(words.words().collect::<Vec<_>>().join(" ")))
    }

    /// Parses words. Case and white space do not matter. Errors do not contain a word.
    ///
    /// # Errors
    /// [`Error::InvalidWords`] says which word is unknown, or that a word is wrong.
    pub fn from_words(words: &str) -> Result<Self, Error> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        if words.len() != 24 {
            return Err(Error::InvalidWords(format!("there are {}, not 24", words.len())));
        }
        let mnemonic = Mnemonic::parse_in_normalized(Language::English, &words.join(" "));
        let mnemonic = mnemonic.map_err(|error| {
            Error::InvalidWords(match error {
                bip39::Error::UnknownWord(index) => {
                    format!("word {} is not in the word list", index + 1)
                }
                _ => "a word is wrong, or two are exchanged".into(),
            })
        })?;
        let (bytes, length) = mnemonic.to_entropy_array();
        bytes[..length]
            .try_into()
            .map(Self)
            .map_err(|_| Error::InvalidWords("the key is too short".into()))
    }
}
