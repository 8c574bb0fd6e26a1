use brain_convert_testing::{Converted, directory};
use brain_page::{body_tags, headings};
use serde_json::{Value, json};

use crate::FORMATS;

fn post(id: &str, time: &str, text: &str) -> Value {
    json!({"tweet": {"id_str": id, "created_at": time, "full_text": text,
        "favorite_count": "3", "retweet_count": "1", "entities": {"urls": []}}})
}

fn script(name: &str, entries: &[Value]) -> String {
    format!("window.YTD.{name}.part0 = {}", json!(entries))
}

/// A post whose text is cut off.
fn long() -> Value {
    let mut long = post(
        "12",
        "Wed Oct 10 20:19:24 +0000 2018",
        "A long post about #weirs &amp; more, which is longer than it may be… https://t.co/abc",
    );
    long["tweet"]["entities"]["urls"] = json!([]);
    long
}

/// A post with two pictures that answers another one.
fn reply() -> Value {
    let mut reply = post(
        "13",
        "Thu Oct 11 08:00:00 +0000 2018",
        "@bo See https://t.co/url1. https://t.co/pic1",
    );
    reply["tweet"]["in_reply_to_status_id_str"] = json!("9");
    reply["tweet"]["in_reply_to_screen_name"] = json!("bo");
    reply["tweet"]["entities"] = json!({"urls": [
        {"url": "https://t.co/url1", "expanded_url": "https://weir.example/a_b"}]});
    reply["tweet"]["extended_entities"] = json!({"media": [
        {"url": "https://t.co/pic1", "media_url_https": "https://m.example/P1.jpg"},
        {"url": "https://t.co/pic1", "media_url_https": "https://m.example/P2.jpg"}]});
    reply
}

#[test]
fn posts_of_a_month_are_a_page_with_their_media() {
    let notes = json!({"noteTweet": {"noteTweetId": "99", "createdAt": "2018-10-10T20:19:24.000Z",
        "core": {"text":
            "A long post about #weirs & more, which is longer than it may be in one post.\n# End"}}});
    let lone = json!({"noteTweet": {"noteTweetId": "98", "createdAt": "2019-01-01T00:00:00.000Z",
        "core": {"text": "Nobody has me"}}});
    let like = json!({"like": {"tweetId": "5", "fullText": "A *good* one\n- yes",
        "expandedUrl": "https://twitter.com/i/web/status/5"}});
    let directory = directory(&[
        ("data/tweets.js", &script("tweets", &[reply(), long()])),
        ("data/note-tweet.js", &script("note_tweet", &[notes, lone])),
        ("data/like.js", &script("like", &[like])),
        ("data/account.js", &script("account", &[json!({"account": {"username": "ada"}})])),
        ("data/tweets_media/13-P1.jpg", "jpg"),
        ("data/direct-messages.js", "window.YTD.direct_messages.part0 = []"),
        ("data/direct_messages_media/1-x.jpg", "jpg"),
        ("data/manifest.js", "window.__THAR_CONFIG = {}"),
        ("Your archive.html", "<html>"),
    ]);
    let found = Converted::of(&FORMATS, directory.path());
    assert_eq!(found.format, "x-archive");
    assert_eq!(found.paths(), ["X/2018/Posts 2018-10", "X/2019/Posts 2019-01", "X/Likes"]);
    let page = found.page("X/2018/Posts 2018-10");
    assert_eq!(
        page,
        "---\ntitle: \"Posts 2018-10\"\ncreated: 2018-10-10T20:19:24Z\n\
        updated: 2018-10-11T08:00:00Z\n\
         attachments: [\"13-P1.jpg\"]\naccount: \"@ada\"\n---\n\n## 2018-10-10 20:19:24 UTC\n\n\
         A long post about \\#weirs & more, which is longer than it may be in one post.  \n\
         \\# End\n\n\
         [Post 12](https://x.com/ada/status/12), 3 likes, 1 repost\n\n## 2018-10-11 08:00:00 UTC\n\
         \n\
         Reply to [@bo](https://x.com/bo/status/9)\n\n@bo See https://weir.example/a_b.\n\n\
         ![[13-P1.jpg]]\n\n[Post 13](https://x.com/ada/status/13), 3 likes, 1 repost\n"
    );
    assert!(
        found
            .page("X/Likes")
            .ends_with("- [Post 5](https://x.com/i/status/5): A \\*good\\* one  \n  \\- yes\n")
    );
    assert!(found.page("X/2019/Posts 2019-01").contains("Nobody has me"));
    assert_eq!(found.files().len(), 1);
    let lost = found.lost();
    assert_eq!(lost.len(), 3, "{lost:?}");
    assert!(lost[0].ends_with(", post 13: pictures or videos that are not in the archive: 1"));
    assert_eq!(lost[1], "data/direct-messages.js: this file of the archive is not read");
    assert_eq!(lost[2], "data/direct_messages_media: its files are not read: 1");
}

