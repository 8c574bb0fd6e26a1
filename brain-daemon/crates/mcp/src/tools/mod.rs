//! The list of tools. Related tools share a file.
//!
//! Every conversation contains the whole list, so tools are few and their descriptions short.

mod collector_digest;
mod diff;
mod edit;
mod find;
mod links;
mod list;
mod move_page;
mod read;
mod restore;
mod status;
mod tags;
mod timeline;
mod write;
mod write_output;

use std::sync::LazyLock;

use brain_protocol::OperationInfo;
use rmcp::model::Tool;

use super::tool::RegisteredTool;
use brain_base::caller::Caller;

/// All tools, in the order in which models see them.
static TOOLS: LazyLock<Vec<RegisteredTool>> = LazyLock::new(|| {
    vec![
        RegisteredTool::of::<find::SearchPages>(),
        RegisteredTool::of::<find::Fetch>(),
        RegisteredTool::of::<find::Query>(),
        RegisteredTool::of::<read::GetPage>(),
        RegisteredTool::of::<list::ListPages>(),
        RegisteredTool::of::<tags::ListTags>(),
        RegisteredTool::of::<links::GetLinks>(),
        RegisteredTool::of::<timeline::GetTimeline>(),
        RegisteredTool::of::<diff::DiffPage>(),
        RegisteredTool::of::<collector_digest::GetCollectorDigest>(),
        RegisteredTool::of::<status::BrainStatus>(),
        RegisteredTool::of::<write::CapturePage>(),
        RegisteredTool::of::<write::PutPage>(),
        RegisteredTool::of::<edit::EditPage>(),
        RegisteredTool::of::<edit::AddTimelineEntry>(),
        RegisteredTool::of::<move_page::MovePage>(),
        RegisteredTool::of::<write::DeletePage>(),
        RegisteredTool::of::<restore::RestorePage>(),
    ]
});

/// Returns the tool with this name.
pub(super) fn find(name: &str) -> Option<&'static RegisteredTool> {
    TOOLS.iter().find(|entry| entry.tool.name == name)
}

/// Returns a tool's name and the scope that it needs; `None` if there is no such tool.
pub fn tool_operation(name: &str) -> Option<OperationInfo> {
    find(name).map(|entry| entry.operation)
}

/// Returns the tools that `caller` can use.
pub(super) fn all_for(caller: &Caller) -> Vec<Tool> {
    let usable = TOOLS.iter().filter(|entry| entry.is_usable_by(caller));
    usable.map(|entry| entry.tool.clone()).collect()
}
