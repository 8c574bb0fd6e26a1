//! Transcripts of contradictions, of saved answers, and of the owner's own recall.

use super::transcript::Transcript;

#[test]
fn review() {
    let mut user = Transcript::new();
    user.run(
        r#"
        # contradictions
        brain contradictions
        echo "The lead of Tide is Oda Lind." | brain put log/spring
        echo "- 2026-03-02 | Pia Holm leads Tide [Source: minutes]" | brain put log/summer
        brain contradictions
        brain settle 00000000 --keep a
        brain settle $(brain contradictions -q) --keep b
        brain contradictions
        # answers that age
        brain ask --stale
        # recall
        brain recall
        brain recall --forget
        "#,
    );
    user.compare("review");
}
