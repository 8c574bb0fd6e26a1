//! URLs in posts: normalisation, platform URLs and videos. No I/O.

use serde_json::Value;
use url::{Host, Url};

use crate::{MEDIA, Record};

/// Maximum number of URLs, photos or videos per post.
const MAX_URLS: usize = 8;
/// Maximum length of a URL, in bytes, as for a page's `source_uri`.
const MAX_URL_BYTES: usize = 1024;
/// The platform's own sites and shorteners.
const PLATFORM_SITES: [&str; 4] = ["x.com", "twitter.com", "t.co", "twimg.com"];
/// The platform's media hosts.
const MEDIA_HOSTS: [&str; 2] = ["pbs.twimg.com", "video.twimg.com"];

/// Returns at most [`MAX_URLS`] distinct URLs of a post in order, without fragment and `utm_…`.
/// Excludes URLs of the platform and of the server at `platform_api`.
pub(super) fn linked_urls(post: &Record, platform_api: &str) -> Vec<Url> {
    let mut found: Vec<Url> = Vec::new();
    let platform = Url::parse(platform_api).ok();
    let api_host = platform.as_ref().and_then(Url::host_str);
    for text in url_texts(post) {
        let Some(url) = normalize(text) else { continue };
        let host = url.host_str().unwrap_or_default();
        let is_platform =
            PLATFORM_SITES.iter().any(|site| belongs_to(host, site)) || Some(host) == api_host;
        if !is_platform && !found.contains(&url) && found.len() < MAX_URLS {
            found.push(url);
        }
    }
    found
}

/// Returns the URLs that the post's short URLs lead to.
fn url_texts(post: &Record) -> Vec<&str> {
    let fields = post.fields();
    let long_texts = ["note_tweet", "note_post"]
        .into_iter()
        .filter_map(|name| fields.get(name)?.get("entities"));
    let sets = fields.get("entities").into_iter().chain(long_texts);
    let urls = sets.filter_map(|set| set.get("urls")?.as_array()).flatten();
    urls.filter_map(|url| {
        ["unwound_url", "expanded_url"].iter().find_map(|name| url.get(*name)?.as_str())
    })
    .collect()
}

/// Normalises a web URL: `http` or `https`, with a host name and without a user. Returns `None` for
/// other URLs and for too long ones.
pub(super) fn normalize(text: &str) -> Option<Url> {
    let mut url = Url::parse(text.trim()).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https")
        && matches!(url.host(), Some(Host::Domain(_)))
        && url.username().is_empty()
        && url.password().is_none();
    if !is_web {
        return None;
    }
    url.set_fragment(None);
    let query = url.query().map(|query| {
        let is_tracking =
            |part: &&str| part.get(..4).is_some_and(|name| name.eq_ignore_ascii_case("utm_"));
        query
            .split('&')
            .filter(|part| !part.is_empty() && !is_tracking(part))
            .collect::<Vec<_>>()
            .join("&")
    });
    url.set_query(query.as_deref().filter(|query| !query.is_empty()));
    Some(url).filter(|url| url.as_str().len() <= MAX_URL_BYTES)
}

/// Returns the canonical URL of a video: YouTube pages, shorts and short URLs, Vimeo, and Twitch
/// clips.
pub(super) fn video_url(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    let host =
        ["www.", "m.", "player."].iter().find_map(|part| host.strip_prefix(part)).unwrap_or(host);
    let path: Vec<&str> = url.path_segments()?.filter(|part| !part.is_empty()).collect();
    let is_id = |id: &&str| id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    let id = match (host, path.as_slice()) {
        ("youtube.com" | "music.youtube.com", ["watch"]) => {
            let id = url.query_pairs().find(|(name, _)| name == "v")?.1.into_owned();
            return Some(id)
                .filter(|id| !id.is_empty() && is_id(&id.as_str()))
                .map(|id| youtube_url(&id));
        }
        ("youtube.com", ["shorts" | "live" | "embed", id]) | ("youtu.be", [id]) => {
            return is_id(id).then(|| youtube_url(id));
        }
        ("vimeo.com", [.., id]) => {
            return id
                .bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| format!("https://vimeo.com/{id}"));
        }
        ("clips.twitch.tv", [id]) | ("twitch.tv", [_, "clip", id]) => *id,
        _ => return None,
    };
    is_id(&id).then(|| format!("https://clips.twitch.tv/{id}"))
}

