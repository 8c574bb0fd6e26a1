//! HTML and widgets within wikitext.

use super::super::links::Links;
use super::address::address;
use super::escape::code;
use super::spans::Spans;

/// Elements that have a form in a page.
const KEPT: [&str; 16] = [
    "b", "i", "u", "s", "em", "strong", "del", "ins", "sub", "sup", "mark", "kbd", "small", "abbr",
    "q", "code",
];
/// Elements that end a line.
const LINES: [&str; 22] = [
    "p",
    "div",
    "section",
    "article",
    "aside",
    "header",
    "footer",
    "main",
    "nav",
    "details",
    "summary",
    "center",
    "figure",
    "figcaption",
    "address",
    "tr",
    "li",
    "h1",
    "h2",
    "h3",
    "dt",
    "dd",
];
/// Elements of which only the content has a form in a page.
const PLAIN: [&str; 22] = [
    "br",
    "a",
    "img",
    "span",
    "font",
    "big",
    "table",
    "tbody",
    "thead",
    "td",
    "th",
    "ul",
    "ol",
    "dl",
    "pre",
    "blockquote",
    "hr",
    "cite",
    "label",
    "button",
    "tt",
    "wbr",
];
/// Elements that are more than their lines. The converter of HTML writes them.
const FLAT: [&str; 6] = ["table", "ul", "ol", "dl", "pre", "blockquote"];
/// Elements that are dropped with their content.
const DROPPED: [&str; 2] = ["script", "style"];

/// Converts the tag at `at`. Returns where it ends, or `None` if there is none.
pub(super) fn tag(
    text: &str,
    at: usize,
    spans: &mut Spans,
    links: &mut Links<'_>,
    out: &mut String,
) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix('<')?;
    let inner = rest.strip_prefix('/').unwrap_or(rest);
    let length = inner.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let name = inner.get(..length)?.to_ascii_lowercase();
    let is_start = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !is_start && !rest.starts_with("/$") {
        return None;
    }
    let is_known = |names: &[&str]| names.contains(&name.as_str());
    if is_start && !(is_known(&KEPT) || is_known(&LINES) || is_known(&PLAIN) || is_known(&DROPPED))
    {
        return None;
    }
    let end = spans.after(text, at, ">")?;
    let source = text.get(at..end)?;
    let is_closing = source.starts_with("</");
    if rest.starts_with("/$") {
        if out.ends_with('`') {
            out.push(' ');
        }
        out.push_str(&code(source));
        return Some(end);
    }
    match name.as_str() {
        "br" => out.push_str("<br>"),
        "a" if !is_closing => {
            if let Some(url) = attribute(source, "href").filter(|url| address(url) > 0)
                && let Some(close) = spans.after(text, end, "</a>")
            {
                let label = text.get(end..close - 4).unwrap_or_default();
                let label = brain_page::escape_inline(&brain_page::single_line(label));
                out.push_str(&format!("[{label}](<{}>)", url.replace(['<', '>', '\n'], "")));
                return Some(close);
            }
        }
        "img" => out.push_str(&image(source, links)),
        name if DROPPED.contains(&name) => {
            links.has_scripts = true;
            let close = if name == "style" { "</style>" } else { "</script>" };
            return Some(spans.after(text, end, close).unwrap_or(text.len()));
        }
        name if KEPT.contains(&name) => {
            let slash = if is_closing { "/" } else { "" };
            out.push_str(&format!("<{slash}{name}>"));
        }
        name if LINES.contains(&name) && !out.ends_with('\n') && !out.is_empty() => out.push('\n'),
        name if FLAT.contains(&name) => links.has_flat_html = true,
        "td" | "th" if !out.ends_with(char::is_whitespace) => out.push(' '),
        _ => {}
    }
    Some(end)
}

/// Returns the picture of `<img src="…">`; empty without an address.
fn image(tag: &str, links: &mut Links<'_>) -> String {
    let alt = attribute(tag, "alt").unwrap_or_default();
    let alt = brain_page::escape_inline(&brain_page::single_line(alt));
    match attribute(tag, "src") {
        Some(url) if address(url) > 0 => {
            format!("![{alt}](<{}>)", url.replace(['<', '>', '\n'], ""))
        }
        Some(title) => links.image(title, &alt),
        None => String::new(),
    }
}

/// Reads `<$link to="title">label</$link>`. Returns the link and its length in the source.
pub(super) fn widget_link(text: &str, links: &mut Links<'_>) -> Option<(String, usize)> {
    let (tag, rest) = text.strip_prefix("<$link ")?.split_once('>')?;
    let title = attribute(tag, "to")?;
    let (label, _) = rest.split_once('<')?;
    let end = rest.get(label.len()..)?.strip_prefix("</$link>").map(str::len)?;
    let shown = links.link(title, if label.trim().is_empty() { title } else { label });
    Some((shown, text.len() - end))
}

/// Returns the value of an attribute in quotation marks.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, after) = tag.split_once(&format!("{name}="))?;
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    after.get(1..)?.split(quote).next()
}
