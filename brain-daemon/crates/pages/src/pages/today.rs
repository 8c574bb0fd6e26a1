//! `today`: creates the daily note.

use brain_protocol::{
    Fault, FaultCode, Origin, PageRef, Precondition, Put, Slug, Today, WriteReply,
};

use crate::pages::PageService;
use crate::pages::capture::PageWrite;
use brain_base::caller::Caller;
use brain_base::clock::{format_day, parse_day};
use brain_store::WrittenPage;

impl PageService {
    /// Creates the daily note of a day. An existing one stays as it is.
    pub fn today(&self, caller: &Caller, request: &Today) -> Result<WriteReply, Fault> {
        let no_day = || {
            Fault::new(FaultCode::Usage, format!("\"{}\" is not a day", request.day.escape_debug()))
                .hint("write it as YYYY-MM-DD")
        };
        let day = parse_day(&request.day).ok_or_else(no_day)?;
        let slug = format_day(day, &self.config.daily).ok_or_else(no_day)?;
        let slug = Slug::parse(slug.to_lowercase()).map_err(|error| {
            Fault::new(FaultCode::InvalidSlug, format!("the slug of the daily note: {error}"))
                .hint("change pages.daily in the configuration, for example to daily/%Y-%m-%d")
        })?;
        let page = PageRef { source: request.source.clone(), slug };
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = crate::sources::resolve(caller, &reader, page.source.as_ref())?;
        if let Some(record) = reader.page(&source, &page.slug)? {
            let write = WrittenPage::unchanged(record);
            let outcome = PageWrite { slug: page.slug, write, captured_at: None };
            drop(reader);
            return Ok(self.write_reply(source, outcome, Vec::new()));
        }
        drop(reader);
        let content = format!("---\ntype: daily\n---\n\n# {}\n", request.day);
        let put = Put {
            page,
            content: content.into_bytes(),
            origin: Origin::Argument,
            allow_empty: false,
            expect: Some(Precondition::Absent),
        };
        self.put(caller, &put)
    }
}
