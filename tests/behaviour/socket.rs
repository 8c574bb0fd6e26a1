//! The control socket: other users, broken clients and hostile bytes do not affect other clients.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;

use brain_protocol::{
    Answer, FaultCode, Get, HELLO_LEN, Hello, MAX_FRAME, PROTOCOL, PageRef, Reply, Request, Slug,
    Status, decode, encode, read_frame, write_frame,
};
use brain_tests::{
    Client, TEST_TIMEOUT, TestHome, can_change_user, capture, expect_reply, program, run,
};

fn connect_raw(home: &TestHome) -> UnixStream {
    let stream = UnixStream::connect(home.socket()).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream
}

/// Reads until the other side closes; a reset counts as a close.
fn read_until_closed(mut stream: &UnixStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return all,
            Ok(n) => all.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return all,
            Err(e) => panic!("the daemon does not close the connection: {e}"),
        }
    }
}

fn assert_serves(home: &TestHome) {
    assert!(matches!(home.connect().unwrap().ask(&Request::Status(Status)), Ok(Reply::Status(_))));
}

/// Sends `payload` and returns the code of the fault. Panics unless the fault has a hint and the
/// daemon closes the connection after it.
fn expect_fault(home: &TestHome, payload: &[u8]) -> FaultCode {
    let mut client = home.connect().unwrap();
    write_frame(&mut client.stream, payload).unwrap();
    let answer = decode::<Answer>(&read_frame(&mut client.stream).unwrap()).unwrap();
    let Answer::Fault(fault) = answer else { panic!("{answer:?}") };
    assert!(fault.hint.is_some(), "{fault:?}");
    assert_eq!(read_until_closed(&client.stream), b"", "the connection ends");
    assert_serves(home);
    fault.code
}

#[test]
fn a_client_of_another_protocol_is_disconnected() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for junk in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        &[0; 64],
        &[0xff; 20],
        b"brain\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    ] {
        let mut stream = connect_raw(&home);
        let _ = stream.write_all(junk);
        assert_eq!(read_until_closed(&stream), b"", "an unknown client gets no data");
        assert_serves(&home);
    }
}

#[test]
fn a_client_with_another_protocol_number_is_disconnected() {
    let home = TestHome::new();
    let daemon = home.daemon();
    for protocol in [PROTOCOL + 1, 0, u16::MAX] {
        let mut stream = connect_raw(&home);
        stream.write_all(&Hello { protocol, version: [9, 9, 9, 9], pid: 1 }.to_bytes()).unwrap();
        let greeting = read_until_closed(&stream);
        let hello =
            Hello::from_bytes(&<[u8; HELLO_LEN]>::try_from(greeting.as_slice()).unwrap()).unwrap();
        assert_eq!((hello.protocol, hello.pid), (PROTOCOL, daemon.pid()));
        assert_serves(&home);
    }
}

#[test]
fn payloads_other_than_requests_are_refused_with_bad_frame() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let status = encode(&Request::Status(Status)).unwrap();
    let trailing = [status.clone(), vec![0]].concat();
    let mut truncated = encode(&capture("some content")).unwrap();
    truncated.pop();
    for payload in [&b""[..], &[200], &[0xff; 40], &trailing, &truncated, b"\xfb\xff\xff"] {
        assert_eq!(expect_fault(&home, payload), FaultCode::BadFrame, "{payload:?}");
    }
}

#[test]
fn hostile_lengths_inside_a_frame_take_little_memory() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let before = peak_memory_kb(daemon.pid());
    // `Capture` with a content that claims to have `length` bytes and has 3.
    for length in [u64::MAX, 1 << 63, 1 << 40, (MAX_FRAME as u64) - 1] {
        let payload = [&[2, 0xfd][..], &length.to_le_bytes(), b"abc"].concat();
        assert_eq!(expect_fault(&home, &payload), FaultCode::BadFrame, "{length}");
    }
    let grown = peak_memory_kb(daemon.pid()).saturating_sub(before);
    assert!(grown < 100_000, "grew by {grown} kB");
}

/// Returns the peak of the resident memory of a process, in kB.
fn peak_memory_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn an_invalid_slug_is_refused_when_it_is_decoded() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let get = Request::Get(Get {
        page: PageRef { source: None, slug: Slug::parse("qqqqqqqqq").unwrap() },
        version: None,
    });
    let bytes = encode(&get).unwrap();
    let at = bytes.windows(9).position(|w| w == b"qqqqqqqqq").unwrap();
    for bad in [b"../../etc", b"a//b//ccc", b"UPPERCASE", b"a%2fb%2fc"] {
        let mut hostile = bytes.clone();
        hostile[at..at + 9].copy_from_slice(bad);
        assert_eq!(expect_fault(&home, &hostile), FaultCode::BadFrame);
    }
}

#[test]
fn a_length_over_the_limit_is_refused_before_its_bytes_arrive() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let before = peak_memory_kb(daemon.pid());
    for length in [MAX_FRAME as u32 + 1, u32::MAX] {
        let mut client = home.connect().unwrap();
        client.stream.write_all(&length.to_be_bytes()).unwrap();
        let answer = decode::<Answer>(&read_frame(&mut client.stream).unwrap()).unwrap();
        let Answer::Fault(fault) = answer else { panic!("{answer:?}") };
        assert_eq!(fault.code, FaultCode::TooLarge);
        assert!(fault.message.contains(&length.to_string()), "{fault:?}");
        assert_eq!(read_until_closed(&client.stream), b"");
        assert_serves(&home);
    }
    assert!(peak_memory_kb(daemon.pid()).saturating_sub(before) < 100_000);
}

