//! Files that belong to a page: their names, their media types, and whether a text names them.

use brain_protocol::is_direction_control;
use unicode_normalization::UnicodeNormalization as _;

use super::embedded_files::embedded_files;
use super::{Frontmatter, is_markdown};

/// The key of the frontmatter with the names of a page's attachments.
pub const ATTACHMENTS: &str = "attachments";

/// Maximum length of a name in bytes, as in common file systems.
const MAX_NAME: usize = 255;

/// Extensions in lower case and their media types.
const MEDIA_TYPES: [(&str, &str); 20] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("svg", "image/svg+xml"),
    ("pdf", "application/pdf"),
    ("txt", "text/plain"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("json", "application/json"),
    ("zip", "application/zip"),
    ("mp3", "audio/mpeg"),
    ("m4a", "audio/mp4"),
    ("ogg", "audio/ogg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

/// Returns the name of an attachment in Unicode NFC.
///
/// # Errors
/// If the name is invalid. The error is the predicate of a sentence whose subject is the name.
pub fn attachment_name(name: &str) -> Result<String, &'static str> {
    let name: String = name.nfc().collect();
    let is_hidden = |c: char| {
        c.is_control()
            || is_direction_control(c)
            || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
    };
    if name.is_empty() {
        return Err("is empty");
    }
    if name.len() > MAX_NAME {
        return Err("is longer than 255 bytes");
    }
    if name.contains(['/', '\\']) {
        return Err("contains a slash or a backslash");
    }
    if name.chars().any(is_hidden) {
        return Err("contains invisible characters, or marks that change the direction of text");
    }
    if name.trim() != name || name.starts_with('.') {
        return Err("begins with a dot, or begins or ends with a space");
    }
    if is_markdown(std::path::Path::new(&name)) {
        return Err("belongs to a markdown file: add markdown as a page");
    }
    Ok(name)
}

/// Returns the media type of an attachment by the extension of its name.
#[must_use]
pub fn attachment_media_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = MEDIA_TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// Returns whether an attachment of this name is a picture that a browser shows without running
/// code. SVG is not, because it can contain scripts.
#[must_use]
pub fn is_picture(name: &str) -> bool {
    let media_type = attachment_media_type(name);
    media_type.starts_with("image/") && media_type != "image/svg+xml"
}

/// Returns whether a text has the attachment: its frontmatter lists the name, or its body contains
/// it, as in `![[name]]`.
#[must_use]
pub fn names_attachment(frontmatter: &Frontmatter, body: &str, name: &str) -> bool {
    lists_attachment(frontmatter, name)
        || mentions_attachment(body, name)
        || (name.contains(' ') && mentions_attachment(body, &name.replace(' ', "%20")))
        // Other characters can be encoded, too, or composed in another way.
        || embedded_files(body).iter().any(|target| listed_name(target) == name)
}

/// Returns whether the frontmatter lists the attachment, also as `[[name]]` or with a folder.
#[must_use]
pub fn lists_attachment(frontmatter: &Frontmatter, name: &str) -> bool {
    frontmatter.list(ATTACHMENTS).iter().any(|value| listed_name(value) == name)
}

/// Returns the name in a value of the frontmatter's list: `a.png` for `[[files/a.png|A]]`.
#[must_use]
pub fn listed_name(value: &str) -> String {
    let inner = value.trim().trim_start_matches("[[").trim_end_matches("]]");
    let target = inner.split('|').next().unwrap_or(inner);
    target.rsplit('/').next().unwrap_or(target).nfc().collect()
}

/// Returns whether the text contains the name, not as a part of a longer name.
fn mentions_attachment(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|c| is_part(c) || c == '.') && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_visible_file_name() {
        for good in ["photo.png", "Übung 1.pdf", "a,b: \"c\".jpg", "x", "写真.png"] {
            assert_eq!(attachment_name(good).as_deref(), Ok(good));
        }
        // Decomposed Unicode, which some systems write.
        assert_eq!(attachment_name("U\u{308}.png").as_deref(), Ok("Ü.png"));
        let long = "x".repeat(256);
        for bad in [
            "",
            ".",
            "..",
            "../a.png",
            "a/b.png",
            "a\\b.png",
            "/etc/passwd",
            "a\nb",
            "a\0",
            "a\u{7f}",
            "a\u{202e}gnp.exe",
            "a\u{200b}.png",
            ".hidden",
            " a",
            "a ",
            "note.md",
            &long,
        ] {
            assert!(attachment_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_inert_pictures_are_shown() {
        for shown in ["a.png", "a.JPG", "a.jpeg", "a.gif", "a.webp", "a.avif"] {
            assert!(is_picture(shown), "{shown}");
        }
        for other in ["a.svg", "a.html", "a.pdf", "a.png.svg", "png", "a", "a.exe", "a.xml"] {
            assert!(!is_picture(other), "{other}");
        }
        assert_eq!(attachment_media_type("a.unknown"), "application/octet-stream");
    }

    #[test]
    fn only_a_whole_name_in_a_text_names_a_file() {
        let none = Frontmatter::empty();
        for body in ["![[a b.png]]", "![x](a%20b.png)", "see a b.png.", "![](files/a b.png)"] {
            assert!(names_attachment(&none, body, "a b.png"), "{body}");
        }
        for body in ["", "![[aa b.png]]", "![[a b.png2]]", "x-a b.png", "a b.pn"] {
            assert!(!names_attachment(&none, body, "a b.png"), "{body}");
        }
        let listed =
            Frontmatter::parse("attachments: [a.png, '[[b.png]]', files/c.png]\n").unwrap();
        for (name, expected) in [("a.png", true), ("b.png", true), ("c.png", true), ("d", false)] {
            assert_eq!(names_attachment(&listed, "", name), expected, "{name}");
        }
    }
}
