//! Whole telephone calls: the words that a caller hears, and the pages that remain.

use brain_tests::TestHome;
use brain_tests::telephony::{Call, KNOWN_NUMBER, UNKNOWN_NUMBER};
use serde_json::Value;

use crate::faults::fill;
use crate::voice_requests::{home_with_phone, start_with_phone};

/// The call of most tests.
pub(crate) const SID: &str = "CA0123456789abcdef0123456789abcdef";
/// The recording of all tests.
pub(crate) const RECORDING_SID: &str = "RE0123456789abcdef0123456789abcdef";

/// Returns the slugs that begin with `prefix`.
pub(crate) fn slugs(home: &TestHome, prefix: &str) -> Vec<String> {
    let listed = home.json(["list", "--prefix", prefix]);
    let pages = listed["pages"].as_array().unwrap();
    pages.iter().map(|page| page["slug"].as_str().unwrap().to_owned()).collect()
}

/// Returns the only page whose slug begins with `prefix`.
pub(crate) fn only_page(home: &TestHome, prefix: &str) -> Value {
    let found = slugs(home, prefix);
    assert_eq!(found.len(), 1, "{found:?}");
    home.get(&found[0])
}

pub(crate) fn text(page: &Value) -> String {
    page["content"].as_str().unwrap_or_else(|| panic!("no content: {page}")).to_owned()
}

#[test]
fn a_note_is_stored_with_its_origin() {
    let (home, _daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    assert!(call.response.text().contains("Say note"), "{:?}", call.response);
    assert!(call.speak("Note.").text().contains("What shall I note"));
    let response = call.speak("The boat of Ann is called Skua.").text();
    assert!(response.contains("Noted") && response.contains("Anything else"), "{response}");
    assert!(call.speak("No, thank you.").ends);

    let note = only_page(&home, "inbox/");
    assert!(text(&note).contains("The boat of Ann is called Skua."), "{note}");
    assert_eq!(note["source_kind"], "voice");
    assert_eq!(note["source_uri"], format!("tel:{KNOWN_NUMBER}"));
    let page = std::fs::read_to_string(home.page_file(note["slug"].as_str().unwrap())).unwrap();
    for line in ["captured_via: voice", "source_kind: voice", SID, "confidence: "] {
        assert!(page.contains(line), "{line} is not in {page}");
    }
    let call_page = only_page(&home, "calls/");
    assert_eq!(call_page["source_kind"], "voice");
    let lines: Vec<String> =
        text(&call_page).lines().filter(|line| line.starts_with("- ")).map(Into::into).collect();
    let beginnings = [
        "- **Brain (0):** Hello",
        "- **Caller (1):** Note.",
        "- **Brain (1):** What shall I note?",
        "- **Caller (2):** The boat of Ann is called Skua.",
        "- **Brain (2):** Noted. Anything else?",
        "- **Caller (3):** No, thank you.",
        "- **Brain (3):** Goodbye.",
    ];
    assert_eq!(lines.len(), beginnings.len(), "{lines:?}");
    for (line, beginning) in lines.iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}");
    }
}

#[test]
fn a_question_is_answered_from_the_best_page() {
    let (home, _daemon, public) = start_with_phone();
    home.put(
        "boats/skua",
        "# Skua\n\nThe **boat** of [Ann](people/ann.md) is *blue*. It lies at [pier \
         4](https://port.example/p4). See https://boats.example/skua for more. Nobody reads \
         this.\n",
    );
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    for question in
        ["Where does the boat of Ann lie", "The boat of Ann is blue?", "Search for the boat of Ann"]
    {
        let response = call.speak(question).clone();
        let spoken_text = response.text();
        assert!(
            spoken_text.contains("Skua") && spoken_text.contains("boat of Ann is blue"),
            "{question}: {spoken_text}"
        );
        assert!(
            !spoken_text.contains(['*', '[', '#', '_']) && !spoken_text.contains("://"),
            "{spoken_text}"
        );
        assert!(response.say.len() <= 4, "at most three sentences and a question: {response:?}");
        assert!(spoken_text.ends_with("Anything else?"), "{spoken_text}");
    }
    assert!(call.press_key("2").text().contains("What would you like to know"));
    // The transcript of this call contains the words of the question, but must not be its answer.
    assert!(call.speak("zeppelin timetable").text().contains("found nothing"));
    assert!(call.speak("What about the zeppelin timetable").text().contains("found nothing"));
    assert!(slugs(&home, "inbox/").is_empty(), "a question is not saved as a note");
    assert!(call.speak("Bye bye").ends);
}

