//! Models on this machine: they are installed from a directory or a file, refused if they are
//! invalid, and used without a restart.

use std::path::{Path, PathBuf};

use brain_tests::{TestHome, slugs, tiny_model};
use serde_json::Value;

use crate::meaning_endpoint::wait_for_vectors;

/// Writes the tiny model of `seed` to a directory outside the home.
fn write_model(home: &TestHome, name: &str, seed: u64) -> PathBuf {
    let dir = home.outside().join(name);
    tiny_model::write(&dir, seed);
    dir
}

fn install(home: &TestHome, from: &Path, more: &[&str]) -> Value {
    let mut args = vec!["model", "install", from.to_str().unwrap()];
    args.extend(more);
    home.json(args)
}

/// Returns the sorted names in `models/`, without that of the lock file.
fn installed_names(home: &TestHome) -> Vec<String> {
    let entries = std::fs::read_dir(home.path().join("models")).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|n| n != ".lock")
        .collect();
    names.sort();
    names
}

#[test]
fn a_model_from_a_directory_is_used_at_once() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("notes/garage", "# House\n\nThe automobile and the car at the house.\n");
    home.put("notes/kitchen", "# Home\n\nThe loaf of the baker and the loaf.\n");
    assert!(home.search("vehicle").is_empty(), "without vectors the word is not found");

    let dir = write_model(&home, "tiny", 7);
    let installed = install(&home, &dir, &[]);
    assert_eq!((&installed["name"], &installed["dimensions"]), (&"tiny".into(), &32.into()));
    assert_eq!(installed["already"], false);
    assert!(installed["message"].as_str().unwrap().contains("from now on"), "{installed}");
    let list = wait_for_vectors(&home);
    assert_eq!(
        (&list["provider"], &list["model"], &list["pages"]),
        (&"local".into(), &"tiny".into(), &2.into())
    );
    assert_eq!(list["installed"][0]["used"], true);
    let answer = home.json(["search", "vehicle"]);
    assert_eq!(
        slugs(&answer["hits"]).first().map(String::as_str),
        Some("notes/garage"),
        "{answer}"
    );
    assert!(answer["degraded"].is_null(), "{answer}");

    // Installing the same model again changes nothing; a file in the directory works like the
    // directory.
    assert_eq!(install(&home, &dir, &[])["already"], true);
    let file = install(&home, &dir.join("model.safetensors"), &["--name", "tiny"]);
    assert_eq!((&file["already"], &file["sha256"]), (&true.into(), &installed["sha256"]));
    assert_eq!(installed_names(&home), ["tiny"]);

    // A changed model replaces the former one and gets new vectors.
    let newer = install(&home, &write_model(&home, "newer", 8), &[]);
    assert_ne!(newer["sha256"], installed["sha256"]);
    let list = wait_for_vectors(&home);
    assert_eq!((&list["model"], &list["pages"]), (&"newer".into(), &2.into()));
    assert_eq!(home.search("bread").first().map(String::as_str), Some("notes/kitchen"));
}

#[test]
fn a_model_survives_a_restart_and_can_be_chosen() {
    let mut home = TestHome::new();
    let daemon = home.daemon();
    home.put("notes/garage", "# Garage\n\nThe automobile stands in the yard and rusts.\n");
    install(&home, &write_model(&home, "one", 1), &[]);
    install(&home, &write_model(&home, "two", 2), &[]);
    assert_eq!(wait_for_vectors(&home)["model"], "two");
    drop(daemon);
    home.env.push(("BRAIN_EMBEDDING_MODEL".into(), "one".into()));
    let daemon = home.daemon();
    assert_eq!(wait_for_vectors(&home)["model"], "one");
    let third = install(&home, &write_model(&home, "three", 3), &[]);
    assert!(third["message"].as_str().unwrap().contains("search uses \"one\""), "{third}");
    assert_eq!(home.search("vehicle").first().map(String::as_str), Some("notes/garage"));
    drop(daemon);
    home.env.push(("BRAIN_EMBEDDING_PROVIDER".into(), "none".into()));
    let _daemon = home.daemon();
    assert_eq!(home.json(["model", "list"])["provider"], "none");
    assert!(home.search("vehicle").is_empty());
}

