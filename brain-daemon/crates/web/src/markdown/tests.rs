//! Tests of rendered markdown.

use super::*;

/// Renders a page with one linkable page and one own picture.
fn html(text: &str) -> String {
    let page = |target: &str| (target == "people/ada").then(|| "/page/people/ada".to_owned());
    let picture = |target: &str| (target == "own.png").then(|| "/web/own.png".to_owned());
    render_with(text, "", page, picture, |_| None).html.0
}

#[test]
fn markdown_becomes_html() {
    assert_eq!(
        html("# A\n\nb *c* **d** ~~e~~ `f<`"),
        "<h2 id=\"s1\">A</h2>\n<p>b <em>c</em> <strong>d</strong> <del>e</del> \
         <code>f&lt;</code></p>\n"
    );
    assert_eq!(html("3. a\n4. b"), "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n");
    let tasks = html("- [x] a\n- [ ] b");
    assert!(tasks.contains("aria-label=\"done\">☑</span> a"), "{tasks}");
    assert!(tasks.contains("aria-label=\"to do\">☐</span> b"), "{tasks}");
    assert!(html("|a|\n|-|\n|b|").contains("<tr><th>a</th></tr>\n<tr><td>b</td></tr>"));
    assert!(html("```html\n<b>\n```").contains("<pre><code>&lt;b&gt;\n</code></pre>"));
}

#[test]
fn headings_are_listed_and_callouts_are_marked() {
    let rendered = render("## A `b` <i>\n\ntext\n\n#### [[c|C]]", |_| None);
    let expected = [("A b ", 1, "s1"), ("C", 2, "s2")];
    let expected =
        expected.map(|(text, level, id)| Heading { level, text: text.into(), id: id.into() });
    assert_eq!(rendered.headings, expected);
    assert!(rendered.html.0.contains("<h3 id=\"s2\">C</h3>"));
    let callout = html("> [!WARNING]\n> <b>careful</b>");
    assert!(callout.contains("<blockquote class=\"callout warning\">"), "{callout}");
    assert!(!callout.contains("<b>"), "{callout}");
}

#[test]
fn links_lead_to_pages_and_to_the_web() {
    assert!(html("[[people/ada]]").contains("<a href=\"/page/people/ada\" rel="));
    assert!(html("[[people/ada|Ada]]").contains(">Ada</a>"));
    assert!(
        html("[a](https://x.example/?a=1&b=\"2)")
            .contains("href=\"https://x.example/?a=1&amp;b=%222\"")
    );
    for rejected in [
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](java\tscript:alert(1))",
        "[a](&#106;avascript:alert(1))",
        "[a](data:text/html,x)",
        "[a](vbscript:x)",
        "[a](file:///etc/passwd)",
        "[a](//evil.example)",
        "[a](#top)",
        "<mailto:a@b.example>",
        "[[javascript:alert(1)]]",
    ] {
        assert!(!html(rejected).contains("<a"), "{rejected}: {}", html(rejected));
    }
}

#[test]
fn hostile_markdown_becomes_text() {
    let hostile = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n\
                a <b onclick=x>b</b> ![p<\">](https://evil.example/p.png)\n\n\
                <style>*{}</style>\n\n\
                [a\"onmouseover=x](https://x.example/\"onmouseover=alert(1))\n\n\
                [^1]\n\n[^1]: <i>n</i>";
    let html = html(hostile);
    for tag in ["<script", "<img", "<b ", "<style", "<i>", "evil.example"] {
        assert!(!html.contains(tag), "{tag}: {html}");
    }
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    assert!(!html.contains("\"onmouseover"), "{html}");
}

#[test]
fn callouts_have_titles_and_end_with_their_quote() {
    let rendered = html("> [!tip]+ A *b* <c>\n\nafter");
    let expected = "<blockquote class=\"callout tip\">\n<strong>A *b* &lt;c&gt;</strong><p></p>\n\
        </blockquote>\n<p>after</p>\n";
    assert_eq!(rendered, expected);
    let nested = html("> [!todo]\n> > [!bug] x\n> > y\n>\n> - z");
    assert_eq!(nested.matches("<blockquote").count(), nested.matches("</blockquote>").count());
    assert!(nested.contains("<strong>Todo</strong>"), "{nested}");
    assert!(nested.contains("<strong>x</strong><p>y</p>"), "{nested}");
    assert!(nested.contains("<li>z</li>"), "{nested}");
    let plain = html("> [link] text");
    assert_eq!(plain, "<blockquote>\n<p>[link] text</p>\n</blockquote>\n");
}

#[test]
fn embedded_pages_close_the_paragraph_around_them() {
    let embed = |target: &str| (target == "a").then(|| maud::html! { section { "A" } });
    let rendered = render_with("x ![[a]] y", "", |_| None, |_| None, embed).html.0;
    assert_eq!(rendered, "<p>x </p>\n<section>A</section><p> y</p>\n");
    let page = |target: &str| Some(format!("/page/{target}"));
    let rendered = render_with("**![[a]]** ![[b|B]] ![[c.png]]", "", page, |_| None, embed).html.0;
    let expected = "<p><strong><a href=\"/page/a\">a</a></strong> <a href=\"/page/b\">B</a> \
        <span class=\"picture\">picture: c.png</span></p>\n";
    assert_eq!(rendered, expected);
    assert_eq!(embedded_pages("![[a]] `![[x]]` ![[b#c]] ![[a]] ![[d.png]] [[e]]"), ["a", "b#c"]);
    let many: String = (0..20).map(|n| format!("![[p{n}]] ")).collect();
    assert_eq!(embedded_pages(&many).len(), MAX_EMBEDS);
}

#[test]
fn footnotes_and_references_link_to_each_other() {
    let rendered =
        render_with("a[^x] b[^x]\n\n[^x]: N\n[^y]: M\n", "e1", |_| None, |_| None, |_| None).html.0;
    assert!(rendered.contains("<sup id=\"e1r1\"><a href=\"#e1f1\" aria-label=\"Footnote 1\">"));
    assert!(rendered.contains("id=\"e1f1\"><sup><a href=\"#e1r1\""), "{rendered}");
    assert!(rendered.contains("id=\"e1f2\"><sup>2</sup>"), "nothing refers to it: {rendered}");
    assert_eq!(rendered.matches("id=\"e1r1\"").count(), 1, "{rendered}");
}

#[test]
fn a_picture_of_the_page_is_shown_and_no_other() {
    assert_eq!(
        html("a ![b *c* `d` \"<x>](own.png) e"),
        "<p>a <img src=\"/web/own.png\" alt=\"b c d &quot;&lt;x&gt;\" loading=\"lazy\"> e</p>\n"
    );
    assert!(html("![[own.png]]").contains("<img src=\"/web/own.png\" alt=\"own.png\""));
    assert!(html("[![x](own.png)](https://x.example)").contains("nofollow\"><img src="));
    let nested = html("![a ![b](own.png) c](own.png) d");
    assert_eq!(nested.matches("<img").count(), 1, "{nested}");
    assert!(nested.contains("alt=\"a b c\"") && nested.contains("> d</p>"), "{nested}");
    for other in ["![x](other.png)", "![x](https://evil.example/own.png)", "![[none.png]]"] {
        let html = html(other);
        assert!(html.contains("picture: ") && !html.contains("<img"), "{html}");
    }
}
