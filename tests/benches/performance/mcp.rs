//! Measures `/mcp`: a search by a tool compared with the same search over the socket, 16 concurrent
//! clients, and memory over very many calls. `wrk` acts as the concurrent clients. Without `wrk`,
//! the rows that need it are skipped with a message.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use brain_protocol::{Reply, Request, Scope, TokenCreate};
use brain_tests::http::{Wire, request};

use crate::http::{status, wrk};
use crate::imports::FilledHome;
use crate::process::memory;
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, search};

/// Number of rounds, each with one client and with 16.
const ROUNDS: usize = 3;
/// Number of different questions.
const QUESTIONS: usize = 200;

impl Bench {
    /// Measures searches by `tools/call`: their time, their rate, and the growth of memory.
    pub(crate) fn mcp(&mut self, filled: &FilledHome) {
        let mut client = filled.client();
        let address =
            status(&mut client).http_local.expect("no local HTTP listener").parse().unwrap();
        let reply = client.ask(&Request::TokenCreate(TokenCreate {
            name: "mcp".into(),
            scopes: Scope::Read.into(),
            sources: Vec::new(),
            expires_in: None,
        }));
        let Ok(Reply::TokenCreate(created)) = reply else { panic!("no token") };
        let headers = [
            ("Authorization", format!("Bearer {}", created.token.expose())),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        let fields: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();

        let mut wire = Wire::open(address);
        let [mut over_http, mut over_socket] = std::array::from_fn(|_| Samples::default());
        for n in 0..self.scale.searches / 4 {
            let question = self.notes.question(n + 7000);
            let message = request(address, "POST", "/mcp", &fields, call(&question).as_bytes());
            let began = Instant::now();
            assert!(wire.send(&message));
            let answer = wire.answer();
            over_http.time(began.elapsed());
            assert!(answer.expect(200).text().contains(r#""results":[{"#), "{question}");
            let began = Instant::now();
            search(&mut client, &question);
            over_socket.time(began.elapsed());
        }
        self.table.add(Row {
            order: 110,
            description: "`tools/call search` over HTTP, 10,000 pages, in addition to the same \
                search over the socket"
                .into(),
            goal: Goal::Below(2.0, "ms"),
            value: over_http.median() - over_socket.median(),
            measured: format!(
                "{} ms more ({}, p99 {} ms)",
                short(over_http.median() - over_socket.median()),
                over_http.text("ms"),
                short(over_http.quantile(0.99))
            ),
            baseline: Some((None, format!("{} over the socket", over_socket.text("ms")))),
        });

        if Command::new("wrk").arg("-v").output().is_err() {
            eprintln!("SKIPPED: many clients of `/mcp`, because `wrk` is not installed");
            return;
        }
        let script = self.script(created.token.expose());
        let url = format!("http://{address}/mcp");
        let (mut one, mut many) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            one.push(wrk(&url, 1, self.scale.posting, Some(&script)).rate);
            many.push(wrk(&url, 16, self.scale.posting, Some(&script)).rate);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.table.add(Row {
            order: 111,
            description: format!(
                "the same by 16 clients at once, as a multiple of one client's rate, on {cores} \
                    cores"
            ),
            goal: Goal::AtLeast(0.8 * cores as f64, "times"),
            value: many.median() / one.median(),
            measured: format!(
                "{} times ({:.0} against {:.0} calls/s)",
                short(many.median() / one.median()),
                many.median(),
                one.median()
            ),
            baseline: None,
        });

        let pid = filled.daemon.pid();
        // The allocator returns memory at any time, so medians of several readings are compared.
        let (mut call_count, mut readings) = (0, Vec::new());
        while call_count < self.scale.calls {
            call_count += wrk(&url, 16, self.scale.posting, Some(&script)).answers;
            readings.push(memory(pid, "RssAnon"));
        }
        let median = |readings: &[f64]| {
            let mut samples = Samples::default();
            readings.iter().for_each(|reading| samples.push(*reading));
            samples.median()
        };
        let third = readings.len().div_ceil(3);
        let (first, end) =
            (median(&readings[..third]), median(&readings[readings.len() - third..]));
        self.table.add(Row {
            order: 112,
            description: format!(
                "growth of memory over {call_count} of these calls, from the first third of them \
                    to the last"
            ),
            goal: Goal::Below(2.0, "MB"),
            value: end - first,
            measured: format!("{} MB ({} MB at the end)", short(end - first), short(end)),
            baseline: None,
        });
    }

    /// Writes the script of `wrk`, which sends searches with different questions. Returns its path.
    fn script(&self, token: &str) -> PathBuf {
        let bodies: String = (0..QUESTIONS)
            .map(|n| format!("  [==[{}]==],\n", call(&self.notes.question(n))))
            .collect();
        let text = format!(
            r#"local bodies = {{
{bodies}}}
local head = {{
  ["Authorization"] = "Bearer {token}",
  ["Content-Type"] = "application/json",
  ["Accept"] = "application/json, text/event-stream",
}}
local n = 0
function request()
  n = n + 1
  return wrk.format("POST", "/mcp", head, bodies[n % #bodies + 1])
end
"#
        );
        let path = self.dir.path().join("mcp.lua");
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Returns the JSON of a `tools/call` of `search`.
fn call(question: &str) -> String {
    serde_json::json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "search", "arguments": { "query": question } },
    })
    .to_string()
}
