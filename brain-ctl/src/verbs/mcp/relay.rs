//! Passes messages between a client and the daemon, and outlives the daemon.
//!
//! One thread reads the client, one the daemon, and whatever they read comes to the one that decides; so each answer is written
//! whole, and each request is answered once. A connection that is lost is made anew when the client next asks something: a daemon
//! that was stopped stays so until it is needed, and one that is short of places gets one back from each client that is silent.

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

/// How many messages wait to be decided on. A message may be large.
const QUEUE: usize = 4;
/// How many requests the daemon has to answer at once. More wait with the client: a daemon that cannot get rid of its answers stops
/// reading, and while we write to it, we take none.
const AT_ONCE: usize = 16;
/// How long answers are waited for after the client has said its last word.
const LAST_ANSWERS: Duration = Duration::from_secs(30);
/// How long a client gets to ask what it is told that nobody can answer.
const LAST_QUESTION: Duration = Duration::from_secs(1);
/// How long a new daemon may take to open the session again.
const REPLAY: Duration = Duration::from_secs(30);

/// Why it does not go on.
#[derive(Debug)]
pub(super) enum End {
    /// The client takes no more.
    Output(io::Error),
    /// There is no daemon.
    Fault(Fault),
}

enum Event {
    Asked(Line),
    ClientDone,
    Answered(u32, Line),
    Lost(u32),
}

/// A connection, and its number.
struct Link {
    stream: UnixStream,
    number: u32,
}

/// A request without its answer.
struct Pending {
    id: Value,
    /// The connection that it went over.
    link: u32,
    /// What opens a session is kept, to open it again.
    opening: Option<Vec<u8>>,
}

/// Passes messages on.
pub(super) struct Relay<C, O, N> {
    connect: C,
    out: O,
    notice: N,
    events: SyncSender<Event>,
    inbox: Receiver<Event>,
    link: Option<Link>,
    links: u32,
    pending: Vec<Pending>,
    /// Lets the thread that reads the client hand over one more message; whether it was not told since it did.
    turns: SyncSender<()>,
    owed: bool,
    /// Where that thread hears it.
    turn: Option<Receiver<()>>,
    /// The request that opened the session, and the notification that it is open.
    opening: Option<Vec<u8>>,
    opened: Option<Vec<u8>>,
}

impl<C, O, N> Relay<C, O, N>
where
    C: FnMut() -> Result<UnixStream, Fault>,
    O: FnMut(&[u8]) -> io::Result<()>,
    N: FnMut(&str),
{
    /// `connect` makes a connection on which MCP is spoken, `out` writes to the client, `notice` tells people.
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

    /// Serves the client behind `input` until its end.
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
                        "the daemon did not answer everything in time; what it did not answer may have been done",
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

    /// Has the client's next message handed over, unless the daemon has enough to do.
    fn go_on(&mut self) {
        if self.owed && self.pending.len() < AT_ONCE {
            self.owed = self.turns.try_send(()).is_err();
        }
    }

    /// Tells a client that waits already why nobody answers.
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

    /// What the client said.
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
        // A daemon that has gone without a word is noticed by writing to it. It has not read what could not be written whole.
        for _ in 0..2 {
            let link = match self.linked(initialize) {
                Ok(link) => link,
                Err(fault) => {
                    self.say(&message::unreachable(&id, &fault))?;
                    // No daemon of this installation will ever understand us; the next `brain` will.
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

    /// What the daemon said.
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

    /// Tells the client of requests that nobody will answer.
    fn give_up(&mut self, which: impl Fn(&Pending) -> bool) -> Result<(), End> {
        let (over, rest) = std::mem::take(&mut self.pending).into_iter().partition(which);
        self.pending = rest;
        let over: Vec<Pending> = over;
        over.iter().try_for_each(|one| self.say(&message::lost(&one.id)))
    }

    /// The number of the connection, which is made when there is none. The session is opened anew on it, unless the client is
    /// about to open one.
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
        self.link = Some(Link { stream, number });
        Ok(number)
    }

    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        match &self.link {
            Some(link) => write_line(&link.stream, line),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Leaves the connection. What it still brings is taken.
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

/// Opens the client's session on another connection. The client knows the answer from the first time.
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
                    return Err(io::Error::other("the new daemon does not take up the session"));
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
