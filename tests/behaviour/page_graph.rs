//! The graph in the owner's browser, and `brain graph --all`.

use brain_tests::http;
use serde_json::json;

use crate::page_view::assert_security_headers;
use crate::web::{Browser, HttpRequest, Site};

/// The data of the drawing.
struct GraphData {
    pages: usize,
    links: usize,
    /// The numbers of the two pages of each link, one after the other.
    link_ends: Vec<u32>,
    /// The number of links of each page.
    degrees: Vec<u32>,
    /// The name and the title of each page, separated by a line feed.
    names: Vec<String>,
}

/// Requests the data of the drawing: a head of 16 bytes, the ends of the links, 18 bytes for each
/// page, and the names.
fn graph_data(site: &Site, browser: &Browser, query: &str) -> GraphData {
    let (name, value) = browser.cookies.first().expect("no session cookie");
    let (path, cookie) = (format!("/web/graph/data{query}"), format!("{name}={value}"));
    let address = site.local.parse().unwrap();
    let answer = http::call(address, "GET", &path, &[("Cookie", &cookie)], b"").expect(200);
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let bytes = answer.body;
    assert_eq!(&bytes[..4], b"brg1");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let count = |at: usize| number(at) as usize;
    let (pages, links, names_length) = (count(4), count(8), count(12));
    assert_eq!(bytes.len(), 16 + 8 * links + 18 * pages + names_length, "{path}");
    let pages_at = 16 + 8 * links;
    let text = &bytes[bytes.len() - names_length..];
    let name_ends: Vec<usize> = (0..pages).map(|at| count(pages_at + 8 * pages + 4 * at)).collect();
    let starts = std::iter::once(0).chain(name_ends.iter().copied());
    let name = |(from, to): (usize, &usize)| String::from_utf8(text[from..*to].to_vec()).unwrap();
    GraphData {
        pages,
        links,
        link_ends: (0..2 * links).map(|at| number(16 + 4 * at)).collect(),
        degrees: (0..pages).map(|at| number(pages_at + 4 * at)).collect(),
        names: starts.zip(&name_ends).map(name).collect(),
    }
}

/// Returns the titles of the table's rows, in their order.
fn rows(page: &str) -> Vec<String> {
    let (_, body) = page.split_once("<tbody>").expect("no table");
    let cells = body.split("<td class=\"links\">").skip(1);
    cells
        .map(|row| row.split_once("<bdi>").unwrap().1.split_once("</bdi>").unwrap().0.to_owned())
        .collect()
}

fn screen(site: &Site, browser: &mut Browser, query: &str) -> String {
    let path = format!("/web/graph{query}");
    let page = browser.send(&site.local, HttpRequest::get(&path)).expect(200);
    assert_security_headers(&page);
    page.body
}

#[test]
fn the_table_lists_the_most_linked_pages_first() {
    let site = Site::new();
    site.home.put("hub", "---\ntitle: Hub\ntype: idea\n---\n[[hub]] [[one]] [[nowhere]]\n");
    for leaf in ["one", "two", "three"] {
        let text =
            format!("---\ntype: note\ntags: [leaf]\n---\n# {leaf}\n[[hub]] [[hub]] [[HUB]]\n");
        site.home.put(leaf, &text);
    }
    site.home.put("old", "---\ntitle: Old\ntype: note\ncreated: 2001-02-03\n---\nalone\n");
    site.home.put(
        "evil",
        "---\ntitle: \"<script>alert(1)</script>\\u202e\"\ntype: note\n---\n[[one]]\n",
    );
    let mut browser = site.open();
    let page = screen(&site, &mut browser, "");
    let evil = "&lt;script&gt;alert(1)&lt;/script&gt;\u{fffd}";
    assert_eq!(rows(&page), ["Hub", "one", evil, "three", "two", "Old"], "{page}");
    assert!(page.contains("6 pages") && page.contains("<td class=\"links\">4</td>"), "{page}");
    assert!(
        page.contains("aria-current=\"page\">Graph</a>"),
        "the navigation has no graph: {page}"
    );
    let all = graph_data(&site, &browser, "");
    assert_eq!((all.pages, all.links), (6, 5), "{:?}", all.names);
    assert_eq!(all.degrees, [4, 3, 1, 1, 1, 0]);
    assert_eq!(all.names[0], "default:hub\nHub");
    assert_eq!(all.names[2], "default:evil\n<script>alert(1)</script>\u{fffd}");
    let pairs: Vec<(u32, u32)> = all.link_ends.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    assert!(pairs.contains(&(0, 1)) && pairs.contains(&(1, 0)), "{pairs:?}");

    let ideas_only = screen(&site, &mut browser, "?type=idea");
    assert_eq!(rows(&ideas_only), ["Hub"]);
    assert!(ideas_only.contains("<option value=\"idea\" selected>"), "{ideas_only}");
    assert_eq!(graph_data(&site, &browser, "?type=idea").links, 0);
    assert_eq!(rows(&screen(&site, &mut browser, "?tag=%23leaf")), ["one", "three", "two"]);
    assert_eq!(rows(&screen(&site, &mut browser, "?until=2001-02-03")), ["Old"]);
    let none = screen(&site, &mut browser, "?until=2001-02-02");
    assert!(none.contains("0 pages") && !none.contains("<table"), "{none}");
    assert_eq!(rows(&screen(&site, &mut browser, "?source=default&type=note")).len(), 5);
    for (bad, status) in [("?until=today", 400), ("?source=none", 404), ("?page=none", 404)] {
        for path in ["/web/graph", "/web/graph/data"] {
            let refused = browser.send(&site.local, HttpRequest::get(&format!("{path}{bad}")));
            assert!(refused.expect(status).body.contains("role=\"alert\""), "{path}{bad}");
        }
    }
    site.local(&HttpRequest::get("/web/graph/data")).expect(401);
    site.public(&HttpRequest::get("/web/graph/data")).expect(404);

    let command = site.home.json(["graph", "--all", "--type", "idea"]);
    assert_eq!(command["nodes"][0]["slug"], "hub");
    assert_eq!((&command["nodes"][0]["links"], &command["total"]), (&json!(4), &json!(1)));
    assert_eq!(site.home.fault(["graph", "--all", "hub"], 2)["code"], "usage");
    assert_eq!(site.home.fault(["graph"], 2)["code"], "usage");
}

