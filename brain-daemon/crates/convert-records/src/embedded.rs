//! Puts text of a model, code and addresses into a page, so that they cannot change its structure.

use brain_convert_base::literal_text;
use brain_page::headings;

use crate::formulas::with_dollars;

/// Beginnings of HTML that markdown reads up to its end, however far that is (CommonMark 4.6).
const OPEN_HTML: [&str; 7] = ["<!", "<?", "<script", "<pre", "<style", "<textarea", "<iframe"];
/// The level below which markdown has no heading.
const MAX_LEVEL: usize = 6;

/// Returns the markdown that a model wrote, to be put below a heading of `level`. Its headings get
/// lower levels, in their order, and its formulas dollar signs. A block of code that has no end
/// gets one. A text that breaks out nevertheless is shown literally.
pub(crate) fn model_text(text: &str, level: usize) -> String {
    let text = with_dollars(&text.replace("\r\n", "\n"));
    let lowered = lowered(text.trim_matches('\n'), level);
    if is_contained(&lowered, level) { lowered } else { literal_text(&text) }
}

/// Returns whether a text has no heading of `level` or above, and whether one after it is seen.
fn is_contained(text: &str, level: usize) -> bool {
    let headings = headings(&format!("{text}\n\n# end\n"));
    headings.split_last().is_some_and(|(last, others)| {
        last.level == 1
            && last.text == "end"
            && others.iter().all(|it| usize::from(it.level) > level)
    })
}

/// A block of code that began.
struct Fence {
    sign: char,
    length: usize,
}

impl Fence {
    /// Returns the fence that this line opens.
    fn opened_by(line: &str) -> Option<Self> {
        let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == sign).count();
        let is_fence = length >= 3 && !(sign == '`' && line.trim_start_matches('`').contains('`'));
        is_fence.then_some(Self { sign, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let rest = line.trim_start_matches(self.sign);
        line.len() - rest.len() >= self.length && rest.trim().is_empty()
    }
}

fn lowered(text: &str, level: usize) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut fence: Option<Fence> = None;
    // Whether an underline would make a heading of the line before.
    let mut is_paragraph = false;
    for line in text.split('\n') {
        let bare = line.trim_start();
        if let Some(open) = &fence {
            if open.is_closed_by(bare) {
                fence = None;
            }
            out.push_str(line);
            out.push('\n');
            continue;
        }
        fence = Fence::opened_by(bare);
        let is_underline = is_paragraph && is_underline(bare);
        if is_underline && bare.starts_with('-') {
            // A rule, which it is meant to be by far the most often.
            out.push('\n');
        }
        push_line(&mut out, line, bare, level, is_underline);
        out.push('\n');
        is_paragraph = fence.is_none() && !bare.is_empty() && !is_underline;
    }
    if let Some(Fence { sign, length }) = fence {
        out.extend(std::iter::repeat_n(sign, length));
    }
    out.trim_end_matches('\n').to_owned()
}

fn push_line(out: &mut String, line: &str, bare: &str, level: usize, is_underline: bool) {
    let indent = line.get(..line.len() - bare.len()).unwrap_or_default();
    let hashes = bare.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = (1..=MAX_LEVEL).contains(&hashes)
        && bare.get(hashes..).is_some_and(|it| it.is_empty() || it.starts_with([' ', '\t']));
    let head: String = bare.chars().take(10).collect::<String>().to_ascii_lowercase();
    out.push_str(indent);
    if is_heading {
        let lower = (hashes + level).min(MAX_LEVEL);
        out.extend(std::iter::repeat_n('#', lower - hashes));
    } else if OPEN_HTML.iter().any(|it| head.starts_with(it))
        || (is_underline && bare.starts_with('='))
    {
        out.push('\\');
    } else if is_underline && bare.trim_end().len() < 3 {
        // It would be an empty item of a list.
        out.push('\\');
    }
    out.push_str(bare);
}

/// Returns whether a line below a paragraph makes a heading of it (CommonMark 4.3).
fn is_underline(bare: &str) -> bool {
    let line = bare.trim_end();
    !line.is_empty() && (line.bytes().all(|it| it == b'-') || line.bytes().all(|it| it == b'='))
}

