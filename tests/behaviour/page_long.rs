//! Long pages, and pages with much beside them, in the browser: shown in parts and in short lists.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::page_view::assert_security_headers;
use crate::web::{Browser, HttpRequest, Site};

fn read(site: &Site, browser: &mut Browser, path: &str) -> String {
    let page = browser.send(&site.local, HttpRequest::get(path)).expect(200);
    assert_security_headers(&page);
    page.body
}

/// Returns the text between `from` and the next `to`, or an empty text if one is missing.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split_once(from).and_then(|(_, rest)| rest.split_once(to)).map_or("", |(found, _)| found)
}

#[test]
fn a_long_page_is_shown_in_parts() {
    let site = Site::new();
    let mut text = "# Long\n\nSee [the site][home].\n\n".to_owned();
    for chapter in 1..=20 {
        write!(text, "## Chapter {chapter} *x*\n\n").unwrap();
        text += &format!("Words of chapter {chapter}, and more words.\n\n").repeat(600);
    }
    text += "[home]: https://home.example/\n";
    site.home.put("long", &text);
    let mut browser = site.open();
    let first = read(&site, &mut browser, "/page/long");
    assert!(first.len() < 600_000, "{}", first.len());
    assert!(first.contains("href=\"https://home.example/\""), "defined in the last part");
    let count: usize = between(&first, "Part 1 of ", "<").parse().unwrap();
    assert!((3..6).contains(&count), "{count}");
    assert!(first.contains("<a class=\"chip\" rel=\"next\" href=\"/page/default:long?part=2\">"));

    // Every heading is in the outline, and its link leads to the part that has it.
    let outline = between(&first, "<nav class=\"outline\"", "</nav>");
    assert_eq!(outline.matches("<li").count(), 20, "{outline}");
    let (mut chapters, mut shown) = (0, HashMap::new());
    for (number, link) in outline.split("<a href=\"").skip(1).enumerate() {
        let (href, rest) = link.split_once('"').unwrap();
        let title = between(rest, "<bdi>", "</bdi>");
        assert_eq!(title, format!("Chapter {} x", number + 1));
        let (path, id) = href.split_once('#').unwrap();
        let path = if path.is_empty() { "/page/long" } else { path };
        let load = || read(&site, &mut browser, path);
        let part = shown.entry(path.to_owned()).or_insert_with(load);
        let heading = between(part, &format!("id=\"{id}\">"), "</h2>");
        assert_eq!(heading, format!("Chapter {} <em>x</em>", number + 1), "{href}");
        chapters += 1;
    }
    assert_eq!(chapters, 20);

    // Nothing is lost or shown twice, and a number after the last part shows the last part.
    let parts: Vec<String> = (1..=count)
        .map(|part| read(&site, &mut browser, &format!("/page/default:long?part={part}")))
        .collect();
    let shown: usize = parts.iter().map(|part| part.matches("Words of chapter").count()).sum();
    assert_eq!(shown, 20 * 600);
    assert!(parts[1].contains("rel=\"prev\" href=\"/page/default:long\""), "the first part");
    assert!(!parts[count - 1].contains("rel=\"next\""));
    let last = read(&site, &mut browser, "/page/default:long?part=999");
    assert!(last.contains(&format!("Part {count} of {count}")));

    // A former version has parts, too.
    site.home.put("long", "# Long\n\nshort now\n");
    let former = read(&site, &mut browser, "/page/default:long?version=1&part=2");
    assert!(former.contains("Part 2 of ") && former.contains("version=1&amp;part=3"));
    assert!(!read(&site, &mut browser, "/page/long").contains("Part 1 of"));
}

#[test]
fn a_page_with_many_links_is_answered_in_parts() {
    let site = Site::new();
    site.home.put("notes/page-7", "# Seven\n");
    let links: Vec<String> = (0..10_000).map(|n| format!("[[page-{n}]]")).collect();
    site.home.put("linked", &format!("# Linked\n\n{}\n", links.join("\n")));
    let mut browser = site.open();
    let page = read(&site, &mut browser, "/page/linked");
    assert!(page.len() < 1_500_000 && page.contains("Next part"), "{}", page.len());
    assert!(page.contains("<a href=\"/page/default:notes/page-7\""), "found by its name");
    assert!(page.contains("<a href=\"/page/default:page-8\""), "a page that is not written yet");
    let count: usize = between(&page, "Part 1 of ", "<").parse().unwrap();
    let last = read(&site, &mut browser, &format!("/page/linked?part={count}"));
    assert!(last.contains("<a href=\"/page/default:page-9999\""));
}

#[test]
fn long_code_and_tables_continue_in_the_next_part() {
    let site = Site::new();
    let code = "let x = \"*[]*\";\n".repeat(6_000);
    let rows = "| a | [[b]] |\n".repeat(6_000);
    site.home.put("code", &format!("# Code\n\n```rust\n{code}```\n\n| x | y |\n|--|--|\n{rows}"));
    let mut browser = site.open();
    let first = read(&site, &mut browser, "/page/code");
    let count: usize = between(&first, "Part 1 of ", "<").parse().unwrap();
    let (mut lines, mut cells) = (0, 0);
    for part in 1..=count {
        let page = read(&site, &mut browser, &format!("/page/code?part={part}"));
        let article = between(&page, "<article", "</article>");
        assert!(!article.contains("|--|") && !article.contains("```"), "part {part}");
        lines += between(article, "<pre><code>", "</code>").matches("*[]*").count();
        cells += article.matches("<td>a</td>").count();
    }
    assert_eq!((lines, cells), (6_000, 6_000));
}

#[test]
fn many_tags_and_links_to_a_page_are_shown_in_short_lists() {
    let site = Site::new();
    let tags: Vec<String> = (0..10_000).map(|n| format!("t{n:x}")).collect();
    site.home.put("tagged", &format!("---\ntags: [{}]\n---\nwords\n", tags.join(",")));
    let dir = site.home.outside().join("hub");
    std::fs::create_dir_all(&dir).unwrap();
    for n in 0..150 {
        std::fs::write(dir.join(format!("p{n}.md")), format!("# P{n}\n\nTo [[hub]].\n")).unwrap();
    }
    std::fs::write(dir.join("hub.md"), "# Hub\n\nwords\n").unwrap();
    site.home.json(["import", dir.to_str().unwrap()]);
    let mut browser = site.open();
    let page = read(&site, &mut browser, "/page/tagged");
    assert_eq!(page.matches("class=\"chip\"").count(), 100);
    assert!(page.contains("href=\"/page/default:tagged?tags=all\">All 10000 tags</a>"), "{page}");
    let page = read(&site, &mut browser, "/page/tagged?tags=all");
    assert_eq!(page.matches("class=\"chip\"").count(), 10_000);

    let page = read(&site, &mut browser, "/page/hub");
    let links = between(&page, "<h2>Links to this page</h2>", "</section>");
    assert_eq!(links.matches("<li>").count(), 24, "{links}");
    assert_eq!(links.matches("To hub.").count(), 24, "{links}");
    assert!(links.contains("<summary>12 more</summary>"), "{links}");
    assert!(links.contains("href=\"/web/links/default:hub\">All links to this page</a>"));
    let all = read(&site, &mut browser, "/web/links/default:hub");
    assert_eq!(all.matches("<li><a href=\"/page/default:p").count(), 150, "{all}");
    browser.send(&site.local, HttpRequest::get("/web/links/none")).expect(404);
}
