//! Tests of payloads: plain text, markdown, HTML and JSON.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod hard_page;
mod hidden;
mod metadata;

use super::*;
use crate::{MAX_FRONTMATTER, MAX_TITLE, links};
use brain_protocol::Slug;
use proptest::prelude::*;

fn parse_payload(media_type: MediaType, text: &str) -> Payload {
    payload(media_type, text.as_bytes()).unwrap()
}

fn body(media_type: MediaType, text: &str) -> String {
    parse_payload(media_type, text).document.body.into()
}

fn html(text: &str) -> String {
    body(MediaType::Html, text)
}

fn json(text: &str) -> Payload {
    parse_payload(MediaType::Json, text)
}

fn field(payload: &Payload, key: &str) -> Option<String> {
    payload.document.frontmatter.get(key)
}

/// Returns the message of the encoding error.
fn encoding_error(media_type: MediaType, bytes: &[u8]) -> String {
    match payload(media_type, bytes) {
        Err(PayloadError::Encoding(message)) => message,
        other => panic!("{other:?}"),
    }
}

const ALL: [MediaType; 4] =
    [MediaType::Plain, MediaType::Markdown, MediaType::Html, MediaType::Json];

#[test]
fn bytes_without_text_are_refused_with_a_position() {
    for media_type in ALL {
        for empty in ["", " \r\n\t", "\u{FEFF}", "\u{FEFF} \n", "\u{3000}"] {
            assert_eq!(
                payload(media_type, empty.as_bytes()).unwrap_err(),
                PayloadError::Empty,
                "{empty:?}"
            );
        }
        assert_eq!(encoding_error(media_type, b"ab\0"), "a NUL byte at byte 2");
        assert_eq!(encoding_error(media_type, b"a\xffb"), "invalid UTF-8 at byte 1");
    }
    for empty in ["---\ntitle: x\n---\n", "---\n---\n \n"] {
        assert_eq!(
            payload(MediaType::Markdown, empty.as_bytes()).unwrap_err(),
            PayloadError::Empty
        );
    }
    for empty in
        ["<p> </p>", "<!-- x -->", "<script>x</script><title>x</title>", "&nbsp;", "<b><br></b>"]
    {
        assert_eq!(
            payload(MediaType::Html, empty.as_bytes()).unwrap_err(),
            PayloadError::Empty,
            "{empty}"
        );
    }
    for empty in [r#"{"content":" \n","a":1}"#, "{}", "[ ]", "null", "\"\""] {
        let read = payload(MediaType::Json, empty.as_bytes());
        assert_eq!(read.unwrap_err(), PayloadError::Empty, "{empty}");
    }
}

#[test]
fn plain_text_is_unchanged() {
    for text in ["a\r\nb", "---\ntitle: x\n---\nbody", "  <b>x</b>\n", "# no #heading"] {
        let read = parse_payload(MediaType::Plain, text);
        assert_eq!(read.document.body, text);
        assert!(read.document.frontmatter.is_empty() && read.url.is_none());
        assert_eq!(Document::parse(&read.document.render()).unwrap(), read.document);
    }
    assert_eq!(body(MediaType::Plain, "\u{FEFF}x"), "x");
}

#[test]
fn six_keys_of_untrusted_frontmatter_have_an_effect() {
    let text = "---\ntitle: 'A: b'\ntype: idea\ntags: [Work, '#x']\nalias: [Ann]\ndate: \
                2024-01-02\nurl: https://e.org/a\n\
                # mine\narchive: true\nrelated: '[[people/ann]]'\nembed_skip: yes\n---\n\nBody\n";
    let read = parse_payload(MediaType::Markdown, text);
    assert_eq!(read.document.body, "Body\n");
    assert_eq!(read.url.as_deref(), Some("https://e.org/a"));
    let frontmatter = &read.document.frontmatter;
    let keys: Vec<&str> = frontmatter.keys().collect();
    assert_eq!(keys, ["title", "type", "date", "url", "tags", "aliases", "received"]);
    assert_eq!(frontmatter.title().as_deref(), Some("A: b"));
    assert_eq!(
        (frontmatter.tags(), frontmatter.aliases()),
        (vec!["work".into(), "x".into()], vec!["Ann".into()])
    );
    let rest = "# mine\narchive: true\nrelated: '[[people/ann]]'\nembed_skip: yes";
    assert_eq!(field(&read, "received").as_deref(), Some(rest));
    assert!(links(&Slug::parse("a").unwrap(), "", frontmatter).is_empty());
}

