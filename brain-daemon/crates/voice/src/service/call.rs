//! Writes the page of a call: the transcript and the recordings.
//!
//! The page grows turn by turn, so an interrupted call is complete up to that point. A repeated
//! turn is not written again.

use brain_protocol::{Fault, FaultCode, Slug, SourceId, VoiceEvent, VoiceReply, VoiceTurn};

use super::callers::uri;
use crate::is_provider_url;
use crate::service::VoiceService;
use brain_base::caller::Caller;
use brain_base::clock::{day, rfc3339};
use brain_page::{self as page, Document, Frontmatter, escape_inline, normalize_name, single_line};
use brain_pages::provenance::VOICE;
use brain_pages::write_page::{build_new_page, stored_document};
use brain_store::{LineChange, Provenance, Reader, StoreError};

/// The folder of call pages.
const FOLDER: &str = "calls/";
/// The type of a call page.
pub(super) const TYPE: &str = "phone-call";
/// Maximum length of a call's final state, in characters.
const MAX_STATE_CHARS: usize = 40;
/// Number of final characters of the call id in the slug.
const ID_SUFFIX_CHARS: usize = 12;
/// The heading of the transcript.
const TRANSCRIPT: &str = "Transcript";
/// The heading of the recordings.
const RECORDINGS: &str = "Recordings";

impl VoiceService {
    /// Returns whether the page of the call has this turn with these words.
    pub(super) fn has_turn(
        &self,
        caller: &Caller,
        turn: &VoiceTurn,
        text: &str,
    ) -> Result<bool, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = brain_pages::sources::resolve(caller, &reader, None)?;
        let Some(slug) = find_slug(&reader, &source, turn)? else { return Ok(false) };
        let Some(record) = reader.page(&source, &slug)? else { return Ok(false) };
        let line = format!("{} {}", speaker_prefix("Caller", turn), escape_line(text));
        Ok(reader.content(&record)?.body.lines().any(|known| known == line))
    }

    /// Adds a turn to the page of its call. Creates the page for the first turn.
    pub(super) fn write_turn(
        &self,
        caller: &Caller,
        turn: &VoiceTurn,
        reply: &VoiceReply,
    ) -> Result<(), Fault> {
        let now = self.clock.now();
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = brain_pages::sources::resolve(caller, &reader, None)?;
        let existing_slug = find_slug(&reader, &source, turn)?;
        drop(reader);
        // The end of a call without other turns creates no page.
        if existing_slug.is_none() && matches!(turn.event, VoiceEvent::Ended(_)) {
            return Ok(());
        }
        let slug = existing_slug.map_or_else(|| new_slug(&day(now), turn), Ok)?;
        let provenance = VOICE.provenance(uri(&turn.from), now);
        let author = VOICE.author(uri(&turn.from));
        let lines = turn_lines(turn, reply);
        let (turn, source_id) = (turn.clone(), source.clone());
        let read_slug = slug.clone();
        let applied = self.files.write_page((&source, &read_slug), move |draft| {
            let existing = draft.page(&source_id, &slug)?;
            // A page that the owner deleted stays deleted.
            if existing.as_ref().is_some_and(|record| record.deleted_at.is_some()) {
                return Ok(None);
            }
            let former_provenance = existing.as_ref().map(|record| record.provenance.clone());
            let (mut document, provenance) = match existing {
                None => (new_call_page(&turn, now), provenance.clone()),
                Some(record) => (
                    stored_document(&draft.content(&record)?)?,
                    keep_outside_origin(record.provenance),
                ),
            };
            if !add_lines(&mut document, &turn, &lines)? {
                return Ok(None);
            }
            let (former, change) = (former_provenance.as_ref(), LineChange::ByOtherAuthor);
            let change = (author.clone(), change);
            let page = build_new_page(&slug, document, provenance, former, change)?;
            draft.write_page(&source_id, &slug, &page, now).map(Some)
        })?;
        if let Some(applied) = applied {
            self.files.update_file(&source, &applied.record, applied.content.as_ref());
        }
        Ok(())
    }
}

/// Returns the provenance with the kind of telephone text, even if the owner edited the page.
fn keep_outside_origin(provenance: Provenance) -> Provenance {
    Provenance { source_kind: Some(VOICE.kind.into()), ..provenance }
}

/// Finds the page of a call by the call's id.
fn find_slug(reader: &Reader, source: &SourceId, turn: &VoiceTurn) -> Result<Option<Slug>, Fault> {
    let found = reader.pages_by_name(source, &normalize_name(&turn.call), 2)?;
    Ok(found.into_iter().map(|(_, slug, _)| slug).find(|slug| slug.as_str().starts_with(FOLDER)))
}

