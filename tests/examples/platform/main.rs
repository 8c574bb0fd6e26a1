//! The platform that the collector is tested with, on a loopback port: for client libraries that
//! others wrote, and for trying the collector out. Serves until it is killed, and prints its
//! address and the tokens of an app and of a user. Scripts change it by `POST /_control/…`.
#![allow(clippy::print_stdout)]

use brain_tests::platform::{APP_TOKEN, Platform, PlatformServer, Time, USER_TOKEN};

fn main() {
    let served = PlatformServer::start(&Platform::new(Time::System), true);
    println!("{} {APP_TOKEN} {USER_TOKEN}", served.address());
    loop {
        std::thread::park();
    }
}
