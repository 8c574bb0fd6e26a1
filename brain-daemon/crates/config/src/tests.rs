//! Tests of the configuration through [`Config::load`], as a user sees it.

use super::*;

fn load(text: &str) -> Result<Config, Fault> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, text).unwrap();
    Config::load(&path, |_| None)
}

#[test]
fn base_url_must_be_canonical() {
    let with = |value: &str| load(&format!("[http]\nbase_url = \"{value}\"\n"));
    for good in ["https://brain.example.org", "https://brain.example.org/", "http://[::1]:3131"] {
        let config = with(good).unwrap();
        assert_eq!(config.http_base_url(), Some(good.trim_end_matches('/')));
    }
    for other in [
        "https://Brain.Example.org",
        "HTTPS://brain.example.org",
        "https://brain.example.org:443",
        "https:brain.example.org",
        "https://brain.example.org/.",
    ] {
        let fault = with(other).unwrap_err();
        assert!(fault.message.contains("written as https://brain.example.org"), "{other}: {fault}");
    }
    for bad in [
        "brain.example.org",
        "https://brain.example.org/mcp",
        "ftp://a",
        "https://a?b",
        "https://me@a",
    ] {
        let fault = with(bad).unwrap_err();
        assert!(fault.message.contains("is not the address of a service"), "{bad}: {fault}");
    }
}

#[test]
fn telephone_addresses_and_callers_are_checked() {
    let with = |line: &str| load(&format!("[voice]\n{line}\n"));
    let config = with("upstream = \"http://127.0.0.1:5050\"").unwrap();
    assert_eq!(config.voice.upstream.unwrap().authority(), "127.0.0.1:5050");
    let fault = with("upstream = \"https://agent.example\"").unwrap_err();
    assert!(fault.message.contains("is not an http:// address"), "{fault}");
    assert!(with("callers = [\"+49 151 1\", \"0049151\", \"client:ann\"]").is_ok());
    let fault = with("callers = [\"+49151\", \"0151 1\"]").unwrap_err();
    assert!(fault.message.contains("\"0151 1\" is not a full number"), "{fault}");
    // The account's token is sent to this address.
    assert!(with("api = \"http://127.0.0.1:4010\"").is_ok());
    let fault = with("api = \"http://api.example\"").unwrap_err();
    assert!(fault.message.contains("write https://"), "{fault}");
}

#[test]
fn defaults_obey_their_rules() {
    let config = Config::load(Path::new("/nonexistent/config.toml"), |_| None).unwrap();
    assert_eq!(config.daemon.connections, 256);
    for (key, text, origin) in config.entries() {
        assert_eq!((text, origin), (key.default, &ValueOrigin::Default));
        assert!(config.is_default(key.section, key.name));
    }
}

#[test]
fn unknown_key_is_reported_with_the_nearest() {
    let fault = load("[store]\ncache_bm = 3\n").unwrap_err();
    assert!(fault.message.contains("cache_bm"), "{fault:?}");
    assert!(fault.hint.unwrap().to_string().contains("cache_mb"));
    let fault = load("[stor]\ncache_mb = 3\n").unwrap_err();
    assert!(fault.hint.unwrap().to_string().contains("\"store\""));
}

#[test]
fn wrong_values_and_wrong_toml_are_refused() {
    assert!(load("[store]\ncache_mb = 0\n").unwrap_err().message.contains("from 1 to"));
    assert!(load("[daemon]\nlog = \"loud\"\n").unwrap_err().message.contains("is not one of"));
    let fault = load("[store]\ncache_mb = 3\n\n[daemon\n").unwrap_err();
    assert!(fault.message.contains("line 4, column 8: "), "{fault}");
    assert!(load("daemon = 3\n").unwrap_err().message.contains("[daemon]"));
}

#[test]
fn user_ids_are_a_list_or_an_array() {
    for text in ["[1000, 1001]", "\"1000, 1001\"", "\"1000 1001\""] {
        assert_eq!(
            load(&format!("[daemon]\nallow_uids = {text}\n")).unwrap().daemon.allow_uids,
            [1000, 1001]
        );
    }
    assert_eq!(load("[daemon]\nallow_uids = 1000\n").unwrap().daemon.allow_uids, [1000]);
    assert_eq!(load("").unwrap().daemon.allow_uids, Vec::<u32>::new());
    for text in ["\"ann\"", "[-1]", "[1.5]", "[[1]]", "\"1000;1001\"", "[\"1000\"]"] {
        let fault = load(&format!("[daemon]\nallow_uids = {text}\n")).unwrap_err();
        assert!(fault.message.contains("allow_uids"), "{fault:?}");
    }
}

