//! `POST /ingest` of documents, where the owner accepts them: the file is kept, its text becomes
//! the page, and one that cannot be read is named.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use brain_tests::http::{Answer, call};
use brain_tests::{Daemon, TEST_TIMEOUT, TestHome};
use serde_json::{Value, json};

/// The smallest PNG: one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// A program for `.gif` files that writes what the first line says.
const PROCESSOR: &str = r##"#!/bin/sh
IFS= read -r task < "$1"
echo '{"type":"format","name":"x","title":"X"}'
case $task in
GIF89a*) printf '%s\n' '{"type":"page","from":"x","path":"x","markdown":"# Read by a program\n"}'
    echo '{"type":"lost","from":"x","reason":"its second frame"}' ;;
*) echo '{"type":"page","from":"x","path":"x","markdown":"a"}'
    echo '{"type":"page","from":"x","path":"y","markdown":"b"}' ;;
esac
echo '{"type":"end","pages":1}'
"##;

fn pdf() -> Vec<u8> {
    fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/import/pdf/typst.pdf")).unwrap()
}

struct Sender {
    home: TestHome,
    daemon: Daemon,
    token: String,
}

impl Sender {
    /// Starts a daemon with these lines in `[ingest]`, and a program for `.gif` files.
    fn new(ingest: &str) -> Self {
        let home = TestHome::new();
        let program = home.outside().join("processor");
        fs::write(&program, PROCESSOR).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let config = format!(
            "[ingest]\n{ingest}\n[import]\nprocessors = [\"gif: {}\"]\n[pages]\n\
             max_attachment_mb = 2\n",
            program.display()
        );
        fs::create_dir_all(home.path()).unwrap();
        fs::write(home.path().join("config.toml"), config).unwrap();
        let daemon = home.daemon();
        let token = home.token("sender", "read write", &[]);
        Self { home, daemon, token }
    }

