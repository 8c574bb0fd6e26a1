//! Validates names of clients and tokens, and the sources of grants.

use brain_protocol::{Command, Fault, FaultCode, SourceId, hint};

use crate::Access;
use brain_base::caller::Visibility;

/// The maximum length of a name, in characters.
const MAX_LENGTH: usize = 120;

/// Returns a name without white space around it: 1 to 120 visible characters.
///
/// # Errors
/// The reason why the name is invalid.
pub(crate) fn valid_name(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MAX_LENGTH {
        return Err("a name has 1 to 120 characters");
    }
    if !text.chars().all(is_visible) {
        return Err("a name has visible characters only");
    }
    Ok(text.to_owned())
}

/// Returns whether a character is displayed as itself. Control characters, invisible characters
/// and those that change the text direction are not.
fn is_visible(c: char) -> bool {
    let hidden = matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    c == ' ' || !(c.is_control() || c.is_whitespace() || hidden)
}

/// Returns the first 80 characters of untrusted text, escaped for printing.
pub(crate) fn printable(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

/// Returns the fault for an invalid field of a request.
pub(crate) fn invalid_request(message: impl Into<String>, hint: &str) -> Fault {
    Fault::new(FaultCode::InvalidRequest, message).hint(hint)
}

impl Access {
    /// Returns the names of a grant's sources, each once.
    ///
    /// # Errors
    /// [`FaultCode::UnknownSource`] if a source is not registered; the fault of the store.
    pub(crate) fn granted_sources(&self, sources: &[SourceId]) -> Result<Vec<String>, Fault> {
        let registered = self.store.read(Visibility::All)?.sources()?;
        let mut out: Vec<String> = Vec::new();
        for id in sources {
            if !registered.iter().any(|(known, _)| known == id) {
                let names: Vec<&str> = registered.iter().map(|(id, _)| id.as_str()).collect();
                let hint = hint!(
                    "registered: {}; {}",
                    names.join(", "),
                    Command::SourcesAdd { source: Some(id.to_string()), path: None }
                );
                return Err(Fault::new(
                    FaultCode::UnknownSource,
                    format!("source \"{id}\" is not registered"),
                )
                .hint(hint));
            }
            if !out.iter().any(|name| name == id.as_str()) {
                out.push(id.to_string());
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_visible_characters_only() {
        for good in ["phone", " my phone ", "Zoë’s 電話", "a", "📱"] {
            assert_eq!(valid_name(good), Ok(good.trim().to_owned()));
        }
        let long = "x".repeat(121);
        for bad in [
            "",
            "  ",
            "a\nb",
            "a\u{0}b",
            "a\u{202e}b",
            "a\u{200b}b",
            "\u{2066}a",
            "a\u{1b}[31m",
            "a\u{a0}b",
            long.as_str(),
        ] {
            assert!(valid_name(bad).is_err(), "{bad:?}");
        }
        assert!(valid_name(&"x".repeat(120)).is_ok());
    }
}
