//! Pages as resources: `brain://page/{+slug}`.
//!
//! Few clients read resources, so tools return everything that resources do.

use brain_protocol::{Fault, FaultCode, Get, List, Page, PageRow, Sort};
use rmcp::ErrorData;
use rmcp::model::{
    Annotations, CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo,
    ListResourceTemplatesResult, ListResourcesResult, MetaObject, ReadResourceResult, Reference,
    Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::answer::shorten;
use super::trust::{self, Trust};
use super::{LIST_TTL_MS, MAX_QUOTED, ToolContext, page_address, prompts};

/// The template of URIs (RFC 6570: `+` keeps slashes).
const TEMPLATE: &str = "brain://page/{+slug}";
/// The media type of pages.
const MARKDOWN: &str = "text/markdown";
/// Resources of one answer.
const LISTED: u32 = 50;

/// Lists the newest pages.
///
/// # Errors
/// -32602 for an invalid cursor.
pub(super) fn list(
    context: &ToolContext,
    after: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let pages = List { limit: LISTED, after, ..List::default() };
    let pages = context.ask(pages).map_err(to_error_data)?;
    let resources: Result<Vec<_>, Fault> =
        pages.pages.into_iter().map(|row| resource(context, row)).collect();
    let mut listed = ListResourcesResult::with_all_items(resources.map_err(to_error_data)?);
    listed.next_cursor = pages.next;
    (listed.ttl_ms, listed.cache_scope) = (Some(0), Some(CacheScope::Private));
    Ok(listed)
}

fn resource(context: &ToolContext, row: PageRow) -> Result<Resource, Fault> {
    let name = context.page_name(&row.source_id, &row.slug)?;
    let mut annotations = Annotations::default();
    annotations.last_modified = Some(row.updated_at);
    let trust = Trust::of(row.source_kind.as_deref());
    Ok(Resource::new(page_address::uri(&name), name)
        .with_title(row.title)
        .with_mime_type(MARKDOWN)
        .with_annotations(annotations)
        .with_meta(meta(json!({ "trust": trust }))))
}

/// Returns the template of page URIs.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(TEMPLATE, "page")
        .with_title("Page")
        .with_description(
            "A page of the user's knowledge, as markdown, by its slug: \
                brain://page/people/ada-lovelace",
        )
        .with_mime_type(MARKDOWN);
    let mut listed = ListResourceTemplatesResult::with_all_items(vec![template]);
    (listed.ttl_ms, listed.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
    listed
}

/// Reads the page at `uri`.
///
/// # Errors
/// -32602 with the URI if the caller can see no such page (MCP 2026-07-28, "Resources").
pub(super) fn read(context: &ToolContext, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let page = page(context, uri).map_err(|fault| {
        let code = fault.code.as_str();
        let mut error = to_error_data(fault);
        error.data = Some(json!({ "uri": shorten(uri, MAX_QUOTED), "code": code }));
        error
    })?;
    let trust = Trust::of(page.source_kind.as_deref());
    let about = json!({
        "size": page.content.len(),
        "lastModified": page.updated_at,
        "contentHash": page.content_hash,
        "trust": trust,
    });
    let text = match trust {
        Trust::Owner => page.content,
        Trust::Outside => {
            let origin = trust::origin(page.source_kind.as_deref(), page.source_uri.as_deref());
            // The page's own hash does not cover the frontmatter, which could then contain the
            // mark.
            let hash = Sha256::digest(&page.content)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>();
            trust::frame(&page.content, &origin, &hash)
        }
    };
    let contents =
        ResourceContents::text(text, uri).with_mime_type(MARKDOWN).with_meta(meta(about));
    let mut read = ReadResourceResult::new(vec![contents]);
    (read.ttl_ms, read.cache_scope) = (Some(0), Some(CacheScope::Private));
    Ok(read)
}

fn page(context: &ToolContext, uri: &str) -> Result<Page, Fault> {
    let address = page_address::of_uri(uri)?;
    if address.section.is_some() {
        return Err(Fault::new(
            FaultCode::InvalidRequest,
            "a resource is a whole page: leave the part behind # away",
        )
        .hint("`get_page` reads a part"));
    }
    context.ask(Get { page: address.page, version: None })
}

/// Completes an argument: slugs for the template, people for the prompt about a person.
pub(super) fn complete(
    context: &ToolContext,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let (argument, typed) = (request.argument.name.as_str(), request.argument.value.as_str());
    let values = match &request.r#ref {
        Reference::Resource(template) if template.uri != TEMPLATE => {
            let message =
                format!("there is no template \"{}\"", shorten(&template.uri, MAX_QUOTED));
            return Err(ErrorData::invalid_params(message, None));
        }
        Reference::Resource(_) if argument == "slug" => slugs(context, typed),
        Reference::Resource(_) => Ok(Vec::new()),
        Reference::Prompt(prompt) => {
            prompts::require_exists(&prompt.name)?;
            if prompts::is_person(&prompt.name, argument) {
                people(context, typed)
            } else {
                Ok(Vec::new())
            }
        }
        _ => Ok(Vec::new()),
    };
    let mut values = values.map_err(to_error_data)?;
    let more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    let info = CompletionInfo::with_pagination(values, None, more);
    info.map(CompleteResult::new).map_err(|message| ErrorData::internal_error(message, None))
}

