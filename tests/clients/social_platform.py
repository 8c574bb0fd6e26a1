"""Tests the fake platform of the collector with the client libraries tweepy and xdk."""

import os
import threading

import requests
import tweepy
import xdk

BASE = os.environ["PLATFORM"]
APP_TOKEN = os.environ["PLATFORM_APP_TOKEN"]
USER_TOKEN = os.environ["PLATFORM_USER_TOKEN"]


def control(action, **body):
    """Runs a control action of the fake platform. Returns its reply."""
    answer = requests.post(f"{BASE}/_control/{action}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


class Loopback(requests.adapters.HTTPAdapter):
    """Sends the requests of tweepy, which has a fixed host, to the fake platform."""

    def send(self, request, **kwargs):
        request.url = request.url.replace("https://api.twitter.com", BASE)
        return super().send(request, **kwargs)


def tweepy_client(token):
    client = tweepy.Client(token)
    client.session.mount("https://", Loopback())
    return client


def expect_error(kind, call, *args, **kwargs):
    """Asserts that the call raises an error of this kind, and returns the error."""
    try:
        call(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError(f"no {kind}")


me, other = control("account", username="me")["id"], control("account", username="other")["id"]
mine = [control("post", author=me, text=f"post {i} #tag")["id"] for i in range(12)]
hello = control("post", author=other, text="hello @me, this is about owls")["id"]
control("likes", id=hello, likes=7)
deleted = control("post", author=me, text="soon gone")["id"]
control("delete", id=deleted)

# tweepy
client = tweepy_client(APP_TOKEN)
user = client.get_user(username="me", user_fields=["public_metrics", "created_at"])
assert str(user.data.id) == me and user.data.public_metrics["followers_count"] == 100
assert client.get_user(username="nobody").errors[0]["title"] == "Not Found Error"
expect_error(tweepy.Forbidden, client.get_me, user_auth=False)
assert tweepy_client(USER_TOKEN).get_me(user_auth=False).data.username == "me"
fields = ["created_at", "public_metrics"]
pages = tweepy.Paginator(client.get_users_tweets, me, max_results=5, tweet_fields=fields)
assert [str(post.id) for post in pages.flatten()] == mine[::-1]
mention = client.get_users_mentions(
    me, tweet_fields=["public_metrics", "author_id"], expansions=["author_id"]
)
assert mention.data[0].public_metrics["like_count"] == 7
assert mention.includes["users"][0].username == "other"
found = client.search_recent_tweets('"about owls" -from:me', tweet_fields=["entities"])
assert str(found.data[0].id) == hello
assert found.data[0].entities["mentions"][0]["username"] == "me"
missing = client.get_tweet(deleted)
assert missing.data is None and missing.errors[0]["resource_id"] == deleted
assert len(client.get_tweets([hello, deleted]).data) == 1
expect_error(tweepy.BadRequest, client.get_users_tweets, me, max_results=4)
expect_error(tweepy.Unauthorized, tweepy_client("wrong").get_user, username="me")
for status, kind in ((402, tweepy.HTTPException), (503, tweepy.TwitterServerError)):
    fault = "credits_depleted" if status == 402 else {"server": status}
    control("fault", endpoint="/2/tweets/:id", fault=fault)
    assert expect_error(kind, client.get_tweet, hello).response.status_code == status
control("limit", endpoint="/2/tweets/:id", limit=1)
client.get_tweet(hello)
error = expect_error(tweepy.TooManyRequests, client.get_tweet, hello)
assert error.response.headers["x-rate-limit-remaining"] == "0"


class Stream(tweepy.StreamingClient):
    """Records responses and disconnects after the second one."""

    def __init__(self):
        super().__init__(APP_TOKEN, max_retries=0)
        self.session.mount("https://", Loopback())
        self.responses, self.connected, self.errors = [], threading.Event(), []

    def on_connect(self):
        self.connected.set()

    def on_response(self, response):
        self.responses.append(response)
        if len(self.responses) == 2:
            self.disconnect()

    def on_errors(self, errors):
        self.errors += errors


stream = Stream()
rules = [tweepy.StreamRule("owls", tag="birds"), tweepy.StreamRule("from:me -owls")]
reply = stream.add_rules(rules)
assert reply.meta["summary"]["created"] == 2
assert stream.add_rules(tweepy.StreamRule("owls")).errors[0]["title"] == "DuplicateRule"
assert sorted(rule.value for rule in stream.get_rules().data) == ["from:me -owls", "owls"]
thread = stream.filter(threaded=True, tweet_fields=["author_id"], expansions=["author_id"])
assert stream.connected.wait(20)
control("post", author=other, text="nothing that anybody asked for")
first = control("post", author=other, text="more owls")["id"]
control("post", author=me, text="a word of mine")
thread.join(20)
assert len(stream.responses) == 2, stream.responses
response = stream.responses[0]
assert str(response.data.id) == first, response
assert response.matching_rules[0].tag == "birds"
assert response.includes["users"][0].username == "other"
rule_ids = [rule.id for rule in stream.get_rules().data]
assert stream.delete_rules(rule_ids).meta["summary"]["deleted"] == 2
assert not stream.get_rules().data
print("tweepy: ok")

# xdk uses the newer field names and accepts only problem types of the newer host.
control("newer-host")
client = xdk.Client(base_url=BASE, bearer_token=APP_TOKEN)
assert client.users.get_by_username("me").data.id == me
posts = []
for page in client.users.get_posts(me, max_results=5, post_fields=["created_at", "public_metrics"]):
    posts += page.data or []
# The newest post is from the test of the stream above.
assert [post.id for post in posts][1:] == mine[::-1], posts
assert posts[0].public_metrics.repost_count == 0
found = next(iter(client.posts.search_recent("owls OR cats", max_results=10)))
assert found.data[-1].id == hello, found
control("limit", endpoint="/2/tweets/:id", limit=450)
missing = client.posts.get_by_id(deleted)
assert not missing.data and missing.errors, missing
control("fault", endpoint="/2/users/by/username/:username", fault="usage_capped")
error = expect_error(requests.HTTPError, client.users.get_by_username, "me")
assert error.response.status_code == 429
print("xdk: ok")
