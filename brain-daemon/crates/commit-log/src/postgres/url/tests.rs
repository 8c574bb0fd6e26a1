use super::*;

fn parse(url: &str) -> Result<ServerUrl, Error> {
    ServerUrl::parse(&Secret::new(url))
}

fn refusal(url: &str) -> String {
    parse(url).unwrap_err().to_string()
}

fn mode(url: &str) -> SslMode {
    parse(url).unwrap().targets()[0].config.get_ssl_mode()
}

#[test]
fn tls_is_required_except_on_this_machine() {
    for (url, expected) in [
        ("postgresql://u:p@db.example.com/brain", SslMode::Require),
        ("postgresql://u:p@db.example.com/brain?sslmode=prefer", SslMode::Require),
        ("postgresql://u:p@localhost,db.example.com/brain", SslMode::Require),
        ("postgresql://u:p@localhost/brain?hostaddr=192.0.2.1", SslMode::Require),
        ("postgresql://u:p@localhost/brain", SslMode::Disable),
        ("postgresql://u:p@127.0.0.1,[::1]/brain", SslMode::Disable),
        ("postgresql:///brain?user=u&host=/run/postgresql", SslMode::Disable),
        ("postgresql://u:p@localhost/brain?sslmode=verify-full", SslMode::Require),
        ("postgresql://u:p@localhost/brain?sslrootcert=/etc/ca.pem", SslMode::Require),
        ("postgresql://u:p@[::1]/brain?sslrootcert=system", SslMode::Require),
        ("postgresql://u:p@localhost/brain?sslmode=prefer&sslrootcert=/ca.pem", SslMode::Require),
        ("postgresql://u:p@localhost/brain?sslmode=disable&sslrootcert=/ca", SslMode::Disable),
    ] {
        assert_eq!(mode(url), expected, "{url}");
    }
    let refused = refusal("postgresql://u:p@db.example.com/brain?sslmode=disable");
    assert!(refused.contains("unencrypted"), "{refused}");
}

#[test]
fn a_second_at_sign_is_refused() {
    for url in [
        "postgresql://brain:Tr0ub4dor@Horse9!@127.0.0.1:5432/brain",
        "postgresql://brain:Tr0ub4dor@Horse9/x@127.0.0.1:5432/brain",
        "postgresql://brain:Tr0ub4dor@Horse9?x=y@127.0.0.1/brain",
        "postgresql://brain:Tr0ub4dor@@Horse9/brain",
        "postgresql://ada@Horse9:Tr0ub4dor@db.example.com/brain",
        "postgresql://u:Tr0ub4dor@one,u:Horse9@two/brain",
        "postgresql://u:Tr0ub4dor@db/Horse9@brain",
        "postgresql://u:Tr0ub4dor@db/brain?password=Horse9@",
    ] {
        let refused = refusal(url);
        assert!(refused.contains("%40"), "{url}: {refused}");
        assert!(!refused.contains("Horse9") && !refused.contains("Tr0ub"), "{url}: {refused}");
    }
    let escaped = parse("postgresql://brain:Tr0ub4dor%40Horse9!@127.0.0.1:5432/brain").unwrap();
    assert_eq!(escaped.targets()[0].config.get_password(), Some(&b"Tr0ub4dor@Horse9!"[..]));
    assert_eq!(escaped.address(), "127.0.0.1:5432/brain");
}

#[test]
fn the_password_is_in_no_message() {
    let url = parse("postgresql://u:hunter2@one.example.com:6432,two.example.com/b").unwrap();
    assert_eq!(url.address(), "one.example.com:6432,two.example.com:5432/b");
    assert_eq!(format!("{url:?}"), format!("ServerUrl({})", url.address()));
    for url in [
        "hunter2",
        "mysql://u:hunter2@host/b",
        "host=db user=u password=hunter2",
        "postgresql://u:hunter2@host:port/b",
        "postgresql://u:p@host:hunter2/b",
        "postgresql://u:p@hunter2!/b",
        "postgresql://u:p@hunter2%40host/b",
        "postgresql://u:p@hunter2 host/b",
        "postgresql://u:p@[hunter2]/b",
        "postgresql://u:p@host,,hunter2/b",
        "postgresql://u:hunter2/b",
        "postgresql://hunter2/b",
        "postgresql://u:p@/hunter2",
        "postgresql://u:hunter2@host/b?hunter2=1",
        "postgresql://u@host/b?password=p&hunter2",
        "postgresql://u@host/b?password=p&hunter2=1",
        "postgresql://u:p@host/b?connect_timeout=hunter2",
        "postgresql://u:p@host/b?hostaddr=hunter2",
        "postgresql://u:p@host/b?port=hunter2",
        "postgresql://u:p@host/b?sslmode=hunter2",
        "postgresql:///b?application_name=hunter2@host",
    ] {
        let error = parse(url).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{url}: {error:?}");
    }
    for url in ["postgresql://u:p/hunter2@host/b", "postgresql://u:p?hunter2@host/b"] {
        let parsed = parse(url).unwrap();
        assert_eq!(parsed.address(), "host:5432/b");
        assert!(!format!("{parsed:?}").contains("hunter2"));
    }
}

