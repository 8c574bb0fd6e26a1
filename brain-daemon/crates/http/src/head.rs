//! The head of a request as it came, before a library made sense of it. Pure.

/// Whether `bytes` begin with a request of this method, and not amid one: no line of a head but the first begins so (RFC 9112
/// section 5), and empty lines before it do not count (section 2.2).
pub(super) fn begins(bytes: &[u8], method: &str) -> bool {
    let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let rest = bytes.get(blank..).and_then(|head| head.strip_prefix(method.as_bytes()));
    rest.is_some_and(|rest| rest.starts_with(b" "))
}

/// Whether one of the lines of the first head in `bytes` names the field `name`.
pub(super) fn names(bytes: &[u8], name: &[u8]) -> bool {
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
        assert!(names(head, b"content-length"));
        assert!(!names(b"POST / HTTP/1.1\r\nX-Content-Length: 3\r\n\r\n", b"content-length"));
        assert!(
            !names(b"POST / HTTP/1.1\r\nHost: x\r\n\r\ncontent-length: 3\r\n", b"content-length"),
            "a body"
        );
        assert!(!names(b"", b"content-length"));
        assert!(
            names(b"\r\n\nGET / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", b"content-length"),
            "empty lines before"
        );
    }
}
