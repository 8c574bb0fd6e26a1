//! Tests of downloads, with servers on this machine.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::document::{Rules, check};
use super::request::Connector;
use super::tests::{Server, head, scripted_resolver, server, server_with_response};
use super::*;

/// The rules for files, except that HTTP and this machine are permitted.
const LOOSE: Rules = Rules {
    schemes: &["http"],
    requires_public_name: false,
    is_allowed: |ip| matches!(ip, IpAddr::V4(Ipv4Addr::LOCALHOST)),
    ..Rules::FILES
};

fn download_file(url: &str, to: &Path) -> Result<u64, DownloadError> {
    Client::with_files(scripted_resolver(&[&["127.0.0.1"]]), LOOSE).download(
        url,
        to,
        &mut |_, _| true,
    )
}

fn url_of(server: &Server) -> String {
    format!("http://files.example:{}/model.bin", server.address.port())
}

fn content() -> Vec<u8> {
    (0..300_000_u32).map(|n| (n % 251) as u8).collect()
}

fn target() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("model.bin.part");
    (dir, to)
}

/// A server with one file, which serves ranges. Tests can change the tag of the file. The first
/// response ends after `cut` bytes.
fn server_with_file(tag: &Arc<Mutex<String>>, cut: usize) -> Server {
    let (tag, connections) = (Arc::clone(tag), AtomicUsize::new(0));
    server(move |mut stream, received| {
        let request = head(&mut stream).to_ascii_lowercase();
        received.lock().unwrap().push_str(&request);
        let (tag, all) = (tag.lock().unwrap().clone(), content());
        let field = |name: &str| {
            request
                .lines()
                .find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
                .unwrap_or_default()
        };
        let from =
            field("range:").trim_start_matches("bytes=").trim_end_matches('-').parse::<usize>();
        let from = from.ok().filter(|_| field("if-range:") == tag);
        let status = match from {
            Some(from) => {
                format!(
                    "206 Partial Content\r\nContent-Range: bytes {from}-{}/{}",
                    all.len() - 1,
                    all.len()
                )
            }
            None => "200 OK".into(),
        };
        let body = &all[from.unwrap_or(0)..];
        let length = body.len();
        let body =
            if connections.fetch_add(1, Ordering::SeqCst) == 0 { &body[..cut] } else { body };
        let _ = stream.write_all(
            format!("HTTP/1.1 {status}\r\nETag: {tag}\r\nContent-Length: {length}\r\n\r\n")
                .as_bytes(),
        );
        let _ = stream.write_all(body);
    })
}

