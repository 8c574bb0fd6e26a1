//! Transcripts of `brainstorm`, `lsd` and the collector, with fakes of their services.

use std::fs;

use brain_tests::TestHome;
use brain_tests::ideas_model::valid_response;
use brain_tests::model::{FakeModel, ModelOptions};
use brain_tests::platform::{APP_TOKEN, Platform, PlatformServer, Time};

use super::transcript::Transcript;
use crate::{ask_fixture, ideas_fixture};

#[test]
fn ideas() {
    let model = FakeModel::new(ModelOptions::default(), valid_response);
    let mut user = Transcript::with(ask_fixture::home(&model));
    ideas_fixture::fill(&user.home);
    user.run(
        r#"
        brain brainstorm "How do we halve latency?" --limit 1 --close 1 --far 1 --save
        brain brainstorm --list-runs
        brain lsd "How do we halve latency?" --limit 1 --close 1 --far 1 --no-save
        brain brainstorm "How do we halve latency?" --max-cost 0.01
        "#,
    );
    user.compare("ideas");
}

/// Configures one run a day, at a time at least a quarter of an hour away: none starts here.
fn write_schedule(home: &TestHome, platform: &Platform) {
    let minute = (platform.time().now() / 60_000) % 60;
    let at = if minute < 30 { 45 } else { 15 };
    fs::create_dir_all(home.path()).unwrap();
    let text = format!("[collector]\nevery = \"24h\"\nat = {at}\n");
    fs::write(home.path().join("config.toml"), text).unwrap();
}

#[test]
fn collector() {
    let platform = Platform::new(Time::System);
    let ada = platform.create_account("ada");
    let eve = platform.create_account("eve");
    let server = PlatformServer::start(&platform, false);
    let post = platform.post(&ada, "On latency");
    platform.post(&eve, "Look at @ada");
    let mut home = TestHome::new();
    home.env.push(("BRAIN_COLLECTOR_PLATFORM_API".into(), server.url()));
    home.env.push(("POST".into(), post.clone()));
    write_schedule(&home, &platform);
    let mut user = Transcript::with(home);
    user.write("platform-token", APP_TOKEN);
    user.run(
        r#"
        # not set up
        brain collector status
        brain collector collect
        brain collector digest
        brain collector alerts
        brain collector deletions
        brain collector enrich --dry-run
        brain collector plot 1
        brain collector setup
        # set up
        brain collector setup --handle ada --token-file platform-token
        "#,
    );
    platform.post(&eve, "Again @ada");
    platform.set_likes(&post, 50);
    user.run(
        r#"
        brain collector status
        brain collector collect
        brain collector digest
        "#,
    );
    platform.delete(&post);
    user.run(
        r#"
        brain collector collect
        brain collector deletions
        brain collector alerts
        brain collector plot $POST
        brain collector enrich
        "#,
    );
    user.compare("collector");
}
