//! A low-level client of the daemon's socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use brain_protocol::{
    Answer, Capture, Fault, HELLO_LEN, Hello, Origin, Reply, Request, decode, encode, read_frame,
    write_frame,
};

use super::TEST_TIMEOUT;

/// A connection to the daemon's socket.
pub struct Client {
    /// The raw connection.
    pub stream: UnixStream,
    /// The daemon's greeting.
    pub hello: Hello,
}

impl Client {
    /// Connects and exchanges greetings. Returns `None` if either fails.
    #[must_use]
    pub fn connect(socket: &Path) -> Option<Self> {
        let mut stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(TEST_TIMEOUT)).ok()?;
        stream.write_all(&Hello::of_this_build(std::process::id()).to_bytes()).ok()?;
        let mut bytes = [0_u8; HELLO_LEN];
        stream.read_exact(&mut bytes).ok()?;
        Some(Self { stream, hello: Hello::from_bytes(&bytes).ok()? })
    }

    /// Sends a request and waits for its reply; events before it are ignored. Returns `None` if the
    /// daemon closes the connection or does not answer in time.
    pub fn try_ask(&mut self, request: &Request) -> Option<Result<Reply, Fault>> {
        write_frame(&mut self.stream, &encode(request).unwrap()).ok()?;
        loop {
            match decode::<Answer>(&read_frame(&mut self.stream).ok()?).unwrap() {
                Answer::Event(_) => {}
                Answer::Reply(reply) => return Some(Ok(reply)),
                Answer::Fault(fault) => return Some(Err(fault)),
            }
        }
    }

    /// Sends a request and returns its reply.
    ///
    /// # Errors
    /// When the daemon returns a fault.
    ///
    /// # Panics
    /// When the daemon does not answer.
    pub fn ask(&mut self, request: &Request) -> Result<Reply, Fault> {
        self.try_ask(request).expect("no answer of the daemon")
    }
}

/// Returns the capture request that `brain capture --stdin` sends.
#[must_use]
pub fn capture(content: impl Into<Vec<u8>>) -> Request {
    Request::Capture(Capture {
        content: content.into(),
        origin: Origin::Stdin,
        source: None,
        slug: None,
        page_type: None,
        title: None,
        tags: Vec::new(),
    })
}
