//! The pages after a call: each note once and complete, the page of the call, and nothing in other
//! sources.

use brain_tests::telephony::{Call, KNOWN_NUMBER};

use crate::voice_dialogue::{RECORDING_SID, SID, only_page, slugs, text};
use crate::voice_requests::start_with_phone;

#[test]
fn repeated_and_late_events_are_stored_once() {
    let (home, daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    let first = call.response.clone();
    let action = first.gather_action.clone().unwrap();
    let speech = [("SpeechResult", "Note that the moon is full"), ("Confidence", "0.8")];
    let before = call.request(&action, &speech).clone();
    assert_eq!(
        *call.request(&action, &speech),
        before,
        "a repeated request gets the same response"
    );
    assert_eq!(*call.request("/voice", &[("CallStatus", "ringing")]), first);
    let body = text(&only_page(&home, "calls/"));
    drop(daemon);

    // The turn is repeated after a restart and after the deletion of its note.
    let note = only_page(&home, "inbox/");
    let _daemon = home.daemon();
    home.json(["delete", note["slug"].as_str().unwrap()]);
    let mut call = Call::from(home.http_public(), KNOWN_NUMBER, SID);
    assert_eq!(*call.request(&action, &speech), before);
    assert!(slugs(&home, "inbox/").is_empty(), "a processed turn saves no second note");
    assert_eq!(text(&only_page(&home, "calls/")), body);

    // Late callbacks arrive after the end of the call, each of them twice.
    for _ in 0..2 {
        call.request("/voice/status", &[("CallStatus", "completed")]);
        call.request(
            "/voice/transcription",
            &[("RecordingSid", RECORDING_SID), ("TranscriptionText", "late words")],
        );
        call.request(
            "/voice/recording?turn=5",
            &[
                ("RecordingSid", RECORDING_SID),
                ("RecordingUrl", "https://api.twilio.com/r"),
                ("RecordingDuration", "3"),
            ],
        );
    }
    let body = text(&only_page(&home, "calls/"));
    assert_eq!(body.matches("late words").count(), 1, "{body}");
    assert_eq!(body.matches("- Recording ").count(), 1, "{body}");
}

#[test]
fn concurrent_repeats_of_a_turn_are_processed_once() {
    let (home, _daemon, public) = start_with_phone();
    let other_sid = "CA00000000000000000000000000000009";
    let calls =
        [Call::from(public, KNOWN_NUMBER, SID), Call::from(public, KNOWN_NUMBER, other_sid)];
    let action = calls[0].response.gather_action.clone().unwrap();
    let threads: Vec<_> = (0..12)
        .map(|n| {
            let (sid, action) = (if n % 2 == 0 { SID } else { other_sid }, action.clone());
            std::thread::spawn(move || {
                let mut call = Call::resume(public, KNOWN_NUMBER, sid);
                let words = format!("Note that the call is {sid}");
                call.request(&action, &[("SpeechResult", &words)]).text()
            })
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap().contains("Noted"));
    }
    let notes: Vec<String> =
        slugs(&home, "inbox/").iter().map(|slug| text(&home.get(slug))).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    for (call, other) in [(&calls[0], other_sid), (&calls[1], SID)] {
        let end = call.slug("").replace("calls/", "");
        let page = slugs(&home, "calls/").into_iter().find(|slug| slug.ends_with(&end)).unwrap();
        let body = text(&home.get(&page));
        assert_eq!(body.matches("**Caller (1):** Note that the call is").count(), 1, "{body}");
        assert_eq!(body.matches("**Brain (1):**").count(), 1, "{body}");
        assert!(body.contains(&call.sid) && !body.contains(other), "{body}");
    }
}

#[test]
fn a_turn_without_a_number_loses_no_note() {
    let (home, _daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    for words in ["Buy milk", "Buy milk and eggs"] {
        assert!(call.request("/voice/turn", &[("SpeechResult", words)]).text().contains("Noted"));
    }
    let notes: String = slugs(&home, "inbox/").iter().map(|slug| text(&home.get(slug))).collect();
    assert!(
        notes.contains("Buy milk\n") && notes.contains("Buy milk and eggs"),
        "every confirmed note is stored: {notes}"
    );
}

#[test]
fn a_long_note_is_stored_completely() {
    let (home, _daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    call.press_key("1");
    let long = "word ".repeat(6000) + "omega";
    assert!(call.speak(&long).text().contains("Noted"));
    assert!(text(&only_page(&home, "inbox/")).trim_end().ends_with("omega"));
    // A question is cut to the longest query, and the transcript of this call is no result.
    call.press_key("2");
    let spoken_answer = call.speak(&("word ".repeat(6000) + "omega")).text();
    assert!(
        spoken_answer.contains("I found this") && !spoken_answer.contains("Call of"),
        "{spoken_answer}"
    );
}

#[test]
fn text_read_out_from_another_source_is_not_stored() {
    let (home, _daemon, public) = start_with_phone();
    let dir = home.outside().join("private");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("safe.md"), "# Safe\n\nThe code of the safe is 4711.\n").unwrap();
    home.json(["sources", "add", "private", "--path", dir.to_str().unwrap()]);
    home.json(["sync", "--source", "private"]);
    home.put("boats/skua", "# Skua\n\nThe boat of Ann is blue.\n");
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    assert!(
        call.speak("What is the code of the safe?").text().contains("4711"),
        "{:?}",
        call.response
    );
    assert!(call.speak("What is the boat of Ann?").text().contains("blue"));
    let body = text(&only_page(&home, "calls/"));
    assert!(!body.contains("4711") && body.contains("from a page of another source"), "{body}");
    assert!(body.contains("boat of Ann is blue"), "{body}");
}

#[test]
fn a_call_without_a_dialogue_stores_only_its_events() {
    let (home, _daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    call.sid = "CAeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee".into();
    call.request("/voice/status", &[("CallStatus", "no-answer")]);
    assert_eq!(slugs(&home, "calls/").len(), 1);
    call.request(
        "/voice/transcription",
        &[("RecordingSid", RECORDING_SID), ("TranscriptionText", "")],
    );
    let all: String = slugs(&home, "calls/").iter().map(|slug| text(&home.get(slug))).collect();
    assert!(all.contains("nothing was recognised"), "{all}");
}

#[test]
fn the_owner_can_edit_and_delete_the_page_of_a_call() {
    let (home, _daemon, public) = start_with_phone();
    let mut call = Call::from(public, KNOWN_NUMBER, SID);
    call.speak("Buy milk");
    let slug = slugs(&home, "calls/").remove(0);
    let file_text = std::fs::read_to_string(home.page_file(&slug)).unwrap();
    home.put(&slug, &format!("{file_text}\nAnn called.\n"));
    call.speak("Buy eggs");
    let page = home.get(&slug);
    assert!(text(&page).contains("Ann called.") && text(&page).contains("Buy eggs"), "{page}");
    assert_eq!(page["source_kind"], "voice", "the page contains text of a caller");
    home.json(["delete", &slug]);
    assert!(call.speak("Buy bread").text().contains("Noted"));
    assert!(slugs(&home, "calls/").is_empty(), "a deleted page of a call is not created again");
    assert_eq!(slugs(&home, "inbox/").len(), 3, "the notes are kept");
}