fn youtube_url(id: &str) -> String {
    format!("https://www.youtube.com/watch?v={id}")
}

/// A picture of a post.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Photo {
    /// The platform's media key.
    pub(super) key: String,
    /// The URL.
    pub(super) url: String,
}

/// Returns the pictures of a post that are on the platform's hosts.
pub(super) fn photos(post: &Record, platform_api: &str) -> Vec<Photo> {
    let photos = media(post, "photo").filter_map(|photo| {
        let url = photo.get("url")?.as_str().filter(|url| is_platform_media(url, platform_api))?;
        let key = photo.get("media_key").and_then(Value::as_str).unwrap_or(url);
        Some(Photo { key: key.to_owned(), url: url.to_owned() })
    });
    photos.take(MAX_URLS).collect()
}

/// Returns the URLs of the videos in a post: of the file with the highest bit rate if known, else
/// of the post.
pub(super) fn own_videos(post: &Record, platform_api: &str) -> Vec<String> {
    let best_file = |video: &Value| {
        let files =
            video.get("variants")?.as_array()?.iter().filter(|file| {
                file.get("content_type").and_then(Value::as_str) == Some("video/mp4")
            });
        let bit_rate = |file: &&Value| file.get("bit_rate").and_then(Value::as_u64).unwrap_or(0);
        let url = files
            .max_by_key(bit_rate)?
            .get("url")?
            .as_str()
            .filter(|url| is_platform_media(url, platform_api))?;
        Some(url.to_owned())
    };
    let post_url = || format!("https://x.com/i/status/{}", post.id());
    let videos = media(post, "video").take(MAX_URLS);
    videos.map(|video| best_file(video).unwrap_or_else(post_url)).collect()
}

/// Returns the media of a post with this type.
fn media<'a>(post: &'a Record, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let media = post.fields().get(MEDIA).and_then(Value::as_array);
    media
        .into_iter()
        .flatten()
        .filter(move |item| item.get("type").and_then(Value::as_str) == Some(kind))
}

/// Returns whether a URL is platform media: `https` at one of its hosts or the server of
/// `platform_api`.
fn is_platform_media(text: &str, platform_api: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_media_host = url.scheme() == "https"
        && url.port().is_none()
        && url.host_str().is_some_and(|host| MEDIA_HOSTS.contains(&host));
    let has_no_user = url.username().is_empty() && url.password().is_none();
    has_no_user
        && (is_media_host
            || Url::parse(platform_api).is_ok_and(|platform| platform.origin() == url.origin()))
}

