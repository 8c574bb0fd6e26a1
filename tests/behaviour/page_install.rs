//! The web interface as an installed app, shares from other apps, the palette, and the form for the
//! frontmatter.

use crate::page_view::assert_security_headers;
use crate::web::{HttpRequest, Site};

#[test]
fn the_manifest_names_icons_that_exist() {
    let site = Site::new();
    let answer = site.local(&HttpRequest::get("/web/manifest.webmanifest")).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/manifest+json"));
    let manifest: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    for key in ["name", "short_name", "start_url", "display", "id"] {
        assert!(manifest[key].is_string(), "{key}: {manifest}");
    }
    let mut sizes = Vec::new();
    for icon in manifest["icons"].as_array().unwrap() {
        let path = icon["src"].as_str().unwrap();
        let answer = brain_tests::http::call(site.local.parse().unwrap(), "GET", path, &[], b"");
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), icon["type"].as_str());
        if path.ends_with(".png") {
            // Width and height are in the first chunk of a PNG.
            assert_eq!(&answer.body[1..4], b"PNG");
            let number =
                |at: usize| u32::from_be_bytes(answer.body[at..at + 4].try_into().unwrap());
            sizes.push(format!("{}x{}", number(16), number(20)));
            assert_eq!(icon["sizes"], *sizes.last().unwrap());
        }
    }
    assert_eq!(sizes, ["192x192", "512x512"]);
    assert_eq!(manifest["share_target"]["action"], "/web/share");
    let mut browser = site.open();
    let home = browser.send(&site.local, HttpRequest::get("/")).expect(200);
    assert_security_headers(&home);
    assert!(home.body.contains("rel=\"manifest\" href=\"/web/manifest.webmanifest\""));
    site.public(&HttpRequest::get("/web/manifest.webmanifest")).expect(404);
    site.local(&HttpRequest::get("/web/icons/none.png")).expect(404);
}

#[test]
fn a_share_fills_the_form_and_writes_nothing() {
    let site = Site::new();
    let path = "/web/share?title=A+%22%3E%3Cscript%3E&text=Read+%3Cb%3Ethis&url=https%3A%2F%2Fe.example%2F%3Fa%3D1%26b";
    let signed_out = site.local(&HttpRequest::get(path)).expect(401);
    assert!(!signed_out.body.contains("Read"), "{}", signed_out.body);
    let mut browser = site.open();
    let form = browser.send(&site.local, HttpRequest::get(path)).expect(200);
    assert_security_headers(&form);
    for part in [
        "value=\"A &quot;&gt;&lt;script&gt;\"",
        "Read &lt;b&gt;this\n\nhttps://e.example/?a=1&amp;b</textarea>",
        "action=\"/web/capture\"",
        "name=\"csrf\"",
        "name=\"shared\"",
        "Keep",
    ] {
        assert!(form.body.contains(part), "{part}: {}", form.body);
    }
    assert_eq!(site.home.json(["status"])["pages"], 0, "nothing is stored");
    // A share menu can open the page as a link from another site; then the page loads itself once
    // more.
    let from_elsewhere = |path: &str| HttpRequest::get(path).header("Sec-Fetch-Site", "cross-site");
    let reload_page = site.local(&from_elsewhere("/web/share?text=x")).expect(200);
    assert!(reload_page.body.contains("url=/web/share?text=x&amp;again"), "{}", reload_page.body);
    site.local(&from_elsewhere("/web/share?text=x&again")).expect(401);

    let fields = [("title", "A <script>"), ("text", "Read this"), ("tags", "x"), ("shared", "1")];
    let captured = browser.change(&site, "/web/capture", &fields).expect(303);
    let page = browser.send(&site.local, HttpRequest::get(captured.header("location").unwrap()));
    let page = page.expect(200).body;
    assert!(page.contains("A &lt;script&gt;"));
    assert!(page.contains("This text came from outside"), "{page}");
    // What the owner types into the browser is the owner's.
    let fields = [("title", "Mine"), ("text", "My own words")];
    let captured = browser.change(&site, "/web/capture", &fields).expect(303);
    let page = browser.send(&site.local, HttpRequest::get(captured.header("location").unwrap()));
    assert!(!page.expect(200).body.contains("This text came from outside"));
}

