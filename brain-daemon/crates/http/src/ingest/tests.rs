use axum::http::HeaderName;

use super::*;

fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    let field = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())
    };
    fields.iter().map(field).collect()
}

#[test]
fn media_types_are_recognized() {
    for (kind, expected) in [
        ("text/plain", Ok(MediaType::Plain)),
        ("Text/Plain; charset=UTF-8", Ok(MediaType::Plain)),
        ("text/plain;charset=\"utf-8\";format=flowed", Ok(MediaType::Plain)),
        ("text/csv", Ok(MediaType::Plain)),
        ("text/markdown; variant=GFM", Ok(MediaType::Markdown)),
        ("text/html", Ok(MediaType::Html)),
        ("application/json", Ok(MediaType::Json)),
        (
            "text/plain; charset=iso-8859-1",
            Err("the charset \"iso-8859-1\" is not supported; send UTF-8"),
        ),
        ("application/pdf", Err("skill pack")),
        ("image/png", Err("skill pack")),
        ("application/octet-stream", Err("send text/plain")),
        ("multipart/form-data; boundary=x", Err("send text/plain")),
        ("text/", Err("send text/plain")),
        ("", Err("send text/plain")),
    ] {
        match (media_type(&headers(&[("content-type", kind)])), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{kind}"),
            (Err(refusal), Err(message)) => {
                assert_eq!(refusal.code(), "unsupported_content_type", "{kind}");
                assert!(
                    format!("{refusal:?}").contains(&message.replace('"', "\\\"")),
                    "{kind}: {refusal:?}"
                );
            }
            (found, _) => panic!("{kind}: {found:?}"),
        }
    }
    assert!(media_type(&HeaderMap::new()).is_err());
    assert!(
        media_type(&headers(&[("content-type", "text/plain"), ("content-encoding", "gzip")]))
            .is_err()
    );
}

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
