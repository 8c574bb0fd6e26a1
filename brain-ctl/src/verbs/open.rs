//! `brain open`: shows the brain or a page in a browser on this machine, or signs all browsers out.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use brain_protocol::{BrowserOpen, BrowserOpenReply, Fault, PageRef};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    home::Home,
    output::{Outcome, Show, Text, count},
};

/// The program that opens a file in the user's browser, if `BROWSER` names none.
const OPENER: &str = "xdg-open";
/// Time to wait for a failure of the opening program.
const FAILURE_WAIT: Duration = Duration::from_secs(2);
/// Maximum age of a redirect file. The address in an older file has expired.
const MAX_FILE_AGE: Duration = Duration::from_secs(60);

/// Arguments of `open`.
#[derive(Debug, Args)]
pub(crate) struct OpenCommand {
    /// The page to show [default: the search]
    #[arg(value_name = "SLUG")]
    slug: Option<String>,

    /// Print the address instead of opening it
    #[arg(long)]
    print: bool,

    /// Sign all browsers out instead
    #[arg(long, conflicts_with_all = ["slug", "print"])]
    sign_out: bool,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE", requires = "slug")]
    source: Option<String>,
}

impl Verb for OpenCommand {
    const NAME: &'static str = "open";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Open the brain, or a page, in the browser";
    const EXAMPLES: &'static str = "Examples:
  brain open people/ada
  brain open --print";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let source = self.source.as_deref();
        let page: Option<PageRef> = self.slug.map(|slug| page(&slug, source)).transpose()?;
        let reply = context.call(BrowserOpen { page, sign_out: self.sign_out })?;
        let Some(url) = reply.url.as_ref().filter(|_| !self.print && !context.json) else {
            return context.show(&reply);
        };
        match open(url.expose()) {
            Ok(()) => Ok(Outcome {
                notes: vec!["opened in your browser".to_owned()],
                ..Outcome::default()
            }),
            Err(problem) => {
                let mut outcome = context.show(&reply)?;
                outcome.warnings.push(format!("no browser was opened: {problem}"));
                Ok(outcome)
            }
        }
    }
}

impl Show for BrowserOpenReply {
    fn text(&self, t: &mut Text) {
        match &self.url {
            Some(url) => t.line(url.expose()),
            None => t.line(&format!("{} signed out", count(u64::from(self.signed_out), "browser"))),
        }
    }

    fn quiet(&self, t: &mut Text) {
        if let Some(url) = &self.url {
            t.line(url.expose());
        }
    }

    fn notes(&self) -> Vec<String> {
        let note = || format!("valid once, for {} seconds", self.valid_seconds);
        self.url.as_ref().map(|_| note()).into_iter().collect()
    }
}

/// Opens an address in the user's browser.
///
/// Other users can read the arguments of a process, so the address goes through a private file.
///
/// # Errors
/// Returns the reason if the file cannot be written, or if the browser cannot be started or fails
/// within [`FAILURE_WAIT`].
fn open(url: &str) -> Result<(), String> {
    let program = env::var_os("BROWSER").filter(|program| !program.is_empty());
    let program = program.unwrap_or_else(|| OPENER.into());
    let dir = Home::find().map_err(|fault| fault.message)?.run_dir();
    remove_expired(&dir);
    let path = dir.join(format!("open-{}.html", std::process::id()));
    write_redirect(&path, url).map_err(|error| fail::file("write", &path, &error).message)?;
    let name = Path::new(&program).display().to_string();
    let mut child = Command::new(&program)
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{name}: {}", fail::reason(&error)))?;
    let started_at = Instant::now();
    while started_at.elapsed() < FAILURE_WAIT {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => return Err(format!("{name} failed")),
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("{name}: {}", fail::reason(&error))),
        }
    }
    // A program that still runs is the browser itself.
    Ok(())
}

/// Writes an HTML file that redirects to `url`. Only this user can read the file.
fn write_redirect(path: &Path, url: &str) -> std::io::Result<()> {
    let html = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\"><title>brain</title>\
         <a href=\"{url}\">Open your brain</a>\n"
    );
    let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(html.as_bytes())
}

/// Removes expired redirect files of former calls, and one with the name that this call will use.
fn remove_expired(dir: &Path) {
    let is_redirect = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.starts_with("open-") && name.ends_with(".html"))
    };
    let own = format!("open-{}.html", std::process::id());
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in files.filter(is_redirect) {
        let modified = fs::symlink_metadata(&path).and_then(|meta| meta.modified());
        let age = modified.ok().and_then(|at| at.elapsed().ok());
        if path.ends_with(&own) || age.is_none_or(|age| age > MAX_FILE_AGE) {
            let _ = fs::remove_file(&path);
        }
    }
}
