//! Files of other formats: calendars, mail and exports of notes are refused by name; HTML is
//! converted; an import names what it leaves out.

use std::fs;
use std::path::{Path, PathBuf};

use brain_tests::http::{Answer, call};
use brain_tests::{TestHome, texts};

const CALENDAR: &str = "BEGIN:VCALENDAR\r\nSUMMARY:wombat\r\nEND:VCALENDAR\r\n";
const WIKI: &str = "<!doctype html>\n<html><head><meta name=\"application-name\" \
    content=\"TiddlyWiki\" /></head><body>wombat</body></html>";
const PAGE: &str = "<!doctype html><html><head><title>A page</title></head><body>\
    <p>10<sup>3</sup> wombats, <a href=\"https://example.org/a\"></a>.</p></body></html>";

/// Writes a file outside of the home. Returns its path.
fn file(home: &TestHome, path: &str, content: &str) -> PathBuf {
    let file_path = home.outside().join(path);
    fs::create_dir_all(file_path.parent().unwrap()).unwrap();
    fs::write(&file_path, content).unwrap();
    file_path
}

fn ingest(home: &TestHome, token: &str, media_type: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let fields = [("Authorization", &*bearer), ("Content-Type", media_type)];
    call(home.http_local(), "POST", "/ingest", &fields, body.as_bytes())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn other_formats_are_refused_by_name_at_each_door() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("sender", "read write", &[]);
    let mail = "From: a@b.c\nMessage-ID: <1>\nSubject: wombat\n\nHello\n";
    for (name, content, format) in [
        ("a.ics", CALENDAR, "a calendar (iCalendar)"),
        ("a.vcf", "BEGIN:VCARD\nFN:wombat\nEND:VCARD\n", "a list of contacts (vCard)"),
        ("a.eml", mail, "a mail message"),
        ("a.mbox", "wombat\n", "a mailbox (mbox)"),
        ("a.enex", "<en-export>wombat</en-export>\n", "an export of Evernote (ENEX)"),
        ("a.tid", "title: wombat\n\ntext\n", "a note of TiddlyWiki (.tid)"),
        ("wiki.html", WIKI, "a TiddlyWiki in one HTML page"),
        ("export", CALENDAR, "a calendar (iCalendar)"),
    ] {
        let path = file(&home, name, content);
        for command in
            [&["capture", "--file", text(&path)][..], &["put", "a", "--file", text(&path)]]
        {
            let refused = home.brain(command).expect(1);
            assert!(refused.stderr.contains(name), "{name}: {refused:?}");
            assert!(refused.stderr.contains(format), "{name}: {refused:?}");
        }
    }
    for (media_type, body, format) in [
        ("text/calendar", CALENDAR, "iCalendar"),
        ("text/plain", CALENDAR, "iCalendar"),
        ("text/vcard", "x", "vCard"),
        ("message/rfc822", mail, "a mail message"),
        ("text/plain", mail, "a mail message"),
        ("text/html", WIKI, "TiddlyWiki"),
    ] {
        let refused = ingest(&home, &token, media_type, body).expect(415);
        assert_eq!(refused.error(), "unsupported_content_type");
        assert!(refused.text().contains(format), "{}", refused.text());
    }
    assert_eq!(home.status().pages + home.status().jobs.waiting, 0);
    // The name of a markdown file tells enough, and typed text is text.
    home.brain(["capture", "--file", text(&file(&home, "notes.md", CALENDAR))]).expect(0);
    home.brain(["capture", mail]).expect(0);
    assert_eq!(home.search("wombat").len(), 2);
}

#[test]
fn a_captured_html_file_becomes_what_ingest_makes_of_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("sender", "read write", &[]);
    let path = file(&home, "page.html", PAGE);
    home.brain(["capture", "--slug", "captured", "--file", text(&path)]).expect(0);
    home.brain(["put", "put", "--file", text(&path)]).expect(0);
    let page = home.get("captured");
    assert_eq!(page["title"], "A page");
    assert_eq!(page["body"], "10³ wombats, [https://example.org/a](https://example.org/a).");
    assert_eq!(home.get("put")["body"], page["body"]);
    let job = ingest(&home, &token, "text/html", PAGE).expect(202).json();
    assert_eq!(job["content_hash"], page["content_hash"], "{job}");
    let empty = file(&home, "empty.html", "<html><script>x</script></html>");
    let refused = home.brain(["capture", "--file", text(&empty)]).expect(2);
    assert!(refused.stderr.contains("empty.html has no text"), "{refused:?}");
}

#[test]
fn an_import_names_each_file_that_it_leaves_out() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (path, content) in [
        ("vault/a.md", "a\n"),
        ("vault/.gitignore", "private.md\n"),
        ("vault/private.md", "b\n"),
        ("vault/deep/meeting.ics", CALENDAR),
        ("vault/wiki.html", WIKI),
        ("vault/page.html", PAGE),
        ("vault/scan.pdf", "x"),
    ] {
        file(&home, path, content);
    }
    for n in 0..30 {
        file(&home, &format!("vault/pictures/{n}.png"), "x");
    }
    let dir = home.outside().join("vault");
    std::os::unix::fs::symlink("a.md", dir.join("link.md")).unwrap();
    let reply = home.json(["import", text(&dir)]);
    let left_out = &reply["not_imported"];
    let reasons: Vec<(String, String)> =
        texts(left_out, "path").into_iter().zip(texts(left_out, "reason")).collect();
    let plain = home.brain(["import", text(&dir)]).expect(0).stdout;
    for (path, part) in [
        ("scan.pdf", "neither markdown nor a document"),
        ("link.md", "symbolic link"),
        ("pictures/29.png", "neither markdown nor a document"),
    ] {
        let reason = reasons.iter().find(|(named, _)| named == path).map(|it| it.1.as_str());
        assert!(reason.is_some_and(|reason| reason.contains(part)), "{path}: {reasons:?}");
        assert!(plain.contains(&format!("left out: {path}: ")), "{path}: {plain}");
    }
    assert_eq!(reasons.len(), 33, "{reasons:?}");
    assert_eq!(texts_of(&reply["left_out"]["paths"]), ["private.md"]);
    assert!(plain.contains("left out: private.md: excluded by rules"), "{plain}");
}

fn texts_of(list: &serde_json::Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn malformed_frontmatter_is_refused_at_each_door() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("sender", "read write", &[]);
    let note = "---\ntitle: Meeting: plans\n---\nwombat\n";
    let path = file(&home, "vault/note.md", note);
    let dir = home.outside().join("vault");
    for output in [
        home.brain(["capture", "--file", text(&path)]).expect(1).stderr,
        home.brain(["put", "a", "--file", text(&path)]).expect(1).stderr,
        home.brain(["import", text(&dir)]).expect(1).stderr,
        ingest(&home, &token, "text/markdown", note).expect(400).text().to_owned(),
    ] {
        assert!(output.contains("frontmatter, line 2, column 15"), "{output}");
    }
    let refused = ingest(&home, &token, "text/markdown", note).expect(400);
    assert_eq!(refused.error(), "invalid_frontmatter");
    assert_eq!(home.status().pages + home.status().jobs.waiting, 0);
}
