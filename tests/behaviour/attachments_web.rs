//! Files of pages in the browser: display, download, upload, and blocked attacks.

use brain_tests::TestHome;

use crate::page_view::assert_security_headers;
use crate::web::{Browser, HttpRequest, HttpResponse, Site, hidden_fields};

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";

/// Attaches a file with this text.
fn attach(home: &TestHome, slug: &str, name: &str, text: &str) {
    let path = home.outside().join("source");
    std::fs::write(&path, text).unwrap();
    home.json(["attach", slug, path.to_str().unwrap(), "--name", name]);
}

/// Returns the CSRF token of the browser's session.
fn csrf(browser: &mut Browser, site: &Site) -> String {
    let home = browser.send(&site.local, HttpRequest::get("/")).expect(200);
    let fields = hidden_fields(&home.body);
    fields.into_iter().find(|(name, _)| name == "csrf").map(|(_, value)| value).unwrap()
}

/// Returns a form with a file, as a browser sends it from a page of brain.
fn upload(site: &Site, path: &str, csrf: Option<&str>, name: &str, text: &str) -> HttpRequest {
    upload_from("same-origin", site, path, (csrf, name, text))
}

/// As `upload`; `fetch_site` is the value of `Sec-Fetch-Site`.
fn upload_from(
    fetch_site: &str,
    site: &Site,
    path: &str,
    (csrf, name, text): (Option<&str>, &str, &str),
) -> HttpRequest {
    let mut body = String::new();
    if let Some(csrf) = csrf {
        body += &format!("--X\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n{csrf}\r\n");
    }
    body += &format!(
        "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: image/png\r\n\r\n{text}\r\n--X--\r\n"
    );
    HttpRequest::new("POST", path)
        .header("Content-Type", "multipart/form-data; boundary=X")
        .header("Origin", &site.issuer())
        .header("Sec-Fetch-Site", fetch_site)
        .body(&body)
}

/// Asserts that a browser runs no script in the file.
fn assert_inert(file: &HttpResponse) {
    let policy = file.header("content-security-policy").unwrap();
    assert!(policy.starts_with("sandbox; default-src 'none'"), "{policy}");
    assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(file.header("x-frame-options"), Some("DENY"));
    assert_eq!(file.header("cross-origin-resource-policy"), Some("same-origin"));
}

#[test]
fn a_picture_of_the_page_is_shown_where_the_text_names_it() {
    let site = Site::new();
    site.home.put(
        "trips/rome",
        "# Rome\n\n![The *forum* \"<b>](forum%20romanum.png)\n\n![[notes.txt]] [[notes.txt]]\n\n\
         ![x](https://evil.example/forum%20romanum.png) ![y](other.png)\n",
    );
    attach(&site.home, "trips/rome", "forum romanum.png", "a picture");
    attach(&site.home, "trips/rome", "notes.txt", "notes");
    let mut browser = site.open();
    let page = browser.send(&site.local, HttpRequest::get("/page/trips/rome")).expect(200);
    let picture = "/web/attachment/default:trips/rome/forum%20romanum.png";
    let tag = format!("<img src=\"{picture}\" alt=\"The forum &quot;&lt;b&gt;\" loading=\"lazy\">");
    assert!(page.body.contains(&tag), "{}", page.body);
    assert_eq!(page.body.matches("<img").count(), 1, "{}", page.body);
    assert!(!page.body.contains("evil.example/forum"), "{}", page.body);
    let notes = "href=\"/web/attachment/default:trips/rome/notes.txt\"";
    assert!(
        page.body.matches(notes).count() >= 2,
        "the text and the list of files have a link: {}",
        page.body
    );

    let shown = browser.send(&site.local, HttpRequest::get(picture)).expect(200);
    assert_eq!(shown.body, "a picture");
    assert_eq!(shown.header("content-type"), Some("image/png"));
    assert!(shown.header("content-disposition").unwrap().starts_with("inline"));
    assert_inert(&shown);
    let notes = "/web/attachment/default:trips/rome/notes.txt";
    let saved = browser.send(&site.local, HttpRequest::get(notes)).expect(200);
    assert!(saved.header("content-disposition").unwrap().starts_with("attachment"));
    assert_inert(&saved);
    for missing in ["none.png", "..%2f..%2fconfig.toml", "", "%00", "a%0db"] {
        let path = format!("/web/attachment/default:trips/rome/{missing}");
        let answer = browser.send(&site.local, HttpRequest::get(&path));
        assert!((400..500).contains(&answer.status), "{missing}: {answer:?}");
    }
}

