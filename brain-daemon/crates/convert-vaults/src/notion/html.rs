//! Reads the HTML of a page: its title, its properties, and its text.

use brain_page::{MediaType, PayloadError, payload};

/// A page in HTML.
pub(super) struct Parts {
    /// Names and values; a value is markdown.
    pub(super) properties: Vec<(String, String)>,
    pub(super) body: String,
    /// Number of words that the page hides.
    pub(super) hidden_words: usize,
}

/// Returns the title of a page; `None` if the text has none.
pub(super) fn title(html: &str) -> Option<String> {
    let title = between(html, "<title>", "</title>")?;
    Some(decoded(title).trim().to_owned())
}

/// Splits a page.
///
/// # Errors
/// The reason why its HTML cannot be read.
pub(super) fn split(html: &str) -> Result<Parts, String> {
    let mut properties = Vec::new();
    if let Some(table) = between(html, "<table class=\"properties\">", "</table>") {
        for row in table.split("<tr class=\"property-row").skip(1) {
            let name = between(row, "<th>", "</th>").map(cell).unwrap_or_default();
            let value = between(row, "<td>", "</td>").map(value).unwrap_or_default();
            properties.push((name, value));
        }
    }
    let about = between(html, "<p class=\"page-description\">", "</p>").unwrap_or_default();
    let body = match html.split_once("<div class=\"page-body\">") {
        Some((_, rest)) => rest.rsplit_once("</article>").map_or(rest, |(body, _)| body),
        None => html,
    };
    let about = if about.trim().is_empty() { String::new() } else { format!("<p>{about}</p>") };
    let (body, hidden_words) = markdown(&format!("{about}{}", prepared(body)))?;
    Ok(Parts { properties, body, hidden_words })
}

/// Returns the value of a property.
fn value(html: &str) -> String {
    if html.contains("class=\"checkbox checkbox-on\"") {
        return "Yes".to_owned();
    }
    if html.contains("class=\"checkbox checkbox-off\"") {
        return "No".to_owned();
    }
    // Options follow each other without a separator.
    cell(
        &html.replace(
            "</span><span class=\"selected-value",
            "</span>, <span class=\"selected-value",
        ),
    )
}

