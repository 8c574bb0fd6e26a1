//! A public address is proved and reported if it leads to the daemon's public listener, and refused
//! if it leads to another brain.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use brain_tests::TestHome;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde_json::json;

/// The remote end of a tunnel: accepts TLS at a loopback port and forwards requests to `target`.
fn remote_end(target: Arc<Mutex<SocketAddr>>) -> u16 {
    let fixture = |name: &str| {
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls").join(name)).unwrap()
    };
    let key = PrivatePkcs8KeyDer::from(fixture("localhost.key.der"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(fixture("localhost.der"))], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let target = *target.lock().unwrap();
            // A client that disconnects early is no error of the tunnel.
            let _ = forward(rustls::StreamOwned::new(connection, stream), target);
        }
    });
    port
}

/// Forwards one request without a body, and its response.
fn forward(
    mut remote: rustls::StreamOwned<rustls::ServerConnection, TcpStream>,
    target: SocketAddr,
) -> std::io::Result<()> {
    remote.sock.set_read_timeout(Some(brain_tests::TEST_TIMEOUT))?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        remote.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let mut local = TcpStream::connect(target)?;
    local.set_read_timeout(Some(brain_tests::TEST_TIMEOUT))?;
    local.write_all(&head[..head.len() - 2])?;
    local.write_all(b"Connection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    local.read_to_end(&mut answer)?;
    remote.write_all(&answer)?;
    remote.conn.send_close_notify();
    remote.flush()
}

/// Returns a home with a tunnel of Tailscale to the port `public`. A tailnet may have private
/// addresses. The fake agent prints the file `status.json` beside it.
fn home(public: u16) -> TestHome {
    let mut home = TestHome::new();
    let agent = home.outside().join("agent");
    let script = "#!/bin/sh\nif [ \"$2\" = status ]; then exec cat \"${0%/*}/status.json\"; \
        fi\nexec sleep 600\n";
    fs::write(&agent, script).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls/root.pem");
    let settings = [
        ("BRAIN_HTTP_PUBLIC", format!("127.0.0.1:{public}")),
        ("BRAIN_TUNNEL_PROVIDER", "tailscale".into()),
        ("BRAIN_TUNNEL_FORWARD", public.to_string()),
        ("BRAIN_TUNNEL_BINARY", agent.display().to_string()),
        // The test's certificate is the only trusted root.
        ("SSL_CERT_FILE", root.display().to_string()),
    ];
    home.env.extend(settings.map(|(name, value)| (name.to_owned(), value)));
    home
}

#[test]
fn an_address_that_leads_here_is_proved_and_reported() {
    let mut other = TestHome::new();
    other.env.push(("BRAIN_HTTP_PUBLIC".into(), "127.0.0.1:0".into()));
    let _other = other.daemon();
    let public = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ours = SocketAddr::from(([127, 0, 0, 1], public));
    let target = Arc::new(Mutex::new(other.http_public()));
    let address = format!("localhost:{}", remote_end(Arc::clone(&target)));
    let home = home(public);
    let url = format!("https://{address}");
    let site = json!({"Handlers": {"/": {"Proxy": format!("http://127.0.0.1:{public}")}}});
    let status = json!({"Web": {&address: site}, "AllowFunnel": {&address: true}});
    fs::write(home.outside().join("status.json"), status.to_string()).unwrap();
    let _daemon = home.daemon();
    let expected_line = format!("[watchdog] the public address is {url}");
    // Another brain answers at the address.
    let status = home.json(["tunnel", "start"]);
    assert_eq!(status["state"], "unreachable", "{status}");
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("does not prove that it leads to this brain"), "{status}");
    assert!(!home.log().contains(&expected_line), "{}", home.log());
    // This brain answers at the address.
    *target.lock().unwrap() = ours;
    let status = home.json(["tunnel", "start"]);
    assert_eq!(
        (status["state"].as_str(), status["url"].as_str(), status["adopted"].as_bool()),
        (Some("up"), Some(url.as_str()), Some(true)),
        "{status}"
    );
    assert_eq!(status["message"], format!("{url}/health answers"), "{status}");
    assert!(status["up_since"].is_string(), "{status}");
    assert_eq!(home.json(["tunnel", "url"])["url"], url);
    assert!(home.log().contains(&expected_line), "{}", home.log());
    assert_eq!(
        home.json(["tunnel", "requests"])["requests"],
        json!([]),
        "the proof's own request is not listed"
    );
    // The next check proves the address again.
    *target.lock().unwrap() = other.http_public();
    assert_eq!(home.json(["tunnel", "start"])["state"], "unreachable");
}