#[test]
fn an_invalid_model_is_refused_and_nothing_changes() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = write_model(&home, "tiny", 7);
    let good = install(&home, &dir, &[]);
    let installed_weights =
        std::fs::read(home.path().join("models/tiny/model.safetensors")).unwrap();

    // The hash differs from the hash that the owner gave.
    let path = dir.to_str().unwrap();
    let zeros = "0".repeat(64);
    let error = home.fault(["model", "install", path, "--name", "other", "--sha256", &zeros], 1);
    assert_eq!(error["code"], "conflict");
    assert!(
        error["message"].as_str().unwrap().contains(good["sha256"].as_str().unwrap()),
        "{error}"
    );
    assert_eq!(home.fault(["model", "install", path, "--sha256", "abc"], 2)["code"], "usage");

    // The directory from which the model was installed now has other weights.
    let weights = dir.join("model.safetensors");
    tiny_model::write(&dir, 9);
    let error = home.fault(["model", "install", path], 1);
    assert_eq!(error["code"], "conflict", "{error}");

    // Damaged, shortened and missing files, and no model at all.
    let other = write_model(&home, "other", 9);
    let bytes = std::fs::read(&weights).unwrap();
    for (file, content) in [
        ("model.safetensors", bytes[..bytes.len() / 2].to_vec()),
        ("model.safetensors", b"<html>not found</html>".to_vec()),
        ("tokenizer.json", b"{".to_vec()),
        ("config.json", b"{}".to_vec()),
    ] {
        let original = std::fs::read(other.join(file)).unwrap();
        std::fs::write(other.join(file), content).unwrap();
        let error = home.fault(["model", "install", other.to_str().unwrap()], 1);
        assert!(error["message"].as_str().unwrap().contains(file), "{file}: {error}");
        std::fs::write(other.join(file), original).unwrap();
    }
    std::fs::remove_file(other.join("tokenizer.json")).unwrap();
    let error = home.fault(["model", "install", other.to_str().unwrap()], 4);
    assert!(error["message"].as_str().unwrap().contains("tokenizer.json"), "{error}");

    assert_eq!(installed_names(&home), ["tiny"]);
    assert_eq!(
        std::fs::read(home.path().join("models/tiny/model.safetensors")).unwrap(),
        installed_weights
    );
    assert_eq!(home.json(["model", "list"])["model"], "tiny");
}

#[test]
fn foreign_files_among_the_models_are_left_alone() {
    let home = TestHome::new();
    let models = home.path().join("models");
    std::fs::create_dir_all(&models).unwrap();
    let dir = write_model(&home, "tiny", 7);
    let elsewhere = write_model(&home, "elsewhere", 8);
    std::fs::write(models.join("file"), "mine").unwrap();
    std::fs::create_dir(models.join("notes")).unwrap();
    std::fs::write(models.join("notes/diary.md"), "mine").unwrap();
    std::os::unix::fs::symlink(&elsewhere, models.join("linked")).unwrap();
    std::os::unix::fs::symlink("/nowhere", models.join("broken")).unwrap();
    // brain removes leftovers of an interrupted installation.
    std::fs::write(models.join("tiny.tmp"), "").unwrap();
    std::fs::write(models.join(".tiny.old"), "").unwrap();
    // The owner moved this model away, so it stays.
    tiny_model::write(&models.join("tiny.old"), 4);
    let _daemon = home.daemon();
    // A link to a model works like a model.
    assert_eq!(home.json(["model", "list"])["model"], "linked");
    for name in ["file", "notes", "linked", "broken"] {
        let error = home.fault(["model", "install", dir.to_str().unwrap(), "--name", name], 1);
        assert_eq!(error["code"], "conflict", "{name}: {error}");
        assert!(error["hint"].as_str().unwrap().contains("--name"), "{error}");
    }
    // A model cannot be installed from the place where models are prepared.
    tiny_model::write(&models.join("ready.tmp"), 3);
    let ready = models.join("ready.tmp");
    let error = home.fault(["model", "install", ready.to_str().unwrap(), "--name", "ready"], 2);
    assert_eq!(error["code"], "usage", "{error}");
    assert!(
        ready.join("model.safetensors").is_file() && elsewhere.join("model.safetensors").is_file()
    );
    install(&home, &dir, &[]);
    assert_eq!(
        installed_names(&home),
        ["broken", "file", "linked", "notes", "ready.tmp", "tiny", "tiny.old"]
    );
    assert_eq!(std::fs::read_to_string(models.join("notes/diary.md")).unwrap(), "mine");
    assert_eq!(wait_for_vectors(&home)["model"], "tiny");
}

