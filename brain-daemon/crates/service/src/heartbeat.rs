//! Heartbeats of integrations: JSON lines in `integrations/<id>/heartbeat.jsonl` of the home.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use brain_base::clock::rfc3339;
use brain_base::disk::{self, DataFault};
use brain_base::json_lines;

/// The heartbeat file of one integration.
#[derive(Debug, Clone)]
pub struct Heartbeat {
    path: PathBuf,
    version: &'static str,
}

impl Heartbeat {
    /// Uses the file of integration `id` in the home.
    #[must_use]
    pub fn new(home: &Path, id: &str, version: &'static str) -> Self {
        Self { path: home.join("integrations").join(id).join("heartbeat.jsonl"), version }
    }

    /// Appends a line: `ts` (`now` in whole seconds as RFC 3339), `event`, `source_version`,
    /// `status`, `details`. `now` is Unix milliseconds.
    ///
    /// # Errors
    /// The I/O error with its path if the line cannot be written.
    pub fn beat(
        &self,
        now: i64,
        event: &str,
        status: &str,
        details: &Value,
    ) -> Result<(), DataFault> {
        if let Some(dir) = self.path.parent() {
            disk::make_dir(dir)?;
        }
        let whole_second = rfc3339(now.div_euclid(1000) * 1000).replace(".000Z", "Z");
        let line = json!({
            "ts": whole_second,
            "event": event,
            "source_version": self.version,
            "status": status,
            "details": details,
        });
        let _write_lock = disk::lock_writes();
        json_lines::append(&self.path, false, |_| format!("{line}\n"))
            .map_err(disk::fault(&self.path))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_beat_is_a_line_of_json_with_its_second() {
        let home = tempfile::tempdir().unwrap();
        let heartbeat = Heartbeat::new(home.path(), "collector", "0.8.1");
        heartbeat
            .beat(
                1_795_257_045_999,
                "setup_complete",
                "ok",
                &json!({"user_id": "9007199254740993"}),
            )
            .unwrap();
        heartbeat.beat(1_795_257_046_000, "collect", "ok", &json!({"note": "two\nlines"})).unwrap();
        let text =
            std::fs::read_to_string(home.path().join("integrations/collector/heartbeat.jsonl"))
                .unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            lines[0],
            json!({"ts": "2026-11-21T10:30:45Z", "event": "setup_complete",
                "source_version": "0.8.1", "status": "ok",
                "details": {"user_id": "9007199254740993"}})
        );
        assert_eq!((lines.len(), &lines[1]["ts"]), (2, &json!("2026-11-21T10:30:46Z")));
    }
}
