//! An HTTP/1.1 client that sends exact bytes, and the request parser of the fake servers.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::TEST_TIMEOUT;

/// A request to a fake server.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The method.
    pub method: String,
    /// The path with its query, not decoded.
    pub path: String,
    /// The header fields by lower-case name. Of repeated fields, this has only the last.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// Reads a request. Returns `None` if the client disconnects before the end of the request.
    #[must_use]
    pub fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
        let mut parts = line.split(' ').map(str::to_owned);
        let (method, path) = (parts.next()?, parts.next()?);
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }

    /// Returns the value of a header field by its lower-case name, or an empty text if the field is
    /// missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a request is UTF-8")
    }
}

/// A response.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header fields with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the value of a header field by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("an answer is UTF-8")
    }

    /// Parses the body as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {self:?}"))
    }

    /// Returns the code of an error body, which must be JSON with a message.
    #[must_use]
    pub fn error(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        let body = self.json();
        assert!(body["message"].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        body["error"].as_str().unwrap_or_else(|| panic!("no code: {self:?}")).to_owned()
    }

    /// Asserts that the status is `status`.
    #[must_use]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?} {}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// A client's connection to an HTTP server.
pub struct Wire {
    /// The socket.
    pub stream: TcpStream,
    /// Received bytes that are not parsed yet.
    rest: Vec<u8>,
}

impl Wire {
    /// Connects to this address.
    #[must_use]
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server accepts no connection");
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, rest: Vec::new() }
    }

    /// Sends bytes. Returns whether the server still accepts them.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Closes the sending side.
    pub fn finish(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Reads the next final response, to a request with this method. Returns `None` if the server
    /// closes the connection without a response.
    pub fn answer_to(&mut self, method: &str) -> Option<Answer> {
        let head_end = loop {
            if let Some(at) = self.rest.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            if !self.read_more() {
                assert!(
                    self.rest.is_empty(),
                    "an incomplete answer: {:?}",
                    String::from_utf8_lossy(&self.rest)
                );
                return None;
            }
        };
        let head: Vec<u8> = self.rest.drain(..head_end + 4).collect();
        let head = String::from_utf8(head).expect("a head is text");
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(':').expect("a field"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut answer = Answer { status: status.parse().unwrap(), headers, body: Vec::new() };
        if answer.status == 100 {
            return self.answer_to(method);
        }
        if method == "HEAD" || answer.status == 204 {
            return Some(answer);
        }
        assert_eq!(
            answer.header("transfer-encoding"),
            None,
            "this client does not support chunked responses"
        );
        let length: usize = answer.header("content-length").expect("a length").parse().unwrap();
        while self.rest.len() < length {
            assert!(self.read_more(), "half a body: {answer:?}");
        }
        answer.body = self.rest.drain(..length).collect();
        Some(answer)
    }

    /// Reads the next final response to a request with a method other than `HEAD`.
    ///
    /// # Panics
    /// When the server closes the connection without a response.
    pub fn answer(&mut self) -> Answer {
        self.answer_to("").expect("no response")
    }

    /// Waits until the server asks for the body of a request with `Expect: 100-continue`. From then
    /// on, the request is in progress, and a handler waits for its body.
    ///
    /// # Panics
    /// When the server answers anything else.
    pub fn expect_continue(&mut self) {
        const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
        while self.rest.len() < CONTINUE.len() && self.read_more() {}
        let answer = String::from_utf8_lossy(&self.rest);
        assert!(self.rest.starts_with(CONTINUE), "the body is not read: {answer:?}");
        self.rest.drain(..CONTINUE.len());
    }

    /// Waits until the server closes the connection, and asserts that it sends nothing more.
    pub fn expect_closed(&mut self) {
        assert!(!self.read_more(), "unexpected bytes: {:?}", String::from_utf8_lossy(&self.rest));
    }

    /// Reads more bytes. Returns `false` if the server closed the connection.
    fn read_more(&mut self) -> bool {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.rest.extend_from_slice(&bytes[..count]);
                true
            }
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                false
            }
            Err(e) => panic!("no bytes arrived: {e}"),
        }
    }
}

/// Encodes a request. Adds `Host` and, if there is a body, `Content-Length`, unless `headers` has
/// them or `Transfer-Encoding`.
#[must_use]
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let has_field = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !has_field("host") {
        text += &format!("Host: {address}\r\n");
    }
    if !body.is_empty() && !has_field("content-length") && !has_field("transfer-encoding") {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let mut bytes = (text + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends one request on a new connection and returns the response.
#[must_use]
pub fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut wire = Wire::open(address);
    wire.send(request(address, method, path, headers, body));
    wire.answer_to(method).expect("no response")
}

/// Sends `GET` on a new connection.
#[must_use]
pub fn get(address: SocketAddr, path: &str) -> Answer {
    call(address, "GET", path, &[], b"")
}

/// Sends `POST /ingest` with plain text and this token on a new connection.
#[must_use]
pub fn ingest(address: SocketAddr, token: &str, text: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    call(
        address,
        "POST",
        "/ingest",
        &[("Authorization", &bearer), ("Content-Type", "text/plain")],
        text.as_bytes(),
    )
}
