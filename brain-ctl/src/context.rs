//! The context of every command: shared flags, the daemon, and output.

use std::{
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

use brain_protocol::{
    Fault, FaultCode, Hello, Mcp, Operation, PROTOCOL, Reply, Request, VERSION, encode,
};
use interprocess::local_socket::Stream;

use crate::{
    connect::{self, ConnectError, Exchange},
    daemon_program,
    home::Home,
    output::{self, FormatOption, Listing, Outcome, Show},
    progress::DelayedBar,
    start, stop,
};

/// Maximum silence of the daemon during an ordinary request.
const MAX_SILENCE: Duration = Duration::from_secs(30);

/// Maximum silence during slow requests, for which the daemon reports progress.
const MAX_SILENCE_SLOW: Duration = Duration::from_secs(180);

/// Time during which a request is repeated while a daemon starts or stops.
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);

/// The flags that all commands share.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Context {
    /// Print one JSON value.
    pub(crate) json: bool,
    /// Print only the essential result.
    pub(crate) quiet: bool,
    /// Never start a daemon.
    pub(crate) no_start: bool,
}

impl Context {
    /// Sends a request, and starts the daemon if none runs.
    ///
    /// # Errors
    /// The daemon's fault, or a fault if the daemon cannot be started or reached.
    pub(crate) fn call<O: Operation>(&self, operation: O) -> Result<O::Reply, Fault> {
        self.send(operation, !self.no_start, &mut |_| {})
    }

    /// Like [`Self::call`], and returns the outcome that prints the reply.
    ///
    /// # Errors
    /// As [`Self::call`] and [`Self::show`].
    pub(crate) fn run<O: Operation<Reply: Show>>(&self, operation: O) -> Result<Outcome, Fault> {
        self.show(&self.call(operation)?)
    }

    /// Like [`Self::call`], and passes each line of progress and each part of the answer to
    /// `on_line`.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) fn call_with_progress<O: Operation>(
        &self,
        operation: O,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<O::Reply, Fault> {
        self.send(operation, !self.no_start, on_line)
    }

    /// Sends a request to a running daemon.
    ///
    /// # Errors
    /// As [`Self::call`]; `unreachable` if none runs.
    pub(crate) fn call_running<O: Operation>(&self, operation: O) -> Result<O::Reply, Fault> {
        self.send(operation, false, &mut |_| {})
    }

    /// Opens an MCP connection, and starts the daemon if none runs.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) fn call_mcp(&self) -> Result<UnixStream, Fault> {
        let request_bytes = encode(&Request::from(Mcp))
            .map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
        self.exchange(&request_bytes, !self.no_start, |mut session| {
            Mcp::read_reply(session.read_answer(MAX_SILENCE, |_| {})?)?;
            session.into_stream()
        })
    }

    fn send<O: Operation>(
        &self,
        operation: O,
        may_start: bool,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<O::Reply, Fault> {
        O::read_reply(self.send_with_progress(&operation.into(), may_start, on_line)?)
    }

    /// Sends any request, and starts the daemon if `may_start` and none runs.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) fn send_request(&self, request: &Request, may_start: bool) -> Result<Reply, Fault> {
        self.send_with_progress(request, may_start, &mut |_| {})
    }

    fn send_with_progress(
        &self,
        request: &Request,
        may_start: bool,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Reply, Fault> {
        let request_bytes = encode(request).map_err(|e| {
            Fault::new(FaultCode::TooLarge, format!("the request is too long for a message: {e}"))
                .hint("send less data at once")
        })?;
        let max_silence = if request.is_slow() { MAX_SILENCE_SLOW } else { MAX_SILENCE };
        self.exchange(&request_bytes, may_start, |mut session| {
            let mut progress = DelayedBar::new(self.quiet);
            session.read_answer(max_silence, |event| progress.handle(&event, on_line))
        })
    }

    /// Sends a request and reads the answer with `read_answer`. Retries while a daemon starts or
    /// stops. If `may_start`, starts a missing daemon and replaces one with an older protocol.
    fn exchange<T>(
        &self,
        request_bytes: &[u8],
        may_start: bool,
        mut read_answer: impl FnMut(Exchange) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let home = Home::find()?;
        let started_at = Instant::now();
        let mut new_stream: Option<Stream> = None;
        let mut was_replaced = false;
        loop {
            let connected = match new_stream.take() {
                Some(stream) => Ok(stream),
                None => connect::connect(&home.socket()),
            };
            let error = match connected.and_then(|stream| Exchange::begin(stream, request_bytes)) {
                Ok(session) => match read_answer(session) {
                    // The daemon is stopping and did not process the request, so a retry is safe.
                    Err(fault) if fault.code == FaultCode::Stopping => ConnectError::Fault(fault),
                    answer => return answer,
                },
                Err(error) => error,
            };
            let is_late = started_at.elapsed() > RETRY_TIMEOUT;
            match error {
                ConnectError::NotListening | ConnectError::ClosedWithoutGreeting
                    if may_start && !is_late =>
                {
                    if matches!(error, ConnectError::ClosedWithoutGreeting) {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    new_stream = Some(start::connect_or_start(&home, self.quiet)?);
                }
                // The daemon is older than this program: an upgrade replaced the programs.
                ConnectError::Mismatch(former)
                    if may_start
                        && !was_replaced
                        && former.protocol < PROTOCOL
                        && daemon_program::is_daemon(former.pid)
                        && daemon_program::installed_program_of(former.pid).is_none() =>
                {
                    was_replaced = true;
                    self.stop_former(&former, &home)?;
                }
                ConnectError::Fault(fault) if fault.code == FaultCode::Stopping && !is_late => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                // systemd restarts the daemon: the socket still exists, and the next daemon will
                // use it.
                ConnectError::ClosedWithoutGreeting if !is_late => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                ConnectError::NotListening if !may_start => {
                    let fault = ConnectError::NotListening.into_fault(&home.socket());
                    return Err(fault.hint(start_hint(self.no_start)));
                }
                error => return Err(error.into_fault(&home.socket())),
            }
        }
    }

    /// Stops a daemon that is older than this program.
    fn stop_former(&self, former: &Hello, home: &Home) -> Result<(), Fault> {
        if !self.quiet {
            output::notice(&format!(
                "replacing the daemon {} (pid {}) by version {VERSION}",
                former.version_text(),
                former.pid
            ));
        }
        stop::stop_daemon(&home.socket())?;
        Ok(())
    }

    /// Returns the outcome that prints `value` in the requested format.
    ///
    /// # Errors
    /// `internal` if `value` cannot be converted to JSON.
    pub(crate) fn show(&self, value: &impl Show) -> Result<Outcome, Fault> {
        output::show(value, self.json, self.quiet)
    }

    /// Returns the outcome that prints a list in the format of the options.
    ///
    /// # Errors
    /// As [`output::show_list`].
    pub(crate) fn list(
        &self,
        list: &impl Listing,
        option: &FormatOption,
    ) -> Result<Outcome, Fault> {
        output::show_list(list, option, self.json, self.quiet)
    }
}

/// Returns a hint that says how to start a daemon. With `no_start`, only the flag or the variable
/// prevents this command from starting it.
fn start_hint(no_start: bool) -> String {
    let program = daemon_program::find().unwrap_or_else(|_| PathBuf::from(daemon_program::NAME));
    let begin = match no_start {
        true => "omit --no-start, and unset BRAIN_NO_START; or ",
        false => "",
    };
    format!("{begin}start it with: brain serve (it runs {})", program.display())
}
