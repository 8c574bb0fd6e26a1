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
use super::trust::{self, TextTrust};
use super::{LIST_TTL_MS, MAX_QUOTED, ToolContext, page_address, prompts, skill};

/// The template of URIs (RFC 6570: `+` keeps slashes).
const TEMPLATE: &str = "brain://page/{+slug}";
/// The media type of pages.
const MARKDOWN: &str = "text/markdown";
/// Maximum number of resources in one answer.
const MAX_RESOURCES: u32 = 50;
/// Maximum number of people that are compared with an input.
const MAX_PEOPLE: u32 = 1000;

/// Lists pages, last changed first.
///
/// # Errors
/// -32602 for an invalid cursor; -32603 if the store cannot be read.
pub(super) fn list(
    context: &ToolContext,
    after: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let pages = List { limit: MAX_RESOURCES, after, ..List::default() };
    let pages = context.run(pages).map_err(to_error_data)?;
    let resources: Result<Vec<_>, Fault> =
        pages.pages.into_iter().map(|row| resource(context, row)).collect();
    let mut result = ListResourcesResult::with_all_items(resources.map_err(to_error_data)?);
    result.next_cursor = pages.next;
    (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
    Ok(result)
}

fn resource(context: &ToolContext, row: PageRow) -> Result<Resource, Fault> {
    let name = context.page_name(&row.source_id, &row.slug)?;
    let mut annotations = Annotations::default();
    annotations.last_modified = Some(row.updated_at);
    let trust = TextTrust::from(row.trust);
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
    let mut result = ListResourceTemplatesResult::with_all_items(vec![template]);
    (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
    result
}

/// Reads the page at `uri`, or the skill for agents if `uri` is [`skill::URI`].
///
/// # Errors
/// -32602 with the URI if it is invalid, or the caller can see no such page (MCP 2026-07-28,
/// "Resources"); -32603 if the store cannot be read.
pub(super) fn read(context: &ToolContext, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    if uri == skill::URI {
        return Ok(skill::read());
    }
    let page = page(context, uri).map_err(|fault| {
        let code = fault.code.as_str();
        let mut error = to_error_data(fault);
        error.data = Some(json!({ "uri": shorten(uri, MAX_QUOTED), "code": code }));
        error
    })?;
    let trust = TextTrust::from(page.trust);
    let details = json!({
        "size": page.content.len(),
        "lastModified": page.updated_at,
        "contentHash": page.content_hash,
        "trust": trust,
    });
    // The frame's delimiter contains this hash. `content_hash` does not cover the frontmatter, so
    // with it the author of the frontmatter could forge the delimiter.
    let hash = brain_page::hex(&Sha256::digest(&page.content).into());
    let text = trust::frame_outside_text(&page, &page.content, 1, &hash);
    let contents =
        ResourceContents::text(text, uri).with_mime_type(MARKDOWN).with_meta(meta(details));
    let mut result = ReadResourceResult::new(vec![contents]);
    (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
    Ok(result)
}

fn page(context: &ToolContext, uri: &str) -> Result<Page, Fault> {
    let address = page_address::parse_uri(uri)?;
    if address.section.is_some() {
        return Err(Fault::new(
            FaultCode::InvalidRequest,
            "a resource is a whole page: leave out # and the section",
        )
        .hint("`get_page` reads a section"));
    }
    context.run(Get { page: address.page, version: None })
}

/// Completes an argument: slugs for the template, people for the prompt about a person.
///
/// # Errors
/// -32602 if the template or prompt is unknown; -32603 if the store cannot be read.
pub(super) fn complete(
    context: &ToolContext,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let (argument, input) = (request.argument.name.as_str(), request.argument.value.as_str());
    let values = match &request.r#ref {
        Reference::Resource(template) if template.uri != TEMPLATE => {
            let message =
                format!("there is no template \"{}\"", shorten(&template.uri, MAX_QUOTED));
            return Err(ErrorData::invalid_params(message, None));
        }
        Reference::Resource(_) if argument == "slug" => complete_slug(context, input),
        Reference::Resource(_) => Ok(Vec::new()),
        Reference::Prompt(prompt) => {
            prompts::require_exists(&prompt.name)?;
            if prompts::is_person(&prompt.name, argument) {
                complete_person(context, input)
            } else {
                Ok(Vec::new())
            }
        }
        _ => Ok(Vec::new()),
    };
    let mut values = values.map_err(to_error_data)?;
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    let info = CompletionInfo::with_pagination(values, None, has_more);
    info.map(CompleteResult::new).map_err(|message| ErrorData::internal_error(message, None))
}

/// Returns names of pages whose slugs begin with `input`. The source is the one before the colon in
/// `input`, else the default source, else all sources that the caller can use.
fn complete_slug(context: &ToolContext, input: &str) -> Result<Vec<String>, Fault> {
    let (source, prefix) = match input.split_once(':') {
        Some((source, prefix)) => match page_address::parse_source(source) {
            Ok(source) => (Some(source), prefix),
            // No page is in a source with an invalid id.
            Err(_) => return Ok(Vec::new()),
        },
        // If the caller cannot use the default source, `None` stands for all sources that it can.
        None => {
            (Some(context.default_source()?.clone()).filter(|it| context.caller.may_use(it)), input)
        }
    };
    let rows = match context.run(List {
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
    let name = |row: PageRow| match input.split_once(':') {
        Some((source, _)) => Ok(format!("{source}:{}", row.slug)),
        None => context.page_name(&row.source_id, &row.slug),
    };
    rows.into_iter().map(name).collect()
}

/// Returns the people whose title or slug begins with `input`, each by that title or slug.
fn complete_person(context: &ToolContext, input: &str) -> Result<Vec<String>, Fault> {
    const PEOPLE: &str = "people/";
    let people = List { prefix: Some(PEOPLE.into()), limit: MAX_PEOPLE, ..List::default() };
    let pages = context.run(people)?;
    let input = input.to_lowercase();
    let mut found = Vec::new();
    for row in pages.pages {
        let slug = row.slug.as_str();
        if row.title.to_lowercase().starts_with(&input) {
            found.push(row.title);
        } else if slug.starts_with(&input)
            || slug.strip_prefix(PEOPLE).is_some_and(|it| it.starts_with(&input))
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
