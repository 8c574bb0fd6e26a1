//! The owner's own voice agent behind `/voice`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use brain_tests::http::{Wire, request};
use brain_tests::telephony::{PUBLIC_URL, TOKEN, VoiceResponse, form_body, send, sign};
use brain_tests::{Daemon, TEST_TIMEOUT, TestHome};

use crate::voice_requests::home_with_phone;

const FORM: [(&str, &str); 2] = [("CallSid", "CA1"), ("From", "+18005550123")];

/// A fake voice agent that records its requests (head and body).
struct Agent {
    address: SocketAddr,
    requests: Receiver<String>,
}

impl Agent {
    /// Starts an agent. `answer` gets each connection and the request, and sends the response.
    fn new(answer: impl Fn(&mut TcpStream, &str) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (request_sender, requests): (Sender<String>, _) = channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
                let length = head.to_ascii_lowercase();
                let length = length.lines().find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.map_or(0, |n| n.parse().unwrap())];
                reader.read_exact(&mut body).unwrap();
                let text = head + std::str::from_utf8(&body).unwrap();
                answer(&mut stream, &text);
                let _ = request_sender.send(text);
            }
        });
        Self { address, requests }
    }

    /// Waits for the next request that is not yet returned.
    fn next_request(&self) -> String {
        self.requests.recv_timeout(TEST_TIMEOUT).unwrap()
    }
}

fn daemon_with_agent(agent: SocketAddr) -> (TestHome, Daemon, SocketAddr) {
    let mut home = home_with_phone();
    home.env.push(("BRAIN_VOICE_UPSTREAM".into(), format!("http://{agent}")));
    let daemon = home.daemon();
    let public = home.http_public();
    (home, daemon, public)
}

fn respond(stream: &mut TcpStream, status: &str, body: &str) {
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {}\r\nKeep-Alive: \
            timeout=9\r\nX-Agent: 1\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(text.as_bytes());
}

#[test]
fn a_signed_request_is_forwarded_to_the_agent() {
    let agent = Agent::new(|stream, _| respond(stream, "200 OK", "<Response><Hangup/></Response>"));
    let (home, _daemon, public) = daemon_with_agent(agent.address);
    let form = form_body(&FORM);
    for path in ["/voice", "/voice/some/where?x=%20y"] {
        let signature = sign(TOKEN, &format!("{PUBLIC_URL}{path}"), &FORM);
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-Twilio-Signature", &signature[..]),
            ("X-Forwarded-Host", "evil.example"),
            ("Authorization", "Bearer brain_pt_secret"),
            ("Connection", "X-Hop"),
            ("X-Hop", "1"),
        ];
        let answer =
            brain_tests::http::call(public, "POST", path, &headers, form.as_bytes()).expect(200);
        assert_eq!(answer.text(), "<Response><Hangup/></Response>");
        assert_eq!((answer.header("x-agent"), answer.header("keep-alive")), (Some("1"), None));
        let request = agent.next_request();
        let head = request.to_ascii_lowercase();
        assert!(
            request.starts_with(&format!("POST {path} HTTP/1.1\r\n")) && request.ends_with(&form),
            "{request}"
        );
        assert!(head.contains("x-forwarded-host: brain.example.org\r\n"), "{head}");
        assert!(head.contains("x-forwarded-proto: https\r\n"), "{head}");
        assert!(head.contains(&format!("host: {}\r\n", agent.address)), "{head}");
        assert!(
            request.contains(&signature)
                && !head.contains("evil.example")
                && !head.contains("x-hop"),
            "{head}"
        );
        assert!(!head.contains("brain_pt_secret"), "{head}");
    }
    let refused = brain_tests::telephony::post_signed(public, "/voice", &FORM, "AAAA").expect(403);
    assert_eq!(refused.error(), "invalid_signature");
    assert!(agent.requests.try_recv().is_err(), "unsigned requests are not forwarded");
    assert!(
        home.json(["list"])["pages"].as_array().unwrap().is_empty(),
        "the agent answers, not the brain"
    );
}

#[test]
fn a_caller_hears_no_error_message_of_the_agent() {
    let failing = Agent::new(|stream, _| {
        respond(stream, "500 Internal Server Error", "Traceback (most recent call last)");
    });
    let not_found_agent =
        Agent::new(|stream, _| respond(stream, "404 Not Found", "Cannot POST /voice"));
    let broken = Agent::new(|stream, _| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
    });
    let huge = Agent::new(|stream, _| respond(stream, "200 OK", &"x".repeat(5_000_000)));
    let closed_address = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    for address in
        [failing.address, not_found_agent.address, broken.address, huge.address, closed_address]
    {
        let (home, _daemon, public) = daemon_with_agent(address);
        let received = VoiceResponse::read(&send(public, "/voice", &FORM).expect(200));
        assert!(received.ends && received.text().contains("Sorry"), "{received:?}");
        assert!(home.log().contains("voice.upstream"), "{}", home.log());
    }
}

