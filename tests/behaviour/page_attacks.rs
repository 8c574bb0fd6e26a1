//! Attacks on the page in the owner's browser.

use crate::page_view::{assert_security_headers, without_own_script};
use crate::web::{Browser, HttpRequest, HttpResponse, Site, hidden_fields};

/// Returns every path that changes something, with `p` as the page.
fn changes() -> Vec<String> {
    brain_web::POST_PATHS.iter().map(|path| path.replace("{*name}", "p")).collect()
}

/// Returns the CSRF token of the browser's session.
fn csrf(browser: &mut Browser, site: &Site) -> String {
    let home = browser.send(&site.local, HttpRequest::get("/")).expect(200);
    let fields = hidden_fields(&home.body);
    fields.into_iter().find(|(name, _)| name == "csrf").map(|(_, value)| value).unwrap()
}

/// Returns a form as a page of the site sends it.
fn from_page(site: &Site, path: &str, fields: &[(&str, &str)]) -> HttpRequest {
    let form = HttpRequest::form(path, fields);
    form.header("Origin", &site.issuer()).header("Sec-Fetch-Site", "same-origin")
}

#[test]
fn a_one_time_code_signs_in_once() {
    let site = Site::new();
    let path = site.sign_in_path();
    let (mut owner, mut thief) = (Browser::default(), Browser::default());
    owner.send(&site.local, HttpRequest::get(&path)).expect(200);
    let refused = thief.send(&site.local, HttpRequest::get(&path)).expect(401);
    assert_security_headers(&refused);
    assert!(thief.cookies.is_empty() && refused.body.contains("used up"), "{}", refused.body);
    owner.send(&site.local, HttpRequest::get("/web/deleted")).expect(200);
    for guess in ["/open/x", "/open/%00", &format!("/open/{}", "a".repeat(5000))] {
        thief.send(&site.local, HttpRequest::get(guess)).expect(401);
    }
    assert!(thief.cookies.is_empty());
    // The code and the cookie are two values: neither works in the other's place.
    let code = path.strip_prefix("/open/").unwrap().to_owned();
    let mut forged = Browser { cookies: vec![(owner.cookies[0].0.clone(), code)] };
    forged.send(&site.local, HttpRequest::get("/web/deleted")).expect(401);
    let path = format!("/open/{}", owner.cookies[0].1);
    thief.send(&site.local, HttpRequest::get(&path)).expect(401);
    site.public(&HttpRequest::get(&site.sign_in_path())).expect(404);
}

#[test]
fn a_session_ends_when_it_is_revoked() {
    let site = Site::new();
    site.home.put("p", "# Private\nwords");
    let screen = HttpRequest::get("/page/p");
    let (mut one, mut other) = (site.open(), site.open());
    let token = csrf(&mut one, &site);
    other.change(&site, "/web/sign-out", &[]).expect(303);
    assert!(other.cookies.is_empty());
    one.send(&site.local, screen.clone()).expect(200);
    assert_eq!(site.home.json(["open", "--sign-out"])["signed_out"], 1);
    let signed_out = one.send(&site.local, screen).expect(401);
    assert!(!signed_out.body.contains("words"), "{}", signed_out.body);
    // A form that is still open changes nothing, and a part of a screen shows nothing.
    let form = from_page(&site, "/web/delete/p", &[("csrf", &token), ("version", "1")]);
    one.send(&site.local, form).expect(401);
    one.send(&site.local, HttpRequest::get("/web/results?q=words")).expect(401);
    site.home.brain(["get", "p"]).expect(0);
}

#[test]
fn the_cookie_of_another_daemon_is_worthless() {
    let (site, other) = (Site::new(), Site::new());
    site.home.put("p", "# Private\nwords");
    let foreign = other.open();
    let mut browser = Browser { cookies: foreign.cookies.clone() };
    browser.send(&site.local, HttpRequest::get("/page/p")).expect(401);
    // The foreign value under this daemon's cookie name, and this daemon's cookie twice.
    let own = site.open().cookies[0].clone();
    let mut browser = Browser { cookies: vec![own.clone()] };
    browser.send(&site.local, HttpRequest::get("/page/p")).expect(200);
    let mut browser = Browser { cookies: vec![(own.0.clone(), foreign.cookies[0].1.clone())] };
    browser.send(&site.local, HttpRequest::get("/page/p")).expect(401);
    let mut browser = Browser { cookies: vec![own.clone(), own.clone()] };
    browser.send(&site.local, HttpRequest::get("/page/p")).expect(401);
    // Tokens of programs and of the admin API do not open the page.
    let token = site.home.token("t", "read", &[]);
    site.local(&HttpRequest::get("/page/p").bearer(&token)).expect(401);
    site.local(&HttpRequest::get("/page/p").bearer(&site.admin)).expect(401);
    site.public(&HttpRequest::get("/page/p")).expect(404);
    site.public(&HttpRequest::get("/web/deleted")).expect(404);
}

