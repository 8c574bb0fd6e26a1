//! `brain attach` and `brain attachments`: files that belong to pages.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use brain_protocol::{
    AttachReply, Attachment, AttachmentGet, AttachmentList, Attachments, Detach, Fault, FaultCode,
    MAX_ATTACHMENT, PageRef,
};
use clap::Args;
use serde::Serialize;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::{
        Column, Listing, Outcome, Show, Table, TableFormatOption, Text, clean, format_bytes,
        page_name,
    },
};

/// Arguments of `attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Files to keep with the page
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Keep the file under this name [default: its own]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

/// The results for the files of one command.
#[derive(Debug, Serialize)]
struct AttachedFiles {
    files: Vec<AttachReply>,
    warnings: Vec<String>,
}

impl Verb for AttachCommand {
    const NAME: &'static str = "attach";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Keep files with a page";
    const EXAMPLES: &'static str = "Examples:
  brain attach projects/latency measurements.png report.pdf
  brain attach people/ada IMG_0042.jpg --name portrait.jpg";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        if self.name.is_some() && self.files.len() > 1 {
            return Err(fail::usage("--name is for one file")
                .hint("attach the files one by one: brain attach SLUG FILE --name NAME"));
        }
        let mut attached = AttachedFiles { files: Vec::new(), warnings: Vec::new() };
        for file in &self.files {
            let result = self.name_of(file).and_then(|name| {
                let content = read(file)?;
                context.call(brain_protocol::Attach { page: page.clone(), name, content })
            });
            match result {
                Ok(reply) => {
                    attached.warnings.extend(reply.warnings.iter().cloned());
                    attached.files.push(reply);
                }
                Err(fault) if attached.files.is_empty() => return Err(fault),
                Err(fault) => {
                    let names: Vec<&str> =
                        attached.files.iter().map(|it| it.attachment.name.as_str()).collect();
                    let message =
                        format!("{}; already attached: {}", fault.message, names.join(", "));
                    return Err(Fault { message, ..fault });
                }
            }
        }
        context.show(&attached)
    }
}

impl AttachCommand {
    /// Returns the name of the attachment: `--name`, or the name of the file.
    ///
    /// # Errors
    /// `usage` if the file's name is not UTF-8.
    fn name_of(&self, file: &Path) -> Result<String, Fault> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let name = file.file_name().and_then(|name| name.to_str());
        name.map(str::to_owned).ok_or_else(|| {
            fail::usage(format!("{} has no file name in UTF-8", file.display()))
                .hint("give it one: brain attach SLUG FILE --name NAME")
        })
    }
}

/// Reads a file.
///
/// # Errors
/// `io` if it cannot be read; `usage` if it is not a regular file; `too_large` above
/// [`MAX_ATTACHMENT`] bytes.
fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let unreadable = |e: std::io::Error| fail::file("read", path, &e);
    // Opening a named pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(fail::usage(format!("{} is not a file", path.display()))
            .hint("give the path of a file: brain attach SLUG FILE…"));
    }
    let mut content = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_ATTACHMENT as u64 + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() > MAX_ATTACHMENT {
        let max = MAX_ATTACHMENT / 1_000_000;
        let message = format!("{} is larger than {max} MB", path.display());
        return Err(Fault::new(FaultCode::TooLarge, message)
            .hint("keep it elsewhere, and link to it from the page"));
    }
    Ok(content)
}

impl Show for AttachedFiles {
    fn text(&self, t: &mut Text) {
        for file in &self.files {
            file.text(t);
        }
    }

