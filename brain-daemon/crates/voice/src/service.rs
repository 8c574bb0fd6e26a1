//! The telephone: interprets turns of a call, saves notes, and replies.
//!
//! `dialogue` decides on an action from the turn alone, `call` writes the page of the call, and
//! `spoken_text` builds spoken answers. The provider may repeat a turn; the call page shows which
//! turns are done. Telephone numbers are personal: they are in pages, never in the log.

mod call;
mod callers;
mod dialogue;
mod number;
mod phrases;
mod spoken_text;

use std::sync::Arc;

use brain_protocol::{
    Capture, Command, Fault, FaultCode, Origin, Scope, Scopes, Search, Secret, VoiceEvent,
    VoiceReply, VoiceTurn, hint,
};
use call::TYPE;
use callers::{is_among, uri};
use dialogue::TurnAction;
use phrases::Phrases;

use brain_base::caller::{Caller, Visibility};
use brain_base::clock::Clock;
use brain_config::VoiceConfig;
use brain_page::{Document, Frontmatter, escape_paragraph, single_line};
use brain_pages::files::FileService;
use brain_pages::pages::PageService;
use brain_pages::preferred_source::preferred;
use brain_pages::provenance::VOICE;
use brain_retrieval::search::SearchService;
use brain_store::Store;

pub use number::ConfiguredNumber;

/// The client name of the telephone in log and audit. No registered client has this id.
pub const TELEPHONE: &str = "telephone";

/// The name of the secret with the telephony account's token.
const TOKEN_SECRET: &str = "telephony-auth-token";
/// Maximum length of a call or recording id, in bytes.
const MAX_ID_BYTES: usize = 64;
/// Replaces an answer in the call page if readers of that page may not see its source.
const OTHER_SOURCE_TEXT: &str = "(read from a page of another source)";

/// The telephone.
pub struct VoiceService {
    pub(crate) store: Arc<Store>,
    pub(crate) files: Arc<FileService>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) search: Arc<SearchService>,
    number: ConfiguredNumber,
    pub(crate) clock: Arc<dyn Clock>,
}