#[test]
fn a_write_changes_the_graph() {
    let site = Site::new();
    site.home.put("a", "# A\n[[b]]\n");
    site.home.put("b", "# B\n");
    let mut browser = site.open();
    let before = graph_data(&site, &browser, "");
    assert_eq!((before.pages, before.links), (2, 1));
    assert_eq!(graph_data(&site, &browser, "").names, before.names);
    site.home.put("c", "# C\n[[b]]\n");
    let after = graph_data(&site, &browser, "");
    assert_eq!((after.pages, after.links), (3, 2));
    assert_eq!(after.names[0], "default:b\nB");
    assert_eq!(rows(&screen(&site, &mut browser, "")), ["B", "A", "C"]);
    site.home.brain(["delete", "b"]).expect(0);
    let without_b = graph_data(&site, &browser, "");
    assert_eq!((without_b.pages, without_b.links), (2, 0), "{:?}", without_b.names);
    assert!(!screen(&site, &mut browser, "").contains(">B<"));
}

#[test]
fn depth_limits_the_neighbourhood_of_a_page() {
    let site = Site::new();
    site.home.put("a", "# A\n[[b]] [[evil]]\n");
    site.home.put("b", "# B\n[[c]] [[a]]\n");
    site.home.put("c", "# C\n[[d]]\n");
    site.home.put("d", "# D\n");
    site.home.put("evil", "---\ntitle: \"\\\"><script>alert(1)</script>\"\n---\nx\n");
    site.home.put("alone", "# Alone\n");
    let mut browser = site.open();
    let mut neighbours = |depth: &str| {
        let query = format!("?page=default:a{depth}");
        let mut titles = rows(&screen(&site, &mut browser, &query));
        titles.sort();
        titles
    };
    assert_eq!(neighbours("&depth=1").len(), 3);
    assert_eq!(neighbours("")[1..], ["A", "B", "C"]);
    assert_eq!(neighbours("&depth=3").len(), 5);
    assert_eq!(graph_data(&site, &browser, "?page=a&depth=1").pages, 3);
    let page = screen(&site, &mut browser, "?page=default:a");
    assert!(page.contains("data-centre=\"default:a\"") && page.contains("All pages"), "{page}");

    let reader = browser.send(&site.local, HttpRequest::get("/page/a")).expect(200);
    assert_security_headers(&reader);
    let (_, drawing) =
        reader.body.split_once("<svg class=\"neighbours\"").expect("no drawing of the neighbours");
    let drawing = drawing.split_once("</svg>").unwrap().0;
    assert!(drawing.contains("<a href=\"/page/default:b\""), "{drawing}");
    assert!(drawing.contains("B (linked both ways)"), "{drawing}");
    assert!(drawing.contains("&lt;script&gt;alert(1)"), "{drawing}");
    assert!(reader.body.contains("href=\"/web/graph?page=default%3Aa\""), "{}", reader.body);
    let alone = browser.send(&site.local, HttpRequest::get("/page/alone")).expect(200);
    assert!(!alone.body.contains("<svg"), "{}", alone.body);
}
