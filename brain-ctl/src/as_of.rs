//! The option `--as-of`: asks about an earlier state of the brain.

use brain_protocol::{AsOf, Fault, Operation, PastRequest, PastState};
use clap::Args;

use crate::{
    context::Context,
    output::{Outcome, count, json_line},
    when::{TimePeriod, format_with_offset},
};

/// The option `--as-of`; the same for every command that has it.
#[derive(Debug, Args)]
pub(crate) struct AsOfOption {
    /// Answer from what brain had recorded then, whatever pages say of their own dates; a day
    /// counts in full: yesterday, 2026-03-15, "2026-03-15 10:30"
    #[arg(long, value_name = "WHEN", value_parser = TimePeriod::parse)]
    as_of: Option<TimePeriod>,
}

/// What a reply is about: the past, or the present.
pub(crate) struct Label(Option<PastState>);

impl AsOfOption {
    /// Sends a request about the time of the option; without it, about the present.
    ///
    /// # Errors
    /// As [`Context::call`].
    pub(crate) fn call<O>(&self, context: &Context, request: O) -> Result<(O::Reply, Label), Fault>
    where
        O: Operation,
        PastRequest: From<O>,
    {
        let Some(period) = &self.as_of else {
            return Ok((context.call(request)?, Label(None)));
        };
        let reply = context.call(AsOf { at: period.end(), request: PastRequest::from(request) })?;
        Ok((O::read_reply(*reply.reply)?, Label(Some(reply.past))))
    }

    /// Returns whether the request is about the past.
    pub(crate) fn is_set(&self) -> bool {
        self.as_of.is_some()
    }
}

impl Label {
    /// Adds to an outcome what it is about: notes, or with `json` the field `as_of`.
    ///
    /// # Errors
    /// `internal` if the field cannot be converted to JSON.
    pub(crate) fn add_to(self, mut outcome: Outcome, json: bool) -> Result<Outcome, Fault> {
        let Some(mut past) = self.0 else { return Ok(outcome) };
        past.at = format_with_offset(&past.at);
        if !json {
            outcome.notes.extend(notes(&past));
            return Ok(outcome);
        }
        let value = String::from_utf8_lossy(&json_line(&past)?).trim_end().to_owned();
        // Every reply is an object with fields.
        if outcome.out.first() == Some(&b'{') {
            outcome.out.splice(1..1, format!("\"as_of\":{value},").into_bytes());
        }
        Ok(outcome)
    }
}

fn notes(past: &PastState) -> Vec<String> {
    let mut notes = vec![format!("as of {}: what brain had recorded then", past.at)];
    notes.extend(past.then_called.as_ref().map(|name| format!("then called {name}")));
    notes.extend(past.now_called.as_ref().map(|name| format!("now called {name}")));
    if past.purged_since > 0 {
        let pages = count(past.purged_since, "page");
        notes.push(format!("{pages} purged since then: nothing says whether they were there"));
    }
    if past.not_kept > 0 {
        let pages = count(past.not_kept, "page");
        notes.push(format!("{pages} left out: their texts of that time are not kept any more"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_about_the_past_says_so() -> Result<(), Fault> {
        let past = PastState {
            at: "2026-11-21T10:30:00.000Z".into(),
            purged_since: 1,
            not_kept: 2,
            ..PastState::default()
        };
        let outcome = |text: &str| Outcome::text(text);
        let text = Label(Some(past.clone())).add_to(outcome("page\n"), false)?;
        assert_eq!(text.out, b"page\n");
        assert_eq!(
            text.notes,
            [
                "as of 2026-11-21T10:30:00.000+00:00: what brain had recorded then",
                "1 page purged since then: nothing says whether they were there",
                "2 pages left out: their texts of that time are not kept any more",
            ]
        );
        let json = Label(Some(past)).add_to(outcome("{\"pages\":[]}\n"), true)?;
        let json = String::from_utf8_lossy(&json.out).into_owned();
        assert_eq!(
            json,
            "{\"as_of\":{\"at\":\"2026-11-21T10:30:00.000+00:00\",\"purged_since\":1,\
             \"not_kept\":2},\"pages\":[]}\n"
        );
        let present = Label(None).add_to(outcome("{}\n"), true)?;
        assert_eq!((present.out, present.notes), (b"{}\n".to_vec(), Vec::new()));
        Ok(())
    }
}
