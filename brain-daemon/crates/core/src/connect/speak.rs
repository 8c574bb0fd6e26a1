//! Checks of a session: greeting, list of tools, and a search.

use serde_json::{Value, json};

use super::answer::shown;
use super::enter::Pass;
use super::rpc::{MODERN, Session, Snag};
use super::{Ended, Failed, Target, failed, passed, warned};

/// Maximum number of pages of a list.
const MOST_PARTS: usize = 20;
/// Above this size, in tokens, a list of tools is expensive for a model.
const MANY: usize = 8000;

fn stuck(snag: Snag, otherwise: &str) -> Failed {
    Failed { message: snag.message, hint: snag.hint.unwrap_or_else(|| otherwise.to_owned()) }
}

/// Greets with both kinds of protocol. Continues without a handshake if the server supports it.
pub(super) fn greet<'a>(target: &'a Target<'a>, pass: &'a Pass<'a>) -> Ended<Session<'a>> {
    let mut modern = Session::new(target, pass);
    let discovered =
        modern.ask("server/discover", json!({})).and_then(|said| match revisions(&said) {
            known if known.iter().any(|revision| revision == MODERN) => Ok((said, known)),
            _ => Err(Snag {
                message: format!("its answer to server/discover does not name {MODERN}"),
                hint: None,
            }),
        });
    let mut legacy = Session::new(target, pass);
    let shaken = legacy.initialize();
    match (discovered, shaken) {
        (Ok((said, revisions)), Ok(greeting)) => {
            let agreed = legacy.agreed.unwrap_or_default();
            let message = format!(
                "{} speaks {}; agreed on {agreed} by handshake",
                name(&said, &greeting),
                revisions.join(", ")
            );
            passed(modern, message)
        }
        (Err(_), Ok(greeting)) => {
            let agreed = legacy.agreed.clone().unwrap_or_default();
            let message = format!(
                "{} speaks {agreed} by handshake, and not {MODERN}",
                name(&greeting, &greeting)
            );
            passed(legacy, message)
        }
        (Ok((said, revisions)), Err(snag)) => {
            let message = format!("{} speaks {}", name(&said, &said), revisions.join(", "));
            warned(
                modern,
                message,
                format!("most clients of today begin with initialize: {}", snag.message),
            )
        }
        (Err(modern), Err(legacy)) => {
            // Both kinds usually fail for the same reason.
            let both = match modern.message == legacy.message {
                true => legacy.message,
                false => format!("{}; {}", modern.message, legacy.message),
            };
            let snag = Snag { message: both, hint: legacy.hint.or(modern.hint) };
            Err(stuck(
                snag,
                "no revision of MCP is understood there: look at what serves this path",
            ))
        }
    }
}

/// Returns the revisions that a server lists.
fn revisions(said: &Value) -> Vec<String> {
    let all = said["supportedVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_str).take(10).map(|text| shown(text, 20)).collect()
}

/// Returns the server's name.
fn name(said: &Value, otherwise: &Value) -> String {
    let info = [
        &said["serverInfo"],
        &said["_meta"]["io.modelcontextprotocol/serverInfo"],
        &otherwise["serverInfo"],
    ];
    let named = info.into_iter().find(|info| info["name"].is_string()).unwrap_or(&Value::Null);
    let text = |member: &str| shown(named[member].as_str().unwrap_or_default(), 40);
    match text("name") {
        name if name.is_empty() => "it".into(),
        name => format!("{name} {}", text("version")).trim_end().to_owned(),
    }
}

/// Checks the tools, including the two that chat products need.
pub(super) fn tools(session: &mut Session<'_>) -> Ended<()> {
    let mut all: Vec<Value> = Vec::new();
    let mut cursor = None::<String>;
    for _ in 0..MOST_PARTS {
        let wanted = cursor.take().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let part = session
            .ask("tools/list", wanted)
            .map_err(|snag| stuck(snag, "look at the log of the daemon"))?;
        let Some(tools) = part["tools"].as_array() else {
            return failed(
                "its answer to tools/list has no list of tools",
                "look at what serves this path",
            );
        };
        all.extend(tools.iter().cloned());
        cursor = part["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let takes = |tool: &str, argument: &str| {
        all.iter().any(|one| {
            one["name"] == tool && one["inputSchema"]["properties"][argument].is_object()
        })
    };
    for (tool, argument) in [("search", "query"), ("fetch", "id")] {
        if !takes(tool, argument) {
            return failed(
                format!("{} tools, and none is {tool} with the argument {argument}", all.len()),
                "ChatGPT takes no server without search and fetch: does the token have the scope read, and is this a brain?",
            );
        }
    }
    // Lists of this kind have about four bytes per token.
    let tokens = Value::Array(all.clone()).to_string().len() / 4;
    let message =
        format!("{} tools, search and fetch among them, about {tokens} tokens", all.len());
    match tokens > MANY {
        true => warned(
            (),
            message,
            "every conversation pays for it: a client of its own with less scope sees fewer tools",
        ),
        false => passed((), message),
    }
}

/// Checks a search.
pub(super) fn search(session: &mut Session<'_>) -> Ended<()> {
    let call = json!({ "name": "search", "arguments": { "query": "brain" } });
    let found = session
        .ask("tools/call", call)
        .map_err(|snag| stuck(snag, "look at the log of the daemon"))?;
    let text = found["content"][0]["text"].as_str().unwrap_or_default();
    if found["isError"] == Value::Bool(true) {
        return failed(
            format!("the search fails: {}", shown(text, 160)),
            "`brain doctor` looks after store and index",
        );
    }
    let written: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(results) = written["results"].as_array() else {
        return failed(
            "its answer has no results in its text",
            "ChatGPT reads {\"results\":[{\"id\",\"title\",\"url\"}]} there, as JSON in one text",
        );
    };
    let whole = |result: &Value| {
        ["id", "title", "url"]
            .iter()
            .all(|member| result[member].as_str().is_some_and(|text| !text.is_empty()))
    };
    let many = if results.len() == 1 { "" } else { "s" };
    let message = format!("{} result{many} for \"brain\"", results.len());
    match results.iter().all(whole) {
        true => passed((), message),
        false => warned(
            (),
            message,
            "a result lacks id, title or url: chat products cite nothing without them",
        ),
    }
}
