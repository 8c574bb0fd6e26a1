//! Random ids of 128 bits. They are written as 32 hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use brain_base::random::RandomSource;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text or some bytes are not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text has another length or other characters. The number is its length in bytes.
    #[error("an id has {0} characters, not 32 digits")]
    Text(usize),
    /// The number of bytes is another one.
    #[error("an id has {0} bytes instead of 16")]
    Bytes(usize),
}

fn parse(text: &str) -> Result<[u8; 16], IdError> {
    let invalid = || IdError::Text(text.len());
    if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(invalid());
    }
    u128::from_str_radix(text, 16).map(u128::to_be_bytes).map_err(|_| invalid())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub [u8; 16]);

        impl $name {
            /// Returns a random id.
            ///
            /// # Errors
            /// [`brain_base::Error::NoRandomData`] if the system has no random data.
            pub fn random(random: &dyn RandomSource) -> Result<Self, brain_base::Error> {
                let mut bytes = [0; 16];
                random.fill(&mut bytes)?;
                Ok(Self(bytes))
            }

            /// Returns the id with these 16 bytes.
            ///
            /// # Errors
            /// [`IdError::Bytes`] for another length.
            pub fn from_slice(bytes: &[u8]) -> Result<Self, IdError> {
                bytes.try_into().map(Self).map_err(|_| IdError::Bytes(bytes.len()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", u128::from_be_bytes(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                parse(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id! {
    /// The id of a brain.
    BrainId
}
id! {
    /// The id of a batch. The zero id stands for "before the first batch".
    BatchId
}
id! {
    /// The id of a snapshot.
    SnapshotId
}
id! {
    /// The id of a machine's replica. Names can collide, ids do not.
    MachineId
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_32_digits() {
        let id = BatchId([0xab; 16]);
        assert_eq!(id.to_string(), "ab".repeat(16));
        assert_eq!(id.to_string().parse::<BatchId>().unwrap(), id);
        for text in ["", "ab", &"g".repeat(32), &"+".repeat(32), &"ä".repeat(16)] {
            assert!(text.parse::<BatchId>().is_err(), "{text:?}");
        }
        assert!(BatchId::from_slice(&[1; 15]).is_err());
    }
}
