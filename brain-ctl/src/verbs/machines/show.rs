//! The replies of `brain machines` as text.

use brain_protocol::{
    Exit, MachineRemoveReply, MachineState, Machines, MachinesInitReply, MachinesJoinReply,
    MachinesPlanReply, MachinesRotateKeyReply, MachinesStatusReply, Secret,
};

use crate::output::{Column, Paint, Show, Table, Text, count, format_bytes, format_to_minute, pad};

/// The width of a label and the space after it, in columns of the terminal.
const LABEL: usize = 11;

fn field(t: &mut Text, label: &str, value: &str) {
    let lead = format!("{} ", t.paint.dim(&pad(label, LABEL - 1)));
    t.prose(&lead, LABEL, value);
}

/// Adds the words in rows of four, so that people can copy them by hand.
fn words(t: &mut Text, words: &Secret) {
    let all: Vec<&str> = words.expose().split_whitespace().collect();
    for (row, chunk) in all.chunks(4).enumerate() {
        let cells: Vec<String> = chunk
            .iter()
            .enumerate()
            .map(|(column, word)| format!("{:>2} {}", row * 4 + column + 1, pad(word, 9)))
            .collect();
        t.line(format!("  {}", cells.join(" ")).trim_end());
    }
    t.prose(
        "",
        0,
        "Keep these words on paper or in a password manager: each new machine needs them, and \
         without them nobody can read the server's data. They are not shown again.",
    );
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

impl Show for MachinesPlanReply {
    fn text(&self, t: &mut Text) {
        field(t, "machine", &self.name);
        field(t, "server", &self.server);
        field(t, "TLS", yes_or_no(self.tls));
        field(t, "encrypted", yes_or_no(self.encrypted));
        field(t, "pages here", &self.pages.to_string());
        field(t, "to copy", &format_bytes(self.bytes));
        for (index, step) in self.steps.iter().enumerate() {
            t.prose(&format!("{:>2}. ", index + 1), 4, step);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.plan);
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Show for MachinesInitReply {
    fn text(&self, t: &mut Text) {
        let pages = count(self.pages, "page");
        t.line(&format!("shared: {pages} ({})", format_bytes(self.bytes)));
        field(t, "machine", &self.name);
        field(t, "before", &self.former_store);
        if let Some(key) = &self.words {
            words(t, key);
        }
    }

    fn quiet(&self, t: &mut Text) {
        if let Some(key) = &self.words {
            t.line(key.expose());
        }
    }

    fn notes(&self) -> Vec<String> {
        vec!["on the next machine: brain machines join".into()]
    }
}

impl Show for MachinesJoinReply {
    fn text(&self, t: &mut Text) {
        if !self.needs_restart {
            t.line("the secrets are replaced; the store stayed as it was");
            return;
        }
        t.line(&format!("joined at change {} ({})", self.position, format_bytes(self.bytes)));
        field(t, "machine", &self.name);
        if let Some(store) = &self.former_store {
            field(t, "before", store);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.name);
    }

    fn notes(&self) -> Vec<String> {
        let hint = |dir: &String| format!("to add the former pages: brain import {dir}");
        self.former_pages.iter().map(hint).collect()
    }
}

const COLUMNS: &[Column] = &[
    Column::flexible("MACHINE", 8).with_paint(Paint::cyan),
    Column::fixed("BEHIND").align_right(),
    Column::fixed("SEEN").droppable(2),
    Column::fixed("VERSION").droppable(1),
    Column::flexible("RUNS", 8),
];

impl Show for Machines {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for machine in &self.machines {
            let this = if machine.this { " (this)" } else { "" };
            table.row([
                &format!("{}{this}", machine.name),
                &machine.behind.to_string(),
                &format_to_minute(&machine.seen_at),
                &machine.version,
                &machine.leases.join(" "),
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for machine in &self.machines {
            t.line(&machine.name);
        }
    }
}

impl Show for MachinesStatusReply {
    fn text(&self, t: &mut Text) {
        let state = self.state.as_str().replace('_', " ");
        field(t, "state", &format!("{state}: {}", self.message));
        if let Some(hint) = &self.hint {
            field(t, "", &hint.to_string());
        }
        if let Some(since) = &self.since {
            field(t, "since", &format_to_minute(since));
        }
        let Some(name) = &self.name else { return };
        field(t, "machine", name);
        if let Some(server) = &self.server {
            let tls = if self.tls { "TLS" } else { "no TLS" };
            let delivery = self.delivery.as_deref().unwrap_or("unknown");
            field(t, "server", &format!("{server}, {tls}, {delivery}"));
        }
        field(t, "encrypted", yes_or_no(self.encrypted));
        let age = self.age_seconds.map_or_else(
            || "not compared with the server yet".to_owned(),
            |age| format!("compared with the server {age} s ago"),
        );
        let behind = match self.behind {
            0 => String::new(),
            n => format!(", {n} behind"),
        };
        field(t, "change", &format!("{}{behind}; {age}", self.position));
        if self.queued > 0 {
            field(t, "queued", &format!("{}, not pages yet", self.queued));
        }
        if let Some(at) = &self.snapshot_at {
            let since = count(self.since_snapshot.unwrap_or(0), "later change");
            field(t, "snapshot", &format!("{}, {since}", format_to_minute(at)));
        }
        for lease in &self.leases {
            let holder = match (&lease.holder, lease.this) {
                (_, true) => "this machine",
                (Some(holder), _) => holder,
                (None, _) => "unknown",
            };
            field(t, &lease.name, &format!("runs on {holder}"));
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.state.as_str());
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn exit(&self) -> Exit {
        use MachineState::{Away, NotShared, Ready, Starting};
        match self.state {
            NotShared | Starting | Ready | Away => Exit::Done,
            _ => Exit::Failed,
        }
    }
}

impl Show for MachineRemoveReply {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} {}", self.status, self.name));
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.name);
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Show for MachinesRotateKeyReply {
    fn text(&self, t: &mut Text) {
        t.line("the key is replaced");
        words(t, &self.words);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.words.expose());
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::width;
    use brain_protocol::{LeaseRow, MachineRow};

    fn check_width(value: &impl Show) -> String {
        let mut t = Text::plain(Some(60));
        value.text(&mut t);
        for line in t.as_str().lines() {
            assert!(width(line) <= 60, "{line}");
        }
        t.as_str().to_owned()
    }

    #[test]
    fn the_words_are_numbered_in_60_columns() {
        let key = vec!["abandoned"; 24].join(" ");
        let text =
            check_width(&MachinesRotateKeyReply { words: Secret::new(key), warnings: Vec::new() });
        assert!(text.contains(" 1 abandoned") && text.contains("24 abandoned"), "{text}");
    }

    #[test]
    fn a_list_fits_60_columns() {
        let row = MachineRow {
            name: "a-laptop-with-a-long-name".into(),
            this: true,
            behind: 12,
            seen_at: "2026-11-21T10:30:00.000Z".into(),
            version: "0.1.0.0".into(),
            leases: vec!["collector".into(), "purge".into(), "snapshot".into()],
        };
        let text = check_width(&Machines { machines: vec![row] });
        assert!(text.contains("12"), "{text}");
    }

    #[test]
    fn a_status_fits_60_columns_and_a_stopped_machine_fails() {
        let mut status = MachinesStatusReply {
            state: MachineState::Diverged,
            message: "change 12 here is another one than on the server, which lost changes".into(),
            hint: Some("`brain machines join` builds the store again".into()),
            since: Some("2026-11-21T10:30:00.000Z".into()),
            name: Some("laptop".into()),
            brain: Some("ab".into()),
            server: Some("db.example.com:5432/brain".into()),
            tls: true,
            encrypted: true,
            delivery: Some("notified".into()),
            position: 12,
            behind: 3,
            age_seconds: Some(70),
            queued: 2,
            leases: vec![LeaseRow { name: "purge".into(), holder: None, this: true }],
            clock_difference_ms: Some(-3),
            snapshot_at: Some("2026-11-21T10:30:00.000Z".into()),
            since_snapshot: Some(2),
            warnings: Vec::new(),
        };
        let text = check_width(&status);
        for part in ["diverged:", "12, 3 behind", "2, not pages", "2 later changes", "this machine"]
        {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert_eq!(status.exit(), Exit::Failed);
        status.state = MachineState::Away;
        assert_eq!(status.exit(), Exit::Done);
    }
}
