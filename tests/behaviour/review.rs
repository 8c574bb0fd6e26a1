//! Contradictions and their settlement, answers that age, and the owner's own recall.

use brain_tests::mcp::mcp;
use brain_tests::model::{FakeModel, ModelOptions, ModelResponse};
use brain_tests::{Daemon, TestHome, texts};
use serde_json::{Value, json};

use crate::ask_fixture::{self, passage_number, set_variable};

fn contradictions(home: &TestHome) -> Vec<Value> {
    home.json(["contradictions"])["contradictions"].as_array().unwrap().clone()
}

#[test]
fn a_succession_and_other_near_misses_are_no_contradictions() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put(
        "people/oda",
        "---\ntitle: Oda\nemail: oda@one.example\n---\n- harbour master 2021–2024\n- pilot since \
         2024\n- runs the archive\n\n- 2026-01-02 | Oda's e-mail is oda@two.example\n",
    );
    home.put("people/pia", "---\ntitle: Pia\n---\nPia works at the port.\n");
    home.put("proj/tide", "---\ntitle: Tide\n---\n- 2026-06-30 | Tide was led by Oda until June\n");
    home.put("log/autumn", "Tide is led by Pia since September 2026.\n");
    home.put("people/jan-1", "---\ntitle: Jan Roe\nborn: 1971-03-04\n---\nOne.\n");
    home.put("people/jan-2", "---\ntitle: Jan Roe\nborn: 1984-10-11\n---\nAnother one.\n");
    assert_eq!(contradictions(&home), Vec::<Value>::new());
}

#[test]
fn a_contradiction_has_both_sentences_and_is_settled_without_a_change() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("people/oda", "---\ntitle: Oda Lind\n---\nA person.\n");
    home.put("people/pia", "---\ntitle: Pia Holm\n---\nA person.\n");
    home.put("proj/tide", "---\ntitle: Tide\nlead: \"[[people/oda]]\"\n---\nA project.\n");
    home.put("log/new", "- 2026-10-02 | [[people/pia]] leads [[proj/tide]] [Source: minutes]\n");
    let found = contradictions(&home);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["thing"], &found[0]["field"]), (&"Tide".into(), &"lead".into()));
    let sentences = ["a", "b"].map(|side| found[0][side]["sentence"].as_str().unwrap().to_owned());
    assert!(sentences.iter().any(|it| it.contains("people/pia")), "{sentences:?}");
    assert!(sentences.iter().any(|it| it.starts_with("lead: ")), "{sentences:?}");
    let key = found[0]["key"].as_str().unwrap();
    let before = home.get("proj/tide");
    let settled = home.json(["settle", key, "--keep", "a"]);
    assert_eq!(settled["kept"], found[0]["a"]);
    assert_eq!(settled["other"], found[0]["b"]);
    assert_eq!(contradictions(&home), Vec::<Value>::new());
    assert_eq!(home.json(["contradictions"])["settled"], 1);
    assert_eq!(home.get("proj/tide"), before, "no page changes");
    home.json(["settle", key, "--reopen"]);
    assert_eq!(contradictions(&home), found);
    assert_eq!(home.fault(["settle", "00000000", "--keep", "b"], 4)["code"], "not_found");
    // The sentence goes, and the contradiction with it.
    home.put("log/new", "Nothing.\n");
    assert_eq!(contradictions(&home), Vec::<Value>::new());
}

const ALPHA: &str = "Alpha cut fuel by twelve percent on all routes.";
const BETA: &str = "Beta cut fuel by twelve percent on all routes.";

/// Returns a home with a saved answer that cites the sentence about Alpha.
fn home_with_answer(model: &FakeModel) -> (TestHome, Daemon) {
    let home = ask_fixture::home(model);
    let daemon = home.daemon();
    home.put("fuel", &format!("# Fuel\n\n{ALPHA}\n\n{BETA}\n"));
    let saved = home.json(["ask", "--save", "how much fuel did Alpha cut?"]);
    assert!(saved["saved_slug"].as_str().unwrap().starts_with("answers/"), "{saved}");
    (home, daemon)
}

fn model() -> FakeModel {
    FakeModel::new(ModelOptions::default(), |question| {
        let number = passage_number(question, "fuel");
        ModelResponse::Text(format!("Alpha cut fuel by twelve percent [{number}]."))
    })
}

