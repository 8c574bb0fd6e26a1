//! Relays messages between a client and the daemon, across restarts of the daemon.
//!
//! One thread reads from the client and one from the daemon. A third handles all messages, so each
//! answer is written whole and each request is answered once. After a lost connection, the relay
//! reconnects at the next request: a stopped daemon stays stopped until it is needed, and a daemon
//! at its connection limit can close idle clients.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    time::{Duration, Instant},
};

use brain_protocol::{Fault, FaultCode};
use serde_json::Value;

use super::{
    line::{self, Line},
    message::{self, Kind},
};

/// Messages in the queue of the handling thread; messages can be large.
const QUEUE: usize = 4;
/// Maximum unanswered requests. Without it, relay and daemon could both block on writing.
const AT_ONCE: usize = 16;
/// Time limit for answers after the client's end of input.
const LAST_ANSWERS: Duration = Duration::from_secs(30);
/// Time for requests that get an error answer because no daemon runs.
const LAST_QUESTION: Duration = Duration::from_secs(1);
/// Time limit for a new daemon to initialise the session.
const REPLAY: Duration = Duration::from_secs(30);

/// Why the relay ends.
#[derive(Debug)]
pub(super) enum End {
    /// The client closed its input.
    Output(io::Error),
    /// No daemon can be reached.
    Fault(Fault),
}

enum Event {
    Asked(Line),
    ClientDone,
    Answered(u32, Line),
    Lost(u32),
}

/// A connection and its number.
struct Connection {
    stream: UnixStream,
    number: u32,
}

/// An unanswered request.
struct Pending {
    id: Value,
    /// The number of its connection.
    link: u32,
    /// The line, if it initialises the session.
    opening: Option<Vec<u8>>,
}

/// The relay.
pub(super) struct Relay<C, O, N> {
    connect: C,
    out: O,
    notice: N,
    events: SyncSender<Event>,
    inbox: Receiver<Event>,
    link: Option<Connection>,
    links: u32,
    pending: Vec<Pending>,
    /// Permits the client's reader to pass one more message, and whether it still waits for this.
    turns: SyncSender<()>,
    owed: bool,
    /// The receiver of these permits.
    turn: Option<Receiver<()>>,
    /// The request and the notification that initialised the session.
    opening: Option<Vec<u8>>,
    opened: Option<Vec<u8>>,
}

