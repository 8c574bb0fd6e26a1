//! Talks to the daemon over its socket: greeting, request, answer.
//!
//! `brain_protocol` defines the bytes. Module `start` starts the daemon.

use std::{
    io::{self, BufReader, ErrorKind, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{fs::MetadataExt, net::UnixStream},
    },
    path::Path,
    time::{Duration, Instant},
};

use brain_protocol::{
    Answer, Event, Fault, FaultCode, FrameError, HELLO_LEN, Hello, PROTOCOL, Reply, VERSION,
    decode, own_home_hint, read_frame,
};
use interprocess::{
    ConnectWaitMode,
    local_socket::{
        ConnectOptions, GenericFilePath, Stream, ToFsName,
        traits::{Stream as _, StreamCommon as _},
    },
};

use crate::{daemon_program, fail};

/// Time limit for a connection while the daemon's queue is full.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of the greeting and of each write.
const GREETING_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a request could not be sent.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// No daemon listens.
    NotListening,
    /// The connection ended before the daemon's greeting, for example because the daemon stops. The
    /// daemon did not process the request.
    ClosedWithoutGreeting,
    /// The daemon has another protocol number and did not read the request.
    Mismatch(Hello),
    /// Another failure.
    Fault(Fault),
}

impl ConnectError {
    /// Converts the error into a fault.
    pub(crate) fn into_fault(self, socket: &Path) -> Fault {
        match self {
            Self::NotListening => {
                let message = format!("no daemon answers at {}", socket.display());
                Fault::new(FaultCode::Unreachable, message).hint("start it with: brain serve")
            }
            Self::ClosedWithoutGreeting => Fault::new(
                FaultCode::Unreachable,
                format!(
                    "the daemon at {} closed the connection without a greeting",
                    socket.display()
                ),
            )
            .hint("it may be stopping: try again, or check: brain status"),
            Self::Mismatch(theirs) => Fault::new(
                FaultCode::ProtocolMismatch,
                format!(
                    "brain {VERSION} speaks protocol {PROTOCOL}, \
                     the daemon {} (pid {}) speaks protocol {}",
                    theirs.version_text(),
                    theirs.pid,
                    theirs.protocol
                ),
            )
            .hint(match daemon_program::installed_program_of(theirs.pid) {
                Some(program) => format!(
                    "{} is of another version: install brain and {} of the same one",
                    program.display(),
                    daemon_program::NAME
                ),
                None => {
                    "stop the daemon: brain stop; the next command starts the matching one".into()
                }
            }),
            Self::Fault(fault) => fault,
        }
    }
}

