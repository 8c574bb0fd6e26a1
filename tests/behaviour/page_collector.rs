//! The collector in the owner's browser: state, curves, alerts and deletions.

use brain_tests::platform::{APP_TOKEN, Platform, PlatformServer, Time};

use crate::page_view::assert_security_headers;
use crate::web::{Browser, HttpRequest, Site};

const HOSTILE: &str = "@ada <script>alert(1)</script> \"><img/src=x onerror=alert(1)> \u{202e}evil";

/// A site whose collector has collected once for `ada`.
struct CollectorSite {
    site: Site,
    platform: Platform,
    _server: PlatformServer,
    browser: Browser,
    /// The id of the account `ada`.
    ada: String,
    /// The id of the account `eve`.
    eve: String,
}

impl CollectorSite {
    fn new() -> Self {
        let platform = Platform::new(Time::System);
        let (ada, eve) = (platform.create_account("ada"), platform.create_account("eve"));
        platform.change_account(&eve, |account| account.name = "<b>Eve</b>".into());
        platform.post(&ada, "On latency");
        let server = PlatformServer::start(&platform, false);
        // The scheduled minute is at least 15 minutes away, so no run starts by schedule.
        let minute = (platform.time().now() / 60_000) % 60;
        let scheduled_minute = if minute < 30 { "45" } else { "15" };
        let site = Site::with(&[
            ("BRAIN_COLLECTOR_PLATFORM_API", &server.url()),
            ("BRAIN_COLLECTOR_EVERY", "24h"),
            ("BRAIN_COLLECTOR_AT", scheduled_minute),
        ]);
        let setup = ["collector", "setup", "--token-file", "-", "--handle", "ada"];
        site.home.brain_with(setup, format!("{APP_TOKEN}\n").as_bytes()).expect(0);
        let browser = site.open();
        Self { site, platform, _server: server, browser, ada, eve }
    }

    fn get(&mut self, path: &str) -> String {
        let page = self.browser.send(&self.site.local, HttpRequest::get(path)).expect(200);
        assert_security_headers(&page);
        page.body
    }

    fn collect(&mut self) -> String {
        let page = self.browser.change(&self.site, "/web/collector/collect", &[]).expect(200);
        assert_security_headers(&page);
        page.body
    }
}

#[test]
fn without_a_collector_the_command_is_named() {
    let site = Site::new();
    let mut browser = site.open();
    let page = browser.send(&site.local, HttpRequest::get("/web/collector")).expect(200);
    assert_security_headers(&page);
    assert!(page.body.contains("brain collector setup --handle NAME"), "{}", page.body);
    assert!(!page.body.contains("Collect now") && !page.body.contains("id=\"posts\""));
    let refused = browser.change(&site, "/web/collector/collect", &[]);
    assert!(refused.status >= 400 && refused.body.contains("role=\"alert\""), "{refused:?}");
    let none = browser.send(&site.local, HttpRequest::get("/web/collector/post/17")).expect(404);
    assert!(none.body.contains("has no post 17"), "{}", none.body);
    let bad = browser.send(&site.local, HttpRequest::get("/web/collector/post/%3Cscript%3E"));
    assert!(!bad.expect(400).body.contains("<script>\""));
    site.local(&HttpRequest::get("/web/collector")).expect(401);
    site.public(&HttpRequest::get("/web/collector")).expect(404);
}

#[test]
fn a_post_has_a_curve_with_its_alert() {
    let mut fixture = CollectorSite::new();
    let id = fixture.platform.post(&fixture.ada, "A post that spreads");
    assert!(fixture.collect().contains("The run is complete: 2 posts"));
    let path = format!("/web/collector/post/{id}");
    let first = fixture.get(&path);
    assert!(first.contains("A curve needs a second snapshot"), "{first}");
    fixture.platform.change_post(&id, |post| {
        let counts = post.counts.as_mut().unwrap();
        (counts.likes, counts.reposts, counts.replies) = (512, 34, 7);
    });
    let run = fixture.collect();
    assert!(run.contains("0 deletions, 1 alert,"), "{run}");
    for shown in [
        "@<bdi>ada</bdi>",
        "Collect now",
        ">own</td>",
        "state good\">complete",
        "/2/users/:id/tweets",
        "A post that spreads",
        &format!("href=\"{path}\""),
        "Likes 0 → 512",
        "512 likes, 34 reposts, 7 replies",
        ">velocity</td>",
        "likes 0 → 512 within 0 minutes",
        "<polyline points=",
    ] {
        assert!(run.contains(shown), "{shown}: {run}");
    }
    let post = fixture.get(&path);
    // A table has the numbers; the alert is a mark on the curve and a line of text.
    for cell in [">0</td>", ">512</td>", ">34</td>", ">7</td>"] {
        assert!(post.contains(cell), "{cell}: {post}");
    }
    assert!(post.contains("aria-label=\"Likes: from 0 to 512, between 0 and 512\""), "{post}");
    assert_eq!(post.matches("<g class=\"mark\">").count(), 3, "{post}");
    assert!(post.contains("likes 0 → 512 within 0 minutes"), "{post}");
    assert!(!post.contains("from outside"), "the owner's own post: {post}");
}

#[test]
fn deleted_posts_are_shown_with_their_text() {
    let mut fixture = CollectorSite::new();
    let id = fixture.platform.post(&fixture.eve, "@ada I never wrote this");
    fixture.collect();
    fixture.platform.delete(&id);
    let run = fixture.collect();
    assert!(run.contains("1 deletion,"), "{run}");
    let (_, deletions) = run.split_once("id=\"deletions\"").unwrap();
    assert!(deletions.contains("@ada I never wrote this"), "{deletions}");
    assert!(deletions.contains("the platform no longer has it"), "{deletions}");
    assert!(run.contains("deleted on the platform"), "no alert: {run}");
    let post = fixture.get(&format!("/web/collector/post/{id}"));
    assert!(post.contains("This post was deleted on the platform."), "{post}");
    assert!(post.contains("@ada I never wrote this"), "{post}");
}

#[test]
fn texts_and_names_of_posts_are_escaped_and_marked() {
    let mut fixture = CollectorSite::new();
    let id = fixture.platform.post(&fixture.eve, HOSTILE);
    fixture.collect();
    fixture.platform.set_likes(&id, 900);
    fixture.collect();
    for is_deleted in [false, true] {
        for path in ["/web/collector", &format!("/web/collector/post/{id}")] {
            let screen = fixture.get(path);
            assert!(screen.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{path}: {screen}");
            assert!(!screen.contains("<b>") && !screen.contains('\u{202e}'), "{path}: {screen}");
            assert!(screen.contains("from outside"), "{path}: {screen}");
            assert!(!is_deleted || screen.contains("deleted on the platform"), "{path}: {screen}");
        }
        fixture.platform.delete(&id);
        fixture.collect();
    }
    let screen = fixture.get("/web/collector");
    assert!(screen.contains("&lt;b&gt;Eve&lt;/b&gt;"), "{screen}");
    // A period without posts, and an unknown period.
    assert!(fixture.get("/web/collector?when=day").contains("class=\"chip on\""));
    fixture.get("/web/collector?when=%22%3E%3Cscript%3E");
}
