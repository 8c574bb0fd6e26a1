//! URIs of files. Clients spell one file in several ways, so its decoded path is its key.

use brain_page::percent_decode;

/// Returns the path of a `file:` URI, decoded. `None` for another scheme, and for a URI of another
/// machine.
pub(crate) fn path_of(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    // `#` and `?` end the path; in a name they are encoded.
    let rest = rest.split(['#', '?']).next()?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/')?);
            (host.is_empty() || host.eq_ignore_ascii_case("localhost")).then_some(path)?
        }
        None => rest,
    };
    let path = percent_decode(path);
    let mut path = path.into_owned();
    // The letter of a drive has no case: `/C:/` is `/c:/`.
    if let [b'/', drive, b':', ..] = path.as_bytes()
        && drive.is_ascii_uppercase()
    {
        let drive = drive.to_ascii_lowercase();
        path.replace_range(1..2, char::from(drive).encode_utf8(&mut [0; 4]));
    }
    path.starts_with('/').then_some(path)
}

/// Returns the URI of a file: everything but unreserved characters and `/` is encoded.
pub(crate) fn uri_of(path: &str) -> String {
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_file_have_one_path() {
        for (uri, path) in [
            ("file:///n/a%20(b).md", "/n/a (b).md"),
            ("file:///n/a%20%28b%29.md", "/n/a (b).md"),
            ("FILE://localhost/n/C%23%20tips.md", "/n/C# tips.md"),
            ("file:///c%3A/x.md", "/c:/x.md"),
            ("file:///C:/x.md", "/c:/x.md"),
            ("file:/n/x.md", "/n/x.md"),
        ] {
            assert_eq!(path_of(uri).as_deref(), Some(path), "{uri}");
        }
        for uri in ["untitled:Untitled-1", "file://host/x", "https://x.test/a", "x", ""] {
            assert_eq!(path_of(uri), None, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn a_path_survives_its_uri(path in "/[^/\0]{1,20}") {
            prop_assume!(!path.contains(':'));
            prop_assert_eq!(path_of(&uri_of(&path)), Some(path));
        }
    }
}
