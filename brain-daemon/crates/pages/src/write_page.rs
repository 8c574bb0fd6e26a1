//! Turns text into a page. All ways in share this code, so the same text gives the same page.

use brain_protocol::{
    Command, Fault, FaultCode, MAX_CONTENT, Origin, Precondition, Slug, SourceId, hint,
};

use crate::provenance::{IngestRoute, MAX_URI, MCP, WEBHOOK, is_uri, write_provenance};
use brain_base::caller::Caller;
use brain_base::clock::zone;
use brain_page::{
    self as page, Document, Frontmatter, FrontmatterError, LinkTarget, MAX_FRONTMATTER,
    NotTextReason, NoteDates,
};
use brain_store::{
    Author, Content, DerivedRows, FilePlan, Hash, LineChange, LinkRecord, NewPage, PageRecord,
    Provenance, StoreError, Transaction,
};

/// The type of a page whose frontmatter has none.
pub(crate) const DEFAULT_TYPE: &str = "note";

/// Maximum number of slugs that are tried: a hash has eight groups of eight hex digits.
const SLUG_TRIES: usize = 8;

/// Returns the `source_uri` of content that `caller` sent.
pub(crate) fn origin_uri(origin: &Origin, caller: &Caller) -> String {
    match origin {
        Origin::Agent(Some(uri)) => uri.clone(),
        Origin::Agent(None) => format!("mcp:{}", caller.name),
        Origin::Http => format!("webhook:{}", caller.name),
        Origin::Argument => "cli:argument".into(),
        Origin::Stdin => "cli:stdin".into(),
        Origin::Editor => "cli:editor".into(),
        Origin::Browser => "cli:browser".into(),
        Origin::File(path) => format!("file://{path}"),
    }
}

/// Refuses an agent's `source_uri` that is not one line of 1 to [`MAX_URI`] bytes.
///
/// # Errors
/// [`FaultCode::InvalidRequest`] when it is refused.
pub(crate) fn check_origin(origin: &Origin) -> Result<(), Fault> {
    let Origin::Agent(Some(uri)) = origin else { return Ok(()) };
    if is_uri(uri) {
        return Ok(());
    }
    Err(Fault::new(
        FaultCode::InvalidRequest,
        format!("source_uri is not one line of 1 to {MAX_URI} bytes"),
    )
    .hint("give the address where the content is from, or omit it"))
}

/// Returns the route of content with this origin. `command_line` is the route of everything that
/// is neither from an AI client nor from a program.
pub(crate) fn origin_route(
    origin: &Origin,
    command_line: &'static IngestRoute,
) -> &'static IngestRoute {
    match origin {
        Origin::Agent(_) => &MCP,
        Origin::Http => &WEBHOOK,
        Origin::Argument | Origin::Stdin | Origin::File(_) | Origin::Editor | Origin::Browser => {
            command_line
        }
    }
}

/// Refuses a write if the precondition does not hold for the active page.
///
/// # Errors
/// [`FaultCode::Conflict`] when the precondition does not hold, with hash and version of the page
/// if there is one.
pub(crate) fn check_expected(
    expect: Option<&Precondition>,
    slug: &Slug,
    page: Option<&PageRecord>,
) -> Result<(), Fault> {
    let (Some(expect), page) = (expect, page.filter(|page| page.deleted_at.is_none())) else {
        return Ok(());
    };
    let holds = match (expect, page) {
        (Precondition::Absent, page) => page.is_none(),
        (Precondition::Hash(hash), Some(page)) => page::hex(&page.content_hash) == *hash,
        (Precondition::Version(version), Some(page)) => page.version == *version,
        (Precondition::Hash(_) | Precondition::Version(_), None) => false,
    };
    if holds {
        return Ok(());
    }
    let message = match page {
        Some(page) => format!(
            "{} it is at version {}, with the content_hash {}; nothing was written",
            match expect {
                Precondition::Absent => format!("there is a page \"{slug}\" already:"),
                Precondition::Hash(_) | Precondition::Version(_) =>
                    format!("\"{slug}\" is not as expected:"),
            },
            page.version,
            page::hex(&page.content_hash)
        ),
        None => format!("there is no page \"{slug}\"; nothing was written"),
    };
    Err(Fault::new(FaultCode::Conflict, message)
        .hint("read the page again, and repeat the write with its current hash or version"))
}

/// Returns what messages call the input.
pub(crate) fn origin_label(origin: &Origin) -> String {
    match origin {
        Origin::Argument => "the argument".into(),
        Origin::Stdin => "standard input".into(),
        Origin::File(path) => path.clone(),
        Origin::Agent(_) | Origin::Http => "the content".into(),
        Origin::Editor | Origin::Browser => "the text".into(),
    }
}

