//! The commands: arguments, request and output. One file for each command or small family.

mod access;
mod append;
mod ask;
mod ask_saved;
mod attach;
mod audit;
mod backup;
mod capture;
mod clients;
mod collector;
mod completions;
mod conflicts;
mod connect;
mod costs;
mod delete;
mod demo;
mod diff;
mod doctor;
mod edit;
mod embed;
mod everyday;
mod export;
mod get;
mod graph;
mod history;
mod ideas;
mod import;
mod jobs;
mod left;
mod link;
mod list;
mod logs;
mod lsp;
mod machines;
mod mcp;
mod model;
mod open;
mod purge;
mod put;
mod rename;
mod restart;
mod review;
mod search;
mod seen;
mod serve;
mod service;
mod setup;
mod skill;
mod sources;
pub(crate) mod status;
mod steps;
pub(crate) mod summary;
mod sync;
mod tags;
mod timeline;
mod token;
mod trust;
mod tunnel;
mod undo;
mod why;
mod write_reply;

use brain_protocol::{Fault, PageRef, Slug, SourceId};

use crate::{command::Row, fail};

/// Every command, in the order of the help.
pub(crate) static ALL: &[Row] = &[
    Row::of::<capture::CaptureCommand>(),
    Row::of::<put::PutCommand>(),
    Row::of::<edit::EditCommand>(),
    Row::of::<append::AppendCommand>(),
    Row::of::<append::AddCommand>(),
    Row::of::<everyday::TodayCommand>(),
    Row::of::<attach::AttachCommand>(),
    Row::of::<rename::MvCommand>(),
    Row::of::<rename::MergeCommand>(),
    Row::of::<delete::DeleteCommand>(),
    Row::of::<delete::RestoreCommand>(),
    Row::of::<purge::PurgeCommand>(),
    Row::of::<history::RevertCommand>(),
    Row::of::<undo::UndoCommand>(),
    Row::of::<undo::RedoCommand>(),
    Row::of::<trust::TrustCommand>(),
    Row::of::<conflicts::KeepCommand>(),
    Row::of::<review::SettleCommand>(),
    Row::of::<import::ImportCommand>(),
    Row::of::<sync::SyncCommand>(),
    Row::of::<get::GetCommand>(),
    Row::of::<search::SearchCommand>(),
    Row::of::<open::OpenCommand>(),
    Row::of::<ask::AskCommand>(),
    Row::of::<ideas::BrainstormCommand>(),
    Row::of::<ideas::LsdCommand>(),
    Row::of::<list::ListCommand>(),
    Row::of::<history::HistoryCommand>(),
    Row::of::<why::WhyCommand>(),
    Row::of::<diff::DiffCommand>(),
    Row::of::<conflicts::ConflictsCommand>(),
    Row::of::<review::ContradictionsCommand>(),
    Row::of::<review::RecallCommand>(),
    Row::of::<everyday::RandomCommand>(),
    Row::of::<everyday::TodosCommand>(),
    Row::of::<timeline::TimelineCommand>(),
    Row::of::<attach::AttachmentsCommand>(),
    Row::of::<export::ExportCommand>(),
    Row::of::<tags::TagsCommand>(),
    Row::of::<link::LinkCommand>(),
    Row::of::<link::LinksCommand>(),
    Row::of::<link::BacklinksCommand>(),
    Row::of::<graph::GraphCommand>(),
    Row::of::<everyday::OrphansCommand>(),
    Row::of::<sources::SourcesCommand>(),
    Row::of::<collector::CollectorCommand>(),
    Row::of::<clients::ClientsCommand>(),
    Row::of::<token::TokenCommand>(),
    Row::of::<connect::ConnectCommand>(),
    Row::of::<tunnel::TunnelCommand>(),
    Row::of::<machines::MachinesCommand>(),
    Row::of::<audit::AuditCommand>(),
    Row::of::<seen::SeenCommand>(),
    Row::of::<left::LeftCommand>(),
    Row::of::<setup::SetupCommand>(),
    Row::of::<demo::DemoCommand>(),
    Row::of::<status::StatusCommand>(),
    Row::of::<status::StopCommand>(),
    Row::of::<restart::RestartCommand>(),
    Row::of::<logs::LogsCommand>(),
    Row::of::<serve::ServeCommand>(),
    Row::of::<mcp::McpCommand>(),
    Row::of::<lsp::LspCommand>(),
    Row::of::<skill::SkillCommand>(),
    Row::of::<service::ServiceCommand>(),
    Row::of::<doctor::DoctorCommand>(),
    Row::of::<model::ModelCommand>(),
    Row::of::<embed::EmbedCommand>(),
    Row::of::<costs::CostsCommand>(),
    Row::of::<jobs::JobsCommand>(),
    Row::of::<backup::BackupCommand>(),
    Row::of::<serve::ConfigCommand>(),
    Row::of::<completions::CompletionsCommand>(),
    Row::of::<completions::ManCommand>(),
];

/// Parses a page's `slug` or `source:slug`. `source` is the value of `--source`.
fn page(slug: &str, source: Option<&str>) -> Result<PageRef, Fault> {
    let (prefix, slug) = match slug.split_once(':') {
        Some((prefix, slug)) => (Some(prefix), slug),
        None => (None, slug),
    };
    if let (Some(prefix), Some(source)) = (prefix, source)
        && prefix != source
    {
        let message = format!("the page is in source \"{prefix}\", but --source is \"{source}\"");
        return Err(fail::usage(message).hint("name the source once"));
    }
    Ok(PageRef { source: fail::parse_source(prefix.or(source))?, slug: fail::parse_slug(slug)? })
}

/// Parses two pages of one source. Each may name the source.
fn two_pages(first: &str, second: &str, source: Option<&str>) -> Result<(PageRef, Slug), Fault> {
    let (mut first, second) = (page(first, source)?, page(second, source)?);
    if let (Some(a), Some(b)) = (&first.source, &second.source)
        && a != b
    {
        let message = format!("the pages are in two sources, \"{a}\" and \"{b}\"");
        return Err(fail::usage(message).hint("both pages must be in the same source"));
    }
    first.source = first.source.or(second.source);
    Ok((first, second.slug))
}

/// Parses an optional page into source and slug; without a page, only the source.
fn optional_page(
    slug: Option<&str>,
    source: Option<&str>,
) -> Result<(Option<SourceId>, Option<Slug>), Fault> {
    match slug {
        Some(slug) => page(slug, source).map(|page| (page.source, Some(page.slug))),
        None => Ok((fail::parse_source(source)?, None)),
    }
}
