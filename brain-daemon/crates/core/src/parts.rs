//! The optional parts that this program was built with.

/// The optional parts by their features, and whether this program has them.
const PARTS: [(&str, bool); 2] =
    [("local-models", cfg!(feature = "local-models")), ("machines", cfg!(feature = "machines"))];

/// Returns the features of the parts that this program lacks.
fn left_out() -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().filter(|(_, is_built)| !is_built).map(|(feature, _)| feature)
}

/// Describes this program: its version, and the parts that it lacks.
pub(crate) fn version() -> String {
    let version = brain_protocol::VERSION;
    match left_out().collect::<Vec<_>>().join(", ").as_str() {
        "" => format!("version {version}"),
        parts => format!("version {version} without {parts}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_parts_that_are_left_out() {
        let text = version();
        for (part, is_built) in PARTS {
            assert_eq!(text.contains(part), !is_built, "{text}");
        }
        assert_eq!(text.contains(" without "), left_out().next().is_some(), "{text}");
    }
}