#[test]
fn price_is_a_number_or_a_string() {
    for (text, millionths) in [
        ("0.15", 150_000),
        ("\"0.15\"", 150_000),
        ("3", 3_000_000),
        ("2.50", 2_500_000),
        ("0.000001", 1),
    ] {
        assert_eq!(
            load(&format!("[llm]\nprice_in = {text}\n")).unwrap().llm.price_in.millionths(),
            millionths,
            "{text}"
        );
    }
    for text in ["-0.15", "1e-7", "nan", "inf", "1e9", "\"$3\"", "\"0,15\"", "[0.15]"] {
        let fault = load(&format!("[llm]\nprice_in = {text}\n")).unwrap_err();
        assert!(fault.message.contains("llm.price_in"), "{fault:?}");
    }
    assert!(load("[store]\ncache_mb = 1.5\n").is_err(), "only amounts of money have decimals");
}

#[test]
fn passed_socket_overrides_the_configured_one() {
    let config = load("[daemon]\nsocket = \"/elsewhere.sock\"\n").unwrap();
    assert!(!config.socket_is_passed());
    let config = config.with_passed_socket("/run/brain/control.sock".into());
    assert!(config.socket_is_passed());
    assert_eq!(config.socket(&Home::at("/home".into())), Path::new("/run/brain/control.sock"));
}

#[test]
fn socket_of_a_home_that_cannot_hold_one_is_a_default() {
    let (home, outside) = (Home::at("/home".into()), Path::new("/run/user/7/brain.sock"));
    let config = load("").unwrap().with_socket_outside(outside.into());
    assert_eq!(config.socket(&home), outside);
    let config = load("[daemon]\nsocket = \"own.sock\"\n").unwrap();
    assert_eq!(
        config.with_socket_outside(outside.into()).socket(&home),
        home.root().join("own.sock")
    );
}

#[test]
fn changed_file_is_detected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    let config = Config::load(&path, |_| None).unwrap();
    assert!(!config.has_changed_file());
    std::fs::write(&path, "[store]\ncache_mb = 3\n").unwrap();
    assert!(config.has_changed_file());
    assert!(!Config::load(&path, |_| None).unwrap().has_changed_file());
}

#[test]
fn file_that_cannot_be_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let fault = Config::load(dir.path(), |_| None).unwrap_err();
    assert_eq!(fault.code, FaultCode::InvalidConfig);
}

#[test]
fn time_span_is_a_number_and_a_unit() {
    for (text, seconds) in
        [("90s", 90), ("1m", 60), ("24h", 86_400), ("7d", 604_800), ("007m", 420)]
    {
        let config = load(&format!("[backup]\nevery = \"{text}\"\nkept_every = \"{text}\"\n"));
        let backup = config.unwrap().backup;
        let ms = seconds * 1000;
        assert_eq!((backup.every_ms(), backup.kept_every_ms()), (ms, ms), "{text}");
    }
    for text in
        ["", "24", "h", "1.5h", "-1h", "1 h", "1H", "24 hours", "١h", "99999999999999999999d"]
    {
        let fault = load(&format!("[backup]\nevery = \"{text}\"\n")).unwrap_err();
        assert!(
            fault.message.contains("backup.every") && fault.message.contains("24h"),
            "{fault:?}"
        );
    }
    for text in ["59s", "366d"] {
        let fault = load(&format!("[backup]\nevery = \"{text}\"\n")).unwrap_err();
        assert!(fault.message.contains("between 1m and 365d"), "{fault:?}");
    }
    assert!(load("[backup]\nevery = 24\n").is_err(), "a number without a unit");
    for (text, days) in [("forever", None), ("90d", Some(90)), ("2y", Some(730))] {
        let keep = load(&format!("[history]\nkeep = \"{text}\"\n")).unwrap().history.keep;
        assert_eq!(keep.map(|keep| keep.as_secs() / 86_400), days, "{text}");
    }
    assert_refused("history", "keep", &["\"2w\"", "\"0d\"", "\"101y\""], "history.keep");
}

