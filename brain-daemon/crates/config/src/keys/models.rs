//! Keys of `[llm]` and `[embedding]`.

use super::Key;
use crate::Kind;

pub(super) const KEYS: &[Key] = &[
    Key {
        section: "llm",
        name: "provider",
        kind: Kind::Word(&["none", "openai", "anthropic"]),
        default: "none",
        description: "what kind of language model is asked; openai: any endpoint of that shape",
    },
    Key {
        section: "llm",
        name: "base_url",
        kind: Kind::Endpoint,
        default: "",
        description: "its address with its path, for example http://127.0.0.1:11434/v1; empty: \
                      the provider's own",
    },
    Key {
        section: "llm",
        name: "model",
        kind: Kind::Text,
        default: "",
        description: "the model's name",
    },
    Key {
        section: "llm",
        name: "vision_model",
        kind: Kind::Text,
        default: "",
        description: "the name of the model that reads pictures; empty: none",
    },
    Key {
        section: "llm",
        name: "api_key_file",
        kind: Kind::Text,
        default: "",
        description: "file with the key: absolute, below ~/, or in the brain's home; empty: \
                      secrets/llm-api-key",
    },
    Key {
        section: "llm",
        name: "judge_model",
        kind: Kind::Text,
        default: "",
        description: "the name of the model that judges ideas; empty: llm.model",
    },
    Key {
        section: "llm",
        name: "silence",
        kind: Kind::Span(1, 60 * 60),
        default: "3m",
        description: "how long nothing may come from the language model before it is given up",
    },
    Key {
        section: "llm",
        name: "price_in",
        kind: Kind::Dollars,
        default: "0",
        description: "what a million tokens of a question cost, in US dollars; 0 for a model of \
                      one's own",
    },
    Key {
        section: "llm",
        name: "price_out",
        kind: Kind::Dollars,
        default: "0",
        description: "what a million tokens of an answer cost, in US dollars",
    },
    Key {
        section: "llm",
        name: "max_cost",
        kind: Kind::Dollars,
        default: "1",
        description: "the most that one ask, brainstorm or lsd may cost, in US dollars, when it \
                      is not told",
    },
    Key {
        section: "embedding",
        name: "provider",
        kind: Kind::Word(&["auto", "none", "local", "openai"]),
        default: "auto",
        description: "what turns text into vectors; auto: local as soon as a model is installed; \
                      openai: any endpoint of that shape",
    },
    Key {
        section: "embedding",
        name: "model",
        kind: Kind::Text,
        default: "",
        description: "the model's name: of an installed one, or at the endpoint; empty: the one \
                      that is installed",
    },
    Key {
        section: "embedding",
        name: "base_url",
        kind: Kind::Endpoint,
        default: "",
        description: "the endpoint, for example http://127.0.0.1:11434/v1; empty: the provider's \
                      own",
    },
    Key {
        section: "embedding",
        name: "api_key_file",
        kind: Kind::Text,
        default: "",
        description: "file with the key: absolute, below ~/, or in the brain's home; empty: \
                      secrets/embedding-api-key",
    },
    Key {
        section: "embedding",
        name: "dimensions",
        kind: Kind::Number(0, 8192),
        default: "0",
        description: "how long the endpoint's vectors are to be; 0: the model's own length",
    },
    Key {
        section: "embedding",
        name: "query_prefix",
        kind: Kind::Text,
        default: "",
        description: "what the endpoint's model wants before a question",
    },
    Key {
        section: "embedding",
        name: "document_prefix",
        kind: Kind::Text,
        default: "",
        description: "what the endpoint's model wants before a text",
    },
    Key {
        section: "embedding",
        name: "price",
        kind: Kind::Dollars,
        default: "0",
        description: "what a million tokens cost at the endpoint, in US dollars",
    },
    Key {
        section: "embedding",
        name: "threads",
        kind: Kind::Number(1, 64),
        default: "2",
        description: "threads that the local model may use",
    },
    Key {
        section: "embedding",
        name: "idle",
        kind: Kind::Span(10, 24 * 60 * 60),
        default: "10m",
        description: "the local model is let go of after so long without work",
    },
];
