//! Wire types of the costs of paid services. Money is in millionths of a US dollar.

use serde::{Deserialize, Serialize};

use crate::words::words;

/// The cost of calls to paid services, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Spending {
    /// The estimated cost.
    pub estimated: u64,
    /// The actual cost: the tokens that the service counted, at the configured prices.
    pub actual: u64,
    /// The number of input tokens.
    pub tokens_in: u64,
    /// The number of output tokens.
    pub tokens_out: u64,
    /// The number of calls.
    pub calls: u32,
}

/// `brain costs`: shows the costs of paid services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Costs {
    /// Only calls at or after this day or time (`YYYY-MM-DD` or RFC 3339).
    pub since: Option<String>,
    /// Only calls at or before this day or time.
    pub until: Option<String>,
    /// The maximum number of individual calls in the reply, 0 to 1000.
    pub limit: u32,
}

/// The costs of a period.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostsReply {
    /// The total.
    pub total: Spending,
    /// The totals by purpose and model, highest first.
    pub sums: Vec<CostSum>,
    /// Individual calls, newest first.
    pub calls: Vec<CostCall>,
    /// The number of unreadable lines in the ledger.
    pub damaged: u64,
    /// The number of calls for which the service reported more tokens than possible. The total
    /// counts them at their maximum cost.
    pub implausible: u64,
    /// The cost by day and purpose, oldest first.
    pub days: Vec<CostDay>,
}

/// The cost of one purpose on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostDay {
    /// The day in UTC, `YYYY-MM-DD`.
    pub date: String,
    /// The purpose.
    pub purpose: String,
    /// The actual cost in millionths of a US dollar.
    pub actual: u64,
}

/// The total cost of one purpose and model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostSum {
    /// The purpose: `ask`, `brainstorm`, `lsd`, `ratings`, `pictures`, `embedding` or `rerank`.
    pub purpose: String,
    /// The model.
    pub model: String,
    /// Its cost.
    pub spent: Spending,
}

words! {
    /// Whether a call to a paid service has ended.
    CallState {
        /// There is no answer yet, or the daemon ended before it.
        Open = "open",
        Done = "done", Failed = "failed",
    }
}

/// A call to a paid service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostCall {
    /// When it began.
    pub at: String,
    /// The purpose.
    pub purpose: String,
    /// The model.
    pub model: String,
    /// Whether it has ended.
    pub state: CallState,
    /// Its cost.
    pub spent: Spending,
}

/// Formats millionths of a US dollar with two to six decimals: `0.96`, `0.000012`.
#[must_use]
pub fn usd(millionths: u64) -> String {
    let mut text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let min_length = text.len() - 4;
    while text.len() > min_length && text.ends_with('0') {
        text.pop();
    }
    text
}

/// Parses an amount in US dollars, such as `0.50`: up to six digits and six decimals.
///
/// Returns millionths of a dollar; `None` if `text` is not such an amount.
#[must_use]
pub fn parse_usd(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number =
        |text: &str| (1..=6).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) {
        return None;
    }
    let decimals: u64 = format!("{decimals:0<6}").parse().ok()?;
    let whole: u64 = whole.parse().ok()?;
    Some(whole * 1_000_000 + decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_two_to_six_decimals() {
        for (millionths, text) in [
            (0, "0.00"),
            (12, "0.000012"),
            (960_000, "0.96"),
            (1_500_000, "1.50"),
            (50_710_001, "50.710001"),
        ] {
            assert_eq!(usd(millionths), text);
            assert_eq!(parse_usd(text), Some(millionths));
        }
        assert_eq!(parse_usd("3"), Some(3_000_000));
        for text in ["", ".5", "5.", "-1", "1,5", "1.0000001", "1000000", "1e3"] {
            assert_eq!(parse_usd(text), None, "{text}");
        }
    }
}
