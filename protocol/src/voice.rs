//! The telephone: what a caller did, and what is said in return. How that is put to the telephony provider is the door's matter.

use serde::{Deserialize, Serialize};

/// One turn of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceTurn {
    /// The provider's id of the call (`CallSid`).
    pub call: String,
    /// Which turn of the call it is; 0 at the beginning. A turn that comes again has the same number.
    pub turn: u32,
    /// Who calls, as the provider says it; a number in E.164 where it is one.
    pub from: String,
    /// What the caller did.
    pub event: VoiceEvent,
    /// What was asked for in the turn before: `note` or `question`; nothing at the beginning.
    pub asked: Option<String>,
    /// How often in a row nothing was heard before this turn.
    pub silences: u32,
}

/// What a caller did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoiceEvent {
    /// Called.
    Incoming,
    /// Said this.
    Speech {
        /// The words.
        text: String,
        /// How sure the provider is of them, in percent.
        confidence: Option<u8>,
    },
    /// Pressed these keys.
    Digits(String),
    /// Said nothing.
    Silence,
    /// Left a recording.
    Recording {
        /// The provider's id of it (`RecordingSid`).
        id: String,
        /// Its address at the provider.
        url: String,
        /// Its length.
        seconds: u32,
    },
    /// The provider has written down a recording.
    Transcription {
        /// The recording.
        id: String,
        /// Its words; empty when there were none to be made out.
        text: String,
    },
    /// The call is over, with this state (`completed`, `busy`, `no-answer`, …).
    Ended(String),
}

/// What is said to a caller, and what then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spoken {
    /// Sentences, in order. Plain text: what marks it up is the door's matter.
    pub say: Vec<String>,
    /// What then.
    pub then: VoiceThen,
}

/// What comes after something was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoiceThen {
    /// Listen, for what was asked.
    Listen {
        /// `note` or `question`; nothing when the caller is to choose.
        asked: Option<String>,
        /// Silences in a row, this turn's included.
        silences: u32,
    },
    /// Let the caller leave a message.
    Record,
    /// End the call.
    HangUp,
    /// Nothing: nobody listens, this was only to be noted.
    Nothing,
}
