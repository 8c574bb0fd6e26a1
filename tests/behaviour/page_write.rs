//! Writing in the owner's browser: new pages, edits, conflicts.

use crate::page_view::assert_security_headers;
use crate::web::{Browser, HttpRequest, HttpResponse, Site};

/// Returns the text of the text area `id` as the browser shows it.
fn text_area(page: &HttpResponse, id: &str) -> String {
    let (_, rest) = page.body.split_once(&format!("<textarea id=\"{id}\"")).expect(id);
    let (_, rest) = rest.split_once('>').unwrap();
    let (text, _) = rest.split_once("</textarea>").unwrap();
    let text = text
        .strip_prefix('\n')
        .expect("the text area lacks the leading line feed, which browsers drop");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Saves a text as a browser sends it, with CRLF.
fn save(site: &Site, browser: &mut Browser, fields: &[(&str, &str)]) -> HttpResponse {
    let crlf_fields: Vec<(&str, String)> =
        fields.iter().map(|(name, value)| (*name, value.replace('\n', "\r\n"))).collect();
    let mut fields: Vec<(&str, &str)> =
        crlf_fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    fields.push(("action", "save"));
    browser.change(site, "/web/save", &fields)
}

#[test]
fn a_page_is_written_previewed_and_edited() {
    let site = Site::new();
    let mut browser = site.open();
    let missing = browser.send(&site.local, HttpRequest::get("/page/people/ada")).expect(404);
    assert!(missing.body.contains("/web/new?slug=people%2Fada"), "{}", missing.body);
    let form =
        browser.send(&site.local, HttpRequest::get("/web/new?slug=people%2Fada")).expect(200);
    assert_security_headers(&form);
    assert!(form.body.contains("value=\"people/ada\""), "{}", form.body);
    let text = "---\ntags: [math]\n---\n\n# Ada\n\n<b>&amp; *x*\n\n";
    let fields = [("slug", "people/ada"), ("text", text), ("action", "preview")];
    let preview = browser.change(&site, "/web/save", &fields).expect(200);
    assert!(preview.body.contains("<em>x</em>") && preview.body.contains("&lt;b&gt;&amp;amp;"));
    assert_eq!(text_area(&preview, "text"), text, "the preview keeps the text");
    assert_eq!(site.home.json(["status"])["pages"], 0, "nothing is saved yet");
    let part = browser.change(&site, "/web/preview", &[("text", text)]).expect(200);
    assert!(part.body.contains("<em>x</em>") && !part.body.contains("<html"), "{}", part.body);

    let saved = save(&site, &mut browser, &[("slug", "people/ada"), ("text", text)]).expect(303);
    assert_eq!(saved.header("location"), Some("/page/default:people/ada"));
    let page = site.home.json(["get", "people/ada"]);
    assert!(
        page["body"].as_str().unwrap().contains("*x*") && !page["body"].to_string().contains("\\r")
    );
    let edit = browser.send(&site.local, HttpRequest::get("/web/edit/people/ada")).expect(200);
    assert_security_headers(&edit);
    assert_eq!(text_area(&edit, "text"), page["content"].as_str().unwrap());
    let changed = text_area(&edit, "text").replace("*x*", "*y*");
    let fields = [("name", "default:people/ada"), ("version", "1"), ("text", &changed)];
    save(&site, &mut browser, &fields).expect(303);
    let page = site.home.json(["get", "people/ada"]);
    assert_eq!((page["version"].clone(), page["trust"].clone()), (2.into(), "owner".into()));
    let body = page["content"].as_str().unwrap();
    assert!(body.contains("*y*") && !body.contains("received"), "{body}");

    // A new page never replaces another one; without a slug it goes to the inbox.
    let refused_save =
        save(&site, &mut browser, &[("slug", "people/ada"), ("text", "other")]).expect(409);
    assert!(
        text_area(&refused_save, "text").contains("other")
            && text_area(&refused_save, "theirs").contains("*y*")
    );
    let inbox = save(&site, &mut browser, &[("text", "A thought\n")]).expect(303);
    assert!(inbox.header("location").unwrap().starts_with("/page/default:inbox/"));
    for (slug, text) in [("No Slug", "x"), ("a", ""), ("a", "---\ntitle: [\n---\nx")] {
        let refused = save(&site, &mut browser, &[("slug", slug), ("text", text)]).expect(422);
        assert!(refused.body.contains("role=\"alert\""), "{}", refused.body);
        assert_eq!(text_area(&refused, "text"), text, "the form keeps the text");
    }
}

#[test]
fn two_writers_never_overwrite_each_other() {
    let site = Site::new();
    let token = site.home.token("w", "read write", &[]);
    let item = serde_json::json!({ "content": "# Plan\n\none\n\ntwo\n\nthree\n" });
    let item = HttpRequest::json("/ingest", &item).header("X-Brain-Slug", "plan").bearer(&token);
    site.local(&item);
    let mut browser = site.open();
    let deadline = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
    let edit = loop {
        let edit = browser.send(&site.local, HttpRequest::get("/web/edit/plan"));
        if edit.status == 200 {
            break edit;
        }
        assert!(std::time::Instant::now() < deadline, "{edit:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let read = text_area(&edit, "text");
    let fields = |version: &str, text: &str| {
        let pairs = [("name", "default:plan"), ("version", version), ("text", text)];
        pairs.map(|(name, value)| (name, value.to_owned()))
    };
    let mut save_as = |version: &str, text: &str| {
        let fields = fields(version, text);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (*n, v.as_str())).collect();
        save(&site, &mut browser, &fields)
    };

    // Another program changes another line: both changes are in the text, to be checked.
    site.home.put(
        "plan",
        &site.home.json(["get", "plan"])["content"].as_str().unwrap().replace("one", "ONE"),
    );
    let merged = save_as("1", &read.replace("three", "THREE")).expect(409);
    assert_security_headers(&merged);
    let text = text_area(&merged, "text");
    assert!(text.contains("ONE") && text.contains("THREE"), "{text}");
    assert!(merged.body.contains("name=\"version\" value=\"2\""), "{}", merged.body);
    assert!(site.home.json(["get", "plan"])["body"].to_string().contains("three"), "not saved yet");
    save_as("2", &text).expect(303);

    // The same line: both texts are shown, and the owner decides.
    let current_text = site.home.json(["get", "plan"])["content"].as_str().unwrap().to_owned();
    site.home.put("plan", &current_text.replace("two", "two of another"));
    let conflict = save_as("3", &current_text.replace("two", "two of mine")).expect(409);
    assert!(text_area(&conflict, "text").contains("two of mine"));
    assert!(text_area(&conflict, "theirs").contains("two of another"));
    save_as("4", &text_area(&conflict, "text")).expect(303);
    let page = site.home.json(["get", "plan"]);
    let content = page["content"].as_str().unwrap();
    assert!(content.contains("two of mine") && content.contains("ONE"), "{content}");
    assert!(!content.contains("received"), "a provenance line remains: {content}");
    assert_eq!(page["version"], 5);
}

#[test]
fn a_file_with_windows_line_ends_keeps_them() {
    let site = Site::new();
    let dir = site.home.outside().join("notes");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("a.md"), "# A\r\n\r\none\r\n").unwrap();
    site.home.brain(["sources", "add", "work", "--path", dir.to_str().unwrap()]).expect(0);
    site.home.brain(["sync", "work"]).expect(0);
    let mut browser = site.open();
    let edit = browser.send(&site.local, HttpRequest::get("/web/edit/work:a")).expect(200);
    let text = text_area(&edit, "text").replace("one", "two");
    let fields = [("name", "work:a"), ("version", "1"), ("text", &text)];
    save(&site, &mut browser, &fields).expect(303);
    let file = || std::fs::read_to_string(dir.join("a.md")).unwrap();
    let deadline = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
    while !file().contains("two") && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(file(), "# A\r\n\r\ntwo\r\n");
}

#[test]
fn links_are_completed() {
    let site = Site::new();
    site.home.put("people/ada", "# Ada <b>\n");
    let mut browser = site.open();
    let found = browser.send(&site.local, HttpRequest::get("/web/complete?text=ad")).expect(200);
    assert_eq!(found.json()[0][0], "people/ada");
    // It has the headers of the screens.
    let screen = browser.send(&site.local, HttpRequest::get("/")).expect(200);
    for field in [
        "content-security-policy",
        "cache-control",
        "x-frame-options",
        "x-content-type-options",
        "referrer-policy",
        "cross-origin-opener-policy",
        "cross-origin-resource-policy",
    ] {
        assert!(screen.header(field).is_some(), "{field}");
        assert_eq!(found.header(field), screen.header(field), "{field}");
    }
    assert_eq!(found.header("content-type"), Some("application/json"));
    site.local(&HttpRequest::get("/web/complete?text=ad")).expect(401);
}
