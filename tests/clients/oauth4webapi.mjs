// Tests oauth4webapi: discovery, client credentials, code with PKCE, refresh, revocation, and an
// ingest with each token.
import assert from 'node:assert/strict'
import * as oauth from 'oauth4webapi'
import { consent } from './consent.mjs'

const {
  ISSUER, MACHINE_ID, MACHINE_SECRET, READER_ID, READER_SECRET, PUBLIC_ID, ADMIN_TOKEN,
} = process.env
const insecure = { [oauth.allowInsecureRequests]: true }
const redirectUri = 'http://127.0.0.1:33418/callback'

const resource = await oauth.processResourceDiscoveryResponse(
  new URL(`${ISSUER}/mcp`),
  await oauth.resourceDiscoveryRequest(new URL(`${ISSUER}/mcp`), insecure),
)
assert.deepEqual(resource.authorization_servers, [ISSUER])
const issuer = new URL(ISSUER)
const server = await oauth.processDiscoveryResponse(
  issuer,
  await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
)
assert.deepEqual(server.code_challenge_methods_supported, ['S256'])

const ingest = (token, text) => {
  const headers = new Headers({ 'content-type': 'text/plain' })
  const url = new URL(`${ISSUER}/ingest`)
  return oauth.protectedResourceRequest(token, 'POST', url, headers, text, insecure)
}
const requestToken = (client, authentication, parameters) =>
  oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, insecure)

// A confidential client. Its secret has a character that Basic authentication must encode.
const machine = { client_id: MACHINE_ID }
for (const method of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
  const answer = await requestToken(machine, method(MACHINE_SECRET), { scope: 'write' })
  const token = await oauth.processClientCredentialsResponse(server, machine, answer)
  assert.equal(token.scope, 'write')
  const ingested = await ingest(token.access_token, `by oauth4webapi ${Math.random()}`)
  assert.equal(ingested.status, 202)
}
// A client with the read scope only.
const reader = { client_id: READER_ID }
const readerSecret = oauth.ClientSecretBasic(READER_SECRET)
const granted = await requestToken(reader, readerSecret, {})
const readOnly = await oauth.processClientCredentialsResponse(server, reader, granted)
assert.equal(readOnly.scope, 'read')
await assert.rejects(ingest(readOnly.access_token, 'no'), (error) => {
  assert.ok(error instanceof oauth.WWWAuthenticateChallengeError)
  assert.equal(error.status, 403)
  assert.equal(error.cause[0].parameters.error, 'insufficient_scope')
  return true
})
const wrongScope = await requestToken(reader, readerSecret, { scope: 'write' })
await assert.rejects(
  oauth.processClientCredentialsResponse(server, reader, wrongScope), { error: 'invalid_scope' },
)
const wrongSecret = await requestToken(reader, oauth.ClientSecretBasic('wrong'), {})
await assert.rejects(oauth.processClientCredentialsResponse(server, reader, wrongSecret))

// A public client with the owner's consent.
const app = { client_id: PUBLIC_ID }
const verifier = oauth.generateRandomCodeVerifier()
const state = oauth.generateRandomState()
const url = new URL(server.authorization_endpoint)
for (const [name, value] of Object.entries({
  response_type: 'code',
  client_id: PUBLIC_ID,
  redirect_uri: redirectUri,
  scope: 'read write',
  state,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  resource: `${ISSUER}/mcp`,
}))
  url.searchParams.set(name, value)
const redeem = (callback) => oauth.authorizationCodeGrantRequest(
  server, app, oauth.None(), callback, redirectUri, verifier, insecure,
)
const callback = oauth.validateAuthResponse(server, app, await consent(url, ADMIN_TOKEN), state)
const first = await oauth.processAuthorizationCodeResponse(server, app, await redeem(callback))
assert.equal(first.scope, 'read write')
assert.equal((await ingest(first.access_token, `by consent ${Math.random()}`)).status, 202)

const refresh = async (token) => {
  const answer = await oauth.refreshTokenGrantRequest(server, app, oauth.None(), token, insecure)
  return oauth.processRefreshTokenResponse(server, app, answer)
}
const second = await refresh(first.refresh_token)
assert.notEqual(second.refresh_token, first.refresh_token)
assert.equal((await ingest(second.access_token, `by refresh ${Math.random()}`)).status, 202)
await oauth.processRevocationResponse(
  await oauth.revocationRequest(server, app, oauth.None(), second.refresh_token, insecure),
)
await assert.rejects(refresh(second.refresh_token), { error: 'invalid_grant' })
await assert.rejects(ingest(second.access_token, 'revoked'), (error) => error.status === 401)

// A code works once. Its second use revokes the tokens of the first.
const reused = oauth.validateAuthResponse(server, app, await consent(url, ADMIN_TOKEN), state)
const third = await oauth.processAuthorizationCodeResponse(server, app, await redeem(reused))
await assert.rejects(
  oauth.processAuthorizationCodeResponse(server, app, await redeem(reused)),
  { error: 'invalid_grant' },
)
await assert.rejects(ingest(third.access_token, 'replayed'), (error) => error.status === 401)
console.log('oauth4webapi: ok')
