//! Checks of an MCP session: greeting, list of tools, and a search.

use brain_protocol::{Command, Hint, hint};
use serde_json::{Value, json};

use super::authorize::BearerToken;
use super::explain::clean_text;
use super::rpc::{MODERN, McpSession};
use super::{StepFailure, StepResult, Target, fail, pass, warn};

/// Maximum number of pages of the list of tools.
const MAX_LIST_PAGES: usize = 20;
/// Above this size, in tokens, a list of tools is expensive for a model.
const EXPENSIVE_TOKENS: usize = 8000;
/// What to do if no greeting works, for an unknown reason.
const GREETING_HINT: &str = "no revision of MCP works there: check the server at this path";

/// Asks a server that speaks [`MODERN`] for its description and its revisions.
fn discover(session: &mut McpSession<'_>) -> Result<(Value, Vec<String>), StepFailure> {
    let description = session.request("server/discover", json!({}))?;
    let revisions = revisions(&description);
    match revisions.iter().any(|revision| revision == MODERN) {
        true => Ok((description, revisions)),
        false => {
            let message = format!("its answer to server/discover does not name {MODERN}");
            Err(StepFailure::new(message, GREETING_HINT))
        }
    }
}

/// Connects with and without a handshake. Returns the session without a handshake if the server
/// supports it, and otherwise the session with one.
pub(super) fn greet<'a>(
    target: &'a Target<'a>,
    token: &'a BearerToken<'a>,
) -> StepResult<McpSession<'a>> {
    let mut modern = McpSession::new(target, token, GREETING_HINT);
    let mut legacy = McpSession::new(target, token, GREETING_HINT);
    let results = (discover(&mut modern), legacy.initialize());
    for session in [&mut modern, &mut legacy] {
        session.default_hint = "check the daemon's log";
    }
    match results {
        (Ok((description, revisions)), Ok(greeting)) => {
            let agreed = legacy.revision.unwrap_or_default();
            let message = format!(
                "{} speaks {}; agreed on {agreed} by handshake",
                server_name(&description, &greeting),
                revisions.join(", ")
            );
            pass(modern, message)
        }
        (Err(_), Ok(greeting)) => {
            let agreed = legacy.revision.clone().unwrap_or_default();
            let message = format!(
                "{} speaks {agreed} by handshake, and not {MODERN}",
                server_name(&greeting, &greeting)
            );
            pass(legacy, message)
        }
        (Ok((description, revisions)), Err(error)) => {
            let message = format!(
                "{} speaks {}",
                server_name(&description, &description),
                revisions.join(", ")
            );
            warn(
                modern,
                message,
                format!("most clients begin with initialize, which fails: {}", error.message),
            )
        }
        (Err(modern), Err(legacy)) => {
            // Both attempts usually fail for the same reason.
            let both = match modern.message == legacy.message {
                true => legacy.message,
                false => format!("{}; {}", modern.message, legacy.message),
            };
            let is_explained = legacy.hint != Hint::from(GREETING_HINT);
            Err(StepFailure::new(both, if is_explained { legacy.hint } else { modern.hint }))
        }
    }
}

/// Returns the first ten revisions that a server lists.
fn revisions(description: &Value) -> Vec<String> {
    let all = description["supportedVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_str).take(10).map(|text| clean_text(text, 20)).collect()
}

/// Returns name and version of the server from one of two replies, or `it` if neither has a name.
fn server_name(description: &Value, other: &Value) -> String {
    let info = [
        &description["serverInfo"],
        &description["_meta"]["io.modelcontextprotocol/serverInfo"],
        &other["serverInfo"],
    ];
    let named = info.into_iter().find(|info| info["name"].is_string()).unwrap_or(&Value::Null);
    let text = |member: &str| clean_text(named[member].as_str().unwrap_or_default(), 40);
    match text("name") {
        name if name.is_empty() => "it".into(),
        name => format!("{name} {}", text("version")).trim_end().to_owned(),
    }
}

/// Checks that the tools `search` and `fetch` exist, and that the list is not expensive.
pub(super) fn tools(session: &mut McpSession<'_>) -> StepResult<()> {
    let mut all: Vec<Value> = Vec::new();
    let mut cursor = None::<String>;
    for _ in 0..MAX_LIST_PAGES {
        let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let page = session.request("tools/list", params)?;
        let Some(tools) = page["tools"].as_array() else {
            return fail(
                "its answer to tools/list has no list of tools",
                "check the server at this path",
            );
        };
        all.extend(tools.iter().cloned());
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let has_tool = |tool: &str, argument: &str| {
        all.iter().any(|found| {
            found["name"] == tool && found["inputSchema"]["properties"][argument].is_object()
        })
    };
    for (tool, argument) in [("search", "query"), ("fetch", "id")] {
        if !has_tool(tool, argument) {
            return fail(
                format!("{} tools, but no {tool} with the argument {argument}", all.len()),
                "ChatGPT needs search and fetch: does the token have the scope read, and is this a \
                 brain?",
            );
        }
    }
    // Lists of this kind have about four bytes per token.
    let tokens = Value::Array(all.clone()).to_string().len() / 4;
    let message =
        format!("{} tools, search and fetch among them, about {tokens} tokens", all.len());
    match tokens > EXPENSIVE_TOKENS {
        true => warn(
            (),
            message,
            "every conversation pays for them: a client with fewer scopes sees fewer tools",
        ),
        false => pass((), message),
    }
}

/// Checks that a search returns results that chat products can cite.
pub(super) fn search(session: &mut McpSession<'_>) -> StepResult<()> {
    let call = json!({ "name": "search", "arguments": { "query": "brain" } });
    let found = session.request("tools/call", call)?;
    let text = found["content"][0]["text"].as_str().unwrap_or_default();
    if found["isError"] == Value::Bool(true) {
        return fail(
            format!("the search fails: {}", clean_text(text, 160)),
            hint!("check store and index with {}", Command::Doctor),
        );
    }
    let reply: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(results) = reply["results"].as_array() else {
        return fail(
            "its answer has no results in its text",
            "ChatGPT reads {\"results\":[{\"id\",\"title\",\"url\"}]} there, as JSON in one text",
        );
    };
    let is_complete = |result: &Value| {
        ["id", "title", "url"]
            .iter()
            .all(|member| result[member].as_str().is_some_and(|text| !text.is_empty()))
    };
    let plural = if results.len() == 1 { "" } else { "s" };
    let message = format!("{} result{plural} for \"brain\"", results.len());
    match results.iter().all(is_complete) {
        true => pass((), message),
        false => warn(
            (),
            message,
            "a result lacks id, title or url: chat products cite nothing without them",
        ),
    }
}
