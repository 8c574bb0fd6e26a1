//! The skill for agents, as a resource: `skill://brain/SKILL.md` (the MCP skills extension,
//! SEP-2640).

use brain_page::Document;
use brain_protocol::SKILL;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetSkillResult, ListSkillsResult, ReadResourceResult, ResourceContents, Skill,
    SkillFrontmatter, SkillResource, SkillResources,
};

use super::{LIST_TTL_MS, MAX_QUOTED, answer::shorten};

pub(super) const URI: &str = "skill://brain/SKILL.md";

pub(super) fn list() -> ListSkillsResult {
    let mut result = ListSkillsResult::with_all_items(vec![skill()]);
    (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Public));
    result
}

/// Returns the skill with this URI.
///
/// # Errors
/// -32602 for another URI.
pub(super) fn get(uri: &str) -> Result<GetSkillResult, ErrorData> {
    if uri == URI {
        return Ok(GetSkillResult::new(skill()));
    }
    let uri = shorten(uri, MAX_QUOTED);
    let message = format!("there is no skill \"{}\"; the skill is {URI}", uri.escape_debug());
    Err(ErrorData::invalid_params(message, None))
}

/// Returns the text of the skill.
pub(super) fn read() -> ReadResourceResult {
    let contents = ResourceContents::text(SKILL, URI).with_mime_type("text/markdown");
    let mut result = ReadResourceResult::new(vec![contents]);
    (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Public));
    result
}

fn skill() -> Skill {
    let frontmatter = Document::parse(SKILL).ok().map(|it| it.frontmatter);
    let text = |key: &str| frontmatter.as_ref().and_then(|it| it.get(key)).unwrap_or_default();
    let files = vec![SkillResource::from_bytes(URI, SKILL.as_bytes())];
    let frontmatter = SkillFrontmatter::new(text("name"), text("description"));
    Skill::new(URI, frontmatter, SkillResources::Files(files))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_skill_is_valid() {
        let skill = skill();
        skill.validate().unwrap();
        assert_eq!(skill.name(), "brain");
        // Hosts show at most 1024 characters of a description.
        assert!((40..=1024).contains(&skill.frontmatter.description.len()), "{skill:?}");
    }

    #[test]
    fn the_skill_names_existing_tools() {
        for (n, word) in SKILL.split('`').enumerate() {
            let is_tool = n % 2 == 1 && word.contains('_') && !word.contains(' ');
            let arguments = ["expected_hash", "next_start_line", "max_chars", "set_frontmatter"];
            if is_tool && !arguments.contains(&word) {
                assert!(crate::tools::tool_operation(word).is_some(), "{word}");
            }
        }
    }
}