    fn post(&self, kind: &str, fields: &[(&str, &str)], body: &[u8]) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("Authorization", &*bearer), ("Content-Type", kind)];
        all.extend(fields);
        call(self.home.http_local(), "POST", "/ingest", &all, body)
    }

    /// Waits until a job is done, and returns it.
    fn job(&self, accepted: &Value) -> Value {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let job = self.home.json(["jobs", "show", accepted["job_id"].as_str().unwrap()]);
            if matches!(job["status"].as_str(), Some("stored" | "failed")) {
                return job;
            }
            assert!(Instant::now() < deadline, "{job}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the number of kept files.
    fn kept(&self) -> usize {
        let root = self.home.path().join("attachments");
        let Ok(folders) = fs::read_dir(root) else { return 0 };
        folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
    }
}

#[test]
fn documents_are_refused_until_the_owner_accepts_them() {
    let sender = Sender::new("");
    for kind in ["application/pdf", "image/png"] {
        let refused = sender.post(kind, &[], &pdf()).expect(415).json();
        assert_eq!(refused["error"], "unsupported_content_type");
        let message = refused["message"].as_str().unwrap();
        for way in ["skill pack", "brain import", "config set ingest.documents true"] {
            assert!(message.contains(way), "{way}: {message}");
        }
    }
    assert_eq!(sender.kept(), 0);
}

#[test]
fn a_pdf_becomes_a_page_with_its_file() {
    let sender = Sender::new("documents = true");
    let fields = [("X-Brain-Slug", "papers/one"), ("X-Brain-Source-Uri", "https://example.org/1")];
    let accepted = sender.post("application/pdf", &fields, &pdf()).expect(202).json();
    assert_eq!(accepted["status"], "queued");
    let job = sender.job(&accepted);
    assert_eq!((&job["status"], &job["slug"]), (&json!("stored"), &json!("papers/one")), "{job}");
    let page = sender.home.get("papers/one");
    assert_eq!((&page["source_kind"], &page["trust"]), (&json!("webhook"), &json!("outside")));
    assert_eq!(page["source_uri"], "https://example.org/1");
    assert!(!page["frontmatter"].as_str().unwrap().contains("received"), "{page}");
    let files = sender.home.json(["attachments", "papers/one"]);
    assert_eq!(files["attachments"][0]["hash"], accepted["content_hash"], "{files}");
    assert_eq!(files["attachments"].as_array().unwrap().len(), 1, "{files}");

    let again = sender.post("application/pdf", &fields, &pdf()).expect(202).json();
    assert_eq!((&again["status"], &again["job_id"]), (&json!("duplicate"), &accepted["job_id"]));
    assert_eq!(sender.kept(), 1);
    // Without its page, the same document is new.
    sender.home.brain(["delete", "papers/one"]).expect(0);
    let new = sender.post("application/pdf", &fields, &pdf()).expect(202).json();
    assert_eq!(new["status"], "queued");
    assert_eq!(sender.job(&new)["status"], "stored");
    assert_eq!(
        sender.home.json(["attachments", "papers/one"])["attachments"][0]["hash"],
        accepted["content_hash"]
    );
}

#[test]
fn an_image_becomes_a_page_that_shows_it() {
    let sender = Sender::new("documents = true");
    let title = [("X-Brain-Title", "The pump / left")];
    let accepted = sender.post("image/png", &title, PNG).expect(202).json();
    let slug = sender.job(&accepted)["slug"].as_str().unwrap().to_owned();
    let page = sender.home.get(&slug);
    assert_eq!(page["title"], "The pump / left");
    assert_eq!(page["body"], "![[The pump - left.png]]\n");
    let to = sender.home.outside().join("copy.png");
    let arguments = ["attachments", &slug, "--get", "The pump - left.png", "--to"];
    sender.home.brain(arguments.into_iter().chain([to.to_str().unwrap()])).expect(0);
    assert_eq!(fs::read(to).unwrap(), PNG);
}

#[test]
fn a_program_of_the_owner_reads_images() {
    let sender = Sender::new("documents = true");
    let accepted = sender.post("image/gif", &[], b"GIF89a\n").expect(202).json();
    let job = sender.job(&accepted);
    let page = sender.home.get(job["slug"].as_str().unwrap());
    assert_eq!(page["title"], "Read by a program", "{page}");
    assert_eq!(job["error"]["message"], "not in the page: its second frame", "{job}");
    let files = sender.home.json(["attachments", job["slug"].as_str().unwrap()]);
    assert_eq!(files["attachments"][0]["hash"], accepted["content_hash"], "{files}");
}

#[test]
fn a_document_that_cannot_be_read_is_named_and_kept() {
    let sender = Sender::new("documents = true");
    let named = [("X-Brain-Title", "Minutes")];
    for (kind, body, reason) in [
        ("application/pdf", &b"%PDF-1.7 no more"[..], "Minutes.pdf"),
        ("application/pdf", b"not a PDF file", "not what its type application/pdf says"),
        ("image/gif", b"two\n", "it becomes several pages"),
    ] {
        let accepted = sender.post(kind, &named, body).expect(202).json();
        let job = sender.job(&accepted);
        let message = job["error"]["message"].as_str().unwrap_or_default();
        assert_eq!((&job["status"], &job["attempts"]), (&json!("failed"), &json!(1)), "{job}");
        assert!(message.contains(reason), "{reason}: {job}");
    }
    assert_eq!(sender.kept(), 3);
    assert_eq!(sender.post("application/pdf", &[], b"").expect(400).json()["error"], "empty_body");
    let large = vec![b'x'; 2_000_001];
    assert_eq!(
        sender.post("application/pdf", &[], &large).expect(413).json()["error"],
        "too_large"
    );
    assert_eq!(sender.home.json(["list"])["pages"], json!([]));
}

#[test]
fn a_kill_does_not_lose_a_document() {
    let sender = Sender::new("documents = true");
    let accepted = sender.post("application/pdf", &[], &pdf()).expect(202).json();
    let Sender { home, daemon, token } = sender;
    daemon.kill();
    let sender = Sender { daemon: home.daemon(), home, token };
    let job = sender.job(&accepted);
    assert_eq!(job["status"], "stored", "{job}");
    assert_eq!(sender.home.json(["list"])["pages"].as_array().unwrap().len(), 1);
    assert!(!sender.home.path().join("run/document").exists());
}
