"""Acts as the owner's browser: opens the consent page and agrees with the admin token."""

import html
import os
import re
from urllib.parse import urljoin, urlsplit

import requests


def origin(url):
    return f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"


def attribute(tag, name):
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return html.unescape(found.group(1)) if found else None


def consent(url):
    """Agrees as the owner and returns the address of the redirect."""
    browser = requests.Session()
    page = browser.get(url, allow_redirects=False)
    assert page.status_code == 200, page.text
    form = []
    for tag in re.findall(r"<input[^>]*>", page.text):
        name, kind, value = (attribute(tag, each) for each in ("name", "type", "value"))
        if name and kind == "password":
            form.append((name, os.environ["ADMIN_TOKEN"]))
        elif name and (kind == "hidden" or (kind == "checkbox" and " checked" in tag)):
            form.append((name, value or ""))
    agree = next(tag for tag in re.findall(r"<button[^>]*>", page.text) if re.search("allow|approve", tag))
    if attribute(agree, "name"):
        form.append((attribute(agree, "name"), attribute(agree, "value") or ""))
    action = attribute(re.search(r"<form[^>]*>", page.text).group(0), "action")
    answer = browser.post(
        urljoin(url, action) if action else url, data=form, headers={"Origin": origin(url)}, allow_redirects=False
    )
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]
