//! `search` in many languages and scripts.

use brain_tests::{TestHome, slugs};

fn home_with_pages(pages: &[(&str, &str)]) -> (TestHome, brain_tests::Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    for (slug, text) in pages {
        home.put(slug, text);
    }
    (home, daemon)
}

fn assert_finds(home: &TestHome, query: &str, slug: &str) {
    let found = home.search(query);
    assert_eq!(found.first().map(String::as_str), Some(slug), "{query:?} finds {found:?}");
}

#[test]
fn accents_and_case_are_folded_both_ways() {
    let (home, _daemon) = home_with_pages(&[
        ("cafe", "We met at the Café Müller in São Paulo.\n"),
        ("plain", "A resume without any marks.\n"),
        ("decomposed", "Cre\u{300}me bru\u{302}le\u{301}e for two.\n"),
        ("others", "Łódź, Straße, Æsir, Ørsted, naïveté.\n"),
    ]);
    for query in ["cafe muller", "CAFÉ MÜLLER", "Sao Paulo", "são"] {
        assert_finds(&home, query, "cafe");
    }
    assert_finds(&home, "résumé", "plain");
    assert_finds(&home, "crème brûlée", "decomposed");
    assert_finds(&home, "creme", "decomposed");
    for query in ["lodz", "strasse", "Straße", "orsted", "naivete"] {
        assert_finds(&home, query, "others");
    }
}

#[test]
fn english_words_are_stemmed() {
    let (home, _daemon) = home_with_pages(&[
        ("run", "She was running through the cities, comparing connected theories.\n"),
        ("bread", "Bread rises slowly in the oven.\n"),
    ]);
    for query in ["runs", "run", "city", "compare", "comparison connection", "theory"] {
        assert_finds(&home, query, "run");
    }
    assert_finds(&home, "breads rising", "bread");
}

#[test]
fn part_of_a_chinese_sentence_finds_the_page() {
    let (home, _daemon) = home_with_pages(&[
        ("zh/beijing", "我昨天在北京大学图书馆读了一本关于人工智能的书。\n"),
        ("zh/shanghai", "上海的天气今天非常好，我们去公园散步。\n"),
    ]);
    for query in ["北京大学", "图书馆", "人工智能", "昨天在北京", "关于人工智能的书"]
    {
        assert_finds(&home, query, "zh/beijing");
    }
    for query in ["天气", "公园散步", "上海"] {
        assert_finds(&home, query, "zh/shanghai");
    }
    assert!(home.search("香港").is_empty());
}

#[test]
fn part_of_a_japanese_sentence_finds_the_page() {
    let (home, _daemon) = home_with_pages(&[
        ("ja/tokyo", "昨日、東京タワーへ行って、とても美味しいラーメンを食べました。\n"),
        ("ja/kyoto", "京都の紅葉は秋になると本当に美しいです。\n"),
    ]);
    for query in ["東京タワー", "ラーメン", "美味しいラーメン", "東京"] {
        assert_finds(&home, query, "ja/tokyo");
    }
    for query in ["紅葉", "京都の紅葉", "秋になると"] {
        assert_finds(&home, query, "ja/kyoto");
    }
}

#[test]
fn part_of_a_korean_sentence_finds_the_page() {
    let (home, _daemon) = home_with_pages(&[
        ("ko/seoul", "어제 서울에서 친구를 만나 한국어를 공부했습니다.\n"),
        ("ko/busan", "부산의 바다는 정말 아름답습니다.\n"),
    ]);
    for query in ["서울", "한국어", "친구를", "서울에서 친구"] {
        assert_finds(&home, query, "ko/seoul");
    }
    for query in ["부산", "바다"] {
        assert_finds(&home, query, "ko/busan");
    }
}

#[test]
fn part_of_a_thai_sentence_finds_the_page() {
    let (home, _daemon) = home_with_pages(&[
        ("th/bangkok", "เมื่อวานนี้ฉันไปเที่ยวกรุงเทพมหานครกับเพื่อนและกินผัดไทย\n"),
        ("th/sea", "ทะเลที่ภูเก็ตสวยงามมากในฤดูหนาว\n"),
    ]);
    for query in ["กรุงเทพมหานคร", "ผัดไทย", "เพื่อน"]
    {
        assert_finds(&home, query, "th/bangkok");
    }
    for query in ["ภูเก็ต", "ฤดูหนาว", "ทะเล"] {
        assert_finds(&home, query, "th/sea");
    }
}

