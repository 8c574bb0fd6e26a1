//! Tests of the address rules and the limits, with a scripted resolver and servers on this machine.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Certificate;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::document::Rules;
use super::*;

/// A resolver that returns the next list of addresses for each lookup, and counts the lookups. It
/// repeats the last list.
pub(super) struct ScriptedResolver {
    addresses: Vec<Vec<IpAddr>>,
    pub(super) lookups: AtomicUsize,
}

impl Resolver for ScriptedResolver {
    fn addresses(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let nth = self.lookups.fetch_add(1, Ordering::SeqCst);
        let found = self.addresses.get(nth).or(self.addresses.last());
        found.cloned().ok_or_else(|| io::Error::other("no such name"))
    }
}

pub(super) fn scripted_resolver(lookups: &[&[&str]]) -> Arc<ScriptedResolver> {
    let addresses =
        lookups.iter().map(|texts| texts.iter().map(|t| t.parse().unwrap()).collect()).collect();
    Arc::new(ScriptedResolver { addresses, lookups: AtomicUsize::new(0) })
}

/// A server on this machine. It counts its connections and records the requests.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) connections: Arc<AtomicUsize>,
    pub(super) received: Arc<Mutex<String>>,
}

pub(super) fn server(serve: impl Fn(TcpStream, &Mutex<String>) + Send + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server {
        address: listener.local_addr().unwrap(),
        connections: Arc::default(),
        received: Arc::default(),
    };
    let (connections, received) = (Arc::clone(&server.connections), Arc::clone(&server.received));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            connections.fetch_add(1, Ordering::SeqCst);
            serve(stream, &received);
        }
    });
    server
}

/// Reads the head of a request; less if the connection ends earlier.
pub(super) fn head(stream: &mut impl Read) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        text.push(byte[0]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

pub(super) fn server_with_response(answer: &str) -> Server {
    let answer = answer.to_owned();
    server(move |mut stream, received| {
        *received.lock().unwrap() = head(&mut stream);
        let _ = stream.write_all(answer.as_bytes());
    })
}

fn json(body: &str, more_headers: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n\
         Content-Length: {length}\r\n{more_headers}\r\n{body}"
    )
}

/// The rules for documents, except that a server on this machine is permitted.
const LOOSE: Rules = Rules {
    schemes: &["http"],
    requires_public_name: false,
    is_allowed: |_| true,
    ..Rules::STRICT
};

fn client_with_loose_rules() -> Client {
    Client::with_documents(scripted_resolver(&[&["127.0.0.1"]]), Vec::new(), LOOSE)
}

fn read(server: &Server) -> Result<FetchedDocument, Error> {
    client_with_loose_rules()
        .document(&format!("http://app.example:{}/client.json", server.address.port()))
}

#[test]
fn a_host_with_a_private_address_is_refused() {
    for addresses in [
        &["127.0.0.1"][..],
        &["10.1.2.3"],
        &["169.254.169.254"],
        &["100.64.0.1"],
        &["192.168.1.1"],
        &["0.0.0.0"],
        &["224.0.0.1"],
        &["::1"],
        &["::"],
        &["::ffff:127.0.0.1"],
        &["fc00::1"],
        &["fe80::1"],
        &["ff02::1"],
        // One private address is enough: the system could connect to any of them.
        &["93.184.215.14", "127.0.0.1"],
        &["10.0.0.1", "93.184.215.14"],
        &["2606:4700::1111", "::1"],
    ] {
        let client =
            Client::with_documents(scripted_resolver(&[addresses]), Vec::new(), Rules::STRICT);
        let refused = client.document("https://app.example/client.json");
        assert_eq!(refused, Err(Error::NotPublic), "{addresses:?}");
    }
    let nameless = Client::with_documents(scripted_resolver(&[]), Vec::new(), Rules::STRICT);
    let refused = nameless.document("https://app.example/client.json");
    assert!(matches!(refused, Err(Error::NameNotFound(_))), "{refused:?}");
}

