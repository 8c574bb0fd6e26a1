//! Who is asking, and what there is to ask about.

use brain_protocol::{Fault, Reply, Request, Search};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::short;
use crate::tool::{Call, Effect};
use crate::{Desk, defect};
use brain_base::caller::Scope;

/// How many sources are listed.
const SOURCES: usize = 200;
/// How many characters of a caller's name are shown.
const NAME: usize = 100;

/// How the brain is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrainStatus {}

/// What a caller may know of the brain. Nothing of the machine, and nothing of sources that are not theirs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Status {
    /// Who is asking, as the owner's audit has it.
    caller: String,
    scopes: Vec<&'static str>,
    version: String,
    /// Active pages that the caller may see.
    pages: u64,
    sources: Vec<Source>,
    /// Changes that are searched from memory until the index has them; only for who may see all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    index_behind: Option<u64>,
    /// Whether answers may miss something.
    degraded: bool,
}

/// A source.
#[derive(Serialize, JsonSchema)]
struct Source {
    source_id: String,
    pages: u64,
    /// Whether it is meant when none is named.
    default: bool,
}

impl Call for BrainStatus {
    const NAME: &'static str = "brain_status";
    const TITLE: &'static str = "Status";
    const DESCRIPTION: &'static str = "Who you are here, what you may do, the sources you may use, and whether the index is complete.";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Status;

    fn call(self, desk: &Desk) -> Result<Status, Fault> {
        let Reply::Status(status) = desk.ask(Request::Status)? else { return Err(defect()) };
        let Reply::Sources(all) = desk.ask(Request::SourceList)? else { return Err(defect()) };
        // Only a search knows whether searches are complete.
        let probe = Search { query: "status".into(), limit: 1, ..Search::default() };
        let degraded = !matches!(desk.ask(Request::Search(probe)), Ok(Reply::Hits(found)) if found.degraded.is_none());
        let source = |row: &brain_protocol::SourceRow| Source {
            source_id: row.source_id.to_string(),
            pages: row.pages,
            default: row.default,
        };
        Ok(Status {
            caller: short(&desk.caller.name, NAME),
            scopes: desk.caller.scopes().iter().map(brain_base::caller::Scope::as_str).collect(),
            version: status.version,
            pages: all.sources.iter().map(|row| row.pages).sum(),
            sources: all.sources.iter().take(SOURCES).map(source).collect(),
            index_behind: desk.caller.sees_all().then_some(status.index_behind),
            degraded,
        })
    }
}
