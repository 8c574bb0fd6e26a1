//! `brain costs`: shows the cost of paid services.

use brain_protocol::{CallState, CostCall, CostDay, CostSum, CostsReply, Fault, Spending, usd};
use clap::Args;
use serde::{Serialize, Serializer};

use crate::{
    command::{Group, Verb},
    context::Context,
    money::Cost,
    output::{Column, Outcome, Paint, Show, Table, Text, count},
    when::PeriodOptions,
};

/// Arguments of `costs`.
#[derive(Debug, Args)]
pub(crate) struct CostsCommand {
    #[command(flatten)]
    period: PeriodOptions,

    /// Number of single calls to show, newest first, 0 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=1000)
    )]
    limit: u32,
}

impl Verb for CostsCommand {
    const NAME: &'static str = "costs";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Show the cost of paid services";
    const EXAMPLES: &'static str = "Examples:
  brain costs --since \"this month\"
  brain costs --limit 50 --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let Self { period, limit } = self;
        let (since, until) = period.instants();
        let costs = context.call(brain_protocol::Costs { since, until, limit })?;
        context.show(&CostsOutput(costs))
    }
}

/// The reply, as the command prints it.
struct CostsOutput(CostsReply);

/// The JSON form of the reply, with costs in US dollars.
#[derive(Serialize)]
struct CostsJson {
    total: Cost,
    sums: Vec<JsonSum>,
    calls: Vec<JsonCall>,
    damaged: u64,
    implausible: u64,
    days: Vec<JsonDay>,
}

#[derive(Serialize)]
struct JsonDay {
    date: String,
    purpose: String,
    actual_usd: f64,
}

#[derive(Serialize)]
struct JsonSum {
    purpose: String,
    model: String,
    #[serde(flatten)]
    cost: Cost,
}

#[derive(Serialize)]
struct JsonCall {
    at: String,
    purpose: String,
    model: String,
    state: CallState,
    #[serde(flatten)]
    cost: Cost,
}

impl Serialize for CostsOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CostsReply { total, sums, calls, damaged, implausible, days } = self.0.clone();
        let sum =
            |CostSum { purpose, model, spent }| JsonSum { purpose, model, cost: spent.into() };
        let call = |CostCall { at, purpose, model, state, spent }| JsonCall {
            at,
            purpose,
            model,
            state,
            cost: spent.into(),
        };
        let day = |CostDay { date, purpose, actual }| JsonDay {
            date,
            purpose,
            actual_usd: actual as f64 / 1e6,
        };
        CostsJson {
            total: total.into(),
            sums: sums.into_iter().map(sum).collect(),
            calls: calls.into_iter().map(call).collect(),
            damaged,
            implausible,
            days: days.into_iter().map(day).collect(),
        }
        .serialize(serializer)
    }
}

const SUMS: &[Column] = &[
    Column::fixed("PURPOSE"),
    Column::flexible("MODEL", 10).with_paint(Paint::cyan),
    Column::fixed("CALLS").align_right().droppable(1),
    Column::fixed("TOKENS").align_right().droppable(2),
    Column::fixed("USD").align_right(),
];

const CALLS: &[Column] = &[
    Column::fixed("AT").with_paint(Paint::dim),
    Column::fixed("PURPOSE"),
    Column::flexible("MODEL", 8).with_paint(Paint::cyan).droppable(3),
    Column::fixed("STATE").droppable(1),
    Column::fixed("TOKENS").align_right().droppable(2),
    Column::fixed("USD").align_right(),
];

impl Show for CostsOutput {
    fn text(&self, t: &mut Text) {
        let Self(costs) = self;
        let mut table = Table::new(SUMS);
        for CostSum { purpose, model, spent } in &costs.sums {
            table.row([
                purpose,
                model,
                &spent.calls.to_string(),
                &tokens(spent),
                &usd(spent.actual),
            ]);
        }
        if costs.sums.len() > 1 {
            let total = &costs.total;
            table.row(["total", "", &total.calls.to_string(), &tokens(total), &usd(total.actual)]);
        }
        table.write(t);
        if costs.calls.is_empty() {
            return;
        }
        t.raw_line("");
        let mut table = Table::new(CALLS);
        for CostCall { at, purpose, model, state, spent } in &costs.calls {
            let at = at.get(..19).unwrap_or(at).replace('T', " ");
            table.row([&at, purpose, model, state.as_str(), &tokens(spent), &usd(spent.actual)]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&usd(self.0.total.actual));
    }

    fn notes(&self) -> Vec<String> {
        let Self(costs) = self;
        let no_calls = costs.sums.is_empty().then(|| "no model was used".to_owned());
        let open_calls =
            costs.calls.iter().filter(|call| call.state == CallState::Open).count() as u64;
        let open = (open_calls > 0).then(|| {
            format!("{} without a result, counted at the maximum cost", count(open_calls, "call"))
        });
        let damaged = (costs.damaged > 0)
            .then(|| format!("{} of the ledger cannot be read", count(costs.damaged, "line")));
        let implausible = (costs.implausible > 0).then(|| {
            let calls = count(costs.implausible, "call");
            format!("{calls} with an implausible token count, counted at the maximum cost")
        });
        no_calls.into_iter().chain(open).chain(implausible).chain(damaged).collect()
    }
}

/// Formats the number of all tokens.
fn tokens(spent: &Spending) -> String {
    spent.tokens_in.saturating_add(spent.tokens_out).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::width;

    #[test]
    fn sums_and_calls_fit_60_columns() {
        let spent = Spending {
            estimated: 9,
            actual: 1_234_567,
            tokens_in: 123_456,
            tokens_out: 7,
            calls: 12,
        };
        let model = "a-provider/with-a-model-of-a-very-long-name-2026-11-21".to_owned();
        let sum = |purpose: &str| CostSum { purpose: purpose.into(), model: model.clone(), spent };
        let call = CostCall {
            at: "2026-11-21T10:30:45.123Z".into(),
            purpose: "brainstorm".into(),
            model: model.clone(),
            state: CallState::Open,
            spent,
        };
        let sums = vec![sum("brainstorm"), sum("ask")];
        let output = CostsOutput(CostsReply {
            total: spent,
            sums,
            calls: vec![call],
            damaged: 1,
            implausible: 2,
            days: Vec::new(),
        });
        let mut t = Text::plain(Some(60));
        output.text(&mut t);
        assert!(t.as_str().lines().all(|line| width(line) <= 60), "{}", t.as_str());
        for part in ["1.234567", "total", "2026-11-21 10:30:45", "brainstorm"] {
            assert!(t.as_str().contains(part), "{part}: {}", t.as_str());
        }
        assert_eq!(
            output.notes(),
            [
                "1 call without a result, counted at the maximum cost",
                "2 calls with an implausible token count, counted at the maximum cost",
                "1 line of the ledger cannot be read"
            ]
        );
        let mut t = Text::plain(None);
        output.quiet(&mut t);
        assert_eq!(t.as_str(), "1.234567\n");
    }
}
