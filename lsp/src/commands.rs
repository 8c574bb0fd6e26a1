//! Commands of the workspace: search by meaning, the daily note, a capture, renaming, origins.

use brain_page::{LinkTarget, written_link};
use brain_protocol::{
    Capture, Fault, FaultCode, Origin, PageRef, Precondition, Put, Search, Slug, Today, Why,
};
use gen_lsp_types::{Position, Range};
use serde_json::{Value, json};

use crate::page_names::stem;
use crate::server::{Answer, Server};
use crate::uri::path_of;

/// Maximum number of hits.
const MAX_HITS: u32 = 30;

impl Server {
    /// Runs a command. Its arguments are one object, or the text itself.
    pub(crate) fn execute(&mut self, params: &Value) -> Answer {
        let command = params.get("command").and_then(Value::as_str).unwrap_or_default().to_owned();
        let arguments = params.pointer("/arguments/0").cloned().unwrap_or_default();
        let field = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        let text = |name: &str| {
            let plain = arguments.as_str().map(str::to_owned);
            field(name).or(plain).filter(|text| !text.trim().is_empty()).ok_or_else(|| {
                Fault::new(FaultCode::Usage, format!("{command} needs the argument \"{name}\""))
            })
        };
        match command.as_str() {
            "brain.search" => self.search(text("query")?),
            "brain.today" => self.today(),
            "brain.capture" => self.capture(text("text")?, field("title")),
            "brain.createPage" => {
                let is_wiki = arguments.get("isWiki").and_then(Value::as_bool).unwrap_or(true);
                self.create_page(&text("uri")?, &text("target")?, is_wiki)
            }
            "brain.rename" => self.rename_path(&text("from")?, &text("to")?),
            "brain.renameBack" => self.rename_back(),
            "brain.why" => {
                let line = arguments.get("line").and_then(Value::as_u64).unwrap_or_default();
                self.why(&text("uri")?, u32::try_from(line).unwrap_or(u32::MAX))
            }
            _ => {
                let message = format!("there is no command \"{command}\"");
                Err(Fault::new(FaultCode::Usage, message))
            }
        }
    }

    /// Returns hits as locations, with their titles and the passages that match.
    fn search(&mut self, query: String) -> Answer {
        let search = Search { query, limit: MAX_HITS, ..Search::default() };
        let hits = self.daemon.run(search)?.hits.into_iter().filter_map(|hit| {
            let path = hit.path?;
            // The line counts from the beginning of the body.
            let (text, outline) = self.read(&path)?;
            let line = text.position(outline.body).line + hit.line.saturating_sub(1);
            let start = Position { line, character: 0 };
            Some(json!({
                "uri": self.uri(&path),
                "range": Range { start, end: start },
                "title": hit.title,
                "snippet": hit.snippet,
            }))
        });
        Ok(Value::Array(hits.collect()))
    }

    fn today(&mut self) -> Answer {
        let day = (self.daemon.today)();
        let written = self.daemon.run(Today { day, source: None })?;
        Ok(self.show_file(&written.path))
    }

    fn capture(&mut self, text: String, title: Option<String>) -> Answer {
        let written = self.daemon.run(Capture {
            content: text.into_bytes(),
            origin: Origin::Argument,
            source: None,
            slug: None,
            page_type: None,
            title,
            tags: Vec::new(),
        })?;
        Ok(json!(self.location(&written.path, None)))
    }

    /// Tells who wrote a line of a document, and when: the line with this text that is nearest in the
    /// stored page.
    fn why(&mut self, uri: &str, line: u32) -> Answer {
        let path = path_of(uri).unwrap_or_default();
        let unknown = |message: &str| Fault::new(FaultCode::NotFound, message.to_owned());
        let (text, _) = self.read(&path).ok_or_else(|| unknown("there is no such document"))?;
        let written = text.as_str()[text.line(line as usize)].to_owned();
        let found = self.resolve(&path, Vec::new(), false)?;
        let page = found.page.filter(|_| found.is_stored);
        let page = page.ok_or_else(|| unknown("the document is not stored as a page yet"))?;
        let reply = self.daemon.run(Why { page, line: Some(written.clone()) })?;
        let same = reply.lines.into_iter().filter(|it| it.text == written);
        let nearest = same.min_by_key(|it| it.line.abs_diff(line.saturating_add(1)));
        let origin = nearest.ok_or_else(|| unknown("the line is not stored yet"))?;
        let by = Some(origin.by.client.as_str()).filter(|by| !by.is_empty()).unwrap_or("unknown");
        let message = format!("{} by {by}, version {}", origin.by.at, origin.version);
        self.show(3, &message);
        Ok(json!(origin))
    }

    /// Creates the page to which a link of a document leads.
    fn create_page(&mut self, uri: &str, target: &str, is_wiki: bool) -> Answer {
        let path = path_of(uri).unwrap_or_default();
        let own = self.resolve(&path, Vec::new(), false)?.page;
        let no_page = || {
            let message = format!("\"{target}\" cannot become a page here");
            Fault::new(FaultCode::Usage, message).hint("link to a path in a source of brain")
        };
        let own = own.ok_or_else(no_page)?;
        let written = target.split('#').next().unwrap_or_default();
        let folder = own.slug.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        let page = match written_link(&own.slug, target, is_wiki).ok_or_else(no_page)?.target {
            // A markdown link means a file beside the document.
            LinkTarget::Slug { source, slug, alternative } => PageRef {
                source: source.or(own.source),
                slug: if is_wiki { slug } else { alternative.unwrap_or(slug) },
            },
            LinkTarget::Name(_) => {
                let slug = Slug::from_path(&format!("{folder}/{written}"));
                PageRef { source: own.source, slug: slug.map_err(|_| no_page())? }
            }
        };
        let title = brain_page::percent_decode(stem(written)).into_owned();
        let put = Put {
            page,
            content: format!("# {title}\n").into_bytes(),
            origin: Origin::Argument,
            allow_empty: false,
            expect: Some(Precondition::Absent),
        };
        let written = self.daemon.run(put)?;
        Ok(self.show_file(&written.path))
    }

    /// Shows a file if the client can, and returns its location.
    fn show_file(&mut self, path: &str) -> Value {
        let location = self.location(path, None);
        if self.support.show_document {
            let params = json!({ "uri": location.uri, "takeFocus": true });
            self.request("window/showDocument", params);
        }
        json!(location)
    }
}
