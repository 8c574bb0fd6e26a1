use std::fs;
use std::io::Write as _;

use brain_convert_testing::{Converted, directory};
use brain_page::{body_tags, headings, todos};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::FORMATS;

fn convert(name: &str, text: &str) -> Converted {
    let directory = directory(&[(name, text)]);
    Converted::of(&FORMATS, &directory.path().join(name))
}

fn fixture(name: &str) -> std::path::PathBuf {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/bookmarks");
    std::path::Path::new(fixtures).join(name)
}

#[test]
fn im19_dates_of_any_unit_are_read() {
    let found = convert(
        "b.html",
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n\
        <DT><A HREF=\"https://a.example/\" ADD_DATE=\"1250000000\">A</A>\n\
        <DT><A HREF=\"https://b.example/\" ADD_DATE=\"1250000000588\">B</A>\n\
        <DT><A HREF=\"https://c.example/\" ADD_DATE=\"1250000000588170\">C</A>\n\
        <DT><A HREF=\"https://d.example/\" ADD_DATE=\"12894473600588170\">D</A>\n\
        <DT><A HREF=\"https://e.example/\">E</A>\n\
        <DT><A HREF=\"https://f.example/\" ADD_DATE=\"0\">F</A>\n\
        <DT><A HREF=\"https://g.example/\" ADD_DATE=\"2009-08-11T16:13:20+02:00\">G</A>\n</DL><p>\n",
    );
    assert_eq!(found.format, "bookmarks");
    assert_eq!(
        found.page("Bookmarks"),
        "---\ntitle: \"Bookmarks\"\n---\n\n\
         - [A](https://a.example/) · 2009-08-11 14:13:20 UTC\n\
         - [B](https://b.example/) · 2009-08-11 14:13:20 UTC\n\
         - [C](https://c.example/) · 2009-08-11 14:13:20 UTC\n\
         - [D](https://d.example/) · 2009-08-11 14:13:20 UTC\n\
         - [E](https://e.example/)\n- [F](https://f.example/)\n\
         - [G](https://g.example/) · 2009-08-11 14:13:20 UTC\n"
    );
    assert!(found.lost().is_empty() && found.error.is_none());
}

#[test]
fn firefox_gives_the_same_pages_in_each_of_its_formats() {
    let html = Converted::of(&FORMATS, &fixture("firefox.html"));
    let json = Converted::of(&FORMATS, &fixture("firefox.json"));
    let packed = Converted::of(&FORMATS, &fixture("firefox.jsonlz4"));
    let paths = [
        "Bookmarks",
        "Bookmarks/Weirs & -locks-",
        "Bookmarks/Weirs & -locks-/Nested",
        "Bookmarks/Bookmarks Toolbar",
        "Bookmarks/Other Bookmarks",
    ];
    for found in [&html, &json, &packed] {
        assert_eq!(found.paths(), paths);
        let page = found.page("Bookmarks/Weirs & -locks-");
        assert!(
            page.starts_with(
                "---\ntitle: \"Weirs & <locks>\"\ncreated: 2019-05-01T10:00:00Z\n---\n\n\
            - [The \"old\" weir \\[map\\] & more](https://weir.example/a_%28b%29?x=1&y=2#top) \
            · 2020-02-03 04:05:06 UTC · #old-stone · #weir\n\n---\n\n- <https://no-title.example/>"
            ),
            "{page}"
        );
        assert!(
            page.contains("Folders:\n\n- [[Bookmarks/Weirs & -locks-/Nested|Nested]]\n"),
            "{page}"
        );
        let page = found.page("Bookmarks/Weirs & -locks-/Nested");
        assert!(
            page.contains("[Snow ❄ \\#1](https://snow.example/) · ")
                && page.contains(" · keyword: snow"),
            "{page}"
        );
        assert!(
            found.page("Bookmarks").contains("- Script `javascript:(function(){alert('x')})()`")
        );
        assert_eq!(found.lost().len(), 1, "{:?}", found.lost());
        assert!(
            found.lost()[0].ends_with(", Recent tags: it is a search of Firefox, and no address")
        );
    }
}