#[test]
fn the_palette_lists_screens_and_actions() {
    let site = Site::new();
    let mut browser = site.open();
    let home = browser.send(&site.local, HttpRequest::get("/")).expect(200).body;
    let (_, palette) = home.split_once("<dialog id=\"palette\"").unwrap();
    for part in [
        "role=\"combobox\"",
        "aria-controls=\"palette-list\"",
        "role=\"listbox\"",
        "data-href=\"/web/new\"",
        "data-href=\"/web/timeline\"",
        "data-href=\"/web/queue\"",
        "data-href=\"/web/configuration\"",
        "data-action=\"capture\"",
        "data-action=\"today\"",
        "data-action=\"sign-out\"",
    ] {
        assert!(palette.contains(part), "{part}: {palette}");
    }
    assert_eq!(
        palette.matches("data-href=\"/web/status\"").count(),
        1,
        "the palette lists each screen once"
    );
}

#[test]
fn the_form_for_the_frontmatter_edits_the_text() {
    let site = Site::new();
    site.home.put("p", "---\ntitle: Old\ntags: [a]\nother: kept\n---\n\nBody\n");
    let mut browser = site.open();
    let edit = browser.send(&site.local, HttpRequest::get("/web/edit/p")).expect(200);
    assert_security_headers(&edit);
    for part in ["name=\"field-title\" value=\"Old\"", "name=\"shown-tags\" value=\"a\""] {
        assert!(edit.body.contains(part), "{part}: {}", edit.body);
    }
    let text = site.home.json(["get", "p"])["content"].as_str().unwrap().to_owned();
    let mut fields = vec![
        ("name", "default:p"),
        ("version", "1"),
        ("text", text.as_str()),
        ("field-title", "New: <b>"),
        ("shown-title", "Old"),
        ("field-type", ""),
        ("shown-type", ""),
        ("field-tags", "a, b"),
        ("shown-tags", "a"),
        ("field-aliases", "Nova"),
        ("shown-aliases", ""),
        ("action", "save"),
    ];
    let applied = browser.change(&site, "/web/fields", &fields).expect(200).json();
    assert_eq!(applied["fields"]["title"], "New: <b>", "{applied}");
    assert!(applied["text"].as_str().unwrap().contains("other: kept"), "{applied}");
    assert_eq!(site.home.json(["get", "p"])["version"], 1, "nothing is saved yet");
    // Without JavaScript, the form is merged into the text by the save.
    browser.change(&site, "/web/save", &fields).expect(303);
    let page = site.home.json(["get", "p"]);
    assert_eq!(page["title"], "New: <b>");
    assert_eq!(page["tags"], serde_json::json!(["a", "b"]));
    assert_eq!(page["aliases"], serde_json::json!(["Nova"]));
    assert!(page["content"].as_str().unwrap().contains("other: kept"), "{page}");
    // A text with invalid frontmatter is not saved, and the form keeps it.
    fields[1].1 = "2";
    fields[2].1 = "---\ntitle: [\n---\nmine\n";
    let refused = browser.change(&site, "/web/save", &fields).expect(422);
    assert!(refused.body.contains("role=\"alert\"") && refused.body.contains("mine"));
    let tags = browser.send(&site.local, HttpRequest::get("/web/complete?kind=tag&text=b"));
    assert_eq!(tags.expect(200).json()[0][0], "b");
    let new = [("text", "# Ada Lovelace\n")];
    let applied = browser.change(&site, "/web/fields", &new).expect(200).json();
    assert_eq!(applied["slug"], "ada-lovelace");
}
