"""Tests requests.Session: 1,000 accepted and rejected posts over reused connections.

requests sends the head of a post and its body one after the other, so a refusal often comes before
the body. A broken connection would be a ConnectionError here: nothing is retried.
"""

import os
import random

import requests
from requests.adapters import HTTPAdapter

ISSUER = os.environ["ISSUER"]
POSTS = 1000

random.seed(1)
session = requests.Session()
session.mount("http://", HTTPAdapter(max_retries=0))
tokens = [None, "brain_pt_wrong", os.environ["READ_TOKEN"], os.environ["WRITE_TOKEN"]]
paths = ["/ingest", "/ingest", "/ingest", "/mcp", "/token", "/nothing", "/health", "/admin/login"]
kinds = ["text/plain", "text/markdown", "application/json", "image/png"]
sizes = [0, 1, 100, 4095, 4097, 60_000, 65_537, 1_000_000, 1_048_577]


def pieces(body):
    """Yields the body in parts, which requests sends with `Transfer-Encoding: chunked`."""
    for at in range(0, len(body), 10_000):
        yield body[at : at + 10_000]


seen = {}
for at in range(POSTS):
    token, path, kind = random.choice(tokens), random.choice(paths), random.choice(kinds)
    body = (f"{at} " + "a" * random.choice(sizes)).encode()
    headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
    chunked = random.random() < 0.4
    what = f"{at}: {path} {kind} {len(body)} bytes, chunked {chunked}, token {tokens.index(token)}"
    try:
        answer = session.post(ISSUER + path, data=pieces(body) if chunked else body, headers=headers, timeout=30)
    except requests.RequestException as broken:
        raise SystemExit(f"{what}: {broken}") from broken
    answer.json()
    # 400 must be caused by the content, never by a misread connection.
    misread = ("must wait", "ended before", "this request is not valid", "not a valid HTTP", "exclude each other")
    assert not any(words in answer.text for words in misread), f"{what}: {answer.text}"
    seen[answer.status_code] = seen.get(answer.status_code, 0) + 1

assert {202, 401, 404, 405, 413, 415} <= set(seen), seen
print(f"requests.Session: {POSTS} posts, none broken: {dict(sorted(seen.items()))}")
