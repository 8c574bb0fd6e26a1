//! The tool `brain_status`: the caller, its scopes and its sources.

use brain_protocol::{Fault, Operation as _, OperationInfo, SourceList, VERSION};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ToolContext;
use crate::answer::shorten;
use crate::tool::{Effect, ToolCall};
use brain_base::clock::local_time;

/// Maximum number of listed sources.
const MAX_SOURCES: usize = 200;
/// Maximum number of shown characters of a caller's name.
const MAX_NAME_CHARS: usize = 100;

/// The caller's rights, and the state of the index.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrainStatus {}

/// The output of `brain_status`. It contains nothing about the machine but its clock, and nothing
/// about sources that the caller cannot see.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusOutput {
    /// The caller's name in the owner's audit.
    caller: String,
    scopes: Vec<&'static str>,
    version: String,
    /// The date and time, with the time zone of the brain's machine.
    now: String,
    /// Active pages that the caller can see.
    pages: u64,
    sources: Vec<ListedSource>,
    /// Changes that are not in the index yet. Only for callers that can see all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    index_behind: Option<u64>,
    /// Whether search results may be incomplete.
    degraded: bool,
    /// How old pages are, while other machines cannot be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    age: Option<String>,
}

/// A source.
#[derive(Serialize, JsonSchema)]
struct ListedSource {
    source_id: String,
    pages: u64,
    /// Whether it is the default source.
    default: bool,
}

impl ToolCall for BrainStatus {
    const NAME: &'static str = "brain_status";
    const TITLE: &'static str = "Status";
    const DESCRIPTION: &'static str = "Today's date, time and time zone; who you are here, what \
        you may do, the sources you may use, and whether the index is complete.";
    const OPERATIONS: &'static [OperationInfo] = &[SourceList::INFO];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = StatusOutput;

    fn call(self, context: &ToolContext) -> Result<StatusOutput, Fault> {
        let (brain, all) = (context.brain()?, context.run(SourceList)?);
        let source = |row: &brain_protocol::SourceRow| ListedSource {
            source_id: row.source_id.to_string(),
            pages: row.pages,
            default: row.default,
        };
        Ok(StatusOutput {
            caller: shorten(&context.caller.name, MAX_NAME_CHARS),
            scopes: context.caller.scopes().iter().map(brain_base::caller::Scope::as_str).collect(),
            version: VERSION.into(),
            now: local_time(brain.now()),
            pages: all.sources.iter().map(|row| row.pages).sum(),
            sources: all.sources.iter().take(MAX_SOURCES).map(source).collect(),
            index_behind: brain.index_behind(&context.caller),
            degraded: brain.is_degraded(&context.caller),
            age: brain.age_of_reads(),
        })
    }
}
