//! The tools, one file for those that go together. Their number and their words are what every conversation pays for.

mod around;
mod collected;
mod done;
mod edit;
mod find;
mod list;
mod read;
mod status;
mod timeline;
mod write;

use std::sync::LazyLock;

use rmcp::model::Tool;

use super::tool::Entry;
use brain_base::caller::{Caller, Scope};

/// All of them, in the order in which models see them.
static TOOLS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        Entry::of::<find::Search>(),
        Entry::of::<find::Fetch>(),
        Entry::of::<find::Query>(),
        Entry::of::<read::GetPage>(),
        Entry::of::<list::ListPages>(),
        Entry::of::<around::GetLinks>(),
        Entry::of::<timeline::GetTimeline>(),
        Entry::of::<collected::CollectorDigest>(),
        Entry::of::<status::BrainStatus>(),
        Entry::of::<write::Capture>(),
        Entry::of::<write::PutPage>(),
        Entry::of::<edit::EditPage>(),
        Entry::of::<edit::AddTimelineEntry>(),
        Entry::of::<write::DeletePage>(),
        Entry::of::<write::RestorePage>(),
    ]
});

/// The tool of this name.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    TOOLS.iter().find(|entry| entry.tool.name == name)
}

/// What the tool `name` needs; `None` when there is no such tool.
pub fn scope(name: &str) -> Option<Scope> {
    find(name).map(|entry| entry.scope)
}

/// Those that `caller` may use.
pub(super) fn all_for(caller: &Caller) -> Vec<Tool> {
    let may = |entry: &&Entry| caller.require(entry.scope, "").is_ok();
    TOOLS.iter().filter(may).map(|entry| entry.tool.clone()).collect()
}