#[test]
fn a_file_with_script_is_never_run() {
    let site = Site::new();
    site.home.put("p", "![[evil.svg]] ![x](evil.html) ![y](picture.svg.png)\n");
    let page = "<script>alert(1)</script>";
    for (name, text) in [("evil.svg", SVG), ("evil.html", page), ("evil.xhtml", page)] {
        attach(&site.home, "p", name, text);
    }
    // An HTML page with the name of a picture.
    attach(&site.home, "p", "picture.svg.png", page);
    let mut browser = site.open();
    let reader = browser.send(&site.local, HttpRequest::get("/page/p")).expect(200);
    assert!(!reader.body.contains("<script>alert") && !reader.body.contains("<svg"));
    assert!(!reader.body.contains("src=\"/web/attachment/default:p/evil"), "{}", reader.body);
    for name in ["evil.svg", "evil.html", "evil.xhtml"] {
        let path = format!("/web/attachment/default:p/{name}");
        let file = browser.send(&site.local, HttpRequest::get(&path)).expect(200);
        assert_eq!(file.header("content-type"), Some("application/octet-stream"), "{name}");
        let disposition = file.header("content-disposition").unwrap();
        assert!(disposition.starts_with("attachment"), "{name}: {disposition}");
        assert_inert(&file);
    }
    let path = "/web/attachment/default:p/picture.svg.png";
    let file = browser.send(&site.local, HttpRequest::get(path)).expect(200);
    assert_eq!(file.header("content-type"), Some("image/png"));
    assert_inert(&file);
}

#[test]
fn only_the_owners_session_sees_a_file() {
    let site = Site::new();
    site.home.put("p", "words\n");
    attach(&site.home, "p", "private.png", "a private picture");
    let path = "/web/attachment/default:p/private.png";
    let owner = site.open();
    let token = site.home.token("t", "read", &[]);
    let restricted = site.home.token("r", "read", &["default"]);
    for request in [
        HttpRequest::get(path),
        HttpRequest::get(path).bearer(&token),
        HttpRequest::get(path).bearer(&restricted),
        HttpRequest::get(path).bearer(&site.admin),
    ] {
        let answer = site.local(&request).expect(401);
        assert!(!answer.body.contains("private picture"), "{answer:?}");
    }
    site.public(&HttpRequest::get(path)).expect(404);
    let mut browser = Browser { cookies: owner.cookies.clone() };
    let shown = browser.send(&site.local, HttpRequest::get(path)).expect(200);
    assert!(shown.body.contains("a private picture"), "{shown:?}");
    site.home.json(["delete", "p"]);
    let gone = browser.send(&site.local, HttpRequest::get(path)).expect(404);
    assert!(!gone.body.contains("a private picture"));
}

#[test]
fn a_form_attaches_a_file_and_a_script_gets_its_link() {
    let site = Site::new();
    site.home.put("p", "---\ntitle: P\n---\n\nwords\n");
    let mut browser = site.open();
    let token = csrf(&mut browser, &site);
    let form = upload(&site, "/web/attach/default:p", Some(&token), "x y.png", "a picture");
    let answer = browser.send(&site.local, form).expect(303);
    assert_eq!(answer.header("location"), Some("/page/default:p"));
    let page = browser.send(&site.local, HttpRequest::get("/page/p")).expect(200);
    assert_security_headers(&page);
    assert!(page.body.contains("x y.png") && page.body.contains("multipart/form-data"));
    let script = upload(&site, "/web/attach/default:p", Some(&token), "z.pdf", "a text");
    let answer = browser.send(&site.local, script.header("Accept", "application/json")).expect(200);
    let json = answer.json();
    assert_eq!((&json["version"], &json["link"]), (&3.into(), &"[[z.pdf]]".into()));
    let head = json["head"].as_str().unwrap();
    assert!(
        head.contains("x y.png") && head.contains("z.pdf") && !head.contains("words"),
        "{head}"
    );
    // The editor saves the head and the link as the text.
    let text = format!("{head}words\n[[z.pdf]]\n");
    let fields = [("name", "default:p"), ("version", "3"), ("text", &text), ("action", "save")];
    browser.change(&site, "/web/save", &fields).expect(303);
    let list = site.home.json(["attachments", "p"]);
    assert_eq!(list["attachments"].as_array().unwrap().len(), 2, "{list}");

    let refused = upload(&site, "/web/attach/default:p", Some(&token), "z.pdf", "other bytes");
    let answer =
        browser.send(&site.local, refused.header("Accept", "application/json")).expect(409);
    assert!(answer.json()[0].as_str().unwrap().contains("another file"), "{answer:?}");
    for name in ["../x.png", "a/b.png", ".x"] {
        let form = upload(&site, "/web/attach/default:p", Some(&token), name, "x");
        browser.send(&site.local, form).expect(400);
    }
    let large = "x".repeat(16_010_000);
    let form = upload(&site, "/web/attach/default:p", Some(&token), "l.bin", &large);
    browser.send(&site.local, form).expect(413);
    browser.change(&site, "/web/attach/default:p", &[]).expect(400);
}