#[test]
fn other_scripts_and_mixed_pages_are_found() {
    let (home, _daemon) = home_with_pages(&[
        ("ru", "Вчера мы обсуждали архитектуру системы хранения.\n"),
        ("ar", "ناقشنا أمس بنية نظام التخزين الجديد.\n"),
        ("el", "Συζητήσαμε για την αρχιτεκτονική του συστήματος.\n"),
        ("he", "דיברנו אתמול על מערכת האחסון.\n"),
        ("mixed", "Meeting with 田中さん about the Rust 移行 plan, см. архив.\n"),
        ("emoji", "Party at nine 🎉🦀 bring cake\n"),
    ]);
    assert_finds(&home, "архитектуру", "ru");
    assert_finds(&home, "التخزين", "ar");
    assert_finds(&home, "αρχιτεκτονική", "el");
    assert_finds(&home, "האחסון", "he");
    for query in ["田中", "移行", "rust", "архив"] {
        assert_finds(&home, query, "mixed");
    }
    assert_finds(&home, "cake", "emoji");
}

#[test]
fn a_snippet_in_any_script_is_cut_between_characters() {
    let filler = "これは長い文章です。".repeat(400);
    let thai = "ภาษาไทยไม่มีช่องว่างระหว่างคำ".repeat(150);
    let (home, _daemon) = home_with_pages(&[
        ("ja", &format!("{filler}富士山に登りました。{filler}\n")),
        ("th", &format!("{thai}กรุงเทพ{thai}\n")),
    ]);
    for (query, slug) in [("富士山", "ja"), ("กรุงเทพ", "th")] {
        let hit = home.json(["search", query])["hits"][0].clone();
        assert_eq!(hit["slug"], slug);
        let snippet = hit["snippet"].as_str().unwrap();
        assert!(snippet.contains(query), "{query} is shown: {snippet}");
        let highlights = hit["highlights"].as_array().unwrap();
        assert!(!highlights.is_empty(), "{hit}");
        for range in highlights {
            let (from, to) =
                (range[0].as_u64().unwrap() as usize, range[1].as_u64().unwrap() as usize);
            assert!(snippet.get(from..to).is_some(), "{from}..{to} of {snippet:?}");
        }
    }
}

#[test]
fn names_codes_and_addresses_are_found_as_written() {
    let (home, _daemon) = home_with_pages(&[
        (
            "code",
            "The error E0499 came from src/lib.rs at v1.2.3, see https://example.org/path and \
                x86_64.\n",
        ),
        ("mail", "Write to grace.hopper@navy.example about C++ and node.js.\n"),
        ("number", "Invoice 4711-2026 over 1,234.56 EUR\n"),
    ]);
    for query in ["E0499", "src/lib.rs", "v1.2.3", "example.org", "x86_64"] {
        assert_finds(&home, query, "code");
    }
    for query in ["grace.hopper@navy.example", "hopper", "node.js", "C++ node"] {
        assert_finds(&home, query, "mail");
    }
    assert_finds(&home, "4711-2026", "number");
    assert_finds(&home, "invoice 4711", "number");
}

#[test]
fn a_pasted_command_line_finds_its_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("shell", "Start it:\n\n    docker run -it --rm  ubuntu bash\n");
    home.put("apples", "An apple pie.\n");
    assert_eq!(home.search("docker run -it --rm ubuntu bash"), ["shell"], "a pasted line");
    assert_eq!(home.search("Docker run -it"), ["shell"]);
    assert_eq!(home.search("apple -pie"), Vec::<String>::new());
}

#[test]
fn tags_are_compared_with_their_signs() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (slug, tag) in [("cpp", "c++"), ("csharp", "c#"), ("plain", "c"), ("emoji", "👭")] {
        home.put(slug, &format!("---\ntags: ['{tag}']\n---\n\nA wombat.\n"));
        let found = home.json(["search", "wombat", "--tag", tag]);
        assert_eq!(slugs(&found["hits"]), [slug], "{tag}");
        assert_eq!(home.search(&format!("wombat tag:\"{tag}\"")), [slug], "{tag}");
    }
}
