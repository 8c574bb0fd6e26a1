//! Tests of [`set`]: what it writes, and what it refuses.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A configuration file in a directory of its own.
struct File {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl File {
    /// A file with this text.
    fn with(text: &str) -> Self {
        let file = Self::missing();
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        fs::write(&file.path, text).unwrap();
        file
    }

    /// A file that does not exist, like its directory.
    fn missing() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { path: dir.path().join("home/config.toml"), _dir: dir }
    }

    fn set(&self, key: &str, value: &str) -> Result<String, Fault> {
        set(&self.path, key, value)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    fn mode(&self) -> u32 {
        fs::metadata(&self.path).unwrap().permissions().mode() & 0o7777
    }
}

#[test]
fn set_keeps_comments_order_and_mode() {
    let file = File::with("# mine\n[store]\nmin_free_mb = 5\ncache_mb = 3 # small\n\n[llm]\n");
    fs::set_permissions(&file.path, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(file.set("store.cache_mb", "7").unwrap(), "7");
    assert_eq!(file.set("llm.model", "new").unwrap(), "\"new\"");
    let expected = "# mine\n[store]\nmin_free_mb = 5\ncache_mb = 7 # small\n\n[llm]\n\
                    model = \"new\"\n";
    assert_eq!((file.text().as_str(), file.mode()), (expected, 0o640));
}

#[test]
fn set_creates_a_private_file_and_its_directory() {
    let file = File::missing();
    assert_eq!(file.set("sources.watch", "true").unwrap(), "true");
    assert_eq!((file.text().as_str(), file.mode()), ("[sources]\nwatch = true\n", 0o600));
}

#[test]
fn set_follows_a_symbolic_link() {
    let file = File::with("");
    let link = file.path.with_file_name("link.toml");
    symlink(&file.path, &link).unwrap();
    set(&link, "sources.watch", "true").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(file.text(), "[sources]\nwatch = true\n");
}

#[test]
fn set_writes_the_type_that_the_key_accepts() {
    for (key, value, written) in [
        ("store.cache_mb", "7", "7"),
        ("llm.price_in", "0.15", "0.15"),
        ("sources.include", "[\"*.md\"]", "[\"*.md\"]"),
        ("daemon.allow_uids", "[7, 8]", "[7, 8]"),
        ("daemon.allow_uids", "7, 8", "\"7, 8\""),
        ("llm.model", "1.5", "\"1.5\""),
        ("llm.model", "2026-11-21", "\"2026-11-21\""),
        ("llm.model", "{ a = 1 }", "\"{ a = 1 }\""),
        ("llm.model", "", "\"\""),
    ] {
        assert_eq!(File::missing().set(key, value).unwrap(), written, "{key} {value}");
    }
}

#[test]
fn set_with_a_refused_value_keeps_the_file() {
    let file = File::with("[store]\ncache_mb = 3\n");
    let fault = file.set("store.cache_mb", "0").unwrap_err();
    assert!(fault.message.contains("store.cache_mb"), "{fault}");
    assert_eq!(fault.code, FaultCode::InvalidConfig);
    assert_eq!(file.text(), "[store]\ncache_mb = 3\n");
}

#[test]
fn set_with_an_unknown_key_suggests_a_similar_one() {
    for (key, suggestion) in [
        ("sources.wach", "\"sources.watch\""),
        ("watch", "\"sources.watch\""),
        // The name is right, although another key is more similar.
        ("store.price_out", "\"llm.price_out\""),
        // Several sections have a key of this name, so the nearest one counts.
        ("embeding.provider", "\"embedding.provider\""),
    ] {
        let file = File::missing();
        let fault = file.set(key, "x").unwrap_err();
        assert_eq!(fault.message, format!("there is no key \"{key}\""));
        let hint = fault.hint.unwrap().to_string();
        assert!(hint.contains(suggestion), "{key}: {hint}");
        assert!(!file.path.exists());
    }
}

#[test]
fn set_refuses_a_value_in_place_of_a_section() {
    let file = File::with("store = 1\n");
    let fault = file.set("store.cache_mb", "7").unwrap_err();
    assert!(fault.message.contains("\"store\" is not a section"), "{fault}");
    assert_eq!(file.text(), "store = 1\n");
}

#[test]
fn set_keeps_a_file_that_cannot_be_read() {
    let file = File::with("");
    let not_utf_8 = b"# caf\xe9\n";
    fs::write(&file.path, not_utf_8).unwrap();
    assert_eq!(file.set("store.cache_mb", "7").unwrap_err().code, FaultCode::Io);
    assert_eq!(fs::read(&file.path).unwrap(), not_utf_8);
}