/// Connects to the socket.
///
/// # Errors
/// [`ConnectError::NotListening`] if no daemon listens; [`ConnectError::Fault`] if the connection
/// fails or the daemon does not accept it within [`CONNECT_TIMEOUT`].
pub(crate) fn connect(socket: &Path) -> Result<Stream, ConnectError> {
    let connect_error = |e: io::Error| match e.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => ConnectError::NotListening,
        _ => ConnectError::Fault(connect_fault(socket, &e)),
    };
    let name = socket.to_fs_name::<GenericFilePath>().map_err(connect_error)?;
    let options =
        ConnectOptions::new().name(name).wait_mode(ConnectWaitMode::Timeout(CONNECT_TIMEOUT));
    let started_at = Instant::now();
    loop {
        let stream = options.connect_sync().map_err(connect_error)?;
        // In this mode, connecting to a full queue succeeds before the daemon accepts. So this loop
        // waits until the connection has a peer.
        match stream.peer_creds() {
            Err(e) if matches!(e.kind(), ErrorKind::NotConnected | ErrorKind::ConnectionReset) => {}
            _ => return Ok(stream),
        }
        if started_at.elapsed() > CONNECT_TIMEOUT {
            return Err(ConnectError::Fault(
                Fault::new(
                    FaultCode::Busy,
                    format!("the daemon at {} accepts no connections", socket.display()),
                )
                .hint("try again; if this persists: brain stop"),
            ));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn connect_fault(socket: &Path, error: &io::Error) -> Fault {
    let code = match error.kind() {
        ErrorKind::PermissionDenied => FaultCode::Forbidden,
        _ => FaultCode::Unreachable,
    };
    let fault = Fault::new(
        code,
        format!("cannot connect to {}: {}", socket.display(), fail::reason(error)),
    );
    match error.kind() {
        ErrorKind::PermissionDenied => fault.hint(match home_of_root(socket) {
            Some(dir) => format!(
                "{} belongs to root, perhaps because brain once ran with `sudo`; {}",
                dir.display(),
                own_home_hint(dir)
            ),
            None => "only users with access to the socket can connect; check BRAIN_HOME".into(),
        }),
        ErrorKind::InvalidInput => {
            fault.hint("a socket path has at most 107 bytes: set BRAIN_SOCKET to a shorter one")
        }
        _ => fault.hint("check BRAIN_HOME and BRAIN_SOCKET"),
    }
}

/// Returns the home of a socket at its usual place if the home belongs to root.
fn home_of_root(socket: &Path) -> Option<&Path> {
    let home = socket.ancestors().nth(2).filter(|home| socket == home.join("run/brain.sock"))?;
    home.metadata().ok().filter(|found| found.uid() == 0).map(|_| home)
}

/// A connection with a sent request.
pub(crate) struct Exchange {
    stream: BufReader<Stream>,
    /// The daemon's greeting.
    pub(crate) hello: Hello,
}

impl Exchange {
    /// Sends greeting and request together, and reads the daemon's greeting.
    ///
    /// # Errors
    /// [`ConnectError::ClosedWithoutGreeting`], [`ConnectError::Mismatch`], or
    /// [`ConnectError::Fault`] if the request is too long or cannot be sent, or if no valid
    /// greeting comes in time.
    pub(crate) fn begin(mut stream: Stream, request: &[u8]) -> Result<Self, ConnectError> {
        let mut bytes = Vec::with_capacity(HELLO_LEN + 4 + request.len());
        bytes.extend_from_slice(&Hello::of_this_build(std::process::id()).to_bytes());
        let length = u32::try_from(request.len())
            .map_err(|_| ConnectError::Fault(too_long_fault(request.len())))?;
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(request);

        let timeouts = stream
            .set_recv_timeout(Some(GREETING_TIMEOUT))
            .and_then(|()| stream.set_send_timeout(Some(GREETING_TIMEOUT)));
        timeouts.map_err(|e| ConnectError::Fault(lost_connection(&e)))?;
        // A daemon with another protocol number closes early, but its greeting can still be read.
        let sent = stream.write_all(&bytes);
        let mut stream = BufReader::with_capacity(16 * 1024, stream);
        let mut greeting = [0_u8; HELLO_LEN];
        match stream.read_exact(&mut greeting) {
            Ok(()) => {}
            Err(e) if is_timeout(&e) => {
                return Err(ConnectError::Fault(timeout_fault(GREETING_TIMEOUT)));
            }
            Err(_) => {
                return Err(match sent {
                    Err(e) if is_timeout(&e) => {
                        ConnectError::Fault(timeout_fault(GREETING_TIMEOUT))
                    }
                    _ => ConnectError::ClosedWithoutGreeting,
                });
            }
        }
        let hello = Hello::from_bytes(&greeting).map_err(|e| {
            ConnectError::Fault(
                Fault::new(FaultCode::BadFrame, e.to_string())
                    .hint("another program uses the socket: check BRAIN_SOCKET"),
            )
        })?;
        if !hello.has_same_protocol() {
            return Err(ConnectError::Mismatch(hello));
        }
        sent.map_err(|e| {
            let fault =
                if is_timeout(&e) { timeout_fault(GREETING_TIMEOUT) } else { lost_connection(&e) };
            ConnectError::Fault(fault)
        })?;
        Ok(Self { stream, hello })
    }

    /// Waits for the answer. `max_silence` limits the wait for each message; events go to
    /// `on_event`.
    ///
    /// # Errors
    /// The daemon's fault; `timeout` if the daemon is silent for longer than `max_silence`;
    /// `bad_frame` if a message cannot be read; `unreachable` if the connection is lost.
    pub(crate) fn read_answer(
        &mut self,
        max_silence: Duration,
        mut on_event: impl FnMut(Event),
    ) -> Result<Reply, Fault> {
        if max_silence != GREETING_TIMEOUT {
            let result = self.stream.get_ref().set_recv_timeout(Some(max_silence));
            result.map_err(|e| lost_connection(&e))?;
        }
        loop {
            let frame = read_frame(&mut self.stream).map_err(|e| match e {
                FrameError::Io(e) if is_timeout(&e) => timeout_fault(max_silence),
                FrameError::Io(e) => lost_connection(&e),
                FrameError::Closed => lost_connection(&ErrorKind::UnexpectedEof.into()),
                FrameError::TooLarge(_) => unreadable_answer(&e),
            })?;
            match decode::<Answer>(&frame).map_err(|e| unreadable_answer(&e))? {
                Answer::Event(event) => on_event(event),
                Answer::Reply(reply) => return Ok(reply),
                Answer::Fault(fault) => return Err(fault),
            }
        }
    }

    /// Returns the raw connection. Reads have no time limit; writes keep the limit of the greeting.
    ///
    /// # Errors
    /// `unreachable` if the connection is lost.
    pub(crate) fn into_stream(self) -> Result<UnixStream, Fault> {
        // Nothing was read ahead, because the daemon sends nothing before the next request.
        let Stream::UdSocket(stream) = self.stream.into_inner();
        let stream = UnixStream::from(OwnedFd::from(stream));
        stream.set_read_timeout(None).map_err(|e| lost_connection(&e))?;
        Ok(stream)
    }
}

/// Returns the fault of a request that is too long for a frame.
pub(crate) fn too_long_fault(bytes: usize) -> Fault {
    Fault::new(
        FaultCode::TooLarge,
        format!("the request has {bytes} bytes, more than a message can have"),
    )
    .hint("send less data at once")
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn timeout_fault(max_silence: Duration) -> Fault {
    // The request was sent with the greeting, so the daemon may be processing it.
    let message = format!("the daemon sent nothing for {} s", max_silence.as_secs());
    Fault::new(FaultCode::Timeout, message).hint(
        "the request may have succeeded or may still run: \
         check before you repeat it; see brain status",
    )
}

fn lost_connection(error: &io::Error) -> Fault {
    let message = match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            "the daemon closed the connection before it answered".to_owned()
        }
        _ => format!("the connection to the daemon failed: {}", fail::reason(error)),
    };
    Fault::new(FaultCode::Unreachable, message)
        .hint("the request may have succeeded: check before you repeat it")
}

fn unreadable_answer(detail: &dyn std::fmt::Display) -> Fault {
    Fault::new(FaultCode::BadFrame, format!("the daemon's answer cannot be read: {detail}"))
        .hint("restart the daemon: brain restart")
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::{Request, Status, StopReply, encode, write_frame};
    use std::{os::unix::net::UnixListener, path::PathBuf, thread::JoinHandle};

    /// Starts a daemon that greets as `hello`, reads one request, sends `answers` and closes the
    /// connection. Returns the path of its socket, and a handle that yields the request.
    fn start_daemon(
        name: &str,
        hello: Hello,
        answers: Vec<Answer>,
    ) -> (PathBuf, JoinHandle<io::Result<Vec<u8>>>) {
        let path = std::env::temp_dir().join(format!("brain-{name}-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("bind");
        let socket = path.clone();
        let serve = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            std::fs::remove_file(socket)?;
            stream.write_all(&hello.to_bytes())?;
            if !hello.has_same_protocol() {
                return Ok(Vec::new());
            }
            let mut greeting = [0_u8; HELLO_LEN];
            stream.read_exact(&mut greeting)?;
            let request = read_frame(&mut stream).map_err(io::Error::other)?;
            for answer in &answers {
                let frame = encode(answer).map_err(io::Error::other)?;
                write_frame(&mut stream, &frame).map_err(io::Error::other)?;
            }
            Ok(request)
        });
        (path, serve)
    }

    fn request_status(path: &Path, events: &mut Vec<Event>) -> Result<Reply, ConnectError> {
        let request = encode(&Request::Status(Status)).expect("encode");
        let mut session = Exchange::begin(connect(path)?, &request)?;
        session.read_answer(Duration::from_secs(2), |e| events.push(e)).map_err(ConnectError::Fault)
    }

    #[test]
    fn events_come_before_the_reply() {
        let progress = Event::Progress { done: 1, total: 2 };
        let answers =
            vec![Answer::Event(progress.clone()), Answer::Reply(Reply::Stopping(StopReply))];
        let (path, serve) = start_daemon("events", Hello::of_this_build(1), answers);
        let mut events = Vec::new();
        assert_eq!(request_status(&path, &mut events).ok(), Some(Reply::Stopping(StopReply)));
        assert_eq!(events, [progress]);
        let request = serve.join().expect("join").expect("serve");
        assert_eq!(decode::<Request>(&request), Ok(Request::Status(Status)));
    }

    #[test]
    fn a_daemon_of_another_protocol_is_named() {
        let theirs = Hello { protocol: PROTOCOL + 1, version: [0, 9, 0, 0], pid: 77 };
        let (path, serve) = start_daemon("mismatch", theirs, Vec::new());
        let result = request_status(&path, &mut Vec::new());
        let Err(error @ ConnectError::Mismatch(_)) = result else { panic!("{result:?}") };
        let fault = error.into_fault(&path);
        assert_eq!(fault.code, FaultCode::ProtocolMismatch);
        let (ours, theirs) = (format!("protocol {PROTOCOL}"), format!("protocol {}", PROTOCOL + 1));
        for part in [VERSION, "0.9.0.0", &ours, &theirs, "77"] {
            assert!(fault.message.contains(part), "{}", fault.message);
        }
        assert!(fault.hint.is_some_and(|h| h.to_string().contains("brain stop")));
        let _ = serve.join();
    }

    #[test]
    fn a_lost_connection_and_a_foreign_program_are_faults() {
        let (path, serve) = start_daemon("lost", Hello::of_this_build(1), Vec::new());
        let result = request_status(&path, &mut Vec::new());
        let Err(ConnectError::Fault(fault)) = result else { panic!("{result:?}") };
        assert_eq!(fault.code, FaultCode::Unreachable);
        let _ = serve.join();

        let path = std::env::temp_dir().join(format!("brain-stranger-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("bind");
        let socket = path.clone();
        let serve = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            std::fs::remove_file(socket)?;
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        });
        let result = request_status(&path, &mut Vec::new());
        let Err(ConnectError::Fault(fault)) = result else { panic!("{result:?}") };
        assert_eq!(fault.code, FaultCode::BadFrame);
        let _ = serve.join();
    }

    #[test]
    fn a_silent_daemon_is_a_timeout_with_a_warning() {
        let path = std::env::temp_dir().join(format!("brain-silent-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("bind");
        let socket = path.clone();
        // This daemon reads the request and never answers.
        let serve = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            std::fs::remove_file(socket)?;
            stream.write_all(&Hello::of_this_build(1).to_bytes())?;
            let mut all = Vec::new();
            stream.read_to_end(&mut all).map(|_| all)
        });
        let capture = Request::Capture(brain_protocol::Capture {
            content: b"an important thought".to_vec(),
            origin: brain_protocol::Origin::Argument,
            source: None,
            slug: None,
            page_type: None,
            title: None,
            tags: Vec::new(),
        });
        let request = encode(&capture).expect("encode");
        let mut session =
            Exchange::begin(connect(&path).expect("open"), &request).expect("a greeting");
        let answer = session.read_answer(Duration::from_millis(100), |_| {});
        drop(session);
        let Err(fault) = answer else { panic!("{answer:?}") };
        assert_eq!((fault.code, fault.code.exit() as u8), (FaultCode::Timeout, 1));
        assert!(fault.message.contains("the daemon sent nothing for"), "{}", fault.message);
        let hint = fault.hint.unwrap_or_default().to_string();
        assert!(hint.contains("may have succeeded or may still run"), "{hint}");
        assert!(
            hint.contains("check before you repeat it") && hint.contains("brain status"),
            "{hint}"
        );
        let received = serve.join().expect("join").expect("serve");
        assert!(received.ends_with(&request), "the daemon had the whole request");
    }

    #[test]
    fn open_waits_for_a_full_queue() {
        use rustix::net::{
            AddressFamily, SocketAddrUnix, SocketType, accept, bind, listen, socket,
        };
        let path = std::env::temp_dir().join(format!("brain-full-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("socket");
        bind(&listener, &SocketAddrUnix::new(&path).expect("address")).expect("bind");
        listen(&listener, 0).expect("listen");
        let first = connect(&path).expect("the queue takes one");
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            let first = accept(&listener).expect("first");
            (first, accept(&listener).expect("second"))
        });
        let started_at = Instant::now();
        let mut second = connect(&path).expect("waits");
        std::fs::remove_file(&path).expect("remove");
        assert!(started_at.elapsed() >= Duration::from_millis(90));
        assert!(second.write_all(b"connected").is_ok());
        drop((first, late.join()));
    }

    #[test]
    fn a_missing_socket_means_no_daemon() {
        assert!(matches!(connect(Path::new("/no/such.sock")), Err(ConnectError::NotListening)));
        let long = PathBuf::from(format!("/tmp/{}", "x".repeat(200)));
        let result = connect(&long);
        let Err(ConnectError::Fault(fault)) = result else { panic!("long path") };
        assert!(
            fault.hint.is_some_and(|h| h.to_string().contains("BRAIN_SOCKET")),
            "{}",
            fault.message
        );
    }
}
