//! Shows text of wikitext literally in markdown.

/// Appends a character. What has no meaning in wikitext gets none in markdown.
pub(super) fn escaped(out: &mut String, before: Option<char>, c: char, rest: &str) {
    let next = rest.chars().next();
    let is_inner = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let needs = match c {
        '\\' | '`' | '*' | '[' | ']' | '|' => true,
        '<' => next.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c)),
        // Within a word it is plain, and search finds the word.
        '_' => !(is_inner(before) && is_inner(next)),
        '#' => !is_inner(before),
        '~' | '=' | '%' | '$' => before == Some(c) || next == Some(c),
        '-' | '+' => before.is_none_or(|c| c == '\n'),
        '>' => before.is_none_or(|c| c == '\n'),
        _ => false,
    };
    if needs {
        out.push('\\');
    }
    out.push(c);
}

/// Returns lines of a paragraph, of which none begins a list, a heading or a rule.
pub(super) fn paragraph(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for line in text.trim().lines() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let rest = line.get(digits..).unwrap_or_default();
        let is_number = (1..=9).contains(&digits)
            && rest.starts_with(['.', ')'])
            && rest.get(1..).is_none_or(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        let is_block = line.starts_with(['-', '+', '#', '>'])
            || !line.is_empty() && line.trim_end_matches('=').is_empty()
            || line.starts_with("~~~");
        if is_number {
            out.push_str(line.get(..digits).unwrap_or_default());
            out.push('\\');
            out.push_str(rest);
        } else {
            if is_block {
                out.push('\\');
            }
            out.push_str(line);
        }
    }
    out
}

/// Returns code within a line.
pub(super) fn code(text: &str) -> String {
    let text: String = text.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match text.trim() {
        "" => String::new(),
        trimmed if trimmed.starts_with('`') || trimmed.ends_with('`') => {
            format!("{fence} {trimmed} {fence}")
        }
        trimmed => format!("{fence}{trimmed}{fence}"),
    }
}
