//! How many pages a sync deletes without `--yes`.

/// More missing pages than this number, which are also more than [`MAX_PERCENT`] of the source,
/// are deleted only with `--yes`.
const MAX_PAGES: usize = 20;
/// See [`MAX_PAGES`].
const MAX_PERCENT: usize = 30;

/// Returns whether `removals` of `all` pages need `--yes`.
pub(super) fn are_too_many(removals: usize, all: usize) -> bool {
    removals > MAX_PAGES && removals * 100 > all * MAX_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_removals_are_many_of_the_source() {
        for (removals, all, expected) in
            [(20, 20, false), (21, 21, true), (21, 70, false), (22, 70, true), (30, 100, false)]
        {
            assert_eq!(are_too_many(removals, all), expected, "{removals} of {all}");
        }
    }
}
