//! Accounts and posts. As on the real platform, post ids contain the creation time, so a later post
//! has a larger id.

use std::collections::BTreeMap;

use brain_base::clock::rfc3339;

use super::Platform;

/// The time from which post ids count milliseconds, in Unix milliseconds.
const EPOCH: i64 = 1_288_834_974_657;

/// An account.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its id.
    pub id: u64,
    /// Its handle.
    pub username: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its number of followers.
    pub followers: u64,
    /// Whether only followers may see its posts.
    pub is_protected: bool,
    /// Whether the platform has suspended it.
    pub is_suspended: bool,
    /// Whether its owner closed it.
    pub is_closed: bool,
    /// Whether it is verified.
    pub verified: bool,
    /// Creation time in Unix milliseconds.
    pub created_at: i64,
}

/// Counts of a post.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Likes.
    pub likes: u64,
    /// Reposts.
    pub reposts: u64,
    /// Replies.
    pub replies: u64,
    /// Quotes.
    pub quotes: u64,
    /// Bookmarks.
    pub bookmarks: u64,
    /// Views.
    pub impressions: u64,
}

/// A picture or video.
#[derive(Debug, Clone)]
pub struct Media {
    /// Its key, for example `3_17`.
    pub key: String,
    /// `photo`, `video` or `animated_gif`.
    pub kind: String,
    /// The address of a photo or of a video's preview image.
    pub url: String,
    /// The alternative text.
    pub alt: Option<String>,
}

/// A post.
#[derive(Debug, Clone)]
pub struct Post {
    /// Its id.
    pub id: u64,
    /// The id of the author's account.
    pub author: u64,
    /// Its whole text.
    pub text: String,
    /// Creation time in Unix milliseconds.
    pub created_at: i64,
    /// Its counts, if the platform reports them.
    pub counts: Option<Counts>,
    /// The id of the post that it replies to.
    pub reply_to: Option<u64>,
    /// The id of the post that it quotes.
    pub quotes: Option<u64>,
    /// The id of the post that it reposts.
    pub reposts: Option<u64>,
    /// The ids of all its versions, oldest first.
    pub version_ids: Vec<u64>,
    /// Whether it was deleted.
    pub is_deleted: bool,
    /// Whether it is withheld in some country.
    pub is_withheld: bool,
    /// Its pictures and videos.
    pub media: Vec<Media>,
    /// Its language code, for example `en`.
    pub lang: String,
}

impl Post {
    /// Returns whether a later version exists.
    pub(super) fn is_superseded(&self) -> bool {
        self.version_ids.last() != Some(&self.id)
    }

    /// Returns the creation time as text.
    pub(super) fn created(&self) -> String {
        rfc3339(self.created_at)
    }
}

/// Accounts and posts.
#[derive(Default)]
pub(super) struct World {
    /// By id.
    pub(super) accounts: BTreeMap<u64, Account>,
    /// By id.
    pub(super) posts: BTreeMap<u64, Post>,
    /// Searches do not find posts younger than this, in milliseconds. The real platform has a lag
    /// of 30 seconds; the default of tests is 0.
    pub(super) search_lag: i64,
    account_count: u64,
}

impl World {
    pub(super) fn by_username(&self, username: &str) -> Option<&Account> {
        self.accounts.values().find(|account| account.username.eq_ignore_ascii_case(username))
    }

    /// Returns the account of the user token: the first.
    pub(super) fn token_owner(&self) -> Option<&Account> {
        self.accounts.values().next()
    }

    /// Returns whether every client can see a post.
    pub(super) fn is_public(&self, post: &Post) -> bool {
        let author = &self.accounts[&post.author];
        !(post.is_deleted || author.is_protected || author.is_suspended || author.is_closed)
    }

    /// Returns whether a client may see a post. The client has an app's token if `app` is true, and
    /// the token of the first account otherwise.
    pub(super) fn can_see(&self, app: bool, post: &Post) -> bool {
        let is_active_author = !app
            && self.token_owner().is_some_and(|owner| {
                owner.id == post.author && !owner.is_suspended && !owner.is_closed
            });
        self.is_public(post) || (is_active_author && !post.is_deleted)
    }

