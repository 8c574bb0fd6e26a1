//! Keys of `[daemon]`, `[store]`, `[sources]` and `[backup]`.

use super::Key;
use crate::Kind;

pub(super) const KEYS: &[Key] = &[
    Key {
        section: "daemon",
        name: "socket",
        kind: Kind::Text,
        default: "",
        description: "path of the control socket; empty: run/brain.sock in the home",
    },
    Key {
        section: "daemon",
        name: "connections",
        kind: Kind::Number(1, 10_000),
        default: "256",
        description: "clients served at once; more wait",
    },
    Key {
        section: "daemon",
        name: "log",
        kind: Kind::Word(&["error", "warn", "info", "debug"]),
        default: "info",
        description: "how much is logged to standard error",
    },
    Key {
        section: "daemon",
        name: "allow_uids",
        kind: Kind::Ids,
        default: "",
        description: "user ids that may read and write pages through a socket that systemd passes \
                      in",
    },
    Key {
        section: "daemon",
        name: "allow_group",
        kind: Kind::Text,
        default: "",
        description: "group (name or number) whose members may do the same; it must be the \
                      SocketGroup= of that socket",
    },
    Key {
        section: "store",
        name: "cache_mb",
        kind: Kind::Number(1, 100_000),
        default: "4",
        description: "memory for the store's cache, in MB",
    },
    Key {
        section: "store",
        name: "min_free_mb",
        kind: Kind::Number(1, 1_000_000),
        default: "32",
        description: "writes are refused when the disk has less room, in MB, so that reading goes \
                      on",
    },
    Key {
        section: "store",
        name: "dedup_entries",
        kind: Kind::Number(1, 1_000_000),
        default: "5000",
        description: "captures remembered for the 24-hour duplicate check",
    },
    Key {
        section: "sources",
        name: "watch",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether changes of files are taken in as they happen, without `brain sync`",
    },
    Key {
        section: "sources",
        name: "git_approved",
        kind: Kind::Texts,
        default: "[]",
        description: "fingerprints of git configurations that may run programs when a source is \
                      pulled",
    },
    Key {
        section: "backup",
        name: "dir",
        kind: Kind::Text,
        default: "",
        description: "directory for backups by schedule: absolute, below ~/, or in the brain's \
                      home; empty: none are made",
    },
    Key {
        section: "backup",
        name: "every",
        kind: Kind::Span(60, 365 * 24 * 60 * 60),
        default: "24h",
        description: "time between two backups: a number with s, m, h or d",
    },
    Key {
        section: "backup",
        name: "keep",
        kind: Kind::Number(1, 1000),
        default: "7",
        description: "backups kept; older ones of this brain are removed",
    },
];
