//! Homes of machines, and requests to their daemons.

use super::*;

/// Shares the brain of a home through a URL. Returns the words of the key.
pub(super) fn init(home: &TestHome, url: &str, namespace: &str) -> String {
    let file = url_file(home, url);
    let args = ["machines", "init", "--yes", "--name", "first", "--namespace", namespace];
    let reply = home.json(args.into_iter().chain(["--url-file", &file]));
    reply["words"].as_str().unwrap().to_owned()
}

/// Joins the brain through a URL. Returns how long that took.
fn join(home: &TestHome, url: &str, namespace: &str, words: &str) -> Duration {
    let file = url_file(home, url);
    let args = ["machines", "join", "--yes", "--name", "second", "--namespace", namespace];
    let args = args.into_iter().chain(["--url-file", &file, "--key-file", "-"]);
    let began = Instant::now();
    home.json_with(args, words.as_bytes());
    began.elapsed()
}

fn url_file(home: &TestHome, url: &str) -> String {
    let path = home.outside().join("url");
    std::fs::write(&path, url).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns a machine with the brain of another one.
pub(super) fn joined(url: &str, namespace: &str, words: &str) -> (TestHome, Duration) {
    let home = TestHome::new();
    let took = join(&home, url, namespace, words);
    (home, took)
}

pub(super) fn client(home: &TestHome) -> Client {
    let client = home.connect().unwrap();
    client.stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
    client
}

pub(super) fn pid(home: &TestHome) -> u32 {
    client(home).hello.pid
}

pub(super) fn get(slug: &str) -> Request {
    let page = PageRef { source: None, slug: Slug::parse(slug).unwrap() };
    Request::Get(Get { page, version: None })
}

/// Waits until a search finds a note.
pub(super) fn wait_for(home: &TestHome, name: &str, slug: &str) {
    let deadline = Instant::now() + MAX_WAIT;
    loop {
        // The daemon may restart meanwhile.
        if let Some(mut client) = home.connect()
            && let Some(Ok(Reply::Hits(hits))) =
                client.try_ask(&Request::Search(brain_protocol::Search {
                    query: name.into(),
                    ..Default::default()
                }))
            && hits.hits.iter().any(|hit| hit.slug.as_str() == slug)
        {
            return;
        }
        assert!(Instant::now() < deadline, "{slug} is not found: {}", home.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}
