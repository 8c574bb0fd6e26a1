//! Tests of the relay.

use super::*;
use serde_json::json;
use std::{sync::mpsc, thread::JoinHandle};

/// Starts a relay for a client that sends `lines`. The test acts as the daemon.
///
/// Returns the daemon's end of the connection, the client's messages, and the thread with the
/// result.
fn relay(lines: &[String]) -> (UnixStream, Receiver<Value>, JoinHandle<bool>) {
    let (ours, daemon) = UnixStream::pair().expect("pair");
    let input = io::Cursor::new(lines.join("\n").into_bytes());
    let (sender, received) = mpsc::channel();
    let mut ours = Some(ours);
    let connect = move || ours.take().ok_or_else(|| Fault::new(FaultCode::Unreachable, "once"));
    let out = move |line: &[u8]| {
        let _ = sender.send(serde_json::from_slice(line)?);
        Ok(())
    };
    let end = std::thread::spawn(move || Relay::new(connect, out, |_| {}).run(input).is_ok());
    (daemon, received, end)
}

fn ping(id: usize) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string()
}

fn answer(daemon: &UnixStream, id: usize) {
    let line = json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string();
    write_line(daemon, line.as_bytes()).expect("write");
}

#[test]
fn unanswered_requests_are_limited() {
    let all = 3 * MAX_PENDING;
    let (daemon, received, end) = relay(&(0..all).map(ping).collect::<Vec<_>>());
    let mut requests = BufReader::new(daemon.try_clone().expect("clone"));
    let mut next = || matches!(line::next(&mut requests), Ok(Some(Line::Whole(_))));
    assert!((0..MAX_PENDING).all(|_| next()));
    daemon.set_read_timeout(Some(Duration::from_millis(100))).expect("timeout");
    assert!(!next(), "a request over the limit");
    daemon.set_read_timeout(Some(INITIALIZE_TIMEOUT)).expect("timeout");
    for id in 0..all {
        answer(&daemon, id);
        assert!(id >= all - MAX_PENDING || next(), "an answer permits the next request");
    }
    assert!(end.join().expect("join"));
    assert_eq!(received.iter().filter(|answer| answer["id"].is_u64()).count(), all);
}

#[test]
fn a_second_request_with_the_same_id_is_refused() {
    let (daemon, received, end) = relay(&[ping(7), ping(7)]);
    let refused = received.recv().expect("a refusal");
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32600)));
    answer(&daemon, 7);
    assert!(end.join().expect("join"));
    assert_eq!(
        received.iter().collect::<Vec<_>>(),
        [json!({ "jsonrpc": "2.0", "id": 7, "result": {} })]
    );
}
