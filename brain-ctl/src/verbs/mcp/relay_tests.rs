//! Tests of the relay.

use super::*;
use serde_json::json;
use std::{sync::mpsc, thread::JoinHandle};

/// Starts a relay for a client that sends `lines`. The test acts as the daemon.
///
/// Returns the daemon's end of the connection, the messages to the client, and the thread of the
/// relay, which returns whether the relay succeeded.
fn start_relay(lines: &[String]) -> (UnixStream, Receiver<Value>, JoinHandle<bool>) {
    let (ours, daemon) = UnixStream::pair().expect("pair");
    let input = io::Cursor::new(lines.join("\n").into_bytes());
    let (sender, messages) = mpsc::channel();
    let mut ours = Some(ours);
    let connect = move || ours.take().ok_or_else(|| Fault::new(FaultCode::Unreachable, "once"));
    let out = move |line: &[u8]| {
        let _ = sender.send(serde_json::from_slice(line)?);
        Ok(())
    };
    let thread = std::thread::spawn(move || {
        let is_client_gone = Arc::new(AtomicBool::new(false));
        Relay::new(connect, out, |_| {}).run(input, &is_client_gone).is_ok()
    });
    (daemon, messages, thread)
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
    let request_count = 3 * MAX_PENDING;
    let (daemon, messages, thread) = start_relay(&(0..request_count).map(ping).collect::<Vec<_>>());
    let mut requests = BufReader::new(daemon.try_clone().expect("clone"));
    let mut receives_request = || matches!(line::next(&mut requests), Ok(Some(Line::Whole(_))));
    assert!((0..MAX_PENDING).all(|_| receives_request()));
    daemon.set_read_timeout(Some(Duration::from_millis(100))).expect("timeout");
    assert!(!receives_request(), "a request over the limit");
    daemon.set_read_timeout(Some(INITIALIZE_TIMEOUT)).expect("timeout");
    for id in 0..request_count {
        answer(&daemon, id);
        let is_last = id >= request_count - MAX_PENDING;
        assert!(is_last || receives_request(), "an answer permits the next request");
    }
    assert!(thread.join().expect("join"));
    let answers = messages.iter().filter(|answer| answer["id"].is_u64());
    assert_eq!(answers.count(), request_count);
}

#[test]
fn a_second_request_with_the_same_id_is_refused() {
    let (daemon, messages, thread) = start_relay(&[ping(7), ping(7)]);
    let refusal = messages.recv().expect("a refusal");
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(7), &json!(-32600)));
    answer(&daemon, 7);
    assert!(thread.join().expect("join"));
    assert_eq!(
        messages.iter().collect::<Vec<_>>(),
        [json!({ "jsonrpc": "2.0", "id": 7, "result": {} })]
    );
}
