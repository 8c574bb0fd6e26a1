//! Pictures, sounds and keys in a contact.

use brain_convert_base::Page;

use crate::content_line::{Component, Line};

/// Properties that can have a file.
const PROPERTIES: [&str; 4] = ["PHOTO", "LOGO", "SOUND", "KEY"];

/// Adds the files to a page. Returns their names and bytes.
pub(super) fn attach(card: &Component, page: &mut Page) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut lines = Vec::new();
    for line in &card.lines {
        let is_file = PROPERTIES.contains(&line.name.as_str());
        match binary(line) {
            Some((bytes, kind)) if !bytes.is_empty() => {
                let stem = line.name.to_lowercase();
                let name = page.attach(&format!("{stem}.{}", extension(line, &bytes, &kind)));
                let mark = if brain_page::is_picture(&name) { "!" } else { "" };
                lines.push(format!("{mark}[[{name}]]"));
                files.push((name, bytes));
            }
            None if is_file && !line.text().is_empty() => {
                let text = brain_convert_base::literal_line(&line.text().replace('\n', " "));
                lines.push(format!("{}: {text}", line.name.to_lowercase()));
            }
            _ => {}
        }
    }
    if !lines.is_empty() {
        if !page.body.is_empty() {
            page.body.push_str("\n\n");
        }
        page.body.push_str(&lines.join("\n\n"));
    }
    files
}

/// Returns the bytes of a file in a property, with their media type. Text can be in base64, too.
pub(super) fn binary(line: &Line) -> Option<(Vec<u8>, String)> {
    let is_text = |bytes: &[u8]| {
        let is_sign = |c: char| !c.is_control() || c.is_whitespace();
        std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_sign))
    };
    let is_file = PROPERTIES.contains(&line.name.as_str());
    line.binary().filter(|(bytes, kind)| is_file || !kind.is_empty() || !is_text(bytes))
}

/// Returns the extension of a file, by its bytes or its type.
fn extension<'a>(line: &Line, bytes: &[u8], kind: &'a str) -> &'a str {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => "jpg",
        [0x89, b'P', b'N', b'G', ..] => "png",
        [b'G', b'I', b'F', b'8', ..] => "gif",
        [b'R', b'I', b'F', b'F', ..] if kind.contains("webp") => "webp",
        _ if line.name == "KEY" => "key",
        _ => match kind.rsplit('/').next() {
            Some("jpeg" | "jpg") => "jpg",
            Some(kind) if !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                kind
            }
            _ => "bin",
        },
    }
}