#[test]
fn a_path_without_a_model_is_refused_with_a_hint() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let wheel = home.outside().join("model.whl");
    std::fs::write(&wheel, "PK").unwrap();
    for (from, code, expected_hint) in [
        ("all-minilm-l6", 4, "all-minilm-l6-v2"),
        ("nonsense", 4, "known names"),
        ("http://files.example.org/model.safetensors", 2, "directory"),
        ("https://files.example.org/", 2, "config.json"),
        (wheel.to_str().unwrap(), 2, "unpack it"),
        // A URL of this machine is not fetched.
        ("https://127.0.0.1/m/model.safetensors", 1, "public https"),
        ("https://localhost/m/model.safetensors", 1, "public https"),
    ] {
        let error = home.fault(["model", "install", from], code);
        assert!(
            error["hint"].as_str().unwrap_or_default().contains(expected_hint),
            "{from}: {error}"
        );
    }
    assert_eq!(home.fault(["model", "install", "./no-such-directory"], 1)["code"], "io");
    assert_eq!(home.fault(["model", "install"], 2)["code"], "usage");
    assert_eq!(home.fault(["model", "list", "--name", "x"], 2)["code"], "usage");
}

#[test]
fn a_full_disk_is_reported_and_the_next_try_succeeds() {
    let mut home = TestHome::new();
    let models = home.path().join("models");
    if !home.mount(&models, "size=64k,mode=700") {
        return;
    }
    let _daemon = home.daemon();
    let dir = write_model(&home, "tiny", 7);
    let error = home.fault(["model", "install", dir.to_str().unwrap()], 1);
    assert_eq!(error["code"], "disk_full", "{error}");
    assert!(error["hint"].as_str().unwrap().contains("make room"), "{error}");
    home.remount("size=20m");
    assert_eq!(install(&home, &dir, &[])["name"], "tiny");
    assert_eq!(installed_names(&home), ["tiny"]);
}

/// Returns the largest resident memory of the process, in MB.
fn peak_memory_mb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Returns a tokenizer whose vocabulary has `[UNK]` and the hexadecimal numbers from 1 to
/// `entries` - 1.
fn tokenizer(entries: usize) -> String {
    let mut vocab = String::from("\"[UNK]\":0");
    for n in 1..entries {
        vocab.push_str(&format!(",\"{n:x}\":{n}"));
    }
    format!(
        "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\
         \"normalizer\":null,\"pre_tokenizer\":{{\"type\":\"Whitespace\"}},\"post_processor\":null,\
         \"decoder\":null,\"model\":{{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\
         \"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":{{{vocab}}\
         }}}}}"
    )
}

/// Returns a tokenizer of less than 64 MB whose words make a large tree.
fn hostile_tokenizer() -> String {
    let mut vocab = String::from("[\"<unk>\",0]");
    for n in 1..4_500_000 {
        vocab.push_str(&format!(",[\"{n:x}\",0]"));
    }
    format!(
        "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\
         \"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\
         \"model\":{{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[{vocab}]}}}}"
    )
}

