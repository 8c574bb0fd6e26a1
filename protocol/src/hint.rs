//! Hints: what to do about a failure, as text and commands.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Command;

/// Makes a [`Hint`] of a text and its parts, which are texts, commands or other hints: one for each
/// `{}`. For example `hint!("see {}; or repeat it", Command::SourcesList)`.
#[macro_export]
macro_rules! hint {
    ($text:literal, $($part:expr),+ $(,)?) => {{
        const { assert!($crate::Hint::count_parts($text) == [$(stringify!($part)),+].len()) };
        $crate::Hint::with_parts($text, [$($crate::Hint::from($part)),+])
    }};
}

/// What to do about a failure, for people.
///
/// It is shown as text, in which commands are in backticks; a hint that is only a command is the
/// bare command. In JSON it is this text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hint(Vec<Part>);

/// A part of a hint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Text(String),
    Command(Command),
    /// A command for another home.
    InOtherHome(Command),
}

impl Hint {
    /// Returns a text in which each `{}` is replaced by a part. Used by [`hint!`].
    #[doc(hidden)]
    pub fn with_parts<const N: usize>(text: &str, parts: [Self; N]) -> Self {
        let mut texts = text.split("{}").map(Self::from);
        let mut hint = texts.next().unwrap_or_default();
        for (part, text) in parts.into_iter().zip(texts) {
            hint.0.extend(part.0.into_iter().chain(text.0));
        }
        hint
    }

    /// Returns the number of `{}` in a text. Used by [`hint!`].
    #[doc(hidden)]
    #[must_use]
    pub const fn count_parts(text: &str) -> usize {
        let (bytes, mut at, mut count) = (text.as_bytes(), 1, 0);
        while at < bytes.len() {
            if bytes[at - 1] == b'{' && bytes[at] == b'}' {
                count += 1;
            }
            at += 1;
        }
        count
    }

    /// Returns the commands that the hint names.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Command(command) | Part::InOtherHome(command) => Some(command),
        })
    }

    /// Returns whether the hint has no parts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Command {
    /// Returns this command for another home, as a part of a hint.
    #[must_use]
    pub fn in_other_home(self) -> Hint {
        Hint(vec![Part::InOtherHome(self)])
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Part::Command(command)] = self.0.as_slice() {
            return command.fmt(f);
        }
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Command(command) => write!(f, "`{command}`"),
            Part::InOtherHome(command) => write!(f, "`BRAIN_HOME=DIR {command}`"),
        })
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self(if text.is_empty() { Vec::new() } else { vec![Part::Text(text)] })
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Command> for Hint {
    fn from(command: Command) -> Self {
        Self(vec![Part::Command(command)])
    }
}

impl Serialize for Hint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Hint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => String::deserialize(deserializer).map(Self::from),
            false => Vec::deserialize(deserializer).map(Self),
        }
    }
}
