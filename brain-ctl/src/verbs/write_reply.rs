//! Prints the reply of commands that write one page, for example `capture`, `put` and `append`.

use brain_protocol::{WriteReply, WriteStatus};

use crate::output::{Show, Text, clean, page_name};

impl Show for WriteReply {
    fn text(&self, t: &mut Text) {
        let status = match self.status {
            WriteStatus::Created => t.paint.green("created"),
            WriteStatus::Updated => t.paint.green("updated"),
            WriteStatus::Unchanged => t.paint.dim("unchanged"),
            WriteStatus::Restored => t.paint.green("restored"),
            WriteStatus::Queued => t.paint.yellow("queued"),
        };
        // The slug is never cut, because users copy it.
        let page = page_name(&self.source_id, &self.slug);
        let line = format!("{status} {}", t.paint.cyan(&page));
        t.raw_line(&line);
        if self.written {
            let path = format!("  {}", t.paint.dim(&clean(&self.path)));
            t.raw_line(&path);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.raw_line(&page_name(&self.source_id, &self.slug));
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