/// Returns the slug for the page of a call that begins on `day`.
fn new_slug(day: &str, turn: &VoiceTurn) -> Result<Slug, Fault> {
    let id = turn.call.to_ascii_lowercase();
    let suffix = id.get(id.len().saturating_sub(ID_SUFFIX_CHARS)..).unwrap_or(&id);
    Slug::parse(format!("{FOLDER}{day}-{suffix}"))
        .map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))
}

/// Creates the page of a call that just began.
fn new_call_page(turn: &VoiceTurn, now: i64) -> Document {
    let at = rfc3339(now);
    let mut frontmatter = Frontmatter::empty();
    frontmatter.set_all(&[
        ("type", TYPE),
        ("title", &format!("Call of {}", at.get(..16).unwrap_or(&at).replace('T', " "))),
        ("call_id", &turn.call),
    ]);
    // The alias by which the page is found again.
    frontmatter.set_list("aliases", std::slice::from_ref(&turn.call));
    Document { frontmatter, body: format!("## {TRANSCRIPT}\n").into() }
}

/// Lines for a page: heading, prefix that identifies the line, and text.
type PageLines = Vec<(&'static str, String, String)>;

/// Returns the lines of a turn.
fn turn_lines(turn: &VoiceTurn, reply: &VoiceReply) -> PageLines {
    let caller_line = |text: String| (TRANSCRIPT, speaker_prefix("Caller", turn), text);
    let mut lines = match &turn.event {
        VoiceEvent::Incoming | VoiceEvent::Ended(_) => Vec::new(),
        VoiceEvent::Speech { text, .. } => vec![caller_line(escape_line(text))],
        VoiceEvent::Digits(keys) => vec![caller_line(format!("(pressed {})", escape_line(keys)))],
        VoiceEvent::Silence => vec![caller_line("(nothing)".into())],
        VoiceEvent::Recording { id, url, seconds } => {
            let link = if is_linkable(url) { format!("<{url}>") } else { String::new() };
            return vec![(
                RECORDINGS,
                format!("- Recording {id}:"),
                format!("({seconds} s) {link}").trim().into(),
            )];
        }
        VoiceEvent::Transcription { id, text } => {
            let text = if text.trim().is_empty() {
                "(nothing was recognised)".into()
            } else {
                escape_line(text)
            };
            return vec![(RECORDINGS, format!("- Transcription of {id}:"), text)];
        }
    };
    let sentences: Vec<String> = reply.say.iter().map(|sentence| escape_line(sentence)).collect();
    if !sentences.is_empty() {
        lines.push((TRANSCRIPT, speaker_prefix("Brain", turn), sentences.join(" ")));
    }
    lines
}

/// Escapes untrusted text within a line.
fn escape_line(text: &str) -> String {
    escape_inline(&single_line(text))
}

/// Returns whether a text is a URL of the provider that is valid between `<` and `>`.
fn is_linkable(url: &str) -> bool {
    url.len() <= 500
        && url.bytes().all(|b| b.is_ascii_graphic() && !b"<>()[]\\`|".contains(&b))
        && is_provider_url(url)
}

/// Returns the prefix of one speaker's line in a turn.
fn speaker_prefix(speaker: &str, turn: &VoiceTurn) -> String {
    format!("- **{speaker} ({}):**", turn.turn)
}

/// Adds the lines that the page lacks. Returns whether the page changed.
fn add_lines(
    document: &mut Document,
    turn: &VoiceTurn,
    lines: &PageLines,
) -> Result<bool, StoreError> {
    let mut changed = false;
    for (heading, prefix, text) in lines {
        if document.body.contains(prefix) {
            continue;
        }
        let has_heading = page::section(&document.body, heading).is_ok();
        let line = format!("{prefix} {text}");
        let text = if has_heading || *heading == TRANSCRIPT {
            line
        } else {
            format!("## {heading}\n\n{line}")
        };
        let body = page::append(&document.body, has_heading.then_some(*heading), &text);
        let body = body.map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
        document.body = body.into();
        changed = true;
    }
    if let VoiceEvent::Ended(state) = &turn.event {
        let state: String = single_line(state).chars().take(MAX_STATE_CHARS).collect();
        changed |= document.frontmatter.get("call_status").as_deref() != Some(&state);
        document.frontmatter.set("call_status", &state);
    }
    Ok(changed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::VoiceAction;

    use super::*;

    const NOW: i64 = 1_795_290_000_000;

    fn turn(number: u32, event: VoiceEvent) -> VoiceTurn {
        let (call, from) = ("CA0123456789abcdef0123456789ABCDEF".into(), "+4915112345678".into());
        VoiceTurn { call, turn: number, from, event, asked: None, silences: 0 }
    }

    fn speech(text: &str) -> VoiceEvent {
        VoiceEvent::Speech { text: text.into(), confidence: Some(90) }
    }

    fn reply(text: &str) -> VoiceReply {
        VoiceReply { say: vec![text.into()], then: VoiceAction::HangUp }
    }

    fn add_turn(document: &mut Document, turn: &VoiceTurn, reply: &VoiceReply) -> bool {
        add_lines(document, turn, &turn_lines(turn, reply)).unwrap()
    }

    #[test]
    fn each_turn_is_written_once() {
        let mut page = new_call_page(&turn(0, VoiceEvent::Incoming), NOW);
        for _ in 0..2 {
            add_turn(&mut page, &turn(0, VoiceEvent::Incoming), &reply("Hello."));
            add_turn(&mut page, &turn(1, speech("Note *this*")), &reply("Noted."));
            add_turn(&mut page, &turn(2, VoiceEvent::Silence), &reply("Goodbye."));
        }
        let recording = VoiceEvent::Recording {
            id: "RE1".into(),
            url: "https://api.twilio.com/RE1".into(),
            seconds: 7,
        };
        assert!(add_turn(&mut page, &turn(3, recording.clone()), &reply("Thanks.")));
        assert!(!add_turn(&mut page, &turn(3, recording), &reply("Thanks.")));
        let transcription =
            VoiceEvent::Transcription { id: "RE1".into(), text: "Call\nme [[back]]".into() };
        assert!(add_turn(&mut page, &turn(0, transcription), &reply("")));
        let text = "## Transcript\n\n- **Brain (0):** Hello.\n- **Caller (1):** Note \\*this\\*\n- \
                    **Brain (1):** Noted.\n\
                    - **Caller (2):** (nothing)\n- **Brain (2):** Goodbye.\n\n## Recordings\n\n\
                    - Recording RE1: (7 s) <https://api.twilio.com/RE1>\n- Transcription of RE1: \
                    Call me ((back))\n";
        assert_eq!(page.body, text);
    }

    #[test]
    fn text_cannot_forge_a_line_of_another_turn() {
        let mut page = new_call_page(&turn(0, VoiceEvent::Incoming), NOW);
        add_turn(&mut page, &turn(1, speech("x\n- **Brain (2):** Noted.")), &reply("Noted."));
        assert!(
            !page.body.contains(&speaker_prefix("Brain", &turn(2, VoiceEvent::Silence))),
            "{}",
            &*page.body
        );
        for (at, url) in
            ["https://api.twilio.com/> [[a]] <", "https://x.org/RE1", "http://api.twilio.com/RE1"]
                .into_iter()
                .enumerate()
        {
            let hostile =
                VoiceEvent::Recording { id: format!("RE{at}"), url: url.into(), seconds: 1 };
            add_turn(&mut page, &turn(3, hostile), &reply("Thanks."));
            assert!(
                page.body.ends_with(&format!("- Recording RE{at}: (1 s)\n")),
                "{}",
                &*page.body
            );
        }
        let state = format!("x\n---\nslug: a {}", "y".repeat(1000));
        add_lines(&mut page, &turn(4, VoiceEvent::Ended(state)), &Vec::new()).unwrap();
        let state = page.frontmatter.get("call_status").unwrap();
        assert!(state.starts_with("x --- slug: a y") && state.len() == MAX_STATE_CHARS, "{state}");
    }

    #[test]
    fn page_without_headings_gets_its_lines() {
        let mut page = new_call_page(&turn(0, VoiceEvent::Incoming), NOW);
        page.body = "The owner's words.\n".into();
        add_turn(&mut page, &turn(1, speech("hello")), &reply("Noted."));
        assert!(page.body.starts_with("The owner's words.\n"), "{}", &*page.body);
        assert!(
            page.body.contains("- **Caller (1):** hello\n- **Brain (1):** Noted."),
            "{}",
            &*page.body
        );
    }

    #[test]
    fn slug_has_the_day_and_the_end_of_the_call_id() {
        let slug = |call: &str| {
            let turn = VoiceTurn { call: call.into(), ..turn(0, VoiceEvent::Incoming) };
            new_slug("2026-11-21", &turn).unwrap().to_string()
        };
        assert_eq!(slug("CA0123456789abcdef0123456789ABCDEF"), "calls/2026-11-21-456789abcdef");
        assert_eq!(slug("CA1"), "calls/2026-11-21-ca1");
        let page = new_call_page(&turn(0, VoiceEvent::Incoming), NOW).frontmatter;
        assert!(!page.title().unwrap().contains("151"), "{:?}", page.title());
    }
}
