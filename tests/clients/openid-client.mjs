// Tests openid-client: client credentials and an ingest, then a code with PKCE, refresh and
// revocation.
import assert from 'node:assert/strict'
import * as client from 'openid-client'
import { consent } from './consent.mjs'

const {
  ISSUER, MACHINE_ID, MACHINE_SECRET, BROWSER_ID, BROWSER_SECRET, ADMIN_TOKEN,
} = process.env
const options = { algorithm: 'oauth2', execute: [client.allowInsecureRequests] }
const redirectUri = 'http://localhost:33419/callback'

for (const method of [client.ClientSecretBasic, client.ClientSecretPost]) {
  const authentication = method(MACHINE_SECRET)
  const machine = await client.discovery(
    new URL(ISSUER), MACHINE_ID, undefined, authentication, options,
  )
  const token = await client.clientCredentialsGrant(machine, { scope: 'read write' })
  assert.equal(token.scope, 'read write')
  const response = await client.fetchProtectedResource(
    machine,
    token.access_token,
    new URL(`${ISSUER}/ingest`),
    'POST',
    `# By openid-client\n\n${Math.random()}`,
    new Headers({ 'content-type': 'text/markdown' }),
  )
  assert.equal(response.status, 202)
  const accepted = await response.json()
  const jobUrl = new URL(`${ISSUER}/ingest/${accepted.job_id}`)
  const job = await client.fetchProtectedResource(machine, token.access_token, jobUrl, 'GET')
  assert.equal((await job.json()).content_hash, accepted.content_hash)
}

const app = await client.discovery(
  new URL(ISSUER), BROWSER_ID, undefined, client.ClientSecretBasic(BROWSER_SECRET), options,
)
const verifier = client.randomPKCECodeVerifier()
const state = client.randomState()
const url = client.buildAuthorizationUrl(app, {
  redirect_uri: redirectUri,
  scope: 'read write',
  state,
  code_challenge: await client.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
})
const callback = await consent(url, ADMIN_TOKEN)
const token = await client.authorizationCodeGrant(app, callback, {
  pkceCodeVerifier: verifier, expectedState: state,
})
const refreshed = await client.refreshTokenGrant(app, token.refresh_token)
await client.tokenRevocation(app, refreshed.refresh_token)
await assert.rejects(client.refreshTokenGrant(app, refreshed.refresh_token), {
  error: 'invalid_grant',
})
console.log('openid-client: ok')
