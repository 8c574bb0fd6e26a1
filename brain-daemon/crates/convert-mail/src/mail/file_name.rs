//! Names for the files of a message that have none, or none with an extension.

/// Media types and extensions.
const EXTENSIONS: [(&str, &str); 20] = [
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("application/pkcs7-mime", "p7m"),
    ("application/x-pkcs7-mime", "p7m"),
    ("application/zip", "zip"),
    ("audio/mpeg", "mp3"),
    ("image/bmp", "bmp"),
    ("image/gif", "gif"),
    ("image/heic", "heic"),
    ("image/jpeg", "jpg"),
    ("image/jpg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/tiff", "tiff"),
    ("image/webp", "webp"),
    ("message/rfc822", "eml"),
    ("text/calendar", "ics"),
    ("text/html", "html"),
    ("text/plain", "txt"),
    ("text/vcard", "vcf"),
];

/// Returns a name for a file of this name and media type.
pub(super) fn file_name(name: &str, media_type: &str) -> String {
    // Some programs send whole paths.
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let stem = if name.is_empty() { "attachment" } else { name };
    let known = EXTENSIONS.iter().find(|(known, _)| *known == media_type);
    match (stem.contains('.'), known) {
        (false, Some((_, extension))) => format!("{stem}.{extension}"),
        (false, None) if name.is_empty() => format!("{stem}.bin"),
        _ => stem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_extension_gets_that_of_its_type() {
        assert_eq!(file_name("", "image/png"), "attachment.png");
        assert_eq!(file_name("", "application/x"), "attachment.bin");
        assert_eq!(file_name("Plan", "application/pdf"), "Plan.pdf");
        assert_eq!(file_name("C:\\a\\b.txt", "image/png"), "b.txt");
    }
}
