//! `/page/…`: a page in the owner's browser.

use crate::web::{Browser, HttpRequest, HttpResponse, Site};

/// Returns a browser that is signed in on the page at `path`.
fn signed_in(site: &Site, path: &str) -> Browser {
    let mut browser = Browser::default();
    let back = sign_in(site, &mut browser, path, &site.admin).expect(303);
    assert_eq!(back.header("location"), Some(path));
    browser
}

fn sign_in(site: &Site, browser: &mut Browser, path: &str, token: &str) -> HttpResponse {
    let form = HttpRequest::form(path, &[("admin_token", token)]);
    browser.go(
        &site.local,
        form.header("Origin", &site.issuer()).header("Sec-Fetch-Site", "same-origin"),
    )
}

/// Checks that the page allows no scripts, no external resources and no frames.
fn assert_sealed(page: &HttpResponse) {
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{page:?}");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    for rule in ["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(
        !policy.contains("unsafe") && !policy.contains("script-src") && !policy.contains("img-src")
    );
    for (field, value) in [
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(page.header(field), Some(value));
    }
    for tag in ["<script", "<img", "<iframe", "<object", "<link", " src=", "javascript:", " style="]
    {
        assert!(!page.body.contains(tag), "{tag}: {}", page.body);
    }
}

#[test]
fn the_owner_signs_in_and_reads() {
    let site = Site::new();
    site.home.put(
        "people/ada",
        "---\ntags: [math]\n---\n# Ada Lovelace\n\nKnew [[people/charles|Charles]], *well*.\n",
    );
    site.home.put("people/charles", "# Charles\n");
    let mut browser = Browser::default();
    let form = browser.go(&site.local, HttpRequest::get("/page/people/ada")).expect(401);
    assert_sealed(&form);
    assert!(form.body.contains("action=\"/page/people/ada\"") && !form.body.contains("Lovelace"));
    let wrong = sign_in(&site, &mut browser, "/page/people/ada", "brain_at_wrong").expect(401);
    assert!(wrong.body.contains("not the admin token"), "{}", wrong.body);
    assert!(browser.cookies.is_empty());

    let mut browser = signed_in(&site, "/page/people/ada");
    let page = browser.go(&site.local, HttpRequest::get("/page/people/ada")).expect(200);
    assert_sealed(&page);
    for told in [
        "<title>Ada Lovelace · brain</title>",
        "<h1><bdi>Ada Lovelace</bdi></h1>",
        "<em>well</em>",
        "#math",
        "<code>people/ada</code>",
        "href=\"/page/default:people/charles\"",
        "Changed",
    ] {
        assert!(page.body.contains(told), "{told}: {}", page.body);
    }
    assert!(!page.body.contains("came from outside"), "the owner's own word");
    browser.go(&site.local, HttpRequest::get("/page/default:people/charles")).expect(200);
    assert_eq!(browser.go(&site.local, HttpRequest::new("HEAD", "/page/people/ada")).status, 200);
    // The cookie of another session is worth nothing.
    browser.cookies[0].1 = "x".repeat(43);
    browser.go(&site.local, HttpRequest::get("/page/people/ada")).expect(401);
}

#[test]
fn a_link_from_another_site_asks_once_for_confirmation() {
    let site = Site::new();
    site.home.put("a b/ü".replace(' ', "-").as_str(), "# A\n");
    let from_elsewhere = |path: &str| HttpRequest::get(path).header("Sec-Fetch-Site", "cross-site");
    let again = site.local(&from_elsewhere("/page/a-b/%C3%BC")).expect(200);
    assert_sealed(&again);
    assert!(again.body.contains("content=\"0; url=/page/a-b/%C3%BC?again\""), "{}", again.body);
    site.local(&from_elsewhere("/page/a-b/%C3%BC?again")).expect(401);
    let mut browser = signed_in(&site, "/page/a-b/%C3%BC");
    browser.go(&site.local, HttpRequest::get("/page/a-b/%C3%BC?again")).expect(200);
}

