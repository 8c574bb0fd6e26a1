//! Writing pages whole: taking in, putting, deleting, bringing back.

use brain_protocol::{
    Capture as Taken, Delete, Fault, FaultCode, Get, Origin, PageRef, Precondition, Put, Reply,
    Request, Revert,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::done::{Done, UNCHANGED, expected, unframed, written};
use super::edit::{read, rewrite};
use crate::tool::{Call, Effect};
use crate::{Desk, defect, place};
use brain_base::caller::Scope;
use brain_page::Document;

/// What taking a page away did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Gone {
    slug: String,
    status: String,
    recoverable_until: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A thought for the inbox.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Capture {
    /// Markdown
    content: String,
    title: Option<String>,
    /// note, idea, observation
    r#type: Option<String>,
    /// Where it is from
    source_uri: Option<String>,
    source_id: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

impl Call for Capture {
    const NAME: &'static str = "capture";
    const TITLE: &'static str = "Capture";
    const DESCRIPTION: &'static str = "Keep what the user wants remembered as a new inbox page, searchable at once. \
The same content within 24 hours is kept once. To change a page use edit_page; for a page with a chosen slug, put_page.";
    const SCOPE: Scope = Scope::Write;
    const EFFECT: Effect = Effect::Adds;
    type Output = Done;

    fn call(self, desk: &Desk) -> Result<Done, Fault> {
        let request = Taken {
            content: unframed(&self.content).into_bytes(),
            origin: Origin::Agent(self.source_uri),
            source: self.source_id.as_deref().map(place::source).transpose()?,
            slug: None,
            page_type: self.r#type,
            title: self.title,
            tags: self.tags,
        };
        written(desk, Request::Capture(request))
    }
}

/// A whole page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutPage {
    slug: String,
    /// Markdown, YAML frontmatter allowed
    content: String,
    /// content_hash of the page you replace; content without frontmatter keeps the page's
    expected_hash: Option<String>,
    #[serde(default)]
    overwrite: bool,
}

impl Call for PutPage {
    const NAME: &'static str = "put_page";
    const TITLE: &'static str = "Put a page";
    const DESCRIPTION: &'static str = "Write a whole page under a slug like people/ada-lovelace. An existing page is replaced only \
with expected_hash or overwrite; its former version is kept. For a part of a page use edit_page.";
    const SCOPE: Scope = Scope::Write;
    const EFFECT: Effect = Effect::Replaces;
    type Output = Done;

    fn call(self, desk: &Desk) -> Result<Done, Fault> {
        let page = place::page(&self.slug)?;
        let content = unframed(&self.content);
        let expect = match (expected(self.expected_hash)?, self.overwrite) {
            (Some(hash), _) => {
                if let Some(done) = replace_text_of(desk, &page, &hash, &content)? {
                    return Ok(done);
                }
                Some(Precondition::Hash(hash))
            }
            (None, true) => None,
            (None, false) => Some(Precondition::Absent),
        };
        let put = Put {
            page,
            content: content.into_bytes(),
            origin: Origin::Agent(None),
            allow_empty: false,
            expect,
        };
        written(desk, Request::Put(put))
    }
}

/// Replaces the text of the page with this `hash` by a content without frontmatter. The hash is of the text, and the text is what a model
/// has read: title, tags and whatever else stands in the frontmatter stay, as somebody else may have set them meanwhile. None when
/// there is no such page, or the content has frontmatter of its own.
fn replace_text_of(
    desk: &Desk,
    page: &PageRef,
    hash: &str,
    content: &str,
) -> Result<Option<Done>, Fault> {
    let Ok(Document { frontmatter, body }) = Document::parse(content) else { return Ok(None) };
    if !frontmatter.is_empty() {
        return Ok(None);
    }
    let replaced = rewrite(desk, page, Some(hash), |mut it| {
        it.body.clone_from(&body);
        Ok(Some(it))
    });
    match replaced {
        Ok(done) => Ok(Some(done)),
        Err(fault) if fault.code == FaultCode::NotFound => Ok(None),
        // Who sends again what went through has what they want.
        Err(fault) if fault.code == FaultCode::Conflict => match read(desk, page, None)? {
            now if now.body == body => Done::stays(desk, now, UNCHANGED).map(Some),
            _ => Err(fault),
        },
        Err(fault) => Err(fault),
    }
}

/// A page that is to go.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeletePage {
    slug: String,
    /// Refuse unless it has this content_hash
    expected_hash: Option<String>,
}

impl Call for DeletePage {
    const NAME: &'static str = "delete_page";
    const TITLE: &'static str = "Delete a page";
    const DESCRIPTION: &'static str = "Delete a page. restore_page brings it back for 72 hours.";
    const SCOPE: Scope = Scope::Write;
    const EFFECT: Effect = Effect::Replaces;
    type Output = Gone;

    fn call(self, desk: &Desk) -> Result<Gone, Fault> {
        let expect = expected(self.expected_hash)?.map(Precondition::Hash);
        let delete = Delete { page: place::page(&self.slug)?, expect };
        let Reply::Delete(deleted) = desk.ask(Request::Delete(delete))? else {
            return Err(defect());
        };
        Ok(Gone {
            slug: desk.name(&deleted.source_id, &deleted.slug)?,
            status: "deleted".into(),
            recoverable_until: deleted.recoverable_until,
            warnings: deleted.warnings,
        })
    }
}

/// A page, or a version of it, that is to come back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestorePage {
    slug: String,
    version: Option<u32>,
}

impl Call for RestorePage {
    const NAME: &'static str = "restore_page";
    const TITLE: &'static str = "Restore a page";
    const DESCRIPTION: &'static str =
        "Bring a deleted page back; or, with version, what a page said at that version.";
    const SCOPE: Scope = Scope::Write;
    const EFFECT: Effect = Effect::Adds;
    type Output = Done;

    fn call(self, desk: &Desk) -> Result<Done, Fault> {
        let page = place::page(&self.slug)?;
        let warnings = match desk.ask(Request::Restore(page.clone())) {
            Ok(Reply::Restore(restored)) => Some(restored.warnings),
            Ok(_) => return Err(defect()),
            // It is there, and a version of it is wanted.
            Err(fault) if fault.code == FaultCode::AlreadyActive && self.version.is_some() => None,
            Err(fault) => return Err(fault),
        };
        let Reply::Page(now) = desk.ask(Request::Get(Get { page: page.clone(), version: None }))?
        else {
            return Err(defect());
        };
        match (self.version, warnings) {
            (Some(version), warnings) if version != now.version => {
                written(desk, Request::Revert(Revert { page, version })).map_err(|mut fault| {
                    if warnings.is_some() {
                        fault.message.push_str(
                            "; the page itself is restored, as it was when it was deleted",
                        );
                    }
                    fault
                })
            }
            (_, Some(warnings)) => Ok(Done::stays(desk, now, "restored")?.warning(warnings)),
            (_, None) => Done::stays(desk, now, UNCHANGED),
        }
    }
}
