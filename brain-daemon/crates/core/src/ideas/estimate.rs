//! Estimates the cost of a run before anything is spent. No I/O.

use brain_costs::Price;

/// Input tokens per cross.
const CROSS_INPUT_TOKENS: u64 = 3000;
/// Output tokens per idea.
const IDEA_OUTPUT_TOKENS: u64 = 250;
/// Input tokens for judging one idea.
const JUDGE_INPUT_TOKENS: u64 = 350;
/// Output tokens for judging one idea.
const JUDGE_OUTPUT_TOKENS: u64 = 200;

/// Estimates the cost of `crosses` with `each` ideas and of judging them plus `unjudged` existing
/// ideas, in millionths of a US dollar.
pub(super) fn estimate(price: Price, crosses: u64, each: u64, unjudged: u64) -> u64 {
    let ideas = crosses * each;
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
        // At 3 and 15 dollars a million: 72,000 + 25,200 tokens in, 18,000 + 14,400 out.
        let price = Price { input: 3_000_000, output: 15_000_000 };
        assert_eq!(estimate(price, 24, 3, 0), 291_600 + 486_000);
        assert_eq!(estimate(price, 24, 4, 0), (72_000 + 33_600) * 3 + (24_000 + 19_200) * 15);
        // Existing ideas are only judged.
        assert_eq!(estimate(price, 0, 3, 10), 3_500 * 3 + 2_000 * 15);
        assert_eq!(estimate(Price::default(), 24, 3, 5), 0, "a free model");
    }
}
