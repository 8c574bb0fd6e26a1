//! Enums whose values are fixed words.

/// Defines enums whose values are the given words in JSON and in text. On the wire they are
/// positions, so variants are appended.
macro_rules! words {
    ($(
        $(#[$meta:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:tt),* $(,)? }
    )*) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        $(#[$meta])*
        pub enum $name {
            $(
                $(#[$doc])*
                #[doc = concat!("In JSON: `", $word, "`.")]
                #[serde(rename = $word)]
                $variant,
            )*
        }

        impl $name {
            /// All values, in the order of the wire.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant,)*];

            /// Returns the word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Returns the value with this word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    )*};
}

pub(crate) use words;
