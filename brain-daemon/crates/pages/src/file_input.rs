//! Reads the text that a command sends: a document, or a file of another format.

use std::path::Path;

use brain_page::{Document, ForeignFormat, MediaType, PayloadError, is_html, payload};
use brain_protocol::{Command, Fault, FaultCode, MAX_CONTENT, Origin, hint};

use crate::write_page::{
    encoding_advice, frontmatter_fault, origin_label, read_document, too_large,
};

/// Parses the text of a capture or a put. HTML of a file is converted as by `POST /ingest`.
///
/// # Errors
/// Those of [`read_document`]; [`FaultCode::UnsupportedContentType`] for a file in a format that
/// brain does not read; [`FaultCode::EmptyContent`] for HTML without text.
pub(crate) fn read_input(content: &[u8], origin: &Origin) -> Result<Document, Fault> {
    let label = origin_label(origin);
    let Origin::File(file) = origin else { return read_document(content, &label) };
    let path = Path::new(file);
    if let Some(format) = ForeignFormat::of_file(path, content) {
        return Err(unread_format(&label, format));
    }
    if !is_html(path, content) {
        return read_document(content, &label);
    }
    if content.len() > MAX_CONTENT {
        return Err(too_large(content, &label));
    }
    payload(MediaType::Html, content).map(|page| page.document).map_err(|error| match error {
        PayloadError::Empty => Fault::new(
            FaultCode::EmptyContent,
            format!("{label} has no text outside of its scripts and tags"),
        ),
        PayloadError::Encoding(reason) => {
            Fault::new(FaultCode::BinaryContent, format!("{label} is not text: {reason}"))
                .hint(encoding_advice(content))
        }
        PayloadError::Foreign(format) => unread_format(&label, format),
        PayloadError::Frontmatter(error) => frontmatter_fault(&label, &error),
    })
}

/// Returns the fault about a text in a format that brain does not read.
pub fn unread_format(label: &str, format: ForeignFormat) -> Fault {
    let message = format!("{label} is {format}, which is not a page; nothing was stored");
    let fault = Fault::new(FaultCode::UnsupportedContentType, message);
    match format.is_importable() {
        true => fault.hint(hint!("import it: {}", Command::Import)),
        false => fault.hint(format.advice()),
    }
}
