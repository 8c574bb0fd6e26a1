//! Serves the fake social platform on a loopback port, for tests with published client libraries
//! and for trying out the collector. Prints the address and the tokens of an app and of a user, and
//! serves until it is killed. Scripts change the platform by `POST /_control/…`.
#![allow(clippy::print_stdout)]

use brain_tests::platform::{APP_TOKEN, Platform, PlatformServer, Time, USER_TOKEN};

fn main() {
    let server = PlatformServer::start(&Platform::new(Time::System), true);
    println!("{} {APP_TOKEN} {USER_TOKEN}", server.address());
    loop {
        std::thread::park();
    }
}
