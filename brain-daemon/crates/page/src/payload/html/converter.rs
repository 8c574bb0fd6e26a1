//! Converts the output of a flow to markdown, in parts.

use std::sync::LazyLock;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, Options};
use htmd::{Element, HtmlToMarkdown};

use super::super::flow::{Joint, with_backslashes};

/// Appends the markdown of a part to the preceding parts.
pub(super) fn join(out: &mut String, part: &str, joint: Joint) {
    let part = part.trim_matches('\n');
    if part.is_empty() {
        return;
    }
    // The list or the table may have ended at the end of the preceding part.
    let continues = match joint {
        Joint::Block => false,
        Joint::Item => part.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
        Joint::Row => part.starts_with('|'),
    };
    let gap = match (out.is_empty(), continues) {
        (true, _) => "",
        (_, false) => "\n\n",
        (_, true) => "\n",
    };
    out.push_str(gap);
    match (joint, part.split_once('\n')) {
        // Continued rows have no head.
        (Joint::Row, Some((first, rest))) if rest.starts_with("| ---") => {
            out.extend([first, rest.find('\n').map_or("", |end| &rest[end..])]);
        }
        _ => out.push_str(part),
    }
}

/// Converts the flow's output to markdown.
pub(super) fn convert(html: &str) -> String {
    // The converter reads from memory, so it cannot fail.
    with_backslashes(&CONVERTER.convert(html).unwrap_or_default())
}

static CONVERTER: LazyLock<HtmlToMarkdown> = LazyLock::new(|| {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    HtmlToMarkdown::builder()
        .options(options)
        .add_handler(vec!["td"], |handlers: &dyn Handlers, element: Element| {
            let content = handlers.walk_children(element.node).content;
            let words: Vec<&str> = content.split_ascii_whitespace().collect();
            Some(format!(" {} |", words.join(" ").replace('|', "\\|")).into())
        })
        .add_handler(vec!["tr"], |handlers: &dyn Handlers, element: Element| {
            Some(
                format!(
                    "\n|{}",
                    handlers.walk_children(element.node).content.trim_start_matches('\n')
                )
                .into(),
            )
        })
        .add_handler(vec!["table"], |handlers: &dyn Handlers, element: Element| {
            Some(table(&handlers.walk_children(element.node).content).into())
        })
        .add_handler(vec!["del"], |handlers: &dyn Handlers, element: Element| {
            let content = handlers.walk_children(element.node).content;
            Some(format!("~~{}~~", content.trim()).into())
        })
        .add_handler(vec!["raw"], |_: &dyn Handlers, element: Element| -> Option<HandlerResult> {
            let text = element.attrs.iter().find(|attribute| &attribute.name.local == "data")?;
            Some(text.value.to_string().into())
        })
        .build()
});

/// Returns the rows of a table, with the first one as its head. The library would pad each cell to
/// the widest of its column.
fn table(rows: &str) -> String {
    let cells = |row: &str| row.matches(" |").count();
    let rows = || rows.lines().filter(|line| line.starts_with('|'));
    let columns = rows().map(cells).max().unwrap_or(0);
    let mut out = String::from("\n\n");
    for (n, row) in rows().enumerate() {
        out.push_str(row);
        if n == 0 {
            out.push_str(&"  |".repeat(columns - cells(row)));
            out.push_str("\n|");
            out.push_str(&" --- |".repeat(columns));
        }
        out.push('\n');
    }
    out.push('\n');
    out
}
