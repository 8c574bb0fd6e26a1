use super::*;

#[test]
fn a_text_with_references_is_one_text_im01() {
    let xml = Xml::parse("<t a='x &amp; &#65;&q;'>Salt &amp; Sons &lt;harbour&gt; 5 &#8211; 7</t>");
    let texts: Vec<&str> = xml.root().children().map(Element::own_text).collect();
    assert_eq!(texts, ["Salt & Sons <harbour> 5 – 7"]);
    assert_eq!(xml.root().attribute("a"), Some("x & A&q;"));
    assert_eq!(xml.unknown.iter().collect::<Vec<_>>(), ["q"]);
    let xml = Xml::parse("<t>two&nbsp;lamps &amp; oil &unknown; <![CDATA[<b>]]></t>");
    assert_eq!(xml.root().text(), "two\u{a0}lamps & oil &unknown; <b>");
    assert_eq!(xml.unknown.iter().collect::<Vec<_>>(), ["unknown"]);
}

#[test]
fn an_entity_bomb_stays_a_name() {
    let bomb = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">\
                <!ENTITY c SYSTEM \"file:///etc/passwd\">]><x>&b; &c;</x>";
    let xml = Xml::parse(bomb);
    assert_eq!(xml.root().text(), "&b; &c;");
    assert_eq!(xml.error, None);
}

#[test]
fn prefixes_are_the_usual_ones() {
    let xml = Xml::parse(
        "<z:p xmlns:z='http://schemas.openxmlformats.org/wordprocessingml/2006/main' z:val='1'>\
         <z:t xmlns:w='urn:x' w:val='2'/></z:p>",
    );
    assert_eq!((xml.root().name(), xml.root().attribute("w:val")), ("w:p", Some("1")));
    let inner = xml.root().child("w:t").unwrap();
    assert_eq!((inner.attribute("w:val"), inner.attribute("other-w:val")), (None, Some("2")));
    let ns = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    let xml = Xml::parse(&format!("<p xmlns='{ns}' val='1'/>"));
    assert_eq!((xml.root().name(), xml.root().attribute("val")), ("w:p", Some("1")));
}

#[test]
fn deep_elements_keep_their_text_in_order() {
    let deep = 100_000;
    let text = format!("<x>a{}b{}c</x>", "<d>1".repeat(deep), "</d>".repeat(deep));
    let xml = Xml::parse(&text);
    assert_eq!(xml.error, None);
    assert_eq!(xml.root().text(), format!("a{}bc", "1".repeat(deep)));
    assert_eq!(xml.root().descendants().filter(|it| it.is_text()).count(), deep + 2);
}

#[test]
fn what_is_before_an_error_is_read() {
    for (text, expected) in
        [("<a>one <b>two</b> th", "one two th"), ("<a>one</b>", "one"), ("", ""), ("plain", "")]
    {
        let xml = Xml::parse(text);
        assert!(xml.root().text().starts_with(expected), "{text}: {}", xml.root().text());
        assert_eq!(xml.error.is_none(), !text.starts_with('<'), "{text}");
    }
}
