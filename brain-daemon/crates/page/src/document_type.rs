//! Media types of documents that can become a page.

/// A kind of document: a file whose text another program reads.
#[derive(Debug, PartialEq, Eq)]
pub struct DocumentType {
    /// Its media type, in lower case.
    pub media_type: &'static str,
    /// The extension of its files, in lower case.
    pub extension: &'static str,
}

const TYPES: [DocumentType; 13] = [
    of("application/epub+zip", "epub"),
    of("application/pdf", "pdf"),
    of("application/vnd.oasis.opendocument.text", "odt"),
    of("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    of("image/avif", "avif"),
    of("image/gif", "gif"),
    of("image/heic", "heic"),
    of("image/jpeg", "jpg"),
    of("image/png", "png"),
    of("image/svg+xml", "svg"),
    of("image/tiff", "tiff"),
    of("image/webp", "webp"),
    of("message/rfc822", "eml"),
];

const fn of(media_type: &'static str, extension: &'static str) -> DocumentType {
    DocumentType { media_type, extension }
}

impl DocumentType {
    /// Returns the kind with this media type, which is in lower case and without parameters.
    #[must_use]
    pub fn of_media_type(media_type: &str) -> Option<&'static Self> {
        TYPES.iter().find(|known| known.media_type == media_type)
    }

    /// Returns whether it is an image. Without a program of the owner, nothing reads its text.
    #[must_use]
    pub fn is_image(&self) -> bool {
        self.media_type.starts_with("image/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_known_by_its_media_type() {
        let extension = |media_type| DocumentType::of_media_type(media_type).map(|it| it.extension);
        assert_eq!(extension("application/pdf"), Some("pdf"));
        assert_eq!(extension("image/jpeg"), Some("jpg"));
        assert_eq!(extension("text/plain"), None);
        assert!(DocumentType::of_media_type("image/png").is_some_and(DocumentType::is_image));
        assert!(!DocumentType::of_media_type("message/rfc822").is_some_and(DocumentType::is_image));
    }
}