#[test]
fn backups_are_off_without_a_directory() {
    let home = Home::at("/home".into());
    assert_eq!(load("").unwrap().backup.directory(&home), None);
    let at = |dir: &str| {
        load(&format!("[backup]\ndir = \"{dir}\"\n")).unwrap().backup.directory(&home).unwrap()
    };
    assert_eq!((at("kept"), at("/disk/kept")), ("/home/kept".into(), "/disk/kept".into()));
    assert!(at("~/kept").ends_with("kept") && !at("~/kept").starts_with("/home/~"));
}

#[test]
fn environment_overrides_the_file_and_is_the_origin() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, "[store]\ncache_mb = 3\nmin_free_mb = 5\n").unwrap();
    let env = |name: &str| (name == "BRAIN_STORE_CACHE_MB").then(|| "7".to_owned());
    let config = Config::load(&path, env).unwrap();
    assert_eq!((config.store.cache_mb, config.store.min_free_mb), (7, 5));
    let origin = |name: &str| config.entries().find(|(k, ..)| k.name == name).unwrap().2.clone();
    assert_eq!(origin("cache_mb"), ValueOrigin::Environment("BRAIN_STORE_CACHE_MB".into()));
    assert_eq!(origin("min_free_mb"), ValueOrigin::File(path));
    assert_eq!(origin("log"), ValueOrigin::Default);
    assert!(config.is_default("daemon", "log") && !config.is_default("store", "cache_mb"));
}

#[test]
fn printed_configuration_has_the_same_values() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    let file = "[daemon]\nallow_uids = [7, 8]\nlog = \"debug\"\n[sources]\nwatch = true\n\
        include = [\"a \\\"b\\\"\", \"c\\\\d\"]\n[llm]\nprice_in = 0.15\nmodel = \"007\"\n";
    std::fs::write(&path, file).unwrap();
    let config = Config::load(&path, |_| None).unwrap();
    let printed = config.to_toml();
    for line in [
        "watch = true",
        "log = \"debug\"",
        "price_in = 0.15",
        "model = \"007\"",
        "cache_mb = 4",
        "exclude = []",
        "[sources]",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}: {printed}");
    }
    let again = load(&printed).unwrap();
    let texts = |config: &Config| config.entries().map(|e| e.1.to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(&again), texts(&config));
}

/// Asserts that the file's key refuses each of `values` (TOML), with a message that has `expected`.
fn assert_refused(section: &str, name: &str, values: &[&str], expected: &str) {
    for value in values {
        let fault = load(&format!("[{section}]\n{name} = {value}\n")).unwrap_err();
        let key = format!("{section}.{name}");
        assert_eq!(fault.code, FaultCode::InvalidConfig);
        assert!(
            fault.message.contains(&key) && fault.message.contains(expected),
            "{value}: {fault}"
        );
    }
}

