//! The type and the bytes of an item in the body of a request.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use brain_config::{Config, MAX_BODY};
use brain_core::ingest::ItemType;
use brain_page::{DocumentType, ForeignFormat, MediaType};
use brain_protocol::{Command, Fault, FaultCode, Hint, MAX_ATTACHMENT, hint};

use super::HttpError;

/// What to send instead of another type.
const SUPPORTED: &str = "send text/plain, text/markdown, text/html or application/json";

/// The maximum size of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimit {
    bytes: usize,
    /// What to do with a larger one.
    hint: &'static str,
}

impl BodyLimit {
    /// Returns the limit of a text.
    pub(super) fn of_text(config: &Config) -> Self {
        let bytes = config.ingest.max_bytes;
        let hint = match bytes as u64 >= MAX_BODY {
            true => "send it in parts: this limit cannot be raised",
            false => "send it in parts, or raise ingest.max_bytes",
        };
        Self { bytes, hint }
    }

    /// Returns the limit of a document, which cannot be sent in parts.
    fn of_document(config: &Config) -> Self {
        let bytes = config.pages.max_attachment_mb * 1_000_000;
        let hint = match bytes >= MAX_ATTACHMENT {
            true => "import it on the machine of the brain: this limit cannot be raised",
            false => "raise pages.max_attachment_mb, or import it on the machine of the brain",
        };
        Self { bytes, hint }
    }
}

/// Returns the type of an item, and the limit of its body. Documents are accepted
/// where the owner switched that on.
///
/// # Errors
/// As [`media_type`].
pub(super) fn item_type(
    headers: &HeaderMap,
    config: &Config,
) -> Result<(ItemType, BodyLimit), HttpError> {
    let document = match config.ingest.documents {
        true => DocumentType::of_media_type(&stated_type(headers)?.0),
        false => None,
    };
    match document {
        Some(document) => Ok((ItemType::Document(document), BodyLimit::of_document(config))),
        None => Ok((ItemType::Text(media_type(headers)?), BodyLimit::of_text(config))),
    }
}

/// Returns the media type of a text (RFC 9110 section 8.3.1). Of its parameters, only `charset`
/// matters.
///
/// # Errors
/// 415 if the type, its charset or a `Content-Encoding` is not supported.
pub(super) fn media_type(headers: &HeaderMap) -> Result<MediaType, HttpError> {
    let (kind, charset) = stated_type(headers)?;
    if let Some(charset) =
        charset.filter(|name| !matches!(name.as_str(), "utf-8" | "utf8" | "us-ascii"))
    {
        let shortened: String = charset.chars().take(40).collect();
        let message = format!("the charset \"{shortened}\" is not supported");
        return Err(unsupported(message, "send UTF-8"));
    }
    if let Some(format) = ForeignFormat::of_media_type(&kind) {
        return Err(unsupported(
            format!("\"{kind}\" is {format}, which is not a page"),
            format.advice(),
        ));
    }
    match kind.as_str() {
        "text/markdown" | "text/x-markdown" => Ok(MediaType::Markdown),
        "text/html" => Ok(MediaType::Html),
        "application/json" | "text/json" => Ok(MediaType::Json),
        _ if kind.len() > 5 && kind.starts_with("text/") && !kind.contains([',', ' ']) => {
            Ok(MediaType::Plain)
        }
        _ => {
            let shortened: String = kind.chars().take(80).collect();
            let message = format!("the content type \"{shortened}\" is not supported");
            Err(match DocumentType::of_media_type(&kind) {
                Some(_) => unsupported(message, of_documents()),
                None if kind.starts_with("image/")
                    || kind.starts_with("audio/")
                    || kind.starts_with("video/") =>
                {
                    unsupported(
                        message,
                        "convert it to text first, for example with a processor of an agent's \
                         skill pack; /ingest accepts only text",
                    )
                }
                None => unsupported(message, SUPPORTED),
            })
        }
    }
}

/// Returns the three ways in which a document becomes a page.
fn of_documents() -> Hint {
    hint!(
        "convert it to text first, for example with a processor of an agent's skill pack; or \
         import it on the machine of the brain: {}; or let the owner accept documents: {}",
        Command::ImportPath { path: None },
        Command::ConfigSet {
            key: Some("ingest.documents".to_owned()),
            value: Some("true".to_owned())
        }
    )
}

fn unsupported(message: String, hint: impl Into<Hint>) -> HttpError {
    HttpError::from(Fault::new(FaultCode::UnsupportedContentType, message).hint(hint))
}

/// Returns the media type and the charset that the head states, both in lower case.
///
/// # Errors
/// 415 if there is no type, or the body is compressed.
fn stated_type(headers: &HeaderMap) -> Result<(String, Option<String>), HttpError> {
    let coding =
        headers.get(header::CONTENT_ENCODING).map_or(&b"identity"[..], HeaderValue::as_bytes);
    if !coding.eq_ignore_ascii_case(b"identity") {
        return Err(unsupported(
            "compressed bodies are not supported".into(),
            "send the body uncompressed",
        ));
    }
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Err(unsupported("there is no Content-Type".into(), SUPPORTED));
    };
    let line = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let mut parts = line.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_owned();
    let charset = parts
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim() == "charset")
        .map(|(_, charset)| charset.trim().trim_matches('"').to_owned());
    Ok((kind, charset))
}

/// Reads the whole body, up to a limit. A larger `Content-Length` is refused at once.
///
/// # Errors
/// 413 if the body is longer, 400 if its end does not arrive.
pub(super) async fn read_body(
    headers: &HeaderMap,
    body: Body,
    limit: BodyLimit,
) -> Result<Vec<u8>, HttpError> {
    let BodyLimit { bytes: max, hint } = limit;
    let too_large = || {
        let fault = Fault::new(FaultCode::TooLarge, format!("the body has more than {max} bytes"));
        HttpError::from(fault.hint(hint))
    };
    let content_length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if content_length.is_some_and(|bytes| bytes > max as u64) {
        return Err(too_large());
    }
    match axum::body::to_bytes(body, max).await {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) => {
            let length_error: Option<&http_body_util::LengthLimitError> =
                std::error::Error::source(&error).and_then(<dyn std::error::Error>::downcast_ref);
            if length_error.is_some() {
                return Err(too_large());
            }
            Err(Fault::new(FaultCode::InvalidRequest, "the body is incomplete")
                .hint("send it again")
                .into())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests;