    fn quiet(&self, t: &mut Text) {
        for file in &self.files {
            file.quiet(t);
        }
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Show for AttachReply {
    fn text(&self, t: &mut Text) {
        let Attachment { name, bytes: length, .. } = &self.attachment;
        t.line(&format!("{} {name} ({}), {}", self.status, format_bytes(*length), self.slug));
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.attachment.name);
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Arguments of `attachments`.
#[derive(Debug, Args)]
#[command(name = "attachments")]
pub(crate) struct AttachmentsCommand {
    /// Page whose files to list [default: the files of all pages]
    #[arg(value_name = "SLUG")]
    slug: Option<String>,

    /// Remove this file from the page; it can be restored for 72 hours
    #[arg(long, value_name = "NAME", requires = "slug", conflicts_with = "get")]
    remove: Option<String>,

    /// Write this file of the page to FILE
    #[arg(long, value_name = "NAME", requires = "slug")]
    get: Option<String>,

    /// File to write with --get; it must not exist [default: NAME in this directory]
    #[arg(long, value_name = "FILE", requires = "get")]
    to: Option<PathBuf>,

    /// Only the pages of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    #[command(flatten)]
    format: TableFormatOption,
}

impl Verb for AttachmentsCommand {
    const NAME: &'static str = "attachments";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "List, read or remove the files of pages";
    const EXAMPLES: &'static str = "Examples:
  brain attachments projects/latency --remove draft.png
  brain attachments projects/latency --get report.pdf --to ~/report.pdf";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let source = self.source.as_deref();
        let page = self.slug.as_deref().map(|slug| page(slug, source)).transpose()?;
        match (page, self.remove, self.get) {
            (Some(page), Some(name), _) => context.run(Detach { page, name }),
            (Some(page), None, Some(name)) => {
                let path = self.to.unwrap_or_else(|| PathBuf::from(&name));
                save(context, AttachmentGet { page, name }, &path)
            }
            (page, ..) => {
                let source = if page.is_some() { None } else { fail::parse_source(source)? };
                let files = context.call(AttachmentList { page, source })?;
                context.list(&files, &self.format.into())
            }
        }
    }
}

/// A file of a page that was written to a path.
#[derive(Debug, Serialize)]
struct SavedAttachment {
    path: String,
    #[serde(flatten)]
    attachment: Attachment,
}

/// Writes an attachment to `path`, which must not exist.
fn save(context: &Context, request: AttachmentGet, path: &Path) -> Result<Outcome, Fault> {
    let reply = context.call(request)?;
    let write_fault = |e: std::io::Error| match e.kind() {
        ErrorKind::AlreadyExists => {
            let message = format!("{} already exists; nothing was written", path.display());
            Fault::new(FaultCode::Io, message).hint("choose another name: --to FILE")
        }
        _ => fail::file("write", path, &e),
    };
    let mut file = File::options().write(true).create_new(true).open(path).map_err(write_fault)?;
    if let Err(error) = file.write_all(&reply.content) {
        // An incomplete file must not stay.
        let _ = std::fs::remove_file(path);
        return Err(write_fault(error));
    }
    let path = path.display().to_string();
    context.show(&SavedAttachment { path, attachment: reply.attachment })
}

impl Show for SavedAttachment {
    fn text(&self, t: &mut Text) {
        t.line(&format!("wrote {} ({})", clean(&self.path), format_bytes(self.attachment.bytes)));
    }

    fn quiet(&self, t: &mut Text) {
        t.raw_line(&self.path);
    }
}

const COLUMNS: &[Column] = &[
    Column::flexible("NAME", 20),
    Column::fixed("SIZE").align_right(),
    Column::flexible("TYPE", 10),
    Column::flexible("PAGES", 20),
];

/// Returns the names of the pages of a file on one line.
fn page_list(file: &Attachment) -> String {
    let name = |page: &PageRef| match &page.source {
        Some(source) => page_name(source, &page.slug),
        None => page.slug.to_string(),
    };
    file.pages.iter().map(name).collect::<Vec<_>>().join(", ")
}

impl Listing for Attachments {
    const FIELDS: &'static [&'static str] =
        &["name", "bytes", "media_type", "hash", "attached_at", "pages"];

    fn records(&self) -> Vec<Vec<String>> {
        let record = |file: &Attachment| {
            let Attachment { name, bytes, media_type, hash, attached_at, .. } = file.clone();
            vec![name, bytes.to_string(), media_type, hash, attached_at, page_list(file)]
        };
        self.attachments.iter().map(record).collect()
    }
}

impl Show for Attachments {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for file in &self.attachments {
            table.row([&file.name, &format_bytes(file.bytes), &file.media_type, &page_list(file)]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for file in &self.attachments {
            t.line(&file.name);
        }
    }

    fn notes(&self) -> Vec<String> {
        match self.attachments.is_empty() {
            true => vec!["no files; attach one: brain attach SLUG FILE".into()],
            false => Vec::new(),
        }
    }
}
