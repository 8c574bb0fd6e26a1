//! Every parser of untrusted text uses at most ten times the size of the text plus a fixed amount
//! of memory, for the worst known texts and for random texts from a fixed seed.
//!
//! More random texts: `BRAIN_MEMORY_SEARCH=5000 cargo test --release -p brain-daemon --test
//! memory`.

#![allow(clippy::unwrap_used)]

use brain_page::{self as page, Document, Frontmatter, MediaType};
use brain_protocol::Slug;
use brain_search as search;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The length of most texts in bytes.
const LENGTH: usize = 600_000;
/// Memory that a parser may use beyond ten times its text, in bytes.
const FIXED_BYTES: usize = 16_000_000;

/// Name and function of a parser.
type Parser = (&'static str, fn(&str));

/// Parsers of the body of a page.
const MARKDOWN: &[Parser] = &[
    ("links", |text| {
        page::for_each_link(
            &Slug::parse("a/b").unwrap(),
            &format!("[ {text}"),
            &Frontmatter::empty(),
            |_| {},
        );
    }),
    ("tags", |text| drop(page::body_tags(&format!("%%{text}\n\n%% #a")))),
    ("timeline", |text| drop(page::timeline(text))),
    ("chunks", |text| drop(page::chunks(text))),
    ("windows", |text| drop(page::windows("title", text))),
    ("title", |text| drop(page::derive_title(text))),
    ("section", |text| drop(page::section(text, "none"))),
    ("hash", |text| drop(page::content_hash(text))),
    ("document", |text| drop(Document::parse(text))),
    ("terms", |text| assert!(search::count_terms(text) <= 4 * text.len())),
];
const HTML: &[Parser] = &[("html", |text| drop(page::payload(MediaType::Html, text.as_bytes())))];
const JSON: &[Parser] = &[("json", |text| drop(page::payload(MediaType::Json, text.as_bytes())))];

/// Returns the peak memory of `parse` in bytes, beyond the memory in use before.
fn peak(parse: impl FnOnce()) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    parse();
    MEMORY.peak_usage().saturating_sub(before)
}

/// Checks that no parser uses too much memory for `text`, which messages call `name`.
fn check(parsers: &[Parser], name: &str, text: &str) {
    for (parser, parse) in parsers {
        let peak = peak(|| parse(text));
        let max = 10 * text.len() + FIXED_BYTES;
        assert!(
            peak <= max,
            "{parser} takes {peak} bytes for {} of {name:?}; the limit is {max}",
            text.len()
        );
    }
}

fn repeated(unit: &str) -> String {
    unit.repeat(LENGTH / unit.len())
}

/// Returns a text of parts that all differ, because each contains a number.
fn numbered(part: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for n in 0_u32.. {
        let mut name = String::new();
        let mut rest = n;
        while name.is_empty() || rest > 0 {
            name.push(char::from(b"abcdefghijklmnopqrstuvwxyz012345"[(rest % 32) as usize]));
            rest /= 32;
        }
        text.push_str(&part(&name));
        if text.len() >= LENGTH {
            break;
        }
    }
    text
}

/// A random generator (xorshift64*) with a fixed seed, so that every run has the same texts.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    /// Returns a unit of one to five pieces.
    fn unit(&mut self, pieces: &[&str]) -> String {
        (0..1 + self.below(5)).map(|_| pieces[self.below(pieces.len())]).collect()
    }
}

/// Returns the number of random texts for markdown, and for HTML.
fn search_rounds() -> usize {
    std::env::var("BRAIN_MEMORY_SEARCH").ok().and_then(|n| n.parse().ok()).unwrap_or(10)
}

