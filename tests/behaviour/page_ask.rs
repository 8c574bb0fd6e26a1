//! Questions in the owner's browser: answers, streamed answers, ideas, budgets and costs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use brain_tests::TEST_TIMEOUT;
use brain_tests::ideas_model::valid_response;
use brain_tests::model::{FakeModel, ModelOptions, ModelResponse, Question};

use crate::ask_fixture::{fill, ledger, passage_number};
use crate::ideas_fixture;
use crate::page_view::assert_security_headers;
use crate::web::{Browser, HttpRequest, Site, encoded, hidden_fields};

const QUESTION: &str = "who wrote the program for the analytical engine?";

/// Starts a site that uses this model, at 3 USD per million input tokens and 15 USD per million
/// output tokens.
fn site(model: &FakeModel) -> Site {
    Site::with(&[
        ("BRAIN_LLM_PROVIDER", "openai"),
        ("BRAIN_LLM_BASE_URL", &model.openai()),
        ("BRAIN_LLM_MODEL", "small"),
        ("BRAIN_LLM_PRICE_IN", "3"),
        ("BRAIN_LLM_PRICE_OUT", "15"),
        ("BRAIN_EMBEDDING_PROVIDER", "none"),
    ])
}

fn model(respond: impl Fn(&Question) -> ModelResponse + Send + Sync + 'static) -> FakeModel {
    FakeModel::new(ModelOptions::default(), respond)
}

fn answering_model() -> FakeModel {
    model(|question| {
        let ada = passage_number(question, "people/ada");
        ModelResponse::Text(format!(
            "Ada <script>alert(1)</script> did [{ada}].\n\nUNKNOWN: in which year."
        ))
    })
}

/// Sends a form over HTTP/1.0, which has no chunks, and returns the connection.
fn send(browser: &mut Browser, site: &Site, path: &str, fields: &[(&str, &str)]) -> TcpStream {
    let home = browser.send(&site.local, HttpRequest::get("/")).expect(200);
    let hidden = hidden_fields(&home.body);
    let (_, csrf) = hidden.iter().find(|(name, _)| name == "csrf").unwrap();
    let pairs: Vec<_> =
        [("csrf", csrf.as_str())].into_iter().chain(fields.iter().copied()).collect();
    let (body, (name, value)) = (encoded(&pairs), &browser.cookies[0]);
    let mut stream = TcpStream::connect(&site.local).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: {}\r\nOrigin: {}\r\nCookie: {name}={value}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        site.local,
        site.issuer(),
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

/// Reads until `text` arrives, and returns all text that was read.
fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let (mut read, mut bytes) = (String::new(), [0; 4096]);
    while !read.contains(text) {
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "the stream ended: {read}");
        read.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    read
}

/// Returns the names and data of all events of a stream.
fn events(mut stream: TcpStream) -> Vec<(String, serde_json::Value)> {
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("200 OK") && head.contains("text/event-stream"), "{head}");
    assert!(head.contains("no-store") && head.contains("nosniff"), "{head}");
    let event = |block: &str| {
        let (name, data) = block.strip_prefix("event: ")?.split_once("\ndata: ")?;
        Some((name.to_owned(), serde_json::from_str(data).unwrap()))
    };
    body.split("\n\n").filter_map(event).collect()
}

