//! Tests of the log of outgoing requests: each request that a server received is recorded, with its
//! redirects and retries.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brain_base::outgoing::{OutgoingEnd, OutgoingLog, OutgoingRequest};
use brain_protocol::{LeftOutcome, Secret};
use url::Url;

use super::tests::{Server, call, head, server};
use super::*;

/// A recorded request: call, port, purpose, pages, and its end.
type Line = (Option<u64>, u16, String, Vec<u64>, Option<OutgoingEnd>);

/// A log in memory.
#[derive(Default)]
struct MemoryLog {
    lines: Mutex<Vec<Line>>,
    is_full: bool,
}

impl OutgoingLog for MemoryLog {
    fn begin(&self, request: &OutgoingRequest<'_>) -> std::io::Result<u64> {
        if self.is_full {
            return Err(std::io::Error::other("no space left"));
        }
        let mut lines = self.lines.lock().unwrap();
        let OutgoingRequest { call, port, purpose, pages, .. } = *request;
        lines.push((call, port, purpose.to_owned(), pages.to_vec(), None));
        Ok(lines.len() as u64)
    }

    fn end(&self, id: u64, end: OutgoingEnd) {
        self.lines.lock().unwrap()[id as usize - 1].4 = Some(end);
    }
}

fn base(server: &Server) -> Url {
    Url::parse(&format!("http://127.0.0.1:{}", server.address.port())).unwrap()
}

/// Reads a request with its body, and returns both.
fn whole_request(stream: &mut TcpStream) -> String {
    let mut text = head(stream);
    let length = text.to_ascii_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length: ").and_then(|length| length.trim().parse().ok())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    text.push_str(&String::from_utf8_lossy(&body));
    text
}

/// A server that answers the nth request with the nth status, and all later ones with the last one.
fn server_with_statuses(
    statuses: &'static [u16],
    location: Option<String>,
    received: Arc<Mutex<Vec<String>>>,
) -> Server {
    let count = AtomicUsize::new(0);
    server(move |mut stream, _| {
        let request = whole_request(&mut stream);
        received.lock().unwrap().push(request);
        let nth = count.fetch_add(1, Ordering::SeqCst);
        let status = statuses.get(nth).or(statuses.last()).copied().unwrap_or(200);
        let location =
            location.as_ref().map_or_else(String::new, |to| format!("Location: {to}\r\n"));
        let answer = format!(
            "HTTP/1.1 {status} x\r\n{location}Connection: close\r\nContent-Length: 2\r\n\r\nok"
        );
        let _ = stream.write_all(answer.as_bytes());
    })
}

fn ask(client: &dyn RetryingClient, request: &HttpRequest<'_>) -> Result<u16, Error> {
    client.stream(request, Duration::from_secs(20), &mut |_| true).map(|answer| answer.status)
}

#[test]
fn redirects_and_retries_are_lines_of_one_call() {
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let other = server_with_statuses(&[503, 503, 200], None, received.clone());
    let target = format!("http://127.0.0.1:{}/moved", other.address.port());
    let first = server_with_statuses(&[307], Some(target), received.clone());
    let (client, log) = (Client::new(), Arc::new(MemoryLog::default()));
    client.set_log(log.clone());
    let (url, base) = (base(&first), base(&first));
    let client = client.retrying_client(&base).unwrap();
    let (key, reason) = (Secret::new("Bearer hush"), Reason::with_pages("embedding", vec![3, 4]));
    let headers = [("content-type", "application/json"), ("x-api-key", "hush")];
    let request = HttpRequest {
        body: Some(b"four pages of text"),
        headers: &headers,
        authorization: Some(&key),
        reason: &reason,
        ..call(&url)
    };
    let statuses: Vec<u16> = (0..3).map(|_| ask(&*client, &request).unwrap()).collect();
    assert_eq!(statuses, [503, 503, 200]);

    let (received, lines) = (received.lock().unwrap(), log.lines.lock().unwrap());
    assert_eq!((received.len(), lines.len()), (4, 4), "{received:?}\n{lines:?}");
    for (nth, request) in received.iter().enumerate() {
        assert!(request.ends_with("\r\n\r\nfour pages of text"), "{request}");
        assert_eq!(request.contains("hush"), nth == 0, "no key for the other host: {request}");
    }
    let (first_port, other_port) = (first.address.port(), other.address.port());
    let expected = [(first_port, 307), (other_port, 503), (other_port, 503), (other_port, 200)];
    for (nth, ((call, port, purpose, pages, end), (expected_port, status))) in
        lines.iter().zip(expected).enumerate()
    {
        assert_eq!(
            (*port, purpose.as_str(), pages.as_slice()),
            (expected_port, "embedding", &[3, 4][..])
        );
        assert_eq!(*call, (nth > 0).then_some(1), "all have the id of the first one");
        let (outcome, status) = (LeftOutcome::Answered, Some(status));
        assert_eq!(*end, Some(OutgoingEnd { outcome, status, sent: 18, received: 2 }));
    }
}

#[test]
fn a_redirect_to_no_web_server_is_refused() {
    for target in ["ftp://127.0.0.1/x", "file:///etc/passwd"] {
        let received: Arc<Mutex<Vec<String>>> = Arc::default();
        let first = server_with_statuses(&[307], Some(target.into()), received.clone());
        let client = Client::new().retrying_client(&base(&first)).unwrap();
        let url = base(&first);
        let refused = ask(&*client, &HttpRequest { body: Some(b"x"), ..call(&url) });
        assert!(matches!(refused, Err(Error::InvalidAddress(_))), "{refused:?}");
        assert_eq!(received.lock().unwrap().len(), 1);
    }
}

#[test]
fn a_circle_of_redirects_ends() {
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let circle = server_with_statuses(&[308], Some("/again".into()), received.clone());
    let client = Client::new().retrying_client(&base(&circle)).unwrap();
    let url = base(&circle);
    assert_eq!(ask(&*client, &HttpRequest { body: Some(b"x"), ..call(&url) }), Ok(308));
    assert_eq!(received.lock().unwrap().len(), 4);
}

#[test]
fn a_request_that_is_not_sent_has_no_bytes() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (client, log) = (Client::new(), Arc::new(MemoryLog::default()));
    client.set_log(log.clone());
    let url = Url::parse(&format!("http://127.0.0.1:{}/", unused.port())).unwrap();
    let request = HttpRequest { body: Some(b"text"), ..call(&url) };
    assert_eq!(client.call(&request), Err(Error::ConnectionRefused));
    let cut = server(|mut stream, _| drop(head(&mut stream)));
    let url = base(&cut);
    assert!(client.call(&HttpRequest { body: Some(b"text"), ..call(&url) }).is_err());
    let lines = log.lines.lock().unwrap();
    assert_eq!(lines[0].4, Some(OutgoingEnd::NOT_SENT));
    let end = lines[1].4.unwrap();
    assert_eq!((end.outcome, end.sent, end.status), (LeftOutcome::Failed, 4, None));
}

#[test]
fn a_request_that_cannot_be_recorded_is_not_sent() {
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let server = server_with_statuses(&[200], None, received.clone());
    let client = Client::new();
    client.set_log(Arc::new(MemoryLog { is_full: true, ..MemoryLog::default() }));
    let url = base(&server);
    let refused = client.call(&HttpRequest { body: Some(b"text"), ..call(&url) });
    assert!(matches!(&refused, Err(Error::Setup(why)) if why.contains("recorded")), "{refused:?}");
    assert!(received.lock().unwrap().is_empty());
}
