//! Who wrote what. Ids are made as the platform makes them: of the time, so that a later post has a
//! larger one.

use std::collections::BTreeMap;

use brain_base::clock::rfc3339;

use super::Platform;

/// When the platform's ids begin, Unix milliseconds.
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
    /// What it says of itself.
    pub description: String,
    /// Who follows it.
    pub followers: u64,
    /// Whether only followers see its posts.
    pub protected: bool,
    /// Whether the platform has suspended it.
    pub suspended: bool,
    /// Whether it was closed.
    pub gone: bool,
    /// Whether it has the mark.
    pub verified: bool,
    /// When it was made, Unix milliseconds.
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
    /// Its key, `3_17`.
    pub key: String,
    /// `photo`, `video` or `animated_gif`.
    pub kind: String,
    /// Where a photo is, or a video's first picture.
    pub url: String,
    /// What its author says is in it.
    pub alt: Option<String>,
}

/// A post.
#[derive(Debug, Clone)]
pub struct Post {
    /// Its id.
    pub id: u64,
    /// Its author.
    pub author: u64,
    /// Its whole text.
    pub text: String,
    /// When it was written, Unix milliseconds.
    pub created_at: i64,
    /// Its numbers; `None`: the platform does not say.
    pub counts: Option<Counts>,
    /// What it replies to.
    pub reply_to: Option<u64>,
    /// What it quotes.
    pub quotes: Option<u64>,
    /// What it repeats.
    pub reposts: Option<u64>,
    /// All versions of it, oldest first.
    pub versions: Vec<u64>,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Whether it is withheld in some country.
    pub withheld: bool,
    /// Its pictures and videos.
    pub media: Vec<Media>,
    /// Its language.
    pub lang: String,
}

impl Post {
    /// Whether a later version is there.
    pub(super) fn superseded(&self) -> bool {
        self.versions.last() != Some(&self.id)
    }

    /// When it was written, as the platform writes it.
    pub(super) fn created(&self) -> String {
        rfc3339(self.created_at)
    }
}

/// Accounts and posts.
#[derive(Default)]
pub(super) struct World {
    pub(super) accounts: BTreeMap<u64, Account>,
    /// By id.
    pub(super) posts: BTreeMap<u64, Post>,
    /// Searches do not see what is younger than this, in milliseconds. The platform says 30
    /// seconds; a test has no time.
    pub(super) search_lag: i64,
    made: u64,
}

impl World {
    pub(super) fn by_name(&self, username: &str) -> Option<&Account> {
        self.accounts.values().find(|account| account.username.eq_ignore_ascii_case(username))
    }

    /// The account that the user's token is of: the first.
    pub(super) fn own(&self) -> Option<&Account> {
        self.accounts.values().next()
    }

    /// Whether somebody other than its author may see a post.
    pub(super) fn public(&self, post: &Post) -> bool {
        let author = &self.accounts[&post.author];
        !(post.deleted || author.protected || author.suspended || author.gone)
    }

    /// Whether the token of an app (or of the first account) sees a post.
    pub(super) fn sees(&self, app: bool, post: &Post) -> bool {
        let own = !app
            && self.own().is_some_and(|own| own.id == post.author && !own.suspended && !own.gone);
        self.public(post) || (own && !post.deleted)
    }

    fn fresh(&mut self, created_at: i64) -> u64 {
        let mut id = u64::try_from(created_at - EPOCH).expect("after 2010") << 22;
        while self.posts.contains_key(&id) {
            id += 1;
        }
        id
    }
}

impl Platform {
    /// A new account; gives its id. The first is the one whose the user's token is.
    pub fn account(&self, username: &str) -> String {
        let now = self.time().now();
        let mut state = self.state();
        let world = &mut state.world;
        assert!(world.by_name(username).is_none(), "{username} is taken");
        world.made += 1;
        // Larger than what a number in JSON holds safely.
        let id = 1_500_000_000_000_000_000 + world.made;
        let account = Account {
            id,
            username: username.into(),
            name: format!("{username} by name"),
            description: format!("Whatever {username} is about."),
            followers: 100,
            protected: false,
            suspended: false,
            gone: false,
            verified: false,
            created_at: now - 365 * 86_400_000,
        };
        world.accounts.insert(id, account);
        id.to_string()
    }

    /// Changes an account.
    pub fn change_account(&self, id: &str, change: impl FnOnce(&mut Account)) {
        change(self.state().world.accounts.get_mut(&number(id)).expect("an account"));
    }

    /// The id of the account of this handle.
    #[must_use]
    pub fn account_id(&self, username: &str) -> Option<String> {
        self.state().world.by_name(username).map(|account| account.id.to_string())
    }

    /// A post, now; gives its id. Persistent connections hear of it.
    pub fn post(&self, author: &str, text: &str) -> String {
        self.post_at(author, text, self.time().now())
    }

    /// A post that was written at `created_at` (Unix milliseconds).
    pub fn post_at(&self, author: &str, text: &str, created_at: i64) -> String {
        let id = self.state().world.fresh(created_at);
        self.post_as(&id.to_string(), author, text, created_at);
        id.to_string()
    }

    /// A post with this id.
    pub fn post_as(&self, id: &str, author: &str, text: &str, created_at: i64) {
        let (id, author) = (number(id), number(author));
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
            versions: vec![id],
            deleted: false,
            withheld: false,
            media: Vec::new(),
            lang: "en".into(),
        };
        state.world.posts.insert(id, post);
        state.streaming.hear(&state.world, id);
    }

    /// Changes a post.
    pub fn change(&self, id: &str, change: impl FnOnce(&mut Post)) {
        change(self.state().world.posts.get_mut(&number(id)).expect("a post"));
    }

    /// A post has this many likes from now on.
    pub fn likes(&self, id: &str, likes: u64) {
        self.change(id, |post| post.counts.get_or_insert_default().likes = likes);
    }

    /// Edits a post: the new version has an id of its own, which is given; the former one can still
    /// be looked up.
    pub fn edit(&self, id: &str, text: &str) -> String {
        let now = self.time().now();
        let mut state = self.state();
        let world = &mut state.world;
        let former = world.posts[&number(id)].clone();
        let new = world.fresh(now);
        let mut versions = former.versions.clone();
        versions.push(new);
        for version in &former.versions {
            world.posts.get_mut(version).expect("a version").versions.clone_from(&versions);
        }
        world.posts.insert(new, Post { id: new, text: text.into(), versions, ..former });
        new.to_string()
    }

    /// Deletes a post, with all its versions.
    pub fn delete(&self, id: &str) {
        let mut state = self.state();
        for version in state.world.posts[&number(id)].versions.clone() {
            state.world.posts.get_mut(&version).expect("a version").deleted = true;
        }
    }

    /// Searches see nothing that is younger than this, in milliseconds.
    pub fn search_lag(&self, ms: i64) {
        self.state().world.search_lag = ms;
    }
}

fn number(id: &str) -> u64 {
    id.parse().unwrap_or_else(|_| panic!("{id} is no id of this platform"))
}
