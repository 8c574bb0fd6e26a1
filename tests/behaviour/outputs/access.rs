//! Transcripts of commands for access: clients, tokens, the log of access, tunnel, machines.

use brain_tests::http::ingest;
use brain_tests::wait_for;

use super::transcript::Transcript;

#[test]
fn tokens_clients_and_audit() {
    let mut user = Transcript::new();
    let address = user.home.http_local();
    user.set_variable("ADDRESS", &address.to_string());
    user.run(
        r#"
        # tokens
        brain token list
        brain token create script --scope read
        brain token create script --scope read
        brain token create phone --scope "read write" --days 30
        brain token list
        brain token revoke script
        brain token revoke script
        brain token revoke none
        brain token list --all
        brain token admin
        brain token create x --scope all
        # clients
        brain clients
        brain clients register Phone --scope "read write"
        brain clients register App --public --scope read --redirect-uri https://app.example/cb
        brain clients
        brain clients update Phone --scope read --token-ttl 2h
        brain clients revoke App
        brain clients revoke App --yes
        brain clients revoke None --yes
        brain clients list --all
        # audit
        brain audit
        "#,
    );
    let token = user.home.token("post", "write", &[]);
    assert_eq!(ingest(address, &token, "Sent by the phone").status, 202);
    assert_eq!(ingest(address, "brain_wrong", "Refused").status, 401);
    wait_for("the item became no page", || {
        user.home.json(["jobs"])["jobs"][0]["status"] == "stored"
    });
    user.run(
        r#"
        brain audit
        brain audit --failed
        brain audit --client none
        # seen, left
        brain seen --client none
        brain seen --replay none
        brain left --host example.org
        brain left --since yesterday
        # jobs
        brain jobs
        brain jobs show job_1
        brain jobs show job_99
        brain jobs retry job_1
        brain jobs retry --all
        brain jobs list --state failed
        # connect
        brain connect test http://$ADDRESS/mcp
        brain connect test http://127.0.0.1:1/mcp
        brain connect test none
        "#,
    );
    user.compare("tokens_clients_and_audit");
}

#[test]
fn tunnel_and_machines() {
    let mut user = Transcript::new();
    user.run(
        r#"
        # no tunnel
        brain tunnel status
        brain tunnel url
        brain tunnel start
        brain tunnel stop
        brain tunnel requests
        brain tunnel replay job_1
        brain tunnel setup
        # one machine
        brain machines status
        brain machines list
        brain machines plan init
        brain machines init --url-file none
        brain machines join
        brain machines leave --yes
        brain machines remove laptop --yes
        brain machines rotate-key --yes
        "#,
    );
    user.compare("tunnel_and_machines");
}