#[test]
fn an_interrupted_download_is_resumed() {
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (server, (_dir, to)) = (server_with_file(&tag, 100_000), target());
    let cut = download_file(&url_of(&server), &to);
    assert!(matches!(cut, Err(DownloadError::Request(Error::ConnectionBroken(_)))), "{cut:?}");
    let partial_len = std::fs::metadata(&to).unwrap().len();
    assert!(partial_len > 0 && partial_len <= 100_000, "{partial_len}");
    assert_eq!(download_file(&url_of(&server), &to).unwrap(), 300_000);
    assert_eq!(std::fs::read(&to).unwrap(), content());
    let received = server.received.lock().unwrap().clone();
    assert!(
        received.contains(&format!("range: bytes={partial_len}-"))
            && received.contains("if-range: \"one\""),
        "{received}"
    );
    assert!(
        !received.contains("authorization")
            && !received.contains("cookie")
            && !received.contains("referer")
    );
    // Only the file itself is left.
    assert_eq!(std::fs::read_dir(to.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_changed_file_is_downloaded_from_its_beginning() {
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (server, (_dir, to)) = (server_with_file(&tag, 100_000), target());
    assert!(download_file(&url_of(&server), &to).is_err());
    std::fs::write(&to, vec![7; 50_000]).unwrap();
    *tag.lock().unwrap() = "\"two\"".into();
    assert_eq!(download_file(&url_of(&server), &to).unwrap(), 300_000);
    assert_eq!(std::fs::read(&to).unwrap(), content());
}

#[test]
fn a_download_resumes_only_with_a_strong_tag_and_its_url() {
    for weak in ["W/\"one\"", "one"] {
        let tag = Arc::new(Mutex::new(weak.to_owned()));
        let (server, (_dir, to)) = (server_with_file(&tag, 100_000), target());
        assert!(download_file(&url_of(&server), &to).is_err());
        assert_eq!(download_file(&url_of(&server), &to).unwrap(), 300_000);
        assert!(!server.received.lock().unwrap().contains("range: bytes"), "{weak}");
    }
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (one, other) = (server_with_file(&tag, 100_000), server_with_file(&tag, 300_000));
    let (_dir, to) = target();
    assert!(download_file(&url_of(&one), &to).is_err());
    assert_eq!(download_file(&url_of(&other), &to).unwrap(), 300_000);
    assert!(!other.received.lock().unwrap().contains("range: bytes"));
}

#[test]
fn a_stopped_download_keeps_the_received_bytes() {
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (server, (_dir, to)) = (server_with_file(&tag, 300_000), target());
    let client = Client::with_files(scripted_resolver(&[&["127.0.0.1"]]), LOOSE);
    let mut progress = Vec::new();
    let stopped = client.download(&url_of(&server), &to, &mut |bytes, total| {
        progress.push((bytes, total));
        bytes < 10_000
    });
    assert!(matches!(stopped, Err(DownloadError::Stopped)), "{stopped:?}");
    assert_eq!(progress.last().unwrap().1, Some(300_000));
    assert!(std::fs::metadata(&to).unwrap().len() >= 10_000);
    assert_eq!(download_file(&url_of(&server), &to).unwrap(), 300_000);
    assert_eq!(std::fs::read(&to).unwrap(), content());
}

fn server_that_redirects(to: &str) -> Server {
    server_with_response(&format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
    ))
}

#[test]
fn redirects_are_limited_and_lead_to_public_hosts() {
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (server, (_dir, to)) = (server_with_file(&tag, 300_000), target());
    let redirecting =
        server_that_redirects(&url_of(&server).replace("files.example", "store.example"));
    assert_eq!(download_file(&url_of(&redirecting), &to).unwrap(), 300_000);

    // The second host is in a private network.
    let client = Client::with_files(scripted_resolver(&[&["127.0.0.1"], &["10.0.0.1"]]), LOOSE);
    let refused = client.download(&url_of(&redirecting), &to, &mut |_, _| true);
    assert!(matches!(refused, Err(DownloadError::Request(Error::NotPublic))), "{refused:?}");
    for private in [
        "http://localhost/x",
        "http://127.0.0.1/x",
        "file:///etc/passwd",
        "https://store.example/x",
    ] {
        let strict = Rules { requires_public_name: true, ..LOOSE };
        assert!(check(&strict, private).is_err(), "{private}");
    }
    let file = download_file(&url_of(&server_that_redirects("file:///etc/passwd")), &to);
    assert!(matches!(file, Err(DownloadError::Request(Error::InvalidAddress(_)))), "{file:?}");

    // An endless redirect.
    let looping = server_that_redirects_to_itself();
    let endless = download_file(&url_of(&looping), &to);
    assert!(matches!(endless, Err(DownloadError::Request(Error::Status(302)))), "{endless:?}");
    assert_eq!(looping.connections.load(Ordering::SeqCst), 6);
}

fn server_that_redirects_to_itself() -> Server {
    server(|mut stream, _| {
        head(&mut stream);
        let _ = stream
            .write_all(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
    })
}

#[test]
fn file_addresses_are_https_with_a_public_name() {
    for good in [
        "https://huggingface.co/a/b/resolve/main/model.safetensors",
        "https://store.example/x?X-Signature=1#part",
    ] {
        assert!(check(&Rules::FILES, good).is_ok(), "{good}");
    }
    for bad in [
        "http://store.example/x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://store.example:8443/x",
        "https://me:word@store.example/x",
        "https://nas.local/x",
    ] {
        assert!(check(&Rules::FILES, bad).is_err(), "{bad}");
    }
    let (_dir, to) = target();
    let client = Client::with_files(scripted_resolver(&[&["192.168.1.7"]]), Rules::FILES);
    let refused = client.download("https://store.example/x", &to, &mut |_, _| true);
    assert!(matches!(refused, Err(DownloadError::Request(Error::NotPublic))), "{refused:?}");
    assert!(!to.exists());
}

#[test]
fn unusable_responses_and_a_full_disk_are_errors() {
    let (_dir, to) = target();
    let connector = Connector::new(scripted_resolver(&[&["127.0.0.1"]]), Vec::new());
    let download_at_most = |server: &Server, max_bytes| {
        download::fetch(&connector, &LOOSE, &url_of(server), &to, max_bytes, &mut |_, _| true)
    };
    let sized = server_with_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde");
    assert_eq!(download_at_most(&sized, 5).unwrap(), 5);
    let large = download_at_most(&sized, 4);
    assert!(matches!(large, Err(DownloadError::Request(Error::TooLarge(4)))), "{large:?}");
    let without_length = server_with_response("HTTP/1.1 200 OK\r\n\r\nabcde");
    let large = download_at_most(&without_length, 4);
    assert!(matches!(large, Err(DownloadError::Request(Error::TooLarge(4)))), "{large:?}");
    let compressed = server_with_response(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde",
    );
    assert!(download_file(&url_of(&compressed), &to).is_err());
    let missing = download_file(
        &url_of(&server_with_response("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")),
        &to,
    );
    assert!(matches!(missing, Err(DownloadError::Request(Error::Status(404)))), "{missing:?}");
    match download_file(&url_of(&sized), Path::new("/dev/full")) {
        Err(DownloadError::Disk(e)) => assert_eq!(e.kind(), ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
}
