//! Files that come over the network, with servers on this machine.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::document::{Rules, check};
use super::request::Connector;
use super::tests::{Server, answering, head, server, told};
use super::*;

/// Everything as in force, but over HTTP and from this machine.
const LOOSE: Rules = Rules {
    schemes: &["http"],
    requires_public_name: false,
    is_allowed: |ip| matches!(ip, IpAddr::V4(Ipv4Addr::LOCALHOST)),
    ..Rules::FILES
};

fn bring(url: &str, to: &Path) -> Result<u64, DownloadError> {
    Client::with_files(told(&[&["127.0.0.1"]]), LOOSE).download(url, to, &mut |_, _| true)
}

fn at(server: &Server) -> String {
    format!("http://files.example:{}/model.bin", server.address.port())
}

fn content() -> Vec<u8> {
    (0..300_000_u32).map(|n| (n % 251) as u8).collect()
}

fn home() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("model.bin.part");
    (dir, to)
}

/// Has a file under a tag that can be changed, in parts too; the first answer ends after `cut`
/// bytes.
fn keeping(tag: &Arc<Mutex<String>>, cut: usize) -> Server {
    let (tag, turn) = (Arc::clone(tag), AtomicUsize::new(0));
    server(move |mut stream, heard| {
        let asked = head(&mut stream).to_ascii_lowercase();
        heard.lock().unwrap().push_str(&asked);
        let (tag, all) = (tag.lock().unwrap().clone(), content());
        let field = |name: &str| {
            asked
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
        let body = if turn.fetch_add(1, Ordering::SeqCst) == 0 { &body[..cut] } else { body };
        let _ = stream.write_all(
            format!("HTTP/1.1 {status}\r\nETag: {tag}\r\nContent-Length: {length}\r\n\r\n")
                .as_bytes(),
        );
        let _ = stream.write_all(body);
    })
}

#[test]
fn what_was_cut_is_gone_on_with() {
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (server, (_dir, to)) = (keeping(&tag, 100_000), home());
    let cut = bring(&at(&server), &to);
    assert!(matches!(cut, Err(DownloadError::Request(Error::ConnectionBroken(_)))), "{cut:?}");
    let there = std::fs::metadata(&to).unwrap().len();
    assert!(there > 0 && there <= 100_000, "{there}");
    assert_eq!(bring(&at(&server), &to).unwrap(), 300_000);
    assert_eq!(std::fs::read(&to).unwrap(), content());
    let heard = server.heard.lock().unwrap().clone();
    assert!(
        heard.contains(&format!("range: bytes={there}-")) && heard.contains("if-range: \"one\""),
        "{heard}"
    );
    assert!(
        !heard.contains("authorization") && !heard.contains("cookie") && !heard.contains("referer")
    );
    // Nothing but the file is left.
    assert_eq!(std::fs::read_dir(to.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn what_has_changed_meanwhile_begins_anew() {
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (server, (_dir, to)) = (keeping(&tag, 100_000), home());
    assert!(bring(&at(&server), &to).is_err());
    std::fs::write(&to, vec![7; 50_000]).unwrap();
    *tag.lock().unwrap() = "\"two\"".into();
    assert_eq!(bring(&at(&server), &to).unwrap(), 300_000);
    assert_eq!(std::fs::read(&to).unwrap(), content());
}

#[test]
fn without_a_tag_or_from_elsewhere_nothing_is_gone_on_with() {
    for weak in ["W/\"one\"", "one"] {
        let tag = Arc::new(Mutex::new(weak.to_owned()));
        let (server, (_dir, to)) = (keeping(&tag, 100_000), home());
        assert!(bring(&at(&server), &to).is_err());
        assert_eq!(bring(&at(&server), &to).unwrap(), 300_000);
        assert!(!server.heard.lock().unwrap().contains("range: bytes"), "{weak}");
    }
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (one, other) = (keeping(&tag, 100_000), keeping(&tag, 300_000));
    let (_dir, to) = home();
    assert!(bring(&at(&one), &to).is_err());
    assert_eq!(bring(&at(&other), &to).unwrap(), 300_000);
    assert!(!other.heard.lock().unwrap().contains("range: bytes"));
}

#[test]
fn whoever_stops_it_keeps_what_has_come() {
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (server, (_dir, to)) = (keeping(&tag, 300_000), home());
    let client = Client::with_files(told(&[&["127.0.0.1"]]), LOOSE);
    let mut seen = Vec::new();
    let stopped = client.download(&at(&server), &to, &mut |bytes, total| {
        seen.push((bytes, total));
        bytes < 10_000
    });
    assert!(matches!(stopped, Err(DownloadError::Stopped)), "{stopped:?}");
    assert_eq!(seen.last().unwrap().1, Some(300_000));
    assert!(std::fs::metadata(&to).unwrap().len() >= 10_000);
    assert_eq!(bring(&at(&server), &to).unwrap(), 300_000);
    assert_eq!(std::fs::read(&to).unwrap(), content());
}

fn moved(to: &str) -> Server {
    answering(&format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"))
}

#[test]
fn a_redirect_leads_to_public_places_only_and_not_for_ever() {
    let tag = Arc::new(Mutex::new("\"one\"".to_owned()));
    let (server, (_dir, to)) = (keeping(&tag, 300_000), home());
    let leading = moved(&at(&server).replace("files.example", "store.example"));
    assert_eq!(bring(&at(&leading), &to).unwrap(), 300_000);

    // The second host is inside.
    let client = Client::with_files(told(&[&["127.0.0.1"], &["10.0.0.1"]]), LOOSE);
    let refused = client.download(&at(&leading), &to, &mut |_, _| true);
    assert!(matches!(refused, Err(DownloadError::Request(Error::NotPublic))), "{refused:?}");
    for inside in [
        "http://localhost/x",
        "http://127.0.0.1/x",
        "file:///etc/passwd",
        "https://store.example/x",
    ] {
        let strict = Rules { requires_public_name: true, ..LOOSE };
        assert!(check(&strict, inside).is_err(), "{inside}");
    }
    let file = bring(&at(&moved("file:///etc/passwd")), &to);
    assert!(matches!(file, Err(DownloadError::Request(Error::InvalidAddress(_)))), "{file:?}");

    // To itself, again and again.
    let round = server_that_leads_to_itself();
    let endless = bring(&at(&round), &to);
    assert!(matches!(endless, Err(DownloadError::Request(Error::Status(302)))), "{endless:?}");
    assert_eq!(round.connections.load(Ordering::SeqCst), 6);
}

fn server_that_leads_to_itself() -> Server {
    server(|mut stream, _| {
        head(&mut stream);
        let _ = stream
            .write_all(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
    })
}

#[test]
fn the_rules_in_force_are_https_at_public_names() {
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
    let (_dir, to) = home();
    let client = Client::with_files(told(&[&["192.168.1.7"]]), Rules::FILES);
    let refused = client.download("https://store.example/x", &to, &mut |_, _| true);
    assert!(matches!(refused, Err(DownloadError::Request(Error::NotPublic))), "{refused:?}");
    assert!(!to.exists());
}

#[test]
fn too_large_refused_compressed_and_a_full_disk() {
    let (_dir, to) = home();
    let connector = Connector { resolver: told(&[&["127.0.0.1"]]), roots: Vec::new() };
    let bring_at_most = |server: &Server, most| {
        download::fetch(&connector, &LOOSE, &at(server), &to, most, &mut |_, _| true)
    };
    let sized = answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde");
    assert_eq!(bring_at_most(&sized, 5).unwrap(), 5);
    let large = bring_at_most(&sized, 4);
    assert!(matches!(large, Err(DownloadError::Request(Error::TooLarge(4)))), "{large:?}");
    let unsized_ = answering("HTTP/1.1 200 OK\r\n\r\nabcde");
    let large = bring_at_most(&unsized_, 4);
    assert!(matches!(large, Err(DownloadError::Request(Error::TooLarge(4)))), "{large:?}");
    let packed =
        answering("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde");
    assert!(bring(&at(&packed), &to).is_err());
    let missing =
        bring(&at(&answering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")), &to);
    assert!(matches!(missing, Err(DownloadError::Request(Error::Status(404)))), "{missing:?}");
    match bring(&at(&sized), Path::new("/dev/full")) {
        Err(DownloadError::Disk(e)) => assert_eq!(e.kind(), ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
}