#[test]
fn markup_in_a_page_is_shown_as_text() {
    let site = Site::new();
    let evil = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> <a \
                href=\"javascript:alert(1)\">x</a>\n\n\
                [a](javascript:alert(1)) [b](data:text/html,x) [c](//evil.example/x) \
                [d](https://ok.example/?\"><script>)\n\n\
                ![p](https://evil.example/p.png) ![[evil.png]] \
                [[\"><script>|<b>]]\n\n```\"><script>\n</code><script>\n```\n\n\
                |<script>|\n|-|\n|<script>|\n\n[^\"><script>]\n\n[^\"><script>]: <script>\n\n<style>*{display:none}</style>\n\n\
                <meta http-equiv=refresh content=0>\n";
    let page = format!(
        "---\ntitle: \"</title><script>alert(1)</script>\"\ntags: [\"<script>\", \"x\\\" \
            onclick=\\\"y\"]\n---\n{evil}"
    );
    site.home.put("evil", &page);
    let mut browser = signed_in(&site, "/page/evil");
    let shown = browser.go(&site.local, HttpRequest::get("/page/evil")).expect(200);
    assert!(shown.body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    let body = shown.body.replace("javascript:", "").replace("src=x", "");
    let links: Vec<&str> =
        shown.body.split("<a href=\"").skip(1).map(|it| it.split('"').next().unwrap()).collect();
    assert!(
        links
            .iter()
            .all(|link| link.starts_with("/page/") || link.starts_with("https://ok.example/")),
        "{links:?}"
    );
    for tag in [
        "<script",
        "<img",
        "<style>*",
        "<meta http-equiv",
        "<b>",
        " onclick=\"",
        " onerror=alert(1)>",
    ] {
        assert!(!body.contains(tag), "{tag}: {body}");
    }
    assert_eq!(body.matches("</title>").count(), 1);
    assert_eq!(body.matches("<style>").count(), 1);
}

#[test]
fn text_from_outside_is_marked() {
    let site = Site::new();
    let token = site.home.token("w", "read write", &[]);
    let item = serde_json::json!({ "content": "Send me all your money" });
    let item = HttpRequest::json("/ingest", &item).header("X-Brain-Slug", "inbox/evil");
    let item = item.header("X-Brain-Source-Uri", "https://evil.example/<x>");
    let taken = site.local(&item.bearer(&token));
    assert!([200, 202].contains(&taken.status), "{}", taken.body);
    let mut browser = signed_in(&site, "/page/inbox/evil");
    let until = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
    let page = loop {
        let page = browser.go(&site.local, HttpRequest::get("/page/inbox/evil"));
        if page.status == 200 {
            break page;
        }
        assert!(std::time::Instant::now() < until, "{page:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_sealed(&page);
    assert!(page.body.contains("This text came from outside"), "{}", page.body);
    assert!(page.body.contains("href=\"https://evil.example/%3Cx%3E\""), "{}", page.body);
}

#[test]
fn pages_of_other_sources_open_and_missing_ones_get_suggestions() {
    let site = Site::new();
    let dir = site.home.outside();
    site.home.brain(["sources", "add", "work", "--path", dir.to_str().unwrap()]).expect(0);
    site.home.json_with(
        ["put", "people/bob", "--source", "work"],
        b"# Bob Builder\nSee [[people/ada]] and [[none/here]].",
    );
    let mut browser = signed_in(&site, "/page/work:people/bob");
    let mut go = |path: &str, status: u16| {
        let page = browser.go(&site.local, HttpRequest::get(path)).expect(status);
        assert_sealed(&page);
        page.body
    };
    assert!(go("/page/work:people/bob", 200).contains("Bob Builder"));
    assert!(go("/page/work%3Apeople%2Fbob", 200).contains("Bob Builder"));
    let missing = go("/page/people/bob-the-builder", 404);
    assert!(
        missing.contains("No such page") && missing.contains("href=\"/page/work:people/bob\""),
        "{missing}"
    );
    // A page that does not exist is not offered.
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
fn only_the_owner_on_this_machine_can_read_pages() {
    let site = Site::new();
    site.home.put("secret", "# Secret\nwords");
    let public = site.public(&HttpRequest::get("/page/secret"));
    assert_eq!(public.status, 404, "{}", public.body);
    assert!(!public.body.contains("words"));
    assert_eq!(
        site.public(&HttpRequest::form("/page/secret", &[("admin_token", &site.admin)])).status,
        404
    );
    // Bearer tokens are for programs, which read pages through other routes.
    let token = site.home.token("t", "read", &[]);
    site.local(&HttpRequest::get("/page/secret").bearer(&token)).expect(401);
    // Another site can neither sign the owner in nor guess the token.
    let form = HttpRequest::form("/page/secret", &[("admin_token", &site.admin)]);
    site.local(&form.clone().header("Origin", "https://evil.example")).expect(403);
    site.local(&form.header("Sec-Fetch-Site", "cross-site")).expect(403);
    let mut browser = Browser::default();
    for _ in 0..10 {
        sign_in(&site, &mut browser, "/page/secret", "wrong").expect(401);
    }
    let limited = sign_in(&site, &mut browser, "/page/secret", "wrong").expect(429);
    assert!(limited.header("retry-after").is_some() && browser.cookies.is_empty());
    assert!(limited.body.contains("Too many"), "{}", limited.body);
    sign_in(&site, &mut browser, "/page/secret", &site.admin).expect(303);
}

#[test]
fn the_audit_records_the_route_of_a_read_page() {
    let site = Site::new();
    site.home.put("secret-name", "# Secret\nwords");
    let mut browser = signed_in(&site, "/page/secret-name");
    browser.go(&site.local, HttpRequest::get("/page/secret-name")).expect(200);
    let calls = site.home.json(["audit"]).to_string();
    assert!(calls.contains("GET /page/{*name}") && calls.contains("POST /page/{*name}"), "{calls}");
    assert!(!calls.contains("secret-name"), "{calls}");
    let api = site.local(&HttpRequest::get("/openapi.json")).expect(200).body;
    assert!(!api.contains("/page/"), "a page for people is not part of the interface for programs");
}
