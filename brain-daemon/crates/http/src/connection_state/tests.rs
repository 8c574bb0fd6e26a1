//! Tests of the state of a connection.

use super::*;

/// Returns a timeout of 40 ms for a head, and 400 ms for an idle connection.
fn timeouts() -> HttpTimeouts {
    HttpTimeouts::new(Duration::from_millis(40), Duration::from_millis(400))
}

#[test]
fn a_head_times_out_before_an_idle_or_busy_connection() {
    let state = ConnectionState::new(0);
    assert!(matches!(
        state.check_deadline(&timeouts()),
        Deadline::Pending(wait) if wait <= timeouts().head
    ));
    state.begin_request("GET", b"x");
    std::thread::sleep(Duration::from_millis(60));
    assert!(
        matches!(state.check_deadline(&timeouts()), Deadline::Pending(_)),
        "a busy connection has no timeout"
    );
    state.finish_request();
    std::thread::sleep(Duration::from_millis(60));
    assert!(
        matches!(state.check_deadline(&timeouts()), Deadline::Pending(_)),
        "the idle timeout is longer than that of a head"
    );
    state.record_read(b"GET", 100);
    assert_eq!(state.phase(), Phase::Head);
    std::thread::sleep(Duration::from_millis(60));
    state.record_read(b" /", 100);
    assert_eq!(
        state.check_deadline(&timeouts()),
        Deadline::Expired,
        "more bytes do not extend the timeout"
    );
}

#[test]
fn a_client_that_does_not_read_its_response_times_out() {
    let state = ConnectionState::new(0);
    state.begin_request("GET", b"x");
    state.record_write(false);
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(state.check_deadline(&timeouts()), Deadline::Expired);
    state.record_write(true);
    assert!(matches!(state.check_deadline(&timeouts()), Deadline::Pending(_)));
}

#[tokio::test]
async fn a_busy_connection_is_not_asked_to_close() {
    let state = ConnectionState::new(0);
    state.begin_request("GET", b"x");
    assert!(!state.request_close());
    state.finish_request();
    assert!(state.request_close());
    assert!(!state.request_close(), "the connection was already asked to close");
    assert_eq!(state.wait_for_close_request().await, CloseRequest::Immediately);
    state.begin_request("GET", b"x");
    state.request_shutdown();
    assert_eq!(state.wait_for_close_request().await, CloseRequest::AfterResponse);
}

/// Returns a connection that has waited for a body for `age`.
pub(crate) fn slow_body(age: Duration) -> ConnectionState {
    ConnectionState {
        began: Instant::now() - age,
        phase: AtomicU8::new(Phase::Body as u8),
        ..ConnectionState::new(0)
    }
}

#[tokio::test]
async fn only_a_slow_body_allows_closing_a_busy_connection() {
    let state = slow_body(SLOW_BODY / 2);
    assert!(
        !state.request_close() && state.slow_body_since().is_none(),
        "the body is not slow yet"
    );
    let state = slow_body(SLOW_BODY);
    assert!(state.slow_body_since().is_some() && state.request_close());
    assert!(state.slow_body_since().is_none(), "the connection was already asked to close");
    state.end_body();
    assert!(!state.request_close());
    let close_request =
        tokio::time::timeout(Duration::from_millis(20), state.wait_for_close_request()).await;
    assert!(close_request.is_err(), "the body has arrived");
    let state = slow_body(SLOW_BODY);
    assert!(state.request_close());
    assert_eq!(state.wait_for_close_request().await, CloseRequest::Immediately);
    state.finish_request();
    state.end_body();
    assert_eq!(state.phase(), Phase::Idle, "a response may precede the end of the body");
}

#[test]
fn the_head_of_a_pipelined_request_is_unknown() {
    let state = ConnectionState::new(0);
    let head = b"\r\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
    state.record_read(head, 1000);
    assert_eq!(state.begin_request("POST", b"content-length"), Some(true));
    state.record_read(head, 1000);
    state.finish_request();
    assert_eq!(
        state.begin_request("POST", b"content-length"),
        None,
        "the whole head was pipelined"
    );
    state.record_read(&head[..30], 1000);
    state.finish_request();
    state.record_read(&head[30..], 1000);
    assert_eq!(
        state.begin_request("POST", b"content-length"),
        None,
        "half of the head was pipelined"
    );
    state.mark_unread_body();
    state.finish_request();
    state.record_read(head, 1000);
    assert_eq!(
        state.begin_request("POST", b"content-length"),
        None,
        "the unread bytes may be part of a body"
    );
    state.finish_request();
    state.record_read(head, 1000);
    assert_eq!(state.begin_request("POST", b"x"), Some(false));
}