    /// Returns an unused post id with this creation time.
    fn new_post_id(&mut self, created_at: i64) -> u64 {
        let mut id = u64::try_from(created_at - EPOCH).expect("the time is before `EPOCH`") << 22;
        while self.posts.contains_key(&id) {
            id += 1;
        }
        id
    }
}

impl Platform {
    /// Creates an account and returns its id. The user token belongs to the first account.
    pub fn create_account(&self, username: &str) -> String {
        let now = self.time().now();
        let mut state = self.state();
        let world = &mut state.world;
        assert!(world.by_username(username).is_none(), "{username} is taken");
        world.account_count += 1;
        // Larger than 2^53, so clients that parse ids as floating-point numbers fail.
        let id = 1_500_000_000_000_000_000 + world.account_count;
        let account = Account {
            id,
            username: username.into(),
            name: format!("{username} by name"),
            description: format!("Whatever {username} is about."),
            followers: 100,
            is_protected: false,
            is_suspended: false,
            is_closed: false,
            verified: false,
            created_at: now - 365 * 86_400_000,
        };
        world.accounts.insert(id, account);
        id.to_string()
    }

    /// Changes an account.
    pub fn change_account(&self, id: &str, change: impl FnOnce(&mut Account)) {
        change(self.state().world.accounts.get_mut(&parse_id(id)).expect("an account"));
    }

    /// Returns the id of the account with this handle.
    #[must_use]
    pub fn account_id(&self, username: &str) -> Option<String> {
        self.state().world.by_username(username).map(|account| account.id.to_string())
    }

    /// Creates a post now and returns its id. Listeners receive it if a rule matches it.
    pub fn post(&self, author: &str, text: &str) -> String {
        self.post_at(author, text, self.time().now())
    }

    /// Creates a post with the creation time `created_at` (Unix milliseconds).
    pub fn post_at(&self, author: &str, text: &str, created_at: i64) -> String {
        let id = self.state().world.new_post_id(created_at);
        self.post_with_id(&id.to_string(), author, text, created_at);
        id.to_string()
    }

    /// Creates a post with this id.
    pub fn post_with_id(&self, id: &str, author: &str, text: &str, created_at: i64) {
        let (id, author) = (parse_id(id), parse_id(author));
        let mut state = self.state();
        let state = &mut *state;
        assert!(state.world.accounts.contains_key(&author), "no account {author}");
        let post = Post {
            id,
            author,
            text: text.into(),
            created_at,
            counts: Some(Counts::default()),
            reply_to: None,
            quotes: None,
            reposts: None,
            version_ids: vec![id],
            is_deleted: false,
            is_withheld: false,
            media: Vec::new(),
            lang: "en".into(),
        };
        state.world.posts.insert(id, post);
        state.streaming.notify(&state.world, id);
    }

    /// Changes a post.
    pub fn change_post(&self, id: &str, change: impl FnOnce(&mut Post)) {
        change(self.state().world.posts.get_mut(&parse_id(id)).expect("a post"));
    }

    /// Sets the likes of a post.
    pub fn set_likes(&self, id: &str, likes: u64) {
        self.change_post(id, |post| post.counts.get_or_insert_default().likes = likes);
    }

    /// Edits a post and returns the id of the new version. Lookups still find the old version.
    pub fn edit(&self, id: &str, text: &str) -> String {
        let now = self.time().now();
        let mut state = self.state();
        let world = &mut state.world;
        let former = world.posts[&parse_id(id)].clone();
        let new = world.new_post_id(now);
        let mut version_ids = former.version_ids.clone();
        version_ids.push(new);
        for version in &former.version_ids {
            world.posts.get_mut(version).expect("a version").version_ids.clone_from(&version_ids);
        }
        world.posts.insert(new, Post { id: new, text: text.into(), version_ids, ..former });
        new.to_string()
    }

    /// Deletes a post, with all its versions.
    pub fn delete(&self, id: &str) {
        let mut state = self.state();
        for version in state.world.posts[&parse_id(id)].version_ids.clone() {
            state.world.posts.get_mut(&version).expect("a version").is_deleted = true;
        }
    }

    /// Hides posts younger than `ms` from searches.
    pub fn set_search_lag(&self, ms: i64) {
        self.state().world.search_lag = ms;
    }
}

fn parse_id(id: &str) -> u64 {
    id.parse().unwrap_or_else(|_| panic!("{id} is no id of this platform"))
}