#[test]
fn the_profile_of_chromium_is_read() {
    let found = Converted::of(&FORMATS, &fixture("Bookmarks"));
    assert_eq!(
        found.paths(),
        [
            "Bookmarks",
            "Bookmarks/Bookmarks bar",
            "Bookmarks/Bookmarks bar/Weirs & -locks-",
            "Bookmarks/Bookmarks bar/Weirs & -locks-/Nested",
            "Bookmarks/Other bookmarks"
        ]
    );
    let page = found.page("Bookmarks/Bookmarks bar/Weirs & -locks-");
    assert!(page.contains("created: 2026-11-30T08:37:34.135225Z"), "{page}");
    assert!(
        page.contains(
            "more](https://weir.example/a_%28b%29?x=1&y=2#top) · 2026-11-30 08:37:34 UTC"
        ),
        "{page}"
    );
    assert!(found.lost().is_empty() && found.error.is_none());
}

#[test]
fn descriptions_and_other_marks_are_kept_as_plain_text() {
    let found = convert(
        "d.html",
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>B</TITLE><H1>B</H1>\n<DL><p>\n\
        <DT><H3>Work</H3>\n<DD># of all\n<DL><p>\n\
        <DT><A HREF=\"https://a.example/\" TAGS=\"c++,2019,a b\" PRIVATE=\"1\" \
        ICON=\"data:image/png;base64,AAAA\">A</A>\n\
        <DD>- [ ] no task<br>## no heading [[x]]\n\n\
        <DT><A HREF=\"https://b.example/\">B *b*</A>\n</DL><p>\n</DL><p>\n",
    );
    let page = found.page("Bookmarks/Work");
    assert!(
        page.ends_with(
            "tags: [\"2019\", \"c++\"]\n---\n\n\\# of all\n\n\
        - [A](https://a.example/) · private · tag: c++ · tag: 2019 · #a-b\n  \\- \\[ \\] no \
        task  \n  \
        \\#\\# no heading \\[\\[x\\]\\]\n- [B \\*b\\*](https://b.example/)\n"
        ),
        "{page}"
    );
    assert!(!page.contains("AAAA"), "{page}");
    let body = page.split("---\n").last().unwrap();
    assert!(headings(body).is_empty() && todos(body).is_empty(), "{page}");
    assert_eq!(body_tags(body), ["a-b"]);
}

#[test]
fn pocket_is_read_as_html_and_as_a_table() {
    let html = convert(
        "ril_export.html",
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"UTF-8\" />\n\
        <title>Pocket Export</title>\n</head>\n<body>\n<h1>Unread</h1>\n<ul>\n\
        <li><a href=\"https://a.example/\" time_added=\"1250000000\" tags=\"weir,old\">A &amp; \
        a</a></li>\n\
        </ul>\n\n<h1>Read Archive</h1>\n<ul>\n\
        <li><a href=\"https://b.example/\" time_added=\"1250000000\" tags=\"\">B</a></li>\n</ul>\n\
        </body>\n</html>\n",
    );
    let directory = directory(&[
        (
            "part_000000.csv",
            "title,url,time_added,tags,status\n\
        A & a,https://a.example/,1250000000,weir|old,unread\n\
        B,https://b.example/,1250000000,,archive\n\
        https://c.example/,https://c.example/,1250000000,,unread\nno address,,,,\n",
        ),
        ("annotations/part_000000.json", "[]"),
    ]);
    let table = Converted::of(&FORMATS, directory.path());
    for found in [&html, &table] {
        assert_eq!(found.format, "bookmarks");
        assert_eq!(found.paths(), ["Bookmarks", "Bookmarks/Unread", "Bookmarks/Read Archive"]);
        let line = "- [A & a](https://a.example/) · 2009-08-11 14:13:20 UTC · #weir · #old";
        assert!(found.page("Bookmarks/Unread").contains(line));
        assert!(found.page("Bookmarks/Read Archive").contains("- [B](https://b.example/)"));
        assert_eq!(found.error, None);
    }
    assert!(table.page("Bookmarks/Unread").contains("- <https://c.example/>"));
    assert_eq!(
        table.lost(),
        [
            "annotations/part_000000.json: this file of the export is not read",
            "part_000000.csv, row 4: it has no address"
        ]
    );
}

