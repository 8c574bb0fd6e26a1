//! The year as a calendar in the owner's browser, and `brain timeline --days`.

use crate::page_view::assert_security_headers;
use crate::web::{HttpRequest, Site};

#[test]
fn days_with_entries_are_counted_and_lead_to_their_entries() {
    let site = Site::new();
    site.home.put(
        "a",
        "# A\n\n## Timeline\n\n- 2026-03-04 | Planted an oak\n- 2026-03-04 | Watered it\n\
         - 2026-03-05 | Rested\n- 2024-02-29 | Bought acorns\n",
    );
    site.home.put("b", "# B\n\n## Timeline\n\n- 2026-03-04 | Sang <b>loudly</b>\n");
    let mut browser = site.open();
    let mut go = |path: &str| {
        let page = browser.send(&site.local, HttpRequest::get(path)).expect(200);
        assert_security_headers(&page);
        page.body
    };
    let year = go("/web/timeline?since=2026-01-01&until=2026-12-31");
    for shown in [
        "4 entries on 2 days",
        "href=\"/web/timeline?day=2026-03-04\" title=\"3 entries on 2026-03-04\"",
        "title=\"1 entry on 2026-03-05\"",
        "href=\"/web/timeline?since=2024-01-01&amp;until=2024-12-31\"",
        "← 2024",
        "<th scope=\"row\">Wed</th>",
    ] {
        assert!(year.contains(shown), "{shown}: {year}");
    }
    assert!(!year.contains(" →</a>"), "no year follows: {year}");
    let day = go("/web/timeline?day=2026-03-04");
    assert!(day.contains("Planted an oak") && day.contains("Watered it"), "{day}");
    assert!(day.contains("&lt;b&gt;loudly") && !day.contains("Rested"), "{day}");
    assert!(day.contains("title=\"3 entries on 2026-03-04\" aria-current=\"date\""), "{day}");
    let former = go("/web/timeline?since=2024-01-01&until=2024-12-31");
    assert!(former.contains("title=\"1 entry on 2024-02-29\""), "{former}");
    assert!(former.contains("2026 →"), "{former}");
    let empty = go("/web/timeline?since=2030-01-01&until=2030-12-31");
    assert!(empty.contains("Nothing is dated in this year"), "{empty}");
    // A change is counted at once.
    site.home.brain(["delete", "b"]).expect(0);
    assert!(go("/web/timeline?day=2026-03-04").contains("title=\"2 entries on 2026-03-04\""));
}

#[test]
fn timeline_days_counts_lines_of_a_period_and_a_source() {
    let site = Site::new();
    let dir = site.home.outside();
    site.home.brain(["sources", "add", "work", "--path", dir.to_str().unwrap()]).expect(0);
    site.home.put("a", "# A\n\n## Timeline\n\n- 2026-03-04 | x\n- 2026-05-01 | y\n");
    let text = b"# B\n\n## Timeline\n\n- 2026-03-04 | z\n";
    site.home.json_with(["put", "b", "--source", "work"], text);
    let days = site.home.json(["timeline", "--days", "--until", "2026-04-30"]);
    assert_eq!(days["days"], serde_json::json!([{ "date": "2026-03-04", "entries": 2 }]));
    assert_eq!((&days["before"], &days["after"]), (&().into(), &"2026-05-01".into()));
    let days = site.home.json(["timeline", "--days", "--source", "work"]);
    assert_eq!(days["days"], serde_json::json!([{ "date": "2026-03-04", "entries": 1 }]));
    let table = site.home.brain(["timeline", "--days"]).expect(0).stdout;
    assert!(table.contains("2026-05-01") && table.contains("DATE"), "{table}");
    assert_eq!(site.home.fault(["timeline", "a", "--days"], 2)["code"], "usage");
    // The calendar of a source counts only its pages.
    let mut browser = site.open();
    let path = "/web/timeline?since=2026-01-01&until=2026-12-31&source=work";
    let page = browser.send(&site.local, HttpRequest::get(path)).expect(200).body;
    assert!(page.contains("?day=2026-03-04&amp;source=work\" title=\"1 entry on"), "{page}");
}
