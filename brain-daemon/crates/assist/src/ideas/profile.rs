//! The parameters in which `brainstorm` and `lsd` differ. No I/O.

use brain_protocol::{IdeaProfile, Scores};

/// The parameters of a command.
#[derive(Debug, PartialEq)]
pub(super) struct Profile {
    /// The command.
    pub(super) kind: IdeaProfile,
    /// Number of close pages.
    pub(super) close: usize,
    /// Number of far pages.
    pub(super) far: usize,
    /// Number of ideas per cross.
    pub(super) ideas: u32,
    /// Sampling temperature, 0 to 1.
    pub(super) temperature: f32,
    /// Minimum weighted score of a passing idea, 1 to 5.
    pub(super) threshold: f32,
    /// Weights of the axes; their sum is 1.
    weights: Scores,
    /// Maximum resistance of a passing idea. An idea with more resistance is too obvious.
    max_resistance: Option<f32>,
    /// Far pages are drawn from the farthest `1 / far_divisor` of all candidates.
    pub(super) far_divisor: usize,
    /// Whether stale pages are preferred in the far set.
    pub(super) should_prefer_stale: bool,
    /// Whether each idea must invert an unspoken axiom of the question.
    pub(super) should_invert_axiom: bool,
    /// Whether the result is saved as a page by default.
    pub(super) should_save: bool,
}

static BRAINSTORM: Profile = Profile {
    kind: IdeaProfile::Brainstorm,
    close: 4,
    far: 6,
    ideas: 3,
    temperature: 0.7,
    threshold: 4.0,
    weights: Scores {
        originality: 0.25,
        resistance: 0.20,
        thesis: 0.20,
        grounding: 0.20,
        load_bearing: 0.15,
    },
    max_resistance: None,
    far_divisor: 2,
    should_prefer_stale: false,
    should_invert_axiom: false,
    should_save: true,
};

static LSD: Profile = Profile {
    kind: IdeaProfile::Lsd,
    close: 2,
    far: 12,
    ideas: 4,
    temperature: 0.95,
    threshold: 3.5,
    weights: Scores {
        originality: 0.20,
        resistance: 0.05,
        thesis: 0.15,
        grounding: 0.10,
        load_bearing: 0.50,
    },
    max_resistance: Some(4.5),
    far_divisor: 3,
    should_prefer_stale: true,
    should_invert_axiom: true,
    should_save: false,
};

impl Profile {
    /// Returns the profile of a command.
    pub(super) fn of(kind: IdeaProfile) -> &'static Self {
        match kind {
            IdeaProfile::Brainstorm => &BRAINSTORM,
            IdeaProfile::Lsd => &LSD,
        }
    }

    /// Returns the weighted mean of the scores, 1 to 5, rounded to hundredths.
    pub(super) fn weighted(&self, scores: &Scores) -> f32 {
        let Scores { originality, resistance, thesis, grounding, load_bearing } = self.weights;
        let sum = originality * scores.originality
            + resistance * scores.resistance
            + thesis * scores.thesis
            + grounding * scores.grounding
            + load_bearing * scores.load_bearing;
        (sum * 100.0).round() / 100.0
    }

    /// Returns whether an idea with these scores passes.
    pub(super) fn passes(&self, scores: &Scores) -> bool {
        self.weighted(scores) >= self.threshold
            && self.max_resistance.is_none_or(|max| scores.resistance <= max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(score: f32) -> Scores {
        Scores {
            originality: score,
            resistance: score,
            thesis: score,
            grounding: score,
            load_bearing: score,
        }
    }

    #[test]
    fn equal_scores_are_their_own_mean_and_pass_at_the_threshold() {
        for profile in [&BRAINSTORM, &LSD] {
            for score in [1.0, 3.5, 4.0, 5.0] {
                assert!((profile.weighted(&all(score)) - score).abs() < 1e-6, "{score}");
            }
            assert!(profile.passes(&all(profile.threshold)));
            assert!(!profile.passes(&all(profile.threshold - 0.1)));
            assert_eq!(profile.close * profile.far, 24);
        }
    }

    #[test]
    fn axes_are_weighted_by_the_profile() {
        let mean = |profile: &Profile, scores: Scores| profile.weighted(&scores);
        let ones = all(1.0);
        assert!((mean(&BRAINSTORM, Scores { originality: 5.0, ..ones }) - 2.0).abs() < 1e-6);
        assert!((mean(&BRAINSTORM, Scores { load_bearing: 5.0, ..ones }) - 1.6).abs() < 1e-6);
        assert!((mean(&LSD, Scores { load_bearing: 5.0, ..ones }) - 3.0).abs() < 1e-6);
        assert!((mean(&LSD, Scores { resistance: 5.0, ..ones }) - 1.2).abs() < 1e-6);
    }

    #[test]
    fn only_lsd_rejects_obvious_ideas() {
        let obvious = Scores { resistance: 4.6, ..all(5.0) };
        assert!(BRAINSTORM.passes(&obvious));
        assert!(!LSD.passes(&obvious));
        assert!(LSD.passes(&Scores { resistance: 4.5, ..all(5.0) }));
    }
}
