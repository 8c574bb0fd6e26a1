//! The telephone: what a turn of a call means, what is noted of it, and what is said in return.
//!
//! `dialogue` decides from what came with the turn alone, `call` keeps the page of the call, `aloud` makes an answer of what was found. A turn
//! may come again: the page of the call knows which were worked off. Numbers are personal: they stand in pages and never in the log.

mod aloud;
mod call;
mod callers;
mod dialogue;
mod phrases;

use brain_protocol::{
    Capture, Fault, FaultCode, Origin, Scope, Scopes, Search, Secret, Spoken, VoiceEvent, VoiceTurn,
};

use super::provenance::VOICE;
use super::{Brain, Caller, preferred};
use brain_base::caller::Visibility;
use brain_page::{Document, Frontmatter, paragraph, plain};

use call::TYPE;
use callers::{is_among, uri};
use dialogue::Move;
use phrases::Phrases;

/// Who the door is, in the log and the audit. No client has such an id.
pub const TELEPHONE: &str = "telephone";

/// The name of the secret with the telephony account's token.
const TOKEN: &str = "telephony-auth-token";
/// The longest id of a call or a recording, in bytes.
const ID: usize = 64;
/// What the page of a call says instead of words that who sees it may not see.
const ELSEWHERE: &str = "(read out from a page of another source)";

impl Brain {
    /// The token that the provider signs with; `None` when there is none.
    ///
    /// # Errors
    /// When it is there and cannot be used.
    pub fn telephony_token(&self) -> Result<Option<Secret>, Fault> {
        let file = self.config.telephony_token_file(&self.home);
        Ok(self.secrets.find(TOKEN, file.as_deref())?.map(|found| found.secret))
    }

    /// Who calls from this number: known callers may ask, others only leave a message in the source where new pages go.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn telephone_caller(&self, from: &str) -> Result<Caller, Fault> {
        let known = self.config.voice().is_some_and(|voice| is_among(&voice.callers, from));
        if known {
            return Ok(Caller::granted(TELEPHONE, Scopes::READ_WRITE, Visibility::All));
        }
        let only = preferred(&self.store.read(Visibility::All)?.sources()?);
        Ok(Caller::granted(TELEPHONE, Scopes::WRITE, Visibility::Only(vec![only])))
    }

    /// What a caller hears when this turn, or with `None` whatever it was, cannot be worked off. Needs nothing that could fail.
    #[must_use]
    pub fn apology(&self, turn: Option<&VoiceTurn>) -> Spoken {
        let language = self.config.voice().map(|voice| voice.language).unwrap_or_default();
        dialogue::apology(turn, Phrases::of(&language))
    }

    pub(super) fn voice(&self, caller: &Caller, turn: &VoiceTurn) -> Result<Spoken, Fault> {
        let settings = self.config.voice().ok_or_else(|| {
            Fault::new(FaultCode::NotSetUp, "the telephone is not switched on")
                .hint("set voice.enabled to true: `brain config path` names the file")
        })?;
        check(turn)?;
        let phrases = Phrases::of(&settings.language);
        let known = caller.scopes().iter().any(|scope| scope != Scope::Write);
        let mut transcribed = None;
        let spoken = match dialogue::next(turn, known, settings.greeting.as_deref(), phrases) {
            Move::Say(spoken) => spoken,
            Move::Note(text) => {
                // A turn that comes again, be it after a year, notes nothing again.
                if !self.is_noted(caller, turn, said(&turn.event))? {
                    self.note(caller, turn, &text)?;
                }
                dialogue::more(vec![phrases.noted.into()], phrases)
            }
            Move::Search(text) => {
                let found = self.look_up(caller, &text, phrases)?;
                // The page of a call lies in one source. Who sees that one need not see the source of what was found.
                transcribed =
                    found.elsewhere.then(|| dialogue::more(vec![ELSEWHERE.into()], phrases));
                dialogue::more(found.say, phrases)
            }
        };
        match (self.note_turn(caller, turn, transcribed.as_ref().unwrap_or(&spoken)), &turn.event) {
            (Ok(()), _) => {}
            // Nothing else has what these tell.
            (Err(fault), VoiceEvent::Recording { .. } | VoiceEvent::Transcription { .. }) => {
                return Err(fault);
            }
            (Err(fault), _) => tracing::warn!(%fault, "a turn of a call is missing in its page"),
        }
        Ok(spoken)
    }

    /// Makes a page of what was said.
    fn note(&self, caller: &Caller, turn: &VoiceTurn, text: &str) -> Result<(), Fault> {
        let uri = uri(&turn.from);
        let mut frontmatter = Frontmatter::empty();
        frontmatter.set("call_id", &turn.call);
        if let VoiceEvent::Speech { confidence: Some(confidence), .. } = turn.event {
            frontmatter.set("confidence", &confidence.to_string());
        }
        let body = paragraph(&plain(text)) + "\n";
        let request = Capture {
            content: Document { frontmatter, body }.render().into_bytes(),
            origin: Origin::Argument,
            source: None,
            slug: None,
            page_type: None,
            title: None,
            tags: Vec::new(),
        };
        let written = self.capture_through(caller, request, &VOICE, uri)?;
        tracing::debug!(slug = written.slug.as_str(), "noted by telephone");
        Ok(())
    }

    /// What the best page says about it.
    fn look_up(&self, caller: &Caller, text: &str, phrases: &Phrases) -> Result<Answer, Fault> {
        // Nobody means a search operator on the telephone; and a call in which this was asked before says nothing about it. That comes first:
        // of a long question only the beginning is read.
        let query = format!("-type:{TYPE} {}", dialogue::words(text));
        let found = self.search(caller, Search { query, limit: 1, ..Search::default() })?;
        let Some(hit) = found.hits.first() else {
            return Ok(Answer { say: vec![phrases.nothing.into()], elsewhere: false });
        };
        let (here, _) = self.source(caller, &self.store.read(caller.view())?, None)?;
        let say = aloud::answer(&hit.title, &hit.snippet, phrases);
        Ok(Answer { say, elsewhere: hit.source_id != here })
    }
}

/// What was found.
struct Answer {
    /// In sentences.
    say: Vec<String>,
    /// Whether it is from another source than that of the call's page.
    elsewhere: bool,
}

/// What the caller said, word by word.
fn said(event: &VoiceEvent) -> &str {
    if let VoiceEvent::Speech { text, .. } = event { text } else { "" }
}

/// Refuses a turn whose names could not stand in a page.
fn check(turn: &VoiceTurn) -> Result<(), Fault> {
    let plain =
        |id: &str| (1..=ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
    let recording = match &turn.event {
        VoiceEvent::Recording { id, .. } | VoiceEvent::Transcription { id, .. } => plain(id),
        _ => true,
    };
    if plain(&turn.call) && recording {
        return Ok(());
    }
    Err(Fault::new(FaultCode::InvalidRequest, "a call has no name that could stand in a page")
        .hint("the provider sends CallSid and RecordingSid; look at the number's webhooks"))
}
