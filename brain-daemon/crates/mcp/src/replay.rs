//! Renders recorded calls again, with the code that answered them.

use std::sync::Arc;

use brain_base::caller::{Caller, Visibility};
use brain_core::{RecordedCall, Renderer};
use brain_protocol::{Fault, FaultCode, Scopes, SeenOutcome};
use serde::Serialize;
use serde_json::Value;

use super::context::{FORM, ToolContext, answer_bytes};
use super::{errors, resources, tools};

/// The name of the caller of a recorded call. No client has this id.
const CALLER: &str = "replay";

/// Returns what renders recorded calls of AI clients.
#[must_use]
pub fn renderer() -> Arc<dyn Renderer> {
    Arc::new(AnswerRenderer)
}

struct AnswerRenderer;

impl Renderer for AnswerRenderer {
    fn form(&self) -> u16 {
        FORM
    }

    fn render(&self, call: &RecordedCall) -> Result<Vec<u8>, Fault> {
        let arguments: Value = serde_json::from_str(&call.request).map_err(|_| damaged())?;
        let caller = Caller::granted(CALLER, Scopes::ADMIN, Visibility::All).as_model();
        let context = ToolContext::of_record(call, caller);
        let text = |name: &str| arguments[name].as_str().map(str::to_owned);
        match (call.tool.as_str(), call.outcome) {
            (_, SeenOutcome::ProtocolFailed | SeenOutcome::HttpRefused) => {
                Err(refused("it was an error of the protocol, whose text is not kept"))
            }
            (tool, SeenOutcome::Refused | SeenOutcome::ToolFailed) => match call.replies.first() {
                Some(Err(fault)) => to_bytes(&errors::to_result(tool, fault)),
                _ => Err(damaged()),
            },
            ("resources/list", _) => to_result(resources::list(&context, text("cursor"))),
            ("resources/read", _) => {
                let uri = text("uri").ok_or_else(damaged)?;
                to_result(resources::read(&context, &uri))
            }
            (tool, SeenOutcome::Answered) => {
                let Some(tool) = tools::find(tool) else {
                    return Err(refused("its method is not rendered again"));
                };
                let Value::Object(arguments) = arguments else { return Err(damaged()) };
                to_bytes(&tool.run(&context, arguments)?)
            }
        }
    }
}

fn to_result<T: Serialize>(answer: Result<T, rmcp::ErrorData>) -> Result<Vec<u8>, Fault> {
    match answer {
        Ok(answer) => to_bytes(&answer),
        Err(error) => Err(refused(&error.message)),
    }
}

fn to_bytes(answer: &impl Serialize) -> Result<Vec<u8>, Fault> {
    answer_bytes(answer).map_err(|_| damaged())
}

fn damaged() -> Fault {
    refused("its record is damaged")
}

fn refused(why: &str) -> Fault {
    Fault::new(FaultCode::NotReplayable, format!("the answer cannot be rendered again: {why}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_core::answer_hash;
    use brain_protocol::{Hit, Hits, Page, PageVersion, Reply, Slug, SourceId, TrustLevel};

    use super::*;

    /// The hash of the answers below. If this test fails because answers look different, raise
    /// [`FORM`] and set the hash that the test prints.
    const ANSWERS: &str = "5168f99e28017959b4cee41cb729385a";

    fn hit(slug: &str) -> Hit {
        Hit {
            slug: Slug::parse(slug).unwrap(),
            source_id: SourceId::default(),
            title: "Harbour".into(),
            page_type: "note".into(),
            score: 1.25,
            snippet: "the tide table".into(),
            highlights: vec![(4, 8)],
            chunk: 0,
            matched: vec!["text".into(), "title".into()],
            updated_at: "2026-11-21T10:30:45.123Z".into(),
            explain: Vec::new(),
            line: 3,
            source_kind: Some("webhook".into()),
            source_uri: Some("https://example.org/a".into()),
            url: None,
            trust: TrustLevel::Outside,
            path: None,
            also_in: vec!["work:b".into()],
            copy_of: None,
            span: None,
            page: PageVersion::default(),
            copies: Vec::new(),
        }
    }

    fn page() -> Page {
        Page {
            slug: Slug::parse("d/four").unwrap(),
            source_id: SourceId::default(),
            page_type: "note".into(),
            title: "Harbour".into(),
            tags: vec!["sea".into()],
            aliases: Vec::new(),
            frontmatter: String::new(),
            body: "# Harbour\n\nThe tide table.\n".into(),
            content: "# Harbour\n\nThe tide table.\n".into(),
            content_hash: "ab".repeat(32),
            chunks: 1,
            created_at: "2026-11-21T10:30:45.123Z".into(),
            updated_at: "2026-11-21T10:30:45.123Z".into(),
            source_path: Some("d/four.md".into()),
            source_kind: None,
            source_uri: None,
            ingested_via: None,
            ingested_at: None,
            version: 2,
            trust: TrustLevel::Outside,
            outside_lines: Vec::new(),
            copy_of: None,
            id: 4,
        }
    }

    fn call(tool: &str, request: &str, replies: Vec<Result<Reply, Fault>>) -> RecordedCall {
        RecordedCall {
            tool: tool.into(),
            request: request.into(),
            outcome: SeenOutcome::Answered,
            default_source: Some(SourceId::default()),
            local_address: Some("127.0.0.1:3131".into()),
            age: None,
            replies,
        }
    }

    fn hits() -> Result<Reply, Fault> {
        Ok(Reply::Hits(Hits {
            query: String::new(),
            hits: vec![hit("a/one"), hit("b/two")],
            truncated: true,
            degraded: None,
            took_us: 7,
            default_source: SourceId::default(),
            note: Some("read as a day".into()),
        }))
    }

    #[test]
    fn answers_have_the_form_of_their_number() {
        let page = || Ok(Reply::Page(page()));
        let missing = Fault::new(FaultCode::NotFound, "there is no page \"a\"");
        let failed = RecordedCall {
            outcome: SeenOutcome::ToolFailed,
            ..call("get_page", "{\"slug\":\"a\"}", vec![Err(missing)])
        };
        let calls = [
            call("query", "{\"query\":\"tide\",\"limit\":1}", vec![hits()]),
            call(
                "query",
                "{\"query\":\"tide\",\"format\":\"detailed\"}",
                vec![hits(), page(), page()],
            ),
            call("search", "{\"query\":\"tide\"}", vec![hits()]),
            call("fetch", "{\"id\":\"d/four\"}", vec![page()]),
            call("get_page", "{\"slug\":\"d/four\"}", vec![page()]),
            call("resources/read", "{\"uri\":\"brain://page/d/four\"}", vec![page()]),
            failed,
        ];
        let mut answers = Vec::new();
        for call in &calls {
            let answer = AnswerRenderer.render(call).unwrap();
            assert_eq!(AnswerRenderer.render(call).unwrap(), answer, "the same twice");
            answers.extend(answer);
        }
        let hash: String = answer_hash(&answers).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, ANSWERS, "form {FORM}");
    }

    #[test]
    fn a_call_that_needs_more_than_is_recorded_is_refused() {
        for call in [
            call("query", "{\"query\":\"tide\"}", Vec::new()),
            call("brain_status", "{}", Vec::new()),
            call("no_such_tool", "{}", Vec::new()),
            call("query", "no JSON", Vec::new()),
        ] {
            let refused = AnswerRenderer.render(&call).unwrap_err();
            assert_eq!(refused.code, FaultCode::NotReplayable, "{}", call.tool);
        }
    }
}