/// Parses the bytes of a document.
///
/// # Errors
/// [`FaultCode::TooLarge`] when there are more than [`MAX_CONTENT`] bytes,
/// [`FaultCode::BinaryContent`] when they are not UTF-8 text, and
/// [`FaultCode::InvalidFrontmatter`], with line and column, when the frontmatter is malformed.
pub fn read_document(bytes: &[u8], label: &str) -> Result<Document, Fault> {
    if bytes.len() > MAX_CONTENT {
        return Err(too_large(bytes, label));
    }
    let text = page::decode_text(bytes).map_err(|e| {
        Fault::new(FaultCode::BinaryContent, format!("{label} is not text: {e}"))
            .hint(encoding_advice(bytes))
    })?;
    Document::parse(text).map_err(|e| frontmatter_fault(label, &e))
}

/// Returns how bytes that are not UTF-8 text can become it.
pub(crate) fn encoding_advice(bytes: &[u8]) -> &'static str {
    let is_utf8_up_to_nul = page::decode_text(bytes).is_err_and(|e| e.reason == NotTextReason::Nul);
    match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            "brain keeps UTF-8 text; convert it first, for example: iconv -f utf16 -t utf8 OLD > NEW"
        }
        _ if is_utf8_up_to_nul => "brain keeps UTF-8 text; convert the file first",
        _ => {
            "brain keeps UTF-8 text; convert it first, for example: iconv -f latin1 -t utf8 OLD > NEW"
        }
    }
}

/// Returns the fault about more than [`MAX_CONTENT`] bytes.
pub(crate) fn too_large(bytes: &[u8], label: &str) -> Fault {
    let message =
        format!("{label} has {} bytes, more than the limit of {MAX_CONTENT}", bytes.len());
    Fault::new(FaultCode::TooLarge, message).hint("split it into several pages")
}

/// Returns the fault about malformed frontmatter.
pub fn frontmatter_fault(label: &str, error: &FrontmatterError) -> Fault {
    Fault::new(FaultCode::InvalidFrontmatter, format!("{label}: {error}; nothing was stored")).hint(
        "correct the lines between `---` (YAML) or `+++` (TOML); or remove the first `---` or \
            `+++` to keep these lines as text",
    )
}

/// Builds a page whose file brain writes. Its provenance goes into its frontmatter. `previous` is
/// the provenance of the page that it replaces; `author` changes its lines.
///
/// # Errors
/// The same as for [`read_page`], and [`FaultCode::InvalidFrontmatter`] if the page has no
/// frontmatter and its body begins with malformed TOML.
pub fn build_new_page(
    slug: &Slug,
    mut document: Document,
    provenance: Provenance,
    previous: Option<&Provenance>,
    (author, line_change): (impl Into<Option<Author>>, LineChange),
) -> Result<NewPage, Fault> {
    write_provenance(&mut document.frontmatter, &provenance, previous);
    // Earlier versions stored malformed TOML as text. Its file would now begin with an empty YAML
    // block.
    if document.frontmatter.is_empty() && document.body.starts_with("+++") {
        Document::parse(&document.body).map_err(|e| frontmatter_fault(slug.as_str(), &e))?;
    }
    let page = new_page(slug, document, provenance, FilePlan::Write)?;
    Ok(NewPage { author: author.into(), line_change, ..page })
}

/// Builds a page that is read from its author's file at `path`. The file is not changed.
///
/// # Errors
/// [`FaultCode::TooLarge`] if the frontmatter is too long.
pub fn read_page(
    slug: &Slug,
    document: Document,
    provenance: Provenance,
    path: &str,
) -> Result<NewPage, Fault> {
    new_page(slug, document, provenance, FilePlan::Keep(path.to_owned()))
}

/// Derives the fields of a page from its text and slug.
///
/// # Errors
/// [`FaultCode::TooLarge`] if the frontmatter is too long.
fn new_page(
    slug: &Slug,
    document: Document,
    provenance: Provenance,
    file: FilePlan,
) -> Result<NewPage, Fault> {
    let Document { frontmatter, body } = &document;
    if frontmatter.raw().len() > MAX_FRONTMATTER {
        let message = format!(
            "{} bytes of frontmatter, more than {MAX_FRONTMATTER}",
            frontmatter.raw().len()
        );
        return Err(Fault::new(FaultCode::TooLarge, message)
            .hint("shorten the title, the tags or other values in it"));
    }
    let aliases = frontmatter.aliases();
    let (names, links) = names_and_links(slug, &aliases, frontmatter, body);
    let tags = page::page_tags(frontmatter, body);
    Ok(NewPage {
        page_type: type_of(frontmatter),
        title: page::title_of(slug, frontmatter, body),
        dates: NoteDates::stated(slug, frontmatter, &zone()),
        aliases,
        content_hash: body.digest(),
        chunks: page::chunks(body).len() as u32,
        derived: DerivedRows { links, names, tags, timeline: body.timeline().to_vec() },
        provenance,
        // Callers set these if they know the author, or that all lines have one author.
        author: None,
        line_change: LineChange::SameMarks,
        is_capture: false,
        file,
        replaces: None,
        content: document.into(),
    })
}

