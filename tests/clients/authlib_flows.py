"""Tests authlib: metadata (RFC 8414), both methods of client credentials, code with PKCE, refresh,
and revocation."""

import os
import random

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

from consent import consent

ISSUER = os.environ["ISSUER"]
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"


class MetadataWithoutHttps(AuthorizationServerMetadata):
    """Accepts the issuer of the test, which does not use HTTPS."""

    def validate_issuer(self):
        assert self["issuer"] == ISSUER


def ingest(session, text):
    headers = {"Content-Type": "text/plain"}
    return session.post(f"{ISSUER}/ingest", data=text.encode(), headers=headers)


metadata_url = f"{ISSUER}/.well-known/oauth-authorization-server"
metadata = MetadataWithoutHttps(requests.get(metadata_url).json())
for field in (
    "issuer",
    "response_types_supported",
    "grant_types_supported",
    "token_endpoint_auth_methods_supported",
):
    getattr(metadata, f"validate_{field}")()

for method in ("client_secret_basic", "client_secret_post"):
    machine = OAuth2Session(
        os.environ["MACHINE_ID"],
        os.environ["MACHINE_SECRET"],
        scope="read write",
        token_endpoint_auth_method=method,
    )
    token = machine.fetch_token(metadata["token_endpoint"], grant_type="client_credentials")
    assert token["scope"] == "read write" and token["token_type"].lower() == "bearer", token
    response = ingest(machine, f"by authlib {method} {random.random()}")
    assert response.status_code == 202, response.text

redirect = "http://127.0.0.1:45678/callback"
app = OAuth2Session(
    os.environ["PUBLIC_ID"],
    scope="read write",
    redirect_uri=redirect,
    token_endpoint_auth_method="none",
    code_challenge_method="S256",
)
verifier = generate_token(64)
url, state = app.create_authorization_url(
    metadata["authorization_endpoint"], code_verifier=verifier
)
callback = consent(url)
token = app.fetch_token(
    metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
)
assert ingest(app, f"by authlib with consent {random.random()}").status_code == 202
old = token["refresh_token"]
token = app.refresh_token(metadata["token_endpoint"], refresh_token=old)
assert token["refresh_token"] != old
answer = app.revoke_token(
    metadata["revocation_endpoint"], token=token["refresh_token"], token_type_hint="refresh_token"
)
assert answer.status_code == 200, answer.text
try:
    app.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
    raise AssertionError("a revoked refresh token was accepted")
except OAuthError as error:
    assert error.error == "invalid_grant", error
print("authlib: ok")
