//! Checks that the rule of a single key cannot make.

use brain_base::schedule;
use brain_protocol::Fault;

use super::{Config, invalid};

impl Config {
    /// Makes all checks of this module.
    ///
    /// # Errors
    /// `invalid_config` for the first check that fails.
    pub(super) fn check(&self) -> Result<(), Fault> {
        self.check_schedule()?;
        self.check_vision_model()?;
        self.check_callers()?;
        self.check_stream()
    }

    /// Checks that no two tasks start in one minute, and that a minute is left for backups.
    fn check_schedule(&self) -> Result<(), Fault> {
        let jobs = self.planned_tasks();
        if let Some((one, other, minute)) = schedule::find_conflict(&jobs) {
            let (hour, minute) = (minute / 60, minute % 60);
            let message = format!(
                "{one} and {other} would both start at {hour:02}:{minute:02}; \
                 only one job can start in a minute"
            );
            return Err(invalid(message)
                .hint(format!("change one of {one}.at, {one}.every and {other}_at")));
        }
        if schedule::is_full(&jobs) && self.backup.dir.is_some() {
            let message = "collector starts in every minute, so backup could never start";
            return Err(invalid(message.into()).hint("set collector.every to 2m or more"));
        }
        Ok(())
    }

    /// Checks that `collector.images` has a model that reads pictures.
    fn check_vision_model(&self) -> Result<(), Fault> {
        let has_model = self.llm.provider.is_some() && self.llm.vision_model.is_some();
        if has_model || !self.collector.images {
            return Ok(());
        }
        let message = "collector.images needs a model that reads pictures, but none is configured";
        Err(invalid(message.into()).hint(
            "set llm.provider and llm.vision_model, or remove collector.images; \
             see docs/models.md",
        ))
    }

    /// Checks that each caller is a number with a country code, or a name at the provider.
    fn check_callers(&self) -> Result<(), Fault> {
        let is_full = |caller: &String| {
            ["+", "00", "client:", "sip:"].iter().any(|prefix| caller.starts_with(prefix))
        };
        match self.voice.callers.iter().find(|caller| !is_full(caller)) {
            None => Ok(()),
            Some(caller) => {
                Err(invalid(format!("voice.callers: \"{caller}\" is not a full number")).hint(
                    "write it with its country code, such as +4915112345678; \
                     names at the provider begin with client: or sip:",
                ))
            }
        }
    }

    /// Checks that `collector.outbound` has the stream that it needs.
    fn check_stream(&self) -> Result<(), Fault> {
        if !self.collector.outbound || self.collector.stream {
            return Ok(());
        }
        Err(invalid("collector.outbound needs collector.stream, which is off".into())
            .hint("set collector.stream = true, or remove collector.outbound"))
    }
}
