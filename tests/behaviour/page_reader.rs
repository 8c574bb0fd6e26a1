//! The reader in the owner's browser: rendered markdown, embeds, mentions, files.

use crate::page_view::assert_security_headers;
use crate::web::{Browser, HttpRequest, Site};

fn read(site: &Site, browser: &mut Browser, path: &str) -> String {
    let page = browser.send(&site.local, HttpRequest::get(path)).expect(200);
    assert_security_headers(&page);
    page.body
}

/// Asserts that the page contains all parts.
fn assert_shows(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn rich_markdown_is_shown() {
    let site = Site::new();
    site.home.put(
        "rich",
        "# Rich\n\nText[^1] and again[^1], with $a_b$.\n\n- [x] bought\n- [ ] paid\n\n\
         > [!note] Mind **the** gap\n> It is *wide*.\n\n> [!BUG]\n> Broken\n\n\
         | left | right |\n|:-----|------:|\n| a | 1 |\n\n\
         ```rust\nlet x = \"<b>\"; // why\n```\n\n\
         $$\n\\sum_i x_i\n$$\n\n[^1]: The *note*.\n",
    );
    let mut browser = site.open();
    let page = read(&site, &mut browser, "/page/rich");
    assert_shows(
        &page,
        &[
            "<sup id=\"r1\"><a href=\"#f1\" aria-label=\"Footnote 1\">1</a></sup> and again",
            "<div class=\"footnote\" id=\"f1\"><sup><a href=\"#r1\" aria-label=\"Back to",
            "The <em>note</em>.",
            "<code class=\"math\">$a_b$</code>",
            "\\sum_i x_i",
            "aria-label=\"done\">☑</span> bought",
            "aria-label=\"to do\">☐</span> paid",
            "<blockquote class=\"callout note\">\n<strong>Mind **the** gap</strong>",
            "It is <em>wide</em>.",
            "<blockquote class=\"callout caution\">\n<strong>Bug</strong>",
            "<th class=\"right\">right</th>",
            "<td class=\"right\">1</td>",
            "<span class=\"keyword\">let</span>",
            "<span class=\"string\">&quot;&lt;b&gt;&quot;</span>",
            "<span class=\"comment\">// why</span>",
        ],
    );
    assert!(!page.contains("[!"), "{page}");
    assert_eq!(page.matches("id=\"r1\"").count(), 1, "ids are unique");
}

#[test]
fn pages_are_embedded_one_level_deep() {
    let site = Site::new();
    let dir = site.home.outside();
    site.home.brain(["sources", "add", "work", "--path", dir.to_str().unwrap()]).expect(0);
    site.home.json_with(
        ["put", "plan", "--source", "work"],
        b"# The plan\n\nFirst *step*.\n\n## Later\n\nSecond.\n\n![[deep]]\n",
    );
    site.home.put("deep", "# Deep\n\nunder the surface\n");
    site.home.put("long", &format!("# Long\n\n{}", "a line of text\n".repeat(5000)));
    let token = site.home.token("w", "read write", &[]);
    let item = serde_json::json!({ "content": "# Evil\n\n<script>alert(1)</script>" });
    let item = HttpRequest::json("/ingest", &item).header("X-Brain-Slug", "evil").bearer(&token);
    site.local(&item);
    let deadline = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
    while site.home.brain(["get", "evil"]).code != 0 && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    site.home.put(
        "notes",
        "# Notes\n\nbefore ![[work:plan]] after\n\n![[evil]]\n\n![[long]]\n\n![[none/here]]\n\n\
         ![[notes]]\n\n![[deep#Nothing]]\n",
    );
    let mut browser = site.open();
    let page = read(&site, &mut browser, "/page/notes");
    assert_shows(
        &page,
        &[
            "<section class=\"embed\" aria-label=\"The plan\">",
            "First <em>step</em>.",
            "<a href=\"/page/work:deep\">deep</a>",
            "<span class=\"outside\">from outside</span>",
            "&lt;script&gt;alert(1)&lt;/script&gt;",
            "Read the whole page",
            "<a href=\"/page/default:none/here\">none/here</a>",
        ],
    );
    assert!(page.matches("a line of text").count() < 2000, "a long page is cut");
    assert_eq!(page.matches("under the surface").count(), 1, "the second level is a link");
    assert!(page.contains("<p>before </p>") && page.contains("<p> after</p>"), "{page}");
    // An embed that names a heading shows only its section.
    site.home.put("part", "# Part\n\n![[work:plan#Later]]\n");
    let page = read(&site, &mut browser, "/page/part");
    assert!(page.contains("Second.") && !page.contains("First"), "{page}");
}

#[test]
fn mentions_without_a_link_are_found() {
    let site = Site::new();
    site.home.put("people/ada", "# Ada Lovelace\n\nA page.\n");
    site.home.put("a", "# One\n\nYesterday Ada Lovelace <b>came</b> by.\n");
    site.home.put("b", "# Two\n\nI met [[people/ada|Ada Lovelace]].\n");
    site.home.put("c", "# Three\n\nAda was here, and a Lovelace.\n");
    let mut browser = site.open();
    let page = read(&site, &mut browser, "/page/people/ada");
    assert!(page.contains("href=\"/web/mentions/default:people/ada\""), "{page}");
    let found = read(&site, &mut browser, "/web/mentions/default:people/ada");
    assert!(found.contains("href=\"/page/default:a\"") && !found.contains("<b>"), "{found}");
    for other in ["default:b\"", "default:c\""] {
        assert!(!found.contains(other), "{other}: {found}");
    }
    let part = browser.send(&site.local, HttpRequest::get("/web/mentions/people/ada?part"));
    let part = part.expect(200).body;
    assert!(part.starts_with("<ul") && !part.contains("<html"), "{part}");
    site.home.put("x", "# X\n\nshort\n");
    assert!(read(&site, &mut browser, "/web/mentions/x").contains("None found"));
    browser.send(&site.local, HttpRequest::get("/web/mentions/none")).expect(404);
}

#[test]
fn a_page_opens_in_an_editor_and_today_has_a_note() {
    let site = Site::new();
    let dir = site.home.outside().join("my notes & more");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("a b.md"), "# A\n").unwrap();
    site.home.brain(["sources", "add", "work", "--path", dir.to_str().unwrap()]).expect(0);
    site.home.brain(["sync", "work"]).expect(0);
    let mut browser = site.open();
    let page = read(&site, &mut browser, "/page/work:a-b");
    let file = dir.canonicalize().unwrap().join("a b.md");
    let file = file.to_str().unwrap();
    let encoded = file.replace('/', "%2F").replace(' ', "%20").replace('&', "%26");
    assert_shows(&page, &[&format!("href=\"obsidian://open?path={encoded}\"")]);
    assert_shows(&page, &[&format!("data-copy=\"{}\"", file.replace('&', "&amp;"))]);

    let home = read(&site, &mut browser, "/");
    assert!(home.contains("action=\"/web/today\""), "{home}");
    let first = browser.change(&site, "/web/today", &[]).expect(303);
    let path = first.header("location").unwrap().to_owned();
    assert!(path.starts_with("/page/default:daily/"), "{path}");
    assert!(read(&site, &mut browser, &path).contains("<bdi>daily</bdi>"));
    let second = browser.change(&site, "/web/today", &[]).expect(303);
    assert_eq!(second.header("location"), Some(path.as_str()));
}