/// Returns names of pages whose slugs begin with `typed`, in the default source or the one before a
/// colon.
fn slugs(context: &ToolContext, typed: &str) -> Result<Vec<String>, Fault> {
    let (source, prefix) = match typed.split_once(':') {
        // The name of the source is incomplete.
        Some((source, prefix)) => match page_address::source(source) {
            Ok(source) => (Some(source), prefix),
            Err(_) => return Ok(Vec::new()),
        },
        // The caller's default source may be one that it cannot use.
        None => (
            Some(context.brain.sources.usual_source(&context.caller)?)
                .filter(|it| context.caller.may_use(it)),
            typed,
        ),
    };
    let rows = match context.ask(List {
        source,
        prefix: Some(prefix.to_lowercase()),
        sort: Sort::Slug,
        limit: CompletionInfo::MAX_VALUES as u32 + 1,
        ..List::default()
    }) {
        Ok(pages) => pages.pages,
        Err(fault) if fault.code == FaultCode::UnknownSource => return Ok(Vec::new()),
        Err(fault) => return Err(fault),
    };
    let name = |row: PageRow| match typed.split_once(':') {
        Some((source, _)) => Ok(format!("{source}:{}", row.slug)),
        None => context.page_name(&row.source_id, &row.slug),
    };
    rows.into_iter().map(name).collect()
}

/// Returns people whose title or slug begins with `typed`.
fn people(context: &ToolContext, typed: &str) -> Result<Vec<String>, Fault> {
    const PEOPLE: &str = "people/";
    let all = List { prefix: Some(PEOPLE.into()), limit: 1000, ..List::default() };
    let pages = context.ask(all)?;
    let typed = typed.to_lowercase();
    let mut found = Vec::new();
    for row in pages.pages {
        let slug = row.slug.as_str();
        if row.title.to_lowercase().starts_with(&typed) {
            found.push(row.title);
        } else if slug.starts_with(&typed)
            || slug.strip_prefix(PEOPLE).is_some_and(|it| it.starts_with(&typed))
        {
            found.push(context.page_name(&row.source_id, &row.slug)?);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn meta(value: serde_json::Value) -> MetaObject {
    match value {
        serde_json::Value::Object(map) => map.into(),
        _ => MetaObject::default(),
    }
}

/// Returns a fault as a JSON-RPC error: -32602 if the client can correct it.
fn to_error_data(fault: Fault) -> ErrorData {
    let mut message = fault.message;
    match fault.code {
        FaultCode::NotFound
        | FaultCode::InvalidSlug
        | FaultCode::InvalidSource
        | FaultCode::UnknownSource
        | FaultCode::Usage
        | FaultCode::InvalidRequest
        | FaultCode::Forbidden => ErrorData::invalid_params(message, None),
        code => {
            message.insert_str(0, &format!("{}: ", code.as_str()));
            ErrorData::internal_error(message, None)
        }
    }
}