#[test]
fn a_refused_option_is_named() {
    for (option, word) in [
        ("target_session_attrs=standby", "target_session_attrs"),
        ("target_session_attrs=read-only", "read-write"),
        ("connection_limit=1", "connection_limit"),
        ("gssencmode=require", "gssencmode"),
        ("sslcert=/x", "sslcert"),
        ("schema=x", "--namespace"),
        ("connect_timeout=soon", "connect_timeout"),
        ("channel_binding=maybe", "channel_binding"),
        ("sslmode=no-verify", "verify-full"),
        ("application_name=x&nonsense=1", "option 2 is unknown"),
        ("nonsense", "option 1 is unknown"),
    ] {
        let refused = refusal(&format!("postgresql://u:p@db/b?{option}"));
        assert!(refused.contains(word), "{option}: {refused}");
    }
    for option in [
        "target_session_attrs=primary",
        "target_session_attrs=read-write",
        "gssencmode=disable",
        "pgbouncer=true",
        "keepalives_count=3",
        "channel_binding=require",
        "options=-c%20search_path%3Dx",
        "sslmod%65=require",
        "",
        "&",
    ] {
        parse(&format!("postgresql://u:p@db/b?{option}")).expect(option);
    }
}

#[test]
fn values_of_options_are_decoded() {
    let url = parse("postgresql://u:p@h/b?sslrootcert=/home/ada/My%20Keys/a%40b.pem").unwrap();
    assert_eq!(url.root_certificates, Some(PathBuf::from("/home/ada/My Keys/a@b.pem")));
    let url = parse("postgresql://u:p@h/b?sslrootcert=system").unwrap();
    assert_eq!(url.root_certificates, None);
    let url = parse("postgresql://u%40x:p%2F%25@h/b%20c?application_name=x%20y").unwrap();
    let config = &url.targets()[0].config;
    assert_eq!((config.get_user(), config.get_dbname()), (Some("u@x"), Some("b c")));
    assert_eq!(config.get_password(), Some(&b"p/%"[..]));
    assert_eq!(config.get_application_name(), Some("x y"));
}

#[test]
fn each_host_is_a_target_of_its_own() {
    let address = |url: &str| parse(url).unwrap().address().to_owned();
    let with = |rest: &str| address(&format!("postgresql://u:p@{rest}"));
    assert_eq!(with("[::1]:6000,[2001:db8::1]/b"), "[::1]:6000,[2001:db8::1]:5432/b");
    assert_eq!(with("one,two:/b"), "one:5432,two:5432/b");
    assert_eq!(with("/b?host=one,two&port=1,2"), "one:1,two:2/b");
    assert_eq!(with("/b?host=::1&port=6000"), "[::1]:6000/b");
    assert_eq!(with("/b?hostaddr=2001:db8::1"), "[2001:db8::1]:5432/b");
    assert_eq!(with("%2Frun%2Fpostgresql/b"), "/run/postgresql:5432/b");
    assert_eq!(with("h"), "h:5432/u");
    let url = parse("postgresql://u:p@one,two:7/b?hostaddr=192.0.2.1,2001:db8::1").unwrap();
    for (target, (host, ip, port)) in
        url.targets().iter().zip([("one", "192.0.2.1", 5432), ("two", "2001:db8::1", 7)])
    {
        assert_eq!(target.config.get_hosts(), [Host::Tcp(host.to_owned())]);
        assert_eq!(target.config.get_hostaddrs(), [ip.parse::<IpAddr>().unwrap()]);
        assert_eq!(target.config.get_ports(), [port]);
        assert_eq!(target.name(), None);
    }
    for rest in ["one,two/b?hostaddr=192.0.2.1", "one,two/b?port=1,2,3", "::1:5432/b", "h:0/b"] {
        parse(&format!("postgresql://u:p@{rest}")).expect_err(rest);
    }
}

#[test]
fn limits_of_connections_are_set() {
    let mut url = parse("postgres://u:p@h/b?sslrootcert=/etc/ca.pem&connect_timeout=3").unwrap();
    url.limit_connect(Duration::from_secs(1));
    let config = &url.targets()[0].config;
    assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
    assert_eq!(config.get_tcp_user_timeout(), Some(&Duration::from_secs(15)));
    assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    let mut url = parse("postgres://u:p@h/b\n").unwrap();
    url.limit_connect(Duration::from_secs(1));
    let config = &url.targets()[0].config;
    assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(1)));
}
