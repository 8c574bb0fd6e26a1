//! A proxy that makes a server seem far away.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Starts a proxy before the server of a URL. Bytes take half of `round_trip` in each direction.
/// Returns the URL that leads through it.
pub(super) fn at_distance(url: &str, round_trip: Duration) -> String {
    let (before, rest) = url.split_once("@localhost:").unwrap();
    let (target, rest) = rest.split_once('/').unwrap();
    let target: u16 = target.parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                to.set_nodelay(true).unwrap();
                forward(from, to, round_trip / 2);
            }
        }
    });
    format!("{before}@localhost:{port}/{rest}")
}

/// Forwards bytes in one direction until either end closes.
fn forward(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (sender, received) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if sender.send((Instant::now() + delay, buffer[..length].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in received {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}
