//! Prints the steps of `connect test`, `collector setup` and `tunnel setup`.

use brain_protocol::{Exit, Step, StepStatus};

use crate::output::{Text, clean, pad, width};

/// Formats a duration of `ms` milliseconds.
fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        _ => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
    }
}

/// Returns the exit status for the final status of all steps.
pub(super) fn exit(status: StepStatus) -> Exit {
    if status == StepStatus::Failed { Exit::Failed } else { Exit::Done }
}

/// Prints each step with its result, its duration and its message, and below them its hint.
pub(super) fn write(t: &mut Text, steps: &[Step]) {
    let name_width = steps.iter().map(|step| width(&clean(&step.name))).max().unwrap_or(0);
    for step in steps {
        let result = match step.status {
            StepStatus::Passed => t.paint.green("ok  "),
            StepStatus::Warned => t.paint.yellow("warn"),
            StepStatus::Failed => t.paint.red("fail"),
        };
        let name = pad(&clean(&step.name), name_width);
        let lead = format!("{result} {name} {:>6}  ", duration(step.took_ms));
        t.prose(&lead, name_width + 14, &step.message);
        if let Some(hint) = &step.hint {
            t.prose("     ", 5, &hint.to_string());
        }
    }
}
