//! Reads the raw head of a request, before the HTTP library parses it. No I/O.

/// Returns whether `bytes` begin with a request line of this method, after any empty lines
/// (RFC 9112 sections 2.2 and 5).
pub(super) fn begins_request(bytes: &[u8], method: &str) -> bool {
    let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let rest = bytes.get(blank..).and_then(|head| head.strip_prefix(method.as_bytes()));
    rest.is_some_and(|rest| rest.starts_with(b" "))
}

/// Returns whether the first head in `bytes` has the field `name` (lower case).
pub(super) fn has_field(bytes: &[u8], name: &[u8]) -> bool {
    bytes
        .split(|&byte| byte == b'\n')
        .skip_while(|line| line.is_empty() || *line == b"\r")
        .skip(1)
        .take_while(|line| !line.is_empty() && *line != b"\r")
        .filter_map(|line| line.get(..name.len() + 1))
        .any(|start| start.ends_with(b":") && start[..name.len()].eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_the_head_and_nowhere_else() {
        let head = b"POST /content-length: HTTP/1.1\r\nHost: x\r\nCONTENT-length:3\r\n\r\n";
        assert!(has_field(head, b"content-length"));
        assert!(!has_field(b"POST / HTTP/1.1\r\nX-Content-Length: 3\r\n\r\n", b"content-length"));
        assert!(
            !has_field(
                b"POST / HTTP/1.1\r\nHost: x\r\n\r\ncontent-length: 3\r\n",
                b"content-length"
            ),
            "a body"
        );
        assert!(!has_field(b"", b"content-length"));
        assert!(
            has_field(b"\r\n\nGET / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", b"content-length"),
            "empty lines before"
        );
    }
}