/// Returns a text as a block of code. `language` is a word for highlighting, or empty.
pub(crate) fn code(text: &str, language: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(['\r', '\0'], "\n");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_' | '.');
    let language = if language.chars().all(is_word) { language } else { "" };
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Returns a text as code within a line.
pub(crate) fn inline_code(text: &str) -> String {
    let text = brain_page::single_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

/// Returns a link to an address that shows `label`. An address of another kind than a place to go,
/// such as a script, is shown as code.
pub(crate) fn web_link(label: &str, address: &str) -> String {
    let label = brain_convert_base::literal_line(&brain_page::single_line(label));
    let address = address.trim();
    let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    if matches!(scheme.as_str(), "" | "javascript" | "data" | "vbscript") {
        return format!("{label} {}", inline_code(address)).trim_start().to_owned();
    }
    let mut shown = String::with_capacity(address.len() + 8);
    for c in address.chars() {
        match c {
            ' ' => shown.push_str("%20"),
            '(' => shown.push_str("%28"),
            ')' => shown.push_str("%29"),
            '<' => shown.push_str("%3C"),
            '>' => shown.push_str("%3E"),
            '\\' => shown.push_str("%5C"),
            c if c.is_control() => {}
            c => shown.push(c),
        }
    }
    match label.as_str() {
        "" => format!("<{shown}>"),
        label => format!("[{label}]({shown})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_a_model_are_below_its_turn() {
        let text = "# One\n\ntext\n\n###### Six\n\n  ## Two\n#hash\n";
        assert_eq!(model_text(text, 2), "### One\n\ntext\n\n###### Six\n\n  #### Two\n#hash");
    }

    #[test]
    fn code_stays_as_it_is_and_gets_an_end() {
        let text = "```py\n# no heading\n---\n";
        assert_eq!(model_text(text, 2), "```py\n# no heading\n---\n```");
        assert_eq!(model_text("~~~~\na\n~~~", 2), "~~~~\na\n~~~\n~~~~");
        assert_eq!(
            model_text("1. x\n   ```\n   # y\n   ```\n# z", 2).lines().last(),
            Some("### z")
        );
    }

    #[test]
    fn underlined_text_is_no_heading() {
        assert_eq!(model_text("a\n---\nb", 2), "a\n\n---\nb");
        assert_eq!(model_text("a\n===", 2), "a\n\\===");
        assert_eq!(model_text("a\n-\nb", 2), "a\n\n\\-\nb");
    }

    #[test]
    fn nothing_breaks_out_of_its_turn() {
        for text in [
            "<!-- x",
            "<script>\n# a",
            "<pre>",
            "    ```\n# a",
            "- ```\n# a",
            "> ```\n# a\n```",
            "```\n```\n```",
            "~~~ `\n# a",
            "``` `\n# a",
            "<div>\n# a",
            "<![CDATA[\n\n# x",
            "a\r===",
            "<?php",
            "\u{c}# a",
            "- a\n===\n",
            "> a\n---",
            "a\n \t---\n# b",
            "\\```\n# a",
            "`\n# a`",
        ] {
            let page = format!("## Turn\n\n{}\n\n## Next\n", model_text(text, 2));
            let top: Vec<_> = headings(&page).into_iter().filter(|it| it.level < 3).collect();
            assert_eq!(top.len(), 2, "{page:?}");
            assert_eq!(top.last().map(|it| it.text.as_str()), Some("Next"), "{page:?}");
        }
    }

    #[test]
    fn code_has_a_fence_that_its_text_lacks() {
        assert_eq!(code("a\n```\nb\n", "rust"), "````rust\na\n```\nb\n````");
        assert_eq!(code("a", "no word"), "```\na\n```");
        assert_eq!(inline_code("a`b"), "``a`b``");
    }

    #[test]
    fn a_link_keeps_its_address() {
        assert_eq!(
            web_link("A [b]", "https://x.example/a_(b) c"),
            "[A \\[b\\]](https://x.example/a_%28b%29%20c)"
        );
        assert_eq!(web_link("", "https://x.example/"), "<https://x.example/>");
        assert_eq!(web_link("Go", "javascript:alert(1)"), "Go `javascript:alert(1)`");
    }
}