/// Waits until the last call in the ledger is closed.
fn wait_until_closed(site: &Site) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while ledger(&site.home).last().is_none_or(|line| line["step"] == "enter") {
        assert!(Instant::now() < deadline, "the call is still open");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_form_estimates_and_answers_with_citations() {
    let model = answering_model();
    let site = site(&model);
    fill(&site.home);
    let mut browser = site.open();
    let form = browser.send(&site.local, HttpRequest::get("/web/ask")).expect(200);
    assert_security_headers(&form);
    assert!(form.body.contains("name=\"budget\"") && form.body.contains("value=\"1.00\""));
    let fields = [("question", QUESTION), ("budget", "0.50"), ("action", "estimate")];
    let estimate = browser.change(&site, "/web/ask/answer", &fields).expect(200);
    assert_security_headers(&estimate);
    assert!(estimate.body.contains("<bdi>small</bdi> reads 2 pages"), "{}", estimate.body);
    assert!(estimate.body.contains("costs at most $0.0"), "{}", estimate.body);
    assert!(estimate.body.contains("The budget is $0.50."), "{}", estimate.body);
    assert_eq!((model.call_count(), ledger(&site.home).len()), (0, 0), "nothing is asked");

    let answer = browser.change(&site, "/web/ask/answer", &fields[..2]).expect(200);
    assert_security_headers(&answer);
    for shown in [
        "Ada &lt;script&gt;alert(1)&lt;/script&gt; did [<a href=\"/page/default:people/ada\"",
        "data-part=\"/web/part/default:people/ada\"",
        "Not known: </strong><bdi>in which year.</bdi>",
        "Written by <bdi>small</bdi>",
        "What was read (2)",
        QUESTION,
    ] {
        assert!(answer.body.contains(shown), "{shown}: {}", answer.body);
    }
    // The panel beside the answer loads a part of the page's screen.
    let part = browser.send(&site.local, HttpRequest::get("/web/part/default:people/ada"));
    let part = part.expect(200).body;
    assert!(part.contains("Ada wrote the first program") && !part.contains("<html"), "{part}");
    browser.send(&site.local, HttpRequest::get("/web/part/none")).expect(404);
    // The chart shows the costs of the day as a bar.
    let costs = browser.send(&site.local, HttpRequest::get("/web/costs")).expect(200);
    assert_security_headers(&costs);
    assert!(costs.body.contains("<rect class=\"bar0\""), "{}", costs.body);
    assert!(costs.body.contains("<bdi>ask</bdi> $0.0"), "{}", costs.body);
}

#[test]
fn a_streamed_answer_has_its_estimate_text_and_result() {
    let model = answering_model();
    let site = site(&model);
    fill(&site.home);
    let mut browser = site.open();
    let fields = [("question", QUESTION), ("budget", "0.50")];
    let events = events(send(&mut browser, &site, "/web/ask/stream", &fields));
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names.first(), names.last()), (Some(&"status"), Some(&"done")), "{names:?}");
    assert!(events[0].1.as_str().unwrap().contains("costs at most $"), "{events:?}");
    let text: String = events
        .iter()
        .filter(|(name, _)| name == "text")
        .map(|(_, data)| data.as_str().unwrap())
        .collect();
    assert!(
        text.starts_with("Ada <script>alert(1)</script> did ["),
        "the text of the stream is not plain: {text}"
    );
    let result = events.last().unwrap().1.as_str().unwrap();
    assert!(result.contains("did [<a href=\"/page/default:people/ada\""), "{result}");
    assert!(!result.contains("<script"), "{result}");
}

#[test]
fn a_question_over_its_budget_is_refused() {
    let model = answering_model();
    let site = site(&model);
    fill(&site.home);
    let mut browser = site.open();
    let fields = [("question", QUESTION), ("budget", "0.000001")];
    let refused = browser.change(&site, "/web/ask/answer", &fields).expect(400);
    assert_security_headers(&refused);
    assert!(refused.body.contains("not asked") && refused.body.contains("Raise the budget"));
    assert!(refused.body.contains("value=\"0.000001\""), "the form stays: {}", refused.body);
    let events = events(send(&mut browser, &site, "/web/ask/stream", &fields));
    assert!(events[0].1.as_str().unwrap().contains("That is not enough"), "{events:?}");
    assert!(events.last().unwrap().1.as_str().unwrap().contains("Raise the budget"));
    for (name, value) in [("budget", "much"), ("limit", "<b>"), ("question", " ")] {
        let fields: Vec<_> = [(name, value), ("question", QUESTION)].into_iter().collect();
        let bad = browser.change(&site, "/web/ask/answer", &fields).expect(400);
        assert!(bad.body.contains("role=\"alert\""), "{name}: {}", bad.body);
    }
    assert_eq!(model.call_count(), 0);
}

#[test]
fn without_a_model_passages_and_direct_answers_are_shown() {
    let site = Site::with(&[("BRAIN_EMBEDDING_PROVIDER", "none")]);
    fill(&site.home);
    let mut browser = site.open();
    let answer = browser.change(&site, "/web/ask/answer", &[("question", QUESTION)]).expect(200);
    assert_security_headers(&answer);
    assert!(answer.body.contains("Passages</h2>") && answer.body.contains("people/ada"));
    assert!(answer.body.contains("llm.provider"), "{}", answer.body);
    site.home.put("people/mia-brown", "---\ntitle: Mia Brown\n---\nPainter.\n");
    for day in ["2025-02-11", "2025-03-04"] {
        let text = "## Attendees\n\n- [[people/mia-brown]]\n\n## Notes\n\nPlans.\n";
        site.home.put(&format!("meetings/{day}-plan"), text);
    }
    let question = [("question", "how many meetings with Mia Brown?")];
    let direct = browser.change(&site, "/web/ask/answer", &question).expect(200).body;
    assert!(direct.contains("2 meetings:"), "{direct}");
    assert!(direct.contains("href=\"/page/default:meetings/2025-03-04-plan\""), "{direct}");
    let events = events(send(&mut browser, &site, "/web/ask/stream", &question));
    assert!(events[0].1.as_str().unwrap().contains("It costs nothing"), "{events:?}");
}