// A single test, because the measured peak is that of the whole process.
#[test]
#[allow(clippy::too_many_lines)]
fn no_text_makes_a_parser_take_much_memory() {
    for unit in [
        "[",
        "*",
        "_",
        "`",
        "a`",
        ">",
        "> ",
        "- ",
        "1. ",
        "![[",
        "[[a",
        "<",
        "<a ",
        "&amp;",
        "\\",
        "|",
        "\n",
        "a\n",
        "# a\n",
        "[a](b)",
        "[a]",
        "[a\n",
        "](",
        "a\u{301}",
        "\u{301}",
        "東",
        "a@b",
        "a.",
        "a.b ",
        "%%",
        "-\n",
        "* * *\n",
        "> a\n\n",
        "*a*",
        "a\\\n",
        "[[a|b]]",
        "#a ",
        "- 2024-01-01 | a\n",
    ] {
        check(MARKDOWN, unit, &repeated(unit));
    }
    check(MARKDOWN, "wiki links", &numbered(|name| format!("[[{name}]]")));
    check(MARKDOWN, "links", &numbered(|name| format!("[]({name})")));
    check(MARKDOWN, "definitions", &numbered(|name| format!("[{name}]:b\n")));
    check(MARKDOWN, "references", &numbered(|name| format!("[{name}]:b\n\n[{name}]\n\n")));
    check(MARKDOWN, "words", &numbered(|name| format!("{name} ")));
    check(MARKDOWN, "tags", &numbered(|name| format!("#{name} ")));
    check(MARKDOWN, "dated lines", &numbered(|name| format!("- 2024-01-01|{name}[source:a]\n")));
    check(MARKDOWN, "code", &format!("```\n{}", repeated("\n")));
    check(MARKDOWN, "one line", &repeated("a"));

    for unit in [
        "<p>a",
        "<hr>a",
        "<b>a",
        "a<i>b</i>",
        "a<br>b",
        "<li>a",
        "<ul>",
        "<ul><li>a",
        "<blockquote>a",
        "<td>a",
        "<table><tr><td>a<td>b",
        "<h1>a",
        "<pre>a",
        "<img src=a>",
        "<a href=a>b</a>",
        "<a href=a>b",
        "<div>a",
        "&lt;",
        "<code>a</code> ",
        "<title>a",
    ] {
        check(HTML, unit, &repeated(unit));
    }
    check(HTML, "rows", &format!("<table>{}", repeated("<tr><td>a<td>b")));
    check(HTML, "one row", &format!("<table><tr><td>a<td>b{}", repeated("<td>a")));
    check(HTML, "quotes", &format!("{}{}", "<blockquote>".repeat(12), repeated("<p>a")));
    check(HTML, "lists", &format!("{}{}", "<ul><li>".repeat(12), repeated("<li>a")));
    check(HTML, "attributes", &format!("<p {}>a", numbered(|name| format!("{name}=a "))));

    let object = |inner: &str| format!("{{{inner}\"content\":\"x\"}}");
    check(JSON, "members", &object(&repeated("\"\":1,")));
    check(JSON, "names", &object(&numbered(|name| format!("\"{name}\":1,"))));
    check(JSON, "escaped names", &object(&repeated("\"\\n\":1,")));
    check(JSON, "tags", &object(&format!("\"tags\":[{}1],", repeated("1,"))));
    check(JSON, "comma tags", &object(&format!("\"tags\":\"{}\",", repeated("a,"))));
    check(JSON, "nest", &format!("{}{}", repeated("["), repeated("]")));
    check(JSON, "escapes", &object(&format!("\"text\":\"{}\",", repeated("\\u0041"))));

    // Frontmatter has at most 64 KiB, so its absolute memory use is small.
    for unit in ["[", "{", "a: 1\n", "- ", "&a ", "a: [a,", "[],", "{}:,", "? "] {
        for start in ["", "a: ", "a: [", "a: {", "a:\n- "] {
            let text = format!("---\n{start}{}\n---\nb", unit.repeat(65_000 / unit.len()));
            check(&[("document", |text| drop(Document::parse(text)))], unit, &text);
        }
    }

    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let pieces = [
        "[",
        "]",
        "(",
        ")",
        "![",
        "[[",
        "]]",
        "|",
        "*",
        "**",
        "_",
        "`",
        "```",
        "<",
        ">",
        "> ",
        "- ",
        "1. ",
        "#",
        "# ",
        "\n",
        "\n\n",
        "    ",
        "a",
        " ",
        "&",
        ";",
        "\\",
        "!",
        ":",
        "<b>",
        "<!--",
        "~",
        "%%",
        "^",
        "é",
        "字",
        "\u{301}",
        "2024-01-01",
        "http://a",
        "@",
        ".",
        "-",
        "=",
        "+",
        "\t",
        "\r\n",
    ];
    for _ in 0..search_rounds() {
        let unit = random.unit(&pieces);
        check(MARKDOWN, &unit, &repeated(&unit));
    }
    let pieces = [
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<i>",
        "<a href=b>",
        "</a>",
        "<ul>",
        "</ul>",
        "<ol>",
        "<li>",
        "<table>",
        "</table>",
        "<tr>",
        "<td>",
        "<th>",
        "<pre>",
        "</pre>",
        "<code>",
        "<h2>",
        "<blockquote>",
        "<hr>",
        "<br>",
        "<img src=a>",
        "<div>",
        "<svg>",
        "</svg>",
        "a",
        " ",
        "\n",
        "&amp;",
        "<",
        "<!-- -->",
    ];
    for _ in 0..search_rounds() {
        let unit = random.unit(&pieces);
        check(HTML, &unit, &repeated(&unit));
    }
}
