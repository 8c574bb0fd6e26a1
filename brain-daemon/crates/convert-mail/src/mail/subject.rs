//! Subjects: what replies and forwards put in front of them.

/// What mail programs write for "reply" and "forward" before `:`, in lower case.
const MARKS: [&str; 28] = [
    "re", "aw", "antw", "antwort", "sv", "vs", "ref", "rif", "res", "odp", "ynt", "vá", "bls",
    "atb", "nb", "回复", "答复", "返信", "fw", "fwd", "wg", "tr", "vl", "vb", "rv", "enc", "pd",
    "转发",
];

/// Returns a subject without the marks of replies and forwards: `Re: Fwd: x` is `x`.
pub(super) fn base_subject(subject: &str) -> &str {
    let mut rest = subject.trim();
    while let Some(after) = without_mark(rest) {
        rest = after;
    }
    rest
}

/// Returns whether a subject has such a mark.
pub(super) fn is_reply(subject: &str) -> bool {
    without_mark(subject.trim()).is_some()
}

/// Returns the text after a mark such as `Re:`, `RE[2]:` or `回复：`.
fn without_mark(subject: &str) -> Option<&str> {
    let (mark, rest) = subject.split_once([':', '：'])?;
    let mark = mark.trim_end();
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '[' | ']' | '(' | ')' | '^' | '*');
    let mark = mark.trim_end_matches(digits).trim_end().to_lowercase();
    MARKS.contains(&mark.as_str()).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_replies_are_removed() {
        for subject in
            ["Re: x", "RE: AW: Fwd: x", "re[2]: x", "Re (3): x", "回复：x", "Antw : x", "x"]
        {
            assert_eq!(base_subject(subject), "x", "{subject}");
        }
        assert_eq!(base_subject("Report: x"), "Report: x");
        assert_eq!(base_subject("Re:"), "");
        assert!(is_reply("AW: x") && !is_reply("Ferry: x") && !is_reply(""));
    }
}
