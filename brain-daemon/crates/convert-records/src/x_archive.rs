//! Reads the archive that X makes of an account: its posts by month, and what it liked.
//!
//! Each file in `data` is JSON after `window.YTD.tweets.part0 = `. Media lie beside, under the id
//! of their post. Posts of more than 280 characters are cut off in `tweets.js`; their whole text
//! is in `note-tweet.js`. Each post is also written as the platform's API returns it, for the
//! collector.

mod api_post;
mod archive;
mod post;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use brain_convert_base::{
    ConvertError, Format, Output, Page, Paths, Sample, Value as Field, literal_text,
};
use serde_json::Value;

use crate::embedded::web_link;
use crate::json::text;
use crate::long_page::{LongPage, Target};
use crate::time::shown;
use archive::{Archive, Kind, is_archive};
use post::{Notes, Post, address, decoded};

pub(crate) const FORMAT: Format = Format {
    name: "x-archive",
    title: "archive of an account on X (Twitter)",
    is_by_others: false,
    recognise,
    convert,
};

/// The folder of the pages.
const FOLDER: &str = "X";
/// Length from which a list of likes is added to the page, in bytes.
const MAX_LIST: usize = 1_000_000;

fn recognise(sample: &Sample) -> bool {
    match sample.tree() {
        Some(tree) => is_archive(tree) && !tree.has_markdown(),
        None => {
            let text = sample.text();
            ["window.YTD.tweet.", "window.YTD.tweets."].iter().any(|it| text.starts_with(it))
        }
    }
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let archive = Archive::open(path)?;
    let account = archive.account()?;
    let mut notes = Notes::default();
    let mut end = archive.for_each(Kind::Note, out, &mut |value, _| {
        notes.add(value);
        Ok(())
    });
    let mut posts = Vec::new();
    let read = archive.for_each(Kind::Post, out, &mut |value, out| {
        let Some(mut post) = Post::read(value, &mut notes, &account.id) else {
            return out.lost("a post", "it has no id");
        };
        if let Some(api) = post.take_api() {
            out.post(&account.id, api)?;
        }
        posts.push(post);
        Ok(())
    });
    end = end.and(read);
    posts.extend(notes.into_posts());
    posts.sort_by(|a, b| (a.time, &a.id, &a.text).cmp(&(b.time, &b.id, &b.text)));
    let mut paths = Paths::default();
    for (month, posts) in by_month(&posts) {
        let mut target = Target { paths: &mut paths, tree: archive.tree(), out: &mut *out };
        write_month(&month, &posts, &account.handle, &archive, &mut target)?;
    }
    end = end.and(write_likes(&archive, &mut paths, out));
    archive.report_others(out)?;
    end
}

/// Returns the posts of each month, in order.
fn by_month(posts: &[Post]) -> BTreeMap<String, Vec<&Post>> {
    let mut months: BTreeMap<String, Vec<&Post>> = BTreeMap::new();
    for post in posts {
        let month = post.time.map(|it| it.strftime("%Y-%m").to_string());
        months.entry(month.unwrap_or_else(|| "without a date".to_owned())).or_default().push(post);
    }
    months
}

fn write_month(
    month: &str,
    posts: &[&Post],
    account: &str,
    archive: &Archive,
    target: &mut Target<'_, '_>,
) -> io::Result<()> {
    let mut page = Page::default();
    let year = month.split_once('-').map(|(year, _)| year).filter(|year| year.len() == 4);
    page.path = target.paths.add([FOLDER].into_iter().chain(year), &format!("Posts {month}"));
    page.title = format!("Posts {month}");
    page.from = format!("{}, {month}", archive.name());
    page.created = posts.first().and_then(|it| it.time);
    page.updated = posts.last().and_then(|it| it.time);
    if !account.is_empty() {
        page.fields.push(("account".to_owned(), Field::Text(format!("@{account}"))));
    }
    let from = page.from.clone();
    let mut page = LongPage::new(page);
    for post in posts {
        page.make_room(post.text.len(), target)?;
        let time = post.time.map_or_else(|| format!("Post {}", post.id), shown);
        page.add(&format!("## {time}"));
        if let Some(reply) = post.reply() {
            page.add(&reply);
        }
        if !post.text.is_empty() {
            page.add(&post.text);
        }
        let media = archive.media(&post.id);
        for (name, entry) in &media {
            page.attach(name, entry);
        }
        if media.len() < post.media {
            let missing = post.media - media.len();
            let reason = format!("pictures or videos that are not in the archive: {missing}");
            target.out.lost(&format!("{from}, post {}", post.id), &reason)?;
        }
        page.add(&post.about(account));
    }
    page.end(target)
}

/// Writes the posts that the account liked or saved, which have no date.
fn write_likes(
    archive: &Archive,
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let mut end = Ok(());
    for (kind, key, title) in
        [(Kind::Like, "like", "Likes"), (Kind::Bookmark, "bookmark", "Saved posts")]
    {
        let mut lines = Vec::new();
        let read = archive.for_each(kind, out, &mut |value, _| {
            let like = value.get(key).unwrap_or(&Value::Null);
            let id = text(like, "tweetId");
            let link = web_link(&format!("Post {id}"), &address("", id));
            let words = literal_text(&decoded(text(like, "fullText"))).replace('\n', "\n  ");
            let blank = if words.is_empty() { "" } else { ": " };
            lines.push(format!("- {link}{blank}{words}"));
            Ok(())
        });
        end = end.and(read);
        if lines.is_empty() {
            continue;
        }
        let mut page = Page::default();
        page.path = paths.add([FOLDER], title);
        page.title = title.to_owned();
        page.from = format!("{}, {title}", archive.name());
        let mut page = LongPage::new(page);
        let mut target = Target { paths: &mut *paths, tree: None, out: &mut *out };
        let mut list = String::new();
        for line in lines {
            if list.len() + line.len() > MAX_LIST {
                page.make_room(list.len(), &mut target)?;
                page.add(list.trim_end());
                list.clear();
            }
            list.push_str(&line);
            list.push('\n');
        }
        page.make_room(list.len(), &mut target)?;
        page.add(list.trim_end());
        page.end(&mut target)?;
    }
    end
}