/// Returns the text of a cell on one line, as markdown.
fn cell(html: &str) -> String {
    let html = match html.split_once("<svg") {
        Some((before, rest)) => {
            format!("{before}{}", rest.split_once("</svg>").map_or("", |(_, after)| after))
        }
        None => html.to_owned(),
    };
    let (text, _) = markdown(&html).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns also the number of words that the HTML hides.
fn markdown(html: &str) -> Result<(String, usize), String> {
    match payload(MediaType::Html, html.as_bytes()) {
        Ok(payload) => Ok((payload.document.body.to_string(), payload.hidden_words)),
        Err(PayloadError::Empty) => Ok((String::new(), 0)),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the HTML of a text with tasks as check boxes, callouts as quotes, and lists that Notion
/// cut into their items as one.
fn prepared(html: &str) -> String {
    let html = html
        .replace("<div class=\"checkbox checkbox-on\"></div>", "<input type=\"checkbox\" checked>")
        .replace("<div class=\"checkbox checkbox-off\"></div>", "<input type=\"checkbox\">");
    let html = replace_tags(&html, "</ul><ul ", |_| Some(""));
    let html = replace_tags(&html, "</ol><ol ", |tag| {
        let is_first = !tag.contains("start=") || tag.contains("start=\"1\"");
        (!is_first).then_some("")
    });
    let html = replace_tags(&html, "<img class=\"icon\"", |_| Some(""));
    let html = replace_elements(&html, "<nav ", "</nav>", |nav| {
        nav.contains("table_of_contents").then(String::new)
    });
    let html = replace_elements(&html, "<a href=", "</a>", bookmark);
    let html = replace_elements(&html, "<summary ", "</summary>", heading);
    callouts(&html)
}

/// Returns the card of a bookmark as a link and its description, without the site's pictures.
fn bookmark(card: &str) -> Option<String> {
    let (tag, _) = card.split_once('>')?;
    let address = between(tag, "<a href=\"", "\"").filter(|_| tag.contains("bookmark source"))?;
    let part = |name: &str| {
        between(card, &format!("<div class=\"bookmark-{name}\">"), "</div>").unwrap_or_default()
    };
    let title = match part("title") {
        "" => address,
        title => title,
    };
    Some(format!("<p><a href=\"{address}\">{title}</a></p><p>{}</p>", part("description")))
}

/// Returns the summary of a heading that opens and closes its section as a heading.
fn heading(summary: &str) -> Option<String> {
    let (tag, text) = summary.strip_suffix("</summary>")?.split_once('>')?;
    let sizes = [("1.875em", 1), ("1.5em", 2), ("1.25em", 3)];
    let (_, level) = sizes.iter().find(|(size, _)| tag.contains(&format!("font-size:{size}")))?;
    Some(format!("<h{level}>{text}</h{level}>"))
}

/// Replaces each text from `start` to the next `end` by what `new` returns.
fn replace_elements(
    html: &str,
    start: &str,
    end: &str,
    new: impl Fn(&str) -> Option<String>,
) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(start) {
        let (before, element) = rest.split_at(at);
        let Some(length) = element.find(end).map(|at| at + end.len()) else { break };
        let (element, after) = element.split_at(length);
        out.push_str(before);
        match new(element) {
            Some(new) => out.push_str(&new),
            None => out.push_str(element),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Replaces each tag that begins so, up to `>`, by what `new` returns.
fn replace_tags<'a>(html: &str, start: &str, new: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(start) {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        // The end of the last of the tags.
        let end =
            tag.get(start.len()..).and_then(|it| it.find('>')).map(|end| start.len() + end + 1);
        let (tag, after) = tag.split_at(end.unwrap_or(tag.len()));
        out.push_str(new(tag).unwrap_or(tag));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Makes quotes of callouts, which can contain other figures.
fn callouts(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut open = Vec::new();
    let mut rest = html;
    let is_figure = |tag: &str| tag.starts_with("<figure") || tag.starts_with("</figure>");
    let next = |html: &str| {
        html.match_indices('<').map(|(at, _)| at).find(|at| html.get(*at..).is_some_and(is_figure))
    };
    while let Some(at) = next(rest) {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let (tag, after) = tag.split_at(tag.find('>').map_or(tag.len(), |end| end + 1));
        let (is_end, class) = (tag.starts_with("</"), between(tag, "class=\"", "\""));
        let is_callout = match is_end {
            true => open.pop().unwrap_or(false),
            false => class.is_some_and(|class| class.split(' ').any(|it| it == "callout")),
        };
        if !is_end {
            open.push(is_callout);
        }
        out.push_str(match (is_callout, is_end) {
            (true, false) => "<blockquote>",
            (true, true) => "</blockquote>",
            (false, _) => tag,
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inner, _)| inner)
}

/// Resolves the entities that Notion writes.
fn decoded(text: &str) -> String {
    let pairs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    pairs.iter().fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tasks_lists_and_callouts_keep_their_form() {
        let html = "<article><header></header><div class=\"page-body\">\
            <ul id=\"1\" class=\"to-do-list\"><li><div class=\"checkbox checkbox-off\"></div> \
            <span class=\"to-do-children-unchecked\">Login</span></li></ul>\
            <ul id=\"2\" class=\"to-do-list\"><li><div class=\"checkbox checkbox-on\"></div> \
            <span>Home</span></li></ul>\
            <ol type=\"1\" id=\"3\" class=\"numbered-list\" start=\"1\"><li>one</li></ol>\
            <ol type=\"1\" id=\"4\" class=\"numbered-list\" start=\"2\"><li>two</li></ol>\
            <figure class=\"gray callout\" id=\"5\"><div><span class=\"icon\">💡</span></div>\
            <div>Hint<figure class=\"image\"><img src=\"a.png\"/></figure></div></figure>\
            </div></article>";
        let body = split(html).unwrap().body;
        assert!(body.starts_with("- [ ] Login\n- [x] Home\n\n1. one\n2. two\n"), "{body}");
        assert!(body.contains("> 💡\n") && body.contains("> Hint"), "{body}");
        assert!(body.contains("> ![](a.png)"), "{body}");
    }

    #[test]
    fn many_open_callouts_take_linear_time() {
        let html = "<figure class=\"callout\">x".repeat(20_000);
        assert_eq!(callouts(&html).matches("<blockquote>").count(), 20_000);
    }

    #[test]
    fn properties_have_names_and_values() {
        let row = |name: &str, value: &str| {
            format!(
                "<tr class=\"property-row property-row-x\"><th><span class=\"icon\"><svg a=\"1\">\
                 <path/></svg></span>{name}</th><td>{value}</td></tr>"
            )
        };
        let html = format!(
            "<title>A &amp; B</title><table class=\"properties\"><tbody>{}{}{}</tbody></table>\
             <div class=\"page-body\"><p>x</p></div></article>",
            row(
                "Tags",
                "<span class=\"selected-value c\">home office</span><span class=\"selected-value \
                 d\">coffee</span>"
            ),
            row("Sold", "<div class=\"checkbox checkbox-off\"></div>"),
            row("Bought", "<time>@March 1, 2024</time>"),
        );
        let parts = split(&html).unwrap();
        let expected =
            [("Tags", "home office, coffee"), ("Sold", "No"), ("Bought", "@March 1, 2024")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parts.properties, expected);
        assert_eq!(parts.body.trim(), "x");
        assert_eq!(title(&html).as_deref(), Some("A & B"));
    }
}
