//! Import from the browser: a file is uploaded, looked at, imported, reported and taken back.

use crate::page_view::assert_security_headers;
use crate::web::{Browser, HttpRequest, HttpResponse, Site, hidden_fields};

const ENEX: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <!DOCTYPE en-export SYSTEM \"http://xml.evernote.com/pub/evernote-export4.dtd\">\n\
    <en-export application=\"Evernote\" version=\"10\"><note><title>Otters &lt;b&gt;</title>\
    <content><![CDATA[<?xml version=\"1.0\"?><en-note><div>They float</div></en-note>]]></content>\
    <created>20260301T101500Z</created></note></en-export>\n";

/// Returns the value of a hidden field of the forms on a screen.
fn hidden(screen: &HttpResponse, name: &str) -> String {
    let fields = hidden_fields(&screen.body);
    let field = fields.into_iter().find(|(known, _)| known == name);
    field.unwrap_or_else(|| panic!("no {name}: {}", screen.body)).1
}

/// Returns a form with a file, as the screen or its script sends it.
fn upload(site: &Site, fields: &[(&str, &str)], name: &str, text: &str) -> HttpRequest {
    let mut body = String::new();
    for (field, value) in fields {
        body +=
            &format!("--X\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n");
    }
    body += &format!(
        "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n{text}\r\n--X--\r\n"
    );
    HttpRequest::new("POST", "/web/import/upload")
        .header("Content-Type", "multipart/form-data; boundary=X")
        .header("Origin", &site.issuer())
        .header("Sec-Fetch-Site", "same-origin")
        .body(&body)
}

/// Sends a form of a screen of brain.
fn post(browser: &mut Browser, site: &Site, path: &str, fields: &[(&str, &str)]) -> HttpResponse {
    let form = HttpRequest::form(path, fields)
        .header("Origin", &site.issuer())
        .header("Sec-Fetch-Site", "same-origin");
    browser.send(&site.local, form)
}

fn waiting(site: &Site) -> usize {
    let dir = std::fs::read_dir(site.home.path().join("run/uploads"));
    dir.map_or(0, Iterator::count)
}

#[test]
fn a_file_is_looked_at_imported_and_taken_back() {
    let site = Site::new();
    let mut browser = site.open();
    let start = browser.send(&site.local, HttpRequest::get("/web/import")).expect(200);
    assert_security_headers(&start);
    let csrf = hidden(&start, "csrf");
    let sent = browser.send(&site.local, upload(&site, &[("csrf", &csrf)], "Recipes.enex", ENEX));
    let preview_path = sent.expect(303).header("location").unwrap().to_owned();

    let preview = browser.send(&site.local, HttpRequest::get(&preview_path)).expect(200);
    assert_security_headers(&preview);
    assert!(preview.body.contains("Recipes.enex"), "{}", preview.body);
    assert!(preview.body.contains("Evernote") && preview.body.contains("1 page: new"));
    assert!(site.home.json(["list"])["pages"].as_array().unwrap().is_empty());

    let file = hidden(&preview, "upload");
    let fields = [("csrf", csrf.as_str()), ("upload", &file), ("source", "default")];
    let done = post(&mut browser, &site, "/web/import/run", &fields).expect(303);
    let report_path = done.header("location").unwrap().to_owned();
    assert_eq!(waiting(&site), 0);
    let report = browser.send(&site.local, HttpRequest::get(&report_path)).expect(200);
    assert!(report.body.contains("1 page: new") && report.body.contains("/?source=default"));
    let pages = site.home.json(["list"])["pages"].clone();
    let slug = pages[0]["slug"].as_str().unwrap();
    let page = site.home.get(slug);
    assert_eq!(page["title"], "Otters <b>");
    // The place of the upload says nothing.
    let uri = page["source_uri"].as_str().unwrap();
    assert!(uri.starts_with("upload:Recipes.enex"), "{uri}");
    assert_eq!(site.home.json(["import", "--report"])["imports"][0]["path"], "Recipes.enex");

    let id = hidden(&report, "id");
    let back = post(&mut browser, &site, "/web/import/undo", &[("csrf", &csrf), ("id", &id)]);
    let back = back.expect(200).body.clone();
    assert!(back.contains("taken back. As before: 1 page"), "{back}");
    assert!(site.home.json(["list"])["pages"].as_array().unwrap().is_empty());
    let list = browser.send(&site.local, HttpRequest::get("/web/import")).expect(200);
    assert!(list.body.contains("taken back"), "{}", list.body);
}

#[test]
fn a_script_sends_a_file_in_parts() {
    let site = Site::new();
    let mut browser = site.open();
    let csrf = hidden(&browser.send(&site.local, HttpRequest::get("/web/import")), "csrf");
    let (first, second) = ENEX.split_at(ENEX.len() / 2);
    let mut send = |upload_id: &str, offset: usize, text: &str| {
        let offset = offset.to_string();
        let fields = [("csrf", csrf.as_str()), ("upload", upload_id), ("offset", &offset)];
        let part = upload(&site, &fields, "a.enex", text).header("Accept", "application/json");
        browser.send(&site.local, part)
    };
    let began = send("", 0, first).expect(200).json();
    let id = began["upload"].as_str().unwrap().to_owned();
    assert_eq!(began["bytes"], first.len());
    assert_eq!(send(&id, 3, second).status, 409);
    assert_eq!(send(&id, first.len(), second).expect(200).json()["bytes"], ENEX.len());
    assert_eq!(send("../../secrets", 0, "x").status, 404);
    assert_eq!(send("", 0, "x").expect(200).json()["bytes"], 1);
    let path = format!("/web/import/file/{id}");
    let preview = browser.send(&site.local, HttpRequest::get(&path)).expect(200);
    assert!(preview.body.contains("1 page: new"), "{}", preview.body);
    let discarded = [("csrf", csrf.as_str()), ("upload", id.as_str())];
    post(&mut browser, &site, "/web/import/discard", &discarded).expect(303);
    assert_eq!(browser.send(&site.local, HttpRequest::get(&path)).status, 404);
    assert_eq!(waiting(&site), 1);
}

#[test]
fn a_file_that_is_no_export_is_named_and_a_preview_removes_nothing() {
    let site = Site::new();
    let mut browser = site.open();
    let csrf = hidden(&browser.send(&site.local, HttpRequest::get("/web/import")), "csrf");
    let sent =
        browser.send(&site.local, upload(&site, &[("csrf", &csrf)], "a.bin", "\u{1}\u{2}\u{3}"));
    let path = sent.expect(303).header("location").unwrap().to_owned();
    for _ in 0..2 {
        let refused = browser.send(&site.local, HttpRequest::get(&path));
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.contains("is in no format that brain reads"), "{}", refused.body);
    }
    assert_eq!(waiting(&site), 1);
    for name in ["../up.zip", "note.md"] {
        let sent = browser.send(&site.local, upload(&site, &[("csrf", &csrf)], name, "x"));
        assert_eq!(sent.status, 400, "{name}");
    }
}

#[test]
fn only_the_owners_session_uploads() {
    let site = Site::new();
    let token = site.home.token("t", "read write", &[]);
    let file = || upload(&site, &[("csrf", "x")], "a.enex", ENEX);
    assert_eq!(site.local(&file().bearer(&token)).status, 401);
    let mut browser = site.open();
    assert_eq!(browser.send(&site.local, file()).status, 403);
    assert_eq!(waiting(&site), 0);
}
