//! Tests of the reader of Evernote's exports.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};

use crate::FORMATS;
use brain_convert_testing::{Converted, directory};

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE en-export SYSTEM \
                    \"http://xml.evernote.com/pub/evernote-export4.dtd\">\n<en-export \
                    application=\"Evernote\" version=\"10.134.4\">\n";
const CONTENT: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE en-note SYSTEM \
                       \"http://xml.evernote.com/pub/enml2.dtd\">\n";

fn export(notes: &str) -> String {
    format!("{HEAD}{notes}</en-export>\n")
}

fn note(title: &str, content: &str, rest: &str) -> String {
    format!(
        "<note><title>{title}</title>{rest}<content><![CDATA[{CONTENT}<en-note>{content}\
         </en-note>]]></content></note>\n"
    )
}

fn resource(bytes: &[u8], mime: &str, name: &str) -> String {
    let name = match name {
        "" => String::new(),
        name => format!("<file-name>{name}</file-name>"),
    };
    format!(
        "<resource><data encoding=\"base64\">\n{}\n</data><mime>{mime}</mime>\
         <resource-attributes>{name}</resource-attributes></resource>",
        STANDARD.encode(bytes)
    )
}

fn hash(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Converts a file with these notes.
fn converted(notes: &str) -> Converted {
    let directory = directory(&[("notes.enex", &export(notes))]);
    Converted::of(&FORMATS, &directory.path().join("notes.enex"))
}

/// Returns the text of the page that a content gives, and what was lost.
fn body(content: &str) -> (String, Vec<String>) {
    let done = converted(&note("A", content, ""));
    assert_eq!(done.error, None);
    let page = done.page("notes/A");
    let body = page.strip_prefix("---\ntitle: \"A\"\n---\n\n").unwrap_or(page);
    (body.trim_end().to_owned(), done.lost())
}

fn text(content: &str) -> String {
    let (body, lost) = body(content);
    assert_eq!(lost, Vec::<String>::new());
    body
}

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/import/evernote/export")
}

#[test]
fn files_of_evernote_backup_are_read() {
    let done = Converted::of(&FORMATS, &fixture());
    assert_eq!((done.format, done.error.as_deref()), ("evernote", None));
    assert_eq!(
        done.paths(),
        ["Harbour/The ferry", "Harbour/Tom & Ida", "Home/Recipes & more/Soup"]
    );
    assert_eq!(
        done.page("Harbour/Tom & Ida"),
        "---\ntitle: \"Tom & Ida\"\ncreated: 2023-11-14T22:13:20Z\nupdated: 2023-11-14T22:14:21Z\n\
         tags: [\"boat\", \"to do\"]\nattachments: [\"file 1.png\", \"price list.pdf\"]\n\
         latitude: \"59.9\"\nlongitude: \"10.7\"\nauthor: \"Ida Strand\"\n\
         evernote_source: \"web.clip\"\nurl: \"https://weirs.example/1911\"\n\
         reminder: \"2023-11-14T23:13:20Z\"\n---\n\ntwo lamps & oil\n\n\
         [[Harbour/The ferry|The ferry]]\n\n![[file 1.png]]\n\nand [[price list.pdf]]\n"
    );
    assert_eq!(
        done.page("Harbour/The ferry").split("---\n\n").nth(1).unwrap(),
        "- [x] Dig\n- [ ] Water\n- [ ] Lime\n- [x] Rake\n\nThen:\n\n- [x] Buy rope\n- [ ] Call Ann \
         (due 2024-05-01T08:00:00Z; flagged)\n\n```\nif a < b:\n  go()\n```\n"
    );
    assert_eq!(
        done.page("Home/Recipes & more/Soup").split("---\n\n").nth(1).unwrap(),
        "|  |  |\n| --- | --- |\n| what | how much |\n| salt | 2 g |\n\nKey: (encrypted text)\n"
    );
    let files = done.files();
    let names: Vec<_> =
        files.iter().map(|(page, name, bytes)| (*page, *name, bytes.len())).collect();
    assert_eq!(
        names,
        [("Harbour/Tom & Ida", "file 1.png", 70), ("Harbour/Tom & Ida", "price list.pdf", 24)]
    );
    assert_eq!(
        done.lost(),
        [
            "Home/Recipes & more.enex, note 1 (Soup): it has an encrypted text with the hint \"boat\""
        ]
    );
}

