//! Plain text of messages.

use brain_convert_base::literal_text;

/// Returns plain text as markdown that shows it literally. Quoted lines become quotations.
pub(super) fn markdown(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let blocks = lines.chunk_by(|a, b| a.starts_with('>') == b.starts_with('>'));
    let mut out: Vec<String> = Vec::new();
    for block in blocks {
        let is_quote = block.first().is_some_and(|line| line.starts_with('>'));
        let shown = if is_quote { quotation(block) } else { literal_text(&block.join("\n")) };
        if !shown.is_empty() {
            out.push(shown);
        }
    }
    out.join("\n\n")
}

/// Returns quoted lines as a quotation of one level. Each keeps its other marks as text.
fn quotation(lines: &[&str]) -> String {
    let inner: Vec<&str> = lines
        .iter()
        .map(|line| line.strip_prefix('>').unwrap_or(line))
        .map(without_blank)
        .collect();
    let shown = literal_text(&inner.join("\n"));
    let lines = shown.split('\n').map(|line| match line {
        "" => ">".to_owned(),
        line => format!("> {line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn without_blank(line: &str) -> &str {
    line.strip_prefix(' ').unwrap_or(line)
}

/// Joins the lines of a paragraph that a program broke (RFC 3676): they end with a blank.
pub(super) fn unflowed(text: &str, deletes_blank: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let depth = line.bytes().take_while(|byte| *byte == b'>').count();
        let content = without_blank(&line[depth..]);
        if open == Some(depth) {
            out.push_str(content);
        } else {
            if open.is_some() {
                out.push('\n');
            }
            out.push_str(&">".repeat(depth));
            if depth > 0 {
                out.push(' ');
            }
            out.push_str(content);
        }
        let is_flowed = content.ends_with(' ') && content != "-- ";
        open = is_flowed.then_some(depth);
        match is_flowed {
            true if deletes_blank => _ = out.pop(),
            true => {}
            false => out.push('\n'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_lines_become_a_quotation() {
        assert_eq!(
            markdown("Hello *x*\r\n> one\r\n>\r\n>> two #a\r\nend\r\n"),
            "Hello \\*x\\*\n\n> one\n>\n> \\> two \\#a\n\nend"
        );
        assert_eq!(markdown("\n\n"), "");
    }

    #[test]
    fn flowed_lines_are_joined() {
        assert_eq!(
            unflowed("a \nb\n> c \n> d\n>> e \nf\n-- \nx\n", false),
            "a b\n> c d\n>> e \nf\n-- \nx\n"
        );
        assert_eq!(unflowed("\u{65e5} \n\u{672c}\n", true), "\u{65e5}\u{672c}\n");
        assert_eq!(unflowed(" From\n", false), "From\n");
    }
}