#[test]
fn a_silent_agent_is_disconnected_after_a_time_limit() {
    let (closing, closed) = channel();
    let agent = Agent::new(move |stream, _| {
        let _ = std::io::copy(stream, &mut std::io::sink());
        let _ = closing.send(());
    });
    let (home, _daemon, public) = daemon_with_agent(agent.address);
    let received = VoiceResponse::read(&send(public, "/voice", &FORM).expect(200));
    assert!(received.ends && received.text().contains("Sorry"), "{received:?}");
    assert!(home.log().contains("longer than 9 seconds"), "{}", home.log());
    closed.recv_timeout(TEST_TIMEOUT).unwrap();
}

#[test]
fn a_websocket_is_forwarded_byte_by_byte() {
    let agent = Agent::new(|stream, _| {
        let response = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: \
                     Upgrade\r\n\
                     Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        stream.write_all(response.as_bytes()).unwrap();
        let mut writer = stream.try_clone().unwrap();
        let mut reader = stream.try_clone().unwrap();
        std::thread::spawn(move || drop(std::io::copy(&mut reader, &mut writer)));
    });
    let (_home, daemon, public) = daemon_with_agent(agent.address);
    let path = "/voice/stream";
    let open = |signature: &str| {
        let headers = [
            ("Host", "brain.example.org"),
            ("Connection", "keep-alive, Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("X-Twilio-Signature", signature),
        ];
        let mut wire = Wire::open(public);
        wire.send(request(public, "GET", path, &headers, b""));
        wire
    };
    // The provider signs the URL with the scheme of WebSockets.
    let mut wire = open(&sign(TOKEN, &format!("wss://brain.example.org{path}"), &[])).stream;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        wire.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let lower = head.to_ascii_lowercase();
    assert!(
        lower.contains("upgrade: websocket") && lower.contains("connection: upgrade"),
        "{head}"
    );
    assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    let request = agent.next_request().to_ascii_lowercase();
    assert!(
        request.contains("upgrade: websocket")
            && request.contains("sec-websocket-key: dghlihnhbxbszsbub25jzq=="),
        "{request}"
    );
    for size in [1, 100_000] {
        let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let mut writer = wire.try_clone().unwrap();
        let sent = bytes.clone();
        let sending = std::thread::spawn(move || writer.write_all(&sent).unwrap());
        let mut echoed = vec![0; size];
        wire.read_exact(&mut echoed).unwrap();
        sending.join().unwrap();
        assert_eq!(echoed, bytes);
    }
    wire.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(wire.read(&mut byte).unwrap(), 0, "the connection ends if one side closes it");

    let refused =
        open(&sign(TOKEN, &format!("wss://evil.example{path}"), &[])).answer().expect(403);
    assert_eq!(refused.error(), "invalid_signature");

    // An open WebSocket does not keep the daemon from ending.
    let mut wire = open(&sign(TOKEN, &format!("{PUBLIC_URL}{path}"), &[])).stream;
    wire.read_exact(&mut byte).unwrap();
    let (status, _) = daemon.terminate();
    assert!(status.success(), "{status}");
    assert!(wire.read_to_end(&mut Vec::new()).is_ok());
}

#[test]
fn a_websocket_ends_when_the_agent_stops_sending() {
    let (closing, closed) = channel();
    let agent = Agent::new(move |stream, _| {
        let response = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: \
            Upgrade\r\n\r\nbye";
        stream.write_all(response.as_bytes()).unwrap();
        // The agent sends no more data and keeps reading.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reader = stream.try_clone().unwrap();
        let closing: Sender<()> = closing.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut reader, &mut std::io::sink());
            let _ = closing.send(());
        });
    });
    let (_home, _daemon, public) = daemon_with_agent(agent.address);
    let signature = sign(TOKEN, "wss://brain.example.org/voice/stream", &[]);
    let headers = [
        ("Host", "brain.example.org"),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("X-Twilio-Signature", &signature[..]),
    ];
    let mut wire = Wire::open(public);
    wire.send(request(public, "GET", "/voice/stream", &headers, b""));
    let mut received = Vec::new();
    wire.stream.read_to_end(&mut received).unwrap();
    assert!(received.ends_with(b"\r\n\r\nbye"), "data sent before the end arrives: {received:?}");
    // The agent's connection ends although the provider does not close its side.
    closed.recv_timeout(TEST_TIMEOUT).unwrap();
    drop(wire);
}

#[test]
fn the_agents_refusal_of_a_websocket_is_returned() {
    let agent = Agent::new(|stream, _| respond(stream, "404 Not Found", "no"));
    let (_home, _daemon, public) = daemon_with_agent(agent.address);
    let signature = sign(TOKEN, &format!("{PUBLIC_URL}/voice/stream"), &[]);
    let headers = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("X-Twilio-Signature", &signature[..]),
    ];
    let answer = brain_tests::http::call(public, "GET", "/voice/stream", &headers, b"");
    assert_eq!(answer.status, 404);
}