#[test]
fn days_narrow_a_search() {
    let site = Site::new();
    site.home.put("old", "---\nupdated: 2020-05-05\n---\n# Old\n\nzebra\n");
    site.home.put("new", "# New\n\nzebra\n");
    let mut browser = site.open();
    let found = read(&site, &mut browser, "/?q=zebra&since=2020-01-01&until=2020-12-31");
    assert!(found.contains("href=\"/page/old\"") && !found.contains("href=\"/page/new\""));
    assert_shows(
        &found,
        &[
            "name=\"since\" value=\"2020-01-01\"",
            "name=\"until\" value=\"2020-12-31\"",
            "from 2020-01-01",
            "href=\"/?q=zebra&amp;until=2020-12-31\"",
        ],
    );
    assert_eq!(found.matches("name=\"since\"").count(), 1, "the form has one field `since`");
    let list = read(&site, &mut browser, "/?until=2020-12-31");
    assert!(list.contains("href=\"/page/old\"") && !list.contains("href=\"/page/new\""));
    let bad = read(&site, &mut browser, "/?q=zebra&since=%22%3E%3Cscript%3E");
    assert!(bad.contains("role=\"alert\"") && !bad.contains("<script>"), "{bad}");
}

#[test]
fn an_address_in_the_text_is_a_link() {
    let site = Site::new();
    site.home.put(
        "links",
        "# Links\n\nSee https://a.example/x_y_z?q=1&r=2, (https://b.example/). \
         [here](https://c.example/) `https://code.example`\n\n    https://indented.example\n\n\
         ```\nhttps://fence.example\n```\n\nhttps://d.example/\"onclick=x\n",
    );
    let mut browser = site.open();
    let page = read(&site, &mut browser, "/page/links");
    let rel = "rel=\"noopener noreferrer nofollow\"";
    assert_shows(
        &page,
        &[
            &format!(
                "See <a href=\"https://a.example/x_y_z?q=1&amp;r=2\" {rel}>\
                 https://a.example/x_y_z?q=1&amp;r=2</a>, (<a href=\"https://b.example/\" {rel}>\
                 https://b.example/</a>)."
            ),
            &format!("<a href=\"https://c.example/\" {rel}>here</a>"),
            "<code>https://code.example</code>",
            "<pre><code>https://indented.example",
            "<pre><code>https://fence.example",
        ],
    );
    assert!(page.contains("https://d.example/</a>&quot;onclick=x"), "{page}");
}