#[test]
fn a_malformed_field_is_kept_without_effect() {
    let text = "---\ntype: Big Type\nurl: 'javascript:alert(1)'\ndate: '[[people/ann]]'\ntags: \
                [{a: b}]\n\
                title: [x]\n---\nBody";
    let read = parse_payload(MediaType::Markdown, text);
    assert_eq!(read.document.frontmatter.keys().collect::<Vec<_>>(), ["received"]);
    let received = field(&read, "received").unwrap();
    for part in ["Big Type", "javascript:alert(1)", "[[people/ann]]", "{a: b}", "title: [x]"] {
        assert!(received.contains(part), "{part} is not in {received}");
    }
    assert!(read.url.is_none());
    assert!(links(&Slug::parse("a").unwrap(), "", &read.document.frontmatter).is_empty());
}

#[test]
fn malformed_frontmatter_is_refused_and_prose_is_text() {
    for (text, position) in [
        ("---\ntitle: Meeting: plans\n---\nBody", "frontmatter, line 2, column 15"),
        ("---\n{a: 1\n---\n", "frontmatter, line "),
        ("+++\ntitle = \n+++\nBody", "frontmatter, line 2"),
    ] {
        let error = payload(MediaType::Markdown, text.as_bytes()).unwrap_err();
        assert!(matches!(error, PayloadError::Frontmatter(_)), "{text:?}: {error:?}");
        assert!(error.to_string().starts_with(position), "{error}");
    }
    for text in ["---\nprose\n---\nx", "---\nno end", "+++\nprose\n+++\n"] {
        let read = parse_payload(MediaType::Markdown, text);
        assert_eq!(read.document.body, text);
        assert_eq!(Document::parse(&read.document.render()).unwrap(), read.document);
    }
}

#[test]
fn toml_fields_are_read_like_yaml() {
    let read = parse_payload(
        MediaType::Markdown,
        "+++\ntitle = 'A note'\ntags = ['Work']\nweight = 3\n+++\nBody",
    );
    let frontmatter = &read.document.frontmatter;
    assert_eq!(frontmatter.title().as_deref(), Some("A note"));
    assert_eq!((frontmatter.tags(), &*read.document.body), (vec!["work".to_owned()], "Body"));
    assert_eq!(field(&read, "received").as_deref(), Some("weight = 3"));
}

#[test]
fn other_formats_are_refused_by_name() {
    let calendar = "BEGIN:VCALENDAR\nEND:VCALENDAR";
    let wiki = "<!doctype html><html><meta name=application-name content=\"TiddlyWiki\" /><p>x";
    for (media_type, text) in [(MediaType::Plain, calendar), (MediaType::Html, wiki)] {
        let error = payload(media_type, text.as_bytes()).unwrap_err();
        assert!(matches!(error, PayloadError::Foreign(_)), "{error:?}");
    }
    assert_eq!(body(MediaType::Markdown, calendar), calendar);
}

#[test]
fn titles_are_cleaned_and_long_ones_kept_in_full() {
    let read = json("{\"text\":\"x\",\"title\":\"a\\u202eb\\u0007\\n c\"}");
    assert_eq!(field(&read, "title").as_deref(), Some("ab c"));
    let long = "wort ".repeat(200);
    for read in [
        json(&format!("{{\"text\":\"x\",\"title\":\"{long}\"}}")),
        parse_payload(MediaType::Markdown, &format!("---\ntitle: {long}\n---\nx")),
    ] {
        assert!(field(&read, "title").unwrap().chars().count() <= 300);
        assert!(field(&read, "received").unwrap().contains(long.trim()));
    }
    let page =
        parse_payload(MediaType::Html, &format!("<title>&#x202e;A &amp;\n B {long}</title><p>x"));
    let title = field(&page, "title").unwrap();
    assert!(title.starts_with("A & B wort") && title.chars().count() <= MAX_TITLE);
}

