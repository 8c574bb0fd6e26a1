//! Parses and edits the text of a page. Pure functions, without I/O.
//!
//! The crate covers frontmatter and body, content hash, title, chunks, sections, links, timeline,
//! and the escaping of untrusted text. It must not know files, the store, the clock, the index,
//! existing sources or the caller. Callers resolve what depends on other pages, such as link
//! targets.
//!
//! All functions are total: untrusted text gives a value or an error, never a panic, in time linear
//! in its length. Comparisons of two texts take longer, up to a limit. The usual order is
//! [`decode_text`], [`Document::parse`], then [`content_hash`], [`title_of`], [`chunks`],
//! [`links`], [`body_tags`] and [`timeline`] on the body.
//!
//! Five operations have an error type each: decoding bytes, parsing frontmatter, parsing payloads,
//! editing a text, and adding to the timeline. The failures differ, and callers match all variants.

mod attachment;
mod changed_lines;
mod chunk;
mod content;
mod converted_line;
mod date_keys;
mod dates_in_text;
mod diff;
mod document;
mod document_type;
mod edit;
mod embedded_files;
mod fence;
mod fields;
mod file;
mod file_slug;
mod foreign_file;
mod frontmatter;
mod grapheme;
mod link_spans;
mod links;
mod markdown;
mod marked_text;
mod merge;
mod month_names;
mod note;
mod note_dates;
mod page_dates;
mod page_title;
mod page_url;
mod parts;
mod payload;
mod plain;
mod program_copy;
mod prose;
mod quote;
mod retarget;
mod secrets;
mod section;
mod sentence;
mod shared_text;
mod tags;
mod timeline;
mod timeline_edit;
mod title;
mod todo;
mod toml;
mod top_heading;
mod unlink;
mod untrusted_text;
mod windows;
mod yaml;

pub use attachment::{
    ATTACHMENTS, attachment_media_type, attachment_name, is_picture, listed_name, lists_attachment,
    names_attachment,
};
pub use changed_lines::{ChangedLines, changed_lines};
pub use chunk::chunks;
pub use content::{NotTextError, NotTextReason, content_digest, content_hash, decode_text, hex};
pub use converted_line::ConvertedLine;
pub use diff::{UnifiedDiff, unified_diff};
pub use document::{Document, file_text};
pub use document_type::DocumentType;
pub use edit::{
    EditError, append, excerpt, prepend, replace_section, replace_text, set_frontmatter,
};
pub use embedded_files::embedded_files;
pub use fields::{Field, fields};
pub use file::{earlier_file_hash, file_hash, file_path, is_markdown};
pub use file_slug::{NewSlugs, assign_slugs, distinct_slug, plain_slug};
pub use foreign_file::{ForeignFormat, is_html};
pub use frontmatter::{Frontmatter, FrontmatterError, MAX_FRONTMATTER, normalize_tag};
pub use link_spans::{
    LinkSpan, heading_anchors, heading_of_anchor, link_spans, renamed_anchor, retarget_anchors,
    written_link,
};
pub use links::{
    LINK_KEYS, LinkTarget, MAX_LINKS, MENTIONS, PageLink, file_name_key, for_each_link,
    is_attachment, is_link_key, links, normalize_name, percent_decode,
};
pub use markdown::for_each_event;
pub use marked_text::{lines_above_body, split_marked};
pub use merge::merge;
pub use month_names::month_named;
pub use note::add_note;
pub use note_dates::{FileCommits, FormerDates, NoteDates};
pub use page_dates::{line_with_date, mentioned_dates, page_dates, page_months};
pub use page_title::{file_title, is_first_sentence, title_of};
pub use page_url::page_url;
pub use parts::{LongText, PartText};
pub use payload::{
    MediaType, Payload, PayloadError, RECEIVED, count_words, is_entity, is_hidden_html, payload,
    raised_text,
};
pub use program_copy::{CopyProgram, ProgramCopy, program_copy};
pub use prose::code_blocks;
pub use quote::{Quote, normalize_quoted, sentences};
pub use retarget::{MovedFile, NewTarget, RewrittenDocument, retarget_links};
pub use secrets::{ScrubbedText, scrub};
pub use section::{Heading, SectionError, first_section, headings, section};
pub use sentence::{LinkContext, each_link, plain_sentence};
pub use shared_text::{Body, BodyFacts, FrontmatterText, SharedText};
pub use tags::{body_tags, page_tags, rename_tag, tag_ranges};
pub use timeline::{TimelineEntry, timeline};
pub use timeline_edit::{TimelineError, add_timeline_entry};
pub use title::{MAX_TITLE, derive_title};
pub use todo::{Todo, todos};
pub use top_heading::top_heading;
pub use unlink::unlink;
pub use untrusted_text::{escape_inline, escape_paragraph, single_line};
pub use windows::{WINDOW_RULE_VERSION, Window, windows};