#[test]
fn a_refused_address_is_not_looked_up() {
    let resolver = scripted_resolver(&[&["127.0.0.1"]]);
    let client = Client::with_documents(resolver.clone(), Vec::new(), Rules::STRICT);
    for url in
        ["https://localhost/c", "https://127.0.0.1/c", "https://[::1]/c", "http://app.example/c"]
    {
        assert!(matches!(client.document(url), Err(Error::InvalidAddress(_))), "{url}");
    }
    assert_eq!(resolver.lookups.load(Ordering::SeqCst), 0);
}

#[test]
fn a_name_is_looked_up_once_for_a_request() {
    let server = server_with_response(&json("{}", ""));
    // A second lookup would return another address, as a hostile name server can.
    let resolver = scripted_resolver(&[&["127.0.0.1"], &["127.0.0.9"]]);
    let client = Client::with_documents(resolver.clone(), Vec::new(), LOOSE);
    let url = format!("http://rebound.example:{}/c", server.address.port());
    assert_eq!(client.document(&url).unwrap().body, b"{}");
    assert_eq!(resolver.lookups.load(Ordering::SeqCst), 1);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn only_a_small_json_document_is_returned() {
    let good = server_with_response(&json(
        "{\"a\":1}",
        "Cache-Control: max-age=60\r\nSet-Cookie: a=b\r\n",
    ));
    let document = read(&good).unwrap();
    assert_eq!(
        (document.body.as_slice(), document.max_age),
        (&b"{\"a\":1}"[..], Some(Duration::from_secs(60)))
    );
    let received = good.received.lock().unwrap().to_ascii_lowercase();
    assert!(received.starts_with("get /client.json http/1.1\r\n"), "{received}");
    assert!(
        received.contains("accept: application/json")
            && !received.contains("cookie")
            && !received.contains("referer")
    );

    let full = "x".repeat(64 * 1024);
    assert_eq!(read(&server_with_response(&json(&full, ""))).unwrap().body.len(), 64 * 1024);
    let large = json(&format!("{full}x"), "");
    assert_eq!(
        read(&server_with_response(&large)),
        Err(Error::TooLarge(64 * 1024)),
        "by its length"
    );
    let endless = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{full}{full}");
    assert_eq!(
        read(&server_with_response(&endless)),
        Err(Error::TooLarge(64 * 1024)),
        "without a length"
    );
    let html = json("{}", "").replace("application/json", "text/html");
    assert_eq!(read(&server_with_response(&html)), Err(Error::NotJson));
    assert_eq!(
        read(&server_with_response("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")),
        Err(Error::Status(404))
    );
    let broken = read(&server_with_response("SSH-2.0-OpenSSH_9.6\r\n"));
    assert!(matches!(broken, Err(Error::ConnectionBroken(_))), "{broken:?}");
}

#[test]
fn a_document_redirect_is_not_followed() {
    let inside = server_with_response(&json("{}", ""));
    for status in
        ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let location = format!("http://127.0.0.1:{}/c", inside.address.port());
        let text =
            format!("HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        let refused = read(&server_with_response(&text));
        assert!(matches!(refused, Err(Error::Status(301..=308))), "{refused:?}");
    }
    assert_eq!(inside.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn a_silent_server_times_out_after_five_seconds() {
    let open_streams: Mutex<Vec<TcpStream>> = Mutex::default();
    let silent = server(move |stream, _| open_streams.lock().unwrap().push(stream));
    // Single bytes do not extend the time limit.
    let trickle = server(|mut stream, _| {
        head(&mut stream);
        std::thread::spawn(move || {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
    });
    std::thread::scope(|scope| {
        let silent = scope.spawn(|| read(&silent));
        assert_eq!(read(&trickle), Err(Error::Timeout(5)));
        assert_eq!(silent.join().unwrap(), Err(Error::Timeout(5)));
    });
}

/// Returns a reason that lives as long as the tests.
fn test_reason() -> &'static Reason {
    Box::leak(Box::new(Reason::new("test")))
}

pub(super) fn call<'a>(url: &'a Url) -> HttpRequest<'a> {
    HttpRequest {
        url,
        body: None,
        headers: &[],
        authorization: None,
        must_be_public: false,
        reason: test_reason(),
        is_complete: |_| false,
    }
}

#[test]
fn a_configured_address_may_be_local_with_any_status() {
    let teapot = server_with_response(
        "HTTP/1.1 418 I'm a teapot\r\nX-Who: me\r\nContent-Length: 5\r\n\r\nshort",
    );
    let url = Url::parse(&format!("http://localhost:{}/mcp", teapot.address.port())).unwrap();
    let secret = Secret::new("Bearer brain_pt_hidden");
    let body = b"{}";
    let post = HttpRequest { body: Some(body), authorization: Some(&secret), ..call(&url) };
    let client =
        Client::with_documents(scripted_resolver(&[&["127.0.0.1"]]), Vec::new(), Rules::STRICT);
    let answer = client.call(&post).unwrap();
    assert_eq!(
        (answer.status, answer.header("x-who"), answer.body.as_slice()),
        (418, Some("me"), &b"short"[..])
    );
    assert_eq!(answer.server_address, Some(teapot.address));
    let received = teapot.received.lock().unwrap().to_ascii_lowercase();
    assert!(
        received.starts_with("post /mcp")
            && received.contains("authorization: bearer brain_pt_hidden"),
        "{received}"
    );
    assert!(!format!("{post:?}").contains("hidden"));

    // With `public`, as for an address that another server named, a local address is refused.
    let public_call = HttpRequest { must_be_public: true, ..call(&url) };
    assert!(matches!(client.call(&public_call), Err(Error::InvalidAddress(_))));
    let url = Url::parse("https://inside.example/token").unwrap();
    assert_eq!(
        client.call(&HttpRequest { must_be_public: true, ..call(&url) }),
        Err(Error::NotPublic)
    );
}

#[test]
fn a_response_is_read_until_it_is_complete() {
    let endless = server(|mut stream, _| {
        head(&mut stream);
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n");
        std::thread::spawn(move || stream.read(&mut [0; 64]));
    });
    let url = Url::parse(&format!("http://127.0.0.1:{}/", endless.address.port())).unwrap();
    let answer = client_with_loose_rules()
        .call(&HttpRequest { is_complete: |a| a.body.ends_with(b"\n\n"), ..call(&url) })
        .unwrap();
    assert_eq!(answer.body, b"data: {}\n\n");
}

/// A server that speaks TLS with this certificate.
pub(super) fn tls(certificate: &'static [u8], key: &'static [u8]) -> Server {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate)],
            PrivatePkcs8KeyDer::from(key).into(),
        )
        .unwrap();
    let config = Arc::new(config);
    server(move |stream, _| {
        let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        head(&mut stream);
        let _ = stream.write_all(json("{}", "").as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    })
}