#[test]
fn texts_are_an_array_in_the_file_and_json_in_a_variable() {
    let file = "[collector]\nsearches = [\"\\\"a phrase\\\" OR #tag\", \" -from:me, lang:en \"]\n";
    let expected = ["\"a phrase\" OR #tag", "-from:me, lang:en"];
    assert_eq!(load(file).unwrap().collector.searches, expected);
    // The environment overrides the file.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, file).unwrap();
    let with = |value: &'static str| {
        Config::load(&path, move |name| {
            (name == "BRAIN_COLLECTOR_SEARCHES").then(|| value.to_owned())
        })
    };
    assert_eq!(with(r#"["one, two", "ü"]"#).unwrap().collector.searches, ["one, two", "ü"]);
    assert_eq!(with("[]").unwrap().collector.searches, Vec::<String>::new());
    for bad in [
        "one",
        "\"one\"",
        "{}",
        "[1]",
        "[\"one\"",
        "[\"\"]",
        "[\" \"]",
        "[\"a\\nb\"]",
        "[null]",
        "[[\"a\"]]",
        "",
    ] {
        let fault = with(bad).unwrap_err();
        assert!(
            fault.message.contains("$BRAIN_COLLECTOR_SEARCHES")
                && fault.message.contains("list of texts"),
            "{bad}"
        );
    }
    assert_refused(
        "collector",
        "searches",
        &["[1]", "[\"a\", \"\"]", "[[\"a\"]]", "\"one\"", "[{a = 1}]"],
        "list of texts",
    );
    assert!(load("[collector]\nsearches = 1979-05-27\n").is_err());
}

#[test]
fn handle_has_the_form_of_the_platform() {
    for (given, expected) in [
        ("garry", Some("garry")),
        ("@Garry_1", Some("Garry_1")),
        ("", None),
        ("a23456789012345", Some("a23456789012345")),
    ] {
        let config = load(&format!("[collector]\nhandle = \"{given}\"\n")).unwrap();
        assert_eq!(config.collector.handle.as_deref(), expected, "{given}");
    }
    let bad = [
        "\"@\"",
        "\"@@a\"",
        "\"a b\"",
        "\"a-b\"",
        "\"a23456789012345x\"",
        "\"é\"",
        "\"../a\"",
        "\"a\\n\"",
    ];
    assert_refused("collector", "handle", &bad, "is not a handle");
}

#[test]
fn user_id_keeps_its_digits() {
    let id =
        |text: &str| load(&format!("[collector]\nuser_id = {text}\n")).unwrap().collector.user_id;
    assert_eq!(id("\"1234567890123456789\"").as_deref(), Some("1234567890123456789"));
    // TOML's whole numbers have 64 bits, so nothing is rounded.
    assert_eq!(id("9007199254740993").as_deref(), Some("9007199254740993"));
    assert_eq!(id("\"\""), None);
    assert_refused(
        "collector",
        "user_id",
        &["\"-1\"", "\"12345678901234567890\"", "\"1e3\"", "\" 1\"", "-1", "\"١\""],
        "19 digits",
    );
    assert_refused("collector", "user_id", &["1.5"], "cannot be a float");
}

#[test]
fn collector_runs_each_half_hour_by_default() {
    let config = load("").unwrap();
    assert!(config.collector.enabled);
    assert_eq!(config.collector_task().cron(), "0 0,30 * * * *");
    assert_eq!(config.ratings_task(), None, "off until it is switched on");
    assert!(!config.collector.has_analyses());
    for key in ["ratings", "articles", "videos"] {
        let config = load(&format!("[collector]\n{key} = true\n")).unwrap();
        assert!(config.collector.has_analyses(), "{key}");
    }
    assert!(!config.collector.stream && !config.collector.outbound);
    let config =
        load("[collector]\nevery = \"1h\"\nat = 20\nratings = true\nratings_at = 25\n").unwrap();
    assert_eq!(config.collector_task().cron(), "0 20 * * * *");
    assert_eq!(config.ratings_task().unwrap().cron(), "0 25,55 * * * *");
    assert_refused("collector", "every", &["\"59s\"", "\"25h\"", "\"often\""], "collector.every");
}

#[test]
fn two_tasks_in_one_minute_are_refused_with_their_names() {
    let fault = load("[collector]\nratings = true\nratings_at = 30\n").unwrap_err();
    assert_eq!(fault.code, FaultCode::InvalidConfig);
    let text = fault.message.as_str();
    assert!(text.contains("collector and collector.ratings") && text.contains("00:00"), "{text}");
    let hint = fault.hint.unwrap();
    for key in ["collector.at", "collector.every", "collector.ratings_at"] {
        assert!(hint.to_string().contains(key), "{hint}");
    }
    // A disabled task uses no minute.
    assert!(load("[collector]\nratings_at = 30\n").is_ok());
    // A task that starts each minute leaves none for another.
    let fault = load("[collector]\nevery = \"1m\"\nratings = true\n").unwrap_err();
    assert!(fault.message.contains("00:15"), "{fault}");
    // Values of the environment are checked, too.
    let env = |name: &str| match name {
        "BRAIN_COLLECTOR_RATINGS" => Some("true".to_owned()),
        "BRAIN_COLLECTOR_AT" => Some("45".to_owned()),
        _ => None,
    };
    assert!(
        Config::load(Path::new("/nonexistent/config.toml"), env)
            .unwrap_err()
            .message
            .contains("00:15")
    );
    // 50 minutes do not divide a day, so conflicts cannot be excluded.
    let fault = load("[collector]\nevery = \"50m\"\n").unwrap_err();
    assert!(
        fault.message.contains("collector.every")
            && fault.hint.unwrap().to_string().contains("30m")
    );
}

#[test]
fn a_minute_is_left_for_backups() {
    let with = |every: &str, more: &str| {
        load(&format!("[backup]\ndir = \"kept\"\n[collector]\nevery = \"{every}\"\n{more}"))
    };
    let fault = with("1m", "").unwrap_err();
    assert!(fault.message.contains("collector") && fault.message.contains("backup"), "{fault}");
    assert!(fault.hint.unwrap().to_string().contains("2m"));
    assert!(with("1m", "enabled = false\n").is_ok());
    assert!(with("2m", "").is_ok());
    assert!(
        load("[collector]\nevery = \"1m\"\n").is_ok(),
        "without backups, no minute must be free"
    );
}

#[test]
fn outbound_needs_the_stream() {
    let fault = load("[collector]\noutbound = true\n").unwrap_err();
    assert!(fault.message.contains("collector.stream") && fault.hint.is_some(), "{fault}");
    assert!(load("[collector]\noutbound = true\nstream = true\n").is_ok());
}

#[test]
fn platform_address_must_be_https_or_local() {
    let with = |url: &str| load(&format!("[collector]\nplatform_api = \"{url}\"\n"));
    for good in
        ["https://api.x.com", "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:1"]
    {
        assert!(with(good).is_ok(), "{good}");
    }
    for bad in
        ["", "http://api.x.com", "http://192.168.1.7", "http://localhost.example", "api.x.com"]
    {
        assert!(with(bad).unwrap_err().message.contains("platform_api"), "{bad}");
    }
}

#[test]
fn wrong_value_is_refused_even_if_overridden() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, "[store]\ncache_mb = 0\n").unwrap();
    let env = |name: &str| (name == "BRAIN_STORE_CACHE_MB").then(|| "7".to_owned());
    assert!(Config::load(&path, env).unwrap_err().message.contains("store.cache_mb"));
}

