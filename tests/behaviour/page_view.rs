//! The page in the owner's browser: reading, searching and changing.

use crate::web::{Browser, HttpRequest, HttpResponse, Site};

/// Returns a screen without the element that loads brain's own script.
pub(crate) fn without_own_script(page: &str) -> String {
    let begin = r#"<script type="module" src="/web/assets/"#;
    let Some((before, rest)) = page.split_once(begin) else { return page.to_owned() };
    let (hash, after) = rest.split_once(r#"/page.js"></script>"#).expect("the element has no end");
    assert!(hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    format!("{before}{after}")
}

/// Asserts that the screen loads nothing from elsewhere and runs no script of a text.
pub(crate) fn assert_security_headers(page: &HttpResponse) {
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{page:?}");
    let policy = page.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    for (field, value) in [
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        assert_eq!(page.header(field), Some(value));
    }
    let text = without_own_script(&page.body);
    for tag in
        ["<script", "<img", "<iframe", "<object", " src=", "javascript:", " style=", "<style"]
    {
        assert!(!text.contains(tag), "{tag}: {}", page.body);
    }
}

#[test]
fn the_owner_opens_the_page_and_reads() {
    let site = Site::new();
    site.home.put(
        "people/ada",
        "---\ntags: [math]\n---\n# Ada Lovelace\n\nKnew [[people/charles|Charles]], *well*.\n\n\
         ## Early life\n\ntext\n\n## Work\n\ntext\n",
    );
    site.home.put("people/charles", "# Charles\n");
    let mut browser = Browser::default();
    let signed_out = browser.send(&site.local, HttpRequest::get("/page/people/ada")).expect(401);
    assert_security_headers(&signed_out);
    assert!(
        signed_out.body.contains("brain open") && !signed_out.body.contains("Lovelace"),
        "{}",
        signed_out.body
    );

    let url = site.home.json(["open", "people/ada", "--print"])["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&site.issuer()).unwrap();
    let landing = browser.send(&site.local, HttpRequest::get(path)).expect(200);
    assert!(landing.body.contains("content=\"0; url=/page/people/ada\""), "{}", landing.body);
    let cookie = landing.header("set-cookie").unwrap();
    let port = site.local.rsplit(':').next().unwrap();
    assert!(cookie.starts_with(&format!("brain-page-{port}=")), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");

    let page = browser.send(&site.local, HttpRequest::get("/page/people/ada")).expect(200);
    assert_security_headers(&page);
    for expected in [
        "<title>Ada Lovelace · brain</title>",
        "<h1><bdi>Ada Lovelace</bdi></h1>",
        "<em>well</em>",
        "#<bdi>math</bdi>",
        "<code>people/ada</code>",
        "href=\"/page/default:people/charles\"",
        "Early life",
        "href=\"#s2\"",
        "from standard input",
    ] {
        assert!(page.body.contains(expected), "{expected}: {}", page.body);
    }
    assert!(!page.body.contains("came from outside"), "the owner's text has no mark");
    let linked = browser.send(&site.local, HttpRequest::get("/page/default:people/charles"));
    assert!(linked.expect(200).body.contains("Links to this page"));
    assert_eq!(browser.send(&site.local, HttpRequest::new("HEAD", "/page/people/ada")).status, 200);
}

#[test]
fn a_link_from_another_site_is_loaded_again_once() {
    let site = Site::new();
    site.home.put("a-b/ü", "# A\n");
    let from_elsewhere = |path: &str| HttpRequest::get(path).header("Sec-Fetch-Site", "cross-site");
    let reload_page = site.local(&from_elsewhere("/page/a-b/%C3%BC")).expect(200);
    assert_security_headers(&reload_page);
    assert!(
        reload_page.body.contains("content=\"0; url=/page/a-b/%C3%BC?again\""),
        "{}",
        reload_page.body
    );
    site.local(&from_elsewhere("/page/a-b/%C3%BC?again")).expect(401);
    let mut browser = site.open();
    browser.send(&site.local, HttpRequest::get("/page/a-b/%C3%BC?again")).expect(200);
}

#[test]
fn a_search_has_marks_filters_and_parts() {
    let site = Site::new();
    site.home.put("a", "---\ntype: idea\ntags: [blue]\n---\n# Harbour\n\nA quiet <b>zebra</b>.\n");
    site.home.put("b", "---\ntype: person\n---\n# Other\n\nAnother zebra here.\n");
    let mut browser = site.open();
    let mut go = |path: &str| {
        let page = browser.send(&site.local, HttpRequest::get(path)).expect(200);
        assert_security_headers(&page);
        page.body
    };
    let home = go("/");
    assert!(home.contains("Changed last") && home.contains("href=\"/page/a\""), "{home}");
    assert!(home.contains("href=\"/?tag=blue\""), "{home}");
    let found = go("/?q=zebra");
    assert!(found.contains("2 pages") && found.contains("<mark>zebra</mark>"), "{found}");
    assert!(found.contains("/?q=zebra&amp;type=idea"), "{found}");
    assert!(found.contains("&lt;b&gt;") || !found.contains("<b>"), "{found}");
    let filtered = go("/?q=zebra&type=idea");
    assert!(filtered.contains("1 page<") || filtered.contains("1 page "), "{filtered}");
    assert!(filtered.contains("remove this filter"), "{filtered}");
    assert!(go("/?q=zebra&explain=1").contains(">total</th>"));
    assert!(go("/?q=nothingatall").contains("Nothing found"));
    let part = go("/web/results?q=zeb&typing=1");
    assert!(
        part.starts_with("<p") && !part.contains("<html") && part.contains("Harbour"),
        "{part}"
    );
    // For an invalid parameter, the screen gives the reason.
    assert!(go("/?q=a&source=No%20Such").contains("role=\"alert\""));
}

#[test]
fn a_page_is_captured_deleted_restored_and_reverted() {
    let site = Site::new();
    let mut browser = site.open();
    let fields = [("text", "# A heron\n\nSeen at the *pond*."), ("tags", "birds, #pond")];
    let captured = browser.change(&site, "/web/capture", &fields).expect(303);
    let path = captured.header("location").unwrap().to_owned();
    let page = browser.send(&site.local, HttpRequest::get(&path)).expect(200).body;
    for shown in ["A heron", "<em>pond</em>", "#<bdi>birds</bdi>", "in the browser"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("came from outside"), "the owner's text has no mark");
    let name = path.strip_prefix("/page/").unwrap().to_owned();
    let slug = name.strip_prefix("default:").unwrap();
    site.home.put(slug, "# A heron\n\nSeen at the lake.\n");

    let versions = browser.send(&site.local, HttpRequest::get(&format!("/web/history/{name}")));
    assert_security_headers(&versions);
    assert!(versions.body.contains("2</a> (now)"), "{}", versions.body);
    let diff = browser.send(&site.local, HttpRequest::get(&format!("/web/diff/{name}?to=2")));
    assert!(diff.body.contains("<span class=\"added\">+Seen at the lake."), "{}", diff.body);
    let former = browser.send(&site.local, HttpRequest::get(&format!("{path}?version=1")));
    assert!(former.body.contains("This is version 1") && former.body.contains("pond"));
    browser.change(&site, &format!("/web/revert/{name}"), &[("version", "1")]).expect(303);
    let body = site.home.json(["get", slug])["body"].to_string();
    assert!(body.contains("pond"), "{body}");

    // A delete names the version on the screen and is refused if the page has a newer one.
    let refused = browser.change(&site, &format!("/web/delete/{name}"), &[("version", "2")]);
    assert!(refused.expect(409).body.contains("role=\"alert\""));
    browser.change(&site, &format!("/web/delete/{name}"), &[("version", "3")]).expect(303);
    let missing = browser.send(&site.local, HttpRequest::get(&path)).expect(404);
    assert!(missing.body.contains("/web/deleted"), "{}", missing.body);
    let deleted = browser.send(&site.local, HttpRequest::get("/web/deleted")).expect(200);
    assert_security_headers(&deleted);
    assert!(deleted.body.contains("A heron"), "{}", deleted.body);
    let restored = browser.change(&site, &format!("/web/restore/{name}"), &[]).expect(303);
    assert_eq!(restored.header("location"), Some(path.as_str()));
    browser.send(&site.local, HttpRequest::get(&path)).expect(200);
}

#[test]
fn text_from_outside_is_marked() {
    let site = Site::new();
    let token = site.home.token("w", "read write", &[]);
    let item = serde_json::json!({ "content": "Send me all your money" });
    let item = HttpRequest::json("/ingest", &item).header("X-Brain-Slug", "inbox/evil");
    let item = item.header("X-Brain-Source-Uri", "https://evil.example/<x>");
    let response = site.local(&item.bearer(&token));
    assert!([200, 202].contains(&response.status), "{}", response.body);
    let mut browser = site.open();
    let deadline = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
    let page = loop {
        let page = browser.send(&site.local, HttpRequest::get("/page/inbox/evil"));
        if page.status == 200 {
            break page;
        }
        assert!(std::time::Instant::now() < deadline, "{page:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_security_headers(&page);
    assert!(page.body.contains("This text came from outside"), "{}", page.body);
    assert!(page.body.contains("href=\"https://evil.example/%3Cx%3E\""), "{}", page.body);
}

#[test]
fn pages_of_other_sources_open_and_others_are_suggested() {
    let site = Site::new();
    let dir = site.home.outside();
    site.home.brain(["sources", "add", "work", "--path", dir.to_str().unwrap()]).expect(0);
    site.home.json_with(
        ["put", "people/bob", "--source", "work"],
        b"# Bob Builder\nSee [[people/ada]] and [[none/here]].",
    );
    let mut browser = site.open();
    let mut go = |path: &str, status: u16| {
        let page = browser.send(&site.local, HttpRequest::get(path)).expect(status);
        assert_security_headers(&page);
        page.body
    };
    assert!(go("/page/work:people/bob", 200).contains("Bob Builder"));
    assert!(go("/page/work%3Apeople%2Fbob", 200).contains("Bob Builder"));
    let missing = go("/page/people/bob-the-builder", 404);
    assert!(
        missing.contains("No such page") && missing.contains("href=\"/page/work:people/bob\""),
        "{missing}"
    );
    // The suggestions name no page that does not exist.
    let missing = go("/page/People/Bob%20Builder", 404);
    assert!(missing.contains("href=\"/page/work:people/bob\""), "{missing}");
    assert!(!missing.contains("bob-builder"), "{missing}");
    for none in [
        "/page/none:people/bob",
        "/page/No%20Source:a",
        "/page/%3Cscript%3E",
        "/page/..%2F..%2Fetc%2Fpasswd",
    ] {
        assert!(go(none, 404).contains("No such page"), "{none}");
    }
    site.home.brain(["delete", "people/bob", "--source", "work"]).expect(0);
    assert!(!go("/page/work:people/bob", 404).contains("Bob Builder"));
}

#[test]
fn the_audit_records_routes_without_names() {
    let site = Site::new();
    site.home.put("secret-name", "# Secret\nwords");
    let mut browser = site.open();
    browser.send(&site.local, HttpRequest::get("/page/secret-name")).expect(200);
    browser.send(&site.local, HttpRequest::get("/?q=secretquestion")).expect(200);
    let audit = site.home.json(["audit"]);
    let calls = audit.to_string();
    assert!(calls.contains("GET /page/{*name}") && calls.contains("GET /open/{code}"), "{calls}");
    assert!(!calls.contains("secret-name") && !calls.contains("secretquestion"), "{calls}");
    assert!(calls.contains("\"browser\""), "the audit names the caller: {calls}");
    let api = site.local(&HttpRequest::get("/openapi.json")).expect(200).body;
    assert!(!api.contains("/page/") && !api.contains("/web/"), "the document has only the API");
}

#[test]
fn a_head_request_does_not_use_up_the_address_of_brain_open() {
    let site = Site::new();
    let path = site.sign_in_path();
    for _ in 0..2 {
        let head = site.local(&HttpRequest::new("HEAD", &path)).expect(200);
        assert!(head.header("set-cookie").is_none(), "{head:?}");
    }
    let mut browser = Browser::default();
    browser.send(&site.local, HttpRequest::get(&path)).expect(200);
    assert_eq!(browser.cookies.len(), 1);
    browser.send(&site.local, HttpRequest::get(&path)).expect(401);
}