/// Returns the names and the links of a page. Both depend on its slug.
pub fn names_and_links(
    slug: &Slug,
    aliases: &[String],
    frontmatter: &Frontmatter,
    body: &str,
) -> (Vec<String>, Vec<LinkRecord>) {
    let mut names = vec![page::normalize_name(slug.name())];
    names.extend(aliases.iter().map(|alias| page::normalize_name(alias)));
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !name.is_empty());
    let mut links = Vec::new();
    page::for_each_link(slug, body, frontmatter, |link| links.push(link_record(link)));
    (names, links)
}

pub(crate) fn link_record(link: page::PageLink) -> LinkRecord {
    let (source, slugs, name) = match link.target {
        LinkTarget::Slug { source, slug, alternative } => {
            // `[[a:b]]` may also be a name with a colon in it.
            let name = match &source {
                Some(_) => Some(page::normalize_name(&link.raw)),
                // `[text](name.md)` may mean a file in another folder, as `[[name]]` does.
                None if !link.raw.contains('/') => Some(page::normalize_name(slug.as_str())),
                None => None,
            };
            let name = name.filter(|name| !name.is_empty());
            let slugs = std::iter::once(slug).chain(alternative).map(String::from).collect();
            (source.map(String::from), slugs, name)
        }
        LinkTarget::Name(name) => {
            // A page at the root with this slug comes before all other pages of this name.
            let path = link.raw.split(['#', '|']).next().unwrap_or_default();
            let slugs =
                Slug::from_path(path).ok().map(String::from).filter(|slug| !slug.contains('/'));
            (None, slugs.into_iter().collect(), Some(name))
        }
    };
    LinkRecord { source, slugs, name, kind: link.kind, raw: link.raw }
}

/// Returns the type in the frontmatter, in lower case, or [`DEFAULT_TYPE`] if there is none.
pub(crate) fn type_of(frontmatter: &Frontmatter) -> String {
    frontmatter
        .page_type()
        .map(|t| t.trim().to_lowercase())
        .filter(|t| !t.is_empty())
        .unwrap_or_else(|| DEFAULT_TYPE.into())
}

/// Sets type and title in the frontmatter of a document.
///
/// A requested type or title is always set. Otherwise a missing type becomes `DEFAULT_TYPE`. A
/// missing title becomes the heading at the top of the body; without a heading, the name of the
/// file at `file`; and without a file or if the heading is too long, the first usable line.
pub fn set_type_and_title(
    document: &mut Document,
    page_type: Option<&str>,
    title: Option<&str>,
    file: Option<&str>,
) {
    let Document { frontmatter, body } = document;
    let page_type = page_type.or_else(|| frontmatter.page_type().is_none().then_some(DEFAULT_TYPE));
    let from_file;
    let title = match title {
        Some(title) => Some(title.trim()),
        None if frontmatter.title().is_some() => None,
        None => Some(match (body.top_heading(), file) {
            (Some(heading), _) if heading.chars().count() <= page::MAX_TITLE => heading,
            (None, Some(file)) => {
                from_file = page::file_title(file, None);
                &from_file
            }
            (_, _) => body.derived_title(),
        }),
    };
    let page_type = page_type.map(|page_type| ("type", page_type));
    let keys: Vec<_> = page_type.into_iter().chain(title.map(|title| ("title", title))).collect();
    frontmatter.set_all(&keys);
}

/// The values that decide the slug of a new text.
pub struct SlugRequest<'a> {
    /// The source of the page.
    pub source: &'a SourceId,
    /// The requested slug.
    pub slug: Option<&'a Slug>,
    /// The page that got the same content within the last 24 hours.
    pub duplicate: Option<&'a Slug>,
    /// The content's hash.
    pub hash: &'a Hash,
    /// The UTC day on which the text arrived.
    pub day: &'a str,
}