#[test]
fn rate_and_daily_limits_can_be_off() {
    let config = load("").unwrap();
    assert_eq!(config.ingest.rate, Some(Rate { calls: 100, seconds: 10 }));
    assert_eq!(config.ingest.daily_pages, Some(50_000));
    let config = load("[ingest]\nrate = \"off\"\ndaily_pages = 0\n").unwrap();
    assert_eq!((config.ingest.rate, config.ingest.daily_pages), (None, None));
    assert!(load("[ingest]\nrate = \"1/24h\"\n").is_ok());
    let bad = ["\"0/10s\"", "\"100\"", "\"100/10\"", "\"1000001/1s\"", "\"1/25h\"", "100"];
    assert_refused("ingest", "rate", &bad, "neither a rate such as");
}

fn load_env(values: &[(&str, &str)]) -> Result<Config, Fault> {
    let env = |name: &str| {
        values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    Config::load(Path::new("/nowhere/config.toml"), env)
}

#[test]
fn model_address_has_scheme_host_and_path_only() {
    for good in [
        "",
        "http://127.0.0.1:11434/v1",
        "https://gateway.example/a/b/",
        "https://api.openai.com/v1",
    ] {
        assert!(load_env(&[("BRAIN_LLM_BASE_URL", good)]).is_ok(), "{good}");
    }
    for bad in [
        "127.0.0.1:11434",
        "ftp://host/",
        "https://",
        "https://user@host/v1",
        "https://:sk-key@host/v1",
        "https://host/v1?key=sk-key",
        "https://host/v1#x",
        "https://host/ v1",
        "sk-key",
    ] {
        let fault = load_env(&[("BRAIN_LLM_BASE_URL", bad)]).unwrap_err();
        assert!(fault.message.contains("BRAIN_LLM_BASE_URL"), "{}", fault.message);
        assert!(!fault.message.contains("sk-key"), "{}", fault.message);
    }
}

#[test]
fn images_need_a_provider_and_a_vision_model() {
    let images = ("BRAIN_COLLECTOR_IMAGES", "true");
    let provider = ("BRAIN_LLM_PROVIDER", "openai");
    for incomplete in
        [vec![images], vec![images, provider], vec![images, ("BRAIN_LLM_VISION_MODEL", "v")]]
    {
        assert!(load_env(&incomplete).unwrap_err().message.contains("collector.images"));
    }
    assert!(load_env(&[images, provider, ("BRAIN_LLM_VISION_MODEL", "v")]).is_ok());
}
