//! Writes the page of a call: the transcript and the recordings.
//!
//! The page grows turn by turn, so an interrupted call is complete up to that point. A repeated
//! turn is not written again.

use brain_protocol::{Fault, FaultCode, Slug, SourceId, VoiceEvent, VoiceReply, VoiceTurn};

use super::callers::uri;
use crate::provenance::VOICE;
use crate::write_page::{stored_document, written_page};
use crate::{Caller, VoiceService};
use brain_base::clock::{day, rfc3339};
use brain_page::{self as page, Document, Frontmatter, escape_inline, normalize_name, single_line};
use brain_store::{Provenance, Reader, StoreError};
use brain_voice::is_of_provider;

/// The folder of call pages.
const FOLDER: &str = "calls/";
/// The type of a call page.
pub(super) const TYPE: &str = "phone-call";
/// Maximum length of a call's final state, in characters.
const STATE: usize = 40;
/// Number of final characters of the call id in the slug.
const SUFFIX: usize = 12;
/// The heading of the transcript.
const TRANSCRIPT: &str = "Transcript";
/// The heading of the recordings.
const RECORDINGS: &str = "Recordings";

impl VoiceService {
    /// Returns whether the page of the call has this turn with these words.
    pub(super) fn is_noted(
        &self,
        caller: &Caller,
        turn: &VoiceTurn,
        text: &str,
    ) -> Result<bool, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = crate::sources::resolve(caller, &reader, None)?;
        let Some(slug) = slug_of(&reader, &source, turn)? else { return Ok(false) };
        let Some(record) = reader.page(&source, &slug)? else { return Ok(false) };
        let line = format!("{} {}", mark("Caller", turn), shown(text));
        Ok(reader.content(&record)?.body.lines().any(|known| known == line))
    }

    /// Adds a turn to the page of its call and creates the page for the first one.
    pub(super) fn note_turn(
        &self,
        caller: &Caller,
        turn: &VoiceTurn,
        said: &VoiceReply,
    ) -> Result<(), Fault> {
        let now = self.env.clock.now();
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = crate::sources::resolve(caller, &reader, None)?;
        let known = slug_of(&reader, &source, turn)?;
        drop(reader);
        // The end of an unanswered call creates no page.
        if known.is_none() && matches!(turn.event, VoiceEvent::Ended(_)) {
            return Ok(());
        }
        let slug = known.map_or_else(|| new_slug(&day(now), turn), Ok)?;
        let provenance = VOICE.provenance(uri(&turn.from), now);
        let lines = lines(turn, said);
        let (turn, place) = (turn.clone(), source.clone());
        let applied = self.store.write(move |draft| {
            let existing = draft.page(&place, &slug)?;
            // The owner deleted the page.
            if existing.as_ref().is_some_and(|record| record.deleted_at.is_some()) {
                return Ok(None);
            }
            let known = existing.as_ref().map(|record| record.provenance.clone());
            let (mut document, provenance) = match existing {
                None => (begun(&turn, now), provenance.clone()),
                Some(record) => {
                    (stored_document(&draft.content(&record)?)?, still_outside(record.provenance))
                }
            };
            if !add(&mut document, &turn, &lines)? {
                return Ok(None);
            }
            let page = written_page(&slug, document, provenance, known.as_ref(), false)?;
            draft.write_page(&place, &slug, page, now).map(Some)
        })?;
        if let Some(applied) = applied {
            self.files.agree(&source, &applied.record);
        }
        Ok(())
    }
}

/// Keeps the origin of a page that its owner edited: it still has text of others.
fn still_outside(provenance: Provenance) -> Provenance {
    Provenance { source_kind: Some(VOICE.kind.into()), ..provenance }
}

/// Finds the page of a call by the call's id.
fn slug_of(reader: &Reader, source: &SourceId, turn: &VoiceTurn) -> Result<Option<Slug>, Fault> {
    let found = reader.named(source, &normalize_name(&turn.call), 2)?;
    Ok(found.into_iter().map(|(_, slug, _)| slug).find(|slug| slug.as_str().starts_with(FOLDER)))
}