#[test]
fn a_table_of_raindrop_is_read() {
    let found = convert(
        "raindrop.csv",
        "id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite\n\
        1,Weir,\"my note\nin two lines\",An excerpt,https://w.example/,Water / Old,\"weir, old \
        stone\",\
        2023-04-05T06:07:08.000Z,https://w.example/c.png,,true\n",
    );
    assert_eq!(found.paths(), ["Bookmarks", "Bookmarks/Water", "Bookmarks/Water/Old"]);
    let page = found.page("Bookmarks/Water/Old");
    assert!(
        page.contains(
            "- [Weir](https://w.example/) · 2023-04-05 06:07:08 UTC · favourite · \
    #weir · #old-stone\n  \
        An excerpt\n\n  my note  \n  in two lines\n"
        ),
        "{page}"
    );
}

#[test]
fn files_that_are_cut_give_what_is_whole_and_an_error() {
    for name in ["firefox.html", "firefox.json", "firefox.jsonlz4", "Bookmarks"] {
        let whole = fs::read(fixture(name)).unwrap();
        for tenth in 5..10 {
            let directory = directory(&[]);
            let path = directory.path().join(name);
            fs::write(&path, &whole[..whole.len() * tenth / 10]).unwrap();
            let found = Converted::of(&FORMATS, &path);
            assert!(found.error.is_some(), "{name} {tenth}");
            assert!(name != "firefox.html" || found.paths().contains(&"Bookmarks"), "{tenth}");
        }
    }
}

#[test]
fn deep_folders_and_strange_names_are_bounded() {
    let mut html = String::from("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>");
    for number in 0..3000 {
        html.push_str(&format!("<DT><H3>..{number}</H3><DL><p>"));
    }
    html.push_str("<DT><A HREF=\"\">x</A><DT><A HREF=\"no scheme\">../../y</A>");
    html.push_str(&"</DL><p>".repeat(3001));
    let found = convert("deep.html", &html);
    assert_eq!(found.error, None);
    assert_eq!(found.paths().len(), 3001);
    assert!(found.paths().iter().all(|path| path.len() < 700 && !path.contains("..")));
    let last = found.page(found.paths().last().unwrap());
    assert!(last.contains("- x ``") && last.contains("- ../../y `no scheme`"), "{last}");
}

#[test]
fn a_large_folder_becomes_several_pages() {
    let mut html = String::from("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>\n");
    for number in 0..9_000 {
        html.push_str(&format!(
            "<DT><A HREF=\"https://x.example/{number}\" ADD_DATE=\"1250000000\">\
            A label {}</A>\n",
            "word ".repeat(120)
        ));
    }
    html.push_str("</DL><p>");
    let found = convert("large.html", &html);
    assert_eq!(found.paths(), ["Bookmarks", "Bookmarks (part 2)"]);
    let links = |path: &str| found.page(path).matches("\n- [A label").count();
    assert_eq!(links("Bookmarks") + links("Bookmarks (part 2)"), 9_000);
}

#[test]
fn the_archive_of_safari_is_read() {
    let file = tempfile::NamedTempFile::with_suffix(".zip").unwrap();
    let mut archive = ZipWriter::new(fs::File::create(file.path()).unwrap());
    let bookmarks = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<HTML><DT><H3 FOLDED>Boats</H3><DL><p>\
                     <DT><A HREF=\"https://a.example/\">A</A></DL><p></HTML>";
    for (name, text) in
        [("Safari Export/Bookmarks.html", bookmarks), ("Safari Export/History.json", "{}")]
    {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
    let found = Converted::of(&FORMATS, file.path());
    assert_eq!((found.format, found.error.as_deref()), ("bookmarks", None));
    assert!(found.page("Bookmarks/Boats").ends_with("- [A](https://a.example/)\n"));
    assert_eq!(found.lost(), ["Safari Export/History.json: this file of the export is not read"]);
}
