//! Estimates the cost of a run before anything is spent. No I/O.

use brain_costs::Price;

/// Expected input tokens per cross.
const CROSS_INPUT_TOKENS: u64 = 3000;
/// Expected output tokens per idea.
const IDEA_OUTPUT_TOKENS: u64 = 250;
/// Expected input tokens for judging one idea.
const JUDGE_INPUT_TOKENS: u64 = 350;
/// Expected output tokens for judging one idea.
const JUDGE_OUTPUT_TOKENS: u64 = 200;

/// Estimates the cost of `crosses` with `ideas_per_cross` ideas each, and of judging these ideas
/// and `unjudged` existing ones. Returns millionths of a US dollar.
pub(super) fn estimate(price: Price, crosses: u64, ideas_per_cross: u64, unjudged: u64) -> u64 {
    let ideas = crosses * ideas_per_cross;
    let judged = ideas + unjudged;
    price.cost(
        crosses * CROSS_INPUT_TOKENS + judged * JUDGE_INPUT_TOKENS,
        ideas * IDEA_OUTPUT_TOKENS + judged * JUDGE_OUTPUT_TOKENS,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_covers_crosses_and_judging() {
        // Per million tokens, input costs 3 dollars and output 15. The crosses and the judge have
        // 72,000 + 25,200 tokens of input and 18,000 + 14,400 of output.
        let price = Price { input: 3_000_000, output: 15_000_000 };
        assert_eq!(estimate(price, 24, 3, 0), 291_600 + 486_000);
        assert_eq!(estimate(price, 24, 4, 0), (72_000 + 33_600) * 3 + (24_000 + 19_200) * 15);
        // Existing ideas are only judged.
        assert_eq!(estimate(price, 0, 3, 10), 3_500 * 3 + 2_000 * 15);
        assert_eq!(estimate(Price::default(), 24, 3, 5), 0, "a free model");
    }
}