#[test]
fn foreign_pages_change_nothing() {
    let site = Site::new();
    site.home.put("p", "# Kept\nwords");
    let mut browser = site.open();
    let token = csrf(&mut browser, &site);
    let foreign_token = csrf(&mut site.open(), &site);
    let before = site.home.json(["get", "p"]);
    for path in changes() {
        let fields = |csrf: &str| {
            let pairs = [("csrf", csrf), ("version", "1"), ("text", "evil"), ("slug", "p")];
            HttpRequest::form(&path, &pairs)
        };
        let with_own_origin = |form: HttpRequest| {
            form.header("Origin", &site.issuer()).header("Sec-Fetch-Site", "same-origin")
        };
        let refused: [(&str, HttpRequest); 9] = [
            (
                "no token",
                with_own_origin(HttpRequest::form(&path, &[("version", "1"), ("text", "evil")])),
            ),
            ("another session's token", with_own_origin(fields(&foreign_token))),
            ("a wrong token", with_own_origin(fields("x"))),
            ("another site", fields(&token).header("Origin", "https://evil.example")),
            ("a sandbox", fields(&token).header("Origin", "null")),
            ("another port", fields(&token).header("Origin", "http://127.0.0.1:1")),
            ("same site", fields(&token).header("Sec-Fetch-Site", "same-site")),
            ("cross site", fields(&token).header("Sec-Fetch-Site", "cross-site")),
            (
                "not a form",
                with_own_origin(HttpRequest::new("POST", &path).body(&format!("csrf={token}")))
                    .header("Content-Type", "text/plain"),
            ),
        ];
        for (case, request) in refused {
            let answer: HttpResponse = browser.send(&site.local, request);
            assert_eq!(answer.status, 403, "{path}, {case}: {}", answer.body);
        }
        let answer = site.local(&with_own_origin(fields(&token)));
        assert_eq!(answer.status, 401, "{path} without a cookie: {}", answer.body);
        // A link cannot change anything.
        let link = format!("{path}?csrf={token}&version=1&text=evil");
        let answer = browser.send(&site.local, HttpRequest::get(&link));
        assert_eq!(answer.status, 405, "{path} by a link");
    }
    let after = site.home.json(["get", "p"]);
    assert_eq!(after, before);
    assert_eq!(site.home.json(["status"])["pages"], 1);
    let form = from_page(&site, "/web/delete/p", &[("csrf", &token), ("version", "1")]);
    browser.send(&site.local, form).expect(303);
}

#[test]
fn another_host_name_is_refused() {
    let site = Site::new();
    site.home.put("p", "# Private\nwords");
    let browser = site.open();
    let cookie = format!("{}={}", browser.cookies[0].0, browser.cookies[0].1);
    for path in ["/", "/page/p", "/web/results?q=words", "/web/assets/now/page.js"] {
        let request = HttpRequest::get(path).header("Cookie", &cookie);
        site.local(&request).expect(200);
        let answer = site
            .local(&request.header("Host", "evil.example"))
            .expect_refusal(403, "forbidden_host");
        assert!(!answer.body.contains("words"));
    }
}

/// Screens that show texts of pages or of the address.
const SCREENS_WITH_TEXT: [&str; 21] = [
    "/",
    "/?q=alert",
    "/?q=%3Cscript%3Ealert%281%29%3C%2Fscript%3E&type=%22%3E%3Cscript%3E&tag=%3Cimg%3E&when=%3Cb%3E",
    "/?q=alert&explain=1",
    "/web/results?q=alert",
    "/page/evil",
    "/page/evil?version=1",
    "/page/links",
    "/web/history/evil",
    "/web/diff/evil?to=2",
    "/web/edit/evil",
    "/web/timeline",
    "/web/part/evil",
    "/web/graph",
    "/web/graph?page=evil",
    "/web/graph?type=%22%3E%3Cscript%3E&tag=%3Cimg%20src=x%3E",
    "/web/sources",
    "/web/new?slug=%22%3E%3Cscript%3E",
    "/web/mentions/evil",
    "/web/links/evil",
    "/web/share?title=%22%3E%3Cscript%3E&text=%3C/textarea%3E%3Cscript%3E&url=%3Cb%3E",
];