impl VoiceService {
    /// Creates the service.
    pub fn new(
        store: Arc<Store>,
        files: Arc<FileService>,
        pages: Arc<PageService>,
        search: Arc<SearchService>,
        number: ConfiguredNumber,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, files, pages, search, number, clock }
    }

    /// Returns the token for the provider's signatures, if there is one.
    ///
    /// # Errors
    /// If it exists and is unusable.
    pub fn telephony_token(&self) -> Result<Option<Secret>, Fault> {
        self.number.token()
    }

    /// Returns the settings of the telephone; `None` if it is off.
    fn settings(&self) -> Option<&VoiceConfig> {
        Some(&self.number.config).filter(|voice| voice.enabled)
    }

    /// Returns the caller for a number. Known callers may read and write all sources; others can
    /// only leave a message in the source for new pages.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn telephone_caller(&self, from: &str) -> Result<Caller, Fault> {
        let is_known = self.settings().is_some_and(|voice| is_among(&voice.callers, from));
        if is_known {
            return Ok(Caller::granted(TELEPHONE, Scopes::READ_WRITE, Visibility::All));
        }
        let source = preferred(&self.store.read(Visibility::All)?.sources()?);
        Ok(Caller::granted(TELEPHONE, Scopes::WRITE, Visibility::Only(vec![source])))
    }

    /// Returns the spoken apology for a turn that failed. Without a turn, returns a general
    /// apology. Cannot fail.
    #[must_use]
    pub fn apology(&self, turn: Option<&VoiceTurn>) -> VoiceReply {
        let language = self.settings().map_or("", |voice| &voice.language);
        dialogue::apology(turn, Phrases::of(language))
    }

    /// Answers one turn of a telephone call.
    pub fn voice(&self, caller: &Caller, turn: &VoiceTurn) -> Result<VoiceReply, Fault> {
        let settings = self.settings().ok_or_else(|| {
            Fault::new(FaultCode::NotSetUp, "the telephone is off")
                .hint(hint!("set voice.enabled to true: {} names the file", Command::ConfigPath))
        })?;
        check_ids(turn)?;
        let phrases = Phrases::of(&settings.language);
        let is_known = caller.scopes().iter().any(|scope| scope != Scope::Write);
        let mut redacted_reply = None;
        let reply =
            match dialogue::next_action(turn, is_known, settings.greeting.as_deref(), phrases) {
                TurnAction::Say(reply) => reply,
                TurnAction::Note(text) => {
                    // A repeated turn adds nothing, however late it comes.
                    if !self.has_turn(caller, turn, caller_words(&turn.event))? {
                        self.save_note(caller, turn, &text)?;
                    }
                    dialogue::ask_for_more(vec![phrases.note_saved.into()], phrases)
                }
                TurnAction::Search(text) => {
                    let found = self.find_answer(caller, &text, phrases)?;
                    // Readers of the call page may lack access to the source of the answer.
                    redacted_reply = found
                        .is_from_other_source
                        .then(|| dialogue::ask_for_more(vec![OTHER_SOURCE_TEXT.into()], phrases));
                    dialogue::ask_for_more(found.sentences, phrases)
                }
            };
        match (
            self.write_turn(caller, turn, redacted_reply.as_ref().unwrap_or(&reply)),
            &turn.event,
        ) {
            (Ok(()), _) => {}
            // Only this page has the recording, so the provider must learn of the failure.
            (Err(fault), VoiceEvent::Recording { .. } | VoiceEvent::Transcription { .. }) => {
                return Err(fault);
            }
            (Err(fault), _) => {
                tracing::warn!(%fault, "cannot write a turn to the page of its call");
            }
        }
        Ok(reply)
    }

    /// Saves a note as a page.
    fn save_note(&self, caller: &Caller, turn: &VoiceTurn, text: &str) -> Result<(), Fault> {
        let uri = uri(&turn.from);
        let mut frontmatter = Frontmatter::empty();
        frontmatter.set("call_id", &turn.call);
        if let VoiceEvent::Speech { confidence: Some(confidence), .. } = turn.event {
            frontmatter.set("confidence", &confidence.to_string());
        }
        let body = escape_paragraph(&single_line(text)) + "\n";
        let request = Capture {
            content: Document { frontmatter, body: body.into() }.render().into_bytes(),
            origin: Origin::Argument,
            source: None,
            slug: None,
            page_type: None,
            title: None,
            tags: Vec::new(),
        };
        let saved = self.pages.capture_through(caller, request, &VOICE, uri)?;
        tracing::debug!(slug = saved.slug.as_str(), "saved a note by telephone");
        Ok(())
    }

    /// Returns the answer from the best page, or a phrase if there is none.
    fn find_answer(&self, caller: &Caller, text: &str, phrases: &Phrases) -> Result<Speech, Fault> {
        // Search operators are removed from the words. Pages of calls are excluded: they repeat
        // questions. The filter comes first, because search reads only the start of a long query.
        let query = format!("-type:{TYPE} {}", dialogue::normalize(text));
        let found = self.search.search(caller, Search { query, limit: 1, ..Search::default() })?;
        let Some(hit) = found.hits.first() else {
            return Ok(Speech {
                sentences: vec![phrases.no_result.into()],
                is_from_other_source: false,
            });
        };
        let (call_source, _) =
            brain_pages::sources::resolve(caller, &self.store.read(caller.visibility())?, None)?;
        let sentences = spoken_text::answer(&hit.title, &hit.snippet, phrases);
        Ok(Speech { sentences, is_from_other_source: hit.source_id != call_source })
    }
}

/// A spoken answer.
struct Speech {
    sentences: Vec<String>,
    /// Whether the source of the answer is not the source of the call page.
    is_from_other_source: bool,
}

/// Returns the caller's words.
fn caller_words(event: &VoiceEvent) -> &str {
    if let VoiceEvent::Speech { text, .. } = event { text } else { "" }
}

/// Rejects a turn whose ids are not valid in a page.
fn check_ids(turn: &VoiceTurn) -> Result<(), Fault> {
    let is_valid = |id: &str| {
        (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let is_recording_valid = match &turn.event {
        VoiceEvent::Recording { id, .. } | VoiceEvent::Transcription { id, .. } => is_valid(id),
        _ => true,
    };
    if is_valid(&turn.call) && is_recording_valid {
        return Ok(());
    }
    Err(Fault::new(FaultCode::InvalidRequest, "the id of the call or recording is invalid")
        .hint("the provider sends CallSid and RecordingSid; check the number's webhooks"))
}
