//! Clients whose id is the URL of a metadata document: which URLs the daemon refuses to fetch.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::web::{Browser, HttpRequest, Site, authorize};

/// Starts a listener on this machine that counts its connections.
fn counting_listener(address: &str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(address).unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    std::thread::spawn(move || {
        for _stream in listener.incoming().map_while(Result::ok) {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, count)
}

#[test]
fn the_daemon_fetches_no_document_from_its_own_machine() {
    let site = Site::new();
    let (port, connection_count) = counting_listener("127.0.0.1:0");
    let (site_port, hosts) =
        (site.local.rsplit(':').next().unwrap().to_owned(), ["localhost", "127.0.0.1", "[::1]"]);
    let mut ids: Vec<String> = Vec::new();
    for scheme in ["https", "http"] {
        ids.extend(hosts.iter().map(|host| format!("{scheme}://{host}:{port}/client.json")));
        ids.extend(hosts.iter().map(|host| format!("{scheme}://{host}/client.json")));
    }
    ids.extend(
        [
            "https://2130706433/c",
            "https://0x7f.0.0.1/c",
            "https://[::ffff:127.0.0.1]/c",
            "https://169.254.169.254/latest/meta-data",
        ]
        .map(str::to_owned),
    );
    ids.push(format!("https://user@localhost:{port}/c"));
    ids.push(format!("http://127.0.0.1:{site_port}/health"));
    ids.push("https://localhost.localdomain/../c".into());
    for id in &ids {
        let request = HttpRequest::get(&authorize(id, &[]));
        let page = Browser::default().send(&site.public, request.clone()).expect(400);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(
            page.body.contains("an address that brain does not fetch")
                && page.body.contains("invalid_client"),
            "{id}: {}",
            page.body
        );
        assert!(page.header("location").is_none(), "{id}");
        site.local(&request.header("Accept", "application/json"))
            .expect_refusal(400, "invalid_client");
    }
    assert_eq!(
        connection_count.load(Ordering::SeqCst),
        0,
        "the daemon connected to a local address"
    );
    // Verify that the counter works.
    drop(std::net::TcpStream::connect(("127.0.0.1", port)).unwrap());
    for _ in 0..500 {
        if connection_count.load(Ordering::SeqCst) == 1 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("no connection was counted");
}

#[test]
fn an_unavailable_document_is_reported_on_a_page() {
    let site = Site::new();
    // A reserved name (RFC 6761) fails without a network.
    let request = HttpRequest::get(&authorize("https://app.invalid/client.json", &[]));
    let page = site.public(&request).expect(400);
    assert!(page.body.contains("its host has no public address"), "{}", page.body);
}

#[test]
fn mode_known_accepts_only_built_in_documents() {
    let site = Site::with(&[("BRAIN_HTTP_CLIENT_DOCUMENTS", "known")]);
    let server = site
        .public(&HttpRequest::get("/.well-known/oauth-authorization-server"))
        .expect(200)
        .json();
    assert_eq!(
        server["client_id_metadata_document_supported"], true,
        "the built-in documents still work"
    );
    let page = site
        .public(&HttpRequest::get(&authorize("https://app.example/client.json", &[])))
        .expect(400);
    assert!(page.body.contains("http.client_documents"), "{}", page.body);
    let callback = [("redirect_uri", "https://claude.ai/api/mcp/auth_callback")];
    let claude = authorize("https://claude.ai/oauth/mcp-oauth-client-metadata", &callback);
    let page = site.public(&HttpRequest::get(&claude)).expect(200);
    assert!(page.body.contains("<bdi>Claude</bdi> of <strong>claude.ai</strong>"), "{}", page.body);
}
