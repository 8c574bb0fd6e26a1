//! Models that can be installed by name, with their files at the model hub. No I/O.

/// Base URL of the hub: `{HUB}/{repository}/resolve/{revision}/{file}`.
pub const HUB: &str = "https://huggingface.co";

/// Required files besides the weights.
pub const REQUIRED_FILES: [&str; 2] = ["config.json", "tokenizer.json"];
/// Files that an installation copies if the origin has them.
pub const OPTIONAL_FILES: [&str; 4] = [
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
];
/// Names of the file with the weights, the preferred one first.
pub const WEIGHT_FILES: [&str; 2] = ["model.safetensors", "model.onnx"];

/// A model that can be installed by name.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// The local name, in lower case.
    pub name: &'static str,
    /// The hub's repository.
    pub repository: &'static str,
    /// The revision of the repository.
    pub revision: &'static str,
    /// SHA-256 of the weights.
    pub sha256: &'static str,
    /// SHA-256 of other files by name, confirmed by several publishers. For files that are not
    /// listed, the first installation records the hash, and later ones compare it.
    pub files: &'static [(&'static str, &'static str)],
    /// Prefixes for questions, then for texts, if the model needs them and its files lack them.
    pub prefixes: Option<(&'static str, &'static str)>,
    /// The languages that the model knows.
    pub languages: &'static str,
    /// The size of the model's files, in MB.
    pub megabytes: u64,
    /// The time for one window on one core, in milliseconds.
    pub window_ms: u64,
}

/// All known models; the first is the default.
pub const KNOWN: [KnownModel; 4] = [
    KnownModel {
        name: "all-minilm-l6-v2",
        repository: "sentence-transformers/all-MiniLM-L6-v2",
        revision: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        files: &[
            ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            ("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            (
                "1_Pooling/config.json",
                "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
            ),
            (
                "config_sentence_transformers.json",
                "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
            ),
            (
                "sentence_bert_config.json",
                "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            ),
        ],
        prefixes: None,
        languages: "English",
        megabytes: 91,
        window_ms: 10,
    },
    KnownModel {
        name: "snowflake-arctic-embed-xs",
        repository: "Snowflake/snowflake-arctic-embed-xs",
        revision: "d8c86521100d3556476a063fc2342036d45c106f",
        sha256: "ee789e0b1d6ecbbd5ce37b474af556cc1a1319cee4417d9e3b11f82e90300706",
        files: &[
            ("config.json", "d7d071046ab952af96b7abad788db7ab3fc997b465e1b9914ff39707092254ec"),
            ("tokenizer.json", "91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854"),
        ],
        prefixes: None,
        languages: "English; made for questions",
        megabytes: 90,
        window_ms: 10,
    },
    KnownModel {
        name: "multilingual-e5-small",
        repository: "intfloat/multilingual-e5-small",
        revision: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
        sha256: "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477",
        files: &[
            ("config.json", "69137736cab8b8903a07fe8afaafdda25aac55415a12a55d1bffa9f581abf959"),
            ("tokenizer.json", "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"),
        ],
        prefixes: Some(("query: ", "passage: ")),
        languages: "100 languages; made for questions",
        megabytes: 470,
        window_ms: 20,
    },
    KnownModel {
        name: "paraphrase-multilingual-minilm-l12-v2",
        repository: "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        revision: "e8f8c211226b894fcb81acc59f3b34ba3efd5f42",
        sha256: "eaa086f0ffee582aeb45b36e34cdd1fe2d6de2bef61f8a559a1bbc9bd955917b",
        files: &[
            ("config.json", "6300193cb75e01cf80c96decef7187dfb33094d97cc1490b7ead6ff134476e4e"),
            ("tokenizer.json", "2c3387be76557bd40970cec13153b3bbf80407865484b209e655e5e4729076b8"),
        ],
        prefixes: None,
        languages: "50 languages",
        megabytes: 470,
        window_ms: 20,
    },
];

/// Returns the model with this name, ignoring case.
pub fn find_known(name: &str) -> Option<&'static KnownModel> {
    KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Lists the names of all known models with languages and sizes, on one line.
pub fn describe_known_models() -> String {
    KNOWN
        .iter()
        .map(|known| format!("{} ({}, {} MB)", known.name, known.languages, known.megabytes))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_models_are_valid() {
        for known in &KNOWN {
            assert!(super::super::origin::is_name(known.name), "{}", known.name);
            let (owner, name) = known.repository.split_once('/').unwrap_or_default();
            assert!(
                !owner.is_empty() && name.eq_ignore_ascii_case(known.name),
                "{}",
                known.repository
            );
            let hex = |hash: &str| {
                hash.len() == 64 && hash.bytes().all(|b| b"0123456789abcdef".contains(&b))
            };
            assert!(
                hex(known.sha256) && known.files.iter().all(|(_, hash)| hex(hash)),
                "{}",
                known.name
            );
            let revision = known.revision;
            assert!(revision.len() == 40 && hex(&revision.repeat(2)[..64]), "{}", known.name);
            assert!(
                REQUIRED_FILES
                    .iter()
                    .all(|needed| known.files.iter().any(|(name, _)| name == needed))
            );
        }
        assert_eq!(find_known("All-MiniLM-L6-v2"), KNOWN.first());
        assert_eq!(find_known("bert"), None);
    }
}
