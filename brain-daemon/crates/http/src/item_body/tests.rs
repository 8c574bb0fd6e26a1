use axum::http::HeaderName;

use super::*;

pub(crate) fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
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
        ("application/pdf", Err("`brain config set ingest.documents true`")),
        ("application/pdf", Err("`brain import PATH`")),
        ("audio/ogg", Err("skill pack")),
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

#[tokio::test]
async fn a_body_that_is_too_large_gets_the_advice_of_its_type() {
    let file = std::path::Path::new("/nonexistent/config.toml");
    let mut config = Config::load(file, |_| None).unwrap();
    config.ingest.documents = true;
    config.pages.max_attachment_mb = 1;
    for (kind, bytes, advice) in [
        ("text/plain", config.ingest.max_bytes, "ingest.max_bytes"),
        ("application/pdf", 1_000_000, "raise pages.max_attachment_mb, or import it"),
    ] {
        let headers = headers(&[("content-type", kind)]);
        let (_, limit) = item_type(&headers, &config).unwrap();
        let whole = Body::from(vec![b'x'; bytes]);
        assert_eq!(read_body(&headers, whole, limit).await.unwrap().len(), bytes);
        let longer = Body::from(vec![b'x'; bytes + 1]);
        let refusal = read_body(&headers, longer, limit).await.unwrap_err();
        assert_eq!(refusal.code(), "too_large");
        assert!(format!("{refusal:?}").contains(advice), "{refusal:?}");
    }
}
