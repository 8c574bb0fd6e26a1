//! Pictures that are written into an HTML page (`data:`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::container::percent_decoded;
use crate::draft::Draft;

/// Kinds of pictures and their extensions.
const KINDS: [(&str, &str); 6] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/avif", "avif"),
    ("image/svg+xml", "svg"),
];
const START: &str = "src=";
/// The scheme of the addresses of pictures while the page is converted. Without one, they would
/// begin at the address that a saved page states.
const SCHEME: &str = "cid:";

/// The pictures of a page: name and bytes.
#[derive(Debug, Default)]
pub(super) struct InnerFiles {
    pub(super) files: Vec<(String, Vec<u8>)>,
}

impl InnerFiles {
    /// Returns the page with the names of its pictures in place of their bytes.
    pub(super) fn of(html: &str, draft: &mut Draft) -> (String, Self) {
        let mut found = Self::default();
        let mut out = String::with_capacity(html.len());
        let mut rest = html;
        while let Some((before, after)) = rest.split_once(START) {
            out.push_str(before);
            out.push_str(START);
            rest = after;
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                continue;
            };
            let Some(value) = rest.get(1..).filter(|it| it.starts_with("data:")) else { continue };
            let Some((address, after)) = value.split_once(quote) else { continue };
            match found.file(address, draft) {
                Some(name) => {
                    out.push_str(&format!("\"{SCHEME}{name}\""));
                }
                None => {
                    draft.lost("a thing written into it (data:) is only in the kept file");
                    out.push_str("\"\"");
                }
            }
            rest = after;
        }
        out.push_str(rest);
        (out, found)
    }

    /// Returns the converted page with the names of its pictures in place of their addresses.
    pub(super) fn named(&self, mut body: String) -> String {
        for (name, _) in &self.files {
            body = body.replace(&format!("]({SCHEME}{name}"), &format!("]({name}"));
        }
        body
    }

    /// Decodes a picture. Returns its name.
    fn file(&mut self, address: &str, draft: &mut Draft) -> Option<String> {
        let (head, data) = address.strip_prefix("data:")?.split_once(',')?;
        let kind = head.split(';').next().unwrap_or_default();
        let (_, extension) = KINDS.iter().find(|(known, _)| *known == kind)?;
        let data = percent_decoded(data);
        let bytes = if head.ends_with(";base64") {
            let data: String = data.chars().filter(|c| !c.is_whitespace()).collect();
            STANDARD.decode(data).ok()?
        } else {
            data.into_bytes()
        };
        if let Some((name, _)) = self.files.iter().find(|(_, known)| *known == bytes) {
            return Some(name.clone());
        }
        let name = draft.page.attach(&format!("picture-{}.{extension}", self.files.len() + 1));
        self.files.push((name.clone(), bytes));
        Some(name)
    }
}