fn stale(home: &TestHome) -> Vec<Value> {
    let reply = home.json(["ask", "--stale"]);
    assert_eq!(reply["checked"], 1, "{reply}");
    reply["answers"].as_array().unwrap().clone()
}

#[test]
fn an_answer_is_stale_when_its_sentence_goes_and_not_when_it_looks_different() {
    let model = model();
    let (home, _daemon) = home_with_answer(&model);
    assert_eq!(stale(&home), Vec::<Value>::new());
    // Wrapped, with CRLF, and in another section.
    let wrapped = ALPHA.replace(" by ", "\r\nby\r\n");
    home.put("fuel", &format!("# Fuel\r\n\r\n{BETA}\r\n\r\n# More\r\n\r\n{wrapped}\r\n"));
    assert_eq!(stale(&home), Vec::<Value>::new());
    home.put("fuel", &format!("# Fuel\n\n{ALPHA}\n\n{BETA}\n"));
    assert_eq!(stale(&home), Vec::<Value>::new());
    // Its sentence goes; the one about Beta is not the same.
    home.put("fuel", &format!("# Fuel\n\nAlpha cut nothing.\n\n{BETA}\n"));
    let answers = stale(&home);
    assert_eq!(answers.len(), 1, "{answers:?}");
    let change = &answers[0]["changes"][0];
    assert_eq!((&change["change"], &change["was"]), (&"changed".into(), &ALPHA.into()));
    assert_eq!(change["now"], "Alpha cut nothing.");
    let text = home.brain(["ask", "--stale"]).expect(0).stdout;
    assert!(
        text.contains("was  Alpha cut fuel") && text.contains("now  Alpha cut nothing."),
        "{text}"
    );
    home.json(["delete", "fuel"]);
    assert_eq!(stale(&home)[0]["changes"][0]["change"], "deleted");
}

#[test]
fn an_ai_client_reads_that_an_answer_is_stale_and_the_record_has_no_text_of_it() {
    let model = model();
    let (home, _daemon) = home_with_answer(&model);
    let answer = texts(&home.json(["list", "--type", "answer"])["pages"], "slug").remove(0);
    let client = mcp(&home, &home.token("helm", "read", &[]));
    let notes = || {
        let page = client.call("get_page", json!({ "slug": answer }));
        let fetched = client.call("fetch", json!({ "id": answer }));
        let found = client.call("query", json!({ "query": "how much fuel", "type": "answer" }));
        [page["metadata"].clone(), fetched["metadata"].clone(), found["results"][0].clone()]
            .map(|it| it["stale"].as_str().map(str::to_owned))
    };
    assert_eq!(notes(), [None, None, None]);
    home.put("fuel", &format!("# Fuel\n\nAlpha cut nothing.\n\n{BETA}\n"));
    let note = "what this was made from has changed: fuel".to_owned();
    assert_eq!(notes(), [(); 3].map(|()| Some(note.clone())));
    // The same bytes again, after the cited page is as it was.
    let calls = home.json(["seen"])["calls"].as_array().unwrap().clone();
    home.put("fuel", &format!("# Fuel\n\n{ALPHA}\n\n{BETA}\n"));
    for call in &calls[..3] {
        let again = home.json(["seen", "--replay", call["id"].as_str().unwrap()]);
        assert!(again["answer"].as_str().unwrap().contains(&note), "{again}");
    }
    // A purge of the cited page reaches the calls that named it.
    home.json(["purge", "fuel", "--now", "--yes"]);
    let fault = home.fault(["seen", "--replay", calls[0]["id"].as_str().unwrap()], 1);
    assert_eq!(fault["code"], "not_replayable");
}

#[test]
fn a_purge_leaves_no_cited_text_behind() {
    let model = model();
    let (home, daemon) = home_with_answer(&model);
    // The answer itself quotes the page; what is left then is the citation.
    let answer = texts(&home.json(["list", "--type", "answer"])["pages"], "slug").remove(0);
    home.put(&answer, "---\ntype: answer\n---\nIt fell.\n");
    let versions = home.json(["history", &answer])["versions"].as_array().unwrap().len();
    for version in 1..versions {
        home.json(["purge", &answer, "--version", &version.to_string(), "--now", "--yes"]);
    }
    home.json(["purge", "fuel", "--now", "--yes"]);
    let change = &stale(&home)[0]["changes"][0];
    assert_eq!((&change["change"], &change["was"]), (&"purged".into(), &"".into()));
    assert!(daemon.terminate().0.success());
    let store = std::fs::read(home.path().join("brain.redb")).unwrap();
    let has = |text: &[u8]| store.windows(text.len()).any(|window| window == text);
    assert!(has(b"It fell.") && !has(b"twelve percent"), "the store has a purged text");
}