/// Returns the slug for a text, and the page at that slug. The slug is the requested one, else that
/// of a page with the same content, else the first free one of the day. Other content is never
/// overwritten unless its slug is requested.
///
/// # Errors
/// [`FaultCode::Conflict`] when other content has all slugs of this content and day, and errors of
/// the store.
pub fn choose_slug(
    transaction: &Transaction<'_>,
    request: &SlugRequest<'_>,
) -> Result<(Slug, Option<PageRecord>), StoreError> {
    let source = request.source;
    if let Some(slug) = request.slug {
        return Ok((slug.clone(), transaction.page(source, slug)?));
    }
    if let Some(slug) = request.duplicate
        && let Some(record) = transaction.page(source, slug)?
        && record.content_hash == *request.hash
    {
        return Ok((slug.clone(), Some(record)));
    }
    for n in 0..SLUG_TRIES {
        let slug = inbox_slug(request.day, request.hash, n)?;
        match transaction.page(source, &slug)? {
            None => return Ok((slug, None)),
            Some(record) if record.content_hash == *request.hash => {
                return Ok((slug, Some(record)));
            }
            Some(_) => {}
        }
    }
    Err(Fault::new(
        FaultCode::Conflict,
        "all slugs for this content on this day are taken by other content",
    )
    .hint("give it a slug: `--slug inbox/<name>`")
    .into())
}

/// Parses a stored page. Its text was parsed before it was stored, so a failure means damage.
pub fn stored_document(content: &Content) -> Result<Document, Fault> {
    let frontmatter = content.frontmatter.parsed().map_err(|e| {
        Fault::new(
            FaultCode::StoreDamaged,
            format!("the stored frontmatter of this page cannot be read: {e}"),
        )
        .hint(hint!("{} has its former versions", Command::History { page: None }))
    })?;
    Ok(Document { frontmatter: frontmatter.clone(), body: content.body.clone() })
}

/// Returns when the text of a page was captured, as its frontmatter says.
pub(crate) fn captured_at(content: &Content) -> Option<String> {
    content.frontmatter.parsed().ok()?.get("captured_at")
}

/// Refuses a page type that is not one lower-case word: a letter, then letters, digits, `-` and
/// `_`, at most 64 ASCII characters.
pub fn check_type(page_type: &str) -> Result<(), Fault> {
    let mut chars = page_type.chars();
    let is_valid = chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && page_type.len() <= 64
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    if is_valid {
        return Ok(());
    }
    Err(Fault::new(
        FaultCode::Usage,
        format!("\"{}\" is not a page type", page_type.escape_debug()),
    )
    .hint("use one lower-case word, for example note, idea or observation"))
}

/// Returns the tags as they are stored: trimmed, without `#`, lower case, each once.
pub(crate) fn clean_tags(tags: &[String]) -> Result<Vec<String>, Fault> {
    let mut out: Vec<String> = Vec::new();
    for tag in tags {
        let tag = page::normalize_tag(tag);
        if tag.is_empty() {
            return Err(Fault::new(FaultCode::Usage, "a tag is empty")
                .hint("give each tag a name: `--tag work`"));
        }
        if !out.contains(&tag) {
            out.push(tag);
        }
    }
    Ok(out)
}

/// Returns slug number `n` (0 to 7) for captured content: its day, and group number `n` of eight
/// digits of its hash.
pub fn inbox_slug(day: &str, hash: &Hash, n: usize) -> Result<Slug, Fault> {
    let digits = page::hex(hash);
    let part = digits.get(8 * n..8 * n + 8).unwrap_or(&digits);
    Slug::parse(format!("inbox/{day}-{part}"))
        .map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_one_lower_case_word() {
        for good in ["note", "idea", "x", "meeting-note", "v2", "a_b"] {
            assert!(check_type(good).is_ok(), "{good}");
        }
        for bad in ["", "Note", "2d", "-x", "a b", "ü", &"x".repeat(65)] {
            assert!(check_type(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_with_malformed_toml_is_not_written() {
        let Ok(slug) = Slug::parse("post".to_owned()) else { panic!("a slug") };
        let write = |body: &str| {
            let document = Document { frontmatter: Frontmatter::empty(), body: body.into() };
            build_new_page(
                &slug,
                document,
                Provenance::default(),
                None,
                (None, LineChange::SameMarks),
            )
        };
        let fault = write("+++\ntitle = \n+++\n\nHello").map(|_| ()).err();
        assert_eq!(fault.map(|fault| fault.code), Some(FaultCode::InvalidFrontmatter));
        assert!(write("+++\nprose\n+++\n").is_ok() && write("+++ b/file\n").is_ok());
    }

    #[test]
    fn the_nth_slug_has_the_nth_eight_digits_of_the_hash() {
        let hash = brain_page::content_digest("x");
        let digits = page::hex(&hash);
        for n in 0..8 {
            let slug = inbox_slug("2026-11-21", &hash, n).map(String::from);
            assert_eq!(slug.ok(), Some(format!("inbox/2026-11-21-{}", &digits[8 * n..8 * n + 8])));
        }
    }
}