/// Asserts that script stays text in every field that a text from outside can fill.
#[test]
fn script_in_every_part_of_a_page_stays_text() {
    let site = Site::new();
    let evil = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> <a \
                href=\"javascript:alert(1)\">x</a>\n\n\
                [a](javascript:alert(1)) [b](data:text/html,x) [c](//evil.example/x) \
                [d](https://ok.example/?\"><script>)\n\n\
                ![p](https://evil.example/p.png) ![[evil.png]] \
                [[\"><script>|<b>]]\n\n```\"><script>\n</code><script>\n```\n\n\
                |<script>|\n|-|\n|<script>|\n\n[^\"><script>]\n\n[^\"><script>]: <script>\n\n\
                # <script>alert(2)</script>\n\n## \"><img src=x>\n\n> [!NOTE]\n> <script>\n\n\
                - 2025-01-02 | <script>alert(3)</script> [Source: <img>]\n\n\
                > [!bug] <script>\n> <img src=x>\n\n$<script>$ $$\n<img src=x>\n$$\n\n\
                ```rust\nlet a = \"<script>\"; // <img src=x>\n```\n\n\
                <style>*{display:none}</style>\n\n<meta http-equiv=refresh content=0>\n";
    let page = format!(
        "---\ntitle: \"</title><script>alert(1)</script>\"\ntype: \"<script>\"\n\
         tags: [\"<script>\", \"x\\\" onclick=\\\"y\"]\naliases: [\"<img src=x>\"]\n\
         source_uri: \"javascript:alert(1)\"\ncompany: \"[[<script>]]\"\n---\n{evil}"
    );
    site.home.put("evil", &page);
    site.home.put("evil", &format!("{page}\n<script>alert(4)</script>\n"));
    site.home.put(
        "links",
        "---\ntitle: \"<img src=x onerror=alert(1)>\"\n---\nSee [[evil]]. ![[evil]]\n",
    );
    let mut browser = site.open();
    for path in SCREENS_WITH_TEXT {
        let screen = browser.send(&site.local, HttpRequest::get(path)).expect(200);
        let text = without_own_script(&screen.body);
        for tag in [
            "<script",
            "<img",
            "<style",
            "<meta http-equiv",
            "<b>",
            " onclick=\"",
            " onerror=alert(1)>",
            "href=\"javascript:",
            "href=\"data:",
            "href=\"//",
        ] {
            assert!(!text.contains(tag), "{path}, {tag}: {text}");
        }
        assert!(screen.body.matches("</title>").count() <= 1, "{path}");
    }
    let page = browser.send(&site.local, HttpRequest::get("/page/evil")).expect(200).body;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for link in page.split("href=\"").skip(1).map(|part| part.split('"').next().unwrap()) {
        let is_ours = link.starts_with('/') && !link.starts_with("//")
            || ["#main", "#s", "#f", "#r"].iter().any(|part| link.starts_with(part));
        let is_file = link.starts_with("obsidian://open?path=%2F");
        assert!(is_ours || is_file || link.starts_with("https://ok.example/"), "{link}");
    }
    site.home.brain(["delete", "links"]).expect(0);
    let deleted = browser.send(&site.local, HttpRequest::get("/web/deleted")).expect(200).body;
    assert!(!deleted.contains("<img"), "{deleted}");
}

#[test]
fn large_pages_are_shown_and_larger_forms_refused() {
    let site = Site::new();
    let large = "word [[a]] *b* `c`\n\n".repeat(60_000);
    site.home.put("large", &large);
    let mut browser = site.open();
    let page = browser.send(&site.local, HttpRequest::get("/page/large")).expect(200);
    assert!(page.body.len() < 2 * large.len() && page.body.contains("Next part"));
    let tags: Vec<String> = (0..2000).map(|n| format!("t{n}")).collect();
    site.home.put("tags", &format!("---\ntags: [{}]\n---\nx\n", tags.join(", ")));
    browser.send(&site.local, HttpRequest::get("/page/tags")).expect(200);
    browser.send(&site.local, HttpRequest::get("/")).expect(200);
    let text = "x".repeat(16_000_000);
    let refused = browser.change(&site, "/web/capture", &[("text", &text)]);
    assert!([413, 503].contains(&refused.status), "{}", refused.status);
}
