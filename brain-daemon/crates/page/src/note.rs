//! Adds a line to a section of a page. A missing section is created above a given one.

use super::edit::{EditError, append_to_section, insert};
use super::section::first_section;

/// Adds `line` at the end of the section `heading` of `body`. A missing section is created with
/// level 2, above the section `above`, or at the end if that is missing too.
///
/// # Errors
/// [`EditError::Empty`] when `line` is empty.
pub fn add_note(body: &str, heading: &str, above: &str, line: &str) -> Result<String, EditError> {
    if line.trim().is_empty() {
        return Err(EditError::Empty);
    }
    // No person is there to choose among several sections.
    if let Some(part) = first_section(body, heading) {
        return append_to_section(body, &part, line);
    }
    let at = first_section(body, above).map_or(body.len(), |part| part.start);
    insert(body, at, &format!("## {heading}\n\n{line}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_section_is_created_above_the_given_one() {
        let add = |body: &str| add_note(body, "Patterns", "Timeline", "- new").unwrap();
        assert_eq!(add(""), "## Patterns\n\n- new\n");
        assert_eq!(add("text"), "text\n\n## Patterns\n\n- new\n");
        assert_eq!(
            add("text\n\n## Timeline\n\n- 2024-01-01 | a\n"),
            "text\n\n## Patterns\n\n- new\n\n## Timeline\n\n- 2024-01-01 | a\n"
        );
        assert_eq!(
            add("## patterns\n\n- old\n\n## Timeline\n- 2024-01-01 | a\n"),
            "## patterns\n\n- old\n- new\n\n## Timeline\n- 2024-01-01 | a\n"
        );
        assert_eq!(
            add("a\r\n\r\n## Timeline\r\n"),
            "a\r\n\r\n## Patterns\r\n\r\n- new\r\n\r\n## Timeline\r\n"
        );
        assert_eq!(add_note("x", "Patterns", "Timeline", " "), Err(EditError::Empty));
    }
}
