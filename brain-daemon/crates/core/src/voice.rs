//! The telephone: interprets turns of a call, takes notes, and replies.
//!
//! `dialogue` decides from the turn alone, `call` keeps the page of the call, `aloud`
//! builds spoken answers. A turn may be repeated; the call page knows which are done. Numbers are
//! personal: pages have them, the log never does.

mod aloud;
mod call;
mod callers;
mod dialogue;
mod phrases;

use std::sync::Arc;

use brain_protocol::{
    Capture, Fault, FaultCode, Origin, Scope, Scopes, Search, Secret, VoiceEvent, VoiceReply,
    VoiceTurn,
};
use call::TYPE;
use callers::{is_among, uri};
use dialogue::Move;
use phrases::Phrases;

use crate::provenance::VOICE;
use crate::{Caller, Environment, FileService, PageService, SearchService, preferred};
use brain_base::caller::Visibility;
use brain_page::{Document, Frontmatter, escape_paragraph, single_line};
use brain_store::Store;

/// The client name of the telephone in log and audit. No client has this id.
pub const TELEPHONE: &str = "telephone";

/// The name of the secret with the telephony account's token.
const TOKEN: &str = "telephony-auth-token";
/// Maximum length of a call or recording id, in bytes.
const ID: usize = 64;
/// Replaces words in a call page that its readers may not see.
const ELSEWHERE: &str = "(read out from a page of another source)";

/// The telephone.
pub struct VoiceService {
    pub(crate) env: Environment,
    pub(crate) store: Arc<Store>,
    pub(crate) files: Arc<FileService>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) search: Arc<SearchService>,
}

impl VoiceService {
    /// Creates the service.
    pub(crate) fn new(
        env: Environment,
        store: Arc<Store>,
        files: Arc<FileService>,
        pages: Arc<PageService>,
        search: Arc<SearchService>,
    ) -> Self {
        Self { env, store, files, pages, search }
    }

    /// Returns the token for the provider's signatures, if there is one.
    ///
    /// # Errors
    /// If it exists and is unusable.
    pub fn telephony_token(&self) -> Result<Option<Secret>, Fault> {
        let file = self.env.config.telephony_token_file(&self.env.home);
        Ok(self.env.secrets.find(TOKEN, file.as_deref())?.map(|found| found.secret))
    }

    /// Returns the caller for a number. Known callers may ask; others can only leave a message in
    /// the source for new pages.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn telephone_caller(&self, from: &str) -> Result<Caller, Fault> {
        let known = self.env.config.voice().is_some_and(|voice| is_among(&voice.callers, from));
        if known {
            return Ok(Caller::granted(TELEPHONE, Scopes::READ_WRITE, Visibility::All));
        }
        let only = preferred(&self.store.read(Visibility::All)?.sources()?);
        Ok(Caller::granted(TELEPHONE, Scopes::WRITE, Visibility::Only(vec![only])))
    }

    /// Returns the reply for a turn that failed, or for any failure with `None`. Cannot fail.
    #[must_use]
    pub fn apology(&self, turn: Option<&VoiceTurn>) -> VoiceReply {
        let language = self.env.config.voice().map_or("", |voice| &voice.language);
        dialogue::apology(turn, Phrases::of(language))
    }

    pub(crate) fn voice(&self, caller: &Caller, turn: &VoiceTurn) -> Result<VoiceReply, Fault> {
        let settings = self.env.config.voice().ok_or_else(|| {
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
                // A repeated turn adds nothing, even after a year.
                if !self.is_noted(caller, turn, said(&turn.event))? {
                    self.note(caller, turn, &text)?;
                }
                dialogue::more(vec![phrases.noted.into()], phrases)
            }
            Move::Search(text) => {
                let found = self.look_up(caller, &text, phrases)?;
                // Readers of the call page may lack access to the source of the answer.
                transcribed =
                    found.elsewhere.then(|| dialogue::more(vec![ELSEWHERE.into()], phrases));
                dialogue::more(found.say, phrases)
            }
        };
        match (self.note_turn(caller, turn, transcribed.as_ref().unwrap_or(&spoken)), &turn.event) {
            (Ok(()), _) => {}
            // Only this page has the recording, so its failure must be reported.
            (Err(fault), VoiceEvent::Recording { .. } | VoiceEvent::Transcription { .. }) => {
                return Err(fault);
            }
            (Err(fault), _) => tracing::warn!(%fault, "a turn of a call is missing in its page"),
        }
        Ok(spoken)
    }

    /// Saves a note as a page.
    fn note(&self, caller: &Caller, turn: &VoiceTurn, text: &str) -> Result<(), Fault> {
        let uri = uri(&turn.from);
        let mut frontmatter = Frontmatter::empty();
        frontmatter.set("call_id", &turn.call);
        if let VoiceEvent::Speech { confidence: Some(confidence), .. } = turn.event {
            frontmatter.set("confidence", &confidence.to_string());
        }
        let body = escape_paragraph(&single_line(text)) + "\n";
        let request = Capture {
            content: Document { frontmatter, body }.render().into_bytes(),
            origin: Origin::Argument,
            source: None,
            slug: None,
            page_type: None,
            title: None,
            tags: Vec::new(),
        };
        let written = self.pages.capture_through(caller, request, &VOICE, uri)?;
        tracing::debug!(slug = written.slug.as_str(), "noted by telephone");
        Ok(())
    }

    /// Answers from the best page.
    fn look_up(&self, caller: &Caller, text: &str, phrases: &Phrases) -> Result<Answer, Fault> {
        // Callers mean no search operators. Pages of calls that repeat the question say nothing
        // about it. The filter comes first, because only the beginning of a long question is read.
        let query = format!("-type:{TYPE} {}", dialogue::words(text));
        let found = self.search.search(caller, Search { query, limit: 1, ..Search::default() })?;
        let Some(hit) = found.hits.first() else {
            return Ok(Answer { say: vec![phrases.nothing.into()], elsewhere: false });
        };
        let (here, _) =
            crate::sources::resolve(caller, &self.store.read(caller.visibility())?, None)?;
        let say = aloud::answer(&hit.title, &hit.snippet, phrases);
        Ok(Answer { say, elsewhere: hit.source_id != here })
    }
}

/// An answer.
struct Answer {
    /// The sentences.
    say: Vec<String>,
    /// Whether it is from another source than the call page.
    elsewhere: bool,
}

/// Returns the caller's words.
fn said(event: &VoiceEvent) -> &str {
    if let VoiceEvent::Speech { text, .. } = event { text } else { "" }
}

/// Rejects a turn whose ids are not valid in a page.
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
