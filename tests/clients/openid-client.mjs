// Tests openid-client: client credentials, and a code with PKCE.
import assert from 'node:assert/strict'
import * as client from 'openid-client'
import { consent } from './consent.mjs'

const { ISSUER, MACHINE_ID, MACHINE_SECRET, BROWSER_ID, BROWSER_SECRET, ADMIN_TOKEN } = process.env
const options = { algorithm: 'oauth2', execute: [client.allowInsecureRequests] }
const redirectUri = 'http://localhost:33419/callback'

for (const authentication of [client.ClientSecretBasic(MACHINE_SECRET), client.ClientSecretPost(MACHINE_SECRET)]) {
  const machine = await client.discovery(new URL(ISSUER), MACHINE_ID, undefined, authentication, options)
  const token = await client.clientCredentialsGrant(machine, { scope: 'read write' })
  assert.equal(token.scope, 'read write')
  const taken = await client.fetchProtectedResource(
    machine,
    token.access_token,
    new URL(`${ISSUER}/ingest`),
    'POST',
    `# By openid-client\n\n${Math.random()}`,
    new Headers({ 'content-type': 'text/markdown' }),
  )
  assert.equal(taken.status, 202)
  const accepted = await taken.json()
  const job = await client.fetchProtectedResource(machine, token.access_token, new URL(`${ISSUER}/ingest/${accepted.job_id}`), 'GET')
  assert.equal((await job.json()).content_hash, accepted.content_hash)
}

const browser = await client.discovery(new URL(ISSUER), BROWSER_ID, undefined, client.ClientSecretBasic(BROWSER_SECRET), options)
const verifier = client.randomPKCECodeVerifier()
const state = client.randomState()
const url = client.buildAuthorizationUrl(browser, {
  redirect_uri: redirectUri,
  scope: 'read write',
  state,
  code_challenge: await client.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
})
const back = await consent(url, ADMIN_TOKEN)
const token = await client.authorizationCodeGrant(browser, back, { pkceCodeVerifier: verifier, expectedState: state })
const next = await client.refreshTokenGrant(browser, token.refresh_token)
await client.tokenRevocation(browser, next.refresh_token)
await assert.rejects(client.refreshTokenGrant(browser, next.refresh_token), { error: 'invalid_grant' })
console.log('openid-client: ok')
