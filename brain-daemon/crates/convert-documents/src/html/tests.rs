use brain_convert_testing::Converted;

use crate::FORMATS;

fn converted(name: &str, html: &[u8]) -> Converted {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, html).unwrap();
    Converted::of(&FORMATS, &path)
}

#[test]
fn a_page_has_its_title_author_and_date() {
    let html = "<html><head><title>The weir</title><meta name=author content='Ilse Brandt'>\
                <meta property='article:published_time' content='2026-03-04T09:00:00Z'></head>\
                <body><p>It leaked. <a href='https://weirs.example/'>More</a></p>\
                <ul><li>a<ul><li>b</li></ul></li></ul></body></html>";
    let converted = converted("page.html", html.as_bytes());
    let page = converted.page("page");
    for part in [
        "title: \"The weir\"\ncreated: 2026-03-04T09:00:00Z\n",
        "\"Ilse Brandt\"",
        "It leaked. [More](https://weirs.example/)",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert_eq!(converted.files()[0].1, "page.html");
}

#[test]
fn without_a_date_there_is_none() {
    let converted = converted("page.html", b"<!doctype html><h1>Kettle</h1><p>M\xfcller</p>");
    let page = converted.page("page");
    assert!(page.contains("title: \"Kettle\"") && page.contains("Müller"), "{page}");
    assert!(!page.contains("created:") && !page.contains("updated:"), "{page}");
}

#[test]
fn a_title_from_a_heading_has_no_marks() {
    let converted = converted("page.html", b"<html><h2>Snake_case *x* | <b>#1</b></h2><p>a</p>");
    let page = converted.page("page");
    assert!(page.contains("title: \"Snake_case *x* | #1\""), "{page}");
}

#[test]
fn pictures_in_the_page_are_files() {
    let html = "<html><body><p>Lamp <img alt='red' src=\"data:image/png;base64,iVBORw0KGgo=\"> \
                <img src='data:image/png;base64,iVBORw0KGgo='><img src='beside.png'></p></body>";
    let converted = converted("page.html", html.as_bytes());
    let page = converted.page("page");
    assert_eq!(page.matches("(picture-1.png)").count(), 2, "{page}");
    let files = converted.files();
    assert_eq!(files.len(), 2);
    assert_eq!((files[1].1, &files[1].2[..]), ("picture-1.png", &b"\x89PNG\r\n\x1a\n"[..]));
    assert_eq!(converted.lost(), ["page.html: its picture beside.png is not in the file"]);
}

#[test]
fn pictures_of_a_saved_page_do_not_begin_at_its_address() {
    for head in [
        "<link rel=canonical href='https://x.example/d/page'>",
        "<base href='https://x.example/d/'>",
    ] {
        let html = format!(
            "<html><head>{head}</head><body><a href=a.html>a</a> \
             <img alt='red' src=\"data:image/png;base64,iVBORw0KGgo=\"></body></html>"
        );
        let converted = converted("page.html", html.as_bytes());
        let page = converted.page("page");
        assert!(page.contains("[a](https://x.example/d/a.html) ![red](picture-1.png)"), "{page}");
    }
}

#[test]
fn text_that_the_page_hides_is_left_out() {
    let html = "<html><body><p>Seen</p><div style=\"display:none\">two words</div>\
                <p hidden>one</body></html>";
    let converted = converted("page.html", html.as_bytes());
    assert!(converted.page("page").ends_with("---\n\nSeen\n"));
    assert_eq!(converted.lost(), ["page.html: text that it hides is left out: 3 words"]);
}

#[test]
fn a_cut_or_empty_page_does_not_fail() {
    let html = "<html><body><h1>One</h1><table><tr><td>two<td>three</table><p>four</p></html>";
    for tenth in 0..10 {
        let converted = converted("page.html", &html.as_bytes()[..html.len() * tenth / 10 + 6]);
        assert_eq!(converted.error, None, "{tenth}");
    }
}

#[test]
fn im05_empty_elements_of_xhtml_end() {
    let html = "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"><head>\
        <title/><script src=\"k.js\"/></head><body><h1><a id=\"p8\"/>The weir</h1><p>It leaked<i/> \
        all<br/>night.</p><p>Then it stopped.</p></body></html>";
    for name in ["page.xhtml", "page.html"] {
        let converted = converted(name, html.as_bytes());
        let page = converted.page("page");
        assert!(page.contains("title: \"The weir\""), "{page}");
        assert!(page.contains("It leaked all") && page.ends_with("Then it stopped.\n"), "{page}");
    }
}

#[test]
fn text_of_a_page_has_no_effect() {
    let html = "<html><body><p>#begin tag</p><p>hello #htmltag</p><p>a<b>#bold</b><br># line</p>\
        <ul><li>2024-05-06 | went home</li><li><b>2024-05-07</b> | rest</li><li>[ ] task</li></ul>\
        <table><tr><th>#x</th><th>a|b</th></tr><tr><td>#y</td><td>- [ ] z</td></tr><tr><td>-</td></tr></table>\
        <p>%%one%% $$two$$ ==three== ~~four~~</p><p>---</p><p>Line<br>---<br>===<br>-</p>\
        <p>- [ ] task</p><p>+</p><p>1) [ ] one</p><p>a | b<br>:-- | --</p><p>[[Page|x]]</p>\
        <p><a href='https://e.org/#a'>#link</a> %<i></i>% &#37;<span>%</span> =<u>=x==</u></p>\
        <p><img src='a.png' alt='#alt #other'></p></body></html>";
    let converted = converted("page.html", html.as_bytes());
    let document = brain_page::Document::parse(converted.page("page")).unwrap();
    let body: &str = &document.body;
    assert!(brain_page::body_tags(body).is_empty(), "{:?} {body}", brain_page::body_tags(body));
    assert!(brain_page::headings(body).is_empty(), "{body}");
    assert!(brain_page::todos(body).is_empty(), "{body}");
    assert!(brain_page::timeline(body).is_empty(), "{body}");
    for mark in ["%%", "$$", "==", "~~", "\n---\n", "\n- [", "\n+\n", "\n1)"] {
        assert!(!body.contains(mark), "{mark} in {body}");
    }
    for part in ["(https://e.org/#a)", "went home", "| \\#x | a\\|b |\n| --- | --- |\n| \\#y |"] {
        assert!(body.contains(part), "{part} in {body}");
    }
}

#[test]
fn im04_raised_numbers_do_not_join_the_number_before() {
    // The forms of Google Docs, and of editors on the web.
    let html = "<html><head><style type=\"text/css\">.c1{vertical-align:super;font-size:8pt}\
                .c2{color:red}</style></head><body><p><span>about 10</span><span class=\"c1\">6\
                </span><span class=\"c2\"> grains, 5</span><span style=\"vertical-align: super\">2\
                </span> H<sub>2</sub>O</p></body></html>";
    let converted = converted("page.html", html.as_bytes());
    assert!(converted.page("page").ends_with("\n\nabout 10\u{2076} grains, 5\u{b2} H\u{2082}O\n"));
}

#[test]
fn spanned_cells_of_a_web_page_repeat_their_value() {
    let html = "<html><body><table><tr><th>A<th>B<tr><td rowspan=2>Oak<td>225<tr><td>300\
                <tr><td colspan=2>none</table></body></html>";
    let converted = converted("page.html", html.as_bytes());
    let table = "| A | B |\n| --- | --- |\n| Oak | 225 |\n| Oak | 300 |\n| none | none |";
    assert!(converted.page("page").contains(table), "{}", converted.page("page"));
}

#[test]
fn text_that_a_style_sheet_or_aria_hides_stays() {
    let html = "<html><head><style>.x{display:none}</style></head><body><p>The weir.</p>\
                <p class=x>By class.</p><p aria-hidden=true>By aria.</p>\
                <p style='display:none'>At the element.</p></body></html>";
    let converted = converted("page.html", html.as_bytes());
    let page = converted.page("page");
    assert!(page.contains("By class.") && page.contains("By aria."), "{page}");
    assert!(!page.contains("At the element."), "{page}");
}
