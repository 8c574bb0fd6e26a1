//! Keys of `[collector]`.

use super::Key;
use crate::Kind;

pub(super) const KEYS: &[Key] = &[
    Key {
        section: "collector",
        name: "enabled",
        kind: Kind::Word(&["true", "false"]),
        default: "true",
        description: "whether it runs by itself, once there is a token and an account",
    },
    Key {
        section: "collector",
        name: "platform_api",
        kind: Kind::SafeUrl,
        default: "https://api.x.com",
        description: "the platform's address",
    },
    Key {
        section: "collector",
        name: "handle",
        kind: Kind::Handle,
        default: "",
        description: "the account; empty: the one that `brain collector setup` was told",
    },
    Key {
        section: "collector",
        name: "user_id",
        kind: Kind::Digits,
        default: "",
        description: "the account's numeric id; empty: the one that setup looked up",
    },
    Key {
        section: "collector",
        name: "searches",
        kind: Kind::Texts,
        default: "[]",
        description: "queries in the platform's syntax",
    },
    Key {
        section: "collector",
        name: "every",
        kind: Kind::Span(60, 24 * 60 * 60),
        default: "30m",
        description: "time between two runs; it must divide a day",
    },
    Key {
        section: "collector",
        name: "at",
        kind: Kind::Number(0, 59),
        default: "0",
        description: "minute after the hour of the first run",
    },
    Key {
        section: "collector",
        name: "dir",
        kind: Kind::Text,
        default: "",
        description: "directory of what is collected: absolute, below ~/, or in the brain's home; \
                      empty: collector",
    },
    Key {
        section: "collector",
        name: "max_pages",
        kind: Kind::Number(1, 32),
        default: "1",
        description: "pages of 100 posts that are asked for of each timeline and search",
    },
    Key {
        section: "collector",
        name: "token_file",
        kind: Kind::Text,
        default: "",
        description: "file with the platform's bearer token: absolute, below ~/, or in the \
                      brain's home; empty: secrets/platform-bearer-token",
    },
    Key {
        section: "collector",
        name: "authors",
        kind: Kind::Word(&["ask", "ids"]),
        default: "ask",
        description: "whether authors' names are asked for, which the platform charges for, or \
                      only ids kept",
    },
    Key {
        section: "collector",
        name: "deleted_posts",
        kind: Kind::Word(&["keep", "redact"]),
        default: "keep",
        description: "what stays of a post that was deleted on the platform: all of it, or its id \
                      and times",
    },
    Key {
        section: "collector",
        name: "stream",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether posts also come over a persistent connection, beside the runs",
    },
    Key {
        section: "collector",
        name: "outbound",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether own posts are watched closely for their first 60 seconds; needs \
                      collector.stream",
    },
    Key {
        section: "collector",
        name: "ratings",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether posts are rated, and rated again after 60 minutes",
    },
    Key {
        section: "collector",
        name: "ratings_at",
        kind: Kind::Number(0, 59),
        default: "15",
        description: "minute after the hour at which posts are rated again, each half hour",
    },
    Key {
        section: "collector",
        name: "images",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether text in pictures is read; needs llm.vision_model",
    },
    Key {
        section: "collector",
        name: "articles",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether web pages that posts name are fetched and taken in",
    },
    Key {
        section: "collector",
        name: "videos",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether videos that posts name are noted for transcription",
    },
    Key {
        section: "collector",
        name: "notable_followers",
        kind: Kind::Number(0, 1_000_000_000),
        default: "10000",
        description: "a person without a page gets one from this many followers on; see \
                      docs/collector.md",
    },
    Key {
        section: "collector",
        name: "notable_posts",
        kind: Kind::Number(1, 1000),
        default: "3",
        description: "and from this many posts within a week on",
    },
];