#[test]
fn searches_become_questions_only_if_the_owner_wants_it() {
    for (is_on, questions) in [(false, None), (true, Some(2))] {
        let mut home = TestHome::new();
        set_variable(&mut home, "BRAIN_SEARCH_REMEMBER", if is_on { "true" } else { "false" });
        set_variable(&mut home, "BRAIN_EMBEDDING_PROVIDER", "none");
        let home = home;
        let _daemon = home.daemon();
        home.put("boat", "The boat is moored at the north quay.\n");
        home.put("keys", "They hang behind the door.\n");
        home.put("gone", "A heron at the weir.\n");
        for (query, slug) in [("north quay", "boat"), ("padlock", "keys"), ("heron", "gone")] {
            home.json(["search", query]);
            home.json(["get", slug]);
        }
        home.json(["delete", "gone"]);
        let reply = home.json(["recall"]);
        assert_eq!(reply["enabled"], is_on);
        assert_eq!(reply["run"]["questions"].as_u64(), questions, "{reply}");
        if is_on {
            // One of two is found; the page of the third one is gone and does not count.
            assert_eq!(reply["run"]["recall_at_5"], 50.0, "{reply}");
            assert_eq!(reply["run"]["gone"], 1);
            assert_eq!(reply["missed"][0]["question"], "padlock");
            assert_eq!(home.json(["recall"])["former"].as_array().unwrap().len(), 1);
            home.json(["purge", "keys", "--now", "--yes"]);
            assert_eq!(home.json(["recall"])["run"]["questions"], 1, "a purge takes its questions");
            home.json(["recall", "--forget"]);
            assert_eq!(home.json(["recall"])["run"], Value::Null);
        }
    }
}

#[test]
fn another_ranking_that_finds_less_is_a_warning() {
    let mut home = TestHome::new();
    set_variable(&mut home, "BRAIN_SEARCH_REMEMBER", "true");
    set_variable(&mut home, "BRAIN_EMBEDDING_PROVIDER", "none");
    let check = |home: &TestHome| {
        let report: Value = serde_json::from_str(&home.brain(["doctor", "--json"]).stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["name"] == "recall").unwrap();
        ["status", "message"].map(|field| found[field].as_str().unwrap().to_owned())
    };
    let daemon = home.daemon();
    home.put("boat", "The boat is moored at the north quay.\n");
    home.json(["search", "north quay"]);
    home.json(["get", "boat"]);
    assert_eq!(check(&home), ["ok", "1 questions of yours, not asked again yet"]);
    assert_eq!(home.json(["recall"])["run"]["recall_at_5"], 100.0);
    home.put("boat", "It is somewhere else now.\n");
    assert_eq!(check(&home), ["ok", "recall@5 100.0 % of 1 questions"]);
    assert!(daemon.terminate().0.success());
    // A reranker that does not answer is another ranking.
    set_variable(&mut home, "BRAIN_SEARCH_RERANK", "endpoint");
    set_variable(&mut home, "BRAIN_SEARCH_RERANK_BASE_URL", "http://127.0.0.1:9");
    set_variable(&mut home, "BRAIN_SEARCH_RERANK_MODEL", "other");
    let _daemon = home.daemon();
    let [status, message] = check(&home);
    assert_eq!(status, "warn", "{message}");
    assert!(message.contains("no model, and not yet with brain"), "{message}");
    let warnings = home.json(["recall"])["warnings"].clone();
    assert!(warnings[0].as_str().unwrap().starts_with("your recall fell by 100.0"), "{warnings}");
    let [status, message] = check(&home);
    assert_eq!((status.as_str(), message.as_str()), ("warn", warnings[0].as_str().unwrap()));
    home.json(["recall"]);
    assert_eq!(check(&home)[0], "ok", "the ranking is the same as at the run before");
}
