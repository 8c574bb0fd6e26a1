//! Administration in the owner's browser.

use crate::page_view::assert_security_headers;
use crate::web::{HttpRequest, Site, hidden_fields};

#[test]
fn every_screen_shows_the_state() {
    let site = Site::new();
    let page = "# A\nSee [[nowhere]].\n\n## Timeline\n\n- 2025-01-02 | Made the first <b>\n";
    site.home.put("a", page);
    let mut browser = site.open();
    for (path, shown) in [
        ("/web/status", "Everything works."),
        ("/web/status?check=1", "checks are fine"),
        ("/web/deleted", "No page was deleted in this time."),
        ("/web/timeline", "Made the first"),
        ("/web/timeline?since=2030-01-01", "Nothing is dated here."),
        ("/web/queue", "0 waiting, 0 failed"),
        ("/web/sources", "1 lead to no page"),
        ("/web/access", "Sign all browsers out"),
        ("/web/audit", "GET /web/status"),
        ("/web/costs", "Nothing was paid"),
        ("/web/backups", "No backups are scheduled"),
        ("/web/configuration", "store.cache_mb"),
    ] {
        let screen = browser.send(&site.local, HttpRequest::get(path)).expect(200);
        assert_security_headers(&screen);
        assert!(screen.body.contains(shown), "{path}: {shown} is not in {}", screen.body);
        site.local(&HttpRequest::get(path)).expect(401);
        site.public(&HttpRequest::get(path)).expect(404);
    }
    let fixed = browser.change(&site, "/web/status/fix", &[]).expect(200);
    assert!(fixed.body.contains("Health"), "{}", fixed.body);
    // The filter by caller stays when the calls are filtered further.
    let audit =
        browser.send(&site.local, HttpRequest::get("/web/audit?client=a+%26+b")).expect(200);
    assert!(
        audit.body.contains("href=\"/web/audit?failed=1&amp;client=a+%26+b\""),
        "{}",
        audit.body
    );
    let secret = std::fs::read_to_string(site.home.path().join("secrets/admin-token")).unwrap();
    let config = browser.send(&site.local, HttpRequest::get("/web/configuration")).body;
    assert!(!config.contains(secret.trim()), "the configuration has no secret");
}

#[test]
fn a_token_is_shown_once_and_revoked() {
    let site = Site::new();
    let mut browser = site.open();
    let fields = [("name", "my <b> phone"), ("scope", "read write")];
    let created = browser.change(&site, "/web/access/token", &fields).expect(200);
    assert_security_headers(&created);
    let (_, rest) = created.body.split_once("<pre><code>brain_pt_").expect("no token is shown");
    let token = format!("brain_pt_{}", rest.split('<').next().unwrap());
    assert_eq!(site.write_status(&token), 202);
    let screen = browser.send(&site.local, HttpRequest::get("/web/access")).expect(200);
    assert!(screen.body.contains("my &lt;b&gt; phone") && !screen.body.contains(&token));
    let fields = hidden_fields(&screen.body);
    let (_, id) = fields.iter().find(|(name, _)| name == "token").expect("no revoke button");
    browser.change(&site, "/web/access/revoke", &[("token", id)]).expect(303);
    assert_eq!(site.write_status(&token), 401);
    let client = site.register_public_client();
    let screen = browser.send(&site.local, HttpRequest::get("/web/access")).expect(200);
    assert!(screen.body.contains("An app") && screen.body.contains(&client), "{}", screen.body);
    browser.change(&site, "/web/access/revoke", &[("client", &client)]).expect(303);
    let screen = browser.send(&site.local, HttpRequest::get("/web/access")).expect(200);
    assert!(!screen.body.contains("An app"), "{}", screen.body);
    // Sign out all browsers, including this one.
    browser.change(&site, "/web/access/browsers", &[]).expect(303);
    browser.send(&site.local, HttpRequest::get("/web/access")).expect(401);
}

#[test]
fn sources_are_synchronised_and_failed_items_tried_again() {
    let site = Site::new();
    let dir = site.home.outside().join("notes");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("a.md"), "# A\n").unwrap();
    site.home.brain(["sources", "add", "work", "--path", dir.to_str().unwrap()]).expect(0);
    let mut browser = site.open();
    let report = browser.change(&site, "/web/sources/sync", &[("source", "work")]).expect(200);
    assert!(report.body.contains("1 added"), "{}", report.body);
    std::fs::write(dir.join("b.md"), "# B\n").unwrap();
    let report = browser.change(&site, "/web/sources/sync", &[]).expect(200);
    assert!(report.body.contains("1 added"), "{}", report.body);
    let unknown = browser.change(&site, "/web/sources/sync", &[("source", "none")]);
    assert!(unknown.expect(404).body.contains("role=\"alert\""));
    let bad = browser.change(&site, "/web/queue/retry", &[("job", "<script>")]).expect(400);
    assert!(!bad.body.contains("<script>\""), "{}", bad.body);
    let none = browser.change(&site, "/web/queue/retry", &[("job", "job_99")]);
    assert_eq!(none.status, 404, "{}", none.body);
    browser.change(&site, "/web/queue/retry", &[]).expect(303);
}
