//! Control of the platform by scripts: `POST /_control/<action>` with a JSON object. The real
//! platform has no such endpoint.

use serde_json::{Value, json};

use super::{Fault, Platform, Response};

/// Runs a control action.
pub(super) fn change(platform: &Platform, action: &str, body: &[u8]) -> Response {
    let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let (text, number) =
        (|name: &str| body[name].as_str().unwrap_or_default(), |name: &str| body[name].as_u64());
    let reply = match action {
        "account" => json!({"id": platform.create_account(text("username"))}),
        "post" => json!({"id": platform.post(text("author"), text("text"))}),
        "likes" => {
            platform.set_likes(text("id"), number("likes").unwrap_or(0));
            json!({})
        }
        "edit" => json!({"id": platform.edit(text("id"), text("text"))}),
        "delete" => {
            platform.delete(text("id"));
            json!({})
        }
        "fault" => match serde_json::from_value::<Fault>(body["fault"].clone()) {
            Ok(fault) => {
                platform.fault(text("endpoint"), fault, number("times").unwrap_or(1));
                json!({})
            }
            Err(why) => return Response::new(400, "text/plain", why.to_string()),
        },
        "limit" => {
            platform.limit(text("endpoint"), number("limit").unwrap_or(0));
            json!({})
        }
        "newer-host" => {
            platform.newer_host(true);
            json!({})
        }
        "disconnect" => {
            platform.disconnect();
            json!({})
        }
        "count" => json!({"count": platform.count(text("endpoint"))}),
        _ => {
            return Response::new(
                404,
                "text/plain",
                "unknown action; the actions are account, post, likes, edit, delete, fault, limit, \
                    newer-host, disconnect, count",
            );
        }
    };
    Response::new(200, "application/json", reply.to_string())
}