#[test]
fn a_tokenizer_that_needs_gigabytes_is_refused() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let dir = write_model(&home, "tiny", 7);
    let tokenizer_path = dir.join("tokenizer.json");
    let text = hostile_tokenizer();
    assert!(text.len() < 64 << 20, "the file is below the size limit");
    std::fs::write(&tokenizer_path, text).unwrap();
    let error = home.fault(["model", "install", dir.to_str().unwrap()], 1);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("tokenizer.json") && message.contains("1 GB of memory"), "{error}");
    assert!(peak_memory_mb(daemon.pid()) < 250, "{} MB", peak_memory_mb(daemon.pid()));
    assert!(installed_names(&home).is_empty());
    // As many words as the largest tokenizers in use.
    std::fs::write(&tokenizer_path, tokenizer(250_000)).unwrap();
    home.json(["model", "install", dir.to_str().unwrap()]);
    assert_eq!(installed_names(&home), ["tiny"]);
}

/// Returns the CPU time of the finished children of a process, in ticks.
fn children_cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The text after the name begins with field 3; the children's times are fields 16 and 17.
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[13..15].iter().map(|field| field.parse::<u64>().unwrap()).sum()
}

#[test]
fn a_list_checks_a_tokenizer_once_per_change() {
    let home = TestHome::new();
    let daemon = home.daemon();
    // Large enough that a check takes measurable time.
    for name in ["one", "two"] {
        let dir = home.path().join("models").join(name);
        tiny_model::write(&dir, 7);
        std::fs::write(dir.join("tokenizer.json"), tokenizer(200_000)).unwrap();
    }
    let list = || home.json(["model", "list"])["installed"].clone();
    let before = children_cpu_ticks(daemon.pid());
    let first = list();
    let after_check = children_cpu_ticks(daemon.pid());
    assert!(after_check > before, "no tokenizer was checked in a separate process");
    for _ in 0..3 {
        assert_eq!(list(), first);
    }
    assert_eq!(children_cpu_ticks(daemon.pid()), after_check, "the results are not cached");
    // A changed file is checked again, and each list reports its error.
    std::fs::write(home.path().join("models/two/tokenizer.json"), hostile_tokenizer()).unwrap();
    let second = list();
    assert_eq!((second.as_array().unwrap().len(), &second[0]), (2, &first[0]));
    let problem = second[1]["problem"].as_str().unwrap();
    assert!(problem.contains("takes more than 1 GB of memory"), "{problem}");
    let after_check = children_cpu_ticks(daemon.pid());
    assert_eq!(list(), second);
    assert_eq!(children_cpu_ticks(daemon.pid()), after_check);
    assert!(peak_memory_mb(daemon.pid()) < 400, "{} MB", peak_memory_mb(daemon.pid()));
}

#[test]
fn an_install_ends_when_its_client_disconnects() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = write_model(&home, "tiny", 7);
    std::fs::write(dir.join("tokenizer.json"), tokenizer(1_000_000)).unwrap();
    let mut command = home.command("brain");
    command.args(["model", "install", dir.to_str().unwrap()]);
    let mut client = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let tmp = home.path().join("models/tiny.tmp");
    let deadline = std::time::Instant::now() + brain_tests::TEST_TIMEOUT;
    while !tmp.join("model.safetensors").exists() && client.try_wait().unwrap().is_none() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(client.try_wait().unwrap().is_none(), "the installation ended by itself");
    client.kill().unwrap();
    client.wait().unwrap();
    // Retry until the daemon has cancelled the first installation and released its lock.
    tiny_model::write(&dir, 8);
    loop {
        let output =
            home.brain(["model", "install", dir.to_str().unwrap(), "--name", "other", "--json"]);
        if output.code == 0 {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{output:?}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(installed_names(&home), ["other"], "the first installation was cancelled");
}