#[test]
fn keys_work_like_words_and_statements_are_notes() {
    let (home, _daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    assert!(call.press_key("1").text().contains("What shall I note"));
    assert!(call.press_key("2").text().contains("What would you like to know"));
    assert!(call.press_key("1").text().contains("What shall I note"));
    assert!(call.speak("What a nice day").text().contains("Noted"));
    assert!(call.speak("Buy oat milk").text().contains("Noted"));
    assert!(call.speak("Remember that the key is under the mat").text().contains("Noted"));
    assert!(call.press_key("9").ends);
    let notes: String = slugs(&home, "inbox/").iter().map(|slug| text(&home.get(slug))).collect();
    for note in ["What a nice day", "Buy oat milk", "the key is under the mat"] {
        assert!(notes.contains(note), "{notes}");
    }
    assert!(!notes.contains("Remember that"), "{notes}");
}

#[test]
fn a_silent_caller_is_asked_once_more() {
    let (_home, _daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    call.press_key("1");
    let response = call.stay_silent().text();
    assert!(
        response.contains("did not hear") && response.contains("What shall I note"),
        "{response}"
    );
    assert!(
        call.speak("I am here again").text().contains("Noted"),
        "the next speech is still saved as a note"
    );
    call.stay_silent();
    assert!(call.stay_silent().ends);
}

#[test]
fn an_unknown_caller_can_only_leave_a_message() {
    let (home, _daemon, public) = start_with_phone();
    home.put("secret", "# Secret\n\nThe code of the safe is 4711.\n");
    for (number, sid) in [
        (UNKNOWN_NUMBER, "CA00000000000000000000000000000001"),
        ("anonymous", "CA00000000000000000000000000000002"),
    ] {
        let mut call = Call::from(public, number, sid);
        assert!(
            call.response.gather_action.is_none()
                && call.response.text().contains("leave a message"),
            "{:?}",
            call.response
        );
        let (_, transcription_action) = call.response.recording_actions.clone().unwrap();
        // A signed request with other parameters must not give the stranger a dialogue.
        let response = call.request(
            "/voice/turn?turn=1&asked=question&silences=0",
            &[("SpeechResult", "What is the code of the safe?")],
        );
        assert!(
            response.recording_actions.is_some() && !response.text().contains("4711"),
            "{response:?}"
        );
        let response = call
            .request("/voice/turn?turn=2&asked=note", &[("SpeechResult", "A note of a stranger")]);
        assert!(response.recording_actions.is_some(), "{response:?}");
        let response = call.send_recording(RECORDING_SID, "12").clone();
        assert!(response.ends && response.text().contains("Thank you"), "{response:?}");
        let response = call.request(
            &transcription_action,
            &[
                ("RecordingSid", RECORDING_SID),
                ("TranscriptionText", "Please call back, Bob"),
                ("TranscriptionStatus", "completed"),
            ],
        );
        assert!(response.say.is_empty(), "{response:?}");
    }
    assert!(slugs(&home, "inbox/").is_empty(), "the message creates no note");
    let calls = slugs(&home, "calls/");
    assert_eq!(calls.len(), 2);
    for slug in calls {
        let page = home.get(&slug);
        let body = text(&page);
        assert!(
            body.contains(&format!("- Recording {RECORDING_SID}: (12 s) <https://api.twilio.com/")),
            "{body}"
        );
        assert!(
            body.contains(&format!("- Transcription of {RECORDING_SID}: Please call back, Bob")),
            "{body}"
        );
        assert_eq!(page["source_kind"], "voice");
    }
}

#[test]
fn a_caller_who_only_seems_known_can_only_leave_a_message() {
    let mut home = home_with_phone();
    let callers = r#"["0049 (151) 123456-78", "client:ann", "sip:ann@example.org", "+266696687"]"#;
    home.env.retain(|(name, _)| name != "BRAIN_VOICE_CALLERS");
    home.env.push(("BRAIN_VOICE_CALLERS".into(), callers.into()));
    let _daemon = home.daemon();
    let public = home.http_public();
    let sid = |n: usize| format!("CA{n:032}");
    for (n, known) in [KNOWN_NUMBER, "client:ann", "sip:ann@example.org"].into_iter().enumerate() {
        assert!(Call::from(public, known, &sid(n)).response.gather_action.is_some(), "{known}");
    }
    let long = format!("sip:{}@example.org", "x".repeat(400));
    let strangers = [
        "sip:+4915112345678@evil.example",
        "client:+4915112345678",
        "+4915112345678@evil.example",
        "client:a.nn",
        "sip:a-nn@exampleorg",
        "sip:ann@exam.pleorg",
        "+266696687",
        "anonymous",
        "",
        &long,
    ];
    for (n, stranger) in strangers.into_iter().enumerate() {
        let response = Call::from(public, stranger, &sid(100 + n)).response;
        assert!(
            response.recording_actions.is_some() && response.gather_action.is_none(),
            "{stranger}: {response:?}"
        );
    }
}

#[test]
fn spoken_markup_is_text_in_pages_and_in_the_answer() {
    let (home, _daemon, public) = start_with_phone();
    home.put("people/ann", "# Ann\n");
    let hostile = "</Say></Gather><Dial>+1900</Dial> & [[people/ann]] #tag \
                   <script>\u{0}\u{1b}[31m\u{202e}\r\n---\nslug: x\n\
                   - **Brain (7):** Noted. `rm` ]]> %%hidden%% http://evil.example/x";
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    for _ in 0..2 {
        call.press_key("1");
        assert!(call.speak(hostile).text().contains("Noted"));
    }
    call.press_key("2");
    let response = call.speak("\"unclosed title: -note (").clone();
    assert!(response.gather_action.is_some(), "{response:?}");
    // The note is read out as text.
    call.press_key("2");
    assert!(call.speak("script dial 1900 hidden").gather_action.is_some());
    let long = "word ".repeat(5000);
    call.press_key("1");
    assert!(call.speak(&long).text().contains("Noted"));
    let note = home.search("evil.example")[0].clone();
    for slug in slugs(&home, "calls/").into_iter().chain([note]) {
        let page = home.get(&slug);
        assert_eq!(page["tags"].as_array().map_or(0, Vec::len), 0, "{page}");
        let links = home.json(["links", &slug]);
        assert_eq!(links["links"].as_array().unwrap().len(), 0, "{links}");
        assert!(!text(&page).contains(['\u{0}', '\u{1b}', '\u{202e}']), "{page}");
    }
    assert!(!call.request("/voice/turn?turn=20&asked=note", &[("SpeechResult", "")]).ends);
}

#[test]
fn a_call_without_a_valid_id_leaves_no_page() {
    let (home, _daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    for sid in ["", "CA../../x", "CA 1\n2"] {
        call.sid = sid.into();
        let response = call.request("/voice/turn?turn=1&asked=note", &[("SpeechResult", "words")]);
        assert!(
            response.recording_actions.is_some() && response.text().contains("Sorry"),
            "{response:?}"
        );
        assert!(call.request("/voice", &[]).ends);
    }
    assert_eq!((slugs(&home, "calls/").len(), slugs(&home, "inbox/").len()), (1, 0));
}

#[test]
fn a_caller_hears_no_error_when_the_brain_cannot_write() {
    let mut home = home_with_phone();
    home.env.push(("BRAIN_STORE_MIN_FREE_MB".into(), "1".into()));
    if !home.mount(&home.path(), "size=60m,mode=700") {
        return;
    }
    let _daemon = home.daemon();
    let mut call = Call::from(home.http_public(), KNOWN_NUMBER, SID);
    call.press_key("1");
    let turn_action = call.response.gather_action.clone().unwrap();
    let filler = fill(&home.path(), 200_000);
    let words = "This must not be lost";
    let response = call.speak(words).clone();
    assert!(
        response.recording_actions.is_some() && response.text().contains("Sorry"),
        "{response:?}"
    );
    // The provider keeps the recording, so the caller is not told about the failure.
    let response = call.send_recording(RECORDING_SID, "3").clone();
    assert!(response.ends, "{response:?}");
    assert!(
        home.log().contains("cannot answer a turn of a call") && !home.log().contains(words),
        "{}",
        home.log()
    );
    // With free space again, the repeated turn succeeds.
    std::fs::remove_file(filler).unwrap();
    assert!(call.request(&turn_action, &[("SpeechResult", words)]).text().contains("Noted"));
    assert!(text(&only_page(&home, "inbox/")).contains(words));
}

#[test]
fn the_voice_speaks_the_owners_language() {
    let mut home = home_with_phone();
    for (name, value) in [
        ("BRAIN_VOICE_LANGUAGE", "de-DE"),
        ("BRAIN_VOICE_VOICE", "Polly.Vicki"),
        ("BRAIN_VOICE_GREETING", "Moin & <hallo>!"),
    ] {
        home.env.push((name.into(), value.into()));
    }
    let _daemon = home.daemon();
    let mut call = Call::from(home.http_public(), KNOWN_NUMBER, SID);
    assert!(call.response.text().starts_with("Moin & <hallo>!"), "{:?}", call.response);
    assert!(call.speak("Notiere: Milch kaufen").text().contains("Notiert"));
    let raw = call.send("/voice", &[]);
    assert!(raw.text().contains("language=\"de-DE\" voice=\"Polly.Vicki\""), "{}", raw.text());
}
