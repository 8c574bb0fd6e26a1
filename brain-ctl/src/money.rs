//! Parses amounts of money, and converts costs to JSON. The wire has millionths of a US dollar.

use brain_protocol::{Spending, parse_usd};
use serde::Serialize;

/// The JSON form of a cost, in US dollars.
#[derive(Debug, Serialize)]
pub(crate) struct Cost {
    estimated_usd: f64,
    actual_usd: f64,
    input_tokens: u64,
    output_tokens: u64,
    calls: u32,
}

impl From<Spending> for Cost {
    fn from(spending: Spending) -> Self {
        let usd = |millionths: u64| millionths as f64 / 1e6;
        Self {
            estimated_usd: usd(spending.estimated),
            actual_usd: usd(spending.actual),
            input_tokens: spending.tokens_in,
            output_tokens: spending.tokens_out,
            calls: spending.calls,
        }
    }
}

/// Parses digits with up to six decimals as millionths of a US dollar.
///
/// # Errors
/// Returns a message if the text is not such an amount.
pub(crate) fn parse_millionths(text: &str) -> Result<u64, String> {
    parse_usd(text).ok_or_else(|| format!("\"{text}\" is not an amount of US dollars such as 0.50"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        for (text, expected) in [
            ("1", 1_000_000),
            ("0.5", 500_000),
            ("0.000001", 1),
            ("999999.999999", 999_999_999_999),
        ] {
            assert_eq!(parse_millionths(text), Ok(expected), "{text}");
        }
        for text in ["", ".5", "1.", "-1", "1e3", "$1", "0.0000001", "1,5", "+1"] {
            assert!(parse_millionths(text).is_err(), "{text}");
        }
    }
}
