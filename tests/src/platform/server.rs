//! HTTP/1.1 by hand, so that every fault of a connection can be had: one thread a connection, no
//! more than a test needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Manner, Platform, Request, Response, Subscription, Told, control};

/// How long a silent connection is held open at the most.
const SILENCE: Duration = Duration::from_secs(120);

/// A platform behind a loopback port; gone when this goes.
pub struct Served {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Served {
    /// Serves `platform` at a free port; with `control`, scripts may change it.
    #[must_use]
    pub fn start(platform: &Platform, control: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let (platform, stopped) = (platform.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (platform, stopped) = (platform.clone(), Arc::clone(&stopped));
                if let Ok(stream) = stream {
                    // Whoever goes away in the middle is no fault of the platform.
                    std::thread::spawn(move || drop(serve(&stream, &platform, control, &stopped)));
                }
            }
        });
        Self { address, stop }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it is, as a base of addresses.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(
    stream: &TcpStream,
    platform: &Platform,
    control: bool,
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
            Some(what) if control => control::change(platform, what, &body),
            _ => platform.answer(&request),
        };
        if !bring(stream, &answer, stop)? || close || stop.load(Ordering::SeqCst) {
            return Ok(());
        }
    }
}

/// Sends an answer; whether the connection goes on.
fn bring(mut stream: &TcpStream, answer: &Response, stop: &AtomicBool) -> std::io::Result<bool> {
    match answer.manner {
        Manner::Silence => {
            stream.set_read_timeout(Some(SILENCE))?;
            // Until the other end gives up.
            let _ = stream.read(&mut [0; 1]);
            return Ok(false);
        }
        Manner::Close => {
            stream.shutdown(Shutdown::Both)?;
            return Ok(false);
        }
        Manner::Slow(wait) => std::thread::sleep(wait),
        Manner::Cut(_) | Manner::Usual => {}
    }
    let mut head = format!("HTTP/1.1 {} -\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(subscription) = &answer.stream {
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        follow(stream, subscription, stop)?;
        return Ok(false);
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", answer.body.len()));
    let sent = match answer.manner {
        Manner::Cut(bytes) => bytes.min(answer.body.len()),
        _ => answer.body.len(),
    };
    stream.write_all(&[head.as_bytes(), &answer.body[..sent]].concat())?;
    Ok(sent == answer.body.len())
}

/// A persistent connection, until either end has enough.
fn follow(
    mut stream: &TcpStream,
    subscription: &Subscription,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    while !stop.load(Ordering::SeqCst) {
        match subscription.next(Duration::from_millis(50)) {
            Told::Bytes(bytes) => {
                stream.write_all(
                    &[format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat(),
                )?;
            }
            Told::End => return stream.write_all(b"0\r\n\r\n"),
            Told::Cut => return stream.shutdown(Shutdown::Both),
            // A listener that went away frees its place.
            Told::Nothing => match stream.read(&mut [0; 1]) {
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
