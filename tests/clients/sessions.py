"""Tests requests.Session: 1,000 accepted and rejected posts over reused connections.

`requests` sends the head of a post before its body, so a rejection often arrives before the body is
sent. The session retries nothing, so a broken connection raises a ConnectionError.
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


counts = {}
for number in range(POSTS):
    token, path, kind = random.choice(tokens), random.choice(paths), random.choice(kinds)
    body = (f"{number} " + "a" * random.choice(sizes)).encode()
    headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
    chunked = random.random() < 0.4
    size, token_number = len(body), tokens.index(token)
    post = f"{number}: {path} {kind} {size} bytes, chunked {chunked}, token {token_number}"
    try:
        data = pieces(body) if chunked else body
        answer = session.post(ISSUER + path, data=data, headers=headers, timeout=30)
    except requests.RequestException as error:
        raise SystemExit(f"{post}: {error}") from error
    answer.json()
    # An error must come from the content, never from bytes that the server misread.
    misread_errors = (
        "must wait",
        "ended before",
        "this request is not valid",
        "not a valid HTTP",
        "exclude each other",
    )
    assert not any(words in answer.text for words in misread_errors), f"{post}: {answer.text}"
    counts[answer.status_code] = counts.get(answer.status_code, 0) + 1

assert {202, 401, 404, 405, 413, 415} <= set(counts), counts
print(f"requests.Session: {POSTS} posts, none broken: {dict(sorted(counts.items()))}")
