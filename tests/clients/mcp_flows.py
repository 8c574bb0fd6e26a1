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

    # The URL of the redirect, with the code.
    callback = None

    async def open(self, url):
        parameters = parse_qs(urlsplit(url).query)
        assert parameters["resource"] == [SERVER], parameters
        assert parameters["scope"] == ["read write"], parameters
        self.callback = await asyncio.to_thread(consent, url)

    async def result(self):
        query = parse_qs(urlsplit(self.callback).query)
        code, state, iss = (query[name][0] for name in ("code", "state", "iss"))
        return AuthorizationCodeResult(code=code, state=state, iss=iss)


def machine():
    client_id, secret = os.environ["MACHINE_ID"], os.environ["MACHINE_SECRET"]
    return ClientCredentialsOAuthProvider(SERVER, TokenStorage(), client_id, secret, issuer=ISSUER)


def app():
    metadata = {
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "none",
        "client_name": "app",
    }
    client = OAuthClientInformationFull(
        client_id=os.environ["PUBLIC_ID"], issuer=ISSUER, **metadata
    )
    browser = Browser()
    storage = TokenStorage(client)
    return OAuthClientProvider(
        SERVER, OAuthClientMetadata(**metadata), storage, browser.open, browser.result
    )


async def call(client, name, **arguments):
    """Calls a tool. Returns its structured content; its text content must be the same JSON."""
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer.content
    assert len(answer.content) == 1, answer
    assert json.loads(answer.content[0].text) == answer.structured_content, answer
    return answer.structured_content


async def tool_names(client):
    return {tool.name for tool in (await client.list_tools()).tools}


async def read_and_write(client, mark):
    """Lists tools, writes, finds and reads pages. `mark` is a word that no other call writes."""
    names = await tool_names(client)
    assert TOOLS <= names, names
    captured = await call(client, "capture", content=f"A note about {mark}, taken in by a client.")
    content = f"# Of {mark}\n\nPut by a client."
    put = await call(client, "put_page", slug=f"clients/{mark}", content=content)
    results = (await call(client, "search", query=mark))["results"]
    ids = {result["id"] for result in results}
    assert {captured["slug"], put["slug"]} <= ids, ids
    assert "Put by a client." in (await call(client, "fetch", id=put["slug"]))["text"]
    resource = await client.read_resource(f"brain://page/{put['slug']}")
    assert "Put by a client." in resource.contents[0].text, resource


async def read_only(client, refusals):
    """Checks that a read-only client can search, sees no writing tool, and cannot call one."""
    names = await tool_names(client)
    assert "search" in names and not names & {"capture", "put_page"}, names
    await call(client, "search", query="client")
    try:
        await client.call_tool("capture", {"content": "refused"})
    except MCPError:
        # This client does not report the reason, so the test reads it from the HTTP response.
        status, challenge = refusals[-1]
        assert status == 403, refusals
        assert 'error="insufficient_scope"' in challenge and "write" in challenge, refusals
    else:
        raise AssertionError("a read-only token has written")


async def main():
    for mode, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):

        async def connect(work, auth=None, **headers):
            refusals = []

            async def record_refusal(response):
                if response.is_error:
                    challenge = response.headers.get("www-authenticate", "")
                    refusals.append((response.status_code, challenge))

            hooks = {"response": [record_refusal]}
            async with httpx2.AsyncClient(
                auth=auth, headers=headers, timeout=30, event_hooks=hooks
            ) as http:
                transport = streamable_http_client(SERVER, http_client=http)
                async with Client(transport, mode=mode) as client:
                    assert client.protocol_version == version, client.protocol_version
                    await work(client, refusals)

        async def write_as(name, auth):
            mark = f"python{mode}{name}"
            await connect(lambda client, _: read_and_write(client, mark), auth=auth)

        await write_as("machine", machine())
        await write_as("app", app())
        await connect(read_only, Authorization=f"Bearer {os.environ['READ_TOKEN']}")


asyncio.run(main())
print("mcp (Python): ok")