#[test]
fn long_fields_are_appended_to_the_body() {
    let long = "x".repeat(100_000);
    let read = json(&format!("{{\"text\":\"Body\",\"extra\":\"{long}```\",\"n\":1}}"));
    assert!(read.document.frontmatter.is_empty());
    let expected =
        format!("Body\n\n````json\n{{\n  \"extra\": \"{long}```\",\n  \"n\": 1\n}}\n````\n");
    assert_eq!(read.document.body, expected);
    let text = format!("---\nkey: {}\n---\nBody", "\u{85}y".repeat(9000));
    let read = parse_payload(MediaType::Markdown, &text);
    assert!(read.document.frontmatter.raw().len() < MAX_FRONTMATTER);
    assert!(
        read.document.body.starts_with("Body") && read.document.body.matches('y').count() > 9000
    );
}

#[test]
fn json_with_a_text_becomes_that_text() {
    let read = json(
        r##" {"title":"T","url":"http://e.org/","tags":"Work, home,work","type":"idea",
            "n":1.10000000000000000001,
            "markdown":"m","text":"# Hi\nthere","content":{"a":[1]}} "##,
    );
    assert_eq!(read.document.body, "# Hi\nthere");
    assert_eq!(read.url.as_deref(), Some("http://e.org/"));
    assert_eq!(field(&read, "type").as_deref(), Some("idea"));
    assert_eq!(read.document.frontmatter.tags(), ["work", "home"]);
    let rest = "{\n  \"n\": 1.10000000000000000001,\n  \"markdown\": \"m\",\n  \"content\": \
        {\"a\":[1]}\n}";
    assert_eq!(field(&read, "received").as_deref(), Some(rest));
    assert_eq!(json(r#"{"text":"x","tags":["b","a"]}"#).document.frontmatter.tags(), ["b", "a"]);
    assert_eq!(json(r#"{"text":"x","tags":["ok",5]}"#).document.frontmatter.tags(), ["ok", "5"]);
    let odd =
        json(r#"{"text":"x","tags":[{}],"type":"No Type","url":"file:///etc/passwd","title":7}"#);
    assert_eq!(odd.document.frontmatter.keys().collect::<Vec<_>>(), ["received"]);
    assert!(odd.url.is_none());
    assert_eq!(json(r#"{"text":"---\na: 1\n---\nx"}"#).document.body, "---\na: 1\n---\nx");
    assert_eq!(json(r#"{"text":"x","text":"y"}"#).document.body, "y");
}

#[test]
fn other_json_is_kept_verbatim() {
    let text = "{\"big\": 123456789012345678901234567890.10,\r\n \"s\": \"```\\ud800\"}";
    let read = json(text);
    assert_eq!(read.document.body, format!("````json\n{text}\n````\n"));
    assert_eq!(field(&read, "title").as_deref(), Some("JSON: big, s"));
    for (text, title) in [
        ("[1, 2]", "JSON list"),
        ("42", "JSON"),
        ("\"text\"", "JSON"),
        ("{\"name\":\"Lamp\",\"on\":true}", "Lamp"),
        ("{\"content\":5}", "JSON: content"),
    ] {
        assert_eq!(field(&json(text), "title").as_deref(), Some(title), "{text}");
        assert_eq!(json(text).document.body, format!("```json\n{text}\n```\n"));
    }
    // The JSON parser does not recurse, so depth is harmless.
    let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
    assert!(json(&deep).document.body.contains(&deep));
}

#[test]
fn invalid_json_is_refused_with_line_and_column() {
    assert!(encoding_error(MediaType::Json, b"{\"a\":1,\n x}").contains("line 2 column 2"));
    assert!(encoding_error(MediaType::Json, b"hello").contains("line 1 column 1"));
    assert!(encoding_error(MediaType::Json, b"{} {}").contains("line 1 column 4"));
    assert_eq!(
        encoding_error(MediaType::Json, b"{\n \"text\": \"ab\\u0000\"}"),
        "a NUL character in \"text\", line 2, column 13"
    );
    let message = encoding_error(MediaType::Json, b"{\"content\":\"\\ud800\"}");
    assert!(
        message.starts_with("half of a surrogate pair in \"content\", line 1, column 1"),
        "{message}"
    );
}

#[test]
fn html_becomes_markdown() {
    for (html_text, markdown) in [
        (
            "<h1>Head <i>x</i></h1><p>One <b>two</b>.<p>Three<br>four",
            "# Head *x*\n\nOne **two**.\n\nThree  \nfour",
        ),
        ("<div>a<div>b</div></div>c", "a\n\nb\n\nc"),
        ("<ul><li>a<li><p>b</p><p>c</p><ol start=3><li>d</ol></ul>", "- a\n- b\n\n  c\n\n  3. d"),
        ("<blockquote><p>a</p>b</blockquote>", "> a\n> \n> b"),
        (
            "<pre><code class='x language-rust'>let a;\n\n  <b>b</b>\n</code></pre>",
            "```rust\nlet a;\n\n  b\n```",
        ),
        ("<pre>a```<div>b</div></pre>", "````\na```\nb\n````"),
        ("see <a href='/a b?x=1&amp;y'>it</a> <code>c</code>", "see [it](/a%20b?x=1&y) `c`"),
        ("<p>a <a href='https://e.org/b'></a> c", "a [https://e.org/b](https://e.org/b) c"),
        (
            "<a href='https://e.org/b'><svg></svg></a><a href='#x'></a>",
            "[https://e.org/b](https://e.org/b)",
        ),
        ("<a href='https://e.org/b'><img src=i.png></a>", "[![](i.png)](https://e.org/b)"),
        ("<a href=x><h2>Card</h2><p>text</a>", "## [Card](x)\n\n[text](x)"),
        (
            "<table><caption>C<tr><th>a<th>b|c<tr><td>1</table>",
            "C\n\n| a | b\\|c |\n| --- | --- |\n| 1 |",
        ),
        ("<table><tr><td>-<tr><td>b<td>c</table>", "|  |  |\n| --- | --- |\n| - |\n| b | c |"),
        (
            "<table><tr><td><table><tr><th>a<th>b</table><td>c</table>",
            "| a | b |\n| --- | --- |\n\nc",
        ),
        ("<table><tr><td><h1>a</h1><td>b<tr><td>c<td>d</table>", "# a\n\nb\n\nc\n\nd"),
        ("<p>1. a</p><p># b</p><p>*c* [d] &lt;b>", "1\\. a\n\n\\# b\n\n\\*c\\* \\[d\\] \\<b>"),
        (
            "<p>#a b#c %%d%% ==e==<p>---<p>-5 a | b<br>2) c<ul><li>2026-11-30 | d</ul>",
            "\\#a b#c %\\%d%\\% =\\=e=\\=\n\n\\---\n\n-5 a \\| b  \n2\\) c\n\n- 2026-11-30 \\| d",
        ),
        (
            "<p>https://e.org/#a <code>#a | ==b==</code> &amp;lt; R&amp;D",
            "https://e.org/#a `#a | ==b==` \\&lt; R&D",
        ),
        ("<b>a</b><b>b</b> <i>c<b>d</i>e</b>", "**ab** *c**d*****e**"),
        ("a<img src=i.png alt='p q'> <img src='data:x' alt=gone>", "a![p q](i.png) gone"),
        ("a<br><br>b<hr>c", "a\n\nb\n\n* * *\n\nc"),
        ("x</p></ul></b></table>y", "x\n\ny"),
    ] {
        assert_eq!(html(html_text), markdown, "{html_text}");
    }
}

#[test]
fn html_yields_no_executable_markup() {
    let page = "<title>T</title><style>gone</style><body onload='gone()'><p onclick='gone()' \
                style='gone'>kept<script>gone</script><noscript>gone</noscript><iframe \
                src=gone>gone</iframe><!-- gone --><svg><script>gone</script></svg><object \
                data=gone>gone</object><template>gone</template><a href='javascript:gone'>link</a> \
                <a href=' JAVA\tscript:gone'>link</a><a href='data:text/html,gone'>link</a> <a \
                href='vbscript:gone'>link</a><a href='&#1;javascript:gone'>l</a><img \
                src='javascript:gone'><form action=gone><input value=gone></form>";
    let text = html(page);
    assert!(text.starts_with("kept") && text.contains("link"), "{text}");
    assert!(!text.contains("gone") && !text.contains("](") && !text.contains('<'), "{text}");
}

/// Returns HTML texts of about `n` bytes each. The converter alone would overflow its stack or take
/// quadratic time with them.
fn hostile(n: usize) -> Vec<String> {
    let many = |part: &str| part.repeat(n / part.len());
    vec![
        "<div>".repeat(n / 10) + "x",
        many("<ul><li>") + "x",
        "<ul><li>".repeat(50) + &many("<li>x"),
        "<blockquote>".repeat(50) + &many("<p>x"),
        many("<b>") + "x",
        many("<b>a</b>"),
        many("<table><tr><td>") + "x",
        format!("<table><tr><td>{}<td>b{}", "w".repeat(n / 2), many("<tr><td>a<td>b")),
        format!("<a href='{}'>{}", "x".repeat(4000), many("<p>x")),
        format!("<base href='https://e.org/{}/'>{}", "x".repeat(4000), many("<a href=x></a>")),
        format!("<pre>x{}</pre>{}y", "\n".repeat(n / 2), many("<b></b>")),
        (0..n / 10).map(|i| format!("<b a{i}>")).collect::<String>() + &many("<p>x"),
        format!("<a {}>x", (0..n / 10).map(|i| format!("a{i} ")).collect::<String>()),
        format!("<ol start=18446744073709551615><li>x</ol>{}", many("<ol start=0><li>x</ol>")),
        format!("<code>{}", many("`")),
        many("x&"),
        many("x<"),
    ]
}

#[test]
fn hostile_html_needs_little_stack_and_output() {
    let run = || {
        for text in hostile(1 << 19) {
            let out = html(&text);
            assert!(
                !out.is_empty() && out.len() <= 4 * text.len() + 8192,
                "{} of {}",
                out.len(),
                text.len()
            );
        }
    };
    std::thread::Builder::new().stack_size(512 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn the_converter_input_has_limited_depth() {
    for text in hostile(1 << 14) {
        let mut flow = flow::Flow::new(4, text.len());
        for part in text.split_inclusive('>').take(3000) {
            match part {
                "<ul>" => flow.enter(parts::Container::List(None)),
                "<li>" => flow.enter(parts::Container::Item),
                "<blockquote>" => flow.enter(parts::Container::Quote),
                text => flow.text(text),
            }
        }
        let (mut depth, mut deepest) = (0_i32, 0);
        for tag in flow.finish().split('<').skip(1) {
            depth += if tag.starts_with('/') { -1 } else { 1 };
            deepest = deepest.max(depth);
        }
        assert!(depth == 0 && deepest <= 10, "{deepest}");
    }
}

const TAGS: &str = "(</?(b|i|a|a href=x|code|p|div|h2|ul|ol|li|blockquote|pre|table|tr|td|th|br|hr|\
        img src=y|title|script|svg)>|a| |\n|&lt;|\\||`|<|\\*|<!--|-->){0,40}";

proptest! {
    #[test]
    fn any_html_gives_a_payload_or_an_error(text in TAGS) {
        if let Ok(read) = payload(MediaType::Html, text.as_bytes()) {
            let body = &read.document.body;
            prop_assert!(!body.trim().is_empty());
            prop_assert!(body.len() <= 4 * text.len() + 8192);
            prop_assert_eq!(&Document::parse(&read.document.render()).unwrap(), &read.document);
        }
    }

    #[test]
    fn no_letter_of_html_is_lost(text in TAGS.replace("title|script|svg", "em")
        .replace("|<!--|-->", "").replace("|<|", "|").as_str()) {
        let letters = |text: &str| text.matches('a').count();
        let shown = text.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text))
            .collect::<String>();
        let out = payload(MediaType::Html, text.as_bytes())
            .map_or(String::new(), |read| read.document.body.into());
        prop_assert_eq!(letters(&out), letters(&shown), "{} became {}", text, out);
    }

    #[test]
    fn any_bytes_give_a_payload_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60),
        text in "\\PC{0,20}|(---\n|title: x\n|tags: \\[a\\]\n|k: \\[\n|type: A\n|x){0,8}") {
        for media_type in ALL {
            let _ = payload(media_type, &bytes);
            if let Ok(read) = payload(media_type, text.as_bytes()) {
                prop_assert_eq!(&Document::parse(&read.document.render()).unwrap(), &read.document);
                prop_assert!(read.document.frontmatter.keys()
                    .all(|key| ["title", "type", "tags", "aliases", "author", "date", "created", "url",
                        "received"].contains(&key)));
            }
        }
    }

    #[test]
    fn no_member_of_json_is_lost(text in "\\PC{1,20}",
        keys in proptest::collection::vec("[a-z]{1,6}|content|text|title|tags|type|url", 0..6),
        values in proptest::collection::vec("[1-9][0-9]{0,29}|\"[a-z ,]{0,9}\"|\\[\\]|null|true",
            6)) {
        let members: String = keys.iter().zip(&values).map(|(k, v)| format!("\"{k}\":{v},"))
            .collect();
        let whole = format!("{{{members}\"content\":{}}}", serde_json::Value::from(text.as_str()));
        match payload(MediaType::Json, whole.as_bytes()) {
            Ok(read) => {
                prop_assert_eq!(&read.document.body,
                    text.strip_prefix('\u{FEFF}').unwrap_or(&text));
                let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                let received = one_line(&read.document.frontmatter.raw().replace("\\\"", "\""));
                for (key, value) in keys.iter().zip(&values)
                    .filter(|(key, value)| *key != "tags" || *value != "[]") {
                    let is_kept = value.trim_matches('"').split(',')
                        .all(|part| received.contains(&one_line(part)));
                    prop_assert!(is_kept, "{}: {} in {}", key, value, received);
                }
            }
            Err(e) => prop_assert!(e == PayloadError::Empty && text.trim().is_empty()),
        }
    }
}

#[test]
fn html_converted_in_parts_is_one_text() {
    const MANY: usize = 10_000;
    let each = |part: &dyn Fn(usize) -> String| (0..MANY).map(part).collect::<String>();
    let list = html(&format!("<p>x</p><ul>{}</ul><p>y</p>", each(&|n| format!("<li>i{n}</li>"))));
    assert_eq!(list.trim(), format!("x\n\n{}\ny", each(&|n| format!("- i{n}\n"))));
    let numbered = html(&format!("<ol>{}</ol>", each(&|n| format!("<li>i{n}</li>"))));
    for (n, line) in numbered.lines().enumerate() {
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>().join(" "),
            format!("{}. i{n}", n + 1)
        );
    }
    let row = |n: usize| format!("<tr><td>a{n}</td><td>b{n}</td></tr>");
    let table = html(&format!("<table>{}</table><p>y</p>", each(&row)));
    assert_eq!(table.matches("| --- | --- |").count(), 1);
    assert_eq!(table.lines().filter(|line| line.starts_with("| a")).count(), MANY);
    assert!(table.trim().ends_with("\n\ny"));
    let words = html(&format!("<p>{}</p>", each(&|n| format!("<b>w{n}</b> "))));
    assert_eq!(words.matches("**w").count(), MANY);
}
