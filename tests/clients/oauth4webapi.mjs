// Tests oauth4webapi: discovery, client credentials, code with PKCE, refresh, revocation, and a call
// with the token.
import assert from 'node:assert/strict'
import * as oauth from 'oauth4webapi'
import { consent } from './consent.mjs'

const { ISSUER, MACHINE_ID, MACHINE_SECRET, READER_ID, READER_SECRET, PUBLIC_ID, ADMIN_TOKEN } = process.env
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

const ingest = (token, text) =>
  oauth.protectedResourceRequest(token, 'POST', new URL(`${ISSUER}/ingest`), new Headers({ 'content-type': 'text/plain' }), text, insecure)

// A confidential client. Its secret has a character that Basic authentication must encode.
const machine = { client_id: MACHINE_ID }
for (const authentication of [oauth.ClientSecretBasic(MACHINE_SECRET), oauth.ClientSecretPost(MACHINE_SECRET)]) {
  const answer = await oauth.clientCredentialsGrantRequest(server, machine, authentication, { scope: 'write' }, insecure)
  const token = await oauth.processClientCredentialsResponse(server, machine, answer)
  assert.equal(token.scope, 'write')
  const taken = await ingest(token.access_token, `by oauth4webapi ${Math.random()}`)
  assert.equal(taken.status, 202)
}
// A client with the read scope only.
const reader = { client_id: READER_ID }
const asked = await oauth.clientCredentialsGrantRequest(server, reader, oauth.ClientSecretBasic(READER_SECRET), {}, insecure)
const readOnly = await oauth.processClientCredentialsResponse(server, reader, asked)
assert.equal(readOnly.scope, 'read')
await assert.rejects(ingest(readOnly.access_token, 'no'), (error) => {
  assert.ok(error instanceof oauth.WWWAuthenticateChallengeError)
  assert.equal(error.status, 403)
  assert.equal(error.cause[0].parameters.error, 'insufficient_scope')
  return true
})
const more = await oauth.clientCredentialsGrantRequest(server, reader, oauth.ClientSecretBasic(READER_SECRET), { scope: 'write' }, insecure)
await assert.rejects(oauth.processClientCredentialsResponse(server, reader, more), { error: 'invalid_scope' })
const wrong = await oauth.clientCredentialsGrantRequest(server, reader, oauth.ClientSecretBasic('wrong'), {}, insecure)
await assert.rejects(oauth.processClientCredentialsResponse(server, reader, wrong))

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
const back = oauth.validateAuthResponse(server, app, await consent(url, ADMIN_TOKEN), state)
const redeem = () => oauth.authorizationCodeGrantRequest(server, app, oauth.None(), back, redirectUri, verifier, insecure)
const first = await oauth.processAuthorizationCodeResponse(server, app, await redeem())
assert.equal(first.scope, 'read write')
assert.equal((await ingest(first.access_token, `by consent ${Math.random()}`)).status, 202)

const refresh = async (token) =>
  oauth.processRefreshTokenResponse(server, app, await oauth.refreshTokenGrantRequest(server, app, oauth.None(), token, insecure))
const second = await refresh(first.refresh_token)
assert.notEqual(second.refresh_token, first.refresh_token)
assert.equal((await ingest(second.access_token, `by refresh ${Math.random()}`)).status, 202)
await oauth.processRevocationResponse(
  await oauth.revocationRequest(server, app, oauth.None(), second.refresh_token, insecure),
)
await assert.rejects(refresh(second.refresh_token), { error: 'invalid_grant' })
await assert.rejects(ingest(second.access_token, 'revoked'), (error) => error.status === 401)

// A code works once. Its second use revokes the tokens of the first.
const again = oauth.validateAuthResponse(server, app, await consent(url, ADMIN_TOKEN), state)
const redeemAgain = () => oauth.authorizationCodeGrantRequest(server, app, oauth.None(), again, redirectUri, verifier, insecure)
const third = await oauth.processAuthorizationCodeResponse(server, app, await redeemAgain())
await assert.rejects(oauth.processAuthorizationCodeResponse(server, app, await redeemAgain()), { error: 'invalid_grant' })
await assert.rejects(ingest(third.access_token, 'replayed'), (error) => error.status === 401)
console.log('oauth4webapi: ok')
