//! Pages as resources: `brain://page/{+slug}`. Few clients read them, so nothing can be reached by them alone.

use brain_protocol::{Fault, FaultCode, Get, List, Page, PageRow, Reply, Request, Sort};
use rmcp::ErrorData;
use rmcp::model::{
    Annotations, CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo,
    ListResourceTemplatesResult, ListResourcesResult, MetaObject, ReadResourceResult, Reference,
    Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::answer::short;
use super::trust::{self, Trust};
use super::{Desk, LISTS_KEEP_MS, REPEATED, defect, place, prompts};

/// The template of the addresses (RFC 6570: `+` lets slashes stand).
const TEMPLATE: &str = "brain://page/{+slug}";
/// What pages are.
const MARKDOWN: &str = "text/markdown";
/// How many resources one answer lists.
const LISTED: u32 = 50;

/// The newest pages.
///
/// # Errors
/// -32602 for a cursor that no answer had.
pub(super) fn list(desk: &Desk, after: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let pages = List { limit: LISTED, after, ..List::default() };
    let Reply::Pages(pages) = desk.ask(Request::List(pages)).map_err(told)? else {
        return Err(told(defect()));
    };
    let resources: Result<Vec<_>, Fault> =
        pages.pages.into_iter().map(|row| resource(desk, row)).collect();
    let mut listed = ListResourcesResult::with_all_items(resources.map_err(told)?);
    listed.next_cursor = pages.next;
    (listed.ttl_ms, listed.cache_scope) = (Some(0), Some(CacheScope::Private));
    Ok(listed)
}

fn resource(desk: &Desk, row: PageRow) -> Result<Resource, Fault> {
    let name = desk.name(&row.source_id, &row.slug)?;
    let mut annotations = Annotations::default();
    annotations.last_modified = Some(row.updated_at);
    let trust = Trust::of(row.source_kind.as_deref());
    Ok(Resource::new(place::uri(&name), name)
        .with_title(row.title)
        .with_mime_type(MARKDOWN)
        .with_annotations(annotations)
        .with_meta(meta(json!({ "trust": trust }))))
}

/// How the address of a page is made.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(TEMPLATE, "page")
        .with_title("Page")
        .with_description(
            "A page of the user's knowledge, as markdown, by its slug: brain://page/people/ada-lovelace",
        )
        .with_mime_type(MARKDOWN);
    let mut listed = ListResourceTemplatesResult::with_all_items(vec![template]);
    (listed.ttl_ms, listed.cache_scope) = (Some(LISTS_KEEP_MS), Some(CacheScope::Private));
    listed
}

/// The page at `uri`, whole.
///
/// # Errors
/// -32602 when there is none that the caller may see (MCP 2026-07-28, "Resources"), with the address among its data.
pub(super) fn read(desk: &Desk, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let page = page(desk, uri).map_err(|fault| {
        let code = fault.code.as_str();
        let mut error = told(fault);
        error.data = Some(json!({ "uri": short(uri, REPEATED), "code": code }));
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
            // Not the hash of the page: that leaves out the frontmatter, which then could have the mark in it.
            let hash = Sha256::digest(&page.content)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>();
            trust::framed(&page.content, &origin, &hash)
        }
    };
    let contents =
        ResourceContents::text(text, uri).with_mime_type(MARKDOWN).with_meta(meta(about));
    let mut read = ReadResourceResult::new(vec![contents]);
    (read.ttl_ms, read.cache_scope) = (Some(0), Some(CacheScope::Private));
    Ok(read)
}

fn page(desk: &Desk, uri: &str) -> Result<Page, Fault> {
    let place = place::of_uri(uri)?;
    if place.section.is_some() {
        return Err(Fault::new(
            FaultCode::InvalidRequest,
            "a resource is a whole page: leave the part behind # away",
        )
        .hint("`get_page` reads a part"));
    }
    match desk.ask(Request::Get(Get { page: place.page, version: None }))? {
        Reply::Page(page) => Ok(page),
        _ => Err(defect()),
    }
}

/// What may stand for what was typed: slugs for the template, people for the prompt about one.
pub(super) fn complete(
    desk: &Desk,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let (argument, typed) = (request.argument.name.as_str(), request.argument.value.as_str());
    let values = match &request.r#ref {
        Reference::Resource(template) if template.uri != TEMPLATE => {
            let message = format!("there is no template \"{}\"", short(&template.uri, REPEATED));
            return Err(ErrorData::invalid_params(message, None));
        }
        Reference::Resource(_) if argument == "slug" => slugs(desk, typed),
        Reference::Resource(_) => Ok(Vec::new()),
        Reference::Prompt(prompt) => {
            prompts::known(&prompt.name)?;
            if prompts::is_person(&prompt.name, argument) {
                people(desk, typed)
            } else {
                Ok(Vec::new())
            }
        }
        _ => Ok(Vec::new()),
    };
    let mut values = values.map_err(told)?;
    let more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    let info = CompletionInfo::with_pagination(values, None, more);
    info.map(CompleteResult::new).map_err(|message| ErrorData::internal_error(message, None))
}

/// Names of pages whose slugs begin as `typed`, of the source that is meant without one or the one before a colon.
fn slugs(desk: &Desk, typed: &str) -> Result<Vec<String>, Fault> {
    let (source, prefix) = match typed.split_once(':') {
        // Half a name is none yet.
        Some((source, prefix)) => match place::source(source) {
            Ok(source) => (Some(source), prefix),
            Err(_) => return Ok(Vec::new()),
        },
        // None of theirs may be meant without being named.
        None => (
            Some(desk.brain.usual_source(&desk.caller)?).filter(|it| desk.caller.may_use(it)),
            typed,
        ),
    };
    let rows = match desk.ask(Request::List(List {
        source,
        prefix: Some(prefix.to_lowercase()),
        sort: Sort::Slug,
        limit: CompletionInfo::MAX_VALUES as u32 + 1,
        ..List::default()
    })) {
        Ok(Reply::Pages(pages)) => pages.pages,
        Ok(_) => return Err(defect()),
        Err(fault) if fault.code == FaultCode::UnknownSource => return Ok(Vec::new()),
        Err(fault) => return Err(fault),
    };
    let name = |row: PageRow| match typed.split_once(':') {
        Some((source, _)) => Ok(format!("{source}:{}", row.slug)),
        None => desk.name(&row.source_id, &row.slug),
    };
    rows.into_iter().map(name).collect()
}

/// People whose title begins as `typed`, or whose slug does.
fn people(desk: &Desk, typed: &str) -> Result<Vec<String>, Fault> {
    const PEOPLE: &str = "people/";
    let all = List { prefix: Some(PEOPLE.into()), limit: 1000, ..List::default() };
    let Reply::Pages(pages) = desk.ask(Request::List(all))? else { return Err(defect()) };
    let typed = typed.to_lowercase();
    let mut found = Vec::new();
    for row in pages.pages {
        let slug = row.slug.as_str();
        if row.title.to_lowercase().starts_with(&typed) {
            found.push(row.title);
        } else if slug.starts_with(&typed)
            || slug.strip_prefix(PEOPLE).is_some_and(|it| it.starts_with(&typed))
        {
            found.push(desk.name(&row.source_id, &row.slug)?);
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

/// A fault in the words of the protocol: -32602 for what the client can mend.
fn told(fault: Fault) -> ErrorData {
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