#[test]
fn a_frame_that_ends_early_does_not_disturb_others() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let payload = encode(&capture("never whole")).unwrap();
    for part in [0, 1, payload.len() - 1] {
        let mut client = home.connect().unwrap();
        client.stream.write_all(&(payload.len() as u32).to_be_bytes()).unwrap();
        client.stream.write_all(&payload[..part]).unwrap();
        drop(client);
        let mut client = home.connect().unwrap();
        client.stream.write_all(&[0, 0]).unwrap();
        drop(client);
        assert_serves(&home);
    }
    assert_eq!(home.json(["status"])["pages"], 0);
    // The whole frame is a capture.
    let mut client = home.connect().unwrap();
    write_frame(&mut client.stream, &payload).unwrap();
    read_frame(&mut client.stream).unwrap();
    assert_eq!(home.json(["status"])["pages"], 1);
}

#[test]
fn a_frame_in_small_pieces_is_read_beside_other_requests() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let payload = encode(&capture("in small pieces")).unwrap();
    let mut slow = home.connect().unwrap();
    slow.stream.write_all(&(payload.len() as u32).to_be_bytes()[..2]).unwrap();
    assert_serves(&home);
    slow.stream.write_all(&(payload.len() as u32).to_be_bytes()[2..]).unwrap();
    for byte in &payload {
        slow.stream.write_all(&[*byte]).unwrap();
        assert_serves(&home);
    }
    let answer = decode::<Answer>(&read_frame(&mut slow.stream).unwrap()).unwrap();
    assert!(matches!(answer, Answer::Reply(Reply::Write(_))), "{answer:?}");
}

#[test]
fn silent_clients_are_disconnected_and_disturb_no_others() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_DAEMON_CONNECTIONS".into(), "8".into()));
    let _daemon = home.daemon();
    // More silent clients than allowed connections.
    let silent: Vec<UnixStream> = (0..12).map(|_| connect_raw(&home)).collect();
    assert_eq!(home.json(["capture", "in the crowd"])["status"], "created");
    let mut unfinished = home.connect().unwrap();
    unfinished.stream.write_all(&[0, 0, 0, 100, 1, 2, 3]).unwrap();
    assert_serves(&home);
    for stream in &silent {
        assert_eq!(read_until_closed(stream), b"");
    }
    assert_eq!(
        read_until_closed(&unfinished.stream),
        b"",
        "a connection with an incomplete frame is closed after the deadline"
    );
    assert_serves(&home);
}

#[test]
fn idle_clients_are_closed_to_admit_new_ones() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_DAEMON_CONNECTIONS".into(), "4".into()));
    let _daemon = home.daemon();
    let idle: Vec<Client> = (0..4).map(|_| connect_patiently(&home)).collect();
    assert_eq!(home.json(["capture", "let me in"])["status"], "created");
    drop(idle);
}

#[test]
fn many_connections_at_once_all_get_their_answers() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    std::thread::scope(|scope| {
        for worker in 0..40 {
            let home = &home;
            scope.spawn(move || {
                for n in 0..5 {
                    let mut client = connect_patiently(home);
                    let text = format!("worker {worker} thought {n}");
                    let written = expect_reply!(client.ask(&capture(text.as_str())), Write);
                    let get =
                        Get { page: PageRef { source: None, slug: written.slug }, version: None };
                    let page = expect_reply!(client.ask(&Request::Get(get)), Page);
                    assert_eq!(page.body, text);
                }
            });
        }
    });
    assert_eq!(home.json(["status"])["pages"], 200);
}

/// Tries to connect for up to 10 seconds.
fn connect_patiently(home: &TestHome) -> Client {
    for _ in 0..1000 {
        if let Some(client) = home.connect() {
            return client;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("no connection")
}

#[test]
fn the_write_of_a_client_that_disconnects_is_kept() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = home.connect().unwrap();
    write_frame(&mut client.stream, &encode(&capture("left in a hurry")).unwrap()).unwrap();
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    let answer = decode::<Answer>(&read_frame(&mut client.stream).unwrap()).unwrap();
    assert!(matches!(answer, Answer::Reply(Reply::Write(_))), "{answer:?}");
    assert_eq!(home.search("hurry").len(), 1);
}

#[test]
fn only_the_owner_can_open_home_run_directory_and_socket() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.json(["capture", "private"]);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.socket()), 0o600);
    assert_eq!(mode(&home.path().join("run")), 0o700);
    assert_eq!(mode(&home.path()), 0o700);
}

#[test]
fn file_modes_and_the_daemon_refuse_another_user() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.json(["capture", "secret otter"]);
    if !can_change_user() {
        return;
    }
    // A copy of the program that the other user can execute.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let brain = dir.path().join("brain");
    fs::copy(program("brain"), &brain).unwrap();
    let run_as_other_user = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&brain)
            .args(args)
            .arg("--no-start");
        command
            .env_clear()
            .env("BRAIN_HOME", home.path())
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/");
        run(command, b"")
    };
    let denied = run_as_other_user(&["search", "otter"]);
    assert!(denied.code != 0 && !denied.stdout.contains("otter"), "{denied:?}");
    assert!(denied.stderr.contains("EACCES"), "{denied:?}");
    // Even if all files are open to everyone, the daemon checks the user of the caller.
    for path in [home.path().parent().unwrap().to_owned(), home.path(), home.path().join("run")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(home.socket(), fs::Permissions::from_mode(0o666)).unwrap();
    let refused = run_as_other_user(&["search", "otter"]);
    assert!(refused.code != 0 && !refused.stdout.contains("otter"), "{refused:?}");
    assert!(home.log().contains("another user was refused"), "{}", home.log());
    let doctor = home.brain(["doctor", "--json"]);
    assert!(doctor.stdout.contains("others can open it"), "the doctor sees the mode: {doctor:?}");
    assert_serves(&home);
}
