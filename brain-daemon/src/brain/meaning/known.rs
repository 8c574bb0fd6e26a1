//! Models that are known by name: where the model hub has them, and what their files do not say themselves. Pure.

/// Where the hub has a file of a repository: `{HUB}/{repository}/resolve/main/{file}`.
pub(super) const HUB: &str = "https://huggingface.co";

/// The files without which there is no model, besides its weights.
pub(super) const NEEDED: [&str; 2] = ["config.json", "tokenizer.json"];
/// The files that a model may have besides.
pub(super) const MORE: [&str; 4] = [
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
];
/// What weights are called once they are here, best first.
pub(super) const WEIGHTS: [&str; 2] = ["model.safetensors", "model.onnx"];

/// A model that is known by name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Its name here.
    pub(super) name: &'static str,
    /// The hub's repository.
    pub(super) repository: &'static str,
    /// SHA-256 of its weights, where it was seen in more than one place. For the others the one that is seen is kept, and compared when
    /// the model is installed again.
    pub(super) sha256: Option<&'static str>,
    /// What goes before a question and before a text, where the model wants something and its files do not say so.
    pub(super) prefixes: Option<(&'static str, &'static str)>,
    /// What it is good for.
    pub(super) what: &'static str,
}

/// All of them; the first is the one to begin with.
pub(super) const KNOWN: [Known; 4] = [
    Known {
        name: "all-minilm-l6-v2",
        repository: "sentence-transformers/all-MiniLM-L6-v2",
        sha256: Some("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        prefixes: None,
        what: "English, 91 MB",
    },
    Known {
        name: "snowflake-arctic-embed-xs",
        repository: "Snowflake/snowflake-arctic-embed-xs",
        sha256: None,
        prefixes: None,
        what: "English, 90 MB, for questions",
    },
    Known {
        name: "multilingual-e5-small",
        repository: "intfloat/multilingual-e5-small",
        sha256: None,
        prefixes: Some(("query: ", "passage: ")),
        what: "100 languages, 470 MB, for questions",
    },
    Known {
        name: "paraphrase-multilingual-minilm-l12-v2",
        repository: "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        sha256: None,
        prefixes: None,
        what: "50 languages, 470 MB",
    },
];

/// The model of this name, however its capitals are.
pub(super) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// The names with what they are good for, on one line.
pub(super) fn names() -> String {
    KNOWN.iter().map(|known| format!("{} ({})", known.name, known.what)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        for known in &KNOWN {
            assert!(super::super::origin::is_name(known.name), "{}", known.name);
            let (owner, name) = known.repository.split_once('/').unwrap_or_default();
            assert!(!owner.is_empty() && name.eq_ignore_ascii_case(known.name), "{}", known.repository);
            let hex = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| b"0123456789abcdef".contains(&b));
            assert!(known.sha256.is_none_or(hex), "{}", known.name);
        }
        assert_eq!(known("All-MiniLM-L6-v2").map(|known| known.name), Some("all-minilm-l6-v2"));
        assert_eq!(known("bert"), None);
    }
}
