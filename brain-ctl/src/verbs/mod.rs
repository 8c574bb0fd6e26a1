//! The commands: arguments, request and output. One file for each command or small family.

mod access;
mod append;
mod ask;
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
mod link;
mod list;
mod logs;
mod machines;
mod mcp;
mod model;
mod open;
mod purge;
mod put;
mod rename;
mod restart;
mod search;
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
mod write_reply;

use brain_protocol::{Fault, PageRef, Slug, SourceId};

use crate::{command::Row, fail};

/// Every command, in the order of the help.
pub(crate) static ALL: &[Row] = &[
    Row::of::<capture::Capture>(),
    Row::of::<put::Put>(),
    Row::of::<edit::Edit>(),
    Row::of::<append::Append>(),
    Row::of::<append::Add>(),
    Row::of::<everyday::Today>(),
    Row::of::<attach::Attach>(),
    Row::of::<rename::Mv>(),
    Row::of::<rename::Merge>(),
    Row::of::<delete::Delete>(),
    Row::of::<delete::Restore>(),
    Row::of::<purge::Purge>(),
    Row::of::<history::Revert>(),
    Row::of::<trust::Trust>(),
    Row::of::<conflicts::Keep>(),
    Row::of::<import::Import>(),
    Row::of::<sync::Sync>(),
    Row::of::<get::Get>(),
    Row::of::<search::Search>(),
    Row::of::<open::Open>(),
    Row::of::<ask::Ask>(),
    Row::of::<ideas::Brainstorm>(),
    Row::of::<ideas::Lsd>(),
    Row::of::<list::List>(),
    Row::of::<history::History>(),
    Row::of::<diff::Diff>(),
    Row::of::<conflicts::ConflictsArgs>(),
    Row::of::<everyday::Random>(),
    Row::of::<everyday::Todos>(),
    Row::of::<timeline::Timeline>(),
    Row::of::<attach::AttachmentsArgs>(),
    Row::of::<export::Export>(),
    Row::of::<tags::Tags>(),
    Row::of::<link::Link>(),
    Row::of::<link::Links>(),
    Row::of::<link::Backlinks>(),
    Row::of::<graph::Graph>(),
    Row::of::<everyday::Orphans>(),
    Row::of::<sources::Sources>(),
    Row::of::<collector::Collector>(),
    Row::of::<clients::Clients>(),
    Row::of::<token::Token>(),
    Row::of::<connect::Connect>(),
    Row::of::<tunnel::Tunnel>(),
    Row::of::<machines::Machines>(),
    Row::of::<audit::Audit>(),
    Row::of::<setup::Setup>(),
    Row::of::<demo::Demo>(),
    Row::of::<status::Status>(),
    Row::of::<status::Stop>(),
    Row::of::<restart::Restart>(),
    Row::of::<logs::Logs>(),
    Row::of::<serve::Serve>(),
    Row::of::<mcp::Mcp>(),
    Row::of::<skill::Skill>(),
    Row::of::<service::Service>(),
    Row::of::<doctor::Doctor>(),
    Row::of::<model::Model>(),
    Row::of::<embed::Embed>(),
    Row::of::<costs::Costs>(),
    Row::of::<jobs::Jobs>(),
    Row::of::<backup::Backup>(),
    Row::of::<serve::Config>(),
    Row::of::<completions::Completions>(),
    Row::of::<completions::Man>(),
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