/// Returns the slug for the page of a call that begins on `day`.
fn new_slug(day: &str, turn: &VoiceTurn) -> Result<Slug, Fault> {
    let id = turn.call.to_ascii_lowercase();
    let suffix = id.get(id.len().saturating_sub(SUFFIX)..).unwrap_or(&id);
    Slug::parse(format!("{FOLDER}{day}-{suffix}"))
        .map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))
}

/// Creates the page of a call that just began.
fn begun(turn: &VoiceTurn, now: i64) -> Document {
    let at = rfc3339(now);
    let mut frontmatter = Frontmatter::empty();
    frontmatter.set_all(&[
        ("type", TYPE),
        ("title", &format!("Call of {}", at.get(..16).unwrap_or(&at).replace('T', " "))),
        ("call_id", &turn.call),
    ]);
    // The alias by which the page is found again.
    frontmatter.set_list("aliases", std::slice::from_ref(&turn.call));
    Document { frontmatter, body: format!("## {TRANSCRIPT}\n") }
}

/// Lines for a page: heading, prefix that must not exist yet, and text.
type Lines = Vec<(&'static str, String, String)>;

/// Returns the lines of a turn.
fn lines(turn: &VoiceTurn, said: &VoiceReply) -> Lines {
    let caller = |text: String| (TRANSCRIPT, mark("Caller", turn), text);
    let mut lines = match &turn.event {
        VoiceEvent::Incoming | VoiceEvent::Ended(_) => Vec::new(),
        VoiceEvent::Speech { text, .. } => vec![caller(shown(text))],
        VoiceEvent::Digits(keys) => vec![caller(format!("(pressed {})", shown(keys)))],
        VoiceEvent::Silence => vec![caller("(nothing)".into())],
        VoiceEvent::Recording { id, url, seconds } => {
            let at = if can_stand(url) { format!("<{url}>") } else { String::new() };
            return vec![(
                RECORDINGS,
                format!("- Recording {id}:"),
                format!("({seconds} s) {at}").trim().into(),
            )];
        }
        VoiceEvent::Transcription { id, text } => {
            let text = if text.trim().is_empty() {
                "(nothing could be made out)".into()
            } else {
                shown(text)
            };
            return vec![(RECORDINGS, format!("- Transcription of {id}:"), text)];
        }
    };
    let said: Vec<String> = said.say.iter().map(|sentence| shown(sentence)).collect();
    if !said.is_empty() {
        lines.push((TRANSCRIPT, mark("Brain", turn), said.join(" ")));
    }
    lines
}

/// Escapes untrusted text within a line.
fn shown(text: &str) -> String {
    escape_inline(&single_line(text))
}

/// Returns whether a text is a URL of the provider that is valid between `<` and `>`.
fn can_stand(url: &str) -> bool {
    url.len() <= 500
        && url.bytes().all(|b| b.is_ascii_graphic() && !b"<>()[]\\`|".contains(&b))
        && is_of_provider(url)
}

/// Returns the prefix of one speaker's line in a turn.
fn mark(who: &str, turn: &VoiceTurn) -> String {
    format!("- **{who} ({}):**", turn.turn)
}

/// Adds missing lines. Returns whether there were any.
fn add(document: &mut Document, turn: &VoiceTurn, lines: &Lines) -> Result<bool, StoreError> {
    let mut changed = false;
    for (heading, begins, rest) in lines {
        if document.body.contains(begins) {
            continue;
        }
        let has = page::headings(&document.body).iter().any(|it| it.text == *heading);
        let line = format!("{begins} {rest}");
        let text =
            if has || *heading == TRANSCRIPT { line } else { format!("## {heading}\n\n{line}") };
        let added = page::append(&document.body, has.then_some(*heading), &text);
        document.body = added.map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
        changed = true;
    }
    if let VoiceEvent::Ended(state) = &turn.event {
        let state: String = single_line(state).chars().take(STATE).collect();
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

    fn said(text: &str) -> VoiceReply {
        VoiceReply { say: vec![text.into()], then: VoiceAction::HangUp }
    }

    fn grown(document: &mut Document, turn: &VoiceTurn, said: &VoiceReply) -> bool {
        add(document, turn, &lines(turn, said)).unwrap()
    }

    #[test]
    fn a_call_is_written_down_turn_by_turn_and_once() {
        let mut page = begun(&turn(0, VoiceEvent::Incoming), NOW);
        for _ in 0..2 {
            grown(&mut page, &turn(0, VoiceEvent::Incoming), &said("Hello."));
            grown(&mut page, &turn(1, speech("Note *this*")), &said("Noted."));
            grown(&mut page, &turn(2, VoiceEvent::Silence), &said("Goodbye."));
        }
        let recording = VoiceEvent::Recording {
            id: "RE1".into(),
            url: "https://api.twilio.com/RE1".into(),
            seconds: 7,
        };
        assert!(grown(&mut page, &turn(3, recording.clone()), &said("Thanks.")));
        assert!(!grown(&mut page, &turn(3, recording), &said("Thanks.")));
        let written =
            VoiceEvent::Transcription { id: "RE1".into(), text: "Call\nme [[back]]".into() };
        assert!(grown(&mut page, &turn(0, written), &said("")));
        let text = "## Transcript\n\n- **Brain (0):** Hello.\n- **Caller (1):** Note \\*this\\*\n- **Brain (1):** Noted.\n\
                    - **Caller (2):** (nothing)\n- **Brain (2):** Goodbye.\n\n## Recordings\n\n\
                    - Recording RE1: (7 s) <https://api.twilio.com/RE1>\n- Transcription of RE1: Call me ((back))\n";
        assert_eq!(page.body, text);
    }

    #[test]
    fn nobody_can_write_a_line_of_another_turn() {
        let mut page = begun(&turn(0, VoiceEvent::Incoming), NOW);
        grown(&mut page, &turn(1, speech("x\n- **Brain (2):** Noted.")), &said("Noted."));
        assert!(
            !page.body.contains(&mark("Brain", &turn(2, VoiceEvent::Silence))),
            "{}",
            page.body
        );
        for (at, url) in
            ["https://api.twilio.com/> [[a]] <", "https://x.org/RE1", "http://api.twilio.com/RE1"]
                .into_iter()
                .enumerate()
        {
            let hostile =
                VoiceEvent::Recording { id: format!("RE{at}"), url: url.into(), seconds: 1 };
            grown(&mut page, &turn(3, hostile), &said("Thanks."));
            assert!(page.body.ends_with(&format!("- Recording RE{at}: (1 s)\n")), "{}", page.body);
        }
        let state = format!("x\n---\nslug: a {}", "y".repeat(1000));
        add(&mut page, &turn(4, VoiceEvent::Ended(state)), &Vec::new()).unwrap();
        let state = page.frontmatter.get("call_status").unwrap();
        assert!(state.starts_with("x --- slug: a y") && state.len() == STATE, "{state}");
    }

    #[test]
    fn a_page_whose_headings_are_gone_still_gets_its_lines() {
        let mut page = begun(&turn(0, VoiceEvent::Incoming), NOW);
        page.body = "The owner's words.\n".into();
        grown(&mut page, &turn(1, speech("hello")), &said("Noted."));
        assert!(page.body.starts_with("The owner's words.\n"), "{}", page.body);
        assert!(
            page.body.contains("- **Caller (1):** hello\n- **Brain (1):** Noted."),
            "{}",
            page.body
        );
    }

    #[test]
    fn the_slug_has_the_day_and_the_end_of_the_calls_id() {
        let slug = |call: &str| {
            let turn = VoiceTurn { call: call.into(), ..turn(0, VoiceEvent::Incoming) };
            new_slug("2026-11-21", &turn).unwrap().to_string()
        };
        assert_eq!(slug("CA0123456789abcdef0123456789ABCDEF"), "calls/2026-11-21-456789abcdef");
        assert_eq!(slug("CA1"), "calls/2026-11-21-ca1");
        let page = begun(&turn(0, VoiceEvent::Incoming), NOW).frontmatter;
        assert!(!page.title().unwrap().contains("151"), "{:?}", page.title());
    }
}