#[test]
fn a_browser_that_disconnects_stops_the_model() {
    let model = model(|_| ModelResponse::Stall("Ada did [1] and then".into()));
    let site = site(&model);
    fill(&site.home);
    let mut browser = site.open();
    let mut stream = send(&mut browser, &site, "/web/ask/stream", &[("question", QUESTION)]);
    read_until(&mut stream, "event: text");
    drop(stream);
    wait_until_closed(&site);
    // A browser that disconnects from a form without JavaScript stops the model, too.
    let lines = ledger(&site.home).len();
    let stream = send(&mut browser, &site, "/web/ask/answer", &[("question", QUESTION)]);
    let deadline = Instant::now() + TEST_TIMEOUT;
    while ledger(&site.home).len() == lines {
        assert!(Instant::now() < deadline, "the model is not asked");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(stream);
    wait_until_closed(&site);
    assert_eq!(model.call_count(), 2);
}

#[test]
fn ideas_are_estimated_run_and_saved() {
    let model = model(valid_response);
    let site = site(&model);
    ideas_fixture::fill(&site.home);
    let mut browser = site.open();
    let question = ("question", ideas_fixture::QUESTION);
    let fields = [question, ("close", "1"), ("far", "2"), ("action", "estimate")];
    let estimate = browser.change(&site, "/web/ideas/run", &fields).expect(200);
    assert_security_headers(&estimate);
    assert!(estimate.body.contains("make 2 crosses with 3 ideas each"), "{}", estimate.body);
    assert!(estimate.body.contains("data-stream=\"/web/ideas/stream\""), "{}", estimate.body);
    assert!(estimate.body.contains("Start (about $0.0"), "{}", estimate.body);
    assert_eq!(model.call_count(), 0, "nothing is asked");
    let fields = [question, ("close", "1"), ("far", "2"), ("action", "run"), ("limit", "200")];
    let events = events(send(&mut browser, &site, "/web/ideas/stream", &fields));
    assert!(events.iter().any(|(name, data)| name == "progress" && data[1] == 3), "{events:?}");
    let result = events.last().unwrap().1.as_str().unwrap().to_owned();
    assert!(result.contains("Saved as <a href=\"/page/ideas/20"), "{result}");
    assert!(result.contains("<strong>4.25</strong> of 5"), "{result}");
    assert!(result.contains("data-part=\"/web/part/default:speed/"), "{result}");
    // The stored run is shown again at no cost.
    let screen = browser.send(&site.local, HttpRequest::get("/web/ideas")).expect(200);
    assert_security_headers(&screen);
    let hidden = hidden_fields(&screen.body);
    let (_, run) = hidden.iter().find(|(name, _)| name == "resume").expect("no stored run");
    let calls = model.call_count();
    let resume_fields = [("resume", run.as_str()), ("profile", "brainstorm")];
    let screen_again = browser.change(&site, "/web/ideas/run", &resume_fields).expect(200);
    assert!(screen_again.body.contains("<strong>4.25</strong>"), "{}", screen_again.body);
    assert_eq!(model.call_count(), calls);
    let other = [("resume", run.as_str()), ("profile", "lsd")];
    browser.change(&site, "/web/ideas/run", &other).expect(400);
}

#[test]
fn without_a_model_the_prompts_are_a_download() {
    let site = Site::with(&[("BRAIN_EMBEDDING_PROVIDER", "none")]);
    ideas_fixture::fill(&site.home);
    let mut browser = site.open();
    let question = ("question", ideas_fixture::QUESTION);
    let fields = [question, ("profile", "lsd"), ("close", "1"), ("far", "2")];
    let estimate = browser.change(&site, "/web/ideas/run", &fields).expect(200).body;
    assert!(estimate.contains("Show the crosses"), "{estimate}");
    let fields: Vec<_> = fields.into_iter().chain([("action", "run")]).collect();
    let crosses = browser.change(&site, "/web/ideas/run", &fields).expect(200);
    assert_security_headers(&crosses);
    let (_, table) = crosses.body.split_once("aria-label=\"Crosses\"").expect("no table");
    assert_eq!(table.matches("<tr>").count(), 3, "{table}");
    let hidden = hidden_fields(&crosses.body);
    let (_, run) = hidden.iter().rfind(|(name, _)| name == "resume").unwrap();
    let fields = [("profile", "lsd"), ("resume", run.as_str())];
    let file = browser.change(&site, "/web/ideas/prompts", &fields).expect(200);
    let name = format!("attachment; filename=\"lsd-{run}.txt\"");
    assert_eq!(file.header("content-disposition"), Some(name.as_str()));
    assert_eq!(file.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(file.body.starts_with("Prompt 1 of 2: default:speed/"), "{}", file.body);
    let none = browser.change(&site, "/web/ideas/run", &[("question", "zymurgy")]);
    assert!(none.body.contains("role=\"alert\"") || none.body.contains("No pages"), "{none:?}");
}
