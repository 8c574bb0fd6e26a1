//! What ideas will cost, before anything is spent. Pure.

use brain_costs::Price;

/// Tokens that a cross asks with.
const CROSS_IN: u64 = 3000;
/// Tokens of an idea.
const IDEA_OUT: u64 = 250;
/// Tokens that judging an idea asks with.
const JUDGE_IN: u64 = 350;
/// Tokens of the judge's word on an idea.
const JUDGE_OUT: u64 = 200;

/// What `crosses` with `each` ideas cost, and judging those and `unjudged` more that are there already, in millionths of a US dollar.
pub(super) fn estimate(price: Price, crosses: u64, each: u64, unjudged: u64) -> u64 {
    let ideas = crosses * each;
    let judged = ideas + unjudged;
    price.of(crosses * CROSS_IN + judged * JUDGE_IN, ideas * IDEA_OUT + judged * JUDGE_OUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_crosses_ideas_and_judge_at_the_models_price() {
        // 3 and 15 dollars a million: 72,000 + 25,200 tokens in, 18,000 + 14,400 out.
        let price = Price { input: 3_000_000, output: 15_000_000 };
        assert_eq!(estimate(price, 24, 3, 0), 291_600 + 486_000);
        assert_eq!(estimate(price, 24, 4, 0), (72_000 + 33_600) * 3 + (24_000 + 19_200) * 15);
        // What is made already is only judged.
        assert_eq!(estimate(price, 0, 3, 10), 3_500 * 3 + 2_000 * 15);
        assert_eq!(estimate(Price::default(), 24, 3, 5), 0, "a model of one's own");
    }
}