#[test]
fn im01_references_are_resolved() {
    let done = converted(
        "<note><title>Tom &amp; Ida</title><content><![CDATA[<en-note><div>two&nbsp;lamps &amp; \
         oil</div></en-note>]]></content></note>",
    );
    assert_eq!(done.page("notes/Tom & Ida"), "---\ntitle: \"Tom & Ida\"\n---\n\ntwo lamps & oil\n");
    let (body, lost) = body("<div>5&#8211;7 &eacute;&#x41;&lt;b&gt; &foo; &foo;</div>");
    assert_eq!(body, "5–7 éA\\<b> \\&foo; \\&foo;");
    assert_eq!(lost, ["notes.enex, note 1 (A): the name &foo; is unknown and stays as it is"]);
}

#[test]
fn names_of_a_dtd_are_never_expanded() {
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE en-export [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \
                \"&a;&a;&a;\"><!ENTITY x SYSTEM \"file:///etc/passwd\">]><en-export><note><title>&b;\
                </title><content><![CDATA[<!DOCTYPE en-note [<!ENTITY c \"cccc\">]><en-note>&c; &x;\
                </en-note>]]></content></note></en-export>";
    let directory = directory(&[("notes.enex", bomb)]);
    let done = Converted::of(&FORMATS, &directory.path().join("notes.enex"));
    assert_eq!(done.page("notes/&b;"), "---\ntitle: \"&b;\"\n---\n\n\\&c; \\&x;\n");
    assert_eq!(done.lost().len(), 3);
}

#[test]
fn im15_both_spellings_are_tasks() {
    let body = text(
        "<div><en-todo checked=\"true\" />Dig</div><div><en-todo/>Water</div><ul \
         style=\"--en-todo:true;\"><li style=\"--en-checked:false;\"><div>Lime</div></li><li \
         style=\"--en-checked:true;\"><div>Rake</div></li></ul>",
    );
    assert_eq!(body, "- [x] Dig\n- [ ] Water\n- [ ] Lime\n- [x] Rake");
}

#[test]
fn tasks_stand_in_any_element() {
    for (content, expected) in [
        ("<div><en-todo/>a<br/><en-todo checked=\"true\"/>b<br/></div>c", "- [ ] a\n- [x] b\n\nc"),
        ("<en-todo/>a<div>b</div>", "- [ ] a\n\nb"),
        ("<div>Buy: <en-todo/>oil</div>", "Buy:\n\n- [ ] oil"),
        ("<ul><li><en-todo/>a</li><li><div><en-todo/>b</div></li></ul>", "- [ ] a\n- [ ] b"),
        (
            "<ul style=\"--en-todo:true\"><li><div>a</div></li><ul style=\"--en-todo:true\"><li>\
             b</li></ul><li>c</li></ul><div><en-todo/>d</div>",
            "- [ ] a\n  - [ ] b\n- [ ] c\n- [ ] d",
        ),
        (
            "<div><b><en-todo/>a</b> c</div><div><span><en-todo/>b</span></div>",
            "- [ ] **a** c\n- [ ] b",
        ),
        (
            "<ul style=\"--en-todo:true;\"><li style=\"--en-checked:true;\"><div>a</div><ul \
             style=\"--en-todo:true;\"><li style=\"--en-checked:false;\"><div>b</div></li></ul></li>\
             <li><div>c</div></li></ul>",
            "- [x] a\n  - [ ] b\n- [ ] c",
        ),
        (
            "<table><tr><td><en-todo/>a</td><td>b</td></tr></table>",
            "|  |  |\n| --- | --- |\n| ☐ a | b |",
        ),
    ] {
        let shown = text(content);
        let lines = |text: &str| {
            text.lines()
                .map(str::trim_end)
                .filter(|line| !line.is_empty())
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(lines(&shown), lines(expected), "{content}");
    }
}

#[test]
fn nested_lists_stay_nested() {
    let expected = "- a\n  - b\n- c";
    for content in [
        "<ul><li><div>a</div></li><ul><li><div>b</div></li></ul><li><div>c</div></li></ul>",
        "<ul><li><div>a</div><ul><li><div>b</div></li></ul></li><li><div>c</div></li></ul>",
    ] {
        let shown = text(content);
        let lines: Vec<&str> = shown.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(lines.join("\n"), expected, "{content}");
    }
}

#[test]
fn code_keeps_its_lines() {
    let body = text(
        "<div>x</div><div style=\"--en-codeblock:true;--en-syntaxLanguage:python;box-sizing: \
         border-box\"><div>a_b = [1]</div><div><br/></div><div>&nbsp;&nbsp;# no tag</div></div>\
         <pre>p\n  q</pre><div>y</div>",
    );
    assert_eq!(body, "x\n\n```python\na_b = [1]\n\n  # no tag\n```\n\n```\np\n  q\n```\n\ny");
}

#[test]
fn formats_of_styles_are_kept() {
    let body = text(
        "<div><span style=\"font-weight: bold;\">a</span> <span style=\"font-style: \
         italic\">b</span> <font color=\"red\">c</font> <a href=\"https://x.example/\">d</a></div>\
         <h1>e</h1><blockquote>f</blockquote><hr/>g",
    );
    assert_eq!(body, "**a** *b* c [d](https://x.example/)\n\n# e\n\n> f\n\n* * *\n\ng");
}

#[test]
fn im18_text_has_no_effect_on_the_page() {
    let shown = text(
        "<div>see [[map]] and #fence &lt;b&gt; snake_case_name *x* %%c%% ==h== &amp;lt; C# \
         https://x.example/a_b#c</div><div># of guests</div><div>1986. A dry</div><div>- [ ] no \
         task</div><div>---</div>a<br/>===<div><code>#a_b ==</code> <b>#bold</b></div>",
    );
    assert_eq!(
        shown,
        "see \\[\\[map\\]\\] and \\#fence \\<b> snake_case_name \\*x\\* %\\%c%\\% \
         =\\=h=\\= \\&lt; C# https://x.example/a_b#c\n\n\\# of guests\n\n1986\\. A dry\n\n\\- \
         \\[ \\] no task\n\n\\---\n\na  \n\\=\\=\\=\n\n`#a_b ==` **\\#bold**"
    );
}

#[test]
fn links_name_notes_by_title() {
    let link = |title: &str| {
        format!("<div>to <a href=\"evernote:///view/1/s1/g-{title}/g/\"><b>{title}</b></a>!</div>")
    };
    let first = note("A", &[link("B"), link("Twice"), link("None")].concat(), "");
    let web = note(
        "B",
        "<table><tr><td>x</td><td>y</td></tr><tr><td>z</td><td><a href=\"evernote:///view/1/s1/g/g/\">A\
         </a> <a href=\"https://www.evernote.com/shard/s1/nl/1/g/\">A</a></td></tr></table>",
        "",
    );
    let twice = note("Twice", "x", "");
    let done = converted(&[first, web, twice.clone(), twice].concat());
    assert_eq!(done.paths(), ["notes/A", "notes/B", "notes/Twice", "notes/Twice 2"]);
    assert_eq!(
        done.page("notes/A").split("---\n\n").nth(1).unwrap(),
        "to [[notes/B|B]]!\n\nto **Twice**!\n\nto **None**!\n"
    );
    assert_eq!(
        done.page("notes/B").split("---\n\n").nth(1).unwrap(),
        "|  |  |\n| --- | --- |\n| x | y |\n| z | [[notes/A\\|A]] [A](https://www.evernote.com/shard/s1/nl/1/g/) |\n"
    );
    assert_eq!(done.lost().len(), 2, "{:?}", done.lost());
    assert!(done.lost()[0].contains("its link to the note \"Twice\""));
}

#[test]
fn links_name_notes_by_id_if_there_are_ids() {
    let link = "<a href=\"evernote:///view/1/s1/id-2/id-2/\">the second</a>";
    let notes = note("Same", link, "<guid>id-1</guid>") + &note("Same", "x", "<guid>id-2</guid>");
    let done = converted(&notes);
    assert!(done.page("notes/Same").ends_with("\n\n[[notes/Same 2|the second]]\n"));
    assert_eq!(done.lost(), Vec::<String>::new());
}

#[test]
fn files_are_found_by_hash() {
    let (picture, sound, text) = (b"PNG".as_slice(), b"sound".as_slice(), b"text".as_slice());
    let content = format!(
        "<div><en-media hash=\"{}\" type=\"audio/mpeg\"/></div><div><en-media type=\"image/png\" \
         hash=\"{}\"></en-media></div><div><en-media type=\"image/gif\" hash=\"{}\"/></div>",
        hash(sound),
        hash(picture).to_uppercase(),
        hash(b"gone"),
    );
    let rest = [
        resource(picture, "image/png", "../../etc/a.png"),
        resource(picture, "image/png", "copy.png"),
        resource(sound, "audio/mpeg", ""),
        resource(text, "text/plain", "../../etc/a.png"),
        resource(b"", "text/plain", "empty.txt"),
        "<resource><data encoding=\"base64\">!!!!</data><mime>image/png</mime></resource>"
            .to_owned(),
    ];
    let done = converted(&note("A", &content, &rest.concat()));
    assert_eq!(
        done.page("notes/A").split("---\n\n").nth(1).unwrap(),
        "[[file 3.mp3]]\n\n![[-..-etc-a.png]]\n\n(missing file)\n\n![[-..-etc-a 2.png]]\n\n\
         [[empty.txt]]\n"
    );
    let names: Vec<_> =
        done.files().into_iter().map(|(_, name, bytes)| (name.to_owned(), bytes)).collect();
    assert_eq!(
        names,
        [
            ("-..-etc-a.png".to_owned(), picture.to_vec()),
            ("file 3.mp3".to_owned(), sound.to_vec()),
            ("-..-etc-a 2.png".to_owned(), text.to_vec()),
        ]
    );
    let lost = done.lost();
    assert!(lost.iter().any(|it| it.contains("is not in the export")), "{lost:?}");
    assert!(lost.iter().any(|it| it.contains("empty.txt: the file is empty")), "{lost:?}");
}

#[test]
fn a_file_beyond_the_limit_is_lost_by_name() {
    let big = vec![7_u8; brain_protocol::MAX_ATTACHMENT + 1];
    let content = format!("<en-media type=\"image/png\" hash=\"{}\"/>", hash(&big));
    let done = converted(&note("A", &content, &resource(&big, "image/png", "big.png")));
    assert!(done.page("notes/A").contains("![[big.png]]"));
    assert_eq!(
        done.lost(),
        ["notes.enex, note 1 (A), big.png: it has 16000001 bytes, more than 16000000, the limit \
          for a file of a page"]
    );
}

#[test]
fn a_cut_off_file_keeps_its_complete_notes() {
    let whole = export(&(note("A", "x", "") + &note("B", "y", "")));
    let cut = &whole[..whole.find(">B<").unwrap() + 20];
    for content in [cut, &whole[..whole.len() - 15]] {
        let directory = directory(&[("notes.enex", content)]);
        let done = Converted::of(&FORMATS, &directory.path().join("notes.enex"));
        assert!(done.paths().starts_with(&["notes/A"]), "{:?}", done.paths());
        let error = done.error.unwrap();
        assert!(error.starts_with("notes.enex: "), "{error}");
    }
}

#[test]
fn one_bad_file_does_not_stop_the_others() {
    let good = export(&note("A", "x", ""));
    let bad = good.replace("</note>", "</nota>");
    let files =
        [("a.enex", bad.as_str()), ("b.enex", &good), ("s/c.enex", &good), ("s/d.txt", "x")];
    let directory = directory(&files);
    let done = Converted::of(&FORMATS, directory.path());
    assert_eq!(done.paths(), ["b/A", "s/c/A"]);
    assert_eq!(done.lost(), ["s/d.txt: it is not an ENEX file"]);
    assert!(done.error.unwrap().starts_with("a.enex: note 1: "));
}

#[test]
fn tags_of_html_are_read_as_elements() {
    assert_eq!(text("<div>a<br>b &amp; AT&T</div><p>c<hr></p>"), "a  \nb & AT&T\n\nc\n\n* * *");
    let content = format!(
        "<div><b>a<div><en-todo checked=true>done</div></div><en-media type=image/png hash={}>\
         <en-crypt hint=\"boat\">AAAAcipher</en-crypt></i><div>end",
        hash(b"PNG")
    );
    let done = converted(&note("A", &content, &resource(b"PNG", "image/png", "a.png")));
    let page = done.page("notes/A");
    for part in ["- [x] **done**", "![[a.png]]", "(encrypted text)", "end"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("cipher"), "{page}");
    let lost = done.lost();
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost[0].contains("tags that do not match"), "{lost:?}");
    assert!(lost[1].contains("encrypted text with the hint \"boat\""), "{lost:?}");
}

#[test]
fn content_that_is_no_xml_is_read_as_html() {
    let (body, lost) = body(
        "<div>a\0 < b</div><p>3 < 4 > c</p><en-todo/>d<en-crypt>AAAAcipher</en-crypt>\
         <en-media hash=\"0\"/>",
    );
    for part in ["a < b", "3 < 4 > c", "d(encrypted text)"] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    assert!(!body.contains("cipher"), "{body}");
    for part in ["is not XML", "an encrypted text", "check boxes", "places of its files"] {
        assert_eq!(lost.iter().filter(|it| it.contains(part)).count(), 1, "{part}: {lost:?}");
    }
}

#[test]
fn links_to_notes_outside_the_export_stay_links() {
    let link = |id: &str| format!("<a href=\"evernote:///view/1/s1/{id}/{id}/\">Same</a>");
    let notes = note("A", &(link("id-9") + &link("id-2")), "<guid>id-1</guid>")
        + &note("Same", "x", "<guid>id-2</guid>");
    let done = converted(&notes);
    assert!(done.page("notes/A").ends_with("\n\nSame[[notes/Same|Same]]\n"));
    assert_eq!(done.lost().len(), 1);
    assert!(done.lost()[0].contains("its link to the note \"Same\" names no note"));
}

#[test]
fn data_in_a_cdata_section_is_read() {
    let rest = "<resource><data encoding=\"base64\">\n<![CDATA[eHl6\n]]></data>\
                <mime>text/plain</mime></resource>";
    let content = format!("<en-media hash=\"{}\"/>", hash(b"xyz"));
    let done = converted(&note("A", &content, rest));
    assert_eq!(done.files(), [("notes/A", "file 1.txt", b"xyz".to_vec())]);
    assert_eq!(done.lost(), Vec::<String>::new());
}

#[test]
fn names_of_signs_become_signs() {
    assert_eq!(
        text("<div>a&bsol;b &lbrack;x&rsqb; &num; &lt; &NotEqualTilde; &grave;</div>"),
        "a\\\\b \\[x\\] \\# < ≂̸ \\`"
    );
}

#[test]
fn numbers_and_bars_begin_no_list_or_table() {
    assert_eq!(
        text("<div>2) y</div><div>a|b<br/>:--|:--</div><div>3)x 4) z</div>"),
        "2\\) y\n\na\\|b  \n:--\\|:--\n\n3)x 4) z"
    );
    let table =
        text("<table><tr><td>a|b</td><td><a href=\"https://x.example/\">c|d</a></td></tr></table>");
    assert!(table.ends_with("| a\\|b | [c\\|d](https://x.example/) |"), "{table}");
}

#[test]
fn other_elements_are_fields_or_named() {
    let done = converted(
        "<note><title>a<b>b</b>c</title><content><![CDATA[<en-note>x</en-note>]]></content>\
         <resource><data encoding=\"base64\">eA==</data><mime>text/plain</mime>\
         <resource-attributes><file-name>x.txt</file-name><source-url>https://x.example/x.txt\
         </source-url><timestamp>20240102T030405Z</timestamp><reco-type>unknown</reco-type>\
         </resource-attributes></resource><task><title>t</title><taskStatus>open</taskStatus>\
         <creator>1</creator><assignee>Tom</assignee></task></note>",
    );
    let page = done.page("notes/abc");
    let facts = "evernote_files: [\"x.txt: source-url https://x.example/x.txt\", \"x.txt: timestamp \
                 2024-01-02T03:04:05Z\"]\n";
    assert!(page.contains(facts), "{page}");
    assert_eq!(
        done.lost(),
        [
            "notes.enex, note 1 (abc): its <title> has an element <b>, whose text is kept",
            "notes.enex, note 1 (abc): the element <assignee> of its tasks is not read"
        ]
    );
}

#[test]
fn odd_notes_are_pages() {
    let deep = format!("{}x{}", "<div>".repeat(5000), "</div>".repeat(5000));
    assert_eq!(text(&deep), "x");
    let lists = format!("{}{}", "<ul><li>a</li>".repeat(5000), "</ul>".repeat(5000));
    assert_eq!(text(&lists).matches('a').count(), 5000);
    assert_eq!(text(""), "");
    assert_eq!(text("<div>BEGIN:VCALENDAR</div>"), "BEGIN:VCALENDAR");
    assert!(text("<div>&lt;en-export&gt; [[x]] #tag</div>").contains("en-export"));
    let done =
        converted("<note></note><note><title/><created>soon</created><fancy>1</fancy></note>");
    assert_eq!(done.paths(), ["notes/Untitled", "notes/Untitled 2"]);
    assert_eq!(
        done.lost(),
        [
            "notes.enex, note 2 (): its time \"created\" is not a time: soon",
            "notes.enex, note 2 (): its element <fancy> is not read"
        ]
    );
    assert_eq!(converted("").paths(), Vec::<&str>::new());
}

#[test]
fn paths_follow_the_time_of_creation() {
    let at = |time: &str| note("A", time, &format!("<created>{time}</created>"));
    let done = converted(&(at("20240101T000000Z") + &at("20230101T000000Z")));
    assert_eq!(done.paths(), ["notes/A 2", "notes/A"]);
    assert!(done.page("notes/A").contains("created: 2023-01-01T00:00:00Z"));
}

#[test]
fn two_conversions_are_equal() {
    let (first, second) =
        (Converted::of(&FORMATS, &fixture()), Converted::of(&FORMATS, &fixture()));
    assert_eq!(format!("{:?}", first.lines), format!("{:?}", second.lines));
}

#[cfg(unix)]
#[test]
fn links_of_the_file_system_are_not_followed() {
    let outside = directory(&[("secret.enex", &export(&note("Secret", "x", "")))]);
    let inside = directory(&[("a.enex", &export(&note("A", "x", "")))]);
    let target = outside.path().join("secret.enex");
    std::os::unix::fs::symlink(target, inside.path().join("b.enex")).unwrap();
    let done = Converted::of(&FORMATS, inside.path());
    assert_eq!(done.paths(), ["a/A"]);
    assert_eq!(done.lost(), ["b.enex: it is not an ENEX file"]);
}
