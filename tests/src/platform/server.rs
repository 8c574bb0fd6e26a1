//! A minimal HTTP/1.1 server with one thread per connection. It can produce each [`Delivery`].

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Delivery, Platform, Request, Response, StreamItem, Subscription, control};

/// Maximum time that a connection without a response stays open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// A platform on a loopback port. Dropping it closes the port.
pub struct PlatformServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl PlatformServer {
    /// Serves `platform` on a free port. With `allow_control`, scripts may change the platform.
    #[must_use]
    pub fn start(platform: &Platform, allow_control: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("no free port");
        let address = listener.local_addr().expect("no local address");
        let stop = Arc::new(AtomicBool::new(false));
        let (platform, stop_flag) = (platform.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop_flag.load(Ordering::SeqCst) {
                    return;
                }
                let (platform, stop_flag) = (platform.clone(), Arc::clone(&stop_flag));
                if let Ok(stream) = stream {
                    // A client that disconnects is no error.
                    std::thread::spawn(move || {
                        drop(serve(&stream, &platform, allow_control, &stop_flag));
                    });
                }
            }
        });
        Self { address, stop }
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for PlatformServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}

/// Serves the requests of a connection until one side closes it.
fn serve(
    stream: &TcpStream,
    platform: &Platform,
    allow_control: bool,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let (method, target) = (
            words.next().unwrap_or_default().to_owned(),
            words.next().unwrap_or_default().to_owned(),
        );
        let (mut authorization, mut length, mut close) = (None, 0, false);
        loop {
            let mut field = String::new();
            if reader.read_line(&mut field)? <= 2 {
                break;
            }
            let (name, value) = field.split_once(':').unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "authorization" => authorization = Some(value.trim().to_owned()),
                "content-length" => length = value.trim().parse().unwrap_or(0),
                "connection" => close = value.trim().eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let request = Request {
            method: &method,
            path,
            query,
            authorization: authorization.as_deref(),
            body: &body,
        };
        let answer = match path.strip_prefix("/_control/") {
            Some(action) if allow_control => control::change(platform, action, &body),
            _ => platform.answer(&request),
        };
        if !send(stream, &answer, stop)? || close || stop.load(Ordering::SeqCst) {
            return Ok(());
        }
    }
}

/// Sends a response. Returns whether the connection stays open.
fn send(mut stream: &TcpStream, answer: &Response, stop: &AtomicBool) -> std::io::Result<bool> {
    match answer.delivery {
        Delivery::Silence => {
            stream.set_read_timeout(Some(IDLE_TIMEOUT))?;
            // Returns when the client disconnects, or after the timeout.
            let _ = stream.read(&mut [0; 1]);
            return Ok(false);
        }
        Delivery::Close => {
            stream.shutdown(Shutdown::Both)?;
            return Ok(false);
        }
        Delivery::Slow(wait) => std::thread::sleep(wait),
        Delivery::Cut(_) | Delivery::Usual => {}
    }
    let mut head = format!("HTTP/1.1 {} -\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(subscription) = &answer.stream {
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        send_stream(stream, subscription, stop)?;
        return Ok(false);
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", answer.body.len()));
    let body_bytes = match answer.delivery {
        Delivery::Cut(bytes) => bytes.min(answer.body.len()),
        _ => answer.body.len(),
    };
    stream.write_all(&[head.as_bytes(), &answer.body[..body_bytes]].concat())?;
    Ok(body_bytes == answer.body.len())
}

/// Sends a stream until it ends, the client disconnects, or the server stops.
fn send_stream(
    mut stream: &TcpStream,
    subscription: &Subscription,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    while !stop.load(Ordering::SeqCst) {
        match subscription.next(Duration::from_millis(50)) {
            StreamItem::Bytes(bytes) => {
                stream.write_all(
                    &[format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat(),
                )?;
            }
            StreamItem::End => return stream.write_all(b"0\r\n\r\n"),
            StreamItem::Cut => return stream.shutdown(Shutdown::Both),
            // If the client has disconnected, its connection must no longer count.
            StreamItem::Nothing => match stream.read(&mut [0; 1]) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) => {}
                Err(error) => return Err(error),
            },
        }
    }
    Ok(())
}