#[test]
fn a_foreign_form_attaches_nothing() {
    let site = Site::new();
    site.home.put("p", "words\n");
    let mut browser = site.open();
    let token = csrf(&mut browser, &site);
    let other_token = csrf(&mut site.open(), &site);
    let path = "/web/attach/default:p";
    let good = upload(&site, path, Some(&token), "x.png", "x");
    for (case, request) in [
        ("no token", upload(&site, path, None, "x.png", "x")),
        ("another session's token", upload(&site, path, Some(&other_token), "x.png", "x")),
        (
            "another site",
            upload_from("cross-site", &site, path, (Some(token.as_str()), "x.png", "x")),
        ),
        (
            "another port",
            upload_from("same-site", &site, path, (Some(token.as_str()), "x.png", "x")),
        ),
    ] {
        let answer = browser.send(&site.local, request);
        assert_eq!(answer.status, 403, "{case}: {answer:?}");
    }
    site.local(&good).expect(401);
    assert!(!site.home.path().join("attachments").exists());
    assert_eq!(site.home.get("p")["version"], 1);
    browser.send(&site.local, good).expect(303);
    assert_eq!(site.home.get("p")["version"], 2);
}

#[test]
fn a_file_is_removed_with_a_button() {
    let site = Site::new();
    site.home.put("p", "# P\n\nwords\n");
    site.home.put("q", "# Q\n\n![[shown.png]]\n");
    attach(&site.home, "p", "a \"b\" <i>.png", "bytes");
    attach(&site.home, "q", "shown.png", "bytes");
    let mut browser = site.open();
    let page = browser.send(&site.local, HttpRequest::get("/page/p")).expect(200).body;
    assert!(page.contains("action=\"/web/detach/default:p\""), "{page}");
    assert!(page.contains("The file stays on the disk for 72 hours."), "{page}");
    assert!(page.contains("Remove <bdi>a &quot;b&quot; &lt;i&gt;.png</bdi>"), "{page}");
    let fields = [("file", "a \"b\" <i>.png")];
    let answer = browser.change(&site, "/web/detach/default:p", &fields).expect(303);
    assert_eq!(answer.header("location"), Some("/page/default:p"));
    let page = browser.send(&site.local, HttpRequest::get("/page/p")).expect(200).body;
    assert!(!page.contains("/web/detach/"), "{page}");
    assert_eq!(site.home.json(["attachments", "p"])["attachments"], serde_json::json!([]));
    browser.change(&site, "/web/detach/default:p", &fields).expect(404);

    // A revert to the version that names the file restores it.
    browser.change(&site, "/web/revert/default:p", &[("version", "2")]).expect(303);
    let page = browser.send(&site.local, HttpRequest::get("/page/p")).expect(200).body;
    assert!(page.contains("/web/detach/default:p"), "{page}");
    // A file that the text names cannot be removed.
    let refused = browser.change(&site, "/web/detach/q", &[("file", "shown.png")]).expect(409);
    assert!(refused.body.contains("names the file"), "{}", refused.body);
    assert_eq!(site.home.json(["attachments", "q"])["attachments"][0]["name"], "shown.png");
}
