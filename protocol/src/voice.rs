//! Wire types of telephone calls.
//!
//! The HTTP interface translates them for the telephony provider.

use serde::{Deserialize, Serialize};

/// One turn of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceTurn {
    /// The provider's id of the call (`CallSid`).
    pub call: String,
    /// The number of the turn in its call, from 0. A repeated turn has the same number.
    pub turn: u32,
    /// The caller as the provider reports it, usually a telephone number in E.164 format.
    pub from: String,
    /// The event.
    pub event: VoiceEvent,
    /// The input that the previous turn requested: `note` or `question`; `None` at the beginning.
    pub asked: Option<String>,
    /// The number of consecutive silent turns before this one.
    pub silences: u32,
}

/// An event of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoiceEvent {
    /// The call begins.
    Incoming,
    /// The caller spoke.
    Speech {
        /// The words.
        text: String,
        /// The provider's confidence, in percent.
        confidence: Option<u8>,
    },
    /// The caller pressed these keys.
    Digits(String),
    /// The caller was silent.
    Silence,
    /// The caller left a recording.
    Recording {
        /// The provider's id of the recording (`RecordingSid`).
        id: String,
        /// Its address at the provider.
        url: String,
        /// Its length in seconds.
        seconds: u32,
    },
    /// The provider has transcribed a recording.
    Transcription {
        /// The id of the recording.
        id: String,
        /// Its text; empty when nothing was intelligible.
        text: String,
    },
    /// The call ended with this state (`completed`, `busy`, `no-answer`, …).
    Ended(String),
}

/// The reply to a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceReply {
    /// Sentences to speak, in order. Plain text.
    pub say: Vec<String>,
    /// The action after the sentences.
    pub then: VoiceAction,
}

/// What the call does after the sentences of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoiceAction {
    /// Listen to the caller.
    Listen {
        /// The requested input: `note` or `question`; `None` if the caller can choose.
        asked: Option<String>,
        /// The number of consecutive silent turns, including this one.
        silences: u32,
    },
    /// Record a message.
    Record,
    /// End the call.
    HangUp,
    /// Do nothing: the event needed no answer, such as a transcription.
    Nothing,
}
