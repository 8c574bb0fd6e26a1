//! Reads the markdown of a page: its title, its properties, and its text.

/// Maximum length of a property's name, in bytes.
const MAX_NAME: usize = 100;

/// A page in markdown.
pub(super) struct Parts<'a> {
    /// Names and values.
    pub(super) properties: Vec<(String, String)>,
    pub(super) body: &'a str,
}

/// Returns the title in the first line; `None` if the text has none.
pub(super) fn title(text: &str) -> Option<String> {
    let line = text.lines().next()?;
    let title =
        line.strip_prefix("# ").or_else(|| line.strip_prefix('#').filter(|it| it.is_empty()))?;
    Some(title.trim().to_owned())
}

/// Splits a page. `columns` are the names of the properties, if they are known. Without them, the
/// lines below the title are properties if all lines up to the next blank one look so, and are more
/// than one: Notion puts a blank line between paragraphs.
pub(super) fn split<'a>(text: &'a str, columns: Option<&[String]>) -> Parts<'a> {
    let body = match text.split_once('\n') {
        Some((first, rest)) if first.starts_with('#') && title(first).is_some() => rest,
        None if title(text).is_some() => "",
        _ => text,
    };
    let body = body.trim_start_matches('\n');
    let end = body.find("\n\n").unwrap_or(body.len());
    let (block, rest) = body.split_at(end);
    let mut properties: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        let property = match columns {
            Some(columns) => columns.iter().find_map(|name| {
                let value = line.strip_prefix(name.as_str())?.strip_prefix(':')?;
                Some((name.as_str(), value)).filter(|(name, _)| !name.is_empty())
            }),
            None => line.split_once(": ").filter(|(name, _)| is_name(name)),
        };
        match (property, properties.last_mut()) {
            (Some((name, value)), _) => properties.push((name.to_owned(), value.trim().to_owned())),
            // A text of several lines.
            (None, Some((_, value))) if columns.is_some() => {
                value.push('\n');
                value.push_str(line);
            }
            _ => return Parts { properties: Vec::new(), body },
        }
    }
    if properties.len() < 2 && columns.is_none() {
        return Parts { properties: Vec::new(), body };
    }
    Parts { properties, body: rest.trim_start_matches('\n') }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with([' ', '-', '>', '|', '*', '`', '[', '!', '<'])
        && !name.starts_with("# ")
        && !name.contains("](")
}

/// Returns a text in which callouts are quotes, and `<details>` its summary and content.
pub(super) fn plain_blocks(text: &str) -> String {
    if !text.contains("<aside>") && !text.contains("<details>") {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut fence: Option<&str> = None;
    let mut asides: Vec<usize> = Vec::new();
    let mut is_first = false;
    for line in text.split('\n') {
        let word = line.trim();
        let sign = ["```", "~~~"].into_iter().find(|sign| word.starts_with(sign));
        let is_code = fence.is_some() || sign.is_some();
        fence = match (fence, sign) {
            (Some(open), Some(sign)) if open == sign => None,
            (None, sign) => sign,
            (open, _) => open,
        };
        let indent = line.len() - line.trim_start().len();
        match word {
            "<aside>" if !is_code => {
                asides.push(indent);
                is_first = true;
                continue;
            }
            "</aside>" if !is_code && !asides.is_empty() => {
                asides.pop();
                continue;
            }
            "<details>" | "</details>" if !is_code => continue,
            _ => {}
        }
        let line = match word.strip_prefix("<summary>").and_then(|it| it.strip_suffix("</summary>"))
        {
            Some(summary) if !is_code && !summary.is_empty() => {
                format!("{}**{summary}**", " ".repeat(indent))
            }
            _ => line.to_owned(),
        };
        match asides.first() {
            Some(outer) => {
                let start = " ".repeat(*outer);
                let quote = "> ".repeat(asides.len());
                let text = without_icon(line.get(*outer..).unwrap_or(line.trim_start()));
                if is_first && !text.trim().is_empty() {
                    out.push_str(&format!("{start}{quote}[!note]\n"));
                    is_first = false;
                }
                out.push_str(format!("{start}{quote}{text}").trim_end());
            }
            None => out.push_str(&line),
        }
        out.push('\n');
    }
    out
}

/// Drops a picture of Notion's own icons at the beginning of a line.
fn without_icon(line: &str) -> &str {
    let rest = line.trim_start();
    let is_icon = rest.starts_with("<img src=\"https://www.notion.so/icons/");
    rest.split_once('>').filter(|_| is_icon).map_or(line, |(_, rest)| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_lines_below_the_title() {
        let text =
            "# Lake\n\nFull date: April 1, 2025 11:24 AM\n#: 7\nlink: https://a.b\n\nText: here.";
        let parts = split(text, None);
        assert_eq!(parts.body, "Text: here.");
        let names: Vec<&str> = parts.properties.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Full date", "#", "link"]);
        assert_eq!(title(text).as_deref(), Some("Lake"));
    }

    #[test]
    fn a_paragraph_with_a_colon_is_text() {
        for text in
            ["# A\n\nNote: one line", "# A\n\nNote: x\nplain", "# A\n\n- a: b\n- c: d", "# A"]
        {
            assert!(split(text, None).properties.is_empty(), "{text}");
        }
        let columns = ["Note".to_owned()];
        let parts = split("# A\n\nNote: one\ntwo\n\nText", Some(&columns));
        assert_eq!(parts.properties, [("Note".to_owned(), "one\ntwo".to_owned())]);
        assert_eq!(parts.body, "Text");
    }

    #[test]
    fn callouts_and_details_have_no_html() {
        let text = "a\n\n<aside>\n💡 One\n\ntwo\n\n</aside>\n\n<details>\n<summary>More</summary>\n\nx\n\
                    </details>\n```\n<aside>\n```";
        assert_eq!(
            plain_blocks(text),
            "a\n\n> [!note]\n> 💡 One\n>\n> two\n>\n\n**More**\n\nx\n```\n<aside>\n```\n"
        );
        let icon =
            "<aside>\n<img src=\"https://www.notion.so/icons/x.svg\" alt=\"\" /> Hi\n</aside>";
        assert_eq!(plain_blocks(icon), "> [!note]\n> Hi\n");
    }
}
