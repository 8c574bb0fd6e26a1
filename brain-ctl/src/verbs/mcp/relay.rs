//! Relays messages between a client and the daemon, across restarts of the daemon.
//!
//! One thread reads from the client, and one from each connection to the daemon. The caller's
//! thread handles all messages, so each answer is written whole and each request gets at most one
//! answer. After a lost connection, the relay reconnects at the next request. So a stopped daemon
//! stays stopped until a request needs it, and a daemon at its connection limit can close idle
//! clients.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use brain_protocol::{Fault, FaultCode};
use serde_json::Value;

use super::{
    line::{self, Line},
    message::{self, Message},
};

/// Maximum messages in the queue of the handling thread. It is low because messages can be large.
const MAX_QUEUED: usize = 4;
/// Maximum unanswered requests. Without this limit, relay and daemon could both block on writing.
const MAX_PENDING: usize = 16;
/// Time limit for answers after the end of the client's input.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time to wait for a first request if connecting failed. That request gets an error answer.
const UNREACHABLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for a new daemon to initialise the session.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for the answer to a request. Clients wait for a minute by default.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
/// Time limit for a write to the daemon: a daemon that reads nothing is as good as ended.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often time limits are checked.
const TICK: Duration = Duration::from_millis(500);

/// Why the relay failed.
#[derive(Debug)]
pub(super) enum RelayError {
    /// Writing to the client failed, for example because it closed the pipe.
    Output(io::Error),
    /// Connecting to the daemon failed.
    Fault(Fault),
}

/// An event for the handling thread. Connections are named by their number.
enum RelayEvent {
    /// The client sent a line.
    ClientLine(Line),
    /// The client's input ended.
    ClientEnd,
    /// The daemon sent a line on a connection.
    DaemonLine(u32, Line),
    /// A connection ended.
    DaemonEnd(u32),
}

/// A connection and its number.
struct NumberedConnection {
    stream: UnixStream,
    number: u32,
}

/// An unanswered request.
struct PendingRequest {
    id: Value,
    /// The number of its connection.
    connection: u32,
    sent_at: Instant,
    /// The line of the request, if it initialises the session.
    initialize: Option<Vec<u8>>,
}

/// The relay.
pub(super) struct Relay<C, O, N> {
    connect: C,
    out: O,
    notice: N,
    events: SyncSender<RelayEvent>,
    inbox: Receiver<RelayEvent>,
    connection: Option<NumberedConnection>,
    /// The number of connections so far.
    connection_count: u32,
    pending: Vec<PendingRequest>,
    /// Sends permits to the client's reader. Each permit allows one message.
    permit_sender: SyncSender<()>,
    /// The other end of `permit_sender`, until the reader starts.
    permit_receiver: Option<Receiver<()>>,
    /// Whether the client's reader waits for a permit.
    needs_permit: bool,
    /// The request that initialised the session, to repeat it on a new connection.
    initialize: Option<Vec<u8>>,
    /// The notification that followed this request.
    initialized: Option<Vec<u8>>,
}