impl<C, O, N> Relay<C, O, N>
where
    C: FnMut() -> Result<UnixStream, Fault>,
    O: FnMut(&[u8]) -> io::Result<()>,
    N: FnMut(&str),
{
    /// `connect` opens an MCP connection, `out` writes to the client, `notice` writes for people.
    pub(super) fn new(connect: C, out: O, notice: N) -> Self {
        let (events, inbox) = sync_channel(QUEUE);
        let (turns, turn) = sync_channel(1);
        Self {
            connect,
            out,
            notice,
            events,
            inbox,
            link: None,
            links: 0,
            pending: Vec::new(),
            turns,
            owed: true,
            turn: Some(turn),
            opening: None,
            opened: None,
        }
    }

    /// Serves the client until the end of `input`.
    ///
    /// # Errors
    /// See [`End`].
    pub(super) fn run(mut self, mut input: impl BufRead + Send + 'static) -> Result<(), End> {
        let (events, turn) = (self.events.clone(), self.turn.take());
        std::thread::spawn(move || {
            // A client that cannot be read has ended.
            while let Ok(Some(line)) = line::next(&mut input) {
                let may = turn.as_ref().is_some_and(|turn| turn.recv().is_ok());
                if !may || events.send(Event::Asked(line)).is_err() {
                    return;
                }
            }
            let _ = events.send(Event::ClientDone);
        });
        self.go_on();
        if let Err(fault) = self.linked(false) {
            self.last_words(&fault)?;
            return Err(End::Fault(fault));
        }
        let mut until: Option<Instant> = None;
        loop {
            let event = match until {
                None => self.inbox.recv().ok(),
                Some(until) => {
                    self.inbox.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
                }
            };
            match event {
                Some(Event::Asked(line)) => {
                    self.owed = true;
                    self.asked(line)?;
                }
                Some(Event::ClientDone) => until = Some(Instant::now() + LAST_ANSWERS),
                Some(Event::Answered(link, line)) => self.answered(link, line)?,
                Some(Event::Lost(link)) => self.lost(link)?,
                None => {
                    (self.notice)(
                        "the daemon did not answer all requests in time; they may have taken effect",
                    );
                    return self.give_up(|_| true);
                }
            }
            if until.is_some() && self.pending.is_empty() {
                return Ok(());
            }
            self.go_on();
        }
    }

    /// Permits the next message of the client, unless too many requests are unanswered.
    fn go_on(&mut self) {
        if self.owed && self.pending.len() < AT_ONCE {
            self.owed = self.turns.try_send(()).is_err();
        }
    }

    /// Sends an error answer to each waiting request.
    fn last_words(&mut self, fault: &Fault) -> Result<(), End> {
        let until = Instant::now() + LAST_QUESTION;
        while let Ok(event) =
            self.inbox.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            match event {
                Event::Asked(Line::Whole(line)) => {
                    if let Ok(Kind::Request { id, .. }) = message::read(&line) {
                        return self.say(&message::unreachable(&id, fault));
                    }
                    self.owed = true;
                    self.go_on();
                }
                Event::ClientDone => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// Handles a line of the client.
    fn asked(&mut self, line: Line) -> Result<(), End> {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(id) => return self.say(&message::too_long(id.as_ref())),
        };
        match message::read(&line) {
            Err(answer) => self.say(&answer),
            // The daemon would answer one of them.
            Ok(Kind::Request { id, .. }) if self.pending.iter().any(|one| one.id == id) => {
                self.say(&message::taken(&id))
            }
            Ok(Kind::Request { id, initialize }) => self.request(id, initialize, line),
            Ok(kind) => {
                match kind {
                    Kind::Initialized => self.opened = Some(line.clone()),
                    Kind::Cancelled(id) => self.pending.retain(|one| one.id != id),
                    _ => {}
                }
                // To a daemon that is not there it would say nothing.
                if self.link.is_some() && self.send(&line).is_err() {
                    self.hang_up();
                }
                Ok(())
            }
        }
    }

    fn request(&mut self, id: Value, initialize: bool, line: Vec<u8>) -> Result<(), End> {
        // A daemon that has gone without a word is noticed by writing to it. It has not read what
        // could not be written whole.
        for _ in 0..2 {
            let link = match self.linked(initialize) {
                Ok(link) => link,
                Err(fault) => {
                    self.say(&message::unreachable(&id, &fault))?;
                    // No daemon of this installation will ever understand us; the next `brain`
                    // will.
                    if fault.code == FaultCode::ProtocolMismatch {
                        return Err(End::Fault(fault));
                    }
                    (self.notice)(&fault.message);
                    return Ok(());
                }
            };
            if self.send(&line).is_ok() {
                self.pending.push(Pending { id, link, opening: initialize.then_some(line) });
                return Ok(());
            }
            self.hang_up();
        }
        self.say(&message::lost(&id))
    }

    /// Handles a line of the daemon.
    fn answered(&mut self, link: u32, line: Line) -> Result<(), End> {
        let mut taken = |id: &Value| {
            let at = self.pending.iter().position(|one| one.link == link && one.id == *id)?;
            Some(self.pending.remove(at))
        };
        match line {
            Line::TooLong(id) => match id.filter(|id| taken(id).is_some()) {
                Some(id) => self.say(&message::answer_too_long(&id)),
                None => Ok(()),
            },
            Line::Whole(mut line) => {
                match message::read(&line) {
                    Ok(Kind::Answer { id: Some(id), success }) => match taken(&id) {
                        Some(request) if success && request.opening.is_some() => {
                            (self.opening, self.opened) = (request.opening, None);
                        }
                        Some(_) => {}
                        // Nobody waits for it any more.
                        None => return Ok(()),
                    },
                    Ok(_) => {}
                    // The beginning of what a daemon at its end would have said.
                    Err(_) => return Ok(()),
                }
                line.push(b'\n');
                self.say(&line)
            }
        }
    }

    fn lost(&mut self, link: u32) -> Result<(), End> {
        if self.link.as_ref().is_some_and(|present| present.number == link) {
            self.hang_up();
        }
        self.give_up(|one| one.link == link)
    }

    /// Sends an error answer to requests of a lost connection.
    fn give_up(&mut self, which: impl Fn(&Pending) -> bool) -> Result<(), End> {
        let (over, rest) = std::mem::take(&mut self.pending).into_iter().partition(which);
        self.pending = rest;
        let over: Vec<Pending> = over;
        over.iter().try_for_each(|one| self.say(&message::lost(&one.id)))
    }

    /// Returns the number of the connection, and connects if necessary. It initialises the session
    /// again, unless the client is about to.
    fn linked(&mut self, opening: bool) -> Result<u32, Fault> {
        if let Some(link) = &self.link {
            return Ok(link.number);
        }
        let stream = (self.connect)()?;
        let broken = |e: io::Error| {
            Fault::new(FaultCode::Unreachable, format!("the connection to the daemon failed: {e}"))
                .hint("call again")
        };
        let mut reader = BufReader::new(stream.try_clone().map_err(broken)?);
        if let (Some(opening), false) = (&self.opening, opening) {
            reopen(&stream, &mut reader, opening, self.opened.as_deref()).map_err(broken)?;
        }
        self.links += 1;
        let (number, events) = (self.links, self.events.clone());
        std::thread::spawn(move || {
            while let Ok(Some(line)) = line::next(&mut reader) {
                if events.send(Event::Answered(number, line)).is_err() {
                    return;
                }
            }
            let _ = events.send(Event::Lost(number));
        });
        self.link = Some(Connection { stream, number });
        Ok(number)
    }

    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        match &self.link {
            Some(link) => write_line(&link.stream, line),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Closes the connection after reading its remaining answers.
    fn hang_up(&mut self) {
        if let Some(link) = self.link.take() {
            let _ = link.stream.shutdown(std::net::Shutdown::Both);
        }
    }

    fn say(&mut self, line: &[u8]) -> Result<(), End> {
        (self.out)(line).map_err(End::Output)
    }
}

fn write_line(mut stream: &UnixStream, line: &[u8]) -> io::Result<()> {
    // One write: a daemon must not wait for the end of the line in a packet of its own.
    stream.write_all(&[line, b"\n"].concat())
}

/// Initialises the client's session on a new connection; the client already has the answer.
fn reopen(
    stream: &UnixStream,
    reader: &mut impl BufRead,
    opening: &[u8],
    opened: Option<&[u8]>,
) -> io::Result<()> {
    let Ok(Kind::Request { id, .. }) = message::read(opening) else { return Ok(()) };
    stream.set_read_timeout(Some(REPLAY))?;
    write_line(stream, opening)?;
    loop {
        match line::next(reader)? {
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(Line::TooLong(_)) => {}
            Some(Line::Whole(line)) => match message::read(&line) {
                Ok(Kind::Answer { id: Some(answered), success: true }) if answered == id => break,
                Ok(Kind::Answer { id: Some(answered), success: false }) if answered == id => {
                    return Err(io::Error::other("the new daemon refuses the session"));
                }
                _ => {}
            },
        }
    }
    stream.set_read_timeout(None)?;
    opened.map_or(Ok(()), |opened| write_line(stream, opened))
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
