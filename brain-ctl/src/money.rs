//! Parses and formats amounts of money. The wire uses millionths of a US dollar.

use brain_protocol::Spending;
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
/// Returns a message about the invalid text.
pub(crate) fn millionths(text: &str) -> Result<u64, String> {
    let invalid = || format!("\"{text}\" is not an amount of US dollars such as 0.50");
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number =
        |text: &str| (1..=6).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) {
        return Err(invalid());
    }
    let decimals: u64 = format!("{decimals:0<6}").parse().map_err(|_| invalid())?;
    let whole: u64 = whole.parse().map_err(|_| invalid())?;
    Ok(whole * 1_000_000 + decimals)
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
            assert_eq!(millionths(text), Ok(expected), "{text}");
        }
        for text in ["", ".5", "1.", "-1", "1e3", "$1", "0.0000001", "1,5", "+1"] {
            assert!(millionths(text).is_err(), "{text}");
        }
    }
}