#[test]
fn tls_failures_are_distinguished() {
    let good = || tls(include_bytes!("testdata/good.der"), include_bytes!("testdata/good.key.der"));
    let expired =
        tls(include_bytes!("testdata/expired.der"), include_bytes!("testdata/expired.key.der"));
    let root = || vec![Certificate::from_der(include_bytes!("testdata/root.der")).unwrap()];
    let read = |server: &Server, host: &str, roots: Vec<Certificate>| {
        let rules = Rules { schemes: &["https"], ..LOOSE };
        let client = Client::with_documents(scripted_resolver(&[&["127.0.0.1"]]), roots, rules);
        client.document(&format!("https://{host}:{}/c", server.address.port()))
    };
    assert_eq!(read(&good(), "app.example", root()).unwrap().body, b"{}");
    assert_eq!(read(&good(), "other.example", root()), Err(Error::Tls(TlsError::WrongName)));
    assert_eq!(read(&expired, "app.example", root()), Err(Error::Tls(TlsError::Expired)));
    let other = vec![Certificate::from_der(include_bytes!("testdata/expired.der")).unwrap()];
    assert_eq!(read(&good(), "app.example", other), Err(Error::Tls(TlsError::UnknownIssuer)));
    let plain = server(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        std::thread::spawn(move || stream.read(&mut [0; 1024]));
    });
    assert_eq!(read(&plain, "app.example", root()), Err(Error::Tls(TlsError::Absent)));
    let gone = server(|stream, _| drop(stream));
    assert_eq!(read(&gone, "app.example", root()), Err(Error::Tls(TlsError::Closed)));
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = Url::parse(&format!("http://127.0.0.1:{}/", unused.port())).unwrap();
    assert_eq!(client_with_loose_rules().call(&call(&url)), Err(Error::ConnectionRefused));
}
