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
    let (hears, heard) = mpsc::channel();
    let mut ours = Some(ours);
    let connect = move || ours.take().ok_or_else(|| Fault::new(FaultCode::Unreachable, "once"));
    let out = move |line: &[u8]| {
        let _ = hears.send(serde_json::from_slice(line)?);
        Ok(())
    };
    let end = std::thread::spawn(move || Relay::new(connect, out, |_| {}).run(input).is_ok());
    (daemon, heard, end)
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
    let all = 3 * AT_ONCE;
    let (daemon, heard, end) = relay(&(0..all).map(ping).collect::<Vec<_>>());
    let mut asked = BufReader::new(daemon.try_clone().expect("clone"));
    let mut next = || matches!(line::next(&mut asked), Ok(Some(Line::Whole(_))));
    assert!((0..AT_ONCE).all(|_| next()));
    daemon.set_read_timeout(Some(Duration::from_millis(100))).expect("timeout");
    assert!(!next(), "one more than there is room for");
    daemon.set_read_timeout(Some(REPLAY)).expect("timeout");
    for id in 0..all {
        answer(&daemon, id);
        assert!(id >= all - AT_ONCE || next(), "an answer makes room");
    }
    assert!(end.join().expect("join"));
    assert_eq!(heard.iter().filter_map(|told| told["id"].as_u64()).collect::<Vec<_>>().len(), all);
}

#[test]
fn a_second_request_with_the_same_id_is_refused() {
    let (daemon, heard, end) = relay(&[ping(7), ping(7)]);
    let refused = heard.recv().expect("a refusal");
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32600)));
    answer(&daemon, 7);
    assert!(end.join().expect("join"));
    assert_eq!(
        heard.iter().collect::<Vec<_>>(),
        [json!({ "jsonrpc": "2.0", "id": 7, "result": {} })]
    );
}
