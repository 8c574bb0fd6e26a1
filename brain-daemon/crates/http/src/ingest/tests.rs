use axum::http::{HeaderName, HeaderValue};

use super::*;
use crate::item_body::tests::headers;

#[test]
fn fields_are_text_of_limited_length() {
    let title =
        |value: &str, max| field(&headers(&[("x-brain-title", value)]), "x-brain-title", max);
    assert_eq!(title(" Grüße ", 10).unwrap().as_deref(), Some("Grüße"));
    assert_eq!(title("  ", 10).unwrap(), None);
    assert_eq!(field(&HeaderMap::new(), "x-brain-title", 10).unwrap(), None);
    assert!(title("aaa", 3).is_ok());
    assert_eq!(title("aaaa", 3).unwrap_err().code(), "invalid_request");
    let latin1 = HeaderValue::from_bytes(b"Gr\xfc\xdfe").unwrap();
    let latin1 = HeaderMap::from_iter([(HeaderName::from_static("x-brain-title"), latin1)]);
    assert_eq!(field(&latin1, "x-brain-title", 10).unwrap_err().code(), "invalid_request");
}

#[test]
fn white_space_is_blank() {
    for body in ["", " \r\n\t", "\u{feff}", "\u{feff} \n", "\u{a0}\u{2003}"] {
        assert!(is_blank(body.as_bytes()), "{body:?}");
    }
    assert!(!is_blank(b"x") && !is_blank(b"\xff"));
}