/// Returns whether `host` is `site` or a subdomain.
fn belongs_to(host: &str, site: &str) -> bool {
    host.strip_suffix(site).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    const API: &str = "https://api.example";

    fn normalized(text: &str) -> Option<String> {
        normalize(text).map(String::from)
    }

    #[test]
    fn urls_are_normalized() {
        for text in [
            "https://blog.example/a",
            " https://BLOG.example:443/a#part ",
            "https://blog.example/a?utm_source=x&UTM_campaign=y",
            "https://blog.example/a?",
            "https://blog.example/b/../a",
        ] {
            assert_eq!(normalized(text).as_deref(), Some("https://blog.example/a"), "{text}");
        }
        assert_eq!(
            normalized("http://e.org/?b=2&utm_id=7&a=%20x#f").as_deref(),
            Some("http://e.org/?b=2&a=%20x")
        );
        let long = format!("https://e.org/{}", "x".repeat(MAX_URL_BYTES));
        for bad in [
            "",
            "x",
            "ftp://e.org/a",
            "javascript:alert(1)",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://u:p@e.org/",
            "https://u@e.org/",
            "mailto:a@e.org",
            "file:///etc/passwd",
            &long,
        ] {
            assert_eq!(normalized(bad), None, "{bad}");
        }
    }

    #[test]
    fn urls_of_the_platform_are_excluded() {
        let url = |text: &str| json!({ "url": "https://t.co/x", "expanded_url": text });
        let post = Record::new(json!({ "id": "1", "entities": { "urls": [
            url("https://x.com/ann/status/1/photo/1"), url("https://mobile.twitter.com/ann"),
            url("https://t.co/y"),
            url("https://api.example/2"), url("https://dev.api.example/x"),
            url("https://netflix.com/"),
            { "expanded_url": "https://bit.example/1",
                "unwound_url": "https://news.example/1?utm_source=x" },
        ]}, "note_tweet": { "entities": { "urls": [url("https://news.example/1"),
            url("https://long.example/")] } } }));
        let found: Vec<String> =
            linked_urls(&post.unwrap(), API).into_iter().map(String::from).collect();
        assert_eq!(
            found,
            [
                "https://dev.api.example/x",
                "https://netflix.com/",
                "https://news.example/1",
                "https://long.example/"
            ]
        );
        let many: Vec<Value> = (0..50).map(|n| url(&format!("https://e.org/{n}"))).collect();
        let post = Record::new(json!({ "id": "1", "entities": { "urls": many } })).unwrap();
        assert_eq!(linked_urls(&post, API).len(), MAX_URLS);
    }

    #[test]
    fn video_urls_are_canonical() {
        for (text, expected) in [
            (
                "https://www.youtube.com/watch?app=desktop&v=dQw4w9WgXcQ&t=3s",
                Some("https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
            ),
            (
                "https://youtu.be/dQw4w9WgXcQ?si=abc",
                Some("https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
            ),
            (
                "http://m.youtube.com/shorts/dQw4w9WgXcQ",
                Some("https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
            ),
            ("https://youtube.com/@channel", None),
            ("https://youtube.com/watch?v=a%22b", None),
            ("https://notyoutube.com/watch?v=x", None),
            ("https://vimeo.com/channels/staff/12345", Some("https://vimeo.com/12345")),
            ("https://player.vimeo.com/video/12345", Some("https://vimeo.com/12345")),
            ("https://vimeo.com/about", None),
            ("https://clips.twitch.tv/Some-Clip_1", Some("https://clips.twitch.tv/Some-Clip_1")),
            ("https://www.twitch.tv/ann/clip/SomeClip", Some("https://clips.twitch.tv/SomeClip")),
            ("https://www.twitch.tv/ann", None),
            ("https://blog.example/watch?v=x", None),
        ] {
            assert_eq!(video_url(&normalize(text).unwrap()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn media_must_be_on_hosts_of_the_platform() {
        let photo = |key: &str, url: &str| json!({ "type": "photo", "media_key": key, "url": url });
        let post = Record::new(json!({ "id": "17", "_media": [
            photo("a", "https://pbs.twimg.com/media/a.jpg"),
            photo("b", "http://pbs.twimg.com/media/b.jpg"),
            photo("c", "https://evil.example/c.jpg"),
            photo("d", "https://pbs.twimg.com.evil.example/d.jpg"),
            photo("e", "https://api.example/e.png"), photo("f", "https://u@pbs.twimg.com/f"),
            photo("g", "https://pbs.twimg.com:8443/g"),
            { "type": "video", "media_key": "v", "variants": [
                { "content_type": "application/x-mpegURL",
                    "url": "https://video.twimg.com/v.m3u8" },
                { "content_type": "video/mp4", "bit_rate": 1,
                    "url": "https://video.twimg.com/small.mp4" },
                { "content_type": "video/mp4", "bit_rate": 9,
                    "url": "https://video.twimg.com/large.mp4" } ] },
            { "type": "video", "media_key": "w" }, { "type": "animated_gif", "media_key": "x" },
        ]}))
        .unwrap();
        let keys: Vec<String> = photos(&post, API).into_iter().map(|photo| photo.key).collect();
        assert_eq!(keys, ["a", "e"]);
        assert_eq!(
            own_videos(&post, API),
            ["https://video.twimg.com/large.mp4", "https://x.com/i/status/17"]
        );
    }
}