impl<C, O, N> Relay<C, O, N>
where
    C: FnMut() -> Result<UnixStream, Fault>,
    O: FnMut(&[u8]) -> io::Result<()>,
    N: FnMut(&str),
{
    /// Creates a relay. `connect` opens an MCP connection, `out` writes to the client, `notice`
    /// writes for people.
    pub(super) fn new(connect: C, out: O, notice: N) -> Self {
        let (events, inbox) = sync_channel(MAX_QUEUED);
        let (permit_sender, permit_receiver) = sync_channel(1);
        Self {
            connect,
            out,
            notice,
            events,
            inbox,
            connection: None,
            connection_count: 0,
            pending: Vec::new(),
            permit_sender,
            permit_receiver: Some(permit_receiver),
            needs_permit: true,
            initialize: None,
            initialized: None,
        }
    }

    /// Serves the client until the end of `input`. `is_client_gone` becomes true when nobody can
    /// write to `input` any more, although some of it may be unread. Then the relay also ends when
    /// nothing happens for [`DRAIN_TIMEOUT`].
    ///
    /// # Errors
    /// `Output` if writing to the client fails. `Fault` if the first connection fails, or if a new
    /// daemon has another protocol.
    pub(super) fn run(
        mut self,
        mut input: impl BufRead + Send + 'static,
        is_client_gone: &Arc<AtomicBool>,
    ) -> Result<(), RelayError> {
        let (events, permits) = (self.events.clone(), self.permit_receiver.take());
        std::thread::spawn(move || {
            // A read error counts as the end of the client.
            while let Ok(Some(line)) = line::next(&mut input) {
                let has_permit = permits.as_ref().is_some_and(|permits| permits.recv().is_ok());
                if !has_permit || events.send(RelayEvent::ClientLine(line)).is_err() {
                    return;
                }
            }
            let _ = events.send(RelayEvent::ClientEnd);
        });
        self.permit_next();
        if let Err(fault) = self.ensure_connected(false) {
            self.answer_unreachable(&fault)?;
            return Err(RelayError::Fault(fault));
        }
        let mut deadline: Option<Instant> = None;
        let mut last_event = Instant::now();
        loop {
            let event = self.inbox.recv_timeout(TICK).ok();
            if event.is_some() {
                last_event = Instant::now();
            }
            match event {
                Some(RelayEvent::ClientLine(line)) => {
                    self.needs_permit = true;
                    self.handle_client_line(line)?;
                }
                Some(RelayEvent::ClientEnd) => deadline = Some(Instant::now() + DRAIN_TIMEOUT),
                Some(RelayEvent::DaemonLine(connection, line)) => {
                    self.handle_daemon_line(connection, line)?;
                }
                Some(RelayEvent::DaemonEnd(connection)) => self.handle_daemon_end(connection)?,
                None => self.fail_pending(|request| request.sent_at.elapsed() > REQUEST_TIMEOUT)?,
            }
            if deadline.is_some() && self.pending.is_empty() {
                return Ok(());
            }
            let is_idle = last_event.elapsed() > DRAIN_TIMEOUT;
            if deadline.is_some_and(|deadline| Instant::now() > deadline)
                || (is_idle && is_client_gone.load(Ordering::Relaxed))
            {
                (self.notice)(
                    "the daemon did not answer all requests in time; they may have taken effect",
                );
                return self.fail_pending(|_| true);
            }
            self.permit_next();
        }
    }

    /// Permits the next message of the client, unless too many requests are unanswered.
    fn permit_next(&mut self) {
        if self.needs_permit && self.pending.len() < MAX_PENDING {
            self.needs_permit = self.permit_sender.try_send(()).is_err();
        }
    }

    /// Waits for a first request, for at most [`UNREACHABLE_TIMEOUT`], and answers it with `fault`.
    fn answer_unreachable(&mut self, fault: &Fault) -> Result<(), RelayError> {
        let deadline = Instant::now() + UNREACHABLE_TIMEOUT;
        while let Ok(event) =
            self.inbox.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            match event {
                RelayEvent::ClientLine(Line::Whole(line)) => {
                    if let Ok(Message::Request { id, .. }) = message::parse(&line) {
                        return self.send_to_client(&message::unreachable(&id, fault));
                    }
                    self.needs_permit = true;
                    self.permit_next();
                }
                RelayEvent::ClientEnd => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// Handles a line of the client.
    fn handle_client_line(&mut self, line: Line) -> Result<(), RelayError> {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(id) => return self.send_to_client(&message::too_long(id.as_ref())),
        };
        match message::parse(&line) {
            Err(answer) => self.send_to_client(&answer),
            // The client could not tell apart two answers with the same id.
            Ok(Message::Request { id, .. })
                if self.pending.iter().any(|request| request.id == id) =>
            {
                self.send_to_client(&message::duplicate_id(&id))
            }
            Ok(Message::Request { id, is_initialize }) => {
                self.forward_request(id, is_initialize, line)
            }
            Ok(kind) => {
                match kind {
                    Message::Initialized => self.initialized = Some(line.clone()),
                    Message::Cancelled(id) => self.pending.retain(|request| request.id != id),
                    _ => {}
                }
                // A notification does not start a daemon.
                if self.connection.is_some() && self.send_to_daemon(&line).is_err() {
                    self.disconnect();
                }
                Ok(())
            }
        }
    }

    /// Sends a request to the daemon, and connects if necessary.
    fn forward_request(
        &mut self,
        id: Value,
        is_initialize: bool,
        line: Vec<u8>,
    ) -> Result<(), RelayError> {
        // A write error shows that the daemon ended. The daemon cannot have processed an incomplete
        // line, so the request is sent again on a new connection.
        for _ in 0..2 {
            let connection = match self.ensure_connected(is_initialize) {
                Ok(connection) => connection,
                Err(fault) => {
                    self.send_to_client(&message::unreachable(&id, &fault))?;
                    // A retry cannot help: the client must start the installed version of `brain`.
                    if fault.code == FaultCode::ProtocolMismatch {
                        return Err(RelayError::Fault(fault));
                    }
                    (self.notice)(&fault.message);
                    return Ok(());
                }
            };
            if self.send_to_daemon(&line).is_ok() {
                let initialize = is_initialize.then_some(line);
                let sent_at = Instant::now();
                self.pending.push(PendingRequest { id, connection, sent_at, initialize });
                return Ok(());
            }
            self.disconnect();
        }
        self.send_to_client(&message::unanswered(&id))
    }

    /// Handles a line of the daemon.
    fn handle_daemon_line(&mut self, connection: u32, line: Line) -> Result<(), RelayError> {
        let mut take_pending = |id: &Value| {
            let mut pending = self.pending.iter();
            let at = pending
                .position(|request| request.connection == connection && request.id == *id)?;
            Some(self.pending.remove(at))
        };
        match line {
            Line::TooLong(id) => match id.filter(|id| take_pending(id).is_some()) {
                Some(id) => self.send_to_client(&message::answer_too_long(&id)),
                None => Ok(()),
            },
            Line::Whole(mut line) => {
                match message::parse(&line) {
                    Ok(Message::Answer { id: Some(id), success }) => match take_pending(&id) {
                        Some(request) if success && request.initialize.is_some() => {
                            (self.initialize, self.initialized) = (request.initialize, None);
                        }
                        Some(_) => {}
                        // The request was cancelled or already has an answer.
                        None => return Ok(()),
                    },
                    Ok(_) => {}
                    // A daemon that ends can write an incomplete line.
                    Err(_) => return Ok(()),
                }
                line.push(b'\n');
                self.send_to_client(&line)
            }
        }
    }

    fn handle_daemon_end(&mut self, connection: u32) -> Result<(), RelayError> {
        if self.connection.as_ref().is_some_and(|current| current.number == connection) {
            self.disconnect();
        }
        self.fail_pending(|request| request.connection == connection)
    }

    /// Sends an error answer to the pending requests for which `is_failed` returns `true`.
    fn fail_pending(
        &mut self,
        is_failed: impl Fn(&PendingRequest) -> bool,
    ) -> Result<(), RelayError> {
        let pending = std::mem::take(&mut self.pending);
        let (failed, remaining): (Vec<_>, Vec<_>) = pending.into_iter().partition(is_failed);
        self.pending = remaining;
        failed.iter().try_for_each(|request| self.send_to_client(&message::unanswered(&request.id)))
    }

    /// Returns the number of the connection, and connects if necessary. A new connection repeats
    /// the client's `initialize`, except if the next request is one (`is_initialize`).
    fn ensure_connected(&mut self, is_initialize: bool) -> Result<u32, Fault> {
        if let Some(connection) = &self.connection {
            return Ok(connection.number);
        }
        let stream = (self.connect)()?;
        let connection_error = |e: io::Error| {
            Fault::new(FaultCode::Unreachable, format!("the connection to the daemon failed: {e}"))
                .hint("call again")
        };
        stream.set_write_timeout(Some(WRITE_TIMEOUT)).map_err(connection_error)?;
        let mut reader = BufReader::new(stream.try_clone().map_err(connection_error)?);
        if let (Some(initialize), false) = (&self.initialize, is_initialize) {
            repeat_initialize(&stream, &mut reader, initialize, self.initialized.as_deref())
                .map_err(connection_error)?;
        }
        self.connection_count += 1;
        let (number, events) = (self.connection_count, self.events.clone());
        std::thread::spawn(move || {
            while let Ok(Some(line)) = line::next(&mut reader) {
                if events.send(RelayEvent::DaemonLine(number, line)).is_err() {
                    return;
                }
            }
            let _ = events.send(RelayEvent::DaemonEnd(number));
        });
        self.connection = Some(NumberedConnection { stream, number });
        Ok(number)
    }

    fn send_to_daemon(&mut self, line: &[u8]) -> io::Result<()> {
        match &self.connection {
            Some(connection) => write_line(&connection.stream, line),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Closes the connection. Answers that already arrived are still handled.
    fn disconnect(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = connection.stream.shutdown(std::net::Shutdown::Both);
        }
    }

    fn send_to_client(&mut self, line: &[u8]) -> Result<(), RelayError> {
        (self.out)(line).map_err(RelayError::Output)
    }
}

fn write_line(mut stream: &UnixStream, line: &[u8]) -> io::Result<()> {
    // One write, so that the line feed does not arrive in a separate packet.
    stream.write_all(&[line, b"\n"].concat())
}

/// Initialises the client's session on a new connection. The answer is not forwarded, because the
/// client already has one.
fn repeat_initialize(
    stream: &UnixStream,
    reader: &mut impl BufRead,
    initialize: &[u8],
    initialized: Option<&[u8]>,
) -> io::Result<()> {
    let Ok(Message::Request { id, .. }) = message::parse(initialize) else { return Ok(()) };
    stream.set_read_timeout(Some(INITIALIZE_TIMEOUT))?;
    write_line(stream, initialize)?;
    loop {
        match line::next(reader)? {
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(Line::TooLong(_)) => {}
            Some(Line::Whole(line)) => match message::parse(&line) {
                Ok(Message::Answer { id: Some(answer_id), success: true }) if answer_id == id => {
                    break;
                }
                Ok(Message::Answer { id: Some(answer_id), success: false }) if answer_id == id => {
                    return Err(io::Error::other("the new daemon refuses the session"));
                }
                _ => {}
            },
        }
    }
    stream.set_read_timeout(None)?;
    initialized.map_or(Ok(()), |line| write_line(stream, line))
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