#[test]
fn a_post_is_also_in_the_form_of_the_api() {
    let mut first = reply();
    let tweet = &mut first["tweet"];
    tweet["lang"] = json!("en");
    tweet["in_reply_to_user_id_str"] = json!("77");
    tweet["edit_info"] = json!({"initial": {"editTweetIds": ["13"], "editsRemaining": "5"}});
    tweet["entities"]["hashtags"] = json!([{"text": "weir", "indices": ["4", "9"]}]);
    tweet["entities"]["user_mentions"] =
        json!([{"screen_name": "bo", "name": "Bo", "id_str": "77", "indices": ["0", "3"]}]);
    let notes = json!({"noteTweet": {"noteTweetId": "99", "createdAt": "2018-10-10T20:19:24.000Z",
        "core": {"text": "A long post about #weirs & more, which is longer than it may be. End"}}});
    let lone = json!({"noteTweet": {"noteTweetId": "98", "core": {"text": "Nobody has me"}}});
    let directory = directory(&[
        ("data/tweets.js", &script("tweets", &[first, long()])),
        ("data/note-tweet.js", &script("note_tweet", &[notes, lone])),
        (
            "data/account.js",
            &script("account", &[json!({"account": {"username": "ada", "accountId": "5"}})]),
        ),
    ]);
    let found = Converted::of(&FORMATS, directory.path());
    let posts = found.posts();
    assert_eq!(posts.len(), 2, "a text without a post is no post");
    let expected = json!({
        "id": "13", "text": "@bo See https://t.co/url1. https://t.co/pic1",
        "created_at": "2018-10-11T08:00:00.000Z", "author_id": "5", "lang": "en",
        "in_reply_to_user_id": "77", "referenced_tweets": [{"type": "replied_to", "id": "9"}],
        "edit_history_tweet_ids": ["13"],
        "public_metrics": {"like_count": 3, "retweet_count": 1},
        "entities": {
            "urls": [{"url": "https://t.co/url1", "expanded_url": "https://weir.example/a_b",
                "display_url": ""}],
            "hashtags": [{"start": 4, "end": 9, "tag": "weir"}],
            "mentions": [{"start": 0, "end": 3, "username": "bo", "id": "77"}],
        },
    });
    assert_eq!(posts[0], ("5", &expected));
    let (_, long) = posts[1];
    assert!(long["note_tweet"]["text"].as_str().unwrap().ends_with("may be. End"));
    assert!(long["text"].as_str().unwrap().contains("&amp;"), "{long}");
    assert!(long.get("entities").is_none() && long.get("lang").is_none(), "{long}");
}

#[test]
fn a_post_is_plain_text() {
    let text =
        script("tweets", &[post("1", "Wed Oct 10 20:19:24 +0000 2018", "# a\n#b\n1. c [[d]]")]);
    let directory = directory(&[("tweets.js", &text)]);
    let found = Converted::of(&FORMATS, &directory.path().join("tweets.js"));
    let page = found.page("X/2018/Posts 2018-10");
    let body = page.split("---\n").last().unwrap();
    assert_eq!((headings(body).len(), body_tags(body).len()), (1, 0), "{page}");
    assert!(!page.contains(" [["), "{page}");
}

#[test]
fn a_cut_archive_gives_its_whole_posts_and_an_error() {
    let posts = [post("1", "Wed Oct 10 20:19:24 +0000 2018", "one"), post("2", "never", "two")];
    let whole = script("tweets", &posts);
    for tenth in 6..10 {
        let directory = directory(&[("data/tweets.js", &whole[..whole.len() * tenth / 10])]);
        let found = Converted::of(&FORMATS, directory.path());
        assert_eq!(found.paths(), ["X/2018/Posts 2018-10"]);
        assert!(found.error.unwrap().contains("ends in the middle"));
    }
    let directory = directory(&[
        ("data/tweets.js", &whole),
        ("data/tweets-part1.js", "window.YTD.tweets.part1 = [1,{}]"),
    ]);
    let found = Converted::of(&FORMATS, directory.path());
    assert_eq!(found.paths(), ["X/2018/Posts 2018-10", "X/Posts without a date"]);
    assert_eq!(found.lost(), ["a post: it has no id", "a post: it has no id"]);
}
