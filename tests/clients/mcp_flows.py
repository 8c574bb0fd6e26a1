"""Tests the official Python client of MCP: authorization by client credentials and by consent, then
the tools, with both protocol versions."""

import asyncio
import json
import os
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client, MCPError
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

from consent import consent

ISSUER = os.environ["ISSUER"]
SERVER = f"{ISSUER}/mcp"
REDIRECT = "http://127.0.0.1:33422/callback"
TOOLS = {"search", "fetch", "capture", "put_page"}


class TokenStorage:
    """The tokens and client data of an application."""

    def __init__(self, client=None):
        self.client, self.tokens = client, None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        raise AssertionError("a known client was registered again")


class Browser:
    """The owner's browser."""

    back = None

    async def open(self, url):
        asked = parse_qs(urlsplit(url).query)
        assert asked["resource"] == [SERVER] and asked["scope"] == ["read write"], asked
        self.back = await asyncio.to_thread(consent, url)

    async def returned(self):
        came = {name: values[0] for name, values in parse_qs(urlsplit(self.back).query).items()}
        return AuthorizationCodeResult(code=came["code"], state=came["state"], iss=came["iss"])


def machine():
    return ClientCredentialsOAuthProvider(
        SERVER, TokenStorage(), os.environ["MACHINE_ID"], os.environ["MACHINE_SECRET"], issuer=ISSUER
    )


def app():
    about = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "client_name": "app"}
    known = OAuthClientInformationFull(client_id=os.environ["PUBLIC_ID"], issuer=ISSUER, **about)
    browser = Browser()
    return OAuthClientProvider(SERVER, OAuthClientMetadata(**about), TokenStorage(known), browser.open, browser.returned)


async def call(client, name, **arguments):
    """Returns a tool's result. Its text and its object must be equal."""
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer.content
    assert len(answer.content) == 1 and json.loads(answer.content[0].text) == answer.structured_content, answer
    return answer.structured_content


async def names(client):
    return {tool.name for tool in (await client.list_tools()).tools}


async def read_and_write(client, mark):
    listed = await names(client)
    assert TOOLS <= listed, listed
    captured = await call(client, "capture", content=f"A note about {mark}, taken in by a client.")
    put = await call(client, "put_page", slug=f"clients/{mark}", content=f"# Of {mark}\n\nPut by a client.")
    found = {result["id"] for result in (await call(client, "search", query=mark))["results"]}
    assert {captured["slug"], put["slug"]} <= found, found
    assert "Put by a client." in (await call(client, "fetch", id=put["slug"]))["text"]
    read = await client.read_resource(f"brain://page/{put['slug']}")
    assert "Put by a client." in read.contents[0].text, read


async def read_only(client, refusals):
    listed = await names(client)
    assert "search" in listed and not listed & {"capture", "put_page"}, listed
    await call(client, "search", query="client")
    try:
        await client.call_tool("capture", {"content": "refused"})
    except MCPError:
        # This client does not report the reason, so read it from the HTTP response.
        status, challenge = refusals[-1]
        assert status == 403 and 'error="insufficient_scope"' in challenge and "write" in challenge, refusals
    else:
        raise AssertionError("a read-only token has written")


async def main():
    for mode, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):

        async def connected(work, auth=None, **headers):
            refusals = []

            async def note(response):
                if response.is_error:
                    refusals.append((response.status_code, response.headers.get("www-authenticate", "")))

            hooks = {"response": [note]}
            async with httpx2.AsyncClient(auth=auth, headers=headers, timeout=30, event_hooks=hooks) as http:
                async with Client(streamable_http_client(SERVER, http_client=http), mode=mode) as client:
                    assert client.protocol_version == version, client.protocol_version
                    await work(client, refusals)

        await connected(lambda client, _: read_and_write(client, f"python{mode}machine"), auth=machine())
        await connected(lambda client, _: read_and_write(client, f"python{mode}app"), auth=app())
        await connected(read_only, Authorization=f"Bearer {os.environ['READ_TOKEN']}")


asyncio.run(main())
print("mcp (Python): ok")
